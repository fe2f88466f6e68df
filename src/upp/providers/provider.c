/* upp/providers/provider.c — a model of a vendor: an adapter, the transport, keys, limits and errors put together.
 *
 * The adapter knows the vendor and does no I/O; everything that waits is here. A step is: take a key, write the
 * request, send it, wait for the head, then split the body into wire events and pass them to the adapter, until it
 * reports the end.
 */
#include <pthread.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/list.h"
#include "base/mask.h"
#include "base/opts.h"
#include "base/str.h"
#include "upp/providers/keys.h"
#include "upp/providers/vendors.h"
#include "upp/client/waits.h"

enum {
    MAX_BODY = 256 << 20,  /* of a request */
    MAX_ERROR = 256 << 10, /* of the body of an error; the rest of it is not read */
    MAX_ANSWER = 64 << 20,
    MAX_EVENT = 16 << 20,
    MAX_IDLE = 16, /* idle connections, in an ordinary program */
    STOP_MS = 2000,
};

/* An upper limit for sizes: multiples of it do not overflow. */
#define ANY_SIZE (SIZE_MAX / 32)

/* Connections of this model, where the caller's table has none: one user at a time. */
struct pool {
    pthread_mutex_t lock;
    struct upp_http *idle[MAX_IDLE];
    size_t n;
};

struct state {
    struct upp_model_ops ops; /* a copy: the name of the provider and the size of a step are this model's */
    struct upp__vendor vendor;
    struct wb_arena arena; /* the texts of all of this */
    struct upp__keys *keys;
    struct upp_header *headers;
    size_t n_headers;
    uint64_t timeout_ms, idle_ms, retry_after_max_ms;
    size_t max_event, max_answer;
    const struct upp_transport *transport; /* NULL: libcurl */
    struct upp_http_opts http;
    struct pool pool;
};

/* A step under way. */
struct call {
    struct upp__key key;
    struct wb_arena arena; /* of the request */
    struct upp__outgoing out;
    struct upp_header headers[UPP__HEADERS];
    const struct upp_transport *via;
    struct upp_http *http; /* taken from the pool */
    struct upp_http_call *http_call;
    struct ww_frames frames;
    struct upp_str piece; /* of the body, not yet split */
    bool headed;          /* the head of the answer was read */
    bool whole, over;
    bool refused; /* the adapter knows what to do without this answer */
    bool cut;     /* the body is over: the last event may be incomplete */
    struct upp__reader reader;
    max_align_t own[]; /* the adapter's */
};

static struct state *state_of(const struct upp_step *s)
{
    return s->model->state;
}

/* ---- Connections ---------------------------------------------------------------------------------------------- */

static int pool_take(struct state *st, struct upp_http **ret, struct upp_err *err)
{
    pthread_mutex_lock(&st->pool.lock);
    *ret = st->pool.n ? st->pool.idle[--st->pool.n] : NULL;
    pthread_mutex_unlock(&st->pool.lock);
    return *ret ? 0 : upp_http_new(&st->http, ret, err);
}

static void pool_give(struct state *st, struct upp_http *h)
{
    pthread_mutex_lock(&st->pool.lock);
    bool kept = st->pool.n < MAX_IDLE;
    if (kept)
        st->pool.idle[st->pool.n++] = h;
    pthread_mutex_unlock(&st->pool.lock);
    if (!kept)
        upp_http_free(h);
}

static int curl_send(void *arg, const struct upp_http_request *req, const struct upp_wait *wait,
                     struct upp_http_call **ret, struct upp_err *err)
{
    return upp_http_send(arg, req, wait, ret, err);
}

static const struct upp_transport by_curl = {.size = sizeof by_curl,
                                             .send = curl_send,
                                             .head = upp_http_call_head,
                                             .read = upp_http_call_read,
                                             .close = upp_http_call_close,
                                             .drain = upp_http_call_drain};

static int send(struct upp_step *s, struct call *c, const struct upp_http_request *req, struct upp_err *err)
{
    struct state *st = state_of(s);
    if (st->transport) {
        c->via = st->transport;
        return c->via->send(c->via->arg, req, s->wait, &c->http_call, err);
    }
    struct upp_http *http = UPP__CAN(s->wait, http) ? s->wait->http : NULL;
    int r = http || c->http ? 0 : pool_take(st, &c->http, err);
    c->via = &by_curl;
    return r < 0 ? r : by_curl.send(http ? http : c->http, req, s->wait, &c->http_call, err);
}

