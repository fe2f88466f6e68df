/* server/http/conn.c — reads requests from a connection, calls their handlers, and sends the responses. */
#include "server/http/conn.h"

#include <errno.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/uuid.h"
#include "run/engine.h"
#include "server/http/auth.h"
#include "server/http/origin.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum {
    ONE_SEND = 64 << 10,   /* a response up to this is one write, head and body */
    HALVED = 1 << 20,      /* a longer one is sent in pieces */
    ARENA_MAX = 256 << 20, /* per request: 13 times the longest body (json/read.h), and as much again */
    SLOW = 1 << 20,        /* a response up to this may be read at 4 KB/s, a longer one at 64 KB/s */
    LINGER = 64 << 20,
    REFUSE_MS = 1000,   /* for a connection over the limit */
    PIECES = 512 << 10, /* held by a request that reads its body in pieces: what its handler has of it */
};

static int on_head(struct sv_http *h);

int sv_conn_new(struct sv_server *s, int fd, bool local, bool tls, bool refuse, struct sv_conn **ret,
                struct upp_err *err)
{
    struct sv_conn *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a connection");
    int r = tls ? sv_tls_session_new(s->tls, fd, &c->tls, err) : 0;
    if (r < 0) {
        wb_free(c);
        return r;
    }
    if (!local && sv_net_peer(fd, &c->peer))
        (void)wb_ip_text(&c->peer, c->client);
    c->server = s;
    c->fd = fd;
    c->local = local;
    c->refuse = refuse;
    c->rest = (struct wb_buf)WB_BUF(SV_READ);
    sv_http_init(&c->http, on_head);
    wb_list_push(&s->conns, &c->link);
    *(refuse ? &s->n_refusers : &s->n_conns) += 1;
    *ret = c;
    return 0;
}

void sv_conn_free(struct sv_conn *c)
{
    struct sv_server *s = c->server;
    sv_server_busy(s, &c->busy, false);
    (void)sv_server_hold(s, &c->held, 0);
    *(c->refuse ? &s->n_refusers : &s->n_conns) -= 1;
    wb_unlink(&c->link);
    if (c->tls)
        sv_tls_end(c->tls);
    sv_tls_session_free(c->tls);
    (void)WB_CALL(close)(c->fd);
    sv_auth_done(&c->auth);
    sv_settings_unref(c->settings);
    sv_http_done(&c->http);
    wb_buf_done(&c->rest);
    wb_free(c);
}

/* ---- Bytes ------------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int wait_fd(int fd, unsigned want, uint64_t ms, struct upp_err *err)
{
    WEFT_DEADLINE(ms);
    return weft_fd_wait(fd, want, err);
}

/* Non-blocking, as the calls of the same name. After -EAGAIN *want says what to wait for. */
static int64_t conn_send(struct sv_conn *c, struct upp_str bytes, unsigned *want)
{
    int64_t n = c->tls ? sv_tls_send(c->tls, bytes.p, bytes.n) : WB_CALL(send)(c->fd, bytes.p, bytes.n);
    *want = c->tls ? c->tls->want : WEFT_WRITABLE;
    return n;
}

static int64_t conn_recv(struct sv_conn *c, unsigned *want)
{
    int64_t n =
        c->tls ? sv_tls_recv(c->tls, c->server->scratch, SV_READ) : WB_CALL(recv)(c->fd, c->server->scratch, SV_READ);
    *want = c->tls ? c->tls->want : WEFT_READABLE;
    return n;
}

WEFT_SUSPENDS int sv_conn_send(struct sv_conn *c, struct upp_str bytes, struct upp_err *err)
{
    WEFT_DEADLINE(2 * c->server->opts.send_ms + bytes.n / (bytes.n > SLOW ? 64 : 4)); /* for the whole write */
    int r = weft_fiber_canceled() ? upp_fail(err, UPP_ECANCELED, "the connection is being closed") : 0;
    while (r >= 0 && bytes.n) {
        unsigned want;
        int64_t n = conn_send(c, bytes, &want);
        if (n > 0) {
            bytes = wb_str(bytes.p + n, bytes.n - (size_t)n);
            c->sent += (uint64_t)n;
        } else if (n == -EAGAIN || n == -EWOULDBLOCK)
            r = wait_fd(c->fd, want, c->server->opts.send_ms, err);
        else if (n != -EINTR)
            r = wb_fail_sys(err, n ? (int)n : -EIO, UPP_ENET, "send");
    }
    if (r < 0)
        c->broken = true;
    return r < 0 ? r : 0;
}

