/* Members of an object set, dropped and merged; all others as they were. */
#include "json/edit.h"

#include "base/buf.h"
#include "json/read.h"
#include "support/test.h"

#define J(text) UPP_STR_INIT(text)

TEST(json_edit_sets_and_drops_members)
{
    static const struct {
        struct upp_str object;
        struct wj_edit edits[3];
        size_t n;
        const char *becomes;
    } cases[] = {
        {{NULL, 0}, {{J("a"), J("1")}}, 1, "{\"a\":1}"},
        {J("{}"), {{J("a"), J("1")}, {J("b"), J("[2]")}}, 2, "{\"a\":1,\"b\":[2]}"},
        {J("{}"), {{J("a"), {NULL, 0}}}, 1, "{}"},
        {J("{\"a\":1,\"b\":2,\"c\":3}"), {{J("b"), J("4")}}, 1, "{\"a\":1,\"c\":3,\"b\":4}"},
        {J("{\"a\":1,\"b\":2,\"c\":3}"), {{J("b"), {NULL, 0}}}, 1, "{\"a\":1,\"c\":3}"},
        {J("{\"a\":1,\"b\":2,\"a\":3}"), {{J("a"), J("4")}}, 1, "{\"b\":2,\"a\":4}"},
        {J("{\"a\":1,\"b\":2}"), {{J("a"), {NULL, 0}}, {J("c"), J("3")}, {J("b"), {NULL, 0}}}, 3, "{\"c\":3}"},
        {J("{\"a b\\n\":1,\"\":2}"), {{J("a b\n"), J("3")}}, 1, "{\"\":2,\"a b\\n\":3}"},
        {J("{\"n\":1.50E+3,\"s\":\"\\ud83d\",\"o\":{\"a\":1}}"),
         {{J("a"), J("2")}},
         1,
         "{\"n\":1.50E+3,\"s\":\"\\ud83d\",\"o\":{\"a\":1},\"a\":2}"},
        {J(" { \"a\" : 1 } "), {{J("b"), J("2")}}, 1, "{\"a\":1,\"b\":2}"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct upp_str s = {NULL, 0};
        test_note("case %zu", i);
        CHECK(wj_edit(&a, cases[i].object, cases[i].edits, cases[i].n, &s, NULL) >= 0);
        CHECK_STR(s, wb_cstr(cases[i].becomes));
    }
}

TEST(json_edit_merges_objects)
{
    static const char *const cases[][3] = {
        {"", "", "{}"},
        {"{\"a\":1}", "", "{\"a\":1}"},
        {"", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":1,\"b\":2}", "{\"c\":3,\"a\":{}}", "{\"b\":2,\"c\":3,\"a\":{}}"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct upp_str s = {NULL, 0};
        CHECK(wj_merge(&a, wb_cstr(cases[i][0]), wb_cstr(cases[i][1]), &s, NULL) >= 0);
        CHECK_STR(s, wb_cstr(cases[i][2]));
    }
}

/* So many that they are sorted first: every second member is in both. */
TEST(json_edit_merges_large_objects)
{
    enum { N = 1000 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf under = WB_BUF(1 << 20), over = WB_BUF(1 << 20), both = WB_BUF(1 << 20);
    struct upp_str s = {NULL, 0};
    for (int i = 0; i < N; i++) {
        wb_buf_addf(&under, "%s\"k%d\":%d", i ? "," : "{", i, i);
        if (i % 2)
            wb_buf_addf(&over, "%s\"k%d\":null", i > 1 ? "," : "{", N - i);
        else
            wb_buf_addf(&both, "%s\"k%d\":%d", i ? "," : "{", i, i);
    }
    wb_buf_addc(&under, '}');
    for (int i = 1; i < N; i += 2)
        wb_buf_addf(&both, ",\"k%d\":null", N - i);
    wb_buf_addc(&over, '}');
    wb_buf_addc(&both, '}');
    CHECK(wb_buf_check(&under, NULL) == 0 && wb_buf_check(&over, NULL) == 0 && wb_buf_check(&both, NULL) == 0);
    CHECK(wj_merge(&a, wb_buf_str(&under), wb_buf_str(&over), &s, NULL) >= 0);
    EXPECT(wb_str_eq(s, wb_buf_str(&both)));
}

TEST(json_edit_refuses_what_is_no_object)
{
    static const char *const cases[][2] = {
        {"[1]", "expected an object, found an array"},
        {"{\"a\":1", "expected ',' or '}', found the end of the text"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct upp_str s = {NULL, 0};
        struct upp_err err = {0};
        int r = wj_set(&a, wb_cstr(cases[i][0]), "b", UPP_STR("2"), &s, &err);
        CHECK(r == -UPP_EINVALID || r == -UPP_ENOMEM);
        CHECK(r == -UPP_ENOMEM || wb_str_eq(wb_cstr(err.msg), wb_cstr(cases[i][1])));
        r = wj_merge(&a, UPP_STR("{}"), wb_cstr(cases[i][0]), &s, &err);
        CHECK(r == -UPP_EINVALID || r == -UPP_ENOMEM);
    }
}

TEST(json_edit_writes_members_into_the_open_object)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    yyjson_val *v;
    struct wj_writer w;
    CHECK(wj_read(&a, UPP_STR("{\"a\":1,\"b\":2,\"c\":3}"), NULL, &v, NULL) >= 0);
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '{');
    wj_put_members_but(&w, v, WJ_NAMES("c", "a"));
    wj_put_members_text(&w, UPP_STR("{ \"d\":4 }"));
    wj_put_members_text(&w, UPP_STR("{ }"));
    wj_put_members_text(&w, (struct upp_str){NULL, 0});
    wj_put_members(&w, NULL);
    wj_put_u64(&w, "e", 5);
    wj_write_close(&w, '}');
    CHECK(wj_writer_check(&w) >= 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"b\":2,\"d\":4,\"e\":5}"));
}
