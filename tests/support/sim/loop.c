/* support/sim/loop.c — the simulated kind of loop: one step at a time, drawn from the seed.
 *
 * A step is one of: a fiber that is ready runs; a loop takes its messages; a loop fires its timers that are due; the
 * world's own events that are due happen (jobs, deliveries, ends of processes). When there is none, time jumps to the
 * next moment at which there is. Each step takes a little time too, so that timers and work race as they do outside.
 */
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/random.h"
#include "support/sim/world.h"
#include "fiber/worker.h"

enum {
    START_NS = 1000000000,
    STEP_NS = 20000,    /* a step takes less than this */
    QUEUE_NS = 3000000, /* a job waits for a worker less than this */
    JOB_NS = 20000000,  /* and runs less than this */
    LOOK = 64,          /* how far into a ready list the draw looks */
    MAX_JOBS = 1024,
    MAX_LOOPS = 1024,
};

struct sim_kind {
    struct weft_loop loop;
    struct weft__sim *world;
    uint32_t index;
};

static struct sim_kind *kind(struct weft_loop *l)
{
    return WB_OUTER(l, struct sim_kind, loop);
}

/* ---- Chance and trace ------------------------------------------------------------------------------------- */

uint64_t weft__sim_below(struct weft__sim *w, uint64_t n)
{
    return n ? wb_mix(w->random += 0x9e3779b97f4a7c15u) % n : 0;
}

void weft__sim_note(struct weft__sim *w, const char *what, uint64_t a, uint64_t b)
{
    for (const char *p = what; *p; p++)
        w->trace = (w->trace ^ (unsigned char)*p) * 0x100000001b3u;
    w->trace = wb_mix(w->trace ^ wb_mix(a) ^ wb_mix(b + 1) ^ w->now);
    if (w->tell) {
        char line[160];
        (void)snprintf(line, sizeof line, "%llu us %s %llu %llu", (unsigned long long)(w->now - START_NS) / 1000, what,
                       (unsigned long long)a, (unsigned long long)b);
        w->tell(w->tell_arg, line);
    }
}

uint64_t weft__sim_trace(const struct weft__sim *w)
{
    return w->trace;
}

void weft__sim_soon(struct weft__sim *w, struct weft__timer *t, uint64_t at_most)
{
    if (!t->slot)
        weft__timer_add(&w->events, t, w->now + weft__sim_below(w, at_most));
}

void weft__sim_wake(struct weft_fiber *f)
{
    struct weft_loop *before = weft__loop_enter(f->loop);
    weft__wake(f, 0);
    (void)weft__loop_enter(before);
}

/* ---- Jobs --------------------------------------------------------------------------------------------------- */

static void job_event(struct weft__timer *t)
{
    struct weft__job *j = WB_OUTER(t, struct weft__job, timer);
    struct weft__sim *w = kind(j->loop)->world;
    if (j->state == WEFT__JOB_QUEUED) {
        j->state = j->fiber ? WEFT__JOB_RUNNING : WEFT__JOB_GIVEN_UP;
        weft__sim_soon(w, &j->timer, JOB_NS);
        return;
    }
    weft__sim_note(w, "job", j->fiber ? j->fiber->id : 0, kind(j->loop)->index);
    weft__timers_unreserve(&w->events);
    w->n_jobs--;
    struct weft_loop *before = weft__loop_enter(NULL); /* a worker has no loop */
    weft__job_run(j);
    (void)weft__loop_enter(before);
    if (j->state == WEFT__JOB_GIVEN_UP) {
        weft__job_drop(j);
        return;
    }
    j->state = WEFT__JOB_SENT;
    weft__loop_send(j->loop, &j->msg);
}

static int sim_job_submit(struct weft_loop *l, struct weft__job *j, struct upp_err *err)
{
    struct weft__sim *w = kind(l)->world;
    if (w->n_jobs >= w->max_jobs)
        return wb_fail_full(err, "%zu jobs wait for a worker, the limit", w->n_jobs);
    int r = weft__timers_reserve(&w->events, err);
    if (r < 0)
        return r;
    w->n_jobs++;
    j->state = WEFT__JOB_QUEUED;
    j->timer.fire = job_event;
    weft__sim_soon(w, &j->timer, QUEUE_NS);
    return 0;
}

