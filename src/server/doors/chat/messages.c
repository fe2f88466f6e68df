/* server/doors/chat/messages.c — see messages.h. */
#include "server/doors/chat/messages.h"

#include <openssl/evp.h>
#include <stdio.h>

#include "base/clock.h"
#include "dialects/core/data_url.h"
#include "json/pointer.h"
#include "json/value.h"
#include "json/write.h"
#include "model/file_url.h"
#include "server/doors/objects/message_files.h"

enum { PARTS_MAX = 1024 };

/* ---- Parts ------------------------------------------------------------------------------------------------------- */

static int read_media(struct sv_chat_building *rd, yyjson_val *v, const char *object, const char *member, uint8_t kind,
                      struct upp_part *ret, struct upp_err *err)
{
    yyjson_val    *inner = NULL;
    struct upp_str data = {NULL, 0}, name = {NULL, 0}, id;
    int            r = sv_body_object(rd->body, v, wb_cstr(object), &inner, err);
    if (r > 0)
        r = sv_body_str(rd->body, inner, wb_cstr(member), &data, err);
    if (r >= 0 && inner)
        r = sv_body_str(rd->body, inner, UPP_STR("filename"), &name, err);
    if (r < 0)
        return r;
    if (inner && !data.n) {
        r = sv_read_file(rd->body, inner, kind, &rd->x->arena, ret, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    if (!data.n || wm_file_url(data, &id))
        return sv_body_wrong(rd->body, v, err, "this part needs %s.%s or %s.file_id", object, member, object);
    r = wd_url_media(&rd->x->arena, data, (struct upp_str){NULL, 0}, name, ret, err);
    if (r >= 0 && ret->media->source == UPP_SOURCE_URL)
        ret->kind = kind; /* an address does not tell */
    return r;
}

static int read_part(struct sv_chat_building *rd, yyjson_val *v, uint8_t role, struct upp_part *ret,
                     struct upp_err *err)
{
    struct upp_str type = {NULL, 0}, text = {NULL, 0};
    char           shown[WJ_QUOTED];
    if (!yyjson_is_obj(v))
        return sv_body_wrong(rd->body, v, err, "a part of a content is an object");
    int r = sv_body_str(rd->body, v, UPP_STR("type"), &type, err);
    if (r < 0)
        return r;
    if (wb_str_eq(type, UPP_STR("text")) || (role == UPP_ROLE_ASSISTANT && wb_str_eq(type, UPP_STR("refusal")))) {
        r = sv_body_str(rd->body, v, type, &text, err);
        if (r == 0)
            return sv_body_wrong(rd->body, v, err, "a text part needs '%.*s', a string", UPP_FMT(type));
        *ret = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
        return r < 0 ? r : 0;
    }
    if (role == UPP_ROLE_USER && wb_str_eq(type, UPP_STR("image_url")))
        return read_media(rd, v, "image_url", "url", UPP_PART_IMAGE, ret, err);
    if (role == UPP_ROLE_USER && wb_str_eq(type, UPP_STR("file")))
        return read_media(rd, v, "file", "file_data", UPP_PART_DOCUMENT, ret, err);
    return sv_body_wrong(rd->body, sv_member(v, UPP_STR("type")) ? sv_member(v, UPP_STR("type")) : v, err,
                         "a part of type %s is not taken here", type.p ? wj_quote(type, shown, sizeof shown) : "none");
}

static int read_content(struct sv_chat_building *rd, yyjson_val *v, struct upp_message *m, size_t more,
                        struct upp_err *err)
{
    yyjson_val *content = sv_member(v, UPP_STR("content")), *part;
    bool        string  = yyjson_is_str(content);
    size_t      i, max, n = string ? 1 : yyjson_arr_size(content);
    if (content && !string && !yyjson_is_arr(content))
        return sv_body_wrong(rd->body, content, err, "a content is a string or an array of parts");
    if (!n && !more)
        return sv_body_wrong(rd->body, content ? content : v, err, "a message needs a content");
    if (n > PARTS_MAX)
        return sv_body_wrong(rd->body, content, err, "a content has at most %d parts", PARTS_MAX);
    m->parts = wb_new_n(&rd->x->arena, struct upp_part, n + more);
    if (!m->parts)
        return wb_arena_check(&rd->x->arena, err);
    m->n_parts = n;
    if (string) {
        m->parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(content)};
        m->n_parts  = m->parts[0].text.n || !more ? 1 : 0;
        return 0;
    }
    yyjson_arr_foreach(content, i, max, part)
    {
        int r = read_part(rd, part, m->role, &m->parts[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- Calls and results ------------------------------------------------------------------------------------------- */

static bool is_own_tool(const struct wr_agent_def *agent, struct upp_str name)
{
    for (size_t i = 0; agent && i < agent->n_tools; i++)
        if (agent->tools[i].kind != WR_TOOL_CLIENT && wb_str_eq(agent->tools[i].spec.name, name))
            return true;
    return false;
}

int sv_chat_call(struct sv_chat_building *rd, yyjson_val *at, struct upp_part *call, struct upp_err *err)
{
    if (!is_own_tool(rd->agent, call->name))
        return 0;
    int r = upp_fail(err, UPP_EREFUSED, "'%.*s' is a tool of the server: its calls are not taken from a client",
                     UPP_FMT(call->name));
    wj_pointer_err(err, rd->body->root, at);
    return r;
}

static int read_call(struct sv_chat_building *rd, yyjson_val *v, struct upp_part *ret, struct upp_err *err)
{
    yyjson_val *function = NULL;
    *ret                 = (struct upp_part){.kind = UPP_PART_CALL};
    int r                = sv_body_str(rd->body, v, UPP_STR("id"), &ret->id, err);
    if (r > 0)
        r = sv_body_object(rd->body, v, UPP_STR("function"), &function, err);
    if (r > 0)
        r = sv_body_str(rd->body, function, UPP_STR("name"), &ret->name, err);
    if (r > 0)
        r = sv_body_str(rd->body, function, UPP_STR("arguments"), &ret->text, err);
    if (r == 0)
        return sv_body_wrong(rd->body, v, err, "a call has id, function.name and function.arguments");
    return r < 0 ? r : sv_chat_call(rd, v, ret, err);
}

static int read_assistant(struct sv_chat_building *rd, yyjson_val *v, struct upp_message *m, struct upp_err *err)
{
    yyjson_val *calls = NULL, *call;
    size_t      i, max;
    int         r = sv_body_array(rd->body, v, UPP_STR("tool_calls"), &calls, err);
    size_t      n = r > 0 ? yyjson_arr_size(calls) : 0;
    if (r >= 0 && n > SV_ANSWERS_MAX)
        return sv_body_wrong(rd->body, calls, err, "a message has at most %d calls", SV_ANSWERS_MAX);
    if (r >= 0)
        r = read_content(rd, v, m, n, err);
    if (r < 0 || !n)
        return r < 0 ? r : 0;
    yyjson_arr_foreach(calls, i, max, call)
    {
        r = yyjson_is_obj(call) ? read_call(rd, call, &m->parts[m->n_parts], err)
                                : sv_body_wrong(rd->body, call, err, "a call is an object");
        if (r < 0)
            return r;
        m->n_parts++;
    }
    return 0;
}

/* Every call of the last assistant message has its result: providers refuse a conversation in which one has none. */
static int check_results(struct sv_chat_building *rd, yyjson_val *at, struct upp_err *err)
{
    const struct sv_entries  *list = &rd->to->list;
    size_t                    n    = rd->to->next;
    const struct upp_message *of   = n ? &list->p[n - 1].message : NULL;
    const struct upp_message *has  = n < list->n ? &list->p[n].message : NULL;
    for (const struct upp_part *call = NULL; of && (call = upp_part_next(of, call, UPP_PARTS_CALLS));) {
        bool found = false;
        for (const struct upp_part *p = NULL; has && (p = upp_part_next(has, p, UPP_PARTS_RESULTS));)
            found = found || wb_str_eq(p->id, call->id);
        if (!found)
            return sv_body_wrong(rd->body, at, err, "a call needs its result after it: there is none for '%.*s'",
                                 UPP_FMT(call->id));
    }
    return 0;
}

size_t sv_chat_count(const struct upp_message *m, unsigned kinds, struct upp_str id)
{
    size_t n = 0;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, kinds));)
        n += wb_str_eq(p->id, id);
    return n;
}

int sv_chat_result(struct wb_arena *a, struct upp_str call, struct upp_str text, struct upp_part *ret,
                   struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(SV_MAX_BODY * 6);
    struct wj_writer                      w;
    wj_writer_init(&w, &json, err);
    wj_write_str(&w, text);
    *ret = (struct upp_part){.kind = UPP_PART_RESULT, .id = call};
    return wj_writer_text(&w, a, &ret->text);
}

static int read_result(struct sv_chat_building *rd, yyjson_val *v, struct upp_message *m, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SV_MAX_BODY);
    struct upp_str                        id   = {NULL, 0};
    int                                   r    = sv_body_str(rd->body, v, UPP_STR("tool_call_id"), &id, err);
    if (r == 0)
        return sv_body_wrong(rd->body, v, err, "a message of role tool needs a tool_call_id");
    if (r >= 0)
        r = read_content(rd, v, m, 0, err);
    if (r >= 0)
        r = sv_chat_text(&text, m, err);
    m->n_parts = 1;
    return r < 0 ? r : sv_chat_result(&rd->x->arena, id, wb_buf_str(&text), m->parts, err);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

int sv_chat_text(struct wb_buf *out, const struct upp_message *m, struct upp_err *err)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1 << UPP_PART_TEXT));)
        wb_buf_add(out, p->text);
    return wb_buf_check(out, err);
}