const char *sv_conn_client(const struct sv_conn *c)
{
    return c->local ? "unix" : c->client[0] ? c->client : "-";
}

/* Reads into the server's scratch buffer, valid until the next wait: how many bytes, 0 at the end. wait: the socket
 * is known to be empty. */
WEFT_SUSPENDS static int64_t get(struct sv_conn *c, uint64_t ms, bool wait)
{
    unsigned want = WEFT_READABLE;
    if (c->tls) /* what came with the last request may be in its buffer, where no socket shows it */
        wait = false;
    for (;;) {
        int r = wait ? wait_fd(c->fd, want, ms, NULL) : 0;
        if (r < 0)
            return r;
        int64_t n = conn_recv(c, &want);
        wait = n == -EAGAIN || n == -EWOULDBLOCK;
        if (n >= 0)
            return n;
        if (!wait && n != -EINTR)
            return -UPP_ENET;
    }
}

/* A client of plain HTTP gets an answer that people can read. */
static void say_plain(const struct sv_conn *c)
{
    static const char text[] = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 41\r\n"
                               "Connection: close\r\n\r\nThis port speaks HTTPS: use https://...\r\n";
    (void)WB_CALL(send)(c->fd, text, sizeof text - 1); /* an empty buffer has room for it */
}

/* Before the first request. A failure closes the connection, and is no event of the server: anybody can cause it. */
WEFT_SUSPENDS static int shake_hands(struct sv_conn *c, uint64_t ms)
{
    WEFT_DEADLINE(ms); /* for all of it */
    int r;
    while ((r = sv_tls_handshake(c->tls)) == -EAGAIN)
        if (weft_fd_wait(c->fd, c->tls->want, NULL) < 0)
            return -UPP_ETIMEOUT;
    if (r >= 0)
        return 0;
    wb_log(WB_DEBUG, "no TLS session", WB_LZ("client", c->client),
           WB_LZ("why", c->tls->why ? c->tls->why : "the connection ended"));
    if (c->tls->plain) {
        say_plain(c);
        sv_net_linger(c->fd, 1000, SV_READ);
    }
    return -UPP_EPROTO;
}

/* ---- A request --------------------------------------------------------------------------------------------------- */

const struct sv_settings *sv_conn_settings(struct sv_conn *c)
{
    if (!c->settings)
        c->settings = sv_settings_ref(c->server->settings);
    return c->settings;
}

static int check_origin(struct sv_conn *c, struct sv_http *h)
{
    size_t n;
    struct upp_str origin = sv_http_header(h, UPP_STR("origin"), &n);
    struct sv_sender sender = {c->peer, h->host, c->tls != NULL};
    const struct sv_settings *settings = sv_conn_settings(c);
    if (!c->local && c->client[0]) {
        sv_forwarded_read(&settings->proxies, h, &sender);
        (void)wb_ip_text(&sender.ip, c->client);
    }
    if (sender.host.p && !c->local) { /* Unix sockets have no host name, and HTTP/1.0 needs none */
        int status = sv_host_check(&settings->allowed, sender.host);
        if (status) {
            h->why = status == 421 ? "this server does not answer to that Host" : "the Host header is not a host";
            return status;
        }
    }
    if (n && (n > 1 || sv_origin_check(&settings->allowed, origin, sender.host, sender.secure, &c->allow))) {
        h->why = "pages of this Origin may not call this server";
        return 403;
    }
    return 0;
}

/* Names the path, so that a wrong base URL is seen at once; not one that is long or is no plain text. */
static const char *no_route(struct sv_conn *c, const struct sv_http *h)
{
    char allow[64];
    size_t i = 0;
    while (i < h->path.n && h->path.p[i] > ' ' && h->path.p[i] < 0x7f)
        i++;
    if (c->match.status != 404)
        (void)snprintf(c->has, sizeof c->has, "this route has %.*s", UPP_FMT(sv_route_allow(c->match.allow, allow)));
    else if (i < h->path.n || i > 64)
        return "there is no such route";
    else
        (void)snprintf(c->has, sizeof c->has, "there is no route %.*s", UPP_FMT(h->path));
    return c->has;
}

