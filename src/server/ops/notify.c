/* server/ops/notify.c — sends the states of sd_notify, and follows those of the server. */
#include "server/ops/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"
#include "server/http/server.h"

enum {
    SEND_MS = 1000, /* a service manager that does not read its socket */
    PING_MS = 10,   /* the least time between two messages of the watchdog */
};

static bool parse_address(struct upp_str where, struct sv_notify *n)
{
    n->address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (where.n < 2 || where.n >= sizeof n->address.sun_path || (where.p[0] != '/' && where.p[0] != '@'))
        return false;
    memcpy(n->address.sun_path, where.p, where.n);
    if (where.p[0] == '@') { /* abstract: the name has no file and no end but the length */
        n->address.sun_path[0] = 0;
        n->length = (unsigned)(offsetof(struct sockaddr_un, sun_path) + where.n);
    } else {
        n->length = sizeof n->address;
    }
    return true;
}

void sv_notify_init(struct sv_notify *n, const char *address, const char *watchdog_usec, const char *watchdog_pid)
{
    uint64_t usec, pid;
    *n = (struct sv_notify){0};
    if (!address || !address[0])
        return;
    if (!parse_address(wb_cstr(address), n)) {
        wb_log(WB_WARN, "NOTIFY_SOCKET is not a path or an abstract name: the service manager is not notified",
               WB_LZ("address", address));
        return;
    }
    if (!watchdog_usec || !wb_str_u64(wb_cstr(watchdog_usec), &usec) || !usec)
        return;
    if (watchdog_pid && (!wb_str_u64(wb_cstr(watchdog_pid), &pid) || pid != (uint64_t)getpid()))
        return;
    n->ping_ms = WB_MAX(usec / 2000, (uint64_t)PING_MS);
}

/* Opens a socket for each message, as a service manager that was started again has bound another one. */
WEFT_SUSPENDS static int send_message(const struct sv_notify *n, struct upp_str text, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(socket)(AF_UNIX, SOCK_DGRAM, 0);
    if (fd < 0)
        return wb_fail_sys(err, fd, UPP_ENET, "no socket");
    WEFT_DEADLINE(SEND_MS);
    int r = weft_connect(fd, (const struct sockaddr *)&n->address, n->length, err);
    return r < 0 ? r : weft_send(fd, text.p, text.n, err);
}

WEFT_SUSPENDS static void notify(struct sv_notify *n, const char *text)
{
    struct upp_err err = {0};
    if (!n->length)
        return;
    int r = send_message(n, wb_cstr(text), &err);
    if (r < 0 && r != -UPP_ECANCELED && !n->failed)
        wb_log(WB_WARN, "the service manager was not notified", WB_LZ("message", text), WB_LERR(&err));
    n->failed = r < 0;
}

WEFT_SUSPENDS void sv_notify_ready(struct sv_notify *n, const char *status)
{
    char text[512];
    (void)snprintf(text, sizeof text, "READY=1\nSTATUS=%s", status);
    notify(n, text);
}

WEFT_SUSPENDS void sv_notify_reloading(struct sv_notify *n)
{
    char text[96];
    (void)snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu\nSTATUS=reloading",
                   (unsigned long long)(wb_mono_ns() / 1000));
    notify(n, text);
}

WEFT_SUSPENDS void sv_notify_stopping(struct sv_notify *n)
{
    notify(n, "STOPPING=1\nSTATUS=completing requests");
}

/* Waits until the server changes or the next message of the watchdog is due. */
WEFT_SUSPENDS static int wait_change(struct sv_notify *n, uint64_t due_ms, struct upp_err *err)
{
    uint64_t now = wb_mono_ms();
    if (!n->ping_ms)
        return weft_cond_wait(&n->server->changed, err);
    if (now >= due_ms)
        return -UPP_ETIMEOUT;
    WEFT_DEADLINE(due_ms - now);
    return weft_cond_wait(&n->server->changed, err);
}

WEFT_SUSPENDS int sv_notify_follow(void *arg, struct upp_err *err)
{
    struct sv_notify *n = arg;
    uint64_t due_ms = wb_mono_ms() + n->ping_ms;
    bool reported = false;
    for (;;) {
        if (n->server->stopping && !reported) {
            sv_notify_stopping(n);
            reported = true;
        }
        int r = wait_change(n, due_ms, err);
        if (r < 0 && r != -UPP_ETIMEOUT)
            return r;
        if (r == -UPP_ETIMEOUT) {
            notify(n, "WATCHDOG=1");
            due_ms = wb_mono_ms() + n->ping_ms;
        }
    }
}
