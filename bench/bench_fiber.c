/* bench/bench_fiber.c — what fibers cost beside the bare switch.
 *
 * The floor of a round trip is a loop over the same assembly, the same number of stacks from the same pool, and a
 * function that gives way, as any fiber needs one: no queue, no states, no cancel, no clock, no polling. Exits with 1
 * when a goal is missed.
 */
#include "bench.h"

#include "base/hooks.h"
#include "fiber/loop.h"

enum { FIBERS = 64 };

/* Floor: contexts in an array. */

static struct {
    struct weft__context home, each[FIBERS];
    struct weft__context *now;
    struct weft__stacks stacks;
    struct weft__stack *stack[FIBERS];
} B;

__attribute__((noinline)) static int bare_yield(void)
{
    int r = weft__context_switch(B.now, &B.home, 0);
    __asm__ volatile("" : : : "memory"); /* a real function: it returns to its caller */
    return r;
}

static void bare_body(void)
{
    weft__context_arrived(&B.home);
    for (;;)
        (void)bare_yield();
}

static void bare_open(void)
{
    weft__stacks_init(&B.stacks, 0);
    for (int i = 0; i < FIBERS; i++) {
        B.stack[i] = weft__stack_take(&B.stacks, NULL);
        if (!B.stack[i])
            abort();
        weft__context_make(&B.each[i], B.stack[i]->low, B.stack[i]->size, bare_body);
    }
}

static void bare_close(void)
{
    for (int i = 0; i < FIBERS; i++) {
        weft__context_done(&B.each[i]);
        weft__stack_release(&B.stacks, B.stack[i]);
    }
    weft__stacks_done(&B.stacks);
}

static void bare_round_trips(unsigned times)
{
    for (unsigned n = 0; n < times; n += FIBERS)
        for (int i = 0; i < FIBERS; i++) {
            B.now = &B.each[i];
            (void)weft__context_switch(&B.home, B.now, 0);
        }
}

static struct weft_loop *loop;

static int yields(void *arg, struct upp_err *err)
{
    for (unsigned n = *(unsigned *)arg; n; n--)
        if (weft_yield(err) < 0)
            abort();
    return 0;
}

static int nothing(void *arg, struct upp_err *err)
{
    (void)arg, (void)err;
    return 0;
}

static int crowd(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (int i = 0; i < FIBERS; i++)
        if (weft_scope_spawn(&s, "yields", yields, arg, NULL, err) < 0)
            abort();
    return weft_scope_join(&s, err);
}

static void round_trips(unsigned times)
{
    unsigned each = times / FIBERS;
    if (weft_loop_run(loop, "bench", crowd, &each, NULL) < 0)
        abort();
}

static int short_lives(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    for (unsigned n = *(unsigned *)arg; n >= FIBERS; n -= FIBERS) {
        for (int i = 0; i < FIBERS; i++)
            if (weft_scope_spawn(&s, "nothing", nothing, NULL, NULL, err) < 0)
                abort();
        if (weft_scope_join(&s, err) < 0)
            abort();
    }
    return 0;
}

static void lives(unsigned times)
{
    if (weft_loop_run(loop, "bench", short_lives, &times, NULL) < 0)
        abort();
}

static int alone(void *arg, struct upp_err *err)
{
    return yields(arg, err);
}

static void round_trips_alone(unsigned times)
{
    if (weft_loop_run(loop, "bench", alone, &times, NULL) < 0)
        abort();
}

int main(void)
{
    if (weft_loop_open(NULL, &loop, NULL) < 0)
        return 1;
    bare_open();
    BENCH(.name = "fiber round trip", .product = round_trips, .floor = bare_round_trips, .times = 64000, .goal_ns = 40,
          .goal_ratio = 1.5);
    BENCH(.name = "fiber create, run, finish", .product = lives, .floor = bare_round_trips, .times = 64000,
          .goal_ns = 100);
    BENCH(.name = "fiber alone, with polling", .product = round_trips_alone, .times = 6400);
    bare_close();
    weft_loop_close(loop);
    return 0;
}
