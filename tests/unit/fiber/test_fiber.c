#include "fiber/fiber.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/hooks.h"
#include "base/log.h"
#include "fiber/loop.h"
#include "support/fibers.h"

static int answer(void *arg, struct upp_err *err)
{
    (void)err;
    return *(int *)arg;
}

static int fails(void *arg, struct upp_err *err)
{
    (void)arg;
    return upp_fail(err, UPP_ESTORE, "the disk is full");
}

TEST(fiber_run_gives_the_result)
{
    struct upp_err err;
    int n = 42;
    CHECK_INT(test_on_loop(answer, &n, &err), 42);
    CHECK_INT(test_on_loop(fails, NULL, &err), -UPP_ESTORE);
    CHECK(strcmp(err.msg, "the disk is full") == 0);
}

static int fails_silently(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    return -UPP_EQUOTA;
}

TEST(fiber_failure_without_a_sentence_gets_one)
{
    struct upp_err err = {.msg = "old"};
    CHECK_INT(test_on_loop(fails_silently, NULL, &err), -UPP_EQUOTA);
    CHECK_INT(err.code, UPP_EQUOTA);
    CHECK(strcmp(err.msg, "the quota is used up") == 0);
}

struct order {
    char text[64];
    size_t n;
};

struct one {
    struct order *order;
    char letter;
    int yields;
};

static int writes(void *arg, struct upp_err *err)
{
    struct one *o = arg;
    for (int i = 0; i <= o->yields; i++) {
        o->order->text[o->order->n++] = o->letter;
        TRY(i < o->yields ? weft_yield(err) : 0);
    }
    return 0;
}

static int take_turns(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct one *o = arg;
    for (int i = 0; i < 3; i++)
        TRY(weft_scope_spawn(&s, "writer", writes, &o[i], NULL, err));
    return weft_scope_join(&s, err);
}

TEST(fiber_yield_takes_turns)
{
    struct order order = {.n = 0};
    struct one o[3] = {{&order, 'a', 2}, {&order, 'b', 1}, {&order, 'c', 2}};
    struct upp_err err;
    CHECK_INT(test_on_loop(take_turns, o, &err), 0);
    CHECK_STR(((struct upp_str){order.text, order.n}), UPP_STR("abcabcac"));
}

static int self_checks(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    struct weft_fiber *f = weft_fiber_self();
    FAIL_UNLESS(f && weft_fiber_id(f) == 1 && strcmp(weft_fiber_name(f), "test") == 0);
    FAIL_UNLESS(!weft_fiber_ended(f) && weft_loop_current() == f->loop);
    return 0;
}

TEST(fiber_knows_itself)
{
    struct upp_err err;
    CHECK(!weft_fiber_self() && !weft_loop_current());
    CHECK_INT(test_on_loop(self_checks, NULL, &err), 0);
    CHECK(!weft_fiber_self() && !weft_loop_current());
}

/* ---- Cancel ---- */

static int sleeps(void *arg, struct upp_err *err)
{
    int *waited = arg;
    int r = weft_sleep_ms(100000, err);
    *waited = r;
    return r;
}

