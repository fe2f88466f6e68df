#include "json/write.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

TEST(json_write_puts_commas_and_escapes)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err;
    struct wj_writer w;
    wj_writer_init(&w, &b, &err);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("a\"b"));
    wj_write_str(&w, UPP_STR("\b\t\n\f\r\x1b\0\x7f/\\"));
    wj_write_name(&w, UPP_STR(""));
    wj_write_open(&w, '[');
    wj_write_i64(&w, INT64_MIN);
    wj_write_i64(&w, 0);
    wj_write_u64(&w, UINT64_MAX);
    wj_write_f64(&w, 0.1);
    wj_write_f64(&w, 1.0);
    wj_write_f64(&w, -DBL_MAX);
    wj_write_num(&w, UPP_STR("1.50E+3"));
    wj_write_bool(&w, true);
    wj_write_bool(&w, false);
    wj_write_null(&w);
    wj_write_str(&w, (struct upp_str){0});
    wj_write_open(&w, '{');
    wj_write_close(&w, '}');
    wj_write_open(&w, '[');
    wj_write_close(&w, ']');
    wj_write_close(&w, ']');
    wj_write_name(&w, UPP_STR("last"));
    wj_write_str(&w, UPP_STR(""));
    wj_write_close(&w, '}');
    CHECK(wj_writer_check(&w) == 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("{\"a\\\"b\":\"\\b\\t\\n\\f\\r\\u001b\\u0000\x7f/\\\\\",\"\":[-9223372036854775808,0,"
                      "18446744073709551615,0.1,1.0,-1.7976931348623157e308,1.50E+3,true,false,null,null,{},[]],"
                      "\"last\":\"\"}"));
}

/* A list of two, each of which begins so: at once, and by parts. */
TEST(json_write_puts_a_head_at_once)
{
    static const struct {
        struct upp_str head, list;
    } cases[] = {
        {UPP_STR_INIT("{\"a\":"), UPP_STR_INIT("[{\"a\":null},{\"a\":null}]")},
        {UPP_STR_INIT("{\"\":\"b,c\",\"d\":"), UPP_STR_INIT("[{\"\":\"b,c\",\"d\":null},{\"\":\"b,c\",\"d\":null}]")},
        {UPP_STR_INIT("{\"a\":{\"b\":\"\",\"c\":"),
         UPP_STR_INIT("[{\"a\":{\"b\":\"\",\"c\":null},{\"a\":{\"b\":\"\",\"c\":null}]")},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++)
        for (int by_parts = 0; by_parts < 2; by_parts++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
            struct upp_err err;
            struct wj_writer w;
            wj_writer_init(&w, &b, &err);
            wj_write_open(&w, '[');
            for (int n = 0; n < 2; n++) {
                (by_parts ? wj_write_head_by_parts : wj_write_head)(&w, cases[i].head);
                wj_write_null(&w);
                wj_write_close(&w, '}');
            }
            wj_write_close(&w, ']');
            CHECK(wj_writer_check(&w) == 0);
            CHECK_STR(wb_buf_str(&b), cases[i].list);
        }
}

/* What copies 16, 8 or 4 bytes at once must see every byte at every place: each special one, at each place, in strings
 * of every length around those sizes. The source ends where its memory ends. */
