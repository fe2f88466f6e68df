/* upp/http/curl_move.c — redirects: a GET goes elsewhere, and no credential with it. */
#include <string.h>

#include "base/err.h"
#include "upp/http/curl_call.h"

enum { HOPS = 5 };

static int refuse_move(struct upp_http_call *c, const char *why, const struct upp__origin *to, struct upp_err *err)
{
    int status = c->head.status;
    c->failed = upp_fail(&c->err, UPP_EPROVIDER, "%s answers %d and points to %s:%s: %s", c->host, status,
                         to->host ? to->host : "nowhere", to->port ? to->port : "0", why);
    c->err.http = status;
    return upp__curl_fail_again(c, err);
}

/* Takes the call to another address. */
static int redirect_to(struct upp_http_call *c, CURLU *to, bool same, const struct upp__origin *o, struct upp_err *err)
{
    char *url = NULL;
    (void)curl_multi_remove_handle(c->http->multi, c->easy);
    c->added = false;
    c->away |= !same;
    int r = curl_url_get(to, CURLUPART_URL, &url, 0) == CURLUE_OK
                ? upp__curl_aim(c, url, o, !c->away, err)
                : upp_fail(err, UPP_ENOMEM, "no memory for an address");
    curl_free(url);
    if (r < 0)
        return r;
    upp__head_done(&c->head);
    upp__head_init(&c->head);
    wb_buf_clear(&c->in);
    c->moved = c->done = c->coded = c->paused = false;
    c->got = 0;
    c->text[0] = 0;
    return upp__curl_begin(c, err);
}

int upp__curl_follow(struct upp_http_call *c, struct upp_err *err)
{
    const char *from = NULL;
    CURLU *was = NULL, *to = NULL;
    struct upp__origin old = {0}, new = {0};
    int r = upp_fail(err, UPP_ENOMEM, "no memory for an address");
    if (curl_easy_getinfo(c->easy, CURLINFO_EFFECTIVE_URL, &from) == CURLE_OK && from)
        r = upp__address(NULL, from, &was, &old, err);
    if (r >= 0)
        r = upp__address(from, upp__head_get(&c->head, UPP_STR("location")).p, &to, &new, err);
    if (r == -UPP_EINVALID)
        r = refuse_move(c, "that is no address of the web", &new, err);
    else if (r >= 0 && !c->get)
        r = refuse_move(c, "only a GET is sent elsewhere", &new, err);
    else if (r >= 0 && ++c->hops > HOPS)
        r = refuse_move(c, "there were too many before it", &new, err);
    else if (r >= 0 && strcmp(old.scheme, "https") == 0 && strcmp(new.scheme, "https") != 0)
        r = refuse_move(c, "that is not encrypted", &new, err);
    else if (r >= 0)
        r = redirect_to(c, to, upp__origin_same(&old, &new), &new, err);
    curl_url_cleanup(was);
    curl_url_cleanup(to);
    upp__origin_done(&old);
    upp__origin_done(&new);
    if (r < 0 && !c->failed) {
        c->failed = r;
        if (err)
            c->err = *err;
    }
    return r;
}
