/* fiber/worker.c — a pool of threads for blocking work, and waiting for a job.
 *
 * Not libuv's pool: that one is shared by everybody in the process, has a fixed size, and a stuck job there stops
 * name lookups of others. Here threads start on demand up to a cap, the queue is bounded, and closing does not hang
 * on a job that never returns. Long jobs have a queue of their own and never all threads.
 *
 * Invariants (under the lock)
 *  1. A QUEUED job is in its queue; a RUNNING or GIVEN_UP one belongs to a thread; a SENT one is on its way home.
 *  2. Who is in the stack of idle ones waits for its own semaphore; who is taken off it is posted to, once. (Not a
 *     condition: who wakes from one takes the lock as if others waited for it, a system call more for each job.)
 *  3. While a job waits that may begin, no thread is idle and none is left to be started.
 *  4. The pool is freed by close, or, when close gave up waiting, by the last thread.
 */
#include "fiber/worker.h"

#include <errno.h>
#include <semaphore.h>
#include <stdlib.h>
#include <time.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/thread.h"

enum { MAX_THREADS = 16, MAX_JOBS = 1024, CLOSE_MS = 10000 };

struct worker {
    struct weft_workers *pool;
    pthread_t thread;
    sem_t work;               /* there is some, or the pool is closing */
    struct worker *next_idle; /* below it in the stack of idle ones */
    bool ended;
};

struct queue {
    struct wb_link jobs;
    size_t n;
};

struct weft_workers {
    pthread_mutex_t lock;
    pthread_cond_t ended; /* a thread has ended */
    struct queue queue, longs;
    size_t max_jobs; /* of each */
    uint64_t jobs;   /* so many there were */
    size_t n_threads, max_threads, n_ended;
    size_t n_long, max_long; /* threads that do long jobs */
    struct worker *idle;     /* who worked last is the first to work again: its memory is in the cache */
    uint32_t close_ms;
    bool closing, left; /* left: nobody waits any more, the last thread frees */
    struct worker workers[];
};

static void lock(struct weft_workers *w)
{
    if (pthread_mutex_lock(&w->lock))
        abort();
}

static void unlock(struct weft_workers *w)
{
    if (pthread_mutex_unlock(&w->lock))
        abort();
}

static void post(struct worker *me)
{
    if (sem_post(&me->work) < 0) /* only one that is no semaphore, or was posted 2^31 times */
        abort();
}

static void await_work(struct worker *me)
{
    while (sem_wait(&me->work) < 0)
        if (errno != EINTR)
            abort();
}

/* ---- Jobs ------------------------------------------------------------------------------------------------ */

void weft__job_run(struct weft__job *j)
{
    j->result = j->fn(j->arg, &j->err);
    if (j->result < 0 && j->err.code != -j->result)
        (void)upp_fail(&j->err, (enum upp_code) - j->result, "%s", upp_code_text(j->result));
}

void weft__job_drop(struct weft__job *j)
{
    if (j->drop)
        j->drop(j->arg);
    wb_free(j);
}

static void take_job(struct weft__msg *m)
{
    struct weft__job *j = WB_OUTER(m, struct weft__job, msg);
    j->loop->owed--;
    j->home = true;
    if (j->fiber)
        weft__wake(j->fiber, 0); /* or it was cancelled a moment ago, and finds it home */
    else
        weft__job_drop(j); /* given up after it was sent */
}

static WEFT_SUSPENDS int work(bool is_long, weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret,
                              struct upp_err *err)
{
    static const char what[] = "a worker";
    struct weft_fiber *f = weft__caller("weft_work", err);
    int r = f ? weft__pending(f) : -UPP_EINVALID;
    if (r < 0) {
        if (drop)
            drop(arg);
        return f ? weft__cut_short(err, r, what) : r;
    }
    struct weft_loop *l = f->loop;
    struct weft__job *j = wb_alloc(sizeof *j);
    if (!j) {
        if (drop)
            drop(arg);
        return upp_fail(err, UPP_ENOMEM, "no memory for a job");
    }
    *j = (struct weft__job){.msg.take = take_job, .loop = l, .fiber = f, .fn = fn, .arg = arg, .drop = drop};
    j->is_long = is_long;
    r = l->ops->job_submit(l, j, err);
    if (r < 0) {
        weft__job_drop(j);
        return r;
    }
    l->owed++;
    r = weft__park(f, what, WEFT__NEVER, 0);
    if (r < 0) {
        switch (l->ops->job_withdraw(l, j)) {
        case WEFT__JOB_QUEUED:
            l->owed--;
            weft__job_drop(j);
            break;
        case WEFT__JOB_SENT:
            if (j->home)
                weft__job_drop(j);
            else
                j->fiber = NULL; /* the message drops it */
            break;
        default:
            l->owed--; /* it does not come home any more */
            break;
        }
        return weft__cut_short(err, r, what);
    }
    if (ret)
        *ret = j->result;
    if (j->result < 0 && err)
        *err = j->err;
    wb_free(j);
    return 0;
}

