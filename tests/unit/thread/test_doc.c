/* A thread of the log as a document: its turns, what the models said of their answers, and a dialect's text. */
#include "thread/doc.h"

#include <string.h>

#include "session/session.h"
#include "dialects/core/convert.h"
#include "model/id.h"
#include "support/agents.h"

static WEFT_SUSPENDS int say(struct weft_session *s, const char *text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    return weft_session_run(s, wb_cstr(text), &turn, err);
}

struct seen {
    struct wb_arena arena;
    struct wm_doc doc;
};

static void seen_done(struct seen *x)
{
    wm_doc_done(&x->doc);
    wb_arena_done(&x->arena);
}

static void know(void *arg, struct wm_doc_agent *agent)
{
    (void)arg;
    agent->id = UPP_STR("id-of-it");
}

static WEFT_SUSPENDS int look(struct weft_session *s, void *arg, struct upp_err *err)
{
    struct seen *x = arg;
    struct wa_thread_doc_opts opts = {.agent = know};
    struct wl_thread t;
    wm_doc_done(&x->doc);
    TRY(wa_session_thread(s, &x->arena, &t, err));
    return wa_thread_doc(wr_engine_store(s->home->kept), &wa_owner, &t, &opts, &x->arena, &x->doc, err);
}

/* Two runs, then a third from before the second: two branches, of which the document has one. */
static WEFT_SUSPENDS int documents(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_session_closep) struct weft_session *s = NULL;
    UPP_CLEANUP(seen_done) struct seen x = {.arena = WB_ARENA(64u << 20)};
    UPP_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
    struct weft_agent *a;
    struct weft_checkpoint cp;
    char id[64];
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model), &a, err));
    TRY(weft_session_new(a, NULL, &s, err));
    TRY(wa_session_look(s, "test", look, &x, err));
    FAIL_UNLESS(!x.doc.entries.n && !x.doc.turns.n && x.doc.id.n == 36);
    TRY(say(s, "one", err));
    TRY(say(s, "two", err));
    TRY(weft_session_checkpoint(s, 0, &cp, err));
    (void)snprintf(id, sizeof id, "%.*s", UPP_FMT(cp.id));
    TRY(weft_session_restore(s, wb_cstr(id), err));
    TRY(say(s, "three", err));
    TRY(wa_session_look(s, "test", look, &x, err));
    const struct wm_doc *d = &x.doc;
    FAIL_UNLESS(d->entries.n == 4 && d->turns.n == 4 && d->agents.n == 1);
    FAIL_UNLESS(wb_str_eq(d->agents.p[0].id, UPP_STR("id-of-it")));
    for (size_t i = 0; i < 4; i++) {
        const struct wm_doc_turn *t = &d->turns.p[i];
        const struct wm_doc_entry *e = &d->entries.p[i];
        FAIL_UNLESS(t->first == i && t->n == 1 && t->agent == (i % 2 ? 0 : WM_NO_AGENT) && !t->partial);
        FAIL_UNLESS(e->id.n == 36 && e->e.message.role == (i % 2 ? UPP_ROLE_ASSISTANT : UPP_ROLE_USER));
        FAIL_UNLESS(!(i % 2) || (t->run.n == 36 && t->has_usage && e->said.has_usage && e->said.stop &&
                                 t->usage.input == e->said.usage.input && t->usage.output == e->said.usage.output));
    }
    FAIL_UNLESS(wb_str_eq(d->entries.p[2].e.message.parts[0].text, UPP_STR("three")));
    TRY(wd_doc_write(d, &wd_document_thread, NULL, &out, NULL, err));
    wb_buf_addc(&out, 0);
    FAIL_UNLESS(!out.failed && strstr(out.p, "\"three\"") && !strstr(out.p, "\"two\""));
    return 0;
}

TEST(thread_doc_has_the_history_of_its_thread)
{
    AGENTS("{\"replies\":[{\"parts\":[{\"text\":\"yes\"}],\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}]}",
           documents);
}

static int by_id(void *arg, struct upp_str agent, struct upp_str *ret, struct upp_err *err)
{
    (void)arg, (void)err;
    *ret = wb_str_eq(agent, UPP_STR("a")) ? UPP_STR("id-a") : UPP_STR("id-b");
    return 0;
}

/* The log names what a document says: entries by their ids, of either version, and agents by their names. */
static const struct {
    const char *stored, *told;
} events[] = {
    {"{\"type\":\"agent.handoff\",\"data\":{\"from\":\"a\",\"to\":\"b\",\"reason\":\"a\"},\"source\":\"a\",\"targets\":"
     "[\"b\",7]}",
     "{\"type\":\"agent.handoff\",\"data\":{\"from\":\"id-a\",\"to\":\"id-b\",\"reason\":\"a\"},\"source\":\"id-a\","
     "\"targets\":"
     "[\"id-b\",7]}"},
    {"{\"type\":\"prompt.enriched\",\"data\":{\"original\":{\"entry\":\"%s\"},\"enriched\":{\"entry\":\"01234567-89ab-"
     "8cde-bc00-"
     "000004100000\"}}}",
     "{\"type\":\"prompt.enriched\",\"data\":{\"original\":\"old \\\"text\\\"\",\"enriched\":\"new\"}}"},
    {"{\"type\":\"prompt.enriched\",\"data\":{\"original\":\"x\",\"enriched\":{\"entry\":\"nobody's\"}}}",
     "{\"type\":\"prompt.enriched\",\"data\":{\"original\":\"x\",\"enriched\":{\"entry\":\"nobody's\"}}}"},
    {"{\"type\":\"agent.note\",\"data\":{\"from\":\"a\",\"original\":1}}",
     "{\"type\":\"agent.note\",\"data\":{\"from\":\"a\",\"original\":1}}"},
    {"{\"type\":\"agent.handoff\",\"data\":[\"from\"],\"targets\":\"a\"}",
     "{\"type\":\"agent.handoff\",\"data\":[\"from\"],\"targets\":\"a\"}"},
};

