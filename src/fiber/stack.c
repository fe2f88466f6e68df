/* fiber/stack.c — mapping, guarding and keeping stacks. */
#include "fiber/stack.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "fiber/switch.h"

enum {
    /* Three times the deepest measured call of a library (libpq connect, 18 KiB). Sanitized frames are larger. */
    DEFAULT_SIZE = WEFT__ANNOTATED ? 256 * 1024 : 64 * 1024,
    MIN_SIZE = 16 * 1024,
    TOP = 16 * 1024, /* what stays resident of a cool stack */
    /* More than a page: a libc frame of up to 12 KiB (getaddrinfo) must not step over it. */
    GUARD = 16 * 1024,
    /* Stacks are equal modulo a page, so their hot ends would share a few cache sets; shift each a little. */
    COLORS = 16,
    COLOR = 128,

    /* Trimming: how long they must have been too many, and how many at once, a system call each. */
    AFTER_NS = 1000000000,
    AT_ONCE = 64,
    AGAIN_NS = 5000000,
};

void weft__stacks_init(struct weft__stacks *p, size_t size)
{
    *p = (struct weft__stacks){.page = (size_t)sysconf(_SC_PAGESIZE)};
    p->size = WB_MAX(size ? size : (size_t)DEFAULT_SIZE, (size_t)MIN_SIZE);
    p->size = (p->size + p->page - 1) / p->page * p->page;
}

static size_t guard_size(const struct weft__stacks *p)
{
    return WB_MAX((size_t)GUARD, p->page);
}

struct weft__stack *weft__stack_map(struct weft__stacks *p, struct upp_err *err)
{
    struct weft__stack *s = p->cool;
    if (s) {
        p->cool = s->next;
        p->n_cool--;
        return s;
    }

    size_t guard = guard_size(p);
    char *low = WB_CALL(map)(p->size, guard);
    if (!low) { /* no memory, or vm.max_map_count is reached: two maps a stack */
        (void)upp_fail(err, UPP_ENOMEM, "no memory or no map left for the stack of a fiber");
        return NULL;
    }
    size_t shift = p->n_mapped++ % COLORS * COLOR;
    s = weft__align_down(low + p->size - sizeof *s - shift, 64);
    s->low = low;
    s->guard = guard;
    s->size = (size_t)((char *)s - s->low);
    s->valgrind = weft__stack_known(s->low, s);
    return s;
}

static void unmap(struct weft__stacks *p, struct weft__stack *s)
{
    weft__stack_forget(s->valgrind);
    WB_CALL(unmap)(s->low, p->size, s->guard);
}

static void cool_down(struct weft__stacks *p)
{
    struct weft__stack *s = p->warm;
    p->warm = s->next;
    p->n_warm--;
    if (p->n_cool >= WEFT__STACKS_KEEP) {
        unmap(p, s);
        return;
    }
    size_t top = WB_MAX((size_t)TOP, p->page);
    if (p->size > top)
        (void)madvise(s->low, p->size - top, MADV_DONTNEED); /* a hint: failure costs memory, nothing else */
    s->next = p->cool;
    p->cool = s;
    p->n_cool++;
}

uint64_t weft__stacks_trim(struct weft__stacks *p, uint64_t now)
{
    if (p->n_warm <= WEFT__STACKS_WARM) {
        p->trim_at = 0;
        return UINT64_MAX;
    }
    if (!p->trim_at)
        p->trim_at = now + AFTER_NS;
    if (now < p->trim_at)
        return p->trim_at;
    for (int i = 0; i < AT_ONCE && p->n_warm > WEFT__STACKS_WARM; i++)
        cool_down(p);
    p->trim_at = p->n_warm > WEFT__STACKS_WARM ? now + AGAIN_NS : 0;
    return p->trim_at ? p->trim_at : UINT64_MAX;
}

static void unmap_all(struct weft__stacks *p, struct weft__stack *s)
{
    while (s) {
        struct weft__stack *next = s->next; /* it lies in the mapping */
        unmap(p, s);
        s = next;
    }
}

void weft__stacks_done(struct weft__stacks *p)
{
    unmap_all(p, p->warm);
    unmap_all(p, p->cool);
    p->warm = p->cool = NULL;
    p->n_warm = p->n_cool = 0;
}

bool weft__stack_guards(const struct weft__stack *s, const void *address)
{
    return (uintptr_t)address < (uintptr_t)s->low && (uintptr_t)address >= (uintptr_t)s->low - s->guard;
}
