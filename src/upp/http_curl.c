/* upp/http_curl.c — outgoing HTTP by libcurl; the one file that includes curl.h.
 *
 * One multi handle whose sockets are in an epoll descriptor. Whoever waits for an answer waits for that descriptor and
 * drives libcurl for everybody (upp/lead.h): the same code for a thread that blocks and for fibers.
 *
 * libcurl's callbacks append to a call's buffers and note that there is news; nothing in them enters libcurl again.
 * What was noted is acted upon when libcurl has returned (`settle`).
 */
#include "upp/http_curl.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "upp/http_rules.h"
#include "upp/lead.h"

enum {
    READ_BYTES  = 8 << 10,   /* of one read from the network: the largest part of what a quiet call holds */
    HIGH_BYTES  = 256 << 10, /* that nobody has taken yet: no more is read from the network then */
    KEEP_BYTES  = 16 << 10,  /* of an empty buffer; a larger one is given back */
    RATIO       = 100,       /* of a compressed body, at most, */
    RATIO_AFTER = 1 << 20,   /* beyond so many bytes */
    HOPS        = 5,
    EVENTS      = 64, /* that are taken from the kernel at once */
};

struct upp_http {
    char             *ca_file, *proxy; /* as given; NULL: not */
    long              max_connections;
    CURLM            *multi; /* NULL: not used yet */
    int               epoll, poke;
    uint64_t          timer_at, planned; /* libcurl's; the one that the leader knew when it began to wait */
    struct upp__crowd crowd;
    struct wb_link    calls; /* all that are open */
    struct wb_link    news;  /* those that something came for since libcurl was entered */
    bool              lost;  /* the kernel did not take a socket */
    bool              spent; /* libcurl failed half-way: the multi handle is not entered again, but to take it down */
};

struct upp_http_call {
    struct upp__waiter      waiter;
    struct wb_link          link, news;
    struct upp_http        *http;
    CURL                   *easy;
    struct curl_slist      *headers;
    struct upp_http_request req;
    char                   *host; /* "host:port" */
    uint64_t                began, total_at;
    struct upp__head        head;
    struct wb_buf           in, lent;
    uint64_t                got; /* bytes of the body so far */
    bool                    added, done, get, moved, coded, paused;
    unsigned                hops;
    CURLcode                result;
    int                     failed; /* sticky; `err` says why */
    struct upp_err          err;
    char                    text[CURL_ERROR_SIZE];
};

/* ---- The process ---------------------------------------------------------------------------------------------- */

struct wb_library upp__curl_library(void)
{
    return wb_library("libcurl", LIBCURL_VERSION, curl_version_info(CURLVERSION_NOW)->version);
}

static char *copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char  *p = wb_alloc(n);
    return p ? memcpy(p, s, n) : NULL;
}

int upp__curl_use_hooks(struct upp_err *err)
{
    CURLcode r = curl_global_init_mem(CURL_GLOBAL_DEFAULT, wb_alloc, wb_free, wb_realloc, copy, wb_calloc);
    if (r != CURLE_OK)
        return upp_fail(err, UPP_ENOMEM, "libcurl does not start: %s", curl_easy_strerror(r));
    return 0;
}

/* ---- What libcurl calls ------------------------------------------------------------------------------------------ */

static void note(struct upp_http_call *c)
{
    if (!wb_linked(&c->news))
        wb_list_push(&c->http->news, &c->news);
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *mine)
{
    struct upp_http   *h  = arg;
    struct epoll_event ev = {.data.fd = fd};
    (void)easy, (void)mine;
    if (what == CURL_POLL_REMOVE) {
        (void)epoll_ctl(h->epoll, EPOLL_CTL_DEL, fd, NULL); /* a closed one has left by itself */
        return 0;
    }
    ev.events = (what & CURL_POLL_IN ? (uint32_t)EPOLLIN : 0) | (what & CURL_POLL_OUT ? (uint32_t)EPOLLOUT : 0);
    int r     = epoll_ctl(h->epoll, EPOLL_CTL_MOD, fd, &ev);
    if (r < 0 && errno == ENOENT)
        r = epoll_ctl(h->epoll, EPOLL_CTL_ADD, fd, &ev);
    if (r < 0)
        h->lost = true; /* told by settle: a failure here would be the end of the multi handle */
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *arg)
{
    static const uint64_t one = 1;
    struct upp_http      *h   = arg;
    (void)multi;
    h->timer_at = ms < 0 ? UPP_FOREVER : wb_mono_ms() + (uint64_t)ms;
    if (h->crowd.leader && h->timer_at < h->planned)
        (void)!write(h->poke, &one, sizeof one); /* the leader looks at the time again; a full counter wakes it too */
    return 0;
}

