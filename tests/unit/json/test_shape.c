#include "json/shape.h"

#include "base/buf.h"
#include "json/read.h"
#include "json/value.h"
#include "support/chat.h"
#include "support/test.h"

/* Texts that must come back byte for byte. */
TEST(shape_writes_back_what_it_read)
{
    static const char *const texts[] = {
        "{\"id\":\"c\",\"messages\":[]}",
        "{\"messages\":[],\"id\":\"c\"}",
        "{\"x\":1,\"id\":\"c\",\"y\":[{\"deep\":1e400}],\"messages\":[],\"z\":null}",
        "{\"id\":\"a\",\"id\":\"b\",\"messages\":[],\"id\":\"c\",\"u\":1,\"u\":2}",
        "{\"id\":\"c\",\"title\":null,\"version\":1.0,\"messages\":[],\"tags\":null,\"state\":null}",
        "{\"id\":\"c\",\"version\":18446744073709551615,\"messages\":[],\"tags\":[\"a\",\"\\u0000\"],\"state\":[1.50,-"
        "0]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"user\",\"content\":\"hi\"},"
        "{\"role\":\"narrator\",\"id\":\"2\",\"content\":[{\"type\":\"text\",\"text\":\"\\ud83d\"},"
        "{\"type\":\"video\",\"v\":1.0},{\"text\":\"first\",\"type\":\"text\"},{\"no\":\"type\"},{}]}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"content\":null,\"usage\":{\"input_tokens\":-0,"
        "\"output_tokens\":null,\"cost\":0.10,\"exact\":1e999},\"metadata\":{\"a\":1,\"a\":2},\"vendor_id\":\"v\"}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"usage\":{\"request_tokens\":7,\"cost\":12E3}}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"usage\":{\"request_tokens\":7.0,"
        "\"input_tokens\":8,\"request_tokens\":9}}]}",
        "{\"id\":\"c\",\"messages\":[{\"id\":\"1\",\"role\":\"tool\",\"vendor_id\":null,\"content\":[{\"type\":"
        "\"tool_result\",\"id\":\"1\",\"content\":[\"a\",null]},{\"type\":\"tool_result\",\"id\":\"2\","
        "\"content\":null,\"failed\":null},{\"type\":\"tool_call\",\"id\":\"3\",\"name\":\"f\",\"args\":\"{\\\"a\\\": "
        "1}\"}"
        "]}]}",
    };
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
        struct chat                               c;
        yyjson_val                               *v;
        struct upp_err                            err = {0};
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(texts[i]), NULL, &v, &err) == 0);
        int r = WJ_DECODE(&a, chat, v, NULL, &c, &err);
        test_note("case %zu: %s: %s", i, err.where, err.msg);
        CHECK(r == 0);
        CHECK(WJ_ENCODE(chat, &c, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(texts[i]));
    }
}

TEST(shape_extras_are_told_in_order)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20);
    struct text_part                          t;
    yyjson_val                               *v;
    struct wj_extras                          at = {0};
    CHECK(wj_read(&a, UPP_STR("{\"x\":1,\"type\":\"text\",\"text\":\"old\",\"y\":2,\"text\":\"new\",\"x\":3}"), NULL,
                              &v, NULL) == 0);
    CHECK(WJ_DECODE(&a, text_part, v, NULL, &t, NULL) == 0);
    for (yyjson_val *name; (name = wj_extra(&t.node, &at));) {
        wb_buf_add(&b, wj_text(name));
        wb_buf_addc(&b, '=');
        wb_buf_add(&b, wj_text(name + 1));
        wb_buf_addc(&b, ' ');
    }
    CHECK(!wj_extra(&t.node, &at) && wb_buf_check(&b, NULL) == 0);
    CHECK_STR(wb_buf_str(&b), UPP_STR("x=1 text=old y=2 x=3 "));

    CHECK(wj_read(&a, UPP_STR("{\"type\":\"text\",\"text\":\"\"}"), NULL, &v, NULL) == 0);
    CHECK(WJ_DECODE(&a, text_part, v, NULL, &t, NULL) == 0);
    CHECK(!wj_extra(&t.node, &(struct wj_extras){0}) && !t.node.rows); /* the ordinary object needs no memory for it */
}

TEST(shape_marks_belong_to_the_member)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct usage                             *u = WJ_NEW(&a, usage);
    CHECK(u);
    CHECK(!WJ_IS_SET(u, input) && !WJ_IS_SET(u, output) && !WJ_IS_SET(u, cost));
    WJ_SET(u, output, 4);
    CHECK(u->output == 4 && WJ_IS_SET(u, output) && !WJ_IS_SET(u, input));
    WJ_UNSET(u, output);
    CHECK(!WJ_IS_SET(u, output));

    struct usage bare = {.input = 3}; /* of no shape: nothing to mark in */
    WJ_SET(&bare, cost, 1);
    CHECK(!WJ_IS_SET(&bare, cost) && !WJ_WAS_NULL(&bare, cost));
}

