/* weft/fiber.h — straight-line code that waits without blocking its thread.
 *
 * A loop runs on one thread; its fibers take turns there, each on a small stack of its own, and belong to it for
 * life. A fiber gives way only inside a function marked WEFT_SUSPENDS; between two of those nobody else on the loop
 * runs, so fibers of one loop need no locks. Loops and threads talk by weft_loop_post and weft_loop_call.
 *
 * Every wait returns an int: >= 0, or -UPP_ECANCELED, -UPP_ETIMEOUT, or what went wrong. Cancel is sticky: once a
 * fiber is cancelled, every further wait fails at once without suspending, until it returns (weft_shield_begin is
 * the exception). A function that may suspend looks at cancel and deadline first, also when it would not have to wait.
 *
 * Unless it says otherwise a function here is called on the thread of the loop concerned. `err` may be NULL.
 * Names of fibers are static text: they are kept as pointers.
 *
 * Invariants
 *  1. A fiber is never freed while it is suspended: it is cancelled, resumed, returns, and is joined.
 *  2. Nothing outside a fiber holds a pointer into its stack, except children of a scope that it joins.
 *  3. A wake of a fiber that does not wait does nothing.
 */
#ifndef WEFT_FIBER_H
#define WEFT_FIBER_H

#include <upp/base.h>
#include <upp/hooks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a function in which the world may change: others may run before it returns. scripts/suspends checks that
 * whoever calls one is marked too. */
#if defined(__clang__)
#define WEFT_SUSPENDS __attribute__((annotate("weft_suspends")))
#else
#define WEFT_SUSPENDS
#endif

struct weft_loop;
struct weft_fiber;

/* What a fiber, a job or a call runs. A negative result is a failure and *err says why. */
typedef int weft_fn(void *arg, struct upp_err *err);

/* ---- Loops --------------------------------------------------------------------------------------- */

struct weft_workers;

struct weft_loop_opts {
    uint32_t             size;
    uint32_t             max_fibers; /* 0: 16384; more fail with -UPP_ELIMIT (each stack takes two memory maps) */
    uint32_t             max_inbox;  /* 0: 16384 posts and calls not yet taken; more fail with -UPP_ELIMIT */
    size_t               stack_size; /* 0: 64 KiB (256 KiB under a sanitizer); rounded up to pages; at most 64 MiB */
    struct weft_workers *workers;    /* NULL: its own, opened when first needed; else it must outlive the loop */
};

