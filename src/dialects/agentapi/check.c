/* dialects/agentapi/check.c — what violates the Agent API Protocol in messages, requests and responses.
 *
 * Tables of members: one row per member, which may be null or absent unless it is required.
 */
#include "base/arena.h"
#include "dialects/agentapi/agentapi.h"
#include "dialects/core/members.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

#define NAME(text) UPP_STR_INIT(text)
/* clang-format off */
/* The first rows of every table. */
enum { OBJECT = 1, STATUS, ERROR, BASE };
#define BASE_ROWS                                                                                                      \
    {NAME("sequence_number"), 'q', 0}, {NAME("object"), 's', 0}, {NAME("status"), 's', 0}, {NAME("error"), 'o', 0}

enum { CONTENT_TYPE = BASE };
static const struct wd_row content[] = {
    BASE_ROWS, {NAME("type"), 's', WD_MUST}, {NAME("index"), 'i', 0}, {NAME("delta"), 'b', 0}, {NAME("msg_id"), 's', 0},
    {{0}, 0, 0}};
enum { MESSAGE_ID = BASE, MESSAGE_TYPE, MESSAGE_ROLE, MESSAGE_CONTENT };
static const struct wd_row message[] = {
    BASE_ROWS, {NAME("id"), 's', 0}, {NAME("type"), 's', 0}, {NAME("role"), 's', 0}, {NAME("content"), 'a', 0},
    {NAME("code"), 's', 0}, {NAME("message"), 's', 0}, {NAME("usage"), 'o', 0}, {NAME("metadata"), 'o', 0},
    {{0}, 0, 0}};
