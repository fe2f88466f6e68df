/* server/ops/webhook_send.c — writes, signs and posts one message to a webhook. */
#include "server/ops/webhook_send.h"

#include <openssl/hmac.h>
#include <stdio.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "dialects/assistants/objects.h"
#include "json/write.h"
#include "run/engine.h"

enum { ARENA_MAX = 64 << 20, ANSWER_MAX = 64 << 10 };

static const struct upp_str types[WS_DUE_KINDS] = {
    [WS_DUE_END] = UPP_STR_INIT("run.end"), [WS_DUE_WAIT] = UPP_STR_INIT("run.wait")};

static int put_hook(struct sv_webhook_sender *s, unsigned kind, const struct wc_webhook *hook, struct upp_err *err)
{
    s->urls[kind] = hook->url;
    return hook->url.p ? wc_webhook_key(hook->secret, &s->keys[kind], err) : 0;
}

int sv_webhook_sender_init(struct sv_webhook_sender *s, const struct sv_webhook_opts *opts, struct upp_err *err)
{
    const struct wrt_runtime *rt = opts->runtime;
    *s = (struct sv_webhook_sender){.engine = rt->engine, .answer_ms = opts->answer_ms, .max_body = opts->max_body};
    int r = put_hook(s, WS_DUE_END, &rt->config->on_end, err);
    if (r >= 0)
        r = put_hook(s, WS_DUE_WAIT, &rt->config->on_wait, err);
    if (r >= 0)
        r = upp_http_new(NULL, &s->http, err);
    s->wait = wr_wait_table(s->http);
    return r;
}

void sv_webhook_sender_done(struct sv_webhook_sender *s)
{
    for (unsigned i = 0; i < WS_DUE_KINDS; i++)
        s->keys[i] = wb_secret_free(s->keys[i]);
    upp_http_free(s->http);
    s->http = NULL;
}

int sv_webhook_sign(struct upp_str key, struct upp_str id, int64_t timestamp, struct upp_str body, struct wb_buf *ret,
                    struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(body.n + 256);
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    wb_buf_addf(&text, "%.*s.%lld.", UPP_FMT(id), (long long)timestamp);
    wb_buf_add(&text, body);
    int r = wb_buf_check(&text, err);
    if (r < 0)
        return r;
    if (!HMAC(EVP_sha256(), key.p, (int)key.n, (const unsigned char *)text.p, text.n, sum, &n))
        return upp_fail(err, UPP_ENOMEM, "no memory to sign a message");
    wb_buf_add(ret, UPP_STR("v1,"));
    wb_base64_add(ret, wb_str((const char *)sum, n), WB_BASE64);
    return wb_buf_check(ret, err);
}

struct upp_str sv_webhook_id(const struct ws_due *d, char buf[SV_WEBHOOK_ID])
{
    char name[WS_DUE_NAME];
    int n = snprintf(buf, SV_WEBHOOK_ID, "msg_%.*s", UPP_FMT(ws_due_name(d, name)));
    return wb_str(buf, (size_t)n);
}

/* What the run waits for. Without arguments in a short message: they may be what is too long. */
static void write_pending(struct wj_writer *w, const struct wr_run_info *look, bool whole)
{
    wj_put_open(w, "pending", '[');
    for (size_t i = 0; i < look->n_pending; i++) {
        const struct wm_pending *p = &look->pending[i];
        wj_write_open(w, '{');
        wj_put_str_or_empty(w, "call_id", p->call);
        wj_put_str(w, "kind", wb_cstr(asst_pending_kind(p)));
        if (whole)
            asst_function_members(w, p->name, p->arguments);
        else
            wj_put_str_or_empty(w, "name", p->name);
        wj_write_close(w, '}');
    }
    wj_write_close(w, ']');
}

/* The members of a run that are never long. */
static void write_short_run(struct wj_writer *w, const struct wr_run_info *look)
{
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("id"));
    asst_id(w, "run_", look->run.id);
    wj_put_str(w, "object", UPP_STR("thread.run"));
    wj_put_str(w, "assistant_id", look->run.agent);
    wj_write_name(w, UPP_STR("thread_id"));
    asst_id(w, "thread_", look->run.thread);
    wj_put_str(w, "status", wb_cstr(asst_status(&look->run, look->n_pending)));
    wj_write_close(w, '}');
}

