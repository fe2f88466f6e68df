/* server/http/conn.h — one connection: a fiber that reads requests and sends responses, one at a time.
 *
 * Requests that arrive before the response to the previous one wait in the socket, or in `rest`. A client that closes,
 * or stops sending, cancels nothing: its request is completed as usual.
 */
#ifndef SV_CONN_H
#define SV_CONN_H

#include "base/list.h"
#include "server/http/route.h"

struct sv_conn {
    struct wb_link    link; /* in server->conns */
    struct sv_server *server;
    int               fd;
    bool              local;  /* over the Unix socket */
    bool              refuse; /* over the limit: gets an error, and is closed */
    bool              busy;   /* counted in server->busy: a request is being read or answered */
    bool              broken; /* sending is impossible, or not allowed any more */
    struct sv_http    http;
    struct sv_match   match;
    struct wl_owner   owner;    /* of the request */
    struct wb_buf     rest;     /* bytes received after the request */
    size_t            held;     /* of the server's budget: the body of the request or response */
    uint64_t          began_ns; /* when the first byte of the request came */
    uint64_t          sent;     /* bytes of the response */
    char              peer[48]; /* see sv_conn_peer */
};

enum { SV_READ = 64 << 10 /* bytes read at once */ };

int  sv_conn_new(struct sv_server *s, int fd, bool local, bool refuse, struct sv_conn **ret,
                 struct upp_err *err) UPP_MUST_CHECK;
void sv_conn_free(struct sv_conn *c); /* closes it too */

/* The fiber's function; frees the connection. */
WEFT_SUSPENDS int sv_conn_main(void *conn, struct upp_err *err);

/* Sends all bytes. -UPP_ETIMEOUT: the client read nothing for the server's send_ms, or too little in total. */
WEFT_SUSPENDS int sv_conn_send(struct sv_conn *c, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;

/* The client's address without its port; "unix" on the Unix socket. */
const char *sv_conn_peer(struct sv_conn *c);

#endif
