/* Reading UI message streams: what each chunk becomes, and every golden stream as a whole. */
#include <dirent.h>
#include <stdlib.h>

#include "base/hooks.h"
#include "dialects/core/convert.h"
#include "dialects/ui/decode.h"
#include "support/test.h"
#include "support/overcommit.h"

enum { ROOM = 64 << 20, NOW = 1770000000 };

static void freep(char **p)
{
    free(*p);
}

/* Chunks, a line each, into a document. */
static int decode(struct upp_str lines, struct wd_document *d, size_t *skipped, struct upp_err *err)
{
    struct wd_ui_decoder decoder;
    struct upp_str line;
    int r = 0;
    *d = (struct wd_document){.ops = &wd_document_ui, .a = WB_ARENA(ROOM)};
    wd_ui_decoder_init(&decoder, &d->doc, &d->a, UPP_STR("bot"));
    while (r >= 0 && wb_str_split(&lines, '\n', &line))
        if (line.n)
            r = wd_ui_decode(&decoder, line, NOW, err);
    if (r >= 0)
        r = wd_ui_decode_end(&decoder, err);
    *skipped = decoder.skipped;
    wd_ui_decoder_done(&decoder);
    return r;
}

/* What the document says, a line each: role or event, then its parts. */
static void told(const struct wm_doc *doc, struct wb_buf *out)
{
    static const char *const roles[] = {"", "user", "assistant", "tool"};
    for (size_t i = 0; i < doc->entries.n; i++) {
        const struct wm_doc_entry *e = &doc->entries.p[i];
        if (e->e.kind == WM_ENTRY_EVENT) {
            wb_buf_addf(out, "%.*s\n", UPP_FMT(e->e.data));
            continue;
        }
        wb_buf_addf(out, "%s", roles[e->e.message.role]);
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, " %u%s%s", p->kind, p->is_error ? "!" : "", p->cut ? "~" : "");
            if (p->id.p)
                wb_buf_addf(out, " %.*s:%.*s", UPP_FMT(p->id), UPP_FMT(p->name));
            wb_buf_addf(out, "(%.*s)", UPP_FMT(p->media ? p->media->data : p->text));
            if (p->metadata.p)
                wb_buf_addf(out, "%.*s", UPP_FMT(p->metadata));
        }
        wb_buf_add(out, UPP_STR("\n"));
    }
}

#define C(type, members) "{\"type\":\"" type "\"" members "}\n"

