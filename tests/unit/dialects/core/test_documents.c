/* Every document of tests/golden/DIALECT/ (or DIALECT/documents/): written back it is what it was, token for token. */
#include "dialects/core/document.h"
#include "dialects/core/lift.h"
#include "json/read.h"
#include "support/documents.h"
#include "support/test.h"

static bool comes_back(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    (void)arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
    struct upp_err err = {0};
    if (test_compact(text, &was, &err) < 0 || test_convert(text, NULL, ops, &is, NULL, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_same_text(&is, &was, "written back");
}

/* covers: TP-12, UAP-7.4, UAP-13.6a/2, TP-6/1, TP-7/2, TP-8/2, TP-22/3, AITP-11/2, AITP-12/1, ENV-1/2, UPP-5/3 */
/* covers: AAP-18/2 */
TEST(documents_come_back_token_for_token)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(test_each_document(ops, comes_back, NULL));
}

/* Through every dialect that carries what it does not understand, and back. */
static bool comes_back_through(const struct wd_document_ops *ops, struct upp_str text, void *arg)
{
    (void)arg;
    const struct wd_document_ops *other;
    for (size_t i = 0; (other = wd_document_at(i)); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(64 << 20), there = WB_BUF(64 << 20), is = WB_BUF(64 << 20);
        struct upp_err err = {0};
        if (other == ops || !other->carries)
            continue;
        test_note("through %s", other->name);
        if (test_compact(text, &was, &err) < 0 || test_convert(text, ops, other, &there, NULL, &err) < 0 ||
            test_convert(wb_buf_str(&there), other, ops, &is, NULL, &err) < 0) {
            test_note("%s: %s", err.where, err.msg);
            return EXPECT(!"it can be read and written");
        }
        if (!test_same_text(&is, &was, "there and back"))
            return false;
    }
    return true;
}

/* covers: TP-32 */
TEST(documents_come_back_through_a_dialect_that_carries)
{
    const struct wd_document_ops *ops;
    for (size_t i = 0; (ops = wd_document_at(i)); i++)
        CHECK(test_each_document(ops, comes_back_through, NULL));
}

/* Deeper than a value that stands alone may be, and not deeper than a document: from one dialect to another. */
TEST(documents_pass_on_metadata_that_is_deep)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf deep = WB_BUF(1 << 10), text = WB_BUF(1 << 20), out = WB_BUF(1 << 20);
    struct upp_err err;
    wb_buf_add(&deep, UPP_STR("\"provider_details\":{\"d\":"));
    for (int i = 0; i < 300; i++)
        wb_buf_addc(&deep, i < 150 ? '[' : ']');
    wb_buf_addc(&deep, '}');
    wb_buf_add(&text,
               UPP_STR("{\"version\":\"2.0.0\",\"turns\":[{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"messages\":[{"
                       "\"message_type\":\"response\",\"agent_id\":\"a\",\"parts\":[{\"part_kind\":\"text\","
                       "\"content\":\"x\","));
    wb_buf_add(&text, wb_buf_str(&deep));
    wb_buf_add(&text, UPP_STR("}]}]}]}"));
    CHECK(!deep.failed && !text.failed);
    CHECK(test_convert(wb_buf_str(&text), &wd_document_thread, &wd_document_pydantic, &out, NULL, &err) >= 0);
    ALWAYS(wb_str_find(wb_buf_str(&out), wb_buf_str(&deep), 0) < out.n);
}

/* Arguments that are JSON are a value, spelled as the writer spells it; what is none, or no object where one has to be,
 * is a text. */
