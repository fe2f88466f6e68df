#include "json/compare.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/defs.h"
#include "json/read.h"
#include "support/test.h"

TEST(json_compare_by_meaning)
{
    static const struct {
        const char *a, *b, *where, *msg; /* where NULL: equal */
    } cases[] = {
        {"1", "1.0", NULL, NULL},
        {"[1,2]", "[1.0,20e-1]", NULL, NULL},
        {"-0", "0", NULL, NULL},
        {"\"\\u0041\"", "\"A\"", NULL, NULL},
        {"\"\\ud800\"", "\"\\uD800\"", NULL, NULL},
        {"{\"a\":1,\"b\":[]}", "{\"b\":[],\"a\":1}", NULL, NULL},
        {"{\"a\":1,\"b\":2,\"a\":3}", "{\"a\":1,\"a\":3,\"b\":2}", NULL, NULL},
        {"{\"x\":{\"c\":1,\"d\":{\"e\":[{\"f\":null,\"g\":true}]}}}",
         "{\"x\":{\"d\":{\"e\":[{\"g\":true,\"f\":null}]},\"c\":1}}", NULL, NULL},
        {"1", "2", "", "the number 1 against the number 2"},
        {"1", "\"1\"", "", "the number 1 against a string"},
        {"null", "false", "", "null against false"},
        {"true", "false", "", "true against false"},
        {"[1,2]", "[2,1]", "/0", "the number 1 against the number 2"},
        {"[1]", "[1,2]", "", "another number of items"},
        {"[]", "{}", "", "an array against an object"},
        {"{\"a\":null}", "{}", "", "another number of members"},
        {"{\"a\":null,\"b\":1}", "{\"b\":1,\"c\":null}", "/a", "a member that the other has not"},
        {"{\"b\":1,\"c\":null}", "{\"a\":null,\"b\":1}", "/a", "no member that the other has"},
        {"{\"a\":1,\"a\":2}", "{\"a\":2,\"a\":1}", "/a", "the number 1 against the number 2"},
        {"{\"a\":1,\"a\":1,\"b\":1}", "{\"a\":1,\"b\":1,\"b\":1}", "/a", "a member that the other has not"},
        {"{\"x\":[{\"y\":\"s\"}]}", "{\"x\":[{\"y\":\"S\"}]}", "/x/0/y", "another string"},
        {"\"\\u00e9\"", "\"e\\u0301\"", "", "another string"}, /* nothing is normalised */
        {"{\"z\":[1],\"y\":[2]}", "{\"y\":[2],\"z\":[3]}", "/z/0", "the number 1 against the number 3"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_err err = {0};
        yyjson_val *x, *y;
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(cases[i].a), NULL, &x, &err) == 0);
        CHECK(wj_read(&a, wb_cstr(cases[i].b), NULL, &y, &err) == 0);
        int r = wj_equal(x, y, &err);
        CHECK(r >= 0);
        ALWAYS(r == !cases[i].where);
        if (cases[i].where) {
            CHECK_STR(wb_cstr(err.where), wb_cstr(cases[i].where));
            CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].msg));
        }
        r = wj_equal(y, x, NULL);
        CHECK(r >= 0);
        ALWAYS(r == !cases[i].where);
        CHECK_INT(wj_equal(x, x, NULL), 1);
    }
}

/* Large objects in opposite order, with duplicates; and deep ones. */
TEST_WITH(json_compare_hostile_values, .no_torture = "nothing but time")
{
    enum { N = 200000 };
    WB_CLEANUP(wb_buf_done) struct wb_buf up = WB_BUF(16u << 20), down = WB_BUF(16u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
    yyjson_val *x, *y;
    for (int i = 0; i < N; i++) {
        wb_buf_addf(&up, "%c\"key%d\":%d", i ? ',' : '{', i / 2, i % 2);
        int k = N - 1 - i;
        wb_buf_addf(&down, "%c\"key%d\":%d", i ? ',' : '{', k / 2, 1 - k % 2);
    }
    wb_buf_addc(&up, '}');
    wb_buf_addc(&down, '}');
    CHECK(wj_read(&a, wb_buf_str(&up), NULL, &x, NULL) == 0 && wj_read(&a, wb_buf_str(&down), NULL, &y, NULL) == 0);
    CHECK_INT(wj_equal(x, y, NULL), 1);

    wb_buf_clear(&up);
    for (int i = 0; i < WJ_DEPTH_MAX; i++)
        wb_buf_addc(&up, '[');
    for (int i = 0; i < WJ_DEPTH_MAX; i++)
        wb_buf_addc(&up, ']');
    CHECK(wj_read(&a, wb_buf_str(&up), UPP_OPTS(wj_read_opts, .depth = WJ_DEPTH_MAX), &x, NULL) == 0);
    CHECK_INT(wj_equal(x, x, NULL), 1);
}
