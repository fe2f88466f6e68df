/* fiber/group.c — N loops, one thread each.
 *
 * Stopping: every loop cancels its fibers and goes on turning until all loops are idle at the same time, because a
 * fiber that unwinds on one may still call another.
 *
 * Invariant: what is under way between loops is a call, which `owed` counts, so that a loop which waits for an answer
 * is not idle; or a post, which nobody counts. A post that came when all were idle is run after the threads have
 * ended. It may post again, to any loop: none is freed before all are drained.
 */
#include <stdlib.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/loop.h"
#include "fiber/loop_uv.h"
#include "fiber/overflow.h"
#include "fiber/thread.h"

struct member {
    struct weft_group *group;
    struct weft_loop *loop;
    pthread_t thread;
    bool started, canceled, idle; /* the last two are the thread's own */
};

struct weft_group {
    uint32_t n;
    bool report_overflow;
    struct weft_workers *workers; /* ours, or NULL */
    _Atomic bool stopping, over;
    _Atomic uint32_t n_idle, n_threads;
    struct member members[];
};

static void wake_all(struct weft_group *g)
{
    for (uint32_t i = 0; i < g->n; i++)
        if (g->members[i].loop)
            g->members[i].loop->ops->wake(g->members[i].loop);
}

static void wind_down(struct member *m)
{
    struct weft_group *g = m->group;
    struct weft_loop *l = m->loop;
    if (!m->canceled) {
        m->canceled = true;
        weft__scope_cancel(&l->background);
    }
    bool idle = !l->live && !l->owed && !weft__loop_has_mail(l);
    if (idle == m->idle)
        return;
    m->idle = idle;
    if (!idle)
        (void)atomic_fetch_sub(&g->n_idle, 1);
    else if (atomic_fetch_add(&g->n_idle, 1) + 1 == atomic_load(&g->n_threads)) {
        atomic_store(&g->over, true);
        wake_all(g);
    }
}

static void *thread(void *arg)
{
    struct member *m = arg;
    struct weft_group *g = m->group;
    struct weft_loop *l = m->loop;
    if (g->report_overflow)
        (void)!weft_fiber_report_overflow(NULL); /* best effort: without it an overflow is only not named */
    (void)weft__loop_enter(l);
    (void)weft__loop_clock(l);
    while (!atomic_load(&g->over)) {
        if (atomic_load(&g->stopping))
            wind_down(m);
        if (!atomic_load(&g->over))
            (void)l->ops->turn(l, true, NULL);
    }
    (void)weft__loop_enter(NULL);
    weft__overflow_thread_ends();
    return NULL;
}

static void stop(struct weft_group *g)
{
    uint32_t started = 0;
    for (uint32_t i = 0; i < g->n; i++)
        started += g->members[i].started;
    atomic_store(&g->n_threads, started);
    atomic_store(&g->stopping, true);
    wake_all(g);
    for (uint32_t i = 0; i < g->n; i++)
        if (g->members[i].started)
            (void)pthread_join(g->members[i].thread, NULL);
}

/* Runs what was posted: true when there was something. */
static bool drain(struct weft_group *g)
{
    bool some = false;
    for (uint32_t i = 0; i < g->n; i++) {
        struct weft_loop *l = g->members[i].loop;
        if (!l || (!l->live && !weft__loop_has_mail(l)))
            continue;
        struct weft_loop *before = weft__loop_enter(l); /* a fiber of another loop may be closing the group */
        weft__loop_empty(l);
        (void)weft__loop_enter(before);
        some = true;
    }
    return some;
}

void weft_group_close(struct weft_group *g)
{
    if (!g)
        return;
    stop(g);
    while (drain(g))
        ;
    for (uint32_t i = 0; i < g->n; i++)
        if (g->members[i].loop)
            g->members[i].loop->ops->close(g->members[i].loop);
    weft_workers_close(g->workers);
    wb_free(g);
}

void weft_group_closep(struct weft_group **g)
{
    weft_group_close(*g);
}

int weft_group_open(const struct weft_group_opts *opts, struct weft_group **ret, struct upp_err *err)
{
    struct weft_group_opts o;
    struct weft_loop_opts each;
    wb_opts(&o, sizeof o, opts);
    wb_opts(&each, sizeof each, o.loop);
    each.size = sizeof each;
    uint32_t n = o.loops ? o.loops : weft__uv_cores();

    WB_CLEANUP(weft_group_closep) struct weft_group *g = wb_calloc(1, sizeof *g + n * sizeof g->members[0]);
    if (!g)
        return upp_fail(err, UPP_ENOMEM, "no memory for %u loops", n);
    g->n = n;
    g->report_overflow = o.report_overflow;
    int r = 0;
    if (!each.workers) {
        r = weft_workers_open(NULL, &g->workers, err);
        each.workers = g->workers;
    }
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        g->members[i].group = g;
        r = weft_loop_open(&each, &g->members[i].loop, err);
    }
    for (uint32_t i = 0; r >= 0 && i < n; i++) {
        if (weft__thread_start(&g->members[i].thread, thread, &g->members[i]) < 0)
            r = upp_fail(err, UPP_ELIMIT, "no thread can be started");
        else
            g->members[i].started = true;
    }
    if (r < 0)
        return r;
    *ret = WB_TAKE(g);
    return 0;
}

uint32_t weft_group_count(const struct weft_group *g)
{
    return g->n;
}

struct weft_loop *weft_group_loop(const struct weft_group *g, uint32_t i)
{
    return i < g->n ? g->members[i].loop : NULL;
}
