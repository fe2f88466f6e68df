/* base/clock.h — what time it is, through the hook table, so that tests can say.
 *
 * Measure and wait with mono, which never goes back. Wall time is what people read: it may jump either way.
 */
#pragma once

#include "base/hooks.h"

/* Since some fixed moment. */
static inline uint64_t wb_mono_ns(void)
{
    return WB_CALL(mono_ns)();
}

static inline uint64_t wb_mono_ms(void)
{
    return wb_mono_ns() / 1000000;
}

/* Since 1970 in UTC, without leap seconds. Before 1970 the millisecond that has begun, as after it. */
static inline int64_t wb_wall_ms(void)
{
    int64_t ns = WB_CALL(wall_ns)();
    return ns / 1000000 - (ns % 1000000 < 0);
}
