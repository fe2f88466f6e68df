/* bench/bench_http.c — 1,000 streams at once on one loop, against a server of events in a child process.
 *
 * The server gives each stream one event after the other in turn. The floor is a loop over epoll and recv on as many
 * sockets that counts the ends of events: no HTTP, no fibers, no limits. CPU is that of the reading thread alone.
 */
#include "bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <upp/http.h>
#include <weft/fiber.h>

#include "base/str.h"
#include "run/engine.h"

enum { STREAMS = 1000, EVENTS = 40, ROUNDS = 3, REPEATS = 3 };

static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
static const char event[] = "41\r\ndata: {\"type\":\"delta\",\"index\":0,\"text\":\"about four tokens\"}    \n\n\r\n";
static const char last[] = "0\r\n\r\n";

/* What both processes see. */
static struct {
    volatile unsigned connections;
} * shared;

static void must(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_http: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

struct conn {
    int fd;
    unsigned left;    /* pieces still to be sent: the head, events, the last chunk */
    size_t at;        /* of the current piece */
    unsigned matched; /* of the blank line that ends a request */
};

static void take(struct conn *c)
{
    static char in[4096];
    ssize_t n = recv(c->fd, in, sizeof in, 0);
    for (ssize_t i = 0; i < n; i++) {
        c->matched = in[i] == "\r\n\r\n"[c->matched] ? c->matched + 1 : in[i] == '\r';
        if (c->matched == 4) {
            c->left = EVENTS + 2;
            c->matched = 0;
        }
    }
    if (n == 0 || (n < 0 && errno != EAGAIN)) {
        (void)close(c->fd);
        c->fd = -1;
        c->left = 0;
    }
}

static void give(struct conn *c)
{
    const char *p = c->left == EVENTS + 2 ? head : c->left == 1 ? last : event;
    size_t n = strlen(p);
    ssize_t r = send(c->fd, p + c->at, n - c->at, MSG_NOSIGNAL);
    if (r > 0 && (c->at += (size_t)r) == n) {
        c->at = 0;
        c->left--;
    }
}

static void serve(int listener)
{
    static struct conn conns[8 * STREAMS];
    unsigned n = 0;
    int ep = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN, .data.u32 = UINT32_MAX};
    static struct epoll_event evs[256];
    must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev) == 0, "epoll_ctl");
    for (bool busy = false;;) {
        int got = epoll_wait(ep, evs, 256, busy ? 0 : -1);
        for (int i = 0; i < got; i++) {
            if (evs[i].data.u32 != UINT32_MAX) {
                take(&conns[evs[i].data.u32]);
                continue;
            }
            for (int fd; n < 8 * STREAMS && (fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0;) {
                conns[n] = (struct conn){.fd = fd};
                (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
                ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = n++};
                must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) == 0, "epoll_ctl");
                shared->connections++;
            }
        }
        busy = false;
        for (unsigned i = 0; i < n; i++)
            if (conns[i].left) {
                give(&conns[i]);
                busy = true;
            }
    }
}

static int start_server(pid_t *pid)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    must(fd >= 0 && bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, 4096) == 0, "listen");
    must(getsockname(fd, (struct sockaddr *)&at, &n) == 0, "getsockname");
    *pid = fork();
    must(*pid >= 0, "fork");
    if (*pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(fd);
    }
    (void)close(fd);
    return ntohs(at.sin_port);
}

static int port;

static uint64_t bare_streams(void)
{
    static int fds[STREAMS];
    static unsigned asked[STREAMS];
    static size_t came[STREAMS];
    const size_t whole = strlen(head) + EVENTS * strlen(event) + strlen(last);
    static const char get[] = "GET / HTTP/1.1\r\n\r\n";
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    struct epoll_event ev, evs[64];
    uint64_t events = 0;
    unsigned open = STREAMS;
    int ep = epoll_create1(0);
    for (unsigned i = 0; i < STREAMS; i++) {
        asked[i] = 0;
        came[i] = 0;
        fds[i] = socket(AF_INET, SOCK_STREAM, 0);
        must(fds[i] >= 0 && connect(fds[i], (struct sockaddr *)&at, sizeof at) == 0, "connect");
        ev = (struct epoll_event){.events = EPOLLIN, .data.u32 = i};
        must(epoll_ctl(ep, EPOLL_CTL_ADD, fds[i], &ev) == 0, "epoll_ctl");
        must(send(fds[i], get, sizeof get - 1, 0) > 0, "send");
    }
    while (open) {
        int got = epoll_wait(ep, evs, 64, -1);
        for (int k = 0; k < got; k++) {
            static char in[8192];
            unsigned i = evs[k].data.u32;
            ssize_t n = recv(fds[i], in, sizeof in, MSG_DONTWAIT);
            must(n > 0, "recv");
            for (char *p = in, *end = in + n; (p = memchr(p, '}', (size_t)(end - p))); p++)
                events++;
            if ((came[i] += (size_t)n) == whole) {
                came[i] = 0;
                if (++asked[i] == ROUNDS) {
                    (void)close(fds[i]);
                    open--;
                } else
                    must(send(fds[i], get, sizeof get - 1, 0) > 0, "send");
            }
        }
    }
    (void)close(ep);
    return events;
}

