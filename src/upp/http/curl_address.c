/* upp/http/curl_address.c — addresses, as libcurl reads them. */
#include <string.h>

#include "base/err.h"
#include "upp/http/curl_call.h"

void upp__origin_done(struct upp__origin *o)
{
    curl_free(o->scheme);
    curl_free(o->host);
    curl_free(o->port);
}

bool upp__origin_same(const struct upp__origin *a, const struct upp__origin *b)
{
    return strcmp(a->scheme, b->scheme) == 0 && wb_str_eq_nocase(wb_cstr(a->host), wb_cstr(b->host)) &&
           strcmp(a->port, b->port) == 0;
}

static CURLUcode origin_of(CURLU *u, struct upp__origin *ret)
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

int upp__address(const char *base, const char *url, CURLU **ret, struct upp__origin *o, struct upp_err *err)
{
    CURLU *u = curl_url();
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
