/* Reading AgentStreamEvents: what each becomes, and every script against what is read of its UI message stream. */
#include <string.h>

#include "dialects/ui/doc.h"
#include "dialects/core/convert.h"
#include "dialects/core/dialect.h"
#include "support/decode/uap.h"
#include "dialects/ui/decode.h"
#include "support/dialect.h"
#include "support/test.h"
#include "support/overcommit.h"

enum { ROOM = 64 << 20, NOW = 1770000000 };

/* The k-th part; results, which UI messages have where their calls are, by the ids of these. */
static const struct upp_part *part_at(const struct upp_message *m, size_t k, bool events)
{
    for (size_t i = 0; !events && m->role == UPP_ROLE_TOOL && i < m->n_parts; i++) {
        size_t before = 0;
        for (size_t n = 0; n < m->n_parts; n++)
            before += n != i && strncmp(m->parts[n].id.p, m->parts[i].id.p, m->parts[i].id.n) < 0;
        if (before == k)
            return &m->parts[i];
    }
    return &m->parts[k];
}

/* What a UI message stream says of a call that was never answered: that it failed. */
static bool is_made_up(const struct wm_doc *uap, const struct upp_message *m)
{
    const struct upp_part *p = m->n_parts == 1 && m->parts[0].is_error ? m->parts : NULL;
    bool there = false;
    for (size_t i = 0; p && i < uap->entries.n; i++)
        for (size_t k = 0; k < uap->entries.p[i].e.message.n_parts; k++) {
            const struct upp_part *result = &uap->entries.p[i].e.message.parts[k];
            there |= result->kind == UPP_PART_RESULT && wb_str_eq(result->id, p->id);
        }
    return p && !there;
}

/* Scaffolding, which UI messages show as reasoning. */
static bool is_thought(const struct upp_message *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n_parts; i++)
        n += m->parts[i].kind == UPP_PART_REASONING;
    return n && n == m->n_parts;
}

/* Messages alone, a line each: the place of their agent, the role, the parts. */
static void told(const struct wm_doc *doc, const struct wm_doc *uap, struct wb_buf *out)
{
    bool events = !uap;
    for (size_t i = 0; i < doc->entries.n; i++) {
        const struct wm_doc_entry *e = &doc->entries.p[i];
        if (e->e.kind == WM_ENTRY_EVENT) {
            if (events)
                wb_buf_addf(out, "%.*s\n", UPP_FMT(e->e.data));
            continue;
        }
        if (uap && (is_made_up(uap, &e->e.message) || is_thought(&e->e.message)))
            continue;
        wb_buf_addf(out, "%u %u", (unsigned)e->agent, e->e.message.role);
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = part_at(&e->e.message, k, events);
            if (!events && p->kind == UPP_PART_DOCUMENT)
                continue; /* UPP has no delta of them */
            wb_buf_addf(out, " %u%s", p->kind, p->is_error ? "!" : "");
            if (events && p->cut)
                wb_buf_add(out, UPP_STR("~"));
            if (p->id.p)
                wb_buf_addf(out, " %.*s:%.*s", UPP_FMT(p->id), UPP_FMT(p->name));
            if (events || !p->is_error) /* of one that was denied a UI message stream says no more */
                wb_buf_addf(out, "(%.*s)", UPP_FMT(p->media ? p->media->data : p->text));
        }
        wb_buf_add(out, UPP_STR("\n"));
    }
}

static int decode_lines(struct upp_str lines, struct wd_document *d, size_t *skipped, struct upp_err *err)
{
    struct wd_uap_decoder decoder;
    struct upp_str line;
    uint64_t number = 0;
    int r = 0;
    *d = (struct wd_document){.ops = &wd_document_uap, .a = WB_ARENA(ROOM)};
    wd_uap_decoder_init(&decoder, &d->doc, &d->a, UPP_STR("bot"));
    while (r >= 0 && wb_str_split(&lines, '\n', &line))
        if (line.n)
            r = wd_uap_decode(&decoder, line, ++number, NOW, err);
    if (r >= 0)
        r = wd_uap_decode_end(&decoder, err);
    *skipped = decoder.skipped;
    wd_uap_decoder_done(&decoder);
    return r;
}

