/* json/scan.c — finds members and items in compact text, without parsing it. */
#include "json/scan.h"

#include <endian.h>

typedef unsigned char bytes __attribute__((vector_size(16)));

/* Index of the first nonzero byte; 16: none. */
static size_t first_marked(bytes marks)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    words both = (words)marks;
    if (WB_LIKELY(!(both[0] | both[1])))
        return 16;
    return both[0] ? (size_t)__builtin_ctzll(le64toh(both[0])) / 8 : 8 + (size_t)__builtin_ctzll(le64toh(both[1])) / 8;
}

/* Moves to the next quote or backslash. */
static void to_quote(struct wj_scan *s)
{
    for (size_t n = 16; n == 16 && s->end - s->p >= 16; s->p += n) {
        bytes x;
        memcpy(&x, s->p, sizeof x);
        n = first_marked((bytes)(x == '"') | (bytes)(x == '\\'));
    }
    while (s->p < s->end && *s->p != '"' && *s->p != '\\')
        s->p++;
}

/* Moves to the next quote or bracket. '[' and '{', like ']' and '}', differ only in bit 0x20. */
static void to_mark(struct wj_scan *s)
{
    for (size_t n = 16; n == 16 && s->end - s->p >= 16; s->p += n) {
        bytes x;
        memcpy(&x, s->p, sizeof x);
        n = first_marked((bytes)(x == '"') | (bytes)((x | 0x20) == '{') | (bytes)((x | 0x20) == '}'));
    }
    while (s->p < s->end && *s->p != '"' && (*s->p | 0x20) != '{' && (*s->p | 0x20) != '}')
        s->p++;
}

static void bad(struct wj_scan *s)
{
    s->bad = true;
    s->p = s->end;
}

static bool byte(struct wj_scan *s, char c)
{
    if (s->p < s->end && *s->p == c) {
        s->p++;
        return true;
    }
    bad(s);
    return false;
}

/* Reads a string whose opening quote is next; returns what is between its quotes. */
static struct upp_str string(struct wj_scan *s)
{
    if (!byte(s, '"'))
        return (struct upp_str){0};
    const char *from = s->p;
    for (to_quote(s); s->p < s->end && *s->p == '\\'; to_quote(s))
        s->p += WB_MIN(s->end - s->p, (ptrdiff_t)2);
    struct upp_str text = wb_str(from, (size_t)(s->p - from));
    return byte(s, '"') ? text : (struct upp_str){0};
}

/* The end of the value that begins here, if `known` has it; else NULL. */
static const char *known_end(const struct wj_scan *s)
{
    const struct wj_extents *k = s->known;
    size_t low = 0, high = k ? k->n : 0, at = k ? (size_t)(s->p - k->base) : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (k->p[middle].from < at)
            low = middle + 1;
        else
            high = middle;
    }
    return k && low < k->n && k->p[low].from == at && k->p[low].to > at && k->base + k->p[low].to <= s->end
               ? k->base + k->p[low].to
               : NULL;
}

/* Skips a container whose opening bracket is next. */
static void container(struct wj_scan *s)
{
    size_t depth = 0;
    do {
        const char *end = *s->p == '{' || *s->p == '[' ? known_end(s) : NULL;
        if (end)
            s->p = end;
        else if (*s->p == '"')
            (void)string(s);
        else
            depth += (*s->p++ | 0x20) == '{' ? 1 : (size_t)-1;
        if (depth)
            to_mark(s);
    } while (depth && s->p < s->end);
    if (depth)
        bad(s);
}

static struct upp_str value_of(struct wj_scan *s)
{
    const char *from = s->p;
    if (s->p == s->end)
        bad(s);
    else if (*s->p == '"')
        (void)string(s);
    else if (*s->p == '{' || *s->p == '[')
        container(s);
    else
        while (s->p < s->end && *s->p != ',' && *s->p != s->close)
            s->p++;
    if (s->p == from)
        bad(s);
    return wb_str(from, (size_t)(s->p - from));
}

void wj_scan_init(struct wj_scan *s, struct upp_str text, char bracket, const struct wj_extents *known)
{
    *s = (struct wj_scan){
        .p = text.p, .end = text.p + text.n, .known = known, .close = bracket == '{' ? '}' : ']', .first = true};
    (void)byte(s, bracket);
}

bool wj_scan_next(struct wj_scan *s, struct upp_str *name, struct upp_str *value)
{
    if (s->p == s->end || (*s->p == s->close && s->p + 1 != s->end))
        bad(s);
    if (s->bad || *s->p == s->close)
        return false;
    if (!s->first && !byte(s, ','))
        return false;
    s->first = false;
    *name = (struct upp_str){0};
    if (s->close == '}') {
        *name = string(s);
        if (!byte(s, ':'))
            return false;
    }
    *value = value_of(s);
    return !s->bad;
}
