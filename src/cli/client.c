/* cli/client.c — sends a request over a Unix socket or to a URL, and reads its response and its events. */
#include "cli/client.h"

#include <stdio.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/file.h"
#include "json/read.h"
#include "json/value.h"

enum { PIECE = 16 << 10 };

void cli_answer_init(struct cli_answer *a)
{
    *a = (struct cli_answer){.fd = -1,
                             .length = -1,
                             .raw = WB_BUF(CLI_MAX_BODY),
                             .sent = WB_ARENA(CLI_MAX_BODY + CLI_MAX_HEAD),
                             .id = WB_BUF(64),
                             .data = WB_BUF(CLI_MAX_BODY)};
}

void cli_answer_done(struct cli_answer *a)
{
    wb_fd_close(&a->fd);
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
WEFT_SUSPENDS static int more(struct cli_answer *a, struct upp_err *err)
{
    if (a->call) {
        struct upp_str piece;
        int r = upp_http_call_read(a->call, &piece, err);
        if (r > 0)
            wb_buf_add(&a->raw, piece);
        return r <= 0 ? r : a->raw.failed ? wb_buf_check(&a->raw, err) : 1;
    }
    if (!wb_buf_reserve(&a->raw, PIECE))
        return wb_buf_check(&a->raw, err);
    int64_t n = weft_recv(a->fd, a->raw.p + a->raw.n, PIECE, err);
    if (n < 0)
        return (int)n;
    a->raw.n += (size_t)n;
    return n > 0;
}

static int parse_head(struct cli_answer *a, struct upp_str head, struct upp_err *err)
{
    struct upp_str line, rest = head;
    uint64_t n;
    if (!wb_str_split(&rest, '\n', &line) || !wb_str_starts(line, UPP_STR("HTTP/1.")) ||
        !wb_str_u64(wb_str_sub(line, 9, 3), &n))
        return upp_fail(err, UPP_EPROTO, "the owner of the store does not speak HTTP");
    a->status = (int)n;
    while (wb_str_split(&rest, '\n', &line)) {
        size_t colon = wb_str_find(line, UPP_STR(":"), 0);
        if (colon != SIZE_MAX && wb_str_eq_nocase(wb_str_sub(line, 0, colon), UPP_STR("content-length"))) {
            if (!wb_str_u64(wb_str_trim(wb_str_sub(line, colon + 1, SIZE_MAX)), &n) || n > CLI_MAX_BODY)
                return upp_fail(err, UPP_ELIMIT, "an answer has at most %d bytes", CLI_MAX_BODY);
            a->length = (int64_t)n;
        }
    }
    return 0;
}

WEFT_SUSPENDS int cli_ask(int fd, const struct cli_request *q, struct cli_answer *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(CLI_MAX_BODY + CLI_MAX_HEAD);
    ret->fd = fd;
    wb_buf_addf(&out, "%s %.*s HTTP/1.0\r\nHost: localhost\r\n", q->method, UPP_FMT(q->path));
    if (q->last_event_id.n)
        wb_buf_addf(&out, "Last-Event-ID: %.*s\r\n", UPP_FMT(q->last_event_id));
    if (q->key.n)
        wb_buf_addf(&out, "Idempotency-Key: %.*s\r\n", UPP_FMT(q->key));
    if (q->tenant.n)
        wb_buf_addf(&out, "weft-tenant: %.*s\r\n", UPP_FMT(q->tenant));
    if (q->user.n)
        wb_buf_addf(&out, "weft-user: %.*s\r\n", UPP_FMT(q->user));
    if (q->body.p)
        wb_buf_addf(&out, "Content-Type: %s\r\nContent-Length: %zu\r\n", q->type ? q->type : "application/json",
                    q->body.n);
    wb_buf_add(&out, UPP_STR("\r\n"));
    wb_buf_add(&out, q->body);
    int r = wb_buf_check(&out, err);
    if (r >= 0)
        r = weft_send(fd, out.p, out.n, err);
    while (r >= 0) {
        size_t end = wb_str_find(wb_buf_str(&ret->raw), UPP_STR("\r\n\r\n"), 0);
        if (end != SIZE_MAX) {
            r = parse_head(ret, wb_str(ret->raw.p, end), err);
            wb_buf_drop(&ret->raw, end + 4);
            return r;
        }
        if (ret->raw.n > CLI_MAX_HEAD)
            return upp_fail(err, UPP_EPROTO, "the head of an answer is too long");
        r = more(ret, err);
        if (r == 0)
            return upp_fail(err, UPP_ENET, "the connection ended before the answer");
    }
    return r;
}

struct head_out {
    struct wb_arena *arena;
    struct upp_header *list;
    size_t n;
};

static void add_header(struct head_out *h, const char *name, struct upp_str value)
{
    if (value.n && h->list)
        h->list[h->n++] = (struct upp_header){wb_cstr(name), wb_arena_dup(h->arena, value)};
}

/* The transport borrows the request until its call is closed. */
WEFT_SUSPENDS int cli_ask_url(const struct cli_url *to, const struct cli_request *q, struct cli_answer *ret,
                              struct upp_err *err)
{
    struct wb_arena *a = &ret->sent;
    struct head_out h = {.arena = a, .list = wb_new_n(a, struct upp_header, 6)};
    struct upp_http_request request = {.method = wb_cstr(q->method),
                                       .url = wb_arena_printf(a, "%.*s%.*s", UPP_FMT(to->base), UPP_FMT(q->path)),
                                       .headers = h.list,
                                       .body = q->body.p ? wb_arena_dup(a, q->body) : q->body,
                                       .max_bytes = SIZE_MAX / 2};
    struct upp_http_head head;
    if (to->key.n)
        add_header(&h, "authorization", wb_arena_printf(a, "Bearer %.*s", UPP_FMT(to->key)));
    add_header(&h, "last-event-id", q->last_event_id);
    add_header(&h, "idempotency-key", q->key);
    if (q->body.p)
        add_header(&h, "content-type", wb_cstr(q->type ? q->type : "application/json"));
    request.n_headers = h.n;
    int r = wb_arena_check(a, err);
    if (r >= 0)
        r = upp_http_send(to->http, &request, to->wait, &ret->call, err);
    if (r >= 0)
        r = upp_http_call_head(ret->call, &head, err);
    if (r >= 0)
        ret->status = head.status;
    return r;
}

WEFT_SUSPENDS int cli_read_body(struct cli_answer *a, struct upp_err *err)
{
    int r = 1;
    while (r > 0 && (a->length < 0 || a->raw.n < (size_t)a->length))
        r = more(a, err);
    if (r == 0 && a->length >= 0)
        return upp_fail(err, UPP_ENET, "the connection ended in the middle of an answer");
    return r < 0 ? r : 0;
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
        int r = more(a, err);
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
