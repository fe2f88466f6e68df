/* upp/http/curl.c — connections that are driven by whoever waits for an answer. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "base/opts.h"
#include "upp/http/curl_call.h"

enum { EVENTS = 64 }; /* that are taken from the kernel at once */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *mine)
{
    struct upp_http *h = arg;
    struct epoll_event ev = {.data.fd = fd};
    (void)easy, (void)mine;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, NULL); /* a closed one has left by itself */
        return 0;
    }
    ev.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) | (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
    int r = epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &ev);
    if (r < 0 && errno == ENOENT)
        r = epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev);
    if (r < 0)
        h->lost = true; /* told by settle: a failure here would be the end of the multi handle */
    return 0;
}

/* The leader waits for the descriptor: it looks again. A full counter wakes it too. */
static void poke(struct upp_http *h)
{
    static const uint64_t one = 1;
    (void)!write(h->poke, &one, sizeof one);
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
    struct upp_http *h = arg;
    (void)multi;
    h->timer_at = ms < 0 ? UPP_FOREVER : wb_mono_ms() + (uint64_t)ms;
    if (h->crowd.leader && h->timer_at < h->planned)
        poke(h); /* it looks at the time again */
    return 0;
}

static void fail_all(struct upp_http *h, int r, const char *why)
{
    wb_list_each (l, &h->calls) {
        struct upp_http_call *c = wb_item(l, struct upp_http_call, link);
        if (c->done || c->failed)
            continue;
        c->failed = upp_fail(&c->err, (enum upp_code) - r, "%s: libcurl: %s", c->host, why);
        upp__curl_note(c);
    }
}

/* 7.88 leaves a broken entry for a socket behind when it has no memory for it, and dies of it when the number of that
 * socket comes again. So all calls fail, and the next one begins with a new multi handle. */
static void judge_multi(struct upp_http *h, CURLMcode r)
{
    if (r == CURLM_OK)
        return;
    h->spent = true;
    fail_all(h, r == CURLM_OUT_OF_MEMORY ? -UPP_ENOMEM : -UPP_EBUG, curl_multi_strerror(r));
}

/* Outside of libcurl: who has ended, who holds too much, who is to be woken. */
void upp__curl_dispatch(struct upp_http *h)
{
    int left;
    CURLMsg *m;
    while ((m = curl_multi_info_read(h->multi, &left))) {
        struct upp_http_call *c = NULL;
        if (m->msg != CURLMSG_DONE || curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c) != CURLE_OK)
            continue;
        c->done = true;
        c->result = m->data.result;
        upp__curl_note(c);
    }
    if (h->lost) {
        h->lost = false;
        fail_all(h, -UPP_ENOMEM, "the kernel takes no more sockets");
    }
    struct wb_link *l;
    while ((l = wb_list_pop(&h->news))) {
        struct upp_http_call *c = wb_item(l, struct upp_http_call, news);
        if (c->coded && !h->spent && !c->done && !c->failed && !c->paused && c->in.n > UPP__CURL_HIGH)
            c->paused = curl_easy_pause(c->easy, CURLPAUSE_RECV) == CURLE_OK;
        upp__waiters_notify(&c->waiter);
        if (&c->waiter == h->crowd.leader) /* told by another: one that leads is not parked */
            poke(h);
    }
}

void upp__curl_timers(struct upp_http *h)
{
    int running;
    if (h->spent || wb_mono_ms() < h->timer_at)
        return;
    h->timer_at = UPP_FOREVER;
    judge_multi(h, curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running));
}

