/* server/http/net.c — parses addresses to listen on, opens TCP and Unix sockets, and sets options of accepted ones. */
#include "server/http/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/err.h"
#include "base/hooks.h"

enum { BACKLOG = 1024, STREAM_BUFFER = 64 << 10, STALL_MS = 2000 };

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
};

static int parse_tcp(struct upp_str where, union address *a, unsigned *len, struct upp_err *err)
{
    char host[64];
    uint64_t port;
    size_t colon = where.n;
    while (colon > 0 && where.p[colon - 1] != ':')
        colon--;
    struct upp_str name = wb_str_sub(where, 0, colon ? colon - 1 : 0);
    if (!colon || !wb_str_u64(wb_str_sub(where, colon, SIZE_MAX), &port) || port > UINT16_MAX)
        return upp_fail(err, UPP_EINVALID, "'%.*s' has no port (write ADDRESS:PORT)", UPP_FMT(where));
    bool six = name.n > 2 && name.p[0] == '[' && name.p[name.n - 1] == ']';
    if (six)
        name = wb_str(name.p + 1, name.n - 2);
    if (wb_str_eq_nocase(name, UPP_STR("localhost")))
        name = UPP_STR("127.0.0.1");
    if (name.n >= sizeof host)
        return upp_fail(err, UPP_EINVALID, "'%.*s' is no IP address", UPP_FMT(name));
    memcpy(host, name.p, name.n);
    host[name.n] = 0;
    *a = (union address){0};
    if (six ? inet_pton(AF_INET6, host, &a->in6.sin6_addr) == 1 : inet_pton(AF_INET, host, &a->in.sin_addr) == 1) {
        if (six) {
            a->in6.sin6_family = AF_INET6;
            a->in6.sin6_port = htons((uint16_t)port);
        } else {
            a->in.sin_family = AF_INET;
            a->in.sin_port = htons((uint16_t)port);
        }
        *len = six ? sizeof a->in6 : sizeof a->in;
        return 0;
    }
    return upp_fail(err, UPP_EINVALID, "'%.*s' is no IP address", UPP_FMT(name));
}

static int parse_unix(struct upp_str path, union address *a, unsigned *len, struct upp_err *err)
{
    *a = (union address){0};
    if (!path.n || path.n >= sizeof a->un.sun_path)
        return upp_fail(err, UPP_EINVALID, "the path of a Unix socket has 1 to %zu bytes", sizeof a->un.sun_path - 1);
    a->un.sun_family = AF_UNIX;
    memcpy(a->un.sun_path, path.p, path.n);
    *len = sizeof a->un;
    return 0;
}

static int parse(struct upp_str where, union address *a, unsigned *len, struct upp_err *err)
{
    return wb_str_starts(where, UPP_STR("unix:")) ? parse_unix(wb_str_sub(where, 5, SIZE_MAX), a, len, err)
                                                  : parse_tcp(where, a, len, err);
}

static void describe(const union address *a, struct sv_listener *l)
{
    switch (a->any.sa_family) {
    case AF_UNIX:
        l->local = l->loopback = true;
        (void)snprintf(l->path, sizeof l->path, "%s", a->un.sun_path);
        (void)snprintf(l->url, sizeof l->url, "unix:%s", l->path);
        return;
    case AF_INET6: {
        static const struct in6_addr none, one = IN6ADDR_LOOPBACK_INIT;
        l->loopback = memcmp(&a->in6.sin6_addr, &one, sizeof one) == 0;
        l->any = memcmp(&a->in6.sin6_addr, &none, sizeof none) == 0;
        (void)inet_ntop(AF_INET6, &a->in6.sin6_addr, l->host, sizeof l->host);
        (void)snprintf(l->url, sizeof l->url, "http://[%s]:%u", l->host, ntohs(a->in6.sin6_port));
        return;
    }
    default:
        l->loopback = ntohl(a->in.sin_addr.s_addr) >> 24 == 127;
        l->any = a->in.sin_addr.s_addr == htonl(INADDR_ANY);
        (void)inet_ntop(AF_INET, &a->in.sin_addr, l->host, sizeof l->host);
        (void)snprintf(l->url, sizeof l->url, "http://%s:%u", l->host, ntohs(a->in.sin_port));
    }
}

