/* cli/store_owner.h — the way to a store that may be somebody else's.
 *
 * Where nobody owns the store a command owns it: it opens a runtime and a server for its routes, and talks to that over
 * a pair of sockets. Meanwhile others find its socket beside the database and work through it. Where somebody owns the
 * store already, the command talks to that one. So there is one way in which commands do things: the routes.
 */
#ifndef CLI_DOOR_H
#define CLI_DOOR_H

#include <yyjson.h>

#include "cli/client.h"
#include "runtime/runtime.h"
#include "server/http/server.h"

struct cli_door {
    const struct wc_config *config;
    const struct wrt_place *place;
    struct wrt_runtime     *runtime; /* NULL: somebody else owns the store */
    struct sv_server       *server;
    struct weft_scope       serving;
    char                    socket[108]; /* of the other owner */
};

enum { CLI_DOOR_MS = 10000 /* that an owner may take to start or to stop */ };

/* recover: runs that were cut short go on, where the store is ours. */
WEFT_SUSPENDS int cli_door_open(struct cli_door *d, bool recover, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until no run works any more (unless cancelled), and closes. All zero is fine. */
WEFT_SUSPENDS void cli_door_close(struct cli_door *d);

/* One request and the head of its answer. a is initialised. */
WEFT_SUSPENDS int cli_door_ask(struct cli_door *d, const struct cli_request *q, struct cli_answer *a,
                               struct upp_err *err) UPP_MUST_CHECK;

/* The same with the body of a 2xx, read as JSON into the arena; any other answer is a failure. */
WEFT_SUSPENDS int cli_door_call(struct cli_door *d, const struct cli_request *q, struct wb_arena *arena,
                                yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
