/* fiber/loop_uv.h — libuv as a library we stand on. */
#pragma once

#include <upp/base.h>

#include "base/library.h"

/* Gives libuv the memory of the hook table. For programs and tests, before anything uses libuv; never by the library.
 */
int weft__uv_use_hooks(struct upp_err *err) UPP_MUST_CHECK;

struct wb_library weft__uv_library(void);

/* Processors that this process may use, at least 1. */
uint32_t weft__uv_cores(void);
