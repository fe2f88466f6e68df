/* base/hooks.h — the calls through the hook table that the rest of the code makes.
 *
 * Nothing outside base calls malloc, clock_gettime, getrandom, open, socket or posix_spawn itself (but libuv must have
 * a realloc that does not fail: fiber/uv_memory.c).
 */
#pragma once

#include <upp/hooks.h>

#include "base/export.h"

WB_EXPORT_BEGIN

/* The table in force. Never NULL, every member set. */
const struct upp_hooks *wb_hooks(void);

/* Memory. NULL when there is none; n may be 0 (one byte is taken). The bytes are not cleared. */
void *wb_alloc(size_t n) __attribute__((malloc, warn_unused_result));
void *wb_calloc(size_t count, size_t size) __attribute__((malloc, warn_unused_result)); /* cleared, checks overflow */
void *wb_realloc(void *p, size_t n) __attribute__((warn_unused_result));
void wb_free(void *p); /* accepts NULL */

WB_EXPORT_END

/* The hook in force, for calls that need no wrapper: WB_CALL(pread)(fd, p, n, off). */
#define WB_CALL(member) (wb_hooks()->member)