/* The table makes the socket; libcurl has a descriptor of its own for it, because 7.88 closes those that never came to
 * be connected by itself, whatever it was given to close sockets with. */
static curl_socket_t on_open(void *arg, curlsocktype why, struct curl_sockaddr *a)
{
    (void)arg, (void)why;
    int fd = WB_CALL(socket)(a->family, a->socktype, a->protocol);
    if (fd < 0)
        return CURL_SOCKET_BAD;
    int its = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    (void)WB_CALL(close)(fd);
    return its < 0 ? CURL_SOCKET_BAD : its;
}

/* The first failure counts. libcurl ends the call when a callback takes fewer bytes than it was given. */
static size_t refuse(struct upp_http_call *c, int r)
{
    if (!c->failed)
        c->failed = r;
    note(c);
    return 0;
}

/* A head that is whole: what it means for what follows. */
static int judge(struct upp_http_call *c, struct upp_err *err)
{
    c->moved = upp__http_moved(&c->head);
    if (c->moved) /* its body is passed over; `follow` knows where to */
        return 0;
    int r = upp__http_coding(upp__head_get(&c->head, UPP_STR("content-encoding")), err);
    if (r < 0)
        return r;
    c->coded = r == 0;
    return 0;
}

static size_t on_header(char *p, size_t size, size_t count, void *arg)
{
    struct upp_http_call *c = arg;
    int                   r = c->failed ? c->failed : upp__head_line(&c->head, wb_str(p, size * count), &c->err);
    if (r > 0) {
        note(c);
        r = judge(c, &c->err);
    }
    return r < 0 ? refuse(c, r) : size * count;
}

static bool is_bomb(const struct upp_http_call *c, uint64_t bytes)
{
    curl_off_t wire = 0;
    if (!c->coded || bytes <= RATIO_AFTER)
        return false;
    return curl_easy_getinfo(c->easy, CURLINFO_SIZE_DOWNLOAD_T, &wire) != CURLE_OK || bytes / RATIO > (uint64_t)wire;
}

static size_t on_body(char *p, size_t size, size_t count, void *arg)
{
    struct upp_http_call *c = arg;
    size_t                n = size * count;
    if (c->failed)
        return 0;
    if (c->moved)
        return n;
    /* What libcurl has decompressed and cannot give away it keeps without a limit of ours: then it is taken here, and
     * libcurl stops reading afterwards (`settle`). */
    if (!c->coded && c->in.n && c->in.n + n > HIGH_BYTES) {
        c->paused = true;
        return CURL_WRITEFUNC_PAUSE;
    }
    if (c->got + n > c->req.max_bytes)
        return refuse(
            c, upp_fail(&c->err, UPP_ELIMIT, "%s: the answer has more than %zu bytes", c->host, c->req.max_bytes));
    if (is_bomb(c, c->got + n))
        return refuse(
            c, upp_fail(&c->err, UPP_ELIMIT, "%s: the answer was compressed more than %d times", c->host, RATIO));
    c->got += n;
    wb_buf_add(&c->in, wb_str(p, n));
    int r = wb_buf_check(&c->in, &c->err);
    if (r < 0)
        return refuse(c, r);
    note(c);
    return n;
}

/* ---- Driving ---------------------------------------------------------------------------------------------------- */

