/* remote/aitp.c — an agent behind an AITP-T01 service: requests. */
#include <stdio.h>

#include "remote/aitp.h"
#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "dialects/aitp/aitp.h"
#include "json/read.h"
#include "upp/providers/body.h"
#include "base/base64.h"

size_t rm_aitp_next(const struct upp_request *req, const struct rm_session *s, size_t at)
{
    bool history = false; /* a new thread of a conversation that others have begun: it is told in the first message */
    for (size_t i = 0; !s->note && i < req->n_messages; i++)
        history |= req->messages[i]->role == UPP_ROLE_ASSISTANT;
    for (size_t i = WB_MAX(at, s->from); i < req->n_messages; i++)
        if (req->messages[i]->role == UPP_ROLE_USER && (!history || i + 1 == req->n_messages))
            return i;
    return SIZE_MAX;
}

/* Does it become a file of the service? */
static bool is_file(const struct upp_part *p)
{
    return p->media && p->media->data.n && p->media->source != UPP_SOURCE_URL;
}

static const struct upp_media *find_file(const struct upp_message *m, size_t n)
{
    for (size_t i = 0; n < RM_ATTACHMENTS && i < m->n_parts; i++)
        if (is_file(&m->parts[i]) && n-- == 0)
            return m->parts[i].media;
    return NULL;
}

uint8_t rm_aitp_stage(const struct upp_request *req, const struct rm_exchange *e)
{
    return !e->no_files && find_file(req->messages[e->at], e->sent.n) ? RM_UPLOAD : RM_ADD;
}

/* A text for a header of a part: nothing in it may end the header or its quotes. */
static void add_plain(struct wb_buf *out, struct upp_str text)
{
    for (size_t i = 0; i < text.n; i++)
        wb_buf_addc(out, (unsigned char)text.p[i] < ' ' || text.p[i] == '"' || text.p[i] == '\\' || text.p[i] == 127
                             ? '_'
                             : text.p[i]);
}

/* A boundary that the file does not contain. */
static struct upp_str boundary_for(struct wb_arena *a, struct upp_str bytes)
{
    struct upp_str line = UPP_STR("weft-file");
    for (unsigned i = 0; line.p && wb_str_find(bytes, line, 0) != SIZE_MAX; i++)
        line = wb_arena_printf(a, "weft-file-%u", i);
    return line;
}

/* The body of an upload, and its media type: multipart/form-data. */
static int write_file(const struct upp_media *m, struct upp__outgoing *out, struct upp_str *type, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(UPP__JSON);
    struct upp_str name = m->title.n ? m->title : UPP_STR("file");
    struct upp_str mime = m->mime.n                      ? m->mime
                          : m->source == UPP_SOURCE_TEXT ? UPP_STR("text/plain")
                                                         : UPP_STR("application/octet-stream");
    int r = 0;
    if (m->source == UPP_SOURCE_TEXT)
        wb_buf_add(&bytes, m->data);
    else
        r = wb_base64_decode(m->data, &bytes, err);
    if (r >= 0)
        r = wb_buf_check(&bytes, err);
    if (r < 0)
        return r;
    struct upp_str line = boundary_for(out->arena, wb_buf_str(&bytes));
    *type = wb_arena_printf(out->arena, "multipart/form-data; boundary=%.*s", UPP_FMT(line));
    wb_buf_addf(&out->body, "--%.*s\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nassistants\r\n",
                UPP_FMT(line));
    wb_buf_addf(&out->body, "--%.*s\r\ncontent-disposition: form-data; name=\"file\"; filename=\"", UPP_FMT(line));
    add_plain(&out->body, name);
    wb_buf_addf(&out->body, "\"\r\ncontent-type: ");
    add_plain(&out->body, mime);
    wb_buf_addf(&out->body, "\r\n\r\n");
    wb_buf_add(&out->body, wb_buf_str(&bytes));
    wb_buf_addf(&out->body, "\r\n--%.*s--\r\n", UPP_FMT(line));
    r = wb_buf_check(&out->body, err);
    return r < 0 ? r : wb_arena_check(out->arena, err);
}

