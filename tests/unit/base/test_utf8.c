#include "base/utf8.h"

#include "base/defs.h"
#include "support/test.h"

#define HIGH "\xed\xa0\xbd" /* U+D83D */
#define LOW  "\xed\xb8\x80" /* U+DE00 */
#define PAIR "\xf0\x9f\x98\x80"

/* The reference: what an encoder can have written, and nothing else. */
static bool reference(const unsigned char *p, size_t n, bool halves)
{
    bool high = false;
    while (n) {
        unsigned len = p[0] < 0x80 ? 1 : p[0] >= 0xc0 && p[0] < 0xe0 ? 2 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : 4;
        char again[4];
        uint32_t c = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));
        if (len > n || (len == 4 && (p[0] < 0xf0 || p[0] > 0xf7)))
            return false;
        for (unsigned i = 1; i < len; i++)
            c = c << 6 | (p[i] & 0x3f);
        bool half = c >= 0xd800 && c < 0xe000, low = half && c >= 0xdc00;
        if (wb_utf8_encode(c, again) != len || memcmp(again, p, len) != 0 || (half && !halves) || (high && low))
            return false;
        high = half && !low;
        p += len, n -= len;
    }
    return true;
}

/* Judged as the reference does. The note is made only for a failure: there are millions of cases. */
static bool agrees(const unsigned char *p, size_t n)
{
    struct upp_str s = wb_str((const char *)p, n);
    bool ok = wb_utf8_valid(s, NULL) == reference(p, n, false);
    ok = ok && wb_wtf8_valid(s, NULL) == reference(p, n, true);
    if (!ok)
        test_note("%zu bytes of %02x %02x %02x %02x", n, p[0], p[1], p[2], p[3]);
    return ok;
}

static bool round_trips(uint32_t c)
{
    char out[4];
    uint32_t strict = 0, wide = 0;
    size_t n = wb_utf8_encode(c, out);
    struct upp_str s = wb_str(out, n);
    bool half = c >= 0xd800 && c < 0xe000;
    if (!EXPECT(n == (c < 0x80      ? 1u
                      : c < 0x800   ? 2u
                      : c < 0x10000 ? 3u
                                    : 4u)) ||
        !EXPECT(wb_wtf8_decode(s, 0, &wide) == n && wide == c) ||
        !EXPECT(wb_utf8_decode(s, 0, &strict) == (half ? 0 : n) && strict == (half ? 0 : c)) ||
        !EXPECT(wb_utf8_valid(s, NULL) == !half && wb_wtf8_valid(s, NULL) && wb_wtf8_lone(s) == half) ||
        !EXPECT(wb_utf8_count(s) == 1 && wb_utf16_count(s) == (c > 0xffff ? 2u : 1u)))
        return false;
    for (size_t cut = 1; cut < n; cut++) /* a part of a character is none */
        if (!EXPECT(wb_wtf8_decode(wb_str(out, cut), 0, &wide) == 0) || !EXPECT(wb_utf8_cut(s, cut) == 0))
            return false;
    return true;
}

TEST_WITH(utf8_every_character_round_trips, .no_torture = "it calls no hook")
{
    char out[4];
    for (uint32_t c = 0; c <= WB_CHAR_MAX; c++)
        if (!round_trips(c)) {
            test_note("U+%04X", c);
            CHECK(round_trips(c));
        }
    CHECK(wb_utf8_encode(WB_CHAR_MAX + 1, out) == 0 && wb_utf8_encode(UINT32_MAX, out) == 0);
}