int sv_listen_parse(struct upp_str where, struct sv_listener *ret, struct upp_err *err)
{
    union address a;
    unsigned len;
    int r = parse(where, &a, &len, err);
    if (r < 0)
        return r;
    *ret = (struct sv_listener){.fd = -1};
    describe(&a, ret);
    return 0;
}

/* Is it a socket file that no process listens on, left by one that died? */
static bool left_over(const union address *a, unsigned len)
{
    int fd = WB_CALL(socket)(AF_UNIX, SOCK_STREAM, 0);
    if (fd < 0)
        return false;
    int r = WB_CALL(connect)(fd, &a->any, len);
    (void)WB_CALL(close)(fd);
    return r == -ECONNREFUSED;
}

static int bind_unix(int fd, const union address *a, unsigned len)
{
    (void)fchmod(fd, 0600); /* before it has a name, so that others can never connect */
    int r = WB_CALL(bind)(fd, &a->any, len);
    if (r == -EADDRINUSE && left_over(a, len) && WB_CALL(unlink)(a->un.sun_path) == 0)
        r = WB_CALL(bind)(fd, &a->any, len);
    return r;
}

static int bind_tcp(int fd, const union address *a, unsigned len)
{
    int one = 1;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (a->any.sa_family == AF_INET6)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    return WB_CALL(bind)(fd, &a->any, len);
}

int sv_listen(struct upp_str where, struct sv_listener *ret, struct upp_err *err)
{
    union address a, bound;
    unsigned len;
    struct sv_listener l = {.fd = -1};
    int r = parse(where, &a, &len, err);
    if (r < 0)
        return r;
    l.fd = WB_CALL(socket)(a.any.sa_family, SOCK_STREAM, 0);
    if (l.fd < 0)
        return wb_fail_sys(err, l.fd, UPP_ENET, "cannot listen on %.*s", UPP_FMT(where));
    r = a.any.sa_family == AF_UNIX ? bind_unix(l.fd, &a, len) : bind_tcp(l.fd, &a, len);
    if (r >= 0)
        r = WB_CALL(listen)(l.fd, BACKLOG);
    if (r < 0) {
        (void)WB_CALL(close)(l.fd);
        return wb_fail_sys(err, r, r == -EADDRINUSE ? UPP_EBUSY : UPP_ENET, "cannot listen on %.*s", UPP_FMT(where));
    }
    socklen_t n = sizeof bound;
    bound = a;
    if (a.any.sa_family != AF_UNIX && getsockname(l.fd, &bound.any, &n) == 0) /* the actual port */
        a = bound;
    describe(&a, &l);
    *ret = l;
    return 0;
}

void sv_listener_close(struct sv_listener *l)
{
    if (l->fd < 0)
        return;
    if (l->local)
        (void)WB_CALL(unlink)(l->path);
    (void)WB_CALL(close)(l->fd);
    l->fd = -1;
}

void sv_net_tune(int fd)
{
    int one = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

void sv_net_tune_stream(int fd)
{
    int n = STREAM_BUFFER;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &n, sizeof n);
}

bool sv_net_peer(int fd, struct wb_ip *ret)
{
    union address a;
    socklen_t n = sizeof a;
    char text[WB_IP_TEXT];
    if (getpeername(fd, &a.any, &n) != 0 || (a.any.sa_family != AF_INET && a.any.sa_family != AF_INET6))
        return false;
    const void *ip = a.any.sa_family == AF_INET ? (const void *)&a.in.sin_addr : (const void *)&a.in6.sin6_addr;
    return inet_ntop(a.any.sa_family, ip, text, sizeof text) && wb_ip_parse(wb_cstr(text), ret);
}

WEFT_SUSPENDS void sv_net_linger(int fd, uint64_t ms, size_t max)
{
    char scrap[2048];
    (void)shutdown(fd, SHUT_WR);
    WEFT_DEADLINE(ms);
    for (size_t n = 0; n < max;) {
        WEFT_DEADLINE(STALL_MS);
        int64_t got = weft_recv(fd, scrap, sizeof scrap, NULL);
        if (got <= 0 || weft_yield(NULL) < 0)
            return;
        n += (size_t)got;
    }
}
