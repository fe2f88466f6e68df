/* weft/fiber.h — fibers: sequential code that waits without blocking its thread.
 *
 * A loop runs on one thread. Its fibers take turns there, each on a small stack of its own, and never move to another
 * loop. A fiber suspends only inside a function marked WEFT_SUSPENDS; in between no other fiber of the loop runs, so
 * fibers of one loop need no locks. Loops and threads communicate by weft_loop_post and weft_loop_call.
 *
 * Every wait returns an int: >= 0, or -UPP_ECANCELED, -UPP_ETIMEOUT, or another error. Cancelling is sticky: after it,
 * every further wait of the fiber fails at once without suspending (except inside a shield). A function that may
 * suspend checks for cancellation and deadline first, even if it would not have to wait. Outside of a fiber it is
 * -UPP_EINVALID, unless its comment says otherwise.
 *
 * Unless stated otherwise, call a function on the thread of its loop. `err` may be NULL.
 * Fiber names must be static strings: only the pointer is stored.
 *
 * Invariants
 *  1. A fiber is never freed while it is suspended: it is cancelled, resumed, returns, and is joined.
 *  2. Nothing outside a fiber holds a pointer into its stack, except children of a scope that it joins.
 *  3. Waking a fiber that does not wait has no effect.
 */
#pragma once

#include <upp/base.h>
#include <upp/hooks.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Marks a function that may suspend: other fibers may run and change shared data before it returns. scripts/suspends
 * checks that its callers are marked too. */
#if defined(__clang__)
#define WEFT_SUSPENDS __attribute__((annotate("weft_suspends")))
#else
#define WEFT_SUSPENDS
#endif

struct weft_loop;
struct weft_fiber;

/* The function of a fiber, a job or a call. A negative result is a failure; then *err tells why. */
typedef int weft_fn(void *arg, struct upp_err *err);

/* ---- Loops --------------------------------------------------------------------------------------- */

struct weft_workers;

struct weft_loop_opts {
    uint32_t size;
    uint32_t max_fibers;          /* 0: 30000; more fail with -UPP_ELIMIT (each stack takes two memory maps) */
    uint32_t max_inbox;           /* 0: 16384 pending posts and calls; more fail with -UPP_ELIMIT */
    size_t stack_size;            /* 0: 64 KiB (256 KiB under a sanitizer); rounded up to pages; at most 64 MiB */
    struct weft_workers *workers; /* must outlive the loop; NULL: its own, opened on first use */
};

