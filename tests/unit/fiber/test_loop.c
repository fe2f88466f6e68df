#include "fiber/loop.h"

#include <string.h>
#include <unistd.h>

#include "base/hooks.h"
#include "fiber/loop_uv.h"
#include "fiber/thread.h"
#include "support/fibers.h"

static int counts(void *arg, struct upp_err *err)
{
    for (;;) {
        ++*(int *)arg;
        TRY(weft_yield(err));
    }
}

TEST(loop_poll_is_one_turn)
{
    int n = 0; /* outlives the loop, which closes at the end */
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK_INT(weft_loop_poll(l, &err), 0);
    CHECK(weft_loop_spawn(l, "counter", counts, &n, &err) == 0);
    for (int i = 1; i <= 5; i++) {
        CHECK_INT(weft_loop_poll(l, &err), 1);
        CHECK_INT(n, i);
    }
} /* closing cancels and joins it */

static int sleeps(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_sleep_ms(100000, err);
}

static void cancel_loop(void *arg)
{
    weft_loop_cancel(arg);
}

TEST(loop_cancel_reaches_its_fibers)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK(weft_loop_spawn(l, "own", sleeps, NULL, &err) == 0);
    CHECK(weft_loop_post(l, cancel_loop, l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "sleeper", sleeps, NULL, &err), -UPP_ECANCELED);
    CHECK_INT(weft_loop_poll(l, &err), 0);
    weft_loop_cancel(l); /* before: seen by the next run */
    CHECK_INT(weft_loop_run(l, "sleeper", sleeps, NULL, &err), -UPP_ECANCELED);
}

static int nests(void *arg, struct upp_err *err)
{
    struct weft_loop *l = weft_loop_current();
    FAIL_UNLESS(weft_loop_run(l, "inner", sleeps, NULL, err) == -UPP_EINVALID);
    FAIL_UNLESS(weft_loop_poll(arg, err) == -UPP_EINVALID);
    return 0;
}

TEST(loop_does_not_nest)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "outer", nests, l, &err), 0);
}

/* Timers are not early, and a fiber that is always ready does not keep them from firing. */
static int busy_and_timed(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    uint64_t start = WB_CALL(mono_ns)();
    TRY(weft_scope_spawn(&s, "counter", counts, arg, NULL, err));
    TRY(weft_sleep_ms(3, err));
    FAIL_UNLESS(WB_CALL(mono_ns)() - start >= 3000000);
    return 0;
}

TEST(loop_turns_are_fair)
{
    struct upp_err err;
    int n = 0;
    CHECK_INT(test_on_loop(busy_and_timed, &n, &err), 0);
    CHECK(n > 10);
}

/* ---- Posts ---- */

struct order {
    int seen[8];
    size_t n;
};

static void note1(void *arg)
{
    struct order *o = arg;
    o->seen[o->n++] = 1;
}

static void note2(void *arg)
{
    struct order *o = arg;
    o->seen[o->n++] = 2;
}

TEST(loop_posts_run_in_order_within_limits)
{
    struct order o = {.n = 0}; /* outlives the loop, which runs what was posted */
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .max_inbox = 2), &l, &err) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(weft_loop_post(l, note1, &o, &err) == 0 && weft_loop_post(l, note2, &o, &err) == 0);
        CHECK_INT(weft_loop_post(l, note2, &o, &err), -UPP_ELIMIT);
        CHECK(strcmp(err.msg, "the inbox of the loop holds 2 messages, its limit") == 0);
        CHECK(weft_loop_poll(l, &err) >= 0);
    }
    CHECK(o.n == 4 && o.seen[0] == 1 && o.seen[1] == 2 && o.seen[2] == 1 && o.seen[3] == 2);
}

TEST(loop_close_runs_what_was_posted)
{
    struct weft_loop *l = NULL;
    struct upp_err err;
    struct order o = {.n = 0};
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    int r = weft_loop_post(l, note1, &o, &err);
    weft_loop_close(l);
    CHECK(r == 0 && o.n == 1);
}

struct knock {
    struct weft_loop *loop;
    struct weft_cond door;
    bool open;
    int posted;
};

static void opens(void *arg)
{
    struct knock *k = arg;
    k->open = true;
    weft_cond_signal(&k->door);
}

static void *knocks(void *arg)
{
    struct knock *k = arg;
    k->posted = weft_loop_post(k->loop, opens, k, NULL);
    if (k->posted < 0)
        weft_loop_cancel(k->loop); /* out of memory in torture: it must not wait for ever */
    return NULL;
}

static int waits_for_knock(void *arg, struct upp_err *err)
{
    struct knock *k = arg;
    k->loop = weft_loop_current();
    pthread_t t;
    FAIL_UNLESS(weft__thread_start(&t, knocks, k) == 0);
    int r = 0;
    while (r == 0 && !k->open)
        r = weft_cond_wait(&k->door, err);
    (void)pthread_join(t, NULL);
    return r;
}