WEFT_SUSPENDS int weft_work(weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret, struct upp_err *err)
{
    return work(false, fn, arg, drop, ret, err);
}

WEFT_SUSPENDS int weft__work_long(weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret, struct upp_err *err)
{
    return work(true, fn, arg, drop, ret, err);
}

int weft__work_alone(struct weft_loop *l, weft_fn *fn, void *arg, void (*drop)(void *arg), struct upp_err *err)
{
    struct weft__job *j = wb_alloc(sizeof *j);
    if (!j)
        return upp_fail(err, UPP_ENOMEM, "no memory for a job");
    *j = (struct weft__job){.loop = l, .fn = fn, .arg = arg, .drop = drop};
    int r = l->ops->job_submit(l, j, err);
    if (r < 0)
        wb_free(j);
    return r;
}

/* ---- Threads --------------------------------------------------------------------------------------------- */

static void free_pool(struct weft_workers *w)
{
    for (size_t i = 0; i < w->n_threads; i++)
        (void)sem_destroy(&w->workers[i].work);
    (void)pthread_cond_destroy(&w->ended);
    (void)pthread_mutex_destroy(&w->lock);
    wb_free(w);
}

static struct queue *queue_of(struct weft_workers *w, const struct weft__job *j)
{
    return j->is_long ? &w->longs : &w->queue;
}

static struct weft__job *first_of(const struct queue *q)
{
    return wb_list_empty(&q->jobs) ? NULL : wb_item(q->jobs.next, struct weft__job, link);
}

/* The one that waits longest of those that may begin; with the lock held. NULL: none. */
static struct weft__job *next_job(struct weft_workers *w)
{
    struct weft__job *j = first_of(&w->queue), *l = w->n_long < w->max_long ? first_of(&w->longs) : NULL;
    if (!j || (l && l->place < j->place))
        j = l;
    if (j) {
        wb_unlink(&j->link);
        queue_of(w, j)->n--;
    }
    return j;
}

static int start_thread(struct weft_workers *w);
static struct worker *take_idle(struct weft_workers *w);

/* A long one had to wait, and may begin now: whoever is about to work on something else sees to it. With the lock
 * held. */
static void wake_for_long(struct weft_workers *w)
{
    if (!w->longs.n || w->n_long >= w->max_long)
        return;
    struct worker *idle = take_idle(w);
    if (idle)
        post(idle);
    else if (w->n_threads < w->max_threads && !w->closing)
        (void)start_thread(w); /* or the next one that is done */
}

/* Runs one job, with the lock held before and after. */
static void run_one(struct weft_workers *w, struct weft__job *j)
{
    bool is_long = j->is_long;
    j->state = j->fiber ? WEFT__JOB_RUNNING : WEFT__JOB_GIVEN_UP;
    w->n_long += is_long;
    wake_for_long(w);
    unlock(w);
    weft__job_run(j);
    lock(w);
    w->n_long -= is_long;
    bool given_up = j->state == WEFT__JOB_GIVEN_UP;
    if (!given_up)
        j->state = WEFT__JOB_SENT;
    unlock(w);
    if (given_up)
        weft__job_drop(j);
    else
        weft__loop_send(j->loop, &j->msg);
    lock(w);
}

static void *thread(void *arg)
{
    struct worker *me = arg;
    struct weft_workers *w = me->pool;
    lock(w);
    for (;;) {
        struct weft__job *j = next_job(w);
        if (j)
            run_one(w, j);
        else if (w->closing)
            break;
        else {
            me->next_idle = w->idle;
            w->idle = me;
            unlock(w);
            await_work(me);
            lock(w);
        }
    }
    me->ended = true;
    w->n_ended++;
    bool last = w->left && w->n_ended == w->n_threads;
    (void)pthread_cond_signal(&w->ended);
    unlock(w);
    if (last)
        free_pool(w);
    return NULL;
}

/* One more thread; with the lock held. */
static int start_thread(struct weft_workers *w)
{
    struct worker *me = &w->workers[w->n_threads];
    *me = (struct worker){.pool = w};
    if (sem_init(&me->work, 0, 0) < 0)
        return -errno;
    int r = weft__thread_start(&me->thread, thread, me);
    if (r == 0)
        w->n_threads++;
    else
        (void)sem_destroy(&me->work);
    return r;
}

