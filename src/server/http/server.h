/* server/http/server.h — the HTTP server: listens, counts, stops.
 *
 *     r = sv_server_open(loop, UPP_OPTS(sv_server_opts, .listen = "127.0.0.1:8787", .engine = e, .store = s,
 *                                       .routes = &sv_routes_v1, .signals = true), &server, &err);
 *     puts(sv_server_url(server, 0));
 *     r = sv_server_run(server, &err);        // in a fiber: until it was stopped
 *     sv_server_close(server);
 *
 * One server lives on one loop; all is called there.
 *
 * Stopping: /readyz says 503 at once, requests under way are finished, new ones get 503, streams end so that a reader
 * comes back with Last-Event-ID; after drain_ms what is left is cut.
 */
#ifndef SV_SERVER_H
#define SV_SERVER_H

#include "base/list.h"
#include "server/http/net.h"
#include "server/http/origin.h"
#include "server/http/route.h"

struct wr_engine;

struct sv_server_opts {
    uint32_t           size;
    const char        *listen;       /* "127.0.0.1:8787" (NULL: no TCP), see sv_listen */
    const char        *listen_local; /* "unix:PATH"; NULL: none */
    const char *const *hosts;        /* more names we answer to; NULL-terminated */
    const char *const *origins;      /* pages of others that may call us; likewise */

    const struct sv_routes *routes; /* besides /livez and /readyz; NULL: none */

    /* For the handlers. */
    struct wr_engine *engine;
    struct wl_store  *store;
    void             *app;
    uint8_t           on_busy;         /* enum wr_busy, of runs that do not say; 0: WR_REJECT */
    bool              no_instructions; /* requests may not say what the system prompt of a run is */

    /* Who is it? `key` is what stands behind "Bearer ". Fills the owner, whose texts live as long as the server, or
     * says false: 401. Must not suspend. NULL: everybody is the tenant `local`, and only loopback addresses and Unix
     * sockets are listened on. */
    bool (*owner)(void *app, struct upp_str key, struct wl_owner *ret);

    uint32_t max_conns; /* 0: 12000; more get 503 */
    size_t   max_held;  /* 0: 128 MiB. Bodies of requests and of answers that are not sent yet, of all connections */
    uint64_t header_ms; /* 0: 10000, from the first byte of a request to the end of its head */
    uint64_t body_ms;   /* 0: 30000 without a byte of the body; ten times that for all of it */
    uint64_t idle_ms;   /* 0: 75000 between requests */
    uint64_t send_ms;   /* 0: 30000 without a byte taken */
    uint64_t ping_ms;   /* 0: 15000 without an event on a stream */
    uint64_t drain_ms;  /* 0: 8000 */
    uint64_t linger_ms; /* 0: 10000 */
    bool     takes;     /* connections come by sv_server_take: it needs no address */
    bool     signals;   /* SIGTERM and SIGINT stop it (a second one at once). Blocks them on this thread: open it
                         * before other threads are started */
};

enum { SV_LISTENERS = 2, SV_REFUSERS = 64 /* connections over the limit that get an error, at the same time */ };

struct sv_counts {
    uint64_t accepted, refused, requests, answers_4xx, answers_5xx, streams;
};

struct sv_acceptor {
    struct sv_server   *server;
    struct sv_listener *listener;
    uint64_t            said_ms, unsaid; /* when it last logged that it cannot accept, and how many it did not log */
};

struct sv_server {
    struct weft_loop     *loop;
    struct sv_server_opts opts;
    struct sv_listener    listeners[SV_LISTENERS];
    size_t                n_listeners;
    struct sv_acceptor    acceptors[SV_LISTENERS];
    struct sv_allowed     allowed;
    struct sv_routes      tables[2];
    struct weft_scope     fibers;
    struct weft_cond      changed; /* busy or stopping */
    struct wb_link        conns, streams;
    size_t                n_conns, n_refusers, busy;
    size_t                held, most_held; /* bytes that connections hold, and the most there ever were */
    size_t                large, waiting;  /* large answers being made, and requests that wait to make one */
    struct weft_cond      turn;            /* one of them is done */
    bool                  stopping;
    struct upp_err        failed; /* why it stopped by itself; code 0: it did not */
    int                   signal_fd;
    struct sv_counts      count;
    struct sv_date        date;
    char                 *scratch; /* SV_READ bytes: what was just read, between two waits */
};

/* Listens, but accepts nothing yet. -UPP_EREFUSED: an address others can reach, and no keys. */
int  sv_server_open(struct weft_loop *loop, const struct sv_server_opts *opts, struct sv_server **ret,
                    struct upp_err *err) UPP_MUST_CHECK;
void sv_server_close(struct sv_server *s); /* not while it runs; accepts NULL */
void sv_server_closep(struct sv_server **s);

/* Serves until it was stopped: 0; or cancelled; or a socket to listen on broke: -UPP_ENET; or the
 * store can write no more (WL_FAILED): -UPP_ESTORE. */
WEFT_SUSPENDS int sv_server_run(struct sv_server *s, struct upp_err *err) UPP_MUST_CHECK;

/* A connection that came another way than by listening (socketpair, a test), taken for one of a Unix socket. While it
 * runs; fd is the server's from now on, also when it fails. */
int sv_server_take(struct sv_server *s, int fd, struct upp_err *err) UPP_MUST_CHECK;

/* Begins to stop. */
void sv_server_stop(struct sv_server *s);

const char *sv_server_url(const struct sv_server *s, size_t i); /* NULL: there are no more */

/* For connections: counts who is busy. */
void sv_server_busy(struct sv_server *s, bool *flag, bool now);

/* The one budget of memory for all connections: what the connection that has *mine holds from now on. False: it would
 * be more than there is, and nothing has changed. Less is always taken; so are small ones, because an answer that says
 * no is one too. */
bool sv_server_hold(struct sv_server *s, size_t *mine, size_t now);

/* A handler of SV_ROUTE_LARGE waits for its turn, and ends it. -UPP_ELIMIT: too many wait, or for too long. */
WEFT_SUSPENDS int sv_server_turn(struct sv_server *s, struct upp_err *err) UPP_MUST_CHECK;
void              sv_server_turn_end(struct sv_server *s);

#endif
