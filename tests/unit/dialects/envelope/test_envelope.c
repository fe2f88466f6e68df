/* Envelopes: what they become, what the model becomes in them, what is refused, and what is made from their table. */
#include <stdlib.h>

#include "base/utf8.h"
#include "dialects/core/lift.h"
#include "dialects/core/convert.h"
#include "dialects/envelope/envelope.h"
#include "json/read.h"
#include "json/value.h"
#include "support/documents.h"
#include "support/envelope_schema.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

static int compact(struct upp_str json, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val *v;
    int r = wj_read(&a, json, NULL, &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

/* ---- What is kept ---------------------------------------------------------------------------------------- */

/* All that a document of the model says, with whose it was: a line for each part and event. */
static int told(const struct wm_doc *doc, struct wb_buf *out, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < doc->entries.n; i++) {
        const struct wm_doc_entry *e = &doc->entries.p[i];
        const struct upp_message *m = &e->e.message;
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("user") : doc->agents.p[e->agent].id;
        wb_buf_addf(out, "%.*s %u:\n", UPP_FMT(who), m->role);
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(out, "  event %.*s\n", UPP_FMT(e->e.data));
        for (size_t k = 0; r >= 0 && k < m->n_parts; k++) {
            const struct upp_part *p = &m->parts[k];
            wb_buf_addf(out, "  %u%u%u %.*s %.*s %.*s ", p->kind, p->is_error, p->cut, UPP_FMT(p->id), UPP_FMT(p->name),
                        UPP_FMT(p->metadata));
            if (p->media)
                wb_buf_addf(out, "%u %.*s %.*s %.*s %.*s", p->media->source, UPP_FMT(p->media->data),
                            UPP_FMT(p->media->mime), UPP_FMT(p->media->title), UPP_FMT(p->media->width));
            if (p->kind != UPP_PART_CALL || compact(p->text, out, NULL) < 0)
                wb_buf_add(out, p->text);
            wb_buf_add(out, UPP_STR("\n"));
        }
    }
    return r < 0 ? r : wb_buf_check(out, err);
}

static int told_of(struct upp_str text, const struct wd_document_ops *ops, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .forget = true), err);
    return r < 0 ? r : told(&d.doc, out, err);
}

static bool keeps(const struct wd_document_ops *ops, const char *path)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), there = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err err = {0};
    test_note("%s", path);
    if (!text || told_of(wb_str(text, n), ops, &was, &err) < 0 ||
        test_convert(wb_str(text, n), ops, &wd_document_envelope, &there, NULL, &err) < 0 ||
        told_of(wb_buf_str(&there), NULL, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

TEST(dialect_envelope_keeps_what_others_say)
{
    CHECK(keeps(&wd_document_thread, "golden/thread/weather.json"));
    CHECK(keeps(&wd_document_thread, "golden/thread/enrichment.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-1.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-2.json"));
}

/* What the model alone says of it is all there is: nothing had to be kept beside. */
/* covers: ENV-1/2 */
TEST(dialect_envelope_writes_what_it_reads)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/envelope/made.json", &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), is = WB_BUF(ROOM);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(text && compact(wb_str(text, n), &was, &err) == 0);
    CHECK(wd_document_read(&d, NULL, wb_str(text, n), UPP_OPTS(wd_convert_opts, .forget = true), &err) == 0);
    CHECK(wd_document_write(&d, &wd_document_envelope, NULL, &is, NULL, &err) == 0);
    CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    CHECK(d.doc.entries.n == 5 && d.doc.entries.p[1].e.message.n_parts == 3);
}

/* ---- Documents of the model ------------------------------------------------------------------------------ */

static unsigned pick(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % n);
}

static const struct upp_media some_media[] = {
    {UPP_SOURCE_BASE64, UPP_STR_INIT("AAAA"), UPP_STR_INIT("image/png"), UPP_STR_INIT("p.png"), {0}, {0}, {0}},
    {UPP_SOURCE_BASE64, UPP_STR_INIT(""), UPP_STR_INIT("a/b"), {0}, {0}, {0}, {0}},
    {UPP_SOURCE_URL, UPP_STR_INIT("https://example.org/;base64,x"), UPP_STR_INIT("video/x"), {0}, {0}, {0}, {0}},
};
#define T(s) UPP_STR_INIT(s)
static const struct upp_part some_parts[] = {
    {.kind = UPP_PART_TEXT, .text = T("a text")},
    {.kind = UPP_PART_TEXT, .text = T("")},
    {.kind = UPP_PART_TEXT, .text = T("{\"a\":1}"), .metadata = T("{\"envelope\":{\"type\":\"json\"}}")},
    {.kind = UPP_PART_TEXT, .text = T("x = 1"), .metadata = T("{\"envelope\":{\"type\":\"code\"}}")},
    {.kind = UPP_PART_TEXT, .text = T("e"), .metadata = T("{\"envelope\":{\"type\":\"error\",\"data\":[1]}}")},
    {.kind = UPP_PART_TEXT, .text = T("m"), .metadata = T("{\"p\":{\"q\":null}}"), .cut = true},
    {.kind = UPP_PART_IMAGE, .media = &some_media[0]},
    {.kind = UPP_PART_DOCUMENT, .media = &some_media[1], .metadata = T("{\"p\":{}}")},
    {.kind = UPP_PART_VIDEO, .media = &some_media[2]},
    {.kind = UPP_PART_REASONING, .text = T("hm"), .cut = true},
    {.kind = UPP_PART_REASONING, .text = T("hm"), .metadata = T("{\"p\":{\"s\":\"t\"}}")},
    {.kind = UPP_PART_CALL, .id = T("1"), .name = T("f"), .text = T("{\"a\":[1]}")},
    {.kind = UPP_PART_CALL, .id = T("2"), .name = T("g"), .text = T("{\"a\":["), .cut = true},
    {.kind = UPP_PART_CALL, .id = T("3"), .name = T("h"), .text = T("\"s\"")},
    {.kind = UPP_PART_RESULT, .id = T("1"), .name = T("f"), .text = T("{\"b\":2}")},
    {.kind = UPP_PART_RESULT, .id = T("2"), .name = T("g"), .text = T("\"no\""), .is_error = true},
    {.kind = UPP_PART_RESULT, .id = T("3"), .text = T("[1,2]"), .is_error = true, .metadata = T("{\"p\":{}}")},
};
enum { THOUGHTS = 9, RESULTS = 14 }; /* where those begin that the user, and an agent, does not say */
static const char *const some_events[] = {
    "{\"type\":\"agent.handoff\",\"data\":{\"from\":\"a\",\"to\":\"b\"},\"source\":\"a\",\"targets\":[\"b\",\"c\"]}",
    "{\"type\":\"x\",\"data\":5}",
    "{\"type\":\"\",\"data\":null}",
    "{\"type\":\"envelope.reflect\",\"data\":{\"task\":\"t\",\"content\":{\"type\":\"text\",\"text\":\"y\"}}}",
    "{\"type\":\"envelope.reflect\",\"data\":{\"task\":\"\"}}",
};

