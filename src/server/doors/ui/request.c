/* server/doors/ui/request.c — reads the last message of a chat request, and the answers in it. */
#include "server/doors/ui/ui.h"

#include "base/clock.h"
#include "base/defs.h"
#include "dialects/core/data_url.h"
#include "json/pointer.h"
#include "json/value.h"
#include "json/write.h"
#include "log/log.h"
#include "model/file_url.h"
#include "model/id.h"
#include "server/doors/objects/message_files.h"
#include "server/doors/options.h"
#include "server/doors/system_text.h"
#include "server/http/error.h"

enum { CHAT_MAX = 200, MESSAGES_MAX = 65536, PARTS_MAX = 1024 };

/* ---- The request ------------------------------------------------------------------------------------------------- */

static int read_role(const struct sv_ui_request *q, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    *ret = (struct upp_str){NULL, 0};
    return sv_body_str(&q->body, v, UPP_STR("role"), ret, err);
}

/* Looks at every message only as far as its role. */
static int read_messages(struct sv_ui_request *q, struct upp_err *err)
{
    yyjson_val *v;
    size_t i, max;
    struct upp_str role = {NULL, 0}, id = {NULL, 0};
    int r = sv_body_object(&q->body, q->body.root, UPP_STR("message"), &q->last, err);
    if (r == 0)
        r = sv_body_array(&q->body, q->body.root, UPP_STR("messages"), &q->list, err);
    if (r < 0)
        return r;
    size_t n = yyjson_arr_size(q->list);
    if (n > MESSAGES_MAX)
        return sv_body_wrong(&q->body, q->list, err, "at most %d messages", MESSAGES_MAX);
    yyjson_arr_foreach(q->list, i, max, v)
    {
        if (!yyjson_is_obj(v))
            return sv_body_wrong(&q->body, v, err, "a message is an object");
        r = read_role(q, v, &role, err);
        q->n_system += sv_system_role(role);
        if (r >= 0 && i + 1 < n && wb_str_eq(role, UPP_STR("assistant"))) {
            r = sv_body_str(&q->body, v, UPP_STR("id"), &id, err);
            q->before = id;
        }
        if (r < 0)
            return r;
        q->last = v;
    }
    return q->last || q->regenerate
               ? 0
               : sv_body_wrong(&q->body, q->body.root, err, "the request has neither messages nor a message");
}

static bool is_taken(const struct sv_ui_request *q)
{
    return q->continues || q->question || q->regenerate;
}

/* A last message of another role. */
static int refuse_last(const struct sv_ui_request *q, struct upp_err *err)
{
    yyjson_val *at = sv_member(q->last, UPP_STR("role"));
    return sv_body_wrong(&q->body, at ? at : q->last, err,
                         "the last message is a user's, or an assistant's with outputs");
}

static int read_trigger(struct sv_ui_request *q, struct upp_err *err)
{
    struct upp_str trigger = UPP_STR("submit-message");
    yyjson_val *at = sv_member(q->body.root, UPP_STR("trigger"));
    int r = sv_body_str(&q->body, q->body.root, UPP_STR("trigger"), &trigger, err);
    if (r < 0)
        return r;
    q->regenerate = wb_str_eq(trigger, UPP_STR("regenerate-message"));
    if (!q->regenerate && !wb_str_eq(trigger, UPP_STR("submit-message")))
        return sv_body_wrong(&q->body, at, err, "the trigger is submit-message or regenerate-message");
    return 0;
}