TEST(documents_say_arguments_however_they_are_spelled)
{
    static const struct {
        const char *said, *thread, *pydantic, *ui;
    } cases[] = {
        {"{\"a\":[1.0,\"\\n\"]}", "{\"a\":[1.0,\"\\n\"]}", "{\"a\":[1.0,\"\\n\"]}", "{\"a\":[1.0,\"\\n\"]}"},
        {"{ \"a\" : \"\\u0041\" }", "{\"a\":\"A\"}", "{\"a\":\"A\"}", "{\"a\":\"A\"}"},
        {"[1]", "[1]", "\"[1]\"", "[1]"},
        {"{\"a\":", "\"{\\\"a\\\":\"", "\"{\\\"a\\\":\"", "\"{\\\"a\\\":\""},
        {"null", "null", "\"null\"", "null"},
        {"", "{}", "{}", "{}"},
    };
    const struct wd_document_ops *const to[] = {&wd_document_thread, &wd_document_pydantic, &wd_document_ui};
    static const char *const names[] = {"args", "args", "input"};
    for (size_t i = 0; i < WB_LEN(cases) * WB_LEN(to); i++) {
        const size_t k = i % WB_LEN(to);
        const char *const want[] = {cases[i / 3].thread, cases[i / 3].pydantic, cases[i / 3].ui};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 16), member = WB_BUF(1 << 16);
        WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
        struct upp_part call = {
            .kind = UPP_PART_CALL, .id = UPP_STR("c"), .name = UPP_STR("f"), .text = wb_cstr(cases[i / 3].said)};
        struct upp_err err;
        uint32_t agent;
        struct wm_doc_entry *e;
        CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("a")}, &agent, &err) >= 0);
        CHECK((e = wm_doc_entry_add(&d, &err)));
        e->agent = agent;
        e->e.message = (struct upp_message){.role = UPP_ROLE_ASSISTANT, .parts = &call, .n_parts = 1};
        CHECK(wm_doc_divide(&d, &err) >= 0);
        CHECK(wd_doc_write(&d, to[k], NULL, &out, NULL, &err) >= 0);
        wb_buf_addf(&member, "\"%s\":%s", names[k], want[k]);
        CHECK(!member.failed);
        test_note("%s in %s: %.*s", cases[i / 3].said, to[k]->name, UPP_FMT(wb_buf_str(&out)));
        ALWAYS(wb_str_find(wb_buf_str(&out), wb_buf_str(&member), 0) < out.n);
    }
}

/* Into what is left of a chunk, or through a buffer where that is not enough. */
TEST(documents_values_are_texts_of_any_length)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 16);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20), read = WB_ARENA(16 << 20);
    struct upp_err err;
    for (size_t n = 0; n < 9000; n = n * 3 / 2 + 7) {
        yyjson_val *v;
        struct upp_str ret = {0};
        wb_buf_clear(&text);
        wb_buf_add(&text, UPP_STR("[\""));
        for (size_t i = 0; i < n; i++)
            wb_buf_addc(&text, 'x');
        wb_buf_add(&text, UPP_STR("\"]"));
        CHECK(!text.failed && wj_read(&read, wb_buf_str(&text), NULL, &v, &err) >= 0);
        CHECK(wj_value_text(&a, v, &ret, &err) >= 0);
        CHECK_STR(ret, wb_buf_str(&text));
        CHECK(!ret.p[ret.n]);
    }
}

/* One agent is called what another's id is: each says its own. */
TEST(documents_agents_are_found_by_id)
{
    static const struct upp_str text = UPP_STR_INIT(
        "{\"id\":\"t\",\"messages\":["
        "{\"id\":\"1\",\"type\":\"assistant\",\"content\":[],\"metadata\":{\"weft\":{\"agent\":\"x\",\"name\":\"y\"}}},"
        "{\"id\":\"2\",\"type\":\"assistant\",\"content\":[],\"metadata\":{\"weft\":{\"agent\":\"y\"}}}]}");
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err = {0};
    CHECK(wd_document_read(&d, &wd_document_upp, text, NULL, &err) >= 0);
    CHECK_INT(d.doc.entries.n, 2);
    CHECK_STR(d.doc.agents.p[d.doc.entries.p[0].agent].id, UPP_STR("x"));
    CHECK_STR(d.doc.agents.p[d.doc.entries.p[1].agent].id, UPP_STR("y"));
}

#define TURN(model)                                                                                                    \
    "{\"version\":\"2.0.0\",\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:00Z\",\"parts\":["  \
    "{\"part_kind\":\"user-prompt\",\"content\":\"hi\"}],\"x_weft\":{\"model\":[" model "]}}]}"

