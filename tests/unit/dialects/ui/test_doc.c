/* UI messages: what they become, their way through a thread, events, versions, what is refused. */
#include <stdlib.h>

#include "dialects/core/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

static int convert(struct upp_str text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                   unsigned target, struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, from, text, NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, UPP_OPTS(wd_convert_opts, .target = target), out, losses, err);
}

/* ---- What is kept ---------------------------------------------------------------------------------------------- */

static int compact(struct upp_str json, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val *v;
    int r = wj_read(&a, json, NULL, &v, err);
    return r < 0 ? r : wj_write(v, out, err);
}

/* All that was said, called and answered, in order, with whose it was: a line each. */
static int told(struct upp_str text, const struct wd_document_ops *ops, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, ops, text, UPP_OPTS(wd_convert_opts, .forget = true), err);
    for (size_t i = 0; r >= 0 && i < d.doc.entries.n; i++) {
        const struct wm_doc_entry *e = &d.doc.entries.p[i];
        struct upp_str who = e->agent == WM_NO_AGENT ? UPP_STR("user") : d.doc.agents.p[e->agent].name;
        if (e->e.kind == WM_ENTRY_EVENT)
            wb_buf_addf(out, "%.*s event %.*s\n", UPP_FMT(who), UPP_FMT(e->e.data));
        for (size_t k = 0; r >= 0 && k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            wb_buf_addf(out, "%.*s %u%u %.*s %.*s %.*s ", UPP_FMT(who), p->kind, p->is_error, UPP_FMT(p->id),
                        UPP_FMT(p->name), UPP_FMT(p->media ? p->media->data : UPP_STR("")));
            if (p->kind != UPP_PART_CALL || !p->text.n)
                wb_buf_add(out, p->text);
            else
                r = compact(p->text, out, err);
            wb_buf_add(out, UPP_STR("\n"));
        }
    }
    return r < 0 ? r : wb_buf_check(out, err);
}

static bool keeps(const struct wd_document_ops *ops, const char *path)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read(path, &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), ui = WB_BUF(ROOM), back = WB_BUF(ROOM), is = WB_BUF(ROOM);
    struct upp_err err = {0};
    test_note("%s", path);
    if (!text || told(wb_str(text, n), ops, &was, &err) < 0 ||
        convert(wb_str(text, n), ops, &wd_document_ui, 0, &ui, NULL, &err) < 0 ||
        convert(wb_buf_str(&ui), NULL, ops, 0, &back, NULL, &err) < 0 || told(wb_buf_str(&back), ops, &is, &err) < 0) {
        test_note("%s: %s", err.where, err.msg);
        return EXPECT(!"it can be read and written");
    }
    return test_expect_str(wb_buf_str(&is), wb_buf_str(&was), __FILE__, __LINE__, "what was said");
}

/* covers: TP-34/1 */
TEST(dialect_ui_doc_keeps_what_threads_say)
{
    CHECK(keeps(&wd_document_thread, "golden/thread/weather.json"));
    CHECK(keeps(&wd_document_thread, "golden/thread/enrichment.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-1.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/example-2.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/v0.4.json"));
    CHECK(keeps(&wd_document_pydantic, "golden/pydantic/every.json"));
}

/* What pydantic and ui read in each other's residue (kept.h); tests/cli/pydantic_ui.py compares all of it. */
TEST(dialect_ui_doc_and_pydantic_have_system_prompts)
{
    size_t n = 0;
    WB_CLEANUP(freep) char *text = test_read("golden/ui/documents/every.json", &n);
    WB_CLEANUP(wb_buf_done) struct wb_buf pai = WB_BUF(ROOM), back = WB_BUF(ROOM);
    struct upp_err err = {0};
    CHECK(text);
    CHECK_INT(convert(wb_str(text, n), &wd_document_ui, &wd_document_pydantic, 0, &pai, NULL, &err), 0);
    CHECK(wb_str_find(wb_buf_str(&pai),
                      UPP_STR("\"metadata\":{\"app\":{\"tenant\":7},\"weft\":{\"id\":\"u1\","
                              "\"system\":\"s1\"}}"),
                      0) != SIZE_MAX);
    CHECK_INT(convert(wb_buf_str(&pai), &wd_document_pydantic, &wd_document_ui, 0, &back, NULL, &err), 0);
    CHECK(wb_str_starts(wb_buf_str(&back), UPP_STR("[{\"id\":\"s1\",\"role\":\"system\",\"parts\":[{\"type\":\"text\","
                                                   "\"text\":\"Be brief.\"},")));
    CHECK(wb_str_find(wb_buf_str(&back), UPP_STR("\"approval-responded\""), 0) != SIZE_MAX);
}

