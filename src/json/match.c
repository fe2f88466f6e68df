/* json/match.c — holding what is written against what was read. */
#include "json/match.h"

#include <endian.h>

#include "json/plain.h"
#include "json/value.h"

static bool is_elsewhere(const struct wj_match *m, const yyjson_val *v)
{
    size_t i = (size_t)(v - m->root);
    return m->elsewhere && (m->elsewhere[i / 8] >> i % 8 & 1);
}

/* ---- A text of ours --------------------------------------------------------------------------------------------- */

/* Is a value what a text says? Without reading the text. */
struct same {
    const struct wj_match *m;
    const char            *p, *end;
};

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
        size_t n = i + wj_plain(v.p + i, v.n - i, true);
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
        if ((i && !byte(s, ',')) || is_elsewhere(s->m, key + 1) || !same_string(s, wj_text(key)) || !byte(s, ':') ||
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
        if (is_elsewhere(s->m, item))
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

/* ---- What differs ----------------------------------------------------------------------------------------------- */

/* A value as it was the same. Recurses: values are at most as deep as the reader lets them be. */
static void say(struct wj_writer *w, const struct wj_match *m, yyjson_val *v)
{
    if (!unsafe_yyjson_is_ctn(v)) {
        wj_write_value(w, v);
        return;
    }
    bool object = unsafe_yyjson_is_obj(v);
    wj_write_open(w, object ? '{' : '[');
    for (yyjson_val *x = v + 1, *end = unsafe_yyjson_get_next(v); x < end; x = unsafe_yyjson_get_next(x)) {
        if (object)
            wj_write_name(w, wj_text(x++));
        if (!is_elsewhere(m, x))
            say(w, m, x);
        else if (object)
            wj_write_u64(w, 0);
    }
    wj_write_close(w, object ? '}' : ']');
}

/* What stands in an open container before `stop`: a value that is not complete, or its end. */
static void say_before(struct wj_writer *w, const struct wj_match *m, yyjson_val *container, yyjson_val *stop)
{
    bool object = unsafe_yyjson_is_obj(container);
    wj_write_open(w, object ? '{' : '[');
    for (yyjson_val *x = container + 1; x < stop; x = unsafe_yyjson_get_next(x)) {
        if (object)
            wj_write_name(w, wj_text(x++));
        if (x == stop)
            break;
        if (!is_elsewhere(m, x))
            say(w, m, x);
        else if (object)
            wj_write_u64(w, 0);
    }
}

static bool differs(struct wj_writer *w)
{
    const struct wj_match *m = w->match;
    w->match                 = NULL;
    if (!m->depth && m->at != m->value) /* a second value where one is compared */
        say(w, m, m->value);
    for (unsigned i = 0; i < m->depth; i++)
        say_before(w, m, m->open[i], i + 1 < m->depth ? m->open[i + 1] : m->at);
    return false;
}

/* ---- What has to come ------------------------------------------------------------------------------------------- */

void wj_match_begin(struct wj_match *m, struct wj_writer *w, yyjson_val *value, yyjson_val *root,
                    const uint8_t *elsewhere)
{
    m->value     = value;
    m->root      = root;
    m->elsewhere = elsewhere;
    m->at        = value;
    m->depth     = 0;
    m->named     = false;
    w->match     = m;
}

/* The end of what is open; of nothing: of the value itself. */
static yyjson_val *end_of(const struct wj_match *m)
{
    return unsafe_yyjson_get_next(m->depth ? m->open[m->depth - 1] : m->value);
}

static bool in_object(const struct wj_match *m)
{
    return m->depth && unsafe_yyjson_is_obj(m->open[m->depth - 1]);
}

/* The value that has to come; NULL: none. */
static yyjson_val *next_value(struct wj_match *m)
{
    if (m->named)
        return is_elsewhere(m, m->at) ? NULL : m->at;
    if (in_object(m))
        return NULL;
    yyjson_val *end = end_of(m);
    while (m->depth && m->at < end && is_elsewhere(m, m->at))
        m->at = unsafe_yyjson_get_next(m->at);
    return m->at < end ? m->at : NULL;
}

static bool step(struct wj_match *m, yyjson_val *to)
{
    m->at    = to;
    m->named = false;
    return true;
}

bool wj_match_open(struct wj_writer *w, char bracket)
{
    struct wj_match *m = w->match;
    yyjson_val      *v = next_value(m);
    if (!v || m->depth == WJ_MATCH_DEPTH || !(bracket == '{' ? unsafe_yyjson_is_obj(v) : unsafe_yyjson_is_arr(v)))
        return differs(w);
    m->open[m->depth++] = v;
    return step(m, v + 1);
}

bool wj_match_close(struct wj_writer *w, char bracket)
{
    struct wj_match *m = w->match;
    if (!m->depth || m->named || in_object(m) != (bracket == '}') || next_value(m) || m->at != end_of(m))
        return differs(w);
    m->depth--;
    return true;
}

bool wj_match_name(struct wj_writer *w, struct upp_str name)
{
    struct wj_match *m = w->match;
    if (m->named || !in_object(m) || m->at == end_of(m) || !wj_named(m->at, name))
        return differs(w);
    m->at++;
    m->named = true;
    return true;
}

bool wj_match_str(struct wj_writer *w, struct upp_str s)
{
    struct wj_match *m = w->match;
    yyjson_val      *v = next_value(m);
    if (!v || !unsafe_yyjson_is_str(v) || unsafe_yyjson_get_len(v) != s.n ||
        (v->uni.str != s.p && memcmp(v->uni.str, s.p, s.n) != 0))
        return differs(w);
    return step(m, v + 1);
}

bool wj_match_raw(struct wj_writer *w, const char *p, size_t n)
{
    struct wj_match *m = w->match;
    yyjson_val      *v = next_value(m);
    struct same      s = {.m = m, .p = p, .end = p + n};
    if (!v || !same_value(&s, v) || s.p != s.end)
        return differs(w);
    return step(m, unsafe_yyjson_get_next(v));
}

bool wj_match_skip(struct wj_writer *w, const yyjson_val *value)
{
    struct wj_match *m = w->match;
    if (!m->named || m->at != value || !is_elsewhere(m, value))
        return false;
    return step(m, unsafe_yyjson_get_next(m->at));
}

bool wj_match_end(struct wj_writer *w)
{
    struct wj_match *m = w->match;
    if (!m)
        return false;
    if (m->depth || m->at == m->value)
        return differs(w);
    w->match = NULL;
    return true;
}
