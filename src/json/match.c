/* json/match.c — compares output with a value that was read. */
#include "json/match.h"

#include <endian.h>

#include "base/err.h"
#include "json/string_block.h"
#include "json/read.h"
#include "json/value.h"

static bool is_elsewhere(const struct wj_match *m, const yyjson_val *v)
{
    size_t i = (size_t)(v - m->root);
    return m->elsewhere && (m->elsewhere[i / 8] >> i % 8 & 1);
}

/* ---- Comparison with JSON text ---------------------------------------------------------------------------------- */

/* Compares a value with JSON text, without parsing the text. */
struct same {
    const struct wj_match *m;
    const char *p, *end;
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

/* The letter of the two-character escape that the writer uses for a byte; 0: none. */
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

/* Fast path: most strings have nothing to escape, and are in the text byte for byte. A quote in the string would end it
 * early in the text, a backslash begin an escape. */
static bool same_unescaped(struct same *s, struct upp_str v)
{
    if ((size_t)(s->end - s->p) < v.n + 2 || s->p[0] != '"' || s->p[v.n + 1] != '"' || !wj_same(s->p + 1, v.p, v.n) ||
        (v.n && (memchr(v.p, '\\', v.n) || memchr(v.p, '"', v.n))))
        return false;
    s->p += v.n + 2;
    return true;
}

/* How many of 16 bytes are equal in both and need no escape. */
static size_t equal_unescaped_16(const char *p, const char *q)
{
    typedef unsigned char bytes_of __attribute__((vector_size(16)));
    typedef uint64_t words __attribute__((vector_size(16)));
    bytes_of x, y;
    memcpy(&x, p, sizeof x);
    memcpy(&y, q, sizeof y);
    bytes_of stop = (bytes_of)(x != y) | (bytes_of)(x < 0x20) | (bytes_of)(x == '"') | (bytes_of)(x == '\\') |
                    (bytes_of)(x == 0xed);
    words both = (words)stop;
    if (WB_LIKELY(!(both[0] | both[1])))
        return 16;
    return both[0] ? (size_t)__builtin_ctzll(le64toh(both[0])) / 8 : 8 + (size_t)__builtin_ctzll(le64toh(both[1])) / 8;
}

/* Length of the prefix for which that holds, in steps of 16 bytes while both have as many. */
static size_t same_run(struct same *s, const char *p, size_t n)
{
    size_t i = 0, one = 16;
    for (; one == 16 && n - i >= 16 && s->end - s->p >= 16; i += one, s->p += one)
        one = equal_unescaped_16(p + i, s->p);
    return i;
}

static bool same_string(struct same *s, struct upp_str v)
{
    if (v.n < 16 && same_unescaped(s, v))
        return true;
    if (!byte(s, '"'))
        return false;
    for (size_t i = 0; i < v.n;) {
        i += same_run(s, v.p + i, v.n - i);
        size_t n = i + wj_unescaped_len(v.p + i, v.n - i, true);
        if (!bytes(s, v.p + i, n - i))
            return false;
        i = n + 1;
        if (n == v.n)
            break;
        if (v.p[n] == '\xed' && i < v.n && (unsigned char)v.p[i] < 0xa0) { /* not a surrogate */
            if (!byte(s, v.p[n]))
                return false;
        } else if (!(escape_of(v.p[n]) && byte(s, '\\') && byte(s, escape_of(v.p[n]))))
            return false; /* other escapes need the parser */
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
    bool any = false;
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

/* Recurses: values are nested at most WD_DOC_DEPTH deep. */
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

/* ---- Building values from output that differs ------------------------------------------------------------------- */

static void push(struct wj_writer *w, yyjson_val v)
{
    struct wj_match *m = w->match;
    if (!w->out->failed && !wb_vec_push(&m->values, v, (size_t)WJ_MATCH_VALUES))
        wj_writer_fail(w, upp_fail(w->err, m->values.n < WJ_MATCH_VALUES ? UPP_ENOMEM : UPP_ELIMIT,
                                   "no room for %zu values", m->values.n + 1));
}

static void push_text(struct wj_writer *w, yyjson_type type, struct upp_str s)
{
    struct upp_str text = wb_arena_dup(&w->match->texts, s);
    yyjson_val v = {0};
    if (!text.p) {
        wj_writer_fail(w, wb_arena_check(&w->match->texts, w->err));
        return;
    }
    if (type == YYJSON_TYPE_STR)
        unsafe_yyjson_set_strn(&v, text.p, s.n);
    else
        unsafe_yyjson_set_raw(&v, text.p, s.n);
    push(w, v);
}

/* Begins a container. Its items are counted as they are written; its extent is set when it ends. */
static uint32_t push_container(struct wj_writer *w, bool object)
{
    uint32_t at = (uint32_t)w->match->values.n;
    yyjson_val v = {0};
    if (object)
        unsafe_yyjson_set_obj(&v, 0);
    else
        unsafe_yyjson_set_arr(&v, 0);
    push(w, v);
    return at;
}

static void count(struct wj_writer *w, size_t at)
{
    yyjson_val *v = w->match->values.p + at;
    if (!w->out->failed)
        unsafe_yyjson_set_len(v, unsafe_yyjson_get_len(v) + 1);
}

/* The one member that the library has no function for: it gives values only to its reader. */
static void set_extent(struct wj_writer *w, size_t at)
{
    struct wj_match *m = w->match;
    if (!w->out->failed)
        m->values.p[at].uni.ofs = (m->values.n - at) * sizeof *m->values.p;
}

static void copy_value(struct wj_writer *w, yyjson_val *v);

/* Copies what precedes `stop` in a container into the one being built at `at`. `stop` is an unfinished value or the
 * end. */
static void copy_before(struct wj_writer *w, yyjson_val *container, yyjson_val *stop, size_t at)
{
    yyjson_val zero = {0};
    unsafe_yyjson_set_raw(&zero, "0", 1);
    bool object = unsafe_yyjson_is_obj(container);
    for (yyjson_val *x = container + 1; x < stop && !w->out->failed; x = unsafe_yyjson_get_next(x)) {
        bool skip = is_elsewhere(w->match, x + object);
        if (object || !skip)
            count(w, at);
        if (object)
            push(w, *x++);
        if (x == stop)
            break;
        if (!skip)
            copy_value(w, x);
        else if (object)
            push(w, zero);
    }
}

/* Copies a value. Recurses: values are at most as deep as the reader allows. */
static void copy_value(struct wj_writer *w, yyjson_val *v)
{
    if (!unsafe_yyjson_is_ctn(v)) {
        push(w, *v);
        return;
    }
    size_t at = push_container(w, unsafe_yyjson_is_obj(v));
    copy_before(w, v, unsafe_yyjson_get_next(v), at);
    set_extent(w, at);
}

/* Switches from comparing to building values; first builds what was equal so far. False: w has failed. How much was
 * written is then unknown, so nothing more is compared. */
static bool differ(struct wj_writer *w)
{
    struct wj_match *m = w->match;
    if (m->differs || w->out->failed)
        return !w->out->failed;
    m->differs = true;
    if (!m->depth && m->at != m->value) /* a second value where one was expected */
        copy_value(w, m->value);
    for (unsigned i = 0; i < m->depth; i++) {
        bool last = i + 1 == m->depth;
        m->made[i] = push_container(w, unsafe_yyjson_is_obj(m->open[i]));
        copy_before(w, m->open[i], last ? m->at : m->open[i + 1], m->made[i]);
        if (!last && unsafe_yyjson_is_arr(m->open[i]))
            count(w, m->made[i]);
    }
    m->due = m->named;
    if (m->named) {
        m->like = is_elsewhere(m, m->at) ? NULL : m->at;
        m->at = unsafe_yyjson_get_next(m->at);
    }
    m->named = m->object = false;
    return !w->out->failed;
}

/* Counts a value that is about to be written. Returns its counterpart in the value that was read; NULL: none. */
static yyjson_val *next_counterpart(struct wj_writer *w)
{
    struct wj_match *m = w->match;
    yyjson_val *like = NULL, *list = m->depth ? m->open[m->depth - 1] : NULL;
    if (m->due) {
        m->due = false;
        return m->like;
    }
    if (m->depth)
        count(w, m->made[m->depth - 1]);
    if (!list)
        return NULL;
    yyjson_val *end = unsafe_yyjson_get_next(list);
    while (m->at < end && is_elsewhere(m, m->at))
        m->at = unsafe_yyjson_get_next(m->at);
    if (m->at < end) {
        like = m->at;
        m->at = unsafe_yyjson_get_next(like);
    }
    return like;
}

__attribute__((noinline)) static bool build_open(struct wj_writer *w, char bracket)
{
    if (!differ(w))
        return false;
    struct wj_match *m = w->match;
    bool object = bracket == '{';
    yyjson_val *like = next_counterpart(w);
    if (m->depth == WJ_MATCH_DEPTH) {
        wj_writer_fail(w, upp_fail(w->err, UPP_ELIMIT, "values nested deeper than %d", WJ_MATCH_DEPTH));
        return false;
    }
    if (like && !(object ? unsafe_yyjson_is_obj(like) : unsafe_yyjson_is_arr(like)))
        like = NULL;
    if (like)
        m->at = like + 1;
    m->open[m->depth] = like;
    m->made[m->depth++] = push_container(w, object);
    return true;
}

__attribute__((noinline)) static bool build_close(struct wj_writer *w)
{
    if (!differ(w))
        return false;
    struct wj_match *m = w->match;
    if (!m->depth) {
        wj_writer_fail(w, upp_fail(w->err, UPP_EBUG, "the end of what was not begun"));
        return false;
    }
    m->depth--;
    set_extent(w, m->made[m->depth]);
    if (m->open[m->depth])
        m->at = unsafe_yyjson_get_next(m->open[m->depth]);
    return true;
}

/* The member of that name in the innermost open object; most come in order. NULL: none. */
static yyjson_val *member_like(const struct wj_match *m, struct upp_str name)
{
    yyjson_val *object = m->depth ? m->open[m->depth - 1] : NULL;
    if (!object)
        return NULL;
    if (m->at < unsafe_yyjson_get_next(object) && wj_named(m->at, name))
        return m->at;
    yyjson_val *key = object + 1;
    for (size_t n = WB_MIN(unsafe_yyjson_get_len(object), (size_t)WJ_MATCH_NAMES); n;
         n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name))
            return key;
    return NULL;
}

__attribute__((noinline)) static bool build_name(struct wj_writer *w, struct upp_str name)
{
    if (!differ(w))
        return false;
    struct wj_match *m = w->match;
    yyjson_val *key = member_like(m, name);
    if (m->depth)
        count(w, m->made[m->depth - 1]);
    m->due = true;
    m->like = key && !is_elsewhere(m, key + 1) ? key + 1 : NULL;
    if (!key) {
        push_text(w, YYJSON_TYPE_STR, name);
        return true;
    }
    m->at = unsafe_yyjson_get_next(key + 1);
    push(w, *key);
    return true;
}

static bool is_string(yyjson_val *v, struct upp_str s)
{
    return unsafe_yyjson_is_str(v) && unsafe_yyjson_get_len(v) == s.n &&
           (v->uni.str == s.p || memcmp(v->uni.str, s.p, s.n) == 0);
}

__attribute__((noinline)) static bool build_str(struct wj_writer *w, struct upp_str s)
{
    if (!differ(w))
        return false;
    yyjson_val *like = next_counterpart(w);
    if (like && is_string(like, s))
        push(w, *like);
    else
        push_text(w, YYJSON_TYPE_STR, s);
    return true;
}

static bool is_digits(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[i] >= '0' && p[i] <= '9')
        i++;
    return n && i == n;
}

__attribute__((noinline)) static bool build_raw(struct wj_writer *w, const char *p, size_t n)
{
    if (!differ(w))
        return false;
    struct wj_match *m = w->match;
    yyjson_val *like = next_counterpart(w), *v = NULL;
    struct same s = {.m = m, .p = p, .end = p + n};
    if (like && same_value(&s, like) && s.p == s.end) {
        copy_value(w, like);
        return true;
    }
    if (is_digits(p, n)) {
        push_text(w, YYJSON_TYPE_RAW, wb_str(p, n));
        return true;
    }
    const struct wj_read_opts opts = {
        .size = sizeof opts, .max_bytes = WJ_MATCH_BYTES, .depth = WJ_MATCH_DEPTH + 1 - m->depth};
    int r = wj_read(&m->texts, wb_str(p, n), &opts, &v, w->err);
    if (r < 0)
        wj_writer_fail(w, r);
    else
        for (yyjson_val *end = unsafe_yyjson_get_next(v); v < end; v++) /* none of it is elsewhere */
            push(w, *v);
    return r >= 0;
}

/* ---- Comparing -------------------------------------------------------------------------------------------------- */

void wj_match_begin(struct wj_match *m, struct wj_writer *w, yyjson_val *value, yyjson_val *root,
                    const uint8_t *elsewhere)
{
    m->value = value;
    m->root = root;
    m->elsewhere = elsewhere;
    m->at = value;
    m->end = unsafe_yyjson_get_next(value);
    m->depth = 0;
    m->object = false;
    m->named = false;
    m->due = false;
    m->values.n = 0;
    m->texts.max = WJ_MATCH_BYTES;
    if (m->differs)
        wb_arena_reset(&m->texts);
    m->differs = false;
    w->match = m;
}

void wj_match_done(struct wj_match *m)
{
    wb_vec_done(&m->values);
    wb_arena_done(&m->texts);
}

/* The value expected next; NULL: none. */
static yyjson_val *next_value(struct wj_match *m)
{
    if (m->named)
        return is_elsewhere(m, m->at) ? NULL : m->at;
    if (m->object || m->differs)
        return NULL;
    while (m->depth && m->at < m->end && is_elsewhere(m, m->at))
        m->at = unsafe_yyjson_get_next(m->at);
    return m->at < m->end ? m->at : NULL;
}

static bool step(struct wj_match *m, yyjson_val *to)
{
    m->at = to;
    m->named = false;
    return true;
}

bool wj_match_open(struct wj_writer *w, char bracket)
{
    struct wj_match *m = w->match;
    yyjson_val *v = next_value(m);
    if (!v || m->depth == WJ_MATCH_DEPTH || !(bracket == '{' ? unsafe_yyjson_is_obj(v) : unsafe_yyjson_is_arr(v)))
        return build_open(w, bracket);
    m->open[m->depth++] = v;
    m->end = unsafe_yyjson_get_next(v);
    m->object = bracket == '{';
    return step(m, v + 1);
}

bool wj_match_close(struct wj_writer *w, char bracket)
{
    struct wj_match *m = w->match;
    if (m->differs || !m->depth || m->named || m->object != (bracket == '}') || next_value(m) || m->at != m->end)
        return build_close(w);
    yyjson_val *parent = --m->depth ? m->open[m->depth - 1] : NULL;
    m->end = unsafe_yyjson_get_next(parent ? parent : m->value);
    m->object = parent && unsafe_yyjson_is_obj(parent);
    return true;
}

bool wj_match_name(struct wj_writer *w, struct upp_str name)
{
    struct wj_match *m = w->match;
    if (!m->object || m->named || m->at == m->end || !wj_named(m->at, name))
        return build_name(w, name);
    m->at++;
    m->named = true;
    return true;
}

bool wj_match_str(struct wj_writer *w, struct upp_str s)
{
    struct wj_match *m = w->match;
    yyjson_val *v = m->named ? m->at : next_value(m); /* a value that is elsewhere is never a string */
    return v && is_string(v, s) ? step(m, v + 1) : build_str(w, s);
}

bool wj_match_same(struct wj_writer *w, struct upp_str json)
{
    struct wj_match *m = w->match;
    yyjson_val *v = next_value(m);
    struct same s = {.m = m, .p = json.p, .end = json.p + json.n};
    return v && same_value(&s, v) && s.p == s.end && step(m, unsafe_yyjson_get_next(v));
}

bool wj_match_raw(struct wj_writer *w, const char *p, size_t n)
{
    return wj_match_same(w, wb_str(p, n)) || build_raw(w, p, n);
}

bool wj_match_skip(struct wj_writer *w, const yyjson_val *value)
{
    struct wj_match *m = w->match;
    if (!m->named || m->at != value || !is_elsewhere(m, value))
        return false;
    return step(m, unsafe_yyjson_get_next(m->at));
}

yyjson_val *wj_match_end(struct wj_writer *w)
{
    struct wj_match *m = w->match;
    if (!m)
        return NULL;
    bool whole =
        !m->depth && (m->differs ? m->values.n && unsafe_yyjson_get_next(m->values.p) == m->values.p + m->values.n
                                 : m->at != m->value);
    w->match = NULL;
    if (!whole && !w->out->failed)
        wj_writer_fail(w, upp_fail(w->err, UPP_EBUG, "expected one value to be written"));
    return w->out->failed ? NULL : m->differs ? m->values.p : m->value;
}
