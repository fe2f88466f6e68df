/* base/vec.c — growing arrays of any type. */
#include "base/vec_add.h"

#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"

enum { LARGE = 64 };

/* The array is reached through memcpy: it is a T * of the caller's, not a void *. */
bool wb_vec_widen(void **p, size_t *cap, size_t item, size_t want)
{
    void *old;
    size_t bytes;
    if (want <= *cap)
        return true;
    if (__builtin_mul_overflow(want, item, &bytes))
        return false;
    memcpy(&old, p, sizeof old);
    void *grown = wb_realloc(old, bytes);
    if (!grown)
        return false;
    memcpy(p, &grown, sizeof grown);
    *cap = want;
    return true;
}

/* Begins with eight items, or two of large ones, of which there are often no more. */
bool wb_vec_grow(void **p, size_t n, size_t *cap, size_t item, size_t max)
{
    size_t want = *cap < 8 ? WB_MIN(*cap * 2, (size_t)8) : *cap + *cap / 2;
    return n < max && wb_vec_widen(p, cap, item, WB_MIN(WB_MAX(want, item > LARGE ? (size_t)2 : (size_t)8), max));
}

int wb_vec_full(size_t n, size_t max, const char *what, struct upp_err *err)
{
    return n < max ? upp_fail(err, UPP_ENOMEM, "no memory for %s", what)
                   : upp_fail(err, UPP_ELIMIT, "more than %zu %s", max, what);
}

void wb_vec_free(void **p, size_t *n, size_t *cap)
{
    void *old;
    memcpy(&old, p, sizeof old);
    wb_free(old);
    old = NULL;
    memcpy(p, &old, sizeof old);
    *n = *cap = 0;
}
