#include "model/upp_json.h"

#include "base/utf8.h"
#include "json/read.h"
#include "model/id.h"
#include "support/rows.h"
#include "support/test.h"

static int write_message(const struct upp_message *m, struct wb_buf *b, struct upp_err *err)
{
    struct wj_writer w;
    wb_buf_clear(b);
    wj_writer_init(&w, b, err);
    wm_message_write(&w, m);
    return wj_writer_check(&w);
}

static int read_message(struct wb_arena *a, struct upp_str text, struct upp_message *m, struct upp_err *err)
{
    yyjson_val *v;
    int r = wj_read(a, text, NULL, &v, err);
    return r < 0 ? r : wm_message_read(a, v, m, err);
}

/* Read and written, these come out as they went in: the reference's own bytes. */
TEST(model_upp_messages_keep_their_bytes)
{
    static const char *const texts[] = {
        "{\"id\":\"0d0f2a51-7c1b-4b6e-9f0a-5b1f6f1f2c11\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":"
        "\"two "
        "plus two?\"}],\"timestamp\":\"2026-02-03T04:05:06.007Z\"}",
        "{\"id\":\"msg_77\",\"type\":\"assistant\",\"content\":[{\"type\":\"reasoning\",\"text\":\"\"},{\"type\":"
        "\"text\","
        "\"text\":\"asking calc\"}],\"metadata\":{\"anthropic\":{\"stop_reason\":\"tool_use\",\"n\":1.0,\"n\":null}},"
        "\"timestamp\":\"2026-02-03T04:05:07.100Z\",\"toolCalls\":[{\"toolCallId\":\"tc1\",\"toolName\":\"calc\","
        "\"arguments\":{\"e\":\"2+2\"}}]}",
        "{\"id\":\"8b\",\"type\":\"tool_result\",\"content\":[],\"timestamp\":\"2026-02-03T04:05:07.300Z\",\"results\":"
        "[{"
        "\"toolCallId\":\"tc1\",\"result\":4,\"isError\":false},{\"toolCallId\":\"tc2\",\"result\":null,\"isError\":"
        "true},"
        "{\"toolCallId\":\"tc3\",\"isError\":true}]}",
        "{\"id\":\"\",\"type\":\"tool_result\",\"content\":[],\"timestamp\":\"2026-02-03T04:05:07Z\",\"results\":[]}",
        "{\"id\":\"\\u0000\\ud83d\",\"type\":\"user\",\"content\":["
        "{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"data\":\"iVBORw0KGgo=\"},\"mimeType\":\"image/"
        "png\",\"width\":2,\"height\":1},"
        "{\"type\":\"image\",\"source\":{\"type\":\"url\",\"url\":\"https://x/y\"},\"mimeType\":\"image/png\"},"
        "{\"type\":\"image\",\"source\":{\"type\":\"bytes\",\"data\":\"AQL/\"},\"mimeType\":\"image/png\"},"
        "{\"type\":\"document\",\"source\":{\"type\":\"text\",\"data\":\"line one\"},\"mimeType\":\"text/"
        "plain\",\"title\":\"notes\"},"
        "{\"type\":\"audio\",\"data\":\"AQL/\",\"mimeType\":\"audio/wav\",\"duration\":0.5},"
        "{\"type\":\"video\",\"data\":\"\",\"mimeType\":\"video/mp4\",\"duration\":1e1,\"width\":2,\"height\":1},"
        "{\"type\":\"binary\",\"data\":\"AQ==\",\"mimeType\":\"application/x\",\"metadata\":{\"a\":[]}}"
        "],\"metadata\":{},\"timestamp\":\"2026-02-03T04:05:06.007+01:00\"}",
        /* weft's own: order, arguments, interrupted, cut; and what others put beside them. */
        "{\"id\":\"m\",\"type\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\","
        "\"text\":"
        "\"b\"}],\"metadata\":{\"x\":1,\"weft\":{\"y\":2,\"order\":[\"content\",\"call\",\"content\",\"call\"],"
        "\"arguments\":{"
        "\"1\":\"[1] \"},\"interrupted\":true,\"cut\":[3]}},\"timestamp\":\"2026-02-03T04:05:06.007Z\",\"toolCalls\":[{"
        "\"toolCallId\":\"c\",\"toolName\":\"t\",\"arguments\":{}},{\"toolCallId\":\"d\",\"toolName\":\"t\","
        "\"arguments\":{}}"
        "]}",
        "{\"id\":\"m\",\"type\":\"assistant\",\"content\":[],\"metadata\":{\"weft\":{\"interrupted\":true}},"
        "\"timestamp\":"
        "\"2026-02-03T04:05:06.007Z\"}",
        "{\"id\":\"m\",\"type\":\"user\",\"content\":[],\"metadata\":{\"weft\":7,\"weft\":{\"y\":2,\"interrupted\":"
        "true},\"weft\":{\"z\":3}},\"timestamp\":\"2026-02-03T04:05:06."
        "007Z\"}",
        "{\"id\":\"m\",\"type\":\"user\",\"content\":[],\"metadata\":{\"weft\":7},\"timestamp\":\"2026-02-03\"}",
    };
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
        struct upp_err err = {0};
        struct upp_message m;
        test_note("case %zu", i);
        CHECK_INT(read_message(&a, wb_cstr(texts[i]), &m, &err), 0);
        CHECK(write_message(&m, &b, &err) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(texts[i]));
    }
}

