/* upp/http.h — outgoing HTTP, as libupp uses it and as a program may replace it.
 *
 * One call is: send, head, read until it gives 0, close. Waits go through the caller's struct upp_wait.
 */
#ifndef UPP_HTTP_H
#define UPP_HTTP_H

#include <upp/wait.h>

#ifdef __cplusplus
extern "C" {
#endif

struct upp_header {
    struct upp_str name, value;
};

/* Everything is borrowed until close. */
struct upp_http_request {
    struct upp_str method; /* no text: POST where there is a body, else GET */
    struct upp_str url;
    const struct upp_header
                  *headers; /* a value may be a secret: it is never logged, and never leaves for another host */
    size_t         n_headers;
    struct upp_str body;
    uint64_t       head_ms;   /* until the head of the answer is there. 0: 120000 */
    uint64_t       idle_ms;   /* between two pieces of the body. 0: 60000 */
    uint64_t       total_ms;  /* the whole call. 0: no limit */
    size_t         max_bytes; /* of the body, after decompression. 0: 64 MiB */
};

struct upp_http_head {
    int                      status;
    const struct upp_header *headers; /* names in lower case; those that the last answer brought (after redirects) */
    size_t                   n_headers;
};

struct upp_http_call;

struct upp_transport {
    uint32_t size;
    void    *arg;
    int (*send)(void *arg, const struct upp_http_request *req, const struct upp_wait *wait, struct upp_http_call **ret,
                struct upp_err *err);
    int (*head)(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err); /* waits for it; 0 */

    /* Waits for more of the body: 1, *ret is borrowed until the next call; 0: it was all. <0: the network failed, time
     * ran out, it was cancelled, or it is too long; what came before is given out first. A body that ends before its
     * length or its last chunk is -UPP_ENET; one that has neither ends when the connection does. */
    int (*read)(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err);
    void (*close)(struct upp_http_call *c); /* never waits; in the middle it abandons the call */

    /* Nothing more of the body is wanted: gives it 50 ms to end by itself, so that the connection can be used again.
     * NULL: nothing to do. */
    void (*drain)(struct upp_http_call *c);
};

/* The value of a header by its name in lower case; no text where there is none. */
UPP_API struct upp_str upp_http_header(const struct upp_http_head *h, struct upp_str name);

/* ---- libcurl: the transport that is built in ----------------------------------------------------------------------
 */

/* Connections, kept between calls. Belongs to one thread at a time: a loop has one (struct upp_wait.http). After a fork
 * it is the parent's alone. Nothing is opened before the first call. How it waits, limits, TLS, proxies:
 * docs/outgoing-http.md. */
struct upp_http_opts {
    uint32_t    size;
    const char *ca_file;         /* PEM; NULL: SSL_CERT_FILE / the system's */
    const char *proxy;           /* NULL: as the variables https_proxy, http_proxy, no_proxy say; "": none */
    unsigned    max_connections; /* kept; 0: 1024 */
};

UPP_API int  upp_http_new(const struct upp_http_opts *opts, struct upp_http **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_http_free(struct upp_http *h); /* NULL is fine; no call of it is open */

/* Begins a call on these connections. The four functions of a transport, for h. `wait` (NULL: the thread blocks) is
 * borrowed until close; those of one h either all park, or one is in a call at a time. A redirect is followed for GET
 * alone, and without credentials; for others it is -UPP_EPROVIDER. read may come without head. close takes NULL. */
UPP_API int  upp_http_send(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *wait,
                           struct upp_http_call **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int  upp_http_call_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int  upp_http_call_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void upp_http_call_close(struct upp_http_call *c);
UPP_API void upp_http_call_drain(struct upp_http_call *c);

#ifdef __cplusplus
}
#endif
#endif
