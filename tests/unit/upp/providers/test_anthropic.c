/* Anthropic Messages: what talk files cannot say. Those are in tests/talk/anthropic. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/hooks.h"
#include "base/str.h"
#include "support/test.h"
#include "upp/providers/adapter.h"

static const struct upp__vendor vendor = {.adapter = &upp__anthropic,
                                          .provider = "anthropic",
                                          .model = UPP_STR_INIT("claude-x"),
                                          .base_url = UPP_STR_INIT("https://api.anthropic.com")};

/* The body that these messages make, from "messages" on; or the error. */
__attribute__((noinline)) static int write_messages(const struct upp_message *m, size_t n, struct wb_buf *ret,
                                                    struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct upp_header headers[UPP__HEADERS];
    const struct upp_message *list[8];
    struct upp_request req = {.messages = list, .n_messages = n, .whole = true};
    struct upp__outgoing out = {.arena = &a, .headers = headers, .body = WB_BUF(16u << 20)};
    for (size_t i = 0; i < n; i++)
        list[i] = &m[i];
    int r = upp__anthropic.write(&vendor, &req, UPP_STR("KEY"), &out, err);
    struct upp_str body = wb_buf_str(&out.body);
    size_t at = wb_str_find(body, UPP_STR("\"messages\""), 0);
    wb_buf_clear(ret);
    if (r == 0)
        wb_buf_add(ret, wb_str_sub(body, at + 11, body.n - at - 12));
    if (r == 0)
        r = wb_buf_check(ret, err);
    wb_buf_done(&out.body);
    return r;
}

#define MARK "\"cache_control\":{\"type\":\"ephemeral\"}"

/* covers: UPP-13a */
TEST(anthropic_metadata_of_parts_goes_onto_blocks)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct upp_media pdf = {.source = UPP_SOURCE_URL, .data = UPP_STR("https://x/y.pdf")};
    struct upp_part said[] = {
        {.kind = UPP_PART_DOCUMENT,
         .media = &pdf,
         .metadata = UPP_STR("{\"anthropic\":{\"citations\":{\"enabled\":true},\"context\":\"c\",\"type\":\"x\"}}")},
        {.kind = UPP_PART_TEXT, .text = UPP_STR("A"), .metadata = UPP_STR("{\"openai\":{\"x\":1}}")},
        {.kind = UPP_PART_TEXT, .text = UPP_STR("B"), .metadata = UPP_STR("{\"anthropic\":{" MARK "}}")},
        {.kind = UPP_PART_TEXT, .text = UPP_STR(" ")},
    };
    struct upp_part called[] = {{.kind = UPP_PART_CALL,
                                 .id = UPP_STR("t"),
                                 .name = UPP_STR("f"),
                                 .metadata = UPP_STR("{\"anthropic\":{" MARK "}}")}};
    struct upp_part results[] = {{.kind = UPP_PART_RESULT,
                                  .id = UPP_STR("t"),
                                  .text = UPP_STR("1"),
                                  .metadata = UPP_STR("{\"anthropic\":{" MARK "}}")}};
    struct upp_message m[] = {
        {.role = UPP_ROLE_USER,
         .parts = said,
         .n_parts = 4,
         .metadata = UPP_STR("{\"anthropic\":{\"cache_control\":{\"type\":\"ephemeral\",\"ttl\":\"1h\"}}}")},
        {.role = UPP_ROLE_ASSISTANT, .parts = called, .n_parts = 1},
        {.role = UPP_ROLE_TOOL, .parts = results, .n_parts = 1},
    };
    CHECK_INT(write_messages(m, 3, &b, &err), 0);
    CHECK_STR(
        wb_buf_str(&b),
        UPP_STR(
            "[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"url\",\"url\":"
            "\"https://x/y.pdf\"},\"citations\":{\"enabled\":true},\"context\":\"c\"},"
            "{\"type\":\"text\",\"text\":\"A\"},{\"type\":\"text\",\"text\":\"B\"," MARK "}]},"
            "{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"f\",\"input\":{}," MARK
            "}]},"
            "{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"1\"," MARK
            "}]}]"));
}

