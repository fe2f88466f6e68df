/* The cancel sweep: a program that waits in every way there is, cancelled at its 1st, 2nd, 3rd ... suspension until it
 * runs through untouched; on the simulated loop and on libuv. Whatever the moment, it ends with success or
 * -UPP_ECANCELED, its cleanups have run, and nothing is left: the driver's account sees memory and descriptors, the
 * test looks for processes. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "base/hooks.h"
#include "fiber/loop.h"
#include "support/sim/sim.h"
#include "support/fibers.h"

struct program {
    int fd[2];
    struct weft_channel *channel;
    struct weft_cond ready;
    bool is_ready;
    int begun, cleaned;     /* sections that must be finished once begun */
    _Atomic int made, gone; /* arguments of jobs and calls */
};

struct thing {
    struct program *p;
    int n;
};

static struct thing *thing(struct program *p)
{
    struct thing *t = wb_alloc(sizeof *t);
    if (t) {
        *t = (struct thing){p, 0};
        p->made++;
    }
    return t;
}

static void drop(void *arg)
{
    struct thing *t = arg;
    t->p->gone++;
    wb_free(t);
}

static int adds(void *arg, struct upp_err *err)
{
    (void)err;
    return ++((struct thing *)arg)->n;
}

static int adds_slowly(void *arg, struct upp_err *err)
{
    TRY(weft_sleep_ms(1, err));
    return adds(arg, err);
}

/* A cleanup that waits, as the end of a run does. */
static void finishes(struct program **p)
{
    WEFT_SHIELD(0);
    if (weft_sleep_ms(1, NULL) == 0 && weft_yield(NULL) == 0)
        (*p)->cleaned++;
}

static int producer(void *arg, struct upp_err *err)
{
    struct program *p = arg;
    UPP_CLEANUP(finishes) struct program *ends = p;
    p->begun++;
    for (int i = 0; i < 4; i++) {
        TRY(weft_channel_send(p->channel, &i, err));
        TRY(weft_sleep_ms(1, err));
    }
    weft_channel_close(p->channel);
    return ends == p ? 0 : -UPP_EBUG;
}

static int consumer(void *arg, struct upp_err *err)
{
    struct program *p = arg;
    int i, r, n = 0;
    while ((r = weft_channel_recv(p->channel, &i, err)) == 1)
        FAIL_UNLESS(i == n++);
    TRY(r);
    p->is_ready = true;
    weft_cond_broadcast(&p->ready);
    return weft_send(p->fd[0], "done", 4, err);
}

static int uses_worker(struct program *p, struct upp_err *err)
{
    struct thing *t = thing(p);
    int ret;
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_work(adds, t, drop, &ret, err));
    drop(t);
    FAIL_UNLESS(ret == 1);
    t = thing(p);
    if (!t)
        return -UPP_ENOMEM;
    TRY(weft_loop_call(weft_loop_current(), "call", adds_slowly, t, drop, &ret, err));
    drop(t);
    FAIL_UNLESS(ret == 1 || ret == -UPP_ECANCELED);
    return ret == 1 ? 0 : ret;
}

static int uses_process(struct upp_err *err)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct upp_spawn what = {.file = "true", .argv = argv, .own_session = true};
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    int status;
    what.in = what.out = what.error = -1;
    TRY(weft_process_open(&what, &p, err));
    TRY(weft_process_wait(p, &status, err));
    FAIL_UNLESS(status == 0);
    return 0;
}

static int reader(void *arg, struct upp_err *err)
{
    struct program *p = arg;
    char text[4];
    while (!p->is_ready)
        TRY(weft_cond_wait(&p->ready, err));
    for (size_t n = 0; n < sizeof text;) {
        int64_t r = weft_recv(p->fd[1], text + n, sizeof text - n, err);
        TRY((int)r);
        FAIL_UNLESS(r > 0);
        n += (size_t)r;
    }
    FAIL_UNLESS(memcmp(text, "done", 4) == 0);
    return 0;
}

static int program(void *arg, struct upp_err *err)
{
    struct program *p = arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    WEFT_DEADLINE(60000);
    TRY(weft_scope_spawn(&s, "producer", producer, p, NULL, err));
    TRY(weft_scope_spawn(&s, "consumer", consumer, p, NULL, err));
    TRY(weft_scope_spawn(&s, "reader", reader, p, NULL, err));
    TRY(uses_worker(p, err));
    TRY(uses_process(err));
    {
        WEFT_DEADLINE(1);
        struct weft_cond never = {0};
        int r = weft_cond_wait(&never, err);
        FAIL_UNLESS(r == -UPP_ETIMEOUT || r == -UPP_ECANCELED);
    }
    return weft_scope_join(&s, err);
}