static int cancel_it(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    TRY(weft_scope_spawn(&s, "sleeper", sleeps, arg, &f, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(f->state == WEFT__WAITING && strcmp(f->waits_for, "time to pass") == 0);
    weft_fiber_cancel(f);
    weft_fiber_cancel(f); /* again: nothing */
    weft__wake(f, 5);     /* ready: nothing */
    int r = weft_fiber_join(f, err);
    FAIL_UNLESS(r == -UPP_ECANCELED && weft_fiber_ended(f));
    weft_fiber_cancel(f); /* ended: nothing */
    return 0;
}

TEST(fiber_cancel_ends_a_wait)
{
    int waited = 1;
    struct upp_err err;
    CHECK_INT(test_on_loop(cancel_it, &waited, &err), 0);
    CHECK_INT(waited, -UPP_ECANCELED);
}

static int never_runs(void *arg, struct upp_err *err)
{
    (void)err;
    *(int *)arg = 1;
    return 0;
}

static int cancel_before(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    TRY(weft_scope_spawn(&s, "unborn", never_runs, arg, &f, err));
    weft_fiber_cancel(f);
    FAIL_UNLESS(weft_fiber_ended(f));
    int r = weft_fiber_join(f, err);
    FAIL_UNLESS(r == -UPP_ECANCELED && err->code == UPP_ECANCELED);
    return weft_scope_join(&s, err); /* no failure */
}

TEST(fiber_cancelled_before_it_ran_never_runs)
{
    int ran = 0;
    struct upp_err err;
    CHECK_INT(test_on_loop(cancel_before, &ran, &err), 0);
    CHECK_INT(ran, 0);
}

static int cancel_is_sticky(void *arg, struct upp_err *err)
{
    (void)arg;
    struct weft_fiber *f = weft_fiber_self();
    uint64_t resumes = atomic_load(&f->loop->resumes);
    FAIL_UNLESS(!weft_fiber_canceled());
    weft_fiber_cancel(f);
    FAIL_UNLESS(weft_fiber_canceled());
    FAIL_UNLESS(weft_sleep_ms(1, err) == -UPP_ECANCELED && weft_yield(err) == -UPP_ECANCELED);
    struct weft_cond c = {0};
    FAIL_UNLESS(weft_cond_wait(&c, err) == -UPP_ECANCELED && !c.first && !c.last);
    FAIL_UNLESS(strcmp(err->msg, "cancelled while waiting for a condition") == 0);
    FAIL_UNLESS(atomic_load(&f->loop->resumes) == resumes); /* none of them suspended */
    return 7;
}

TEST(fiber_cancel_is_sticky)
{
    struct upp_err err;
    CHECK_INT(test_on_loop(cancel_is_sticky, NULL, &err), 7);
}

/* ---- Join ---- */

static int join_many(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *good = NULL, *bad = NULL;
    TRY(weft_scope_spawn(&s, "good", answer, arg, &good, err));
    FAIL_UNLESS(weft_fiber_join(good, err) == 42 || test_failed());
    FAIL_UNLESS(weft_fiber_join(good, err) == 42); /* as often as one likes */
    TRY(weft_scope_spawn(&s, "bad", fails, NULL, &bad, err));
    int r = weft_fiber_join(bad, err);
    FAIL_UNLESS(r == -UPP_ESTORE && strcmp(err->msg, "the disk is full") == 0);
    return 0;
}

TEST(fiber_join_gives_result_and_error)
{
    struct upp_err err;
    int n = 42;
    CHECK_INT(test_on_loop(join_many, &n, &err), 0);
}

/* ---- Limits and sizes ---- */

static int fill(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    int n = 1, r;
    (void)arg;
    while ((r = weft_scope_spawn(&s, "sleeper", sleeps, &(int){0}, NULL, err)) == 0)
        n++;
    return r == -UPP_ELIMIT ? n : r;
}

TEST(fiber_limit_is_said)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .max_fibers = 10), &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "fill", fill, NULL, &err), 10);
    CHECK_INT(weft_loop_run(l, "again", fill, NULL, &err), 10); /* all were given back */
    CHECK(l->live == 0);
}

/* The system has no more memory for stacks: said, and everything is given back. */
static int out_of_maps(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    int r;
    (void)arg;
    struct rlimit limit = {400 << 20, 400 << 20};
    (void)setrlimit(RLIMIT_AS, &limit);
    while ((r = weft_scope_spawn(&s, "sleeper", sleeps, &(int){0}, NULL, err)) == 0)
        ;
    return r;
}

static void run_out_of_maps(void)
{
    struct upp_err err;
    int r = test_on_loop(out_of_maps, NULL, &err);
    (void)fprintf(stderr, "%d %s\n", r, err.msg);
}

TEST_WITH(fiber_no_memory_for_a_stack, .no_torture = "it lives in a forked child")
{
    char text[2048];
    if (WEFT__ANNOTATED || test_on_valgrind())
        return; /* they need more memory than the limit */
    int status = test_in_child(run_out_of_maps, text, sizeof text);
    test_note("%s", text);
    CHECK(status == 0);
    CHECK(strcmp(text, "-17 no memory or no map left for the stack of a fiber\n") == 0);
}

struct crowd {
    struct weft_cond gate;
    int inside, passed;
};

static int through(void *arg, struct upp_err *err)
{
    struct crowd *c = arg;
    c->inside++;
    int r = weft_cond_wait(&c->gate, err);
    c->passed += r == 0;
    return r;
}

