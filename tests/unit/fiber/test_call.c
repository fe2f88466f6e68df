#include <string.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "support/fibers.h"

struct shared {
    struct weft_group *g;
    _Atomic int ran, dropped, canceled;
};

struct box {
    struct shared *s;
    struct weft_loop *on;
    int n;
};

static struct box *box(struct shared *s, int n)
{
    struct box *b = wb_alloc(sizeof *b);
    if (b)
        *b = (struct box){.s = s, .n = n};
    return b;
}

static void drop(void *arg)
{
    struct box *b = arg;
    atomic_fetch_add(&b->s->dropped, 1);
    wb_free(b);
}

static int there(void *arg, struct upp_err *err)
{
    struct box *b = arg;
    b->on = weft_loop_current();
    TRY(weft_yield(err));
    atomic_fetch_add(&b->s->ran, 1);
    if (b->n < 0)
        return upp_fail(err, UPP_EQUOTA, "too small");
    return b->n + 1;
}

static int sleeps_there(void *arg, struct upp_err *err)
{
    struct box *b = arg;
    atomic_fetch_add(&b->s->ran, 1);
    int r = weft_sleep_ms(100000, err);
    atomic_fetch_add(&b->s->canceled, r == -UPP_ECANCELED);
    return r;
}

/* From a fiber of loop 0 to loop 1. */
static int calls(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct weft_loop *to = weft_group_loop(s->g, 1);
    int ret;
    struct box *b = box(s, 1);
    if (!b)
        return -UPP_ENOMEM;
    TRY(weft_loop_call(to, "there", there, b, drop, &ret, err));
    bool right = ret == 2 && b->on == to;
    wb_free(b);
    FAIL_UNLESS(right);
    b = box(s, -1);
    if (!b)
        return -UPP_ENOMEM;
    TRY(weft_loop_call(to, "there", there, b, drop, &ret, err));
    wb_free(b);
    FAIL_UNLESS(ret == -UPP_EQUOTA && strcmp(err->msg, "too small") == 0);
    /* Cut short: cancelled there, dropped here. */
    b = box(s, 0);
    if (!b)
        return -UPP_ENOMEM;
    WEFT_DEADLINE(5);
    int r = weft_loop_call(to, "sleeps there", sleeps_there, b, drop, &ret, err);
    FAIL_UNLESS(r == -UPP_ETIMEOUT || r == -UPP_ENOMEM);
    return r == -UPP_ETIMEOUT ? 0 : r;
}

/* Everything from a thread that has no loop: the call blocks. */
TEST(call_between_loops)
{
    struct shared s = {.g = NULL};
    struct upp_err err;
    int ret = -1, r;
    {
        UPP_CLEANUP(weft_group_closep) struct weft_group *g = NULL;
        CHECK(weft_group_open(UPP_OPTS(weft_group_opts, .loops = 2), &g, &err) == 0);
        s.g = g;
        r = weft_loop_call(weft_group_loop(g, 0), "calls", calls, &s, NULL, &ret, &err);
    }
    CHECK_INT(r, 0);
    CHECK_INT(ret, 0);
    CHECK(s.ran == 2 || s.ran == 3); /* the last one may have been stopped before it began */
    CHECK(s.dropped == 1 && s.canceled == s.ran - 2);
}

static int to_itself(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct box *b = box(s, 5);
    int ret;
    if (!b)
        return -UPP_ENOMEM;
    TRY(weft_loop_call(weft_loop_current(), "there", there, b, drop, &ret, err));
    wb_free(b);
    FAIL_UNLESS(ret == 6);
    weft_fiber_cancel(weft_fiber_self());
    b = box(s, 5);
    if (!b)
        return -UPP_ENOMEM;
    FAIL_UNLESS(weft_loop_call(weft_loop_current(), "there", there, b, drop, &ret, err) < 0);
    return 0;
}

TEST(call_to_its_own_loop)
{
    struct shared s = {.g = NULL};
    struct upp_err err;
    CHECK_INT(test_on_loop(to_itself, &s, &err), 0);
    CHECK(s.ran == 1 && s.dropped == 1);
}

static int full_inbox(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct box *b = box(s, 5);
    if (!b)
        return -UPP_ENOMEM;
    return weft_loop_call(weft_loop_current(), "there", there, b, drop, NULL, err);
}

static void nothing(void *arg)
{
    (void)arg;
}

TEST(call_to_a_full_inbox)
{
    struct shared s = {.g = NULL}; /* outlives the loop */
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .max_inbox = 1), &l, &err) == 0);
    CHECK(weft_loop_post(l, nothing, NULL, &err) == 0);
    struct box *b = box(&s, 1);
    CHECK(b);
    CHECK_INT(weft_loop_call(l, "there", there, b, drop, NULL, &err), -UPP_ELIMIT); /* does not block */
    CHECK_INT(weft_loop_run(l, "full", full_inbox, &s, &err), -UPP_ELIMIT);
    CHECK_INT(s.dropped, 2);
}

static int full_loop(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct box *b = box(s, 5);
    if (!b)
        return -UPP_ENOMEM;
    return weft_loop_call(weft_loop_current(), "there", there, b, drop, NULL, err);
}

TEST(call_to_a_loop_without_room_for_a_fiber)
{
    struct shared s = {.g = NULL}; /* outlives the loop */
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .max_fibers = 1), &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "full", full_loop, &s, &err), -UPP_ELIMIT);
    CHECK(s.dropped == 1 && s.ran == 0);
}