static void fail_all(struct upp_http *h, int r, const char *why)
{
    wb_list_each (l, &h->calls) {
        struct upp_http_call *c = wb_item(l, struct upp_http_call, link);
        if (c->done || c->failed)
            continue;
        c->failed = upp_fail(&c->err, (enum upp_code) - r, "%s: libcurl: %s", c->host, why);
        note(c);
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
static void settle(struct upp_http *h)
{
    int      left;
    CURLMsg *m;
    while ((m = curl_multi_info_read(h->multi, &left))) {
        struct upp_http_call *c = NULL;
        if (m->msg != CURLMSG_DONE || curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &c) != CURLE_OK)
            continue;
        c->done   = true;
        c->result = m->data.result;
        note(c);
    }
    if (h->lost) {
        h->lost = false;
        fail_all(h, -UPP_ENOMEM, "the kernel takes no more sockets");
    }
    struct wb_link *l;
    while ((l = wb_list_pop(&h->news))) {
        struct upp_http_call *c = wb_item(l, struct upp_http_call, news);
        if (c->coded && !h->spent && !c->done && !c->failed && !c->paused && c->in.n > HIGH_BYTES)
            c->paused = curl_easy_pause(c->easy, CURLPAUSE_RECV) == CURLE_OK;
        upp__crowd_tell(&c->waiter);
    }
}

static void drive_timers(struct upp_http *h)
{
    int running;
    if (h->spent || wb_mono_ms() < h->timer_at)
        return;
    h->timer_at = UPP_FOREVER;
    judge_multi(h, curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running));
}

