/* remote/aitp_read.c — an agent behind an AITP-T01 service: answers, and what they lead to.
 *
 * A reply is a message of another actor than ours. How many there were at the end of the last call is in the note, so
 * that no ids are needed, which T01 does not have. Nothing that the service names is fetched, but attachments by id.
 */
#include "remote/aitp.h"

#include "base/base64.h"
#include "base/defs.h"
#include "base/err.h"
#include "dialects/aitp/aitp.h"

void rm_aitp_done(struct upp__reader *r)
{
    struct rm_exchange *e = r->own;
    wb_vec_done(&e->replies);
    wb_vec_done(&e->sent);
    wb_vec_done(&e->files);
    wb_vec_done(&e->media);
}

void rm_aitp_error(yyjson_val *v, struct upp__provider_error *t)
{
    yyjson_val *error = upp__get(v, "error");
    if (yyjson_is_str(error))
        t->message = wj_text(error);
    if (upp__get_str(error, "message").n)
        t->message = upp__get_str(error, "message");
    t->code = upp__get_str(error, "code");
    if (t->status == 409)
        t->type = UPP_STR("session_busy");
}

/* Without the answer: another way, or the same request later. */
bool rm_aitp_refused(struct upp__reader *r, int status)
{
    struct rm_exchange *e = r->own;
    bool missing = status == 404 || status == 405 || status == 501;
    bool later = status == 408 || status == 429 || status >= 500;
    int begun = rm_aitp_begin(r, NULL);
    if (begun < 0) { /* the next request says so, instead of being sent */
        upp__note(r, begun);
        return true;
    }
    if (e->stage == RM_CREATE && missing) {
        e->stage = RM_CREATE_ALSO;
        return true;
    }
    if (e->stage == RM_UPLOAD && missing) { /* the message goes without them, and says so */
        e->no_files = true;
        e->stage = RM_ADD;
        return true;
    }
    if (e->stage == RM_LIST && e->after.n && !e->pages && (status == 400 || status == 404)) {
        e->after = (struct upp_str){0}; /* the message that the last call ended with is gone: from the beginning */
        e->before = e->foreign = 0;
        return true;
    }
    if (e->stage == RM_RUN && missing) {
        e->stage = RM_LIST;
        e->polls = e->again = true;
        return true;
    }
    if ((e->stage == RM_WATCH || e->stage == RM_LIST) && later && ++e->failures <= RM_FAILURES) {
        e->again = true;
        return true;
    }
    return false;
}

/* ---- Ids --------------------------------------------------------------------------------------------------------- */

/* An id becomes part of an address: nothing in it may lead elsewhere. */
static bool is_id(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '_' && c != '-')
            return false;
    }
    return s.n && s.n <= RM_ID;
}

static int take_id(struct upp__reader *r, yyjson_val *v, const char *what, struct upp_str *ret, struct upp_err *err)
{
    struct upp_str id = upp__get_str(v, "id");
    if (!is_id(id))
        return upp_fail(err, UPP_EPROTO, "the remote service gave no %s id", what);
    *ret = wb_arena_dup(&r->keep, id);
    return wb_arena_check(&r->keep, err);
}

/* ---- Runs -------------------------------------------------------------------------------------------------------- */

static int fail_run(yyjson_val *run, struct upp_str status, struct upp_err *err)
{
    yyjson_val *why = upp__get(run, "last_error");
    struct upp_str code = upp__get_str(why, "code"), message = upp__get_str(why, "message");
    return upp_fail(err, UPP_EPROVIDER, "the remote run is %.*s%s%.*s%s%s%.*s", UPP_FMT(status), code.n ? " (" : "",
                    UPP_FMT(code), code.n ? ")" : "", message.n ? ": " : "", UPP_FMT(message));
}

static int take_run(struct upp__reader *r, yyjson_val *run, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    struct upp_str status = upp__get_str(run, "status");
    e->failures = 0;
    if (wb_str_eq(status, UPP_STR("completed"))) {
        e->stage = RM_LIST;
        e->wait_ms = 0;
        return 0;
    }
    if (wb_str_eq(status, UPP_STR("queued")) || wb_str_eq(status, UPP_STR("in_progress")) ||
        wb_str_eq(status, UPP_STR("cancelling"))) {
        e->stage = RM_WATCH;
        e->again = true;
        return 0;
    }
    return fail_run(run, status, err);
}

/* ---- Messages ---------------------------------------------------------------------------------------------------- */

