/* server/http/server.h — the HTTP server: listens, counts, stops.
 *
 *     r = sv_server_open(loop, UPP_OPTS(sv_server_opts, .listen = "127.0.0.1:8787", .engine = e, .store = s,
 *                                       .doors = doors, .signals = true), &server, &err);
 *     puts(sv_server_url(server, 0));
 *     r = sv_server_run(server, &err);        // in a fiber: until it is stopped
 *     sv_server_close(server);
 *
 * A server belongs to one loop; all functions are called there.
 *
 * Stopping: /readyz returns 503 at once, requests in progress are completed, new ones get 503, streams end in a way
 * that makes clients reconnect with Last-Event-ID; after drain_ms the rest is cut.
 */
#pragma once

#include "base/list.h"
#include "server/http/core.h"
#include "server/http/route.h"
#include "server/http/net.h"
#include "server/http/settings.h"
#include "server/http/client.h"

struct wl_sweep_state;
struct wr_engine;
struct sv_keys;

/* Sees every request after its response was sent, or its stream has ended. Must not suspend. */
struct sv_monitor {
    void *arg;
    void (*answered)(void *arg, const struct sv_exchange *x);
};

struct sv_server_opts {
    uint32_t size;
    const char *listen;         /* "127.0.0.1:8787" (NULL: no TCP), see sv_listen */
    const char *listen_local;   /* "unix:PATH"; NULL: none */
    const char *const *hosts;   /* additional host names we accept; NULL-terminated */
    const char *const *origins; /* other sites whose pages may call us, or "*"; likewise */
    const char *certificate;    /* with `key`: PEM files. TCP connections speak TLS; NULL: plain HTTP */
    const char *key;
    struct sv_proxies proxies; /* whose X-Forwarded headers are believed; copied, as hosts and origins */

    const struct sv_door *const *doors; /* besides /livez and /readyz; at most SV_DOORS, then NULL; NULL: none */
    const struct sv_door *ops;          /* routes of operators (server/ops); NULL: none */
    const struct sv_monitor *monitor;   /* NULL: none */

    /* For the handlers. */
    struct wr_engine *engine; /* of the server's own loop */

    /* Engines on other loops, with which the first one shares its store (run/engine.h): at most SV_CORES in all. Their
     * loops run until the server has ended. NULL: none. */
    const struct sv_place {
        struct weft_loop *loop;
        struct wr_engine *engine;
    } * places;
    size_t n_places;

    struct wl_store *store;
    const struct wl_sweep_state *sweep; /* of the store's sweeper; NULL: it has none */
    void *app;
    uint8_t on_busy;       /* enum wr_busy, for runs that do not set it; 0: WR_REJECT */
    uint32_t ai_sdk;       /* major version of the clients of /api/chat; 0: the default */
    bool no_instructions;  /* requests may not set a run's system prompt */
    struct sv_names names; /* other names of agents, for clients */
    bool heartbeats;       /* silent streams get messages of their dialect instead of comments, if it has any */

    /* The API keys (server/http/auth.h). NULL, or none in it: every client is the tenant `local`, and the server
     * listens only on loopback addresses and Unix sockets. */
    struct sv_keys *keys;

    uint32_t max_conns; /* 0: 12000; more get 503 */
    size_t max_held;    /* 0: 128 MiB. Bodies of requests and of responses not sent yet, of all connections */
    uint64_t header_ms; /* 0: 10000, from the first byte of a request to the end of its head */
    uint64_t body_ms;   /* 0: 30000 without a byte of the body; ten times that for all of it */
    uint64_t idle_ms;   /* 0: 75000 between requests */
    uint64_t send_ms;   /* 0: 30000 without a byte read by the client */
    uint64_t ping_ms;   /* 0: 15000 without an event on a stream */
    uint64_t drain_ms;  /* 0: 8000 */
    uint64_t linger_ms; /* 0: 10000 */
    bool takes;         /* connections come from sv_server_take: no address needed */
    bool signals;       /* SIGTERM and SIGINT stop it (a second one at once), SIGHUP reloads. Blocks them on this
                         * thread: open the server before other threads are started */

    /* SIGHUP: after the certificate was read again. May suspend; a failure is logged. NULL: nothing more to do. */
    int (*reload)(void *app, struct upp_err *err);

    /* Gives free memory back to the system: called on a worker, with NULL, when the server is idle after work, at most
     * once a minute. NULL: nothing is called. */
    weft_fn *trim;
};

