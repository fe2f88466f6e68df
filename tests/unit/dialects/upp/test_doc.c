/* Threads of UPP and sessions of UAP as documents: what they keep of any document of the model, what they become, what
 * is refused. */
#include <stdlib.h>

#include "dialects/core/convert.h"
#include "dialects/core/writer.h"
#include "dialects/pai/pai.h"
#include "dialects/upp/doc.h"
#include "json/read.h"
#include "model/session.h"
#include "support/documents.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

static const struct wd_document_ops *const both[] = {&wd_document_upp, &wd_document_uap};

/* ---- What comes back -------------------------------------------------------------------------------------------- */

/* ---- Documents that nobody wrote ------------------------------------------------------------- */

static unsigned pick(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % n);
}

static const struct upp_media media[] = {
    {.source = UPP_SOURCE_BASE64,
     .data = UPP_STR_INIT("AAAA"),
     .mime = UPP_STR_INIT("image/png"),
     .title = UPP_STR_INIT("t")},
    {.source = UPP_SOURCE_BYTES, .data = UPP_STR_INIT("AQ=="), .mime = UPP_STR_INIT("audio/wav")},
    {.source = UPP_SOURCE_URL, .data = UPP_STR_INIT("https://example.org/x")},
    {.source = UPP_SOURCE_TEXT, .data = UPP_STR_INIT("text"), .mime = UPP_STR_INIT("text/plain")},
};
static const struct upp_str texts[] = {UPP_STR_INIT(""), UPP_STR_INIT("{}"), UPP_STR_INIT("{\"a\":1.0}"),
                                       UPP_STR_INIT("[1"), UPP_STR_INIT("text")};
static const struct upp_str values[] = {UPP_STR_INIT("null"), UPP_STR_INIT("{\"a\":[1]}"), UPP_STR_INIT("\"s\""),
                                        UPP_STR_INIT("1.50")};
static const struct upp_str names[] = {UPP_STR_INIT("f"), UPP_STR_INIT("g"), UPP_STR_INIT("a")};
static const struct upp_str some_metadata[] = {
    {0}, UPP_STR_INIT("{\"p\":{\"q\":1}}"), UPP_STR_INIT("{\"weft\":{\"agent\":\"x\",\"else\":1}}")};

static struct upp_part invent_part(uint64_t *seed)
{
    struct upp_part p = {.kind = (uint8_t)(1 + pick(seed, UPP_PART_RESULT)), .cut = !pick(seed, 8)};
    p.metadata = some_metadata[pick(seed, 2)];
    if (p.kind <= UPP_PART_REASONING)
        p.text = texts[pick(seed, WB_LEN(texts))];
    else if (p.kind < UPP_PART_CALL)
        p.media = &media[pick(seed, WB_LEN(media))];
    else {
        p.id = names[pick(seed, WB_LEN(names))];
        p.name = names[pick(seed, WB_LEN(names))];
        p.text = p.kind == UPP_PART_CALL ? texts[pick(seed, WB_LEN(texts))] : values[pick(seed, WB_LEN(values))];
        p.is_error = p.kind == UPP_PART_RESULT && pick(seed, 2);
    }
    return p;
}

static int invent_entry(uint64_t *seed, struct wb_arena *a, struct wm_doc *d, struct upp_err *err)
{
    struct wm_doc_entry *e = wm_doc_entry_add(d, err);
    if (!e)
        return -UPP_ENOMEM;
    e->e.message.time_ms = 1700000000000 + pick(seed, 1000);
    e->agent = pick(seed, 4) ? pick(seed, (unsigned)d->agents.n) : WM_NO_AGENT;
    if (!pick(seed, 5)) {
        e->e.kind = WM_ENTRY_EVENT;
        e->e.data = UPP_STR("{\"type\":\"t\",\"data\":[1],\"source\":\"a\"}");
        return 0;
    }
    e->e.message.role = (uint8_t)(1 + pick(seed, 3));
    e->e.message.interrupted = !pick(seed, 6);
    e->e.message.metadata = some_metadata[pick(seed, WB_LEN(some_metadata))];
    e->said.model = e->e.message.role == UPP_ROLE_ASSISTANT ? names[pick(seed, 3)] : (struct upp_str){0};
    e->e.message.n_parts = pick(seed, 5);
    if (e->e.message.n_parts)
        e->e.message.parts = wb_new_n(a, struct upp_part, e->e.message.n_parts);
    for (size_t i = 0; e->e.message.parts && i < e->e.message.n_parts; i++)
        e->e.message.parts[i] = invent_part(seed);
    return wb_arena_check(a, err);
}

