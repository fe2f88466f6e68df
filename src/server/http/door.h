/* server/http/door.h — a door: the way of one protocol into the server.
 *
 * A door has routes, the form and the statuses of its errors, and the dialect of its streams. Handlers read requests of
 * their protocol and call the engine; what all doors need for that is in server/doors.
 */
#pragma once

#include "server/http/route.h"

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
