/* upp/http.h — outgoing HTTP: the interface that libupp uses, which a program may implement itself.
 *
 * One call is: send, head, read until it returns 0, close. Waits go through the caller's struct upp_wait.
 */
#pragma once

#include <upp/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_header {
    struct upp_str name, value;
};

/* Everything is borrowed until close. */
struct upp_http_request {
    struct upp_str method; /* empty: POST if body is not NULL, else GET */
    struct upp_str url;
    const struct upp_header *headers; /* values may be secrets: they are never logged and never sent to another host */
    size_t n_headers;
    struct upp_str body;
    uint64_t head_ms;  /* limit until the response head arrives. 0: 120000 */
    uint64_t idle_ms;  /* limit between two pieces of the body. 0: 60000 */
    uint64_t total_ms; /* limit of the whole call. 0: none */
    size_t max_bytes;  /* limit of the body, after decompression. 0: 64 MiB */
};

struct upp_http_head {
    int status;
    const struct upp_header *headers; /* of the last response (after redirects); names in lower case */
    size_t n_headers;
};

struct upp_http_call;

struct upp_transport {
    uint32_t size;
    void *arg;
    int (*send)(void *arg, const struct upp_http_request *req, const struct upp_wait *wait, struct upp_http_call **ret,
                struct upp_err *err);
    int (*head)(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err); /* waits for it; returns 0 */

    /* Waits for more of the body. 1: *ret is borrowed until the next call. 0: end of the body. <0: network error,
     * timeout, cancelled, or too long; bytes that arrived before it are returned first. A body that ends before its
     * Content-Length or its last chunk is -UPP_ENET; one that has neither ends when the connection closes. */
    int (*read)(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err);
    void (*close)(struct upp_http_call *c); /* never waits; abandons a call that is not complete */

    /* The caller needs no more of the body: waits up to 50 ms for its end, so that the connection can be reused.
     * NULL: nothing to do. */
    void (*drain)(struct upp_http_call *c);
};

/* Returns the value of a header, by its name in lower case; NULL if it is absent. */
UPP_API struct upp_str upp_http_header(const struct upp_http_head *h, struct upp_str name);

/* The built-in transport: libcurl. */

/* A cache of connections. Belongs to one thread at a time; a loop has one (struct upp_wait.http). After a fork only the
 * parent may use it. Opens nothing before the first call. docs/outgoing-http.md describes waiting, limits, TLS and
 * proxies. */
struct upp_http_opts {
    uint32_t size;
    const char *ca_file;      /* PEM; NULL: SSL_CERT_FILE, else the system's */
    const char *proxy;        /* NULL: the variables https_proxy, http_proxy, all_proxy, no_proxy; "": no proxy */
    unsigned max_connections; /* in the cache; 0: 1024 */
};

UPP_API int upp_http_new(const struct upp_http_opts *opts, struct upp_http **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_http_free(struct upp_http *h); /* accepts NULL; no call on it may be open */

/* The functions of a transport, for h. `wait` (NULL: the thread blocks) is borrowed until close. Either all wait tables
 * used with one h have `park`, or only one caller is in a call at a time. A redirect is followed for GET only, and
 * without credentials; of another method it is -UPP_EPROVIDER. read may be called without head. close accepts NULL. */
UPP_API int upp_http_send(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *wait,
                          struct upp_http_call **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_http_call_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int upp_http_call_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_http_call_close(struct upp_http_call *c);
UPP_API void upp_http_call_drain(struct upp_http_call *c);

#ifdef __cplusplus
}
#endif