static int invent(uint64_t seed, struct wb_arena *a, struct wm_doc *d, struct upp_err *err)
{
    static const struct wm_doc_agent agents[] = {
        {.id = UPP_STR_INIT("a1"), .name = UPP_STR_INIT("Ann")},
        {.id = UPP_STR_INIT("a2"), .name = UPP_STR_INIT("a1"), .prompt = UPP_STR_INIT("p")},
        {.id = UPP_STR_INIT("agent"), .name = UPP_STR_INIT("agent")}};
    unsigned n = 1 + pick(&seed, WB_LEN(agents));
    uint32_t at;
    int r = 0;
    for (unsigned i = 0; r >= 0 && i < n; i++)
        r = wm_doc_agent_add(d, &agents[i], &at, err);
    for (unsigned k = pick(&seed, 9); r >= 0 && k; k--)
        r = invent_entry(&seed, a, d, err);
    return r < 0 ? r : wm_doc_divide(d, err);
}

/* All that was said, called and answered, in order, with whose it was: a line each. */
static void tell(const struct wm_doc *d, struct wb_buf *out)
{
    for (size_t i = 0; i < d->entries.n; i++) {
        const struct wm_doc_entry *e = &d->entries.p[i];
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("nobody") : d->agents.p[e->agent].name;
        wb_buf_addf(out, "%.*s %u %u %.*s%d %.*s\n", UPP_FMT(who), e->e.kind, e->e.message.role, UPP_FMT(e->e.data),
                    e->e.message.interrupted, UPP_FMT(e->said.model));
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            bool empty = p->kind == UPP_PART_CALL && !p->text.n; /* the same as an empty object */
            wb_buf_addf(out, "  %u%u%u %.*s %.*s %.*s %.*s", p->kind, p->is_error, p->cut, UPP_FMT(p->id),
                        UPP_FMT(p->name), UPP_FMT(empty ? UPP_STR("{}") : p->text), UPP_FMT(p->metadata));
            if (p->media)
                wb_buf_addf(out, " %.*s %.*s %.*s", UPP_FMT(p->media->data), UPP_FMT(p->media->mime),
                            UPP_FMT(p->media->title));
            wb_buf_add(out, UPP_STR("\n"));
        }
    }
    for (size_t i = 0; i < d->turns.n; i++)
        wb_buf_addf(out, "turn %u %u\n", d->turns.p[i].first, d->turns.p[i].n);
}

static bool keeps(const struct wd_document_ops *ops, uint64_t seed)
{
    WB_CLEANUP(wb_buf_done)
    struct wb_buf was = WB_BUF(ROOM), is = WB_BUF(ROOM), text = WB_BUF(ROOM), again = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wm_doc_done) struct wm_doc m = {0};
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err = {0};
    struct wm_session session;
    test_note("%s, seed %u", ops->name, (unsigned)seed);
    int r = invent(seed, &a, &m, &err);
    if (r >= 0)
        r = wd_doc_write(&m, ops, NULL, &text, NULL, &err);
    if (r >= 0)
        r = wd_document_read(&d, NULL, wb_buf_str(&text), NULL, &err);
    if (r >= 0)
        r = wd_document_write(&d, ops, NULL, &again, NULL, &err);
    if (r >= 0 && ops == &wd_document_uap)
        r = wm_session_read(&a, wb_buf_str(&text), &session, &err);
    if (r < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be written and read");
    }
    tell(&m, &was);
    tell(&d.doc, &is);
    return EXPECT(d.ops == ops) &&
           test_expect_str(wb_buf_str(&again), wb_buf_str(&text), __FILE__, __LINE__, "written again") &&
           test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

