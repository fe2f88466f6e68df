/* base/utf8.c — UTF-8 and WTF-8.
 *
 * Well-formed UTF-8, by lead byte (Unicode 15, table 3-7). WTF-8 only drops the bound after ed.
 *
 *     00..7f
 *     c2..df  80..bf
 *     e0      a0..bf  80..bf            below a0: too long a form
 *     e1..ef  80..bf  80..bf            after ed only 80..9f: the rest are surrogates
 *     f0      90..bf  80..bf  80..bf    below 90: too long a form
 *     f1..f3  80..bf  80..bf  80..bf
 *     f4      80..8f  80..bf  80..bf    above 8f: past U+10FFFF
 */
#include "base/utf8.h"

#include "base/defs.h"

static bool follows(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* A half of a pair in its three-byte form. The caller knows that three bytes are there. */
static bool is_high(const char *p)
{
    return (unsigned char)p[0] == 0xed && ((unsigned char)p[1] & 0xf0) == 0xa0;
}

static bool is_low(const char *p)
{
    return (unsigned char)p[0] == 0xed && ((unsigned char)p[1] & 0xf0) == 0xb0;
}

static inline size_t decode(const unsigned char *p, size_t n, bool halves, uint32_t *ret)
{
    if (n == 0)
        return 0;
    unsigned c = p[0];
    if (c < 0x80) {
        *ret = c;
        return 1;
    }
    if (c < 0xc2 || n < 2 || !follows(p[1]))
        return 0;
    if (c < 0xe0) {
        *ret = (c & 0x1f) << 6 | (p[1] & 0x3fu);
        return 2;
    }
    if (n < 3 || !follows(p[2]))
        return 0;
    if (c < 0xf0) {
        if ((c == 0xe0 && p[1] < 0xa0) || (c == 0xed && p[1] > 0x9f && !halves))
            return 0;
        *ret = (c & 0xf) << 12 | (p[1] & 0x3fu) << 6 | (p[2] & 0x3fu);
        return 3;
    }
    if (c > 0xf4 || n < 4 || !follows(p[3]) || (c == 0xf0 && p[1] < 0x90) || (c == 0xf4 && p[1] > 0x8f))
        return 0;
    *ret = (c & 7) << 18 | (p[1] & 0x3fu) << 12 | (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
    return 4;
}

size_t wb_utf8_decode(struct upp_str s, size_t at, uint32_t *ret)
{
    return at < s.n ? decode((const unsigned char *)s.p + at, s.n - at, false, ret) : 0;
}

size_t wb_wtf8_decode(struct upp_str s, size_t at, uint32_t *ret)
{
    return at < s.n ? decode((const unsigned char *)s.p + at, s.n - at, true, ret) : 0;
}

size_t wb_utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | c >> 6);
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | c >> 12);
        out[1] = (char)(0x80 | (c >> 6 & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    if (c > WB_CHAR_MAX)
        return 0;
    out[0] = (char)(0xf0 | c >> 18);
    out[1] = (char)(0x80 | (c >> 12 & 0x3f));
    out[2] = (char)(0x80 | (c >> 6 & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

/* From byte `at`, where the run of ASCII ends; 16 bytes a step, because most text is nothing else. */
static size_t skip_ascii(struct upp_str s, size_t at)
{
    uint64_t two[2];
    for (; s.n - at >= sizeof two; at += sizeof two) {
        memcpy(two, s.p + at, sizeof two);
        if ((two[0] | two[1]) & 0x8080808080808080u)
            break;
    }
    while (at < s.n && (unsigned char)s.p[at] < 0x80)
        at++;
    return at;
}

static bool valid(struct upp_str s, bool halves, size_t *bad)
{
    bool high = false; /* does a lone high half end at `at`? */
    size_t at = 0;
    while (at < s.n) {
        size_t ascii = skip_ascii(s, at);
        if (ascii != at) {
            high = false;
            at = ascii;
        }
        /* Text in other scripts is a run of longer characters: no look for ASCII after each. */
        while (at < s.n && (unsigned char)s.p[at] >= 0x80) {
            uint32_t c;
            size_t n = decode((const unsigned char *)s.p + at, s.n - at, halves, &c);
            if (n == 0 || (high && n == 3 && is_low(s.p + at))) {
                if (bad)
                    *bad = at;
                return false;
            }
            high = n == 3 && is_high(s.p + at);
            at += n;
        }
    }
    return true;
}

bool wb_utf8_valid(struct upp_str s, size_t *bad)
{
    return valid(s, false, bad);
}

bool wb_wtf8_valid(struct upp_str s, size_t *bad)
{
    return valid(s, true, bad);
}

size_t wb_utf8_count(struct upp_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += !follows((unsigned char)s.p[i]);
    return n;
}

size_t wb_utf16_count(struct upp_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) /* a character of four bytes is a pair */
        n += (size_t)!follows((unsigned char)s.p[i]) + ((unsigned char)s.p[i] >= 0xf0);
    return n;
}

size_t wb_utf8_cut(struct upp_str s, size_t max)
{
    if (s.n <= max)
        max = s.n;
    size_t at = max;
    while (at && max - at < 3 && follows((unsigned char)s.p[at - 1]))
        at--;
    if (at == 0)
        return max;
    unsigned char lead = (unsigned char)s.p[at - 1];
    size_t need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return max - (at - 1) < need ? at - 1 : max;
}

/* UTF-16 units of the characters that begin in 8 bytes: one for each, and one more for those of four bytes. */
static size_t units_in_8(const char *p)
{
    static const uint64_t each = 0x0101010101010101;
    uint64_t x;
    memcpy(&x, p, sizeof x);
    uint64_t high = x >> 7 & each, follow = high & ~(x >> 6), four = high & x >> 6 & x >> 5 & x >> 4;
    return (size_t)((((follow ^ each) + four) * each) >> 56);
}

/* How many at the beginning of n bytes are ASCII, in eights. */
static size_t ascii_eights(const char *p, size_t n)
{
    size_t at = 0;
    uint64_t x;
    for (; n - at >= sizeof x; at += sizeof x) {
        memcpy(&x, p + at, sizeof x);
        if (x & 0x8080808080808080)
            break;
    }
    return at;
}

size_t wb_utf16_cut(struct upp_str s, size_t max)
{
    size_t at = 0, units = 0;
    if (s.n <= max / 2)
        return s.n; /* no byte is more than two units */
    for (;;) {
        size_t n = ascii_eights(s.p + at, WB_MIN(s.n - at, max - units));
        at += n;
        units += n;
        if (s.n - at < 8 || max - units < 16)
            break;
        units += units_in_8(s.p + at);
        at += 8;
    }
    while (at && at < s.n && follows((unsigned char)s.p[at]))
        at++;
    while (at < s.n) {
        units += (unsigned char)s.p[at] >= 0xf0 ? 2 : 1;
        if (units > max)
            break;
        do
            at++;
        while (at < s.n && follows((unsigned char)s.p[at]));
    }
    return at;
}

bool wb_wtf8_lone(struct upp_str s)
{
    for (size_t at = 0; at < s.n;) {
        const char *p = memchr(s.p + at, 0xed, s.n - at);
        if (!p)
            return false;
        at = (size_t)(p - s.p) + 1;
        if (at < s.n && (unsigned char)s.p[at] >= 0xa0)
            return true;
    }
    return false;
}

bool wb_wtf8_join(struct upp_str before, struct upp_str s, char ret[4])
{
    if (before.n < 3 || s.n < 3 || !is_high(before.p + before.n - 3) || !is_low(s.p))
        return false;
    uint32_t high = 0, low = 0;
    (void)wb_wtf8_decode(before, before.n - 3, &high);
    (void)wb_wtf8_decode(s, 0, &low);
    (void)wb_utf8_encode(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), ret);
    return true;
}

void wb_wtf8_add(struct wb_buf *b, struct upp_str s)
{
    char joined[4];
    if (!wb_wtf8_join(wb_buf_str(b), s, joined)) {
        wb_buf_add(b, s);
        return;
    }
    b->n -= 3;
    if (!wb_buf_reserve(b, sizeof joined + s.n - 3)) { /* all or nothing: the half stays as it was */
        b->n += 3;
        return;
    }
    wb_buf_add(b, wb_str(joined, sizeof joined));
    wb_buf_add(b, wb_str_sub(s, 3, s.n));
}

void wb_utf8_add_clean(struct wb_buf *b, struct upp_str s)
{
    size_t from = 0, at = 0; /* s from..at is UTF-8 and not yet written */
    while (at < s.n) {
        uint32_t c;
        at = skip_ascii(s, at);
        size_t n = wb_utf8_decode(s, at, &c);
        if (n || at == s.n) {
            at += n;
            continue;
        }
        wb_buf_add(b, wb_str_sub(s, from, at - from));
        wb_buf_add(b, UPP_STR("\xef\xbf\xbd"));
        n = wb_wtf8_decode(s, at, &c);
        at += n ? n : 1;
        from = at;
    }
    wb_buf_add(b, wb_str_sub(s, from, at - from));
}
