/* json/write.c — values to compact JSON. */
#include "json/write.h"

#include "base/utf8.h"
#include "json/match.h"
#include "json/number.h"
#include "json/string_block.h"
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
    /* Failing the buffer stops every later call without a second test in each of them. */
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
        char *to = wj_comma(w, w->out->p + w->out->n);
        wj_copy(to, p, n);
        w->out->n = (size_t)(to + n - w->out->p);
        w->comma = true;
    }
}

/* ---- Strings ------------------------------------------------------------------------------------ */

/* A string needs room for its bytes, a comma, two quotes, a colon, an escape of 6 bytes, and the part of the last block
 * beyond its end. */
enum { SLACK = 26 };

static inline char *put_unit(char *to, unsigned unit)
{
    static const char hex[] = "0123456789abcdef";
    *to++ = '\\';
    *to++ = 'u';
    for (int shift = 12; shift >= 0; shift -= 4)
        *to++ = hex[unit >> shift & 15];
    return to;
}

static inline char *put_escape(char *to, unsigned char c)
{
    static const char brief[] = "uuuuuuuubtnufruuuuuuuuuuuuuuuuuu"; /* the letter after the backslash; u: \u00XX */
    to[0] = '\\';
    to[1] = c < 0x20 ? brief[c] : (char)c;
    return c < 0x20 && brief[c] == 'u' ? put_unit(to, c) : to + 2;
}

/* How far a string was read and written; `to` NULL: the writer has failed. */
struct progress {
    const char *s;
    char *to;
};

static struct progress invalid_utf8(struct wj_writer *w, const char *s)
{
    wj_writer_fail(
        w, upp_fail(w->err, UPP_EINVALID, "expected UTF-8 in a string, found the byte 0x%02x", (unsigned char)*s));
    return (struct progress){s, NULL};
}

/* Writes the character at s that no block contains whole: a lone surrogate, one at the very end, or an invalid one. */
__attribute__((noinline)) static struct progress put_char(struct wj_writer *w, const char *s, const char *end, char *to)
{
    uint32_t c, next;
    struct upp_str rest = wb_str(s, (size_t)(end - s));
    size_t n = wb_wtf8_decode(rest, 0, &c);
    if (!n)
        return invalid_utf8(w, s);
    if (c < 0xd800 || c >= 0xe000) {
        wj_copy(to, s, n);
        return (struct progress){s + n, to + n};
    }
    if (c < 0xdc00 && wb_wtf8_decode(rest, n, &next) && next >= 0xdc00 && next < 0xe000)
        return invalid_utf8(w, s + n); /* a surrogate pair must be encoded as one character of four bytes */
    return (struct progress){s + n, put_unit(to, c)};
}

/* Ensures room for `more` bytes from `to` on. Returns `to`, moved if the buffer was; NULL: failed. */
static inline char *more_room(struct wb_buf *b, char *to, size_t more)
{
    size_t n = (size_t)(to - b->p);
    if (WB_LIKELY(b->cap - n >= more))
        return to;
    b->n = n;
    return wb_buf_reserve(b, more) ? b->p + n : NULL;
}

static inline void end_string(struct wj_writer *w, char *to, bool name)
{
    to[0] = '"';
    to[1] = ':';
    w->out->n = (size_t)(to - w->out->p) + 1 + name;
    w->comma = !name;
}

/* Writes a string from s on, and the closing quote. Copies whole blocks, then advances to the byte that needs
 * attention. */
__attribute__((always_inline)) static inline void put_rest(struct wj_writer *w, const char *s, const char *end,
                                                           char *to, bool name)
{
    while (s < end) {
        wj_block x;
        unsigned stop = 0, beyond;
        size_t n;
        for (n = (size_t)(end - s); n >= sizeof x; n -= sizeof x, s += sizeof x, to += sizeof x) {
            x = wj_block_of(s);
            memcpy(to, &x, sizeof x);
            stop = wj_block_bits(x | wj_block_escaped(x));
            if (stop)
                break;
        }
        if (!stop) {
            x = wj_block_of_few(s, n);
            memcpy(to, &x, sizeof x);
            stop = wj_block_bits(x | wj_block_escaped(x)) & ((1u << n) - 1);
        } else
            n = sizeof x;
        if (stop && (beyond = wj_block_bits(x)))
            stop &= ~wj_block_chars(x, beyond);
        if (stop)
            n = (size_t)__builtin_ctz(stop);
        s += n;
        to += n;
        if (!stop)
            continue;
        if ((unsigned char)*s < 0x80)
            to = put_escape(to, (unsigned char)*s++);
        else if (n == 0) {
            struct progress p = put_char(w, s, end, to);
            s = p.s;
            to = p.to;
        } else
            continue; /* the next block begins with this character and may contain it whole */
        if (!to || !(to = more_room(w->out, to, (size_t)(end - s) + SLACK)))
            return;
    }
    end_string(w, to, name);
}

