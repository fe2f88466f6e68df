/* dialects/pydantic.h — Pydantic AI's ModelMessages: the wire, for those who check, read and write it.
 *
 * Read: all that was written since 0.0.14. Nothing but `kind`, `parts`, `part_kind`, `content` and `tool_name` has
 * always been there. Written: what the current version dumps, every member in its order.
 */
#ifndef WD_PYDANTIC_H
#define WD_PYDANTIC_H

#include "dialects/pai.h"

struct wd_pai_usage {
    struct wj_node node;
    struct upp_str input, cache_write, cache_read, output; /* numbers */
    yyjson_val    *details;
};
WJ_SHAPE_EXTERN(wd_pai_usage, struct wd_pai_usage);

struct wd_pai_message {
    struct wj_node node;
    WJ_ARR(struct wd_pai_part) parts;
    struct wd_pai_usage *usage;
    yyjson_val          *metadata;
    struct upp_str       model_name, timestamp, kind, provider_name, provider_response_id, finish_reason, run_id;
};
WJ_SHAPE_EXTERN(wd_pai_message, struct wd_pai_message);

int wd_pydantic_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err);
int wd_pydantic_lift(struct wd_lifting *l, yyjson_val *root, struct upp_err *err);
int wd_pydantic_lower(struct wd_lowering *l, struct upp_err *err);

#endif
