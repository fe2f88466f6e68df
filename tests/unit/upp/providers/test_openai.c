/* What the talk files of OpenAI's APIs cannot say: metadata of parts, calls that were cut, limits. covers: UPP-13b
 * UPP-13c */
#include "upp/providers/openai.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "support/test.h"

#define S(text) UPP_STR(text)

struct asked {
    struct wb_arena arena;
    struct wb_buf losses;
};

static void note_loss(void *arg, const struct upp_loss *l)
{
    wb_buf_addf(arg, "%zu %zu %s\n", l->message, l->part, l->what);
}

/* The body that an adapter writes; no text: it failed, and err says why. */
static struct upp_str ask(struct asked *a, const struct upp__adapter *adapter, const struct upp_message *list, size_t n,
                          struct upp_err *err)
{
    struct upp__vendor v = {
        .adapter = adapter, .provider = "openai", .model = UPP_STR_INIT("m"), .base_url = UPP_STR_INIT("https://h/v1")};
    const struct upp_message *path[16] = {0};
    struct upp_header headers[UPP__HEADERS];
    struct upp__outgoing out = {.arena = &a->arena, .headers = headers, .body = WB_BUF(1 << 20)};
    for (size_t i = 0; i < n; i++)
        path[i] = &list[i];
    struct upp_request req = {
        .messages = path, .n_messages = n, .whole = true, .on_loss = note_loss, .on_loss_arg = &a->losses};
    int r = adapter->write(&v, &req, S("K"), &out, err);
    struct upp_str body = r < 0 ? (struct upp_str){0} : wb_arena_dup(&a->arena, wb_buf_str(&out.body));
    wb_buf_done(&out.body);
    return body;
}

static void asked_done(struct asked *a)
{
    wb_arena_done(&a->arena);
    wb_buf_done(&a->losses);
}
#define ASKED                                                                                                          \
    {                                                                                                                  \
        .arena = WB_ARENA(1 << 20), .losses = WB_BUF(1 << 16)                                                          \
    }

/* The value of a member of the body, as JSON. */
static struct upp_str part_of(struct asked *a, struct upp_str body, const char *name)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    yyjson_val *v = NULL;
    if (!body.p || wj_read(&a->arena, body, NULL, &v, NULL) < 0 || !upp__get(v, name) ||
        wj_write(upp__get(v, name), &b, NULL) < 0)
        return (struct upp_str){0};
    return wb_arena_dup(&a->arena, wb_buf_str(&b));
}

static const struct upp_media picture = {
    .source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("AQID"), .mime = UPP_STR_INIT("image/png")};

TEST(openai_parts_carry_their_marks)
{
    WB_CLEANUP(asked_done) struct asked a = ASKED;
    struct upp_err err = {0};
    struct upp_part parts[] = {
        {.kind = UPP_PART_TEXT,
         .text = S("Long"),
         .metadata = S("{\"openai\":{\"prompt_cache_breakpoint\":{\"mode\":\"explicit\"},\"other\":1}}")},
        {.kind = UPP_PART_IMAGE, .media = &picture, .metadata = S("{\"openai\":{\"detail\":\"low\"},\"x\":{}}")},
    };
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 2};
    struct upp_str b = ask(&a, &upp__openai_chat, &m, 1, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "messages"),
              S("[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Long\",\"prompt_cache_breakpoint\":{"
                "\"mode\":\"explicit\"}},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/"
                "png;base64,AQID\",\"detail\":\"low\"}}]}]"));
    b = ask(&a, &upp__openai_responses, &m, 1, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "input"),
              S("[{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Long\",\"prompt_cache_"
                "breakpoint\":{\"mode\":\"explicit\"}},{\"type\":\"input_image\",\"image_url\":\"data:image/"
                "png;base64,AQID\",\"detail\":\"low\"}]}]"));
}

