/* base/defs.h — the few macros the code leans on. */
#pragma once

#include <stddef.h>

/* Runs fn(&variable) when the variable goes out of scope. */
#define WB_CLEANUP(fn) __attribute__((cleanup(fn)))

/* Moves a pointer out of a variable that has a cleanup: yields it and leaves NULL behind. */
#define WB_TAKE(p)                                                                                                     \
    __extension__({                                                                                                    \
        __typeof__(p) wb_taken_ = (p);                                                                                 \
        (p) = NULL;                                                                                                    \
        wb_taken_;                                                                                                     \
    })

/* Defines `NAMEp`, the cleanup form of a destroyer. */
#define WB_DEFINE_CLEANUP(type, destroy)                                                                               \
    static inline void destroy##p(type **p)                                                                            \
    {                                                                                                                  \
        if (*p)                                                                                                        \
            destroy(*p);                                                                                               \
    }

#define WB_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* The struct of which `ptr` is the member. */
#define WB_OUTER(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define WB_LIKELY(x)   __builtin_expect(!!(x), 1)
#define WB_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Of two values, not of two calls: one of them is evaluated twice. */
#define WB_MIN(a, b) ((a) < (b) ? (a) : (b))
#define WB_MAX(a, b) ((a) > (b) ? (a) : (b))
