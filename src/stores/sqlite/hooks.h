/* stores/sqlite/hooks.h — SQLite on our hook table. */
#ifndef WEFT_SQLITE_HOOKS_H
#define WEFT_SQLITE_HOOKS_H

#include <upp/base.h>

#include "base/library.h"

struct wb_library weft__sqlite_library(void);

/* Gives SQLite our allocator and our file calls. Programs and tests call it once, before SQLite is used; the
 * libraries never do. */
int weft__sqlite_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

/* The descriptor that the open hook gave SQLite last on this thread, once; -1: none since it was asked. SQLite's table
 * of system calls has no row for fsync, so whoever syncs must know the descriptor. */
int weft__sqlite_opened(void);

#endif