/* Writes a string of any length. */
__attribute__((noinline)) static void put_blocks(struct wj_writer *w, const char *s, size_t n, bool name)
{
    if (n > SIZE_MAX / 2 || !wj_room(w, n + SLACK))
        return;
    char *to = wj_comma(w, w->out->p + w->out->n);
    *to++ = '"';
    put_rest(w, s, s + n, to, name);
}

enum { FEW = 2 * sizeof(wj_block) };

/* Copies at most FEW bytes, in two overlapping parts. True: none of them needs an escape. */
static inline bool put_few(char *to, const char *s, size_t n)
{
    wj_block x;
    if (n >= sizeof x) {
        wj_block y = wj_block_of(s + n - sizeof y);
        x = wj_block_of(s);
        memcpy(to, &x, sizeof x);
        memcpy(to + n - sizeof y, &y, sizeof y);
        return !wj_block_bits(x | y | wj_block_escaped(x) | wj_block_escaped(y));
    }
    if (n >= 8) {
        x = wj_block_of_two(wj_load8(s), wj_load8(s + n - 8));
        memcpy(to, s, 8);
        memcpy(to + n - 8, s + n - 8, 8);
        return !wj_block_bits(x | wj_block_escaped(x));
    }
    if (n >= 4) {
        x = wj_block_of_two(wj_load4(s) | (uint64_t)wj_load4(s + n - 4) << 32, 0);
        memcpy(to, s, 4);
        memcpy(to + n - 4, s + n - 4, 4);
        return !(wj_block_bits(x | wj_block_escaped(x)) & 0xff);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c < 0x20 || c == '"' || c == '\\' || c >= 0x80)
            return false;
        to[i] = s[i];
    }
    return true;
}

/* Fast path: most strings are short, and there is room. */
static inline void put_string(struct wj_writer *w, struct upp_str s, bool name)
{
    if (s.n <= FEW && wj_has_room(w, s.n + SLACK)) {
        char *to = wj_comma(w, w->out->p + w->out->n);
        *to++ = '"';
        if (WB_LIKELY(put_few(to, s.p, s.n))) {
            end_string(w, to + s.n, name);
            return;
        }
    }
    put_blocks(w, s.p, s.n, name);
}

/* Slow path: NULL, or comparing. */
__attribute__((noinline)) static void write_str_slow(struct wj_writer *w, struct upp_str s)
{
    if (!s.p)
        wj_write_null(w);
    else if (!wj_match_str(w, s))
        put_string(w, s, false);
}

void wj_write_str(struct wj_writer *w, struct upp_str s)
{
    if (WB_UNLIKELY(w->match) || WB_UNLIKELY(!s.p))
        write_str_slow(w, s);
    else
        put_string(w, s, false);
}

/* A surrogate may complete a pair with the bytes written before: then everything is written again. */
void wj_write_str_begun(struct wj_writer *w, struct upp_str s, size_t done, struct upp_str begun)
{
    bool whole = done < s.n && s.p[done] == '\xed';
    size_t from = (size_t)(begun.p - w->out->p);
    if (w->match || whole || s.n > SIZE_MAX / 4 || !wj_room(w, begun.n + s.n - done + SLACK)) {
        wj_write_str(w, s);
        return;
    }
    char *to = wj_comma(w, w->out->p + w->out->n);
    *to++ = '"';
    memcpy(to, w->out->p + from, begun.n);
    put_rest(w, s.p + done, s.p + s.n, to + begun.n, false);
}

__attribute__((noinline)) static void write_name_slow(struct wj_writer *w, struct upp_str name)
{
    if (!name.p)
        name = UPP_STR("");
    if (!w->match || !wj_match_name(w, name))
        put_string(w, name, true);
}

void wj_write_name(struct wj_writer *w, struct upp_str name)
{
    if (WB_UNLIKELY(w->match) || WB_UNLIKELY(!name.p))
        write_name_slow(w, name);
    else
        put_string(w, name, true);
}

void wj_write_head_by_parts(struct wj_writer *w, struct upp_str head)
{
    const char *p = head.p, *end = head.p + head.n;
    while (p < end) {
        const char *quote = *p == '"' ? memchr(p + 1, '"', (size_t)(end - p - 1)) : NULL;
        if (quote) {
            struct upp_str s = wb_str(p + 1, (size_t)(quote - p - 1));
            bool name = quote + 1 < end && quote[1] == ':';
            (name ? wj_write_name : wj_write_str)(w, s);
            p = quote + 1 + name;
        } else if (*p++ != ',')
            wj_write_open(w, p[-1]);
    }
}