static bool comes_through(const struct wd_document_ops *ops, uint64_t seed)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), there = WB_BUF(ROOM), back = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wm_doc_done) struct wm_doc m = {0};
    struct upp_err err = {0};
    test_note("%s through a thread, seed %u", ops->name, (unsigned)seed);
    int r = invent(seed, &a, &m, &err);
    if (r >= 0)
        r = wd_doc_write(&m, ops, NULL, &text, NULL, &err);
    if (r >= 0)
        r = test_convert(wb_buf_str(&text), ops, &wd_document_thread, &there, NULL, &err);
    if (r >= 0)
        r = test_convert(wb_buf_str(&there), &wd_document_thread, ops, &back, NULL, &err);
    if (r < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be written and read");
    }
    return test_expect_str(wb_buf_str(&back), wb_buf_str(&text), __FILE__, __LINE__, "there and back");
}

/* ---- Calls and results ------------------------------------------------------------------------------------------ */

static void put_call(struct wb_buf *b, unsigned id, const char *tool)
{
    wb_buf_addf(b, ",{\"toolCallId\":\"c%u\",\"toolName\":\"%s\",\"arguments\":{}}", id, tool);
}

/* A call of each number, the first again as `again` where there is one; and the result of that. */
static void put_calls(struct wb_buf *b, unsigned n, const char *again)
{
    wb_buf_add(b,
               UPP_STR("{\"id\":\"t\",\"messages\":[{\"id\":\"a\",\"type\":\"assistant\",\"content\":[],\"timestamp\":"
                       "\"2026-01-01T00:00:00.000Z\",\"toolCalls\":[{\"toolCallId\":\"c0\",\"toolName\":\"first\","
                       "\"arguments\":{}}"));
    for (unsigned i = 1; i < n; i++)
        put_call(b, i, "other");
    if (again)
        put_call(b, 0, again);
    for (unsigned i = 1; i < n; i++)
        put_call(b, i, "other");
    wb_buf_add(
        b,
        UPP_STR("]},{\"id\":\"r\",\"type\":\"tool_result\",\"content\":[],\"timestamp\":\"2026-01-01T00:00:00.000Z\","
                "\"results\":[{\"toolCallId\":\"c0\",\"result\":1,\"isError\":false},{\"toolCallId\":\"c\","
                "\"result\":1,\"isError\":false}]}]}"));
}

/* However far away: the last one of that id. */
TEST(dialect_upp_doc_results_find_their_calls)
{
    static const unsigned far[] = {1, 2, 8, 9, 40};
    for (size_t i = 0; i < WB_LEN(far); i++)
        for (int again = 0; again < 2; again++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(ROOM);
            WB_CLEANUP(wd_document_done) struct wd_document d = {0};
            struct upp_err err = {0};
            put_calls(&b, far[i], again ? "again" : NULL);
            CHECK(wd_document_read(&d, &wd_document_upp, wb_buf_str(&b), NULL, &err) >= 0);
            CHECK_INT(d.doc.entries.n, 2);
            const struct upp_part *results = d.doc.entries.p[1].e.message.parts;
            CHECK_STR(results[0].name, again ? UPP_STR("again") : UPP_STR("first"));
            CHECK(!results[1].name.p);
        }
}

/* covers: UAP-13.1/1, UPP-2/1 */
TEST_WITH(dialect_upp_doc_keeps_what_the_model_says,
          .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (size_t i = 0; i < WB_LEN(both); i++)
        for (uint64_t seed = 1; seed <= 400; seed++)
            CHECK(keeps(both[i], seed));
}

/* As a thread the model is all there, and so is a document of UPP that went through one. */
TEST_WITH(dialect_thread_carries_what_the_model_says,
          .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 400; seed++) {
        CHECK(keeps(&wd_document_thread, seed));
        for (size_t i = 0; i < WB_LEN(both); i++)
            CHECK(comes_through(both[i], seed));
    }
}

/* ---- Paths ----------------------------------------------------------------------------------- */

