/* cli/client.h — one HTTP request over a local socket, on a fiber.
 *
 * It speaks HTTP/1.0, so that an answer is a head and then bytes to the end of the connection: no chunks, one request a
 * connection. Server and client are of one program and one machine; this is no client for the world.
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
    int64_t       length; /* of the body; -1: not said */
    struct wb_buf raw;    /* came, and was not used yet */

    struct wb_buf id, data; /* of the last event of a stream; it may have no id */
};
void cli_answer_init(struct cli_answer *a);
void cli_answer_done(struct cli_answer *a);

struct cli_request {
    const char    *method;        /* "GET" */
    struct upp_str path;          /* with its query */
    struct upp_str body;          /* JSON; no text: none */
    struct upp_str last_event_id; /* no text: none */
    struct upp_str key;           /* Idempotency-Key; likewise */
};

/* Adds a word to a path (or to a value of a query), with all encoded that could mean something there. */
void cli_path_add(struct wb_buf *path, struct upp_str word);

/* Sends it over fd, which becomes the answer's, and reads the answer's head. */
WEFT_SUSPENDS int cli_ask(int fd, const struct cli_request *q, struct cli_answer *ret,
                          struct upp_err *err) UPP_MUST_CHECK;

/* The whole body, in a->raw. */
WEFT_SUSPENDS int cli_read_body(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* The next event of a stream: 1, a->data and a->id are set. 0: the connection has ended. */
WEFT_SUSPENDS int cli_read_event(struct cli_answer *a, struct upp_err *err) UPP_MUST_CHECK;

/* Fails with what an answer that is no 2xx says, read to its end. */
WEFT_SUSPENDS int cli_answer_fail(struct cli_answer *a, struct upp_err *err);

#endif
