/* server/ops/telemetry.c — queues spans, and sends them to the collector in batches. */
#include "server/ops/telemetry.h"

#include <pthread.h>
#include <stdatomic.h>
#include <upp/http.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "run/engine.h"
#include "server/ops/telemetry_span.h"

enum {
    ANSWER_MAX = 64 << 10,
    MOST_PAUSE_MS = 30000,
    HEADERS = 17,
    URL_MAX = 2048 + 16,
    LOOK_MS = 10000,
    RETRY_MS = 200
};

/* A span as JSON. */
struct text {
    char *p;
    size_t n;
};

struct sv_telemetry {
    struct sv_telemetry_opts opts;
    struct sv_telemetry_runs *runs;
    struct weft_loop *loop;
    struct weft_cond changed;
    _Atomic bool woken; /* a message to the loop is on its way */
    struct upp_http *http;
    struct upp_wait wait;
    struct wb_buf url;

    pthread_mutex_t lock; /* protects what follows: every loop adds */
    struct text *queue;   /* a ring; what is in it changes only on our loop */
    size_t first, n;
    struct sv_telemetry_counts count;
    uint64_t quiet_until_ms, unlogged; /* dropped since the last log line */
};

static void lock(const struct sv_telemetry *t)
{
    (void)pthread_mutex_lock((pthread_mutex_t *)(uintptr_t)&t->lock);
}

static void unlock(const struct sv_telemetry *t)
{
    (void)pthread_mutex_unlock((pthread_mutex_t *)(uintptr_t)&t->lock);
}

struct sv_telemetry_runs *sv_telemetry_runs_of(const struct sv_telemetry *t)
{
    return t->runs;
}

struct sv_telemetry_counts sv_telemetry_counts(const struct sv_telemetry *t)
{
    lock(t);
    struct sv_telemetry_counts c = t->count;
    c.queued = t->n;
    unlock(t);
    return c;
}

static size_t queued(const struct sv_telemetry *t)
{
    return sv_telemetry_counts(t).queued;
}

/* ---- The queue --------------------------------------------------------------------------------------------------- */

static void drop_spans(struct sv_telemetry *t, uint64_t n, const char *reason, const struct upp_err *why)
{
    uint64_t now = wb_mono_ms(), all = 0;
    lock(t);
    t->count.dropped += n;
    t->unlogged += n;
    if (n && now >= t->quiet_until_ms) {
        all = t->unlogged;
        t->unlogged = 0;
        t->quiet_until_ms = now + t->opts.silence_ms;
    }
    unlock(t);
    if (all)
        wb_log(WB_WARN, "spans were dropped", WB_LU("spans", all), WB_LZ("reason", reason), WB_LERR(why));
}

static void wake_here(void *arg)
{
    struct sv_telemetry *t = arg;
    weft_cond_signal(&t->changed);
    t->woken = false; /* the last thing: sv_telemetry_flush waits for it */
}

static void wake(struct sv_telemetry *t)
{
    if (weft_loop_current() == t->loop)
        weft_cond_signal(&t->changed);
    else if (!atomic_exchange(&t->woken, true) && weft_loop_post(t->loop, wake_here, t, NULL) < 0)
        t->woken = false; /* the fiber looks by itself, later */
}

/* How many are in the queue now; 0: it is full. */
static size_t queue_span(struct sv_telemetry *t, struct text span)
{
    size_t n = 0;
    lock(t);
    if (t->n < t->opts.max_queue) {
        t->queue[(t->first + t->n++) % t->opts.max_queue] = span;
        n = t->n;
    }
    unlock(t);
    return n;
}

