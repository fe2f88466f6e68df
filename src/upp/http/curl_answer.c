/* upp/http/curl_answer.c — what comes back of a call: its head, its body, its end. */
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "upp/http/curl_call.h"

enum {
    KEEP_BYTES = 16 << 10, /* of an empty buffer; a larger one is given back */
    RATIO = 100,           /* of a compressed body, at most, */
    RATIO_AFTER = 1 << 20, /* beyond so many bytes */
    DRAIN_MS = 50,
};

/* The first failure counts. libcurl ends the call when a callback takes fewer bytes than it was given. */
static size_t refuse(struct upp_http_call *c, int r)
{
    if (!c->failed)
        c->failed = r;
    upp__curl_note(c);
    return 0;
}

/* A head that is whole: what it means for what follows. */
static int judge(struct upp_http_call *c, struct upp_err *err)
{
    c->moved = upp__http_moved(&c->head);
    if (c->moved) /* its body is passed over; upp__curl_follow knows where to */
        return 0;
    int r = upp__http_coding(upp__head_get(&c->head, UPP_STR("content-encoding")), err);
    if (r < 0)
        return r;
    c->coded = r == 0;
    return 0;
}

size_t upp__curl_on_header(char *p, size_t size, size_t count, void *arg)
{
    struct upp_http_call *c = arg;
    int r = c->failed ? c->failed : upp__head_line(&c->head, wb_str(p, size * count), &c->err);
    if (r > 0) {
        upp__curl_note(c);
        r = judge(c, &c->err);
    }
    return r < 0 ? refuse(c, r) : size * count;
}

static bool is_bomb(const struct upp_http_call *c, uint64_t bytes)
{
    curl_off_t wire = 0;
    if (!c->coded || bytes <= RATIO_AFTER)
        return false;
    return curl_easy_getinfo(c->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire) != CURLE_OK || bytes / RATIO > (uint64_t)wire;
}

size_t upp__curl_on_body(char *p, size_t size, size_t count, void *arg)
{
    struct upp_http_call *c = arg;
    size_t n = size * count;
    if (c->failed)
        return 0;
    if (c->moved)
        return n;
    /* What libcurl has decompressed and cannot give away it keeps without a limit of ours: then it is taken here, and
     * libcurl stops reading afterwards (upp__curl_dispatch). */
    if (!c->coded && c->in.n && c->in.n + n > UPP__CURL_HIGH) {
        c->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (c->got + n > c->req.max_bytes)
        return refuse(
            c, upp_fail(&c->err, UPP_ELIMIT, "%s: the answer has more than %zu bytes", c->host, c->req.max_bytes));
    if (is_bomb(c, c->got + n))
        return refuse(
            c, upp_fail(&c->err, UPP_ELIMIT, "%s: the answer was compressed more than %d times", c->host, RATIO));
    c->got += n;
    wb_buf_add(&c->in, wb_str(p, n));
    int r = wb_buf_check(&c->in, &c->err);
    if (r < 0)
        return refuse(c, r);
    upp__curl_note(c);
    return n;
}

static enum upp_code code_of(CURLcode r)
{
    switch (r) {
    case CURLE_OUT_OF_MEMORY:
        return UPP_ENOMEM;
    case CURLE_SSL_CACERT_BADFILE: /* a mistake in the settings, not in the network */
        return UPP_EINVALID;
    case CURLE_UNSUPPORTED_PROTOCOL: /* what came is no HTTP; the address was looked at before */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return UPP_EPROTO;
    default:
        return UPP_ENET;
    }
}

static const char no_answer[] = "no answer from";

static int fail_time(struct upp_http_call *c, const char *what, uint64_t ms, struct upp_err *err)
{
    c->failed =
        upp_fail(&c->err, UPP_ETIMEOUT, "request timed out after %llums: %s %s", (unsigned long long)ms, what, c->host);
    return upp__curl_fail_again(c, err);
}

/* libcurl's verdict as ours. The one limit of time that it knows is that of connecting, which is the head's: whether it
 * sees it first or we do is chance. */
static int fail_result(struct upp_http_call *c, struct upp_err *err)
{
    if (c->result == CURLE_OPERATION_TIMEDOUT)
        return fail_time(c, no_answer, c->req.head_ms, err);
    const char *text = c->text[0] ? c->text : curl_easy_strerror(c->result);
    upp__http_cause(&c->err, text);
    char cause[sizeof c->err.cause];
    memcpy(cause, c->err.cause, sizeof cause);
    c->failed = upp_fail(&c->err, code_of(c->result), "%s: %s", c->host, cause);
    memcpy(c->err.cause, cause, sizeof cause);
    return upp__curl_fail_again(c, err);
}

/* Waits for anything new: 0, look again. */
static int wait_more(struct upp_http_call *c, uint64_t at, const char *what, uint64_t ms, struct upp_err *err)
{
    uint64_t until = WB_MIN(at, c->total_at);
    int r = upp__waiters_wait(&c->http->crowd, &c->waiter, c->http->epoll, until, err);
    if (r != 0)
        return r < 0 ? r : 0;
    return c->total_at < at ? fail_time(c, "the whole call to", c->req.total_ms, err) : fail_time(c, what, ms, err);
}

/* Every call is a place where cancel and the time for the whole call are seen, also when there is something to give. */
static int look(struct upp_http_call *c, struct upp_err *err)
{
    int r = upp_wait_stopped(c->waiter.wait, err);
    if (r < 0)
        return r;
    if (c->total_at != UPP_FOREVER && wb_mono_ms() >= c->total_at && !c->failed)
        return fail_time(c, "the whole call to", c->req.total_ms, err);
    return 0;
}

int upp_http_call_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    for (;;) {
        int r = look(c, err);
        if (r < 0)
            return r;
        if (c->head.whole && !c->moved) {
            *ret = (struct upp_http_head){c->head.status, c->head.headers, c->head.n};
            return 0;
        }
        if (c->moved && !c->failed) {
            r = upp__curl_follow(c, err);
            if (r < 0)
                return r;
            continue;
        }
        if (c->failed)
            return upp__curl_fail_again(c, err);
        if (c->done)
            return fail_result(c, err);
        r = wait_more(c, upp__curl_after(c->began, c->req.head_ms), no_answer, c->req.head_ms, err);
        if (r < 0)
            return r;
    }
}

