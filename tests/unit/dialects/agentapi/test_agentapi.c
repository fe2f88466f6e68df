/* Messages of the Agent API Protocol: what they become, their way through a thread, what is refused. */
#include "dialects/agentapi/agentapi.h"

#include <stdlib.h>

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

/* All that was said, called and answered, in order, with whose it was: a line each, and one for each entry. */
static void tell(const struct wm_doc *doc, bool entries, bool usage, struct wb_buf *out)
{
    for (size_t i = 0; i < doc->entries.n; i++) {
        const struct wm_doc_entry *e = &doc->entries.p[i];
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("user") : doc->agents.p[e->agent].name;
        if (entries)
            wb_buf_addf(out, "%u %.*s%s%s\n", e->e.message.role, UPP_FMT(who), e->e.message.interrupted ? " cut" : "",
                        e->said.has_usage && usage ? " usage" : "");
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(out, "%.*s event %.*s\n", UPP_FMT(who), UPP_FMT(e->e.data));
        for (size_t k = 0; k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, "%.*s %u%s%s %.*s %.*s %.*s %.*s\n", UPP_FMT(who), p->kind, p->is_error ? "!" : "",
                        p->cut ? "/" : "", UPP_FMT(p->id), UPP_FMT(p->name),
                        UPP_FMT(p->media ? p->media->data : UPP_STR("")), UPP_FMT(p->text));
        }
    }
}

static int told(struct upp_str text, const struct wd_document_ops *ops, bool entries, bool usage, struct wb_buf *out,
                struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .forget = true), err);
    if (r >= 0)
        tell(&d.doc, entries, usage, out);
    return r < 0 ? r : wb_buf_check(out, err);
}