/* ---- The request ------------------------------------------------------------------------------------------------- */

/* The program's headers win; one without a value removes ours. */
static void set_headers(const struct state *st, struct upp__outgoing *out)
{
    for (size_t i = 0; i < st->n_headers; i++) {
        const struct upp_header *mine = &st->headers[i];
        size_t kept = 0;
        for (size_t k = 0; k < out->n_headers; k++)
            if (!wb_str_eq_nocase(out->headers[k].name, mine->name))
                out->headers[kept++] = out->headers[k];
        out->n_headers = kept;
        if (mine->value.p)
            upp__header(out, mine->name.p, mine->value);
    }
}

static int check_headers(const struct upp__outgoing *out, struct upp_err *err)
{
    for (size_t i = 0; i < out->n_headers; i++) {
        struct upp_str v = out->headers[i].value;
        for (size_t k = 0; k < v.n; k++)
            if ((unsigned char)v.p[k] < ' ' || v.p[k] == 0x7f)
                return upp_fail(err, UPP_EINVALID, "the header %.*s holds a control character",
                                UPP_FMT(out->headers[i].name));
    }
    return 0;
}

/* No vendor accepts a lone surrogate: it becomes U+FFFD. Our writer escapes lone surrogates and no others. */
static void mend_surrogates(struct wb_buf *body)
{
    if (wb_str_find(wb_buf_str(body), UPP_STR("\\ud"), 0) == SIZE_MAX)
        return;
    char *to = body->p;
    for (const char *from = body->p, *end = from + body->n; from < end;) {
        if (*from != '\\')
            *to++ = *from++;
        else if (from[1] == 'u' && from[2] == 'd') {
            memcpy(to, "\xef\xbf\xbd", 3);
            to += 3;
            from += 6;
        } else {
            *to++ = *from++;
            *to++ = *from++;
        }
    }
    body->n = (size_t)(to - body->p);
}

static void wipe(struct upp__outgoing *out)
{
    if (out->bearer)
        explicit_bzero(out->bearer, out->n_bearer);
    out->bearer = NULL;
}

/* Once the adapter has written it. */
static int finish_request(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct state *st = state_of(s);
    if (s->request->traceparent.n)
        upp__header(&c->out, "traceparent", s->request->traceparent);
    set_headers(st, &c->out);
    mend_surrogates(&c->out.body);
    int r = wb_buf_check(&c->out.body, err);
    if (r == 0)
        r = wb_arena_check(&c->arena, err);
    return r < 0 ? r : check_headers(&c->out, err);
}

static int write_request(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct state *st = state_of(s);
    c->arena = (struct wb_arena)WB_ARENA(2 * (size_t)MAX_BODY);
    c->out = (struct upp__outgoing){.arena = &c->arena, .headers = c->headers, .body = WB_BUF(MAX_BODY)};
    int r = st->vendor.adapter->write(&st->vendor, s->request, c->key.text, &c->out, err);
    return r < 0 ? r : finish_request(s, c, err);
}

static int send_request(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct state *st = state_of(s);
    struct upp_http_request req = {.method = c->out.method,
                                   .url = c->out.url,
                                   .headers = c->out.headers,
                                   .n_headers = c->out.n_headers,
                                   .body = wb_buf_str(&c->out.body),
                                   .head_ms = st->timeout_ms,
                                   .idle_ms = st->idle_ms,
                                   .max_bytes = st->max_answer};
    return send(s, c, &req, err);
}

/* ---- The answer ------------------------------------------------------------------------------ */

/* Reads more: 1, it is in c->piece; 0: the body is over. */
static int read_more(struct call *c, struct upp_err *err)
{
    int r = c->via->read(c->http_call, &c->piece, err);
    if (r == 0)
        c->over = true;
    return r;
}

/* The body, or as much of it as max says (then it fails unless `cut`). */
static int read_all(struct call *c, size_t max, bool cut, struct wb_buf *ret, struct upp_err *err)
{
    int r;
    *ret = (struct wb_buf)WB_BUF(max + WW_PIECE);
    while ((r = read_more(c, err)) > 0) {
        wb_buf_add(ret, wb_str_sub(c->piece, 0, max + 1 - WB_MIN(max, ret->n)));
        if (ret->n > max)
            break;
    }
    if (r < 0)
        return r;
    if (ret->n > max && !cut)
        return upp_fail(err, UPP_ELIMIT, "the answer is longer than %zu bytes", max);
    return wb_buf_check(ret, err);
}