void sv_telemetry_add(struct sv_telemetry *t, const struct sv_span *span)
{
    static const struct upp_err none = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(SV_SPAN_MAX);
    struct upp_err err = {0};
    char *copy = NULL;
    if (queued(t) == t->opts.max_queue) {
        drop_spans(t, 1, "the queue is full", &none);
        return;
    }
    if (span->id && sv_span_write(span, &text, &err) >= 0)
        copy = wb_alloc(text.n);
    if (!copy) {
        drop_spans(t, 1, "they could not be written", &err);
        return;
    }
    memcpy(copy, text.p, text.n);
    size_t n = queue_span(t, (struct text){copy, text.n});
    if (!n) { /* another loop was faster */
        wb_free(copy);
        drop_spans(t, 1, "the queue is full", &none);
    } else if (n == 1 || n == t->opts.max_batch)
        wake(t);
}

/* The first n leave the queue; `taken` of them were taken by the collector. */
static void forget(struct sv_telemetry *t, size_t n, uint64_t taken)
{
    lock(t);
    t->count.sent += taken;
    for (; n; n--, t->n--) {
        wb_free(t->queue[t->first].p);
        t->first = (t->first + 1) % t->opts.max_queue;
    }
    unlock(t);
}

/* ---- One request ------------------------------------------------------------------------------------------------- */

/* The first n spans of the queue. */
static int write_batch(const struct sv_telemetry *t, size_t n, struct wb_buf *out, struct upp_err *err)
{
    sv_span_begin_batch(out);
    for (size_t i = 0; i < n; i++) {
        const struct text *s = &t->queue[(t->first + i) % t->opts.max_queue];
        if (i)
            wb_buf_addc(out, ',');
        wb_buf_add(out, wb_str(s->p, s->n));
    }
    sv_span_end_batch(out);
    return wb_buf_check(out, err);
}

/* A collector may take a part: {"partialSuccess":{"rejectedSpans":"2"}}. What it says besides is of no use to us. */
static WEFT_SUSPENDS uint64_t count_rejected(struct upp_http_call *call)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(ANSWER_MAX);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_str piece;
    yyjson_val *v;
    uint64_t n = 0;
    int r;
    while ((r = upp_http_call_read(call, &piece, NULL)) > 0)
        wb_buf_add(&body, piece);
    if (r < 0 || body.failed || !body.n || wj_read(&a, wb_buf_str(&body), NULL, &v, NULL) < 0)
        return 0;
    yyjson_val *rejected = yyjson_obj_get(yyjson_obj_get(v, "partialSuccess"), "rejectedSpans");
    bool has = yyjson_is_raw(rejected) || yyjson_is_str(rejected); /* a number, or in a string */
    return has && wj_num_u64(wj_text(rejected), &n) ? n : 0;
}

/* What OTLP says may be tried again. */
static bool is_passing(int status)
{
    return status == 429 || status == 502 || status == 503 || status == 504;
}

/* 0: taken, less *rejected. -UPP_EREFUSED: it will never be. Else: later; err may say when. */
static WEFT_SUSPENDS int post(struct sv_telemetry *t, struct upp_str body, uint64_t *rejected, struct upp_err *err)
{
    const struct wc_telemetry *c = t->opts.config;
    struct upp_header headers[HEADERS] = {{UPP_STR("content-type"), UPP_STR("application/json")}};
    struct upp_http_call *call = NULL;
    struct upp_http_head head;
    uint64_t seconds;
    size_t n = WB_MIN(c->n_headers, (size_t)HEADERS - 1);
    for (size_t i = 0; i < n; i++)
        headers[1 + i] = c->headers[i];
    const struct upp_http_request q = {.url = wb_buf_str(&t->url),
                                       .headers = headers,
                                       .n_headers = 1 + n,
                                       .body = body,
                                       .head_ms = t->opts.answer_ms,
                                       .total_ms = t->opts.answer_ms,
                                       .max_bytes = ANSWER_MAX};
    int r = upp_http_send(t->http, &q, &t->wait, &call, err);
    if (r >= 0)
        r = upp_http_call_head(call, &head, err);
    if (r >= 0 && head.status / 100 == 2) {
        *rejected = count_rejected(call);
    } else if (r >= 0) {
        r = upp_fail(err, is_passing(head.status) ? UPP_EPROVIDER : UPP_EREFUSED, "the collector answered %d",
                     head.status);
        if (err && wb_str_u64(upp_http_header(&head, UPP_STR("retry-after")), &seconds))
            err->retry_after_ms = WB_MIN(seconds, (uint64_t)MOST_PAUSE_MS / 1000) * 1000;
        upp_http_call_drain(call);
    }
    upp_http_call_close(call);
    return r < 0 ? r : 0;
}

