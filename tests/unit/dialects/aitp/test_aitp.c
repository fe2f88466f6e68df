/* AITP threads: what they become, what of the model comes back, what is lost, what is refused. */
#include <stdlib.h>

#include "dialects/aitp/aitp.h"
#include "dialects/core/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "support/documents.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

/* ---- What is kept ---------------------------------------------------------------------------------------------- */

/* All of a document that must come back: a line each, with whose it is. */
static void tell(const struct wm_doc *d, struct wb_buf *out)
{
    for (size_t i = 0; i < d->entries.n; i++) {
        const struct wm_doc_entry *e = &d->entries.p[i];
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("the user") : d->agents.p[e->agent].name;
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(out, "event %.*s\n", UPP_FMT(e->e.data));
        else
            wb_buf_addf(out, "%.*s %u%u %lld\n", UPP_FMT(who), e->e.message.role, e->e.message.interrupted,
                        (long long)e->e.message.time_ms);
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, "  %u%u%u '%.*s' '%.*s' '%.*s' %.*s", p->kind, p->is_error, p->cut, UPP_FMT(p->id),
                        UPP_FMT(p->name), UPP_FMT(p->text), UPP_FMT(p->metadata));
            if (p->media)
                wb_buf_addf(out, " %d %.*s %.*s %.*s %.*s", p->media->source > UPP_SOURCE_BYTES,
                            UPP_FMT(p->media->data), UPP_FMT(p->media->mime), UPP_FMT(p->media->title),
                            UPP_FMT(p->media->width));
            wb_buf_add(out, UPP_STR("\n"));
        }
    }
}

static int told(struct upp_str text, const struct wd_document_ops *ops, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .forget = true), err);
    if (r >= 0)
        tell(&d.doc, out);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* covers: AITP-2, AITP-11/1 */
TEST(dialect_aitp_reads_actors_and_texts)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/aitp/seed.json", &n);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(text != NULL);
    CHECK(wd_document_read(&d, NULL, wb_str(text, n), NULL, &err) == 0);
    CHECK(d.ops == &wd_document_aitp);
    CHECK_INT(d.doc.agents.n, 1);
    CHECK_STR(d.doc.agents.p[0].id, UPP_STR("travel-agent.near"));
    CHECK_INT(d.doc.entries.n, 3);
    CHECK(d.doc.entries.p[0].agent == WM_NO_AGENT && d.doc.entries.p[1].agent == 0);
    CHECK_STR(d.doc.entries.p[0].e.who, UPP_STR("user-agent.near"));
    CHECK(d.doc.entries.p[0].e.message.time_ms == 1708950000000);
    CHECK(wb_str_starts(d.doc.entries.p[1].e.message.parts[0].text, UPP_STR("{\"$schema\"")));
    CHECK(d.doc.entries.p[2].agent == WM_NO_AGENT);
}

/* Whoever made the thread is the user; an actor counts more than a role. */
/* covers: AITP-12/2 */
TEST(dialect_aitp_understands_the_class_diagram)
{
    static const char *const who[] = {NULL,    "https://shop.example/agent", NULL,
                                      "agent", "https://shop.example/agent", "third.near"};
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/aitp/diagram.json", &n);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    CHECK(text != NULL);
    CHECK(wd_document_read(&d, NULL, wb_str(text, n), NULL, &err) == 0);
    CHECK_STR(d.doc.parent, UPP_STR("thread_abc123"));
    CHECK_INT(d.doc.entries.n, WB_LEN(who));
    for (size_t i = 0; i < WB_LEN(who); i++) {
        uint32_t agent = d.doc.entries.p[i].agent;
        if (i == 3)
            CHECK_STR(d.doc.agents.p[agent].id, UPP_STR("https://shop.example/agent")); /* there is one alone */
        else if (who[i])
            CHECK_STR(d.doc.agents.p[agent].id, wb_cstr(who[i]));
        else
            CHECK(agent == WM_NO_AGENT);
    }
    CHECK_INT(d.doc.entries.p[1].e.message.n_parts, 3);
}