/* The agent there may have the name of the caller, but what a run of the service wrote is never ours. */
static bool is_ours(const struct upp__reader *r, yyjson_val *m)
{
    const struct rm_exchange *e = r->own;
    struct upp_str actor = wd_aitp_actor(m);
    if (upp__get_str(m, "run_id").n)
        return false;
    return actor.n ? wb_str_eq(actor, e->caller) : wb_str_eq(upp__get_str(m, "role"), UPP_STR("user"));
}

static struct upp_str text_of(struct upp__reader *r, yyjson_val *m)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(UPP__JSON);
    yyjson_val *content = upp__get(m, "content"), *item;
    size_t i, n;
    if (yyjson_is_str(content))
        return wb_arena_dup(&r->keep, wj_text(content));
    yyjson_arr_foreach(content, i, n, item)
    {
        struct upp_str s = wd_aitp_text(item);
        if (s.n)
            wb_buf_addf(&text, "%s%.*s", text.n ? "\n" : "", UPP_FMT(s));
    }
    upp__note(r, text.failed);
    return wb_arena_dup(&r->keep, wb_buf_str(&text));
}

static void take_attachments(struct upp__reader *r, yyjson_val *m)
{
    struct rm_exchange *e = r->own;
    yyjson_val *item;
    size_t i, n;
    yyjson_arr_foreach(upp__get(m, "attachments"), i, n, item)
    {
        struct upp_str id = upp__get_str(item, "file_id");
        if (!is_id(id) || e->files.n >= RM_ATTACHMENTS)
            e->dropped++;
        else if (!wb_vec_push(&e->files, wb_arena_dup(&r->keep, id), (size_t)RM_ATTACHMENTS))
            upp__note(r, -UPP_ENOMEM);
    }
}

static void take_message(struct upp__reader *r, yyjson_val *m)
{
    struct rm_exchange *e = r->own;
    if (is_ours(r, m) || ++e->foreign <= e->known)
        return;
    struct rm_reply reply = {.id = wb_arena_dup(&r->keep, upp__get_str(m, "id")),
                             .actor = wb_arena_dup(&r->keep, wd_aitp_actor(m)),
                             .text = text_of(r, m)};
    if (!wb_vec_push(&e->replies, reply, (size_t)RM_PAGES * 100))
        upp__note(r, -UPP_ENOMEM);
    take_attachments(r, m);
}

/* Some services list the newest first, whatever the request says. */
static bool is_reversed(yyjson_val *list)
{
    yyjson_val *first = yyjson_arr_get_first(list), *last = yyjson_arr_get_last(list);
    return upp__get_u64(first, "created_at") > upp__get_u64(last, "created_at");
}

/* One page; 1: there is another one. */
static int take_page(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    yyjson_val *list = yyjson_is_arr(v) ? v : upp__get(v, "data");
    size_t n = yyjson_arr_size(list);
    bool back = is_reversed(list);
    if (!yyjson_is_arr(list))
        return upp_fail(err, UPP_EPROTO, "the remote service gave no list of messages");
    for (size_t i = 0; i < n; i++)
        take_message(r, yyjson_arr_get(list, back ? n - 1 - i : i));
    struct upp_str last = upp__get_str(yyjson_arr_get_last(list), "id");
    if (!upp__get_true(v, "has_more") || back || !is_id(last) || wb_str_eq(last, e->after))
        return 0;
    if (++e->pages >= RM_PAGES)
        return upp_fail(err, UPP_ELIMIT, "the remote thread has more than %d pages of messages", RM_PAGES);
    e->after = wb_arena_dup(&r->keep, last);
    e->before = e->foreign;
    return 1;
}

/* ---- The end ----------------------------------------------------------------------------------------------------- */

static void put_metadata(struct upp__reader *r, struct upp_str *ret)
{
    struct rm_exchange *e = r->own;
    struct upp__metadata m;
    char digits[RM_SEEN + 1];
    upp__metadata_begin(&m);
    if (e->session.id.n) {
        upp__metadata_str(&m, "session", e->session.id);
        upp__metadata_str(&m, "seen", rm_seen_text(e->session.seen, digits));
    }
    upp__metadata_str(&m, "caller", e->caller);
    upp__metadata_str(&m, "thread", e->thread);
    upp__metadata_str(&m, "run", e->run);
    wj_put_u64(&m.w, "replies", e->foreign);
    if (e->after.n) { /* the service has pages: the next call begins with the last one */
        upp__metadata_str(&m, "after", e->after);
        wj_put_u64(&m.w, "before", e->before);
    }
    if (e->dropped)
        wj_put_u64(&m.w, "dropped", e->dropped);
    if (e->replies.n)
        upp__metadata_str(&m, "actor", e->replies.p[e->replies.n - 1].actor);
    *ret = upp__metadata_end(&m, r);
}