/* What a thread carries of entries and parts that are not there is about nothing; what is in its place is read. */
TEST(documents_thread_carries_only_what_has_a_place)
{
    static const struct {
        const char *text;
        size_t entries, parts; /* parts: of the first entry */
    } cases[] = {
        {TURN("{\"entry\":1,\"new\":true,\"event\":{\"type\":\"t\"}}"), 2, 1},
        {TURN("{\"entry\":0,\"new\":true,\"role\":\"user\"}"), 2, 0},
        {TURN("{\"entry\":2,\"new\":true,\"role\":\"user\"}"), 1, 1},
        {TURN("{\"entry\":1,\"new\":true},{\"entry\":1,\"new\":true},{\"entry\":0,\"new\":true}"), 2, 1},
        {TURN("{\"entry\":0,\"part\":1,\"new\":true,\"kind\":\"call\",\"id\":\"c\",\"text\":\"{}\"}"), 1, 2},
        {TURN("{\"entry\":0,\"part\":2,\"new\":true,\"kind\":\"call\"},{\"entry\":1,\"part\":0,\"new\":true}"), 1, 1},
        {TURN("{\"entry\":0,\"part\":99999,\"new\":true},{\"entry\":-1,\"new\":true},{\"new\":true},7,null"), 1, 1},
        {TURN("{\"entry\":0,\"part\":0,\"kind\":\"image\",\"source\":\"bytes\",\"width\":1,\"error\":true}"), 1, 1},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20);
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK(wd_document_read(&d, &wd_document_thread, wb_cstr(cases[i].text), NULL, &err) >= 0);
        CHECK_INT(d.doc.entries.n, cases[i].entries);
        CHECK_INT(d.doc.entries.p[0].e.message.n_parts, cases[i].parts);
        CHECK(wd_document_write(&d, &wd_document_thread, NULL, &out, NULL, &err) >= 0);
        ALWAYS(test_expect_str(wb_buf_str(&out), wb_cstr(cases[i].text), __FILE__, __LINE__, "written back"));
    }
}

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

/* A message has so many parts, whoever brings them; the rows behind are about nothing, and come back. */
TEST_WITH(documents_thread_carries_a_limited_number_of_parts, .no_torture = "16,000 parts a run")
{
    enum { MORE = 5, READ = WD_PARTS - 1 }; /* one part is the turn's own */
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4 << 20), out = WB_BUF(4 << 20);
    struct upp_err err = {0};
    wb_buf_add(
        &text,
        UPP_STR("{\"version\":\"2.0.0\",\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:00Z\","
                "\"parts\":[{\"part_kind\":\"user-prompt\",\"content\":\"hi\"}],\"x_weft\":{\"model\":["));
    for (int i = 1; i <= READ + MORE; i++)
        wb_buf_addf(&text, "%s{\"entry\":0,\"part\":%d,\"new\":true,\"kind\":\"call\",\"id\":\"c\",\"text\":\"{}\"}",
                    i > 1 ? "," : "", i);
    wb_buf_add(&text, UPP_STR("]}}]}"));
    CHECK(!text.failed);
    CHECK(wd_document_read(&d, &wd_document_thread, wb_buf_str(&text), NULL, &err) >= 0);
    CHECK_INT(d.doc.entries.p[0].e.message.n_parts, WD_PARTS);
    CHECK(wd_document_write(&d, &wd_document_thread, NULL, &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), wb_buf_str(&text));
}

/* A call, `far` messages, and its result. */
static void add_far(struct wb_buf *b, unsigned far)
{
    wb_buf_add(b, UPP_STR("{\"id\":\"t\",\"messages\":[{\"id\":\"call\",\"type\":\"assistant\",\"content\":[],"
                          "\"toolCalls\":[{\"toolCallId\":\"c\",\"toolName\":\"look\",\"arguments\":{}}]}"));
    for (unsigned i = 0; i < far; i++)
        wb_buf_addf(b, ",{\"id\":\"u%u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}]}", i);
    wb_buf_add(b, UPP_STR(",{\"id\":\"result\",\"type\":\"tool_result\",\"results\":[{\"toolCallId\":\"c\","
                          "\"result\":\"seen-it\"}]}]}"));
}

