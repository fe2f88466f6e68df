/* upp/http/curl_send.c — what a call sends: its headers, libcurl's options, its beginning. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "upp/http/curl.h"
#include "upp/http/curl_call.h"

/* ---- Headers ------------------------------------------------------------------------------------------------- */

void upp__curl_headers_free(struct curl_slist *list)
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

/* "name: value"; that of an empty one is "name;" with libcurl. It may be a key, so that the line never grows: a block
 * that grows may leave a copy of what was in it behind. */
static bool write_line(struct wb_buf *line, const struct upp_header *h)
{
    wb_buf_clear(line);
    wb_buf_add(line, h->name);
    wb_buf_add(line, h->value.n ? UPP_STR(": ") : UPP_STR(";"));
    wb_buf_add(line, h->value);
    wb_buf_addc(line, 0);
    return !line->failed;
}

static size_t longest_line(const struct upp_http_request *req)
{
    size_t n = 0;
    for (size_t i = 0; i < req->n_headers; i++)
        n = WB_MAX(n, req->headers[i].name.n + req->headers[i].value.n + sizeof ": ");
    return n;
}

static int make_headers(struct upp_http_call *c, bool same_origin, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf line = WB_BUF(1u << 20);
    struct curl_slist *list = NULL;
    bool ok = wb_buf_reserve(&line, longest_line(&c->req));
    for (size_t i = 0; ok && i < c->req.n_headers; i++) {
        const struct upp_header *h = &c->req.headers[i];
        if (!same_origin && !upp__http_travels(h->name))
            continue;
        ok = write_line(&line, h) && add_header(&list, line.p);
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
        upp__curl_headers_free(list);
        return upp_fail(err, UPP_ENOMEM, "no memory for headers, or one of them is longer than 1 MiB");
    }
    upp__curl_headers_free(c->headers);
    c->headers = list;
    return 0;
}

/* ---- Options ------------------------------------------------------------------------------------------------- */

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

static const struct {
    CURLoption what;
    long value;
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
    {CURLOPT_BUFFERSIZE, UPP__CURL_READ},
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
    CURLcode r = CURLE_OK;
    for (size_t i = 0; i < WB_LEN(numbers); i++)
        SET(numbers[i].what, numbers[i].value);
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=2");
    SET(CURLOPT_ACCEPT_ENCODING, "gzip, deflate");
    SET(CURLOPT_USERAGENT, "libupp/" UPP_VERSION);
    SET(CURLOPT_ERRORBUFFER, c->text);
    SET(CURLOPT_PRIVATE, c);
    SET(CURLOPT_HEADERFUNCTION, upp__curl_on_header);
    SET(CURLOPT_HEADERDATA, c);
    SET(CURLOPT_WRITEFUNCTION, upp__curl_on_body);
    SET(CURLOPT_WRITEDATA, c);
    SET(CURLOPT_OPENSOCKETFUNCTION, on_open);
    if (c->local_path) {
        bool abstract = c->local_path[0] == '@';
        SET(abstract ? CURLOPT_ABSTRACT_UNIX_SOCKET : CURLOPT_UNIX_SOCKET_PATH, c->local_path + abstract);
        SET(CURLOPT_FORBID_REUSE, abstract ? 1L : 0L);
    }
    if (h->ca_file) { /* and no others than these */
        SET(CURLOPT_CAINFO, h->ca_file);
        SET(CURLOPT_CAPATH, NULL);
        SET(CURLOPT_PROXY_CAINFO, h->ca_file);
        SET(CURLOPT_PROXY_CAPATH, NULL);
    }
    if (h->proxy || c->local_path)
        SET(CURLOPT_PROXY, c->local_path ? "" : h->proxy);
    return r;
}

/* "127.0.0.1:80", "[::1]:80" */
static bool is_number(const char *host)
{
    return host[0] == '[' || strspn(host, "0123456789.") == strcspn(host, ":");
}

static CURLcode set_address(struct upp_http_call *c, const char *url)
{
    CURLcode r = CURLE_OK;
    SET(CURLOPT_URL, url);
    /* Streams that begin at the same time share one connection where TLS's handshake says that it can be shared;
     * without TLS nothing would say so, and each would wait for the one before it. */
    SET(CURLOPT_PIPEWAIT, strncmp(url, "https:", 6) == 0 ? 1L : 0L);
    /* Closing a call does not wait for the thread that looks up its name, which may take long; one that has only an
     * address to look at is waited for, so that none is left behind without need. */
    SET(CURLOPT_QUICK_EXIT, is_number(c->host) ? 0L : 1L);
    return r;
}

