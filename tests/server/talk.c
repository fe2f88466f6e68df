/* server/talk.c — the routes of the tests, and the client that writes and reads raw bytes. */
#include "server/talk.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "server/http/error.h"
#include "server/http/stream.h"
#include "server/keys/table.h"
#include "stores/memory/memory.h"

/* ---- Routes ------------------------------------------------------------------------------------------------------ */

static int says(struct sv_exchange *x, struct upp_str text)
{
    x->reply.status = 200;
    wb_buf_add(&x->reply.body, text);
    return 0;
}

static int empty(struct sv_exchange *x, struct upp_err *err)
{
    (void)err;
    return says(x, UPP_STR("{}"));
}

static int echo(struct sv_exchange *x, struct upp_err *err)
{
    (void)err;
    x->reply.type = "text/plain";
    return says(x, wb_buf_str(&x->request->body));
}

static int params(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str q = UPP_STR("-");
    int r = sv_query(x, UPP_STR("q"), &q, err);
    if (r < 0)
        return r;
    x->reply.status = 200;
    wb_buf_addf(&x->reply.body, "%.*s %.*s %.*s %.*s", UPP_FMT(x->params[0]), UPP_FMT(x->params[1]), UPP_FMT(q),
                UPP_FMT(x->owner.tenant));
    return 0;
}

static int fails(struct sv_exchange *x, struct upp_err *err)
{
    return upp_fail(err, (enum upp_code)atoi(x->params[0].p), "as you wish");
}

static int slow(struct sv_exchange *x, struct upp_err *err)
{
    struct talk *t = x->server->opts.app;
    int r = weft_sleep_ms(t->simulated ? 1000 : 10, err);
    return r < 0 ? r : says(x, UPP_STR("slow"));
}

struct ticker {
    struct talk *t;
    uint64_t n, until;
};

static int ticks(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct ticker *k = arg;
    if (k->t->limit && k->n == k->t->limit)
        return SV_PULL_END;
    int r = weft_yield(err);
    if (r < 0)
        return r;
    k->n++;
    sv_sse_frame(&st->out, "tick", UPP_STR("0123456789"), &(struct sv_sse_id){1, k->n, 1});
    return SV_PULL_MORE;
}

static int stream(struct sv_exchange *x, struct upp_err *err)
{
    struct ticker k = {.t = x->server->opts.app};
    k.t->streams++;
    int r = sv_stream_run(x, &(struct sv_stream_opts){.headers = "x-test: yes\r\n"}, ticks, &k, err);
    k.t->streams--;
    return r;
}

static int ticks_until(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct ticker *k = arg;
    if (k->n + 1 >= k->until)
        return upp_fail(err, UPP_ESTORE, "the source has failed");
    return ticks(arg, st, err);
}

static int stream_until(struct sv_exchange *x, struct upp_err *err)
{
    struct ticker k = {.t = x->server->opts.app};
    if (!wb_str_u64(x->params[0], &k.until))
        return upp_fail(err, UPP_EINVALID, "no number");
    return sv_stream_run(x, &(struct sv_stream_opts){.headers = "x-test: yes\r\n"}, ticks_until, &k, err);
}

static int once(void *arg, struct sv_stream *st, struct upp_err *err)
{
    struct ticker *k = arg;
    (void)err;
    if (k->n++)
        return SV_PULL_LATER;
    sv_sse_frame(&st->out, "tick", UPP_STR("once"), &(struct sv_sse_id){1, 1, 1});
    return SV_PULL_MORE;
}

static int quiet(struct sv_exchange *x, struct upp_err *err)
{
    struct ticker k = {.t = x->server->opts.app};
    k.t->streams++;
    int r = sv_stream_run(x, &(struct sv_stream_opts){0}, once, &k, err);
    k.t->streams--;
    return r;
}

static int big(struct sv_exchange *x, struct upp_err *err)
{
    (void)err;
    for (size_t i = 0; i < (4u << 20) / 16; i++)
        wb_buf_add(&x->reply.body, UPP_STR("0123456789abcdef"));
    x->reply.status = 200;
    return 0;
}

static const struct sv_route rows[] = {
    {SV_GET, "/empty", empty, 0, 0},
    {SV_POST, "/echo", echo, 0, 0},
    {SV_GET, "/echo/{a}/x/{b}", params, 0, 0},
    {SV_POST, "/small", echo, 16, 0},
    {SV_GET, "/fail/{code}", fails, 0, 0},
    {SV_POST, "/fail/{code}", fails, 0, 0},
    {SV_GET, "/slow", slow, 0, 0},
    {SV_GET, "/stream", stream, 0, 0},
    {SV_GET, "/stream/{n}", stream_until, 0, 0},
    {SV_GET, "/quiet", quiet, 0, 0},
    {SV_GET, "/big", big, 0, 0},
};
static const struct sv_door door = {.name = "talk", .prefix = "/", .routes = rows, .n_routes = WB_LEN(rows)};
const struct sv_door *const talk_doors[] = {&door, NULL};