/* covers: UAP-7.3 */
TEST(dialect_uap_doc_is_the_path_to_the_current_node)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/uap/documents/branches.json", &n);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf ids = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(text && wd_document_read(&d, NULL, wb_str(text, n), NULL, &err) == 0);
    for (size_t i = 0; i < d.doc.entries.n; i++)
        wb_buf_addf(&ids, "%.*s ", UPP_FMT(d.doc.entries.p[i].e.message.id));
    CHECK_STR(wb_buf_str(&ids), UPP_STR("u a w x "));
    CHECK_STR(d.doc.agents.p[d.doc.entries.p[2].agent].id, UPP_STR("coder"));
    CHECK_STR(d.doc.agents.p[d.doc.entries.p[3].agent].id, UPP_STR("tester"));
}

/* What is added is said in the current node, and the tree is still one. */
TEST(dialect_uap_doc_grows_at_the_current_node)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/uap/documents/seed.json", &n);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("more")};
    struct upp_err err;
    struct wm_session s;
    CHECK(text && wd_document_read(&d, NULL, wb_str(text, n), NULL, &err) == 0);
    struct wm_doc_entry *e = wm_doc_entry_add(&d.doc, &err);
    CHECK(e != NULL);
    e->e.message = (struct upp_message){.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    d.doc.turns.p[d.doc.turns.n - 1].n++;
    CHECK(wd_document_write(&d, &wd_document_uap, NULL, &out, NULL, &err) == 0);
    CHECK(wm_session_read(&a, wb_buf_str(&out), &s, &err) == 0);
    CHECK(s.tree.n == 2 && s.tree.nodes[s.tree.current].thread.n == 2 && s.n_checkpoints == 1);
    CHECK_STR(s.tree.nodes[s.tree.current].id, UPP_STR("node_branch1"));
}

static const char *const odd[] = {
    "{\"threadTree\":{\"nodes\":[7,{},{\"id\":\"a\"}]}}",
    "{\"threadTree\":{\"currentId\":\"a\",\"nodes\":[{\"id\":\"a\",\"parentId\":\"b\"},{\"id\":\"b\",\"parentId\":"
    "\"a\"}]}}",
    "{\"threadTree\":{\"currentId\":\"a\",\"nodes\":[{\"id\":\"a\",\"parentId\":\"a\",\"thread\":{\"messages\":[7,{},{"
    "\"id\":"
    "\"m\",\"type\":\"user\",\"content\":[]}]}}]}}",
    "{\"threadTree\":{\"currentId\":3,\"rootId\":\"x\",\"nodes\":[{\"thread\":{\"messages\":{}}}]},\"metadata\":[]}",
};

TEST(dialect_uap_doc_comes_back_with_mistakes)
{
    for (size_t i = 0; i < WB_LEN(odd); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf is = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", odd[i]);
        CHECK(test_convert(wb_cstr(odd[i]), &wd_document_uap, &wd_document_uap, &is, NULL, &err) == 0);
        ALWAYS(test_expect_str(wb_buf_str(&is), wb_cstr(odd[i]), __FILE__, __LINE__, "written back"));
    }
}

TEST_WITH(dialect_uap_doc_has_a_limit_of_nodes, .no_torture = "a long document")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    struct upp_err err;
    wb_buf_add(&text, UPP_STR("{\"threadTree\":{\"nodes\":["));
    for (unsigned i = 0; i <= WM_SESSION_NODES; i++)
        wb_buf_addf(&text, "%s{}", i ? "," : "");
    wb_buf_add(&text, UPP_STR("]}}"));
    CHECK(test_convert(wb_buf_str(&text), &wd_document_uap, &wd_document_uap, &out, NULL, &err) == -UPP_ELIMIT);
}

