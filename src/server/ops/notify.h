/* server/ops/notify.h — tells the service manager what the server does: the protocol of sd_notify, without libsystemd.
 *
 * A message is one datagram of "NAME=VALUE" lines to the Unix socket that NOTIFY_SOCKET names. Without that variable
 * every function does nothing. A message that cannot be delivered is logged, the first of several in a row, and never
 * stops the server.
 *
 *     sv_notify_init(&n, getenv("NOTIFY_SOCKET"), getenv("WATCHDOG_USEC"), getenv("WATCHDOG_PID"));
 *     n.server = server;
 *     sv_notify_ready(&n, "listening on http://127.0.0.1:8787");
 *     r = weft_scope_spawn(&scope, "notify", sv_notify_follow, &n, NULL, &err);
 */
#pragma once

#include <sys/un.h>
#include <weft/fiber.h>

struct sv_server;

struct sv_notify {
    struct sv_server *server;
    struct sockaddr_un address;
    unsigned length;  /* of the address; 0: there is no service manager */
    uint64_t ping_ms; /* between two WATCHDOG=1; 0: no watchdog */
    bool failed;      /* the last message was not delivered */
};

/* Any of the three may be NULL. An address that is neither a path nor abstract ("@name") is logged and ignored; so is a
 * watchdog for another process. */
void sv_notify_init(struct sv_notify *n, const char *address, const char *watchdog_usec, const char *watchdog_pid);

/* Each waits at most a second for a service manager that does not read. `status` is for people, one line. */
WEFT_SUSPENDS void sv_notify_ready(struct sv_notify *n, const char *status);
WEFT_SUSPENDS void sv_notify_reloading(struct sv_notify *n); /* followed by sv_notify_ready */
WEFT_SUSPENDS void sv_notify_stopping(struct sv_notify *n);

/* A fiber: reports when n->server begins to stop, and sends the watchdog's messages from its loop: a loop that is stuck
 * sends none. Until it is cancelled. */
WEFT_SUSPENDS int sv_notify_follow(void *n, struct upp_err *err);