/* ---- Messages that nobody wrote -------------------------------------------------------------- */

static const char *const some_parts[] = {
    "{\"type\":\"step-start\"}",
    "{\"type\":\"text\",\"text\":\"a\"}",
    "{\"type\":\"text\",\"text\":\"b\",\"state\":\"done\"}",
    "{\"text\":\"c\",\"state\":\"streaming\",\"type\":\"text\",\"providerMetadata\":{\"p\":{\"q\":1.50}}}",
    "{\"type\":\"reasoning\",\"text\":\"r\",\"state\":\"done\",\"providerMetadata\":{\"anthropic\":{\"signature\":"
    "\"s\"}}}",
    "{\"type\":\"reasoning\",\"id\":\"i\",\"text\":\"\",\"providerMetadata\":{\"pydantic_ai\":{\"signature\":\"s\","
    "\"id\":\"x\"}}}",
    "{\"type\":\"file\",\"mediaType\":\"image/png\",\"url\":\"data:image/png;base64,AAAA\",\"filename\":\"f.png\"}",
    "{\"type\":\"file\",\"mediaType\":\"text/plain\",\"url\":\"data:,x\"}",
    "{\"type\":\"source-url\",\"sourceId\":\"s\",\"url\":\"u\"}",
    "{\"type\":\"data-a\",\"data\":1}",
    "{\"type\":\"data-b\",\"id\":\"e\",\"data\":{\"x\":null}}",
    "{\"type\":\"data-\",\"id\":\"\"}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"1\",\"state\":\"output-available\",\"input\":{\"a\":[1]},\"output\":\"o\"}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"2\",\"state\":\"output-error\",\"input\":\"{}\",\"errorText\":\"e\"}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"3\",\"state\":\"output-error\",\"rawInput\":\"{\",\"errorText\":\"e\"}",
    "{\"type\":\"dynamic-tool\",\"toolName\":\"g\",\"toolCallId\":\"4\",\"state\":\"input-available\",\"input\":null}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"5\",\"state\":\"input-streaming\"}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"6\",\"state\":\"approval-requested\",\"input\":1,\"approval\":{\"id\":\"a\"}"
    "}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"7\",\"state\":\"output-denied\",\"input\":{},\"approval\":{\"id\":\"a\","
    "\"approved\":false}}",
    "{\"type\":\"tool-f\",\"toolCallId\":\"\",\"state\":\"output-available\",\"callProviderMetadata\":{\"p\":{}},"
    "\"output\":null}",
    "{\"type\":\"custom\",\"kind\":\"k\"}",
    "7",
};
static const char *const some_metadata[] = {
    "",
    ",\"metadata\":null",
    ",\"metadata\":{\"a\":1}",
    ",\"metadata\":{\"weft\":{\"agent\":\"x\",\"time\":\"2026-01-01T00:00:00Z\"},\"weft_events\":{\"e\":{\"timestamp\":"
    "5}}}",
    ",\"metadata\":{\"usage\":{\"inputTokens\":1},\"weft\":{\"model\":\"m\",\"ended\":\"never\",\"agent\":\"y\","
    "\"name\":\"Y\"}}",
};

static unsigned pick(uint64_t *state, size_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((*state >> 33) % n);
}

static void invent(uint64_t seed, struct wb_buf *out)
{
    static const char *const roles[] = {"user", "assistant", "assistant", "system"};
    unsigned n = 1 + pick(&seed, 5);
    wb_buf_add(out, UPP_STR("["));
    for (unsigned i = 0; i < n; i++) {
        wb_buf_addf(out, "%s{\"id\":\"m%u\",\"role\":\"%s\"", i ? "," : "", pick(&seed, 8),
                    i ? roles[pick(&seed, WB_LEN(roles))] : "user");
        wb_buf_addf(out, "%s,\"parts\":[", some_metadata[pick(&seed, WB_LEN(some_metadata))]);
        for (unsigned k = pick(&seed, 9); k; k--)
            wb_buf_addf(out, "%s%s", some_parts[pick(&seed, WB_LEN(some_parts))], k > 1 ? "," : "");
        wb_buf_add(out, UPP_STR("]}"));
    }
    wb_buf_add(out, UPP_STR("]"));
}