static CURLcode set_request(struct upp_http_call *c, const char *method)
{
    const struct upp_http_request *q = &c->req;
    CURLcode r = CURLE_OK;
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

/* ---- The call ------------------------------------------------------------------------------------------------ */

static int name_host(struct upp_http_call *c, const struct upp__origin *o, struct upp_err *err)
{
    size_t n = strlen(o->host) + strlen(o->port) + 2;
    char *text = wb_alloc(n);
    if (!text)
        return upp_fail(err, UPP_ENOMEM, "no memory for an address");
    (void)snprintf(text, n, "%s:%s", o->host, o->port);
    wb_free(c->host);
    c->host = text;
    return 0;
}

static int refused(CURLcode bad, struct upp_err *err)
{
    return upp_fail(err, bad == CURLE_OUT_OF_MEMORY ? UPP_ENOMEM : UPP_EBUG, "libcurl: %s", curl_easy_strerror(bad));
}

int upp__curl_aim(struct upp_http_call *c, const char *url, const struct upp__origin *o, bool same_origin,
                  struct upp_err *err)
{
    int r = name_host(c, o, err);
    if (r >= 0)
        r = make_headers(c, same_origin, err);
    if (r < 0)
        return r;
    CURLcode bad = set_address(c, url);
    return bad == CURLE_OK ? 0 : refused(bad, err);
}

int upp__curl_begin(struct upp_http_call *c, struct upp_err *err)
{
    CURLMcode r = c->http->spent ? CURLM_OUT_OF_MEMORY : curl_multi_add_handle(c->http->multi, c->easy);
    if (r != CURLM_OK)
        return upp_fail(err, r == CURLM_OUT_OF_MEMORY ? UPP_ENOMEM : UPP_EBUG, "%s: libcurl: %s", c->host,
                        curl_multi_strerror(r));
    c->added = true;
    upp__curl_timers(c->http);
    upp__curl_dispatch(c->http);
    return 0;
}

static int prepare(struct upp_http_call *c, const char *url, const char *method, struct upp_err *err)
{
    CURLU *u = NULL;
    struct upp__origin o = {0};
    c->easy = curl_easy_init();
    if (!c->easy)
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    int r = upp__address(NULL, url, &u, &o, err);
    curl_url_cleanup(u);
    if (r >= 0)
        r = upp__curl_aim(c, url, &o, true, err);
    upp__origin_done(&o);
    if (r < 0)
        return r;
    CURLcode bad = set_fixed(c);
    if (bad == CURLE_OK)
        bad = set_request(c, method);
    return bad == CURLE_OK ? 0 : refused(bad, err);
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
    q.head_ms = q.head_ms ? q.head_ms : 120000;
    q.idle_ms = q.idle_ms ? q.idle_ms : 60000;
    q.max_bytes = q.max_bytes ? q.max_bytes : (size_t)64 << 20;
    if (!q.method.n)
        q.method = q.body.p ? UPP_STR("POST") : UPP_STR("GET");
    return q;
}

int upp_http_send(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *wait,
                  struct upp_http_call **ret, struct upp_err *err)
{
    return upp__http_send_unix(h, NULL, req, wait, ret, err);
}

int upp__http_send_unix(struct upp_http *h, const char *path, const struct upp_http_request *req,
                        const struct upp_wait *wait, struct upp_http_call **ret, struct upp_err *err)
{
    int r = upp__http_check(req, err);
    if (r >= 0)
        r = upp_wait_stopped(wait, err);
    if (r >= 0)
        r = upp__curl_ready(h, err);
    if (r < 0)
        return r;
    struct upp_http_call *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a call");
    c->http = h;
    c->local_path = path;
    c->waiter.wait = wait;
    c->req = with_defaults(req);
    c->get = wb_str_eq(c->req.method, UPP_STR("GET")) && !c->req.body.p;
    c->began = wb_mono_ms();
    c->total_at = c->req.total_ms ? upp__curl_after(c->began, c->req.total_ms) : UPP_FOREVER;
    c->in.max = c->lent.max = c->req.max_bytes;
    upp__head_init(&c->head);
    wb_list_push(&h->calls, &c->link);

    char *url = terminated(req->url), *method = terminated(c->req.method);
    r = url && method ? prepare(c, url, method, err) : upp_fail(err, UPP_ENOMEM, "no memory for a call");
    wb_free(url);
    wb_free(method);
    if (r >= 0)
        r = upp__curl_begin(c, err);
    if (r < 0) {
        upp_http_call_close(c);
        return r;
    }
    *ret = c;
    return 0;
}
