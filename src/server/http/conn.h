/* server/http/conn.h — one connection: a fiber that reads requests and sends answers, one at a time.
 *
 * Requests that come before the answer to the last one wait in the socket, or in `rest`. A client that closes, or stops
 * sending, cancels nothing: its request is answered as if it were there.
 */
#ifndef SV_CONN_H
#define SV_CONN_H

#include "base/list.h"
#include "server/http/route.h"

struct sv_conn {
    struct wb_link    link; /* in server->conns */
    struct sv_server *server;
    int               fd;
    bool              local;  /* came by the Unix socket */
    bool              refuse; /* over the limit: gets an error, and is closed */
    bool              busy;   /* counted in server->busy: a request is being read or answered */
    bool              broken; /* nothing can be sent any more, or must be */
    struct sv_http    http;
    struct sv_match   match;
    struct wl_owner   owner; /* of the request */
    struct wb_buf     rest;  /* came behind the request */
    size_t            held;  /* of the server's budget: the body of the request, or of the answer */
};

enum { SV_READ = 64 << 10 /* bytes read at once */ };

int  sv_conn_new(struct sv_server *s, int fd, bool local, bool refuse, struct sv_conn **ret,
                 struct upp_err *err) UPP_MUST_CHECK;
void sv_conn_free(struct sv_conn *c); /* closes it too */

/* The fiber's function; frees the connection. */
WEFT_SUSPENDS int sv_conn_main(void *conn, struct upp_err *err);

/* All bytes. -UPP_ETIMEOUT: the other side took none for the server's send_ms, or too few in all. */
WEFT_SUSPENDS int sv_conn_send(struct sv_conn *c, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;

#endif
