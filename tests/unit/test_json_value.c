#include "json/value.h"

#include "base/buf.h"
#include "base/defs.h"
#include "json/read.h"
#include "json/write.h"
#include "support/test.h"

TEST(json_value_simple_ones_are_written)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
    yyjson_val              *vs[]   = {wj_value_str(&a, UPP_STR("a\"\0")), wj_value_str(&a, (struct upp_str){0}),
                                                    wj_value_i64(&a, INT64_MIN), wj_value_bool(&a, true), wj_value_null(&a)};
    static const char *const want[] = {"\"a\\\"\\u0000\"", "\"\"", "-9223372036854775808", "true", "null"};
    for (size_t i = 0; i < WB_LEN(vs); i++) {
        CHECK(vs[i]);
        wb_buf_clear(&b);
        CHECK(wj_write(vs[i], &b, NULL) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(want[i]));
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
        yyjson_val                               *v;
        char                                      buf[64];
        CHECK(wj_read(&a, wb_cstr(cases[i].text), NULL, &v, NULL) == 0);
        CHECK_STR(wb_cstr(wj_found(v, buf, sizeof buf)), wb_cstr(cases[i].words));
    }
}
