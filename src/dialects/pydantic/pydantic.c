/* dialects/pydantic/pydantic.c — Pydantic AI's ModelMessages: their shapes, which are canonical, and their row in the
 * dialect table. */
#include "dialects/pydantic/pydantic.h"

#include "base/iso8601.h"
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

/* Exactly these rows, in the table's order; `null` are null, `perhaps` may be. */
static bool came_as(const struct wj_node *node, uint64_t rows, uint64_t null, uint64_t perhaps)
{
    return (node->order & WJ_TABLE_ORDER) && node->seen == rows && (node->null & ~perhaps) == null;
}

enum {
    ENDS = 1 << WD_PAI_ID | 1 << WD_PAI_PROVIDER_NAME | 1 << WD_PAI_PROVIDER_DETAILS, /* null in a canonical part */
};

static bool is_canonical_text(const struct wd_pai_part *p, unsigned ends)
{
    return came_as(&p->node, WJ_BIT(WD_PAI_CONTENT) | ends | WJ_BIT(WD_PAI_PART_KIND), ends, 0) &&
           unsafe_yyjson_is_str(p->content);
}

static bool is_canonical_call(const struct wd_pai_part *p)
{
    uint64_t ends = WJ_BIT(WD_PAI_TOOL_KIND) | ENDS;
    return came_as(&p->node,
                   WJ_BIT(WD_PAI_TOOL_NAME) | WJ_BIT(WD_PAI_ARGS) | WJ_BIT(WD_PAI_TOOL_CALL_ID) | ends |
                       WJ_BIT(WD_PAI_PART_KIND),
                   ends, 0) &&
           unsafe_yyjson_is_obj(p->args);
}

static bool is_canonical_result(const struct wd_pai_part *p, struct upp_str time)
{
    uint64_t null = WJ_BIT(WD_PAI_TOOL_KIND) | WJ_BIT(WD_PAI_METADATA);
    return came_as(&p->node,
                   WJ_BIT(WD_PAI_TOOL_NAME) | WJ_BIT(WD_PAI_CONTENT) | WJ_BIT(WD_PAI_TOOL_CALL_ID) | null |
                       WJ_BIT(WD_PAI_TIMESTAMP) | WJ_BIT(WD_PAI_OUTCOME) | WJ_BIT(WD_PAI_PART_KIND),
                   null, 0) &&
           wb_str_eq(p->timestamp, time) && wb_str_eq(p->outcome, UPP_STR("success"));
}

static bool is_canonical_prompt(const struct wd_pai_part *p, struct upp_str time)
{
    return came_as(&p->node, WJ_BIT(WD_PAI_CONTENT) | WJ_BIT(WD_PAI_TIMESTAMP) | WJ_BIT(WD_PAI_PART_KIND), 0, 0) &&
           unsafe_yyjson_is_str(p->content) && wb_str_eq(p->timestamp, time);
}

static bool is_canonical_part(const struct wd_pai_part *p, bool request, struct upp_str time)
{
    enum wd_pai_kind kind = wd_pai_kind(p->part_kind);
    if (!wd_pai_fits(kind, request))
        return false;
    switch (kind) {
    case WD_PAI_TEXT:
        return is_canonical_text(p, ENDS);
    case WD_PAI_THINKING:
        return is_canonical_text(p, ENDS | 1 << WD_PAI_SIGNATURE);
    case WD_PAI_TOOL_CALL:
        return is_canonical_call(p);
    case WD_PAI_TOOL_RETURN:
        return is_canonical_result(p, time);
    default:
        return kind == WD_PAI_USER_PROMPT && is_canonical_prompt(p, time);
    }
}

static bool is_canonical_usage(const struct wd_pai_usage *u)
{
    struct upp_str none = UPP_STR("0");
    return came_as(&u->node,
                   WJ_BIT(WD_PAI_INPUT) | WJ_BIT(WD_PAI_CACHE_WRITE) | WJ_BIT(WD_PAI_CACHE_READ) |
                       WJ_BIT(WD_PAI_OUTPUT) | WJ_BIT(WD_PAI_INPUT_AUDIO) | WJ_BIT(WD_PAI_CACHE_AUDIO_READ) |
                       WJ_BIT(WD_PAI_OUTPUT_AUDIO) | WJ_BIT(WD_PAI_DETAILS) | WJ_BIT(WD_PAI_COST),
                   WJ_BIT(WD_PAI_COST), 0) &&
           wd_is_canonical_number(u->input) && wd_is_canonical_number(u->cache_write) &&
           wd_is_canonical_number(u->cache_read) && wd_is_canonical_number(u->output) &&
           wb_str_eq(u->input_audio, none) && wb_str_eq(u->cache_audio_read, none) &&
           wb_str_eq(u->output_audio, none) && unsafe_yyjson_is_obj(u->details) && !unsafe_yyjson_get_len(u->details);
}

