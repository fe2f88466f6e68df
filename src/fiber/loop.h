/* fiber/loop.h — the loop: what every kind of loop has, and the interface a kind implements.
 *
 * One turn: the fibers that are ready run once each, on the loop's thread; then the kind looks outside, without
 * waiting when somebody is ready again; then timers that are due and the inbox are served, which only marks ready.
 * So a fiber that is always ready starves nobody.
 *
 * Invariants
 *  1. Fibers are resumed from the loop's stack, one level deep. Callbacks of timers, messages and the outside only
 *     record and mark ready; the one that does more says so (weft__loop_works_for).
 *  2. `owed` counts messages that somebody else holds and must send back: a loop is not closed while any is out.
 *  3. Only the inbox (under its lock) and the atomics are touched by other threads.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "fiber/fiber.h"
#include "fiber/scope.h"

/* Something sent to a loop: part of a heap object that the receiver gets back. Sending it cannot fail. */
struct weft__msg {
    struct wb_link link;
    void (*take)(struct weft__msg *m); /* on the loop's thread and stack */
};

struct weft__job;
enum weft__job_state { WEFT__JOB_QUEUED, WEFT__JOB_RUNNING, WEFT__JOB_GIVEN_UP, WEFT__JOB_SENT };

struct weft__child {
    int pid, fd; /* fd < 0: the system has none */
    bool group;  /* it leads one */
};

/* A kind of loop. All members are mandatory. */
struct weft__loop_ops {
    const char *name;

    /* Runs ready fibers, looks outside (waits there when `block` and nothing is ready), serves timers and inbox. */
    int (*turn)(struct weft_loop *l, bool block, struct upp_err *err);

    /* Any thread, any signal handler: a turn that waits outside comes back. */
    void (*wake)(struct weft_loop *l);

    /* Arms f->fd for f->fd_want; later sets f->fd_got and wakes f, once. -UPP_EBUSY: another fiber waits for the
     * same fd and direction. `forget` disarms, also when it has come. */
    int (*fd_watch)(struct weft_loop *l, struct weft_fiber *f, struct upp_err *err);
    void (*fd_forget)(struct weft_loop *l, struct weft_fiber *f);

    /* Gives a job to a worker, which sends job->msg back unless it was given up (worker.h). `withdraw` says how far
     * it was: QUEUED: it has not begun and is the caller's again; RUNNING: it is given up, the worker will free it;
     * SENT: its message is under way. */
    int (*job_submit)(struct weft_loop *l, struct weft__job *job, struct upp_err *err);
    enum weft__job_state (*job_withdraw)(struct weft_loop *l, struct weft__job *job);

    /* Children. An fd that is readable once the process has ended, or a negative errno; what it ended with, without
     * reaping it: 1 ended, 0 not yet, negative errno (-ECHILD: somebody else has reaped it); SIGKILL to the process or
     * its group, when it is still ours; reaping, which blocks. */
    int (*child_open)(struct weft_loop *l, int pid);
    int (*child_status)(struct weft_loop *l, const struct weft__child *c, int *status);
    void (*child_kill)(struct weft_loop *l, const struct weft__child *c);
    void (*child_reap)(struct weft_loop *l, const struct weft__child *c);

    void (*close)(struct weft_loop *l); /* frees the loop */
};

struct weft_loop {
    struct weft__context home; /* the loop's own stack, while a fiber runs */
    struct weft_fiber *current;
    struct wb_link ready;
    struct wb_link later; /* messages to ourselves, for when no fiber is ready */
    uint64_t now;         /* monotonic nanoseconds, of this turn */
    int64_t wall_ms;      /* good until `now` is this: */
    uint64_t wall_until;

    /* For the watchdog: who runs, since which resume. */
    _Atomic(const char *) running;
    _Atomic uint64_t running_id, resumes;

