/* upp/http/curl_process.c — libcurl in this process: which one it is, and its memory.
 *
 * libcurl has requests, and with them keys, in buffers of its own, and frees them as they are. So every block knows its
 * size, and is wiped before it is freed.
 */
#include "upp/http/curl.h"

#include <curl/curl.h>
#include <string.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/hooks.h"

struct wb_library upp__curl_library(void)
{
    return wb_library("libcurl", LIBCURL_VERSION, curl_version_info(CURLVERSION_NOW)->version);
}

struct block {
    size_t n;
    _Alignas(max_align_t) char bytes[];
};

static void *block_new(size_t n)
{
    struct block *b = n <= SIZE_MAX / 2 ? wb_alloc(sizeof *b + n) : NULL;
    if (!b)
        return NULL;
    b->n = n;
    return b->bytes;
}

static void *block_clear(size_t count, size_t size)
{
    void *p = size && count > SIZE_MAX / size ? NULL : block_new(count * size);
    return p ? memset(p, 0, count * size) : NULL;
}

static void block_free(void *p)
{
    struct block *b = p ? WB_OUTER(p, struct block, bytes) : NULL;
    if (b)
        explicit_bzero(b, sizeof *b + b->n);
    wb_free(b);
}

/* Never by realloc, which may leave the old one behind. */
static void *block_resize(void *p, size_t n)
{
    const struct block *old = p ? WB_OUTER(p, struct block, bytes) : NULL;
    void *new = block_new(n);
    if (!new || !old)
        return new;
    memcpy(new, old->bytes, WB_MIN(n, old->n));
    block_free(p);
    return new;
}

static char *block_copy(const char *s)
{
    size_t n = strlen(s) + 1;
    char *p = block_new(n);
    return p ? memcpy(p, s, n) : NULL;
}

int upp__curl_use_hooks(struct upp_err *err)
{
    CURLcode r =
        curl_global_init_mem(CURL_GLOBAL_DEFAULT, block_new, block_free, block_resize, block_copy, block_clear);
    if (r != CURLE_OK)
        return upp_fail(err, UPP_ENOMEM, "libcurl does not start: %s", curl_easy_strerror(r));
    return 0;
}
