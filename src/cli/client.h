/* cli/client.h — one HTTP request to a server, over a local socket or to a URL, by libupp's transport, on a fiber. */
#pragma once

#include <upp/http.h>
#include <weft/fiber.h>

#include "base/arena.h"
#include "base/buf.h"

enum {
    CLI_MAX_BODY = 64 << 20, /* of an answer, and of one event of a stream */
};

struct cli_answer {
    struct upp_http_call *call; /* NULL: none */
    struct wb_arena sent;       /* its request */
    int status;
    struct wb_buf raw; /* received, not yet consumed */

    struct wb_buf id, data; /* of the last event of a stream; it may have no id */
};
void cli_answer_init(struct cli_answer *a);
void cli_answer_done(struct cli_answer *a);

struct cli_request {
    const char *method;           /* "GET" */
    struct upp_str path;          /* with its query */
    struct upp_str body;          /* JSON; empty: none */
    const char *type;             /* of the body; NULL: application/json */
    struct upp_str last_event_id; /* empty: none */
    struct upp_str key;           /* Idempotency-Key; likewise */
    struct upp_str tenant, user;  /* empty: `local`, and none */
};

/* Adds a word to a path (or a query value), percent-encoded. */
void cli_path_add(struct wb_buf *path, struct upp_str word);
/* Adds a parameter to a path that has one already; an empty value: nothing. */
void cli_query_add(struct wb_buf *path, const char *name, struct upp_str value);

/* Who is asked. */
struct cli_peer {
    struct upp_http *http;
    const struct upp_wait *wait;
    struct upp_str url; /* without a slash at its end; empty: over `socket` */
    struct upp_str key; /* of the URL; empty: none */
    const char *socket; /* as upp__http_send_unix takes it */
};

/* Sends it; the answer is to be closed before the transport. Then reads the head of the answer. */
int cli_send(const struct cli_peer *to, const struct cli_request *q, struct cli_answer *ret,
             struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int cli_read_head(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* The whole body, in a->raw. */
WEFT_SUSPENDS int cli_read_body(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* The next event of a stream: 1, a->data and a->id are set. 0: the connection has ended. */
WEFT_SUSPENDS int cli_read_event(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* Fails with the error in an answer that is not 2xx. */
WEFT_SUSPENDS int cli_answer_fail(struct cli_answer *a, struct upp_err *err);