/* ---- Batches ----------------------------------------------------------------------------------------------------- */

/* Sends the first n spans, once. They leave the queue if the collector has taken them, or never will. */
static WEFT_SUSPENDS int send_once(struct sv_telemetry *t, size_t n, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF((size_t)SV_SPAN_MAX * (t->opts.max_batch + 1));
    uint64_t rejected = 0;
    int r = write_batch(t, n, &body, err);
    if (r >= 0)
        r = post(t, wb_buf_str(&body), &rejected, err);
    if (r == -UPP_ECANCELED)
        return r;
    if (r >= 0) {
        rejected = WB_MIN(rejected, (uint64_t)n);
        forget(t, n, n - rejected);
        drop_spans(t, rejected, "the collector rejected them", &(struct upp_err){0});
    } else if (r == -UPP_EREFUSED) {
        forget(t, n, 0);
        drop_spans(t, n, "the collector refused them", err);
    }
    return r;
}

/* Returns when the spans have left the queue, or when it was cancelled. */
static WEFT_SUSPENDS int send_batch(struct sv_telemetry *t, struct upp_err *err)
{
    size_t n = WB_MIN(queued(t), (size_t)t->opts.max_batch);
    for (unsigned tries = 1;; tries++) {
        struct upp_err why = {0};
        int r = send_once(t, n, &why);
        if (r >= 0 || r == -UPP_EREFUSED)
            return 0;
        if (r == -UPP_ECANCELED)
            return upp_fail(err, UPP_ECANCELED, "cancelled");
        if (tries == t->opts.max_tries) {
            forget(t, n, 0);
            drop_spans(t, n, "the collector cannot be reached", &why);
            return 0;
        }
        uint64_t pause = why.retry_after_ms ? why.retry_after_ms : t->opts.first_ms << (tries - 1);
        r = weft_sleep_ms(WB_MIN(pause, (uint64_t)MOST_PAUSE_MS), err);
        if (r < 0)
            return r;
    }
}

/* Waits for a change, or until the time has come. */
static WEFT_SUSPENDS int wait_until(struct sv_telemetry *t, uint64_t at_ms, struct upp_err *err)
{
    uint64_t now = wb_mono_ms();
    if (now >= at_ms)
        return 0;
    WEFT_DEADLINE(at_ms - now);
    int r = weft_cond_wait(&t->changed, err);
    return r == -UPP_ETIMEOUT ? 0 : r;
}

/* Waits for a full batch, or for any span and then a little. */
static WEFT_SUSPENDS int wait_for_batch(struct sv_telemetry *t, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && !queued(t)) /* it looks by itself: a message from another loop may be lost */
        r = wait_until(t, wb_mono_ms() + LOOK_MS, err);
    uint64_t due = wb_mono_ms() + t->opts.delay_ms;
    while (r >= 0 && queued(t) < t->opts.max_batch && wb_mono_ms() < due)
        r = wait_until(t, due, err);
    return r;
}

WEFT_SUSPENDS int sv_telemetry_main(void *arg, struct upp_err *err)
{
    struct sv_telemetry *t = arg;
    int r = 0;
    while (r >= 0) {
        r = wait_for_batch(t, err);
        if (r >= 0)
            r = send_batch(t, err);
    }
    return r == -UPP_ECANCELED ? 0 : r;
}