TEST(model_upp_message_is_read_into_its_parts)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    struct upp_err err = {0};
    struct upp_message m;
    CHECK(read_message(
              &a,
              UPP_STR(
                  "{\"id\":\"m\",\"type\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\",\"new\":1}],"
                  "\"metadata\":{\"weft\":{\"order\":[\"call\",\"content\"],\"arguments\":{\"0\":\"nope\"},\"cut\":[0],"
                  "\"interrupted\":true}},\"timestamp\":\"2026-02-03T04:05:06Z\",\"toolCalls\":[{\"toolCallId\":\"c\","
                  "\"toolName\":\"t\",\"arguments\":{}}],\"unknown\":[]}"),
              &m, &err) == 0);
    CHECK(m.role == UPP_ROLE_ASSISTANT && m.interrupted && m.n_parts == 2 && !m.metadata.p);
    CHECK(m.time_ms == 1770091506000);
    CHECK_STR(m.time_text, UPP_STR("2026-02-03T04:05:06Z"));
    CHECK(m.parts[0].kind == UPP_PART_CALL && m.parts[0].cut && m.parts[1].kind == UPP_PART_TEXT && !m.parts[1].cut);
    CHECK_STR(m.parts[0].text, UPP_STR("nope"));

    /* What does not fit is dropped: a count, a word, a number, a type. */
    CHECK(read_message(
              &a,
              UPP_STR(
                  "{\"id\":\"m\",\"type\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}],"
                  "\"metadata\":{\"weft\":{\"order\":[\"call\",\"call\"],\"arguments\":{\"7\":\"x\",\"0\":1,\"a\":\"\"}"
                  ",\"cut\":[9,\"\"],"
                  "\"interrupted\":1}},\"timestamp\":\"2026-02-03T04:05:06.000Z\",\"toolCalls\":[{\"toolCallId\":\"c\","
                  "\"toolName\":\"t\",\"arguments\":{\"a\" : 1}}]}"),
              &m, &err) == 0);
    CHECK(!m.interrupted && m.parts[0].kind == UPP_PART_TEXT && !m.parts[0].cut && !m.time_text.p && !m.metadata.p);
    CHECK_STR(m.parts[1].text, UPP_STR("{\"a\":1}"));
}

