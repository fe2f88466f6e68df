/* dialects/thread/thread.c — ThreadProtocol 2.0: its shapes, which objects are canonical, and its row in the dialect
 * table.
 */
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

static bool is_canonical_call(const struct wd_pai_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_ARGS)) &&
           unsafe_yyjson_is_ctn(p->args);
}

static bool is_canonical_result(const struct wd_pai_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_TOOL_NAME, WD_PAI_TOOL_CALL_ID, WD_PAI_STATUS,
                                           WD_PAI_CONTENT)) &&
           (wb_str_eq(p->status, UPP_STR("success")) || wb_str_eq(p->status, UPP_STR("error")));
}

static bool is_canonical_part(const struct wd_pai_part *p, bool request)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    if (!wd_pai_fits(kind, request))
        return false;
    if (kind == WD_PAI_TOOL_CALL)
        return is_canonical_call(p);
    if (kind == WD_PAI_TOOL_RETURN)
        return is_canonical_result(p);
    return (kind == WD_PAI_TEXT || kind == WD_PAI_THINKING || kind == WD_PAI_USER_PROMPT) &&
           wj_has_order(&p->node, WJ_ORDER(WD_PAI_PART_KIND, WD_PAI_CONTENT)) && unsafe_yyjson_is_str(p->content);
}

/* A number that is omitted if it is 0. */
static bool is_canonical_count(struct upp_str s)
{
    return !s.p || (wd_is_canonical_number(s) && s.p[0] != '0');
}

static bool is_canonical_usage(const struct wd_tp_usage *u, const struct upp_usage *is)
{
    return wj_has_table_order(&u->node, WJ_BIT(WD_TP_INPUT) | WJ_BIT(WD_TP_OUTPUT) | WJ_BIT(WD_TP_TOTAL),
                              WJ_BIT(WD_TP_THINKING) | WJ_BIT(WD_TP_CACHE_READ) | WJ_BIT(WD_TP_CACHE_WRITE)) &&
           wd_is_canonical_number(u->input) && wd_is_canonical_number(u->output) && wd_is_canonical_number(u->total) &&
           is_canonical_count(u->thinking) && is_canonical_count(u->cache_read) && is_canonical_count(u->cache_write) &&
           wd_number_of(u->total) == is->input + is->output;
}

static bool is_canonical_response(const struct wd_tp_message *m, const struct wm_reply_info *reply)
{
    return wj_has_table_order(&m->node,
                              WJ_BIT(WD_TP_MESSAGE_TYPE) | WJ_BIT(WD_TP_TIMESTAMP) | WJ_BIT(WD_TP_AGENT_ID) |
                                  WJ_BIT(WD_TP_PARTS),
                              WJ_BIT(WD_TP_MODEL_NAME) | WJ_BIT(WD_TP_PROVIDER_NAME) | WJ_BIT(WD_TP_RESPONSE_ID) |
                                  WJ_BIT(WD_TP_USAGE) | WJ_BIT(WD_TP_FINISH_REASON)) &&
           (!m->finish_reason.p || reply->stop) && (!m->usage || is_canonical_usage(m->usage, &reply->usage));
}

bool wd_tp_is_canonical_message(const struct wd_tp_message *m, const struct wm_doc *doc)
{
    const struct wm_doc_entry *e = &doc->entries.p[doc->entries.n - 1];
    bool request = e->e.message.role != UPP_ROLE_ASSISTANT;
    if (e->e.kind != WM_ENTRY_MESSAGE)
        return false;
    if (request ? !wj_has_order(&m->node, WJ_ORDER(WD_TP_MESSAGE_TYPE, WD_TP_TIMESTAMP, WD_TP_AGENT_ID, WD_TP_PARTS))
                : !is_canonical_response(m, &e->said))
        return false;
    for (size_t i = 0; i < m->parts.n; i++)
        if (!is_canonical_part(&m->parts.p[i], request))
            return false;
    return wb_str_eq(doc->agents.p[e->agent].id, m->agent_id);
}

bool wd_tp_is_canonical_prompt(const struct wd_tp_turn *turn)
{
    return wj_has_order(&turn->node, WJ_ORDER(WD_TP_TURN_TYPE, WD_TP_SUBMITTED_AT, WD_TP_PROMPTS)) &&
           turn->parts.n == 1 && is_canonical_part(&turn->parts.p[0], true);
}
