/* runtime/config_webhooks.c — `webhooks`: where the server reports the ends and waits of runs. */
#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/defs.h"
#include "base/err.h"
#include "runtime/config_read.h"

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