TEST(model_upp_bytes_come_in_three_forms)
{
    static const struct {
        const char *data, *base64;
    } good[] = {
        {"\"AQL/\"", "AQL/"}, {"\"AQL_\"", "AQL/"},
        {"\"AQ\"", "AQ=="},   {"[1,2,255]", "AQL/"},
        {"[]", ""},           {"{\"0\":1,\"1\":2,\"2\":255}", "AQL/"},
        {"{}", ""},
    };
    static const struct {
        const char *data, *where;
    } bad[] = {
        {"\"A\"", "/content/0/data"},   {"[256]", "/content/0/data/0"},     {"[1,-1]", "/content/0/data/1"},
        {"[[1]]", "/content/0/data/0"}, {"{\"1\":1}", "/content/0/data/1"}, {"{\"0\":\"x\"}", "/content/0/data/0"},
        {"null", "/content/0/data"},    {"7", "/content/0/data"},           {"{\"0\":1,\"0\":1}", "/content/0/data/0"},
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    struct upp_err err = {0};
    struct upp_message m;
    for (size_t i = 0; i < WB_LEN(good); i++) {
        struct upp_str text = wb_arena_printf(&a,
                                              "{\"id\":\"m\",\"type\":\"user\",\"content\":[{\"type\":\"audio\","
                                              "\"data\":%s,\"mimeType\":\"x\"}],\"timestamp\":\"2026-02-03\"}",
                                              good[i].data);
        test_note("good %zu", i);
        CHECK_INT(read_message(&a, text, &m, &err), 0);
        CHECK_STR(m.parts[0].media->data, wb_cstr(good[i].base64));
    }
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_str text = wb_arena_printf(&a,
                                              "{\"id\":\"m\",\"type\":\"user\",\"content\":[{\"type\":\"audio\","
                                              "\"data\":%s,\"mimeType\":\"x\"}],\"timestamp\":\"2026-02-03\"}",
                                              bad[i].data);
        test_note("bad %zu", i);
        CHECK_INT(read_message(&a, text, &m, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.where), wb_cstr(bad[i].where));
    }
}

TEST(model_upp_message_that_is_none_is_refused)
{
#define T "\"timestamp\":\"2026-02-03T04:05:06Z\""
    static const struct {
        const char *text, *where, *msg;
    } bad[] = {
        {"[]", "", "expected an object, found an array"},
        {"{}", "", "expected the member 'id'"},
        {"{\"id\":1}", "/id", "expected a string, found the number 1"},
        {"{\"id\":\"\"}", "", "expected the member 'type'"},
        {"{\"id\":\"\",\"type\":\"system\"}", "/type", "unknown message type 'system'"},
        {"{\"id\":\"\",\"type\":\"user\"}", "", "expected the member 'content'"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":\"hi\"}", "/content", "expected an array, found a string"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[]}", "", "expected the member 'timestamp'"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[],\"timestamp\":7}", "/timestamp", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[],\"timestamp\":\"now\"}", "/timestamp", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[],\"metadata\":[]," T "}", "/metadata", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[7]," T "}", "/content/0", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"text\"}]," T "}", "/content/0", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"hologram\"}]," T "}", "/content/0/type",
         "unknown content block type 'hologram'"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"image\"}]," T "}", "/content/0", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"image\",\"source\":1}]," T "}", "/content/0/source",
         NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"text\"}}]," T "}",
         "/content/0/source/type", "unknown image source type 'text'"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"document\",\"source\":{\"type\":\"bytes\"}}]," T "}",
         "/content/0/source/type", "unknown document source type 'bytes'"},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"image\",\"source\":{\"type\":\"url\"}}]," T "}",
         "/content/0/source", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"video\"}]," T "}", "/content/0", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"video\",\"data\":\"\",\"width\":\"1\"}]," T "}",
         "/content/0/width", NULL},
        {"{\"id\":\"\",\"type\":\"user\",\"content\":[{\"type\":\"binary\",\"data\":\"\",\"metadata\":1}]," T "}",
         "/content/0/metadata", NULL},
        {"{\"id\":\"\",\"type\":\"assistant\",\"content\":[],\"toolCalls\":{}," T "}", "/toolCalls", NULL},
        {"{\"id\":\"\",\"type\":\"assistant\",\"content\":[],\"toolCalls\":[1]," T "}", "/toolCalls/0", NULL},
        {"{\"id\":\"\",\"type\":\"assistant\",\"content\":[],\"toolCalls\":[{}]," T "}", "/toolCalls/0", NULL},
        {"{\"id\":\"\",\"type\":\"assistant\",\"content\":[],\"toolCalls\":[{\"toolCallId\":\"\",\"toolName\":\"\"}]," T
         "}",
         "/toolCalls/0", "expected the member 'arguments'"},
        {"{\"id\":\"\",\"type\":\"assistant\",\"content\":[],\"toolCalls\":[{\"toolCallId\":\"\",\"toolName\":\"\","
         "\"arguments\":\"{}\"}]," T "}",
         "/toolCalls/0/arguments", "expected an object, found a string"},
        {"{\"id\":\"\",\"type\":\"tool_result\",\"results\":1," T "}", "/results", NULL},
        {"{\"id\":\"\",\"type\":\"tool_result\",\"results\":[1]," T "}", "/results/0", NULL},
        {"{\"id\":\"\",\"type\":\"tool_result\",\"results\":[{\"result\":1}]," T "}", "/results/0", NULL},
        {"{\"id\":\"\",\"type\":\"tool_result\",\"results\":[{\"toolCallId\":\"\",\"isError\":1}]," T "}",
         "/results/0/isError", "expected true or false, found the number 1"},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
        struct upp_err err = {0};
        struct upp_message m = {.role = 77};
        test_note("case %zu: %s", i, bad[i].text);
        CHECK_INT(read_message(&a, wb_cstr(bad[i].text), &m, &err), -UPP_EINVALID);
        CHECK_INT(m.role, 77);
        CHECK_STR(wb_cstr(err.where), wb_cstr(bad[i].where));
        if (bad[i].msg)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
}