static int write_message(const struct ws_due *d, const struct wr_run_info *look, bool whole, struct wb_arena *a,
                         struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    char id[SV_WEBHOOK_ID];
    int r = 0;
    wb_buf_clear(out);
    wj_writer_init(&w, out, err);
    wj_write_open(&w, '{');
    wj_put_str(&w, "id", sv_webhook_id(d, id));
    wj_put_str(&w, "type", types[d->kind]);
    wj_put_i64(&w, "created_at", d->created_ms / 1000);
    wj_put_str(&w, "tenant", d->tenant);
    if (!whole)
        wj_put_bool(&w, "shortened", true);
    if (d->kind == WS_DUE_WAIT)
        write_pending(&w, look, whole);
    wj_write_name(&w, UPP_STR("run"));
    if (whole)
        r = asst_run_write(&w, a, &look->run, look->pending, look->n_pending, err);
    else
        write_short_run(&w, look);
    if (r < 0)
        return r;
    wj_write_close(&w, '}');
    return wj_writer_check(&w);
}

static WEFT_SUSPENDS int write_body(const struct sv_webhook_sender *s, const struct ws_due *d, struct wb_buf *out,
                                    struct upp_err *err)
{
    UPP_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ARENA_MAX);
    struct wl_owner owner = {.tenant = d->tenant};
    struct wr_run_info look;
    struct wl_thread thread;
    int r = wr_get(s->engine, &owner, d->run, &a, &look, err);
    if (r >= 0) /* the runs of a deleted thread stay until they are swept, and nobody may see them */
        r = wl_get_thread(wr_engine_store(s->engine), &owner, look.run.thread, &a, &thread, err);
    if (r < 0)
        return r;
    r = write_message(d, &look, true, &a, out, err);
    return r == -UPP_ELIMIT ? write_message(d, &look, false, &a, out, err) : r;
}

static WEFT_SUSPENDS int post(struct sv_webhook_sender *s, unsigned kind, struct upp_str id, struct upp_str body,
                              struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf signature = WB_BUF(256);
    struct upp_http_call *call = NULL;
    struct upp_http_head head;
    char timestamp[24];
    int64_t now = wb_wall_ms() / 1000;
    int r = sv_webhook_sign(wb_secret_reveal(s->keys[kind]), id, now, body, &signature, err);
    if (r < 0)
        return r;
    (void)snprintf(timestamp, sizeof timestamp, "%lld", (long long)now);
    const struct upp_header headers[] = {{UPP_STR("content-type"), UPP_STR("application/json")},
                                         {UPP_STR("user-agent"), UPP_STR("weft/" UPP_VERSION)},
                                         {UPP_STR("webhook-id"), id},
                                         {UPP_STR("webhook-timestamp"), wb_cstr(timestamp)},
                                         {UPP_STR("webhook-signature"), wb_buf_str(&signature)}};
    const struct upp_http_request q = {.url = s->urls[kind],
                                       .headers = headers,
                                       .n_headers = WB_LEN(headers),
                                       .body = body,
                                       .head_ms = s->answer_ms,
                                       .total_ms = s->answer_ms,
                                       .max_bytes = ANSWER_MAX};
    r = upp_http_send(s->http, &q, &s->wait, &call, err);
    if (r >= 0)
        r = upp_http_call_head(call, &head, err);
    if (r >= 0 && head.status / 100 != 2) {
        r = upp_fail(err, UPP_EPROVIDER, "the webhook answered %d", head.status);
        err->http = head.status;
    }
    if (r >= 0)
        upp_http_call_drain(call);
    upp_http_call_close(call);
    if (r == -UPP_ELIMIT) /* not of the message */
        return upp_fail(err, UPP_EPROVIDER, "the answer of the webhook is too long");
    return r < 0 ? r : 1;
}

WEFT_SUSPENDS int sv_webhook_send(struct sv_webhook_sender *s, const struct ws_due *d, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf body = WB_BUF(s->max_body);
    char id[SV_WEBHOOK_ID];
    if (!s->urls[d->kind].p)
        return 0;
    int r = ws_outbox_has(wr_engine_store(s->engine), d, err);
    if (r <= 0) /* who told of it was so late that a scan had found it, and it was delivered */
        return r;
    r = write_body(s, d, &body, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    return r < 0 ? r : post(s, d->kind, sv_webhook_id(d, id), wb_buf_str(&body), err);
}