/* A page of another site made this request, and browsers send no Origin with it: an image, a script, a frame, or a link
 * that a person follows. Only the last may be answered, and only by routes that need no key. */
static bool check_site(struct sv_conn *c, const struct sv_http *h)
{
    struct upp_str site = sv_http_header(h, UPP_STR("sec-fetch-site"), NULL);
    size_t origins;
    (void)sv_http_header(h, UPP_STR("origin"), &origins);
    if (origins || !wb_str_eq(site, UPP_STR("cross-site")) || sv_origin_any(&sv_conn_settings(c)->allowed))
        return true;
    return c->match.route && (c->match.route->flags & SV_ROUTE_OPEN) &&
           wb_str_eq(sv_http_header(h, UPP_STR("sec-fetch-mode"), NULL), UPP_STR("navigate")) &&
           wb_str_eq(sv_http_header(h, UPP_STR("sec-fetch-dest"), NULL), UPP_STR("document"));
}

/* The head is complete: checks it and limits the body. Refuses what it can before the body is read. An unknown route
 * gets an ordinary response if there is no body to discard. */
static int on_head(struct sv_http *h)
{
    struct sv_conn *c = WB_OUTER(h, struct sv_conn, http);
    int status = check_origin(c, h);
    sv_auth_done(&c->auth);
    if (status)
        return status;
    sv_route_find(c->server->doors, h->method, h->path, &c->match);
    c->asks = c->allow.n && sv_cors_asks(h);
    if (c->asks)
        return 0;
    if (!check_site(c, h)) {
        h->why = "pages of other sites may not call this server";
        return 403;
    }
    if (!c->match.route) {
        h->why = no_route(c, h);
        return h->has_body ? c->match.status : 0;
    }
    h->max_body = c->match.route->max_body ? c->match.route->max_body : SV_MAX_BODY;
    status = sv_auth_check(c);
    if (status && !h->has_body) { /* an ordinary response: the connection can be used again */
        c->auth.denied = status;
        return 0;
    }
    return status;
}

enum got { GOT_NOTHING, GOT_REQUEST, GOT_REFUSED };

/* How long to wait for the next byte. 0: the time is up. */
static uint64_t patience(const struct sv_conn *c)
{
    const struct sv_server_opts *o = &c->server->opts;
    uint64_t spent = wb_mono_ms() - c->since_ms;
    if (!c->http.fed)
        return o->idle_ms;
    if (!c->http.head_done)
        return spent < o->header_ms ? o->header_ms - spent : 0;
    uint64_t all = 10 * o->body_ms + c->http.taken / 64; /* a body read in pieces: for each 64 KB a second more */
    return spent < all ? WB_MIN(o->body_ms, all - spent) : 0;
}

static enum got refuse(struct sv_conn *c, int status, const char *why)
{
    c->http.status = status;
    c->http.why = why;
    return GOT_REFUSED;
}

/* Passes received bytes to the parser; keeps those that it did not consume. */
static enum sv_http_state feed(struct sv_conn *c, size_t n)
{
    size_t used;
    enum sv_http_state state;
    (void)sv_conn_settings(c);
    if (n) {
        state = sv_http_feed(&c->http, wb_str(c->server->scratch, n), &used);
        if (state == SV_HTTP_DONE)
            wb_buf_add(&c->rest, wb_str(c->server->scratch + used, n - used));
    } else {
        state = sv_http_feed(&c->http, wb_buf_str(&c->rest), &used);
        wb_buf_drop(&c->rest, used);
    }
    if (c->rest.failed)
        c->http.keep_alive = false; /* bytes after the request are lost */
    return state;
}

/* Does the handler read the body itself? */
static bool in_pieces(const struct sv_conn *c)
{
    return c->http.head_done && c->match.route && c->match.route->flags & SV_ROUTE_PIECES && !c->auth.denied;
}

