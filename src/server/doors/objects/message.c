/* server/doors/objects/message.c — messages as objects: read from requests, with their content and their metadata, and
 * written. */
#include "server/doors/objects/message.h"

#include "base/clock.h"
#include "base/defs.h"
#include "dialects/aitp/aitp.h"
#include "dialects/assistants/objects.h"
#include "json/value.h"
#include "server/doors/options.h"
#include "server/doors/objects/message_files.h"
#include "server/members/members.h"

static int read_part(const struct sv_body *b, yyjson_val *v, uint8_t role, struct wb_arena *a, struct upp_part *ret,
                     struct upp_err *err)
{
    struct upp_str type = {NULL, 0}, text = {NULL, 0};
    if (yyjson_is_str(v)) { /* AITP */
        *ret = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(v)};
        return 0;
    }
    if (!yyjson_is_obj(v))
        return sv_body_wrong(b, v, err, "a part of a content is an object or a string");
    int r = sv_body_str(b, v, UPP_STR("type"), &type, err);
    if (r < 0)
        return r;
    bool file = wb_str_eq(type, UPP_STR("image_file"));
    if (role == UPP_ROLE_USER && (file || wb_str_eq(type, UPP_STR("image_url"))))
        return sv_read_image(b, v, file, a, ret, err);
    if (!wb_str_eq(type, UPP_STR("text"))) {
        char shown[WJ_QUOTED];
        return sv_body_wrong(b, sv_member(v, UPP_STR("type")) ? sv_member(v, UPP_STR("type")) : v, err,
                             "a part of type %s is not taken from clients",
                             type.p ? wj_quote(type, shown, sizeof shown) : "none");
    }
    r = sv_body_str(b, v, UPP_STR("text"), &text, err);
    if (r < 0)
        return r;
    if (r == 0)
        return sv_body_wrong(b, v, err, "a text part needs 'text', a string");
    *ret = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
    return 0;
}