TEST_WITH(utf8_every_short_sequence_is_judged_right, .no_torture = "it calls no hook")
{
    unsigned char p[4] = {0};
    const unsigned stride = test_times("WEFT_SEQUENCES", 8) == 8 ? 1 : 7;
    for (unsigned v = 0; v < 1u << 24; v += stride) {
        p[0] = (unsigned char)(v >> 16), p[1] = (unsigned char)(v >> 8), p[2] = (unsigned char)v;
        CHECK(agrees(p, 3));
        if (p[2] < stride)
            CHECK(agrees(p, 2) && agrees(p, 1));
    }
    static const unsigned char edge[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff};
    for (unsigned v = 0xec00; v < 0x10000; v++)
        for (size_t i = 0; i < WB_LEN(edge) * WB_LEN(edge); i++) {
            p[0] = (unsigned char)(v >> 8), p[1] = (unsigned char)v;
            p[2] = edge[i / WB_LEN(edge)], p[3] = edge[i % WB_LEN(edge)];
            CHECK(agrees(p, 4));
        }
}

TEST(utf8_says_where_it_breaks)
{
    char text[64];
    for (size_t at = 0; at < sizeof text; at++) { /* at every place of the 16-byte steps */
        static const char bad[] = {(char)0x80, (char)0xc0, (char)0xed, (char)0xf5, (char)0xff};
        for (size_t k = 0; k < sizeof bad; k++) {
            size_t got = 99;
            memset(text, 'x', sizeof text);
            text[at] = bad[k];
            CHECK(!wb_utf8_valid(wb_str(text, sizeof text), &got) && got == at);
            CHECK(!wb_wtf8_valid(wb_str(text, sizeof text), &got) && got == at);
        }
    }
    size_t bad = 99;
    CHECK(!wb_wtf8_valid(UPP_STR("ab" HIGH LOW), &bad) && bad == 5);
    CHECK(!wb_wtf8_valid(UPP_STR(LOW HIGH HIGH LOW), &bad) && bad == 9);
    CHECK(!wb_utf8_valid(UPP_STR("ab" HIGH), &bad) && bad == 2);
    CHECK(!wb_utf8_valid(UPP_STR("\xe2\x82\xac\xe2\x82"), &bad) && bad == 3);
    CHECK(wb_wtf8_valid(UPP_STR(HIGH "x" LOW LOW PAIR LOW HIGH HIGH), &bad));
    CHECK(wb_utf8_valid((struct upp_str){0}, &bad) && wb_wtf8_valid(UPP_STR(""), NULL));
    CHECK(wb_utf8_valid(UPP_STR("a\0b"), NULL)); /* NUL is a character */
}

TEST(utf8_cuts_between_characters)
{
    struct upp_str s = UPP_STR("a\xc3\xa4" PAIR HIGH "z"); /* 1 + 2 + 4 + 3 + 1 bytes, 1 + 1 + 2 + 1 + 1 units */
    static const struct {
        size_t max, bytes, units; /* of at most max bytes; of at most max units */
    } cases[] = {{0, 0, 0},  {1, 1, 1},  {2, 1, 3},  {3, 3, 3},    {4, 3, 7},    {5, 3, 10},
                 {6, 3, 11}, {7, 7, 11}, {9, 7, 11}, {10, 10, 11}, {11, 11, 11}, {99, 11, 11}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%zu", cases[i].max);
        CHECK_INT(wb_utf8_cut(s, cases[i].max), cases[i].bytes);
        CHECK_INT(wb_utf16_cut(s, cases[i].max), cases[i].units);
    }
    CHECK_INT(wb_utf8_count(s), 5);
    CHECK_INT(wb_utf16_count(s), 6);
    CHECK_INT(wb_utf16_cut(UPP_STR("\x80\x80"), 1), 2); /* nonsense in, but inside */
    CHECK_INT(wb_utf16_cut(UPP_STR("a\xf0"), 2), 1);
}

/* As one who counts a character at a time. */
static size_t cut_slowly(struct upp_str s, size_t max)
{
    size_t at = 0, units = 0;
    while (at < s.n) {
        size_t n = (unsigned char)s.p[at] < 0x80   ? 1
                   : (unsigned char)s.p[at] < 0xe0 ? 2
                   : (unsigned char)s.p[at] < 0xf0 ? 3
                                                   : 4;
        units += n == 4 ? 2 : 1;
        if (units > max)
            break;
        at += n;
    }
    return at;
}

