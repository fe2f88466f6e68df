#include "json/syntax.h"

#include "base/defs.h"
#include "support/test.h"

/* What is JSON and what is not is in test_json_read.c, where both parsers run over every case. */

TEST(json_syntax_counts_what_it_saw)
{
    static const struct {
        const char      *text;
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
    struct upp_err err  = {0};
    struct upp_str text = UPP_STR("a\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\r\nq");
    static const struct {
        size_t      at;
        const char *where;
    } cases[] = {
        {0, "line 1, column 1 (byte 0)"},   {1, "line 1, column 2 (byte 1)"},   {2, "line 2, column 1 (byte 2)"},
        {4, "line 2, column 2 (byte 4)"},   {7, "line 2, column 3 (byte 7)"},   {11, "line 2, column 4 (byte 11)"},
        {14, "line 3, column 1 (byte 14)"}, {15, "line 3, column 2 (byte 15)"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        wj_place(&err, text, cases[i].at);
        CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
    }
    wj_place(NULL, text, 0);
}

TEST(json_syntax_hexadecimal)
{
    CHECK(wj_hex4("0000") == 0 && wj_hex4("ffff") == 0xffff && wj_hex4("FfFf") == 0xffff && wj_hex4("12aB") == 0x12ab);
    CHECK(wj_hex4("12g4") < 0 && wj_hex4("-123") < 0 && wj_hex4("12 4") < 0 && wj_hex4("@ABC") < 0 &&
          wj_hex4("`abc") < 0);
}
