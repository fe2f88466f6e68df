/* base/str.c — looking at text. */
#include "base/str.h"

#include "base/defs.h"

int wb_str_cmp(struct upp_str a, struct upp_str b)
{
    size_t n = WB_MIN(a.n, b.n);
    int r = n ? memcmp(a.p, b.p, n) : 0;
    if (r == 0)
        r = a.n < b.n ? -1 : a.n > b.n;
    return r < 0 ? -1 : r > 0;
}

static unsigned char fold(char c)
{
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

bool wb_str_eq_nocase(struct upp_str a, struct upp_str b)
{
    if (a.n != b.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (fold(a.p[i]) != fold(b.p[i]))
            return false;
    return true;
}

size_t wb_str_find(struct upp_str s, struct upp_str what, size_t from)
{
    if (from > s.n || what.n > s.n - from)
        return SIZE_MAX;
    if (what.n == 0)
        return from;
    const char *at = memmem(s.p + from, s.n - from, what.p, what.n);
    return at ? (size_t)(at - s.p) : SIZE_MAX;
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

struct upp_str wb_str_trim(struct upp_str s)
{
    while (s.n && blank(s.p[0]))
        s.p++, s.n--;
    while (s.n && blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

bool wb_str_split(struct upp_str *rest, char sep, struct upp_str *ret)
{
    if (!rest->p)
        return false;
    const char *at = rest->n ? memchr(rest->p, sep, rest->n) : NULL;
    if (!at) {
        *ret = *rest;
        *rest = (struct upp_str){0};
        return true;
    }
    size_t n = (size_t)(at - rest->p);
    *ret = (struct upp_str){rest->p, n};
    *rest = (struct upp_str){at + 1, rest->n - n - 1};
    return true;
}

bool wb_str_has_nocase(struct upp_str s, struct upp_str what)
{
    for (size_t i = 0; i + what.n <= s.n; i++)
        if (wb_str_eq_nocase(wb_str_sub(s, i, what.n), what))
            return true;
    return false;
}

bool wb_str_u64(struct upp_str s, uint64_t *ret)
{
    uint64_t v = 0;
    if (s.n == 0)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    }
    *ret = v;
    return true;
}

bool wb_str_i64(struct upp_str s, int64_t *ret)
{
    bool minus = s.n && s.p[0] == '-';
    uint64_t v;
    if (!wb_str_u64(minus ? wb_str_sub(s, 1, s.n) : s, &v) || v > (uint64_t)INT64_MAX + minus)
        return false;
    *ret = minus ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}
