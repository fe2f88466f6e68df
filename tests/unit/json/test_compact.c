/* Is a text what the writer would write? Held against reading and writing it. */
#include "json/compact.h"

#include "base/buf.h"
#include "base/defs.h"
#include "json/value.h"
#include "json/write.h"
#include "support/test.h"

/* What reading and writing it says. */
static bool slowly(struct upp_str text, const struct wj_read_opts *opts)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    yyjson_val *v;
    return wj_read(&a, text, opts, &v, NULL) >= 0 && wj_write(v, &b, NULL) >= 0 && wb_str_eq(wb_buf_str(&b), text);
}

static void agrees(struct upp_str text)
{
    bool is = wj_is_compact(text, NULL);
    test_note("%.*s: %d", UPP_FMT(text), is);
    EXPECT(is == slowly(text, NULL));
}

static const char *const texts[] = {
    "null",
    "true",
    "false",
    "0",
    "-0",
    "-1.5e+10",
    "10E2",
    "\"\"",
    "\"plain\"",
    "\"a long text, of more than sixteen bytes, and n\xc3\xa4ive \xe2\x82\xac \xf0\x9f\x98\x80 \xed\x95\x9c\"",
    "\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u000b\\u0010\\u001f\"",
    "[]",
    "{}",
    "[[],{},[{}]]",
    "[1,\"two\",[3,{\"four\":[null,false]}],{}]",
    "{\"a\":1,\"a\":2,\"\":{\"b\":[]},\"c \\\" d\":[[1]]}",
};

TEST(json_compact_is_what_the_writer_writes)
{
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        agrees(wb_cstr(texts[i]));
        EXPECT(wj_is_compact(wb_cstr(texts[i]), NULL));
    }
}

TEST(json_compact_is_nothing_else)
{
    /* clang-format off */
    static const char *const others[] = {
        "", " ", " 1", "1 ", "[1, 2]", "{\"a\": 1}", "{ }", "[\n]", "01", "1.", "-", ".5", "1e", "+1", "NaN",
        "nul", "truefalse", "tru", "\"", "\"a", "\"\n\"", "\"\\/\"", "\"\\u0041\"", "\"\\u0009\"", "\"\\u001F\"",
        "\"\\u00\"", "\"\\x\"", "\"\\", "[", "[1", "[1,", "[,1]", "[1,]", "[1}", "{\"a\":1]", "{\"a\"}",
        "{\"a\":}", "{1:2}", "{\"a\":1,}", "{,}", "{\"a\":1", "]", "}", "1,2", "[]]", "{}{}", "\"\xff\"",
        "\"\xc3\"", "\"\xed\xa0\xbd\"", "\"\xc0\x80\"", "\xc3\xa4"};
    /* clang-format on */
    for (size_t i = 0; i < WB_LEN(others); i++) {
        agrees(wb_cstr(others[i]));
        EXPECT(!wj_is_compact(wb_cstr(others[i]), NULL));
    }
    EXPECT(!wj_is_compact((struct upp_str){0}, NULL));
    EXPECT(!wj_is_compact(wb_str("\"a\0b\"", 5), NULL) && !wj_is_compact(wb_str("\"\\\0\"", 4), NULL));
    EXPECT(!wj_is_compact(wb_str("\"\\u000\0\"", 9), NULL) && !wj_is_compact(wb_str("1\0", 2), NULL));
    /* What takes reading is not said to be, though it is. */
    EXPECT(slowly(UPP_STR("\"\\ud83d\""), NULL) && !wj_is_compact(UPP_STR("\"\\ud83d\""), NULL));
}

/* Any byte of a text that is compact, changed or left out. */
TEST_WITH(json_compact_knows_every_change, .no_torture = "thousands of texts, each with the same allocations")
{
    static const char bytes[] = "\"\\{}[]:,u0n1.e -\n\x7f\xc3\xed\xa4";
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        char text[200];
        size_t n = strlen(texts[i]);
        for (size_t at = 0; at < n; at++) {
            for (size_t k = 0; k < sizeof bytes; k++) {
                memcpy(text, texts[i], n + 1);
                text[at] = bytes[k];
                agrees(wb_str(text, n));
            }
            memcpy(text, texts[i], at);
            memcpy(text + at, texts[i] + at + 1, n - at);
            agrees(wb_str(text, n - 1));
            agrees(wb_str(texts[i], at));
        }
    }
}

TEST(json_compact_keeps_limits)
{
    char text[2 * 400];
    for (size_t deep = 1; deep <= 400; deep++) {
        for (size_t i = 0; i < deep; i++) {
            text[i] = '[';
            text[deep + i] = ']';
        }
        struct upp_str s = wb_str(text, 2 * deep);
        EXPECT(wj_is_compact(s, NULL) == (deep <= WJ_MAX_DEPTH));
        EXPECT(wj_is_compact(s, UPP_OPTS(wj_read_opts, .depth = 192)) == (deep <= 192));
        EXPECT(!wj_is_compact(s, UPP_OPTS(wj_read_opts, .depth = 1000)) || deep <= 256);
    }
    EXPECT(wj_is_compact(UPP_STR("[1]"), UPP_OPTS(wj_read_opts, .max_bytes = 3)));
    EXPECT(!wj_is_compact(UPP_STR("[12]"), UPP_OPTS(wj_read_opts, .max_bytes = 3)));
}

TEST(json_compact_shows_what_stands_in_it)
{
    static const struct {
        const char *text, *inside;
    } cases[] = {
        {"[]", ""},
        {"{}", ""},
        {"1", ""},
        {"\"[1,2]\"", ""},
        {"[1]", "1|"},
        {"[[1,2],{\"a\":[3,4]},\"x,]\\\"\",null]", "[1,2]|{\"a\":[3,4]}|\"x,]\\\"\"|null|"},
        {"{\"a\":1,\"\":{\"b\":2,\"c\":3},\"d\\\"e\":\"}\",\"f\":[]}", "a||d\\\"e|f|"},
        {"{\"\xed\x95\x9c\":\"\xed\x95\x9c\",\"b\":0}", "\xed\x95\x9c|b|"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 10);
        struct wj_compact_iter in = wj_compact_iter(wb_cstr(cases[i].text));
        struct upp_str s;
        CHECK(wj_is_compact(wb_cstr(cases[i].text), NULL));
        while (wj_compact_next(&in, &s)) {
            wb_buf_add(&b, s);
            wb_buf_addc(&b, '|');
        }
        CHECK_INT(wb_buf_check(&b, NULL), 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(cases[i].inside));
    }
}
