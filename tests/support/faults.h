/* support/faults.h — an HTTP/1.1 server on the loopback that does what a script says, also what no server should.
 *
 *     static const struct faults_step steps[] = {
 *         {.act = FAULTS_SEND, .bytes = UPP_STR_INIT("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")},
 *         {.act = FAULTS_RESET},
 *     };
 *     FAULTS_SERVER(s, FAULTS_REPLY(steps));          stopped at the end of the block
 *     ... faults_url(s, "/v1/messages") ... faults_request(s, 0, &seen) ...
 *
 * A thread for each connection; nothing of it goes through the hook table, so that no fault reaches it under torture.
 * Requests are answered in the order of their coming by the first reply that is not used up and whose path fits.
 */
#pragma once

#include <openssl/ssl.h>
#include <upp/base.h>

enum faults_act {
    FAULTS_SEND = 1, /* bytes, `times` times (0: once) */
    FAULTS_DRIP,     /* bytes, one by one, each in a segment of its own */
    FAULTS_CHUNK,    /* bytes as one chunk; none: the last chunk */
    FAULTS_WAIT,     /* ms */
    FAULTS_HANG,     /* until the client goes away, or the server is stopped */
    FAULTS_RESET,    /* the connection, so that the client sees ECONNRESET */
    FAULTS_CUT,      /* closes it, without TLS's word of good-bye */
    FAULTS_END,      /* closes it in good order */
    FAULTS_HOLD,     /* waits for faults_release */
};

struct faults_step {
    enum faults_act act;
    struct upp_str bytes;
    size_t times;
    unsigned ms;
};

/* After the last step the connection is kept for the next request. */
struct faults_reply {
    const struct faults_step *steps;
    size_t n;
    const char *path; /* that the target begins with; NULL: any */
    unsigned times;   /* 0: for ever */
};

struct faults_opts {
    const struct faults_reply *replies;
    size_t n_replies;
    SSL_CTX *tls;     /* NULL: plain. Borrowed until the end */
    bool no_requests; /* each connection gets the first reply, without waiting for a request */
};

struct faults;

struct faults_seen {
    struct upp_str head, body; /* borrowed until the server is stopped */
    unsigned connection;       /* from 0 */
};

struct faults *faults_start(const struct faults_opts *opts); /* aborts where it cannot */
void faults_stop(struct faults *f);
void faults_stopp(struct faults **f);

int faults_port(const struct faults *f);
const char *faults_url(const struct faults *f, const char *path); /* "http://127.0.0.1:PORT/path"; until the next one */
const char *faults_url_of(const struct faults *f, const char *host, const char *path);

unsigned faults_connections(struct faults *f);
unsigned faults_requests(struct faults *f); /* that came whole */
size_t faults_bytes(struct faults *f);      /* that came, after decryption */
bool faults_request(struct faults *f, unsigned i, struct faults_seen *ret);
void faults_release(struct faults *f); /* those that hold go on, now and later */

/* Is this line ("x-api-key: k"; the case of the name does not matter) in a head? */
bool faults_has_header(struct upp_str head, const char *line);

/* A gzip file with these bytes, stored; and one of about `n` blanks, 158 times smaller. Freed with free. */
struct upp_str faults_gzip(struct upp_str body);
struct upp_str faults_bomb(size_t n);

#define FAULTS_REPLY(array) FAULTS_REPLY_AT(NULL, array)
#define FAULTS_REPLY_AT(path_, array)                                                                                  \
    {                                                                                                                  \
        .steps = (array), .n = sizeof(array) / sizeof((array)[0]), .path = (path_)                                     \
    }
#define FAULTS_SERVER(name, ...)                                                                                       \
    const struct faults_reply name##_replies[] = {__VA_ARGS__};                                                        \
    __attribute__((cleanup(faults_stopp))) struct faults *name = faults_start(&(struct faults_opts){                   \
        .replies = name##_replies, .n_replies = sizeof name##_replies / sizeof name##_replies[0]})