/* Gets more bytes of the request and parses them. *wait: the socket is known to be empty. */
WEFT_SUSPENDS static enum got receive_some(struct sv_conn *c, uint64_t ms, bool *wait, enum sv_http_state *state)
{
    size_t came = 0;
    if (!c->rest.n) {
        bool new = !c->http.fed;
        int64_t n = ms ? get(c, ms, *wait) : -UPP_ETIMEOUT;
        if (n <= 0 && !c->http.fed)
            return GOT_NOTHING;
        if (n == -UPP_ETIMEOUT)
            return refuse(c, 408, "the request took too long");
        if (n == 0)
            return refuse(c, 400, "the request ends in the middle");
        if (n < 0)
            return GOT_NOTHING;
        came = (size_t)n;
        if (new) {
            c->began_ns = wb_mono_ns();
            c->since_ms = c->began_ns / 1000000;
        }
        *wait = came < SV_READ; /* a short read has emptied the socket */
    }
    sv_server_busy(c->server, &c->busy, true);
    *state = feed(c, came);
    if (*state == SV_HTTP_REFUSED)
        return GOT_REFUSED;
    bool pieces = in_pieces(c);
    if ((pieces || *state == SV_HTTP_MORE) &&
        !sv_server_hold(c->server, &c->held, c->http.body.cap + (pieces ? PIECES : 0)))
        return refuse(c, 503, "the server holds as much of requests and answers as it may");
    if (*state == SV_HTTP_MORE && came == SV_READ &&
        weft_yield(NULL) < 0) /* a fast sender must not starve the others */
        return GOT_NOTHING;
    return GOT_REQUEST;
}

/* Reads one request. The first wait of a connection is as short as that for the rest of a head. */
WEFT_SUSPENDS static enum got receive(struct sv_conn *c, bool first)
{
    bool wait = !first;
    c->began_ns = wb_mono_ns();
    c->sent = 0;
    c->owner = (struct wl_owner){.tenant = UPP_STR("-")};
    sv_http_reset(&c->http);
    c->match = (struct sv_match){.status = 404};
    c->allow = (struct upp_str){NULL, 0}; /* it was in that request */
    c->asks = false;
    c->lent = false;
    c->since_ms = c->began_ns / 1000000;
    sv_settings_unref(c->settings);
    c->settings = NULL;
    for (;;) {
        enum sv_http_state state;
        bool had_head = c->http.head_done;
        uint64_t ms = first && !c->http.fed ? c->server->opts.header_ms : patience(c);
        enum got got = receive_some(c, ms, &wait, &state);
        if (got != GOT_REQUEST || state == SV_HTTP_DONE)
            return got;
        if (!c->http.head_done || had_head)
            continue;
        c->since_ms = wb_mono_ms();
        if (in_pieces(c))
            return GOT_REQUEST;
        if (c->http.expects && sv_conn_send(c, UPP_STR("HTTP/1.1 100 Continue\r\n\r\n"), NULL) < 0)
            return GOT_NOTHING;
    }
}

WEFT_SUSPENDS int sv_conn_body(struct sv_exchange *x, struct upp_str *ret, struct upp_err *err)
{
    struct sv_conn *c = x->conn;
    struct sv_http *h = &c->http;
    bool wait = false;
    if (c->lent)
        sv_http_take(h);
    c->lent = false;
    if (h->expects) {
        h->expects = false;
        int r = sv_conn_send(c, UPP_STR("HTTP/1.1 100 Continue\r\n\r\n"), err);
        if (r < 0)
            return r;
    }
    while (!h->body.n && !h->done) {
        enum sv_http_state state;
        enum got got = receive_some(c, patience(c), &wait, &state);
        if (got == GOT_NOTHING) {
            c->broken = true;
            return upp_fail(err, UPP_ENET, "the connection ended in the middle of a request");
        }
        if (got == GOT_REFUSED)
            return upp_fail(err, UPP_EINVALID, "%s", h->why);
    }
    c->lent = h->body.n > 0;
    *ret = wb_buf_str(&h->body);
    return c->lent;
}

/* ---- Its response ------------------------------------------------------------------------------------------------ */

/* Frees the unused capacity of the body. */
static void shrink(struct wb_buf *body)
{
    char *p = body->cap - body->n > ONE_SEND ? wb_realloc(body->p, body->n + 1) : NULL;
    if (p) {
        body->p = p;
        body->cap = body->n;
    }
}

/* Sends a long body by halves: each half returns to the budget before the next is sent. */
WEFT_SUSPENDS static int send_body(struct sv_exchange *x, struct upp_err *err)
{
    struct wb_buf *body = &x->reply.body;
    for (int r; body->n;) {
        size_t n = body->n > HALVED ? body->n / 2 : body->n;
        if ((r = sv_conn_send(x->conn, wb_str(body->p, n), err)) < 0)
            return r;
        wb_buf_drop(body, n);
        shrink(body);
        (void)sv_server_hold(x->server, &x->conn->held, body->cap); /* shrinking always succeeds */
    }
    return 0;
}

