/* stores/library.h — what starting up does with the library of a store, before any store is opened. */
#pragma once

#include <upp/base.h>

#include "base/library.h"

struct wb_library weft__sqlite_library(void);

/* Installs our allocator and our file calls in SQLite. Programs and tests call it once, before SQLite is used; the
 * libraries never do. */
int weft__sqlite_use_hooks(struct upp_err *err) UPP_MUST_CHECK;
