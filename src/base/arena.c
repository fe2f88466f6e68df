/* base/arena.c — memory that is freed all at once.
 *
 * The first chunk has 1 KiB, because many arenas live long and hold little; from the second on, of at least 4 KiB, a
 * chunk doubles what there is, up to 1 MiB. A larger request gets a chunk of its own size.
 */
#include "base/arena.h"

#include <stdio.h>

#include "base/hooks.h"

enum { FIRST_CHUNK = 1024, SECOND_CHUNK = 4096, LAST_CHUNK = 1 << 20 };

struct wb_chunk {
    struct wb_chunk *older;
    size_t size; /* with this header */
    _Alignas(max_align_t) char bytes[];
};

static void *fail(struct wb_arena *a, int r)
{
    a->failed = r;
    a->p = a->end = NULL; /* so that the fast path fails too */
    return NULL;
}

void *wb_arena_more(struct wb_arena *a, size_t n, size_t align)
{
    if (a->failed)
        return NULL;
    if (n > SIZE_MAX / 2 || a->used > a->max)
        return fail(a, -UPP_ELIMIT);
    size_t need = sizeof(struct wb_chunk) + n + (align > _Alignof(max_align_t) ? align : 0);
    size_t size = FIRST_CHUNK;
    if (a->used)
        size = WB_MAX(WB_MIN(a->used, (size_t)LAST_CHUNK), (size_t)SECOND_CHUNK);
    size = WB_MAX(size, need);
    if (size > a->max - a->used)
        size = need; /* near the limit: only what is asked for */
    if (size > a->max - a->used)
        return fail(a, -UPP_ELIMIT);
    struct wb_chunk *c = wb_alloc(size);
    if (!c)
        return fail(a, -UPP_ENOMEM);
    c->older = a->chunks;
    c->size = size;
    a->chunks = c;
    a->used += size;
    a->p = c->bytes;
    a->end = (char *)c + size;
    return wb_arena_alloc(a, n, align);
}

/* A block is a chunk that belongs to nobody yet. */
void *wb_block_alloc(size_t n)
{
    return wb_block_resize(NULL, n);
}

void *wb_block_resize(void *p, size_t n)
{
    if (n > SIZE_MAX / 2)
        return NULL;
    struct wb_chunk *c = wb_realloc(p ? WB_OUTER(p, struct wb_chunk, bytes) : NULL, sizeof *c + n);
    if (!c)
        return NULL;
    c->older = NULL;
    c->size = sizeof *c + n;
    return c->bytes;
}

void wb_block_free(void *p)
{
    if (p)
        wb_free(WB_OUTER(p, struct wb_chunk, bytes));
}

void wb_arena_adopt(struct wb_arena *a, void *p)
{
    struct wb_chunk *c = WB_OUTER(p, struct wb_chunk, bytes);
    if (a->failed || a->used > a->max || c->size > a->max - a->used) {
        wb_free(c);
        if (!a->failed)
            (void)fail(a, -UPP_ELIMIT);
        return;
    }
    a->used += c->size;
    if (a->chunks) { /* behind the newest, which is still being filled */
        c->older = a->chunks->older;
        a->chunks->older = c;
    } else
        a->chunks = c;
}

struct wb_arena wb_arena_lend(struct wb_arena *a)
{
    struct wb_arena lent = *a;
    lent.chunks = NULL;
    a->p = a->end = NULL;
    return lent;
}

void wb_arena_give_back(struct wb_arena *a, struct wb_arena *lent)
{
    struct wb_chunk **oldest = &lent->chunks;
    for (; *oldest; oldest = &(*oldest)->older)
        a->used += (*oldest)->size;
    *oldest = a->chunks;
    a->chunks = lent->chunks;
    if (a->failed || lent->failed)
        (void)fail(a, a->failed ? a->failed : lent->failed);
    else if (lent->end - lent->p > a->end - a->p) {
        a->p = lent->p;
        a->end = lent->end;
    }
}

