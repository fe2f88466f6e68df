/* What an object said beyond what its dialect writes: made by comparing, put back, and giving way to edits. */
#include "dialects/core/residue.h"

#include "json/read.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static yyjson_val *json(struct wb_arena *a, struct upp_str text)
{
    struct upp_err err;
    yyjson_val *v = NULL;
    return wj_read(a, text, NULL, &v, &err) < 0 ? NULL : v;
}

static void count(void *arg, yyjson_val *value)
{
    (void)value;
    ++*(size_t *)arg;
}

struct made {
    struct wb_buf residue, again;
    size_t lost, dropped;
};

static void made_done(struct made *m)
{
    wb_buf_done(&m->residue);
    wb_buf_done(&m->again);
}

/* With its residue: what is in `out`. */
static int put(struct upp_str residue, struct wb_buf *out, size_t *dropped, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf temp = WB_BUF(ROOM);
    struct wd_residue_put p = {.residue = residue, .scratch = &a, .temp = &temp};
    return wd_residue_put(&p, out, 0, dropped, err);
}

/* The residue of `was` beside `fresh`, and what it makes of `now`. */
static int round_trip(yyjson_val *was, yyjson_val *fresh, yyjson_val *now, struct made *m, struct upp_err *err)
{
    static const struct wd_elsewhere none = {0};
    struct wj_writer w;
    int r = wd_residue_make(was, fresh, &none, &m->residue, count, &m->lost, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &m->again, err);
    wj_write_value(&w, now);
    int written = wj_writer_check(&w);
    return r == 0 || written < 0 ? written : put(wb_buf_str(&m->residue), &m->again, &m->dropped, err);
}

static const struct {
    const char *was, *fresh, *residue; /* "": none */
    size_t lost;
} cases[] = {
    {"{\"a\":1,\"b\":\"x\"}", "{\"a\":1,\"b\":\"x\"}", "", 0},
    {"{\"b\":\"x\",\"a\":1}", "{\"a\":1,\"b\":\"x\"}", "{\"b\":0,\"a\":0}", 0},
    {"{\"a\":1,\"z\":[true]}", "{\"a\":1}", "{\"a\":0,\"z\":[\"l\",[true]]}", 1},
    {"{\"a\":1,\"a\":2}", "{\"a\":2}", "{\"a\":[\"l\",1],\"a\":0}", 1},
    {"[{\"type\":\"t\",\"x\":1},{\"type\":\"u\"}]", "[{\"type\":\"t\",\"x\":1}]", "[\"a\",0,[\"l\",{\"type\":\"u\"}]]",
     1},
    {"[{\"type\":\"t\"}]", "[{\"type\":\"s\"},{\"type\":\"t\"},{\"type\":\"s\"}]",
     "[\"a\",[\"d\",3738518213893907],0,[\"d\",3738518213893907]]", 0},
    {"[1,2]", "[1,2]", "", 0},
    {"{\"p\":{\"q\":{\"r\":1,\"s\":2}}}", "{\"p\":{\"q\":{\"r\":1}}}", "{\"p\":{\"q\":{\"r\":0,\"s\":[\"l\",2]}}}", 1},
};

TEST(residue_says_what_differs_and_no_more)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(made_done) struct made m = {.residue = WB_BUF(ROOM), .again = WB_BUF(ROOM)};
        struct upp_err err;
        yyjson_val *was = json(&a, wb_cstr(cases[i].was)), *fresh = json(&a, wb_cstr(cases[i].fresh));
        CHECK(was && fresh);
        CHECK(round_trip(was, fresh, fresh, &m, &err) >= 0);
        CHECK_STR(wb_buf_str(&m.residue), wb_cstr(cases[i].residue));
        CHECK_STR(wb_buf_str(&m.again), wb_cstr(cases[i].was));
        CHECK(m.lost == cases[i].lost && m.dropped == 0);
    }
}

