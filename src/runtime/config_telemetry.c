/* runtime/config_telemetry.c — the sections `telemetry` and `webhooks`. */
#include <string.h>

#include "base/defs.h"
#include "runtime/config_read.h"
#include "base/base64.h"
#include "base/buf.h"
#include "base/err.h"

enum { MOST_HEADERS = 16, NAME_MAX_BYTES = 128, VALUE_MAX = 8192 };

static void read_otlp(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_telemetry *t = into;
    struct upp_str url;
    if (!wc_url(r, n, "the url of a collector", &url))
        return;
    if (wb_str_ends(url, UPP_STR("/v1/traces")))
        wc_mistake(r, n, "the url of a collector is that of all signals, without /v1/traces");
    else if (memchr(url.p, '?', url.n) || memchr(url.p, '#', url.n))
        wc_mistake(r, n, "the url of a collector has no query: /v1/traces is appended to it");
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    t->otlp = url;
}

static bool is_token(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              (c && strchr("!#$%&'*+-.^_`|~", c))))
            return false;
    }
    return s.n && s.n <= NAME_MAX_BYTES;
}

static bool is_value(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    return s.n <= VALUE_MAX;
}

/* Those that say how the body is sent. */
static bool is_ours(struct upp_str name)
{
    static const struct upp_str names[] = {UPP_STR_INIT("content-type"),      UPP_STR_INIT("content-length"),
                                           UPP_STR_INIT("content-encoding"),  UPP_STR_INIT("host"),
                                           UPP_STR_INIT("transfer-encoding"), UPP_STR_INIT("connection")};
    for (size_t i = 0; i < WB_LEN(names); i++)
        if (wb_str_eq_nocase(name, names[i]))
            return true;
    return false;
}

static void read_header(struct wc_reader *r, const struct wc_item *i, struct wc_telemetry *t)
{
    const struct wb_secret *hidden;
    struct upp_header h = {.name = i->key->text};
    if (!is_token(h.name))
        wc_mistake(r, i->key, "this is no name of a header");
    else if (is_ours(h.name))
        wc_mistake(r, i->key, "the server sets this header itself");
    else if (wc_secret(r, i->value, "a header", &hidden, &h.value)) {
        if (hidden)
            h.value = wb_secret_reveal(hidden); /* the configuration holds it */
        if (wc_is_secret_name(h.name) && wc_hide(r, UPP_STR(""), h.value) && !hidden)
            wc_inline_secret(r, i->value);
        if (is_value(h.value))
            t->headers[t->n_headers++] = h;
        else
            wc_mistake(r, i->value, "a header has at most %d bytes, and no line ends", VALUE_MAX);
    }
}

static void read_headers(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_telemetry *t = into;
    if (!wc_is(r, n, WC_MAP, "headers"))
        return;
    if (n->n > MOST_HEADERS) {
        wc_mistake(r, n, "at most %d headers", MOST_HEADERS);
        return;
    }
    t->headers = wb_new_n(&r->config->arena, struct upp_header, n->n + 1);
    for (const struct wc_item *i = n->first; t->headers && i; i = i->next)
        if (wc_repeated(n, i))
            wc_mistake(r, i->key, "this header is there a second time");
        else
            read_header(r, i, t);
}

/* The key exists so that nobody has to wonder. */
static void read_content(struct wc_reader *r, const struct wc_node *n, void *into)
{
    bool content;
    (void)into;
    if (wc_truth(r, n, "content", &content) && content)
        wc_mistake(r, n, "the content of conversations cannot be sent yet: spans hold names, numbers and times");
}

void wc_read_telemetry(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "otlp", .read = read_otlp, .flags = WC_REQUIRED},
                                         {.name = "headers", .read = read_headers},
                                         {.name = "content", .read = read_content}};
    struct wc_config *c = into;
    wc_map(r, n, "telemetry", keys, WB_LEN(keys), &c->telemetry);
}

enum { SECRET_MIN = 16, SECRET_MAX = 512 };

static void read_url(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_webhook *h = into;
    (void)wc_url(r, n, "the url of a webhook", &h->url);
}

static void wipe(struct wb_buf *b)
{
    if (b->p)
        explicit_bzero(b->p, b->cap);
    wb_buf_done(b);
}

int wc_webhook_key(struct upp_str secret, struct wb_secret **ret, struct upp_err *err)
{
    WB_CLEANUP(wipe) struct wb_buf key = WB_BUF(SECRET_MAX);
    struct upp_str text = secret;
    if (wb_str_starts(secret, UPP_STR(WC_WEBHOOK_PREFIX))) {
        if (!wb_buf_reserve(&key, SECRET_MAX)) /* no copy is left behind by growing */
            return upp_fail(err, UPP_ENOMEM, "no memory for a secret");
        int r = wb_base64_decode(wb_str_sub(secret, strlen(WC_WEBHOOK_PREFIX), SIZE_MAX), &key, err);
        if (r < 0)
            return r;
        text = wb_buf_str(&key);
    }
    if (text.n < SECRET_MIN || text.n > SECRET_MAX)
        return upp_fail(err, UPP_EINVALID, "a secret of %zu bytes", text.n);
    return wb_secret_new(text, ret, err);
}

static void read_secret(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_webhook *h = into;
    const struct wb_secret *hidden;
    struct upp_str text;
    struct upp_err err = {0};
    if (!wc_secret(r, n, "the secret of a webhook", &hidden, &text))
        return;
    if (hidden)
        text = wb_secret_reveal(hidden); /* the configuration holds it */
    if (wc_hide(r, UPP_STR(""), text) && !hidden)
        wc_inline_secret(r, n);
    WB_CLEANUP(wb_secret_freep) struct wb_secret *key = NULL;
    int code = wc_webhook_key(text, &key, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a secret"));
    else if (code < 0)
        wc_mistake(
            r, n, "the secret of a webhook is a text of %d to %d bytes, or " WC_WEBHOOK_PREFIX " and as many in base64",
            SECRET_MIN, SECRET_MAX);
    else
        h->secret = text;
}

static void read_hook(struct wc_reader *r, const struct wc_node *n, struct wc_webhook *h)
{
    static const struct wc_key keys[] = {{.name = "url", .read = read_url, .flags = WC_REQUIRED},
                                         {.name = "secret", .read = read_secret, .flags = WC_REQUIRED}};
    wc_map(r, n, "a webhook", keys, WB_LEN(keys), h);
}

static void read_end(struct wc_reader *r, const struct wc_node *n, void *into)
{
    read_hook(r, n, &((struct wc_config *)into)->on_end);
}

static void read_wait(struct wc_reader *r, const struct wc_node *n, void *into)
{
    read_hook(r, n, &((struct wc_config *)into)->on_wait);
}

void wc_read_webhooks(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "on_end", .read = read_end}, {.name = "on_wait", .read = read_wait}};
    wc_map(r, n, "webhooks", keys, WB_LEN(keys), into);
}
