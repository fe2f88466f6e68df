/* bench/still.h — a clock and random numbers that are the same in every process: what is counted with them depends on
 * neither the machine's speed nor on luck. A commit that a slow disk delays, for example, moves later ones to a worker.
 */
#pragma once

#include <stdatomic.h>
#include <string.h>
#include <upp/hooks.h>
#include <upp/upp.h>

#include "base/random.h"

/* The clock goes on by a microsecond whenever somebody looks. */
static inline uint64_t still_mono_ns(void)
{
    static _Atomic uint64_t now = 1000000000;
    return atomic_fetch_add(&now, 1000);
}

static inline int64_t still_wall_ns(void)
{
    return 1793534400000000000 + (int64_t)still_mono_ns(); /* 1 November 2026 */
}

static inline int64_t still_random(void *p, size_t n)
{
    static _Atomic uint64_t drawn;
    uint64_t value = wb_mix(atomic_fetch_add(&drawn, 0x9e3779b97f4a7c15u));
    if (n > sizeof value)
        n = sizeof value;
    memcpy(p, &value, n);
    return (int64_t)n;
}

static inline int stand_still(struct upp_err *err)
{
    return upp_global_init(
        UPP_OPTS(upp_hooks, .mono_ns = still_mono_ns, .wall_ns = still_wall_ns, .random = still_random), err);
}
