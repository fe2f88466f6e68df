/* json/write.c — values to compact JSON. */
#include "json/write.h"

#include "base/utf8.h"
#include "json/match.h"
#include "json/number.h"
#include "json/plain.h"
#include "json/pointer.h"
#include "json/value.h"

void wj_writer_init(struct wj_writer *w, struct wb_buf *out, struct upp_err *err)
{
    *w = (struct wj_writer){.out = out, .err = err};
}

void wj_writer_fail(struct wj_writer *w, int r)
{
    if (!w->failed && !w->out->failed)
        w->failed = r;
    /* The buffer's own stickiness stops every later call, with no second test in each of them. */
    if (!w->out->failed)
        w->out->failed = r;
}

int wj_writer_check(struct wj_writer *w)
{
    return w->failed ? w->failed : wb_buf_check(w->out, w->err);
}

void wj_write_raw(struct wj_writer *w, const char *p, size_t n)
{
    if (WB_UNLIKELY(w->match) && wj_match_raw(w, p, n))
        return;
    if (wj_room(w, n + 1)) {
        char *to = w->out->p + w->out->n;
        if (w->comma)
            *to++ = ',';
        wj_copy(to, p, n);
        w->out->n = (size_t)(to + n - w->out->p);
        w->comma  = true;
    }
}

/* ---- Strings ------------------------------------------------------------------------------------ */

/* One byte that stopped the copying, at s[0] of n. How many bytes of s it took; *to moves by at most 6. */
static size_t escape(const unsigned char *s, size_t n, char **to)
{
    static const char hex[]   = "0123456789abcdef";
    static const char brief[] = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"; /* what stands after the backslash; u: \u00XX */
    char             *p       = *to;
    size_t            used    = 1;
    if (s[0] == '"' || s[0] == '\\') {
        *p++ = '\\';
        *p++ = (char)s[0];
    } else if (s[0] < 0x20) {
        *p++ = '\\';
        *p++ = brief[s[0]];
        if (brief[s[0]] == 'u') {
            *p++ = '0';
            *p++ = '0';
            *p++ = hex[s[0] >> 4];
            *p++ = hex[s[0] & 15];
        }
    } else if (s[0] == 0xed && n >= 3 && s[1] >= 0xa0) {
        unsigned unit = 0xd000 | (s[1] & 0x3fu) << 6 | (s[2] & 0x3fu);
        *p++          = '\\';
        *p++          = 'u';
        for (int shift = 12; shift >= 0; shift -= 4)
            *p++ = hex[unit >> shift & 15];
        used = 3;
    } else
        *p++ = (char)s[0]; /* 0xed of an ordinary character */
    *to = p;
    return used;
}

/* Copies bytes up to the end or to the first that must not be copied. `to` has room for all of them. */
static inline const char *copy_run(const char *s, const char *end, bool wtf8, char **to)
{
    char    *p = *to;
    uint64_t stop;
    if (end - s < 8) {
        if (end - s >= 4) { /* two halves that overlap */
            uint32_t head, tail;
            memcpy(&head, s, 4);
            memcpy(&tail, end - 4, 4);
            uint64_t x = head | (uint64_t)tail << 32;
            if (!(wtf8 ? wj_stops_wtf8(x) : wj_stops_ascii(x))) {
                memcpy(p, &head, 4);
                memcpy(p + (end - s) - 4, &tail, 4);
                *to = p + (end - s);
                return end;
            }
        }
        for (; s < end; s++) {
            unsigned char c = (unsigned char)*s;
            if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x80 && (!wtf8 || c == 0xed)))
                break;
            *p++ = *s;
        }
        *to = p;
        return s;
    }
    for (; end - s >= 16 && !wj_stop_in_16(s, wtf8); s += 16, p += 16)
        memcpy(p, s, 16);
    for (; end - s >= 8; s += 8, p += 8) {
        memcpy(p, s, 8);
        stop = wtf8 ? wj_stops_wtf8(wj_load8(s)) : wj_stops_ascii(wj_load8(s));
        if (stop)
            goto stopped;
    }
    if (s < end) { /* the last 8 bytes once more: those that are done did not stop */
        p -= 8 - (end - s);
        s = end - 8;
        memcpy(p, s, 8);
        stop = wtf8 ? wj_stops_wtf8(wj_load8(s)) : wj_stops_ascii(wj_load8(s));
        if (stop)
            goto stopped;
        s += 8;
        p += 8;
    }
    *to = p;
    return s;
