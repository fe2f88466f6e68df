/* base/vec.c — growing arrays of any type. */
#include "base/vec.h"

#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"

/* The array is reached through memcpy: it is a T * of the caller's, not a void *. */
bool wb_vec_grow(void **p, size_t n, size_t *cap, size_t item, size_t max)
{
    void  *old;
    size_t bytes, want = WB_MIN(*cap < 8 ? 8 : *cap + *cap / 2, max);
    if (n >= max || __builtin_mul_overflow(want, item, &bytes))
        return false;
    memcpy(&old, p, sizeof old);
    void *grown = wb_realloc(old, bytes);
    if (!grown)
        return false;
    memcpy(p, &grown, sizeof grown);
    *cap = want;
    return true;
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