int sv_ui_read(struct sv_exchange *x, struct sv_ui_request *q, struct upp_err *err)
{
    static const char *const known[] = {"id", "messages", "message", "trigger", "messageId", "agent", SV_OPTIONS, NULL};
    struct upp_str role = {NULL, 0};
    *q = (struct sv_ui_request){0};
    int r = sv_body_read(x, known, &q->body, err);
    if (r >= 0)
        r = sv_body_str(&q->body, q->body.root, UPP_STR("id"), &q->chat, err);
    if (r >= 0 && (!q->chat.n || q->chat.n > CHAT_MAX)) {
        yyjson_val *id = sv_member(q->body.root, UPP_STR("id"));
        return sv_body_wrong(&q->body, id ? id : q->body.root, err, "a chat has an id of 1 to %d bytes", CHAT_MAX);
    }
    if (r >= 0)
        r = read_trigger(q, err);
    if (r >= 0)
        r = sv_body_str(&q->body, q->body.root, UPP_STR("messageId"), &q->message_id, err);
    if (r >= 0)
        r = read_messages(q, err);
    if (r >= 0)
        r = read_role(q, q->last, &role, err);
    q->n_system += !q->list && sv_system_role(role);
    if (r >= 0)
        r = sv_body_str(&q->body, q->last, UPP_STR("id"), &q->last_id, err);
    if (r < 0)
        return r;
    q->question = wb_str_eq(role, UPP_STR("user"));
    q->continues = !q->regenerate && wb_str_eq(role, UPP_STR("assistant"));
    bool taken = is_taken(q) || sv_system_role(role); /* sv_ui_system */
    return taken ? 0 : refuse_last(q, err);
}

/* ---- A user's message -------------------------------------------------------------------------------------------- */

struct file {
    struct upp_str url, mime, name;
};

/* Bytes, an address, or an uploaded file: by its name, as GET /api/chat shows it, or by the path of its content. */
static int read_file(struct sv_exchange *x, const struct sv_ui_request *q, yyjson_val *v, const struct file *f,
                     struct upp_part *ret, struct upp_err *err)
{
    struct upp_str id;
    if (wm_file_url(f->url, &id))
        return sv_body_wrong(&q->body, sv_member(v, UPP_STR("url")), err,
                             "an uploaded file is given as urn:weft:file:{id} or /v1/files/{id}/content");
    if (wb_str_starts(f->url, UPP_STR(WM_FILE_URN)) && !sv_file_of_url(x, f->url, &id))
        return sv_body_wrong(&q->body, sv_member(v, UPP_STR("url")), err, "the id of a file begins with 'file-'");
    if (sv_file_of_url(x, f->url, &id))
        return sv_file_part(&x->arena, id, f->mime, ret, err);
    return wd_url_media(&x->arena, f->url, f->mime, f->name, ret, err);
}

/* 1: a part of the entry; 0: of no meaning to an agent. */
static int read_part(struct sv_exchange *x, const struct sv_ui_request *q, yyjson_val *v, struct upp_part *ret,
                     struct upp_err *err)
{
    struct upp_str type = {NULL, 0}, text = {NULL, 0}, mime = {NULL, 0}, name = {NULL, 0};
    if (!yyjson_is_obj(v))
        return sv_body_wrong(&q->body, v, err, "a part is an object");
    int r = sv_body_str(&q->body, v, UPP_STR("type"), &type, err);
    if (r < 0)
        return r;
    if (wb_str_eq(type, UPP_STR("text"))) {
        r = sv_body_str(&q->body, v, UPP_STR("text"), &text, err);
        *ret = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
        return r == 0 ? sv_body_wrong(&q->body, v, err, "a text part needs 'text', a string") : r;
    }
    if (wb_str_eq(type, UPP_STR("file"))) {
        r = sv_body_str(&q->body, v, UPP_STR("url"), &text, err);
        if (r >= 0)
            r = sv_body_str(&q->body, v, UPP_STR("mediaType"), &mime, err);
        if (r >= 0)
            r = sv_body_str(&q->body, v, UPP_STR("filename"), &name, err);
        if (r >= 0 && !text.n)
            return sv_body_wrong(&q->body, v, err, "a file part needs a url");
        r = r < 0 ? r : read_file(x, q, v, &(struct file){text, mime, name}, ret, err);
        return r < 0 ? r : 1;
    }
    if (wb_str_starts(type, UPP_STR("data-")) || wb_str_eq(type, UPP_STR("step-start")))
        return 0;
    yyjson_val *at = sv_member(v, UPP_STR("type"));
    return sv_body_wrong(&q->body, at ? at : v, err, "a part of type '%.*s' is not taken from a user", UPP_FMT(type));
}

