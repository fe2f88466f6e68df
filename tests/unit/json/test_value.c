#include "json/value.h"

#include "base/buf.h"
#include "base/defs.h"
#include "json/read.h"
#include "json/write.h"
#include "support/test.h"

TEST(json_value_quoted_for_messages)
{
    static const struct {
        struct upp_str text;
        const char *quoted; /* in 16 bytes */
    } cases[] = {
        {UPP_STR_INIT(""), "''"},
        {UPP_STR_INIT("u\0ser"), "'u\\u0000ser'"},
        {UPP_STR_INIT("\b\t\n\f\r\\"), "'\\b\\t\\n\\f\\r\\\\'"},
        {UPP_STR_INIT("\v\x7f"), "'\\u000b\\u007f'"},
        {UPP_STR_INIT("\xed\xa0\x80z\xff"), "'\xef\xbf\xbdz\xef\xbf\xbd'"},
        {UPP_STR_INIT("1234567890123"), "'1234567890123'"},
        {UPP_STR_INIT("12345678901234"), "'1234567890...'"},
        {UPP_STR_INIT("123456789\xc3\xa9z"), "'123456789\xc3\xa9z'"},
        {UPP_STR_INIT("123456789\xc3\xa9zzz"), "'123456789...'"},
        {UPP_STR_INIT("12345678\xe2\x82\xac\xe2\x82\xac"), "'12345678...'"},
        {UPP_STR_INIT("123456\xf0\x9f\x98\x80\xf0\x9f\x98\x80"), "'123456\xf0\x9f\x98\x80...'"},
        {UPP_STR_INIT("12345\n\1\1"), "'12345\\n...'"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char buf[16];
        CHECK_STR(wb_cstr(wj_quote(cases[i].text, buf, sizeof buf)), wb_cstr(cases[i].quoted));
    }
}

TEST(json_value_alternatives_that_do_not_fit)
{
    for (size_t n = 1; n < 200; n++) {
        struct wj_list list = {0};
        char word[200];
        memset(word, 'w', n);
        for (int i = 0; i < 60; i++)
            wj_list_add(&list, ", ", "'", wb_str(word, n));
        struct upp_str s = wb_cstr(list.p);
        CHECK(s.n == list.n && s.n < sizeof list.p && list.cut);
        CHECK(n > 140 || s.n >= sizeof list.p - n - 16);
        CHECK(wb_str_eq(s, UPP_STR("...")) || wb_str_ends(s, UPP_STR("w', ...")));
    }
}

TEST(json_value_in_words)
{
    static const struct {
        const char *text, *words;
    } cases[] = {
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {"\"x\"", "a string"},
        {"[]", "an array"},
        {"{}", "an object"},
        {"1.50", "the number 1.50"},
        {"123456789012345678901234567890123456789012", "a long number"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        yyjson_val *v;
        char buf[64];
        CHECK(wj_read(&a, wb_cstr(cases[i].text), NULL, &v, NULL) == 0);
        CHECK_STR(wb_cstr(wj_found(v, buf, sizeof buf)), wb_cstr(cases[i].words));
    }
}

TEST(json_value_members_of_a_table)
{
    static const struct {
        int before;
        struct upp_str name;
    } rows[] = {{0, UPP_STR_INIT("a")}, {0, UPP_STR_INIT("bb")}, {0, UPP_STR_INIT("")}, {0, {0}}};
    static const struct {
        const char *text, *found; /* a digit a row, or '-' */
    } cases[] = {
        {"{}", "---"},
        {"[1]", "---"},
        {"{\"a\":1,\"bb\":2,\"\":3}", "123"},
        {"{\"\":3,\"bb\":2,\"a\":1}", "123"},
        {"{\"x\":9,\"bb\":2,\"ab\":9,\"b\":[9]}", "-2-"},
        {"{\"\":3,\"a\":1,\"\":4,\"a\":5,\"x\":6}", "1-3"}, /* the first counts */
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        yyjson_val *v, *found[WB_LEN(rows) - 1];
        CHECK_INT(wj_read(&a, wb_cstr(cases[i].text), NULL, &v, NULL), 0);
        CHECK_INT(WJ_MEMBERS(v, rows, found), 3);
        for (size_t k = 0; k < 3; k++)
            CHECK_INT(found[k] ? wj_text(found[k]).p[0] : '-', cases[i].found[k]);
    }
}

TEST(json_value_members_in_order)
{
    static const struct upp_str names[] = {UPP_STR_INIT("a"), UPP_STR_INIT("bb"), UPP_STR_INIT(""), {0}};
    static const struct {
        const char *text, *found; /* a digit a name, or '-' */
        bool in_order;
    } cases[] = {
        {"{}", "---", true},
        {"[]", "---", false},
        {"null", "---", false},
        {"{\"a\":1,\"bb\":2,\"\":3}", "123", true},
        {"{\"a\":[1,2],\"\":3}", "--3", true},
        {"{\"bb\":2}", "-2-", true},
        {"{\"bb\":2,\"a\":1}", "12-", false},
        {"{\"a\":1,\"\":3,\"x\":4}", "1-3", false},
        {"{\"x\":4,\"a\":1}", "1--", false},
        {"{\"a\":1,\"a\":2}", "1--", false}, /* the first counts */
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        yyjson_val *v, *found[WB_LEN(names) - 1];
        CHECK_INT(wj_read(&a, wb_cstr(cases[i].text), NULL, &v, NULL), 0);
        CHECK(wj_members_in_order(v, names, WB_LEN(found), found) == cases[i].in_order);
        for (size_t k = 0; k < WB_LEN(found); k++)
            CHECK_INT(found[k] && yyjson_is_raw(found[k]) ? wj_text(found[k]).p[0] : '-', cases[i].found[k]);
    }
}

TEST(json_value_reading_tells_of_lone_surrogates)
{
    static const struct {
        const char *text;
        bool utf8;
    } cases[] = {{"\"a\"", true}, {"[\"\\ud83d\\ude00\"]", true}, {"[\"\\ud83d\"]", false}, {"{\"\\ude00\":1}", false}};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        yyjson_val *v;
        bool utf8 = !cases[i].utf8;
        CHECK_INT(wj_read(&a, wb_cstr(cases[i].text), UPP_OPTS(wj_read_opts, .utf8 = &utf8), &v, NULL), 0);
        CHECK(utf8 == cases[i].utf8);
    }
}