static int drive(void *arg, struct upp_err *err)
{
    struct upp_http   *h = arg;
    struct epoll_event events[EVENTS];
    int                n = epoll_wait(h->epoll, events, EVENTS, 0);
    if (n < 0 && errno != EINTR)
        return wb_fail_sys(err, -errno, UPP_EBUG, "epoll_wait");
    for (int i = 0; i < n && !h->spent; i++) {
        uint32_t e = events[i].events;
        uint64_t count;
        int      running;
        if (events[i].data.fd == h->poke) {
            (void)!read(h->poke, &count, sizeof count);
            continue;
        }
        int what = (e & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) | (e & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (e & EPOLLERR ? CURL_CSELECT_ERR : 0);
        judge_multi(h, curl_multi_socket_action(h->multi, events[i].data.fd, what, &running));
    }
    drive_timers(h);
    settle(h);
    return 0;
}

static uint64_t due(void *arg)
{
    struct upp_http *h = arg;
    return h->planned  = h->timer_at;
}

/* ---- Connections --------------------------------------------------------------------------------------------------
 */

static char *copy_or_null(const char *s, bool *bad)
{
    char *p = s ? copy(s) : NULL;
    *bad |= s && !p;
    return p;
}

int upp_http_new(const struct upp_http_opts *opts, struct upp_http **ret, struct upp_err *err)
{
    static const struct upp_http_opts none;
    bool                              bad = false;
    struct upp_http                  *h   = wb_calloc(1, sizeof *h);
    if (!h)
        return upp_fail(err, UPP_ENOMEM, "no memory for connections");
    if (!opts)
        opts = &none;
    const char *ca     = opts->ca_file ? opts->ca_file : getenv("SSL_CERT_FILE");
    h->ca_file         = copy_or_null(ca && ca[0] ? ca : NULL, &bad);
    h->proxy           = copy_or_null(opts->proxy, &bad);
    h->max_connections = opts->max_connections ? (long)opts->max_connections : 1024;
    h->epoll = h->poke = -1;
    h->timer_at        = UPP_FOREVER;
    h->crowd.arg       = h;
    h->crowd.due       = due;
    h->crowd.drive     = drive;
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
    h->timer_at        = UPP_FOREVER;
    h->spent           = false;
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
    h->epoll              = epoll_create1(EPOLL_CLOEXEC);
    h->poke               = h->epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ev.data.fd            = h->poke;
    if (h->poke < 0 || epoll_ctl(h->epoll, EPOLL_CTL_ADD, h->poke, &ev) < 0)
        return wb_fail_sys(err, -errno, UPP_ELIMIT, "no descriptor for connections");
    return 0;
}

/* Made when first used: whoever has one and never calls pays nothing. libcurl counts those who started it, on any
 * thread, and keeps the allocator that it has. */
static int open_multi(struct upp_http *h, struct upp_err *err)
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
    h->multi         = started == CURLE_OK ? curl_multi_init() : NULL;
    CURLM *m         = h->multi;
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

/* ---- Addresses ------------------------------------------------------------------------------------------------------
 */

/* The parts of an address that decide who gets a request. */
struct origin {
    char *scheme, *host, *port;
};

static void origin_done(struct origin *o)
{
    curl_free(o->scheme);
    curl_free(o->host);
    curl_free(o->port);
}

static CURLUcode origin_of(CURLU *u, struct origin *ret)
{
    CURLUcode r = curl_url_get(u, CURLUPART_SCHEME, &ret->scheme, 0);
    if (r == CURLUE_OK && strcmp(ret->scheme, "https") != 0 && strcmp(ret->scheme, "http") != 0)
        return CURLUE_UNSUPPORTED_SCHEME;
    if (r == CURLUE_OK)
        r = curl_url_get(u, CURLUPART_HOST, &ret->host, 0);
    if (r == CURLUE_OK)
        r = curl_url_get(u, CURLUPART_PORT, &ret->port, CURLU_DEFAULT_PORT);
    return r;
}

/* `base` NULL: the address is whole. */
static int parse(const char *base, const char *url, CURLU **ret, struct origin *o, struct upp_err *err)
{
    CURLU    *u = curl_url();
    CURLUcode r = u ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    if (r == CURLUE_OK && base)
        r = curl_url_set(u, CURLUPART_URL, base, 0);
    if (r == CURLUE_OK)
        r = curl_url_set(u, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME);
    if (r == CURLUE_OK)
        r = origin_of(u, o);
    if (r == CURLUE_OK) {
        *ret = u;
        return 0;
    }
    curl_url_cleanup(u);
    if (r == CURLUE_UNSUPPORTED_SCHEME)
        return upp_fail(err, UPP_EINVALID, "an address begins with https:// or http://");
    return upp_fail(err, r == CURLUE_OUT_OF_MEMORY ? UPP_ENOMEM : UPP_EINVALID, "this is no address: %s",
                    curl_url_strerror(r));
}

static int name_host(struct upp_http_call *c, const struct origin *o, struct upp_err *err)
{
    size_t n    = strlen(o->host) + strlen(o->port) + 2;
    char  *text = wb_alloc(n);
    if (!text)
        return upp_fail(err, UPP_ENOMEM, "no memory for an address");
    (void)snprintf(text, n, "%s:%s", o->host, o->port);
    wb_free(c->host);
    c->host = text;
    return 0;
}

/* ---- One call: what it sends
 * ------------------------------------------------------------------------------------------ */

static void headers_free(struct curl_slist *list)
{
    for (struct curl_slist *s = list; s; s = s->next)
        explicit_bzero(s->data, strlen(s->data)); /* one of them may be a key */
    curl_slist_free_all(list);
}

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *more = curl_slist_append(*list, line);
    if (more)
        *list = more;
    return more != NULL;
}

static bool has_header(const struct upp_http_request *req, struct upp_str name)
{
    for (size_t i = 0; i < req->n_headers; i++)
        if (wb_str_eq_nocase(req->headers[i].name, name))
            return true;
    return false;
}

static int make_headers(struct upp_http_call *c, bool same_origin, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(1u << 20);
    struct curl_slist                    *list = NULL;
    bool                                  ok   = true;
    for (size_t i = 0; ok && i < c->req.n_headers; i++) {
        const struct upp_header *h = &c->req.headers[i];
        if (!same_origin && !upp__http_travels(h->name))
            continue;
        wb_buf_clear(&line);
        wb_buf_addf(&line, h->value.n ? "%.*s: %.*s" : "%.*s;", UPP_FMT(h->name), UPP_FMT(h->value));
        wb_buf_addc(&line, 0);
        ok = !line.failed && add_header(&list, line.p);
    }
    if (line.p)
        explicit_bzero(line.p, line.cap);
    /* Ours are named here only to take away what libcurl adds by itself. */
    if (ok && !has_header(&c->req, UPP_STR("expect")))
        ok = add_header(&list, "Expect:");
    if (ok && !has_header(&c->req, UPP_STR("content-type")))
        ok = add_header(&list, "Content-Type:");
    if (ok)
        ok = curl_easy_setopt(c->easy, CURLOPT_HTTPHEADER, list) == CURLE_OK;
    if (!ok) {
        headers_free(list);
        return upp_fail(err, UPP_ENOMEM, "no memory for headers, or one of them is longer than 1 MiB");
    }
    headers_free(c->headers);
    c->headers = list;
    return 0;
}