/* A message as an entry of the user. */
WEFT_SUSPENDS static int read_entry(struct sv_exchange *x, const struct sv_ui_request *q, yyjson_val *message,
                                    struct wm_entry *ret, struct upp_err *err)
{
    yyjson_val *parts = NULL, *v;
    size_t i, max;
    *ret = (struct wm_entry){.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL};
    struct upp_message *m = &ret->message;
    m->role = UPP_ROLE_USER;
    m->time_ms = wb_wall_ms();
    int r = sv_body_str(&q->body, message, UPP_STR("id"), &m->id, err);
    if (r >= 0)
        r = sv_body_array(&q->body, message, UPP_STR("parts"), &parts, err);
    if (r >= 0 && yyjson_arr_size(parts) > PARTS_MAX)
        r = sv_body_wrong(&q->body, parts, err, "at most %d parts", PARTS_MAX);
    if (r < 0)
        return r;
    m->parts = wb_new_n(&x->arena, struct upp_part, yyjson_arr_size(parts) + 1);
    if (!m->parts)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(parts, i, max, v)
    {
        r = read_part(x, q, v, &m->parts[m->n_parts], err);
        if (r < 0)
            return r;
        if (r > 0)
            m->n_parts++;
    }
    if (!m->n_parts)
        return sv_body_wrong(&q->body, parts ? parts : message, err, "the message is empty");
    return sv_check_files(x, &q->body, parts, ret, 0, 1, err);
}

int sv_ui_entry(struct sv_exchange *x, const struct sv_ui_request *q, struct wm_entry *ret, struct upp_err *err)
{
    return read_entry(x, q, q->last, ret, err);
}

/* ---- System messages --------------------------------------------------------------------------------------------- */

/* A message that is no system message changes nothing but where the last answer is. */
WEFT_SUSPENDS static int take_system(struct sv_exchange *x, const struct sv_ui_request *q,
                                     const struct wr_agent_def *agent, yyjson_val *v, struct sv_system *to,
                                     struct sv_entries *ret, struct upp_err *err)
{
    struct wm_entry *e = &ret->p[ret->n];
    struct upp_str role;
    int r = read_role(q, v, &role, err);
    if (r < 0 || !sv_system_role(role)) {
        if (wb_str_eq(role, UPP_STR("assistant")))
            ret->n = 0;
        return r;
    }
    r = read_entry(x, q, v, e, err);
    if (r >= 0)
        r = sv_system_take(&q->body, v, agent, &x->arena, &e->message, to, err);
    if (r > 0)
        ret->n++;
    return r;
}

int sv_ui_system(struct sv_exchange *x, const struct sv_ui_request *q, const struct wr_agent_def *agent,
                 struct upp_str *text, struct sv_entries *ret, struct upp_err *err)
{
    WB_CLEANUP(sv_system_done) struct sv_system system = SV_SYSTEM;

    yyjson_val *v;
    size_t i, max;
    int r = 0;
    *ret = (struct sv_entries){.p = wb_new_n(&x->arena, struct wm_entry, q->n_system + 1)};
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(q->n_system ? q->list : NULL, i, max, v)
    {
        r = take_system(x, q, agent, v, &system, ret, err);
        if (r < 0)
            return r;
    }
    if (q->n_system && !q->list)
        r = take_system(x, q, agent, q->last, &system, ret, err);
    if (r >= 0)
        r = sv_system_text(&x->arena, &system, text, err);
    return r < 0 || is_taken(q) ? r : refuse_last(q, err);
}

/* ---- Outputs and approvals --------------------------------------------------------------------------------------- */

static const struct wm_pending *pending_call(const struct wr_run_info *run, struct upp_str id)
{
    for (size_t i = 0; i < run->n_pending; i++)
        if (wb_str_eq(run->pending[i].call, id))
            return &run->pending[i];
    return NULL;
}

static int error_text(struct sv_exchange *x, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY * 6);
    struct upp_str text = wj_text_at(v, "errorText");
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_str(&w, text.p ? text : UPP_STR(""));
    return wj_writer_text(&w, &x->arena, ret);
}