static int crowd(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct crowd *c = arg;
    for (int i = 0; i < 10000; i++)
        TRY(weft_scope_spawn(&s, "one of many", through, c, NULL, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(c->inside == 10000);
    weft_cond_broadcast(&c->gate);
    return weft_scope_join(&s, err);
}

TEST_WITH(fiber_ten_thousand, .no_torture = "30,000 allocations, each like the others", .seconds = 120)
{
    struct crowd c = {.inside = 0};
    struct upp_err err;
    CHECK_INT(test_on_loop(crowd, &c, &err), 0);
    CHECK_INT(c.passed, 10000);
}

/* ---- Log context ---- */

static int keeps_log(void *arg, struct upp_err *err)
{
    FAIL_UNLESS(wb_log_ctx_swap(arg) == NULL); /* not its parent's */
    for (int i = 0; i < 3; i++) {
        TRY(weft_yield(err));
        FAIL_UNLESS(wb_log_ctx_swap(arg) == arg);
    }
    return 0;
}

static int logs(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    struct wb_log_ctx *c = arg;
    FAIL_UNLESS(wb_log_ctx_swap(c) == NULL);
    for (int i = 1; i < 4; i++)
        TRY(weft_scope_spawn(&s, "logs", keeps_log, c + i, NULL, err));
    int r = weft_scope_join(&s, err);
    FAIL_UNLESS(wb_log_ctx_swap(NULL) == c);
    return r;
}

TEST(fiber_log_context_is_its_own)
{
    struct upp_err err;
    struct wb_log_ctx contexts[4] = {{NULL, NULL}}, mine = {NULL, NULL};
    struct wb_log_ctx *before = wb_log_ctx_swap(&mine);
    int r = test_on_loop(logs, contexts, &err);
    struct wb_log_ctx *after = wb_log_ctx_swap(before);
    CHECK(r == 0 && after == &mine);
}

/* ---- Misuse ends the process and says who did it ---- */

static int waits_pinned(void *arg, struct upp_err *err)
{
    (void)arg;
    weft_pin();
    return weft_sleep_ms(1, err);
}

static int resumes_itself(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    weft__fiber_resume(weft_loop_current(), weft_fiber_self());
    return 0;
}

static int ends_pinned(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    weft_pin();
    return 0;
}

static int unpins(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    weft_unpin();
    return 0;
}

static weft_fn *misuse;

static void run_misuse(void)
{
    (void)test_on_loop(misuse, NULL, NULL);
}

TEST_WITH(fiber_misuse_aborts_with_its_name, .no_torture = "it aborts in a forked child")
{
    static const struct {
        weft_fn *fn;
        const char *text;
    } cases[] = {
        {waits_pinned, "weft: fiber 'test' is pinned and would wait for time to pass\n"},
        {resumes_itself, "weft: fiber 'test' is resumed while it is not ready\n"},
        {ends_pinned, "weft: fiber 'test' ended with 1 pins and 0 guards open\n"},
        {unpins, "weft: fiber 'test' is unpinned more often than pinned\n"},
    };
    char text[2048];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        misuse = cases[i].fn;
        int status = test_in_child(run_misuse, text, sizeof text);
        test_note("%s", text);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
        CHECK(strncmp(text, cases[i].text, strlen(cases[i].text)) == 0);
    }
}

/* ---- Misuse that a caller can handle ---- */

static int joins_itself(void *arg, struct upp_err *err)
{
    (void)arg;
    return weft_fiber_join(weft_fiber_self(), err);
}

static int spawns_elsewhere(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *other = NULL;
    TRY(weft_loop_open(NULL, &other, err));
    return weft_loop_spawn(other, "stray", joins_itself, arg, err);
}

TEST(fiber_misuse_is_refused)
{
    struct upp_err err = {0};
    CHECK_INT(test_on_loop(joins_itself, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("fiber 'test' is joined by itself"));
    CHECK_INT(test_on_loop(spawns_elsewhere, NULL, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("weft_loop_spawn: fiber 'stray' is spawned from outside of its loop"));
    CHECK_INT(weft_sleep_ms(1, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("weft_sleep_ms is called by fibers alone"));
}