#define UPP(type, index, delta)                                                                                        \
    "{\"source\":\"upp\",\"upp\":{\"type\":\"" type "\",\"index\":" index ",\"delta\":{" delta "}}}\n"
#define UAP(type, data)                                                                                                \
    "{\"source\":\"uap\",\"uap\":{\"type\":\"" type "\",\"step\":1,\"agentId\":\"x\",\"data\":{" data "}}}\n"
#define TEXT(index, text) UPP("text_delta", index, "\"text\":\"" text "\"")
#define CALL(index, id, part)                                                                                          \
    UPP("tool_call_delta", index, "\"toolCallId\":\"" id "\",\"toolName\":\"f\",\"argumentsJson\":\"" part "\"")
#define START UPP("message_start", "0", "")
#define STOP  UPP("message_stop", "0", "")

static const struct {
    const char *events, *told;
    size_t skipped;
} cases[] = {
    {"", "", 0},
    {START STOP, "0 2\n", 0},
    /* Deltas of one block are one part; blocks need not begin. */
    {START TEXT("0", "a") TEXT("1", "b") TEXT("0", "c") STOP, "0 2 1(ac) 1(b)\n", 0},
    {UPP("content_block_start", "0", "") UPP("reasoning_delta", "0", "\"text\":\"hm\"")
         UPP("content_block_stop", "0", "") TEXT("1", "x"),
     "0 2 2(hm) 1~(x)\n", 0},
    {START UPP("image_delta", "0", "\"data\":\"AAAA\"") UPP("content_block_start", "1", "") STOP, "0 2 3(AAAA)\n", 0},
    /* A call is cut until it is seen to be run. */
    {START CALL("0", "c", "{\\\"a\\\"") CALL("0", "c", ":1}") STOP, "0 2 8~ c:f({\"a\":1})\n", 0},
    {START CALL("0", "c", "") STOP UAP("action", "\"toolCalls\":[{\"toolCallId\":\"c\"}]"), "0 2 8 c:f()\n", 0},
    {START CALL("0", "c", "") STOP UPP("tool_execution_start", "0", "\"toolCallId\":\"c\"")
         UPP("tool_execution_end", "0", "\"toolCallId\":\"c\",\"result\":[1],\"isError\":true"),
     "0 2 8 c:f()\n0 3 9! c:f([1])\n", 0},
    {UAP("step_start", "") START CALL("0", "c", "") CALL("1", "d", "") STOP UPP("tool_execution_end", "1",
                                                                                "\"toolCallId\":\"d\",\"result\":2")
         UPP("tool_execution_end", "0", "\"toolCallId\":\"c\",\"result\":1") UAP(
             "observation", "\"results\":[{\"toolCallId\":\"c\",\"result\":1},{\"toolCallId\":\"d\",\"result\":2}]"),
     "0 2 8 c:f() 8 d:f()\n0 3 9 c:f(1) 9 d:f(2)\n", 0},
    /* Steps, agents, events. */
    {UAP("step_start", "") START TEXT("0", "a") STOP UAP("step_end", "") UAP("step_start", "") START TEXT("0", "b")
         STOP,
     "0 2 1(a)\n0 2 1(b)\n", 0},
    {UAP("system_event", "\"eventType\":\"t\",\"eventData\":[1],\"sourceAgent\":\"a\",\"targetAgents\":[\"b\"]"),
     "{\"type\":\"t\",\"data\":[1],\"source\":\"a\",\"targets\":[\"b\"]}\n", 0},
    {START TEXT("0", "a") UAP("run", "\"runId\":\"r\",\"status\":\"failed\",\"error\":{\"message\":\"m\"}"),
     "0 2 1~(a)\n{\"type\":\"stream.error\",\"data\":{\"message\":\"m\"}}\n", 0},
    {UAP("run", "\"runId\":\"r\",\"status\":\"cancelled\""), "{\"type\":\"stream.abort\",\"data\":\"cancelled\"}\n", 0},
    /* What came after event 4 is taken back: the message, its results, what is open. */
    {UAP("step_start", "") START TEXT("0", "a") STOP START TEXT("0", "b")
         STOP UPP("tool_execution_end", "0", "\"toolCallId\":\"c\",\"result\":1") START TEXT("0", "c")
             UAP("attempt_void", "\"last\":4") START TEXT("0", "d") STOP,
     "0 2 1(a)\n0 2 1(d)\n", 0},
    /* What nobody is told, and what nobody knows. */
    {"{\"source\":\"upp\",\"aside\":\"plan\",\"upp\":{\"type\":\"text_delta\",\"index\":0,\"delta\":{\"text\":\"a\"}}}"
     "\n"
     "{\"source\":\"upp\",\"depth\":1,\"upp\":{\"type\":\"text_delta\",\"index\":0,\"delta\":{\"text\":\"a\"}}}\n" UAP(
         "system_event", "\"depth\":1"),
     "", 0},
    {UAP("tomorrow", "") UPP("smell_delta", "0", "") UAP("reasoning", "") UAP("checkpoint", ""), "", 2},
};