TEST(anthropic_foreign_ids_stay_apart)
{
    static const char *const ids[] = {"a.b", "a:b", "a_b", "", "caf\xc3\xa9"};
    struct upp_part calls[5] = {{0}}, results[5] = {{0}};
    for (size_t i = 0; i < 5; i++) {
        calls[i] = (struct upp_part){.kind = UPP_PART_CALL, .id = wb_cstr(ids[i]), .name = UPP_STR("f")};
        results[i] = (struct upp_part){.kind = UPP_PART_RESULT, .id = wb_cstr(ids[i]), .text = UPP_STR("1")};
    }
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct upp_message m[] = {{.role = UPP_ROLE_ASSISTANT, .parts = calls, .n_parts = 5},
                              {.role = UPP_ROLE_TOOL, .parts = results, .n_parts = 5}};
    yyjson_val *v = NULL;
    CHECK_INT(write_messages(m, 2, &b, &err), 0);
    CHECK_INT(wj_read(&a, wb_buf_str(&b), NULL, &v, &err), 0);
    yyjson_val *said = upp__get(yyjson_arr_get(v, 0), "content"), *back = upp__get(yyjson_arr_get(v, 1), "content");
    for (size_t i = 0; i < 5; i++) {
        struct upp_str id = upp__get_str(yyjson_arr_get(said, i), "id");
        CHECK(id.n > 0);
        CHECK_STR(upp__get_str(yyjson_arr_get(back, i), "tool_use_id"), id);
        for (size_t k = 0; k < id.n; k++)
            CHECK(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-", id.p[k]));
        for (size_t k = 0; k < i; k++)
            CHECK(!wb_str_eq(id, upp__get_str(yyjson_arr_get(said, k), "id")));
    }
    CHECK_STR(upp__get_str(yyjson_arr_get(said, 2), "id"), UPP_STR("a_b"));
}

TEST(anthropic_refuses_bytes_that_are_no_text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct upp_media bad = {.source = UPP_SOURCE_BASE64, .data = UPP_STR("a"), .mime = UPP_STR("text/csv")};
    struct upp_part p[] = {{.kind = UPP_PART_DOCUMENT, .media = &bad}};
    struct upp_message m[] = {{.role = UPP_ROLE_USER, .parts = p, .n_parts = 1}};
    int r = write_messages(m, 1, &b, &err);
    struct upp_str what = UPP_STR("message 0, part 0 (document): ");
    CHECK(r == -UPP_EINVALID && wb_str_starts(wb_cstr(err.msg), what));
    bad.data = UPP_STR("/w=="); /* not UTF-8: U+FFFD stands for it */
    CHECK_INT(write_messages(m, 1, &b, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&b), UPP_STR("\"data\":\"\xef\xbf\xbd\""), 0) != SIZE_MAX);
    p[0] = (struct upp_part){.kind = UPP_PART_REASONING, .text = UPP_STR("Hm.")};
    CHECK_INT(write_messages(m, 1, &b, &err), -UPP_EINVALID);
}

struct reading {
    struct upp__reader r;
    struct upp_request req;
    max_align_t own[64];
};

static void reading_init(struct reading *g)
{
    *g = (struct reading){0};
    g->r.vendor = &vendor;
    g->r.request = &g->req;
    g->r.keep = (struct wb_arena)WB_ARENA(64u << 20);
    g->r.scratch = (struct wb_arena)WB_ARENA(64u << 20);
    g->r.own = g->own;
}

static void reading_done(struct reading *g)
{
    upp__anthropic.done(&g->r);
    wb_vec_done(&g->r.queue);
    wb_arena_done(&g->r.keep);
    wb_arena_done(&g->r.scratch);
}

static int feed(struct reading *g, const char *data, struct upp_err *err)
{
    struct ww_frame f = {.data = wb_cstr(data)};
    g->r.at = g->r.queue.n = 0;
    wb_arena_reset(&g->r.scratch);
    return upp__anthropic.event(&g->r, &f, err);
}