TEST(loop_post_from_another_thread_wakes_it)
{
    struct knock k = {.open = false};
    struct upp_err err;
    CHECK_INT(test_on_loop(waits_for_knock, &k, &err), 0);
}

/* ---- Options of other versions ---- */

TEST(loop_options_may_be_older_or_newer)
{
    struct {
        struct weft_loop_opts known;
        int unknown;
    } newer = {.known = {.size = sizeof newer, .max_inbox = 3, .stack_size = 32768}, .unknown = 1};
    struct weft_loop_opts older = {
        .size = offsetof(struct weft_loop_opts, stack_size), .max_inbox = 4, .stack_size = 1};
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *a = NULL, *b = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(&newer.known, &a, &err) == 0 && weft_loop_open(&older, &b, &err) == 0);
    CHECK(a->max_posted == 3 && a->stacks.size == 32768);
    CHECK(b->max_posted == 4 && b->stacks.size >= 65536);
}

/* ---- libuv ---- */

TEST(loop_uv_says_its_version)
{
    struct wb_library uv = weft__uv_library();
    CHECK(strcmp(uv.name, "libuv") == 0 && uv.built[0] == '1' && uv.running[0] == '1');
}

struct listener {
    int fd[2];
    bool heard;
};

static void listener_done(struct listener *l)
{
    for (int i = 0; i < 2; i++)
        if (l->fd[i] >= 0)
            (void)close(l->fd[i]);
}

static int listens(void *arg, struct upp_err *err)
{
    struct listener *l = arg;
    TRY(weft_fd_wait(l->fd[0], WEFT_READABLE, err));
    l->heard = true;
    return 0;
}

static int at_once(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    return 0;
}

/* The kernel is not asked each time, and is asked all the same. */
TEST(loop_that_never_waits_hears_the_outside)
{
    WB_CLEANUP(listener_done) struct listener in = {.fd = {-1, -1}}; /* outlives the loop */
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(pipe(in.fd) == 0 && write(in.fd[1], "x", 1) == 1);
    CHECK(weft_loop_open(NULL, &l, &err) == 0);
    CHECK(weft_loop_spawn(l, "listener", listens, &in, &err) == 0);
    for (int i = 0; i < 40; i++)
        CHECK(weft_loop_run(l, "short", at_once, NULL, &err) == 0);
    CHECK(in.heard);
}

TEST(loop_refuses_stacks_beyond_reason)
{
    struct weft_loop *l = NULL;
    struct upp_err err;
    ALWAYS(weft_loop_open(UPP_OPTS(weft_loop_opts, .stack_size = SIZE_MAX - 100), &l, &err) < 0 && !l);
    int r = weft_loop_open(UPP_OPTS(weft_loop_opts, .stack_size = (64u << 20) + 1), &l, &err);
    CHECK_INT(r, -UPP_EINVALID);
}

/* ---- Messages to ourselves, for later -------------------------------------------------------------------- */

struct later {
    struct weft__msg msg;
    struct weft_fiber *fiber;
    int others, when; /* how often the other had run, then */
};

static void take_later(struct weft__msg *m)
{
    struct later *x = WB_OUTER(m, struct later, msg);
    x->when = x->others;
    weft__wake(x->fiber, 0);
}

WEFT_SUSPENDS static int ready_three_times(void *arg, struct upp_err *err)
{
    struct later *x = arg;
    for (; x->others < 3; x->others++)
        TRY(weft_yield(err));
    return 0;
}

WEFT_SUSPENDS static int ready_always(void *arg, struct upp_err *err)
{
    struct later *x = arg;
    for (;; x->others++)
        TRY(weft_yield(err));
}

WEFT_SUSPENDS static int send_later(weft_fn *other, struct later *x, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    *x = (struct later){.msg.take = take_later, .fiber = weft_fiber_self(), .when = -1};
    TRY(weft_scope_spawn(&s, "other", other, x, NULL, err));
    weft__loop_send_later(weft_loop_current(), &x->msg);
    while (x->when < 0)
        (void)weft__park(x->fiber, "the message", WEFT__NEVER, 0);
    return 0;
}

WEFT_SUSPENDS static int later_both(void *arg, struct upp_err *err)
{
    struct later x;
    (void)arg;
    TRY(send_later(ready_three_times, &x, err));
    FAIL_UNLESS(x.when == 3); /* it has made itself ready again and again, and came first */
    TRY(send_later(ready_always, &x, err));
    FAIL_UNLESS(x.when > 3 && x.when < 100); /* but not for ever */
    return 0;
}

TEST(loop_later_is_after_those_that_are_ready)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(later_both, NULL, &err), 0);
}
