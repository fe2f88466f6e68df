/* base/crash.h — named places at which a test may kill the process, as kill -9 would.
 *
 *     wb_crashpoint("c2.before");
 *
 * Costs one branch while nothing is armed. Who uses points keeps the table of their names.
 *
 * The armed point is process-wide, as the hook table is: it is set by the program before anything else runs, from its
 * environment, and never by the libraries.
 */
#pragma once

#include <upp/base.h>

#include "base/defs.h"
#include "base/export.h"

WB_EXPORT_BEGIN

extern bool wb_crash_armed; /* read-only outside of crash.c */

/* "NAME:N": the Nth hit (from 1) of the point NAME kills the process with SIGKILL; "any:N": the Nth hit of any point.
 * NULL or "": none. Call it from one thread, before others start. -UPP_EINVALID: it is neither. */
int wb_crash_arm(const char *spec, struct upp_err *err) UPP_MUST_CHECK;

/* The slow path. */
void wb_crash_hit(const char *name);

WB_EXPORT_END

/* Any thread. */
static inline void wb_crashpoint(const char *name)
{
    if (WB_UNLIKELY(wb_crash_armed))
        wb_crash_hit(name);
}