static int fail_status(struct upp_step *s, struct call *c, const struct upp_http_head *h, struct upp_err *err)
{
    struct state *st = state_of(s);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 * (size_t)MAX_ERROR);
    WB_CLEANUP(wb_buf_done) struct wb_buf body = {0};
    struct upp__provider_error t = {.status = h->status,
                                    .retry_ms = upp__retry_after(h, wb_wall_ms(), st->retry_after_max_ms)};
    static const struct upp_str ids[] = {UPP_STR_INIT("request-id"), UPP_STR_INIT("x-request-id"),
                                         UPP_STR_INIT("x-generation-id")};
    int r = read_all(c, MAX_ERROR, true, &body, err);
    if (r == -UPP_ECANCELED || r == -UPP_ENOMEM)
        return r; /* else the status is enough */
    for (size_t i = 0; i < WB_LEN(ids) && !t.request_id.n; i++)
        t.request_id = upp_http_header(h, ids[i]);
    uint64_t said = t.retry_ms;
    upp__provider_error_read(st->vendor.adapter, &a, wb_buf_str(&body), &t);
    if (said)
        t.retry_ms = said; /* a header comes before the body */
    r = upp__provider_fail(&t, c->key.text, err);
    if (r == -UPP_ENOMODEL && h->status == 404) { /* a wrong base_url looks the same */
        struct upp_str rest = c->out.url, url;
        (void)wb_str_split(&rest, '?', &url);
        upp_wrap(err, r, "%.*s", UPP_FMT(url));
    }
    return r;
}

static bool is_type(struct upp_str content_type, const char *type)
{
    struct upp_str rest = content_type, first;
    return wb_str_split(&rest, ';', &first) && wb_str_eq_nocase(wb_str_trim(first), wb_cstr(type));
}

/* Is the body a stream of events, or one answer? */
static int take_head(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct upp_http_head h = {0};
    c->headed = true;
    int r = c->via->head(c->http_call, &h, err);
    if (r < 0)
        return r;
    c->refused = false;
    if (h.status < 200 || h.status > 299) {
        const struct upp__adapter *adapter = state_of(s)->vendor.adapter;
        c->refused = adapter->refused && adapter->refused(&c->reader, h.status);
        return c->refused ? 0 : fail_status(s, c, &h, err);
    }
    struct upp_str type = upp_http_header(&h, UPP_STR("content-type"));
    if (is_type(type, "text/html"))
        return upp_fail(err, UPP_EPROTO, "the answer is a web page (HTTP %d), not of the model's API", h.status);
    c->whole = s->request->whole || is_type(type, "application/json") || state_of(s)->vendor.adapter->more;
    return 0;
}

static int read_whole(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct state *st = state_of(s);
    WB_CLEANUP(wb_buf_done) struct wb_buf body = {0};
    /* What is reported points into it. Of several answers only the last one is reported from. */
    struct wb_arena *a = st->vendor.adapter->more ? &c->reader.scratch : &c->reader.keep;
    int r = read_all(c, st->max_answer, false, &body, err);
    if (r < 0)
        return r;
    if (!body.n)
        return upp_fail(err, UPP_EPROTO, "the answer is empty");
    struct upp_str text = wb_arena_dup(a, wb_buf_str(&body));
    r = wb_arena_check(a, err);
    return r == 0 ? st->vendor.adapter->whole(&c->reader, text, err) : r;
}

/* The adapter needs another answer: sends its next request. */
static int ask_more(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct state *st = state_of(s);
    uint64_t wait_ms = 0;
    c->via->close(c->http_call);
    c->http_call = NULL;
    c->over = c->headed = false;
    wipe(&c->out);
    wb_buf_done(&c->out.body);
    wb_arena_reset(&c->arena);
    c->out = (struct upp__outgoing){.arena = &c->arena, .headers = c->headers, .body = WB_BUF(MAX_BODY)};
    int r = st->vendor.adapter->more(&c->reader, c->key.text, &c->out, &wait_ms, err);
    if (r == 0)
        r = finish_request(s, c, err);
    if (r == 0 && wait_ms)
        r = upp_wait_ms(s->wait, wait_ms, err);
    return r == 0 ? send_request(s, c, err) : r;
}

