/* dialects/agentapi_check.c — what breaks the Agent API Protocol in messages, requests and responses.
 *
 * Members by tables: one row a member, which may be null or absent unless it must be there.
 */
#include "base/arena.h"
#include "dialects/agentapi.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"

enum { MUST = 1 << 0 };

struct member {
    const char *name;
    char        type; /* 's' text, 'b' true or false, 'i' whole number, 'q' that or a text, 'n' number, 'o' object, 'a'
                         list, 't' text or list of texts */
    uint8_t flags;
};

/* clang-format off */
static const struct member base[] = {
    {"sequence_number", 'q', 0}, {"object", 's', 0}, {"status", 's', 0}, {"error", 'o', 0}, {NULL, 0, 0}};
static const struct member content[] = {
    {"type", 's', MUST}, {"index", 'i', 0}, {"delta", 'b', 0}, {"msg_id", 's', 0}, {NULL, 0, 0}};
static const struct member message[] = {
    {"id", 's', 0}, {"type", 's', 0}, {"role", 's', 0}, {"content", 'a', 0}, {"code", 's', 0}, {"message", 's', 0},
    {"usage", 'o', 0}, {"metadata", 'o', 0}, {NULL, 0, 0}};
static const struct member response[] = {
    {"id", 's', 0}, {"created_at", 'i', 0}, {"completed_at", 'i', 0}, {"output", 'a', 0}, {"usage", 'o', 0},
    {"session_id", 's', 0}, {NULL, 0, 0}};
static const struct member request[] = {
    {"input", 'a', MUST}, {"stream", 'b', 0}, {"id", 's', 0}, {"model", 's', 0}, {"top_p", 'n', 0},
    {"temperature", 'n', 0}, {"frequency_penalty", 'n', 0}, {"presence_penalty", 'n', 0}, {"max_tokens", 'i', 0},
    {"stop", 't', 0}, {"n", 'i', 0}, {"seed", 'i', 0}, {"tools", 'a', 0}, {"session_id", 's', 0},
    {"response_id", 's', 0}, {"user_id", 's', 0}, {NULL, 0, 0}};
static const struct member session[] = {{"id", 's', MUST}, {"user_id", 's', 0}, {"messages", 'a', MUST}, {NULL, 0, 0}};
static const struct member function[] = {
    {"name", 's', MUST}, {"description", 's', 0}, {"parameters", 'o', MUST}, {NULL, 0, 0}};
static const struct member error[] = {{"code", 's', MUST}, {"message", 's', MUST}, {NULL, 0, 0}};

static const struct member text[]    = {{"text", 's', 0}, {NULL, 0, 0}};
static const struct member data[]    = {{"data", 'o', 0}, {NULL, 0, 0}};
static const struct member image[]   = {{"image_url", 's', 0}, {NULL, 0, 0}};
static const struct member audio[]   = {{"data", 's', 0}, {"format", 's', 0}, {NULL, 0, 0}};
static const struct member video[]   = {{"video_url", 's', 0}, {NULL, 0, 0}};
static const struct member refusal[] = {{"refusal", 's', 0}, {NULL, 0, 0}};
static const struct member file[]    = {
    {"file_url", 's', 0}, {"file_id", 's', 0}, {"filename", 's', 0}, {"file_data", 's', 0}, {NULL, 0, 0}};

static const struct member call[]   = {{"call_id", 's', 0}, {"name", 's', 0}, {"arguments", 's', 0}, {NULL, 0, 0}};
static const struct member output[] = {{"call_id", 's', MUST}, {"name", 's', 0}, {"output", 's', MUST}, {NULL, 0, 0}};
static const struct member ask[]    = {
    {"id", 's', MUST}, {"name", 's', MUST}, {"arguments", 's', 0}, {"server_label", 's', 0}, {NULL, 0, 0}};
static const struct member answer[] = {
    {"approval_request_id", 's', MUST}, {"approve", 'b', MUST}, {"id", 's', 0}, {"reason", 's', 0}, {NULL, 0, 0}};
static const struct member tools[]  = {
    {"id", 's', 0}, {"server_label", 's', 0}, {"tools", 'a', MUST}, {"error", 's', 0}, {NULL, 0, 0}};

static const struct {
    const char          *type;
    const struct member *members;
} contents[] = {
    {"text", text}, {"data", data}, {"image", image}, {"audio", audio}, {"video", video}, {"file", file},
    {"refusal", refusal},
};