/* Whatever was written of it before, and wherever: it is what it would be. */
TEST(json_write_goes_on_with_what_was_begun)
{
    static const struct upp_str text = UPP_STR_INIT("A text\n of \"some\" length, na\xc3\xafve \xf0\x9f\x98\x80 "
                                                    "\xed\xa0\xbd, \xed\x9f\xbf and more\\ than a block of it");
    for (size_t done = 0; done <= text.n; done++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20), whole = WB_BUF(1u << 20);
        struct upp_err err;
        struct wj_writer w, all;
        if (done < text.n && ((unsigned char)text.p[done] & 0xc0) == 0x80)
            continue; /* within a character */
        wj_writer_init(&w, &b, &err);
        wj_writer_init(&all, &whole, &err);
        wj_write_open(&w, '[');
        wj_write_open(&all, '[');
        wj_write_str(&w, wb_str_sub(text, 0, done));
        wj_write_str(&all, wb_str_sub(text, 0, done));
        wj_write_str_begun(&w, text, done, wb_str(b.p + 2, b.n - 3));
        wj_write_str(&all, text);
        wj_write_close(&w, ']');
        wj_write_close(&all, ']');
        CHECK_INT(wj_writer_check(&w), 0);
        CHECK_INT(wj_writer_check(&all), 0);
        CHECK_STR(wb_buf_str(&b), wb_buf_str(&whole));
    }
}