    struct weft__stacks stacks;
    struct weft__timers timers;
    struct wb_link fibers; /* all that live */
    size_t live, max_fibers;
    uint64_t last_id;
    struct wb_link spare_fibers;
    size_t n_spare;
    struct weft__scope *spare_scopes;
    struct weft__scope background; /* of weft_loop_spawn and weft_loop_call */
    struct weft_fiber *root;       /* of weft_loop_run */
    bool closing;
    _Atomic bool driven; /* some thread has it: to tell misuse */

    pthread_mutex_t lock; /* of the next four */
    struct wb_link inbox;
    size_t posted, max_posted;
    _Atomic bool mail; /* the inbox is not empty: a look without the lock */
    size_t owed;
    _Atomic bool cancel; /* weft_loop_cancel was called */

    struct weft_workers *workers;
    bool own_workers;

    void (*on_suspend)(void *arg, struct weft_fiber *f); /* tests */
    void *on_suspend_arg;

    const struct weft__loop_ops *ops;
};

/* For the watchdog: the loop works for f, on its stack or on the loop's own, until it rests. */
static inline void weft__loop_works_for(struct weft_loop *l, const struct weft_fiber *f)
{
    atomic_store_explicit(&l->running_id, f->id, memory_order_relaxed);
    atomic_store_explicit(&l->running, f->name, memory_order_relaxed);
    atomic_store_explicit(&l->resumes, atomic_load_explicit(&l->resumes, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

static inline void weft__loop_rests(struct weft_loop *l)
{
    atomic_store_explicit(&l->running, NULL, memory_order_relaxed);
}

/* The loop of this thread. Not inlined: a thread-local address must not be cached across a switch. */
struct weft_loop *weft__loop(void);
struct weft_loop *weft__loop_enter(struct weft_loop *l); /* sets it (NULL: none) and gives the one before */

int weft__loop_init(struct weft_loop *l, const struct weft__loop_ops *ops, const struct weft_loop_opts *opts,
                    struct upp_err *err) UPP_MUST_CHECK;
void weft__loop_done(struct weft_loop *l);  /* nothing lives in it any more */
void weft__loop_empty(struct weft_loop *l); /* cancels and joins the loop's own fibers, waits for what is owed */

/* weft_loop_spawn that gives the fiber (borrowed). For calls: while a group winds down its fibers still make them. */
int weft__loop_spawn(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg, struct weft_fiber **ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The libuv kind (loop_uv.c) is what weft_loop_open makes. */

/* Reads the clock into l->now; the moment ms from then, WEFT__NEVER when that is out of range. */
uint64_t weft__loop_clock(struct weft_loop *l);
uint64_t weft__loop_after(struct weft_loop *l, uint64_t ms);

/* Wall time at l->now. A look at the clock is good for a millisecond. */
int64_t weft__loop_wall_ms(struct weft_loop *l);

/* For implementers of turn: serves due timers, the inbox and weft_loop_cancel. */
void weft__loop_serve(struct weft_loop *l);
bool weft__loop_has_mail(struct weft_loop *l);
void weft__loop_take_mail(struct weft_loop *l);

/* Any thread. Cannot fail; see invariant 2. */
void weft__loop_send(struct weft_loop *l, struct weft__msg *m);

/* From the loop's own thread: taken when those that are ready have run, and those that they made ready, if that is not
 * too many rounds. */
void weft__loop_send_later(struct weft_loop *l, struct weft__msg *m);
bool weft__loop_take_later(struct weft_loop *l); /* for implementers of turn; false: there was none */

/* A whole list of them, which is empty then: they arrive together. */
void weft__loop_send_all(struct weft_loop *l, struct wb_link *msgs);

/* The same for a message from outside: bounded by max_inbox. */
int weft__loop_request(struct weft_loop *l, struct weft__msg *m, struct upp_err *err) UPP_MUST_CHECK;
void weft__loop_request_taken(struct weft_loop *l); /* first in the take function of such a message */

/* Tests: called at every suspension, in the fiber that is about to suspend and already WAITING. */
void weft__loop_on_suspend(struct weft_loop *l, void (*fn)(void *arg, struct weft_fiber *f), void *arg);