static WEFT_SUSPENDS void flush(struct sv_telemetry *t, struct upp_err *why)
{
    uint64_t until = wb_mono_ms() + t->opts.flush_ms;
    size_t n;
    int r = 0;
    WEFT_DEADLINE(t->opts.flush_ms);
    while ((n = queued(t)) && r != -UPP_ECANCELED && wb_mono_ms() < until) {
        r = send_once(t, WB_MIN(n, (size_t)t->opts.max_batch), why);
        if (r < 0 && r != -UPP_EREFUSED && r != -UPP_ECANCELED) /* a collector that has just been started again */
            r = weft_sleep_ms(WB_MIN(t->opts.first_ms, (uint64_t)RETRY_MS), NULL);
    }
}

WEFT_SUSPENDS void sv_telemetry_flush(struct sv_telemetry *t)
{
    struct upp_err why = {0};
    size_t n;
    if (!t)
        return;
    while (t->woken) /* its message refers to t */
        if (weft_sleep_ms(1, NULL) == -UPP_ECANCELED && weft_yield(NULL) == -UPP_ECANCELED)
            break;
    if (queued(t))
        flush(t, &why);
    if ((n = queued(t))) {
        t->quiet_until_ms = 0; /* there is no later line */
        forget(t, n, 0);
        drop_spans(t, n, "the server stopped", &why);
    }
}

/* ---- Opening ----------------------------------------------------------------------------------------------------- */

static void set_defaults(struct sv_telemetry_opts *o)
{
    o->max_queue = o->max_queue ? o->max_queue : 2048;
    o->max_batch = o->max_batch ? o->max_batch : 512;
    o->max_batch = WB_MIN(o->max_batch, o->max_queue);
    o->delay_ms = o->delay_ms ? o->delay_ms : 2000;
    o->answer_ms = o->answer_ms ? o->answer_ms : 10000;
    o->first_ms = o->first_ms ? o->first_ms : 1000;
    o->max_tries = o->max_tries ? o->max_tries : 4;
    o->flush_ms = o->flush_ms ? o->flush_ms : 2000;
    o->silence_ms = o->silence_ms ? o->silence_ms : 60000;
}

int sv_telemetry_open(const struct sv_telemetry_opts *opts, struct sv_telemetry **ret, struct upp_err *err)
{
    UPP_CLEANUP(sv_telemetry_closep) struct sv_telemetry *t = wb_calloc(1, sizeof *t);
    if (!t)
        return upp_fail(err, UPP_ENOMEM, "no memory for telemetry");
    wb_opts(&t->opts, sizeof t->opts, opts);
    set_defaults(&t->opts);
    (void)pthread_mutex_init(&t->lock, NULL);
    t->loop = weft_loop_current();
    t->url = (struct wb_buf)WB_BUF(URL_MAX);
    t->runs = sv_telemetry_runs_new();
    t->queue = wb_calloc(t->opts.max_queue, sizeof *t->queue);
    wb_buf_addf(&t->url, "%.*s/v1/traces", UPP_FMT(t->opts.config->otlp));
    if (!t->runs || !t->queue || t->url.failed)
        return upp_fail(err, UPP_ENOMEM, "no memory for telemetry");
    int r = upp_http_new(NULL, &t->http, err);
    if (r < 0)
        return r;
    t->wait = wr_wait_table(t->http);
    *ret = WB_TAKE(t);
    return 0;
}

void sv_telemetry_close(struct sv_telemetry *t)
{
    if (!t)
        return;
    if (t->queue)
        forget(t, t->n, 0);
    upp_http_free(t->http);
    wb_buf_done(&t->url);
    wb_free(t->queue);
    sv_telemetry_runs_free(t->runs);
    (void)pthread_mutex_destroy(&t->lock);
    wb_free(t);
}

void sv_telemetry_closep(struct sv_telemetry **t)
{
    sv_telemetry_close(*t);
}
