/* A writer that compares: nothing is written as long as it is the same, and all of it as soon as it is not. */
#include "json/match.h"

#include <string.h>

#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

static yyjson_val *value_of(struct wb_arena *a, const char *text)
{
    yyjson_val *v = NULL;
    EXPECT(wj_read(a, wb_cstr(text), NULL, &v, NULL) == 0);
    return v;
}

/* What was written is this text, token for token. */
static void says(yyjson_val *v, struct upp_str text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
    EXPECT(v && wj_write(v, &b, NULL) == 0);
    test_note("%.*s", UPP_FMT(wb_buf_str(&b)));
    EXPECT(wb_str_eq(wb_buf_str(&b), text));
}

/* Writes `said` against `was`: is it the same? Then it is the value itself; else one that says `said`. No text is made.
 */
static void holds(const char *was, const char *said)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16), plain = WB_BUF(1 << 16);
    WB_CLEANUP(wj_match_done) struct wj_match m = {0};
    struct wj_writer                          w;
    yyjson_val                               *x = value_of(&a, was), *y = value_of(&a, said);
    if (!x || !y)
        return;
    EXPECT(wj_write(y, &plain, NULL) == 0);
    for (int raw = 0; raw < 2; raw++) {
        wj_writer_init(&w, &out, NULL);
        wj_match_begin(&m, &w, x, x, NULL);
        if (raw)
            wj_write_raw(&w, plain.p, plain.n);
        else
            wj_write_value(&w, y);
        yyjson_val *written = wj_match_end(&w);
        test_note("%s / %s: %s", was, said, written == x ? "same" : "other");
        EXPECT(wj_writer_check(&w) == 0 && !w.match && out.n == 0);
        EXPECT((written == x) == (strcmp(was, said) == 0));
        says(written, wb_buf_str(&plain));
    }
}

TEST(json_match_tells_every_difference)
{
    static const char *const texts[] = {
        "null",
        "true",
        "false",
        "0",
        "1.50",
        "\"\"",
        "\"a\"",
        "[]",
        "{}",
        "[[],{}]",
        "[1,2,[3,{\"a\":[4]}],5]",
        "[1,2,[3,{\"a\":[4]}]]",
        "[1,2,[3,{\"a\":[4,5]}],5]",
        "[1,2,[3,{\"b\":[4]}],5]",
        "{\"a\":1,\"b\":{\"c\":\"x\"},\"d\":[true,null]}",
        "{\"a\":1,\"b\":{\"c\":\"y\"},\"d\":[true,null]}",
        "{\"a\":1,\"b\":{\"c\":\"x\"},\"d\":[true]}",
        "{\"a\":1,\"d\":[true,null],\"b\":{\"c\":\"x\"}}",
        "{\"a\":1,\"a\":1}",
        "{\"a\":1}",
        "{\"long\":\"a text that is \\\"longer\\\" than sixteen bytes, na\xc3\xafve, \\n and \xed\x95\x9c\"}",
        "{\"long\":\"a text that is \\\"longer\\\" than sixteen bytes, na\xc3\xafve, \\n and \xed\x95\x9d\"}",
        "{\"a\":{\"a\":{\"a\":{\"a\":{}}}}}",
        "{\"a\":{\"a\":{\"a\":{\"a\":[]}}}}",
        "{\"a\":{\"z\":{\"a\":{\"a\":[]}}},\"b\":{\"c\":\"x\"},\"e\":7,\"d\":[true,false,null,-1.5e3]}",
        "{\"b\":{\"c\":\"x\",\"d\":\"\"},\"a\":1,\"d\":[[true],null]}",
    };
    for (size_t i = 0; i < WB_LEN(texts); i++)
        for (size_t k = 0; k < WB_LEN(texts); k++)
            holds(texts[i], texts[k]);
}

