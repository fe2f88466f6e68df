/* server/doors/chat/messages.c — reads the messages of a chat request, and digests them. */
#include "server/doors/chat/chat.h"

#include "base/defs.h"
#include "dialects/core/data_url.h"
#include "json/value.h"
#include "model/file_url.h"
#include "server/doors/objects/message_files.h"

enum { PARTS_MAX = 1024 };

static int read_media(struct sv_conversation_building *rd, yyjson_val *v, const char *object, const char *member,
                      uint8_t kind, struct upp_part *ret, struct upp_err *err)
{
    yyjson_val *inner = NULL;
    struct upp_str data = {NULL, 0}, name = {NULL, 0}, id;
    int r = sv_body_object(rd->body, v, wb_cstr(object), &inner, err);
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

static int read_part(struct sv_conversation_building *rd, yyjson_val *v, uint8_t role, struct upp_part *ret,
                     struct upp_err *err)
{
    struct upp_str type = {NULL, 0}, text = {NULL, 0};
    char shown[WJ_QUOTED];
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

static int read_content(struct sv_conversation_building *rd, yyjson_val *v, struct upp_message *m, size_t more,
                        struct upp_err *err)
{
    yyjson_val *content = sv_member(v, UPP_STR("content")), *part;
    bool string = yyjson_is_str(content);
    size_t i, max, n = string ? 1 : yyjson_arr_size(content);
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
        m->n_parts = m->parts[0].text.n || !more ? 1 : 0;
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

static int read_call(struct sv_conversation_building *rd, yyjson_val *v, struct upp_part *ret, struct upp_err *err)
{
    yyjson_val *function = NULL;
    *ret = (struct upp_part){.kind = UPP_PART_CALL};
    int r = sv_body_str(rd->body, v, UPP_STR("id"), &ret->id, err);
    if (r > 0)
        r = sv_body_object(rd->body, v, UPP_STR("function"), &function, err);
    if (r > 0)
        r = sv_body_str(rd->body, function, UPP_STR("name"), &ret->name, err);
    if (r > 0)
        r = sv_body_str(rd->body, function, UPP_STR("arguments"), &ret->text, err);
    if (r == 0)
        return sv_body_wrong(rd->body, v, err, "a call has id, function.name and function.arguments");
    return r < 0 ? r : 0;
}

static int read_assistant(struct sv_conversation_building *rd, yyjson_val *v, struct upp_message *m,
                          struct upp_err *err)
{
    yyjson_val *calls = NULL, *call;
    size_t i, max;
    int r = sv_body_array(rd->body, v, UPP_STR("tool_calls"), &calls, err);
    size_t n = r > 0 ? yyjson_arr_size(calls) : 0;
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

static int read_result(struct sv_conversation_building *rd, yyjson_val *v, struct upp_message *m, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SV_MAX_BODY);
    struct upp_str id = {NULL, 0};
    int r = sv_body_str(rd->body, v, UPP_STR("tool_call_id"), &id, err);
    if (r == 0)
        return sv_body_wrong(rd->body, v, err, "a message of role tool needs a tool_call_id");
    if (r >= 0)
        r = read_content(rd, v, m, 0, err);
    if (r >= 0)
        r = sv_conversation_text(&text, m, err);
    m->n_parts = 1;
    return r < 0 ? r : sv_conversation_result(&rd->x->arena, id, wb_buf_str(&text), m->parts, err);
}

static int read_message(struct sv_conversation_building *rd, yyjson_val *v, struct upp_err *err)
{
    static const struct {
        struct upp_str name;
        uint8_t role; /* 0: system */
    } roles[] = {{UPP_STR_INIT("user"), UPP_ROLE_USER},
                 {UPP_STR_INIT("assistant"), UPP_ROLE_ASSISTANT},
                 {UPP_STR_INIT("tool"), UPP_ROLE_TOOL},
                 {UPP_STR_INIT("system"), 0},
                 {UPP_STR_INIT("developer"), 0}};
    struct upp_message m = {0};
    struct upp_str role = {NULL, 0};
    yyjson_val *at = sv_member(v, UPP_STR("role"));
    size_t i = 0;
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
    r = m.role == UPP_ROLE_ASSISTANT ? read_assistant(rd, v, &m, err)
        : m.role == UPP_ROLE_TOOL    ? read_result(rd, v, &m, err)
                                     : read_content(rd, v, &m, 0, err);
    if (r < 0)
        return r;
    return roles[i].role ? sv_conversation_push(rd, v, m.role, m.parts, m.n_parts, err)
                         : sv_conversation_push_system(rd, v, &m, err);
}

static int read_all(struct sv_conversation_building *rd, yyjson_val *list, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, max;
    yyjson_arr_foreach(list, i, max, v)
    {
        int r = read_message(rd, v, err);
        if (r < 0)
            return r;
    }
    if (rd->to->list.n == rd->to->next)
        return sv_body_wrong(rd->body, list, err, "the last message is a user's or the result of a tool");
    return sv_conversation_end(rd, list, err);
}

int sv_chat_read_messages(struct sv_exchange *x, const struct sv_body *b, const struct wr_agent_def *agent,
                          struct sv_conversation_messages *ret, struct upp_err *err)
{
    struct sv_conversation_building rd;
    yyjson_val *list = NULL;
    int r = sv_body_array(b, b->root, UPP_STR("messages"), &list, err);
    size_t n = r > 0 ? yyjson_arr_size(list) : 0;
    if (r >= 0 && (!n || n > SV_CONVERSATION_MAX))
        r = sv_body_wrong(b, list ? list : b->root, err, "messages is an array of 1 to %d messages",
                          SV_CONVERSATION_MAX);
    if (r < 0)
        return r;
    r = sv_conversation_begin(&rd, x, b, agent, n, ret, err);
    if (r >= 0)
        r = read_all(&rd, list, err);
    sv_conversation_done(&rd);
    return r;
}
