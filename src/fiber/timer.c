/* fiber/timer.c — a binary heap whose items know their place. */
#include "fiber/timer.h"

#include "base/defs.h"
#include "base/hooks.h"

static bool before(const struct weft__timer *a, const struct weft__timer *b)
{
    return a->at != b->at ? a->at < b->at : a->seq < b->seq;
}

static void put(struct weft__timers *h, size_t slot, struct weft__timer *t)
{
    h->heap[slot] = t;
    t->slot = slot;
}

static void up(struct weft__timers *h, size_t slot, struct weft__timer *t)
{
    for (; slot > 1 && before(t, h->heap[slot / 2]); slot /= 2)
        put(h, slot, h->heap[slot / 2]);
    put(h, slot, t);
}

static void down(struct weft__timers *h, size_t slot, struct weft__timer *t)
{
    for (size_t child; (child = 2 * slot) <= h->n; slot = child) {
        if (child < h->n && before(h->heap[child + 1], h->heap[child]))
            child++;
        if (!before(h->heap[child], t))
            break;
        put(h, slot, h->heap[child]);
    }
    put(h, slot, t);
}

int weft__timers_reserve(struct weft__timers *h, struct upp_err *err)
{
    if (h->reserved + 1 >= h->cap) { /* slot 0 is not used */
        size_t cap = h->cap ? h->cap * 2 : 32;
        struct weft__timer **heap = wb_realloc(h->heap, cap * sizeof *heap);
        if (!heap)
            return upp_fail(err, UPP_ENOMEM, "no memory for %zu timers", cap);
        h->heap = heap;
        h->cap = cap;
    }
    h->reserved++;
    return 0;
}

void weft__timers_unreserve(struct weft__timers *h)
{
    h->reserved--;
}

void weft__timers_done(struct weft__timers *h)
{
    wb_free(h->heap);
    *h = (struct weft__timers){0};
}

void weft__timer_add(struct weft__timers *h, struct weft__timer *t, uint64_t at)
{
    t->at = at;
    t->seq = ++h->seq;
    up(h, ++h->n, t);
}

void weft__timer_remove(struct weft__timers *h, struct weft__timer *t)
{
    if (!t->slot)
        return;
    size_t slot = t->slot;
    struct weft__timer *last = h->heap[h->n--];
    t->slot = 0;
    if (last == t)
        return;
    if (slot > 1 && before(last, h->heap[slot / 2]))
        up(h, slot, last);
    else
        down(h, slot, last);
}

size_t weft__timers_fire(struct weft__timers *h, uint64_t now)
{
    size_t fired = 0;
    uint64_t newest = h->seq;
    while (h->n && h->heap[1]->at <= now && h->heap[1]->seq <= newest) {
        struct weft__timer *t = h->heap[1];
        weft__timer_remove(h, t);
        t->fire(t);
        fired++;
    }
    return fired;
}
