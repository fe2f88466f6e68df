/* dialects/thread/thread.c — ThreadProtocol 2.0: its shapes, and its row in the dialect table. */
#include "dialects/thread/thread.h"

#include "json/value.h"

static const struct wj_field usage_rows[] = {
    [WD_TP_INPUT] = F_NUM(struct wd_tp_usage, input, "input_tokens", F_NULLABLE),
    [WD_TP_OUTPUT] = F_NUM(struct wd_tp_usage, output, "output_tokens", F_NULLABLE),
    [WD_TP_THINKING] = F_NUM(struct wd_tp_usage, thinking, "thinking_tokens", F_NULLABLE),
    [WD_TP_TOTAL] = F_NUM(struct wd_tp_usage, total, "total_tokens", F_NULLABLE),
    [WD_TP_CACHE_READ] = F_NUM(struct wd_tp_usage, cache_read, "cache_read_tokens", F_NULLABLE),
    [WD_TP_CACHE_WRITE] = F_NUM(struct wd_tp_usage, cache_write, "cache_write_tokens", F_NULLABLE),
};
WJ_SHAPE_PUBLIC(wd_tp_usage, struct wd_tp_usage, usage_rows);

static const struct wj_field message_rows[] = {
    [WD_TP_MESSAGE_TYPE] = F_STR(struct wd_tp_message, message_type, "message_type", F_REQUIRED),
    [WD_TP_TIMESTAMP] = F_STR(struct wd_tp_message, timestamp, "timestamp", 0),
    [WD_TP_AGENT_ID] = F_STR(struct wd_tp_message, agent_id, "agent_id", 0),
    [WD_TP_MODEL_NAME] = F_STR(struct wd_tp_message, model_name, "model_name", F_NULLABLE),
    [WD_TP_PROVIDER_NAME] = F_STR(struct wd_tp_message, provider_name, "provider_name", F_NULLABLE),
    [WD_TP_RESPONSE_ID] = F_STR(struct wd_tp_message, provider_response_id, "provider_response_id", F_NULLABLE),
    [WD_TP_USAGE] = F_OBJ(struct wd_tp_message, usage, "usage", F_NULLABLE, wd_tp_usage),
    [WD_TP_FINISH_REASON] = F_STR(struct wd_tp_message, finish_reason, "finish_reason", F_NULLABLE),
    [WD_TP_PARTS] = F_LIST(struct wd_tp_message, parts, "parts", F_BAD_ITEMS, wd_pai_part),
    [WD_TP_EVENT_TYPE] = F_STR(struct wd_tp_message, event_type, "event_type", 0),
    [WD_TP_EVENT_DATA] = F_ANY(struct wd_tp_message, event_data, "event_data", 0),
    [WD_TP_SOURCE_AGENT] = F_STR(struct wd_tp_message, source_agent, "source_agent", F_NULLABLE),
    [WD_TP_TARGET_AGENTS] = F_STRS(struct wd_tp_message, target_agents, "target_agents", F_NULLABLE),
    [WD_TP_X_WEFT] = F_ANY(struct wd_tp_message, x_weft, "x_weft", 0),
};
WJ_SHAPE_PUBLIC(wd_tp_message, struct wd_tp_message, message_rows);