/* Media at an address of the web, which the agent there may fetch. */
static bool is_link(const struct upp_part *p)
{
    return p->media && p->media->source == UPP_SOURCE_URL &&
           (wb_str_starts(p->media->data, UPP_STR("https://")) || wb_str_starts(p->media->data, UPP_STR("http://")));
}

/* `files`: how many of its media are sent as files. */
static void add_texts(struct upp__body *b, struct wb_buf *to, const struct upp_message *m, size_t files)
{
    for (b->part = 0; b->part < m->n_parts; b->part++) {
        const struct upp_part *p = &m->parts[b->part];
        if (p->kind == UPP_PART_TEXT || is_link(p))
            wb_buf_addf(to, "%s%.*s", to->n && to->p[to->n - 1] != ' ' ? "\n" : "",
                        UPP_FMT(p->kind == UPP_PART_TEXT ? p->text : p->media->data));
        else if (is_file(p) && files)
            files--;
        else if (p->kind != UPP_PART_CALL && p->kind != UPP_PART_RESULT)
            upp__lose(b, upp__kind_name(p->kind), "a message of AITP is text");
    }
}

/* Message i; the first one of a new thread also has what was said before. */
static void put_content(struct upp__body *b, const struct rm_session *s, size_t i, size_t files)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(UPP__JSON);
    bool first = !s->note && rm_aitp_next(b->req, s, 0) == i;
    if (first && b->req->system.n)
        wb_buf_addf(&text, "%.*s\n", UPP_FMT(b->req->system));
    for (b->message = 0; first && b->message < i; b->message++) {
        const struct upp_message *m = b->req->messages[b->message];
        if (m->role == UPP_ROLE_TOOL)
            continue;
        wb_buf_addf(&text, "%s%s: ", text.n ? "\n" : "", m->role == UPP_ROLE_USER ? "user" : "assistant");
        add_texts(b, &text, m, 0);
    }
    if (first && i > 0)
        wb_buf_addf(&text, "\nuser: ");
    b->message = i;
    add_texts(b, &text, b->req->messages[i], files);
    if (text.failed)
        wj_writer_fail(&b->w, wb_buf_check(&text, b->err));
    upp__put(b, "content", wb_buf_str(&text));
}

static void put_create(struct upp__body *b, const struct rm_exchange *e)
{
    yyjson_val *capabilities = yyjson_obj_get(e->actor, "capabilities");
    wj_write_open(&b->w, '{');
    wj_put_open(&b->w, "messages", '[');
    wj_write_close(&b->w, ']');
    wj_put_open(&b->w, "metadata", '{');
    wj_put_open(&b->w, "actors", '[');
    wj_write_open(&b->w, '{');
    upp__put(b, "id", e->caller);
    if (capabilities)
        wj_put_value(&b->w, "capabilities", capabilities);
    else
        wj_put_raw(&b->w, "capabilities", "[]", 2); /* what we pass on is text */
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, ']');
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

static void put_message(struct upp__body *b, const struct rm_exchange *e)
{
    wj_write_open(&b->w, '{');
    upp__put(b, "role", UPP_STR("user"));
    put_content(b, &e->session, e->at, e->sent.n);
    if (e->sent.n) {
        wj_put_open(&b->w, "attachments", '[');
        for (size_t i = 0; i < e->sent.n; i++) {
            wj_write_open(&b->w, '{');
            upp__put(b, "file_id", e->sent.p[i]);
            wj_write_close(&b->w, '}');
        }
        wj_write_close(&b->w, ']');
    }
    wj_put_open(&b->w, "metadata", '{');
    upp__put(b, "actor", e->caller);
    wj_write_close(&b->w, '}');
    wj_write_close(&b->w, '}');
}

