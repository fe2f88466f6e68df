/* model/call_source.c: where the tool of a call comes from, in the metadata of its part. */
#include "model/call_source.h"
#include "support/test.h"

static const struct {
    struct wm_call_source source;
    const char *metadata;
} written[] = {
    {{WM_TOOL_CLIENT, {0}}, "{\"weft\":{\"source\":\"client\"}}"},
    {{WM_TOOL_MCP, {0}}, "{\"weft\":{\"source\":\"mcp\"}}"},
    {{WM_TOOL_MCP, UPP_STR_INIT("a \"b\"")}, "{\"weft\":{\"source\":\"mcp\",\"server\":\"a \\\"b\\\"\"}}"},
    {{WM_TOOL_COMPONENT, {0}}, "{\"weft\":{\"source\":\"component\"}}"},
};

TEST(model_call_source_is_written_and_read)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_call_source read;
    struct upp_str text;
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(written); i++) {
        CHECK_INT(wm_call_source_write(&a, written[i].source, &text, &err), 0);
        CHECK_STR(text, wb_cstr(written[i].metadata));
        CHECK_INT(wm_call_source_read(&a, text, &read, &err), 0);
        CHECK_INT(read.source, written[i].source.source);
        CHECK(wb_str_eq(read.server, written[i].source.server));
    }
    CHECK_INT(wm_call_source_write(&a, (struct wm_call_source){0}, &text, &err), 0);
    CHECK_INT(text.n, 0);
}

/* What others write there is no source, and no failure. */
TEST(model_call_source_of_nothing_known_is_a_plugin)
{
    static const char *const others[] = {
        "",
        "{}",
        "{\"google\":{\"source\":\"mcp\"}}",
        "{\"weft\":{\"source\":\"else\"}}",
        "{\"weft\":{\"source\":1}}",
        "{\"weft\":\"mcp\"}",
        "{\"weft\":",
        "[\"weft\"]",
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wm_call_source read;
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(others); i++) {
        CHECK_INT(wm_call_source_read(&a, wb_cstr(others[i]), &read, &err), 0);
        CHECK_INT(read.source, WM_TOOL_PLUGIN);
        CHECK(!read.server.p);
    }
}

#define OWN "{\"weft\":{\"source\":\"mcp\"}}"

/* The provider's comes first: some dialects look at the first provider alone. A source in it is not believed. */
TEST(model_call_source_joins_the_metadata_of_a_provider)
{
    static const char *const cases[][3] = {
        {"", "", ""},
        {"{\"google\":{\"s\":1}}", "", "{\"google\":{\"s\":1}}"},
        {"", "{\"weft\":{\"source\":\"mcp\"}}", "{\"weft\":{\"source\":\"mcp\"}}"},
        {"{}", "{\"weft\":{\"source\":\"mcp\"}}", "{\"weft\":{\"source\":\"mcp\"}}"},
        {" {\"google\":{\"s\":1}} ", "{\"weft\":{\"source\":\"mcp\"}}",
         "{\"google\":{\"s\":1},\"weft\":{\"source\":\"mcp\"}}"},
        {"{\"weft\":{\"source\":\"client\"},\"x\":{}}", "{\"weft\":{\"source\":\"mcp\"}}",
         "{\"x\":{},\"weft\":{\"source\":\"mcp\"}}"},
        {"{\"weft\":{\"source\":\"client\"}}", "", ""},
        {"{ }", OWN, OWN},
        {" {\n} ", OWN, OWN},
        {"{\"x\": 1 }", OWN, "{\"x\":1,\"weft\":{\"source\":\"mcp\"}}"},
        {"[1,2]", OWN, OWN},
        {"[1,2]", "", "[1,2]"},
        {"{}", "", ""},
        {"{ \"x\":\"\\u003d\"}", "", "{ \"x\":\"\\u003d\"}"}, /* as it came */
        {"\"weft\"", OWN, OWN},
        {"{\"x\":", OWN, OWN},
        {"{\"\\u0077eft\":{\"source\":\"client\"}}", OWN, OWN},
        {"{\"\\u0077eft\":1,\"x\":2,\"weft\":3}", OWN, "{\"x\":2,\"weft\":{\"source\":\"mcp\"}}"},
        {"{\"\\u0077eft\":{\"source\":\"client\"},\"x\":2}", "", "{\"x\":2}"},
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_str text = {0};
        CHECK_INT(wm_call_source_join(&a, wb_cstr(cases[i][0]), wb_cstr(cases[i][1]), &text, &err), 0);
        test_note("%s + %s", cases[i][0], cases[i][1]);
        CHECK_STR(text, wb_cstr(cases[i][2]));
    }
}
