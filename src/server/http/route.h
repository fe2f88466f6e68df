/* server/http/route.h — which function handles which request.
 *
 * Routes are rows of a const table: methods, a pattern whose {parts} stand for one segment each, a handler. An unknown
 * path is 404; a path that exists only for other methods is 405 with Allow.
 */
#pragma once

#include <weft/fiber.h>

#include "base/arena.h"
#include "log/admin.h"
#include "server/http/http.h"
#include "server/http/reply.h"
#include "server/http/trace.h"

struct sv_server;
struct sv_core;
struct sv_conn;
struct sv_settings;

enum { SV_PARAMS = 4, SV_REQUEST_ID = 128 /* bytes of a client's x-request-id, at most */ };

/* One request and its response, while a handler works on it. */
enum { SV_QUERIED = 24 };

struct sv_exchange {
    struct sv_server *server;
    struct sv_core *core; /* where it is handled (server/http/core.h): its loop and its engine */
    struct sv_conn *conn;
    const struct sv_settings *settings; /* what a reload may replace, as it was when the request began */
    const struct sv_http *request;
    struct upp_str params[SV_PARAMS]; /* values of the {parts}, decoded */
    struct upp_str agent;             /* that the path /agents/{agent}/... names: it exists; empty: none */
    struct wl_owner owner;
    struct wl_thread *thread;           /* that the path names, if the door's `home` has read it; NULL: not yet */
    struct upp_str queried[SV_QUERIED]; /* names of the query parameters that were looked for */
    size_t n_queried;
    void *found;           /* a further result of the door's `home`, of the door's own type; NULL: none */
    uint8_t scopes;        /* enum sv_scope: what the client may do */
    struct wb_arena arena; /* for this request */
    struct sv_reply reply;
    void *work;                         /* of a handler, for the handler on another core that it hands over to */
    char request_id[SV_REQUEST_ID + 1]; /* the client's, or our own */
    struct sv_trace trace;              /* of its traceparent; empty: none */

    struct wl_admin *admin; /* its row of the audit (server/http/auth.h); NULL: none */

    bool keyed; /* its Idempotency-Key is honoured: set by the handler. Otherwise the response says that it is not */

    /* Set by handlers, for the monitor: the run that the request started, joined or reads. */
    struct wb_uuid run;
    bool started; /* it is the request that started it */

    /* What the request asks for is committed: what is read for the response after that must not refuse it. */
    bool done;
    const struct wm_run *made; /* the run that it started, as committed; NULL: none */
};

/* Fills x->reply (or streams: server/http/stream.h) and returns 0; or fails, and *err becomes the answer
 * (server/http/error.h). It is not cancelled if the client disconnects. */
typedef int sv_handler(struct sv_exchange *x, struct upp_err *err);

enum {
    SV_ROUTE_ALWAYS = 1 << 0, /* also while the server stops */
    SV_ROUTE_OPEN = 1 << 1,   /* needs no key */
    SV_ROUTE_LARGE = 1 << 2,  /* reads much data: few of them at a time */
    /* The scope that an API key needs: read for GET, run for other methods, unless one of these says another. */
    SV_ROUTE_READ = 1 << 3,
    SV_ROUTE_ADMIN = 1 << 4,
    SV_ROUTE_OPERATOR = 1 << 6, /* admin, if there are keys: it tells about all tenants */
    SV_ROUTE_SMALL = 1 << 5,    /* stores next to nothing: also of a tenant that has used up its bytes */
    SV_ROUTE_PIECES = 1 << 7,   /* the handler is called after the head, and reads the body itself (sv_conn_body). It is
                                 * handled on the server's own loop */
};

struct sv_route {
    uint8_t methods;     /* of enum sv_method; GET answers HEAD as well */
    const char *pattern; /* "/v1/threads/{t}/runs" */
    sv_handler *handler;
    size_t max_body; /* 0: SV_MAX_BODY, if the method has a body */
    unsigned flags;
};

