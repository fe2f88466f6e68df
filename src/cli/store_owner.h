/* cli/store_owner.h — access to a store that another process may own.
 *
 * If no process owns the store, the command becomes its owner: it opens a runtime and a server for the routes, and
 * talks to that over a socket pair. Other commands find its socket next to the database and use it. If another process
 * owns the store, the command talks to that one. So commands have one way to do things: the routes.
 */
#pragma once

#include <upp/http.h>
#include <yyjson.h>

#include "cli/cli.h"
#include "cli/client.h"
#include "runtime/runtime.h"
#include "server/http/server.h"
#include "server/keys/table.h"

struct cli_owner {
    const struct wc_config *config;
    const struct wrt_location *place;
    bool only_others;            /* never becomes the owner: the configuration has only the store */
    struct cli_as as;            /* of its requests, unless one names a tenant itself */
    struct wrt_runtime *runtime; /* NULL: another process owns the store */
    struct sv_keys *keys;
    struct sv_ops *ops; /* NULL: no level is logged that it would log */
    struct sv_server *server;
    struct weft_scope serving;
    char socket[108]; /* of the other owner */
    struct upp_http *http;
    struct upp_wait wait;

    /* Or a server elsewhere, which is asked for everything: */
    const char *url, *key; /* NULL: none */
    bool was_there;        /* it has answered once: it is waited for */
};

enum {
    CLI_OWNER_MS = 10000, /* for an owner to start or stop */
    CLI_URL_MS = 60000,   /* for a server elsewhere to come back */
};

/* recover: resumes interrupted runs, if we own the store. */
WEFT_SUSPENDS int cli_owner_open(struct cli_owner *d, bool recover, struct upp_err *err) UPP_MUST_CHECK;

/* Finds the process that owns the store and checks that it answers, without becoming the owner. -UPP_ENOTFOUND,
 * -UPP_ENET: there is none, or it is not ready yet. */
WEFT_SUSPENDS int cli_owner_find(struct cli_owner *d, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until no run is working (unless cancelled), and closes. Accepts a zeroed struct. */
WEFT_SUSPENDS void cli_owner_close(struct cli_owner *d);

/* After the last request, when no fiber has an answer open. */
void cli_owner_done(struct cli_owner *d);

/* Sends a request and reads the head of its answer. `a` is initialised. */
WEFT_SUSPENDS int cli_owner_ask(struct cli_owner *d, const struct cli_request *q, struct cli_answer *a,
                                struct upp_err *err) UPP_MUST_CHECK;

/* The same, and reads the body of a 2xx as JSON into the arena; any other status is a failure. */
WEFT_SUSPENDS int cli_owner_call(struct cli_owner *d, const struct cli_request *q, struct wb_arena *arena,
                                 yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;