enum {
    ALWAYS_NULL = 1 << WD_PAI_CONVERSATION,
    EVERY = 1 << WD_PAI_PARTS | 1 << WD_PAI_TIME | 1 << WD_PAI_KIND | 1 << WD_PAI_RUN | ALWAYS_NULL |
            1 << WD_PAI_SIDECAR | 1 << WD_PAI_STATE,
    PERHAPS_NULL = 1 << WD_PAI_RUN | 1 << WD_PAI_SIDECAR,
};

static bool is_canonical_response(const struct wd_pai_message *m, const struct wm_reply_info *reply)
{
    uint64_t null = WJ_BIT(WD_PAI_URL) | WJ_BIT(WD_PAI_MESSAGE_DETAILS);
    uint64_t perhaps =
        WJ_BIT(WD_PAI_MODEL_NAME) | WJ_BIT(WD_PAI_PROVIDER) | WJ_BIT(WD_PAI_RESPONSE) | WJ_BIT(WD_PAI_FINISH);
    return came_as(&m->node, EVERY | WJ_BIT(WD_PAI_USAGE) | null | perhaps, ALWAYS_NULL | null,
                   PERHAPS_NULL | perhaps) &&
           (!m->finish_reason.p || reply->stop) && is_canonical_usage(m->usage);
}

static bool is_canonical_request(const struct wd_pai_message *m)
{
    uint64_t null = WJ_BIT(WD_PAI_INSTRUCTIONS);
    return came_as(&m->node, EVERY | null, ALWAYS_NULL | null, PERHAPS_NULL);
}

static bool is_member(yyjson_val *name, const char *is, struct upp_str value)
{
    return wj_named(name, wb_cstr(is)) && unsafe_yyjson_is_str(name + 1) && wj_named(name + 1, value);
}

/* {"weft":{"agent":ID,"name":NAME}}, without the name if it is the id; null for the user and for the default agent. */
static bool is_canonical_metadata(yyjson_val *metadata, const struct wm_doc *doc, uint32_t agent)
{
    const struct wm_doc_agent *a = agent == WM_NO_AGENT ? NULL : &doc->agents.p[agent];
    bool same = a && wb_str_eq(a->name, a->id);
    if (!metadata)
        return !a || (same && wb_str_eq(a->id, UPP_STR("agent")));
    if (!a || !unsafe_yyjson_is_obj(metadata) || unsafe_yyjson_get_len(metadata) != 1 ||
        !wj_named(metadata + 1, UPP_STR("weft")))
        return false;
    yyjson_val *weft = metadata + 2;
    return unsafe_yyjson_is_obj(weft) && unsafe_yyjson_get_len(weft) == (same ? 1 : 2) &&
           is_member(weft + 1, "agent", a->id) &&
           (same ? !wb_str_eq(a->id, UPP_STR("agent")) : is_member(weft + 3, "name", a->name));
}

bool wd_pai_is_canonical_message(const struct wd_pai_message *m, const struct wm_doc *doc)
{
    const struct wm_doc_entry *e = &doc->entries.p[doc->entries.n - 1];
    bool request = e->e.message.role != UPP_ROLE_ASSISTANT;
    struct upp_str run = doc->turns.p[doc->turns.n - 1].run;
    if (request ? !is_canonical_request(m) : !is_canonical_response(m, &e->said))
        return false;
    for (size_t i = 0; i < m->parts.n; i++)
        if (!is_canonical_part(&m->parts.p[i], request, m->timestamp))
            return false;
    return wb_time_is_pydantic(m->timestamp) && !m->run_id.p == !run.p && wb_str_eq(m->run_id, run) && m->state &&
           unsafe_yyjson_is_str(m->state) && wj_named(m->state, UPP_STR("complete")) &&
           is_canonical_metadata(m->metadata, doc, e->agent);
}