/* A call that was cut does not go, and somebody hears of it; unless it was answered. */
TEST(openai_cut_calls_are_left_out)
{
    WB_CLEANUP(asked_done) struct asked a = ASKED;
    struct upp_err err = {0};
    struct upp_part said[] = {
        {.kind = UPP_PART_TEXT, .text = S("So")},
        {.kind = UPP_PART_CALL, .id = S("c1"), .name = S("f"), .text = S("{\"a"), .cut = true},
        {.kind = UPP_PART_CALL, .id = S("c2"), .name = S("f"), .text = S("{}"), .cut = true},
    };
    struct upp_part result = {.kind = UPP_PART_RESULT, .id = S("c2"), .text = S("1")};
    struct upp_message list[] = {{.role = UPP_ROLE_ASSISTANT, .parts = said, .n_parts = 3, .interrupted = true},
                                 {.role = UPP_ROLE_TOOL, .parts = &result, .n_parts = 1}};
    struct upp_str b = ask(&a, &upp__openai_chat, list, 2, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "messages"),
              S("[{\"role\":\"assistant\",\"content\":\"So\",\"tool_calls\":[{\"id\":\"c2\",\"type\":\"function\","
                "\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"c2\","
                "\"content\":\"1\"}]"));
    CHECK_STR(wb_buf_str(&a.losses), S("0 1 call\n"));
    b = ask(&a, &upp__openai_responses, list, 2, &err);
    CHECK(b.p);
    CHECK_STR(
        part_of(&a, b, "input"),
        S("[{\"role\":\"assistant\",\"content\":\"So\"},{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":"
          "\"f\",\"arguments\":\"{}\"},{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":\"1\"}]"));
}

/* Media beside results belong to the result before them, or to the first; what cannot be said is left out, in words. */
TEST(openai_results_show_media)
{
    static const struct upp_media film = {
        .source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("AQID"), .mime = UPP_STR_INIT("video/mp4")};
    WB_CLEANUP(asked_done) struct asked a = ASKED;
    struct upp_err err = {0};
    struct upp_part parts[] = {
        {.kind = UPP_PART_IMAGE, .media = &picture},
        {.kind = UPP_PART_RESULT, .id = S("c1"), .text = S("\"one\"")},
        {.kind = UPP_PART_RESULT, .id = S("c2"), .text = S("[{\"type\":\"text\"}]")},
        {.kind = UPP_PART_VIDEO, .media = &film},
    };
    struct upp_message m = {.role = UPP_ROLE_TOOL, .parts = parts, .n_parts = 4};
    struct upp_str b = ask(&a, &upp__openai_responses, &m, 1, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "input"),
              S("[{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":[{\"type\":\"input_text\",\"text\":"
                "\"one\"},{\"type\":\"input_image\",\"image_url\":\"data:image/"
                "png;base64,AQID\",\"detail\":\"auto\"}]},{\"type\":"
                "\"function_call_output\",\"call_id\":\"c2\",\"output\":[{\"type\":\"input_text\",\"text\":\"[{\\\"type"
                "\\\":\\\"text\\\"}]\"},{\"type\":\"input_text\",\"text\":\"[video left out: the Responses API has no "
                "such content]\"}]}]"));
    CHECK_STR(wb_buf_str(&a.losses), S("0 2 video\n"));
    b = ask(&a, &upp__openai_chat, &m, 1, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "messages"),
              S("[{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"one\"},{\"role\":\"tool\",\"tool_call_id\":"
                "\"c2\",\"content\":\"[{\\\"type\\\":\\\"text\\\"}]\"},{\"role\":\"user\",\"content\":[{\"type\":"
                "\"text\",\"text\":\"Result of the call c1:\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:"
                "image/png;base64,AQID\"}},{\"type\":\"text\",\"text\":\"Result of the call c2:\"},{\"type\":\"text\","
                "\"text\":\"[video left out: Chat Completions has no such content]\"}]}]"));
}