/* A moment is spelled in two ways, and each remembers its own: one document may use both. */
TEST(dialect_upp_doc_times_are_spelled_beside_those_of_others)
{
    WB_CLEANUP(wd_lowering_done) struct wd_lowering l = {.keep = WB_ARENA(1 << 16)};
    struct upp_message m = {.time_ms = 1767225600000};
    struct upp_str none = {0}, upp, pai;
    for (int i = 0; i < 2; i++) {
        upp = wd_upp_time(&l, none, m.time_ms);
        pai = wd_pai_time_made(&l, &m);
        EXPECT(wb_str_eq(upp, UPP_STR("2026-01-01T00:00:00.000Z")));
        EXPECT(wb_str_eq(pai, UPP_STR("2026-01-01T00:00:00Z")));
        EXPECT(wd_upp_time(&l, none, m.time_ms).p == upp.p && wd_pai_time_made(&l, &m).p == pai.p); /* as before */
    }
}

/* ---- What is lost ---------------------------------------------------------------------------- */

TEST(dialect_upp_doc_tells_what_is_lost)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), out = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    struct upp_err err;
    wb_buf_add(&text, UPP_STR("[{\"parts\":[{\"tool_name\":\"f\",\"args\":{},\"tool_call_id\":\"c\",\"part_kind\":"
                              "\"tool-call\"}],\"kind\":\"response\"},{\"parts\":[{\"tool_name\":\"f\",\"content\":"));
    for (int i = 0; i < 300; i++)
        wb_buf_addc(&text, i < 150 ? '[' : ']');
    wb_buf_add(&text, UPP_STR(",\"tool_call_id\":\"c\",\"part_kind\":\"tool-return\"}],\"kind\":\"request\"}]"));
    CHECK(test_convert(wb_buf_str(&text), NULL, &wd_document_upp, &out, &losses, &err) == 0);
    size_t found = 0;
    for (size_t k = 0; k < losses.list.n; k++)
        found += wb_str_eq(losses.list.p[k].what, UPP_STR("that a result is a value"));
    CHECK(found == 1);
}

/* ---- What is deep, and what is wide ---------------------------------------------------------- */

static void add_deep(struct wb_buf *b, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        wb_buf_add(b, UPP_STR("{\"a\":"));
    wb_buf_addc(b, '1');
    for (unsigned i = 0; i < depth; i++)
        wb_buf_addc(b, '}');
}

static void add_wide(struct wb_buf *b, unsigned n)
{
    wb_buf_add(b, UPP_STR("{\"list\":["));
    for (unsigned i = 0; i < n; i++)
        wb_buf_addf(b, "%s%u", i ? "," : "", i);
    wb_buf_add(b, UPP_STR("]}"));
}

#define AT(message) message ",\"timestamp\":\"2026-01-01T00:00:00.000Z\"}"

/* Messages with JSON inside: it stands for the '#'. */
static const char *const with_json[] = {
    "{\"id\":\"m\",\"type\":\"tool_result\",\"content\":[],\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"results\":[{"
    "\"toolCallId\":\"c\",\"result\":#,\"isError\":false}]}",
    "{\"id\":\"m\",\"type\":\"assistant\",\"content\":[],\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"toolCalls\":[{"
    "\"toolCallId\":\"c\",\"toolName\":\"f\",\"arguments\":#}]}",
    AT("{\"id\":\"m\",\"type\":\"user\",\"content\":[],\"metadata\":#"),
    AT("{\"id\":\"m\",\"type\":\"user\",\"content\":[],\"metadata\":{\"a\":1,\"weft\":{\"agent\":#,\"b\":2}}"),
    AT("{\"id\":\"m\",\"type\":\"user\",\"content\":[],\"metadata\":{\"weft\":{\"b\":#,\"agent\":\"x\"}}"),
    AT("{\"id\":\"m\",\"type\":\"user\",\"content\":[{\"type\":\"binary\",\"data\":\"AAAA\",\"mimeType\":\"a/b\","
       "\"metadata\":#}]"),
    AT("{\"id\":\"m\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"x\"}],\"metadata\":{\"weft\":{"
       "\"parts\":{\"0\":{\"metadata\":#}},\"events\":[{\"said\":#}]}}"),
};