static bool keeps(const struct wd_document_ops *ops, const char *path)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), aap = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err err = {0};
    test_note("%s", path);
    if (!text || told(wb_str(text, n), ops, true, false, &was, &err) < 0 ||
        test_convert(wb_str(text, n), ops, &wd_document_agentapi, &aap, NULL, &err) < 0 ||
        told(wb_buf_str(&aap), NULL, true, false, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

TEST(dialect_agentapi_keeps_what_others_say)
{
    CHECK(keeps(&wd_document_thread, "golden/thread/weather.json"));
    CHECK(keeps(&wd_document_thread, "golden/thread/enrichment.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-1.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-2.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/v0.4.json"));
}

/* ---- What they become ------------------------------------------------------------------------------------------ */

#define TEXT(s)       "{\"type\":\"text\",\"text\":\"" s "\"}"
#define M(type, rest) "{\"object\":\"message\",\"type\":\"" type "\"," rest "}"
#define SAID(s)       M("message", "\"role\":\"assistant\",\"content\":[" TEXT(s) "]")
#define THOUGHT(s)    M("reasoning", "\"role\":\"assistant\",\"content\":[" TEXT(s) "]")
#define CALL(id)                                                                                                       \
    M("plugin_call", "\"role\":\"assistant\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"" id              \
                     "\",\"name\":\"f\",\"arguments\":\"{}\"}}]")
#define OUTPUT(id, text)                                                                                               \
    M("plugin_call_output",                                                                                            \
      "\"role\":\"tool\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"" id "\",\"output\":" text "}}]")

static const struct {
    const char *document, *told;
} becomes[] = {
    /* What was thought, said and called is one entry; results that follow each other are one. */
    {"[" THOUGHT("t") "," SAID("s") "," CALL("a") "," CALL("b") "," OUTPUT("a", "\"1\"") "," OUTPUT("b", "\"{\"") "]",
     "2 agent\nagent 2    t\nagent 1    s\nagent 8 a f  {}\nagent 8 b f  {}\n"
     "3 agent\nagent 9 a   1\nagent 9 b   \"{\"\n"},
    /* Outputs are JSON, however they are spelled; and texts where they are none. */
    {"[" OUTPUT("a", "\"{\\\"k\\\":[1]}\"") "," OUTPUT("b", "\"{ \\\"\\\\u006b\\\": [1]}\"") "," OUTPUT("c",
                                                                                                        "\"[1\"") "]",
     "3 agent\nagent 9 a   {\"k\":[1]}\nagent 9 b   {\"k\":[1]}\nagent 9 c   \"[1\"\n"},
    /* A new one begins where the order does. */
    {"[" SAID("s") "," SAID("s") "," CALL("a") "," THOUGHT("t") "]",
     "2 agent\nagent 1    s\n2 agent\nagent 1    s\nagent 8 a f  {}\n2 agent\nagent 2    t\n"},
    {"[" THOUGHT("t") ",{\"type\":\"message\",\"role\":\"assistant\",\"content\":[" TEXT(
         "s") "],\"metadata\":{\"weft\":{\"agent\":\"b\"}}}]",
     "2 agent\nagent 2    t\n2 b\nb 1    s\n"},
    {"[{\"object\":\"message\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[" TEXT(
         "s") "],\"usage\":{\"input_tokens\":3}}," CALL("a") "]",
     "2 agent usage\nagent 1    s\n2 agent\nagent 8 a f  {}\n"},
    /* A heartbeat is nothing. */
    {"[" SAID("s") "," M("heartbeat", "\"role\":\"assistant\"") "," CALL("a") "]",
     "2 agent\nagent 1    s\nagent 8 a f  {}\n"},
    /* Types that are roles; roles that are missing. */
    {"[" M("assistant", "\"content\":[" TEXT("s") "]") "," M("message", "\"content\":[" TEXT("u") "]") "]",
     "2 agent\nagent 1    s\n1 user\nuser 1    u\n"},
    {"{\"object\":\"response\",\"output\":[" M("message", "\"content\":[" TEXT("s") "]") "]}",
     "2 agent\nagent 1    s\n"},
    {"[" M("message", "\"role\":\"assistant\",\"status\":\"canceled\",\"content\":[" TEXT("s") "]") "]",
     "2 agent cut\nagent 1/    s\n"},
    {"[" M("plugin_call_output", "\"status\":\"failed\",\"content\":[{\"type\":\"data\",\"data\":{\"call_id\":\"a\","
                                 "\"output\":{\"a\":1}}}]") "]",
     "3 agent\nagent 9! a   {\"a\":1}\n"},
};

/* Arguments as a writer of JSON would have written them, and others. */
TEST(dialect_agentapi_knows_plain_arguments)
{
    static const struct {
        const char *text;
        bool plain;
    } cases[] = {
        {"{}", true},
        {"{\"k\":[1,\"\xc3\xa4\\n\"]}", true},
        {"{\"k\":\"\\ud83d\"}", true},
        {"{ }", false},
        {"{\"k\": 1}", false},
        {"{\"k\":\"\\u0041\"}", false},
        {"[1]", false},
        {"\"k\"", false},
        {"{\"k\":1", false},
        {"", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        bool plain;
        struct upp_err err;
        test_note("%s", cases[i].text);
        CHECK(wd_aap_is_canonical(wb_cstr(cases[i].text), &plain, &err) == 0);
        CHECK(plain == cases[i].plain);
    }
}

/* covers: AAP-1, AAP-4/1, AAP-13/3 */
TEST(dialect_agentapi_answers_are_entries)
{
    for (size_t i = 0; i < WB_LEN(becomes); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", becomes[i].document);
        CHECK(told(wb_cstr(becomes[i].document), &wd_document_agentapi, true, true, &out, &err) >= 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(becomes[i].told));
    }
}

/* ---- Messages that nobody wrote -------------------------------------------------------------------------------- */

static const char *const some_contents[] = {
    TEXT("a"),
    "{\"type\":\"text\",\"text\":\"b\",\"status\":\"incomplete\",\"x\":1.50}",
    "{\"text\":null,\"type\":\"text\"}",
    "{\"type\":\"refusal\",\"refusal\":\"r\"}",
    "{\"type\":\"image\",\"image_url\":\"data:image/png;base64,AAAA\"}",
    "{\"type\":\"audio\",\"data\":\"AAAA\",\"format\":\"mp3\"}",
    "{\"type\":\"file\",\"file_data\":\"AAAA\",\"filename\":\"f\"}",
    "{\"type\":\"data\",\"data\":{\"call_id\":\"1\",\"name\":\"f\",\"arguments\":\"{\"}}",
    "{\"type\":\"data\",\"data\":{\"call_id\":\"2\",\"arguments\":{\"a\":[1]},\"output\":null}}",
    "{\"type\":\"data\",\"data\":{\"call_id\":\"3\",\"output\":\" {\\\"a\\\": 1}\"}}",
    "{\"type\":\"data\",\"data\":[]}",
    "{\"type\":\"hologram\"}",
    "{\"type\":7}",
    "7",
};
static const char *const some_rest[] = {
    "",
    ",\"metadata\":null",
    ",\"metadata\":{\"a\":1}",
    ",\"metadata\":{\"weft\":{\"agent\":\"x\",\"time\":\"2026-01-01T00:00:00Z\",\"joins\":true}}",
    ",\"metadata\":{\"weft\":{\"agent\":null,\"joins\":false,\"parts\":[null,{\"p\":1},7]}}",
    ",\"usage\":{},\"metadata\":{\"weft\":{\"agent\":\"y\",\"name\":\"Y\",\"joins\":true,\"id\":\"i\"}}",
    ",\"status\":\"incomplete\",\"usage\":null",
    ",\"status\":\"failed\",\"code\":\"c\"",
};
static const char *const some_types[] = {"message",       "message",     "reasoning",      "plugin_call",
                                         "function_call", "heartbeat",   "weft_event",     "plugin_call_output",
                                         "mcp_call",      "mcp_strange", "mcp_call_output"};

static unsigned pick(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % n);
}

static void invent(uint64_t seed, struct wb_buf *out)
{
    static const char *const roles[] = {"user", "assistant", "assistant", "system"};
    static const char *const wraps[] = {"[", "[", "{\"id\":\"s\",\"user_id\":\"u\",\"messages\":[",
                                        "{\"object\":\"response\",\"output\":["};
    unsigned n = 1 + pick(&seed, 7), wrap = pick(&seed, WB_LEN(wraps));
    wb_buf_add(out, wb_cstr(wraps[wrap]));
    for (unsigned i = 0; i < n; i++) {
        wb_buf_addf(out, "%s{\"object\":\"message\",\"id\":\"msg_%u\",\"type\":\"%s\",\"role\":\"%s\"", i ? "," : "",
                    pick(&seed, 8), i ? some_types[pick(&seed, WB_LEN(some_types))] : "message",
                    roles[pick(&seed, WB_LEN(roles))]);
        wb_buf_addf(out, "%s,\"content\":[", some_rest[pick(&seed, WB_LEN(some_rest))]);
        for (unsigned k = pick(&seed, 5); k; k--)
            wb_buf_addf(out, "%s%s", some_contents[pick(&seed, WB_LEN(some_contents))], k > 1 ? "," : "");
        wb_buf_add(out, UPP_STR("]}"));
    }
    wb_buf_add(out, wrap < 2 ? UPP_STR("]") : UPP_STR("]}"));
}

/* covers: AAP-17, AAP-2/2, AAP-4/2, AAP-5/1, AAP-20/1 */
TEST_WITH(dialect_agentapi_comes_back_through_a_thread,
          .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 1000; seed++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), own = WB_BUF(ROOM), thread = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf back = WB_BUF(ROOM);
        struct upp_err err;
        invent(seed, &was);
        test_note("seed %u: %.*s", (unsigned)seed, UPP_FMT(wb_buf_str(&was)));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_agentapi, &wd_document_agentapi, &own, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&own), wb_buf_str(&was));
        CHECK(test_convert(wb_buf_str(&was), &wd_document_agentapi, &wd_document_thread, &thread, NULL, &err) == 0);
        CHECK(test_convert(wb_buf_str(&thread), NULL, &wd_document_agentapi, &back, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&back), wb_buf_str(&was));
    }
}

