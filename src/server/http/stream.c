/* server/http/stream.c — writes server-sent events, and sends a stream of them. */
#include "server/http/stream.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "server/http/conn.h"
#include "server/http/core.h"
#include "server/http/server.h"

enum { NAME_MAX_BYTES = 64 };

static bool is_word(const char *s)
{
    size_t n = 0;
    for (; s[n]; n++)
        if (n == NAME_MAX_BYTES || !((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= 'A' && s[n] <= 'Z') ||
                                     (s[n] >= '0' && s[n] <= '9') || s[n] == '.' || s[n] == '_' || s[n] == '-'))
            return false;
    return n > 0;
}

/* The index of the first byte that cannot be sent as it is: line ends, and U+2028 and U+2029 (E2 80 A8, A9). */
static size_t clean_length(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '\n' || c == '\r')
            return i;
        if (c == 0xe2 && s.n - i > 2 && (unsigned char)s.p[i + 1] == 0x80 && ((unsigned char)s.p[i + 2] & 0xfe) == 0xa8)
            return i;
    }
    return s.n;
}

static void add_line(struct wb_buf *out, struct upp_str s)
{
    for (;;) {
        size_t n = clean_length(s);
        wb_buf_add(out, wb_str(s.p, n));
        if (n == s.n)
            return;
        if (s.p[n] == '\n' || s.p[n] == '\r') {
            wb_buf_addc(out, ' ');
            s = wb_str(s.p + n + 1, s.n - n - 1);
        } else {
            wb_buf_add(out, (unsigned char)s.p[n + 2] == 0xa8 ? UPP_STR("\\u2028") : UPP_STR("\\u2029"));
            s = wb_str(s.p + n + 3, s.n - n - 3);
        }
    }
}

static void add_number(struct wb_buf *out, uint64_t n)
{
    char text[20], *p = text + sizeof text;
    do
        *--p = (char)('0' + n % 10);
    while (n /= 10);
    wb_buf_add(out, wb_str(p, (size_t)(text + sizeof text - p)));
}

void sv_sse_frame(struct wb_buf *out, const char *name, struct upp_str data, const struct sv_sse_id *id)
{
    if (name && !is_word(name)) {
        if (!out->failed)
            out->failed = -UPP_EBUG;
        return;
    }
    if (id) {
        wb_buf_add(out, UPP_STR("id: "));
        add_number(out, id->epoch);
        wb_buf_addc(out, '-');
        add_number(out, id->number);
        if (id->part) {
            wb_buf_addc(out, '.');
            add_number(out, id->part);
        }
        wb_buf_addc(out, '\n');
    }
    if (name) {
        wb_buf_add(out, UPP_STR("event: "));
        wb_buf_add(out, wb_cstr(name));
        wb_buf_addc(out, '\n');
    }
    wb_buf_add(out, UPP_STR("data: "));
    add_line(out, data);
    wb_buf_add(out, UPP_STR("\n\n"));
}

void sv_sse_ping(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": ping\n\n"));
}

void sv_sse_goodbye(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": the server stops; come back with Last-Event-ID\n\n"));
}

void sv_sse_revoked(struct wb_buf *out)
{
    wb_buf_add(out, UPP_STR(": the key was revoked\n\n"));
}

/* As we write it: without leading zeros. */
static bool read_number(struct upp_str s, uint64_t *ret)
{
    return (s.n == 1 || (s.n && s.p[0] != '0')) && wb_str_u64(s, ret);
}

bool sv_sse_id_parse(struct upp_str text, struct sv_sse_id *ret)
{
    uint64_t epoch, number, part = 0;
    size_t dash = wb_str_find(text, UPP_STR("-"), 0), dot = wb_str_find(text, UPP_STR("."), 0);
    if (dash == SIZE_MAX || dot < dash || !read_number(wb_str_sub(text, 0, dash), &epoch) || epoch > UINT32_MAX ||
        !read_number(wb_str_sub(text, dash + 1, dot == SIZE_MAX ? SIZE_MAX : dot - dash - 1), &number))
        return false;
    if (dot != SIZE_MAX && (!read_number(wb_str_sub(text, dot + 1, SIZE_MAX), &part) || !part || part > UINT32_MAX))
        return false;
    *ret = (struct sv_sse_id){(uint32_t)epoch, number, (uint32_t)part};
    return true;
}