static const struct {
    CURLoption what;
    long       value;
} numbers[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_NOPROGRESS, 1},
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_SSL_VERIFYPEER, 1},
    {CURLOPT_SSL_VERIFYHOST, 2},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_PROXY_SSL_VERIFYPEER, 1},
    {CURLOPT_PROXY_SSL_VERIFYHOST, 2},
    {CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS},
    {CURLOPT_SSL_SESSIONID_CACHE, 0}, /* 7.88 frees a name twice when it has no memory to keep a session */
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
    {CURLOPT_HEADEROPT, CURLHEADER_SEPARATE}, /* a proxy that only tunnels gets none of our headers */
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
    {CURLOPT_BUFFERSIZE, READ_BYTES},
    {CURLOPT_UPLOAD_BUFFERSIZE, 16 << 10},
};

/* The first failure stays. */
#define SET(option, value)                                                                                             \
    do {                                                                                                               \
        if (r == CURLE_OK)                                                                                             \
            r = curl_easy_setopt(c->easy, (option), (value));                                                          \
    } while (0)

static CURLcode set_fixed(struct upp_http_call *c)
{
    const struct upp_http *h = c->http;
    CURLcode               r = CURLE_OK;
    for (size_t i = 0; i < WB_LEN(numbers); i++)
        SET(numbers[i].what, numbers[i].value);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=2");
    SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    SET(CURLOPT_USERAGENT, "libupp/" UPP_VERSION);
    SET(CURLOPT_ERRORBUFFER, c->text);
    SET(CURLOPT_PRIVATE, c);
    SET(CURLOPT_HEADERFUNCTION, on_header);
    SET(CURLOPT_HEADERDATA, c);
    SET(CURLOPT_WRITEFUNCTION, on_body);
    SET(CURLOPT_WRITEDATA, c);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
    if (h->ca_file) { /* and no others than these */
        SET(CURLOPT_CAINFO, h->ca_file);
        SET(CURLOPT_CAPATH, NULL);
        SET(CURLOPT_PROXY_CAINFO, h->ca_file);
        SET(CURLOPT_PROXY_CAPATH, NULL);
    }
    if (h->proxy)
        SET(CURLOPT_PROXY, h->proxy);
    return r;
}

/* "127.0.0.1:80", "[::1]:80" */
static bool is_number(const char *host)
{
    return host[0] == '[' || strspn(host, "0123456789.") == strcspn(host, ":");
}

static CURLcode set_request(struct upp_http_call *c, const char *url, const char *method)
{
    const struct upp_http_request *q = &c->req;
    CURLcode                       r = CURLE_OK;
    SET(CURLOPT_URL, url);
    /* Streams that begin at the same time share one connection where TLS's handshake says that it can be shared;
     * without TLS nothing would say so, and each would wait for the one before it. */
    SET(CURLOPT_PIPEWAIT, strncmp(url, "https:", 6) == 0 ? 1L : 0L);
    /* Closing a call does not wait for the thread that looks up its name, which may take long; one that has only an
     * address to look at is waited for, so that none is left behind without need. */
    SET(CURLOPT_QUICK_EXIT, is_number(c->host) ? 0L : 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)WB_MIN(q->head_ms, (uint64_t)INT32_MAX));
    if (q->body.p || strcmp(method, "POST") == 0) {
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->body.n);
        SET(CURLOPT_POSTFIELDS, q->body.n ? q->body.p : "");
    } else if (strcmp(method, "HEAD") == 0)
        SET(CURLOPT_NOBODY, 1L);
    else
        SET(CURLOPT_HTTPGET, 1L);
    if (strcmp(method, q->body.p ? "POST" : "GET") != 0 && strcmp(method, "POST") != 0 && strcmp(method, "HEAD") != 0)
        SET(CURLOPT_CUSTOMREQUEST, method);
    return r;
}

