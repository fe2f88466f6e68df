/* dialects/agentapi/agentapi.c — messages of the Agent API Protocol: shapes, words, and the dialect's table of
 * functions. */
#include "dialects/agentapi/agentapi.h"

#include "base/err.h"
#include "dialects/core/lift.h"
#include "json/value.h"
#include "json/write.h"
#include "model/call_source.h"

enum { MAY = F_NULLABLE };

static const struct wj_field content_rows[] = {
    F_STR(struct wd_aap_content, type, "type", F_REQUIRED),
    F_STR(struct wd_aap_content, status, "status", MAY),
    F_STR(struct wd_aap_content, text, "text", MAY),
    F_STR(struct wd_aap_content, refusal, "refusal", MAY),
    F_STR(struct wd_aap_content, image_url, "image_url", MAY),
    F_STR(struct wd_aap_content, video_url, "video_url", MAY),
    F_STR(struct wd_aap_content, format, "format", MAY),
    F_STR(struct wd_aap_content, file_url, "file_url", MAY),
    F_STR(struct wd_aap_content, file_id, "file_id", MAY),
    F_STR(struct wd_aap_content, filename, "filename", MAY),
    F_STR(struct wd_aap_content, file_data, "file_data", MAY),
    F_ANY(struct wd_aap_content, data, "data", 0),
};
WJ_SHAPE_PUBLIC(wd_aap_content, struct wd_aap_content, content_rows);

static const struct wj_field message_rows[] = {
    F_STR(struct wd_aap_message, id, "id", MAY),
    F_STR(struct wd_aap_message, type, "type", MAY),
    F_STR(struct wd_aap_message, status, "status", MAY),
    F_STR(struct wd_aap_message, role, "role", MAY),
    F_ANY(struct wd_aap_message, usage, "usage", 0),
    F_ANY(struct wd_aap_message, metadata, "metadata", 0),
    F_LIST(struct wd_aap_message, content, "content", MAY | F_BAD_ITEMS, wd_aap_content),
};
WJ_SHAPE_PUBLIC(wd_aap_message, struct wd_aap_message, message_rows);

#define WORD(text) UPP_STR_INIT(text)
static const struct upp_str status_words[WD_AAP_STATUSES] = {
    [WD_AAP_UNKNOWN] = WORD("unknown"),     [WD_AAP_CREATED] = WORD("created"),
    [WD_AAP_QUEUED] = WORD("queued"),       [WD_AAP_IN_PROGRESS] = WORD("in_progress"),
    [WD_AAP_COMPLETED] = WORD("completed"), [WD_AAP_INCOMPLETE] = WORD("incomplete"),
    [WD_AAP_CANCELED] = WORD("canceled"),   [WD_AAP_FAILED] = WORD("failed"),
    [WD_AAP_REJECTED] = WORD("rejected"),
};

enum wd_aap_status wd_aap_status(struct upp_str word)
{
    for (int i = 0; word.p && i < WD_AAP_STATUSES; i++)
        if (wb_str_eq(word, status_words[i]))
            return (enum wd_aap_status)i;
    return WD_AAP_UNKNOWN;
}

const char *wd_aap_status_word(enum wd_aap_status s)
{
    return status_words[s].p;
}

#define BIT(s) (1u << WD_AAP_##s)

bool wd_aap_may_follow(enum wd_aap_status from, enum wd_aap_status to)
{
    static const unsigned next[WD_AAP_STATUSES] = {
        [WD_AAP_UNKNOWN] = ~0u,
        [WD_AAP_CREATED] = BIT(QUEUED) | BIT(IN_PROGRESS) | BIT(REJECTED) | BIT(CANCELED) | BIT(FAILED),
        [WD_AAP_QUEUED] = BIT(IN_PROGRESS) | BIT(REJECTED) | BIT(CANCELED) | BIT(FAILED),
        [WD_AAP_IN_PROGRESS] = BIT(COMPLETED) | BIT(INCOMPLETE) | BIT(CANCELED) | BIT(FAILED),
    };
    return next[from] >> to & 1;
}