/* A loop for the calling thread to drive; no thread is started. */
UPP_API int weft_loop_open(const struct weft_loop_opts *opts, struct weft_loop **ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Cancels and joins the loop's own fibers, runs what was posted, and frees the loop. NULL is fine. */
UPP_API void weft_loop_close(struct weft_loop *loop);
UPP_API void weft_loop_closep(struct weft_loop **loop);

/* Runs fn as a fiber and drives the loop on the calling thread until that fiber has ended: its result. */
UPP_API int weft_loop_run(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg,
                          struct upp_err *err) UPP_MUST_CHECK;

/* One turn without blocking: the fibers that are ready run once. 1: fibers live; 0: none do. */
UPP_API int weft_loop_poll(struct weft_loop *loop, struct upp_err *err) UPP_MUST_CHECK;

/* A fiber in the loop's own scope: nobody joins it, weft_loop_close cancels it, its failure concerns nobody.
 * On the thread that drives the loop, or while none does; from elsewhere it aborts. -UPP_EREFUSED: the loop, or its
 * group, is being closed. */
UPP_API int weft_loop_spawn(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg,
                            struct upp_err *err) UPP_MUST_CHECK;

/* Any thread, also a signal handler: cancels the fiber of weft_loop_run and the loop's own fibers. */
UPP_API void weft_loop_cancel(struct weft_loop *loop);

/* Any thread: fn(arg) runs on the loop's thread, soon, outside of any fiber, and must not suspend. Posts of one thread
 * run in their order. -UPP_ELIMIT: the inbox is full. The loop must not be closed before the call has returned. */
UPP_API int weft_loop_post(struct weft_loop *loop, void (*fn)(void *arg), void *arg,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Runs fn as a fiber on another loop and waits for it; from a thread that runs no loop it blocks the thread.
 *  0: it ran, *ret (may be NULL) is its result with err filled when that is negative, and arg is the caller's again.
 * <0: it did not run, or the caller stopped waiting: -UPP_ECANCELED (passed on to the other side), -UPP_ETIMEOUT,
 *     -UPP_ELIMIT ... arg belongs to the call, and drop(arg) (NULL: nothing to do) is called once, now or later, on
 *     this thread. So arg must not lie on the caller's stack. */
UPP_API WEFT_SUSPENDS int weft_loop_call(struct weft_loop *to, const char *name, weft_fn *fn, void *arg,
                                         void (*drop)(void *arg), int *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The loop of the calling thread, or NULL. */
UPP_API struct weft_loop *weft_loop_current(void);

/* ---- Fibers in a scope ----------------------------------------------------------------------------- */

/* Holds children together. All zero is an empty scope:
 *
 *     UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
 *
 * It belongs to one fiber, which alone may join and close it; its children may spawn into it too. */
struct weft_scope {
    struct weft__scope *state;
    unsigned            flags; /* WEFT_SCOPE_* */
};

enum {
    WEFT_SCOPE_ISOLATED = 1 << 0, /* the failure of a child neither cancels its siblings nor fails the join */
};

/* A child that is ready to run. With ret the caller gets a handle, to be given back with weft_fiber_unref before the
 * loop is closed.
 * arg stays the caller's and must live until the child has ended (joining the scope is enough).
 * A child spawned into a scope that is cancelled, or in which a child has failed, never runs. */
UPP_API int weft_scope_spawn(struct weft_scope *scope, const char *name, weft_fn *fn, void *arg,
                             struct weft_fiber **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits for all children. The first failure cancels the others at once and is returned when all have ended. A child
 * that was cancelled by hand and returns -UPP_ECANCELED did not fail. When the wait itself is cut short (cancelled,
 * timed out) the children go on until the scope is closed. Afterwards the scope is empty and may be used again. */
UPP_API WEFT_SUSPENDS int weft_scope_join(struct weft_scope *scope, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void weft_scope_cancel(struct weft_scope *scope);

/* Cancels the children and waits until they have ended, shielded and without limit: they may hold pointers to the
 * owner's frames. */
UPP_API WEFT_SUSPENDS void weft_scope_close(struct weft_scope *scope);

/* The running fiber (borrowed), or NULL outside of one; its number, unique in its loop and never 0; its name. */
UPP_API struct weft_fiber *weft_fiber_self(void);
UPP_API uint64_t           weft_fiber_id(const struct weft_fiber *f);
UPP_API const char        *weft_fiber_name(const struct weft_fiber *f);

/* Ended; true is the only state that cannot change again. */
UPP_API bool weft_fiber_ended(const struct weft_fiber *f);

/* Cancels: a waiting fiber wakes with -UPP_ECANCELED (unless shielded), one that never ran ends without running. */
UPP_API void weft_fiber_cancel(struct weft_fiber *f);

/* Was the running fiber cancelled, and is it not shielded: for long loops that do not wait. */
UPP_API bool weft_fiber_canceled(void);

/* Waits for its end and gives its result. When the wait was cut short, weft_fiber_ended says so. Joining oneself
 * aborts. */
UPP_API WEFT_SUSPENDS int weft_fiber_join(struct weft_fiber *f, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void weft_fiber_unref(struct weft_fiber *f); /* NULL is fine; a fiber that still runs goes on */
UPP_API void weft_fiber_unrefp(struct weft_fiber **f);

/* ---- Waiting --------------------------------------------------------------------------------------- */

/* Lets the others run once. */
UPP_API WEFT_SUSPENDS int weft_yield(struct upp_err *err) UPP_MUST_CHECK;

UPP_API WEFT_SUSPENDS int weft_sleep_ms(uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;

/* Guards. They are values on the fiber's stack and end in reverse order; out of order aborts. Outside of a fiber they
 * do nothing. WEFT_DEADLINE(ms); and WEFT_SHIELD(ms); as statements hold to the end of the block.
 *
 * A deadline makes every wait inside it fail with -UPP_ETIMEOUT once it has passed. The nearest one counts; where
 * both cancel and timeout hold, cancel is reported. */
struct weft_deadline {
    struct weft_fiber *fiber;
    uint64_t           saved;
    unsigned           depth;
};
UPP_API struct weft_deadline weft_deadline_begin(uint64_t ms);
UPP_API void                 weft_deadline_end(struct weft_deadline *d);

/* A shield masks cancel and the deadlines around it: for cleanups that must wait. It has a deadline of its own, at
 * most 10 s (0 means that), and one inside another does not prolong it. A cancel that came meanwhile is seen by the
 * first wait after it. */
struct weft_shield {
    struct weft_fiber *fiber;
    uint64_t           saved_deadline, saved_limit;
    unsigned           depth;
    bool               saved_masked;
};
enum { WEFT_SHIELD_MAX_MS = 10000 };
UPP_API struct weft_shield weft_shield_begin(uint64_t ms);
UPP_API void               weft_shield_end(struct weft_shield *s);

#if defined(__GNUC__)
#define WEFT_GUARD_NAME__(line) weft_guard_##line
#define WEFT_GUARD_NAME_(line)  WEFT_GUARD_NAME__(line)
#define WEFT_DEADLINE(ms)                                                                                              \
    __attribute__((cleanup(weft_deadline_end), unused)) struct weft_deadline WEFT_GUARD_NAME_(__LINE__) =              \
        weft_deadline_begin(ms)
#define WEFT_SHIELD(ms)                                                                                                \
    __attribute__((cleanup(weft_shield_end), unused)) struct weft_shield WEFT_GUARD_NAME_(__LINE__) =                  \
        weft_shield_begin(ms)
#endif

/* Between pin and unpin the fiber must not suspend: doing so aborts with its name, in every build. They nest. */
UPP_API void weft_pin(void);
UPP_API void weft_unpin(void);

/* A condition: waiters in the order of their coming. All zero is ready for use; it must outlive its waiters.
 * A wait that returned 0 was woken: look again at what you waited for. */
struct weft_cond {
    struct weft_fiber *first, *last;
};
UPP_API WEFT_SUSPENDS int weft_cond_wait(struct weft_cond *c, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void              weft_cond_signal(struct weft_cond *c); /* one waiter; a cancelled one never takes it */
UPP_API void              weft_cond_broadcast(struct weft_cond *c);

/* A channel between fibers of one loop: at most `capacity` items of `item` bytes each, copied in and out, in order.
 * -UPP_EINVALID: capacity or item is 0; -UPP_ELIMIT: together over 64 MiB. */
struct weft_channel;
UPP_API int  weft_channel_new(size_t capacity, size_t item, struct weft_channel **ret,
                              struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_channel_free(struct weft_channel *c); /* no fiber is in a call on it; what it holds is lost */
UPP_API void weft_channel_freep(struct weft_channel **c);

/* 0: sent. -UPP_EREFUSED: it is closed. Waits while it is full; try: -UPP_EBUSY instead. */
UPP_API WEFT_SUSPENDS int weft_channel_send(struct weft_channel *c, const void *item,
                                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_channel_try_send(struct weft_channel *c, const void *item, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *item is set. 0: it is closed and empty. Waits while it is empty and open; try: -UPP_EBUSY instead. */
UPP_API WEFT_SUSPENDS int weft_channel_recv(struct weft_channel *c, void *item, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int               weft_channel_try_recv(struct weft_channel *c, void *item, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void   weft_channel_close(struct weft_channel *c); /* no more sends; what is in it can still be taken */
UPP_API size_t weft_channel_count(const struct weft_channel *c);

/* ---- Blocking work ---------------------------------------------------------------------------------- */

/* Threads for blocking work, started when jobs wait and none is idle. Loops may share one pool. */
struct weft_workers_opts {
    uint32_t size;
    uint32_t max_threads; /* 0: 16 */
    uint32_t max_jobs;    /* 0: 1024 that have not begun; more fail with -UPP_ELIMIT */
    uint32_t close_ms;    /* 0: 10000: how long close waits for jobs that were given up and still run */
    uint32_t max_long;    /* threads that tools which block may have at the same time; 0: all but a quarter, so that a
                           * store on the same pool always finds one */
};
UPP_API int weft_workers_open(const struct weft_workers_opts *opts, struct weft_workers **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Waits for jobs that were given up and still run, at most close_ms; a thread that is stuck longer is left behind and
 * frees the pool when it ends. No loop uses it any more. NULL is fine. */
UPP_API void weft_workers_close(struct weft_workers *w);
UPP_API void weft_workers_closep(struct weft_workers **w);

/* Runs fn(arg) on a worker and waits for it.
 *  0: it ran, *ret (may be NULL) is its result with err filled when that is negative, and arg is the caller's again.
 * <0: it did not run, or the caller stopped waiting (-UPP_ECANCELED, -UPP_ETIMEOUT; a job that has begun goes on and
 *     its result is lost). arg belongs to the job, and drop(arg) (NULL: nothing to do) is called once, now or later,
 *     on any thread. So arg must not lie on the caller's stack. */
UPP_API WEFT_SUSPENDS int weft_work(weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* ---- Descriptors ------------------------------------------------------------------------------------ */

enum { WEFT_READABLE = 1 << 0, WEFT_WRITABLE = 1 << 1 };

/* Waits until a non-blocking descriptor is readable or writable: which of the two, once. One fiber may wait to read
 * and one to write; another fails with -UPP_EBUSY. Nobody may wait for a descriptor that is closed. */
UPP_API WEFT_SUSPENDS int weft_fd_wait(int fd, unsigned want, struct upp_err *err) UPP_MUST_CHECK;

/* What the calls of the same name do, waiting instead of -EAGAIN, through the hook table. recv and send are for
 * sockets, read and write for pipes. Bytes that are there, 0 at the end; send and write move all n bytes, or fail
 * and may have moved some. Neither raises SIGPIPE, whatever the program does with it: -UPP_ENET.
 * Failures of the system are -UPP_ENET, but for those a caller answers differently: -UPP_ELIMIT (accept: no descriptor
 * left, wait a little), -UPP_ENOMEM, -UPP_ENOTFOUND and -UPP_EREFUSED (a local socket), -UPP_EINVALID. */
UPP_API WEFT_SUSPENDS int64_t weft_recv(int fd, void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int     weft_send(int fd, const void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int64_t weft_read(int fd, void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int     weft_write(int fd, const void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int     weft_connect(int fd, const struct sockaddr *addr, unsigned len,
                                           struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int     weft_accept(int fd, struct upp_err *err) UPP_MUST_CHECK; /* the new descriptor */

/* ---- Processes --------------------------------------------------------------------------------------- */

struct weft_process;

/* Starts a program. Does not suspend. -UPP_ENOTFOUND, -UPP_EREFUSED (no permission, no program), -UPP_EINVALID,
 * -UPP_ELIMIT (descriptors), -UPP_EBUSY (processes), -UPP_ENOMEM. */
UPP_API int weft_process_open(const struct upp_spawn *what, struct weft_process **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Waits for its end: *status is what waitpid says. May be called again. Cancel leaves the process running.
 * -UPP_ENOTFOUND: the program around us ignores SIGCHLD or waits for any child, and so the status was lost. */
UPP_API WEFT_SUSPENDS int weft_process_wait(struct weft_process *p, int *status, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int               weft_process_pid(const struct weft_process *p);

/* Kills what is left of it, its whole group when it has a session of its own, and reaps it: shielded, at most 10 s,
 * after which a worker goes on waiting. Outside of a fiber it blocks. A process that somebody else has reaped is not
 * killed, nor its group: the number may be a stranger's. NULL is fine. */
UPP_API WEFT_SUSPENDS void weft_process_close(struct weft_process *p);
UPP_API WEFT_SUSPENDS void weft_process_closep(struct weft_process **p);

/* ---- Many loops -------------------------------------------------------------------------------------- */

struct weft_group;

struct weft_group_opts {
    uint32_t                     size;
    uint32_t                     loops;           /* 0: one for each processor */
    const struct weft_loop_opts *loop;            /* for each; NULL: the defaults; .workers NULL: one pool for all */
    bool                         report_overflow; /* weft_fiber_report_overflow on each thread */
};

/* N loops, each driven by a thread of its own until close. */
UPP_API int               weft_group_open(const struct weft_group_opts *opts, struct weft_group **ret,
                                          struct upp_err *err) UPP_MUST_CHECK;
UPP_API uint32_t          weft_group_count(const struct weft_group *g);
UPP_API struct weft_loop *weft_group_loop(const struct weft_group *g, uint32_t i);

/* Cancels all fibers of all loops, lets them unwind (they may still call each other), ends the threads, and runs what
 * was posted. Blocks until all that is over. Not from a fiber of the group. */
UPP_API void weft_group_close(struct weft_group *g);
UPP_API void weft_group_closep(struct weft_group **g);

/* ---- Looking after loops ------------------------------------------------------------------------------ */

struct weft_watchdog;

struct weft_watchdog_opts {
    uint32_t size;
    uint32_t over_ms; /* 0: 100 */
    /* Called once for each stretch, on the watchdog's thread. NULL: a line in the log, at warn. */
    void (*report)(void *arg, const char *fiber, uint64_t id, uint64_t held_ms);
    void *arg;
};

/* A thread that names a fiber which holds its loop for longer than over_ms without waiting. The loops must outlive
 * it. Programs start it; the library never does. */
UPP_API int  weft_watchdog_start(struct weft_loop *const *loops, size_t n, const struct weft_watchdog_opts *opts,
                                 struct weft_watchdog **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_watchdog_stop(struct weft_watchdog *w);
UPP_API void weft_watchdog_stopp(struct weft_watchdog **w);

/* For programs, on each thread that drives a loop: from now on a stack overflow of a fiber is named on standard error
 * before the process dies of it. Installs a SIGSEGV handler (others go to the one before) and an alternate stack. */
UPP_API int weft_fiber_report_overflow(struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
