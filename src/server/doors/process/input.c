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
#include "server/doors/process/process.h"
#include "server/doors/system_text.h"
#include "server/http/core.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum { MESSAGES = 256 /* in one request */, PAIRS_MAX = 1024 /* calls and outputs, all messages together */ };

struct reading {
    struct sv_exchange *x;
    struct sv_process *p;
    struct sv_history history;
    const struct wr_agent_def *agent;
    struct sv_system system;
    struct upp_err *err;
};

static int refuse(const struct reading *t, const yyjson_val *at, const char *sentence)
{
    return sv_body_wrong(&t->p->body, at, t->err, "%s", sentence);
}

/* ---- One message ------------------------------------------------------------------------------------------------- */

/* What the model cannot hold of a message, and the client's id of it, are stored with it (thread/doc.h). */
static int put_residue(struct wb_arena *a, const struct wm_doc_entry *e, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY);
    struct wj_writer w;
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

/* Data in a user's message is JSON for the model: this protocol has no other place for it. */
static void write_content(struct wj_writer *w, yyjson_val *part)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(SV_MAX_BODY * 6);
    yyjson_val *data = yyjson_obj_get(part, "data");
    if (!data || yyjson_is_null(data) || !wb_str_eq(wj_text_at(part, "type"), UPP_STR("data"))) {
        wj_write_value(w, part);
        return;
    }
    int r = wj_write(data, &json, w->err);
    if (r < 0)
        wj_writer_fail(w, r);
    wj_write_open(w, '{');
    wj_put_str(w, "type", UPP_STR("text"));
    wj_put_value(w, "status", yyjson_obj_get(part, "status"));
    wj_put_str(w, "text", wb_buf_str(&json));
    wj_write_close(w, '}');
}

/* The message as the dialect reads it: its model has no system messages (take_message marks them). */
static void write_message(struct wj_writer *w, yyjson_val *message)
{
    yyjson_val *key, *value, *part;
    size_t i, n, k, m;
    bool words = wd_aap_kind(wj_text_at(message, "type")) == WD_AAP_MESSAGE;
    bool system = words && sv_system_role(wj_text_at(message, "role"));
    wj_write_open(w, '{');
    yyjson_obj_foreach(message, i, n, key, value)
    {
        if (system && wj_named(key, UPP_STR("role")))
            wj_put_str(w, "role", UPP_STR("user"));
        else if (words && wj_named(key, UPP_STR("content")) && yyjson_is_arr(value)) {
            wj_put_open(w, "content", '[');
            yyjson_arr_foreach(value, k, m, part) write_content(w, part);
            wj_write_close(w, ']');
        } else
            wj_put_member(w, key);
    }
    wj_write_close(w, '}');
}

/* An entry of a document, copied into the exchange's arena. */
static int copy_entry(const struct reading *t, const struct wm_doc_entry *from, int64_t now_ms, struct wm_entry *ret)
{
    *ret = (struct wm_entry){.kind = WM_ENTRY_MESSAGE, .origin = WM_ORIGIN_CLIENT, .audience = WM_AUDIENCE_ALL};
    int r = wm_message_copy(&t->x->arena, &from->e.message, &ret->message, t->err);
    if (r >= 0)
        r = put_residue(&t->x->arena, from, &ret->message.metadata, t->err);
    ret->message.time_ms = now_ms;
    ret->message.time_text = (struct upp_str){NULL, 0};
    ret->message.interrupted = false;
    return r;
}

/* Messages of the request, from `first` on, in the model. */
static int read_document(const struct reading *t, yyjson_val *const *messages, size_t n, int64_t now_ms,
                         struct wd_document *ret)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SV_MAX_BODY * 6 + 4096);
    struct wd_convert_opts opts = {.size = sizeof opts, .now_ms = now_ms};
    struct wj_writer w;
    wj_writer_init(&w, &text, t->err);
    wj_write_open(&w, '[');
    for (size_t i = 0; i < n; i++)
        write_message(&w, messages[i]);
    wj_write_close(&w, ']');
    int r = wj_writer_check(&w);
    return r < 0 ? r : wd_document_read(ret, wd_document_find(UPP_STR("agentapi")), wb_buf_str(&text), &opts, t->err);
}

/* The message in the model. 1; 0: nothing of it is there. */
static int lift(const struct reading *t, yyjson_val *message, struct wm_entry *ret)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int64_t now = wb_wall_ms();
    int r = read_document(t, &message, 1, now, &d);
    if (r < 0 || !d.doc.entries.n)
        return r;
    r = copy_entry(t, &d.doc.entries.p[0], now, ret);
    return r < 0 ? r : ret->message.n_parts > 0;
}