TEST(openai_refusals_name_their_place)
{
    WB_CLEANUP(asked_done) struct asked a = ASKED;
    struct upp_err err = {0};
    struct upp_media none = {.source = UPP_SOURCE_BASE64, .data = S("AQID")};
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = S("x")}, {.kind = UPP_PART_IMAGE, .media = &none}};
    struct upp_message list[] = {{.role = UPP_ROLE_USER, .parts = parts, .n_parts = 1},
                                 {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 2}};
    CHECK(!ask(&a, &upp__openai_chat, list, 2, &err).p);
    CHECK_INT(err.code, UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), S("message 1, part 1 (image): an image needs its mime type"));
    CHECK_STR(wb_cstr(err.where), S("/messages/1/content/1"));
    CHECK(!ask(&a, &upp__openai_responses, list, 2, &err).p);
    CHECK_STR(wb_cstr(err.where), S("/messages/1/content/1"));
}

/* Reasoning that nothing followed does not go back: OpenAI would refuse it. */
TEST(openai_reasoning_alone_does_not_go_back)
{
    WB_CLEANUP(asked_done) struct asked a = ASKED;
    struct upp_err err = {0};
    struct upp_part p = {.kind = UPP_PART_REASONING, .text = S("hm")};
    struct upp_message m = {.role = UPP_ROLE_ASSISTANT,
                            .parts = &p,
                            .n_parts = 1,
                            .metadata = S("{\"openai\":{\"stopReason\":\"max_output_tokens\",\"raw\":[{"
                                          "\"type\":\"reasoning\",\"encrypted_content\":\"e\"}]}}")};
    struct upp_str b = ask(&a, &upp__openai_responses, &m, 1, &err);
    CHECK(b.p);
    CHECK_STR(part_of(&a, b, "input"), S("[]"));
    CHECK_STR(wb_buf_str(&a.losses), S("0 0 reasoning\n"));
}

struct read {
    struct upp__vendor vendor;
    struct upp_request request;
    const struct upp_message *path[1];
    struct upp__reader r;
};

static bool read_init(struct read *t, const struct upp__adapter *adapter)
{
    memset(t, 0, sizeof *t);
    t->vendor = (struct upp__vendor){.adapter = adapter, .provider = "openai"};
    t->request.messages = t->path;
    t->r.vendor = &t->vendor;
    t->r.request = &t->request;
    t->r.keep = (struct wb_arena)WB_ARENA(64 << 20);
    t->r.scratch = (struct wb_arena)WB_ARENA(64 << 20);
    t->r.answer = (struct wb_buf)WB_BUF(1 << 20);
    t->r.own = wb_new_n(&t->r.keep, max_align_t, adapter->own_size / sizeof(max_align_t) + 1);
    return t->r.own != NULL;
}

static void read_done(struct read *t)
{
    if (t->r.own)
        t->vendor.adapter->done(&t->r);
    wb_vec_done(&t->r.queue);
    wb_buf_done(&t->r.answer);
    wb_arena_done(&t->r.keep);
    wb_arena_done(&t->r.scratch);
}

static int feed(struct read *t, struct upp_str data, struct upp_err *err)
{
    t->r.queue.n = 0;
    wb_arena_reset(&t->r.scratch);
    return t->vendor.adapter->event(&t->r, &(struct ww_frame){.data = wb_arena_dup(&t->r.scratch, data)}, err);
}

