/* stores/sqlite/hooks.h — SQLite on our hook table. */
#pragma once

#include "stores/library.h"

/* The descriptor that the open hook last returned to SQLite on this thread, once; -1: none since the last call.
 * SQLite's table of system calls has no entry for fsync, so our VFS must know the descriptor to sync it. */
int weft__sqlite_opened(void);
