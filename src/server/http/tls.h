/* server/http/tls.h — TLS of the server: a certificate with its key, and a session for each connection.
 *
 * OpenSSL does no I/O: its bytes go through the hook table (send, recv), as those of plain connections do. A session
 * behaves like a non-blocking socket; whoever uses it waits for the descriptor. TLS 1.2 and 1.3, HTTP/1.1 by ALPN, no
 * renegotiation, no early data, no client certificates; tickets, but no cache of sessions.
 *
 * Invariants
 *  1. New files replace the old ones only after all of them were checked. Sessions keep those they began with.
 *  2. A session holds at most one record (16 KiB) in each direction, and none while it is idle.
 *  3. Nothing is sent after a failure.
 */
#pragma once

#include <weft/fiber.h>

#include "base/str.h"

struct ssl_ctx_st;
struct ssl_st;
struct bio_method_st;

struct sv_tls {
    const char *certificate, *key; /* files; the caller's */
    struct ssl_ctx_st *ctx;
    struct bio_method_st *method;
};

/* Reads both files (blocking). -UPP_EINVALID: err.where is the file, and err.msg names it and the reason. Warns in the
 * log of a certificate that is not valid now. */
int sv_tls_open(const char *certificate, const char *key, struct sv_tls **ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_tls_close(struct sv_tls *t); /* no session may be left; accepts NULL */

/* Warns in the log again, and when the certificate expires: seconds since 1970. */
void sv_tls_check(const struct sv_tls *t);
int64_t sv_tls_expires(const struct sv_tls *t);

/* Reads the files again, on a worker thread; a failure keeps the old certificate. */
WEFT_SUSPENDS int sv_tls_reload(struct sv_tls *t, struct upp_err *err) UPP_MUST_CHECK;

struct sv_tls_session {
    struct ssl_st *ssl;
    int fd;
    int failed;      /* -errno of the socket, or -EPROTO: no more I/O */
    bool ended;      /* the other side sends no more */
    bool plain;      /* the first bytes were an HTTP request without TLS */
    unsigned want;   /* after -EAGAIN: WEFT_READABLE or WEFT_WRITABLE */
    const char *why; /* of a failed handshake: OpenSSL's words, or NULL */
};

int sv_tls_session_new(struct sv_tls *t, int fd, struct sv_tls_session **ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_tls_session_free(struct sv_tls_session *s); /* accepts NULL; does not close the descriptor */

/* Like the calls of the same name on a non-blocking socket: -EAGAIN: wait for s->want and call again, with the same
 * bytes. Receiving reads as much as there is. */
int sv_tls_handshake(struct sv_tls_session *s);
int64_t sv_tls_recv(struct sv_tls_session *s, void *p, size_t n);
int64_t sv_tls_send(struct sv_tls_session *s, const void *p, size_t n);

/* Says that nothing more will be sent (close_notify), once, if there is room for it. */
void sv_tls_end(struct sv_tls_session *s);
