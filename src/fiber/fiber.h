/* fiber/fiber.h — the fiber as the rest of this folder sees it: states, parking and waking.
 *
 *     NEW ----> READY <----> RUNNING ----> DONE
 *      |          ^             |
 *      |          '-- WAITING <-'          NEW -> DONE when it is cancelled before it ran
 *
 * Invariants
 *  1. NEW and READY fibers are on their loop's ready list, and nobody else is.
 *  2. A fiber that is on a queue or has an armed timer is WAITING; waking takes it off both, so a signal never goes
 *     to somebody who has already been cancelled or timed out.
 *  3. A fiber has at most one timer, reserved in its loop's heap when it is made: a wait cannot run out of memory.
 *  4. The struct holds everything others may point at; it is freed when the last reference goes, never before DONE.
 */
#pragma once

#include <weft/fiber.h>

#include "base/list.h"
#include "fiber/stack.h"
#include "fiber/switch.h"
#include "fiber/timer.h"

struct wb_log_ctx;

enum weft__state { WEFT__NEW, WEFT__READY, WEFT__RUNNING, WEFT__WAITING, WEFT__DONE };

struct weft_fiber {
    /* What a switch touches comes first, in one or two cache lines. */
    struct weft__context ctx;
    struct weft_loop *loop;
    struct wb_link run; /* in the ready list, or in the loop's free list */
    uint8_t state;
    bool canceled, masked;
    unsigned pins;
    int wake;               /* what the wait will return */
    int on_timer;           /* what it returns when the timer fires */
    uint64_t deadline;      /* of every wait, nanoseconds; WEFT__NEVER */
    struct wb_log_ctx *log; /* its log context while it is not running */
    const char *name;       /* static text */
    uint64_t id;

    const char *waits_for; /* static text */
    uint64_t limit;        /* of the shield in force */
    unsigned guards, refs;
    struct weft__timer timer;
    struct weft_cond *queue; /* that it waits in, or NULL */
    struct weft_fiber *queue_prev, *queue_next;

    weft_fn *fn;
    void *arg;
    struct weft__stack *stack; /* NULL once DONE */
    struct weft__scope *scope; /* NULL: the fiber of weft_loop_run */
    struct wb_link sibling, all;
    struct weft_cond joiners;
    void (*on_end)(struct weft_fiber *f); /* on the loop's stack, whether it ran or not; NULL: none */

    int fd; /* what it waits for, and what came (await.c) */
    unsigned fd_want, fd_got;

    int result; /* once DONE */
    struct upp_err err;
};

/* Says what is wrong and aborts: for misuse that nothing can repair. */
_Noreturn void weft__die(const char *fmt, ...) UPP_PRINTF(1, 2);

/* ---- Life ---- */

/* A fiber on the ready list, with one reference: its own, given up when it has ended. */
int weft__fiber_new(struct weft_loop *l, struct weft__scope *scope, const char *name, weft_fn *fn, void *arg,
                    struct weft_fiber **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Runs a READY or NEW fiber, which is off the ready list, until it waits or ends. From the loop's stack only. */
void weft__fiber_resume(struct weft_loop *l, struct weft_fiber *f);

/* Runs everything that is ready now, once. */
void weft__fibers_run(struct weft_loop *l);

/* Frees the spare structs of a loop. */
void weft__fibers_done(struct weft_loop *l);

/* ---- Waiting ---- */

/* The running fiber; outside of one NULL, with -UPP_EINVALID in err, which names the function that was called. */
struct weft_fiber *weft__caller(const char *function, struct upp_err *err);

/* The running fiber, for functions that programs cannot call: aborts outside of one. */
struct weft_fiber *weft__self(const char *caller);

static inline bool weft__canceled(const struct weft_fiber *f)
{
    return WB_UNLIKELY(f->canceled) && !f->masked;
}

/* -UPP_ECANCELED, -UPP_ETIMEOUT, or 0: what a wait would have to return before it begins. */
int weft__pending(const struct weft_fiber *f);

/* Suspends the running fiber until weft__wake, `until` (then the result is on_timer), its deadline or a cancel.
 * The caller has put it where the wake will come from, and takes it away from there when this returns < 0; only
 * queues are left by themselves. Returns without suspending what weft__pending says. */
WEFT_SUSPENDS int weft__park(struct weft_fiber *f, const char *waits_for, uint64_t until, int on_timer);

/* Ends its wait with this result; does nothing unless it is WAITING. */
void weft__wake(struct weft_fiber *f, int result);

/* Fills err for a wait that was cut short and returns r. */
int weft__cut_short(struct upp_err *err, int r, const char *waits_for);

/* ---- Queues: FIFO lists of waiting fibers ---- */

void weft__queue_push(struct weft_cond *q, struct weft_fiber *f);
void weft__queue_remove(struct weft_fiber *f);                        /* harmless when it is in none */
struct weft_fiber *weft__queue_wake(struct weft_cond *q, int result); /* the first one, or NULL */

/* ---- Shield without limit: commits, and joining children. Ended by weft_shield_end. ---- */

struct weft_shield weft__shield_forever(void);
#define WEFT__SHIELD_FOREVER                                                                                           \
    __attribute__((cleanup(weft_shield_end), unused)) struct weft_shield WEFT_GUARD_NAME_(__LINE__) =                  \
        weft__shield_forever()