static const struct {
    struct upp_str type;
    uint8_t kind;
} known[] = {
    {WORD("message"), WD_AAP_MESSAGE},
    {WORD("assistant"), WD_AAP_MESSAGE}, /* used by examples in the specification */
    {WORD("reasoning"), WD_AAP_REASONING},
    {WORD("function_call"), WD_AAP_CALL},
    {WORD("function_call_output"), WD_AAP_OUTPUT},
    {WORD("plugin_call"), WD_AAP_CALL},
    {WORD("plugin_call_output"), WD_AAP_OUTPUT},
    {WORD("component_call"), WD_AAP_CALL},
    {WORD("component_call_output"), WD_AAP_OUTPUT},
    {WORD("mcp_call"), WD_AAP_CALL},
    {WORD("mcp_call_output"), WD_AAP_OUTPUT},
    {WORD("mcp_list_tools"), WD_AAP_OTHER},
    {WORD("mcp_approval_request"), WD_AAP_OTHER},
    {WORD("mcp_approval_response"), WD_AAP_OTHER},
    {WORD("heartbeat"), WD_AAP_OTHER},
    {WORD("error"), WD_AAP_OTHER},
    {WORD("a2ui_response"), WD_AAP_OTHER},
    {WORD("a2ui_action"), WD_AAP_OTHER},
    {WORD(WD_AAP_EVENT), WD_AAP_IS_EVENT},
};

const char *wd_aap_type(enum wd_aap_kind kind, uint8_t source)
{
    static const char *const tools[][2] = {[WM_TOOL_PLUGIN] = {"plugin_call", "plugin_call_output"},
                                           [WM_TOOL_CLIENT] = {"function_call", "function_call_output"},
                                           [WM_TOOL_MCP] = {"mcp_call", "mcp_call_output"},
                                           [WM_TOOL_COMPONENT] = {"component_call", "component_call_output"}};
    static const char *const types[] = {[WD_AAP_OTHER] = "mcp_approval_request",
                                        [WD_AAP_REASONING] = "reasoning",
                                        [WD_AAP_MESSAGE] = "message",
                                        [WD_AAP_IS_EVENT] = WD_AAP_EVENT,
                                        [WD_AAP_TOOLS] = "mcp_list_tools"};
    return kind == WD_AAP_CALL || kind == WD_AAP_OUTPUT ? tools[source][kind == WD_AAP_OUTPUT] : types[kind];
}

const struct wd_usage_member wd_aap_usage[] = {
    {.name = "input_tokens", .at = WD_USAGE_OF(input), .other = "prompt_tokens"},
    {.name = "output_tokens", .at = WD_USAGE_OF(output), .other = "completion_tokens"},
    {.name = "total_tokens", .at = WD_USAGE_TOTAL},
    {.name = "cache_read_tokens", .at = WD_USAGE_OF(cache_read), .if_any = true},
    {.name = "cache_write_tokens", .at = WD_USAGE_OF(cache_write), .if_any = true},
    {.name = "reasoning_tokens", .at = WD_USAGE_OF(reasoning), .if_any = true},
    {0},
};

enum wd_aap_kind wd_aap_kind(struct upp_str type)
{
    for (size_t i = 0; type.p && i < WB_LEN(known); i++)
        if (wb_str_eq(type, known[i].type))
            return known[i].kind;
    return type.p ? WD_AAP_OTHER : WD_AAP_MESSAGE;
}

bool wd_aap_knows(struct upp_str type)
{
    size_t i = 0;
    while (i < WB_LEN(known) && !wb_str_eq(type, known[i].type))
        i++;
    return i < WB_LEN(known);
}

int wd_aap_is_canonical(struct upp_str text, bool *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(WD_DOC_BYTES);
    yyjson_val *v;
    const struct wj_read_opts *opts = UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES);
    *ret = text.n && text.p[0] == '{' && wj_is_compact(text, opts);
    if (*ret)
        return 0;
    int r = wj_read(&a, text, opts, &v, NULL);
    if (r == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory for the arguments of a call");
    if (r < 0 || !yyjson_is_obj(v))
        return 0;
    r = wj_write(v, &b, err);
    *ret = r >= 0 && wb_str_eq(wb_buf_str(&b), text);
    return r;
}

