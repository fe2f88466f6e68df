/* base/arena.h — memory that is freed all at once: a decoded document, a turn, a request.
 *
 * Grows in chunks up to a hard maximum. Sticky: after the first failure every allocation gives NULL (or no
 * text) and wb_arena_check says why. Chunks are never moved, so pointers stay good until reset or done.
 */
#pragma once

#include <stdarg.h>

#include "base/defs.h"
#include "base/str.h"

struct wb_arena {
    struct wb_chunk *chunks; /* newest first */
    char *p, *end;
    size_t used, max; /* bytes taken from the system, and their limit */
    int failed;
};

/* An arena of at most `max` bytes: `struct wb_arena a = WB_ARENA(16u << 20);`. */
#define WB_ARENA(maximum)                                                                                              \
    {                                                                                                                  \
        .max = (maximum)                                                                                               \
    }

WB_EXPORT_BEGIN

void wb_arena_done(struct wb_arena *a);  /* frees all; usable again */
void wb_arena_wipe(struct wb_arena *a);  /* the same, and nothing of what was in it stays behind: for secrets */
void wb_arena_reset(struct wb_arena *a); /* forgets all, keeps one chunk for the next use, clears a failure */

/* The slow path of wb_arena_alloc. */
void *wb_arena_more(struct wb_arena *a, size_t n, size_t align);

/* A copy, followed by a NUL that is not counted. A NULL text stays NULL. */
struct upp_str wb_arena_dup(struct wb_arena *a, struct upp_str s);
struct upp_str wb_arena_printf(struct wb_arena *a, const char *fmt, ...) UPP_PRINTF(2, 3);

/* The same of texts behind each other, and of a text and a number behind it: "entry-7". Both cost far less than what
 * has to read a format. */
struct upp_str wb_arena_join(struct wb_arena *a, const struct upp_str *texts, size_t n);
struct upp_str wb_arena_numbered(struct wb_arena *a, struct upp_str text, uint64_t number);

/* A block of its own, resized and freed as malloc's are, that an arena can take over in the end: for a library that
 * wants an allocator. Aligned for anything. */
void *wb_block_alloc(size_t n);
void *wb_block_resize(void *p, size_t n);
void wb_block_free(void *p);

/* From now on the arena frees p. Where p would pass the arena's maximum it is freed at once, and the arena failed. */
void wb_arena_adopt(struct wb_arena *a, void *p);

/* For a worker that allocates while its fiber waits: other fibers of the arena's loop may use the arena in the
 * meantime, so the worker gets what is left of the current chunk as an arena of its own, and gives all back in the end.
 */
struct wb_arena wb_arena_lend(struct wb_arena *a);
void wb_arena_give_back(struct wb_arena *a, struct wb_arena *lent);

/* The sentence of a failure. */
void wb_arena_why(const struct wb_arena *a, struct upp_err *err);

WB_EXPORT_END

/* 0, or the failure with a sentence in err. */
UPP_MUST_CHECK static inline int wb_arena_check(const struct wb_arena *a, struct upp_err *err)
{
    if (WB_LIKELY(a->failed >= 0))
        return 0;
    int r = a->failed;
    wb_arena_why(a, err);
    return r;
}

/* n bytes, not cleared; NULL once failed. `align` is a power of two. */
static inline void *wb_arena_alloc(struct wb_arena *a, size_t n, size_t align)
{
    uintptr_t at = ((uintptr_t)a->p + (align - 1)) & ~(uintptr_t)(align - 1);
    if (WB_LIKELY(a->p && at <= (uintptr_t)a->end && n <= (uintptr_t)a->end - at)) {
        char *p = a->p + (at - (uintptr_t)a->p);
        a->p = p + n;
        return p;
    }
    return wb_arena_more(a, n, align);
}

static inline void *wb_arena_zero(struct wb_arena *a, size_t n, size_t align)
{
    void *p = wb_arena_alloc(a, n, align);
    return p ? memset(p, 0, n) : NULL;
}

/* One cleared T, or `count` of them in a row. */
#define wb_new(a, T) ((T *)wb_arena_zero((a), sizeof(T), _Alignof(T)))
#define wb_new_n(a, T, count)                                                                                          \
    ((T *)((size_t)(count) > SIZE_MAX / sizeof(T) ? wb_arena_more((a), SIZE_MAX, 1)                                    \
                                                  : wb_arena_zero((a), (size_t)(count) * sizeof(T), _Alignof(T))))
