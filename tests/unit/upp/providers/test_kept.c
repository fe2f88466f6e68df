/* Calls that were kept in a vendor's own form, against those of a message. */
#include "json/read.h"
#include "support/test.h"
#include "upp/providers/body.h"

static const struct {
    const char *said, *kept; /* kept: JSON; NULL: none */
    bool same;
} rows[] = {
    {"{\"a\":1}", "{\"a\":1}", true},
    {"{\"a\":1,\"b\":[2]}", "{\"b\":[2.0],\"a\":10e-1}", true},
    {"{\"a\":1}", "{\"a\":2}", false},
    {"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
    {"{\"a\":1}", "{}", false},
    {"", "{}", true},
    {" \n", NULL, true},
    {"{}", "null", true},
    {"{}", NULL, true},
    {"{\"a\":1}", NULL, false},
    {"{\"a\":1}", "\"{\\\"a\\\": 1}\"", true}, /* OpenAI's */
    {"{\"a\":1}", "\"{\\\"a\\\": 2}\"", false},
    {"{}", "\"\"", true},
    {"", "\" \"", true},
    {"{\"a\":", "\"{\\\"a\\\":\"", true}, /* no JSON: by its text */
    {"{\"b\":", "\"{\\\"a\\\":\"", false},
    {"{\"a\":1}", "\"{\\\"a\\\":\"", false},
    {"{", "{}", true}, /* cut off: upp__say_cut */
    {"{\"a\":1", "{\"a\":1}", true},
    {"{\"a\":2", "{\"a\":1}", false},
    {"{\"a\":1", "\"{\\\"a\\\":1}\"", true},
    {"{\"a\":", "{\"INVALID_JSON\":\"{\\\"a\\\":\"}", true}, /* as it was said to the vendor */
    {"{\"b\":", "{\"INVALID_JSON\":\"{\\\"a\\\":\"}", false},
    {"{\"a\":", "{\"INVALID_JSON\":\"{\\\"a\\\":\",\"b\":1}", false},
    {"[1]", "[1]", true},
    {"[1]", "{\"INVALID_JSON\":\"[1]\"}", true},
};

static int see(const char *name, const char *said, const char *kept, bool *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct upp__body b = {.arena = &a, .err = err};
    const struct upp_part call = {.kind = UPP_PART_CALL, .name = UPP_STR("f"), .text = wb_cstr(said)};
    yyjson_val *v = NULL;
    wj_writer_init(&b.w, &out, err);
    int r = kept ? wj_read(&a, wb_cstr(kept), NULL, &v, err) : 0;
    if (r < 0)
        return r;
    *ret = upp__is_kept_call(&b, &call, wb_cstr(name), v);
    return upp__body_check(&b);
}

TEST(kept_calls_are_the_same_by_value)
{
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        bool same = false;
        struct upp_err err = {0};
        CHECK_INT(see("f", rows[i].said, rows[i].kept, &same, &err), 0);
        if (same != rows[i].same)
            CHECK_STR(wb_cstr(rows[i].said), wb_cstr(rows[i].kept ? rows[i].kept : "none")); /* names the row */
    }
}

TEST(kept_calls_have_the_same_name)
{
    bool same = true;
    struct upp_err err = {0};
    CHECK_INT(see("g", "{}", "{}", &same, &err), 0);
    CHECK(!same);
}