TEST_WITH(openai_answers_have_limits, .no_torture = "thousands of events that do the same")
{
    static const struct {
        const struct upp__adapter *adapter;
        const char *before, *after; /* of the number */
    } rows[] = {
        {&upp__openai_chat,
         "{\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":", ",\"function\":{\"name\":\"f\"}}]}}]}"},
        {&upp__openai_responses, "{\"type\":\"response.output_text.delta\",\"output_index\":", ",\"delta\":\"x\"}"},
        {&upp__openai_responses, "{\"type\":\"response.output_item.done\",\"output_index\":", ",\"item\":{}}"},
    };
    for (size_t k = 0; k < WB_LEN(rows); k++) {
        WB_CLEANUP(read_done) struct read t;
        struct upp_err err = {0};
        int r = 0, n = 0;
        CHECK(read_init(&t, rows[k].adapter));
        for (; r == 0 && n < 10000; n++) {
            char text[160];
            (void)snprintf(text, sizeof text, "%s%d%s", rows[k].before, n, rows[k].after);
            r = feed(&t, wb_cstr(text), &err);
        }
        CHECK_INT(r, -UPP_ELIMIT);
        CHECK_INT(n, UPP__OPENAI_BLOCKS + 1);
    }
}

/* Ids that we make are of no other call in the thread. */
TEST(openai_minted_ids_are_new)
{
    WB_CLEANUP(read_done) struct read t;
    struct upp_err err = {0};
    struct upp_part taken[] = {{.kind = UPP_PART_CALL, .id = S("call_weft_1_0")},
                               {.kind = UPP_PART_CALL, .id = S("call_weft_2_0")}};
    struct upp_message m = {.role = UPP_ROLE_ASSISTANT, .parts = taken, .n_parts = 2};
    CHECK(read_init(&t, &upp__openai_chat));
    t.path[0] = &m;
    t.request.n_messages = 1;
    CHECK(feed(&t, S("{\"choices\":[{\"delta\":{\"tool_calls\":[{\"function\":{\"name\":\"f\"}}]}}]}"), &err) == 0);
    CHECK(t.r.queue.n == 1);
    CHECK_STR(t.r.queue.p[0].id, S("call_weft_3_0"));
}

TEST(openai_error_bodies_of_all_shapes)
{
    static const struct {
        struct upp_str body, message, code;
    } rows[] = {
        {UPP_STR_INIT("{\"error\":{\"message\":\"a\",\"code\":null}}"), UPP_STR_INIT("a"), {NULL, 0}},
        {UPP_STR_INIT("{\"error\":{\"message\":\"a\",\"code\":429}}"), UPP_STR_INIT("a"), UPP_STR_INIT("429")},
        {UPP_STR_INIT("{\"error\":\"a\",\"code\":\"b\"}"), UPP_STR_INIT("a"), UPP_STR_INIT("b")},
        {UPP_STR_INIT("{\"object\":\"error\",\"message\":\"a\",\"code\":40}"), UPP_STR_INIT("a"), UPP_STR_INIT("40")},
        {UPP_STR_INIT("{\"message\":\"a\",\"code\":\"c\"}"), UPP_STR_INIT("a"), UPP_STR_INIT("c")},
        {UPP_STR_INIT("{\"detail\":\"a\"}"), UPP_STR_INIT("a"), {NULL, 0}},
        {UPP_STR_INIT("[{\"error\":{\"message\":\"a\"}}]"), UPP_STR_INIT("a"), {NULL, 0}},
        {UPP_STR_INIT("\"a\""), UPP_STR_INIT("a"), {NULL, 0}},
        {UPP_STR_INIT(" a\n"), UPP_STR_INIT("a"), {NULL, 0}},
        {UPP_STR_INIT("<html>"), {NULL, 0}, {NULL, 0}},
        {UPP_STR_INIT(""), {NULL, 0}, {NULL, 0}},
        {UPP_STR_INIT("null"), {NULL, 0}, {NULL, 0}},
        {UPP_STR_INIT("[]"), {NULL, 0}, {NULL, 0}},
        {UPP_STR_INIT("{\"error\":[1]}"), {NULL, 0}, {NULL, 0}},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        struct upp__provider_error t = {0};
        upp__provider_error_read(&upp__openai_chat, &a, rows[i].body, &t);
        CHECK(wb_arena_check(&a, NULL) == 0);
        CHECK_STR(t.message, rows[i].message);
        CHECK_STR(t.code, rows[i].code);
    }
}