/* ---- The sweep ---- */

struct plan {
    unsigned at, seen;
    bool self; /* cancel whoever suspends, not the root */
};

static void on_suspend(void *arg, struct weft_fiber *f)
{
    struct plan *plan = arg;
    if (++plan->seen == plan->at)
        weft_fiber_cancel(plan->self ? f : f->loop->root);
}

/* One run, cancelled at suspension `at` (0: never). */
static int once(struct weft_loop *l, struct program *p, struct plan *plan, struct upp_err *err)
{
    UPP_CLEANUP(weft_channel_freep) struct weft_channel *c = NULL;
    TRY(weft_channel_new(2, sizeof(int), &c, err));
    p->channel = c;
    weft__loop_on_suspend(l, on_suspend, plan);
    int r = weft_loop_run(l, "program", program, p, err);
    weft__loop_on_suspend(l, NULL, NULL);
    /* When one child alone is gone the others wait for it, until the deadline around all of it. */
    FAIL_UNLESS(r == 0 || r == -UPP_ECANCELED || (plan->self && r == -UPP_ETIMEOUT) || test_failed());
    FAIL_UNLESS(p->begun == p->cleaned);
    return r;
}

static int on_sim(uint64_t seed, struct plan *plan, struct upp_err *err)
{
    struct program p = {.fd = {-1, -1}};
    int r;
    {
        UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
        TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, err));
        TRY(weft__sim_program(w, "true", 3, 0, err));
        TRY(weft__sim_pair(w, p.fd, err));
        r = once(weft__sim_loop(w, 0), &p, plan, err);
        test_closep(&p.fd[0]);
        test_closep(&p.fd[1]);
        FAIL_UNLESS(weft__sim_children(w) == 0 && weft__sim_open_fds(w) == 0);
    }
    FAIL_UNLESS(p.made == p.gone); /* the world is closed: the last job has ended */
    return r;
}

static int on_uv(struct plan *plan, struct upp_err *err)
{
    struct program p = {.fd = {-1, -1}};
    int r;
    {
        UPP_CLEANUP(weft_loop_closep) struct weft_loop *l = NULL;
        TRY(weft_loop_open(NULL, &l, err));
        if (test_socketpair(p.fd) < 0)
            return -UPP_ENET;
        r = once(l, &p, plan, err);
        test_closep(&p.fd[0]);
        test_closep(&p.fd[1]);
    }
    FAIL_UNLESS(p.made == p.gone);
    return r;
}

TEST_WITH(sweep_on_the_simulated_loop, .no_torture = "a sweep of its own; the program is tortured below",
          .seconds = 120)
{
    struct upp_err err;
    unsigned points = 0;
    for (uint64_t seed = 1; seed <= 40; seed++)
        for (struct plan plan = {.at = 1, .self = seed % 2};; plan.at++) {
            plan.seen = 0;
            test_note("seed %llu, cancelled at suspension %u", (unsigned long long)seed, plan.at);
            int r = on_sim(seed, &plan, &err);
            CHECK(!test_failed());
            if (plan.seen < plan.at) {
                CHECK_INT(r, 0);
                break;
            }
            points++;
        }
    CHECK(points > 40 * 10);
}

TEST_WITH(sweep_on_libuv, .no_torture = "a sweep of its own; the program is tortured below", .seconds = 120)
{
    struct upp_err err;
    unsigned points = 0;
    CHECK_INT(on_uv(&(struct plan){.at = 0}, &err), 0); /* what libuv opens once for the process */
    size_t before = test_descriptors();
    for (struct plan plan = {.at = 1};; plan.at++) {
        plan.seen = 0;
        test_note("cancelled at suspension %u", plan.at);
        int r = on_uv(&plan, &err);
        CHECK(!test_failed());
        CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
        CHECK_INT(test_descriptors(), before);
        if (plan.seen < plan.at) {
            CHECK_INT(r, 0);
            break;
        }
        points++;
    }
    CHECK(points > 10);
}

TEST(sweep_program_on_the_simulated_loop)
{
    struct plan none = {.at = 0};
    struct upp_err err;
    CHECK_INT(on_sim(5, &none, &err), 0);
}

TEST(sweep_program_on_libuv)
{
    struct plan none = {.at = 0};
    struct upp_err err;
    int r = on_uv(&none, &err);
    ALWAYS(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
    CHECK_INT(r, 0);
}
