#ifndef WEFT_LOOP_UV_H
#define WEFT_LOOP_UV_H
#include <upp/base.h>
#include "base/library.h"
int               weft__uv_use_hooks(struct upp_err *err) UPP_MUST_CHECK;
struct wb_library weft__uv_library(void);
#endif