struct sv_door;
struct wj_writer;

struct sv_match {
    const struct sv_route *route;     /* NULL: see status */
    const struct sv_door *door;       /* of the route or of the path; NULL: none */
    struct upp_str params[SV_PARAMS]; /* not decoded */
    struct upp_str agent;             /* of /agents/{agent}/...: not decoded; empty: none */
    int status;                       /* 404, 405 */
    uint8_t allow;                    /* 405: the allowed methods */
};

/* "GET, HEAD, POST" */
struct upp_str sv_route_allow(uint8_t methods, char out[64]);

/* Decodes %41; plus: + is a space. -UPP_EINVALID: a % without two hex digits, or a NUL. */
int sv_decode(struct wb_arena *a, struct upp_str s, bool plus, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A query parameter, decoded: 1; 0: absent. -UPP_EINVALID: more than one of that name. */
int sv_query(struct sv_exchange *x, struct upp_str name, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Query parameters NAME[KEY]=VALUE, as clients write an object: keys and values, decoded; their number. `name` ends
 * with the bracket. -UPP_EINVALID: more than `max`, or one of them twice. */
struct sv_pair {
    struct upp_str key, value;
};
int sv_query_object(struct sv_exchange *x, const char *name, struct sv_pair *ret, size_t max,
                    struct upp_err *err) UPP_MUST_CHECK;

/* The response body is complete: 200. */
int sv_finish(struct sv_exchange *x, struct wj_writer *w) UPP_MUST_CHECK;

/* Names the query parameters that nobody has looked for in the header weft-ignored. Before the head is written. */
void sv_query_report(struct sv_exchange *x);

/* ---- Doors ---- */

/* A door is the way of one protocol into the server.
 *
 * It has routes, the form and the statuses of its errors, and the dialect of its streams. Handlers read requests of
 * their protocol and call the engine; what all doors need for that is in server/doors.
 */

/* An error as the client sees it. */
struct sv_error {
    int status;
    struct upp_str message;
    struct upp_str param; /* JSON pointer into the request; NULL: none */
    const char *type;     /* "invalid_request_error" */
    const char *code;     /* "not_found" */
};

/* The HTTP status of an error code (UPP_EBUSY ...). */
struct sv_status {
    int code, status;
};

struct sv_door {
    const char *name;   /* "v1" */
    const char *prefix; /* "/v1/": errors for unknown paths under it have this door's form */
    const struct sv_route *routes;
    size_t n_routes;
    unsigned flags; /* SV_ROUTE_* of all its routes */

    /* Writes the body of an error of this request, whose arena and body may be gone; NULL: OpenAI's error object. */
    void (*error)(const struct sv_exchange *x, const struct sv_error *e, struct wb_buf *out);
    const struct sv_status *statuses; /* where they differ from sv_error_status; ends with code 0; NULL: nowhere */

    /* The core where a request is to be handled: that of the thread or run that its path names. Called if the server
     * has several. NULL: its requests are handled on the server's own loop. */
    WEFT_SUSPENDS int (*home)(struct sv_exchange *x, uint32_t *ret, struct upp_err *err);

    /* Refuses a request before its handler is called. NULL: none. */
    int (*check)(const struct sv_exchange *x, struct upp_err *err);

    const char *stream; /* the dialect of its streams, unless ?as= names another; NULL: it has none */
    bool agents;        /* its routes also stand under /agents/{agent}: sv_exchange.agent */
};

enum { SV_DOORS = 16 };

/* The door of a path that has no route: the one with the longest matching prefix; NULL: none. */
const struct sv_door *sv_door_of(const struct sv_door *const *doors, struct upp_str path);

/* Searches doors in order; the array ends with NULL. Of /agents/NAME/REST, REST is searched among the doors that stand
 * under agents, and the match has the agent. */
void sv_route_find(const struct sv_door *const *doors, uint8_t method, struct upp_str path, struct sv_match *ret);
