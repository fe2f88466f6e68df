/* What adapters write and read with. covers: UPP-11 */
#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"
#include "upp/adapter.h"

TEST(adapter_endpoint_takes_roots_and_whole_addresses)
{
    static const struct {
        const char *base, *path, *url;
    } cases[] = {
        {"https://h", "/v1/messages", "https://h/v1/messages"},
        {"https://h/", "/v1/messages", "https://h/v1/messages"},
        {"https://h/v1", "/v1/messages", "https://h/v1/messages"},
        {"https://h/v1/", "/v1/messages", "https://h/v1/messages"},
        {"https://h/v1/messages", "/v1/messages", "https://h/v1/messages"},
        {"https://h/v1/messages/", "/v1/messages", "https://h/v1/messages"},
        {"https://h/proxy/v1", "/v1/messages", "https://h/proxy/v1/messages"},
        {"https://h/xv1", "/v1/messages", "https://h/xv1/v1/messages"},
        {"https://h/v1", "/chat/completions", "https://h/v1/chat/completions"},
        {"https://h/v1/chat/completions", "/chat/completions", "https://h/v1/chat/completions"},
        {"https://h/v1?tenant=7", "/v1/messages", "https://h/v1/messages?tenant=7"},
        {"http://127.0.0.1:11434/api", "/api/chat", "http://127.0.0.1:11434/api/chat"},
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct upp_str url = upp__endpoint(&a, wb_cstr(cases[i].base), wb_cstr(cases[i].path));
        test_note("case %zu", i);
        CHECK_STR(url, wb_cstr(cases[i].url));
    }
}

TEST(adapter_reads_numbers_of_any_spelling)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 16);
    yyjson_val                               *v;
    CHECK(wj_read(&a,
                  UPP_STR("{\"a\":12,\"b\":12.0,\"c\":1.2e3,\"d\":-4,\"e\":\"5\",\"f\":null,\"g\":99999999999999999999,"
                              "\"h\":18014398509481985,\"a\":13}"),
                          NULL, &v, NULL) == 0);
    CHECK_INT(upp__get_u64(v, "a"), 13); /* the last of a name */
    CHECK_INT(upp__get_u64(v, "b"), 12);
    CHECK_INT(upp__get_u64(v, "c"), 1200);
    CHECK_INT(upp__get_u64(v, "d"), 0);
    CHECK_INT(upp__get_u64(v, "e"), 0);
    CHECK_INT(upp__get_u64(v, "f"), 0);
    CHECK_INT(upp__get_u64(v, "g"), 0);
    CHECK_INT(upp__get_u64(v, "h"), 18014398509481985);
    CHECK_INT(upp__get_u64(NULL, "a"), 0);
    CHECK(!upp__get_str(v, "a").p && upp__get_str(v, "e").n == 1);
}

static void written(struct wb_buf *out, struct wb_arena *a, struct upp_str arguments)
{
    struct wj_writer w;
    wb_buf_clear(out);
    wj_writer_init(&w, out, NULL);
    upp__write_arguments(&w, a, arguments);
}

TEST(adapter_writes_arguments_as_an_object)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a   = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out = WB_BUF(4096);
    written(&out, &a, (struct upp_str){0});
    CHECK_STR(wb_buf_str(&out), UPP_STR("{}"));
    written(&out, &a, UPP_STR(" "));
    CHECK_STR(wb_buf_str(&out), UPP_STR("{}"));
    written(&out, &a, UPP_STR("{\"n\": 1.50, \"n\": 12345678901234567890}"));
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"n\":1.50,\"n\":12345678901234567890}"));
    written(&out, &a, UPP_STR("{\"city\":"));
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"INVALID_JSON\":\"{\\\"city\\\":\"}"));
    written(&out, &a, UPP_STR("42"));
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"INVALID_JSON\":\"42\"}"));
}

TEST(adapter_writes_params_but_for_those_taken)
{
    static const char *const                  taken[] = {"tools", "stream", NULL};
    WB_CLEANUP(wb_arena_done) struct wb_arena a       = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf     out     = WB_BUF(4096);
    struct upp_err                            err     = {0};
    struct wj_writer                          w;
    wj_writer_init(&w, &out, &err);
    wj_write_open(&w, '{');
    upp__write_params(&w, &a, UPP_STR("{\"temperature\":0.70,\"tools\":[],\"x\":{\"y\":null}}"), taken);
    wj_write_close(&w, '}');
    CHECK(wj_writer_check(&w) == 0);
    CHECK_STR(wb_buf_str(&out), UPP_STR("{\"temperature\":0.70,\"x\":{\"y\":null}}"));
    upp__write_params(&w, &a, UPP_STR("[1]"), taken);
    CHECK_INT(wj_writer_check(&w), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("params is a JSON object"));
}