/* At file scope, as all tables: rows of arrays hold compound literals. */
struct odd {
    struct wj_node node;
    struct upp_str s;
    int64_t        i;
    WJ_ARR(struct message) list;
};
#define S(nm, fl) F_STR(struct odd, s, nm, fl)
static const struct wj_field alias_or[] = {S("a", 0), S("b", F_ALIAS | F_OR), S("b", 0)}, escape[] = {S("a\"b", 0)},
                             alone_or[] = {S("a", F_OR)}, or_other[] = {S("a", F_OR), S("b", 0)},
                             alias[] = {S("a", F_ALIAS)}, twice[] = {S("a", 0), S("b", 0), S("a", 0)},
                             open[] = {S("a", F_OPEN)}, items[] = {S("a", F_NULL_ITEMS)},
                             no_empty[] = {F_LIST(struct odd, list, "a", F_NULL_ITEMS, message)},
                             foreign[]  = {F_STR(struct message, vendor_id, "a", 0)},
                             good[]     = {S("a", F_OR), F_I64(struct odd, i, "a", 0), S("b", F_ALIAS)};
static const struct {
    struct wj_shape shape;
    const char     *wrong;
} wrong_cases[] = {
    {{"s", good, WB_LEN(good), sizeof(struct odd)}, NULL},
    {{"s", good, 0, sizeof(struct odd)}, "a shape has 1 to 64 rows"},
    {{"s", good, 65, sizeof(struct odd)}, "a shape has 1 to 64 rows"},
    {{"s", escape, 1, sizeof(struct odd)}, "a name needs an escape"},
    {{"s", alone_or, 1, sizeof(struct odd)}, "F_OR without a next row of the same name"},
    {{"s", or_other, 2, sizeof(struct odd)}, "F_OR without a next row of the same name"},
    {{"s", alias, 1, sizeof(struct odd)}, "F_ALIAS without a row before it"},
    {{"s", alias_or, 3, sizeof(struct odd)}, "F_OR from an alias to what is none"},
    {{"s", twice, 3, sizeof(struct odd)}, "two rows of one name without F_OR"},
    {{"s", open, 1, sizeof(struct odd)}, "F_OPEN on what is no enum"},
    {{"s", items, 1, sizeof(struct odd)}, "F_NULL_ITEMS on what is no array"},
    {{"s", no_empty, 1, sizeof(struct odd)}, "F_NULL_ITEMS on items that cannot be empty"},
    {{"s", foreign, 1, sizeof(struct odd)}, "a row is of another struct"},
};
#undef S

TEST(shape_tables_are_checked)
{
    for (size_t i = 0; i < WB_LEN(wrong_cases); i++) {
        const char *wrong = wj_shape_wrong(&wrong_cases[i].shape);
        test_note("case %zu", i);
        CHECK_STR(wb_cstr(wrong), wb_cstr(wrong_cases[i].wrong));
    }
    CHECK(!wj_shape_wrong(&chat.of) && !wj_shape_wrong(&message.of) && !wj_shape_wrong(&usage.of));
    CHECK(!wj_shape_wrong(&text_part.of) && !wj_shape_wrong(&call_part.of) && !wj_shape_wrong(&result_part.of));
}

/* Sixty-four rows, all of them seen, in and out of order. */
#define EIGHT(X, n) X(n##0) X(n##1) X(n##2) X(n##3) X(n##4) X(n##5) X(n##6) X(n##7)
#define ALL(X)      EIGHT(X, 0) EIGHT(X, 1) EIGHT(X, 2) EIGHT(X, 3) EIGHT(X, 4) EIGHT(X, 5) EIGHT(X, 6) EIGHT(X, 7)
struct wide {
    struct wj_node node;
#define MEMBER(n) double m##n;
    ALL(MEMBER)
};
static const struct wj_field wide_rows[] = {
#define ROW(n) F_F64(struct wide, m##n, "m" #n, F_NULLABLE),
    ALL(ROW)};
WJ_SHAPE(wide, struct wide, wide_rows);

TEST(shape_of_64_rows)
{
    CHECK_INT(wide.of.n, 64);
    for (int step = 1; step < 64; step += 2) { /* each odd step goes through all 64 */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     b = WB_BUF(1u << 20), out = WB_BUF(1u << 20);
        struct wide                               w;
        yyjson_val                               *v;
        for (int i = 0; i < 64; i++) {
            int row = i * step % 64;
            wb_buf_addf(&b, "%c\"m%d%d\":", i ? ',' : '{', row / 8, row % 8);
            if (i % 5 == 4)
                wb_buf_add(&b, UPP_STR("null"));
            else
                wb_buf_addf(&b, "%d.00", i);
        }
        wb_buf_add(&b, UPP_STR(",\"unknown\":1}"));
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, NULL) == 0);
        CHECK(WJ_DECODE(&a, wide, v, NULL, &w, NULL) == 0);
        CHECK(w.node.seen == ~(uint64_t)0 && w.m00 == 0.0);
        CHECK(WJ_ENCODE(wide, &w, &out, NULL) == 0);
        CHECK_STR(wb_buf_str(&out), wb_buf_str(&b));
    }
}
