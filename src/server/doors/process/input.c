/* server/doors/process/input.c — the messages of a request: new ones become entries, outputs and approvals answers.
 *
 * A client's account of the past has no authority. Messages that the session has already are skipped, whatever they
 * say now; new calls, reasoning, system messages and outputs that nobody asked for are refused.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "dialects/agentapi/agentapi.h"
#include "dialects/core/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "log/log.h"
#include "model/upp_json.h"
#include "server/doors/process/history.h"
#include "server/doors/process/process.h"
#include "server/doors/v1/objects.h"
#include "server/http/core.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum { MESSAGES = 256 /* in one request */ };

struct reading {
    struct sv_exchange        *x;
    struct sv_process         *p;
    struct sv_history          history;
    const struct wr_agent_def *agent;
    struct upp_err            *err;
};

static int wrong(const struct reading *t, const yyjson_val *at, const char *sentence)
{
    return sv_body_wrong(&t->p->body, at, t->err, "%s", sentence);
}

/* ---- One message ------------------------------------------------------------------------------------------------- */

/* What the model cannot hold of a message, and the client's id of it, are stored with it (thread/doc.h). */
static int put_residue(struct wb_arena *a, const struct wm_doc_entry *e, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY);
    struct wj_writer                      w;
    if (!e->id.n && !e->residue)
        return 0;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    wj_put_open(&w, "agentapi", '{');
    if (e->id.n)
        wj_put_str(&w, "id", e->id);
    if (e->residue)
        wj_put_open(&w, "residue", '{');
    for (const struct wm_residue *x = e->residue; x; x = x->next) {
        wj_write_name(&w, x->slot);
        wj_write_raw(&w, x->json.p, x->json.n);
    }
    if (e->residue)
        wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

/* Precedes a client's system message, if the agent allows it. */
static int mark_system(const struct reading *t, struct upp_message *m)
{
    struct upp_part *parts = wb_new_n(&t->x->arena, struct upp_part, m->n_parts + 1);
    if (!parts)
        return wb_arena_check(&t->x->arena, t->err);
    parts[0] = (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR(SV_SYSTEM_MARK)};
    memcpy(parts + 1, m->parts, m->n_parts * sizeof *parts);
    m->parts = parts;
    m->n_parts++;
    return 0;
}

/* The message in the model, copied into the exchange's arena. 1; 0: nothing of it is there. */
static int lift(const struct reading *t, yyjson_val *message, struct wm_entry *ret)
{
    WB_CLEANUP(wd_document_done) struct wd_document d    = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf           text = WB_BUF(SV_MAX_BODY + 4096);
    struct wd_convert_opts                          opts = {.size = sizeof opts, .now_ms = wb_wall_ms()};
    wb_buf_addc(&text, '[');
    int r = wj_write(message, &text, t->err);
    wb_buf_addc(&text, ']');
    if (r >= 0)
        r = wb_buf_check(&text, t->err);
    if (r >= 0)
        r = wd_document_read(&d, wd_document_find(UPP_STR("agentapi")), wb_buf_str(&text), &opts, t->err);
    if (r < 0 || !d.doc.entries.n)
        return r;
    const struct wm_doc_entry *e = &d.doc.entries.p[0];
    *ret = (struct wm_entry){.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL};
    r    = wm_message_copy(&t->x->arena, &e->e.message, &ret->message, t->err);
    if (r >= 0)
        r = put_residue(&t->x->arena, e, &ret->message.metadata, t->err);
    ret->message.time_ms     = opts.now_ms;
    ret->message.time_text   = (struct upp_str){NULL, 0};
    ret->message.interrupted = false;
    return r < 0 ? r : ret->message.n_parts > 0;
}

static int only_text(const struct reading *t, yyjson_val *at, const struct upp_message *m)
{
    for (size_t i = 0; i < m->n_parts; i++)
        if (m->parts[i].kind != UPP_PART_TEXT)
            return wrong(t, at, "a new message of the assistant has text only");
    return 0;
}