/* An Idempotency-Key that changes nothing. */
static void report_key(struct sv_exchange *x)
{
    size_t n = 0;
    if (!x->keyed && x->request->method & (SV_POST | SV_DELETE))
        (void)sv_http_header(x->request, UPP_STR("idempotency-key"), &n);
    if (n)
        sv_reply_header(&x->reply, "weft-ignored", UPP_STR("idempotency-key"));
}

int sv_conn_headers(struct sv_exchange *x, struct upp_err *err)
{
    /* Answers are of whoever asked, and of this moment: nobody on the way keeps them, but for what says otherwise. */
    if (wb_str_find(wb_buf_str(&x->reply.headers), UPP_STR("Cache-Control: "), 0) == SIZE_MAX)
        sv_reply_header(&x->reply, "Cache-Control", UPP_STR("no-store"));
    if (x->reply.status < 300) { /* of a stream it is not set yet */
        sv_query_report(x);
        report_key(x);
    }
    if (x->settings->allowed.origins)
        sv_cors_write(&x->reply.headers, x->conn->allow);
    return wb_buf_check(&x->reply.headers, err);
}

/* The head of a response. */
static int write_head(struct sv_exchange *x, struct wb_buf *out, int64_t length, bool keep_alive, struct upp_err *err)
{
    bool none = x->reply.status == 204 || x->reply.status == 304; /* they have neither type nor length */
    int r = sv_conn_headers(x, err);
    if (r < 0)
        return r;
    sv_head_write(out,
                  &(struct sv_head){.status = x->reply.status,
                                    .type = none            ? NULL
                                            : x->reply.type ? x->reply.type
                                                            : "application/json",
                                    .length = none ? SV_LENGTH_CLOSE : length,
                                    .keep_alive = keep_alive,
                                    .minor = x->request->minor,
                                    .request_id = wb_cstr(x->request_id),
                                    .headers = wb_buf_str(&x->reply.headers)},
                  &x->core->date);
    return wb_buf_check(out, err);
}

WEFT_SUSPENDS static int send_reply(struct sv_exchange *x, bool keep_alive, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_REPLY_HEADERS + 4096 + ONE_SEND);
    struct upp_str body = wb_buf_str(&x->reply.body);
    int r = write_head(x, &out, (int64_t)body.n, keep_alive, err);
    if (r < 0)
        return r;
    if (x->request->method == SV_HEAD)
        body.n = 0;
    bool one = body.n <= ONE_SEND;
    if (one)
        wb_buf_add(&out, body);
    r = wb_buf_check(&out, err);
    if (r >= 0)
        r = sv_conn_send(x->conn, wb_buf_str(&out), err);
    return r >= 0 && !one ? send_body(x, err) : r;
}

WEFT_SUSPENDS int sv_conn_begin(struct sv_exchange *x, uint64_t length, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_REPLY_HEADERS + 4096);
    bool keep = x->request->keep_alive && !x->server->stopping;
    sv_auth_headers(x);
    int r = wb_buf_check(&x->reply.headers, err);
    if (r >= 0)
        r = write_head(x, &out, (int64_t)length, keep, err);
    if (r < 0)
        return r;
    x->reply.sent = true;
    if (!keep)
        x->conn->http.keep_alive = false;
    return sv_conn_send(x->conn, wb_buf_str(&out), err);
}

static int decode_params(struct sv_exchange *x, struct upp_err *err)
{
    for (size_t i = 0; i < SV_PARAMS; i++)
        if (x->conn->match.params[i].p) {
            int r = sv_decode(&x->arena, x->conn->match.params[i], false, &x->params[i], err);
            if (r < 0)
                return r;
        }
    return 0;
}

/* The agent of /agents/{agent}/...: requests of any door for an agent that is not there end here. */
static int find_agent(struct sv_exchange *x, struct upp_err *err)
{
    struct upp_str given = x->conn->match.agent;
    if (!given.n)
        return 0;
    int r = sv_decode(&x->arena, given, false, &x->agent, err);
    if (r >= 0 && x->core->engine && !wr_agent(x->core->engine, x->agent)) {
        struct upp_str agent = sv_name_find(&x->settings->names, x->agent);
        x->agent = agent.n ? agent : x->agent;
    }
    if (r >= 0 && (!x->core->engine || !wr_agent(x->core->engine, x->agent)))
        r = x->core->engine ? wr_no_agent(x->core->engine, x->agent, err)
                            : upp_fail(err, UPP_ENOTFOUND, "no agent '%.*s'", UPP_FMT(x->agent));
    return r;
}

