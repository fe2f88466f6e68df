/* json/schema.c — schemas and checks from text. */
#include "json/schema.h"

#include "base/buf.h"
#include "base/hooks.h"
#include "json/read.h"
#include "json/schema_rules.h"
#include "json/write.h"

void upp_schema_free(struct upp_schema *s)
{
    if (s) {
        wb_arena_done(&s->arena);
        wb_free(s);
    }
}

int upp_schema_new(struct upp_str json, struct upp_schema **ret, struct upp_err *err)
{
    const struct wj_read_opts opts = {.size = sizeof opts, .flags = WJ_UNIQUE, .max_bytes = WJ_SCHEMA_BYTES};
    yyjson_val *v;
    WB_CLEANUP(upp_schema_freep) struct upp_schema *s = wb_calloc(1, sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "out of memory");
    s->arena.max = WJ_SCHEMA_MEMORY;
    int r = wj_read(&s->arena, json, &opts, &v, err);
    if (r == 0)
        r = wj_schema_compile(s, v, err);
    if (r < 0)
        return upp_wrap(err, r, "schema");
    *ret = WB_TAKE(s);
    return 0;
}

int wj_schema_new(yyjson_val *v, struct upp_schema **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WJ_SCHEMA_BYTES);
    int r = wj_write(v, &b, err);
    return r < 0 ? upp_wrap(err, r, "schema") : upp_schema_new(wb_buf_str(&b), ret, err);
}

int upp_schema_check(const struct upp_schema *s, struct upp_str json, const struct upp_schema_opts *opts,
                     struct upp_schema_report *report, struct upp_err *err)
{
    enum { MEMORY = 14 * WJ_MAX_BYTES }; /* json/read.h: 13 bytes per byte of text, while reading */
    const struct wj_read_opts once = {.size = sizeof once, .flags = WJ_UNIQUE};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(MEMORY);
    yyjson_val *v;
    int r = wj_read(&a, json, &once, &v, err);
    return r < 0 ? r : wj_schema_check(s, v, opts, report, err);
}