stopped:
    *to = p + __builtin_ctzll(stop) / 8;
    return s + __builtin_ctzll(stop) / 8;
}

/* A string needs its bytes, two quotes, five bytes more for each escape, a comma before it and a colon after it. */
enum { SLACK = 16 };

/* The rest of a string, from a byte that stopped, and the closing quote. The buffer has room for what is left of it
 * and SLACK bytes. False when it failed. */
__attribute__((noinline)) static bool copy_rest(struct wj_writer *w, const char *s, const char *end)
{
    struct wb_buf *b    = w->out;
    char          *to   = b->p + b->n;
    bool           wtf8 = false; /* what is left of s is known to be */
    while (s < end) {
        if ((unsigned char)*s >= 0x80 && !wtf8) {
            size_t bad;
            if (!wb_wtf8_valid(wb_str(s, (size_t)(end - s)), &bad)) {
                wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "expected UTF-8 in a string, found the byte 0x%02x",
                                           (unsigned char)s[bad]));
                return false;
            }
            wtf8 = true;
        } else {
            b->n = (size_t)(to - b->p);
            if (!wj_room(w, (size_t)(end - s) + SLACK))
                return false;
            to = b->p + b->n;
            s += escape((const unsigned char *)s, (size_t)(end - s), &to);
        }
        s = copy_run(s, end, wtf8, &to);
    }
    *to++ = '"';
    b->n  = (size_t)(to - b->p);
    return true;
}

static inline bool add_string(struct wj_writer *w, struct upp_str s)
{
    if (s.n > SIZE_MAX / 2 || !wj_room(w, s.n + SLACK))
        return false;
    struct wb_buf *b  = w->out;
    char          *to = b->p + b->n;
    if (w->comma)
        *to++ = ',';
    w->comma         = true;
    *to++            = '"';
    const char *stop = copy_run(s.p, s.p + s.n, false, &to);
    if (WB_LIKELY(stop == s.p + s.n)) {
        *to++ = '"';
        b->n  = (size_t)(to - b->p);
        return true;
    }
    b->n = (size_t)(to - b->p);
    return copy_rest(w, stop, s.p + s.n);
}

void wj_write_str(struct wj_writer *w, struct upp_str s)
{
    if (!s.p)
        wj_write_null(w);
    else if (!WB_UNLIKELY(w->match) || !wj_match_str(w, s))
        (void)add_string(w, s);
}

void wj_write_name(struct wj_writer *w, struct upp_str name)
{
    if (!name.p)
        name = UPP_STR("");
    if (WB_UNLIKELY(w->match) && wj_match_name(w, name))
        return;
    if (add_string(w, name)) {
        wb_buf_addc(w->out, ':');
        w->comma = false;
    }
}

void wj_write_plain_name(struct wj_writer *w, const char *name, size_t n)
{
    if ((WB_UNLIKELY(w->match) && wj_match_name(w, wb_str(name, n))) || !wj_room(w, n + 4))
        return;
    char *to = w->out->p + w->out->n;
    if (w->comma)
        *to++ = ',';
    *to++ = '"';
    wj_copy(to, name, n);
    to += n;
    *to++     = '"';
    *to++     = ':';
    w->out->n = (size_t)(to - w->out->p);
    w->comma  = false;
}

/* ---- Numbers and words ----------------------------------------------------------------------------- */