/* What the data of these messages have. */
static const struct {
    const char          *type;
    const struct member *members;
} payloads[] = {
    {"function_call", call}, {"plugin_call", call}, {"component_call", call}, {"mcp_call", call},
    {"function_call_output", output}, {"plugin_call_output", output}, {"component_call_output", output},
    {"mcp_call_output", output}, {"mcp_approval_request", ask}, {"mcp_approval_response", answer},
    {"mcp_list_tools", tools},
};
/* clang-format on */

/* ---- Members --------------------------------------------------------------------------------------------- */

static bool is_text(yyjson_val *v)
{
    return v && yyjson_is_str(v);
}

static bool is_whole(yyjson_val *v)
{
    int64_t n;
    return v && yyjson_is_raw(v) && wj_num_i64(wj_text(v), &n);
}

static bool texts_only(yyjson_val *v)
{
    yyjson_val *one;
    size_t      i, n;
    if (!yyjson_is_arr(v))
        return is_text(v);
    yyjson_arr_foreach(v, i, n, one) if (!is_text(one)) return false;
    return true;
}

static bool has_type(yyjson_val *v, char type)
{
    switch (type) {
    case 's':
        return is_text(v);
    case 'b':
        return yyjson_is_bool(v);
    case 'i':
        return is_whole(v);
    case 'q':
        return is_whole(v) || is_text(v);
    case 'n':
        return yyjson_is_raw(v);
    case 'o':
        return yyjson_is_obj(v);
    case 'a':
        return yyjson_is_arr(v);
    default:
        return texts_only(v);
    }
}

static const char *type_name(char type)
{
    return type == 's'   ? "a text"
           : type == 'b' ? "true or false"
           : type == 'i' ? "a whole number"
           : type == 'q' ? "a whole number, or a text"
           : type == 'n' ? "a number"
           : type == 'o' ? "an object"
           : type == 'a' ? "a list"
                         : "a text or a list of texts";
}

static void check_members(struct wd_problems *p, const char *rule, yyjson_val *of, const struct member *rows)
{
    for (; rows->name; rows++) {
        yyjson_val *v    = yyjson_obj_get(of, rows->name);
        bool        none = !v || yyjson_is_null(v);
        if (none && rows->flags & MUST)
            wd_problem(p, WD_ERROR, rule, v ? v : of, "member '%s' is missing", rows->name);
        else if (!none && !has_type(v, rows->type))
            wd_problem(p, WD_ERROR, rule, v, "'%s' must be %s", rows->name, type_name(rows->type));
    }
}

/* The members that all of them begin with. */
static void check_base(struct wd_problems *p, const char *rule, yyjson_val *of, const char *object)
{
    yyjson_val *is = yyjson_obj_get(of, "object"), *status = yyjson_obj_get(of, "status");
    yyjson_val *why = yyjson_obj_get(of, "error");
    char        quoted[WJ_QUOTED];
    check_members(p, rule, of, base);
    if (is_text(is) && !wj_named(is, wb_cstr(object)))
        wd_problem(p, WD_ERROR, rule, is, "'object' is \"%s\" here", object);
    if (is_text(status) && wd_aap_status(wj_text(status)) == WD_AAP_UNKNOWN)
        wd_problem(p, WD_WARNING, "AAP-3", status, "%s is taken as unknown",
                   wj_quote(wj_text(status), quoted, sizeof quoted));
    if (yyjson_is_obj(why))
        check_members(p, "AAP-8", why, error);
}

/* ---- Contents -------------------------------------------------------------------------------------------- */

/* Is it JSON, as far as a text of it may be long and deep? */
static bool is_json(struct wd_problems *p, struct upp_str s)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WD_DOC_MEMORY);
    yyjson_val                               *v;
    if (wd_is_compact(s))
        return true;
    int r = wj_read(&a, s, UPP_OPTS(wj_read_opts, .max_bytes = WD_DOC_BYTES, .depth = WD_DOC_DEPTH), &v, NULL);
    if (r == -UPP_ENOMEM)
        p->failed = r;
    return r >= 0;
}

static void check_payload(struct wd_problems *p, yyjson_val *part, struct upp_str type)
{
    yyjson_val *v = yyjson_obj_get(part, "data"), *said, *is = yyjson_obj_get(part, "type");
    size_t      i = 0;
    while (i < WB_LEN(payloads) && !wb_str_eq(type, wb_cstr(payloads[i].type)))
        i++;
    if (i == WB_LEN(payloads))
        return;
    if (!is_text(is) || !wj_named(is, UPP_STR("data")) || !yyjson_is_obj(v)) {
        wd_problem(p, WD_WARNING, "AAP-4", part, "messages of this type have contents of type \"data\" with an object");
        return;
    }
    check_members(p, "AAP-4", v, payloads[i].members);
    said = yyjson_obj_get(v, "arguments");
    if (is_text(said) && !is_json(p, wj_text(said)))
        wd_problem(p, WD_WARNING, "AAP-4", said, "'arguments' is no JSON");
}