/* A message that is none of the past. */
static int take_message(struct reading *t, yyjson_val *message, bool system)
{
    struct sv_entries *to = &t->p->start.messages;
    struct wm_entry *e = &to->p[to->n];
    int r = lift(t, message, e);
    if (r == 0)
        return refuse(t, message, "there is nothing in the message that a model could read");
    if (r < 0)
        return r;
    if (system) {
        r = sv_system_take(&t->p->body, message, t->agent, &t->x->arena, &e->message, &t->system, t->err);
        if (r > 0)
            to->n++;
        return r < 0 ? r : 0;
    }
    if (e->message.role != UPP_ROLE_ASSISTANT && e->message.role != UPP_ROLE_USER)
        return refuse(t, message, "messages come from the user");
    for (size_t i = 0; e->message.role == UPP_ROLE_ASSISTANT && i < e->message.n_parts; i++)
        if (e->message.parts[i].kind != UPP_PART_TEXT)
            return refuse(t, message, "a new message of the assistant has text only");
    to->n++;
    return 0;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static int add_answer(const struct reading *t, yyjson_val *at, const struct wr_answer *answer)
{
    struct sv_answers *to = &t->p->start.answers;
    if (!answer->call.n)
        return refuse(t, at, "an answer names the call that it is for");
    if (to->n == SV_ANSWERS_MAX)
        return refuse(t, at, "too many answers in one request");
    to->p[to->n++] = *answer;
    return 0;
}

/* Outputs of calls that were answered before are of the past. */
static int take_output(const struct reading *t, yyjson_val *message)
{
    struct wm_entry e;
    int r = lift(t, message, &e);
    if (r == 0)
        return refuse(t, message, "an output has the data {call_id, output}");
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
    size_t i, n;
    int r = 0;
    if (!yyjson_arr_size(content))
        return refuse(t, message, "an approval has the data {approval_request_id, approve}");
    yyjson_arr_foreach(content, i, n, part)
    {
        yyjson_val *data = yyjson_obj_get(part, "data"), *approve = yyjson_obj_get(data, "approve");
        struct wr_answer answer = {.call = wj_text_at(data, "approval_request_id")};
        if (!answer.call.n)
            answer.call = wj_text_at(data, "id");
        if (!yyjson_is_bool(approve))
            return refuse(t, part, "an approval has the data {approval_request_id, approve}");
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

/* ---- Calls of the past ------------------------------------------------------------------------------------------- */

static bool is_call(yyjson_val *message)
{
    return wd_aap_kind(wj_text_at(message, "type")) == WD_AAP_CALL;
}

static const struct upp_part *call_of(const struct upp_message *m, struct upp_str id)
{
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, 1u << UPP_PART_CALL));)
        if (id.n && wb_str_eq(p->id, id))
            return p;
    return NULL;
}

/* Has each call of a message its result in the next one, and each result its call? */
static bool are_pairs(struct upp_message *calls, struct upp_message *results)
{
    size_t n = 0;
    for (const struct upp_part *p = NULL; (p = upp_part_next(calls, p, 1u << UPP_PART_CALL));)
        n++;
    for (size_t i = 0; i < results->n_parts; i++) {
        const struct upp_part *call = call_of(calls, results->parts[i].id);
        if (!call)
            return false;
        results->parts[i].name = call->name;
    }
    for (const struct upp_part *p = NULL; (p = upp_part_next(calls, p, 1u << UPP_PART_CALL));) {
        size_t found = 0;
        for (size_t i = 0; i < results->n_parts; i++)
            found += wb_str_eq(results->parts[i].id, p->id);
        if (found != 1)
            return false;
    }
    return n && n == results->n_parts;
}

/* Is it another call, or the output of one of these? */
static bool belongs(yyjson_val *const *calls, size_t n, yyjson_val *message)
{
    size_t i, k, max, all;
    yyjson_val *part, *other;
    if (is_call(message))
        return true;
    if (wd_aap_kind(wj_text_at(message, "type")) != WD_AAP_OUTPUT)
        return false;
    yyjson_arr_foreach(yyjson_obj_get(message, "content"), i, max, part)
    {
        struct upp_str id = wj_text_at(yyjson_obj_get(part, "data"), "call_id");
        for (size_t c = 0; id.n && c < n; c++)
            yyjson_arr_foreach(yyjson_obj_get(calls[c], "content"), k, all, other)
            {
                if (is_call(calls[c]) && wb_str_eq(wj_text_at(yyjson_obj_get(other, "data"), "call_id"), id))
                    return true;
            }
    }
    return false;
}

static size_t count_calls(yyjson_val *const *messages, size_t n)
{
    size_t i = 1;
    while (i < n && belongs(messages, i, messages[i]))
        i++;
    return i;
}