/* ---- Numbers, booleans and null -------------------------------------------------------------------- */

static const char pairs_of_digits[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                      "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                      "8081828384858687888990919293949596979899";

/* The first digit is the lowest byte. */
static inline uint32_t two_digits(unsigned v)
{
    uint16_t two;
    memcpy(&two, pairs_of_digits + 2 * v, sizeof two);
    return le16toh(two);
}

__attribute__((noinline)) static void write_digits(struct wj_writer *w, uint64_t v, bool negative)
{
    char text[24], *at = text + sizeof text;
    for (; v >= 100; v /= 100)
        memcpy(at -= 2, pairs_of_digits + v % 100 * 2, 2);
    memcpy(at -= 2, pairs_of_digits + v * 2, 2);
    if (v < 10)
        at++;
    if (negative)
        *--at = '-';
    wj_write_raw(w, at, (size_t)(text + sizeof text - at));
}

void wj_write_i64(struct wj_writer *w, int64_t v)
{
    if (v < 0)
        write_digits(w, 0 - (uint64_t)v, true);
    else
        wj_write_u64(w, (uint64_t)v);
}

__attribute__((noinline)) static void write_few(struct wj_writer *w, uint32_t text, unsigned n)
{
    wj_write_raw(w, (const char *)&text, n);
}

void wj_write_u64(struct wj_writer *w, uint64_t v)
{
    if (v >= 10000) {
        write_digits(w, v, false);
        return;
    }
    /* Most numbers are small counts: formats four digits, and leaves out the leading zeros. */
    unsigned n = 1 + (v >= 10) + (v >= 100) + (v >= 1000), most = (unsigned)v / 100;
    uint32_t text = two_digits(most) | two_digits((unsigned)v - 100 * most) << 16;
    text = htole32(text >> (8 * (4 - n)));
    if (WB_UNLIKELY(w->match) || !wj_has_room(w, 1 + sizeof text)) {
        write_few(w, text, n);
        return;
    }
    char *to = wj_comma(w, w->out->p + w->out->n);
    memcpy(to, &text, sizeof text);
    w->out->n = (size_t)(to - w->out->p) + n;
    w->comma = true;
}

void wj_write_f64(struct wj_writer *w, double v)
{
    char text[WJ_NUM_MAX];
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

/* Of any depth: recurses only beyond the depth of its own stack. */
__attribute__((noinline)) static void write_container(struct wj_writer *w, yyjson_val *v)
{
    enum { LEVELS = 128 };
    struct level {
        yyjson_val *end;
        bool object;
    } levels[LEVELS];
    unsigned depth = 0;
    do {
        if (!unsafe_yyjson_is_ctn(v)) {
            write_scalar(w, v);
            v++;
        } else if (depth == LEVELS) { /* rare: one more frame for the next LEVELS levels */
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

enum { TEXT_BYTES = 512 << 20 }; /* of one value: more than any reader allows */

/* Writes into the free rest of the arena's chunk, where most values fit: saves a buffer for each of them. */
static bool write_in_place(struct wb_arena *a, yyjson_val *v, struct upp_str *ret)
{
    enum { ENOUGH = 256 }; /* to begin with */
    size_t room = a->p ? (size_t)(a->end - a->p) : 0;
    if (room < ENOUGH)
        return false;
    struct wb_buf b = {.p = a->p, .cap = room - 1, .max = room - 1}; /* room for a NUL at the end */
    if (wj_write(v, &b, NULL) < 0)
        return false;
    *ret = wb_str(a->p, b.n);
    a->p[b.n] = 0;
    a->p += b.n + 1;
    return true;
}

int wj_value_text(struct wb_arena *a, yyjson_val *v, struct upp_str *ret, struct upp_err *err)
{
    if (v && write_in_place(a, v, ret))
        return 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(TEXT_BYTES);
    int r = v ? wj_write(v, &b, err) : 0;
    if (r < 0 || !v)
        return r;
    *ret = wb_arena_dup(a, wb_buf_str(&b));
    return wb_arena_check(a, err);
}

int wj_writer_text(struct wj_writer *w, struct wb_arena *a, struct upp_str *ret)
{
    int r = wj_writer_check(w);
    if (r < 0)
        return r;
    *ret = wb_arena_dup(a, wb_buf_str(w->out));
    return wb_arena_check(a, w->err);
}