TEST_WITH(anthropic_blocks_have_a_limit, .no_torture = "thousands of blocks, each with the same allocations")
{
    WB_CLEANUP(reading_done) struct reading g;
    struct upp_err err = {0};
    int r = 0;
    size_t n = 0;
    reading_init(&g);
    ALWAYS(upp__anthropic.own_size <= sizeof g.own);
    for (; r == 0 && n < 5000; n++) {
        r = feed(&g, "{\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"x\"}}", &err);
        if (r == 0)
            r = feed(&g, "{\"type\":\"content_block_stop\",\"index\":0}", &err);
    }
    CHECK(r == -UPP_ELIMIT && n == 4097);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("an answer of more than 4096 blocks"));
}

/* Counts are looked for among each other: hundreds of thousands of them would take hours. */
TEST(anthropic_usage_has_a_limit)
{
    WB_CLEANUP(reading_done) struct reading g;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
    struct upp_err err = {0};
    reading_init(&g);
    wb_buf_add(&b, UPP_STR("{\"type\":\"message_delta\",\"usage\":{\"input_tokens\":1"));
    for (unsigned i = 0; i < 199; i++)
        wb_buf_addf(&b, ",\"n%u\":1", i);
    wb_buf_add(&b, UPP_STR("}}"));
    wb_buf_addc(&b, 0);
    CHECK(!b.failed);
    CHECK_INT(feed(&g, b.p, &err), 0);
    CHECK_INT(feed(&g, b.p, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("usage of more than 256 counts"));
}

/* Half a pair of surrogates in one delta and the other in the next are one character on the way back. */
TEST(anthropic_halves_of_a_character_meet)
{
    WB_CLEANUP(reading_done) struct reading g;
    struct upp_err err = {0};
    static const char *const lines[] = {
        "{\"type\":\"content_block_start\",\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}",
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"\\ud83d\"}}",
        "{\"type\":\"content_block_delta\",\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"\\ude00\"}}",
        "{\"type\":\"message_stop\"}",
    };
    reading_init(&g);
    for (size_t i = 0; i < WB_LEN(lines); i++)
        CHECK_INT(feed(&g, lines[i], &err), 0);
    CHECK(g.r.ended && g.r.queue.n == 2); /* close and end: the block was still open */
    CHECK_STR(g.r.queue.p[1].metadata,
              UPP_STR("{\"anthropic\":{\"raw\":[{\"type\":\"thinking\",\"thinking\":\"\xf0\x9f\x98\x80\"}]}}"));
}

TEST(anthropic_errors_of_any_shape)
{
    static const struct {
        const char *body, *type, *code, *message;
    } rows[] = {
        {"{\"type\":\"error\",\"error\":{\"type\":\"t\",\"message\":\"m\",\"details\":{\"error_code\":\"c\"}}}", "t",
         "c", "m"},
        {"{\"error\":\"m\"}", NULL, NULL, "m"},
        {"{\"message\":\"m\"}", NULL, NULL, "m"},
        {"{\"error\":{\"type\":7,\"message\":[],\"details\":\"x\"}}", NULL, NULL, NULL},
        {"{\"error\":null}", NULL, NULL, NULL},
        {"[1]", NULL, NULL, NULL},
        {"7", NULL, NULL, NULL},
        {"<html>", NULL, NULL, NULL},
        {"\xff\xfe", NULL, NULL, NULL},
        {"", NULL, NULL, NULL},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp__provider_error t = {.status = 400, .request_id = UPP_STR("req_head")};
        test_note("case %zu", i);
        upp__provider_error_read(&upp__anthropic, &a, wb_cstr(rows[i].body), &t);
        CHECK_STR(t.type, wb_cstr(rows[i].type));
        CHECK_STR(t.code, wb_cstr(rows[i].code));
        CHECK_STR(t.message, wb_cstr(rows[i].message));
        CHECK_STR(t.request_id, UPP_STR("req_head"));
    }
}
