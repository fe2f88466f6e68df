/* dialects/pydantic.c — Pydantic AI's ModelMessages: their shapes, and their place in the table. */
#include "dialects/pydantic.h"

#include "json/value.h"

static const struct wj_field usage_rows[] = {
    F_NUM(struct wd_pai_usage, input, "input_tokens", F_NULLABLE),
    F_NUM(struct wd_pai_usage, input, "request_tokens", F_NULLABLE | F_ALIAS), /* before 0.7 */
    F_NUM(struct wd_pai_usage, cache_write, "cache_write_tokens", F_NULLABLE),
    F_NUM(struct wd_pai_usage, cache_read, "cache_read_tokens", F_NULLABLE),
    F_NUM(struct wd_pai_usage, output, "output_tokens", F_NULLABLE),
    F_NUM(struct wd_pai_usage, output, "response_tokens", F_NULLABLE | F_ALIAS),
    F_ANY(struct wd_pai_usage, details, "details", F_NULLABLE),
};
WJ_SHAPE_PUBLIC(wd_pai_usage, struct wd_pai_usage, usage_rows);

static const struct wj_field message_rows[] = {
    F_LIST(struct wd_pai_message, parts, "parts", F_REQUIRED | F_BAD_ITEMS, wd_pai_part),
    F_OBJ(struct wd_pai_message, usage, "usage", F_NULLABLE, wd_pai_usage),
    F_STR(struct wd_pai_message, model_name, "model_name", F_NULLABLE),
    F_STR(struct wd_pai_message, timestamp, "timestamp", F_NULLABLE),
    F_STR(struct wd_pai_message, kind, "kind", F_REQUIRED),
    F_STR(struct wd_pai_message, provider_name, "provider_name", F_NULLABLE),
    F_STR(struct wd_pai_message, provider_response_id, "provider_response_id", F_NULLABLE),
    F_STR(struct wd_pai_message, provider_response_id, "vendor_id", F_NULLABLE | F_ALIAS),           /* 0.2 to 0.6 */
    F_STR(struct wd_pai_message, provider_response_id, "provider_request_id", F_NULLABLE | F_ALIAS), /* 0.7 */
    F_STR(struct wd_pai_message, finish_reason, "finish_reason", F_NULLABLE),
    F_STR(struct wd_pai_message, run_id, "run_id", F_NULLABLE),
    F_ANY(struct wd_pai_message, metadata, "metadata", 0),
};
WJ_SHAPE_PUBLIC(wd_pai_message, struct wd_pai_message, message_rows);

static int detect(yyjson_val *root)
{
    size_t      i, n;
    yyjson_val *m;
    if (!yyjson_is_arr(root))
        return 0;
    yyjson_arr_foreach(root, i, n, m)
    {
        yyjson_val *kind = yyjson_obj_get(m, "kind");
        if (!yyjson_is_arr(yyjson_obj_get(m, "parts")) || !kind || !yyjson_is_str(kind))
            return 0;
        return wj_named(kind, UPP_STR("request")) || wj_named(kind, UPP_STR("response")) ? 3 : 0;
    }
    return 1; /* an empty list is anybody's */
}

const struct wd_document_ops wd_document_pydantic = {.name     = "pydantic",
                                                     .title    = "list of Pydantic AI ModelMessages",
                                                     .detect   = detect,
                                                     .validate = wd_pydantic_validate,
                                                     .lift     = wd_pydantic_lift,
                                                     .lower    = wd_pydantic_lower};