TEST(utf16_cuts_long_texts_at_every_length)
{
    static const char *const words[] = {"plain ", "\xc3\xa4", "\xe2\x82\xac", PAIR, "x", HIGH};
    char text[200];
    for (size_t k = 0; k < WB_LEN(words); k++) {
        size_t n = 0;
        for (size_t i = k; n < 120; i = i * 5 + k + 1) {
            size_t more = strlen(words[i % WB_LEN(words)]);
            memcpy(text + n, words[i % WB_LEN(words)], more);
            n += more;
        }
        for (size_t max = 0; max <= 130; max++) {
            test_note("%zu, %zu units", k, max);
            CHECK_INT(wb_utf16_cut(wb_str(text, n), max), cut_slowly(wb_str(text, n), max));
        }
    }
}

TEST(utf8_pieces_of_a_stream_join)
{
    /* Every way to cut a text of units in three: what is joined is the text. */
    static const char *const units[] = {"a", HIGH, LOW, HIGH, "\xc3\xa4", HIGH, LOW, LOW};
    struct upp_str want = UPP_STR("a" PAIR HIGH "\xc3\xa4" PAIR LOW);
    size_t n = WB_LEN(units);
    for (size_t i = 0; i <= n; i++)
        for (size_t k = i; k <= n; k++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf whole = WB_BUF(64);
            for (size_t piece = 0; piece < 3; piece++) {
                WB_CLEANUP(wb_buf_done) struct wb_buf part = WB_BUF(64);
                size_t from = piece == 0 ? 0 : piece == 1 ? i : k;
                size_t to = piece == 0 ? i : piece == 1 ? k : n;
                for (size_t u = from; u < to; u++)
                    wb_wtf8_add(&part, wb_cstr(units[u]));
                CHECK(wb_buf_check(&part, NULL) == 0);
                CHECK(wb_wtf8_valid(wb_buf_str(&part), NULL));
                wb_wtf8_add(&whole, wb_buf_str(&part));
            }
            CHECK(wb_buf_check(&whole, NULL) == 0);
            CHECK_STR(wb_buf_str(&whole), want);
        }
}

TEST(utf8_joining_is_all_or_nothing)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(5);
    wb_wtf8_add(&b, UPP_STR("x" HIGH));
    wb_wtf8_add(&b, UPP_STR(LOW "y"));
    ALWAYS(b.failed && (b.n == 0 || wb_str_eq(wb_buf_str(&b), UPP_STR("x" HIGH))));
    wb_buf_clear(&b);
    wb_wtf8_add(&b, UPP_STR("x" HIGH));
    wb_wtf8_add(&b, UPP_STR(LOW));
    CHECK(!b.failed);
    CHECK_STR(wb_buf_str(&b), UPP_STR("x" PAIR)); /* exactly the maximum */
}

TEST(utf8_clean_for_those_who_want_utf8)
{
    static const struct {
        struct upp_str in, out;
    } cases[] = {
        {UPP_STR_INIT(""), UPP_STR_INIT("")},
        {UPP_STR_INIT("plain " PAIR), UPP_STR_INIT("plain " PAIR)},
        {UPP_STR_INIT(HIGH), UPP_STR_INIT("\xef\xbf\xbd")},
        {UPP_STR_INIT("a" LOW "b" HIGH), UPP_STR_INIT("a\xef\xbf\xbd"
                                                      "b\xef\xbf\xbd")},
        {UPP_STR_INIT("a\xff\xc3"), UPP_STR_INIT("a\xef\xbf\xbd\xef\xbf\xbd")},
        {UPP_STR_INIT("\xf0\x9f\x98"), UPP_STR_INIT("\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd")},
        {UPP_STR_INIT("0123456789abcdef0123456789abcdef\x80"),
         UPP_STR_INIT("0123456789abcdef0123456789abcdef\xef\xbf\xbd")},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
        test_note("case %zu", i);
        wb_utf8_add_clean(&b, cases[i].in);
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK_STR(wb_buf_str(&b), cases[i].out);
    }
}
