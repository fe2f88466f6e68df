/* cli/client.h — one HTTP request over a local socket, on a fiber.
 *
 * It uses HTTP/1.0, so a response is a head and then bytes to the end of the connection: no chunks, one request per
 * connection. Server and client are the same program on one machine; this is not a general HTTP client.
 */
#ifndef CLI_CLIENT_H
#define CLI_CLIENT_H

#include <weft/fiber.h>

#include "base/buf.h"

enum {
    CLI_MAX_HEAD = 64 << 10,
    CLI_MAX_BODY = 64 << 20, /* of an answer, and of one event of a stream */
};

struct cli_answer {
    int           fd; /* -1: closed */
    int           status;
    int64_t       length; /* of the body; -1: unknown */
    struct wb_buf raw;    /* received, not yet consumed */

    struct wb_buf id, data; /* of the last event of a stream; it may have no id */
};
void cli_answer_init(struct cli_answer *a);
void cli_answer_done(struct cli_answer *a);

struct cli_request {
    const char    *method;        /* "GET" */
    struct upp_str path;          /* with its query */
    struct upp_str body;          /* JSON; empty: none */
    const char    *type;          /* of the body; NULL: application/json */
    struct upp_str last_event_id; /* empty: none */
    struct upp_str key;           /* Idempotency-Key; likewise */
    struct upp_str tenant, user;  /* empty: `local`, and none */
};

/* Adds a word to a path (or a query value), percent-encoded. */
void cli_path_add(struct wb_buf *path, struct upp_str word);

/* Sends it over fd, which the answer then owns, and reads the head of the answer. */
WEFT_SUSPENDS int cli_ask(int fd, const struct cli_request *q, struct cli_answer *ret,
                          struct upp_err *err) UPP_MUST_CHECK;

/* The whole body, in a->raw. */
WEFT_SUSPENDS int cli_read_body(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* The next event of a stream: 1, a->data and a->id are set. 0: the connection has ended. */
WEFT_SUSPENDS int cli_read_event(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* Fails with the error in an answer that is not 2xx. */
WEFT_SUSPENDS int cli_answer_fail(struct cli_answer *a, struct upp_err *err);

#endif