static bool invent_entry(struct wm_doc *doc, struct wb_arena *a, uint64_t *seed, struct upp_err *err)
{
    static const uint8_t roles[] = {UPP_ROLE_USER, UPP_ROLE_USER, UPP_ROLE_ASSISTANT, UPP_ROLE_ASSISTANT,
                                    UPP_ROLE_TOOL};
    struct wm_doc_entry *e = wm_doc_entry_add(doc, err);
    if (!e)
        return false;
    unsigned role = pick(seed, WB_LEN(roles) + 1);
    e->e.message.time_ms = 1000 * (int64_t)pick(seed, 1000000);
    e->agent = role < 2 && pick(seed, 4) ? WM_NO_AGENT : pick(seed, 3);
    static const char *ids[] = {"x", "y", "z", "x.1"};
    if (pick(seed, 3))
        e->id = wb_cstr(ids[pick(seed, WB_LEN(ids))]);
    if (role == WB_LEN(roles)) {
        e->e.kind = WM_ENTRY_EVENT;
        e->e.data = wb_cstr(some_events[pick(seed, WB_LEN(some_events))]);
        return true;
    }
    struct upp_message *m = &e->e.message;
    m->role = roles[role];
    m->n_parts = pick(seed, 5) + (m->role != UPP_ROLE_ASSISTANT);
    m->parts = wb_new_n(a, struct upp_part, 6);
    for (size_t i = 0; m->parts && i < m->n_parts; i++)
        m->parts[i] = some_parts[m->role == UPP_ROLE_USER        ? pick(seed, THOUGHTS)
                                 : m->role == UPP_ROLE_ASSISTANT ? pick(seed, RESULTS)
                                                                 : RESULTS + pick(seed, WB_LEN(some_parts) - RESULTS)];
    return m->parts;
}

/* Beside data there is a text. */
static void check_summaries(struct upp_str text)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val *v, *one, *content;
    size_t i, n;
    struct upp_err err;
    CHECK(wj_read(&a, text, NULL, &v, &err) == 0);
    yyjson_arr_foreach(v, i, n, one)
    {
        content = yyjson_obj_get(one, "content");
        CHECK(yyjson_is_str(yyjson_obj_get(content, "text")));
        CHECK(yyjson_obj_get(content, "data") || wb_str_eq(wj_text(yyjson_obj_get(content, "type")), UPP_STR("text")) ||
              wb_str_eq(wj_text(yyjson_obj_get(content, "type")), UPP_STR("error")));
    }
}

static int problems_of(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    int r = wd_document_validate(&wd_document_envelope, text, &a, &p, &ops, err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* covers: ENV-16, ENV-11/1 */
TEST_WITH(dialect_envelope_keeps_the_model, .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t i = 1; i <= 1000; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), is = WB_BUF(ROOM), out = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf problems = WB_BUF(ROOM);
        struct upp_err err;
        uint64_t seed = i;
        uint32_t ignored;
        /* The name of one is the id of another. */
        static const struct wm_doc_agent agents[] = {{.id = T("a"), .name = T("b")},
                                                     {.id = T("b"), .name = T("c"), .model = T("m")},
                                                     {.id = T("c"), .name = T("")}};
        test_note("seed %u", (unsigned)i);
        for (size_t k = 0; k < WB_LEN(agents); k++)
            CHECK(wm_doc_agent_add(&doc, &agents[k], &ignored, &err) == 0);
        for (unsigned k = pick(&seed, 8) + 1; k; k--)
            CHECK(invent_entry(&doc, &a, &seed, &err));
        CHECK(wm_doc_divide(&doc, &err) == 0);
        CHECK(told(&doc, &was, &err) == 0);
        CHECK(wd_doc_write(&doc, &wd_document_envelope, NULL, &out, NULL, &err) == 0);
        CHECK(told_of(wb_buf_str(&out), &wd_document_envelope, &is, &err) == 0);
        test_note("%.*s", UPP_FMT(wb_buf_str(&out)));
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
        CHECK(problems_of(wb_buf_str(&out), &problems, &err) == 0);
        CHECK_STR(wb_buf_str(&problems), UPP_STR(""));
        check_summaries(wb_buf_str(&out));
    }
}

