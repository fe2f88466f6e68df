#include "fiber/scope.h"

#include <string.h>

#include "fiber/loop.h"
#include "support/fibers.h"

struct state {
    int ran, canceled;
};

static int sleeper(void *arg, struct upp_err *err)
{
    struct state *s = arg;
    s->ran++;
    int r = weft_sleep_ms(100000, err);
    s->canceled += r == -UPP_ECANCELED;
    return r;
}

static int breaks(void *arg, struct upp_err *err)
{
    (void)arg;
    TRY(weft_yield(err));
    return upp_fail(err, UPP_EPROTO, "it broke");
}

static int fine(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_yield(err);
}

static int first_failure(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&s, "sleeper", sleeper, arg, NULL, err));
    TRY(weft_scope_spawn(&s, "breaks", breaks, NULL, NULL, err));
    int r = weft_scope_join(&s, err);
    if (r != -UPP_EPROTO)
        return r;
    FAIL_UNLESS(strcmp(err->msg, "it broke") == 0);
    TRY(weft_scope_spawn(&s, "fine", fine, NULL, NULL, err)); /* usable again */
    return weft_scope_join(&s, err);
}

TEST(scope_first_failure_cancels_the_others)
{
    struct state s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(first_failure, &s, &err), 0);
    CHECK(s.ran == 3 && s.canceled == 3);
}

static int spawn_after_failure(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    TRY(weft_scope_spawn(&s, "breaks", breaks, NULL, NULL, err));
    TRY(weft_yield(err));
    TRY(weft_yield(err));
    TRY(weft_scope_spawn(&s, "late", sleeper, arg, NULL, err));
    int r = weft_scope_join(&s, err);
    return r == -UPP_EPROTO ? 0 : r < 0 ? r : -UPP_EBUG;
}

TEST(scope_child_spawned_after_a_failure_never_runs)
{
    struct state s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(spawn_after_failure, &s, &err), 0);
    CHECK_INT(s.ran, 0);
}

static int isolated(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    (void)arg;
    TRY(weft_scope_spawn(&s, "breaks", breaks, NULL, NULL, err));
    TRY(weft_scope_spawn(&s, "fine", fine, NULL, NULL, err));
    return weft_scope_join(&s, err);
}

TEST(scope_isolated_does_not_care)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(isolated, NULL, &err), 0);
}

static int leaves(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&s, "sleeper", sleeper, arg, NULL, err));
    return weft_yield(err);
}

TEST(scope_return_cancels_and_joins)
{
    struct state s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(leaves, &s, &err), 0);
    CHECK(s.ran == 3 && s.canceled == 3);
}

/* The owner is cancelled while it joins: join says so, and the close that follows is not cut short. */
static int slow_to_go(void *arg, struct upp_err *err)
{
    struct state *s = arg;
    int r = weft_sleep_ms(100000, err);
    WEFT_SHIELD(0);
    TRY(weft_yield(NULL));
    TRY(weft_sleep_ms(2, NULL));
    s->canceled++;
    return r;
}

static int owner(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    TRY(weft_scope_spawn(&s, "slow", slow_to_go, arg, NULL, err));
    return weft_scope_join(&s, err);
}

static int cancels_owner(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    struct state *st = arg;
    TRY(weft_scope_spawn(&s, "owner", owner, arg, &f, err));
    TRY(weft_yield(err));
    TRY(weft_yield(err));
    weft_fiber_cancel(f);
    int r = weft_fiber_join(f, err);
    FAIL_UNLESS(r == -UPP_ENOMEM || (r == -UPP_ECANCELED && st->canceled == 1));
    return r == -UPP_ECANCELED ? 0 : r;
}

TEST(scope_close_waits_for_children_that_unwind_slowly)
{
    struct state s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(cancels_owner, &s, &err), 0);
}

static int spawns_sibling(void *arg, struct upp_err *err)
{
    return weft_scope_spawn(arg, "sibling", fine, NULL, NULL, err);
}

static int siblings(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    (void)arg;
    TRY(weft_scope_join(&s, err)); /* nothing to join */
    TRY(weft_scope_spawn(&s, "spawner", spawns_sibling, &s, NULL, err));
    TRY(weft_scope_join(&s, err));
    FAIL_UNLESS(s.state->live == 0);
    weft_scope_cancel(&s);
    return 0;
}

TEST(scope_children_may_spawn_siblings)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(siblings, NULL, &err), 0);
}
