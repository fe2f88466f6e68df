/* server/http/http.h — strictly parses the bytes of a connection into requests (HTTP/1.1 and 1.0).
 *
 * llhttp parses, with none of its lenient flags. What it leaves open is decided here: limits, Host, versions, transfer
 * encodings, trailers. No I/O: bytes in, and after each piece the state: more, a request, or a refusal.
 *
 * Invariants
 *  1. A message whose length two readers could understand differently is refused, and the connection ends with it.
 *  2. After SV_HTTP_DONE and SV_HTTP_REFUSED no further byte is consumed until sv_http_reset.
 *  3. What the accessors return is valid until sv_http_reset.
 */
#pragma once

#include <llhttp.h>

#include "base/buf.h"
#include "base/vec.h"

enum sv_method {
    SV_GET = 1 << 0,
    SV_HEAD = 1 << 1,
    SV_POST = 1 << 2,
    SV_PUT = 1 << 3,
    SV_PATCH = 1 << 4,
    SV_DELETE = 1 << 5,
    SV_OPTIONS = 1 << 6,
    SV_OTHER = 1 << 7, /* all others that llhttp knows */
};

enum {
    SV_MAX_URL = 8 << 10,
    SV_MAX_HEAD = 32 << 10, /* names, values, and four bytes for each pair */
    SV_MAX_HEADERS = 128,
    SV_MAX_BODY = 16 << 20,  /* unless the route has another limit */
    SV_MAX_NOISE = 64 << 10, /* overhead of a chunked body beyond eight bytes for each byte of it */
    SV_MAX_EXT = 4 << 10,    /* names and values of the extensions of one chunk */
};

enum sv_http_state {
    SV_HTTP_MORE = 0, /* needs more bytes */
    SV_HTTP_DONE,     /* a request is complete */
    SV_HTTP_REFUSED,  /* respond with `status` and `why`; then the connection ends */
};

struct sv_header {
    size_t name, n_name, value, n_value; /* in `head` */
};

struct sv_http {
    llhttp_t parser;
    struct wb_buf head; /* the target, then names and values */
    struct wb_buf body;
    WB_VEC(struct sv_header) headers;
    struct sv_header open; /* the one being read */

    uint8_t method; /* enum sv_method */
    uint8_t minor;  /* HTTP/1.x */
    bool head_done, done, keep_alive, has_body;
    bool expects; /* Expect: 100-continue, and no byte of the body has arrived */
    size_t n_target, counted, fed, fed_body, extension;
    size_t taken;    /* bytes of the body before those in `body`: sv_http_take */
    uint8_t blanks;  /* spaces in the request line so far */
    char line_last;  /* last byte of the request line; NUL: it has not begun; LF: it is complete */
    size_t max_body; /* may be set by on_head */
    int status;      /* of a refusal */
    const char *why;

    /* From the head, once head_done. The path is not decoded and has no query; host is that of an absolute target or
     * of the Host header; empty: none. */
    struct upp_str path, query, host;

    /* Called when the head is complete and valid: 0, or the status to refuse with (and `why` set). */
    int (*on_head)(struct sv_http *h);
};

void sv_http_init(struct sv_http *h, int (*on_head)(struct sv_http *h));
void sv_http_reset(struct sv_http *h); /* for the next request; retains a little memory */
void sv_http_done(struct sv_http *h);
void sv_http_drop(struct sv_http *h); /* the body was read: frees a large one */

/* The same in the middle of a body that is read in pieces: empties `body`, and counts what was in it. */
void sv_http_take(struct sv_http *h);

/* Consumes *used bytes: all of them unless it returns something other than SV_HTTP_MORE. */
enum sv_http_state sv_http_feed(struct sv_http *h, struct upp_str bytes, size_t *used);

/* The value of a header (any case), or empty; *count (may be NULL): the number of headers of that name. */
struct upp_str sv_http_header(const struct sv_http *h, struct upp_str name, size_t *count);
size_t sv_http_headers(const struct sv_http *h);
void sv_http_header_at(const struct sv_http *h, size_t i, struct upp_str *name, struct upp_str *value);

const char *sv_method_name(uint8_t method);
