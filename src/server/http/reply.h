/* server/http/reply.h — the status line and the headers of a response, and which media type the client would rather
 * have. */
#pragma once

#include "base/buf.h"
#include "base/str.h"

/* The Date header, formatted once a second. All zero: none yet. */
struct sv_date {
    int64_t second;
    char text[48]; /* "Sun, 06 Nov 1994 08:49:37 GMT" */
};

/* The response of a handler. */
struct sv_reply {
    int status;            /* 0: not set */
    const char *type;      /* NULL: application/json */
    struct wb_buf headers; /* additional headers: sv_reply_header */
    struct wb_buf body;
    bool sent; /* partly sent: nothing may be added */
};

enum { SV_REPLY_HEADERS = 8 << 10, SV_REPLY_BODY = 64 << 20 };

void sv_reply_init(struct sv_reply *r);
void sv_reply_done(struct sv_reply *r);

/* Adds a header. A name that is not a token, or a value with a control character, makes the reply's check fail with
 * -UPP_EBUG. */
void sv_reply_header(struct sv_reply *r, const char *name, struct upp_str value);

enum { SV_LENGTH_CHUNKED = -1, SV_LENGTH_CLOSE = -2 /* no header: until the connection closes, or 204 */ };

struct sv_head {
    int status;
    const char *type; /* NULL: none */
    int64_t length;   /* or SV_LENGTH_* */
    bool keep_alive;
    uint8_t minor;             /* of the request: HTTP/1.x */
    struct upp_str request_id; /* empty: none */
    struct upp_str headers;    /* each with CRLF */
};

/* From the status line to the empty line. */
void sv_head_write(struct wb_buf *out, const struct sv_head *head, struct sv_date *date);

/* Which of two media types a client would rather have (RFC 9110, 12.5.1). */

/* Does the header Accept prefer `type` to `other`? By its weights; where these are equal, a type that it names is
 * preferred to one that a range with * stands for. */
bool sv_accept_prefers(struct upp_str accept, const char *type, const char *other);