/* Calls the handler, where it belongs. */
WEFT_SUSPENDS static int handle(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_match *m = &x->conn->match;
    uint32_t home = 0;
    int r = x->server->n_cores > 1 && m->door->home ? m->door->home(x, &home, err) : 0;
    if (r < 0 || sv_auth_refuses(x)) /* between the head and this there may be minutes */
        return r < 0 ? r : 0;
    r = sv_admin_others(x, err);
    if (r >= 0)
        r = sv_core_run(&x->server->cores[home], x, m->route->handler, err);
    sv_admin_end(x, r, err);
    return r;
}

/* Responds with a refusal of the HTTP layer: of 405 with what the route has. */
static void answer_refused(struct sv_exchange *x, int status, const char *why)
{
    const struct sv_match *m = &x->conn->match;
    char allow[64];
    sv_error_refuse(x, m->door, status, why);
    if (status == 405)
        sv_reply_header(&x->reply, "Allow", sv_route_allow(m->allow, allow));
}

/* Calls the handler, or responds that there is none. */
WEFT_SUSPENDS static int handle_request(struct sv_exchange *x, struct upp_err *err)
{
    const struct sv_match *m = &x->conn->match;
    if (x->conn->asks) {
        sv_cors_answer(&x->reply, x->request, m->allow);
        return 0;
    }
    if (!m->route) {
        answer_refused(x, m->status, x->request->why);
        return 0;
    }
    if (x->conn->auth.denied) {
        sv_auth_deny(x, x->conn->auth.denied);
        return 0;
    }
    if (x->server->stopping && !((m->route->flags | m->door->flags) & SV_ROUTE_ALWAYS)) {
        sv_error_refuse(x, m->door, 503, "the server stops");
        return 0;
    }
    bool large = m->route->flags & SV_ROUTE_LARGE;
    int r = decode_params(x, err);
    if (r >= 0)
        r = find_agent(x, err);
    if (r >= 0 && m->door->check)
        r = m->door->check(x, err);
    if (r >= 0 && large)
        r = sv_server_turn(x->server, err);
    if (r < 0)
        return r;
    r = handle(x, err);
    if (large) { /* frees what was read before another request reads: the response is complete */
        wb_arena_done(&x->arena);
        sv_server_turn_end(x->server);
    }
    if (r >= 0 && !x->reply.sent) {
        r = wb_buf_check(&x->reply.headers, err);
        if (r >= 0)
            r = wb_buf_check(&x->reply.body, err);
        if (r >= 0 && !x->reply.status)
            r = upp_fail(err, UPP_EBUG, "the handler of %s said nothing", m->route->pattern);
    }
    return r;
}

/* The client's x-request-id, if it is one that can be logged and sent back; else a new one. */
static void set_request_id(struct sv_exchange *x)
{
    struct wb_uuid id;
    char hex[WB_UUID_HEX + 1];
    size_t n = 0;
    struct upp_str given =
        x->request->head_done ? sv_http_header(x->request, UPP_STR("x-request-id"), &n) : UPP_STR("");
    bool good = n == 1 && given.n && given.n <= SV_REQUEST_ID;
    for (size_t i = 0; good && i < given.n; i++)
        good = given.p[i] > ' ' && given.p[i] < 0x7f;
    if (good) {
        memcpy(x->request_id, given.p, given.n);
        return;
    }
    if (wb_uuid_new(&id, NULL) < 0)
        return; /* a response without an id is better than none */
    (void)wb_uuid_hex(id, hex);
    (void)snprintf(x->request_id, sizeof x->request_id, "req_%s", hex);
}

static void say(const struct sv_exchange *x, int r, const struct upp_err *err)
{
    struct sv_counts *count = &x->server->count;
    count->requests++;
    count->answers_4xx += x->reply.status / 100 == 4;
    count->answers_5xx += x->reply.status / 100 == 5;
    if (r < 0 && x->reply.status >= 500)
        wb_log(WB_WARN, "request failed", WB_LZ("id", x->request_id), WB_LI("status", x->reply.status), WB_LERR(err));
}

