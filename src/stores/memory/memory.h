/* stores/memory/memory.h — a store that lives as long as the process: for tests, and for programs that store nothing.
 *
 * Calls never suspend. Loops and threads may share it.
 */
#pragma once

#include "log/store.h"

int ws_memory_open(struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

/* How many bytes it may hold (4 GiB when opened). It is full as a disk is: the last sixteenth is for commits that end
 * or cancel runs or delete, and others fail with -UPP_ESTORE and WL_DISK_FULL until something was deleted. */
void ws_memory_limit(struct wl_store *s, size_t max_bytes);