/* ---- Through a thread ------------------------------------------------------------------------------------ */

static const char *const some_envelopes[] = {
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"intent\":\"plan\","
    "\"task\":\"t\",\"content\":{\"type\":\"text\",\"text\":\"x\"}}",
    "{\"role\":\"user\",\"agent\":{\"id\":\"a\"},\"content\":{\"type\":\"json\",\"data\":{\"a\":[1]}},\"weft\":{"
    "\"agent\":"
    "\"a\"}}",
    "{\"role\":\"agent\",\"agent\":{\"id\":\"a\",\"name\":\"b\",\"model\":\"m\"},\"content\":{\"type\":\"text\","
    "\"text\":"
    "\"said\"},\"trace\":{\"id\":\"1\",\"cost\":{\"input_tokens\":1}}}",
    "{\"role\":\"agent\",\"agent\":{\"id\":\"b\",\"model\":\"n/"
    "a\"},\"content\":{\"type\":\"json\",\"text\":\"s\",\"data\":"
    "{\"b\":2}},\"confidence\":{\"score\":0.5},\"trace\":{\"parents\":[\"1\"],\"id\":\"2\"}}",
    "{\"role\":\"agent\",\"content\":{\"type\":\"code\",\"text\":\"x=1\"},\"weft\":{\"of\":\"1\",\"kind\":"
    "\"reasoning\"}}",
    "{\"role\":\"agent\",\"agent\":{\"id\":\"a\"},\"content\":{\"type\":\"error\",\"text\":\"e\",\"data\":5},\"weft\":{"
    "\"of\":"
    "\"2\",\"cut\":true}}",
    "{\"role\":\"agent\",\"agent\":{\"id\":\"a\"},\"intent\":\"tool.call\",\"content\":{\"type\":\"json\",\"data\":{"
    "\"id\":"
    "\"c\",\"name\":\"f\",\"arguments\":{}}},\"trace\":{\"id\":\"3\"}}",
    "{\"role\":\"tool\",\"agent\":{\"id\":\"a\"},\"content\":{\"type\":\"tool_result\",\"data\":{\"ok\":true}},"
    "\"trace\":{"
    "\"parents\":[\"3\"]}}",
    "{\"role\":\"tool\",\"content\":{\"type\":\"error\",\"text\":\"no\"},\"outputs\":{\"artifacts\":[]}}",
    "{\"role\":\"system\",\"agent\":{\"id\":\"o\",\"name\":\"O\"},\"intent\":\"reflect\",\"task\":\"t\",\"content\":{"
    "\"type\":"
    "\"json\",\"data\":{}}}",
    "{\"role\":\"system\",\"content\":{\"data\":1},\"weft\":{\"event\":\"e\",\"targets\":[\"a\"]}}",
    "{\"role\":\"agent\",\"agent\":{\"id\":\"a\"},\"content\":{\"type\":\"text\",\"text\":\"p\"},\"outputs\":{"
    "\"artifacts\":[{"
    "\"kind\":\"k\",\"name\":\"n\",\"uri\":\"data:image/"
    "png;base64,AAAA\"}]},\"weft\":{\"kind\":\"medium\",\"mime\":\"image/png\"}}",
    "7",
    "{\"role\":\"nobody\"}",
};

/* covers: ENV-11/2 */
TEST_WITH(dialect_envelope_comes_back_through_a_thread,
          .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t i = 1; i <= 500; i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), own = WB_BUF(ROOM), thread = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf back = WB_BUF(ROOM);
        struct upp_err err;
        uint64_t seed = i;
        wb_buf_add(&was, UPP_STR("["));
        for (unsigned k = pick(&seed, 6) + 1, first = k; k; k--)
            wb_buf_addf(&was, "%s%s", k == first ? "" : ",", some_envelopes[pick(&seed, WB_LEN(some_envelopes))]);
        wb_buf_add(&was, UPP_STR("]"));
        test_note("%.*s", UPP_FMT(wb_buf_str(&was)));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_envelope, &wd_document_envelope, &own, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&own), wb_buf_str(&was));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_envelope, &wd_document_thread, &thread, NULL, &err) == 0);
        CHECK(test_convert(wb_buf_str(&thread), NULL, &wd_document_envelope, &back, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&back), wb_buf_str(&was));
    }
}

/* ---- What they become ------------------------------------------------------------------------------------ */

static int read_golden(struct wd_document *d, const char *path, struct upp_err *err)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    return text ? wd_document_read(d, NULL, wb_str(text, n), NULL, err) : -UPP_ENOTFOUND;
}

/* What we wrote of an agent without a model, one message of which a model said, is read as what it was. */
TEST(dialect_envelope_knows_no_model_of_its_agent)
{
    static const char envelopes[] =
        "[{\"protocol\":\"multiagent-1.0\",\"role\":\"agent\",\"agent\":{\"id\":\"a\",\"name\":\"A\",\"model\":\"m-1\"}"
        ","
        "\"timestamp\":\"2026-01-01T00:00:00Z\",\"intent\":\"analyze\",\"task\":\"Hello.\",\"content\":{\"type\":"
        "\"text\","
        "\"text\":\"Hello.\"},\"trace\":{\"id\":\"1\"}},"
        "{\"protocol\":\"multiagent-1.0\",\"role\":\"agent\",\"agent\":{\"id\":\"a\",\"name\":\"A\",\"model\":\"n/a\"},"
        "\"timestamp\":\"2026-01-01T00:00:00Z\",\"intent\":\"analyze\",\"task\":\"Hello.\",\"content\":{\"type\":"
        "\"text\","
        "\"text\":\"Hello.\"},\"trace\":{\"parents\":[\"1\"],\"id\":\"2\"}}]";
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(wd_document_read(&d, NULL, wb_cstr(envelopes), NULL, &err) == 0);
    CHECK(d.doc.agents.n == 1 && !d.doc.agents.p[0].model.p);
    CHECK(d.doc.entries.n == 2 && !d.doc.entries.p[0].residue && !d.doc.entries.p[1].residue);
    CHECK_STR(d.doc.entries.p[0].said.model, UPP_STR("m-1"));
    CHECK(!d.doc.entries.p[1].said.model.p);
}

