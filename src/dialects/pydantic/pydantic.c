/* dialects/pydantic/pydantic.c — Pydantic AI's ModelMessages: their shapes, and their row in the dialect table. */
#include "dialects/pydantic/pydantic.h"

#include "json/value.h"

static const struct wj_field usage_rows[] = {
    [WD_PAI_INPUT] = F_NUM(struct wd_pai_usage, input, "input_tokens", F_NULLABLE),
    [WD_PAI_INPUT_OLD] = F_NUM(struct wd_pai_usage, input, "request_tokens", F_NULLABLE | F_ALIAS),
    [WD_PAI_CACHE_WRITE] = F_NUM(struct wd_pai_usage, cache_write, "cache_write_tokens", F_NULLABLE),
    [WD_PAI_CACHE_READ] = F_NUM(struct wd_pai_usage, cache_read, "cache_read_tokens", F_NULLABLE),
    [WD_PAI_OUTPUT] = F_NUM(struct wd_pai_usage, output, "output_tokens", F_NULLABLE),
    [WD_PAI_OUTPUT_OLD] = F_NUM(struct wd_pai_usage, output, "response_tokens", F_NULLABLE | F_ALIAS),
    [WD_PAI_INPUT_AUDIO] = F_NUM(struct wd_pai_usage, input_audio, "input_audio_tokens", F_NULLABLE),
    [WD_PAI_CACHE_AUDIO_READ] = F_NUM(struct wd_pai_usage, cache_audio_read, "cache_audio_read_tokens", F_NULLABLE),
    [WD_PAI_OUTPUT_AUDIO] = F_NUM(struct wd_pai_usage, output_audio, "output_audio_tokens", F_NULLABLE),
    [WD_PAI_DETAILS] = F_ANY(struct wd_pai_usage, details, "details", F_NULLABLE),
    [WD_PAI_COST] = F_ANY(struct wd_pai_usage, cost, "cost", F_NULLABLE),
};
WJ_SHAPE_PUBLIC(wd_pai_usage, struct wd_pai_usage, usage_rows);

static const struct wj_field message_rows[] = {
    [WD_PAI_PARTS] = F_LIST(struct wd_pai_message, parts, "parts", F_REQUIRED | F_BAD_ITEMS, wd_pai_part),
    [WD_PAI_USAGE] = F_OBJ(struct wd_pai_message, usage, "usage", F_NULLABLE, wd_pai_usage),
    [WD_PAI_MODEL_NAME] = F_STR(struct wd_pai_message, model_name, "model_name", F_NULLABLE),
    [WD_PAI_TIME] = F_STR(struct wd_pai_message, timestamp, "timestamp", F_NULLABLE),
    [WD_PAI_INSTRUCTIONS] = F_ANY(struct wd_pai_message, instructions, "instructions", F_NULLABLE),
    [WD_PAI_KIND] = F_STR(struct wd_pai_message, kind, "kind", F_REQUIRED),
    [WD_PAI_PROVIDER] = F_STR(struct wd_pai_message, provider_name, "provider_name", F_NULLABLE),
    [WD_PAI_URL] = F_ANY(struct wd_pai_message, provider_url, "provider_url", F_NULLABLE),
    [WD_PAI_MESSAGE_DETAILS] = F_ANY(struct wd_pai_message, provider_details, "provider_details", F_NULLABLE),
    [WD_PAI_RESPONSE] = F_STR(struct wd_pai_message, provider_response_id, "provider_response_id", F_NULLABLE),
    [WD_PAI_RESPONSE_OLDEST] = F_STR(struct wd_pai_message, provider_response_id, "vendor_id", F_NULLABLE | F_ALIAS),
    [WD_PAI_RESPONSE_OLD] =
        F_STR(struct wd_pai_message, provider_response_id, "provider_request_id", F_NULLABLE | F_ALIAS),
    [WD_PAI_FINISH] = F_STR(struct wd_pai_message, finish_reason, "finish_reason", F_NULLABLE),
    [WD_PAI_RUN] = F_STR(struct wd_pai_message, run_id, "run_id", F_NULLABLE),
    [WD_PAI_CONVERSATION] = F_ANY(struct wd_pai_message, conversation_id, "conversation_id", F_NULLABLE),
    [WD_PAI_SIDECAR] = F_ANY(struct wd_pai_message, metadata, "metadata", F_NULLABLE),
    [WD_PAI_STATE] = F_ANY(struct wd_pai_message, state, "state", F_NULLABLE),
};
WJ_SHAPE_PUBLIC(wd_pai_message, struct wd_pai_message, message_rows);

static int detect(yyjson_val *root)
{
    size_t i, n;
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
    return 1; /* an empty list could be any dialect's */
}

const struct wd_document_ops wd_document_pydantic = {.name = "pydantic",
                                                     .title = "list of Pydantic AI ModelMessages",
                                                     .detect = detect,
                                                     .validate = wd_pydantic_validate,
                                                     .half = WD_ERROR,
                                                     .half_rule = "PAI-1.0",
                                                     .lift = wd_pydantic_lift,
                                                     .lower = wd_pydantic_lower,
                                                     .views = true};