/* ---- Models that nobody wrote ---------------------------------------------------------------------------------- */

static void invent_part(uint64_t *seed, uint8_t role, struct upp_part *p)
{
    static const struct upp_media media[] = {
        {.source = UPP_SOURCE_BASE64, .data = UPP_STR_INIT("AAAA"), .mime = UPP_STR_INIT("image/png")},
        {.source = UPP_SOURCE_URL, .data = UPP_STR_INIT("https://example.org/x")},
    };
    static const uint8_t said[] = {UPP_PART_TEXT, UPP_PART_TEXT,  UPP_PART_REASONING, UPP_PART_CALL,
                                   UPP_PART_CALL, UPP_PART_IMAGE, UPP_PART_DOCUMENT,  UPP_PART_RESULT};
    static const char *const texts[] = {"a", "", "{\"a\":1}", "{", "\"q\""};
    p->kind = role == UPP_ROLE_TOOL   ? UPP_PART_RESULT
              : role == UPP_ROLE_USER ? said[pick(seed, 2)]
                                      : said[pick(seed, WB_LEN(said))];
    if (p->kind == UPP_PART_IMAGE || p->kind == UPP_PART_DOCUMENT) {
        p->media = &media[pick(seed, 2)];
        return;
    }
    p->text = wb_cstr(texts[pick(seed, WB_LEN(texts))]);
    if (p->kind == UPP_PART_RESULT)
        p->text = wb_cstr(texts[2 + 2 * pick(seed, 2)]);
    if (p->kind == UPP_PART_RESULT || p->kind == UPP_PART_CALL) {
        p->id = pick(seed, 2) ? UPP_STR("c1") : UPP_STR("c2");
        p->name = UPP_STR("f");
        p->is_error = p->kind == UPP_PART_RESULT && !pick(seed, 3);
    }
    p->cut = p->kind != UPP_PART_RESULT && !pick(seed, 6);
}