/* covers: ENV-11/1 */
TEST(dialect_envelope_is_a_message_of_its_agent)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(read_golden(&d, "golden/envelope/exchange.json", &err) == 0);
    const struct wm_doc_entry *e = d.doc.entries.p;
    CHECK(d.doc.entries.n == 12);
    CHECK(e[0].e.kind == WM_ENTRY_EVENT && wb_str_eq(d.doc.agents.p[e[0].agent].id, UPP_STR("orchestrator")));
    CHECK(e[1].agent == WM_NO_AGENT && e[1].e.message.role == UPP_ROLE_USER && wb_str_eq(e[1].id, UPP_STR("msg_001")));
    CHECK(wb_str_eq(d.doc.agents.p[e[2].agent].name, UPP_STR("Planner")));
    CHECK(wb_str_eq(e[2].said.model, UPP_STR("gpt-5")) && e[2].said.has_usage && e[2].said.usage.input == 1234 &&
          e[2].said.usage.output == 456);
    CHECK_STR(e[3].e.message.parts[0].text, UPP_STR("{\"tasks\":[{\"id\":\"t1\"},{\"id\":\"t2\",\"n\":1.50e1}]}"));
    CHECK(e[4].e.message.parts[0].kind == UPP_PART_CALL && wb_str_eq(e[4].e.message.parts[0].id, UPP_STR("call_1")));
    CHECK_STR(e[4].e.message.parts[0].text, UPP_STR("{\"path\":\"urls.csv\"}"));
    /* The result of the call that is its parent. */
    CHECK(e[5].e.message.role == UPP_ROLE_TOOL && wb_str_eq(e[5].e.message.parts[0].id, UPP_STR("call_1")));
    CHECK(!e[5].e.message.parts[0].is_error);
    /* A result of no call that is here is what its agent says. */
    CHECK(e[6].e.message.role == UPP_ROLE_ASSISTANT && e[6].e.message.parts[0].kind == UPP_PART_TEXT);
    CHECK_STR(e[6].e.message.parts[0].text, UPP_STR("no route to host"));
    CHECK_STR(e[6].e.message.parts[0].metadata,
              UPP_STR("{\"envelope\":{\"type\":\"error\",\"data\":{\"code\":\"unreachable\",\"retryable\":true}}}"));
    CHECK_STR(e[7].e.message.parts[0].text, UPP_STR("for url in urls:\n    fetch(url)"));
    CHECK(e[10].agent == WM_NO_AGENT && e[11].agent == WM_NO_AGENT);
}

/* An edit of the model is seen: what stood for what was there before gives way, the rest stays. */
TEST(dialect_envelope_after_an_edit)
{
    static const struct {
        const char *was, *now, *is;
    } edits[] = {
        {"{\"type\":\"text\",\"text\":\"x\"}", "y", "{\"type\":\"text\",\"text\":\"y\"}"},
        {"{\"type\":\"json\",\"data\":{\"a\":1}}", "{\"b\":2}",
         "{\"type\":\"json\",\"data\":{\"b\":2},\"text\":\"object: b\"}"},
        {"{\"type\":\"json\",\"data\":{\"a\":1}}", "words", "{\"type\":\"text\",\"text\":\"words\"}"},
        {"{\"type\":\"code\",\"text\":\"s\",\"data\":\"x=1\"}", "x=2",
         "{\"type\":\"code\",\"text\":\"x=2\",\"data\":\"x=2\"}"},
        {"{\"type\":\"error\",\"text\":\"e\",\"data\":{\"code\":1}}", "f",
         "{\"type\":\"error\",\"text\":\"f\",\"data\":{\"code\":1}}"},
    };
    for (size_t i = 0; i < WB_LEN(edits); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM), want = WB_BUF(ROOM);
        struct upp_err err;
        wb_buf_addf(&text, "{\"role\":\"agent\",\"intent\":\"plan\",\"content\":%s,\"x\":1}", edits[i].was);
        test_note("%s", edits[i].was);
        CHECK(wd_document_read(&d, &wd_document_envelope, wb_buf_str(&text), NULL, &err) == 0);
        d.doc.entries.p[0].e.message.parts[0].text = wb_cstr(edits[i].now);
        CHECK(wd_document_write(&d, &wd_document_envelope, NULL, &out, NULL, &err) == 0);
        wb_buf_addf(&want, "{\"role\":\"agent\",\"intent\":\"plan\",\"content\":%s,\"x\":1", edits[i].is);
        test_note("%.*s", UPP_FMT(wb_buf_str(&out)));
        CHECK(want.n && wb_str_starts(wb_buf_str(&out), wb_buf_str(&want)));
    }
}

