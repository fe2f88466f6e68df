/* runtime/global.c — the process-wide part of starting up. */
#include "runtime/global.h"

#include <libfyaml.h>
#include <stddef.h>

#include "fiber/loop_uv.h"
#include "stores/library.h"
#include "upp/http/curl.h"

#include <config.h> /* meson's: "config.h" would be the one of this folder */

int weft__libraries_use_hooks(struct upp_err *err)
{
    int r = weft__uv_use_hooks(err);
    if (r >= 0)
        r = weft__sqlite_use_hooks(err);
    if (r >= 0)
        r = upp__curl_use_hooks(err);
    return r;
}

int weft_global_init(const struct upp_hooks *hooks, struct upp_err *err)
{
    int r = upp_global_init(hooks, err);
    return r < 0 ? r : weft__libraries_use_hooks(err);
}

struct wb_library weft__yaml_library(void)
{
    return wb_library("libfyaml", WEFT_FYAML_VERSION, fy_library_version());
}
