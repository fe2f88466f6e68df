/* fiber/stack.h — stacks: mapped lazily, with a guard below, pooled.
 *
 *     low of the mapping                                                              high
 *     | guard, no access | usable bytes, the stack grows down <------------ | struct weft__stack |
 *
 * A pool belongs to one loop and takes no locks. A released stack is ready for the next fiber as it is, so a burst
 * costs no system calls. When more than WARM have been free for a second, the others give back the pages beyond their
 * top 16 KiB and become cool; beyond KEEP cool ones they are unmapped.
 */
#pragma once

#include <stddef.h>
#include <upp/base.h>

struct weft__stack {
    struct weft__stack *next; /* in a pool's list */
    size_t guard;             /* inaccessible bytes below `low` */
    char *low;                /* first usable byte; the guard ends here */
    size_t size;
    unsigned valgrind;
};

struct weft__stacks {
    size_t size; /* usable bytes of each, a multiple of the page size */
    size_t page;
    struct weft__stack *warm, *cool;
    size_t n_warm, n_cool, n_mapped;
    uint64_t trim_at; /* nanoseconds; 0: not more than WARM were free at the last look */
};

enum { WEFT__STACKS_WARM = 64, WEFT__STACKS_KEEP = 1024 };

/* size 0: the default. Other sizes are rounded up to pages. */
void weft__stacks_init(struct weft__stacks *p, size_t size);
void weft__stacks_done(struct weft__stacks *p); /* every stack must have been released */

/* For a loop that is about to wait: trims some when it is time; when it wants to be called again, or UINT64_MAX. */
uint64_t weft__stacks_trim(struct weft__stacks *p, uint64_t now);

/* The slow half of take: NULL with err filled when the system has no more memory or maps. */
struct weft__stack *weft__stack_map(struct weft__stacks *p, struct upp_err *err);

static inline struct weft__stack *weft__stack_take(struct weft__stacks *p, struct upp_err *err)
{
    struct weft__stack *s = p->warm;
    if (!s)
        return weft__stack_map(p, err);
    p->warm = s->next;
    p->n_warm--;
    return s;
}

static inline void weft__stack_release(struct weft__stacks *p, struct weft__stack *s)
{
    s->next = p->warm;
    p->warm = s;
    p->n_warm++;
}

/* Is the address in the guard of this stack? Async-signal-safe. */
bool weft__stack_guards(const struct weft__stack *s, const void *address);