TEST(model_upp_message_has_a_limit_of_parts)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(4u << 20);
    struct upp_err err = {0};
    struct upp_message m;
    wb_buf_add(&b, UPP_STR("{\"id\":\"\",\"type\":\"user\"," T ",\"content\":[0"));
    for (int i = 0; i < WM_PARTS; i++)
        wb_buf_add(&b, UPP_STR(",0"));
    wb_buf_add(&b, UPP_STR("]}"));
    CHECK(wb_buf_check(&b, &err) == 0);
    CHECK_INT(read_message(&a, wb_buf_str(&b), &m, &err), -UPP_ELIMIT);
}

TEST(model_upp_writes_nothing_that_upp_has_not)
{
    struct upp_media media = {.source = UPP_SOURCE_URL, .data = UPP_STR("x")};
    struct upp_part part = {.kind = UPP_PART_TEXT};
    for (int i = 0;; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
        struct upp_err err = {0};
        struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
        part = (struct upp_part){.kind = UPP_PART_TEXT};
        media.source = UPP_SOURCE_URL;
        test_note("case %d", i);
        switch (i) {
        case 0:
            m.role = 0;
            break;
        case 1:
            m.role = 4;
            break;
        case 2:
            part.kind = UPP_PART_CALL;
            break;
        case 3:
            part.kind = UPP_PART_RESULT;
            break;
        case 4:
            part.kind = UPP_PART_RESULT, m.role = UPP_ROLE_ASSISTANT;
            break;
        case 5:
            part.kind = UPP_PART_CALL, m.role = UPP_ROLE_TOOL;
            break;
        case 6:
            part.kind = UPP_PART_AUDIO;
            break;
        case 7:
            part.kind = UPP_PART_AUDIO, part.media = &media;
            break;
        case 8:
            part.kind = UPP_PART_IMAGE, part.media = &media, media.source = UPP_SOURCE_TEXT;
            break;
        case 9:
            part.kind = UPP_PART_DOCUMENT, part.media = &media, media.source = UPP_SOURCE_BYTES;
            break;
        case 10:
            part.kind = UPP_PART_DOCUMENT, part.media = &media, media.source = 0;
            break;
        case 11:
            m.metadata = UPP_STR("[]");
            break;
        case 12:
            m.metadata = UPP_STR("{");
            break;
        case 13:
            m.metadata = UPP_STR("{"), m.interrupted = true;
            break;
        case 14:
            m.metadata = UPP_STR("[]"), m.interrupted = true;
            break;
        case 15:
            m.time_ms = INT64_MAX;
            break;
        case 16:
            part.kind = UPP_PART_RESULT, part.text = UPP_STR("nul"), m.role = UPP_ROLE_TOOL;
            break;
        case 17:
            part.text = UPP_STR("\xff");
            break;
        default:
            CHECK_INT(i, 18);
            return;
        }
        CHECK_INT(write_message(&m, &b, &err), -UPP_EINVALID);
        CHECK(err.msg[0]);
    }
}