static const struct {
    const char *chunks, *told;
    size_t skipped;
} cases[] = {
    {"", "", 0},
    {C("start", ",\"messageId\":\"m\"") C("finish", ""), "", 0},
    /* Deltas of one text are one part, two texts are two, also when they come at once. */
    {C("start-step", "") C("text-start", ",\"id\":\"a\"") C("text-start", ",\"id\":\"b\"")
         C("text-delta", ",\"id\":\"a\",\"delta\":\"1\"") C("text-delta", ",\"id\":\"b\",\"delta\":\"2\"")
             C("text-delta", ",\"id\":\"a\",\"delta\":\"3\"") C("text-end", ",\"id\":\"a\"")
                 C("text-end", ",\"id\":\"b\",\"providerMetadata\":{\"p\":{}}"),
     "assistant 1(13) 1(2){\"p\":{}}\n", 0},
    {C("text-start", ",\"id\":\"a\"") C("text-end", ",\"id\":\"a\"") C("text-start", ",\"id\":\"a\"")
         C("text-delta", ",\"id\":\"a\",\"delta\":\"x\""),
     "assistant 1() 1~(x)\n", 0},
    /* A delta without a start; the seed's name of reasoning; an end of nothing. */
    {C("thinking-delta", ",\"id\":\"t\",\"delta\":\"hm\"") C("reasoning-end", ",\"id\":\"t\"")
         C("text-end", ",\"id\":\"t\""),
     "assistant 2(hm)\n", 0},
    /* Steps. */
    {C("start-step", "") C("text-delta", ",\"delta\":\"a\"") C("text-end", "") C("finish-step", "") C("start-step", "")
         C("text-delta", ",\"delta\":\"b\"") C("text-end", ""),
     "assistant 1(a)\nassistant 1(b)\n", 0},
    {C("start-step", "") C("text-delta", ",\"delta\":\"a\"") C("reset-step", "") C("text-delta", ",\"delta\":\"b\"")
         C("text-end", ""),
     "assistant 1(b)\n", 0},
    /* Tools: the name is found by the id, also in a later step; what was never finished is cut. */
    {C("tool-input-start", ",\"toolCallId\":\"c\",\"toolName\":\"f\"")
         C("tool-input-delta", ",\"toolCallId\":\"c\",\"inputTextDelta\":\"{ \\\"a\\\":1}\"")
             C("tool-input-available", ",\"toolCallId\":\"c\",\"toolName\":\"f\",\"input\":{\"a\":1}")
                 C("start-step", "") C("text-delta", ",\"delta\":\"x\"") C("text-end", "")
                     C("tool-output-available", ",\"toolCallId\":\"c\",\"output\":null"),
     "assistant 8 c:f({\"a\":1})\ntool 9 c:f(null)\nassistant 1(x)\n", 0},
    {C("tool-input-start", ",\"toolCallId\":\"c\",\"toolName\":\"f\"")
         C("tool-input-delta", ",\"toolCallId\":\"c\",\"inputTextDelta\":\"{\\\"a\"") C("abort", ",\"reason\":\"r\""),
     "assistant 8~ c:f({\"a)\n{\"type\":\"stream.abort\",\"data\":{\"reason\":\"r\"}}\n", 0},
    {C("tool-output-available", ",\"toolCallId\":\"c\",\"toolName\":\"f\",\"output\":[1]"),
     "assistant 8 c:f({})\ntool 9 c:f([1])\n", 0},
    {C("tool-input-available", ",\"toolCallId\":\"c\",\"toolName\":\"f\",\"input\":1")
         C("tool-output-error", ",\"toolCallId\":\"c\",\"errorText\":\"e\""),
     "assistant 8 c:f(1)\ntool 9! c:f(\"e\")\n", 0},
    {C("tool-input-available", ",\"toolCallId\":\"c\",\"toolName\":\"f\",\"input\":1")
         C("tool-approval-request", ",\"toolCallId\":\"c\",\"approvalId\":\"a\"")
             C("tool-output-denied", ",\"toolCallId\":\"c\""),
     "assistant 8 c:f(1)\ntool 9! c:f(\"The tool call was denied.\"){\"pydantic_ai\":{\"outcome\":\"denied\"}}\n", 0},
    {C("tool-input-error", ",\"toolCallId\":\"c\",\"toolName\":\"f\",\"input\":\"{\\\"a\",\"errorText\":\"e\""),
     "assistant 8 c:f({\"a){\"pydantic_ai\":{\"raw_args\":true}}\ntool 9! "
     "c:f(\"e\"){\"pydantic_ai\":{\"retry\":true}}\n",
     0},
    /* Events: replaced by id, transient ones are none, sources, files, errors. */
    {C("data-a", ",\"id\":\"1\",\"data\":1") C("data-a", ",\"id\":\"1\",\"data\":2")
         C("data-b", ",\"id\":\"1\",\"data\":3") C("data-c", ",\"transient\":true,\"data\":4")
             C("data-d", ",\"data\":null"),
     "{\"type\":\"a\",\"data\":2}\n{\"type\":\"b\",\"data\":3}\n{\"type\":\"d\",\"data\":null}\n", 0},
    {C("data-a", ",\"id\":\"1\",\"data\":1")
         C("message-metadata",
           ",\"messageMetadata\":{\"weft_events\":{\"1\":{\"sourceAgent\":\"x\",\"targetAgents\":[\"y\"]}}}"),
     "{\"type\":\"a\",\"data\":1,\"source\":\"x\",\"targets\":[\"y\"]}\n", 0},
    {C("source-url", ",\"sourceId\":\"s\",\"url\":\"u\"") C("file", ",\"url\":\"https://x\",\"mediaType\":\"a/b\"")
         C("file", ",\"url\":\"data:a/b;base64,AAAA\",\"mediaType\":\"a/b\"") C("error", ",\"errorText\":\"e\""),
     "{\"type\":\"ui.source\",\"data\":{\"sourceId\":\"s\",\"url\":\"u\"}}\n"
     "{\"type\":\"ui.file\",\"data\":{\"url\":\"https://x\",\"mediaType\":\"a/b\"}}\n"
     "assistant 4(AAAA)\n{\"type\":\"stream.error\",\"data\":{\"errorText\":\"e\"}}\n",
     0},
    {C("tomorrow", "") C("text-more", "") "[DONE]\n", "", 2},
};

/* covers: TP-33 */
TEST(dialect_ui_decode_chunks)
{
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        size_t skipped;
        test_note("%s", cases[i].chunks);
        CHECK(decode(wb_cstr(cases[i].chunks), &d, &skipped, &err) == 0);
        told(&d.doc, &out);
        CHECK(!out.failed);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].told));
        CHECK_INT(skipped, cases[i].skipped);
    }
}

TEST(dialect_ui_decode_messages)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    size_t skipped;
    CHECK(decode(UPP_STR(
                     C("start", ",\"messageId\":\"1\",\"messageMetadata\":{\"weft\":{\"agent\":\"x\",\"model\":\"m\"}}")
                         C("text-delta", ",\"delta\":\"a\"") C("start", ",\"messageId\":\"1\"")
                             C("text-delta", ",\"delta\":\"b\"")
                                 C("finish", ",\"finishReason\":\"length\",\"messageMetadata\":{\"usage\":{"
                                             "\"inputTokens\":3,\"outputTokens\":4}}")
                                     C("start", ",\"messageId\":\"2\"") C("text-delta", ",\"delta\":\"c\"")),
                 &d, &skipped, &err) == 0);
    CHECK(d.doc.turns.n == 2 && d.doc.entries.n == 2);
    CHECK_STR(d.doc.turns.p[0].id, UPP_STR("1"));
    CHECK_STR(d.doc.turns.p[1].id, UPP_STR("2"));
    CHECK_STR(d.doc.agents.p[d.doc.turns.p[0].agent].id, UPP_STR("x"));
    CHECK_STR(d.doc.agents.p[d.doc.turns.p[1].agent].id, UPP_STR("bot"));
    CHECK_STR(d.doc.entries.p[0].said.model, UPP_STR("m"));
    CHECK_STR(d.doc.entries.p[0].e.message.parts[0].text, UPP_STR("ab"));
    CHECK(d.doc.entries.p[0].said.stop == 2 && d.doc.turns.p[0].usage.output == 4);
    CHECK(!d.doc.turns.p[1].has_usage && !d.doc.entries.p[1].said.stop);
}