static bool comes_back_with(const char *message, struct upp_str json)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err err = {0};
    wb_buf_add(&text, UPP_STR("{\"id\":\"t\",\"messages\":["));
    for (const char *c = message; *c; c++)
        wb_buf_add(&text, *c == '#' ? json : wb_str(c, 1));
    wb_buf_add(&text, UPP_STR("],\"createdAt\":\"2026-01-01T00:00:00Z\",\"updatedAt\":\"2026-01-01T00:00:00Z\"}"));
    return EXPECT(test_convert(wb_buf_str(&text), &wd_document_upp, &wd_document_upp, &is, NULL, &err) == 0) &&
           test_expect_str(wb_buf_str(&is), wb_buf_str(&text), __FILE__, __LINE__, "written back");
}

/* Around the depth that a message can have, and with more values than may be taken for shallow without a look. */
TEST_WITH(dialect_upp_doc_comes_back_deep_and_wide, .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (size_t i = 0; i < WB_LEN(with_json); i++)
        for (unsigned n = 118; n < 134; n++) {
            WB_CLEANUP(wb_buf_done) struct wb_buf deep = WB_BUF(ROOM), wide = WB_BUF(ROOM);
            add_deep(&deep, n);
            add_wide(&wide, n);
            test_note("%s, %u", with_json[i], n);
            CHECK(comes_back_with(with_json[i], wb_buf_str(&deep)));
            CHECK(comes_back_with(with_json[i], wb_buf_str(&wide)));
        }
}

/* One message of the model, with this metadata, as UPP's; how many losses there were. */
static size_t lost_with(struct upp_str metadata, struct wb_buf *out)
{
    WB_CLEANUP(wm_doc_done) struct wm_doc d = {.id = UPP_STR("t")};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    struct upp_err err;
    struct wm_doc_entry *e = wm_doc_entry_add(&d, &err);
    if (!e)
        return SIZE_MAX;
    e->e.message = (struct upp_message){.role = UPP_ROLE_USER, .id = UPP_STR("m"), .metadata = metadata};
    if (wm_doc_divide(&d, &err) < 0 || wd_doc_write(&d, &wd_document_upp, NULL, out, &losses, &err) < 0)
        return SIZE_MAX;
    return losses.list.n;
}

TEST(dialect_upp_doc_metadata_has_a_depth)
{
    static const struct {
        const char *before, *behind;
        unsigned depth;
        size_t lost;
        const char *is; /* what of it has to be there */
    } rows[] = {{"", "", 127, 0, "\"metadata\":{\"a\":"},
                {"", "", 128, 1, "\"content\":[],\"timestamp\""},
                {"{\"weft\":{\"b\":", "}}", 125, 0, "\"metadata\":{\"weft\":{\"b\":"},
                {"{\"weft\":{\"b\":", "}}", 126, 1, "\"content\":[],\"timestamp\""},
                {"{\"weft\":{\"agent\":", "}}", 140, 0, "\"content\":[],\"timestamp\""},
                {"{\"weft\":{\"agent\":", "},\"p\":1}", 140, 0, "\"metadata\":{\"p\":1},"},
                {"{\"weft\":{\"agent\":", ",\"q\":2},\"p\":1}", 140, 0, "\"metadata\":{\"p\":1,\"weft\":{\"q\":2}},"},
                {"[", "]", 1, 0, "\"content\":[],\"timestamp\""},
                {"{\"p\":", "", 1, 0, "\"content\":[],\"timestamp\""}};
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf json = WB_BUF(ROOM), out = WB_BUF(ROOM);
        wb_buf_add(&json, wb_cstr(rows[i].before));
        add_deep(&json, rows[i].depth);
        wb_buf_add(&json, wb_cstr(rows[i].behind));
        test_note("%s, %u", rows[i].before, rows[i].depth);
        CHECK(!json.failed);
        CHECK(lost_with(wb_buf_str(&json), &out) == rows[i].lost);
        CHECK(wb_str_find(wb_buf_str(&out), wb_cstr(rows[i].is), 0) != SIZE_MAX);
    }
}

/* ---- What is refused ------------------------------------------------------------------------- */

