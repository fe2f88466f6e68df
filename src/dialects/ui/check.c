/* dialects/ui/check.c — what the AI SDK rejects when it validates UI messages, and what only some versions accept.
 */
#include "base/err.h"
#include "dialects/core/members.h"
#include "dialects/ui/doc.h"
#include "json/value.h"

enum { SINCE_6 = WD_FLAG, SINCE_7 = WD_FLAG << 1 };

struct kind {
    const char *type;
    const char *rule;
    const struct wd_row *members;
    uint8_t flags;
    bool prefix; /* `type` is a prefix */
};

#define NAME(text) UPP_STR_INIT(text)
static const struct wd_row text[] = {{NAME("text"), 's', WD_MUST}, {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row reasoning[] = {
    {NAME("text"), 's', WD_MUST}, {NAME("id"), 's', SINCE_7}, {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row file[] = {{NAME("mediaType"), 's', WD_MUST},  {NAME("url"), 's', WD_MUST},
                                     {NAME("filename"), 's', 0},         {NAME("providerReference"), 'o', SINCE_7},
                                     {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row thought_file[] = {
    {NAME("mediaType"), 's', WD_MUST}, {NAME("url"), 's', WD_MUST}, {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row custom[] = {{NAME("kind"), 's', WD_MUST}, {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row source_url[] = {{NAME("sourceId"), 's', WD_MUST},
                                           {NAME("url"), 's', WD_MUST},
                                           {NAME("title"), 's', 0},
                                           {NAME("providerMetadata"), 'p', 0},
                                           {{0}, 0, 0}};
static const struct wd_row source_document[] = {{NAME("sourceId"), 's', WD_MUST},   {NAME("mediaType"), 's', WD_MUST},
                                                {NAME("title"), 's', WD_MUST},      {NAME("filename"), 's', 0},
                                                {NAME("providerMetadata"), 'p', 0}, {{0}, 0, 0}};
static const struct wd_row data[] = {{NAME("id"), 's', 0}, {NAME("data"), 'v', WD_MUST}, {{0}, 0, 0}};
static const struct wd_row step_start[] = {{{0}, 0, 0}};
static const struct wd_row tool[] = {{NAME("toolCallId"), 's', WD_MUST},
                                     {NAME("state"), 's', WD_MUST},
                                     {NAME("providerExecuted"), 'b', 0},
                                     {NAME("preliminary"), 'b', 0},
                                     {NAME("title"), 's', SINCE_6},
                                     {NAME("toolMetadata"), 'o', SINCE_6},
                                     {NAME("callProviderMetadata"), 'p', 0},
                                     {NAME("resultProviderMetadata"), 'p', SINCE_6},
                                     {{0}, 0, 0}};
static const struct wd_row tool_name[] = {{NAME("toolName"), 's', WD_MUST}, {{0}, 0, 0}};
static const struct wd_row approval[] = {{NAME("id"), 's', WD_MUST},        {NAME("approved"), 'b', 0},
                                         {NAME("reason"), 's', 0},          {NAME("isAutomatic"), 'b', SINCE_7},
                                         {NAME("signature"), 's', SINCE_7}, {{0}, 0, 0}};
static const struct wd_row message[] = {{NAME("id"), 's', WD_MUST}, {NAME("role"), 's', WD_MUST}, {{0}, 0, 0}};

static const struct kind kinds[] = {
    {"text", "UI-4.1.2", text, 0, false},
    {"reasoning", "UI-4.1.2", reasoning, 0, false},
    {"file", "UI-4.1.3", file, 0, false},
    {"reasoning-file", "UI-4.1.3", thought_file, SINCE_7, false},
    {"source-url", "UI-4.1.4", source_url, 0, false},
    {"source-document", "UI-4.1.4", source_document, 0, false},
    {"custom", "UI-4.1.4", custom, SINCE_7, false},
    {"step-start", "UI-4.1.1", step_start, 0, false},
    {"dynamic-tool", "UI-4.1.6", tool, 0, false},
    {"data-", "UI-4.1.5", data, 0, true},
    {"tool-", "UI-4.1.6", tool, 0, true},
};

/* Which members a tool part has in each state. */
static const struct state {
    const char *word;
    bool input, output, error; /* required; for output and error, false means forbidden */
    char approval;             /* 'n' none, 'r' requested, 'a' answered, 'y' none or granted, 'd' denied */
    uint8_t flags;
} states[] = {
    {"input-streaming", false, false, false, 'n', 0},         {"input-available", true, false, false, 'n', 0},
    {"approval-requested", true, false, false, 'r', SINCE_6}, {"approval-responded", true, false, false, 'a', SINCE_6},
    {"output-available", true, true, false, 'y', 0},          {"output-error", false, false, true, 'y', 0},
    {"output-denied", true, false, false, 'd', SINCE_6},
};

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

static void since(struct wd_problems *p, const yyjson_val *at, uint8_t flags)
{
    if (flags & SINCE_7)
        wd_problem(p, WD_WARNING, "UI-4.1.8", at, "only version 7 knows it");
    else if (flags & SINCE_6)
        wd_problem(p, WD_WARNING, "UI-4.1.8", at, "version 5 does not know it");
}

/* An optional member is absent or of its type, never null. */
static void check_members(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows)
{
    for (; rows->name.n; rows++) {
        yyjson_val *v = yyjson_obj_getn(of, rows->name.p, rows->name.n);
        if (wd_check_row(p, rule, of, rows, v, false) && v)
            since(p, v, rows->flags);
    }
}

static void check_approval(struct wd_problems *p, yyjson_val *part, const struct state *s)
{
    yyjson_val *v = yyjson_obj_get(part, "approval"), *approved = yyjson_obj_get(v, "approved");
    if (!v) {
        if (s->approval != 'n' && s->approval != 'y')
            wd_problem(p, WD_ERROR, "UI-4.1.7", part, "a tool in state '%s' has an 'approval'", s->word);
        return;
    }
    if (s->approval == 'n' || !yyjson_is_obj(v)) {
        wd_problem(p, WD_ERROR, "UI-4.1.7", v,
                   s->approval == 'n' ? "in this state there is none" : "it must be an object");
        return;
    }
    check_members(p, "UI-4.1.7", v, approval);
    const struct {
        char approval;
        bool good;
        const char *what;
    } rules[] = {{'r', !approved, "is not there yet"},
                 {'a', approved, "must be there"},
                 {'d', yyjson_is_false(approved), "is false"},
                 {'y', yyjson_is_true(approved), "is true"}};
    for (size_t i = 0; i < WB_LEN(rules); i++)
        if (rules[i].approval == s->approval && !rules[i].good)
            wd_problem(p, WD_ERROR, "UI-4.1.7", approved ? approved : v, "in state '%s' 'approved' %s", s->word,
                       rules[i].what);
}

static void check_presence(struct wd_problems *p, yyjson_val *part, const char *name, bool must, bool may)
{
    yyjson_val *v = yyjson_obj_get(part, name);
    if (!v && must)
        wd_problem(p, WD_ERROR, "UI-4.1.6", part, "member '%s' is missing", name);
    else if (v && !may)
        wd_problem(p, WD_ERROR, "UI-4.1.6", v, "in this state there is no '%s'", name);
}

static void check_tool(struct wd_problems *p, yyjson_val *part)
{
    yyjson_val *word = yyjson_obj_get(part, "state"), *error = yyjson_obj_get(part, "errorText");
    char quoted[WJ_QUOTED];
    size_t i = 0;
    if (!is_text(word))
        return; /* reported already */
    while (i < WB_LEN(states) && !wj_named(word, wb_cstr(states[i].word)))
        i++;
    if (i == WB_LEN(states)) {
        wd_problem(p, WD_ERROR, "UI-4.1.6", word, "a tool is never in state %s",
                   wj_quote(wj_text(word), quoted, sizeof quoted));
        return;
    }
    since(p, word, states[i].flags);
    check_presence(p, part, "input", states[i].input, true);
    check_presence(p, part, "output", states[i].output, states[i].output);
    check_presence(p, part, "errorText", states[i].error, states[i].error);
    if (error && states[i].error && !yyjson_is_str(error))
        wd_problem(p, WD_ERROR, "UI-4.1.6", error, "'errorText' must be a text");
    check_approval(p, part, &states[i]);
}

static const struct kind *kind_of(struct upp_str type)
{
    for (size_t i = 0; i < WB_LEN(kinds); i++) {
        struct upp_str word = wb_cstr(kinds[i].type);
        if (kinds[i].prefix ? wb_str_starts(type, word) : wb_str_eq(type, word))
            return &kinds[i];
    }
    return NULL;
}

static void check_part(struct wd_problems *p, yyjson_val *part)
{
    yyjson_val *type = yyjson_obj_get(part, "type"), *state = yyjson_obj_get(part, "state");
    char quoted[WJ_QUOTED];
    if (!is_text(type)) {
        wd_problem(p, WD_ERROR, "UI-4.1.1", type ? type : part, "a part is an object with a 'type' that is a text");
        return;
    }
    const struct kind *kind = kind_of(wj_text(type));
    if (!kind) {
        wd_problem(p, WD_ERROR, "UI-4.1.1", type, "no version knows parts of type %s",
                   wj_quote(wj_text(type), quoted, sizeof quoted));
        return;
    }
    since(p, type, kind->flags);
    check_members(p, kind->rule, part, kind->members);
    if (kind->members == tool) {
        if (!kind->prefix)
            check_members(p, kind->rule, part, tool_name);
        check_tool(p, part);
    } else if (state && (kind->members == text || kind->members == reasoning) &&
               !(is_text(state) && (wj_named(state, UPP_STR("streaming")) || wj_named(state, UPP_STR("done")))))
        wd_problem(p, WD_ERROR, kind->rule, state, "'state' is \"streaming\" or \"done\"");
}

static void check_message(struct wd_problems *p, yyjson_val *m)
{
    yyjson_val *role = yyjson_obj_get(m, "role"), *parts = yyjson_obj_get(m, "parts"), *part;
    size_t i, n;
    if (!yyjson_is_obj(m)) {
        wd_problem(p, WD_ERROR, "UI-4.1.1", m, "a message is an object");
        return;
    }
    check_members(p, "UI-4.1.1", m, message);
    bool assistant = is_text(role) && wj_named(role, UPP_STR("assistant"));
    if (is_text(role) && !assistant && !wj_named(role, UPP_STR("user")) && !wj_named(role, UPP_STR("system")))
        wd_problem(p, WD_ERROR, "UI-4.1.1", role, "'role' is \"system\", \"user\" or \"assistant\"");
    if (!yyjson_is_arr(parts))
        wd_problem(p, WD_ERROR, "UI-4.1.1", parts ? parts : m, "a message has a list of 'parts'");
    else if (!yyjson_arr_size(parts))
        wd_problem(p, assistant ? WD_WARNING : WD_ERROR, "UI-4.1.1", parts,
                   assistant ? "some versions refuse a message without parts" : "a message has at least one part");
    yyjson_arr_foreach(parts, i, n, part) check_part(p, part);
}

int wd_ui_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *m;
    size_t i, n;
    (void)err;
    if (!yyjson_is_arr(root) || !yyjson_arr_size(root)) {
        wd_problem(p, WD_ERROR, "UI-4.1.1", root, "it must be a list of at least one message");
        return 0;
    }
    yyjson_arr_foreach(root, i, n, m) check_message(p, m);
    return 0;
}
