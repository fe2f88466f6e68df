/* json/compact.c — checks whether a text is exactly what the writer would write: one pass over its bytes, no
 * allocation.
 */
#include "json/compact.h"

#include "base/defs.h"
#include "base/utf8.h"
#include "json/number.h"
#include "json/string_block.h"

enum { LEVELS = 256 }; /* deeper texts count as not compact */

struct walk {
    const char *p, *end;
    unsigned depth, limit;
    uint64_t objects[LEVELS / 64]; /* bit d: level d + 1 is an object */
};

static bool byte(struct walk *k, char c)
{
    if (k->p == k->end || *k->p != c)
        return false;
    k->p++;
    return true;
}

/* Length of the escape that the writer would produce, where p is just after the backslash and n bytes remain; 0: the
 * writer would spell it differently. */
static size_t escape_length(const char *p, size_t n)
{
    static const char brief[] = "\"\\btnfr", hex[] = "0123456789abcdef";
    if (n && *p != 'u')
        return *p && strchr(brief, *p) ? 1 : 0;
    if (n < 5 || memcmp(p, "u00", 3) != 0 || (p[3] != '0' && p[3] != '1') || !p[4] || !strchr(hex, p[4]))
        return 0;
    return p[3] == '1' || !strchr("89acd", p[4]) ? 5 : 0; /* these have a one-letter escape */
}

/* Called after the opening quote. wj_is_compact validates UTF-8 for the whole text. */
static bool string(struct walk *k)
{
    for (;;) {
        k->p += wj_unescaped_len(k->p, (size_t)(k->end - k->p), true);
        if (k->p == k->end)
            return false;
        char c = *k->p++;
        if (c == '"')
            return true;
        if (c == '\\') {
            size_t n = escape_length(k->p, (size_t)(k->end - k->p));
            if (!n)
                return false;
            k->p += n;
        } else if (c != '\xed') /* not necessarily a surrogate: U+D000..U+D7FF begin with it too */
            return false;
    }
}

static bool number(struct walk *k)
{
    const char *first = k->p;
    while (k->p < k->end && ((*k->p >= '0' && *k->p <= '9') || *k->p == '-' || *k->p == '+' || *k->p == '.' ||
                             *k->p == 'e' || *k->p == 'E'))
        k->p++;
    return wj_num_valid(wb_str(first, (size_t)(k->p - first)));
}

static bool word(struct walk *k, const char *word, size_t n)
{
    if ((size_t)(k->end - k->p) < n || memcmp(k->p, word, n) != 0)
        return false;
    k->p += n;
    return true;
}

static bool scalar(struct walk *k)
{
    if (byte(k, '"'))
        return string(k);
    return k->p < k->end && (*k->p == 't'   ? word(k, "true", 4)
                             : *k->p == 'f' ? word(k, "false", 5)
                             : *k->p == 'n' ? word(k, "null", 4)
                                            : number(k));
}

static bool in_object(const struct walk *k)
{
    unsigned at = k->depth - 1;
    return k->depth && k->objects[at / 64] >> at % 64 & 1;
}

static bool name(struct walk *k)
{
    return byte(k, '"') && string(k) && byte(k, ':');
}

/* Enters an array or object, up to its first value. *empty: it has none, and was left again. */
static bool enter(struct walk *k, bool object, bool *empty)
{
    unsigned at = k->depth;
    k->p++;
    if (k->depth == k->limit)
        return false;
    *empty = byte(k, object ? '}' : ']');
    if (*empty)
        return true;
    k->objects[at / 64] = (k->objects[at / 64] & ~((uint64_t)1 << at % 64)) | (uint64_t)object << at % 64;
    k->depth++;
    return !object || name(k);
}

/* After a value: moves to the next one, leaving the containers that end here. *more: there is a next value. */
static bool leave(struct walk *k, bool *more)
{
    *more = false;
    while (k->depth) {
        if (byte(k, ',')) {
            *more = true;
            return !in_object(k) || name(k);
        }
        if (!byte(k, in_object(k) ? '}' : ']'))
            return false;
        k->depth--;
    }
    return true;
}

bool wj_is_compact(struct upp_str text, const struct wj_read_opts *opts)
{
    static const struct wj_read_opts none = {.size = sizeof none};
    const struct wj_read_opts *o = opts ? opts : &none;
    bool more = text.n && text.n <= (o->max_bytes ? o->max_bytes : WJ_MAX_BYTES);
    if (!more)
        return false;
    struct walk k = {.p = text.p,
                     .end = text.p + text.n,
                     .limit = WB_MIN(o->depth ? o->depth : (unsigned)WJ_MAX_DEPTH, (unsigned)LEVELS)};
    while (more && k.p < k.end) {
        bool object = *k.p == '{', empty = true;
        if (object || *k.p == '[' ? !enter(&k, object, &empty) : !scalar(&k))
            return false;
        if (empty && !leave(&k, &more))
            return false;
    }
    return !more && k.p == k.end && wb_utf8_valid(text, NULL);
}

struct wj_compact_iter wj_compact_iter(struct upp_str compact)
{
    bool object = compact.n && compact.p[0] == '{';
    if (!object && !(compact.n && compact.p[0] == '['))
        return (struct wj_compact_iter){0};
    return (struct wj_compact_iter){.at = compact.p + 1, .end = compact.p + compact.n - 1, .object = object};
}

/* From just after the opening quote to just after the closing one. */
static const char *past_string(const char *p, const char *end)
{
    while (p < end && *p != '"') {
        p += wj_unescaped_len(p, (size_t)(end - p), true);
        if (p < end && *p != '"')
            p += *p == '\\' ? 2 : 1;
    }
    return p < end ? p + 1 : end;
}

/* To the comma after a value, or to the end of its container. */
static const char *past_value(const char *p, const char *end)
{
    size_t depth = 0;
    for (; p < end && (depth || *p != ','); p++) {
        if (*p == '"')
            p = past_string(p + 1, end) - 1;
        depth += *p == '{' || *p == '[';
        depth -= *p == '}' || *p == ']';
    }
    return p;
}

bool wj_compact_next(struct wj_compact_iter *in, struct upp_str *ret)
{
    if (in->at >= in->end)
        return false;
    const char *first = in->at, *past = in->object ? past_string(first + 1, in->end) : first;
    const char *end = past_value(past, in->end);
    *ret = in->object ? wb_str(first + 1, (size_t)(past - first - 2)) : wb_str(first, (size_t)(end - first));
    in->at = WB_MIN(end + 1, in->end);
    return true;
}