/* Adds it to those that libcurl works on, and lets it begin at once: the leader may be asleep. */
static int begin(struct upp_http_call *c, struct upp_err *err)
{
    CURLMcode r = c->http->spent ? CURLM_OUT_OF_MEMORY : curl_multi_add_handle(c->http->multi, c->easy);
    if (r != CURLM_OK)
        return upp_fail(err, r == CURLM_OUT_OF_MEMORY ? UPP_ENOMEM : UPP_EBUG, "%s: libcurl: %s", c->host,
                        curl_multi_strerror(r));
    c->added = true;
    drive_timers(c->http);
    settle(c->http);
    return 0;
}

static int prepare(struct upp_http_call *c, const char *url, const char *method, struct upp_err *err)
{
    CURLU        *u = NULL;
    struct origin o = {0};
    c->easy         = curl_easy_init();
    if (!c->easy)
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    int r = parse(NULL, url, &u, &o, err);
    curl_url_cleanup(u);
    if (r >= 0)
        r = name_host(c, &o, err);
    origin_done(&o);
    if (r >= 0)
        r = make_headers(c, true, err);
    if (r < 0)
        return r;
    CURLcode bad = set_fixed(c);
    if (bad == CURLE_OK)
        bad = set_request(c, url, method);
    if (bad != CURLE_OK)
        return upp_fail(err, bad == CURLE_OUT_OF_MEMORY ? UPP_ENOMEM : UPP_EBUG, "libcurl: %s",
                        curl_easy_strerror(bad));
    return 0;
}

static char *terminated(struct upp_str s)
{
    char *p = wb_alloc(s.n + 1);
    if (p) {
        memcpy(p, s.p, s.n);
        p[s.n] = 0;
    }
    return p;
}

static struct upp_http_request with_defaults(const struct upp_http_request *req)
{
    struct upp_http_request q = *req;
    q.head_ms                 = q.head_ms ? q.head_ms : 120000;
    q.idle_ms                 = q.idle_ms ? q.idle_ms : 60000;
    q.max_bytes               = q.max_bytes ? q.max_bytes : (size_t)64 << 20;
    if (!q.method.n)
        q.method = q.body.p ? UPP_STR("POST") : UPP_STR("GET");
    return q;
}

int upp_http_send(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *wait,
                  struct upp_http_call **ret, struct upp_err *err)
{
    int r = upp__http_check(req, err);
    if (r >= 0)
        r = upp_wait_stopped(wait, err);
    if (r >= 0)
        r = open_multi(h, err);
    if (r < 0)
        return r;
    struct upp_http_call *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    c->http        = h;
    c->waiter.wait = wait;
    c->req         = with_defaults(req);
    c->get         = wb_str_eq(c->req.method, UPP_STR("GET")) && !c->req.body.p;
    c->began       = wb_mono_ms();
    c->total_at    = c->req.total_ms ? c->began + c->req.total_ms : UPP_FOREVER;
    c->in.max = c->lent.max = c->req.max_bytes;
    upp__head_init(&c->head);
    wb_list_push(&h->calls, &c->link);

    char *url = terminated(req->url), *method = terminated(c->req.method);
    r = url && method ? prepare(c, url, method, err) : upp_fail(err, UPP_ENOMEM, "no memory for a call");
    wb_free(url);
    wb_free(method);
    if (r >= 0)
        r = begin(c, err);
    if (r < 0) {
        upp_http_call_close(c);
        return r;
    }
    *ret = c;
    return 0;
}

/* ---- One call: what comes back
 * ------------------------------------------------------------------------------------------ */

static int fail_again(const struct upp_http_call *c, struct upp_err *err)
{
    if (err)
        *err = c->err;
    return c->failed;
}

static enum upp_code code_of(CURLcode r)
{
    switch (r) {
    case CURLE_OUT_OF_MEMORY:
        return UPP_ENOMEM;
    case CURLE_OPERATION_TIMEDOUT:
        return UPP_ETIMEOUT;
    case CURLE_SSL_CACERT_BADFILE: /* a mistake in the settings, not in the network */
        return UPP_EINVALID;
    case CURLE_UNSUPPORTED_PROTOCOL: /* what came is no HTTP; the address was looked at before */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return UPP_EPROTO;
    default:
        return UPP_ENET;
    }
}

