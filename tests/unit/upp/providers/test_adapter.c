/* What adapters write and read with. */
#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"
#include "upp/providers/adapter.h"

/* covers: UPP-11/1 */
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
    yyjson_val *v;
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
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
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

/* Tokens of clouds are some thousands of bytes long. Ways to send one that are none are refused by all alike. */
TEST(adapters_send_keys_as_auth_says)
{
    static const struct upp__adapter *const all[] = {&upp__anthropic, &upp__openai_chat, &upp__openai_responses,
                                                     &upp__google, &upp__ollama};
    static char text[5000]; /* frames are small */
    struct upp_str key = wb_str(text, 4000);
    memset(text, 'k', sizeof text);
    for (size_t i = 0; i < WB_LEN(all); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct upp_header headers[UPP__HEADERS];
        struct upp__outgoing out = {.arena = &a, .headers = headers, .body = WB_BUF(4096)};
        struct upp__vendor v = {.adapter = all[i], .base_url = UPP_STR("https://h"), .auth = UPP_STR("bearer")};
        struct upp_request req = {0};
        struct upp_err err = {0};
        size_t sent = 0;
        int r = all[i]->write(&v, &req, key, &out, &err);
        for (size_t k = 0; r == 0 && k < out.n_headers; k++)
            if (wb_str_eq(headers[k].name, UPP_STR("authorization")))
                sent = headers[k].value.n;
        bool failed = out.body.failed;
        v.auth = UPP_STR("Bearer");
        int refused = r == 0 ? all[i]->write(&v, &req, key, &out, &err) : r;
        wb_buf_done(&out.body);
        CHECK_INT(r, 0);
        CHECK(!failed && sent == key.n + 7);
        CHECK_INT(refused, -UPP_EINVALID);
        CHECK(wb_str_starts(wb_cstr(err.msg), UPP_STR("auth 'Bearer': there ")));
    }
}

static void count_loss(void *arg, const struct upp_loss *loss)
{
    *(size_t *)arg += loss->message == 1 && loss->part == 1 && !strcmp(loss->what, "call");
}

/* A call of an answer that was cut off does not go back: vendors refuse calls without results. Unless it has one. */
TEST(adapters_leave_out_cut_calls)
{
    static const struct upp__adapter *const all[] = {&upp__anthropic, &upp__openai_chat, &upp__openai_responses,
                                                     &upp__google, &upp__ollama};
    struct upp_part hi = {.kind = UPP_PART_TEXT, .text = UPP_STR("Hi")};
    struct upp_part said[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("Well")},
                              {.kind = UPP_PART_CALL, .id = UPP_STR("lost"), .name = UPP_STR("f"), .cut = true},
                              {.kind = UPP_PART_CALL, .id = UPP_STR("kept"), .name = UPP_STR("f"), .cut = true}};
    struct upp_part result = {.kind = UPP_PART_RESULT, .id = UPP_STR("kept"), .text = UPP_STR("1")};
    struct upp_message m[] = {{.role = UPP_ROLE_USER, .parts = &hi, .n_parts = 1},
                              {.role = UPP_ROLE_ASSISTANT, .parts = said, .n_parts = 3, .interrupted = true},
                              {.role = UPP_ROLE_TOOL, .parts = &result, .n_parts = 1}};
    const struct upp_message *list[] = {&m[0], &m[1], &m[2]};
    for (size_t i = 0; i < WB_LEN(all); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        size_t lost = 0;
        struct upp_header headers[UPP__HEADERS];
        struct upp__outgoing out = {.arena = &a, .headers = headers, .body = WB_BUF(4096)};
        struct upp__vendor v = {.adapter = all[i], .provider = "x", .base_url = UPP_STR("https://h")};
        struct upp_request req = {.messages = list, .n_messages = 3, .on_loss = count_loss, .on_loss_arg = &lost};
        int r = all[i]->write(&v, &req, UPP_STR("K"), &out, NULL);
        struct upp_str body = wb_arena_dup(&a, wb_buf_str(&out.body));
        wb_buf_done(&out.body);
        CHECK_INT(r, 0);
        CHECK(wb_str_find(body, UPP_STR("lost"), 0) == SIZE_MAX);
        CHECK(wb_str_find(body, UPP_STR("kept"), 0) != SIZE_MAX);
        CHECK_INT(lost, 1);
    }
}
