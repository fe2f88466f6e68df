/* cli/client.c — sends a request over a local socket or to a URL, and reads its answer and its events. */
#include "cli/client.h"

#include <stdio.h>
#include <yyjson.h>

#include "base/arena.h"
#include "json/read.h"
#include "json/value.h"
#include "upp/http/curl.h"

void cli_answer_init(struct cli_answer *a)
{
    *a = (struct cli_answer){.raw = WB_BUF(CLI_MAX_BODY),
                             .sent = WB_ARENA(CLI_MAX_BODY + (64u << 10)),
                             .id = WB_BUF(64),
                             .data = WB_BUF(CLI_MAX_BODY)};
}

void cli_answer_done(struct cli_answer *a)
{
    upp_http_call_close(a->call);
    a->call = NULL;
    wb_arena_done(&a->sent);
    wb_buf_done(&a->raw);
    wb_buf_done(&a->id);
    wb_buf_done(&a->data);
}

void cli_path_add(struct wb_buf *path, struct upp_str word)
{
    static const char unreserved[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (size_t i = 0; i < word.n; i++)
        wb_buf_addf(path, memchr(unreserved, word.p[i], sizeof unreserved - 1) ? "%c" : "%%%02X",
                    (unsigned char)word.p[i]);
}

void cli_query_add(struct wb_buf *path, const char *name, struct upp_str value)
{
    if (!value.n)
        return;
    wb_buf_addf(path, "&%s=", name);
    cli_path_add(path, value);
}

/* 1: more data; 0: the end. */
WEFT_SUSPENDS static int read_more(struct cli_answer *a, struct upp_err *err)
{
    struct upp_str piece;
    int r = upp_http_call_read(a->call, &piece, err);
    if (r <= 0)
        return r;
    wb_buf_add(&a->raw, piece);
    r = wb_buf_check(&a->raw, err);
    return r < 0 ? r : 1;
}

enum { HEADERS = 8 };

struct headers {
    struct wb_arena *arena;
    struct upp_header list[HEADERS];
    size_t n;
};

static void add_header(struct headers *h, const char *name, struct upp_str value)
{
    if (value.n)
        h->list[h->n++] = (struct upp_header){wb_cstr(name), wb_arena_dup(h->arena, value)};
}

/* The transport borrows the request until its call is closed. Whoever waits on this machine may wait for ever. */
int cli_send(const struct cli_peer *to, const struct cli_request *q, struct cli_answer *ret, struct upp_err *err)
{
    struct wb_arena *a = &ret->sent;
    struct headers *h = wb_new(a, struct headers);
    struct upp_str url = to->url.n ? to->url : UPP_STR("http://127.0.0.1");
    uint64_t ms = to->url.n ? 0 : UPP_FOREVER;
    if (h) {
        h->arena = a;
        if (to->key.n)
            add_header(h, "authorization", wb_arena_printf(a, "Bearer %.*s", UPP_FMT(to->key)));
        if (!to->url.n)
            add_header(h, "host", UPP_STR("localhost"));
        add_header(h, "last-event-id", q->last_event_id);
        add_header(h, "idempotency-key", q->key);
        add_header(h, "weft-tenant", q->tenant);
        add_header(h, "weft-user", q->user);
        if (q->body.p)
            add_header(h, "content-type", wb_cstr(q->type ? q->type : "application/json"));
    }
    struct upp_http_request request = {.method = wb_cstr(q->method),
                                       .url = wb_arena_printf(a, "%.*s%.*s", UPP_FMT(url), UPP_FMT(q->path)),
                                       .headers = h ? h->list : NULL,
                                       .n_headers = h ? h->n : 0,
                                       .body = q->body.p ? wb_arena_dup(a, q->body) : q->body,
                                       .head_ms = ms,
                                       .idle_ms = ms,
                                       .max_bytes = SIZE_MAX / 2};
    int r = wb_arena_check(a, err);
    if (r < 0)
        return r;
    return to->url.n ? upp_http_send(to->http, &request, to->wait, &ret->call, err)
                     : upp__http_send_unix(to->http, to->socket, &request, to->wait, &ret->call, err);
}

WEFT_SUSPENDS int cli_read_head(struct cli_answer *a, struct upp_err *err)
{
    struct upp_http_head head;
    int r = upp_http_call_head(a->call, &head, err);
    if (r >= 0)
        a->status = head.status;
    return r;
}

WEFT_SUSPENDS int cli_read_body(struct cli_answer *a, struct upp_err *err)
{
    int r;
    do
        r = read_more(a, err);
    while (r > 0);
    return r;
}

/* Handles one line of a stream, without its line end. True: the empty line that ends an event. */
static bool take_line(struct cli_answer *a, struct upp_str line)
{
    if (!line.n)
        return a->data.n > 0;
    struct wb_buf *to = wb_str_starts(line, UPP_STR("data: ")) ? &a->data
                        : wb_str_starts(line, UPP_STR("id: ")) ? &a->id
                                                               : NULL;
    if (to) {
        wb_buf_clear(to);
        wb_buf_add(to, wb_str_sub(line, to == &a->id ? 4 : 6, SIZE_MAX));
    }
    return false;
}

WEFT_SUSPENDS int cli_read_event(struct cli_answer *a, struct upp_err *err)
{
    wb_buf_clear(&a->data);
    wb_buf_clear(&a->id);
    for (size_t seen = 0;;) {
        size_t end = wb_str_find(wb_buf_str(&a->raw), UPP_STR("\n"), seen);
        if (end != SIZE_MAX) {
            bool whole = take_line(a, wb_str(a->raw.p, end));
            wb_buf_drop(&a->raw, end + 1);
            seen = 0;
            int r = wb_buf_check(&a->data, err);
            if (r < 0 || whole)
                return r < 0 ? r : 1;
            continue;
        }
        seen = a->raw.n;
        int r = read_more(a, err);
        if (r <= 0)
            return r;
    }
}

WEFT_SUSPENDS int cli_answer_fail(struct cli_answer *a, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena arena = WB_ARENA(64u << 20);
    yyjson_val *root, *error, *message, *where;
    int r = cli_read_body(a, err);
    enum upp_code code = a->status == 404                      ? UPP_ENOTFOUND
                         : a->status == 503                    ? UPP_EBUSY
                         : a->status >= 400 && a->status < 500 ? UPP_EREFUSED
                                                               : UPP_ESTORE;
    if (r < 0)
        return r;
    if (wj_read(&arena, wb_buf_str(&a->raw), NULL, &root, NULL) < 0)
        root = NULL;
    struct upp_str envelope = wj_text_at(yyjson_obj_get(root, "content"), "text"); /* of /v1/envelopes */
    if (envelope.n)
        return upp_fail(err, code, "%.*s", UPP_FMT(envelope));
    if ((error = yyjson_obj_get(root, "error")) && (message = yyjson_obj_get(error, "message")) &&
        yyjson_is_str(message)) {
        r = upp_fail(err, code, "%.*s", UPP_FMT(wj_text(message)));
        if (err && (where = yyjson_obj_get(error, "param")) && yyjson_is_str(where))
            (void)snprintf(err->where, sizeof err->where, "%.*s", UPP_FMT(wj_text(where)));
        return r;
    }
    return upp_fail(err, code, "the owner of the store answers %d", a->status);
}
