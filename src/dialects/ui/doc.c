/* dialects/ui/doc.c — UI messages of the AI SDK: their shapes, and the dialect's table of functions. */
#include "dialects/ui/doc.h"

#include "json/value.h"

static const struct wj_field part_rows[] = {
    [WD_UI_TYPE] = F_STR(struct wd_ui_part, type, "type", F_REQUIRED),
    [WD_UI_PART_ID] = F_STR(struct wd_ui_part, id, "id", 0),
    [WD_UI_TEXT] = F_STR(struct wd_ui_part, text, "text", 0),
    [WD_UI_STATE] = F_STR(struct wd_ui_part, state, "state", 0),
    [WD_UI_MEDIA_TYPE] = F_STR(struct wd_ui_part, media_type, "mediaType", 0),
    [WD_UI_FILENAME] = F_STR(struct wd_ui_part, filename, "filename", 0),
    [WD_UI_URL] = F_STR(struct wd_ui_part, url, "url", 0),
    [WD_UI_TOOL_NAME] = F_STR(struct wd_ui_part, tool_name, "toolName", 0),
    [WD_UI_TOOL_CALL_ID] = F_STR(struct wd_ui_part, tool_call_id, "toolCallId", 0),
    [WD_UI_INPUT] = F_ANY(struct wd_ui_part, input, "input", 0),
    [WD_UI_RAW_INPUT] = F_ANY(struct wd_ui_part, raw_input, "rawInput", 0),
    [WD_UI_OUTPUT] = F_ANY(struct wd_ui_part, output, "output", 0),
    [WD_UI_ERROR_TEXT] = F_STR(struct wd_ui_part, error_text, "errorText", 0),
    [WD_UI_DATA] = F_ANY(struct wd_ui_part, data, "data", 0),
    [WD_UI_APPROVAL] = F_ANY(struct wd_ui_part, approval, "approval", 0),
    [WD_UI_PROVIDER_EXECUTED] = F_ANY(struct wd_ui_part, provider_executed, "providerExecuted", 0),
    [WD_UI_PROVIDER_METADATA] = F_ANY(struct wd_ui_part, provider_metadata, "providerMetadata", 0),
    [WD_UI_CALL_METADATA] = F_ANY(struct wd_ui_part, call_metadata, "callProviderMetadata", 0),
    [WD_UI_RESULT_METADATA] = F_ANY(struct wd_ui_part, result_metadata, "resultProviderMetadata", 0),
};
WJ_SHAPE_PUBLIC(wd_ui_part, struct wd_ui_part, part_rows);

static const struct wj_field message_rows[] = {
    [WD_UI_ID] = F_STR(struct wd_ui_message, id, "id", 0),
    [WD_UI_ROLE] = F_STR(struct wd_ui_message, role, "role", F_REQUIRED),
    [WD_UI_METADATA] = F_ANY(struct wd_ui_message, metadata, "metadata", 0),
    [WD_UI_PARTS] = F_LIST(struct wd_ui_message, parts, "parts", F_REQUIRED, wd_ui_part),
};
WJ_SHAPE_PUBLIC(wd_ui_message, struct wd_ui_message, message_rows);

struct upp_str wd_ui_tool(const struct wd_ui_part *p)
{
    static const struct upp_str prefix = UPP_STR_INIT("tool-");
    if (wb_str_eq(p->type, UPP_STR("dynamic-tool")))
        return p->tool_name;
    return wb_str_starts(p->type, prefix) ? wb_str_sub(p->type, prefix.n, SIZE_MAX) : (struct upp_str){0};
}

static int detect(yyjson_val *root)
{
    static const struct upp_str roles[] = {UPP_STR_INIT("user"), UPP_STR_INIT("assistant"), UPP_STR_INIT("system")};
    yyjson_val *first = yyjson_arr_get_first(root);
    yyjson_val *role = yyjson_obj_get(first, "role");
    if (!yyjson_is_arr(yyjson_obj_get(first, "parts")) || !role || !yyjson_is_str(role))
        return 0;
    for (size_t i = 0; i < WB_LEN(roles); i++)
        if (wj_named(role, roles[i]))
            return yyjson_obj_get(first, "id") ? 3 : 2;
    return 0;
}

const struct wd_document_ops wd_document_ui = {.name = "ui",
                                               .title = "list of UI messages of the AI SDK 5, 6 or 7",
                                               .detect = detect,
                                               .validate = wd_ui_validate,
                                               .half = WD_WARNING,
                                               .half_rule = "UI-4.1.1",
                                               .lift = wd_ui_lift,
                                               .lower = wd_ui_lower};