/* The one that is to look at the queue; with the lock held. NULL: none is idle. */
static struct worker *take_idle(struct weft_workers *w)
{
    struct worker *me = w->idle;
    if (me)
        w->idle = me->next_idle;
    return me;
}

int weft_workers_open(const struct weft_workers_opts *opts, struct weft_workers **ret, struct upp_err *err)
{
    struct weft_workers_opts o;
    wb_opts(&o, sizeof o, opts);
    size_t threads = o.max_threads ? o.max_threads : MAX_THREADS;
    struct weft_workers *w = wb_calloc(1, sizeof *w + threads * sizeof w->workers[0]);
    pthread_condattr_t attr;
    if (!w)
        return upp_fail(err, UPP_ENOMEM, "no memory for %zu workers", threads);
    w->max_threads = threads;
    w->max_long = threads - WB_MIN(threads - 1, WB_MAX(threads / 4, (size_t)1));
    if (o.max_long)
        w->max_long = WB_MIN(o.max_long, threads);
    w->max_jobs = o.max_jobs ? o.max_jobs : MAX_JOBS;
    w->close_ms = o.close_ms ? o.close_ms : CLOSE_MS;
    wb_list_init(&w->queue.jobs);
    wb_list_init(&w->longs.jobs);
    if (pthread_mutex_init(&w->lock, NULL) || pthread_condattr_init(&attr) ||
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) || pthread_cond_init(&w->ended, &attr)) {
        wb_free(w); /* none of these allocates on the systems we know */
        return upp_fail(err, UPP_ENOMEM, "no locks for workers");
    }
    (void)pthread_condattr_destroy(&attr);
    *ret = w;
    return 0;
}

void weft_workers_close(struct weft_workers *w)
{
    if (!w)
        return;
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* for pthread_cond_timedwait, whose clock is no hook */
    until.tv_sec += w->close_ms / 1000;
    until.tv_nsec += (long)(w->close_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    lock(w);
    w->closing = true;
    for (struct worker *idle; (idle = take_idle(w));)
        post(idle);
    while (w->n_ended < w->n_threads && pthread_cond_timedwait(&w->ended, &w->lock, &until) == 0)
        ;
    w->left = w->n_ended < w->n_threads;
    for (size_t i = 0; i < w->n_threads; i++)
        if (!w->workers[i].ended)
            (void)pthread_detach(w->workers[i].thread);
    bool left = w->left;
    size_t n = w->n_threads;
    if (left) {
        for (size_t i = 0; i < n; i++)
            if (w->workers[i].ended)
                (void)pthread_join(w->workers[i].thread, NULL); /* past the lock but for its return */
        unlock(w);
        return;
    }
    unlock(w);
    for (size_t i = 0; i < n; i++)
        (void)pthread_join(w->workers[i].thread, NULL);
    free_pool(w);
}

void weft_workers_closep(struct weft_workers **w)
{
    weft_workers_close(*w);
}

/* ---- The loop's side ------------------------------------------------------------------------------------- */

int weft__workers_submit(struct weft_loop *l, struct weft__job *j, struct upp_err *err)
{
    if (!l->workers) {
        int r = weft_workers_open(NULL, &l->workers, err);
        if (r < 0)
            return r;
        l->own_workers = true;
    }
    struct weft_workers *w = l->workers;
    struct worker *to = NULL;
    int r = 0;
    lock(w);
    struct queue *q = queue_of(w, j);
    bool waits = j->is_long && w->n_long + w->longs.n >= w->max_long; /* for another long one to end */
    if (q->n >= w->max_jobs)
        r = wb_fail_full(err, "%zu jobs wait for a worker, the limit", q->n);
    else if (!waits && !w->idle && w->n_threads < w->max_threads && start_thread(w) < 0 && w->n_threads == 0)
        r = wb_fail_full(err, "no thread can be started");
    else {
        j->state = WEFT__JOB_QUEUED;
        j->place = w->jobs++;
        wb_list_push(&q->jobs, &j->link);
        q->n++;
        to = waits ? NULL : take_idle(w);
    }
    unlock(w);
    if (to) /* after the lock, which is the first thing that it takes; the pool outlives its loops */
        post(to);
    return r;
}

enum weft__job_state weft__workers_withdraw(struct weft_loop *l, struct weft__job *j)
{
    struct weft_workers *w = l->workers;
    lock(w);
    enum weft__job_state state = j->state;
    if (state == WEFT__JOB_QUEUED) {
        wb_unlink(&j->link);
        queue_of(w, j)->n--;
    } else if (state == WEFT__JOB_RUNNING)
        j->state = WEFT__JOB_GIVEN_UP;
    unlock(w);
    return state;
}