/* A task is the text's first 160 UTF-16 units, and no half of a character. */
TEST(dialect_envelope_cuts_a_task)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err;
    yyjson_val *v;
    wb_buf_add(&text, UPP_STR("[{\"parts\":[{\"content\":\"x"));
    for (int i = 0; i < 100; i++)
        wb_buf_add(&text, UPP_STR("\xf0\x9f\x98\x80"));
    wb_buf_add(&text, UPP_STR("\",\"part_kind\":\"user-prompt\"}],\"kind\":\"request\"}]"));
    CHECK(test_convert(wb_buf_str(&text), &wd_document_pydantic, &wd_document_envelope, &out, NULL, &err) == 0);
    CHECK(wj_read(&a, wb_buf_str(&out), NULL, &v, &err) == 0);
    v = yyjson_obj_get(yyjson_arr_get_first(v), "task");
    CHECK(v && wb_utf16_count(wj_text(v)) == 159 && wb_utf8_valid(wj_text(v), NULL));
}

/* What a call and its result say, as envelopes. */
static int written(const char *arguments, const char *result, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    struct upp_part parts[] = {
        {.kind = UPP_PART_CALL, .id = T("c"), .name = T("f"), .text = wb_cstr(arguments)},
        {.kind = UPP_PART_RESULT, .id = T("c"), .name = T("f"), .text = wb_cstr(result)},
    };
    uint32_t agent;
    int r = wm_doc_agent_add(&doc, &(struct wm_doc_agent){.id = T("a"), .name = T("a")}, &agent, err);
    for (size_t i = 0; r >= 0 && i < WB_LEN(parts); i++) {
        struct wm_doc_entry *e = wm_doc_entry_add(&doc, err);
        if (!e)
            return -err->code;
        e->agent = agent;
        e->e.message.role = i ? UPP_ROLE_TOOL : UPP_ROLE_ASSISTANT;
        e->e.message.parts = &parts[i];
        e->e.message.n_parts = 1;
    }
    if (r >= 0)
        r = wm_doc_divide(&doc, err);
    return r < 0 ? r : wd_doc_write(&doc, &wd_document_envelope, NULL, out, NULL, err);
}

/* Names of an object are said until there are enough of them, however long each one is. */
TEST(dialect_envelope_cuts_the_names_of_an_object)
{
    for (int spelled = 0; spelled < 2; spelled++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf result = WB_BUF(ROOM), out = WB_BUF(ROOM), want = WB_BUF(ROOM);
        struct upp_err err = {0};
        for (int i = 0; i < 8; i++) {
            wb_buf_add(&result, i ? UPP_STR(",\"") : UPP_STR("{\""));
            for (int k = 0; k < WD_ENVELOPE_TASK + 40; k++)
                wb_buf_add(&result, UPP_STR("\xe2\x82\xac"));
            wb_buf_addf(&result, "\":%s%d", spelled ? " " : "", i);
        }
        wb_buf_addc(&result, '}');
        wb_buf_addc(&result, 0);
        wb_buf_add(&want, UPP_STR("\"text\":\"object: "));
        for (size_t k = strlen("object: "); k < WD_ENVELOPE_TASK; k++)
            wb_buf_add(&want, UPP_STR("\xe2\x82\xac"));
        wb_buf_addc(&want, '"');
        CHECK(!result.failed && !want.failed && written("{}", result.p, &out, &err) >= 0);
        CHECK(wb_str_find(wb_buf_str(&out), wb_buf_str(&want), 0) != SIZE_MAX);
    }
}