static void set_trace(struct sv_exchange *x)
{
    size_t n;
    struct upp_str given = sv_http_header(x->request, UPP_STR("traceparent"), &n);
    if (n == 1)
        (void)sv_trace_take(&x->trace, given);
}

/* From here on only the response counts against the budget: its sources are freed before a slow client reads it. */
static void hold_answer(struct sv_exchange *x)
{
    struct wb_buf *body = &x->reply.body;
    wb_arena_done(&x->arena);
    sv_http_drop(&x->conn->http);
    shrink(body); /* buffers grow by half */
    if (sv_server_hold(x->server, &x->conn->held, body->cap))
        return;
    wb_buf_done(body);
    sv_error_refuse(x, x->conn->match.door, 503, "the server holds as much of requests and answers as it may");
    (void)sv_server_hold(x->server, &x->conn->held, body->cap);
}

/* Responds to the request, or with the refusal. True: the connection can be used again. */
WEFT_SUSPENDS static bool respond(struct sv_conn *c, bool refused)
{
    struct sv_exchange x = {.server = c->server,
                            .core = &c->server->cores[0],
                            .conn = c,
                            .settings = sv_conn_settings(c),
                            .request = &c->http,
                            .owner = c->owner,
                            .scopes = c->auth.scopes,
                            .arena = WB_ARENA(ARENA_MAX)};
    struct upp_err err = {0};
    bool again = false;
    sv_reply_init(&x.reply);
    set_request_id(&x);
    if (c->http.head_done)
        set_trace(&x);
    int r = 0;
    if (refused && c->auth.code)
        sv_auth_deny(&x, c->http.status);
    else if (refused)
        answer_refused(&x, c->http.status, c->http.why);
    else
        r = handle_request(&x, &err);
    if (r < 0 && !x.reply.sent && c->http.status) /* in the middle of a body that the handler read */
        sv_error_refuse(&x, c->match.door, c->http.status, c->http.why);
    else if (r < 0 && !x.reply.sent)
        sv_error_reply(&x, c->match.door, &err);
    if (r < 0 && !x.reply.sent && x.done) /* the same request once more would do it twice */
        sv_reply_header(&x.reply, "x-should-retry", UPP_STR("false"));
    if (!x.reply.sent) {
        sv_auth_headers(&x);
        hold_answer(&x);
    }
    say(&x, r, &err);
    if (x.reply.sent)
        again = !c->broken && c->http.keep_alive;
    else {
        bool keep = !refused && c->http.keep_alive && !c->server->stopping;
        again = send_reply(&x, keep, NULL) >= 0 && keep;
    }
    if (c->server->opts.monitor)
        c->server->opts.monitor->answered(c->server->opts.monitor->arg, &x);
    sv_reply_done(&x.reply);
    wb_arena_done(&x.arena);
    (void)sv_server_hold(c->server, &c->held, 0);
    sv_auth_done(&c->auth);
    return again && !c->server->stopping;
}

WEFT_SUSPENDS static void close_gently(struct sv_conn *c, uint64_t ms, size_t max)
{
    if (c->broken)
        return;
    if (c->tls)
        sv_tls_end(c->tls);
    sv_net_linger(c->fd, ms, max);
}

WEFT_SUSPENDS static void serve(struct sv_conn *c)
{
    for (bool first = true;; first = false) {
        if (!c->rest.n)
            sv_server_busy(c->server, &c->busy, false);
        else if (weft_yield(NULL) < 0) /* many pipelined requests must not starve the others */
            return;
        enum got got = receive(c, first);
        if (got == GOT_NOTHING)
            return;
        if (!respond(c, got == GOT_REFUSED))
            break;
    }
    sv_server_busy(c->server, &c->busy, false); /* all was sent: stopping does not wait for it */
    close_gently(c, c->server->opts.linger_ms, LINGER);
}

WEFT_SUSPENDS int sv_conn_main(void *conn, struct upp_err *err)
{
    struct sv_conn *c = conn;
    (void)err;
    bool good = !c->tls || shake_hands(c, c->refuse ? REFUSE_MS : c->server->opts.header_ms) == 0;
    if (good && c->refuse) {
        (void)refuse(c, 503, "too many connections");
        (void)respond(c, true);
        close_gently(c, REFUSE_MS, SV_READ);
    } else if (good)
        serve(c);
    sv_conn_free(c);
    return 0;
}
