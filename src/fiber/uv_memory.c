/* fiber/uv_memory.c — the memory of the hook table for libuv.
 *
 * libuv returns UV_ENOMEM when malloc or calloc fails, but aborts when it cannot grow its table of descriptors by
 * realloc. So a realloc that the hook table refuses is given by the system; a word before each block says whose it is.
 */
#include <stdlib.h>
#include <string.h>
#include <uv.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "fiber/loop_uv.h"

struct head {
    _Alignas(max_align_t) size_t size;
    bool system;
};

static struct head *head_of(void *p)
{
    return p ? (struct head *)p - 1 : NULL;
}

static void *start(struct head *h, size_t size, bool system)
{
    if (!h)
        return NULL;
    h->size = size;
    h->system = system;
    return h + 1;
}

static void *get(size_t size)
{
    return size > SIZE_MAX - sizeof(struct head) ? NULL : start(wb_alloc(sizeof(struct head) + size), size, false);
}

static void *get_zeroed(size_t count, size_t size)
{
    size_t n;
    void *p = __builtin_mul_overflow(count, size, &n) ? NULL : get(n);
    return p ? memset(p, 0, n) : NULL;
}

static void give_back(void *p)
{
    struct head *h = head_of(p);
    if (h && h->system)
        free(h);
    else
        wb_free(h);
}

static void *resize(void *p, size_t size)
{
    const struct head *old = head_of(p);
    void *q = get(size);
    if (!q && size <= SIZE_MAX - sizeof(struct head))
        q = start(malloc(sizeof(struct head) + size), size, true);
    if (q && old) {
        memcpy(q, p, old->size < size ? old->size : size);
        give_back(p);
    }
    return q;
}

int weft__uv_use_hooks(struct upp_err *err)
{
    int r = uv_replace_allocator(get, resize, get_zeroed, give_back);
    return r < 0 ? upp_fail(err, UPP_EBUG, "libuv does not take our allocator: %s", uv_strerror(r)) : 0;
}

#define TEXT_(n) #n
#define TEXT(n)  TEXT_(n)

struct wb_library weft__uv_library(void)
{
    return wb_library("libuv", TEXT(UV_VERSION_MAJOR) "." TEXT(UV_VERSION_MINOR) "." TEXT(UV_VERSION_PATCH),
                      uv_version_string());
}

uint32_t weft__uv_cores(void)
{
    return WB_MAX(uv_available_parallelism(), 1U);
}