static int invent_doc(uint64_t seed, struct wb_arena *a, struct wm_doc *doc, struct upp_err *err)
{
    static const uint8_t roles[] = {UPP_ROLE_USER, UPP_ROLE_ASSISTANT, UPP_ROLE_ASSISTANT, UPP_ROLE_TOOL, 0};
    uint32_t agent;
    int r = wm_doc_agent_add(doc, &(struct wm_doc_agent){.id = UPP_STR("a"), .name = UPP_STR("A")}, &agent, err);
    if (r >= 0)
        r = wm_doc_agent_add(doc, &(struct wm_doc_agent){.id = UPP_STR("b"), .name = UPP_STR("b")}, &agent, err);
    for (unsigned n = 1 + pick(&seed, 8); r >= 0 && n; n--) {
        struct wm_doc_entry *e = wm_doc_entry_add(doc, err);
        if (!e)
            return err->code ? -err->code : -UPP_ENOMEM;
        e->e.kind = WM_ENTRY_MESSAGE;
        e->e.audience = WM_AUDIENCE_ALL;
        e->e.message.role = roles[pick(&seed, WB_LEN(roles))];
        e->agent = pick(&seed, 2);
        if (e->e.message.role == UPP_ROLE_USER && pick(&seed, 4))
            e->agent = WM_NO_AGENT;
        if (!e->e.message.role) {
            e->e.kind = WM_ENTRY_EVENT;
            e->e.data = UPP_STR("{\"type\":\"t\",\"data\":{\"x\":null}}");
            continue;
        }
        e->said.has_usage = e->e.message.role == UPP_ROLE_ASSISTANT && !pick(&seed, 3);
        e->e.message.n_parts = pick(&seed, 5);
        e->e.message.parts = wb_new_n(a, struct upp_part, e->e.message.n_parts + 1);
        r = wb_arena_check(a, err);
        for (size_t i = 0; r >= 0 && i < e->e.message.n_parts; i++)
            invent_part(&seed, e->e.message.role, &e->e.message.parts[i]);
    }
    return r;
}

