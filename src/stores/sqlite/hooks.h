/* stores/sqlite/hooks.h — SQLite on our hook table. */
#ifndef WEFT_SQLITE_HOOKS_H
#define WEFT_SQLITE_HOOKS_H

#include <upp/base.h>

#include "base/library.h"

struct wb_library weft__sqlite_library(void);

/* Installs our allocator and our file calls in SQLite. Programs and tests call it once, before SQLite is used; the
 * libraries never do. */
int weft__sqlite_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

/* The descriptor that the open hook last returned to SQLite on this thread, once; -1: none since the last call.
 * SQLite's table of system calls has no entry for fsync, so our VFS must know the descriptor to sync it. */
int weft__sqlite_opened(void);

#endif
