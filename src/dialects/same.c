/* dialects/same.c — is a value what a text of ours says? Without reading the text: most objects are written back as
 * they were.
 */
#include <endian.h>

#include "dialects/lowering.h"
#include "json/value.h"

struct same {
    const struct wd_lifting *l;
    const char              *p, *end;
};

static bool is_elsewhere(const struct same *s, const yyjson_val *v)
{
    size_t i = (size_t)(v - s->l->root);
    return s->l->elsewhere[i / 8] >> i % 8 & 1;
}

static bool byte(struct same *s, char c)
{
    return s->p < s->end && *s->p++ == c;
}

static bool bytes(struct same *s, const char *p, size_t n)
{
    bool same = (size_t)(s->end - s->p) >= n && memcmp(s->p, p, n) == 0;
    s->p += same ? n : 0;
    return same;
}

/* The escape that the writer has for a byte; 0: none of two letters. */
static char escape_of(char c)
{
    switch (c) {
    case '\n':
        return 'n';
    case '\t':
        return 't';
    case '\r':
        return 'r';
    case '"':
    case '\\':
        return c;
    default:
        return 0;
    }
}

/* Is one of these eight bytes an escape to the writer, or the beginning of a lone surrogate? */
static bool has_special(uint64_t x)
{
    static const uint64_t ones = 0x0101010101010101, highs = 0x8080808080808080;
    uint64_t              quote = x ^ ones * '"', slash = x ^ ones * '\\', surrogate = x ^ ones * 0xed;
    return (((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((surrogate - ones) & ~surrogate) |
            ((x - ones * 0x20) & ~x)) &
           highs;
}

/* How many bytes at the beginning are written as they are. */
static size_t plain(const char *p, size_t n)
{
    size_t   i = 0;
    uint64_t x;
    for (; i + sizeof x <= n; i += sizeof x) {
        memcpy(&x, p + i, sizeof x);
        if (has_special(x))
            break;
    }
    while (i < n && (unsigned char)p[i] >= 0x20 && p[i] != '"' && p[i] != '\\' && p[i] != '\xed')
        i++;
    return i;
}

/* Most have nothing to escape. What follows is then the text itself: between its quotes nothing is written that a text
 * without a backslash has in another spelling. */
static bool as_it_is(struct same *s, struct upp_str v)
{
    if ((size_t)(s->end - s->p) < v.n + 2 || s->p[0] != '"' || s->p[v.n + 1] != '"' || !wj_same(s->p + 1, v.p, v.n) ||
        (v.n && memchr(v.p, '\\', v.n)))
        return false;
    s->p += v.n + 2;
    return true;
}

/* How many of 16 bytes are the same in both and written as they are. */
static size_t plain_in_16(const char *p, const char *q)
{
    typedef unsigned char bytes_of __attribute__((vector_size(16)));
    typedef uint64_t      words __attribute__((vector_size(16)));
    bytes_of              x, y;
    memcpy(&x, p, sizeof x);
    memcpy(&y, q, sizeof y);
    bytes_of stop = (bytes_of)(x != y) | (bytes_of)(x < 0x20) | (bytes_of)(x == '"') | (bytes_of)(x == '\\') |
                    (bytes_of)(x == 0xed);
    words both = (words)stop;
    if (WB_LIKELY(!(both[0] | both[1])))
        return 16;
    return both[0] ? (size_t)__builtin_ctzll(le64toh(both[0])) / 8 : 8 + (size_t)__builtin_ctzll(le64toh(both[1])) / 8;
}

/* How many at the beginning are, as long as there are 16 to look at. */
static size_t same_run(struct same *s, const char *p, size_t n)
{
    size_t i = 0, one = 16;
    for (; one == 16 && n - i >= 16 && s->end - s->p >= 16; i += one, s->p += one)
        one = plain_in_16(p + i, s->p);
    return i;
}

static bool same_string(struct same *s, struct upp_str v)
{
    if (v.n < 16 && as_it_is(s, v))
        return true;
    if (!byte(s, '"'))
        return false;
    for (size_t i = 0; i < v.n;) {
        i += same_run(s, v.p + i, v.n - i);
        size_t n = i + plain(v.p + i, v.n - i);
        if (!bytes(s, v.p + i, n - i))
            return false;
        i = n + 1;
        if (n == v.n)
            break;
        if (v.p[n] == '\xed' && i < v.n && (unsigned char)v.p[i] < 0xa0) { /* no surrogate */
            if (!byte(s, v.p[n]))
                return false;
        } else if (!(escape_of(v.p[n]) && byte(s, '\\') && byte(s, escape_of(v.p[n]))))
            return false; /* rarer ones take reading */
    }
    return byte(s, '"');
}

static bool same_value(struct same *s, yyjson_val *v);

static bool same_object(struct same *s, yyjson_val *v)
{
    yyjson_val *key = unsafe_yyjson_get_first(v);
    if (!byte(s, '{'))
        return false;
    for (size_t n = unsafe_yyjson_get_len(v), i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1))
        if ((i && !byte(s, ',')) || is_elsewhere(s, key + 1) || !same_string(s, wj_text(key)) || !byte(s, ':') ||
            !same_value(s, key + 1))
            return false;
    return byte(s, '}');
}

static bool same_list(struct same *s, yyjson_val *v)
{
    yyjson_val *item = unsafe_yyjson_get_first(v);
    bool        any  = false;
    if (!byte(s, '['))
        return false;
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, item = unsafe_yyjson_get_next(item)) {
        if (is_elsewhere(s, item))
            continue;
        if ((any && !byte(s, ',')) || !same_value(s, item))
            return false;
        any = true;
    }
    return byte(s, ']');
}

/* Recurses: values are at most WD_DOC_DEPTH deep. */
static bool same_value(struct same *s, yyjson_val *v)
{
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        return same_string(s, wj_text(v));
    case YYJSON_TYPE_OBJ:
        return same_object(s, v);
    case YYJSON_TYPE_ARR:
        return same_list(s, v);
    case YYJSON_TYPE_RAW:
        return bytes(s, wj_text(v).p, wj_text(v).n);
    case YYJSON_TYPE_NULL:
        return bytes(s, "null", 4);
    default:
        return unsafe_yyjson_is_true(v) ? bytes(s, "true", 4) : bytes(s, "false", 5);
    }
}

bool wd_anchor_is(const struct wd_lifting *l, const struct wd_anchor *anchor, struct upp_str text)
{
    struct same s = {.l = l, .p = text.p, .end = text.p + text.n};
    return same_value(&s, anchor->wire) && s.p == s.end;
}