static void write_digits(struct wj_writer *w, uint64_t v, bool negative)
{
    char text[24], *at = text + sizeof text;
    do {
        *--at = (char)('0' + v % 10);
        v /= 10;
    } while (v);
    if (negative)
        *--at = '-';
    wj_write_raw(w, at, (size_t)(text + sizeof text - at));
}

void wj_write_i64(struct wj_writer *w, int64_t v)
{
    write_digits(w, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, v < 0);
}

void wj_write_u64(struct wj_writer *w, uint64_t v)
{
    write_digits(w, v, false);
}

void wj_write_f64(struct wj_writer *w, double v)
{
    char   text[WJ_NUM_MAX];
    size_t n = wj_num_format(v, text);
    if (n == 0)
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "expected a finite number, found %f", v));
    else
        wj_write_raw(w, text, n);
}

void wj_write_num(struct wj_writer *w, struct upp_str number)
{
    if (!wj_num_valid(number)) {
        char found[WJ_QUOTED];
        wj_writer_fail(w, upp_fail(w->err, UPP_EINVALID, "expected a number as JSON writes it, found %s",
                                   wj_quote(number, found, sizeof found)));
    } else
        wj_write_raw(w, number.p, number.n);
}

void wj_write_bool(struct wj_writer *w, bool v)
{
    if (v)
        wj_write_raw(w, "true", 4);
    else
        wj_write_raw(w, "false", 5);
}

void wj_write_null(struct wj_writer *w)
{
    wj_write_raw(w, "null", 4);
}

/* ---- Values --------------------------------------------------------------------------------------- */

static void write_scalar(struct wj_writer *w, yyjson_val *v)
{
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_STR:
        wj_write_str(w, wj_text(v));
        break;
    case YYJSON_TYPE_RAW:
        wj_write_raw(w, v->uni.str, unsafe_yyjson_get_len(v));
        break;
    case YYJSON_TYPE_BOOL:
        wj_write_bool(w, unsafe_yyjson_get_bool(v));
        break;
    case YYJSON_TYPE_NULL:
        wj_write_null(w);
        break;
    default:
        wj_writer_fail(w, upp_fail(w->err, UPP_EBUG, "a value that was not made by wj_read"));
    }
    if (w->failed && !w->bad)
        w->bad = v;
}

/* Of any depth: calls itself only for what is deeper than its own stack. */
__attribute__((noinline)) static void write_container(struct wj_writer *w, yyjson_val *v)
{
    enum { LEVELS = 128 };
    struct level {
        yyjson_val *end;
        bool        object;
    } levels[LEVELS];
    unsigned depth = 0;
    do {
        if (!unsafe_yyjson_is_ctn(v)) {
            write_scalar(w, v);
            v++;
        } else if (depth == LEVELS) { /* rarely: then one more frame for the next LEVELS of them */
            write_container(w, v);
            v = unsafe_yyjson_get_next(v);
        } else {
            levels[depth] = (struct level){unsafe_yyjson_get_next(v), yyjson_is_obj(v)};
            wj_write_open(w, levels[depth].object ? '{' : '[');
            depth++;
            v++;
        }
        for (; depth && v == levels[depth - 1].end; depth--)
            wj_write_close(w, levels[depth - 1].object ? '}' : ']');
        if (depth && levels[depth - 1].object) {
            wj_write_name(w, wj_text(v));
            if (w->failed && !w->bad)
                w->bad = v;
            v++;
        }
    } while (depth && !w->out->failed);
}

void wj_write_value(struct wj_writer *w, yyjson_val *v)
{
    if (unsafe_yyjson_is_ctn(v))
        write_container(w, v);
    else
        write_scalar(w, v);
}

int wj_write(yyjson_val *v, struct wb_buf *out, struct upp_err *err)
{
    struct wj_writer w;
    wj_writer_init(&w, out, err);
    wj_write_value(&w, v);
    if (w.failed && w.bad)
        wj_pointer_err(err, v, w.bad);
    return wj_writer_check(&w);
}