/* covers: TP-36 */
TEST_WITH(dialect_ui_doc_comes_back_through_a_thread,
          .no_torture = "hundreds of documents; the golden ones are tortured")
{
    for (uint64_t seed = 1; seed <= 500; seed++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf was = WB_BUF(ROOM), own = WB_BUF(ROOM), thread = WB_BUF(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf back = WB_BUF(ROOM);
        struct upp_err err;
        invent(seed, &was);
        test_note("seed %u", (unsigned)seed);
        CHECK(convert(wb_buf_str(&was), NULL, &wd_document_ui, 0, &own, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&own), wb_buf_str(&was));
        CHECK(convert(wb_buf_str(&was), NULL, &wd_document_thread, 0, &thread, NULL, &err) == 0);
        CHECK(convert(wb_buf_str(&thread), NULL, &wd_document_ui, 0, &back, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&back), wb_buf_str(&was));
    }
}

/* ---- Events ---------------------------------------------------------------------------------- */

static const char *const event_ui =
    "[{\"id\":\"a\",\"role\":\"assistant\",\"metadata\":{\"pydantic_ai\":{\"timestamp\":\"2026-01-01T00:00:00Z\"},"
    "\"weft\":{\"agent\":\"x\"},"
    "\"weft_events\":{\"e\":{\"sourceAgent\":\"x\",\"targetAgents\":[\"y\"],\"timestamp\":1767225601000}}},"
    "\"parts\":[{\"type\":\"step-start\"},{\"type\":\"text\",\"text\":\"t\",\"state\":\"done\"},"
    "{\"type\":\"data-agent.handoff\",\"id\":\"e\",\"data\":{\"from\":\"x\",\"to\":\"y\"}}]}]";

/* covers: TP-35 */
TEST(dialect_ui_doc_events_are_system_messages)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf thread = WB_BUF(ROOM), back = WB_BUF(ROOM), pure = WB_BUF(ROOM);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    struct upp_err err;
    yyjson_val *v;
    CHECK(convert(wb_cstr(event_ui), NULL, &wd_document_thread, 0, &thread, NULL, &err) == 0);
    CHECK(wj_read(&a, wb_buf_str(&thread), NULL, &v, &err) == 0);
    v = yyjson_arr_get(yyjson_obj_get(yyjson_arr_get(yyjson_obj_get(v, "turns"), 0), "messages"), 1);
    CHECK(v && wj_write(v, &back, &err) == 0);
    struct upp_str event =
        UPP_STR("{\"message_type\":\"system\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"event_type\":"
                "\"agent.handoff\",\"event_data\":{\"from\":\"x\",\"to\":\"y\"},\"source_agent\":\"x\","
                "\"target_agents\":[\"y\"]");
    CHECK(wb_str_starts(wb_buf_str(&back), event));

    /* A thread that knows nothing of UI messages says the same. */
    CHECK(wd_document_read(&d, NULL, wb_cstr(event_ui), NULL, &err) == 0);
    CHECK(wd_document_write(&d, &wd_document_thread, UPP_OPTS(wd_convert_opts, .pure = true), &pure, NULL, &err) == 0);
    wb_buf_clear(&back);
    CHECK(convert(wb_buf_str(&pure), NULL, &wd_document_ui, 0, &back, NULL, &err) == 0);
    CHECK(wb_str_find(
              wb_buf_str(&back),
              UPP_STR("{\"type\":\"data-agent.handoff\",\"id\":\"event-1\",\"data\":{\"from\":\"x\",\"to\":\"y\"}}"),
              0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&back),
                      UPP_STR("\"weft_events\":{\"event-1\":{\"sourceAgent\":\"x\",\"targetAgents\":[\"y\"],"
                              "\"timestamp\":1767225601000}}"),
                      0) != SIZE_MAX);
}

/* ---- Versions -------------------------------------------------------------------------------- */

static const char *const denied =
    "[{\"parts\":[{\"tool_name\":\"rm\",\"args\":{},\"tool_call_id\":\"c\",\"part_kind\":\"tool-call\"}],"
    "\"kind\":\"response\"},{\"parts\":[{\"tool_name\":\"rm\",\"content\":\"no\",\"tool_call_id\":\"c\","
    "\"outcome\":\"denied\",\"part_kind\":\"tool-return\"}],\"kind\":\"request\"}]";