static void empty(struct wb_buf *b)
{
    if (b->cap > KEEP_BYTES)
        wb_buf_done(b);
    wb_buf_clear(b);
}

/* What has come is the reader's; libcurl may go on. */
static void lend(struct upp_http_call *c, struct upp_str *ret)
{
    struct wb_buf full = c->in;
    c->in = c->lent;
    c->lent = full;
    *ret = wb_buf_str(&c->lent);
    if (!c->paused || c->http->spent)
        return;
    c->paused = false;
    CURLcode moved = curl_easy_pause(c->easy, CURLPAUSE_CONT); /* may call upp__curl_on_body */
    if (moved != CURLE_OK && !c->failed) {
        c->done = true;
        c->result = moved;
    }
    upp__curl_dispatch(c->http);
}

int upp_http_call_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct upp_http_head head;
    int r = upp_http_call_head(c, &head, err);
    if (r < 0)
        return r;
    empty(&c->lent);
    for (;;) {
        if (c->in.n) {
            lend(c, ret);
            return 1;
        }
        if (c->failed)
            return upp__curl_fail_again(c, err);
        if (c->done)
            return c->result == CURLE_OK ? 0 : fail_result(c, err);
        r = wait_more(c, upp__curl_after(wb_mono_ms(), c->req.idle_ms), "nothing more from", c->req.idle_ms, err);
        if (r < 0)
            return r;
    }
}

void upp_http_call_drain(struct upp_http_call *c)
{
    struct upp_str rest;
    uint64_t until = wb_mono_ms() + DRAIN_MS;
    c->total_at = WB_MIN(c->total_at, until);
    c->req.idle_ms = DRAIN_MS;
    while (upp_http_call_read(c, &rest, NULL) > 0 && wb_mono_ms() < until)
        ; /* a failure is of no interest either: the answer was whole before it */
}

void upp_http_call_close(struct upp_http_call *c)
{
    if (!c)
        return;
    if (c->added)
        (void)curl_multi_remove_handle(c->http->multi, c->easy);
    wb_unlink(&c->link);
    wb_unlink(&c->news);
    if (c->easy)
        curl_easy_cleanup(c->easy);
    upp__curl_headers_free(c->headers);
    upp__head_done(&c->head);
    wb_buf_done(&c->in);
    wb_buf_done(&c->lent);
    wb_free(c->host);
    wb_free(c);
}