TEST_WITH(json_write_sees_every_byte_at_every_place, .no_torture = "nothing but many strings")
{
    static const struct {
        struct upp_str in, out;
    } special[] = {
        {UPP_STR_INIT("x"), UPP_STR_INIT("x")},
        {UPP_STR_INIT("\""), UPP_STR_INIT("\\\"")},
        {UPP_STR_INIT("\\"), UPP_STR_INIT("\\\\")},
        {UPP_STR_INIT("\0"), UPP_STR_INIT("\\u0000")},
        {UPP_STR_INIT("\x1f"), UPP_STR_INIT("\\u001f")},
        {UPP_STR_INIT("\n"), UPP_STR_INIT("\\n")},
        {UPP_STR_INIT(" "), UPP_STR_INIT(" ")},
        {UPP_STR_INIT("\x7f"), UPP_STR_INIT("\x7f")},
        {UPP_STR_INIT("\xc3\xa9"), UPP_STR_INIT("\xc3\xa9")},
        {UPP_STR_INIT("\xe2\x80\xa8"), UPP_STR_INIT("\xe2\x80\xa8")},
        {UPP_STR_INIT("\xed\x9f\xbf"), UPP_STR_INIT("\xed\x9f\xbf")},
        {UPP_STR_INIT("\xed\xa0\xbd"), UPP_STR_INIT("\\ud83d")},
        {UPP_STR_INIT("\xed\xbf\xbf"), UPP_STR_INIT("\\udfff")},
        {UPP_STR_INIT("\xf0\x9f\x98\x80"), UPP_STR_INIT("\xf0\x9f\x98\x80")},
        {UPP_STR_INIT("\xc3\xa9\""), UPP_STR_INIT("\xc3\xa9\\\"")},
        {UPP_STR_INIT("\xc3\xa9\\\xed\xa0\x80\x01"), UPP_STR_INIT("\xc3\xa9\\\\\\ud800\\u0001")},
    };
    for (size_t k = 0; k < WB_LEN(special); k++)
        for (size_t n = 0; n < 40; n++)
            for (size_t at = 0; at <= n; at++) {
                WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 10), want = WB_BUF(1u << 10);
                size_t len = n + special[k].in.n;
                char *s = malloc(len);
                struct wj_writer w;
                if (!s)
                    abort();
                memset(s, 'a', len);
                memcpy(s + at, special[k].in.p, special[k].in.n);
                wj_writer_init(&w, &b, NULL);
                wj_write_str(&w, wb_str(s, len));
                free(s);
                wb_buf_addf(&want, "\"%.*s", (int)at, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
                wb_buf_add(&want, special[k].out);
                wb_buf_addf(&want, "%.*s\"", (int)(n - at), "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
                test_note("special %zu at %zu of %zu", k, at, n);
                CHECK(wj_writer_check(&w) == 0);
                CHECK_STR(wb_buf_str(&b), wb_buf_str(&want));
            }
}

/* ---- Beside a writer that takes one byte at a time ------------------------------------------- */

/* Length and code of the character of WTF-8 at p. 0: it is none. */
static size_t one_char(const unsigned char *p, size_t n, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t len = p[0] < 0x80 ? 1 : p[0] < 0xc0 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (len == 0 || len > n || p[0] >= 0xf8)
        return 0;
    *code = len == 1 ? p[0] : p[0] & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if (p[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (p[i] & 0x3fu);
    }
    return *code >= least[len] && *code <= 0x10ffff ? len : 0;
}

/* The string as JSON. Returns the byte at which it is none, or -1. */
static int plainly(struct upp_str s, struct wb_buf *out)
{
    bool high = false;
    uint32_t c = 0;
    wb_buf_addc(out, '"');
    for (size_t i = 0, n; i < s.n; i += n) {
        n = one_char((const unsigned char *)s.p + i, s.n - i, &c);
        bool low = n && c >= 0xdc00 && c < 0xe000;
        if (n == 0 || (high && low))
            return (unsigned char)s.p[i];
        high = c >= 0xd800 && c < 0xdc00;
        const char *brief = c && c < 0x80 ? strchr("\bb\tt\nn\ff\rr\"\"\\\\", (int)c) : NULL;
        if (brief && (c < 0x20 || c == '"' || c == '\\'))
            wb_buf_addf(out, "\\%c", brief[1]);
        else if (c < 0x20 || high || low)
            wb_buf_addf(out, "\\u%04x", c);
        else
            wb_buf_add(out, wb_str(s.p + i, n));
    }
    wb_buf_addc(out, '"');
    return -1;
}

/* The text, as a name and as a value, at the end of its memory; the buffers are used again. */
static void check_plainly(struct upp_str text, struct wb_buf *b, struct wb_buf *want)
{
    struct upp_err err = {0};
    struct wj_writer w;
    char *s = malloc(text.n + !text.n);
    if (!s)
        abort();
    memcpy(s, text.p, text.n);
    wb_buf_clear(b);
    wb_buf_clear(want);
    wj_writer_init(&w, b, &err);
    wj_write_open(&w, '{');
    wj_write_name(&w, wb_str(s, text.n));
    wj_write_str(&w, wb_str(s, text.n));
    wj_write_close(&w, '}');
    free(s);

    wb_buf_addc(want, '{');
    int bad = plainly(text, want);
    wb_buf_addc(want, ':');
    if (bad < 0) {
        (void)plainly(text, want);
        wb_buf_addc(want, '}');
        CHECK_INT(wj_writer_check(&w), 0);
        CHECK_STR(wb_buf_str(b), wb_buf_str(want));
    } else {
        char msg[64];
        (void)snprintf(msg, sizeof msg, "expected UTF-8 in a string, found the byte 0x%02x", (unsigned)bad);
        CHECK_INT(wj_writer_check(&w), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(msg));
    }
}

/* `before` times the filler, `in`, `after` times the filler. */
static void check_between(struct upp_str filler, size_t before, struct upp_str in, size_t after, struct wb_buf *b,
                          struct wb_buf *want)
{
    char text[512];
    size_t n = 0;
    for (size_t i = 0; i <= before + after; i++) {
        struct upp_str piece = i == before ? in : filler;
        memcpy(text + n, piece.p, piece.n);
        n += piece.n;
    }
    test_note("0x%02x of %zu after %zu x 0x%02x, before %zu", (unsigned char)in.p[0], in.n, before,
              (unsigned char)filler.p[0], after);
    check_plainly(wb_str(text, n), b, want);
}

static const size_t afters[] = {0, 1, 2, 3, 4, 8, 15, 16, 33};

TEST_WITH(json_write_takes_each_byte_as_one_at_a_time_does, .no_torture = "nothing but many strings")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 12), want = WB_BUF(1u << 12);
    for (int c = 0; c < 256; c++)
        for (size_t before = 0; before <= 40; before++)
            for (size_t k = 0; k < WB_LEN(afters); k++)
                check_between(UPP_STR("a"), before, wb_str((const char[]){(char)c}, 1), afters[k], &b, &want);
}

