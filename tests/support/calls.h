/* support/calls.h — whole HTTP calls, for tests. */
#pragma once

#include <upp/http.h>

#include "base/buf.h"

struct called {
    int status;
    struct wb_buf body;
    char type[64]; /* content-type */
};

static inline void called_done(struct called *c)
{
    wb_buf_done(&c->body);
}

static inline void http_freep(struct upp_http **h)
{
    upp_http_free(*h);
}

static inline void call_closep(struct upp_http_call **c)
{
    upp_http_call_close(*c);
}

#define CALLED(name) __attribute__((cleanup(called_done))) struct called name = {.body = WB_BUF(64u << 20)}
#define HTTP(name)   __attribute__((cleanup(http_freep))) struct upp_http *name = NULL

/* Sends, reads all, closes. What came before a failure is in *ret too. */
static inline int call_http(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *w,
                            struct called *ret, struct upp_err *err)
{
    __attribute__((cleanup(call_closep))) struct upp_http_call *c = NULL;
    struct upp_http_head head = {0};
    struct upp_str more;
    int r = upp_http_send(h, req, w, &c, err);
    if (r >= 0)
        r = upp_http_call_head(c, &head, err);
    if (r < 0)
        return r;
    struct upp_str type = upp_http_header(&head, UPP_STR("content-type"));
    ret->status = head.status;
    for (size_t i = 0; i < type.n && i + 1 < sizeof ret->type; i++)
        ret->type[i] = type.p[i];
    while ((r = upp_http_call_read(c, &more, err)) > 0)
        wb_buf_add(&ret->body, more);
    return r < 0 ? r : wb_buf_check(&ret->body, err);
}

static inline int call_url(struct upp_http *h, const char *url, const struct upp_wait *w, struct called *ret,
                           struct upp_err *err)
{
    return call_http(h, &(struct upp_http_request){.url = wb_cstr(url)}, w, ret, err);
}
