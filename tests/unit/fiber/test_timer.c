#include "fiber/timer.h"

#include "base/defs.h"
#include "support/test.h"

static struct {
    struct weft__timers heap;
    uint64_t fired[2000];
    size_t n;
} T;

static void fire(struct weft__timer *t)
{
    T.fired[T.n++] = t->at;
}

static void add_again(struct weft__timer *t)
{
    T.n++;
    weft__timer_add(&T.heap, t, t->at);
}

static void finish(struct weft__timers **h)
{
    weft__timers_done(*h);
}

TEST(timer_heap_sorts_whatever_is_added_and_removed)
{
    enum { N = 500 };
    static struct weft__timer t[N];
    WB_CLEANUP(finish) struct weft__timers *h = &T.heap;
    T.n = 0;
    uint32_t x = 12345;
    size_t live = 0;
    for (size_t i = 0; i < N; i++) {
        CHECK(weft__timers_reserve(h, NULL) == 0);
        t[i] = (struct weft__timer){.fire = fire};
        x = x * 1664525 + 1013904223;
        weft__timer_add(h, &t[i], x >> 16);
        live++;
        if (i % 3 == 2) {
            weft__timer_remove(h, &t[(x >> 8) % i]);
            weft__timer_remove(h, &t[(x >> 8) % i]); /* harmless */
        }
    }
    live = h->n;
    CHECK(weft__timers_next(h) != WEFT__NEVER);
    CHECK_INT(weft__timers_fire(h, WEFT__NEVER - 1), live);
    CHECK_INT(T.n, live);
    for (size_t i = 1; i < T.n; i++)
        CHECK(T.fired[i - 1] <= T.fired[i]);
    CHECK(weft__timers_next(h) == WEFT__NEVER);
    for (size_t i = 0; i < N; i++)
        CHECK(t[i].slot == 0);
}

TEST(timer_of_the_same_moment_fires_in_order)
{
    struct weft__timer t[3] = {{.fire = fire}, {.fire = fire}, {.fire = fire}};
    WB_CLEANUP(finish) struct weft__timers *h = &T.heap;
    T.n = 0;
    for (int i = 0; i < 3; i++)
        CHECK(weft__timers_reserve(h, NULL) == 0);
    for (int i = 2; i >= 0; i--)
        weft__timer_add(h, &t[i], 7);
    CHECK(h->heap[1] == &t[2]);
    CHECK_INT(weft__timers_fire(h, 6), 0);
    CHECK_INT(weft__timers_fire(h, 7), 3);
}

TEST(timer_added_while_firing_waits)
{
    struct weft__timer t = {.fire = add_again};
    WB_CLEANUP(finish) struct weft__timers *h = &T.heap;
    T.n = 0;
    CHECK(weft__timers_reserve(h, NULL) == 0);
    weft__timer_add(h, &t, 5);
    CHECK_INT(weft__timers_fire(h, 5), 1);
    CHECK_INT(h->n, 1);
}
