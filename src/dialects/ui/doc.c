/* dialects/ui/doc.c — UI messages of the AI SDK: their shapes, the metadata of a message, which messages are canonical,
 * and the dialect's table of functions. */
#include "dialects/ui/doc.h"

#include "dialects/core/lift.h"
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

/* Reads an object's members in the order in which we write them, which is usually the order they are in. */
struct members {
    yyjson_val *next; /* the key of the first member that was not read */
    size_t left;      /* how many members there are from there on */
    bool canonical;
};

static struct members members_of(yyjson_val *object)
{
    if (!yyjson_is_obj(object))
        return (struct members){0};
    return (struct members){unsafe_yyjson_get_first(object), unsafe_yyjson_get_len(object), true};
}

/* The first of the remaining members with this name. */
__attribute__((noinline)) static yyjson_val *find_member(struct members *o, struct upp_str name)
{
    yyjson_val *key = o->next;
    for (size_t n = o->left; n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name)) {
            o->canonical = false;
            return key + 1;
        }
    return NULL;
}

/* NULL: none. Each name is read once, so no member that was read already has it. */
static inline yyjson_val *member(struct members *o, struct upp_str name)
{
    if (!o->left)
        return NULL;
    if (!wb_str_eq(wj_text(o->next), name))
        return find_member(o, name);
    yyjson_val *value = o->next + 1;
    o->next = unsafe_yyjson_get_next(value);
    o->left--;
    return value;
}

static inline struct upp_str text(struct members *o, struct upp_str name)
{
    yyjson_val *v = member(o, name);
    if (v && unsafe_yyjson_is_str(v))
        return wj_text(v);
    o->canonical &= !v;
    return (struct upp_str){0};
}

static uint64_t number_of(struct members *o, yyjson_val *v)
{
    struct upp_str digits = v && unsafe_yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
    o->canonical &= !v || wd_is_canonical_number(digits);
    return wd_number_of(digits);
}

static inline uint64_t number(struct members *o, struct upp_str name)
{
    return number_of(o, member(o, name));
}

/* All members were read, in order, each with its proper type. */
static bool is_canonical(const struct members *o)
{
    return o->canonical && !o->left;
}

static bool read_time(yyjson_val *v, struct wd_ui_about *to)
{
    struct members o = members_of(v);
    to->time = text(&o, UPP_STR("timestamp"));
    return is_canonical(&o) && to->time.p;
}

static bool read_who(yyjson_val *v, struct wd_ui_about *to)
{
    struct members o = members_of(v);
    bool any = o.left;
    to->agent = text(&o, UPP_STR("agent"));
    to->name = text(&o, UPP_STR("name"));
    to->model = text(&o, UPP_STR("model"));
    to->provider = text(&o, UPP_STR("provider"));
    to->ended = text(&o, UPP_STR("ended"));
    to->run = text(&o, UPP_STR("run"));
    yyjson_val *partial = member(&o, UPP_STR("partial"));
    to->partial = yyjson_is_true(partial);
    return is_canonical(&o) && any && (!partial || to->partial);
}

/* lower writes all of them, except reasoningTokens if there are none. */
static bool read_usage(yyjson_val *v, struct wd_ui_about *to)
{
    enum { ALWAYS = 5 };
    struct members o = members_of(v);
    size_t n = o.left;
    to->has_usage = yyjson_is_obj(v);
    to->usage.input = number(&o, UPP_STR("inputTokens"));
    to->usage.output = number(&o, UPP_STR("outputTokens"));
    uint64_t total = number(&o, UPP_STR("totalTokens"));
    to->usage.cache_read = number(&o, UPP_STR("cacheReadTokens"));
    to->usage.cache_write = number(&o, UPP_STR("cacheWriteTokens"));
    yyjson_val *reasoning = member(&o, UPP_STR("reasoningTokens"));
    to->usage.reasoning = number_of(&o, reasoning);
    return is_canonical(&o) && n == (reasoning ? ALWAYS + 1 : ALWAYS) && (!reasoning || to->usage.reasoning) &&
           total == to->usage.input + to->usage.output;
}