/* Calls that the session does not have, with their outputs: models are shown them, and nobody's calls are open. */
static int take_calls(const struct reading *t, yyjson_val *const *messages, size_t n)
{
    static const char why[] = "a call that the session does not have comes with its output";
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct sv_entries *to = &t->p->start.messages;
    int64_t now = wb_wall_ms();
    int r = read_document(t, messages, n, now, &d);
    for (size_t i = 0; r >= 0 && i < d.doc.entries.n; i++) {
        struct wm_entry *e = &to->p[to->n];
        r = copy_entry(t, &d.doc.entries.p[i], now, e);
        if (r < 0)
            return r;
        bool calls = e->message.role == UPP_ROLE_ASSISTANT;
        if (calls != (i % 2 == 0) || (!calls && !are_pairs(&e[-1].message, &e->message)))
            return refuse(t, messages[0], why);
        to->n++;
    }
    if (r < 0)
        return r;
    return !d.doc.entries.n || d.doc.entries.n % 2 ? refuse(t, messages[0], why) : 0;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static int take_one(struct reading *t, yyjson_val *message)
{
    struct upp_str type = wj_text_at(message, "type"), role = wj_text_at(message, "role");
    switch (wd_aap_kind(type)) {
    case WD_AAP_MESSAGE:
        return take_message(t, message, sv_system_role(role));
    case WD_AAP_OUTPUT:
        return take_output(t, message);
    case WD_AAP_REASONING:
        return refuse(t, message, "the session has no such reasoning: it is the model's");
    default:
        break;
    }
    if (wb_str_eq(type, UPP_STR("mcp_approval_response")))
        return take_approval(t, message);
    if (wb_str_eq(type, UPP_STR("heartbeat")) || wb_str_eq(type, UPP_STR("mcp_approval_request")) ||
        wb_str_eq(type, UPP_STR("mcp_list_tools")) || wb_str_eq(type, UPP_STR("error")))
        return 0; /* the server's own, sent back */
    return refuse(t, message, "messages of this type are not taken as input");
}

static int make_room(const struct reading *t, size_t n)
{
    t->p->start.messages.p = wb_new_n(&t->x->arena, struct wm_entry, n ? n : 1);
    t->p->start.answers.p = wb_new_n(&t->x->arena, struct wr_answer, SV_ANSWERS_MAX);
    return wb_arena_check(&t->x->arena, t->err);
}

/* The session has all messages of the request: the run that the last one started, or else the newest, has its
 * response. */
WEFT_SUSPENDS static int join(struct reading *t)
{
    struct wm_run run;
    t->p->join = t->history.last;
    if (!wb_uuid_is_nil(t->p->join))
        return 0;
    int r = sv_process_last(t->x, &t->p->start.thread, &run, t->err);
    t->p->join = r < 0 ? t->p->join : run.id;
    return r;
}

/* A message of calls that the session has answered: it is of the past, also without its id. */
static bool is_past(const struct reading *t, yyjson_val *message)
{
    size_t i, n;
    yyjson_val *part, *content = yyjson_obj_get(message, "content");
    if (!is_call(message) || !yyjson_arr_size(content))
        return false;
    yyjson_arr_foreach(content, i, n, part)
    {
        if (!sv_history_answered(&t->history, wj_text_at(yyjson_obj_get(part, "data"), "call_id")))
            return false;
    }
    return true;
}

/* Those that the session does not have. */
static int take_new(struct reading *t, yyjson_val *list)
{
    yyjson_val **all = wb_new_n(&t->x->arena, yyjson_val *, yyjson_arr_size(list) + 1), *message;
    size_t i, max, n = 0, parts = 0;
    int r = 0;
    if (!all)
        return wb_arena_check(&t->x->arena, t->err);
    yyjson_arr_foreach(list, i, max, message)
    {
        if (sv_history_has(&t->history, wj_text_at(message, "id")))
            continue;
        if (is_call(message) || wd_aap_kind(wj_text_at(message, "type")) == WD_AAP_OUTPUT)
            parts += yyjson_arr_size(yyjson_obj_get(message, "content"));
        if (parts > PAIRS_MAX) /* each call is compared with each output */
            return refuse(t, message, "a request has at most 1024 calls and outputs");
        if (!is_past(t, message))
            all[n++] = message;
    }
    for (size_t some = 1; r >= 0 && n; all += some, n -= some) {
        some = is_call(all[0]) ? count_calls(all, n) : 1;
        r = is_call(all[0]) ? take_calls(t, all, some) : take_one(t, all[0]);
    }
    return r < 0 ? r : 0;
}

int sv_process_input(struct sv_exchange *x, struct sv_process *p, struct upp_err *err)
{
    struct reading t = {
        .x = x, .p = p, .agent = wr_agent(x->core->engine, p->start.run.agent), .system = SV_SYSTEM, .err = err};
    yyjson_val *list = sv_member(p->body.root, UPP_STR("input"));
    if (yyjson_arr_size(list) > MESSAGES)
        return sv_body_wrong(&p->body, list, err, "at most %d messages in one request", MESSAGES);
    int r = make_room(&t, yyjson_arr_size(list));
    if (r >= 0 && !p->is_new)
        r = sv_history_read(x, &p->start.thread, list, &t.history, err);
    if (r >= 0)
        r = take_new(&t, list);
    if (r >= 0)
        r = sv_system_text(&x->arena, &t.system, &p->start.system, err);
    sv_system_done(&t.system);
    if (r < 0)
        return r;
    if (p->start.answers.n && p->start.system.n)
        return sv_body_wrong(&p->body, t.system.first, err,
                             "a system message begins a run, and the request continues one");
    if (p->start.messages.n || p->start.answers.n)
        return 0;
    if (p->is_new)
        return sv_body_wrong(&p->body, list, err, "a new session begins with a message");
    return yyjson_arr_size(list) ? join(&t) : 0;
}