TEST(json_match_gives_what_was_written)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16);
    WB_CLEANUP(wj_match_done) struct wj_match m   = {0};
    struct wj_writer                          w;
    char                                      text[] = "e";
    yyjson_val *v = value_of(&a, "{\"a\":[1,{\"b\":2}],\"c\":{\"d\":\"e\"},\"g\":[\"h\"]}");
    CHECK(v);
    wj_writer_init(&w, &out, NULL);
    wj_write_open(&w, '[');
    wj_write_u64(&w, 7);
    wj_match_begin(&m, &w, v, v, NULL);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("a"));
    CHECK(!wj_match_same(&w, UPP_STR("[1,{\"b\":3}]")) && !wj_match_same(&w, UPP_STR("[1,{\"b\":")));
    CHECK(wj_match_same(&w, UPP_STR("[1,{\"b\":2}]")));
    wj_write_plain_name(&w, "c", 1);
    wj_write_open(&w, '{');
    CHECK(!m.differs);
    wj_write_plain_name(&w, "f", 1); /* it is d */
    CHECK(m.differs);
    wj_write_str(&w, wb_cstr(text));
    text[0] = 'x'; /* the caller's text may go */
    wj_write_close(&w, '}');
    wj_write_plain_name(&w, "g", 1);
    wj_write_raw(&w, "[\"h\"]", 5);
    wj_write_close(&w, '}');
    says(wj_match_end(&w), UPP_STR("{\"a\":[1,{\"b\":2}],\"c\":{\"f\":\"e\"},\"g\":[\"h\"]}"));
    wj_write_close(&w, ']');
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("[7]"));
}

/* One that is not written to its end, and a second one behind it: neither is a value. */
TEST(json_match_takes_one_value)
{
    for (int more = 0; more < 2; more++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16);
        WB_CLEANUP(wj_match_done) struct wj_match m   = {0};
        struct wj_writer                          w;
        yyjson_val                               *v = value_of(&a, "{\"a\":1}");
        CHECK(v);
        wj_writer_init(&w, &out, NULL);
        wj_match_begin(&m, &w, v, v, NULL);
        if (more) {
            wj_write_value(&w, v);
            wj_write_null(&w);
        } else
            wj_write_open(&w, '{');
        CHECK(!wj_match_end(&w));
        CHECK_INT(wj_writer_check(&w), -UPP_EBUG);
    }
}

/* Bytes that are no value fail as reading them does. */
TEST(json_match_takes_no_other_bytes)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16);
    WB_CLEANUP(wj_match_done) struct wj_match m   = {0};
    struct wj_writer                          w;
    yyjson_val                               *v = value_of(&a, "{\"a\":1}");
    CHECK(v);
    wj_writer_init(&w, &out, NULL);
    wj_match_begin(&m, &w, v, v, NULL);
    wj_write_raw(&w, "{\"a\":", 5);
    wj_write_u64(&w, 1);
    CHECK(!wj_match_end(&w));
    CHECK_INT(wj_writer_check(&w), -UPP_EINVALID);
}