/* JSON that the writer would write so is put as it is, and any other is read: both say the same. */
TEST(dialect_envelope_says_json_however_it_is_spelled)
{
    static const struct {
        const char *compact, *otherwise, *text; /* text: its summary, as JSON has it */
    } cases[] = {
        {"{}", "{ }", "object"},
        {"{\"a\":1,\"b\":{\"c\":[2]},\"d\":\"}\"}", "{\"a\": 1, \"b\": {\"c\": [2]}, \"\\u0064\": \"}\"}",
         "object: a, b, d"},
        {"{\"a \\\" b\":1}", " {\"a \\\" b\":1}", "object: a \\\" b"},
        {"[]", "[ ]", "list of 0"},
        {"[1,[2,3],\"4,5\"]", "[1,[2,3],\"4,5\" ]", "list of 3"},
        {"\"plain\"", " \"plain\"", "plain"},
        {"\"a\\n\\\"b\\\"\"", " \"a\\n\\\"b\\\"\"", "a\\n\\\"b\\\""},
        {"null", " null", "null"},
        {"-1.50", "-1.50 ", "-1.50"},
        {"{\"\xc3\xa4\":\"\xed\x95\x9c\"}", "{\"\\u00e4\":\"\\ud55c\"}", "object: \xc3\xa4"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf is = WB_BUF(ROOM), was = WB_BUF(ROOM), text = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", cases[i].compact);
        wb_buf_addf(&text, "\"text\":\"%s\",\"data\":%s", cases[i].text, cases[i].compact);
        bool object = cases[i].compact[0] == '{';
        CHECK(written(object ? cases[i].compact : "{}", cases[i].compact, &is, &err) == 0);
        CHECK(written(object ? cases[i].otherwise : "{}", cases[i].otherwise, &was, &err) == 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
        CHECK(wb_str_find(wb_buf_str(&is), wb_buf_str(&text), 0) != SIZE_MAX);
    }
}

/* A summary of names has an end, however many and long they are. */
TEST(dialect_envelope_names_as_many_as_fit)
{
    for (int blank = 0; blank < 2; blank++)
        for (int long_ones = 0; long_ones < 2; long_ones++) {
            WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
            WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(ROOM), out = WB_BUF(ROOM);
            struct upp_err err;
            yyjson_val *v;
            wb_buf_add(&json, blank ? UPP_STR("{ ") : UPP_STR("{"));
            for (int i = 0; i < 400; i++) {
                wb_buf_addf(&json, "%s\"%d", i ? "," : "", i);
                for (int k = 0; long_ones && k < 200; k++)
                    wb_buf_add(&json, UPP_STR("\xe2\x82\xac"));
                wb_buf_add(&json, UPP_STR("\":0"));
            }
            wb_buf_addc(&json, '}');
            wb_buf_addc(&json, 0);
            CHECK(wb_buf_check(&json, &err) == 0);
            CHECK(written("{}", json.p, &out, &err) == 0);
            CHECK(wj_read(&a, wb_buf_str(&out), NULL, &v, &err) == 0);
            v = yyjson_obj_get(yyjson_obj_get(yyjson_arr_get_last(v), "content"), "text");
            CHECK(v && wb_utf16_count(wj_text(v)) == WD_ENVELOPE_TASK);
            CHECK(
                wb_str_starts(wj_text(v), long_ones ? UPP_STR("object: 0\xe2\x82\xac") : UPP_STR("object: 0, 1, 2, ")));
        }
}

TEST(dialect_envelope_refuses_what_is_none)
{
    static const char *const none[] = {"7", "{}", "{\"role\":\"agent\"}", "{\"role\":\"x\",\"content\":{}}"};
    for (size_t i = 0; i < WB_LEN(none); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};
        CHECK(wd_document_read(&d, &wd_document_envelope, wb_cstr(none[i]), NULL, &err) == -UPP_EINVALID);
        CHECK(err.msg[0]);
    }
}

/* A message of more parts than a message may have. */
TEST_WITH(dialect_envelope_limits, .no_torture = "large")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err = {0};
    wb_buf_add(&text, UPP_STR("["));
    for (int i = 0; i <= 1 << 14; i++)
        wb_buf_addf(&text, "%s{\"role\":\"user\",\"content\":{},\"trace\":{\"id\":\"%d\"},\"weft\":{\"of\":\"0\"}}",
                    i ? "," : "", i);
    wb_buf_add(&text, UPP_STR("]"));
    CHECK(wd_document_read(&d, &wd_document_envelope, wb_buf_str(&text), NULL, &err) == -UPP_ELIMIT);
}

/* Does the thread made of them have this text, and no problem, and are they made of it again? */
static bool is_good_thread(struct upp_str envelopes, const char *has)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf thread = WB_BUF(ROOM), back = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    struct upp_err err = {0};
    if (test_convert(envelopes, &wd_document_envelope, &wd_document_thread, &thread, NULL, &err) < 0 ||
        wd_document_validate(&wd_document_thread, wb_buf_str(&thread), &a, &p, &ops, &err) < 0 ||
        test_convert(wb_buf_str(&thread), NULL, &wd_document_envelope, &back, NULL, &err) < 0)
        return false;
    test_note("%.*s", UPP_FMT(wb_buf_str(&thread)));
    return EXPECT(!p.list.n) && EXPECT(wb_str_eq(wb_buf_str(&back), envelopes)) &&
           EXPECT(wb_str_find(wb_buf_str(&thread), wb_cstr(has), 0) != SIZE_MAX);
}

/* The seed's third envelope is a result without a tool's name: it has the name of its call. Where the call is not
 * there, or has its result, it is what its agent says. */
/* covers: TP-41/1, ENV-11/1 */
TEST(dialect_envelope_result_without_a_name)
{
    static const char alone[] =
        "{\"protocol\":\"multiagent-1.0\",\"role\":\"tool\",\"agent\":{\"id\":\"gemini.exec\",\"name\":\"Executor\","
        "\"model\":"
        "\"gemini-2.5-pro\"},\"timestamp\":\"2025-10-10T12:43:10Z\",\"intent\":\"tool.call\",\"task\":\"Scrape pages\","
        "\"content\":{\"type\":\"tool_result\",\"data\":{\"ok\":true}},\"confidence\":{\"score\":0.86},"
        "\"trace\":{\"parents\":[\"msg_002\"],\"id\":\"msg_003\"}}";
    static const char again[] =
        "{\"protocol\":\"multiagent-1.0\",\"role\":\"tool\",\"agent\":{\"id\":\"a\",\"name\":\"A\",\"model\":\"m\"},"
        "\"timestamp\":\"2025-10-10T12:44:10Z\",\"intent\":\"tool.call\",\"task\":\"Scrape\",\"content\":{\"type\":"
        "\"error\","
        "\"text\":\"no\"},\"trace\":{\"parents\":[\"msg_002\"],\"id\":\"msg_004\"}}";
    static const char call[] =
        "{\"protocol\":\"multiagent-1.0\",\"role\":\"agent\",\"agent\":{\"id\":\"a\",\"name\":\"A\",\"model\":\"m\"},"
        "\"timestamp\":\"2025-10-10T12:42:10Z\",\"intent\":\"tool.call\",\"task\":\"Scrape\",\"content\":{\"type\":"
        "\"json\","
        "\"data\":{\"id\":\"c1\",\"name\":\"scrape\",\"arguments\":{}}},\"trace\":{\"id\":\"msg_002\"}}";
    WB_CLEANUP(wb_buf_done) struct wb_buf both = WB_BUF(ROOM);
    wb_buf_addf(&both, "[%s,%s,%s]", call, alone, again);
    CHECK(is_good_thread(wb_cstr(alone), "\"part_kind\":\"text\",\"content\":\"{\\\"ok\\\":true}\""));
    CHECK(is_good_thread(wb_buf_str(&both), "\"part_kind\":\"tool-return\",\"tool_name\":\"scrape\""));
    CHECK(is_good_thread(wb_buf_str(&both), "\"part_kind\":\"text\",\"content\":\"no\""));
}

