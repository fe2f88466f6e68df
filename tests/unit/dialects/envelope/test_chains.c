/* trace.parents of recorded envelopes: direct in the log, whole on the wire. */
#include "dialects/envelope/chains.h"

#include "json/read.h"
#include "json/write.h"
#include "support/test.h"

struct bed {
    struct wb_arena a;
    struct wd_chains chains;
};

static void done(struct bed *b)
{
    wd_chains_done(&b->chains);
    wb_arena_done(&b->a);
}

static yyjson_val *read_one(struct bed *b, const char *text)
{
    yyjson_val *v = NULL;
    return wj_read(&b->a, wb_cstr(text), NULL, &v, NULL) < 0 ? NULL : v;
}

static int asked(struct bed *b, const char *text)
{
    yyjson_val *v = read_one(b, text);
    return v ? wd_chains_add(&b->chains, v, NULL) : -UPP_ENOMEM;
}

/* The text of a recorded reply on the wire. */
static int sent(struct bed *b, const char *text, struct upp_str *ret)
{
    yyjson_val *v = read_one(b, text);
    int r = v ? wd_chains_restore(&b->chains, &b->a, v, &v, NULL) : -UPP_ENOMEM;
    return r < 0 ? r : wj_value_text(&b->a, v, ret, NULL);
}

/* covers: ENV-6/3 */
TEST(chains_of_replies_are_restored)
{
    static const struct {
        const char *log, *wire; /* wire NULL: the same */
    } cases[] = {
        {"{\"a\":1.50,\"trace\":{\"parents\":[\"r\"],\"above\":2,\"id\":\"x\",\"tags\":[\"t\"]},\"z\":[]}",
         "{\"a\":1.50,\"trace\":{\"parents\":[\"p\",\"q\",\"r\"],\"id\":\"x\",\"tags\":[\"t\"]},\"z\":[]}"},
        /* of a long chain the last ones */
        {"{\"trace\":{\"parents\":[\"r\"],\"above\":1}}", "{\"trace\":{\"parents\":[\"q\",\"r\"]}}"},
        /* as it was sent: a log from before, or direct parents */
        {"{\"trace\":{\"parents\":[\"p\",\"q\",\"r\"],\"id\":\"x\"}}", NULL},
        {"{\"trace\":{\"parents\":[\"r\"],\"id\":\"x\"}}", NULL},
        {"{\"trace\":{\"id\":\"x\"}}", NULL},
        {"{\"b\":1}", NULL},
        /* its request is not in this part of the log */
        {"{\"trace\":{\"parents\":[\"gone\"],\"above\":3}}", "{\"trace\":{\"parents\":[\"gone\"]}}"},
        /* nothing that we write */
        {"{\"trace\":{\"parents\":[\"r\"],\"above\":\"2\"}}", NULL},
        {"{\"trace\":{\"above\":2}}", "{\"trace\":{}}"},
        {"{\"trace\":{\"parents\":[\"r\"],\"above\":9}}", "{\"trace\":{\"parents\":[\"p\",\"q\",\"r\"]}}"},
    };
    WB_CLEANUP(done) struct bed b = {.a = WB_ARENA(1 << 20)};
    CHECK(asked(&b, "{\"trace\":{\"id\":\"r\",\"parents\":[\"other\"]}}") >= 0);
    CHECK(asked(&b, "{\"trace\":{\"id\":\"r\",\"parents\":[\"p\",\"q\"]}}") >= 0); /* the later counts */
    CHECK(asked(&b, "{\"trace\":{\"id\":\"s\"}}") >= 0);
    CHECK(asked(&b, "{}") >= 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_str text;
        CHECK(sent(&b, cases[i].log, &text) >= 0);
        CHECK_STR(text, wb_cstr(cases[i].wire ? cases[i].wire : cases[i].log));
    }
}

/* Many runs in one thread: what is kept has a limit, and the last request is always there. */
TEST(chains_of_earlier_runs_are_forgotten)
{
    enum { RUNS = 200, PARENTS = 500 };
    WB_CLEANUP(done) struct bed b = {.a = WB_ARENA(64 << 20)};
    struct upp_str text;
    for (int i = 0; i < RUNS; i++) {
        struct wb_buf out = WB_BUF(1 << 20);
        wb_buf_addf(&out, "{\"trace\":{\"id\":\"r%d\",\"parents\":[\"first\"", i);
        for (int k = 0; k < PARENTS; k++)
            wb_buf_addf(&out, ",\"a parent of request %d\"", i);
        wb_buf_add(&out, UPP_STR("]}}"));
        struct upp_str request = wb_arena_dup(&b.a, wb_buf_str(&out));
        wb_buf_done(&out);
        CHECK(request.p != NULL);
        wd_chains_begin(&b.chains);
        CHECK(asked(&b, request.p) >= 0);
        CHECK(b.chains.kept.used < 3 << 20);
        wb_arena_reset(&b.a);
    }
    CHECK(sent(&b, "{\"trace\":{\"parents\":[\"r199\"],\"above\":501}}", &text) >= 0);
    CHECK(wb_str_starts(text, UPP_STR("{\"trace\":{\"parents\":[\"first\",\"a parent of request 199\"")));
}
