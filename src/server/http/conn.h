/* server/http/conn.h — one connection: a fiber that reads requests and sends responses, one at a time.
 *
 * Requests that arrive before the response to the previous one wait in the socket, or in `rest`. A client that closes,
 * or stops sending, cancels nothing: its request is completed as usual.
 */
#pragma once

#include "base/ip.h"
#include "base/list.h"
#include "server/http/auth.h"
#include "server/http/tls.h"

struct sv_conn {
    struct wb_link link; /* in server->conns */
    struct sv_server *server;
    struct sv_settings *settings; /* of the request; NULL: none has begun */
    int fd;
    struct sv_tls_session *tls; /* NULL: plain */
    bool local;                 /* over the Unix socket */
    bool refuse;                /* over the limit: gets an error, and is closed */
    bool busy;                  /* counted in server->busy: a request is being read or answered */
    bool broken;                /* sending is impossible, or not allowed any more */
    struct wb_ip peer;          /* the other end; all zero: a Unix socket, or not known */
    char client[WB_IP_TEXT];    /* address of the request's client, for logs and limits: that of the peer, or
                                 * what a trusted proxy says; empty: not known */
    struct upp_str allow;       /* a page of another origin may read the response: see sv_origin_check */
    bool asks;                  /* the request is a preflight (server/http/origin.h) */
    struct sv_http http;
    struct sv_match match;
    char has[96];          /* why the request has no route */
    struct wl_owner owner; /* of the request */
    struct sv_auth auth;   /* likewise */
    struct wb_buf rest;    /* bytes received after the request */
    size_t held;           /* of the server's budget: the body of the request or response */
    uint64_t began_ns;     /* when the first byte of the request came */
    uint64_t since_ms;     /* when its head began, then when its body did */
    bool lent;             /* the body's bytes were returned by sv_conn_body */
    uint64_t sent;         /* bytes of the response */
};

enum { SV_READ = 64 << 10 /* bytes read at once */ };

/* tls: the connection speaks TLS, not plain HTTP. */
int sv_conn_new(struct sv_server *s, int fd, bool local, bool tls, bool refuse, struct sv_conn **ret,
                struct upp_err *err) UPP_MUST_CHECK;
void sv_conn_free(struct sv_conn *c); /* closes it too */

/* The settings that the request has. On the server's loop; elsewhere they are in the exchange. */
const struct sv_settings *sv_conn_settings(struct sv_conn *c);

/* The fiber's function; frees the connection. */
WEFT_SUSPENDS int sv_conn_main(void *conn, struct upp_err *err);

/* Adds the headers that depend on who asks to those of the reply, before its head is written. */
int sv_conn_headers(struct sv_exchange *x, struct upp_err *err) UPP_MUST_CHECK;

/* For handlers of SV_ROUTE_PIECES: the next bytes of the body, valid until the next call. 1; 0: it has ended. Reads
 * from the connection only when it is called: a handler that waits makes the client wait. A failure of the client
 * (-UPP_ENET, -UPP_ETIMEOUT, -UPP_EINVALID: not HTTP any more) is answered by the connection, if it still can be. */
WEFT_SUSPENDS int sv_conn_body(struct sv_exchange *x, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Begins a response with a body of this length: sends its head. The handler sends the body with sv_conn_send, unless
 * the method is HEAD; if it cannot send all of it, the connection ends. */
WEFT_SUSPENDS int sv_conn_begin(struct sv_exchange *x, uint64_t length, struct upp_err *err) UPP_MUST_CHECK;

/* Sends all bytes. -UPP_ETIMEOUT: the client read nothing for the server's send_ms, or too little in total. */
WEFT_SUSPENDS int sv_conn_send(struct sv_conn *c, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;

/* Who sent the request, for logs: an address, "unix", or "-". */
const char *sv_conn_client(const struct sv_conn *c);
