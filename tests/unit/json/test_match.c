/* A writer that compares: nothing is written as long as it is the same, and all of it as soon as it is not. */
#include "json/match.h"

#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "support/test.h"
#include "support/overcommit.h"

/* A value that was read, and a writer that compares. */
struct bed {
    struct wb_arena a;
    struct wb_buf out;
    struct wj_match m;
    struct wj_writer w;
    yyjson_val *v;
};

static void bed_done(struct bed *b)
{
    wj_match_done(&b->m);
    wb_buf_done(&b->out);
    wb_arena_done(&b->a);
}

#define BED(name) WB_CLEANUP(bed_done) struct bed name = {.a = WB_ARENA(4 << 20), .out = WB_BUF(1 << 16)}

static bool bed_read(struct bed *b, struct upp_str was)
{
    return EXPECT(wj_read(&b->a, was, UPP_OPTS(wj_read_opts, .depth = WJ_MATCH_DEPTH + 1), &b->v, NULL) == 0);
}

/* What is written from here on is compared. `elsewhere`: see wj_match_begin. */
static void bed_compare(struct bed *b, const uint8_t *elsewhere, struct upp_err *err)
{
    wj_writer_init(&b->w, &b->out, err);
    wj_match_begin(&b->m, &b->w, b->v, b->v, elsewhere);
}

static bool bed_begin(struct bed *b, struct upp_str was, struct upp_err *err)
{
    bool is = bed_read(b, was);
    if (is)
        bed_compare(b, NULL, err);
    return is;
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
    BED(b);
    WB_CLEANUP(wb_buf_done) struct wb_buf plain = WB_BUF(1 << 16);
    yyjson_val *y = NULL;
    if (!bed_read(&b, wb_cstr(was)) || !EXPECT(wj_read(&b.a, wb_cstr(said), NULL, &y, NULL) == 0))
        return;
    EXPECT(wj_write(y, &plain, NULL) == 0);
    for (int raw = 0; raw < 2; raw++) {
        bed_compare(&b, NULL, NULL);
        if (raw)
            wj_write_raw(&b.w, plain.p, plain.n);
        else
            wj_write_value(&b.w, y);
        yyjson_val *written = wj_match_end(&b.w);
        test_note("%s / %s: %s", was, said, written == b.v ? "same" : "other");
        EXPECT(wj_writer_check(&b.w) == 0 && !b.w.match && b.out.n == 0);
        EXPECT((written == b.v) == (strcmp(was, said) == 0));
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
    BED(b);
    struct wj_writer *w = &b.w;
    char text[] = "e";
    CHECK(bed_read(&b, UPP_STR("{\"a\":[1,{\"b\":2}],\"c\":{\"d\":\"e\"},\"g\":[\"h\"]}")));
    wj_writer_init(w, &b.out, NULL);
    wj_write_open(w, '[');
    wj_write_u64(w, 7);
    wj_match_begin(&b.m, w, b.v, b.v, NULL);
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("a"));
    CHECK(!wj_match_same(w, UPP_STR("[1,{\"b\":3}]")) && !wj_match_same(w, UPP_STR("[1,{\"b\":")));
    CHECK(wj_match_same(w, UPP_STR("[1,{\"b\":2}]")));
    wj_write_unescaped_name(w, "c", 1);
    wj_write_open(w, '{');
    CHECK(!b.m.differs);
    wj_write_unescaped_name(w, "f", 1); /* it is d */
    CHECK(b.m.differs);
    wj_write_str(w, wb_cstr(text));
    text[0] = 'x'; /* the caller's text may go */
    wj_write_close(w, '}');
    wj_write_unescaped_name(w, "g", 1);
    wj_write_raw(w, "[\"h\"]", 5);
    wj_write_close(w, '}');
    says(wj_match_end(w), UPP_STR("{\"a\":[1,{\"b\":2}],\"c\":{\"f\":\"e\"},\"g\":[\"h\"]}"));
    wj_write_close(w, ']');
    CHECK_INT(wj_writer_check(w), 0);
    CHECK_STR(wb_buf_str(&b.out), UPP_STR("[7]"));
}

/* One that is not written to its end, and a second one behind it: neither is a value. */
TEST(json_match_takes_one_value)
{
    for (int more = 0; more < 2; more++) {
        BED(b);
        CHECK(bed_begin(&b, UPP_STR("{\"a\":1}"), NULL));
        if (more) {
            wj_write_value(&b.w, b.v);
            wj_write_null(&b.w);
        } else
            wj_write_open(&b.w, '{');
        CHECK(!wj_match_end(&b.w));
        CHECK_INT(wj_writer_check(&b.w), -UPP_EBUG);
    }
}