/* Opens a loop for the calling thread to drive; starts no thread. */
UPP_API int weft_loop_open(const struct weft_loop_opts *opts, struct weft_loop **ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Cancels and joins the loop's own fibers, runs pending posts, and frees the loop; on a fiber of another loop too,
 * which is blocked meanwhile. Accepts NULL. */
UPP_API void weft_loop_close(struct weft_loop *loop);
UPP_API void weft_loop_closep(struct weft_loop **loop);

/* Runs fn as a fiber, drives the loop on the calling thread until that fiber has ended, and returns its result. */
UPP_API int weft_loop_run(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg,
                          struct upp_err *err) UPP_MUST_CHECK;

/* One iteration without blocking: each ready fiber runs once. Returns 1 if any fiber exists, else 0. */
UPP_API int weft_loop_poll(struct weft_loop *loop, struct upp_err *err) UPP_MUST_CHECK;

/* Starts a fiber in the loop's own scope: nobody joins it, weft_loop_close cancels it, its failure is ignored.
 * Only on the thread that drives the loop, or while no thread does; elsewhere -UPP_EINVALID. -UPP_EREFUSED: the loop or
 * its group is being closed. */
UPP_API int weft_loop_spawn(struct weft_loop *loop, const char *name, weft_fn *fn, void *arg,
                            struct upp_err *err) UPP_MUST_CHECK;

/* From any thread or a signal handler: cancels the fiber of weft_loop_run and the loop's own fibers. */
UPP_API void weft_loop_cancel(struct weft_loop *loop);

/* From any thread: runs fn(arg) soon on the loop's thread, outside of any fiber; fn must not suspend. Posts of one
 * thread run in order. -UPP_ELIMIT: the inbox is full. Do not close the loop before this has returned. */
UPP_API int weft_loop_post(struct weft_loop *loop, void (*fn)(void *arg), void *arg,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Runs fn as a fiber on another loop and waits for it; on a thread that runs no loop it blocks the thread.
 *  0: it ran; *ret (ret may be NULL) is its result, err is filled if that is negative, and the caller owns arg again.
 * <0: it did not run, or the caller stopped waiting: -UPP_ECANCELED (which also cancels the other side), -UPP_ETIMEOUT,
 *     -UPP_ELIMIT ... The call owns arg and calls drop(arg) (NULL: nothing to do) once, now or later, on this thread.
 *     So arg must not be on the caller's stack. */
UPP_API WEFT_SUSPENDS int weft_loop_call(struct weft_loop *to, const char *name, weft_fn *fn, void *arg,
                                         void (*drop)(void *arg), int *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The loop that the calling thread drives, or NULL. */
UPP_API struct weft_loop *weft_loop_current(void);

/* ---- Scopes ---------------------------------------------------------------------------------------- */

/* A group of child fibers. All zero is an empty scope:
 *
 *     UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
 *
 * It belongs to one fiber; only that fiber may join and close it. Its children may spawn into it too. */
struct weft_scope {
    struct weft__scope *state;
    unsigned flags; /* WEFT_SCOPE_* */
};

enum {
    WEFT_SCOPE_ISOLATED = 1 << 0, /* a child's failure neither cancels its siblings nor fails the join */
};

/* Creates a child, ready to run. If ret is not NULL the caller gets a handle: release it with weft_fiber_unref before
 * the loop is closed.
 * arg belongs to the caller and must live until the child has ended (joining the scope is enough).
 * In a scope that is cancelled, or in which a child has failed, the new child never runs. */
UPP_API int weft_scope_spawn(struct weft_scope *scope, const char *name, weft_fn *fn, void *arg,
                             struct weft_fiber **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits for all children. The first failure cancels the others at once and is returned when all have ended. A child
 * that was cancelled explicitly and returns -UPP_ECANCELED did not fail. If the wait itself fails (cancelled, timed
 * out), the children continue until the scope is closed. After a completed join the scope is empty and reusable. */
UPP_API WEFT_SUSPENDS int weft_scope_join(struct weft_scope *scope, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void weft_scope_cancel(struct weft_scope *scope);

/* Cancels the children and waits until they have ended, shielded and without a limit: they may hold pointers into the
 * owner's stack frames. */
UPP_API WEFT_SUSPENDS void weft_scope_close(struct weft_scope *scope);

/* The running fiber (borrowed), or NULL outside of one; its id, unique in its loop and never 0; its name. */
UPP_API struct weft_fiber *weft_fiber_self(void);
UPP_API uint64_t weft_fiber_id(const struct weft_fiber *f);
UPP_API const char *weft_fiber_name(const struct weft_fiber *f);

/* Whether the fiber has ended. Once true, it stays true. */
UPP_API bool weft_fiber_ended(const struct weft_fiber *f);

/* A waiting fiber wakes with -UPP_ECANCELED (unless shielded); a fiber that never ran ends without running. */
UPP_API void weft_fiber_cancel(struct weft_fiber *f);

/* Whether the running fiber was cancelled and is not shielded; for long computations that do not wait. */
UPP_API bool weft_fiber_canceled(void);

/* Waits until the fiber has ended and returns its result. If the wait itself fails (cancelled, timed out), the fiber
 * may still run: weft_fiber_ended tells. -UPP_EINVALID: a fiber joins itself, or one of another loop. */
UPP_API WEFT_SUSPENDS int weft_fiber_join(struct weft_fiber *f, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void weft_fiber_unref(struct weft_fiber *f); /* accepts NULL; does not stop a running fiber */
UPP_API void weft_fiber_unrefp(struct weft_fiber **f);

/* ---- Waiting --------------------------------------------------------------------------------------- */

/* Lets the other ready fibers run once. */
UPP_API WEFT_SUSPENDS int weft_yield(struct upp_err *err) UPP_MUST_CHECK;

UPP_API WEFT_SUSPENDS int weft_sleep_ms(uint64_t ms, struct upp_err *err) UPP_MUST_CHECK;

/* Guards are values on the fiber's stack. They must end in reverse order, otherwise the process aborts. Outside of a
 * fiber they do nothing. The statements WEFT_DEADLINE(ms); and WEFT_SHIELD(ms); apply until the end of the block.
 *
 * Once a deadline has passed, every wait inside it fails with -UPP_ETIMEOUT. The nearest deadline counts. If both
 * cancellation and timeout apply, cancellation is reported. */
struct weft_deadline {
    struct weft_fiber *fiber;
    uint64_t saved;
    unsigned depth;
};
UPP_API struct weft_deadline weft_deadline_begin(uint64_t ms);
UPP_API void weft_deadline_end(struct weft_deadline *d);

/* A shield masks cancellation and the deadlines around it, for cleanups that must wait. It has a deadline of its own,
 * at most 10 s (0: 10 s); a nested shield does not prolong it. The first wait after the shield sees a cancellation
 * that came in the meantime. */
struct weft_shield {
    struct weft_fiber *fiber;
    uint64_t saved_deadline, saved_limit;
    unsigned depth;
    bool saved_masked;
};
enum { WEFT_SHIELD_MAX_MS = 10000 };
UPP_API struct weft_shield weft_shield_begin(uint64_t ms);
UPP_API void weft_shield_end(struct weft_shield *s);

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

/* Between pin and unpin the fiber must not suspend: doing so aborts with its name, in every build. Pins nest. */
UPP_API void weft_pin(void);
UPP_API void weft_unpin(void);

/* A condition: a FIFO queue of waiters. All zero is ready for use; it must outlive its waiters.
 * A wait that returns 0 was woken: check again what you waited for. */
struct weft_cond {
    struct weft_fiber *first, *last;
};
UPP_API WEFT_SUSPENDS int weft_cond_wait(struct weft_cond *c, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_cond_signal(struct weft_cond *c); /* wakes one waiter, never a cancelled one */
UPP_API void weft_cond_broadcast(struct weft_cond *c);

/* A channel between fibers of one loop: a FIFO of at most `capacity` items of `item` bytes each, copied in and out.
 * -UPP_EINVALID: capacity or item is 0; -UPP_ELIMIT: more than 64 MiB in total. */
struct weft_channel;
UPP_API int weft_channel_new(size_t capacity, size_t item, struct weft_channel **ret,
                             struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_channel_free(struct weft_channel *c); /* no fiber may be in a call on it; discards its items */
UPP_API void weft_channel_freep(struct weft_channel **c);

/* 0: sent. -UPP_EREFUSED: closed. Waits while the channel is full; try returns -UPP_EBUSY instead. */
UPP_API WEFT_SUSPENDS int weft_channel_send(struct weft_channel *c, const void *item,
                                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_channel_try_send(struct weft_channel *c, const void *item, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *item is set. 0: closed and empty. Waits while the channel is empty and open; try returns -UPP_EBUSY instead. */
UPP_API WEFT_SUSPENDS int weft_channel_recv(struct weft_channel *c, void *item, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_channel_try_recv(struct weft_channel *c, void *item, struct upp_err *err) UPP_MUST_CHECK;

UPP_API void weft_channel_close(struct weft_channel *c); /* sends fail from now on; its items can still be received */
UPP_API size_t weft_channel_count(const struct weft_channel *c);

/* ---- Blocking work ---------------------------------------------------------------------------------- */

/* A pool of threads for blocking work. Starts a thread if a job waits and none is idle. Loops may share a pool. */
struct weft_workers_opts {
    uint32_t size;
    uint32_t max_threads; /* 0: 16 */
    uint32_t max_jobs;    /* 0: 1024 that have not started; more fail with -UPP_ELIMIT */
    uint32_t close_ms;    /* 0: 10000: how long close waits for abandoned jobs that still run */
    uint32_t max_long;    /* threads that blocking tools may occupy at a time; 0: all but a quarter, so that a store
                           * on the same pool always finds one */
};
UPP_API int weft_workers_open(const struct weft_workers_opts *opts, struct weft_workers **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Waits at most close_ms for abandoned jobs that still run; a thread that is stuck longer is abandoned and frees the
 * pool when it ends. No loop may use the pool any more. Accepts NULL. */
UPP_API void weft_workers_close(struct weft_workers *w);
UPP_API void weft_workers_closep(struct weft_workers **w);

/* Runs fn(arg) on a worker thread and waits for it.
 *  0: it ran; *ret (ret may be NULL) is its result, err is filled if that is negative, and the caller owns arg again.
 * <0: it did not run, or the caller stopped waiting (-UPP_ECANCELED, -UPP_ETIMEOUT; a job that has started continues,
 *     and its result is lost). The job owns arg and calls drop(arg) (NULL: nothing to do) once, now or later, on any
 *     thread. So arg must not be on the caller's stack. */
UPP_API WEFT_SUSPENDS int weft_work(weft_fn *fn, void *arg, void (*drop)(void *arg), int *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* ---- Descriptors ------------------------------------------------------------------------------------ */

enum { WEFT_READABLE = 1 << 0, WEFT_WRITABLE = 1 << 1 };

/* Waits, once, until a non-blocking descriptor is readable or writable, and returns which. One fiber may wait to read
 * and one to write; another fails with -UPP_EBUSY. Do not close a descriptor while a fiber waits for it. */
UPP_API WEFT_SUSPENDS int weft_fd_wait(int fd, unsigned want, struct upp_err *err) UPP_MUST_CHECK;

/* Like the system calls of the same name, through the hook table, but waiting instead of -EAGAIN. recv and send are for
 * sockets, read and write for pipes. recv and read return the number of bytes read, 0 at the end; send and write
 * transfer all n bytes, or fail and may have transferred some. They never raise SIGPIPE: -UPP_ENET.
 * System errors are -UPP_ENET, except those that a caller handles differently: -UPP_ELIMIT (accept: no descriptor left,
 * wait a little), -UPP_ENOMEM, -UPP_ENOTFOUND and -UPP_EREFUSED (a local socket), -UPP_EINVALID. */
UPP_API WEFT_SUSPENDS int64_t weft_recv(int fd, void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_send(int fd, const void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int64_t weft_read(int fd, void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_write(int fd, const void *p, size_t n, struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_connect(int fd, const struct sockaddr *addr, unsigned len,
                                       struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_accept(int fd, struct upp_err *err) UPP_MUST_CHECK; /* the new descriptor */

/* ---- Processes --------------------------------------------------------------------------------------- */

struct weft_process;

/* Starts a program, from a fiber; does not suspend. -UPP_ENOTFOUND, -UPP_EREFUSED (no permission, not executable),
 * -UPP_EINVALID, -UPP_ELIMIT (descriptors), -UPP_EBUSY (processes), -UPP_ENOMEM. */
UPP_API int weft_process_open(const struct upp_spawn *what, struct weft_process **ret,
                              struct upp_err *err) UPP_MUST_CHECK;

/* Waits for its end; *status (may be NULL) is that of waitpid. May be called again. Cancelling the wait does not stop
 * the process. -UPP_ENOTFOUND: the status is lost, because the program ignores SIGCHLD or waits for any child. */
UPP_API WEFT_SUSPENDS int weft_process_wait(struct weft_process *p, int *status, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_process_pid(const struct weft_process *p);

/* Kills the process, or its whole group if it has its own session, and reaps it: shielded, for at most 10 s; then a
 * worker continues to wait. Outside of a fiber it blocks. If somebody else has reaped the process, nothing is killed:
 * its pid may belong to another process by now. Accepts NULL. */
UPP_API WEFT_SUSPENDS void weft_process_close(struct weft_process *p);
UPP_API WEFT_SUSPENDS void weft_process_closep(struct weft_process **p);

/* ---- Loop groups ------------------------------------------------------------------------------------- */

struct weft_group;

struct weft_group_opts {
    uint32_t size;
    uint32_t loops;                    /* 0: one per processor */
    const struct weft_loop_opts *loop; /* for each; NULL: the defaults; .workers NULL: one shared pool */
    bool report_overflow;              /* weft_fiber_report_overflow on each thread */
};

/* Opens N loops, each driven by a thread of its own until close. */
UPP_API int weft_group_open(const struct weft_group_opts *opts, struct weft_group **ret,
                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API uint32_t weft_group_count(const struct weft_group *g);
UPP_API struct weft_loop *weft_group_loop(const struct weft_group *g, uint32_t i);

/* Cancels all fibers of all loops, lets them unwind (they may still call each other), ends the threads, and runs
 * pending posts. Blocks until all of that is done. Not from a fiber of the group. Accepts NULL. */
UPP_API void weft_group_close(struct weft_group *g);
UPP_API void weft_group_closep(struct weft_group **g);

/* ---- Diagnostics -------------------------------------------------------------------------------------- */

struct weft_watchdog;

struct weft_watchdog_opts {
    uint32_t size;
    uint32_t over_ms; /* 0: 100 */
    /* Called once per incident, on the watchdog's thread. NULL: a line of the logger, at level warn. */
    void (*report)(void *arg, const char *fiber, uint64_t id, uint64_t held_ms);
    void *arg;
};

/* Starts a thread that reports fibers which hold their loop for more than over_ms without waiting. The loops must
 * outlive it. Programs start it; the library never does. */
UPP_API int weft_watchdog_start(struct weft_loop *const *loops, size_t n, const struct weft_watchdog_opts *opts,
                                struct weft_watchdog **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_watchdog_stop(struct weft_watchdog *w);
UPP_API void weft_watchdog_stopp(struct weft_watchdog **w);

/* For programs, on each thread that drives a loop: from now on a fiber's stack overflow is reported with its name on
 * standard error before the process dies. Installs an alternate stack and a SIGSEGV handler, which passes all other
 * faults to the previous handler. */
UPP_API int weft_fiber_report_overflow(struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