static void check_content(struct wd_problems *p, yyjson_val *part, struct upp_str type)
{
    yyjson_val *kind = yyjson_obj_get(part, "type");
    char        quoted[WJ_QUOTED];
    size_t      i = 0;
    if (!yyjson_is_obj(part)) {
        wd_problem(p, WD_ERROR, "AAP-5", part, "a content is an object");
        return;
    }
    check_base(p, "AAP-5", part, "content");
    check_members(p, "AAP-5", part, content);
    if (!is_text(kind))
        return; /* told already */
    while (i < WB_LEN(contents) && !wj_named(kind, wb_cstr(contents[i].type)))
        i++;
    if (i < WB_LEN(contents))
        check_members(p, "AAP-5", part, contents[i].members);
    else
        wd_problem(p, WD_ERROR, "AAP-5", kind, "there are no contents of type %s",
                   wj_quote(wj_text(kind), quoted, sizeof quoted));
    check_payload(p, part, type);
}

/* ---- Messages -------------------------------------------------------------------------------------------- */

static void check_role(struct wd_problems *p, yyjson_val *role)
{
    static const struct upp_str roles[] = {
        UPP_STR_INIT("assistant"), UPP_STR_INIT("user"), UPP_STR_INIT("system"), UPP_STR_INIT("tool")};
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
    yyjson_val    *type = yyjson_obj_get(m, "type"), *id = yyjson_obj_get(m, "id"), *part;
    yyjson_val    *list = yyjson_obj_get(m, "content");
    struct upp_str word = is_text(type) ? wj_text(type) : (struct upp_str){0};
    char           quoted[WJ_QUOTED];
    size_t         i, n;
    if (!yyjson_is_obj(m)) {
        wd_problem(p, WD_ERROR, "AAP-6", m, "a message is an object");
        return;
    }
    check_base(p, "AAP-6", m, "message");
    check_members(p, "AAP-6", m, message);
    check_role(p, yyjson_obj_get(m, "role"));
    if (word.p && !wd_aap_knows(word))
        wd_problem(p, WD_WARNING, "AAP-2", type, "messages of type %s are kept, and not understood",
                   wj_quote(word, quoted, sizeof quoted));
    else if (wb_str_eq(word, UPP_STR("assistant")))
        wd_problem(p, WD_WARNING, "AAP-2", type, "\"assistant\" is a role: the type is \"message\"");
    if (is_text(id) && !wb_str_starts(wj_text(id), UPP_STR("msg_")))
        wd_problem(p, WD_WARNING, "AAP-6", id, "ids of messages begin with \"msg_\"");
    yyjson_arr_foreach(list, i, n, part) check_content(p, part, word);
}

/* ---- What is around them --------------------------------------------------------------------------------- */

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
    check_members(p, "AAP-4", f, function);
    parameters = yyjson_obj_get(f, "parameters");
    type       = yyjson_obj_get(parameters, "type");
    if (yyjson_is_obj(parameters) && type && !(is_text(type) && wj_named(type, UPP_STR("object"))))
        wd_problem(p, WD_ERROR, "AAP-4", type, "the type of parameters is \"object\"");
}

static void check_request(struct wd_problems *p, yyjson_val *root)
{
    yyjson_val *n = yyjson_obj_get(root, "n"), *list = yyjson_obj_get(root, "tools"), *tool;
    int64_t     answers;
    size_t      i, count;
    check_members(p, "AAP-7", root, request);
    if (n && yyjson_is_raw(n) && wj_num_i64(wj_text(n), &answers) && (answers < 1 || answers > 5))
        wd_problem(p, WD_ERROR, "AAP-7", n, "'n' is 1 to 5");
    yyjson_arr_foreach(list, i, count, tool) check_tool(p, tool);
}

int wd_aap_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val      *m, *list;
    size_t           i, n;
    enum wd_aap_form form = wd_aap_form(root, &list);
    (void)err;
    if (form == WD_AAP_NONE) {
        wd_problem(p, WD_ERROR, "AAP-6", root, "it must be messages: a list, a session, a request or a response");
        return 0;
    }
    if (form == WD_AAP_REQUEST)
        check_request(p, root);
    else if (form == WD_AAP_SESSION)
        check_members(p, "AAP-6", root, session);
    else if (form == WD_AAP_RESPONSE) {
        check_base(p, "AAP-8", root, "response");
        check_members(p, "AAP-8", root, response);
    }
    yyjson_arr_foreach(list, i, n, m) check_message(p, m);
    return p->failed;
}