/* A quote inside a string is escaped in the text: without that it would end the string there. */
TEST(json_match_knows_quotes_inside_a_string)
{
    static const struct upp_str pairs[][2] = {
        {UPP_STR_INIT("[\"a\\\",\\\"b\"]"), UPP_STR_INIT("[\"a\",\"b\"]")},
        {UPP_STR_INIT("{\"a\\\":1,\\\"b\":2}"), UPP_STR_INIT("{\"a\":1,\"b\":2}")},
    };
    for (size_t i = 0; i < WB_LEN(pairs); i++)
        for (size_t other = 0; other < 2; other++) {
            BED(b);
            CHECK(bed_begin(&b, pairs[i][other], NULL));
            CHECK(!wj_match_same(&b.w, pairs[i][!other]));
            CHECK(wj_match_same(&b.w, pairs[i][other]));
        }
}

/* Bytes that are no value fail as reading them does. */
TEST(json_match_takes_no_other_bytes)
{
    BED(b);
    CHECK(bed_begin(&b, UPP_STR("{\"a\":1}"), NULL));
    wj_write_raw(&b.w, "{\"a\":", 5);
    wj_write_u64(&b.w, 1);
    CHECK(!wj_match_end(&b.w));
    CHECK_INT(wj_writer_check(&b.w), -UPP_EINVALID);
}

/* What stands elsewhere: a list is without it, a member is stepped over. */
TEST(json_match_leaves_out_what_stands_elsewhere)
{
    BED(b);
    uint8_t bits[8] = {0};
    struct wj_writer *w = &b.w;
    CHECK(bed_read(&b, UPP_STR("{\"l\":[{\"x\":1},5,{\"x\":2}],\"m\":{\"y\":3},\"n\":4}")));
    yyjson_val *l = yyjson_obj_get(b.v, "l"), *inner = yyjson_obj_get(b.v, "m");
    yyjson_val *away[] = {yyjson_arr_get(l, 0), yyjson_arr_get(l, 2), inner};
    for (size_t i = 0; i < WB_LEN(away); i++)
        bits[(away[i] - b.v) / 8] |= (uint8_t)(1u << (away[i] - b.v) % 8);
    for (int differs = 0; differs < 2; differs++) {
        bed_compare(&b, bits, NULL);
        wj_write_open(w, '{');
        wj_write_name(w, UPP_STR("l"));
        wj_write_open(w, '[');
        wj_write_u64(w, 5);
        wj_write_close(w, ']');
        wj_write_name(w, UPP_STR("m"));
        CHECK(w->match && !wj_match_skip(w, l) && wj_match_skip(w, inner) && !wj_match_skip(w, inner));
        wj_write_name(w, UPP_STR("n"));
        wj_write_u64(w, differs ? 9 : 4);
        wj_write_close(w, '}');
        yyjson_val *written = wj_match_end(w);
        CHECK((written == b.v) == !differs && b.out.n == 0);
        if (differs)
            says(written, UPP_STR("{\"l\":[5],\"m\":0,\"n\":9}"));
    }
    bed_compare(&b, bits, NULL); /* a member that stands elsewhere, and is said here */
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("l"));
    wj_write_raw(w, "[5]", 3);
    wj_write_name(w, UPP_STR("m"));
    wj_write_raw(w, "{\"y\":3}", 7);
    wj_write_close(w, '}');
    says(wj_match_end(w), UPP_STR("{\"l\":[5],\"m\":{\"y\":3}}"));
    bed_compare(&b, bits, NULL); /* the same, where it differs before */
    wj_write_open(w, '{');
    wj_write_name(w, UPP_STR("k"));
    wj_write_bool(w, true);
    wj_write_name(w, UPP_STR("l"));
    wj_write_open(w, '[');
    wj_write_u64(w, 5);
    wj_write_u64(w, 6);
    wj_write_close(w, ']');
    wj_write_name(w, UPP_STR("m"));
    CHECK(!wj_match_skip(w, inner));
    wj_write_u64(w, 0);
    wj_write_close(w, '}');
    says(wj_match_end(w), UPP_STR("{\"k\":true,\"l\":[5,6],\"m\":0}"));
    CHECK_INT(wj_writer_check(w), 0);
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* What is nested deeper than it can hold fails. */
TEST(json_match_has_a_depth)
{
    static char text[2 * (WJ_MATCH_DEPTH + 1)];
    for (size_t depth = WJ_MATCH_DEPTH; depth <= WJ_MATCH_DEPTH + 1; depth++) {
        BED(b);
        struct upp_err err = {0};
        bool fits = depth == WJ_MATCH_DEPTH;
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        CHECK(bed_begin(&b, wb_str(text, 2 * depth), &err));
        wj_write_value(&b.w, b.v);
        CHECK(wj_match_end(&b.w) == (fits ? b.v : NULL));
        CHECK_INT(wj_writer_check(&b.w), fits ? 0 : -UPP_ELIMIT);
        CHECK_STR(wb_cstr(err.msg), fits ? UPP_STR("") : UPP_STR("values nested deeper than 256"));
    }
}