TEST_WITH(dialect_agentapi_says_all_that_models_say, .no_torture = "a thousand documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wm_doc_done) struct wm_doc doc = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), out = WB_BUF(ROOM), is = WB_BUF(ROOM);
        struct upp_err err;
        CHECK(invent_doc(seed, &a, &doc, &err) >= 0 && wm_doc_divide(&doc, &err) >= 0);
        tell(&doc, false, false, &was);
        CHECK(wd_doc_write(&doc, &wd_document_agentapi, NULL, &out, NULL, &err) >= 0);
        test_note("seed %u: %.*s", (unsigned)seed, UPP_FMT(wb_buf_str(&out)));
        CHECK(told(wb_buf_str(&out), &wd_document_agentapi, false, false, &is, &err) >= 0);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

/* ---- What is lost ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *document, *what;
} losses_of[] = {
    {"{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"title\":\"T\",\"turns\":[]}",
     "the thread's title, metadata and parent"},
    {"[{\"parts\":[{\"content\":[{\"url\":\"https://x/y\",\"media_type\":\"image/png\",\"kind\":\"image-url\"}],"
     "\"part_kind\":\"user-prompt\"}],\"kind\":\"request\"}]",
     "the media type of what is at an address"},
};

TEST(dialect_agentapi_tells_what_is_lost)
{
    for (size_t i = 0; i < WB_LEN(losses_of); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err err;
        size_t found = 0;
        CHECK(test_convert(wb_cstr(losses_of[i].document), NULL, &wd_document_agentapi, &out, &losses, &err) == 0);
        for (size_t k = 0; k < losses.list.n; k++)
            found += wb_str_eq(losses.list.p[k].what, wb_cstr(losses_of[i].what));
        test_note("%s", losses_of[i].what);
        CHECK(found == 1);
    }
}

/* ---- What is refused ------------------------------------------------------------------------------------------- */

#define ONE(rest)     "[{\"object\":\"message\"," rest "}]"
#define CONTENT(rest) ONE("\"content\":[{" rest "}]")
#define DATA(type, d) ONE("\"type\":\"" type "\",\"content\":[{\"type\":\"data\",\"data\":{" d "}}]")
#define ASK(rest)     "{\"input\":[]," rest "}"
#define C             "/0/content/0"

static const struct {
    const char *document, *problems;
} rules[] = {
    {"7", "error  AAP-6\n"},
    {"{}", "error  AAP-6\n"},
    {"[]", ""},
    {"[7]", "error /0 AAP-6\n"},
    {"[{\"object\":\"content\"}]", "error /0/object AAP-6\n"},
    {ONE("\"role\":\"bot\""), "error /0/role AAP-1\n"},
    {ONE("\"role\":\"tool\""), ""},
    {ONE("\"role\":null,\"content\":null"), ""},
    {ONE("\"type\":\"hologram\""), "warning /0/type AAP-2\n"},
    {ONE("\"type\":\"assistant\""), "warning /0/type AAP-2\n"},
    {ONE("\"status\":\"paused\""), "warning /0/status AAP-3\n"},
    {ONE("\"status\":\"unknown\""), "warning /0/status AAP-3\n"},
    {ONE("\"status\":1"), "error /0/status AAP-6\n"},
    {ONE("\"id\":\"m1\""), "warning /0/id AAP-6\n"},
    {ONE("\"sequence_number\":\"7\""), ""},
    {ONE("\"sequence_number\":1.5"), "error /0/sequence_number AAP-6\n"},
    {ONE("\"content\":{}"), "error /0/content AAP-6\n"},
    {ONE("\"error\":{\"code\":\"c\"}"), "error /0/error AAP-8\n"},
    {ONE("\"content\":[7]"), "error " C " AAP-5\n"},
    {CONTENT("\"text\":\"t\""), "error " C " AAP-5\n"},
    {CONTENT("\"type\":\"cube\""), "error " C "/type AAP-5\n"},
    {CONTENT("\"type\":\"text\",\"text\":7"), "error " C "/text AAP-5\n"},
    {CONTENT("\"type\":\"image\",\"image_url\":{}"), "error " C "/image_url AAP-5\n"},
    {CONTENT("\"type\":\"audio\",\"data\":{}"), "error " C "/data AAP-5\n"},
    {CONTENT("\"type\":\"video\",\"video_url\":1"), "error " C "/video_url AAP-5\n"},
    {CONTENT("\"type\":\"file\",\"file_id\":1"), "error " C "/file_id AAP-5\n"},
    {CONTENT("\"type\":\"refusal\",\"refusal\":1"), "error " C "/refusal AAP-5\n"},
    {CONTENT("\"type\":\"data\",\"data\":\"x\""), "error " C "/data AAP-5\n"},
    {CONTENT("\"type\":\"text\",\"index\":\"0\",\"delta\":1,\"msg_id\":2"),
     "error " C "/index AAP-5\nerror " C "/delta AAP-5\nerror " C "/msg_id AAP-5\n"},
    {ONE("\"type\":\"plugin_call\",\"content\":[{\"type\":\"text\"}]"), "warning " C " AAP-4\n"},
    {DATA("function_call", "\"arguments\":{}"), "error " C "/data/arguments AAP-4\n"},
    {DATA("function_call", "\"arguments\":\"{\""), "warning " C "/data/arguments AAP-4\n"},
    {DATA("mcp_call_output", "\"output\":\"\""), "error " C "/data AAP-4\n"},
    {DATA("mcp_approval_request", "\"id\":\"a\""), "error " C "/data AAP-4\n"},
    {DATA("mcp_approval_response", "\"approval_request_id\":\"a\",\"approve\":\"yes\""),
     "error " C "/data/approve AAP-4\n"},
    {DATA("mcp_list_tools", "\"tools\":{}"), "error " C "/data/tools AAP-4\n"},
    {ASK("\"n\":0"), "error /n AAP-7\n"},
    {ASK("\"n\":5"), ""},
    {ASK("\"n\":6"), "error /n AAP-7\n"},
    {ASK("\"stop\":[1]"), "error /stop AAP-7\n"},
    {ASK("\"stream\":\"yes\",\"top_p\":\"1\""), "error /stream AAP-7\nerror /top_p AAP-7\n"},
    {ASK("\"tools\":[7]"), "error /tools/0 AAP-4\n"},
    {ASK("\"tools\":[{\"type\":\"plugin\",\"name\":\"f\",\"parameters\":{}}]"), "error /tools/0/type AAP-4\n"},
    {ASK("\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\",\"parameters\":{\"type\":\"array\"}}}]"),
     "error /tools/0/function/parameters/type AAP-4\n"},
    {ASK("\"tools\":[{\"parameters\":{}}]"), "error /tools/0 AAP-4\n"},
    {"{\"object\":\"response\",\"output\":[],\"created_at\":\"now\"}", "error /created_at AAP-8\n"},
    {"{\"object\":\"answer\",\"output\":[]}", "error /object AAP-8\n"},
    {"{\"messages\":[]}", "error  AAP-6\n"},
};

static int problems_of(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    int r = wd_document_validate(&wd_document_agentapi, text, &a, &p, &ops, err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* covers: AAP-1, AAP-6, AAP-2/1, AAP-4/1/2, AAP-5/1/2 */
TEST(dialect_agentapi_rules)
{
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", rules[i].document);
        CHECK(problems_of(wb_cstr(rules[i].document), &out, &err) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}

/* covers: AAP-3/1/2 */
TEST(dialect_agentapi_statuses_follow_each_other)
{
    static const struct {
        const char *from, *to;
        bool may;
    } rows[] = {
        {"created", "in_progress", true},    {"created", "rejected", true},     {"created", "completed", false},
        {"in_progress", "completed", true},  {"in_progress", "canceled", true}, {"in_progress", "rejected", false},
        {"in_progress", "incomplete", true}, {"completed", "failed", false},    {"failed", "in_progress", false},
        {"queued", "in_progress", true},     {"created", "queued", true},       {"canceled", "completed", false},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        test_note("%s to %s", rows[i].from, rows[i].to);
        CHECK(wd_aap_may_follow(wd_aap_status(wb_cstr(rows[i].from)), wd_aap_status(wb_cstr(rows[i].to))) ==
              rows[i].may);
    }
    CHECK(wd_aap_status(UPP_STR("asleep")) == WD_AAP_UNKNOWN);
    CHECK_STR(wb_cstr(wd_aap_status_word(WD_AAP_CANCELED)), UPP_STR("canceled"));
}