static void set_url(const struct upp__vendor *v, struct upp__outgoing *out, struct upp_str path, struct upp_str query)
{
    struct upp_str url = upp__endpoint(out->arena, v->base_url, path);
    out->url = query.n ? wb_arena_printf(out->arena, "%.*s%s%.*s", UPP_FMT(url), memchr(url.p, '?', url.n) ? "&" : "?",
                                         UPP_FMT(query))
                       : url;
}

static int begin_request(struct upp__body *b, const struct upp__vendor *v, const struct upp_request *req,
                         struct upp_str key, const struct rm_exchange *e, struct upp__outgoing *out,
                         struct upp_err *err)
{
    struct upp_str type = UPP_STR("application/json");
    int r = upp__body_init(b, v, req, out, "messages", err);
    if (r >= 0 && e && e->stage == RM_UPLOAD)
        r = write_file(find_file(req->messages[e->at], e->sent.n), out, &type, err);
    upp__header(out, "content-type", type);
    upp__header(out, "accept", UPP_STR("application/json"));
    return r < 0 ? r : upp__put_key(out, v, key.n ? key : (struct upp_str){0}, "bearer", NULL, err);
}

/* The request of this stage. */
static int put_request(struct upp__body *b, const struct rm_exchange *e, struct upp__outgoing *out)
{
    struct wb_arena *a = out->arena;
    struct upp_str query = {0};
    struct upp_str under = wb_arena_printf(a, "/v1/threads/%.*s", UPP_FMT(e->thread)), path = under;
    switch (e->stage) {
    case RM_CREATE:
    case RM_CREATE_ALSO:
        path = e->stage == RM_CREATE ? UPP_STR("/v1/threads") : UPP_STR("/v1/thread");
        put_create(b, e);
        break;
    case RM_UPLOAD: /* its body is there */
        path = UPP_STR("/v1/files");
        break;
    case RM_ADD:
        path = wb_arena_printf(a, "%.*s/messages", UPP_FMT(under));
        put_message(b, e);
        break;
    case RM_RUN:
        path = wb_arena_printf(a, "%.*s/runs", UPP_FMT(under));
        wj_write_open(&b->w, '{');
        upp__put_all(b, b->params);
        wj_write_close(&b->w, '}');
        break;
    case RM_WATCH:
        path = wb_arena_printf(a, "%.*s/runs/%.*s", UPP_FMT(under), UPP_FMT(e->run));
        out->method = UPP_STR("GET");
        break;
    case RM_FETCH:
        path = wb_arena_printf(a, "/v1/files/%.*s/content", UPP_FMT(e->files.p[e->media.n]));
        out->method = UPP_STR("GET");
        break;
    default:
        path = wb_arena_printf(a, "%.*s/messages", UPP_FMT(under));
        query = wb_arena_printf(a, "order=asc&limit=100%s%.*s", e->after.n ? "&after=" : "", UPP_FMT(e->after));
        out->method = UPP_STR("GET");
    }
    set_url(b->vendor, out, path, query);
    return wb_arena_check(a, b->err);
}

/* The thread in the note of the conversation; empty: there is none yet. */
static struct upp_str noted_thread(const struct rm_session *s)
{
    return wj_text_at(s->note, "thread");
}

/* A conversation has the caller that it began with. Notes of earlier versions name none: they sent the agent's name. */
static struct upp_str caller_of(const struct upp__vendor *v, const struct upp_request *req, const struct rm_exchange *e)
{
    struct upp_str noted = wj_text_at(e->session.note, "caller"), set = wj_text_at(e->actor, "id");
    if (e->session.note)
        return noted.n ? noted : v->model;
    if (set.n)
        return set;
    return req->caller.n ? req->caller : UPP_STR(WD_AITP_USER);
}