/* covers: UAP-12.2/2 */
TEST(dialect_uap_decode_events)
{
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        size_t skipped;
        test_note("%s", cases[i].events);
        CHECK(decode_lines(wb_cstr(cases[i].events), &d, &skipped, &err) == 0);
        told(&d.doc, NULL, &out);
        CHECK(!out.failed);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].told));
        CHECK_INT(skipped, cases[i].skipped);
    }
}

TEST(dialect_uap_decode_turns)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    size_t skipped;
    CHECK(
        decode_lines(
            UPP_STR(
                UAP("run", "\"runId\":\"r\",\"status\":\"running\"") START TEXT("0", "a") STOP
                "{\"source\":\"uap\",\"uap\":{\"type\":\"step_start\",\"agentId\":\"y\",\"data\":{}}}\n" START TEXT(
                    "0", "b") STOP
                "{\"source\":\"uap\",\"uap\":{\"type\":\"run\",\"agentId\":\"y\",\"data\":{\"runId\":\"r\",\"status\":"
                "\"completed\",\"usage\":{\"inputTokens\":3,\"outputTokens\":4}}}}\n"),
            &d, &skipped, &err) == 0);
    CHECK(d.doc.turns.n == 2 && d.doc.entries.n == 2);
    CHECK_STR(d.doc.agents.p[d.doc.turns.p[0].agent].id, UPP_STR("x"));
    CHECK_STR(d.doc.agents.p[d.doc.turns.p[1].agent].id, UPP_STR("y"));
    CHECK_STR(d.doc.turns.p[1].run, UPP_STR("r"));
    CHECK(d.doc.turns.p[1].usage.output == 4 && !d.doc.turns.p[0].has_usage);
}

static const char *const bad[] = {"", "7", "[]", "{", "{}", "{\"uap\":1}", "{\"uap\":{}}", "{\"upp\":{\"type\":1}}"};

TEST(dialect_uap_decode_refuses)
{
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
        struct wd_uap_decoder decoder;
        struct upp_err err;
        wd_uap_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
        int r = wd_uap_decode(&decoder, wb_cstr(bad[i]), 0, NOW, &err);
        wd_uap_decoder_done(&decoder);
        test_note("%s", bad[i]);
        CHECK_INT(r, -UPP_EINVALID);
    }
}

TEST_WITH(dialect_uap_decode_has_limits, .no_torture = "thousands of parts; the others are tortured")
{
    for (int results = 0; results < 2; results++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
        struct wd_uap_decoder decoder;
        struct upp_err err;
        char text[128];
        int r = 0;
        size_t n = 0;
        wd_uap_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
        for (; r >= 0 && n <= WD_UAP_BLOCKS; n++) {
            (void)snprintf(text, sizeof text, "{\"upp\":{\"type\":\"%s\",\"index\":%zu,\"delta\":{}}}",
                           results ? "tool_execution_end" : "text_delta", n);
            r = wd_uap_decode(&decoder, wb_cstr(text), 0, NOW, &err);
        }
        wd_uap_decoder_done(&decoder);
        CHECK_INT(r, -UPP_ELIMIT);
        CHECK_INT(n, WD_UAP_BLOCKS + 1);
    }
}

