#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "support/fibers.h"

static uint64_t ms_since(uint64_t start)
{
    return (WB_CALL(mono_ns)() - start) / 1000000;
}

static int deadline(void *arg, struct upp_err *err)
{
    (void)arg;
    uint64_t start = WB_CALL(mono_ns)();
    struct weft_cond never = {0};
    {
        WEFT_DEADLINE(5);
        int r = weft_cond_wait(&never, err);
        FAIL_UNLESS(r == -UPP_ETIMEOUT && !never.first);
        FAIL_UNLESS(strcmp(err->msg, "timed out while waiting for a condition") == 0);
        FAIL_UNLESS(weft_yield(err) == -UPP_ETIMEOUT); /* it stays passed */
    }
    FAIL_UNLESS(ms_since(start) >= 5);
    return weft_yield(err);
}

TEST(guard_deadline_fails_what_is_inside)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(deadline, NULL, &err), 0);
}

static int nested(void *arg, struct upp_err *err)
{
    struct weft_fiber *f = weft_fiber_self();
    (void)arg;
    WEFT_DEADLINE(100000);
    uint64_t at = f->deadline;
    {
        WEFT_DEADLINE(UINT64_MAX);
        FAIL_UNLESS(f->deadline == at); /* the nearest counts */
        WEFT_DEADLINE(10);
        FAIL_UNLESS(f->deadline < at);
        FAIL_UNLESS(weft_sleep_ms(1, err) == 0); /* shorter than the deadline */
        FAIL_UNLESS(weft_sleep_ms(1000, err) == -UPP_ETIMEOUT);
    }
    FAIL_UNLESS(f->deadline == at && f->guards == 1);
    return 0;
}

TEST(guard_deadlines_nest)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(nested, NULL, &err), 0);
}

static int cancel_and_timeout(void *arg, struct upp_err *err)
{
    (void)arg;
    WEFT_DEADLINE(0);
    FAIL_UNLESS(weft_yield(err) == -UPP_ETIMEOUT);
    weft_fiber_cancel(weft_fiber_self());
    FAIL_UNLESS(weft_yield(err) == -UPP_ECANCELED);
    return 0;
}

TEST(guard_cancel_wins_over_timeout)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(cancel_and_timeout, NULL, &err), 0);
}

/* Timed out first, cancelled before it runs again: still a cancel. */
static int times_out(void *arg, struct upp_err *err)
{
    (void)arg;
    WEFT_DEADLINE(1000);
    return weft_sleep_ms(2000, err);
}

static int late_cancel(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    (void)arg;
    TRY(weft_scope_spawn(&s, "times out", times_out, NULL, &f, err));
    TRY(weft_yield(err));
    weft__wake(f, -UPP_ETIMEOUT);
    weft_fiber_cancel(f);
    int r = weft_fiber_join(f, err);
    FAIL_UNLESS(r == -UPP_ECANCELED);
    return 0;
}

TEST(guard_cancel_after_timeout_wins)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(late_cancel, NULL, &err), 0);
}

static int shielded(void *arg, struct upp_err *err)
{
    struct weft_fiber *f = weft_fiber_self();
    (void)arg;
    WEFT_DEADLINE(0);
    weft_fiber_cancel(f);
    {
        WEFT_SHIELD(5);
        FAIL_UNLESS(!weft_fiber_canceled());
        FAIL_UNLESS(weft_yield(err) == 0); /* neither the cancel nor the deadline around it */
        FAIL_UNLESS(weft_sleep_ms(1, err) == 0);
        FAIL_UNLESS(weft_sleep_ms(1000, err) == -UPP_ETIMEOUT); /* its own */
    }
    FAIL_UNLESS(weft_yield(err) == -UPP_ECANCELED);
    return 0;
}

TEST(guard_shield_masks_cancel_and_deadlines)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(shielded, NULL, &err), 0);
}

static int shield_limits(void *arg, struct upp_err *err)
{
    struct weft_fiber *f = weft_fiber_self();
    (void)arg, (void)err;
    WEFT_SHIELD(1000000);
    FAIL_UNLESS(f->limit - f->loop->now <= UINT64_C(10000000000)); /* at most 10 s */
    uint64_t limit = f->limit;
    {
        WEFT_DEADLINE(0);
        WEFT_SHIELD(0);
        FAIL_UNLESS(f->deadline == limit); /* the deadline between is masked, the limit is not prolonged */
        WEFT__SHIELD_FOREVER;
        FAIL_UNLESS(f->deadline == WEFT__NEVER);
    }
    FAIL_UNLESS(f->deadline == limit && f->masked);
    return 0;
}

TEST(guard_shield_has_a_limit)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(shield_limits, NULL, &err), 0);
}

static int cancelled_inside(void *arg, struct upp_err *err)
{
    int *step = arg;
    {
        WEFT_SHIELD(0);
        *step = 1;
        TRY(weft_sleep_ms(3, err)); /* cancelled meanwhile */
        *step = 2;
    }
    return weft_yield(err);
}

static int cancel_the_shielded(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    TRY(weft_scope_spawn(&s, "shielded", cancelled_inside, arg, &f, err));
    TRY(weft_yield(err));
    weft_fiber_cancel(f);
    FAIL_UNLESS(f->state == WEFT__WAITING);
    FAIL_UNLESS(weft_fiber_join(f, err) == -UPP_ECANCELED);
    return 0;
}

TEST(guard_shield_delays_a_cancel)
{
    struct upp_err err;
    int step = 0;
    CHECK_INT(test_on_loop(cancel_the_shielded, &step, &err), 0);
    CHECK_INT(step, 2);
}

TEST(guard_outside_of_a_fiber_does_nothing)
{
    WEFT_DEADLINE(0);
    WEFT_SHIELD(0);
    struct weft_deadline d = weft_deadline_begin(0);
    weft_pin();
    weft_unpin();
    CHECK(!d.fiber);
}

static int out_of_order(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    struct weft_deadline a = weft_deadline_begin(1);
    struct weft_shield b = weft_shield_begin(1);
    weft_deadline_end(&a);
    weft_shield_end(&b);
    return 0;
}

static void run_out_of_order(void)
{
    (void)test_on_loop(out_of_order, NULL, NULL);
}

TEST_WITH(guard_out_of_order_aborts, .no_torture = "it aborts in a forked child")
{
    char text[2048];
    int status = test_in_child(run_out_of_order, text, sizeof text);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(text, "fiber 'test' ends a deadline out of order"));
}