static bool keeps(const struct wd_document_ops *ops, const char *path)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), aitp = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err err = {0};
    test_note("%s", path);
    if (!text || told(wb_str(text, n), ops, &was, &err) < 0 ||
        test_convert(wb_str(text, n), ops, &wd_document_aitp, &aitp, NULL, &err) < 0 ||
        told(wb_buf_str(&aitp), NULL, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

TEST(dialect_aitp_keeps_what_others_say)
{
    CHECK(keeps(&wd_document_thread, "golden/thread/weather.json"));
    CHECK(keeps(&wd_document_thread, "golden/thread/enrichment.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-1.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/current.json"));
}

/* ---- Documents of the model that nobody wrote ------------------------------------------------------------------ */

static unsigned pick(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % n);
}

static struct upp_str pick_text(uint64_t *state, const char *const *of, size_t n)
{
    return wb_cstr(of[pick(state, n)]);
}

static void invent_part(uint64_t *seed, struct wb_arena *a, unsigned kinds, struct upp_part *p)
{
    static const char *const texts[] = {
        "", "a", "two words", "{\"$schema\":\"x\"}", "\xc3\xa9\n\"\\", "{ \"b\": [1, 2] }"};
    static const char *const args[] = {"{}", "{\"x\":1.0}", "{ \"x\" : [ ] }", "", "{\"x\":", "[1]", "\"t\""};
    static const char *const values[] = {"null", "\"a b\"", "{ \"r\": 1 }", "[]", "1e5", "\"no json\""};
    static const char *const meta[] = {NULL, NULL, NULL, "{\"p\":{\"q\":[1]}}"};
    *p = (struct upp_part){.kind = (uint8_t)(1 + pick(seed, 9))};
    while (!(kinds >> p->kind & 1))
        p->kind = (uint8_t)(1 + pick(seed, 9));
    p->metadata = pick_text(seed, meta, WB_LEN(meta));
    p->cut = !pick(seed, 5);
    p->id = p->kind >= UPP_PART_CALL ? wb_arena_printf(a, "c%u", pick(seed, 9)) : (struct upp_str){0};
    p->name = p->kind >= UPP_PART_CALL ? wb_arena_printf(a, "tool%u", pick(seed, 3)) : (struct upp_str){0};
    if (p->kind <= UPP_PART_REASONING)
        p->text = pick_text(seed, texts, WB_LEN(texts));
    else if (p->kind == UPP_PART_CALL)
        p->text = pick_text(seed, args, WB_LEN(args));
    else if (p->kind == UPP_PART_RESULT) {
        p->text = pick_text(seed, values, WB_LEN(values));
        p->is_error = pick(seed, 2);
    } else {
        struct upp_media *m = wb_new(a, struct upp_media);
        if (!m)
            return;
        *m =
            (struct upp_media){.source = (uint8_t)(1 + pick(seed, 4)), .data = UPP_STR("AAAA"), .mime = UPP_STR("a/b")};
        m->title = pick(seed, 2) ? UPP_STR("title") : (struct upp_str){0};
        m->width = p->kind == UPP_PART_VIDEO ? UPP_STR("640") : (struct upp_str){0};
        p->media = m;
    }
}

static int invent(uint64_t seed, struct wb_arena *a, struct wm_doc *d, struct upp_err *err)
{
    static const char *const ids[] = {"a", "user", "Z", "user-2"}, *const names[] = {"A", "the user's", "a", "U"};
    uint32_t agent;
    unsigned agents = 1 + pick(&seed, 4);
    for (unsigned i = 0; i < agents; i++)
        if (wm_doc_agent_add(d, &(struct wm_doc_agent){.id = wb_cstr(ids[i]), .name = wb_cstr(names[i])}, &agent, err) <
            0)
            return -1;
    for (unsigned n = pick(&seed, 9); n; n--) {
        struct wm_doc_entry *e = wm_doc_entry_add(d, err);
        if (!e)
            return -1;
        e->e.message.time_ms = (int64_t)pick(&seed, 1 << 30) * 1733 - 5000;
        e->agent = pick(&seed, 3) ? pick(&seed, agents) : WM_NO_AGENT;
        if (!pick(&seed, 6)) {
            e->agent = WM_NO_AGENT;
            e->e.kind = WM_ENTRY_EVENT;
            e->e.data = UPP_STR("{\"type\":\"t\",\"data\":[1]}");
            continue;
        }
        e->e.message.role = e->agent == WM_NO_AGENT ? UPP_ROLE_USER : (uint8_t)(1 + pick(&seed, 3));
        unsigned kinds = e->e.message.role == UPP_ROLE_USER ? UPP_PARTS_CONTENT & ~(1u << UPP_PART_REASONING)
                                                            : UPP_PARTS_CONTENT | UPP_PARTS_CALLS | UPP_PARTS_RESULTS;
        e->e.message.interrupted = !pick(&seed, 5);
        e->e.message.n_parts = pick(&seed, 4) + (e->e.message.role != UPP_ROLE_ASSISTANT);
        e->e.message.parts = wb_new_n(a, struct upp_part, 5);
        for (size_t k = 0; e->e.message.parts && k < e->e.message.n_parts; k++)
            invent_part(&seed, a, kinds, &e->e.message.parts[k]);
    }
    return wb_arena_check(a, err) < 0 ? -1 : wm_doc_divide(d, err);
}

/* covers: AITP-1, AITP-12/1 */
TEST_WITH(dialect_aitp_keeps_what_the_model_says, .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), text = WB_BUF(ROOM), is = WB_BUF(ROOM);
        struct upp_err err = {0};
        test_note("seed %u", (unsigned)seed);
        CHECK(invent(seed, &a, &doc, &err) == 0);
        tell(&doc, &was);
        CHECK(wd_doc_write(&doc, &wd_document_aitp, NULL, &text, NULL, &err) == 0);
        test_note("seed %u: %.*s", (unsigned)seed, UPP_FMT(wb_buf_str(&text)));
        CHECK(told(wb_buf_str(&text), NULL, &is, &err) == 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

/* ---- Threads that nobody wrote --------------------------------------------------------------------------------- */

static const char *const some_messages[] = {
    "{\"created_at\":1708950000,\"thread_id\":\"t\",\"content\":[\"a\",\"b\"],\"role\":\"user\",\"metadata\":{"
    "\"actor\":\"u\"}}",
    "{\"created_at\":1708950007,\"thread_id\":\"t\",\"content\":[],\"role\":\"user\",\"metadata\":{\"actor\":\"u\"}}",
    "{\"created_at\":1708950001,\"thread_id\":\"t\",\"content\":[\"c\"],\"role\":\"assistant\",\"metadata\":{\"actor\":"
    "\"x\",\"k\":1}}",
    "{\"content\":\"bare\",\"role\":\"assistant\",\"actor\":\"y\"}",
    "{\"content\":[\"nobody\"],\"role\":\"user\"}",
    "{\"content\":[\"nobody\"],\"role\":\"assistant\",\"created_at\":5}",
    "{\"content\":[\"s\"],\"role\":\"system\",\"created_at\":5}",
    "{\"content\":[1,\"s\",{\"type\":\"text\",\"text\":\"o\"}],\"role\":\"assistant\",\"attachments\":[{\"file_id\":"
    "\"f\"}],\"metadata\":{\"actor\":\"x\"}}",
    "{\"content\":[],\"role\":\"user\",\"metadata\":{\"actor\":\"u\",\"weft\":{\"time\":\"2024-02-26T12:20:00.5Z\"}},"
    "\"created_at\":1708950000}",
    "{\"content\":[],\"role\":\"assistant\",\"metadata\":{\"actor\":\"x\",\"weft\":{\"event\":{\"type\":\"e\",\"data\":"
    "1}}},\"created_at\":9}",
    "{\"content\":[\"c\"],\"role\":\"assistant\",\"created_at\":9,\"metadata\":{\"actor\":\"x\",\"weft\":{\"message\":{"
    "\"id\":\"\",\"type\":\"assistant\","
    "\"content\":[{\"type\":\"text\",\"text\":\"c\"}],\"timestamp\":\"1970-01-01T00:00:09.000Z\",\"toolCalls\":[{"
    "\"toolCallId\":\"1\",\"toolName\":\"f\","
    "\"arguments\":{}}]}}}}",
    "7",
    "{}",
};

/* covers: AITP-27 */
TEST_WITH(dialect_aitp_comes_back_through_a_thread, .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), own = WB_BUF(ROOM), thread = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf back = WB_BUF(ROOM);
        struct upp_err err;
        uint64_t state = seed;
        wb_buf_add(
            &was,
            pick(&state, 2)
                ? UPP_STR("{\"id\":\"t\",\"metadata\":{\"actors\":[{\"id\":\"x\"},{\"id\":\"u\",\"capabilities\":[1]}],"
                          "\"o\":{}},\"messages\":[")
                : UPP_STR("{\"parent_id\":\"q\",\"actors\":[],\"messages\":["));
        for (unsigned n = pick(&state, 7); n; n--)
            wb_buf_addf(&was, "%s%s", some_messages[pick(&state, WB_LEN(some_messages))], n > 1 ? "," : "");
        wb_buf_add(&was, UPP_STR("]}"));
        test_note("seed %u: %.*s", (unsigned)seed, UPP_FMT(wb_buf_str(&was)));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_aitp, &wd_document_aitp, &own, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&own), wb_buf_str(&was));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_aitp, &wd_document_thread, &thread, NULL, &err) == 0);
        CHECK(test_convert(wb_buf_str(&thread), NULL, &wd_document_aitp, &back, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&back), wb_buf_str(&was));
    }
}

