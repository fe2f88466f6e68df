/* server/http/net.h — listening sockets, and options of accepted ones.
 *
 * Ordinary descriptors: fibers wait for them, on libuv and on the simulated loop.
 */
#pragma once

#include <weft/fiber.h>

#include "base/ip.h"

struct sv_listener {
    int fd;
    bool local;     /* a Unix socket */
    bool loopback;  /* not reachable from other machines */
    bool any;       /* 0.0.0.0 or [::] */
    bool tls;       /* its connections speak TLS */
    char host[48];  /* "127.0.0.1", "::1"; empty for a Unix socket */
    char url[144];  /* "http://127.0.0.1:8787", "http://[::1]:8787", "unix:/path" */
    char path[108]; /* of a Unix socket: removed when it is closed */
};

/* "ADDR:PORT", "[ADDR6]:PORT", "localhost:PORT" (port 0: a free one), "unix:PATH". Names are not resolved.
 * -UPP_EINVALID: not an address. -UPP_EBUSY: another process listens there. */
int sv_listen(struct upp_str where, struct sv_listener *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same without opening a socket. */
int sv_listen_parse(struct upp_str where, struct sv_listener *ret, struct upp_err *err) UPP_MUST_CHECK;

void sv_listener_close(struct sv_listener *l);

/* For an accepted connection: disables Nagle. For one that streams: a small send buffer, so that a client that does
 * not read costs 64 KiB, not megabytes. Errors are ignored. */
void sv_net_tune(int fd);
void sv_net_tune_stream(int fd);

/* The address at the other end. False: there is none (a Unix socket), or it is not known. */
bool sv_net_peer(int fd, struct wb_ip *ret);

/* Shuts down sending, and discards what still arrives until the other side has closed, at most for `ms` and `max`
 * bytes. Otherwise a close with unread bytes would reset the connection, and the client would lose the end of our
 * response. */
WEFT_SUSPENDS void sv_net_linger(int fd, uint64_t ms, size_t max);
