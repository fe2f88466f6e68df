/* fiber/switch.h — contexts: a stack and where on it execution stopped.
 *
 * The one interface over three switches (switch_x86_64.S, switch_aarch64.S, switch_ucontext.c), and the one place
 * that tells ASan, TSan and valgrind what happens (switch.c). In a plain build a switch is the assembly and nothing
 * else; with a sanitizer it goes through switch.c.
 *
 * About _FORTIFY_SOURCE: it is longjmp between stacks that it refuses. None of these switches uses longjmp.
 *
 * Invariants
 *  1. A context is switched to only while it is stopped; weft__context_switch stops one and runs the other.
 *  2. The first thing a new context runs is weft__context_arrived, the last weft__context_leave.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define WEFT__ASAN 1
#else
#define WEFT__ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define WEFT__TSAN 1
#else
#define WEFT__TSAN 0
#endif
#define WEFT__ANNOTATED (WEFT__ASAN || WEFT__TSAN)

/* The highest address at or below p that is a multiple of `align`, a power of two. */
static inline void *weft__align_down(char *p, size_t align)
{
    return p - ((uintptr_t)p & (align - 1));
}

struct weft__context {
    void *sp; /* while stopped: what the switch saved */
#if WEFT__ASAN
    const void *low; /* of its stack; of a thread's own stack ASan tells us */
    size_t size;
    void *fake; /* ASan's copy of the frames, for use after return */
#endif
#if WEFT__TSAN
    void *tsan;
#endif
};

/* Stops here, saves where in *save, goes on at `to`, where the call that stopped there returns `value`. */
int weft__switch(void **save, void *to, int value);

/* The `to` of a stack on which nothing ran yet: a switch to it calls entry, which must not return. */
void *weft__switch_frame(void *low, size_t size, void (*entry)(void));

#if WEFT__ANNOTATED

void weft__context_make(struct weft__context *c, void *low, size_t size, void (*entry)(void));
int weft__context_switch(struct weft__context *from, struct weft__context *to, int value);
void weft__context_arrived(struct weft__context *from);
_Noreturn void weft__context_leave(struct weft__context *from, struct weft__context *to);
void weft__context_done(struct weft__context *c);

#else

/* A context that will run entry on the given stack. */
static inline void weft__context_make(struct weft__context *c, void *low, size_t size, void (*entry)(void))
{
    c->sp = weft__switch_frame(low, size, entry);
}

/* Switches from the running context to a stopped one; returns when another switches back, with its value. */
static inline int weft__context_switch(struct weft__context *from, struct weft__context *to, int value)
{
    return weft__switch(&from->sp, to->sp, value);
}

/* First in an entry function: `from` is who switched here. */
static inline void weft__context_arrived(struct weft__context *from)
{
    (void)from;
}

/* Last in an entry function: its stack is not used again by this context. */
static inline _Noreturn void weft__context_leave(struct weft__context *from, struct weft__context *to)
{
    (void)weft__switch(&from->sp, to->sp, 0);
    __builtin_unreachable();
}

/* After it left, or before it ever ran: the stack may be used by another context. */
static inline void weft__context_done(struct weft__context *c)
{
    c->sp = NULL;
}

#endif

/* Tells valgrind of a stack, when there is a valgrind: a number for weft__stack_forget. */
unsigned weft__stack_known(void *low, void *high);
void weft__stack_forget(unsigned number);