/* The last values there is room for, and one more. */
TEST_WITH(json_match_has_a_limit_of_values, .no_torture = "memory that is not ours")
{
    BED(b);
    struct upp_err err = {0};
    size_t bytes = WJ_MATCH_VALUES * sizeof *b.m.values.p;
    yyjson_val *vast = test_vast(bytes);
    CHECK(bed_begin(&b, UPP_STR("[1]"), &err));
    wj_write_open(&b.w, '{'); /* not what was read: values are made from here on */
    CHECK(vast && b.m.differs && b.m.values.n == 1);
    wb_vec_done(&b.m.values);
    b.m.values.p = vast;
    b.m.values.cap = WJ_MATCH_VALUES;
    b.m.values.n = WJ_MATCH_VALUES - 2;
    wj_write_name(&b.w, UPP_STR("a"));
    wj_write_bool(&b.w, true);
    EXPECT(wj_writer_check(&b.w) == 0 && b.m.values.n == WJ_MATCH_VALUES);
    wj_write_name(&b.w, UPP_STR("b"));
    EXPECT(!wj_match_end(&b.w) && wj_writer_check(&b.w) == -UPP_ELIMIT && b.m.values.n == WJ_MATCH_VALUES);
    EXPECT(b.out.n == 0);
    b.m.values.p = NULL; /* it is none that wb_vec_done may free */
    b.m.values.n = b.m.values.cap = 0;
    test_vast_done(vast, bytes);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("no room for 134217729 values"));
}

/* Bytes of the texts that are not what was read: taken so far, all but some. */
TEST(json_match_has_a_limit_of_bytes)
{
    enum { LEFT = 4096 };
    static char text[LEFT];
    memset(text, 'x', sizeof text);
    for (int fits = 0; fits < 2; fits++) {
        BED(b);
        struct upp_err err = {0};
        CHECK(bed_begin(&b, UPP_STR("[\"a\"]"), &err));
        b.m.texts.used = WJ_MATCH_BYTES - LEFT;
        wj_write_open(&b.w, '[');
        wj_write_str(&b.w, wb_str(text, fits ? LEFT / 2 : LEFT));
        wj_write_close(&b.w, ']');
        CHECK(!wj_match_end(&b.w) == !fits && b.out.n == 0);
        CHECK_INT(wj_writer_check(&b.w), fits ? 0 : -UPP_ELIMIT);
        CHECK(fits ? !err.msg[0] : strstr(err.msg, "2147483647") != NULL);
    }
}

/* JSON that is longer is not looked at: it has not all these bytes. */
TEST(json_match_has_a_limit_of_raw_bytes)
{
    BED(b);
    struct upp_err err = {0};
    CHECK(bed_begin(&b, UPP_STR("[1]"), &err));
    wj_write_raw(&b.w, "{}", (size_t)WJ_MATCH_BYTES + 1);
    CHECK(!wj_match_end(&b.w));
    CHECK_INT(wj_writer_check(&b.w), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("expected at most 2147483647 bytes of JSON, found 2147483648"));
}

/* A member that comes out of turn is looked for among the first ones: what is found is what was read, not a copy of it.
 * What stands behind them is not found, and said all the same. */
TEST(json_match_looks_for_a_name_among_some)
{
    for (int found = 0; found < 2; found++) {
        BED(b);
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 16), said = WB_BUF(1 << 16);
        char name[8];
        int at = found ? WJ_MATCH_NAMES - 1 : WJ_MATCH_NAMES;
        for (int i = 0; i <= WJ_MATCH_NAMES; i++)
            wb_buf_addf(&text, "%c\"%d\":%d", i ? ',' : '{', i, i);
        wb_buf_addc(&text, '}');
        wb_buf_addf(&said, "{\"x\":1,\"%d\":%d}", at, at);
        (void)snprintf(name, sizeof name, "%d", at);
        CHECK(wb_buf_check(&text, NULL) == 0 && wb_buf_check(&said, NULL) == 0);
        CHECK(bed_begin(&b, wb_buf_str(&text), NULL));
        wj_write_open(&b.w, '{');
        wj_write_name(&b.w, UPP_STR("x"));
        wj_write_u64(&b.w, 1);
        wj_write_name(&b.w, wb_cstr(name));
        wj_write_u64(&b.w, (uint64_t)at);
        wj_write_close(&b.w, '}');
        yyjson_val *written = wj_match_end(&b.w), *is = yyjson_obj_get(written, name), *was = yyjson_obj_get(b.v, name);
        CHECK(is && was && (is->uni.str == was->uni.str) == found);
        says(written, wb_buf_str(&said));
    }
}

/* Who writes does not look whether it failed, and leaves out what it could not make: all of it is taken for nothing. */
TEST(json_match_looks_at_nothing_after_a_failure)
{
    BED(b);
    CHECK(bed_begin(&b, UPP_STR("[[1,2,3,4,5],{\"usage\":1}]"), NULL));
    wj_write_open(&b.w, '[');
    wj_writer_fail(&b.w, -UPP_ENOMEM);
    wj_write_name(&b.w, UPP_STR("usage")); /* the list holds no members */
    wj_write_close(&b.w, '}');
    wj_write_str(&b.w, UPP_STR("x"));
    wj_write_raw(&b.w, "{}", 2);
    wj_write_open(&b.w, '{');
    CHECK(!wj_match_end(&b.w));
    CHECK_INT(wj_writer_check(&b.w), -UPP_ENOMEM);
}
