/* fiber/switch.c — the first frame of a stack, and what the sanitizers and valgrind have to be told.
 *
 * Order matters to ASan: start_switch just before the switch, on the stack that is left; finish_switch just after,
 * on the stack that is entered. TSan is told before the switch, in a function it does not instrument afterwards.
 */
#include "fiber/switch.h"

#if WEFT__ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if WEFT__TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef WEFT_VALGRIND
#include <valgrind/valgrind.h>
#endif

#ifndef WEFT_UCONTEXT

void weft__switch_begin(void);

#if defined(__x86_64__)
enum { WORDS = 7, ENTRY = 3, RETURN = 6 }; /* r15 r14 r13 r12 rbx rbp, return address */
#elif defined(__aarch64__)
enum { WORDS = 20, ENTRY = 0, RETURN = 11 }; /* x19 .. x30, d8 .. d15 */
#endif

/* What weft__switch would have left on the stack, had it been called by weft__switch_begin. */
void *weft__switch_frame(void *low, size_t size, void (*entry)(void))
{
    uintptr_t *top = weft__align_down((char *)low + size, 16); /* where sp is when weft__switch_begin runs */
    uintptr_t *frame = top - WORDS;
    for (int i = 0; i < WORDS; i++)
        frame[i] = 0;
    frame[ENTRY] = (uintptr_t)entry;
    frame[RETURN] = (uintptr_t)weft__switch_begin;
    return frame;
}

#endif

#if WEFT__ANNOTATED

void weft__context_make(struct weft__context *c, void *low, size_t size, void (*entry)(void))
{
    c->sp = weft__switch_frame(low, size, entry);
#if WEFT__ASAN
    c->low = low;
    c->size = size;
    c->fake = NULL;
#endif
#if WEFT__TSAN
    c->tsan = __tsan_create_fiber(0);
#endif
}

int weft__context_switch(struct weft__context *from, struct weft__context *to, int value)
{
#if WEFT__TSAN
    from->tsan = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
#if WEFT__ASAN
    __sanitizer_start_switch_fiber(&from->fake, to->low, to->size);
#endif
    value = weft__switch(&from->sp, to->sp, value);
#if WEFT__ASAN
    __sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
#endif
    return value;
}

void weft__context_arrived(struct weft__context *from)
{
#if WEFT__ASAN
    __sanitizer_finish_switch_fiber(NULL, &from->low, &from->size);
#else
    (void)from;
#endif
}

_Noreturn void weft__context_leave(struct weft__context *from, struct weft__context *to)
{
#if WEFT__TSAN
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
#if WEFT__ASAN
    __sanitizer_start_switch_fiber(NULL, to->low, to->size); /* NULL: its fake frames are freed */
#endif
    (void)weft__switch(&from->sp, to->sp, 0);
    __builtin_unreachable();
}

void weft__context_done(struct weft__context *c)
{
    c->sp = NULL;
#if WEFT__ASAN
    __asan_unpoison_memory_region(c->low, c->size);
#endif
#if WEFT__TSAN
    __tsan_destroy_fiber(c->tsan);
    c->tsan = NULL;
#endif
}

#endif

unsigned weft__stack_known(void *low, void *high)
{
#ifdef WEFT_VALGRIND
    return VALGRIND_STACK_REGISTER(low, (char *)high - 1);
#else
    (void)low, (void)high;
    return 0;
#endif
}

void weft__stack_forget(unsigned number)
{
#ifdef WEFT_VALGRIND
    VALGRIND_STACK_DEREGISTER(number);
#else
    (void)number;
#endif
}