enum {
    CHUNK_ROOM = 10, /* eight hex digits and a line end, before each chunk */
    KEEP = 64 << 10,
};
static const struct upp_str room = UPP_STR_INIT("0123456789"); /* CHUNK_ROOM bytes to be overwritten */

void sv_stream_wake(void *stream)
{
    struct sv_stream *st = stream;
    st->woken = true;
    weft_cond_signal(&st->cond);
}

/* Clears the buffer, except for the room for a chunk's size. */
static void begin_buffer(struct sv_stream *st)
{
    if (st->out.cap > KEEP)
        wb_buf_done(&st->out);
    wb_buf_clear(&st->out);
    st->before = 0;
    st->cut = false;
    if (st->chunked)
        wb_buf_add(&st->out, room);
}

void sv_stream_cut(struct sv_stream *st)
{
    static const char digits[] = "0123456789abcdef";
    if (!st->apart || !st->chunked || st->out.failed)
        return;
    char *p = st->out.p + st->before;
    size_t n = st->out.n - st->before - CHUNK_ROOM;
    if (!n)
        return;
    for (size_t i = 0; i < CHUNK_ROOM - 2; i++) /* zeros in front: the room is filled */
        p[i] = digits[n >> 4 * (CHUNK_ROOM - 3 - i) & 15];
    memcpy(p + CHUNK_ROOM - 2, "\r\n", 2);
    wb_buf_add(&st->out, UPP_STR("\r\n"));
    st->before = st->out.n;
    st->cut = true;
    wb_buf_add(&st->out, room);
}

/* Sends everything in one write: the head, if it was not sent yet, and all frames as one chunk, or as they were cut. */
WEFT_SUSPENDS static int flush(struct sv_stream *st, bool last, struct upp_err *err)
{
    int r = wb_buf_check(&st->out, err); /* never sends a partial frame */
    if (r < 0)
        return r;
    size_t from = 0;
    if (st->chunked) {
        size_t n = st->out.n - st->before - CHUNK_ROOM;
        char *p = st->out.p + st->before + CHUNK_ROOM;
        if (n) {
            *--p = '\n';
            *--p = '\r';
            for (size_t v = n; v; v >>= 4)
                *--p = "0123456789abcdef"[v & 15];
        }
        from = (size_t)(p - st->out.p) - st->before;
        memmove(st->out.p + from, st->out.p, st->before); /* closes the gap after the head, once */
        if (n)
            wb_buf_add(&st->out, UPP_STR("\r\n"));
        if (last)
            wb_buf_add(&st->out, UPP_STR("0\r\n\r\n"));
        r = wb_buf_check(&st->out, err);
    }
    if (r >= 0 && st->out.n > from) {
        st->x->reply.sent = true;
        st->x->reply.status = 200;
        r = sv_conn_send(st->x->conn, wb_str(st->out.p + from, st->out.n - from), err);
    }
    begin_buffer(st);
    return r;
}

/* Waits until it is woken; sends a ping after a long silence. */
WEFT_SUSPENDS static int wait(struct sv_stream *st, const struct sv_stream_opts *opts, void *arg, struct upp_err *err)
{
    int r = 0;
    if (st->woken)
        return 0;
    {
        WEFT_DEADLINE(st->x->server->opts.ping_ms);
        r = weft_cond_wait(&st->cond, err);
    }
    if (r != -UPP_ETIMEOUT)
        return r;
    r = opts->beat ? opts->beat(arg, st, err) : 0;
    if (r == 0 && !st->lines)
        sv_sse_ping(&st->out);
    return r < 0 ? r : flush(st, false, err);
}