TEST_WITH(json_write_takes_each_sequence_as_one_at_a_time_does, .no_torture = "nothing but many strings")
{
    static const char *const filler[] = {"a", "\"", "\xc3\xa9", "\xe3\x81\x82", "\xf0\x9f\x98\x80"};
    static const char *const in[] = {
        "\xc3\xa9",
        "\xdf\xbf",
        "\xc2\x80",
        "\xe0\xa0\x80",
        "\xe0\xb8\x81",
        "\xed\x9f\xbf",
        "\xee\x80\x80",
        "\xef\xbf\xbf",
        "\xf0\x90\x80\x80",
        "\xf3\xbf\xbf\xbf",
        "\xf4\x80\x80\x80",
        "\xf4\x8f\xbf\xbf",
        "\xed\xa0\x80",
        "\xed\xbf\xbf",
        "\xed\xbf\xbf\xed\xa0\x80",
        "\xed\xa0\x80\x01",
        "\xed\xa0\x80\xed\xa0\x80", /* from here on none is text */
        "\xc0\x80",
        "\xc1\xbf",
        "\xc3",
        "\xc3\xc3\xa9",
        "\xc3\xa9\x80",
        "\xe0\x9f\xbf",
        "\xe2\x82",
        "\xe2",
        "\xe2\x82\xac\x80",
        "\xe2\x82\xc3\xa9",
        "\xf0\x8f\xbf\xbf",
        "\xf0\x9f\x98",
        "\xf0\x9f",
        "\xf0",
        "\xf0\x9f\x98\x80\x80",
        "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80",
        "\xf8\x88\x80\x80",
        "\xff",
        "\x80",
        "\xed\xa0",
        "\xed\xa0\xbd\xed\xb8\x80",
        "\xed\xa0\xbd\xed\xb8",
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 12), want = WB_BUF(1u << 12);
    for (size_t f = 0; f < WB_LEN(filler); f++)
        for (size_t i = 0; i < WB_LEN(in); i++)
            for (size_t before = 0; before <= 40; before++)
                for (size_t k = 0; k < WB_LEN(afters); k++)
                    check_between(wb_cstr(filler[f]), before, wb_cstr(in[i]), afters[k], &b, &want);
}

/* What a block takes for whole characters: all there is of two bytes, and of more than those at the bounds. */
TEST_WITH(json_write_knows_all_that_is_text, .no_torture = "nothing but many strings")
{
    static const unsigned char third[] = {0x00, 0x7f, 0x80, 0x8f, 0x90, 0xa0, 0xbf, 0xc0, 0xed, 0xff};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 12), want = WB_BUF(1u << 12);
    for (int one = 0x80; one < 256; one++)
        for (int two = 0; two < 256; two++)
            for (size_t k = 0; k < WB_LEN(third); k++) {
                char in[] = {(char)one, (char)two, (char)third[k], '\x80'};
                check_between(UPP_STR("a"), 5, wb_str(in, 2 + k % 3), 11, &b, &want);
            }
}

TEST(json_write_never_writes_what_is_not_text)
{
    static const struct {
        struct upp_str text;
        const char *msg;
    } bad[] = {
        {UPP_STR_INIT("\xff"), "expected UTF-8 in a string, found the byte 0xff"},
        {UPP_STR_INIT("caf\xe9"), "expected UTF-8 in a string, found the byte 0xe9"},
        {UPP_STR_INIT("aaaaaaaaaaaaaaaaaaaaaaaa\xc3\xa9 and then \x80"),
         "expected UTF-8 in a string, found the byte 0x80"},
        {UPP_STR_INIT("\xe2\x82"), "expected UTF-8 in a string, found the byte 0xe2"},
        {UPP_STR_INIT("\xc0\x80"), "expected UTF-8 in a string, found the byte 0xc0"},
        {UPP_STR_INIT("\xed\xa0\xbd\xed\xb8\x80"), "expected UTF-8 in a string, found the byte 0xed"}, /* a pair */
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct wj_writer w;
        test_note("case %zu", i);
        wj_writer_init(&w, &b, &err);
        wj_write_open(&w, '[');
        wj_write_str(&w, bad[i].text);
        wj_write_i64(&w, 1);
        wj_write_close(&w, ']');
        CHECK_INT(wj_writer_check(&w), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
}

static void check_number(uint64_t v)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 10);
    struct wj_writer w;
    char want[128];
    int64_t less = -(int64_t)(v >> 1);
    (void)snprintf(want, sizeof want, "[%" PRIu64 ",%" PRIu64 ",%" PRIi64 ",%" PRIi64 "]", v, v, (int64_t)v, less);
    wj_writer_init(&w, &b, NULL);
    wj_write_open(&w, '[');
    wj_write_u64(&w, v);
    wj_write_u64(&w, v);
    wj_write_i64(&w, (int64_t)v);
    wj_write_i64(&w, less);
    wj_write_close(&w, ']');
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK_STR(wb_buf_str(&b), wb_cstr(want));
}