/* covers: TP-61, TP-62/3 */
TEST(thread_doc_tells_events_whole)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("old \"text\"")},
                               {.kind = UPP_PART_TEXT, .text = UPP_STR("new")}};
    struct wl_line lines[] = {{.node = 0x0123456789abcdef,
                               .index = 0,
                               .entry.message = {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 1}},
                              {.node = 0x0123456789abcdef,
                               .index = 1,
                               .entry.message = {.role = UPP_ROLE_USER, .parts = parts + 1, .n_parts = 1}}};
    struct wa_event_doc of = {.lines = lines, .n = 2, .id_of = by_id};
    char id[WB_UUID_TEXT + 1], text[512];
    struct upp_err err = {0};
    (void)wb_uuid_text(wm_id_uuid((struct wm_id){.node = 0x0123456789abcdef, .noun = WM_NOUN_ENTRY}), id);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const char *at = strstr(events[i].stored, "%s");
        (void)snprintf(text, sizeof text, "%.*s%s%s", at ? (int)(at - events[i].stored) : 0, events[i].stored,
                       at ? id : "", at ? at + 2 : events[i].stored);
        struct upp_str data = wb_cstr(text);
        CHECK_INT(wa_event_doc(&of, &a, &data, &err), 0);
        CHECK_STR(data, wb_cstr(events[i].told));
    }
}

#define THINKING "{\"type\":\"thinking\",\"thinking\":\"Let me see.\",\"signature\":\"c2ln\"}"
#define RS       "{\"type\":\"reasoning\",\"id\":\"rs_1\",\"summary\":[{\"text\":\"Let me\"}],\"encrypted_content\":\"ZW5j\"}"

/* Vendors take reasoning back only with its signature, which is in their raw output: each part gets its own. */
TEST(thread_doc_reasoning_has_its_signature)
{
    static const struct {
        const char *provider, *metadata, *first, *second;
    } cases[] = {
        {"x\"y", "", "\"provider_name\":\"x\\\"y\"", "\"provider_name\":\"x\\\"y\""},
        {"anthropic", "{\"anthropic\":{\"raw\":[{\"type\":\"text\"}," THINKING "]}}",
         "\"signature\":\"c2ln\",\"provider_name\":\"anthropic\"", "\"provider_name\":\"anthropic\""},
        {"anthropic", "{\"anthropic\":{\"raw\":[" THINKING "," THINKING "]}}",
         "\"signature\":\"c2ln\",\"provider_name\":\"anthropic\"",
         "\"signature\":\"c2ln\",\"provider_name\":\"anthropic\""},
        {"anthropic", "{\"openai\":{\"raw\":[" THINKING "]}}", "\"provider_name\":\"anthropic\"",
         "\"provider_name\":\"anthropic\""},
        {"openai", "{\"openai\":{\"raw\":[" RS "]}}",
         "\"id\":\"rs_1\",\"signature\":\"ZW5j\",\"provider_name\":\"openai\"", "\"provider_name\":\"openai\""},
        {"openai", "{\"openai\":{\"raw\":{}}}", "\"provider_name\":\"openai\"", "\"provider_name\":\"openai\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct upp_part parts[] = {{.kind = UPP_PART_REASONING, .text = UPP_STR("Let me see.")},
                                   {.kind = UPP_PART_TEXT, .text = UPP_STR("Here.")},
                                   {.kind = UPP_PART_REASONING, .text = UPP_STR("Let me see.")}};
        struct upp_message m = {
            .role = UPP_ROLE_ASSISTANT, .parts = parts, .n_parts = 3, .metadata = wb_cstr(cases[i].metadata)};
        struct upp_err err = {0};
        char first[256], second[256];
        (void)snprintf(first, sizeof first, "{\"pydantic_ai\":{%s}}", cases[i].first);
        (void)snprintf(second, sizeof second, "{\"pydantic_ai\":{%s}}", cases[i].second);
        CHECK_INT(wa_reasoning_mark(&a, wb_cstr(cases[i].provider), &m, &err), 0);
        CHECK_STR(parts[0].metadata, wb_cstr(first));
        CHECK_STR(parts[2].metadata, wb_cstr(second));
        CHECK(!parts[1].metadata.n);
    }
}

/* What Anthropic hides has no text, and its data: each such part gets its own. */
/* covers: TP-6/1 */
TEST(thread_doc_redacted_reasoning_has_its_data)
{
    static const char signed_[] = "{\"pydantic_ai\":{\"signature\":\"AAA=\",\"provider_name\":\"anthropic\"}}";
    static const char redacted[] =
        "{\"pydantic_ai\":{\"id\":\"redacted_thinking\",\"signature\":\"EmwK\",\"provider_name\":\"anthropic\"}}";
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part parts[] = {{.kind = UPP_PART_REASONING}, {.kind = UPP_PART_REASONING}};
    struct upp_message m = {
        .role = UPP_ROLE_ASSISTANT,
        .parts = parts,
        .n_parts = 2,
        .metadata = UPP_STR("{\"anthropic\":{\"raw\":[{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"AAA=\"},"
                            "{\"type\":\"redacted_thinking\",\"data\":\"EmwK\"}]}}")};
    struct upp_err err = {0};
    CHECK_INT(wa_reasoning_mark(&a, UPP_STR("anthropic"), &m, &err), 0);
    CHECK_STR(parts[0].metadata, wb_cstr(signed_));
    CHECK_STR(parts[1].metadata, wb_cstr(redacted));
}