void wb_arena_done(struct wb_arena *a)
{
    for (struct wb_chunk *c = a->chunks, *older; c; c = older) {
        older = c->older;
        wb_free(c);
    }
    *a = (struct wb_arena){.max = a->max};
}

void wb_arena_wipe(struct wb_arena *a)
{
    for (struct wb_chunk *c = a->chunks; c; c = c->older)
        explicit_bzero(c->bytes, c->size - sizeof *c);
    wb_arena_done(a);
}

/* With AddressSanitizer a reset gives other memory of the same size: what still points into the old one is found. */
#if defined(__SANITIZE_ADDRESS__)
enum { RESET_MOVES = 1 };
#else
enum { RESET_MOVES = 0 };
#endif

static struct wb_chunk *moved(struct wb_chunk *c)
{
    struct wb_chunk *other = wb_alloc(c->size);
    if (!other)
        return c;
    *other = *c;
    wb_free(c);
    return other;
}

void wb_arena_reset(struct wb_arena *a)
{
    struct wb_chunk *keep = a->chunks;
    if (!keep || keep->size > LAST_CHUNK) {
        wb_arena_done(a);
        return;
    }
    for (struct wb_chunk *c = keep->older, *older; c; c = older) {
        older = c->older;
        wb_free(c);
    }
    keep->older = NULL;
    if (RESET_MOVES)
        keep = moved(keep);
    *a = (struct wb_arena){
        .chunks = keep, .p = keep->bytes, .end = (char *)keep + keep->size, .used = keep->size, .max = a->max};
}

struct upp_str wb_arena_dup(struct wb_arena *a, struct upp_str s)
{
    if (!s.p)
        return (struct upp_str){0};
    if (!s.n)
        return UPP_STR("");
    char *p = s.n < SIZE_MAX ? wb_arena_alloc(a, s.n + 1, 1) : fail(a, -UPP_ELIMIT);
    if (!p)
        return (struct upp_str){0};
    memcpy(p, s.p, s.n);
    p[s.n] = 0;
    return (struct upp_str){p, s.n};
}

struct upp_str wb_arena_printf(struct wb_arena *a, const char *fmt, ...)
{
    size_t room = a->p ? WB_MIN((size_t)(a->end - a->p), (size_t)INT32_MAX) : 0;
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(a->p, room, fmt, args); /* as most texts do it fits, and is where it would be put */
    va_end(args);
    char *p = n < 0 ? fail(a, -UPP_ENOMEM) : wb_arena_alloc(a, (size_t)n + 1, 1);
    if (!p)
        return (struct upp_str){0};
    if ((size_t)n < room)
        return (struct upp_str){p, (size_t)n};
    va_start(args, fmt);
    (void)vsnprintf(p, (size_t)n + 1, fmt, args);
    va_end(args);
    return (struct upp_str){p, (size_t)n};
}

struct upp_str wb_arena_join(struct wb_arena *a, const struct upp_str *texts, size_t n)
{
    size_t all = 0;
    for (size_t i = 0; i < n; i++)
        all = texts[i].n < SIZE_MAX / 2 - all ? all + texts[i].n : SIZE_MAX / 2;
    char *p = wb_arena_alloc(a, all + 1, 1), *to = p;
    if (!p)
        return (struct upp_str){0};
    for (size_t i = 0; i < n; i++) {
        if (texts[i].n)
            memcpy(to, texts[i].p, texts[i].n);
        to += texts[i].n;
    }
    *to = 0;
    return (struct upp_str){p, all};
}

struct upp_str wb_arena_numbered(struct wb_arena *a, struct upp_str text, uint64_t number)
{
    char digits[20], *end = digits + sizeof digits, *first = end;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return wb_arena_join(a, (struct upp_str[]){text, wb_str(first, (size_t)(end - first))}, 2);
}

void wb_arena_why(const struct wb_arena *a, struct upp_err *err)
{
    if (a->failed == -UPP_ELIMIT)
        (void)upp_fail(err, UPP_ELIMIT, "needs more than %zu bytes of memory", a->max);
    else
        (void)upp_fail(err, UPP_ENOMEM, "out of memory");
}