/* Adds what identifies a message. Lengths keep two conversations apart that differ only in where a text ends. */
static void digest_message(struct wb_buf *out, const struct upp_message *m)
{
    wb_buf_addf(out, "%u:%zu;", m->role, m->n_parts);
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct upp_part *p    = &m->parts[i];
        struct upp_str         data = p->media ? p->media->data : p->text;
        wb_buf_addf(out, "%u,%zu,%zu,%zu;", p->kind, p->id.n, p->name.n, data.n);
        wb_buf_add(out, p->id);
        wb_buf_add(out, p->name);
        wb_buf_add(out, data);
    }
}

/* The name of the conversation up to a length of `digested`. */
static int name_of(struct sv_chat_building *rd, size_t length, char out[SV_CHAT_DIGEST + 1], struct upp_err *err)
{
    unsigned char hash[32];
    unsigned      n = sizeof hash;
    if (wb_buf_check(&rd->digested, err) < 0)
        return -UPP_ENOMEM;
    if (EVP_Digest(rd->digested.p ? rd->digested.p : "", length, hash, &n, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    for (size_t i = 0; i < sizeof hash; i++)
        (void)snprintf(out + 2 * i, 3, "%02x", hash[i]);
    return 0;
}

/* Results of a round, and calls of an assistant message, may come one by one. */
static int join(struct sv_chat_building *rd, struct upp_message *to, const struct upp_part *more, size_t n,
                struct upp_err *err)
{
    struct upp_part *parts = wb_new_n(&rd->x->arena, struct upp_part, to->n_parts + n);
    if (!parts)
        return wb_arena_check(&rd->x->arena, err);
    memcpy(parts, to->parts, to->n_parts * sizeof *parts);
    memcpy(parts + to->n_parts, more, n * sizeof *parts);
    to->parts = parts;
    to->n_parts += n;
    return 0;
}

/* The message whose results come next, and those that it has already; NULL: none. */
static const struct upp_message *calls_before(const struct sv_chat_building *rd, const struct upp_message **results)
{
    const struct sv_entries  *list = &rd->to->list;
    size_t                    n    = list->n;
    const struct upp_message *last = n ? &list->p[n - 1].message : NULL;
    *results                       = NULL;
    if (last && last->role == UPP_ROLE_TOOL) {
        *results = last;
        last     = --n ? &list->p[n - 1].message : NULL;
    }
    if (!n)
        return rd->calls;
    return last->role == UPP_ROLE_ASSISTANT ? last : NULL;
}

/* A result belongs to a call of the message right before, which has no other one. */
static int name_results(struct sv_chat_building *rd, yyjson_val *at, struct upp_part *parts, size_t n,
                        struct upp_err *err)
{
    const struct upp_message *results, *calls = calls_before(rd, &results);
    for (size_t i = 0; i < n; i++) {
        struct upp_str         id   = parts[i].id;
        yyjson_val            *from = sv_member(at, UPP_STR("tool_call_id"));
        const struct upp_part *call = NULL;
        while (calls && (call = upp_part_next(calls, call, UPP_PARTS_CALLS)) && !wb_str_eq(call->id, id))
            ;
        if (!call)
            return sv_body_wrong(rd->body, from ? from : at, err,
                                 "no call before has the id '%.*s': a result comes right after its call", UPP_FMT(id));
        if (results && sv_chat_count(results, UPP_PARTS_RESULTS, id) >= sv_chat_count(calls, UPP_PARTS_CALLS, id))
            return sv_body_wrong(rd->body, from ? from : at, err, "a call has one result: '%.*s' has two", UPP_FMT(id));
        parts[i].name = call->name;
    }
    return 0;
}

int sv_chat_push(struct sv_chat_building *rd, yyjson_val *at, uint8_t role, struct upp_part *parts, size_t n,
                 struct upp_err *err)
{
    struct sv_entries  *list = &rd->to->list;
    struct upp_message *last = list->n ? &list->p[list->n - 1].message : NULL;
    int                 r    = role == UPP_ROLE_TOOL ? name_results(rd, at, parts, n, err) : 0;
    if (r < 0)
        return r;
    struct upp_message message = {.role = role, .time_ms = wb_wall_ms(), .parts = parts, .n_parts = n};
    if (last && last->role == role && n && (parts[0].kind == UPP_PART_RESULT || parts[0].kind == UPP_PART_CALL)) {
        digest_message(&rd->digested, &message);
        return join(rd, last, parts, n, err);
    }
    if (role == UPP_ROLE_ASSISTANT) {
        r            = check_results(rd, at, err);
        rd->before   = rd->digested.n;
        rd->to->next = list->n + 1;
    }
    if (r >= 0 && list->n == rd->max)
        r = upp_fail(err, UPP_EBUG, "more messages than there are");
    if (r < 0)
        return r;
    list->p[list->n++] = (struct wm_entry){
        .kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL, .message = message};
    digest_message(&rd->digested, &message);
    return 0;
}

int sv_chat_push_system(struct sv_chat_building *rd, yyjson_val *at, const struct upp_message *m, struct upp_err *err)
{
    struct upp_message taken = *m;
    int                r     = sv_system_take(rd->body, at, rd->agent, &rd->x->arena, &taken, &rd->system, err);
    return r <= 0 ? r : sv_chat_push(rd, at, taken.role, taken.parts, taken.n_parts, err);
}

int sv_chat_begin(struct sv_chat_building *rd, struct sv_exchange *x, const struct sv_body *body,
                  const struct wr_agent_def *agent, size_t max, struct sv_chat_messages *to, struct upp_err *err)
{
    *to        = (struct sv_chat_messages){0};
    *rd        = (struct sv_chat_building){.x        = x,
                                           .body     = body,
                                           .agent    = agent,
                                           .to       = to,
                                           .max      = max,
                                           .system   = SV_SYSTEM,
                                           .digested = WB_BUF(SV_MAX_BODY * 2)};
    to->list.p = wb_new_n(&x->arena, struct wm_entry, max);
    return to->list.p ? 0 : wb_arena_check(&x->arena, err);
}

int sv_chat_end(struct sv_chat_building *rd, yyjson_val *at, struct upp_err *err)
{
    int r = check_results(rd, at, err);
    if (r < 0)
        return r;
    rd->to->system = rd->system.first;
    r              = sv_system_text(&rd->x->arena, &rd->system, &rd->to->instructions, err);
    if (r >= 0 && rd->to->next)
        r = name_of(rd, rd->before, rd->to->before, err);
    return r < 0 ? r : name_of(rd, rd->digested.n, rd->to->all, err);
}

void sv_chat_done(struct sv_chat_building *rd)
{
    sv_system_done(&rd->system);
    wb_buf_done(&rd->digested);
}

/* ---- `messages` -------------------------------------------------------------------------------------------------- */

static int read_message(struct sv_chat_building *rd, yyjson_val *v, struct upp_err *err)
{
    static const struct {
        struct upp_str name;
        uint8_t        role; /* 0: system */
    } roles[]               = {{UPP_STR_INIT("user"), UPP_ROLE_USER},
                               {UPP_STR_INIT("assistant"), UPP_ROLE_ASSISTANT},
                               {UPP_STR_INIT("tool"), UPP_ROLE_TOOL},
                               {UPP_STR_INIT("system"), 0},
                               {UPP_STR_INIT("developer"), 0}};
    struct upp_message m    = {0};
    struct upp_str     role = {NULL, 0};
    yyjson_val        *at   = sv_member(v, UPP_STR("role"));
    size_t             i    = 0;
    if (!yyjson_is_obj(v))
        return sv_body_wrong(rd->body, v, err, "a message is an object");
    int r = sv_body_str(rd->body, v, UPP_STR("role"), &role, err);
    if (r < 0)
        return r;
    while (i < WB_LEN(roles) && !wb_str_eq(role, roles[i].name))
        i++;
    if (i == WB_LEN(roles))
        return sv_body_wrong(rd->body, at ? at : v, err, "the role is system, developer, user, assistant or tool");
    m.role = roles[i].role ? roles[i].role : UPP_ROLE_USER;
    r      = m.role == UPP_ROLE_ASSISTANT ? read_assistant(rd, v, &m, err)
             : m.role == UPP_ROLE_TOOL    ? read_result(rd, v, &m, err)
                                          : read_content(rd, v, &m, 0, err);
    if (r < 0)
        return r;
    return roles[i].role ? sv_chat_push(rd, v, m.role, m.parts, m.n_parts, err) : sv_chat_push_system(rd, v, &m, err);
}

static int read_all(struct sv_chat_building *rd, yyjson_val *list, struct upp_err *err)
{
    yyjson_val *v;
    size_t      i, max;
    yyjson_arr_foreach(list, i, max, v)
    {
        int r = read_message(rd, v, err);
        if (r < 0)
            return r;
    }
    if (rd->to->list.n == rd->to->next)
        return sv_body_wrong(rd->body, list, err, "the last message is a user's or the result of a tool");
    return sv_chat_end(rd, list, err);
}

int sv_chat_read_messages(struct sv_exchange *x, const struct sv_body *b, const struct wr_agent_def *agent,
                          struct sv_chat_messages *ret, struct upp_err *err)
{
    struct sv_chat_building rd;
    yyjson_val             *list = NULL;
    int                     r    = sv_body_array(b, b->root, UPP_STR("messages"), &list, err);
    size_t                  n    = r > 0 ? yyjson_arr_size(list) : 0;
    if (r >= 0 && (!n || n > SV_CHAT_MAX))
        r = sv_body_wrong(b, list ? list : b->root, err, "messages is an array of 1 to %d messages", SV_CHAT_MAX);
    if (r < 0)
        return r;
    r = sv_chat_begin(&rd, x, b, agent, n, ret, err);
    if (r >= 0)
        r = read_all(&rd, list, err);
    sv_chat_done(&rd);
    return r;
}

int sv_chat_answers(struct sv_exchange *x, const struct sv_chat_messages *m, struct sv_answers *ret,
                    struct upp_err *err)
{
    const struct upp_message *results = m->next < m->list.n ? &m->list.p[m->next].message : NULL;
    *ret                              = (struct sv_answers){0};
    if (m->list.n - m->next != 1 || results->role != UPP_ROLE_TOOL)
        return 0;
    ret->p = wb_new_n(&x->arena, struct wr_answer, results->n_parts);
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    for (; ret->n < results->n_parts; ret->n++)
        ret->p[ret->n] = (struct wr_answer){.call = results->parts[ret->n].id, .result = results->parts[ret->n].text};
    return 1;
}