static int next_whole(struct upp_step *s, struct call *c, struct upp_err *err)
{
    const struct upp__adapter *adapter = state_of(s)->vendor.adapter;
    int r = c->refused ? 0 : read_whole(s, c, err);
    if (r == 0 && !c->reader.ended)
        r = adapter->more ? ask_more(s, c, err) : upp_fail(err, UPP_EPROTO, "the answer makes no sense");
    if (r < 0 && adapter->more && c->reader.begun && (r == -UPP_ENET || r == -UPP_ETIMEOUT) && err) {
        err->code = UPP_EPROVIDER; /* a repeated call would say everything twice */
        err->http = 0;
        r = -UPP_EPROVIDER;
    }
    return r;
}

/* Feeds framing until it gives an event: 1; 0: there are no more. */
static int next_frame(struct call *c, struct ww_frame *f, struct upp_err *err)
{
    for (;;) {
        int r = ww_frames_next(&c->frames, f, err);
        if (r)
            return r;
        if (!c->piece.n) {
            r = c->over ? 0 : read_more(c, err);
            if (r <= 0)
                return r < 0 ? r : (c->cut = true, ww_frames_end(&c->frames, f, err));
        }
        struct upp_str now = wb_str_sub(c->piece, 0, WW_PIECE);
        c->piece = wb_str_sub(c->piece, now.n, SIZE_MAX);
        r = ww_frames_feed(&c->frames, now, err);
        if (r < 0)
            return r;
    }
}

/* The connection has ended. That is no error where the answer is complete: some servers just drop the connection. */
static int end_of_stream(struct call *c, int r, struct upp_err *err)
{
    struct upp_err own = {0};
    int e = upp__eof(&c->reader, &own);
    if (e == 0 && c->reader.ended)
        return 0;
    if (r < 0)
        return r; /* the connection says why */
    if (e == 0)
        return upp_fail(err, UPP_ENET, "the stream ended before the answer did");
    if (err)
        *err = own;
    return e;
}

static int next_streamed(struct upp_step *s, struct call *c, struct upp_err *err)
{
    struct ww_frame f;
    int r = next_frame(c, &f, err);
    if (r == 0 || r == -UPP_ENET)
        return end_of_stream(c, r, err);
    if (r > 0)
        r = state_of(s)->vendor.adapter->event(&c->reader, &f, err);
    if (r == -UPP_EPROTO && c->cut)
        r = upp_fail(err, UPP_ENET, "the stream ended inside of an event");
    return r;
}

/* The answer is complete. The rest of the body is drained, so that the connection can be reused. */
static void finish(struct call *c)
{
    bool can = c->via->size >= offsetof(struct upp_transport, drain) + sizeof c->via->drain && c->via->drain;
    if (!c->over && can)
        c->via->drain(c->http_call);
    c->over = true;
}

static int vendor_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    struct call *c = upp_step_state(s);
    struct upp__reader *r = &c->reader;
    while (r->at == r->queue.n) {
        r->at = r->queue.n = 0;
        wb_arena_reset(&r->scratch);
        int e = c->headed ? 0 : take_head(s, c, err);
        if (e == 0)
            e = c->whole || c->refused ? next_whole(s, c, err) : next_streamed(s, c, err);
        if (e < 0) {
            upp__mask(err, c->key.text); /* an adapter does not know it */
            wb_mask_err(err);
            return e;
        }
    }
    *ret = r->queue.p[r->at++];
    if (ret->kind == UPP_STEP_END)
        finish(c);
    return 1;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static int begin(struct upp_step *s, struct upp_err *err)
{
    struct state *st = state_of(s);
    struct call *c = upp_step_state(s);
    c->reader.vendor = &st->vendor;
    c->reader.request = s->request;
    c->reader.own = c->own;
    c->reader.keep = (struct wb_arena)WB_ARENA(st->max_answer * 4);
    c->reader.scratch = (struct wb_arena)WB_ARENA(st->max_answer * 16);
    c->reader.answer = (struct wb_buf)WB_BUF(st->max_answer);
    ww_frames_init(&c->frames, st->vendor.adapter->framing, st->max_event);
    int r = upp__keys_take(st->keys, s->wait, &c->key, err);
    if (r == 0)
        r = write_request(s, c, err);
    if (r < 0)
        return r;
    r = send_request(s, c, err);
    /* A step that failed to open cannot be stopped: what can be, waits for the head when it is read. */
    return r < 0 || st->vendor.adapter->stop ? r : take_head(s, c, err);
}

/* An error may contain the URL, or parts of the request that the vendor repeats: masked. */
static int vendor_open(struct upp_step *s, struct upp_err *err)
{
    struct call *c = upp_step_state(s);
    int r = begin(s, err);
    if (r < 0) {
        upp__mask(err, c->key.text);
        wb_mask_err(err);
    }
    return r;
}