/* What writes a call and its result as one looks so far for it, and no further: it says what it leaves out. */
TEST_WITH(documents_results_are_looked_for_so_far, .no_torture = "4,000 messages a run")
{
    static const struct {
        unsigned far;
        bool found;
    } cases[] = {{0, true}, {WD_RESULT_DISTANCE - 2, true}, {WD_RESULT_DISTANCE - 1, false}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64 << 20);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4 << 20), out = WB_BUF(4 << 20);
        struct upp_err err = {0};
        size_t told = 0;
        test_note("case %zu", i);
        add_far(&text, cases[i].far);
        CHECK(!text.failed);
        CHECK(wd_document_read(&d, &wd_document_upp, wb_buf_str(&text), NULL, &err) >= 0);
        CHECK(wd_document_write(&d, &wd_document_ui, NULL, &out, &losses, &err) >= 0);
        for (size_t k = 0; k < losses.list.n; k++)
            told += wb_str_eq(losses.list.p[k].what, UPP_STR("a result"));
        CHECK_INT(wb_str_find(wb_buf_str(&out), UPP_STR("seen-it"), 0) < out.n, cases[i].found);
        CHECK_INT(told, !cases[i].found);
    }
}

/* A document of each dialect, with a place for a text. */
static const struct {
    const struct wd_document_ops *ops;
    enum wd_severity half; /* of a surrogate pair */
    const char *rule, *pointer, *document;
} texts[] = {
    {&wd_document_thread, WD_WARNING, "TP-1", "/turns/0/parts/0/content",
     "{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\""
     "2026-01-01T00:00:00Z\",\"agents\":{},\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-0"
     "1T00:00:00Z\",\"parts\":[{\"part_kind\":\"user-prompt\",\"content\":\"%s\"}]}]}"},
    {&wd_document_pydantic, WD_ERROR, "PAI-1.0", "/0/parts/0/content",
     "[{\"parts\":[{\"content\":\"%s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"part_kind\":\"user-prompt"
     "\"}],\"kind\":\"request\"}]"},
    {&wd_document_ui, WD_WARNING, "UI-4.1.1", "/0/parts/0/text",
     "[{\"id\":\"m\",\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"text\":\"%s\"}]}]"},
    {&wd_document_agentapi, WD_WARNING, "AAP-6", "/0/content/0/text",
     "[{\"id\":\"msg_1\",\"object\":\"message\",\"status\":\"completed\",\"type\":\"message\",\"role\":\"u"
     "ser\",\"content\":[{\"object\":\"content\",\"type\":\"text\",\"text\":\"%s\"}]}]"},
    {&wd_document_aitp, WD_ERROR, "AITP-2", "/messages/0/content/0",
     "{\"id\":\"t\",\"metadata\":{\"actors\":[{\"id\":\"a\",\"capabilities\":[]}]},\"messages\":[{\"thread"
     "_id\":\"t\",\"created_at\":1767225600,\"role\":\"user\",\"content\":[\"%s\"],\"attachments\":[],\"me"
     "tadata\":{\"actor\":\"a\"}}]}"},
    {&wd_document_assistants, WD_WARNING, "OA-1", "/0/content/0/text/value",
     "[{\"id\":\"m\",\"object\":\"thread.message\",\"created_at\":1767225600,\"thread_id\":\"t\",\"status"
     "\":\"completed\",\"incomplete_details\":null,\"completed_at\":null,\"incomplete_at\":null,\"role\":"
     "\"user\",\"content\":[{\"type\":\"text\",\"text\":{\"value\":\"%s\",\"annotations\":[]}}],\"assistan"
     "t_id\":null,\"run_id\":null,\"attachments\":[],\"metadata\":{}}]"},
    {&wd_document_envelope, WD_WARNING, "ENV-1.1", "/0/content/text",
     "[{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent"
     "\":\"execute\",\"task\":\"x\",\"content\":{\"type\":\"text\",\"text\":\"%s\"},\"trace\":{\"id\":\"u1"
     "\"}}]"},
    {&wd_document_upp, WD_WARNING, "UPP-5", "/messages/0/content/0/text",
     "{\"id\":\"t\",\"messages\":[{\"id\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\""
     ":\"%s\"}],\"timestamp\":\"2026-01-01T00:00:00.000Z\"}],\"createdAt\":\"2026-01-01T00:00:00Z\",\"upda"
     "tedAt\":\"2026-01-01T00:00:00Z\"}"},
    {&wd_document_uap, WD_WARNING, "UAP-13.1", "/threadTree/nodes/0/thread/messages/0/content/0/text",
     "{\"version\":\"1.0.0\",\"id\":\"s\",\"agentId\":\"agent\",\"createdAt\":\"2026-01-01T00:00:00Z\",\"u"
     "pdatedAt\":\"2026-01-01T00:00:00Z\",\"threadTree\":{\"rootId\":\"node-0\",\"currentId\":\"node-0\","
     "\"nodes\":[{\"id\":\"node-0\",\"parentId\":null,\"thread\":{\"id\":\"thread-0\",\"messages\":[{\"id"
     "\":\"u\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}],\"timestamp\":\"2026-01"
     "-01T00:00:00.000Z\"}],\"createdAt\":\"2026-01-01T00:00:00Z\",\"updatedAt\":\"2026-01-01T00:00:00Z\"}"
     ",\"children\":[],\"metadata\":{}}]},\"checkpoints\":[],\"metadata\":{}}"},
};