static const char *const bad[] = {"", "7", "[]", "{", "{}", "{\"type\":1}"};

TEST(dialect_ui_decode_refuses)
{
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
        struct wd_ui_decoder decoder;
        struct upp_err err;
        wd_ui_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
        int r = wd_ui_decode(&decoder, wb_cstr(bad[i]), NOW, &err);
        wd_ui_decoder_done(&decoder);
        CHECK_INT(r, -UPP_EINVALID);
    }
}

TEST_WITH(dialect_ui_decode_parts_are_limited, .no_torture = "thousands of parts; the others are tortured")
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
    struct wd_ui_decoder decoder;
    struct upp_err err;
    int r = 0;
    size_t n = 0;
    wd_ui_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
    for (; r >= 0 && n <= WD_UI_SLOTS; n++)
        r = wd_ui_decode(&decoder, UPP_STR("{\"type\":\"data-x\",\"data\":1}"), NOW, &err);
    wd_ui_decoder_done(&decoder);
    CHECK_INT(r, -UPP_ELIMIT);
    CHECK_INT(n, WD_UI_SLOTS + 1);
}

TEST_WITH(dialect_ui_decode_bytes_are_limited, .no_torture = "memory that is not ours")
{
    static const char delta[] = "{\"type\":\"text-delta\",\"id\":\"1\",\"delta\":\"x\"}";
    WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
    struct wd_ui_decoder decoder;
    struct upp_err err = {0}, why = {0};
    int last = -1, more = 0;
    wd_ui_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
    int chunk = wd_ui_decode(&decoder, wb_str("{}", (size_t)WD_UI_CHUNK + 1), NOW, &why); /* nothing is looked at */
    int r = wd_ui_decode(&decoder, UPP_STR("{\"type\":\"text-start\",\"id\":\"1\"}"), NOW, &err);
    if (r >= 0 && EXPECT(decoder.slots.n == 1) && EXPECT(test_vast_fill(&decoder.slots.p[0].text))) {
        last = wd_ui_decode(&decoder, wb_cstr(delta), NOW, &err);
        more = wd_ui_decode(&decoder, wb_cstr(delta), NOW, &err);
        test_vast_empty(&decoder.slots.p[0].text);
    }
    wd_ui_decoder_done(&decoder);
    CHECK_INT(chunk, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(why.msg), UPP_STR("expected at most 67108864 bytes of JSON, found 67108865"));
    CHECK_INT(r, 0);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
}

/* The chunks of a golden stream: each line begins with the event's number. */
static void chunks_of(struct upp_str golden, struct wb_buf *out)
{
    struct upp_str line;
    while (wb_str_split(&golden, '\n', &line)) {
        size_t at = wb_str_find(line, UPP_STR(" "), 0);
        if (at != SIZE_MAX)
            wb_buf_add(out, wb_str_sub(line, at + 1, SIZE_MAX));
        wb_buf_add(out, UPP_STR("\n"));
    }
}

/* Every stream that we write is read, and is UI messages that are in order. */
static bool is_read(const char *path)
{
    size_t n = 0, skipped;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf lines = WB_BUF(ROOM), out = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    struct upp_err err = {0};
    test_note("%s", path);
    if (!text)
        return EXPECT(!"it is there");
    chunks_of(wb_str(text, n), &lines);
    if (lines.failed || decode(wb_buf_str(&lines), &d, &skipped, &err) < 0 ||
        wd_document_write(&d, &wd_document_ui, NULL, &out, NULL, &err) < 0)
        return EXPECT(!"it can be read and written");
    if (!d.doc.entries.n)
        return true; /* nothing was said: no message */
    return EXPECT(wd_document_validate(&wd_document_ui, wb_buf_str(&out), &a, &p, &ops, &err) == 0) &&
           EXPECT(!p.errors);
}

TEST_WITH(dialect_ui_decode_golden_streams, .no_torture = "many streams; the chunks are tortured one by one")
{
    DIR *dir = opendir(test_source("golden/ui"));
    size_t read = 0;
    bool good = dir != NULL;
    for (struct dirent *e; good && (e = readdir(dir));) {
        char path[320];
        size_t n = strlen(e->d_name);
        if (n < 3 || e->d_name[n - 2] != '.')
            continue;
        (void)snprintf(path, sizeof path, "golden/ui/%.200s", e->d_name);
        good = is_read(path);
        read++;
    }
    if (dir)
        closedir(dir);
    CHECK(good);
    CHECK(read > 50);
}