static enum weft__job_state sim_job_withdraw(struct weft_loop *l, struct weft__job *j)
{
    struct weft__sim *w = kind(l)->world;
    enum weft__job_state state = j->state;
    if (state == WEFT__JOB_QUEUED) {
        weft__timer_remove(&w->events, &j->timer);
        weft__timers_unreserve(&w->events);
        w->n_jobs--;
    } else if (state == WEFT__JOB_RUNNING) {
        j->state = WEFT__JOB_GIVEN_UP;
        j->fiber = NULL;
    }
    return state;
}

/* ---- Steps --------------------------------------------------------------------------------------------------- */

static bool has_messages(struct weft_loop *l)
{
    return weft__loop_has_mail(l) || !wb_list_empty(&l->later);
}

static bool due(const struct weft__timers *t, uint64_t now)
{
    return weft__timers_next(t) <= now;
}

/* How many things could happen now. */
static size_t choices(struct weft__sim *w)
{
    size_t n = due(&w->events, w->now);
    for (uint32_t i = 0; i < w->n; i++) {
        struct weft_loop *l = w->loops[i];
        size_t ready = 0;
        for (struct wb_link *p = l->ready.next; p != &l->ready && ready < LOOK; p = p->next)
            ready++;
        n += ready + has_messages(l) + due(&l->timers, w->now) + atomic_load(&l->cancel);
    }
    return n;
}

static void run_fiber(struct weft__sim *w, struct weft_loop *l, struct wb_link *link)
{
    struct weft_fiber *f = wb_item(link, struct weft_fiber, run);
    weft__sim_note(w, f->name, f->id, kind(l)->index);
    wb_unlink(link);
    weft__fiber_resume(l, f);
}

/* Lets the k-th of them happen, in the order in which they were counted. */
static void choose(struct weft__sim *w, size_t k)
{
    if (due(&w->events, w->now) && k-- == 0) {
        (void)weft__timers_fire(&w->events, w->now);
        return;
    }
    for (uint32_t i = 0; i < w->n; i++) {
        struct weft_loop *l = w->loops[i];
        size_t seen = 0;
        for (struct wb_link *p = l->ready.next; p != &l->ready && seen < LOOK; p = p->next, seen++)
            if (k-- == 0) {
                (void)weft__loop_enter(l);
                l->now = w->now;
                run_fiber(w, l, p);
                return;
            }
        size_t others = (size_t)has_messages(l) + due(&l->timers, w->now) + atomic_load(&l->cancel);
        if (k < others) { /* in steps of their own they would be told apart for little: nearly all only mark ready */
            (void)weft__loop_enter(l);
            l->now = w->now;
            weft__sim_note(w, "serves", kind(l)->index, 0);
            weft__loop_serve(l);
            return;
        }
        k -= others;
    }
}

/* One thing happens; false: nothing ever will. */
static bool step(struct weft__sim *w)
{
    size_t n;
    while ((n = choices(w)) == 0) {
        uint64_t next = weft__timers_next(&w->events);
        for (uint32_t i = 0; i < w->n; i++)
            next = WB_MIN(next, weft__timers_next(&w->loops[i]->timers));
        if (next == WEFT__NEVER)
            return false;
        w->now = next;
    }
    struct weft_loop *before = weft__loop_enter(NULL);
    choose(w, weft__sim_below(w, n));
    (void)weft__loop_enter(before);
    w->now += weft__sim_below(w, STEP_NS);
    return true;
}

/* Nobody can go on. Says who waits for what, and cancels them all. */
static int deadlock(struct weft__sim *w, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64 * 1024);
    size_t hope = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        struct weft_loop *before = weft__loop_enter(w->loops[i]);
        wb_list_each (link, &w->loops[i]->fibers) {
            struct weft_fiber *f = wb_item(link, struct weft_fiber, all);
            wb_buf_addf(&b, "%s%s waits for %s", b.n ? ", " : "", f->name, f->waits_for);
            hope += !f->canceled && !f->masked;
            weft_fiber_cancel(f);
        }
        (void)weft__loop_enter(before);
    }
    struct upp_str who = wb_buf_str(&b);
    if (!hope)
        weft__die("deadlock that no cancel ends: %.*s", UPP_FMT(who));
    if (w->tell) {
        wb_buf_addc(&b, 0);
        w->tell(w->tell_arg, "deadlock");
        w->tell(w->tell_arg, wb_buf_check(&b, NULL) < 0 ? "(no memory to say more)" : b.p);
    }
    return upp_fail(err, UPP_EBUG, "deadlock: %.*s", UPP_FMT(who));
}