enum { SV_LISTENERS = 2, SV_REFUSERS = 64 /* connections over the limit that get an error at the same time */ };

struct sv_counts {
    uint64_t accepted, refused, requests, answers_4xx, answers_5xx;
};

struct sv_acceptor {
    struct sv_server *server;
    struct sv_listener *listener;
    uint64_t logged_ms, unlogged; /* when it last logged that it cannot accept, and how many it did not log */
};

struct sv_server {
    struct weft_loop *loop;
    struct sv_server_opts opts;
    struct sv_listener listeners[SV_LISTENERS];
    size_t n_listeners;
    struct sv_acceptor acceptors[SV_LISTENERS];
    struct sv_settings *settings;              /* of requests that begin now */
    const struct sv_door *doors[SV_DOORS + 3]; /* its own first, then the operators'; ends with NULL */
    struct sv_tls *tls;                        /* NULL: plain */
    struct weft_scope fibers;
    struct weft_cond changed; /* busy or stopping has changed */
    struct weft_cond hangup;  /* reload has */
    struct wb_link conns;
    struct sv_core *cores; /* the first one is of its own loop */
    uint32_t n_cores;
    size_t n_conns, n_refusers, busy;
    size_t held, most_held; /* bytes that connections hold, and their maximum so far */
    size_t large, waiting;  /* large responses in progress, and requests waiting for one */
    struct weft_cond turn;  /* one of them has finished */
    _Atomic bool stopping;
    bool reload;           /* there was a SIGHUP */
    struct upp_err failed; /* why it stopped by itself; code 0: it did not */
    int signal_fd;
    struct sv_strangers strangers;
    struct sv_counts count;
    struct sv_date date;
    char *scratch; /* SV_READ bytes: what was just read, between two waits */
};

/* Listens, but accepts nothing yet. -UPP_EREFUSED: an address that others can reach, and no usable keys. */
int sv_server_open(struct weft_loop *loop, const struct sv_server_opts *opts, struct sv_server **ret,
                   struct upp_err *err) UPP_MUST_CHECK;
void sv_server_close(struct sv_server *s); /* not while it runs; accepts NULL */
void sv_server_closep(struct sv_server **s);

/* Serves until it is stopped: 0; or cancelled; or a listening socket failed: -UPP_ENET; or the store cannot write
 * any more (WL_FAILED): -UPP_ESTORE. */
WEFT_SUSPENDS int sv_server_run(struct sv_server *s, struct upp_err *err) UPP_MUST_CHECK;

/* Adds a connection that was not accepted by the server (socketpair, a test); treated like one of a Unix socket.
 * Call while it runs; the server owns fd from now on, also on failure. */
int sv_server_take(struct sv_server *s, int fd, struct upp_err *err) UPP_MUST_CHECK;

/* Copies what may change while it serves, for requests that begin from now on: hosts, origins, proxies, on_busy,
 * ai_sdk, no_instructions, heartbeats, names. -UPP_ENOMEM: nothing has changed. */
int sv_server_reconfigure(struct sv_server *s, const struct sv_server_opts *from, struct upp_err *err) UPP_MUST_CHECK;

/* Makes all streams look whether they have to end: the server stops, or their key was revoked. */
void sv_server_wake_streams(struct sv_server *s);

/* Begins to stop. */
void sv_server_stop(struct sv_server *s);

const char *sv_server_url(const struct sv_server *s, size_t i); /* NULL: no more */

/* "ok", "stopping", "disk_full", "store_failing", "store_failed": all but the first are 503 at /readyz. */
const char *sv_server_status(const struct sv_server *s);

/* For connections: counts the busy ones. */
void sv_server_busy(struct sv_server *s, bool *flag, bool now);

/* The memory budget of all connections: sets what the connection with *mine holds. False: the budget is exceeded,
 * and nothing has changed. Shrinking always succeeds; so do small amounts, because an error response needs memory
 * too. */
bool sv_server_hold(struct sv_server *s, size_t *mine, size_t now);

/* A handler of SV_ROUTE_LARGE waits for its turn, and ends it. -UPP_ELIMIT: too many wait, or it took too long. */
WEFT_SUSPENDS int sv_server_turn(struct sv_server *s, struct upp_err *err) UPP_MUST_CHECK;
void sv_server_turn_end(struct sv_server *s);