/* ---- What is lost, and what is limited --------------------------------------------------------------------------- */

TEST(dialect_aitp_tells_what_is_lost)
{
    static const char *const what[] = {"when the thread was made and changed", "how and when the agents were made",
                                       "a member of the thread's metadata", "id, run, times and usage of a turn"};
    static const char thread[] =
        "{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00Z\",\"metadata\":{\"actors\":1}"
        ","
        "\"agents\":{\"a\":{\"agent_id\":\"a\",\"model_name\":\"m\",\"provider_name\":\"p\",\"agent_name\":\"a\","
        "\"created_at\":\"2026-01-01T00:00:00Z\",\"config_ref\":\"c\"}},\"turns\":[{\"turn_type\":\"agent\",\"agent_"
        "id\":\"a\","
        "\"total_usage\":{\"input_tokens\":1,\"output_tokens\":1},\"messages\":[{\"message_type\":\"response\","
        "\"finish_reason\":\"stop\",\"parts\":[{\"part_kind\":\"text\",\"content\":\"x\"}]}]}]}";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    struct upp_err err;
    CHECK(test_convert(wb_cstr(thread), NULL, &wd_document_aitp, &out, &losses, &err) == 0);
    for (size_t i = 0; i < WB_LEN(what); i++) {
        size_t found = 0;
        for (size_t k = 0; k < losses.list.n; k++)
            found += wb_str_eq(losses.list.p[k].what, wb_cstr(what[i]));
        test_note("%s", what[i]);
        CHECK(found == 1);
    }
}