static int read_content(const struct sv_body *b, yyjson_val *v, struct wb_arena *a, struct upp_message *m,
                        struct upp_err *err)
{
    yyjson_val *content = sv_member(v, UPP_STR("content"));
    if (!content)
        return sv_body_wrong(b, v, err, "a message needs a content");
    bool string = yyjson_is_str(content);
    if (!string && !yyjson_is_arr(content))
        return sv_body_wrong(b, content, err, "a content is a string or an array of parts");
    size_t n = string ? 1 : yyjson_arr_size(content);
    if (n == 0 || (string && !wj_text(content).n))
        return sv_body_wrong(b, content, err, "the content is empty");
    m->parts = wb_new_n(a, struct upp_part, n);
    if (!m->parts)
        return wb_arena_check(a, err);
    m->n_parts = n;
    if (string) {
        m->parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(content)};
        return 0;
    }
    size_t i, max;
    yyjson_val *part;
    yyjson_arr_foreach(content, i, max, part)
    {
        int r = read_part(b, part, m->role, a, &m->parts[i], err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* The message's role. *system: it is a system message, and is read as a user's first. */
static int read_role(const struct sv_body *b, yyjson_val *v, uint8_t *ret, bool *system, struct upp_err *err)
{
    struct upp_str role = {NULL, 0};
    yyjson_val *given = sv_member(v, UPP_STR("role"));
    int r = sv_body_str(b, v, UPP_STR("role"), &role, err);
    if (r < 0)
        return r;
    if (r == 0 && wd_aitp_actor(v).p) { /* it follows from the actor: server/members/members.h */
        *ret = UPP_ROLE_USER;
        *system = false;
        return 0;
    }
    *system = sv_system_role(role);
    *ret = *system || wb_str_eq(role, UPP_STR("user")) ? UPP_ROLE_USER
           : wb_str_eq(role, UPP_STR("assistant"))     ? UPP_ROLE_ASSISTANT
                                                       : 0;
    return *ret ? 0 : sv_body_wrong(b, given ? given : v, err, "the role is user or assistant");
}

/* AITP: a message that is only a text is the user's. */
static int read_bare(const struct sv_body *b, yyjson_val *v, struct wb_arena *a, struct upp_message *m,
                     struct upp_err *err)
{
    if (!wj_text(v).n)
        return sv_body_wrong(b, v, err, "the content is empty");
    m->role = UPP_ROLE_USER;
    m->time_ms = wb_wall_ms();
    m->parts = wb_new(a, struct upp_part);
    m->n_parts = 1;
    if (m->parts)
        *m->parts = (struct upp_part){.kind = UPP_PART_TEXT, .text = wj_text(v)};
    return wb_arena_check(a, err);
}

int sv_message_metadata(struct wb_arena *a, struct upp_str given, struct upp_str *ret, struct upp_err *err)
{
    *ret = wb_arena_printf(a, "{\"" SV_MESSAGE_METADATA "\":%.*s}", UPP_FMT(given));
    return wb_arena_check(a, err);
}

int sv_read_message(const struct sv_body *b, yyjson_val *v, const struct wr_agent_def *agent, struct wb_arena *a,
                    struct sv_system *to, struct wm_entry *ret, struct upp_err *err)
{
    struct upp_str metadata = {NULL, 0};
    bool system;
    *ret = (struct wm_entry){.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL};
    if (v && yyjson_is_str(v)) {
        int r = read_bare(b, v, a, &ret->message, err);
        return r < 0 ? r : 1;
    }
    if (!v || !yyjson_is_obj(v))
        return v ? sv_body_wrong(b, v, err, "a message is an object or a string")
                 : upp_fail(err, UPP_EINVALID, "no message");
    int r = read_role(b, v, &ret->message.role, &system, err);
    if (r < 0)
        return r;
    ret->message.time_ms = wb_wall_ms();
    r = read_content(b, v, a, &ret->message, err);
    if (r >= 0 && system) {
        r = sv_system_take(b, v, agent, a, &ret->message, to, err);
        if (r == 0)
            return 0;
    }
    if (r >= 0)
        r = sv_metadata_read(b, v, a, &metadata, err);
    if (r > 0)
        r = sv_message_metadata(a, metadata, &ret->message.metadata, err);
    return r < 0 ? r : 1;
}

WEFT_SUSPENDS int sv_read_messages(struct sv_exchange *x, const struct sv_body *b, yyjson_val *object,
                                   struct upp_str name, const struct wr_agent_def *agent, struct sv_system *system,
                                   struct sv_entries *ret, struct upp_err *err)
{
    yyjson_val *list = NULL, *v;
    size_t i, max;
    *ret = (struct sv_entries){0};
    int r = sv_body_array(b, object, name, &list, err);
    if (r <= 0)
        return r;
    size_t size = yyjson_arr_size(list);
    if (size > SV_MAX_MESSAGES)
        return sv_body_wrong(b, list, err, "at most %d messages in one request", SV_MAX_MESSAGES);
    ret->p = wb_new_n(&x->arena, struct wm_entry, size + 1);
    ret->from = wb_new_n(&x->arena, yyjson_val *, size + 1);
    if (!ret->p || !ret->from)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(list, i, max, v)
    {
        struct wm_entry *e = &ret->p[ret->n];
        r = sv_read_message(b, v, agent, &x->arena, system, e, err);
        if (r == 0)
            continue;
        if (r > 0)
            r = sv_read_files(x, b, v, agent, &e->message, err);
        if (r < 0)
            return r;
        ret->from[ret->n++] = v;
    }
    return 0;
}

int sv_write_message(struct wj_writer *w, struct wb_arena *a, struct wb_uuid thread, const struct wl_line *line,
                     const char *why, struct upp_err *err)
{
    const struct upp_message *m = &line->entry.message;
    yyjson_val *metadata;
    int r = asst_stored(a, m->metadata, &metadata, err);
    if (r < 0)
        return r;
    const struct asst_message shown = {
        .id = line->id,
        .thread = thread,
        .run = line->run,
        .assistant = line->entry.who,
        .from_assistant = m->role == UPP_ROLE_ASSISTANT,
        .created_ms = m->time_ms,
        .completed_ms = m->interrupted ? 0 : m->time_ms,
        .incomplete_ms = m->interrupted ? m->time_ms : 0,
        .status = m->interrupted ? "incomplete" : "completed",
        .reason = m->interrupted ? why : NULL,
        .content = m,
        .metadata = sv_member(metadata, UPP_STR(SV_MESSAGE_METADATA)),
    };
    asst_message_write(w, &shown);
    return 0;
}