/* libcurl's verdict as ours. */
static int fail_result(struct upp_http_call *c, struct upp_err *err)
{
    const char *text = c->text[0] ? c->text : curl_easy_strerror(c->result);
    upp__http_cause(&c->err, text);
    char cause[sizeof c->err.cause];
    memcpy(cause, c->err.cause, sizeof cause);
    c->failed = upp_fail(&c->err, code_of(c->result), "%s: %s", c->host, cause);
    memcpy(c->err.cause, cause, sizeof cause);
    return fail_again(c, err);
}

static int fail_time(struct upp_http_call *c, const char *what, uint64_t ms, struct upp_err *err)
{
    c->failed =
        upp_fail(&c->err, UPP_ETIMEOUT, "request timed out after %llums: %s %s", (unsigned long long)ms, what, c->host);
    return fail_again(c, err);
}

/* Waits for anything new: 0, look again. */
static int wait_more(struct upp_http_call *c, uint64_t at, const char *what, uint64_t ms, struct upp_err *err)
{
    uint64_t until = WB_MIN(at, c->total_at);
    int      r     = upp__crowd_wait(&c->http->crowd, &c->waiter, c->http->epoll, until, err);
    if (r != 0)
        return r < 0 ? r : 0;
    return c->total_at < at ? fail_time(c, "the whole call to", c->req.total_ms, err) : fail_time(c, what, ms, err);
}

/* Every call is a place where cancel and the time for the whole call are seen, also when there is something to give. */
static int look(struct upp_http_call *c, struct upp_err *err)
{
    int r = upp_wait_stopped(c->waiter.wait, err);
    if (r < 0)
        return r;
    if (c->total_at != UPP_FOREVER && wb_mono_ms() >= c->total_at && !c->failed)
        return fail_time(c, "the whole call to", c->req.total_ms, err);
    return 0;
}

static int refuse_move(struct upp_http_call *c, const char *why, const struct origin *to, struct upp_err *err)
{
    int status  = c->head.status;
    c->failed   = upp_fail(&c->err, UPP_EPROVIDER, "%s answers %d and points to %s:%s: %s", c->host, status,
                         to->host ? to->host : "nowhere", to->port ? to->port : "0", why);
    c->err.http = status;
    return fail_again(c, err);
}

static bool same_origin(const struct origin *a, const struct origin *b)
{
    return strcmp(a->scheme, b->scheme) == 0 && wb_str_eq_nocase(wb_cstr(a->host), wb_cstr(b->host)) &&
           strcmp(a->port, b->port) == 0;
}

/* Takes the call to another address. */
static int go(struct upp_http_call *c, CURLU *to, bool same, const struct origin *o, struct upp_err *err)
{
    char *url = NULL;
    (void)curl_multi_remove_handle(c->http->multi, c->easy);
    c->added = false;
    int r    = make_headers(c, same, err);
    if (r >= 0)
        r = name_host(c, o, err);
    if (r >= 0 && (curl_url_get(to, CURLUPART_URL, &url, 0) != CURLUE_OK ||
                   curl_easy_setopt(c->easy, CURLOPT_URL, url) != CURLE_OK))
        r = upp_fail(err, UPP_ENOMEM, "no memory for an address");
    curl_free(url);
    if (r < 0)
        return r;
    upp__head_done(&c->head);
    upp__head_init(&c->head);
    wb_buf_clear(&c->in);
    c->moved = c->done = c->coded = c->paused = false;
    c->got                                    = 0;
    c->text[0]                                = 0;
    return begin(c, err);
}

