/* base/opts.h — options of a caller who may have been compiled against another version. */
#pragma once

#include <stdint.h>
#include <string.h>

/* Copies a struct of options, which begins with its size as a uint32_t: what the caller does not know of is zero, what
 * we do not know of is ignored. NULL is all zero. */
static inline void wb_opts(void *ret, size_t size, const void *opts)
{
    uint32_t given = 0;
    if (opts)
        memcpy(&given, opts, sizeof given);
    if (given >= size) {
        memcpy(ret, opts, size);
        return;
    }
    memset(ret, 0, size);
    if (given)
        memcpy(ret, opts, given);
}

/* The same without a copy where nothing is missing: the caller's own, or `ret`. */
static inline const void *wb_opts_of(void *ret, size_t size, const void *opts)
{
    uint32_t given = 0;
    if (opts)
        memcpy(&given, opts, sizeof given);
    if (given >= size)
        return opts;
    wb_opts(ret, size, opts);
    return ret;
}