/* A result finds the call of its parent however many calls are between them, and is written after it again. */
TEST_WITH(dialect_envelope_finds_a_call, .no_torture = "large")
{
    for (int calls = 1; calls <= 10001; calls += 10000) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};
        wb_buf_add(&text, UPP_STR("["));
        for (int i = 0; i < calls; i++)
            wb_buf_addf(
                &text,
                "{\"role\":\"agent\",\"intent\":\"tool.call\",\"content\":{\"type\":\"json\",\"data\":{\"id\":\"c%d\","
                "\"name\":\"f\",\"arguments\":{}}},\"trace\":{\"id\":\"%d\"}},",
                i, i);
        wb_buf_add(&text, UPP_STR("{\"role\":\"tool\",\"content\":{\"type\":\"tool_result\",\"data\":1},\"trace\":{"
                                  "\"parents\":[\"0\"]}}]"));
        CHECK(wd_document_read(&d, &wd_document_envelope, wb_buf_str(&text), NULL, &err) == 0);
        struct upp_str id = d.doc.entries.p[calls].e.message.parts[0].id;
        CHECK_STR(id, UPP_STR("c0"));
    }
}

/* The text of a document becomes its bytes, and a type that nobody knows is told as lost. */
TEST(dialect_envelope_media)
{
    static const struct upp_media media[] = {
        {UPP_SOURCE_TEXT, UPP_STR_INIT("abc"), {0}, UPP_STR_INIT("a.txt"), {0}, {0}, {0}},
        {UPP_SOURCE_BYTES, UPP_STR_INIT("AAAA"), {0}, {0}, UPP_STR_INIT("1.5"), {0}, {0}},
    };
    struct upp_part parts[] = {{.kind = UPP_PART_DOCUMENT, .media = &media[0]},
                               {.kind = UPP_PART_AUDIO, .media = &media[1]}};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    struct wm_doc_entry *e = wm_doc_entry_add(&doc, &err);
    CHECK(e);
    e->e.message = (struct upp_message){.role = UPP_ROLE_USER, .parts = parts, .n_parts = WB_LEN(parts)};
    CHECK(wm_doc_divide(&doc, &err) == 0);
    CHECK(wd_doc_write(&doc, &wd_document_envelope, NULL, &out, &losses, &err) == 0);
    CHECK(losses.list.n == 3);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"name\":\"a.txt\",\"uri\":\"data:text/plain;base64,YWJj\""), 0) <
          out.n);
    CHECK(wd_document_read(&d, NULL, wb_buf_str(&out), NULL, &err) == 0);
    CHECK(d.doc.entries.n == 1 && d.doc.entries.p[0].e.message.n_parts == 2);
    const struct upp_part *p = d.doc.entries.p[0].e.message.parts;
    CHECK_STR(p[0].media->data, UPP_STR("YWJj"));
    CHECK_STR(p[1].media->data, UPP_STR("AAAA"));
    CHECK_STR(p[1].media->mime, UPP_STR("application/octet-stream"));
}

/* ---- What is lost ---------------------------------------------------------------------------------------- */

static const struct {
    const char *document, *what;
} losses_of[] = {
    {"[{\"parts\":[],\"finish_reason\":\"stop\",\"kind\":\"response\"}]",
     "why the model stopped, and its id of what it said"},
    {"[{\"parts\":[],\"usage\":{\"input_tokens\":1,\"cache_read_tokens\":1},\"kind\":\"response\"}]",
     "tokens of caches and of reasoning"},
    {"[{\"parts\":[],\"run_id\":\"r\",\"kind\":\"response\"}]", "id, run, times and usage of a turn"},
    {"{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"turns\":[]}", "the thread's id"},
    {"{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"agents\":{\"a\":{\"agent_id\":\"a\",\"agent_name\":\"a\",\"model_"
     "name\":\"m\",\"provider_name\":\"p\",\"created_at\":\"2026-01-01T00:00:00Z\",\"config_ref\":\"c\"}},\"turns\":[]"
     "}",
     "how the agents were made"},
};

TEST(dialect_envelope_tells_what_is_lost)
{
    for (size_t i = 0; i < WB_LEN(losses_of); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err err;
        size_t found = 0;
        test_note("%s", losses_of[i].what);
        CHECK(test_convert(wb_cstr(losses_of[i].document), NULL, &wd_document_envelope, &out, &losses, &err) == 0);
        for (size_t k = 0; k < losses.list.n; k++)
            found += wb_str_eq(losses.list.p[k].what, wb_cstr(losses_of[i].what));
        CHECK(found == 1);
    }
}

/* ---- What is refused ------------------------------------------------------------------------------------- */

/* Of tests/golden/envelope: what the specification shows, and what this dialect writes, is without any problem, and
 * comes back as it was. */