bool wd_aap_may_join(const struct wd_aap_flow *f, enum wd_aap_kind kind, uint8_t role, uint32_t agent)
{
    bool words = f->kind == WD_AAP_MESSAGE && kind == WD_AAP_MESSAGE; /* consecutive texts are written as one */
    return f->role && f->role == role && f->agent == agent && !f->ended && !words;
}

bool wd_aap_joins(const struct wd_aap_flow *f, enum wd_aap_kind kind, uint8_t role, uint32_t agent)
{
    return wd_aap_may_join(f, kind, role, agent) && role != UPP_ROLE_USER && kind >= f->kind;
}

static const struct {
    const char *slot, *member;
} forms[] = {
    [WD_AAP_NONE] = {NULL, NULL},
    [WD_AAP_LIST] = {"list", NULL},
    [WD_AAP_SESSION] = {"session", "messages"},
    [WD_AAP_REQUEST] = {"request", "input"},
    [WD_AAP_RESPONSE] = {"response", "output"},
};

const char *wd_aap_slot(enum wd_aap_form form)
{
    return forms[form].slot;
}

const char *wd_aap_member(enum wd_aap_form form)
{
    return forms[form].member;
}

enum wd_aap_form wd_aap_form(yyjson_val *root, yyjson_val **list)
{
    *list = root;
    if (yyjson_is_arr(root))
        return WD_AAP_LIST;
    for (size_t i = WD_AAP_SESSION; yyjson_is_obj(root) && i < WB_LEN(forms); i++) {
        *list = wd_last_at(root, forms[i].member);
        if (yyjson_is_arr(*list))
            return (enum wd_aap_form)i;
    }
    *list = NULL;
    return WD_AAP_NONE;
}

static bool is_word(yyjson_val *v, const char *word)
{
    return v && yyjson_is_str(v) && wj_named(v, wb_cstr(word));
}

/* Confidence that it is such a message: 3 by its `object`, 2 by type and contents, 1 by role and contents with
 * types. */
static int detect_message(yyjson_val *m)
{
    yyjson_val *content = yyjson_obj_get(m, "content"), *type = yyjson_obj_get(m, "type");
    yyjson_val *first = yyjson_arr_get_first(content), *kind = yyjson_obj_get(first, "type");
    if (!yyjson_is_obj(m) || (content && !yyjson_is_arr(content) && !yyjson_is_null(content)))
        return 0;
    bool typed = type && yyjson_is_str(type) && wd_aap_knows(wj_text(type));
    if (is_word(yyjson_obj_get(m, "object"), "message"))
        return typed || content ? 3 : 2;
    if (!content || yyjson_obj_get(m, "object") || (first && !(kind && yyjson_is_str(kind))))
        return 0;
    if (typed && is_word(type, "assistant"))
        return 1; /* messages of other formats have this type too */
    return typed ? 2 : yyjson_obj_get(m, "role") && !type ? 1 : 0;
}

static int detect(yyjson_val *root)
{
    yyjson_val *list;
    enum wd_aap_form form = wd_aap_form(root, &list);
    yyjson_val *first = yyjson_arr_get_first(list);
    if (form == WD_AAP_RESPONSE && is_word(yyjson_obj_get(root, "object"), "response"))
        return first ? detect_message(first) : 3;
    int sure = detect_message(first);
    if (form == WD_AAP_REQUEST && yyjson_is_arr(yyjson_obj_get(first, "content")))
        return WB_MAX(sure, 1);
    return form == WD_AAP_SESSION && !yyjson_obj_get(root, "user_id") && sure < 3 ? 0 : sure;
}

const struct wd_document_ops wd_document_agentapi = {.name = "agentapi",
                                                     .title = "messages of the Agent API Protocol",
                                                     .detect = detect,
                                                     .validate = wd_aap_validate,
                                                     .half = WD_WARNING,
                                                     .half_rule = "AAP-6",
                                                     .lift = wd_aap_lift,
                                                     .lower = wd_aap_lower};
