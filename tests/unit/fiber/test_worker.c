#include "fiber/worker.h"

#include <string.h>
#include <time.h>

#include "base/hooks.h"
#include "support/fault.h"
#include "support/fibers.h"

/* What a job works on: on the heap, with flags the test looks at through atomics. */
struct shared {
    _Atomic int ran, dropped, go;
};

struct task {
    struct shared *s;
    int n;
};

static void nap_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};
    (void)nanosleep(&t, NULL);
}

static struct task *task(struct shared *s, int n)
{
    struct task *t = wb_alloc(sizeof *t);
    if (t)
        *t = (struct task){s, n};
    return t;
}

static void drop(void *arg)
{
    struct task *t = arg;
    atomic_fetch_add(&t->s->dropped, 1);
    wb_free(t);
}

static int doubles(void *arg, struct upp_err *err)
{
    struct task *t = arg;
    (void)err;
    atomic_fetch_add(&t->s->ran, 1);
    t->n *= 2;
    return t->n;
}

static int breaks(void *arg, struct upp_err *err)
{
    (void)arg;
    return upp_fail(err, UPP_ESTORE, "disk");
}

/* Runs until it is let go. */
static int stuck(void *arg, struct upp_err *err)
{
    struct task *t = arg;
    (void)err;
    atomic_fetch_add(&t->s->ran, 1);
    while (!atomic_load(&t->s->go))
        nap_ms(1);
    return 0;
}

static int works(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct task *t = task(s, 21);
    int ret;
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_work(doubles, t, drop, &ret, err));
    int n = t->n;
    wb_free(t); /* ours again */
    FAIL_UNLESS(ret == 42 && n == 42);
    TRY(weft_work(breaks, NULL, NULL, &ret, err));
    FAIL_UNLESS(ret == -UPP_ESTORE && strcmp(err->msg, "disk") == 0);
    return weft_work(breaks, NULL, NULL, NULL, NULL);
}

TEST(worker_runs_a_job)
{
    struct shared s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(works, &s, &err), 0);
    CHECK(s.ran == 1 && s.dropped == 0);
}

/* Cancelled while it runs: the fiber returns at once, the job goes on, its argument is dropped at its end. */
static int gives_up(void *arg, struct upp_err *err)
{
    struct shared *s = arg;
    struct task *t = task(s, 1);
    if (!t)
        return -UPP_ENOMEM;
    {
        WEFT_DEADLINE(20);
        int r = weft_work(stuck, t, drop, NULL, err);
        FAIL_UNLESS(r == -UPP_ETIMEOUT || r == -UPP_ENOMEM || r == -UPP_ELIMIT);
        if (r != -UPP_ETIMEOUT)
            return r;
        FAIL_UNLESS(s->dropped == !s->ran); /* it runs, or the machine is so slow that it never began */
    }
    /* Others are not kept from working. */
    t = task(s, 2);
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_work(doubles, t, drop, NULL, err));
    wb_free(t);
    return 0;
}

TEST(worker_stuck_job_is_detached)
{
    struct shared s = {0};
    {
        UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
        struct upp_err err;
        CHECK(weft_loop_open(NULL, &l, &err) == 0);
        int r = weft_loop_run(l, "gives up", gives_up, &s, &err);
        atomic_store(&s.go, 1);
        CHECK_INT(r, 0);
    }
    CHECK(s.dropped == 1); /* closing waited for it */
}

/* A job that outlasts the patience of close frees the pool itself. */
static int leaves_behind(void *arg, struct upp_err *err)
{
    struct task *t = task(arg, 1);
    if (!t)
        return -UPP_ENOMEM;
    WEFT_DEADLINE(20);
    return weft_work(stuck, t, drop, NULL, err);
}

TEST_WITH(worker_stuck_job_is_left_behind, .no_torture = "the rest of the pool is freed after the test")
{
    static struct shared s; /* the thread may look at it after the test */
    struct weft_workers *w = NULL;
    struct weft_loop *l = NULL;
    struct upp_err err;
    struct fault_account before = fault_account();
    atomic_store(&s.go, 0);
    s.ran = s.dropped = 0;
    CHECK(weft_workers_open(UPP_OPTS(weft_workers_opts, .close_ms = 5), &w, &err) == 0);
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = w), &l, &err) == 0);
    int r = weft_loop_run(l, "leaves", leaves_behind, &s, &err);
    weft_loop_close(l);
    weft_workers_close(w);
    bool left = s.ran == 1 && s.dropped == 0;
    atomic_store(&s.go, 1);
    for (int i = 0; i < 2000 && fault_account().blocks > before.blocks; i++)
        nap_ms(1);
    CHECK_INT(r, -UPP_ETIMEOUT);
    CHECK(left || s.ran == 0);
}

/* ---- Limits ---- */

static int waits(void *arg, struct upp_err *err)
{
    struct task *t = task(arg, 1);
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_work(stuck, t, drop, NULL, err));
    wb_free(t);
    return 0;
}