TEST_WITH(dialect_aitp_limits_texts, .no_torture = "thousands of texts")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err = {0};
    wb_buf_add(&text, UPP_STR("{\"metadata\":{\"actors\":[]},\"messages\":[{\"role\":\"user\",\"content\":["));
    for (int i = 0; i < WD_PARTS; i++)
        wb_buf_add(&text, UPP_STR("\"\","));
    size_t n = text.n;
    wb_buf_add(&text, UPP_STR("\"\"]}]}"));
    CHECK(test_convert(wb_buf_str(&text), NULL, &wd_document_aitp, &out, NULL, &err) == -UPP_ELIMIT);
    text.n = n - 1;
    wb_buf_add(&text, UPP_STR("]}]}"));
    CHECK(test_convert(wb_buf_str(&text), NULL, &wd_document_aitp, &out, NULL, &err) == 0);
}

/* A result that is nested deeper is said as a text; it comes back as the same. */
TEST(dialect_aitp_says_results_of_so_many_levels)
{
    enum { DEPTH = 100 };
    for (int levels = DEPTH; levels <= DEPTH + 1; levels++) {
        WB_CLEANUP(wb_buf_done)
        struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM), was = WB_BUF(ROOM), is = WB_BUF(ROOM);
        struct upp_err err = {0};
        wb_buf_add(
            &text,
            UPP_STR("{\"id\":\"t\",\"messages\":[{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[],"
                    "\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"results\":[{\"toolCallId\":\"c\",\"result\":"));
        for (int i = 0; i < levels; i++)
            wb_buf_addc(&text, '[');
        for (int i = 0; i < levels; i++)
            wb_buf_addc(&text, ']');
        wb_buf_add(&text, UPP_STR(",\"isError\":false}]}],\"createdAt\":\"2026-01-01T00:00:00Z\",\"updatedAt\":"
                                  "\"2026-01-01T00:00:00Z\"}"));
        CHECK(!text.failed &&
              test_convert(wb_buf_str(&text), &wd_document_upp, &wd_document_aitp, &out, NULL, &err) >= 0);
        CHECK_INT(wb_str_find(wb_buf_str(&out), UPP_STR("\"[[["), 0) != SIZE_MAX, levels > DEPTH);
        CHECK(told(wb_buf_str(&text), &wd_document_upp, &was, &err) >= 0);
        CHECK(told(wb_buf_str(&out), &wd_document_aitp, &is, &err) >= 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

TEST(dialect_aitp_is_no_other_document)
{
    static const char *const texts[] = {"{}", "[]", "7", "{\"messages\":7}", "{\"metadata\":{\"actors\":[]}}"};
    for (size_t i = 0; i < WB_LEN(texts); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};
        CHECK(wd_document_read(&d, &wd_document_aitp, wb_cstr(texts[i]), NULL, &err) == -UPP_EINVALID);
    }
}