void wd_ui_about(yyjson_val *metadata, struct wd_ui_about *to)
{
    struct members o = members_of(metadata);
    yyjson_val *time = member(&o, UPP_STR("pydantic_ai"));
    yyjson_val *weft = member(&o, UPP_STR("weft"));
    yyjson_val *usage = member(&o, UPP_STR("usage"));
    *to = (struct wd_ui_about){.events = member(&o, UPP_STR("weft_events"))};
    to->canonical = is_canonical(&o) && !to->events;
    to->canonical &= read_time(time, to);
    if (weft)
        to->canonical &= read_who(weft, to);
    if (usage)
        to->canonical &= read_usage(usage, to);
}

enum { NEAR = 16 }; /* parts of a step that are searched for the same call id */

static bool is_step(const struct wd_ui_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE)) && wb_str_eq(p->type, UPP_STR("step-start"));
}

static bool is_canonical_text(const struct wd_ui_part *p)
{
    return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT, WD_UI_STATE)) &&
           (wb_str_eq(p->type, UPP_STR("text")) || wb_str_eq(p->type, UPP_STR("reasoning"))) &&
           (wb_str_eq(p->state, UPP_STR("done")) || wb_str_eq(p->state, UPP_STR("streaming")));
}

static bool is_canonical_tool(const struct wd_ui_part *p)
{
    if (!wb_str_starts(p->type, UPP_STR("tool-")))
        return false;
    if (wb_str_eq(p->state, UPP_STR("output-available")))
        return wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_OUTPUT));
    if (wb_str_eq(p->state, UPP_STR("output-error")))
        return wj_has_order(&p->node,
                            WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT, WD_UI_ERROR_TEXT));
    return wb_str_eq(p->state, UPP_STR("input-available")) &&
           wj_has_order(&p->node, WJ_ORDER(WD_UI_TYPE, WD_UI_TOOL_CALL_ID, WD_UI_STATE, WD_UI_INPUT));
}

/* Does an earlier part of the step have the same call id? Then the first result is the answer to both. */
static bool is_duplicate_call(const struct wd_ui_part *step, const struct wd_ui_part *p)
{
    if (p - step > NEAR)
        return true; /* not searched any further: assume so */
    for (; step < p; step++)
        if (wb_str_eq(step->tool_call_id, p->tool_call_id))
            return true;
    return false;
}

/* Each step begins with a step-start and has at least one part. */
static bool are_canonical_steps(const struct wd_ui_message *m)
{
    const struct wd_ui_part *step = NULL, *p = m->parts.p, *end = p + m->parts.n; /* step: its first part */
    for (; p < end; p++) {
        if (is_step(p)) {
            if (p == step)
                return false;
            step = p + 1;
        } else if (!step || (!is_canonical_text(p) && (!is_canonical_tool(p) || is_duplicate_call(step, p))))
            return false;
    }
    return step && step < end;
}

static bool are_canonical_prompts(const struct wd_ui_message *m)
{
    for (size_t i = 0; i < m->parts.n; i++)
        if (!wj_has_order(&m->parts.p[i].node, WJ_ORDER(WD_UI_TYPE, WD_UI_TEXT)) ||
            !wb_str_eq(m->parts.p[i].type, UPP_STR("text")))
            return false;
    return true;
}

/* lower writes neither an agent's default id and name nor an end time equal to the start time. */
static bool is_canonical_about(const struct wd_ui_about *about, const struct wm_doc_agent *agent)
{
    bool known = wb_str_eq(agent->id, UPP_STR("agent")), named = !wb_str_eq(agent->name, agent->id);
    return known == !about->agent.p && named == !!about->name.p && (!named || wb_str_eq(agent->name, about->name)) &&
           !(about->ended.p && wb_str_eq(about->ended, about->time));
}

bool wd_ui_is_canonical(const struct wd_ui_message *m, const struct wd_ui_about *about,
                        const struct wm_doc_agent *agent)
{
    bool user = wb_str_eq(m->role, UPP_STR("user")); /* lower marks the agent's messages alone as partial */
    if (!about->canonical || (user && about->partial) ||
        !wj_has_order(&m->node, WJ_ORDER(WD_UI_ID, WD_UI_ROLE, WD_UI_METADATA, WD_UI_PARTS)))
        return false;
    if (agent)
        return is_canonical_about(about, agent) && are_canonical_steps(m);
    return unsafe_yyjson_get_len(m->metadata) == 1 && are_canonical_prompts(m);
}