static int overfull(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    struct shared *sh = arg;
    TRY(weft_scope_spawn(&s, "first", waits, sh, NULL, err));
    while (!sh->ran && s.state->live) /* it has begun: the queue is empty */
        TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(sh->ran == 1);
    for (int i = 0; i < 2; i++)
        TRY(weft_scope_spawn(&s, "queued", waits, sh, i ? NULL : &f, err));
    TRY(weft_yield(err));
    FAIL_UNLESS(s.state->live == 3);
    struct task *t = task(sh, 1);
    if (!t)
        return -UPP_ENOMEM;
    int r = weft_work(doubles, t, drop, NULL, err);
    FAIL_UNLESS(r == -UPP_ELIMIT && sh->dropped == 1);
    /* A queued job that is cancelled never runs and is dropped at once. */
    weft_fiber_cancel(f);
    r = weft_fiber_join(f, err);
    FAIL_UNLESS(r == -UPP_ECANCELED && sh->dropped == 2 && sh->ran == 1);
    atomic_store(&sh->go, 1);
    return weft_scope_join(&s, err);
}

TEST(worker_queue_has_a_limit)
{
    struct shared s = {0}; /* outlives the workers */
    UPP_CLEANUP(weft_workers_closep) struct weft_workers *w = NULL;
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_workers_open(UPP_OPTS(weft_workers_opts, .max_threads = 1, .max_jobs = 2), &w, &err) == 0);
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = w), &l, &err) == 0);
    int r = weft_loop_run(l, "overfull", overfull, &s, &err);
    atomic_store(&s.go, 1);
    CHECK_INT(r, 0);
    CHECK(s.ran == 2); /* the first and one of the queued */
}

/* ---- Long jobs: others find a thread, whatever they do ---- */

static int waits_long(void *arg, struct upp_err *err)
{
    struct task *t = task(arg, 1);
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft__work_long(stuck, t, drop, NULL, err));
    wb_free(t);
    return 0;
}

static int others_go_on(void *arg, struct upp_err *err)
{
    struct shared *sh = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {.flags = WEFT_SCOPE_ISOLATED};
    for (int i = 0; i < 5; i++)
        TRY(weft_scope_spawn(&s, "long", waits_long, sh, NULL, err));
    while (sh->ran < 3 && s.state->live == 5)
        TRY(weft_sleep_ms(1, err));
    FAIL_UNLESS(sh->ran == 3);
    struct task *t = task(sh, 1);
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_work(doubles, t, drop, NULL, err)); /* while all three hang, and two more wait for one of them */
    wb_free(t);
    FAIL_UNLESS(sh->ran == 4 && s.state->live == 5);
    atomic_store(&sh->go, 1);
    return weft_scope_join(&s, err);
}

static void with_longs(uint32_t threads, uint32_t longs)
{
    struct shared s = {0}; /* outlives the workers */
    UPP_CLEANUP(weft_workers_closep) struct weft_workers *w = NULL;
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_workers_open(UPP_OPTS(weft_workers_opts, .max_threads = threads, .max_long = longs), &w, &err) == 0);
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = w), &l, &err) == 0);
    int r = weft_loop_run(l, "long", others_go_on, &s, &err);
    atomic_store(&s.go, 1);
    CHECK_INT(r, 0);
    CHECK_INT(s.ran, 6);
}

TEST_WITH(worker_long_jobs_leave_a_thread_to_others, .no_torture = "a thread that cannot be started leaves one hanging")
{
    with_longs(4, 0);
    with_longs(16, 3);
}

/* A long job that had to wait begins when another one ends, though the thread of that has something else to do. */
static int one_after_another(void *arg, struct upp_err *err)
{
    struct shared *sh = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    atomic_store(&sh->go, 1);
    for (int i = 0; i < 50; i++) {
        TRY(weft_scope_spawn(&s, "long", waits_long, sh, NULL, err));
        TRY(weft_scope_spawn(&s, "works", works, sh, NULL, err));
    }
    return weft_scope_join(&s, err);
}

TEST(worker_long_jobs_all_come_to_an_end)
{
    struct shared s = {0};
    UPP_CLEANUP(weft_workers_closep) struct weft_workers *w = NULL;
    UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
    struct upp_err err;
    CHECK(weft_workers_open(UPP_OPTS(weft_workers_opts, .max_threads = 3, .max_long = 1), &w, &err) == 0);
    CHECK(weft_loop_open(UPP_OPTS(weft_loop_opts, .workers = w), &l, &err) == 0);
    CHECK_INT(weft_loop_run(l, "many", one_after_another, &s, &err), 0);
    CHECK_INT(s.ran, 100);
}

/* ---- Many at once: the pool grows to its cap and no further ---- */

static int many(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (int i = 0; i < 20; i++)
        TRY(weft_scope_spawn(&s, "works", works, arg, NULL, err));
    return weft_scope_join(&s, err);
}

TEST(worker_many_jobs)
{
    struct shared s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(many, &s, &err), 0);
    CHECK_INT(s.ran, 20);
}

static int alone(void *arg, struct upp_err *err)
{
    struct task *t = task(arg, 1);
    if (!t)
        return -UPP_ENOMEM;
    int r = weft__work_alone(weft_loop_current(), doubles, t, drop, err);
    if (r < 0)
        wb_free(t);
    return r;
}

TEST(worker_alone_is_run_and_dropped)
{
    struct shared s = {0};
    struct upp_err err;
    CHECK_INT(test_on_loop(alone, &s, &err), 0);
    CHECK(s.ran == 1 && s.dropped == 1);
}