static int sim_turn(struct weft_loop *l, bool block, struct upp_err *err)
{
    struct weft__sim *w = kind(l)->world;
    if (step(w) || !block)
        return 0;
    return deadlock(w, err);
}

static void sim_wake_loop(struct weft_loop *l)
{
    (void)l; /* the world looks at every inbox */
}

static void sim_close_loop(struct weft_loop *l)
{
    weft__die("a simulated loop is closed with its world (%u)", kind(l)->index);
}

static const struct weft__loop_ops ops = {
    .name = "sim",
    .turn = sim_turn,
    .wake = sim_wake_loop,
    .fd_watch = weft__sim_fd_watch,
    .fd_forget = weft__sim_fd_forget,
    .job_submit = sim_job_submit,
    .job_withdraw = sim_job_withdraw,
    .child_open = weft__sim_child_open,
    .child_status = weft__sim_child_status,
    .child_kill = weft__sim_child_kill,
    .child_reap = weft__sim_child_reap,
    .close = sim_close_loop,
};

/* ---- Opening and closing ---------------------------------------------------------------------------------- */

static void free_loops(struct weft__sim *w)
{
    for (uint32_t i = 0; i < w->n; i++) {
        weft__loop_done(w->loops[i]);
        wb_free(kind(w->loops[i]));
    }
    wb_free(w->loops);
}

void weft__sim_close(struct weft__sim *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; i < w->n; i++) {
        struct weft_loop *l = w->loops[i];
        (void)weft__loop_enter(l);
        l->now = w->now;
        weft__scope_cancel(&l->background);
        (void)weft__loop_enter(NULL);
    }
    for (uint32_t i = 0; i < w->n; i++) {
        (void)weft__loop_enter(w->loops[i]);
        weft__loop_empty(w->loops[i]);
        (void)weft__loop_enter(NULL);
    }
    while (w->n_jobs && step(w)) /* those nobody waits for */
        ;
    weft__sim_fds_done(w);
    weft__sim_children_done(w);
    free_loops(w);
    weft__timers_done(&w->events);
    weft__sim_hooks_remove(w);
    wb_free(w);
}

void weft__sim_closep(struct weft__sim **w)
{
    weft__sim_close(*w);
}

static int open_loops(struct weft__sim *w, uint32_t n, const struct weft_loop_opts *opts, struct upp_err *err)
{
    struct weft_loop_opts each = *opts; /* a member of our own options: its size need not be set */
    each.size = sizeof each;
    w->loops = wb_calloc(n, sizeof w->loops[0]);
    if (!w->loops)
        return upp_fail(err, UPP_ENOMEM, "no memory for %u loops", n);
    for (; w->n < n; w->n++) {
        struct sim_kind *k = wb_calloc(1, sizeof *k);
        if (!k)
            return upp_fail(err, UPP_ENOMEM, "no memory for a loop");
        int r = weft__loop_init(&k->loop, &ops, &each, err);
        if (r < 0) {
            wb_free(k);
            return r;
        }
        k->world = w;
        k->index = w->n;
        k->loop.now = w->now;
        w->loops[w->n] = &k->loop;
    }
    return 0;
}

int weft__sim_open(const struct weft__sim_opts *opts, struct weft__sim **ret, struct upp_err *err)
{
    uint32_t n = opts->loops ? opts->loops : 1;
    if (n > MAX_LOOPS)
        return upp_fail(err, UPP_ELIMIT, "a world has at most %d loops", MAX_LOOPS);
    struct weft__sim *w = wb_calloc(1, sizeof *w);
    if (!w)
        return upp_fail(err, UPP_ENOMEM, "no memory for a world");
    w->random = opts->seed;
    w->trace = wb_mix(opts->seed);
    w->now = START_NS;
    w->max_jobs = opts->max_jobs ? opts->max_jobs : MAX_JOBS;
    w->tell = opts->trace;
    w->tell_arg = opts->arg;
    wb_list_init(&w->children);
    wb_list_init(&w->programs);
    int r = open_loops(w, n, &opts->loop, err);
    if (r >= 0)
        r = weft__sim_hooks_install(w, err);
    if (r < 0) {
        free_loops(w);
        wb_free(w);
        return r;
    }
    *ret = w;
    return 0;
}

struct weft_loop *weft__sim_loop(struct weft__sim *w, uint32_t i)
{
    return i < w->n ? w->loops[i] : NULL;
}