static const struct {
    const char *was, *fresh, *now, *again;
    size_t dropped;
} edits[] = {
    /* An unknown member outlives every edit. */
    {"{\"z\":7,\"a\":1}", "{\"a\":1}", "{\"a\":2}", "{\"z\":7,\"a\":2}", 0},
    /* A spelling goes with what it spelled. */
    {"{\"a\":1.0}", "{\"a\":1}", "{\"a\":1}", "{\"a\":1.0}", 0},
    {"{\"a\":1.0}", "{\"a\":1}", "{\"a\":2}", "{\"a\":2}", 1},
    /* What the dialect would write and the document had not stays away until it says something else. */
    {"{\"a\":1}", "{\"a\":1,\"b\":null}", "{\"a\":1,\"b\":null}", "{\"a\":1}", 0},
    {"{\"a\":1}", "{\"a\":1,\"b\":null}", "{\"a\":1,\"b\":5}", "{\"a\":1,\"b\":5}", 0},
    {"[{\"type\":\"t\"}]", "[{\"type\":\"s\"},{\"type\":\"t\",\"a\":1}]", "[{\"type\":\"s\"},{\"type\":\"t\",\"a\":2}]",
     "[{\"type\":\"t\",\"a\":2}]", 0},
    {"[{\"type\":\"t\"}]", "[{\"type\":\"s\"},{\"type\":\"t\"}]", "[{\"type\":\"s\",\"a\":1},{\"type\":\"t\"}]",
     "[{\"type\":\"s\",\"a\":1},{\"type\":\"t\"}]", 0},
    /* A member that is gone from the model is gone. */
    {"{\"b\":1,\"a\":1}", "{\"a\":1,\"b\":1}", "{\"a\":1}", "{\"a\":1}", 0},
    {"{\"b\":1.0,\"a\":1}", "{\"a\":1,\"b\":1}", "{\"a\":1}", "{\"a\":1}", 1},
    /* One of which the model had nothing, and has now, is the model's: also where it is said twice. */
    {"{\"b\":null,\"a\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", 0},
    {"{\"b\":[],\"a\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", 1},
    {"{\"b\":7,\"b\":null,\"a\":1}", "{\"a\":1}", "{\"a\":1,\"b\":2}", "{\"b\":7,\"b\":2,\"a\":1}", 0},
    /* Items that were added come after; what nobody knows keeps its place. */
    {"[{\"type\":\"t\"},{\"type\":\"u\"}]", "[{\"type\":\"t\"}]", "[{\"type\":\"t\"},{\"type\":\"v\"}]",
     "[{\"type\":\"t\"},{\"type\":\"u\"},{\"type\":\"v\"}]", 1},
    {"[{\"type\":\"u\"},{\"type\":\"t\",\"x\":1}]", "[{\"type\":\"t\"}]", "[]", "[{\"type\":\"u\"}]", 1},
};

TEST(residue_gives_way_to_edits)
{
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(made_done) struct made m = {.residue = WB_BUF(ROOM), .again = WB_BUF(ROOM)};
        struct upp_err err;
        yyjson_val *was = json(&a, wb_cstr(edits[i].was)), *fresh = json(&a, wb_cstr(edits[i].fresh));
        yyjson_val *now = json(&a, wb_cstr(edits[i].now));
        CHECK(was && fresh && now);
        CHECK(round_trip(was, fresh, now, &m, &err) >= 0);
        CHECK_STR(wb_buf_str(&m.again), wb_cstr(edits[i].again));
        CHECK(m.dropped == edits[i].dropped);
    }
}

/* What others carried for us need not be ours: a node that says nothing puts nothing back. */
TEST(residue_that_is_none_is_left_out)
{
    static const struct {
        const char *residue, *now, *again;
    } strange[] = {
        {"{\"a\":0,\"z\":[\"l\"]}", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":[\"l\"]}", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":[\"k\"],\"z\":[\"k\"]}", "{\"a\":1}", "{\"a\":1}"},
        {"{\"a\":[\"a\",[\"l\"],0,[\"l\"]]}", "{\"a\":[1]}", "{\"a\":[1]}"},
        {"{\"a\":[\"o\"],\"b\":[\"d\"],\"c\":[\"a\"],\"d\":[\"x\",1],\"e\":true}",
         "{\"a\":1,\"b\":{},\"c\":[1],\"d\":2,\"e\":3}", "{\"a\":1,\"b\":{},\"c\":[1],\"d\":2,\"e\":3}"},
    };
    for (size_t i = 0; i < WB_LEN(strange); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        size_t dropped = 0;
        wb_buf_add(&out, wb_cstr(strange[i].now));
        CHECK_INT(put(wb_cstr(strange[i].residue), &out, &dropped, &err), 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(strange[i].again));
    }
}

/* Of the text what does not change stays; names are compared as they are meant; what stands elsewhere is not looked at.
 */