/* As printf writes them: all of few digits, and around each power of ten and of two. */
TEST_WITH(json_write_puts_whole_numbers, .no_torture = "nothing but many numbers")
{
    uint64_t ten = 1;
    for (uint64_t v = 0; v < 10100; v++)
        check_number(v);
    for (int i = 0; i < 64; i++, ten *= 10) /* it wraps around, to other numbers */
        for (uint64_t d = 0; d < 3; d++) {
            check_number(ten + d - 1);
            check_number(((uint64_t)1 << i) + d - 1);
        }
}

TEST(json_write_puts_a_number_only_where_there_is_room)
{
    for (size_t max = 1; max <= 6; max++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(max);
        struct wj_writer w;
        wj_writer_init(&w, &b, NULL);
        wj_write_u64(&w, 123);
        CHECK_INT(wj_writer_check(&w), max >= 4 ? 0 : -UPP_ELIMIT);
        CHECK_INT(b.n, max >= 4 ? 3 : 0);
    }
}

TEST(json_write_refuses_numbers_that_are_none)
{
    static const char *const bad[] = {"",    "-",   "01", "1.", ".5",  "1e",  "+1",
                                      "0x1", "NaN", "1 ", " 1", "1e+", "--1", "1,2"};
    const double odd[] = {(double)INFINITY, -(double)INFINITY, (double)NAN};
    for (size_t i = 0; i < WB_LEN(bad) + WB_LEN(odd); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 10);
        struct upp_err err;
        struct wj_writer w;
        wj_writer_init(&w, &b, &err);
        if (i < WB_LEN(bad))
            wj_write_num(&w, wb_cstr(bad[i]));
        else
            wj_write_f64(&w, odd[i - WB_LEN(bad)]);
        test_note("case %zu", i);
        CHECK_INT(wj_writer_check(&w), -UPP_EINVALID);
        CHECK_INT(b.n, 0);
    }
}

TEST(json_write_says_where_a_value_is_bad)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("{\"a\":[1,{\"b\":\"text\"}]}"), NULL, &v, &err) == 0);
    /* Nobody should do this: it stands for a bug of ours. */
    yyjson_val *text = v + 6;
    CHECK(yyjson_is_str(text) && yyjson_set_strn(text, "\xff", 1));
    CHECK_INT(wj_write(v, &b, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.where), UPP_STR("/a/1/b"));
}

TEST(json_write_stops_at_the_buffers_maximum)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("[\"0123456789\",\"\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\",{\"name\":[1,2,3]}]"), NULL, &v,
                  NULL) == 0);
    bool fits = false;
    for (size_t max = 1; max < 128 && !fits; max++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(max);
        struct upp_err err;
        int r = wj_write(v, &b, &err);
        test_note("maximum %zu", max);
        CHECK(r == 0 || r == -UPP_ELIMIT);
        CHECK(b.n <= max);
        fits = r == 0;
        CHECK(!fits || max <= b.n + 32);
    }
    CHECK(fits);
}