/* ---- Both sides on one loop -------------------------------------------------------------------------------------- */

static int serves(void *arg, struct upp_err *err)
{
    struct talk *t = arg;
    t->served = sv_server_run(t->server, err);
    for (size_t i = 0; i < t->server->n_listeners; i++) /* nobody shall wait for one who failed */
        sv_listener_close(&t->server->listeners[i]);
    return t->served;
}

static int both(void *arg, struct upp_err *err)
{
    struct talk *t = arg;
    t->opts.size = sizeof t->opts;
    t->opts.app = t;
    if (!t->opts.doors)
        t->opts.doors = talk_doors;
    if (!t->opts.listen)
        t->opts.listen = "127.0.0.1:0";
    int r = sv_server_open(weft_loop_current(), &t->opts, &t->server, err);
    if (r < 0)
        return r;
    {
        UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
        r = weft_scope_spawn(&s, "server", serves, t, NULL, err);
        if (r >= 0)
            r = weft_yield(err);
        if (r >= 0) {
            WEFT_DEADLINE(t->patience_ms ? t->patience_ms : t->simulated ? 3600000 : 5000);
            r = t->client(t, err);
        }
        sv_server_stop(t->server);
        int joined = weft_scope_join(&s, r < 0 ? NULL : err);
        if (r >= 0)
            r = joined;
    }
    sv_server_close(t->server);
    return r;
}

int talk_run(struct talk *t, struct upp_err *err)
{
    if (!t->simulated)
        return test_on_loop(both, t, err);
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = t->seed), &t->world, err);
    if (r < 0)
        return r;
    r = weft_loop_run(weft__sim_loop(t->world, 0), "test", both, t, err);
    size_t left = weft__sim_open_fds(t->world);
    weft__sim_close(t->world);
    if (r >= 0 && !EXPECT(left == 0))
        return -UPP_EBUG;
    return r;
}

/* ---- The client -------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS int talk_connect(const struct talk *t, size_t i, int *ret, struct upp_err *err)
{
    const struct sv_listener *l = &t->server->listeners[i];
    struct sockaddr_in a = {.sin_family = AF_INET};
    struct sockaddr_un u = {.sun_family = AF_UNIX};
    int fd = WB_CALL(socket)(l->local ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
    if (fd < 0)
        return upp_fail(err, UPP_ENET, "socket");
    (void)inet_pton(AF_INET, l->host, &a.sin_addr);
    const char *port = strrchr(l->url, ':');
    a.sin_port = htons((uint16_t)atoi(port + 1));
    (void)snprintf(u.sun_path, sizeof u.sun_path, "%s", l->path);
    int r = l->local ? weft_connect(fd, (struct sockaddr *)&u, sizeof u, err)
                     : weft_connect(fd, (struct sockaddr *)&a, sizeof a, err);
    if (r < 0) {
        (void)WB_CALL(close)(fd);
        return r;
    }
    *ret = fd;
    return 0;
}

void talk_reply_init(struct talk_reply *r)
{
    *r = (struct talk_reply){0};
    r->head = r->body = r->raw = (struct wb_buf)WB_BUF(32u << 20);
}

void talk_reply_done(struct talk_reply *r)
{
    wb_buf_done(&r->raw);
    wb_buf_done(&r->head);
    wb_buf_done(&r->body);
}

struct upp_str talk_header(const struct talk_reply *r, struct upp_str name)
{
    struct upp_str rest = wb_buf_str(&r->head), line;
    while (wb_str_split(&rest, '\n', &line)) {
        size_t colon = wb_str_find(line, UPP_STR(":"), 0);
        if (colon != SIZE_MAX && wb_str_eq_nocase(wb_str_sub(line, 0, colon), name))
            return wb_str_trim(wb_str_sub(line, colon + 1, SIZE_MAX));
    }
    return (struct upp_str){NULL, 0};
}

/* More bytes: > 0; 0 at the end. */
WEFT_SUSPENDS static int64_t more(int fd, struct talk_reply *r, struct upp_err *err)
{
    enum { PART = 16384 };
    if (!wb_buf_reserve(&r->raw, PART)) { /* the maximum is near */
        int failed = wb_buf_check(&r->raw, err);
        if (failed < 0)
            return failed;
    }
    int64_t n = weft_recv(fd, r->raw.p + r->raw.n, PART, err);
    if (n > 0)
        r->raw.n += (size_t)n;
    return n;
}

/* Until `what` is there: where it ends. */
WEFT_SUSPENDS static int64_t until(int fd, struct talk_reply *r, struct upp_str what, size_t from, struct upp_err *err)
{
    for (;;) {
        size_t at = wb_str_find(wb_buf_str(&r->raw), what, from);
        if (at != SIZE_MAX)
            return (int64_t)(at + what.n);
        int64_t n = more(fd, r, err);
        if (n <= 0)
            return n < 0 ? n : upp_fail(err, UPP_EPROTO, "the connection ended in the middle of an answer");
    }
}