TEST(model_upp_thread_keeps_its_bytes)
{
    static const char text[] =
        "{\"id\":\"4f8f9a0e-2f55-4c2f-8a58-0c7f5f0f9e10\",\"messages\":[{\"id\":\"a\",\"type\":\"user\","
        "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"timestamp\":\"2026-02-03T04:05:06.007Z\"}],"
        "\"createdAt\":\"2026-02-03T04:05:06Z\",\"updatedAt\":\"2026-02-03T04:05:06.007Z\"}";
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"7", ""},
        {"{\"id\":\"x\"}", ""},
        {"{\"id\":\"x\",\"messages\":{}}", "/messages"},
        {"{\"id\":\"x\",\"messages\":[{\"id\":\"a\",\"type\":\"bot\"}]}", "/messages/0/type"},
        {"{\"id\":\"x\",\"messages\":[],\"createdAt\":\"2026-02-03\"}", ""},
        {"{\"id\":\"x\",\"messages\":[],\"createdAt\":\"soon\",\"updatedAt\":\"2026-02-03\"}", "/createdAt"},
    };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err err = {0};
    struct wm_thread_json t;
    struct wj_writer w;
    yyjson_val *v;
    CHECK(wj_read(&a, wb_cstr(text), NULL, &v, &err) == 0);
    CHECK(wm_thread_read(&a, v, &t, &err) == 0);
    CHECK_INT(t.n, 1);
    wj_writer_init(&w, &b, &err);
    wm_thread_write(&w, &t);
    CHECK(wj_writer_check(&w) == 0);
    CHECK_STR(wb_buf_str(&b), wb_cstr(text));
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("case %zu", i);
        CHECK(wj_read(&a, wb_cstr(bad[i].text), NULL, &v, &err) == 0);
        CHECK_INT(wm_thread_read(&a, v, &t, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.where), wb_cstr(bad[i].where));
    }
}

/* covers: UPP-9/3 */
TEST(model_upp_usage_and_errors)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct upp_err e = {.code = UPP_ERATE, .http = 429};
    struct wj_writer w;
    wj_writer_init(&w, &b, NULL);
    wm_usage_write(&w, &(struct upp_usage){.input = 5, .output = 2, .cache_read = 1});
    wm_err_write(&w, &(struct upp_err){.code = UPP_ELIMIT});
    memcpy(e.provider, "openai", 6);
    memcpy(e.cause, "inner text", 10);
    memcpy(e.msg, "slow down", 9);
    wm_err_write(&w, &e);
    wm_time_write(&w, 1770091506007);
    CHECK(wj_writer_check(&w) == 0);
    CHECK_STR(
        wb_buf_str(&b),
        UPP_STR("{\"inputTokens\":5,\"outputTokens\":2,\"totalTokens\":7,\"cacheReadTokens\":1,\"cacheWriteTokens\":0},"
                "{\"name\":\"UPPError\",\"message\":\"a limit was "
                "reached\",\"code\":\"LIMIT_EXCEEDED\",\"modality\":\"llm\"},"
                "{\"name\":\"UPPError\",\"message\":\"slow down\",\"code\":\"RATE_LIMITED\",\"provider\":\"openai\","
                "\"modality\":\"llm\",\"statusCode\":429,\"cause\":\"inner text\"},\"2026-02-03T04:05:06.007Z\""));
}