static int finish_answer(struct upp__reader *r, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    const struct upp_usage usage = {0};
    struct upp_str metadata;
    e->stage = RM_DONE;
    for (size_t i = 0; i < e->replies.n; i++) {
        if (!e->replies.p[i].text.n)
            continue;
        uint32_t part = upp__say_part(r, UPP_PART_TEXT, (struct upp_str){0}, (struct upp_str){0});
        upp__say_delta(r, part, e->replies.p[i].text);
        upp__say_close(r, part);
    }
    for (size_t i = 0; i < e->media.n; i++)
        (void)upp__say_media(r, UPP_PART_DOCUMENT, &e->media.p[i]);
    put_metadata(r, &metadata);
    upp__say_end(r, UPP_STOP_END, &usage, metadata);
    return upp__check(r, err);
}

static int take_file(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    WB_CLEANUP(wb_buf_done) struct wb_buf b64 = WB_BUF(UPP__JSON);
    wb_base64_add(&b64, body, WB_BASE64);
    struct upp_media m = {.source = UPP_SOURCE_BASE64,
                          .mime = UPP_STR("application/octet-stream"),
                          .title = e->files.p[e->media.n],
                          .data = wb_arena_dup(&r->keep, wb_buf_str(&b64))};
    if (b64.failed)
        return wb_buf_check(&b64, err);
    if (!wb_vec_push(&e->media, m, (size_t)RM_ATTACHMENTS))
        return upp_fail(err, UPP_ENOMEM, "no memory for an attachment");
    return e->media.n < e->files.n ? 0 : finish_answer(r, err);
}

static int take_list(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    int more = take_page(r, v, err);
    e->failures = 0;
    if (more)
        return more < 0 ? more : upp__check(r, err);
    if (e->replies.n || !e->polls) { /* an agent may have nothing to say */
        e->stage = e->files.n ? RM_FETCH : RM_DONE;
        return e->files.n ? upp__check(r, err) : finish_answer(r, err);
    }
    e->foreign = e->before;
    e->pages = 0;
    e->again = true;
    return upp__check(r, err);
}

static int take_upload(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    struct upp_str id;
    int x = take_id(r, v, "file", &id, err);
    if (x < 0)
        return x;
    if (!wb_vec_push(&e->sent, id, (size_t)RM_ATTACHMENTS))
        return upp_fail(err, UPP_ENOMEM, "no memory for a file");
    e->stage = rm_aitp_stage(r->request, e);
    return 0;
}

/* ---- Answers ----------------------------------------------------------------------------------------------------- */

static int take_answer(struct upp__reader *r, yyjson_val *v, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    int x = 0;
    switch (e->stage) {
    case RM_CREATE:
    case RM_CREATE_ALSO:
        if (yyjson_is_obj(upp__get(v, "thread")))
            v = upp__get(v, "thread");
        x = take_id(r, v, "thread", &e->thread, err);
        e->stage = rm_aitp_stage(r->request, e);
        return x;
    case RM_UPLOAD:
        return take_upload(r, v, err);
    case RM_ADD:
        upp__say_open(r, (struct upp_str){0}); /* from here on the call must not be repeated */
        e->at = rm_aitp_next(r->request, &e->session, e->at + 1);
        e->sent.n = 0;
        e->stage = e->at == SIZE_MAX ? RM_RUN : rm_aitp_stage(r->request, e);
        return upp__check(r, err);
    case RM_RUN:
        x = take_id(r, v, "run", &e->run, err);
        return x < 0 ? x : take_run(r, v, err);
    case RM_WATCH:
        return take_run(r, v, err);
    default:
        return take_list(r, v, err);
    }
}

int rm_aitp_whole(struct upp__reader *r, struct upp_str body, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    yyjson_val *v = NULL;
    int x = rm_aitp_begin(r, err);
    if (x == 0 && e->stage == RM_FETCH)
        return take_file(r, body, err);
    if (x == 0)
        x = upp__parse(r, body, &v, err);
    return x < 0 ? x : take_answer(r, v, err);
}