/* What stands elsewhere: a list is without it, a member is stepped over. */
TEST(json_match_leaves_out_what_stands_elsewhere)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a       = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out     = WB_BUF(1 << 16);
    WB_CLEANUP(wj_match_done) struct wj_match m       = {0};
    uint8_t                                   bits[8] = {0};
    struct wj_writer                          w;
    yyjson_val *v = value_of(&a, "{\"l\":[{\"x\":1},5,{\"x\":2}],\"m\":{\"y\":3},\"n\":4}");
    CHECK(v);
    yyjson_val *l = yyjson_obj_get(v, "l"), *inner = yyjson_obj_get(v, "m");
    yyjson_val *away[] = {yyjson_arr_get(l, 0), yyjson_arr_get(l, 2), inner};
    for (size_t i = 0; i < WB_LEN(away); i++)
        bits[(away[i] - v) / 8] |= (uint8_t)(1u << (away[i] - v) % 8);
    for (int differs = 0; differs < 2; differs++) {
        out.n = 0;
        wj_writer_init(&w, &out, NULL);
        wj_match_begin(&m, &w, v, v, bits);
        wj_write_open(&w, '{');
        wj_write_name(&w, UPP_STR("l"));
        wj_write_open(&w, '[');
        wj_write_u64(&w, 5);
        wj_write_close(&w, ']');
        wj_write_name(&w, UPP_STR("m"));
        CHECK(w.match && !wj_match_skip(&w, l) && wj_match_skip(&w, inner) && !wj_match_skip(&w, inner));
        wj_write_name(&w, UPP_STR("n"));
        wj_write_u64(&w, differs ? 9 : 4);
        wj_write_close(&w, '}');
        yyjson_val *written = wj_match_end(&w);
        CHECK((written == v) == !differs && out.n == 0);
        if (differs)
            says(written, UPP_STR("{\"l\":[5],\"m\":0,\"n\":9}"));
    }
    out.n = 0; /* a member that stands elsewhere, and is said here */
    wj_writer_init(&w, &out, NULL);
    wj_match_begin(&m, &w, v, v, bits);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("l"));
    wj_write_raw(&w, "[5]", 3);
    wj_write_name(&w, UPP_STR("m"));
    wj_write_raw(&w, "{\"y\":3}", 7);
    wj_write_close(&w, '}');
    says(wj_match_end(&w), UPP_STR("{\"l\":[5],\"m\":{\"y\":3}}"));
    wj_writer_init(&w, &out, NULL); /* the same, where it differs before */
    wj_match_begin(&m, &w, v, v, bits);
    wj_write_open(&w, '{');
    wj_write_name(&w, UPP_STR("k"));
    wj_write_bool(&w, true);
    wj_write_name(&w, UPP_STR("l"));
    wj_write_open(&w, '[');
    wj_write_u64(&w, 5);
    wj_write_u64(&w, 6);
    wj_write_close(&w, ']');
    wj_write_name(&w, UPP_STR("m"));
    CHECK(!wj_match_skip(&w, inner));
    wj_write_u64(&w, 0);
    wj_write_close(&w, '}');
    says(wj_match_end(&w), UPP_STR("{\"k\":true,\"l\":[5,6],\"m\":0}"));
    CHECK_INT(wj_writer_check(&w), 0);
}

/* What is nested deeper than it can hold fails. */
TEST(json_match_has_a_depth)
{
    for (size_t depth = WJ_MATCH_DEPTH; depth <= WJ_MATCH_DEPTH + 1; depth++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(4 << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16);
        WB_CLEANUP(wj_match_done) struct wj_match m   = {0};
        char                                      text[2 * (WJ_MATCH_DEPTH + 1) + 1];
        struct wj_writer                          w;
        yyjson_val                               *v = NULL;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        CHECK_INT(wj_read(&a, wb_str(text, 2 * depth), UPP_OPTS(wj_read_opts, .depth = WJ_MATCH_DEPTH + 1), &v, NULL),
                  0);
        wj_writer_init(&w, &out, NULL);
        wj_match_begin(&m, &w, v, v, NULL);
        wj_write_value(&w, v);
        bool fits = depth == WJ_MATCH_DEPTH;
        CHECK(wj_match_end(&w) == (fits ? v : NULL));
        CHECK_INT(wj_writer_check(&w), fits ? 0 : -UPP_ELIMIT);
    }
}

/* Who writes does not look whether it failed, and leaves out what it could not make: all of it is taken for nothing. */
TEST(json_match_looks_at_nothing_after_a_failure)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 16);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(1 << 16);
    WB_CLEANUP(wj_match_done) struct wj_match m   = {0};
    struct wj_writer                          w;
    yyjson_val                               *v = value_of(&a, "[[1,2,3,4,5],{\"usage\":1}]");
    CHECK(v);
    wj_writer_init(&w, &out, NULL);
    wj_match_begin(&m, &w, v, v, NULL);
    wj_write_open(&w, '[');
    wj_writer_fail(&w, -UPP_ENOMEM);
    wj_write_name(&w, UPP_STR("usage")); /* the list holds no members */
    wj_write_close(&w, '}');
    wj_write_str(&w, UPP_STR("x"));
    wj_write_raw(&w, "{}", 2);
    wj_write_open(&w, '{');
    CHECK(!wj_match_end(&w));
    CHECK_INT(wj_writer_check(&w), -UPP_ENOMEM);
}