static int read_approval(const struct sv_ui_request *q, yyjson_val *v, struct wr_answer *ret, struct upp_err *err)
{
    yyjson_val *approval = NULL;
    int r = sv_body_object(&q->body, v, UPP_STR("approval"), &approval, err);
    if (r > 0 && !wb_str_eq(wj_text_at(approval, "id"), ret->call)) { /* the request's id is the call's */
        yyjson_val *id = sv_member(approval, UPP_STR("id"));
        return sv_body_wrong(&q->body, id ? id : approval, err,
                             "an approval has the id of its request: that of the call '%.*s'", UPP_FMT(ret->call));
    }
    if (r > 0)
        r = sv_body_bool(&q->body, approval, UPP_STR("approved"), &ret->approved, err);
    if (r == 0)
        return sv_body_wrong(&q->body, v, err, "an approval needs 'approved', true or false");
    struct upp_str reason = {NULL, 0};
    r = r < 0 ? r : sv_body_str(&q->body, approval, UPP_STR("reason"), &reason, err);
    if (!ret->approved)
        ret->reason = reason;
    return r < 0 ? r : 1;
}

/* 1: *ret answers the call; 0: the part answers nothing. */
static int read_answer(struct sv_exchange *x, const struct sv_ui_request *q, yyjson_val *v,
                       const struct wr_run_info *run, struct wr_answer *ret, struct upp_err *err)
{
    struct upp_str state = wj_text_at(v, "state"), id = wj_text_at(v, "toolCallId");
    const struct wm_pending *p = id.p ? pending_call(run, id) : NULL;
    bool error = wb_str_eq(state, UPP_STR("output-error"));
    if (!p)
        return 0; /* an earlier call: what the log says about it counts */
    *ret = (struct wr_answer){.call = id, .is_error = error};
    if (wb_str_eq(state, UPP_STR("approval-responded")))
        return p->approval
                   ? read_approval(q, v, ret, err)
                   : sv_body_wrong(&q->body, v, err, "call '%.*s' needs an output, not an approval", UPP_FMT(id));
    if (!error && !wb_str_eq(state, UPP_STR("output-available")))
        return 0;
    if (p->approval) {
        int r = upp_fail(err, UPP_EREFUSED, "call '%.*s' is run by the server: it needs an approval, and no output",
                         UPP_FMT(id));
        wj_pointer_err(err, q->body.root, v);
        return r;
    }
    yyjson_val *output = yyjson_obj_getn(v, "output", 6); /* null is an output too */
    if (!error && !output)
        return sv_body_wrong(&q->body, v, err, "an output-available part needs an output");
    int r = error ? error_text(x, v, &ret->result, err) : sv_body_text(&x->arena, output, &ret->result, err);
    return r < 0 ? r : 1;
}

bool sv_ui_is_answer(struct upp_str message, const struct wm_run *run)
{
    struct wb_uuid u;
    struct wm_id id;
    return wl_id_parse(message, UPP_STR("msg_"), &u) && wm_id_parse(u, &id) && id.noun == WM_NOUN_TURN &&
           id.node == run->node && id.index == run->input;
}

int sv_ui_answers(struct sv_exchange *x, const struct sv_ui_request *q, const struct wr_run_info *run,
                  struct sv_answers *ret, struct upp_err *err)
{
    yyjson_val *parts = NULL, *v;
    size_t i, max;
    if (q->last_id.p && !sv_ui_is_answer(q->last_id, &run->run)) /* on two branches, calls may have the same id */
        return sv_body_wrong(&q->body, sv_member(q->last, UPP_STR("id")), err, "the run does not wait in this message");
    int r = sv_body_array(&q->body, q->last, UPP_STR("parts"), &parts, err);
    if (r < 0)
        return r;
    *ret = (struct sv_answers){.p = wb_new_n(&x->arena, struct wr_answer, run->n_pending + 1)};
    if (!ret->p)
        return wb_arena_check(&x->arena, err);
    yyjson_arr_foreach(parts, i, max, v)
    {
        r = yyjson_is_obj(v) && ret->n < run->n_pending ? read_answer(x, q, v, run, &ret->p[ret->n], err) : 0;
        if (r < 0)
            return r;
        if (r > 0)
            ret->n++;
    }
    return ret->n
               ? 0
               : sv_body_wrong(&q->body, q->last, err, "the message has no output and no approval that is waited for");
}