TEST(residue_is_put_into_a_text)
{
    static const struct {
        const char *residue, *now, *again;
        int r;
    } texts[] = {
        {"{\"a\":0,\"z\":[\"l\",1],\"b\":0}", "[{\"a\":{\"x\":[???]},\"b\":2,\"c\":3}",
         "[{\"a\":{\"x\":[???]},\"z\":1,\"b\":2,\"c\":3}", 0},
        {"[\"o\",{\"a\":0},{\"b\":1,\"c\":0}]", "[{\"a\":{\"x\":[???]},\"b\":2}", "[{\"a\":{\"x\":[???]},\"b\":2}", 0},
        {"{\"b\":0,\"a\":0}", "[{\"a\":{\"x\":[???]},\"b\":2}", "[{\"b\":2,\"a\":{\"x\":[???]}}", 0},
        {"{\"a\":0,\"q\\\"\":[\"l\",5]}", "[{\"a\":{\"x\":[???]},\"q\\\"\":\"\"}",
         "[{\"a\":{\"x\":[???]},\"q\\\"\":\"\"}", 0},
        {"{\"a\":0,\"z\":[\"l\",1]}", "[{\"a\":{\"x\":[???]}}", "[{\"a\":{\"x\":[???]},\"z\":1}", 0},
        {"{\"z\":[\"l\",1]}", "[{\"a\":{\"x\":[???]},", "", -UPP_EINVALID}, /* it was not written to its end */
        {"{\"z\":[\"l\",1]}", "[", "", -UPP_EINVALID},
        {"[\"l\",1]", "[{\"a\":{\"x\":[???]}}", "", -UPP_EINVALID},
        {"{", "[{\"a\":{\"x\":[???]}}", "", -UPP_EINVALID},
    };
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), temp = WB_BUF(ROOM);
        struct upp_err err;
        size_t dropped = 0;
        wb_buf_add(&out, wb_cstr(texts[i].now));
        const struct wj_extent at = {11, 16};
        const struct wj_extents within = {out.p, &at, 1};
        const struct wd_residue_put p = {wb_cstr(texts[i].residue), &within, &a, &temp};
        CHECK_INT(wd_residue_put(&p, &out, 1, &dropped, &err), texts[i].r);
        if (texts[i].r == 0)
            CHECK_STR(wb_buf_str(&out), wb_cstr(texts[i].again));
    }
}

static uint32_t roll(uint32_t *seed, uint32_t n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % n;
}

static void any_value(uint32_t *seed, struct wj_writer *w, unsigned depth)
{
    static const struct upp_str words[] = {UPP_STR_INIT("type"), UPP_STR_INIT("a"), UPP_STR_INIT("b"),
                                           UPP_STR_INIT("l"),    UPP_STR_INIT("k"), UPP_STR_INIT("")};
    uint32_t what = roll(seed, depth ? 8 : 5), n = roll(seed, 5);
    switch (what) {
    case 0:
        wj_write_null(w);
        break;
    case 1:
        wj_write_bool(w, roll(seed, 2));
        break;
    case 2:
        wj_write_u64(w, roll(seed, 3));
        break;
    case 3:
    case 4:
        wj_write_str(w, words[roll(seed, WB_LEN(words))]);
        break;
    case 5:
        wj_write_open(w, '[');
        while (n--)
            any_value(seed, w, depth - 1);
        wj_write_close(w, ']');
        break;
    default:
        wj_write_open(w, '{');
        while (n--) {
            wj_write_name(w, words[roll(seed, WB_LEN(words))]);
            any_value(seed, w, depth - 1);
        }
        wj_write_close(w, '}');
        break;
    }
}

TEST(residue_brings_back_any_value_from_any_other)
{
    uint32_t seed = 7;
    for (int i = 0; i < 3000; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(made_done) struct made m = {.residue = WB_BUF(ROOM), .again = WB_BUF(ROOM)};
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(ROOM), c = WB_BUF(ROOM);
        struct upp_err err;
        struct wj_writer w;
        wj_writer_init(&w, &b, &err);
        any_value(&seed, &w, 4);
        CHECK(wj_writer_check(&w) >= 0);
        wj_writer_init(&w, &c, &err);
        any_value(&seed, &w, 4);
        CHECK(wj_writer_check(&w) >= 0);
        yyjson_val *was = json(&a, wb_buf_str(&b)), *fresh = json(&a, wb_buf_str(&c));
        CHECK(was && fresh);
        CHECK(round_trip(was, fresh, fresh, &m, &err) >= 0);
        CHECK_STR(wb_buf_str(&m.again), wb_buf_str(&b));
        CHECK(m.dropped == 0);
        if (test_brief() && i == 20)
            break;
    }
}

/* An object of so many members is looked into, and a larger one is kept whole where it differs: both come back. */
TEST(residue_looks_into_objects_of_so_many_members)
{
    enum { MEMBERS = 64 };
    for (int n = MEMBERS; n <= MEMBERS + 1; n++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(made_done) struct made m = {.residue = WB_BUF(ROOM), .again = WB_BUF(ROOM)};
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
        struct upp_err err = {0};
        for (int i = 0; i < n; i++)
            wb_buf_addf(&text, "%c\"m%d\":1", i ? ',' : '{', i);
        wb_buf_addc(&text, '}');
        yyjson_val *was = json(&a, wb_buf_str(&text)), *fresh = json(&a, UPP_STR("{\"m0\":1}"));
        CHECK(was && fresh);
        CHECK(round_trip(was, fresh, fresh, &m, &err) >= 0);
        test_note("%.*s", UPP_FMT(wb_buf_str(&m.residue)));
        CHECK_INT(wb_str_starts(wb_buf_str(&m.residue), UPP_STR("{\"m0\":0,")), n == MEMBERS);
        CHECK_STR(wb_buf_str(&m.again), wb_buf_str(&text));
    }
}
