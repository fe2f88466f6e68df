/* server/talk.h — a server with routes of the tests, and a client of raw bytes, on one loop: libuv's or a simulated
 * one.
 */
#pragma once

#include "base/buf.h"
#include "support/sim/sim.h"
#include "server/http/server.h"
#include "support/fibers.h"

struct talk {
    struct sv_server_opts opts; /* listen and routes are filled in unless set */
    int (*client)(struct talk *t, struct upp_err *err);
    void *arg;
    bool simulated;
    uint64_t patience_ms; /* of the client: 0: 5000, simulated an hour. A fault may leave it without answer */
    uint64_t seed;
    struct sv_server *server;
    struct weft__sim *world;
    int served;       /* what sv_server_run returned */
    unsigned streams; /* that the test's /stream has open */
    uint64_t limit;   /* of events; 0: none */
};

/* Starts the server, runs the client, stops the server: the client's result, or the server's. */
int talk_run(struct talk *t, struct upp_err *err);

/* A connection to the server's i-th listener. */
WEFT_SUSPENDS int talk_connect(const struct talk *t, size_t i, int *fd, struct upp_err *err);

/* One answer: read until it is whole. Buffer and reply are cleared first, but for what came too early. */
struct talk_reply {
    int status;
    bool keep_alive, chunked, closed; /* closed: it ended with the connection */
    struct wb_buf raw;                /* bytes of the connection that were not used yet */
    struct wb_buf head, body;
};
void talk_reply_init(struct talk_reply *r);
void talk_reply_done(struct talk_reply *r);
WEFT_SUSPENDS int talk_read(int fd, struct talk_reply *r, bool no_body, struct upp_err *err);

/* Reads until the connection ends: how many bytes came. */
WEFT_SUSPENDS int64_t talk_read_end(int fd, struct talk_reply *r, struct upp_err *err);

/* Connects, sends, reads one answer: and, unless that says keep-alive, waits for the end. */
WEFT_SUSPENDS int talk_once(const struct talk *t, struct upp_str request, struct talk_reply *r, struct upp_err *err);

/* A header of the answer, or no text. */
struct upp_str talk_header(const struct talk_reply *r, struct upp_str name);

/* The test's routes:
 *   GET  /empty            {}
 *   POST /echo             the body
 *   GET  /echo/{a}/x/{b}   "a b", and ?q
 *   POST /small            a body of at most 16 bytes
 *   GET  /fail/{code}      fails with that code; so does POST
 *   GET  /slow             sleeps a second (10 ms where time is real)
 *   GET  /stream           SSE: t->limit events of ten bytes (0: without end), a yield before each
 *   GET  /stream/{n}       SSE: fails when it is asked for its n-th event
 *   GET  /quiet            SSE: one event and then nothing
 *   GET  /big              4 MiB */
extern const struct sv_door *const talk_doors[];

/* Calls fn while the server has one API key, of the tenant "forty": its text is `key`. */
WEFT_SUSPENDS int talk_with_key(struct talk *t, uint8_t scopes,
                                int (*fn)(struct talk *t, const char *key, struct upp_err *err), struct upp_err *err);