static int drive(void *arg, struct upp_err *err)
{
    struct upp_http *h = arg;
    struct epoll_event events[EVENTS];
    int n = epoll_wait(h->epoll, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        return wb_fail_sys(err, -errno, UPP_EBUG, "epoll_wait");
    for (int i = 0; i < n && !h->spent; i++) {
        uint32_t e = events[i].events;
        uint64_t count;
        int running;
        if (events[i].data.fd == h->poke) {
            (void)!read(h->poke, &count, sizeof count);
            continue;
        }
        int what = (e & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) | (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (e & EPOLLERR ? CURL_CSELECT_ERR : 0);
        judge_multi(h, curl_multi_socket_action(h->multi, events[i].data.fd, what, &running));
    }
    upp__curl_timers(h);
    upp__curl_dispatch(h);
    return 0;
}

static uint64_t due(void *arg)
{
    struct upp_http *h = arg;
    return h->planned = h->timer_at;
}

static char *copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = wb_alloc(n);
    return p ? memcpy(p, s, n) : NULL;
}

static char *copy_or_null(const char *s, bool *bad)
{
    char *p = s ? copy(s) : NULL;
    *bad |= s && !p;
    return p;
}

int upp_http_new(const struct upp_http_opts *given, struct upp_http **ret, struct upp_err *err)
{
    struct upp_http_opts opts;
    bool bad = false;
    struct upp_http *h = wb_calloc(1, sizeof *h);
    if (!h)
        return upp_fail(err, UPP_ENOMEM, "no memory for connections");
    wb_opts(&opts, sizeof opts, given);
    const char *ca = opts.ca_file ? opts.ca_file : getenv("SSL_CERT_FILE");
    h->ca_file = copy_or_null(ca && ca[0] ? ca : NULL, &bad);
    h->proxy = copy_or_null(opts.proxy, &bad);
    h->max_connections = opts.max_connections ? (long)opts.max_connections : 1024;
    h->epoll = h->poke = -1;
    h->timer_at = UPP_FOREVER;
    h->crowd.arg = h;
    h->crowd.due = due;
    h->crowd.drive = drive;
    upp__crowd_init(&h->crowd);
    wb_list_init(&h->calls);
    wb_list_init(&h->news);
    if (bad) {
        upp_http_free(h);
        return upp_fail(err, UPP_ENOMEM, "no memory for connections");
    }
    *ret = h;
    return 0;
}

static void close_multi(struct upp_http *h)
{
    if (h->multi) {
        (void)curl_multi_cleanup(h->multi);
        curl_global_cleanup();
    }
    if (h->epoll >= 0)
        (void)close(h->epoll);
    if (h->poke >= 0)
        (void)close(h->poke);
    h->multi = NULL;
    h->epoll = h->poke = -1;
    h->timer_at = UPP_FOREVER;
    h->spent = false;
}

void upp_http_free(struct upp_http *h)
{
    if (!h)
        return;
    close_multi(h);
    wb_free(h->ca_file);
    wb_free(h->proxy);
    wb_free(h);
}

static int open_descriptors(struct upp_http *h, struct upp_err *err)
{
    struct epoll_event ev = {.events = EPOLLIN};
    h->epoll = epoll_create1(EPOLL_CLOEXEC);
    h->poke = h->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ev.data.fd = h->poke;
    if (h->poke < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->poke, &ev) < 0)
        return wb_fail_sys(err, -errno, UPP_ELIMIT, "no descriptor for connections");
    return 0;
}

/* Made when first used: whoever has one and never calls pays nothing. libcurl counts those who started it, on any
 * thread, and keeps the allocator that it has. */
int upp__curl_ready(struct upp_http *h, struct upp_err *err)
{
    if (h->spent && !wb_list_empty(&h->calls))
        return upp_fail(err, UPP_ENOMEM, "calls that failed for want of memory are still open");
    if (h->spent)
        close_multi(h);
    if (h->multi)
        return 0;
    int r = open_descriptors(h, err);
    if (r < 0) {
        close_multi(h);
        return r;
    }
    CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    h->multi = started == CURLE_OK ? curl_multi_init() : NULL;
    CURLM *m = h->multi;
    if (!m && started == CURLE_OK)
        curl_global_cleanup();
    if (!m || curl_multi_setopt(m, CURLMOPT_SOCKETFUNCTION, on_socket) != CURLM_OK ||
        curl_multi_setopt(m, CURLMOPT_SOCKETDATA, h) != CURLM_OK ||
        curl_multi_setopt(m, CURLMOPT_TIMERFUNCTION, on_timer) != CURLM_OK ||
        curl_multi_setopt(m, CURLMOPT_TIMERDATA, h) != CURLM_OK ||
        curl_multi_setopt(m, CURLMOPT_MAXCONNECTS, h->max_connections) != CURLM_OK) {
        close_multi(h);
        return upp_fail(err, UPP_ENOMEM, "libcurl does not start");
    }
    return 0;
}
