/* upp/later.c — stands for parts of the provider layer that are being built; each goes when its part comes. */
#include <upp/http.h>

#include "base/str.h"

#define LATER(fn)                                                                                                      \
    {                                                                                                                  \
        return upp_fail(err, UPP_EBUG, #fn " is not built yet");                                                       \
    }

int upp_http_new(const struct upp_http_opts *opts, struct upp_http **ret, struct upp_err *err)
{
    (void)opts, (void)ret;
    LATER(upp_http_new)
}

void upp_http_free(struct upp_http *h)
{
    (void)h;
}

int upp_http_send(struct upp_http *h, const struct upp_http_request *req, const struct upp_wait *wait,
                  struct upp_http_call **ret, struct upp_err *err)
{
    (void)h, (void)req, (void)wait, (void)ret;
    LATER(upp_http_send)
}

int upp_http_call_head(struct upp_http_call *c, struct upp_http_head *ret, struct upp_err *err)
{
    (void)c, (void)ret;
    LATER(upp_http_call_head)
}

int upp_http_call_read(struct upp_http_call *c, struct upp_str *ret, struct upp_err *err)
{
    (void)c, (void)ret;
    LATER(upp_http_call_read)
}

void upp_http_call_close(struct upp_http_call *c)
{
    (void)c;
}

void upp_http_call_drain(struct upp_http_call *c)
{
    (void)c;
}

struct upp_str upp_http_header(const struct upp_http_head *h, struct upp_str name)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (wb_str_eq(h->headers[i].name, name))
            return h->headers[i].value;
    return (struct upp_str){0};
}