/* What the first request does: it adds to the thread that is there, or creates one. */
static int start(struct wb_arena *a, const struct upp__vendor *v, const struct upp_request *req, struct rm_exchange *e,
                 struct upp_err *err)
{
    int r = rm_session_find(a, RM_AITP, req, &e->session, err);
    if (r >= 0 && v->own.n)
        r = wj_read(a, v->own, NULL, &e->actor, err);
    if (r < 0)
        return r;
    e->caller = wb_arena_dup(a, caller_of(v, req, e));
    e->at = rm_aitp_next(req, &e->session, 0);
    e->thread = wb_arena_dup(a, noted_thread(&e->session));
    e->after = wb_arena_dup(a, wj_text_at(e->session.note, "after"));
    e->before = e->foreign = upp__get_u64(e->session.note, "before");
    e->known = upp__get_u64(e->session.note, "replies");
    if (e->at == SIZE_MAX)
        return upp_fail(err, UPP_EINVALID, "there is no message of a user for the remote agent");
    e->stage = e->thread.n ? rm_aitp_stage(req, e) : RM_CREATE;
    return wb_arena_check(a, err);
}

int rm_aitp_begin(struct upp__reader *r, struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    if (e->ready)
        return 0;
    e->ready = true;
    e->from_ms = wb_mono_ms();
    return start(&r->keep, r->vendor, r->request, e, err);
}

static int write_request(const struct upp__vendor *v, const struct upp_request *req, struct upp_str key,
                         struct upp__outgoing *out, struct upp_err *err)
{
    struct upp__body b;
    struct rm_exchange e = {0};
    int r = start(out->arena, v, req, &e, err);
    if (r == 0)
        r = begin_request(&b, v, req, key, &e, out, err);
    if (r == 0)
        r = put_request(&b, &e, out);
    return r < 0 ? r : upp__body_check(&b);
}

/* A poll, or a page of one. The first comes at once. */
static int pause_before_poll(struct rm_exchange *e, uint64_t limit_ms, uint64_t *wait_ms, struct upp_err *err)
{
    if (wb_mono_ms() - e->from_ms > limit_ms)
        return upp_fail(err, UPP_ETIMEOUT, "no reply of the remote agent after %llu ms", (unsigned long long)limit_ms);
    e->wait_ms = e->wait_ms ? WB_MIN(e->wait_ms + e->wait_ms / 2, (uint64_t)RM_LAST_MS) : RM_FIRST_MS;
    *wait_ms = e->wait_ms;
    return 0;
}

static int write_more(struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, uint64_t *wait_ms,
                      struct upp_err *err)
{
    struct rm_exchange *e = r->own;
    struct upp__body b;
    int x = upp__check(r, err);
    if (x == 0)
        x = begin_request(&b, r->vendor, r->request, key, e, out, err);
    if (x == 0 && e->again)
        x = pause_before_poll(e, r->vendor->timeout_ms, wait_ms, err);
    e->again = false;
    if (x == 0)
        x = put_request(&b, e, out);
    return x < 0 ? x : upp__body_check(&b);
}

static int write_stop(const struct upp__reader *r, struct upp_str key, struct upp__outgoing *out, struct upp_err *err)
{
    const struct rm_exchange *e = r->own;
    struct upp__body b;
    if (!e->run.n || e->stage >= RM_LIST)
        return 0;
    int x = begin_request(&b, r->vendor, r->request, key, NULL, out, err);
    if (x < 0)
        return x;
    set_url(r->vendor, out,
            wb_arena_printf(out->arena, "/v1/threads/%.*s/runs/%.*s/cancel", UPP_FMT(e->thread), UPP_FMT(e->run)),
            (struct upp_str){0});
    wj_write_open(&b.w, '{');
    wj_write_close(&b.w, '}');
    x = upp__body_check(&b);
    return x < 0 ? x : 1;
}

const struct upp__adapter rm_aitp = {
    .name = RM_AITP,
    .can = UPP_CAN_ALL & ~(UPP_CAN_STRUCTURE | UPP_CAN_TOOLS),
    .framing = WW_LINES,
    .own_size = sizeof(struct rm_exchange),
    .write = write_request,
    .whole = rm_aitp_whole,
    .last = "the reply",
    .done = rm_aitp_done,
    .more = write_more,
    .refused = rm_aitp_refused,
    .stop = write_stop,
    .error = rm_aitp_error,
};