/* covers: ENV-2 */
TEST(dialect_envelope_examples_are_good)
{
    static const char *const good[] = {"planner", "decomposer", "executor", "handshake", "exchange", "made"};
    for (size_t i = 0; i < WB_LEN(good); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), was = WB_BUF(ROOM), is = WB_BUF(ROOM);
        char path[64];
        size_t n = 0;
        struct upp_err err;
        (void)snprintf(path, sizeof path, "golden/envelope/%s.json", good[i]);
        WB_CLEANUP(freep) char *text = test_read(path, &n);
        test_note("%s", path);
        CHECK(text && problems_of(wb_str(text, n), &out, &err) == 0);
        CHECK_STR(wb_buf_str(&out), UPP_STR(""));
        CHECK(compact(wb_str(text, n), &was, &err) == 0);
        CHECK(test_convert(wb_str(text, n), NULL, &wd_document_envelope, &is, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

/* tests/interop/envelope/broken.json: [{"what", "envelope", "problems": [...], "schema": false?}]. The same table is
 * held against the JSON Schema there. */
/* covers: ENV-1/1 */
TEST(dialect_envelope_rules)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    size_t n = 0, i, max;
    WB_CLEANUP(freep) char *text = test_read("interop/envelope/broken.json", &n);
    yyjson_val *v, *one, *line;
    struct upp_err err;
    CHECK(text && wj_read(&a, wb_str(text, n), NULL, &v, &err) == 0);
    yyjson_arr_foreach(v, i, max, one)
    {
        WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(ROOM), is = WB_BUF(ROOM), was = WB_BUF(ROOM);
        size_t k, lines;
        struct upp_str what = wj_text_at(one, "what");
        test_note("%.*s", UPP_FMT(what));
        yyjson_arr_foreach(yyjson_obj_get(one, "problems"), k, lines, line)
            wb_buf_addf(&was, "%.*s\n", UPP_FMT(wj_text(line)));
        CHECK(wj_write(yyjson_obj_get(one, "envelope"), &json, &err) == 0);
        CHECK(problems_of(wb_buf_str(&json), &is, &err) == 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

/* ---- Schema and types ------------------------------------------------------------------------------------ */

/* A name for the second time, wherever it is: in what the table knows, beside it, in what may be anything, and in what
 * should be something else. */
TEST(dialect_envelope_finds_every_name_that_comes_twice)
{
    static const struct {
        const char *member, *problems;
    } cases[] = {
        {"\"weft\":{\"a\":1}", ""},
        {"\"task\":\"again\"", "error /0/task ENV-1.10\n"},
        {"\"x\":1,\"y\":2,\"x\":3", "error /0/x ENV-1.10\n"},
        {"\"weft\":{\"a\":{\"b\":1,\"b\":2}}", "error /0/weft/a/b ENV-1.10\n"},
        {"\"inputs\":{\"parameters\":{\"b\":1,\"b\":2}}", "error /0/inputs/parameters/b ENV-1.10\n"},
        {"\"inputs\":{\"context\":\"a\",\"context\":\"b\"}", "error /0/inputs/context ENV-1.10\n"},
        {"\"inputs\":{\"resources\":[[{\"b\":1,\"b\":2}]]}",
         "error /0/inputs/resources/0 ENV-1.5\nerror /0/inputs/resources/0/0/b ENV-1.10\n"},
        {"\"inputs\":[{\"b\":1,\"b\":2}]", "error /0/inputs ENV-1.5\nerror /0/inputs/0/b ENV-1.10\n"},
        {"\"trace\":{\"id\":{\"b\":1,\"b\":2},\"tags\":{\"b\":1,\"b\":2}}",
         "error /0/trace/id ENV-1.9\nerror /0/trace/tags ENV-1.9\nerror /0/trace/id/b ENV-1.10\n"
         "error /0/trace/tags/b ENV-1.10\n"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
        struct upp_err err;
        wb_buf_addf(&text,
                    "[{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-01-01T00:00:00Z\","
                    "\"intent\":\"execute\",\"task\":\"t\",\"content\":{\"type\":\"text\",\"text\":\"t\"},%s}]",
                    cases[i].member);
        test_note("%s", cases[i].member);
        CHECK(wb_buf_check(&text, &err) == 0);
        CHECK(problems_of(wb_buf_str(&text), &out, &err) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].problems));
    }
}

static bool is_file(const char *path, const struct wb_buf *is)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    test_note("%s is not what build-asan/tests/schemas writes", path);
    return text && !is->failed && wb_str_eq(wb_str(text, n), wb_buf_str(is));
}

/* covers: ENV-17/1 */
TEST(dialect_envelope_schema_is_of_the_table)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf schema = WB_BUF(ROOM), types = WB_BUF(ROOM);
    wd_envelope_schema(&schema);
    wd_envelope_types(&types);
    CHECK(is_file("../docs/schemas/envelope.schema.json", &schema));
    CHECK(is_file("../docs/schemas/envelope.d.ts", &types));
    /* The names that the specification's own types have. */
    static const char *const names[] = {"export type Intent =",
                                        "export interface AgentRef {",
                                        "export interface ResourceRef {",
                                        "export interface Envelope {",
                                        "protocol: \"multiagent-1.0\";",
                                        "role: \"agent\" | \"user\" | \"system\" | \"tool\";",
                                        "agent?: AgentRef;",
                                        "resources?: ResourceRef[];",
                                        "parameters?: Record<string, unknown>;",
                                        "uri?: string | null;",
                                        "next_actions?: {",
                                        "intent: Intent;",
                                        "score: number;",
                                        "data?: unknown;",
                                        "parents?: string[];",
                                        "input_tokens?: number;"};
    for (size_t i = 0; i < WB_LEN(names); i++) {
        test_note("%s", names[i]);
        CHECK(wb_str_find(wb_buf_str(&types), wb_cstr(names[i]), 0) != SIZE_MAX);
    }
}
