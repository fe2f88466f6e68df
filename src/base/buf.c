/* base/buf.c — bytes that grow up to a hard maximum. */
#include "base/buf.h"

#include <stdio.h>

#include "base/hooks.h"

void wb_buf_done(struct wb_buf *b)
{
    wb_free(b->p);
    *b = (struct wb_buf){.max = b->max};
}

bool wb_buf_reserve(struct wb_buf *b, size_t n)
{
    if (b->failed)
        return false;
    if (n <= b->cap - b->n)
        return true;
    if (n > b->max || b->n > b->max - n) {
        b->failed = -UPP_ELIMIT;
        return false;
    }
    /* By half; small ones faster: most are short-lived, and would grow again and again. */
    size_t cap = b->cap < 64 ? 64 : b->cap < 1024 ? b->cap * 4 : b->cap + b->cap / 2;
    if (cap < b->n + n)
        cap = b->n + n;
    if (cap > b->max)
        cap = b->max;
    char *p = cap < SIZE_MAX ? wb_realloc(b->p, cap + 1) : NULL; /* a byte to spare, for the NUL of vsnprintf */
    if (!p) {
        b->failed = -UPP_ENOMEM;
        return false;
    }
    b->p = p;
    b->cap = cap;
    return true;
}

void wb_buf_add(struct wb_buf *b, struct upp_str s)
{
    if (s.n && wb_buf_reserve(b, s.n)) {
        memcpy(b->p + b->n, s.p, s.n);
        b->n += s.n;
    }
}

void wb_buf_vaddf(struct wb_buf *b, const char *fmt, va_list args)
{
    va_list again;
    char small[128];
    va_copy(again, args);
    int n = vsnprintf(small, sizeof small, fmt, args);
    if (n >= 0 && (size_t)n < sizeof small)
        wb_buf_add(b, wb_str(small, (size_t)n));
    else if (n < 0)
        b->failed = b->failed ? b->failed : -UPP_ENOMEM; /* vsnprintf fails so when it cannot allocate */
    else if (wb_buf_reserve(b, (size_t)n)) {
        (void)vsnprintf(b->p + b->n, (size_t)n + 1, fmt, again); /* the NUL goes to the spare byte */
        b->n += (size_t)n;
    }
    va_end(again);
}

void wb_buf_addf(struct wb_buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    wb_buf_vaddf(b, fmt, args);
    va_end(args);
}

void wb_buf_drop(struct wb_buf *b, size_t n)
{
    if (n >= b->n) {
        b->n = 0;
        return;
    }
    if (n) {
        memmove(b->p, b->p + n, b->n - n);
        b->n -= n;
    }
}

void wb_buf_why(const struct wb_buf *b, struct upp_err *err)
{
    if (b->failed == -UPP_ELIMIT)
        (void)upp_fail(err, UPP_ELIMIT, "more than %zu bytes", b->max);
    else
        (void)upp_fail(err, (enum upp_code) - b->failed, "%s", upp_code_text(b->failed));
}