/* A message that is none of the past. */
static int take_message(const struct reading *t, yyjson_val *message, bool system)
{
    struct sv_entries *to = &t->p->start.messages;
    struct wm_entry   *e  = &to->p[to->n];
    int                r  = lift(t, message, e);
    if (r == 0)
        return wrong(t, message, "there is nothing in the message that a model could read");
    if (r < 0)
        return r;
    if (system)
        e->message.role = UPP_ROLE_USER;
    r = system                                  ? mark_system(t, &e->message)
        : e->message.role == UPP_ROLE_ASSISTANT ? only_text(t, message, &e->message)
        : e->message.role == UPP_ROLE_USER      ? 0
                                                : wrong(t, message, "messages come from the user");
    to->n += r >= 0;
    return r;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static int add_answer(const struct reading *t, yyjson_val *at, const struct wr_answer *answer)
{
    struct sv_answers *to = &t->p->start.answers;
    if (!answer->call.n)
        return wrong(t, at, "an answer names the call that it is for");
    if (to->n == SV_ANSWERS_MAX)
        return wrong(t, at, "too many answers in one request");
    to->p[to->n++] = *answer;
    return 0;
}

/* Outputs of calls that were answered before are of the past. */
static int take_output(const struct reading *t, yyjson_val *message)
{
    struct wm_entry e;
    int             r = lift(t, message, &e);
    if (r == 0)
        return wrong(t, message, "an output has the data {call_id, output}");
    for (size_t i = 0; r >= 0 && i < e.message.n_parts; i++) {
        const struct upp_part *p = &e.message.parts[i];
        if (sv_history_answered(&t->history, p->id))
            continue;
        r = add_answer(t, message, &(struct wr_answer){.call = p->id, .result = p->text, .is_error = p->is_error});
    }
    return r < 0 ? r : 0;
}

static int take_approval(const struct reading *t, yyjson_val *message)
{
    yyjson_val *content = yyjson_obj_get(message, "content"), *part;
    size_t      i, n;
    int         r = 0;
    if (!yyjson_arr_size(content))
        return wrong(t, message, "an approval has the data {approval_request_id, approve}");
    yyjson_arr_foreach(content, i, n, part)
    {
        yyjson_val      *data = yyjson_obj_get(part, "data"), *approve = yyjson_obj_get(data, "approve");
        struct wr_answer answer = {.call = wj_text_at(data, "approval_request_id")};
        if (!answer.call.n)
            answer.call = wj_text_at(data, "id");
        if (!yyjson_is_bool(approve))
            return wrong(t, part, "an approval has the data {approval_request_id, approve}");
        if (sv_history_answered(&t->history, answer.call))
            continue;
        answer.approved = yyjson_get_bool(approve);
        if (!answer.approved)
            answer.reason = wj_text_at(data, "reason");
        r = add_answer(t, part, &answer);
        if (r < 0)
            return r;
    }
    return 0;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static int refuse_system(const struct reading *t, yyjson_val *message)
{
    int r = wrong(t, message, "system messages of clients are not taken");
    if (t->err) {
        t->err->code = UPP_EREFUSED;
        (void)snprintf(t->err->cause, sizeof t->err->cause, "%s", SV_CLIENT_SYSTEM);
        r = -UPP_EREFUSED;
    }
    return r;
}

static int take(const struct reading *t, yyjson_val *message)
{
    struct upp_str type = wj_text_at(message, "type"), role = wj_text_at(message, "role");
    switch (wd_aap_kind(type)) {
    case WD_AAP_MESSAGE:
        if (wb_str_eq(role, UPP_STR("system"))) {
            bool allowed = t->agent && t->agent->allow_client_system;
            return allowed ? take_message(t, message, true) : refuse_system(t, message);
        }
        return take_message(t, message, false);
    case WD_AAP_OUTPUT:
        return take_output(t, message);
    case WD_AAP_CALL:
        return wrong(t, message, "the session has no such call: calls are made by agents");
    case WD_AAP_REASONING:
        return wrong(t, message, "the session has no such reasoning: it is the model's");
    default:
        break;
    }
    if (wb_str_eq(type, UPP_STR("mcp_approval_response")))
        return take_approval(t, message);
    if (wb_str_eq(type, UPP_STR("heartbeat")) || wb_str_eq(type, UPP_STR("mcp_approval_request")) ||
        wb_str_eq(type, UPP_STR("mcp_list_tools")) || wb_str_eq(type, UPP_STR("error")))
        return 0; /* the server's own, sent back */
    return wrong(t, message, "messages of this type are not taken as input");
}

static int make_room(const struct reading *t, size_t n)
{
    t->p->start.messages.p = wb_new_n(&t->x->arena, struct wm_entry, n ? n : 1);
    t->p->start.answers.p  = wb_new_n(&t->x->arena, struct wr_answer, SV_ANSWERS_MAX);
    return wb_arena_check(&t->x->arena, t->err);
}

/* The session has all messages of the request: the run that the last one started, or else the newest, has its
 * response. */
WEFT_SUSPENDS static int join(struct reading *t)
{
    struct wm_run run;
    t->p->join = t->history.last;
    if (!wb_uuid_eq(t->p->join, (struct wb_uuid){{0}}))
        return 0;
    int r      = sv_process_last(t->x, &t->p->start.thread, &run, t->err);
    t->p->join = r < 0 ? t->p->join : run.id;
    return r;
}

int sv_process_input(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct reading t    = {.x = x, .p = p, .agent = wr_agent(x->core->engine, p->start.run.agent), .err = err};
    yyjson_val    *list = sv_member(p->body.root, UPP_STR("input")), *message;
    size_t         i, n;
    if (yyjson_arr_size(list) > MESSAGES)
        return sv_body_wrong(&p->body, list, err, "at most %d messages in one request", MESSAGES);
    int r = make_room(&t, yyjson_arr_size(list));
    if (r >= 0 && !p->is_new)
        r = sv_history_read(x, &p->start.thread, list, &t.history, err);
    if (r < 0)
        return r;
    yyjson_arr_foreach(list, i, n, message)
    {
        if (!sv_history_has(&t.history, wj_text_at(message, "id")))
            r = take(&t, message);
        if (r < 0)
            return r;
    }
    if (p->start.messages.n || p->start.answers.n)
        return 0;
    if (p->is_new)
        return sv_body_wrong(&p->body, list, err, "a new session begins with a message");
    return n ? join(&t) : 0;
}
