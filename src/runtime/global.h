/* runtime/global.h — the process-wide part of starting up. */
#pragma once

#include <weft/runtime.h>

#include "base/library.h"

/* Makes libuv, SQLite and libcurl use the current hook table. */
int weft__libraries_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

struct wb_library weft__yaml_library(void);
