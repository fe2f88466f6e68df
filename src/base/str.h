/* base/str.h — looking at text. Nothing here allocates or keeps what it is given. */
#pragma once

#include <string.h>
#include <upp/base.h>

#include "base/export.h"

static inline struct upp_str wb_str(const char *p, size_t n)
{
    return (struct upp_str){p, n};
}

/* A C string as text; NULL gives a NULL text. */
static inline struct upp_str wb_cstr(const char *s)
{
    return (struct upp_str){s, s ? strlen(s) : 0};
}

/* The same bytes. A NULL and an empty text are equal: compare .p to tell them apart. */
static inline bool wb_str_eq(struct upp_str a, struct upp_str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

static inline bool wb_str_starts(struct upp_str s, struct upp_str head)
{
    return s.n >= head.n && (head.n == 0 || memcmp(s.p, head.p, head.n) == 0);
}

static inline bool wb_str_ends(struct upp_str s, struct upp_str tail)
{
    return s.n >= tail.n && (tail.n == 0 || memcmp(s.p + s.n - tail.n, tail.p, tail.n) == 0);
}

/* FNV-1a: the same wherever and whenever it is asked for, so that ids may follow from it. */
static inline uint64_t wb_str_hash(struct upp_str s)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3;
    return h;
}

/* From byte `at` (cut to the end) at most n bytes. */
static inline struct upp_str wb_str_sub(struct upp_str s, size_t at, size_t n)
{
    if (at > s.n)
        at = s.n;
    return (struct upp_str){s.p ? s.p + at : NULL, n > s.n - at ? s.n - at : n};
}

WB_EXPORT_BEGIN

/* As memcmp over the common length, then by length: -1, 0, 1. */
int wb_str_cmp(struct upp_str a, struct upp_str b);

/* Only A to Z are folded. */
bool wb_str_eq_nocase(struct upp_str a, struct upp_str b);
bool wb_str_has_nocase(struct upp_str s, struct upp_str what); /* anywhere in it */

/* Where `what` begins in s, at or after `from`; SIZE_MAX when nowhere. */
size_t wb_str_find(struct upp_str s, struct upp_str what, size_t from);

/* Without blanks, tabs, CR and LF at both ends. */
struct upp_str wb_str_trim(struct upp_str s);

/* Takes the text before the first `sep` off *rest; false when *rest was used up (its .p is then NULL).
 * "a,,b" gives a, empty, b; "" gives one empty piece. */
bool wb_str_split(struct upp_str *rest, char sep, struct upp_str *ret);

/* The whole of s as a decimal number: digits alone (and a '-' for i64), in range; else false. */
bool wb_str_u64(struct upp_str s, uint64_t *ret);
bool wb_str_i64(struct upp_str s, int64_t *ret);

WB_EXPORT_END
