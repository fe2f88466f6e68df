#include "fiber/switch.h"

#include <string.h>

#include "base/hooks.h"
#include "fiber/stack.h"
#include "support/test.h"

static struct {
    struct weft__context home, other;
    int steps, got;
    double sum;
    uintptr_t frame;
} S;

/* Floating-point and integer values that live across the switch, in callee-saved registers where there are any. */
static void entry(void)
{
    weft__context_arrived(&S.home);
    S.frame = (uintptr_t)__builtin_frame_address(0);
    double d = 1.5;
    long a = 1, b = 2, c = 3, e = 4, f = 5, g = 6;
    for (int i = 0; i < 3; i++) {
        S.steps++;
        S.got = weft__context_switch(&S.other, &S.home, 10 + i);
        a += b, b += c, c += e, e += f, f += g, g += 7;
        d *= 2;
    }
    S.sum = d + (double)(a + b + c + e + f + g);
    weft__context_leave(&S.other, &S.home);
}

TEST(switch_goes_there_and_back)
{
    struct weft__stacks pool;
    struct upp_err err;
    memset(&S, 0, sizeof S);
    weft__stacks_init(&pool, 0);
    struct weft__stack *stack = weft__stack_take(&pool, &err);
    CHECK(stack);
    weft__context_make(&S.other, stack->low, stack->size, entry);
    int first = weft__context_switch(&S.home, &S.other, 1);
    int got1 = S.got;
    int again = weft__context_switch(&S.home, &S.other, 2);
    int got2 = S.got;
    (void)weft__context_switch(&S.home, &S.other, 3);
    (void)weft__context_switch(&S.home, &S.other, 4);
    weft__context_done(&S.other);
    bool inside = S.frame > (uintptr_t)stack->low && S.frame < (uintptr_t)stack->low + stack->size;
    weft__stack_release(&pool, stack);
    weft__stacks_done(&pool);
    CHECK_INT(first, 10);
    CHECK_INT(again, 11);
    CHECK(got1 == 0 && got2 == 2 && S.got == 4 && S.steps == 3);
    CHECK(inside && S.sum > 0);
}

/* Code for the machine's vectors faults on a stack that is off by 8; __builtin_frame_address tells where it begins. */
TEST(switch_starts_on_an_aligned_stack)
{
    struct weft__stacks pool;
    weft__stacks_init(&pool, 0);
    struct weft__stack *stack = weft__stack_take(&pool, NULL);
    CHECK(stack);
    size_t wrong = 0;
    for (size_t less = 0; less < 64; less++) {
        weft__context_make(&S.other, stack->low, stack->size - less, entry);
        for (int i = 0; i < 4; i++)
            (void)weft__context_switch(&S.home, &S.other, i);
        weft__context_done(&S.other);
        wrong += S.frame % 16 != 0;
    }
    weft__stack_release(&pool, stack);
    weft__stacks_done(&pool);
    CHECK_INT(wrong, 0);
}
