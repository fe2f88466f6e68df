/* base/buf.h — bytes that grow up to a hard maximum.
 *
 * Sticky: after the first failure (no memory, maximum reached) every call does nothing, so a writer writes
 * freely and asks once at the end. What was written before the failure is still there.
 */
#pragma once

#include <stdarg.h>

#include "base/defs.h"
#include "base/str.h"

struct wb_buf {
    char *p; /* NULL while empty */
    size_t n, cap;
    size_t max; /* n never passes it */
    int failed; /* 0, -UPP_ENOMEM or -UPP_ELIMIT, or what a writer on top of it failed with */
};

/* A buffer of at most `max` bytes: `struct wb_buf b = WB_BUF(1u << 20);`. */
#define WB_BUF(maximum)                                                                                                \
    {                                                                                                                  \
        .max = (maximum)                                                                                               \
    }

WB_EXPORT_BEGIN

void wb_buf_done(struct wb_buf *b); /* frees; the buffer is empty and usable again */

/* Room for n more bytes at b->p + b->n; false once failed. wb_buf_add and friends call it. */
bool wb_buf_reserve(struct wb_buf *b, size_t n);

void wb_buf_add(struct wb_buf *b, struct upp_str s);
void wb_buf_addf(struct wb_buf *b, const char *fmt, ...) UPP_PRINTF(2, 3);
void wb_buf_vaddf(struct wb_buf *b, const char *fmt, va_list args) UPP_PRINTF(2, 0);

/* Takes n bytes off the front. */
void wb_buf_drop(struct wb_buf *b, size_t n);

/* The sentence of a failure. */
void wb_buf_why(const struct wb_buf *b, struct upp_err *err);

WB_EXPORT_END

/* 0, or the failure with a sentence in err. */
UPP_MUST_CHECK static inline int wb_buf_check(const struct wb_buf *b, struct upp_err *err)
{
    if (WB_LIKELY(b->failed >= 0))
        return 0;
    int r = b->failed;
    wb_buf_why(b, err);
    return r;
}

static inline void wb_buf_clear(struct wb_buf *b)
{
    b->n = 0;
    b->failed = 0;
}

static inline void wb_buf_addc(struct wb_buf *b, char c)
{
    if (WB_LIKELY(b->n < b->cap && !b->failed) || wb_buf_reserve(b, 1))
        b->p[b->n++] = c;
}

/* The contents, borrowed until the next change. Its pointer is never NULL. */
static inline struct upp_str wb_buf_str(const struct wb_buf *b)
{
    return (struct upp_str){b->p ? b->p : "", b->n};
}