WEFT_SUSPENDS static int pump(struct sv_stream *st, const struct sv_stream_opts *opts, sv_source *source, void *arg,
                              struct upp_err *err)
{
    for (;;) {
        st->woken = false;
        int got = source(arg, st, err);
        int r = got;

        if (got < 0 && (st->cut || st->out.n > st->before + (st->chunked ? CHUNK_ROOM : 0)))
            (void)!flush(st, false, NULL); /* what there was before the failure */
        bool flushed = r >= 0 && (got != SV_PULL_MORE || st->out.n >= SV_STREAM_FLUSH);
        if (flushed)
            r = flush(st, got == SV_PULL_END, err);
        if (r < 0 || got == SV_PULL_END)
            return r;
        bool revoked = sv_auth_revoked(&st->x->conn->auth);
        if (st->x->server->stopping || revoked) {
            if (!st->lines)
                (revoked ? sv_sse_revoked : sv_sse_goodbye)(&st->out);
            return flush(st, true, err);
        }
        if (got == SV_PULL_LATER)
            r = wait(st, opts, arg, err);
        else if (flushed)
            r = weft_yield(err); /* a long history and a fast reader must not starve the others */
        if (r < 0)
            return r;
    }
}

/* The stream is on the heap, not on the fiber's stack: whoever wakes it holds a pointer to it. */
static struct sv_stream *new_stream(struct sv_exchange *x, struct upp_err *err)
{
    struct sv_stream *st = wb_calloc(1, sizeof *st);
    if (!st) {
        (void)upp_fail(err, UPP_ENOMEM, "no memory for a stream");
        return NULL;
    }
    st->x = x;
    st->out = (struct wb_buf)WB_BUF(SV_STREAM_MAX);
    st->chunked = x->request->minor >= 1;
    return st;
}

static int write_head(struct sv_stream *st, const char *headers, bool keep_alive, struct upp_err *err)
{
    struct sv_exchange *x = st->x;
    sv_auth_headers(x);
    wb_buf_add(&x->reply.headers, UPP_STR("Cache-Control: no-store, no-transform\r\nX-Accel-Buffering: no\r\n"));
    wb_buf_add(&x->reply.headers, wb_cstr(headers ? headers : ""));
    int r = sv_conn_headers(x, err);
    if (r < 0)
        return r;
    sv_head_write(&st->out,
                  &(struct sv_head){.status = 200,
                                    .type = st->lines ? "application/x-ndjson" : "text/event-stream",
                                    .length = st->chunked ? SV_LENGTH_CHUNKED : SV_LENGTH_CLOSE,
                                    .keep_alive = keep_alive,
                                    .minor = x->request->minor,
                                    .request_id = wb_cstr(x->request_id),
                                    .headers = wb_buf_str(&x->reply.headers)},
                  &x->core->date);
    st->before = st->out.n;
    if (st->chunked)
        wb_buf_add(&st->out, room);
    return wb_buf_check(&st->out, err);
}

WEFT_SUSPENDS int sv_stream_run(struct sv_exchange *x, const struct sv_stream_opts *opts, sv_source *source, void *arg,
                                struct upp_err *err)
{
    struct sv_stream *st = new_stream(x, err);
    if (!st)
        return -UPP_ENOMEM;
    st->lines = opts->lines;
    st->apart = opts->apart;
    bool keep_alive = st->chunked && x->request->keep_alive && !x->server->stopping;
    size_t headers = x->reply.headers.n;
    int r = write_head(st, opts->headers, keep_alive, err);
    if (r >= 0) {
        sv_net_tune_stream(x->conn->fd);
        if (x->request->method == SV_HEAD) {
            x->reply.sent = true;
            x->reply.status = 200;
            r = sv_conn_send(x->conn, wb_str(st->out.p, st->before), err);
        } else {
            wb_list_push(&x->core->streams, &st->link);
            atomic_fetch_add_explicit(&x->core->n_streams, 1, memory_order_relaxed);
            r = pump(st, opts, source, arg, err);
            wb_unlink(&st->link);
            atomic_fetch_sub_explicit(&x->core->n_streams, 1, memory_order_relaxed);
        }
        if (!x->reply.sent)
            x->reply.headers.n = headers; /* the failure is the response, with a status of its own */
        else if (r < 0 || !keep_alive)
            x->conn->broken = true;
    }
    wb_buf_done(&st->out);
    wb_free(st);
    return r;
}