static struct {
    struct upp_http *http;
    struct upp_wait wait;
    char url[64];
    uint64_t events;
    unsigned failed;
} B;

WEFT_SUSPENDS static int stream(void *arg, struct upp_err *err)
{
    (void)arg;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct upp_http_call *c = NULL;
        struct upp_str more;
        int r = upp_http_send(B.http, &(struct upp_http_request){.url = wb_cstr(B.url)}, &B.wait, &c, err);
        while (r >= 0 && (r = upp_http_call_read(c, &more, err)) > 0)
            for (const char *p = more.p, *end = p + more.n; (p = memchr(p, '}', (size_t)(end - p))); p++)
                B.events++;
        upp_http_call_close(c);
        B.failed += r < 0;
        if (r < 0 && B.failed == 1)
            (void)fprintf(stderr, "bench_http: %s\n", err->msg);
    }
    return 0;
}

WEFT_SUSPENDS static int streams(void *arg, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope all = {0};
    int r = 0;
    (void)arg;
    for (unsigned i = 0; r >= 0 && i < STREAMS; i++)
        r = weft_scope_spawn(&all, "stream", stream, NULL, NULL, err);
    return r < 0 ? r : weft_scope_join(&all, err);
}

static long resident_kib(void)
{
    long size = 0, pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    must(f && fscanf(f, "%ld %ld", &size, &pages) == 2, "statm");
    (void)fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static long peak_kib(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return u.ru_maxrss;
}

int main(void)
{
    struct rlimit files;
    struct upp_err err = {0};
    struct weft_loop *loop = NULL;
    pid_t child;
    double ratio[REPEATS], product = 0, floor = 0;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED && getrlimit(RLIMIT_NOFILE, &files) == 0, "mmap");
    files.rlim_cur = files.rlim_max;
    must(setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= 5 * STREAMS, "descriptors");
    port = start_server(&child);
    (void)snprintf(B.url, sizeof B.url, "http://127.0.0.1:%d/", port);
    must(weft_loop_open(NULL, &loop, &err) >= 0, err.msg);
    long before = resident_kib(), held = 0;
    unsigned connects = 0;
    for (int i = 0; i < REPEATS; i++) {
        double from = bench_cpu_ns();
        uint64_t n = bare_streams();
        floor = (bench_cpu_ns() - from) / (double)n;

        unsigned was = shared->connections;
        B.events = 0;
        must(upp_http_new(UPP_OPTS(upp_http_opts, .proxy = ""), &B.http, &err) >= 0, err.msg);
        B.wait = wr_wait_table(B.http);
        from = bench_cpu_ns();
        int r = weft_loop_run(loop, "streams", streams, NULL, &err);
        product = (bench_cpu_ns() - from) / (double)B.events;
        must(r >= 0, err.msg);
        if (i == 0)
            held = peak_kib() - before;
        upp_http_free(B.http);
        connects = shared->connections - was;
        ratio[i] = product / floor;
        B.failed += B.events != (uint64_t)STREAMS * ROUNDS * EVENTS;
    }
    qsort(ratio, REPEATS, sizeof ratio[0], bench_by_value);
    double each = (double)held / STREAMS;
    (void)printf("%-28s %9.2f ns    floor %9.2f  ratio %6.2f  goal <= 4.00%s\n", "event of 1000 http streams", product,
                 floor, ratio[REPEATS / 2], ratio[REPEATS / 2] <= 4 ? "  ok" : "  MISSED");
    (void)printf("%-28s %9.2f KiB  %32s goal <= 40%s\n", "memory of one stream", each, "",
                 each <= 40 ? "  ok" : "  MISSED");
    (void)printf("%-28s %9u      %32s goal <= %d%s\n", "connections of 3000 calls", connects, "", STREAMS,
                 connects <= STREAMS && !B.failed ? "  ok" : "  MISSED");
    (void)kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    weft_loop_close(loop);
    return B.failed != 0;
}