TEST_WITH(dialect_uap_decode_bytes_are_limited, .no_torture = "memory that is not ours")
{
    static const char delta[] = "{\"upp\":{\"type\":\"text_delta\",\"index\":0,\"delta\":{\"text\":\"x\"}}}";
    WB_CLEANUP(wd_document_done) struct wd_document d = {.a = WB_ARENA(ROOM)};
    struct wd_uap_decoder decoder;
    struct upp_err err = {0}, why = {0};
    int last = -1, more = 0;
    wd_uap_decoder_init(&decoder, &d.doc, &d.a, (struct upp_str){0});
    int event =
        wd_uap_decode(&decoder, wb_str("{}", (size_t)WD_UAP_EVENT + 1), 0, NOW, &why); /* nothing is looked at */
    int r = wd_uap_decode(&decoder, wb_cstr(delta), 0, NOW, &err);
    if (r >= 0 && EXPECT(decoder.blocks.n == 1) && EXPECT(test_vast_fill(&decoder.blocks.p[0].text))) {
        last = wd_uap_decode(&decoder, wb_cstr(delta), 0, NOW, &err);
        more = wd_uap_decode(&decoder, wb_cstr(delta), 0, NOW, &err);
        test_vast_empty(&decoder.blocks.p[0].text);
    }
    wd_uap_decoder_done(&decoder);
    CHECK_INT(event, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(why.msg), UPP_STR("expected at most 67108864 bytes of JSON, found 67108865"));
    CHECK_INT(r, 0);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
}

/* ---- Against the other stream ---------------------------------------------------------------- */

static struct upp_str frame_at(const struct dialect *d, size_t k)
{
    return wb_str(d->frames.text.p + d->frames.list.p[k].from, d->frames.list.p[k].n);
}

static int read_uap(struct dialect *s, struct wd_document *d, struct upp_err *err)
{
    struct wd_uap_decoder decoder;
    int r = dialect_encode(s, &wd_stream_weft, NULL);
    wd_uap_decoder_init(&decoder, &d->doc, &d->a, (struct upp_str){0});
    for (size_t i = 0, k = 0; r >= 0 && i < s->upto.n; i++)
        for (; r >= 0 && k < s->upto.p[i]; k++)
            r = wd_uap_decode(&decoder, frame_at(s, k), s->events.list.p[i].number, NOW, err);
    if (r >= 0)
        r = wd_uap_decode_end(&decoder, err);
    wd_uap_decoder_done(&decoder);
    return r;
}

static int read_ui(struct dialect *s, struct wd_document *d, struct upp_err *err)
{
    struct wd_ui_decoder decoder;
    int r = dialect_encode(s, &wd_stream_ui, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){7}));
    wd_ui_decoder_init(&decoder, &d->doc, &d->a, (struct upp_str){0});
    for (size_t k = 0; r >= 0 && k < s->frames.list.n; k++)
        r = wd_ui_decode(&decoder, frame_at(s, k), NOW, err);
    if (r >= 0)
        r = wd_ui_decode_end(&decoder, err);
    wd_ui_decoder_done(&decoder);
    return r;
}

/* Scripts of which a UI message stream says something else: a result that is a text for the sake of browsers, calls of
 * children that a client answers, one agent for all. */
static bool is_otherwise(const char *name)
{
    return strcmp(name, "no_tape") == 0 || strncmp(name, "child", 5) == 0 || strcmp(name, "handoff") == 0;
}

/* covers: UAP-12.5a */
TEST_WITH(dialect_uap_decode_says_what_ui_does, .no_torture = "many streams; the events are tortured one by one")
{
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect s;
        WB_CLEANUP(wd_document_done) struct wd_document uap = {.a = WB_ARENA(ROOM)}, ui = {.a = WB_ARENA(ROOM)};
        WB_CLEANUP(wb_buf_done) struct wb_buf is = WB_BUF(ROOM), was = WB_BUF(ROOM);
        struct upp_err err;
        dialect_init(&s);
        if (is_otherwise(events_scripts[i].name))
            continue;
        test_note("%s", events_scripts[i].name);
        CHECK(dialect_play(&s, events_scripts[i].text) == 0);
        CHECK(read_uap(&s, &uap, &err) == 0);
        CHECK(read_ui(&s, &ui, &err) == 0);
        told(&uap.doc, &uap.doc, &is);
        told(&ui.doc, &uap.doc, &was);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}