static const struct wd_row response[] = {
    BASE_ROWS, {NAME("id"), 's', 0}, {NAME("created_at"), 'i', 0}, {NAME("completed_at"), 'i', 0},
    {NAME("output"), 'a', 0}, {NAME("usage"), 'o', 0}, {NAME("session_id"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row request[] = {
    {NAME("input"), 'a', WD_MUST}, {NAME("stream"), 'b', 0}, {NAME("id"), 's', 0}, {NAME("model"), 's', 0},
    {NAME("top_p"), 'n', 0}, {NAME("temperature"), 'n', 0}, {NAME("frequency_penalty"), 'n', 0},
    {NAME("presence_penalty"), 'n', 0}, {NAME("max_tokens"), 'i', 0}, {NAME("stop"), 't', 0}, {NAME("n"), 'i', 0},
    {NAME("seed"), 'i', 0}, {NAME("tools"), 'a', 0}, {NAME("session_id"), 's', 0}, {NAME("response_id"), 's', 0},
    {NAME("user_id"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row session[] = {
    {NAME("id"), 's', WD_MUST}, {NAME("user_id"), 's', 0}, {NAME("messages"), 'a', WD_MUST}, {{0}, 0, 0}};
static const struct wd_row function[] = {
    {NAME("name"), 's', WD_MUST}, {NAME("description"), 's', 0}, {NAME("parameters"), 'o', WD_MUST}, {{0}, 0, 0}};
static const struct wd_row error[] = {{NAME("code"), 's', WD_MUST}, {NAME("message"), 's', WD_MUST}, {{0}, 0, 0}};

static const struct wd_row text[]    = {{NAME("text"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row data[]    = {{NAME("data"), 'o', 0}, {{0}, 0, 0}};
static const struct wd_row image[]   = {{NAME("image_url"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row audio[]   = {{NAME("data"), 's', 0}, {NAME("format"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row video[]   = {{NAME("video_url"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row refusal[] = {{NAME("refusal"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row file[]    = {
    {NAME("file_url"), 's', 0}, {NAME("file_id"), 's', 0}, {NAME("filename"), 's', 0}, {NAME("file_data"), 's', 0},
    {{0}, 0, 0}};

static const struct wd_row call[]   = {
    {NAME("call_id"), 's', 0}, {NAME("name"), 's', 0}, {NAME("arguments"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row output[] = {
    {NAME("call_id"), 's', WD_MUST}, {NAME("name"), 's', 0}, {NAME("output"), 's', WD_MUST}, {{0}, 0, 0}};
static const struct wd_row ask[]    = {
    {NAME("id"), 's', WD_MUST}, {NAME("name"), 's', WD_MUST}, {NAME("arguments"), 's', 0}, {NAME("server_label"), 's', 0},
    {{0}, 0, 0}};
static const struct wd_row answer[] = {
    {NAME("approval_request_id"), 's', WD_MUST}, {NAME("approve"), 'b', WD_MUST}, {NAME("id"), 's', 0},
    {NAME("reason"), 's', 0}, {{0}, 0, 0}};
static const struct wd_row tools[]  = {
    {NAME("id"), 's', 0}, {NAME("server_label"), 's', 0}, {NAME("tools"), 'a', WD_MUST}, {NAME("error"), 's', 0},
    {{0}, 0, 0}};

static const struct {
    struct upp_str       type;
    const struct wd_row *members;
} contents[] = {
    {NAME("text"), text}, {NAME("data"), data}, {NAME("image"), image}, {NAME("audio"), audio}, {NAME("video"), video},
    {NAME("file"), file}, {NAME("refusal"), refusal},
};

/* Members of `data` in these messages. */
static const struct {
    struct upp_str       type;
    const struct wd_row *members;
} payloads[] = {
    {NAME("function_call"), call}, {NAME("plugin_call"), call}, {NAME("component_call"), call},
    {NAME("mcp_call"), call}, {NAME("function_call_output"), output}, {NAME("plugin_call_output"), output},
    {NAME("component_call_output"), output}, {NAME("mcp_call_output"), output}, {NAME("mcp_approval_request"), ask},
    {NAME("mcp_approval_response"), answer}, {NAME("mcp_list_tools"), tools},
};
/* clang-format on */
_Static_assert(WB_LEN(request) <= WD_ROWS + 1, "there is room for all rows");

/* ---- Members --------------------------------------------------------------------------------------------- */

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

/* Checks an object whose table begins with BASE_ROWS: those rows first, and their values. */
static void check_object(struct wd_problems *p, const char *rule, yyjson_val *of, struct upp_str object,
                         const struct wd_row *rows, yyjson_val **found)
{
    size_t n = WJ_MEMBERS(of, rows, found);
    yyjson_val *is = found[OBJECT], *status = found[STATUS], *why = found[ERROR];
    char quoted[WJ_QUOTED];
    wd_check_found(p, rule, of, rows, 0, BASE, found);
    if (is_text(is) && !wj_named(is, object))
        wd_problem(p, WD_ERROR, rule, is, "'object' is \"%s\" here", object.p);
    if (is_text(status) && wd_aap_status(wj_text(status)) == WD_AAP_UNKNOWN)
        wd_problem(p, WD_WARNING, "AAP-3", status, "%s is taken as unknown",
                   wj_quote(wj_text(status), quoted, sizeof quoted));
    if (yyjson_is_obj(why))
        wd_check_members(p, "AAP-8", why, error);
    wd_check_found(p, rule, of, rows, BASE, n, found);
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* Is the text JSON, within the limits of size and depth? */
static bool is_json(struct wd_problems *p, struct upp_str s)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    yyjson_val *v;
    if (wd_is_compact(s))
        return true;
    int r = wj_read(&a, s, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), &v, NULL);
    if (r == -UPP_ENOMEM)
        p->failed = r;
    return r >= 0;
}

static void check_payload(struct wd_problems *p, yyjson_val *part, yyjson_val *is, struct upp_str type)
{
    yyjson_val *v, *arguments;
    size_t i = 0;
    while (i < WB_LEN(payloads) && !wb_str_eq(type, payloads[i].type))
        i++;
    if (i == WB_LEN(payloads))
        return;
    v = yyjson_obj_get(part, "data");
    if (!is_text(is) || !wj_named(is, UPP_STR("data")) || !yyjson_is_obj(v)) {
        wd_problem(p, WD_WARNING, "AAP-4", part, "messages of this type have contents of type \"data\" with an object");
        return;
    }
    wd_check_members(p, "AAP-4", v, payloads[i].members);
    arguments = yyjson_obj_get(v, "arguments");
    if (is_text(arguments) && !is_json(p, wj_text(arguments)))
        wd_problem(p, WD_WARNING, "AAP-4", arguments, "'arguments' is no JSON");
}

static void check_content(struct wd_problems *p, yyjson_val *part, struct upp_str type)
{
    yyjson_val *found[WD_ROWS], *kind;
    char quoted[WJ_QUOTED];
    size_t i = 0;
    if (!yyjson_is_obj(part)) {
        wd_problem(p, WD_ERROR, "AAP-5", part, "a content is an object");
        return;
    }
    check_object(p, "AAP-5", part, UPP_STR("content"), content, found);
    kind = found[CONTENT_TYPE];
    if (!is_text(kind))
        return; /* reported already */
    while (i < WB_LEN(contents) && !wj_named(kind, contents[i].type))
        i++;
    if (i < WB_LEN(contents))
        wd_check_members(p, "AAP-5", part, contents[i].members);
    else
        wd_problem(p, WD_ERROR, "AAP-5", kind, "there are no contents of type %s",
                   wj_quote(wj_text(kind), quoted, sizeof quoted));
    check_payload(p, part, kind, type);
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static void check_role(struct wd_problems *p, yyjson_val *role)
{
    static const struct upp_str roles[] = {UPP_STR_INIT("assistant"), UPP_STR_INIT("user"), UPP_STR_INIT("system"),
                                           UPP_STR_INIT("tool")};
    size_t i = 0;
    if (!is_text(role))
        return;
    while (i < WB_LEN(roles) && !wj_named(role, roles[i]))
        i++;
    if (i == WB_LEN(roles))
        wd_problem(p, WD_ERROR, "AAP-1", role, "'role' is \"assistant\", \"user\", \"system\" or \"tool\"");
}

static void check_message(struct wd_problems *p, yyjson_val *m)
{
    yyjson_val *found[WD_ROWS], *part;
    char quoted[WJ_QUOTED];
    size_t i, n;
    if (!yyjson_is_obj(m)) {
        wd_problem(p, WD_ERROR, "AAP-6", m, "a message is an object");
        return;
    }
    check_object(p, "AAP-6", m, UPP_STR("message"), message, found);
    yyjson_val *type = found[MESSAGE_TYPE], *id = found[MESSAGE_ID];
    struct upp_str word = is_text(type) ? wj_text(type) : (struct upp_str){0};
    check_role(p, found[MESSAGE_ROLE]);
    if (word.p && !wd_aap_knows(word))
        wd_problem(p, WD_WARNING, "AAP-2", type, "messages of type %s are kept, and not understood",
                   wj_quote(word, quoted, sizeof quoted));
    else if (wb_str_eq(word, UPP_STR("assistant")))
        wd_problem(p, WD_WARNING, "AAP-2", type, "\"assistant\" is a role: the type is \"message\"");
    if (is_text(id) && !wb_str_starts(wj_text(id), UPP_STR("msg_")))
        wd_problem(p, WD_WARNING, "AAP-6", id, "ids of messages begin with \"msg_\"");
    yyjson_arr_foreach(found[MESSAGE_CONTENT], i, n, part) check_content(p, part, word);
}

/* ---- Objects around messages ----------------------------------------------------------------------------- */

/* {"type", "function"}, or the function alone. */
static void check_tool(struct wd_problems *p, yyjson_val *tool)
{
    yyjson_val *type = yyjson_obj_get(tool, "type"), *f = yyjson_obj_get(tool, "function"), *parameters;
    if (!yyjson_is_obj(tool)) {
        wd_problem(p, WD_ERROR, "AAP-4", tool, "a tool is an object");
        return;
    }
    if (is_text(type) && !wj_named(type, UPP_STR("function")))
        wd_problem(p, WD_ERROR, "AAP-4", type, "the type of a tool is \"function\"");
    f = yyjson_is_obj(f) ? f : tool;
    wd_check_members(p, "AAP-4", f, function);
    parameters = yyjson_obj_get(f, "parameters");
    type = yyjson_obj_get(parameters, "type");
    if (yyjson_is_obj(parameters) && type && !(is_text(type) && wj_named(type, UPP_STR("object"))))
        wd_problem(p, WD_ERROR, "AAP-4", type, "the type of parameters is \"object\"");
}

static void check_request(struct wd_problems *p, yyjson_val *root)
{
    yyjson_val *n = yyjson_obj_get(root, "n"), *list = yyjson_obj_get(root, "tools"), *tool;
    int64_t answers;
    size_t i, count;
    wd_check_members(p, "AAP-7", root, request);
    if (n && yyjson_is_raw(n) && wj_num_i64(wj_text(n), &answers) && (answers < 1 || answers > 5))
        wd_problem(p, WD_ERROR, "AAP-7", n, "'n' is 1 to 5");
    yyjson_arr_foreach(list, i, count, tool) check_tool(p, tool);
}

int wd_aap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *m, *list;
    size_t i, n;
    enum wd_aap_form form = wd_aap_form(root, &list);
    (void)err;
    if (form == WD_AAP_NONE) {
        wd_problem(p, WD_ERROR, "AAP-6", root, "it must be messages: a list, a session, a request or a response");
        return 0;
    }
    if (form == WD_AAP_REQUEST)
        check_request(p, root);
    else if (form == WD_AAP_SESSION)
        wd_check_members(p, "AAP-6", root, session);
    else if (form == WD_AAP_RESPONSE) {
        yyjson_val *found[WD_ROWS];
        check_object(p, "AAP-8", root, UPP_STR("response"), response, found);
    }
    yyjson_arr_foreach(list, i, n, m) check_message(p, m);
    return p->failed;
}
