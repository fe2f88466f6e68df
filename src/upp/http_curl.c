/* upp/http_curl.c — the one file that includes curl.h. */
#include "upp/http_curl.h"

#include <curl/curl.h>
#include <string.h>

#include "base/hooks.h"

struct wb_library upp__curl_library(void)
{
    return wb_library("libcurl", LIBCURL_VERSION, curl_version_info(CURLVERSION_NOW)->version);
}

static char *copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char  *p = wb_alloc(n);
    return p ? memcpy(p, s, n) : NULL;
}

int upp__curl_use_hooks(struct upp_err *err)
{
    CURLcode r = curl_global_init_mem(CURL_GLOBAL_DEFAULT, wb_alloc, wb_free, wb_realloc, copy, wb_calloc);
    if (r != CURLE_OK)
        return upp_fail(err, UPP_ENOMEM, "libcurl does not start: %s", curl_easy_strerror(r));
    return 0;
}