WEFT_SUSPENDS static int64_t read_bytes(int fd, struct talk_reply *r, size_t n, struct upp_err *err)
{
    while (r->raw.n < n) {
        int64_t got = more(fd, r, err);
        if (got <= 0)
            return got < 0 ? got : upp_fail(err, UPP_EPROTO, "the connection ended in the middle of an answer");
    }
    wb_buf_add(&r->body, wb_str(r->raw.p, n));
    wb_buf_drop(&r->raw, n);
    return wb_buf_check(&r->body, err);
}

WEFT_SUSPENDS static int64_t read_chunks(int fd, struct talk_reply *r, struct upp_err *err)
{
    for (;;) {
        int64_t end = until(fd, r, UPP_STR("\r\n"), 0, err);
        if (end < 0)
            return end;
        char *stop;
        size_t n = strtoul(r->raw.p, &stop, 16);
        if (stop == r->raw.p || *stop != '\r' || (*r->raw.p == '0' && n))
            return upp_fail(err, UPP_EPROTO, "no chunk size");
        wb_buf_drop(&r->raw, (size_t)end);
        int64_t got = read_bytes(fd, r, n + 2, err);
        if (got < 0)
            return got;
        if (memcmp(r->body.p + r->body.n - 2, "\r\n", 2) != 0)
            return upp_fail(err, UPP_EPROTO, "no line end after a chunk");
        r->body.n -= 2;
        if (!n)
            return 0;
    }
}

WEFT_SUSPENDS int talk_read(int fd, struct talk_reply *r, bool no_body, struct upp_err *err)
{
    uint64_t length;
    wb_buf_clear(&r->head);
    wb_buf_clear(&r->body);
    int64_t end = until(fd, r, UPP_STR("\r\n\r\n"), 0, err);
    if (end < 0)
        return (int)end;
    wb_buf_add(&r->head, wb_str(r->raw.p, (size_t)end));
    wb_buf_addc(&r->head, 0);
    wb_buf_drop(&r->raw, (size_t)end);
    int failed = wb_buf_check(&r->head, err);
    if (failed < 0)
        return failed;
    if (sscanf(r->head.p, "HTTP/1.1 %3d ", &r->status) != 1)
        return upp_fail(err, UPP_EPROTO, "no status line");
    r->keep_alive = !wb_str_eq(talk_header(r, UPP_STR("connection")), UPP_STR("close"));
    r->chunked = wb_str_eq(talk_header(r, UPP_STR("transfer-encoding")), UPP_STR("chunked"));
    r->closed = false;
    if (no_body || r->status == 100 || r->status == 204)
        return 0;
    if (r->chunked)
        return (int)read_chunks(fd, r, err);
    if (wb_str_u64(talk_header(r, UPP_STR("content-length")), &length))
        return (int)read_bytes(fd, r, (size_t)length, err);
    r->closed = true;
    int64_t total = talk_read_end(fd, r, err);
    return total < 0 ? (int)total : 0;
}

WEFT_SUSPENDS int64_t talk_read_end(int fd, struct talk_reply *r, struct upp_err *err)
{
    int64_t n;
    while ((n = more(fd, r, err)) > 0)
        ;
    if (n < 0)
        return n;
    n = (int64_t)r->raw.n;
    wb_buf_add(&r->body, wb_buf_str(&r->raw));
    wb_buf_clear(&r->raw);
    return n;
}

WEFT_SUSPENDS int talk_once(const struct talk *t, struct upp_str request, struct talk_reply *r, struct upp_err *err)
{
    UPP_CLEANUP(test_closep) int fd = -1;
    wb_buf_clear(&r->raw);
    int got = talk_connect(t, 0, &fd, err);
    if (got >= 0)
        got = weft_send(fd, request.p, request.n, err);
    if (got >= 0)
        got = talk_read(fd, r, wb_str_starts(request, UPP_STR("HEAD ")), err);
    if (got >= 0 && !r->keep_alive && !r->closed) {
        int64_t n = talk_read_end(fd, r, err);
        if (n > 0)
            return upp_fail(err, UPP_EPROTO, "%d bytes behind the last answer", (int)n);
        got = n < 0 ? (int)n : 0;
    }
    return got < 0 ? got : 0;
}

/* ---- With a key -------------------------------------------------------------------------------------------------- */

int talk_with_key(struct talk *t, uint8_t scopes, int (*fn)(struct talk *t, const char *key, struct upp_err *err),
                  struct upp_err *err)
{
    struct sv_key_spec spec = {.name = UPP_STR("k"), .tenant = UPP_STR("forty"), .scopes = scopes};
    struct sv_keys *keys = NULL;
    struct wl_store *store;
    char text[SV_KEY_TEXT + 1];
    const struct sv_key *key;
    TRY(ws_memory_open(&store, err));
    int r = sv_keys_open(store, NULL, &keys, err);
    if (r >= 0)
        r = sv_keys_add(keys, &spec, text, &key, err);
    t->server->opts.keys = keys;
    if (r >= 0)
        r = fn(t, text, err);
    t->server->opts.keys = NULL;
    sv_keys_close(keys);
    store->ops->close(store);
    return r;
}