/* The answer to it is not read: only whether it was taken. */
static int send_stop(struct upp_step *s, struct call *c, struct upp__outgoing *out, struct upp_err *err)
{
    struct upp_http_head head = {0};
    struct upp_http_request req = {.method = UPP_STR("POST"),
                                   .url = out->url,
                                   .headers = out->headers,
                                   .n_headers = out->n_headers,
                                   .body = wb_buf_str(&out->body),
                                   .head_ms = STOP_MS,
                                   .idle_ms = STOP_MS,
                                   .total_ms = STOP_MS,
                                   .max_bytes = MAX_ERROR};
    int r = wb_buf_check(&out->body, err);
    if (r == 0)
        r = wb_arena_check(&c->arena, err);
    if (r == 0)
        r = check_headers(out, err);
    if (r == 0)
        r = send(s, c, &req, err);
    if (r == 0)
        r = c->via->head(c->http_call, &head, err);
    return r == 0 && head.status > 299 ? upp_fail(err, UPP_EPROVIDER, "HTTP %d", head.status) : r;
}

static int vendor_stop(struct upp_step *s, struct upp_err *err)
{
    struct state *st = state_of(s);
    struct call *c = upp_step_state(s);
    struct upp__outgoing out = {.arena = &c->arena, .headers = c->headers, .body = WB_BUF(MAX_ERROR)};
    if (c->http_call)
        c->via->close(c->http_call);
    c->http_call = NULL;
    wipe(&c->out);
    int r = st->vendor.adapter->stop(&c->reader, c->key.text, &out, err);
    if (r > 0) {
        set_headers(st, &out);
        r = send_stop(s, c, &out, err);
    }
    if (c->http_call)
        c->via->close(c->http_call); /* before what it borrows is gone */
    c->http_call = NULL;
    wipe(&out);
    wb_buf_done(&out.body);
    if (r < 0)
        upp__mask(err, c->key.text);
    return r;
}

static void vendor_close(struct upp_step *s)
{
    struct state *st = state_of(s);
    struct call *c = upp_step_state(s);
    if (c->http_call)
        c->via->close(c->http_call);
    if (c->http)
        pool_give(st, c->http);
    upp__reader_done(&c->reader);
    ww_frames_done(&c->frames);
    wb_buf_done(&c->out.body);
    wipe(&c->out);
    wb_arena_done(&c->arena);
    upp__key_done(&c->key);
}

/* ---- Models ---------------------------------------------------------------------------------- */

static void vendor_free(void *state)
{
    struct state *st = state;
    for (size_t i = 0; i < st->pool.n; i++)
        upp_http_free(st->pool.idle[i]);
    pthread_mutex_destroy(&st->pool.lock);
    upp__keys_free(st->keys);
    wb_arena_wipe(&st->arena); /* a header of the program may be a key */
    wb_free(st);
}

static const char *text_of(struct state *st, const char *s)
{
    return s ? wb_arena_dup(&st->arena, wb_cstr(s)).p : NULL;
}

static struct upp_str str_of(struct state *st, const char *s)
{
    return wb_arena_dup(&st->arena, wb_cstr(s));
}

static void copy_headers(struct state *st, const struct upp_provider_opts *o)
{
    st->headers = wb_new_n(&st->arena, struct upp_header, o->n_headers + 1);
    for (size_t i = 0; st->headers && i < o->n_headers; i++)
        st->headers[st->n_headers++] = (struct upp_header){wb_arena_dup(&st->arena, o->headers[i].name),
                                                           wb_arena_dup(&st->arena, o->headers[i].value)};
}

static int check_opts(const struct upp_model_ref *ref, const struct upp_provider_opts *o, const struct upp__provider *p,
                      struct upp_err *err)
{
    const char *base = o->base_url ? o->base_url : p->base_url;
    if (!ref->name || !*ref->name)
        return upp_fail(err, UPP_EINVALID, "a model of '%s' needs a name", p->name);
    if (!base)
        return upp_fail(err, UPP_EINVALID, "provider '%s' needs a base_url", p->name);
    if (!wb_str_starts(wb_cstr(base), UPP_STR("http://")) && !wb_str_starts(wb_cstr(base), UPP_STR("https://")))
        return upp_fail(err, UPP_EINVALID, "base_url begins with http:// or https://");
    if (o->n_headers > UPP__HEADERS / 2)
        return upp_fail(err, UPP_EINVALID, "at most %d headers", UPP__HEADERS / 2);
    return 0;
}