/* Half of a surrogate pair is told in every dialect; a whole one is a text as any. */
TEST(documents_with_half_of_a_surrogate_pair_are_told)
{
    CHECK(!wd_document_at(WB_LEN(texts)));
    for (size_t i = 0; i < 2 * WB_LEN(texts); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 16);
        WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
        const struct wd_document_ops *ops = texts[i / 2].ops;
        struct upp_str all = wb_cstr(texts[i / 2].document);
        size_t at = wb_str_find(all, UPP_STR("%s"), 0);
        struct upp_err err = {0};
        wb_buf_add(&text, wb_str_sub(all, 0, at));
        wb_buf_add(&text, i % 2 ? UPP_STR("\\ud83d\\ude00") : UPP_STR("\\ud800"));
        wb_buf_add(&text, wb_str_sub(all, at + 2, SIZE_MAX));
        test_note("%s: %.*s", ops->name, UPP_FMT(wb_buf_str(&text)));
        CHECK(!text.failed && wd_document_validate(ops, wb_buf_str(&text), &a, &p, &ops, &err) >= 0);
        CHECK_INT(p.errors + p.warnings, i % 2 ? 0 : 1);
        if (i % 2)
            continue;
        CHECK(p.list.n == 1 && p.list.p[0].severity == texts[i / 2].half);
        CHECK_STR(wb_cstr(p.list.p[0].rule), wb_cstr(texts[i / 2].rule));
        CHECK_STR(p.list.p[0].pointer, wb_cstr(texts[i / 2].pointer));
        CHECK_STR(p.list.p[0].sentence, UPP_STR("a text with half of a surrogate pair"));
    }
}

/* Nothing of these lists is looked at when they are full. */
TEST_WITH(documents_lists_have_limits, .no_torture = "65,000 agents a run")
{
    struct wm_doc d = {0};
    struct upp_err err = {0};
    d.entries.n = d.turns.n = WM_DOC_ENTRIES;
    CHECK(!wm_doc_entry_add(&d, &err) && err.code == UPP_ELIMIT);
    CHECK(!wm_doc_turn_add(&d, &err) && err.code == UPP_ELIMIT);
    CHECK(d.entries.n == WM_DOC_ENTRIES && d.turns.n == WM_DOC_ENTRIES);
    for (uint32_t i = 0, at; i < WM_DOC_AGENTS; i++)
        CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){0}, &at, &err) >= 0);
    CHECK_INT(wm_doc_agent_add(&d, &(struct wm_doc_agent){0}, &(uint32_t){0}, &err), -UPP_ELIMIT);
    d.entries.n = d.turns.n = 0;
    wm_doc_done(&d);
}
