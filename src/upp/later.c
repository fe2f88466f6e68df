/* upp/later.c — stands for parts of the provider layer that are being built; each goes when its part comes. */
#include "upp/keys.h"
#include "base/str.h"
#include "upp/trouble.h"

#define LATER(fn)                                                                                                      \
    {                                                                                                                  \
        return upp_fail(err, UPP_EBUG, #fn " is not built yet");                                                       \
    }

int upp__trouble_fail(const struct upp__trouble *t, struct upp_str key, struct upp_err *err)
{
    (void)key;
    if (err)
        err->http = t->status, err->retry_after_ms = t->retry_ms;
    return upp_fail(err, UPP_EPROVIDER, "%.*s", UPP_FMT(t->message));
}

uint64_t upp__retry_after(const struct upp_http_head *h, int64_t now_ms, uint64_t max_ms)
{
    (void)h, (void)now_ms, (void)max_ms;
    return 0;
}

int upp__keys_new(const char *api_key, const struct upp_keys *keys, const char *env, bool optional,
                  struct upp__keys **ret, struct upp_err *err)
{
    (void)keys, (void)env, (void)optional, (void)err;
    union {
        const char       *from;
        struct upp__keys *to;
    } it = {.from = api_key};
    *ret = it.to;
    return 0;
}

void upp__keys_free(struct upp__keys *k)
{
    (void)k;
}

int upp__keys_take(struct upp__keys *k, const struct upp_wait *wait, struct upp__key *ret, struct upp_err *err)
{
    (void)k, (void)wait, (void)err;
    *ret = (struct upp__key){.text = UPP_STR("KEY")};
    return 0;
}

void upp__key_done(struct upp__key *key)
{
    (void)key;
}

int upp_retry_new(const struct upp_retry_opts *opts, struct upp_retry **ret, struct upp_err *err)
{
    (void)opts, (void)ret;
    LATER(upp_retry_new)
}

void upp_retry_free(struct upp_retry *r)
{
    (void)r;
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

bool upp__duration_ms(struct upp_str s, uint64_t *ret)
{
    (void)s, (void)ret;
    return false;
}
