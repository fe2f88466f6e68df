#include "json/syntax.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "support/test.h"

/* What is JSON and what is not is in tests/unit/json/test_read.c, where both parsers run over every case. */

TEST(json_syntax_counts_what_it_saw)
{
    static const struct {
        const char *text;
        struct wj_syntax want;
    } cases[] = {
        {"0", {1, 0, 0}},
        {"[]", {1, 0, 1}},
        {"{\"a\":[1,{\"b\":null}],\"c\":{}}", {6, 0, 3}},
        {"[\"\\ud800\",\"\\ud83d\\ude00\",\"\\udc00\\ud800\"]", {4, 3, 1}},
        {"{\"\\ud800\":\"\\\\ud800\"}", {2, 1, 1}},
        {"[[[[[[]]]],[[[[[]]]]]]]", {11, 0, 7}},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wj_syntax seen;
        test_note("case %zu", i);
        CHECK_INT(wj_syntax(wb_cstr(cases[i].text), 128, &seen, NULL), 0);
        CHECK_INT(seen.values, cases[i].want.values);
        CHECK_INT(seen.lone, cases[i].want.lone);
        CHECK_INT(seen.depth, cases[i].want.depth);
    }
}

TEST(json_syntax_places_count_characters)
{
    struct upp_err err = {0};
    struct upp_str text = UPP_STR("a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\r\nq");
    static const struct {
        size_t at;
        const char *where;
    } cases[] = {
        {0, "line 1, column 1 (byte 0)"},   {1, "line 1, column 2 (byte 1)"},   {2, "line 2, column 1 (byte 2)"},
        {4, "line 2, column 2 (byte 4)"},   {7, "line 2, column 3 (byte 7)"},   {11, "line 2, column 4 (byte 11)"},
        {14, "line 3, column 1 (byte 14)"}, {15, "line 3, column 2 (byte 15)"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        wj_err_position(&err, text, cases[i].at);
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
    }
    wj_err_position(NULL, text, 0);
}

/* A string of one byte sequence between others, at the end of its memory. */
static void check_utf8(struct upp_str filler, size_t before, struct upp_str in, size_t after)
{
    struct upp_err err = {0};
    struct wj_syntax seen;
    size_t n = 1, bad = 0;
    char *text = malloc(2 + in.n + (before + after) * filler.n), where[64];
    if (!text)
        abort();
    text[0] = '"';
    for (size_t i = 0; i <= before + after; i++) {
        struct upp_str piece = i == before ? in : filler;
        memcpy(text + n, piece.p, piece.n);
        n += piece.n;
    }
    bool valid = wb_utf8_valid(wb_str(text, n), &bad);
    text[n++] = '"';
    test_note("0x%02x of %zu after %zu, before %zu", (unsigned char)in.p[0], in.n, before, after);
    CHECK_INT(wj_syntax(wb_str(text, n), 1, &seen, &err), valid ? 0 : -UPP_EINVALID);
    if (!valid) {
        (void)snprintf(where, sizeof where, "(byte %zu)", bad);
        CHECK(strstr(err.where, where) && strstr(err.msg, "UTF-8"));
    }
    free(text);
}

TEST_WITH(json_syntax_knows_utf8_at_every_place, .no_torture = "nothing but many strings")
{
    static const unsigned char third[] = {0x7f, 0x80, 0x8f, 0x90, 0xa0, 0xbf, 0xc0};
    static const char *const in[] = {
        "a",    "\xc3\xa9", "\xe2\x82\xac", "\xed\x9f\xbf", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf",
        "\x80", "\xc3",     "\xe2\x82",     "\xed\xa0\x80", "\xf0\x9f\x98",     "\xf4\x90\x80\x80",
        "\xff"};
    static const char *const filler[] = {"a", "\xc3\xa9", "\xe3\x81\x82", "\xf0\x9f\x98\x80"};
    for (size_t i = 0; i < WB_LEN(in); i++)
        for (size_t f = 0; f < WB_LEN(filler); f++)
            for (size_t before = 0; before <= 40; before++)
                for (size_t after = 0; after <= 20; after++)
                    check_utf8(wb_cstr(filler[f]), before, wb_cstr(in[i]), after);
    for (int one = 0x80; one < 256; one++)
        for (int two = 0x7f; two < 256; two++)
            for (size_t k = 0; k < WB_LEN(third); k++) {
                char bytes[] = {(char)one, (char)two, (char)third[k], '\x80'};
                check_utf8(UPP_STR("a"), 5, wb_str(bytes, 2 + k % 3), 11);
            }
}

TEST(json_syntax_hexadecimal)
{
    CHECK(wj_hex4("0000") == 0 && wj_hex4("ffff") == 0xffff && wj_hex4("FfFf") == 0xffff && wj_hex4("12aB") == 0x12ab);
    CHECK(wj_hex4("12g4") < 0 && wj_hex4("-123") < 0 && wj_hex4("12 4") < 0 && wj_hex4("@ABC") < 0 &&
          wj_hex4("`abc") < 0);
}