static const struct wj_field turn_rows[] = {
    [WD_TP_TURN_TYPE] = F_STR(struct wd_tp_turn, turn_type, "turn_type", F_REQUIRED),
    [WD_TP_SUBMITTED_AT] = F_STR(struct wd_tp_turn, submitted_at, "submitted_at", 0),
    [WD_TP_TURN_AGENT] = F_STR(struct wd_tp_turn, agent_id, "agent_id", 0),
    [WD_TP_STARTED_AT] = F_STR(struct wd_tp_turn, started_at, "started_at", 0),
    [WD_TP_COMPLETED_AT] = F_STR(struct wd_tp_turn, completed_at, "completed_at", 0),
    [WD_TP_PROMPTS] = F_LIST(struct wd_tp_turn, parts, "parts", F_BAD_ITEMS, wd_pai_part),
    [WD_TP_MESSAGES] = F_LIST(struct wd_tp_turn, messages, "messages", F_BAD_ITEMS, wd_tp_message),
    [WD_TP_TOTAL_USAGE] = F_OBJ(struct wd_tp_turn, total_usage, "total_usage", F_NULLABLE, wd_tp_usage),
    [WD_TP_TURN_X_WEFT] = F_ANY(struct wd_tp_turn, x_weft, "x_weft", 0),
};
WJ_SHAPE_PUBLIC(wd_tp_turn, struct wd_tp_turn, turn_rows);

static const struct wj_field agent_rows[] = {
    F_STR(struct wd_tp_agent, agent_id, "agent_id", F_REQUIRED),
    F_STR(struct wd_tp_agent, agent_name, "agent_name", F_REQUIRED),
    F_STR(struct wd_tp_agent, model_name, "model_name", F_NULLABLE),
    F_STR(struct wd_tp_agent, provider_name, "provider_name", F_NULLABLE),
    F_STR(struct wd_tp_agent, created_at, "created_at", F_REQUIRED),
    F_STR(struct wd_tp_agent, config_ref, "config_ref", F_NULLABLE),
    F_ANY(struct wd_tp_agent, x_weft, "x_weft", 0),
};
WJ_SHAPE_PUBLIC(wd_tp_agent, struct wd_tp_agent, agent_rows);

static const struct wj_field thread_rows[] = {
    F_STR(struct wd_tp_thread, version, "version", 0),
    F_STR(struct wd_tp_thread, thread_id, "thread_id", 0),
    F_STR(struct wd_tp_thread, created_at, "created_at", 0),
    F_STR(struct wd_tp_thread, updated_at, "updated_at", 0),
    F_STR(struct wd_tp_thread, title, "title", F_NULLABLE),
    F_ANY(struct wd_tp_thread, metadata, "metadata", F_NULLABLE),
    F_STR(struct wd_tp_thread, parent_thread_id, "parent_thread_id", F_NULLABLE),
    F_NUM(struct wd_tp_thread, branch_point, "branch_point", F_NULLABLE),
    F_MAP(struct wd_tp_thread, agents, "agents", 0),
    F_LIST(struct wd_tp_thread, turns, "turns", F_REQUIRED | F_BAD_ITEMS, wd_tp_turn),
    F_ANY(struct wd_tp_thread, x_weft, "x_weft", 0),
};
WJ_SHAPE_PUBLIC(wd_tp_thread, struct wd_tp_thread, thread_rows);

int wd_tp_version(struct upp_str version)
{
    struct upp_str rest = version, part = {0};
    uint64_t major = 0;
    if (!version.p)
        return 1;
    if (!wb_str_split(&rest, '.', &part) || !wb_str_u64(part, &major) || major > 2)
        return -UPP_EINVALID;
    return !wb_str_eq(version, UPP_STR(WD_THREAD_VERSION));
}

static int detect(yyjson_val *root)
{
    yyjson_val *turns = yyjson_obj_get(root, "turns"), *version = yyjson_obj_get(root, "version");
    if (!yyjson_is_arr(turns))
        return 0;
    return yyjson_is_str(version) && wb_str_starts(wj_text(version), UPP_STR("2.")) ? 3 : 2;
}

const struct wd_document_ops wd_document_thread = {.name = "thread",
                                                   .title = "ThreadProtocol 2.0 thread",
                                                   .detect = detect,
                                                   .validate = wd_tp_validate,
                                                   .half = WD_WARNING,
                                                   .half_rule = "TP-1",
                                                   .lift = wd_tp_lift,
                                                   .lower = wd_tp_lower,
                                                   .carries = true};