static void fill(struct state *st, const struct upp_model_ref *ref, const struct upp_provider_opts *o,
                 const struct upp__provider *p)
{
    static const struct upp_model_ops ops = {
        .size = sizeof ops, .open = vendor_open, .next = vendor_next, .close = vendor_close, .free = vendor_free};
    st->vendor = (struct upp__vendor){.adapter = p->adapter,
                                      .provider = p->name,
                                      .model = str_of(st, ref->name),
                                      .base_url = str_of(st, o->base_url ? o->base_url : p->base_url),
                                      .api_version = str_of(st, o->api_version),
                                      .auth = str_of(st, o->auth),
                                      .habits = p->habits | (o->no_stream_usage ? UPP__NO_STREAM_USAGE : 0)};
    st->ops = ops;
    st->ops.provider = p->name;
    st->ops.stop = p->adapter->stop ? vendor_stop : NULL;
    st->ops.step_size = sizeof(struct call) + p->adapter->own_size;
    st->timeout_ms = o->timeout_ms ? o->timeout_ms : 120000;
    st->vendor.timeout_ms = st->timeout_ms;
    st->idle_ms = o->idle_ms ? o->idle_ms : 60000;
    st->retry_after_max_ms = o->retry.retry_after_max_ms ? o->retry.retry_after_max_ms : 3600000;
    st->max_event = o->max_event ? WB_MIN(o->max_event, ANY_SIZE) : MAX_EVENT;
    st->max_answer = o->max_answer ? WB_MIN(o->max_answer, ANY_SIZE) : MAX_ANSWER;
    st->transport = o->transport;
    st->http = o->http;
    st->http.size = sizeof st->http; /* how much of it there is, the outer size has said */
    st->http.ca_file = text_of(st, o->http.ca_file);
    st->http.proxy = text_of(st, o->http.proxy);
    copy_headers(st, o);
}

const struct upp__adapter *upp__adapter_of(const struct upp_model *m)
{
    return m->ops->open == vendor_open ? ((const struct state *)m->state)->vendor.adapter : NULL;
}

struct upp_str upp__base_url_of(const struct upp_model *m)
{
    return m->ops->open == vendor_open ? ((const struct state *)m->state)->vendor.base_url : (struct upp_str){NULL, 0};
}

int upp__model_set_own(struct upp_model *m, struct upp_str own, struct upp_err *err)
{
    struct state *st = m->state;
    st->vendor.own = wb_arena_dup(&st->arena, own);
    return wb_arena_check(&st->arena, err);
}

int upp_model_new(struct upp_model_ref ref, struct upp_model **ret, struct upp_err *err)
{
    struct upp_provider_opts o;
    const struct upp__provider *p;
    wb_opts(&o, sizeof o, ref.opts);
    if (!strcmp(ref.provider, "scripted"))
        return upp_scripted_new(wb_cstr(ref.name), ret, err);
    int r = upp__provider_find(ref.provider, o.api, &p, err);
    return r < 0 ? r : upp__model_new(p, ref, ret, err);
}

int upp__model_new(const struct upp__provider *p, struct upp_model_ref ref, struct upp_model **ret, struct upp_err *err)
{
    struct upp_provider_opts o;
    wb_opts(&o, sizeof o, ref.opts);
    int r = check_opts(&ref, &o, p, err);
    if (r < 0)
        return r;
    struct upp_model *m = wb_calloc(1, sizeof *m);
    struct state *st = wb_calloc(1, sizeof *st);
    if (!m || !st) {
        wb_free(m);
        wb_free(st);
        return upp_fail(err, UPP_ENOMEM, "no memory for a model");
    }
    st->arena = (struct wb_arena)WB_ARENA(1 << 20);
    pthread_mutex_init(&st->pool.lock, NULL); /* with no attributes it cannot fail on this system */
    fill(st, &ref, &o, p);
    *m = (struct upp_model){.ops = &st->ops,
                            .name = st->vendor.model,
                            .state = st,
                            .can = p->adapter->can & ~p->cannot,
                            .turn_ms = o.turn_ms};
    r = wb_arena_check(&st->arena, err);
    if (r == 0)
        r = upp__keys_new(o.api_key, &o.keys, p->env, !p->env || p->habits & UPP__KEY_OPTIONAL, &st->keys, err);
    if (r == 0 && o.retry.kind)
        r = upp_retry_new(&o.retry, &m->retry, err);
    if (r < 0)
        upp_model_free(m);
    else
        *ret = m;
    return r;
}
