#include "fiber/loop_uv.h"
#include <uv.h>
#include "base/hooks.h"
int weft__uv_use_hooks(struct upp_err *err)
{
    int r = uv_replace_allocator(wb_alloc, wb_realloc, wb_calloc, wb_free);
    return r == 0 ? 0 : upp_fail(err, UPP_EBUG, "libuv does not take our allocator: %s", uv_strerror(r));
}
struct wb_library weft__uv_library(void)
{
    return wb_library("libuv", "0", uv_version_string());
}