static int follow(struct upp_http_call *c, struct upp_err *err)
{
    const char   *from = NULL;
    CURLU        *was = NULL, *to = NULL;
    struct origin old = {0}, new = {0};
    int           r = upp_fail(err, UPP_ENOMEM, "no memory for an address");
    if (curl_easy_getinfo(c->easy, CURLINFO_EFFECTIVE_URL, &from) == CURLE_OK && from)
        r = parse(NULL, from, &was, &old, err);
    if (r >= 0)
        r = parse(from, upp__head_get(&c->head, UPP_STR("location")).p, &to, &new, err);
    if (r == -UPP_EINVALID)
        r = refuse_move(c, "that is no address of the web", &new, err);
    else if (r >= 0 && !c->get)
        r = refuse_move(c, "only a GET is sent elsewhere", &new, err);
    else if (r >= 0 && ++c->hops > HOPS)
        r = refuse_move(c, "there were too many before it", &new, err);
    else if (r >= 0 && strcmp(old.scheme, "https") == 0 && strcmp(new.scheme, "https") != 0)
        r = refuse_move(c, "that is not encrypted", &new, err);
    else if (r >= 0)
        r = go(c, to, same_origin(&old, &new), &new, err);
    curl_url_cleanup(was);
    curl_url_cleanup(to);
    origin_done(&old);
    origin_done(&new);
    if (r < 0 && !c->failed) {
        c->failed = r;
        if (err)
            c->err = *err;
    }
    return r;
}

int upp_http_call_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    for (;;) {
        int r = look(c, err);
        if (r < 0)
            return r;
        if (c->head.whole && !c->moved) {
            *ret = (struct upp_http_head){c->head.status, c->head.headers, c->head.n};
            return 0;
        }
        if (c->moved && !c->failed) {
            r = follow(c, err);
            if (r < 0)
                return r;
            continue;
        }
        if (c->failed)
            return fail_again(c, err);
        if (c->done)
            return fail_result(c, err);
        r = wait_more(c, c->began + c->req.head_ms, "no answer from", c->req.head_ms, err);
        if (r < 0)
            return r;
    }
}

static void empty(struct wb_buf *b)
{
    if (b->cap > KEEP_BYTES)
        wb_buf_done(b);
    wb_buf_clear(b);
}

/* What has come is the reader's; libcurl may go on. */
static void lend(struct upp_http_call *c, struct upp_str *ret)
{
    struct wb_buf full = c->in;
    c->in              = c->lent;
    c->lent            = full;
    *ret               = wb_buf_str(&c->lent);
    if (!c->paused || c->http->spent)
        return;
    c->paused      = false;
    CURLcode moved = curl_easy_pause(c->easy, CURLPAUSE_CONT); /* may call on_body */
    if (moved != CURLE_OK && !c->failed) {
        c->done   = true;
        c->result = moved;
    }
    settle(c->http);
}

int upp_http_call_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    struct upp_http_head head;
    int                  r = upp_http_call_head(c, &head, err);
    if (r < 0)
        return r;
    empty(&c->lent);
    for (;;) {
        if (c->in.n) {
            lend(c, ret);
            return 1;
        }
        if (c->failed)
            return fail_again(c, err);
        if (c->done)
            return c->result == CURLE_OK ? 0 : fail_result(c, err);
        r = wait_more(c, wb_mono_ms() + c->req.idle_ms, "nothing more from", c->req.idle_ms, err);
        if (r < 0)
            return r;
    }
}

enum { DRAIN_MS = 50 };

void upp_http_call_drain(struct upp_http_call *c)
{
    struct upp_str rest;
    uint64_t       until = wb_mono_ms() + DRAIN_MS;
    c->total_at          = WB_MIN(c->total_at, until);
    c->req.idle_ms       = DRAIN_MS;
    while (upp_http_call_read(c, &rest, NULL) > 0 && wb_mono_ms() < until)
        ; /* a failure is of no interest either: the answer was whole before it */
}

void upp_http_call_close(struct upp_http_call *c)
{
    if (!c)
        return;
    if (c->added)
        (void)curl_multi_remove_handle(c->http->multi, c->easy);
    wb_unlink(&c->link);
    wb_unlink(&c->news);
    if (c->easy)
        curl_easy_cleanup(c->easy);
    headers_free(c->headers);
    upp__head_done(&c->head);
    wb_buf_done(&c->in);
    wb_buf_done(&c->lent);
    wb_free(c->host);
    wb_free(c);
}