static const struct {
    unsigned target;
    const char *part;
} versions[] = {
    {5, "{\"type\":\"tool-rm\",\"toolCallId\":\"c\",\"state\":\"output-error\",\"input\":{},\"errorText\":\"no\"}"},
    {6,
     "{\"type\":\"tool-rm\",\"toolCallId\":\"c\",\"state\":\"output-denied\",\"input\":{},\"approval\":{\"id\":\"c\","
     "\"approved\":false,\"reason\":\"no\"}}"},
    {7,
     "{\"type\":\"tool-rm\",\"toolCallId\":\"c\",\"state\":\"output-denied\",\"input\":{},\"approval\":{\"id\":\"c\","
     "\"approved\":false,\"reason\":\"no\"}}"},
};

TEST(dialect_ui_doc_writes_for_a_version)
{
    struct upp_err err;
    for (size_t i = 0; i < WB_LEN(versions); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        CHECK(convert(wb_cstr(denied), NULL, &wd_document_ui, versions[i].target, &out, NULL, &err) == 0);
        CHECK(wb_str_find(wb_buf_str(&out), wb_cstr(versions[i].part), 0) != SIZE_MAX);
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    CHECK(convert(wb_cstr(denied), NULL, &wd_document_ui, 8, &out, NULL, &err) < 0);
}

/* ---- What is lost ---------------------------------------------------------------------------- */

static const struct {
    const char *document, *what;
} losses_of[] = {
    /* A result without its call, an error that is no text, arguments with blanks, a file that nobody knows. */
    {"[{\"parts\":[{\"tool_name\":\"f\",\"content\":1,\"tool_call_id\":\"c\",\"part_kind\":\"tool-return\"}],"
     "\"kind\":\"request\"}]",
     "a result"},
    {"[{\"parts\":[{\"tool_name\":\"f\",\"args\":{},\"tool_call_id\":\"c\",\"part_kind\":\"tool-call\"}],\"kind\":"
     "\"response\"},{\"parts\":[{\"tool_name\":\"f\",\"content\":[1],\"tool_call_id\":\"c\",\"outcome\":\"failed\","
     "\"part_kind\":\"tool-return\"}],\"kind\":\"request\"}]",
     "that what a tool failed with is not a text"},
    {"[{\"parts\":[{\"tool_name\":\"f\",\"args\":\"{ }\",\"tool_call_id\":\"c\",\"part_kind\":\"tool-call\"}],\"kind\":"
     "\"response\"}]",
     "how the arguments of a call were written"},
    {"[{\"parts\":[{\"content\":[{\"url\":\"https://x/y\",\"kind\":\"image-url\"}],\"part_kind\":\"user-prompt\"}],"
     "\"kind\":\"request\"}]",
     "that nobody knows what a file is"},
    {"[{\"parts\":[],\"finish_reason\":\"stop\",\"kind\":\"response\"}]",
     "why the model stopped, and its ids of what it said"},
    {"[{\"parts\":[],\"model_name\":\"a\",\"kind\":\"response\"},{\"parts\":[],\"model_name\":\"b\",\"kind\":"
     "\"response\"}]",
     "which model said each of its steps"},
};

TEST(dialect_ui_doc_tells_what_is_lost)
{
    for (size_t i = 0; i < WB_LEN(losses_of); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err err;
        size_t found = 0;
        CHECK(convert(wb_cstr(losses_of[i].document), NULL, &wd_document_ui, 0, &out, &losses, &err) == 0);
        for (size_t k = 0; k < losses.list.n; k++)
            found += wb_str_eq(losses.list.p[k].what, wb_cstr(losses_of[i].what));
        test_note("%s", losses_of[i].what);
        CHECK(found == 1);
    }
}

/* ---- What is refused ------------------------------------------------------------------------- */

#define MESSAGE(role, parts) "[{\"id\":\"m\",\"role\":\"" role "\",\"parts\":[" parts "]}]"
#define PART(members)        MESSAGE("assistant", "{" members "}")
#define TOOL(members)        PART("\"type\":\"tool-f\",\"toolCallId\":\"c\"," members)
#define P                    "/0/parts/0"

static const struct {
    const char *document, *problems;
} rules[] = {
    {"[]", "error  UI-4.1.1\n"},
    {"{}", "error  UI-4.1.1\n"},
    {"[7]", "error /0 UI-4.1.1\n"},
    {"[{\"role\":\"user\",\"parts\":[{\"type\":\"step-start\"}]}]", "error /0 UI-4.1.1\n"},
    {"[{\"id\":1,\"role\":\"bot\",\"parts\":[{\"type\":\"step-start\"}]}]",
     "error /0/id UI-4.1.1\nerror /0/role UI-4.1.1\n"},
    {"[{\"id\":\"m\",\"role\":\"user\"}]", "error /0 UI-4.1.1\n"},
    {MESSAGE("user", ""), "error /0/parts UI-4.1.1\n"},
    {MESSAGE("assistant", ""), "warning /0/parts UI-4.1.1\n"},
    {MESSAGE("user", "7"), "error " P " UI-4.1.1\n"},
    {PART("\"type\":\"new\""), "error " P "/type UI-4.1.1\n"},
    {PART("\"type\":\"text\""), "error " P " UI-4.1.2\n"},
    {PART("\"type\":\"text\",\"text\":null"), "error " P "/text UI-4.1.2\n"},
    {PART("\"type\":\"text\",\"text\":\"\",\"state\":\"ready\""), "error " P "/state UI-4.1.2\n"},
    {PART("\"type\":\"text\",\"text\":\"\",\"providerMetadata\":null"), "error " P "/providerMetadata UI-4.1.2\n"},
    {PART("\"type\":\"text\",\"text\":\"\",\"providerMetadata\":{\"a\":1}"), "error " P "/providerMetadata UI-4.1.2\n"},
    {PART("\"type\":\"reasoning\",\"text\":\"\",\"id\":\"r\""), "warning " P "/id UI-4.1.8\n"},
    {PART("\"type\":\"file\",\"url\":\"u\""), "error " P " UI-4.1.3\n"},
    {PART("\"type\":\"file\",\"url\":\"u\",\"mediaType\":\"a/b\",\"filename\":null"),
     "error " P "/filename UI-4.1.3\n"},
    {PART("\"type\":\"source-url\",\"url\":\"u\""), "error " P " UI-4.1.4\n"},
    {PART("\"type\":\"source-document\",\"sourceId\":\"s\",\"mediaType\":\"a/b\""), "error " P " UI-4.1.4\n"},
    {PART("\"type\":\"custom\",\"kind\":\"a.b\""), "warning " P "/type UI-4.1.8\n"},
    {PART("\"type\":\"data-x\",\"data\":null"), ""},
    {PART("\"type\":\"data-x\",\"id\":3"), "error " P "/id UI-4.1.5\nerror " P " UI-4.1.5\n"},
    {PART("\"type\":\"dynamic-tool\",\"toolCallId\":\"c\",\"state\":\"input-available\",\"input\":1"),
     "error " P " UI-4.1.6\n"},
    {TOOL("\"state\":\"input-streaming\""), ""},
    {TOOL("\"state\":\"input-available\""), "error " P " UI-4.1.6\n"},
    {TOOL("\"state\":\"over\""), "error " P "/state UI-4.1.6\n"},
    {TOOL("\"state\":\"input-available\",\"input\":1,\"output\":1"), "error " P "/output UI-4.1.6\n"},
    {TOOL("\"state\":\"output-available\",\"input\":1"), "error " P " UI-4.1.6\n"},
    {TOOL("\"state\":\"output-error\",\"errorText\":1"), "error " P "/errorText UI-4.1.6\n"},
    {TOOL("\"state\":\"output-error\",\"errorText\":\"e\""), ""},
    {TOOL("\"state\":\"input-available\",\"input\":1,\"approval\":{\"id\":\"a\"}"), "error " P "/approval UI-4.1.7\n"},
    {TOOL("\"state\":\"approval-requested\",\"input\":1"), "warning " P "/state UI-4.1.8\nerror " P " UI-4.1.7\n"},
    {TOOL("\"state\":\"approval-responded\",\"input\":1,\"approval\":{\"id\":\"a\"}"),
     "warning " P "/state UI-4.1.8\nerror " P "/approval UI-4.1.7\n"},
    {TOOL("\"state\":\"output-denied\",\"input\":1,\"approval\":{\"id\":\"a\",\"approved\":true}"),
     "warning " P "/state UI-4.1.8\nerror " P "/approval/approved UI-4.1.7\n"},
    {TOOL("\"state\":\"output-available\",\"input\":1,\"output\":1,\"approval\":{\"id\":\"a\",\"approved\":false}"),
     "error " P "/approval/approved UI-4.1.7\n"},
};

static int problems_of(struct upp_str text, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    int r = wd_document_validate(&wd_document_ui, text, &a, &p, &ops, err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    return r < 0 ? r : wb_buf_check(out, err);
}

TEST(dialect_ui_doc_rules)
{
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        test_note("%s", rules[i].document);
        CHECK(problems_of(wb_cstr(rules[i].document), &out, &err) == 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}
