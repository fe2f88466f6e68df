/* fiber/timer.h — timers in a heap, shared by every kind of loop.
 *
 * A timer is a member of what it wakes. Adding one never fails: whoever makes a thing that holds a timer reserves
 * the place first. Timers of the same moment fire in the order in which they were added.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <upp/base.h>

#define WEFT__NEVER UINT64_MAX

struct weft__timer {
    uint64_t at; /* nanoseconds, monotonic */
    uint64_t seq;
    size_t slot;                         /* 0: not in a heap; else its place there, from 1 */
    void (*fire)(struct weft__timer *t); /* called when it is already out of the heap */
};

struct weft__timers {
    struct weft__timer **heap; /* heap[1 .. n]; heap[i] is not after heap[2i], heap[2i + 1] */
    size_t n, cap, reserved;
    uint64_t seq;
};

/* One more, or one fewer, timer that may be added. */
int weft__timers_reserve(struct weft__timers *h, struct upp_err *err) UPP_MUST_CHECK;
void weft__timers_unreserve(struct weft__timers *h);
void weft__timers_done(struct weft__timers *h);

void weft__timer_add(struct weft__timers *h, struct weft__timer *t, uint64_t at); /* not in the heap before */
void weft__timer_remove(struct weft__timers *h, struct weft__timer *t);           /* harmless when it is not */

/* The earliest moment, or WEFT__NEVER. */
static inline uint64_t weft__timers_next(const struct weft__timers *h)
{
    return h->n ? h->heap[1]->at : WEFT__NEVER;
}

/* Fires what is due; how many. Timers that are added meanwhile wait for the next call. */
size_t weft__timers_fire(struct weft__timers *h, uint64_t now);