#define TIMES        "\"createdAt\":\"2026-01-01T00:00:00Z\",\"updatedAt\":\"2026-01-01T00:00:00Z\""
#define THREAD(list) "{\"id\":\"t\",\"messages\":[" list "]," TIMES "}"
#define USER(id)     "{\"id\":\"" id "\",\"type\":\"user\",\"content\":[],\"timestamp\":\"2026-01-01T00:00:00Z\"}"
#define SESSION(tree, checkpoints)                                                                                     \
    "{\"version\":\"1.0.0\",\"id\":\"s\",\"agentId\":\"a\"," TIMES ",\"threadTree\":" tree                             \
    ",\"checkpoints\":" checkpoints "}"
#define TREE(nodes) "{\"rootId\":\"r\",\"currentId\":\"r\",\"nodes\":[" nodes "]}"
#define NODE(id, parent, list)                                                                                         \
    "{\"id\":\"" id "\",\"parentId\":" parent ",\"thread\":{\"id\":\"t\",\"messages\":[" list "]},\"children\":[]}"

static const struct {
    const struct wd_document_ops *ops;
    const char *document, *problems;
} rules[] = {
    {&wd_document_upp, THREAD(""), ""},
    {&wd_document_upp, "[]", "error  UPP-5\n"},
    {&wd_document_upp, "{}", "error  UPP-5\nerror  UPP-5\nerror  UPP-5\nerror  UPP-5\n"},
    {&wd_document_upp, "{\"id\":\"\",\"createdAt\":\"x\",\"updatedAt\":1,\"messages\":{}}",
     "error /id UPP-5\nerror /createdAt UPP-5\nerror /updatedAt UPP-5\nerror /messages UPP-5\n"},
    {&wd_document_upp, THREAD("7"), "error /messages/0 UPP-2\n"},
    {&wd_document_upp, THREAD("{\"id\":\"m\",\"type\":\"user\",\"content\":[{\"type\":\"new\"}],\"timestamp\":\"x\"}"),
     "error /messages/0/content/0/type UPP-2\n"},
    {&wd_document_upp, THREAD(USER("m") "," USER("m")), "warning /messages/1/id UPP-5\n"},
    {&wd_document_upp,
     THREAD(
         "{\"id\":\"m\",\"type\":\"tool_result\",\"content\":[],\"timestamp\":\"2026-01-01T00:00:00Z\",\"results\":[{"
         "\"toolCallId\":\"c\",\"result\":1}]}"),
     "warning /messages/0/results UPP-7\n"},
    {&wd_document_uap, SESSION(TREE(NODE("r", "null", USER("m"))), "[]"), ""},
    {&wd_document_uap, "[]", "error  UAP-13.1\n"},
    {&wd_document_uap,
     "{\"version\":\"2.0.0\",\"id\":\"s\",\"agentId\":\"a\"," TIMES ",\"threadTree\":[],\"checkpoints\":[]}",
     "error /version UAP-13.6c\nerror /threadTree UAP-13.1\n"},
    {&wd_document_uap,
     "{\"id\":\"s\",\"createdAt\":\"2026-01-01T00:00:00\",\"updatedAt\":\"2026-01-01T00:00:00Z\",\"threadTree\":" TREE(
         NODE("r", "null", "")) "}",
     "error  UAP-13.6c\nerror /createdAt UAP-6.5d\nerror  UAP-13.1\n"},
    {&wd_document_uap, SESSION(TREE("7," NODE("r", "null", "7")), "[]"),
     "error /threadTree/nodes/0 UAP-13.1\nerror /threadTree/nodes/1/thread/messages/0 UPP-2\n"},
    {&wd_document_uap, SESSION(TREE(NODE("r", "\"x\"", "")), "[]"), "error /threadTree/nodes/0/parentId UAP-13.7\n"},
    {&wd_document_uap, SESSION(TREE(NODE("r", "null", "")), "[7]"), "error /checkpoints/0 UAP-13.7\n"},
};

static int problems_of(const struct wd_document_ops *of, struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    int r = wd_document_validate(of, text, &a, &p, &ops, err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* covers: UAP-13.6c, UAP-13.7/1 */
TEST(dialect_upp_doc_rules)
{
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", rules[i].document);
        CHECK(problems_of(rules[i].ops, wb_cstr(rules[i].document), &out, &err) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}
