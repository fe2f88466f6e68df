/* ThreadProtocol: its rules, one by one, and what is derived from it. */
#include <stdlib.h>

#include "dialects/core/convert.h"
#include "json/read.h"
#include "json/value.h"
#include "model/doc_calls.h"
#include "support/test.h"

enum { ROOM = 64 << 20 };

static void freep(char **p)
{
    free(*p);
}

/* "error /turns/0 TP-3\n..." of a document; NULL: it failed. */
static bool problems_of(struct upp_str text, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    const struct wd_document_ops *ops;
    struct upp_err err;
    int r = wd_document_validate(&wd_document_thread, text, &a, &p, &ops, &err);
    for (size_t i = 0; r >= 0 && i < p.list.n; i++)
        wb_buf_addf(out, "%s %.*s %s\n", p.list.p[i].severity == WD_ERROR ? "error" : "warning",
                    UPP_FMT(p.list.p[i].pointer), p.list.p[i].rule);
    return r >= 0 && !out->failed;
}

/* ---- Rules ----------------------------------------------------------------------------------------------------- */

#define HEAD                                                                                                           \
    "\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-"      \
    "01T00:"                                                                                                           \
    "00:00Z\""
#define AGENTS "\"agents\":{\"a\":{\"agent_id\":\"a\",\"agent_name\":\"A\",\"created_at\":\"2026-01-01T00:00:00Z\"}}"
#define TURN(messages)                                                                                                 \
    "{" HEAD "," AGENTS                                                                                                \
    ",\"turns\":[{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"started_at\":\"2026-01-01T00:00:00Z\","                 \
    "\"completed_at\":\"2026-01-01T00:00:09Z\",\"messages\":[" messages "]}]}"
#define RESPONSE(parts)                                                                                                \
    "{\"message_type\":\"response\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"agent_id\":\"a\",\"parts\":[" parts "]}"
#define REQUEST(parts)                                                                                                 \
    "{\"message_type\":\"request\",\"timestamp\":\"2026-01-01T00:00:02Z\",\"agent_id\":\"a\",\"parts\":[" parts "]}"
#define CALL(id) "{\"part_kind\":\"tool-call\",\"tool_name\":\"f\",\"tool_call_id\":\"" id "\",\"args\":{}}"
#define RETURN(id)                                                                                                     \
    "{\"part_kind\":\"tool-return\",\"tool_name\":\"f\",\"tool_call_id\":\"" id                                        \
    "\",\"status\":\"success\",\"content\":1}"
#define USER(at, parts) "{\"turn_type\":\"user\",\"submitted_at\":\"" at "\",\"parts\":[" parts "]}"
#define TURNS(turns)    "{" HEAD "," AGENTS ",\"turns\":[" turns "]}"
#define PROMPT(content) "{\"part_kind\":\"user-prompt\",\"content\":" content "}"
#define AT              "2026-01-01T00:00:00Z"
#define M0              "/turns/0/messages/0"
#define P0              M0 "/parts/0"

static const struct {
    const char *document, *problems;
} rules[] = {
    {TURN(RESPONSE(CALL("1")) "," REQUEST(RETURN("1"))), ""},
    /* TP-1 */
    {"[]", "error  TP-1\n"},
    {"{\"version\":\"2.0.0\",\"turns\":[]}", "error  TP-1\nerror  TP-1\nerror  TP-1\nerror  TP-1\n"},
    {"{" HEAD "," AGENTS ",\"turns\":[],\"title\":7}", "error /title TP-1\n"},
    {"{" HEAD "," AGENTS "}", "error  TP-1\n"},
    {"{" HEAD "," AGENTS ",\"turns\":[],\"metadata\":[]}", "error /metadata TP-1\n"},
    /* TP-2 */
    {"{" HEAD ",\"agents\":{\"a\":7,\"b\":{\"agent_id\":\"b\"}},\"turns\":[]}",
     "error /agents/a TP-2\nerror /agents/b TP-2\nerror /agents/b TP-2\n"},
    /* TP-3, TP-4, TP-5 */
    {TURNS("{\"turn_type\":\"robot\"}"), "error /turns/0/turn_type TP-3\n"},
    {TURNS("{\"turn_type\":\"user\"}"), "error /turns/0 TP-3\nerror /turns/0 TP-3\n"},
    {TURNS("{\"turn_type\":\"agent\"}"),
     "error /turns/0 TP-3\nerror /turns/0 TP-3\nerror /turns/0 TP-3\nerror /turns/0 TP-3\n"},
    {TURN("{\"message_type\":\"note\",\"timestamp\":\"2026-01-01T00:00:01Z\"}"), "error " M0 "/message_type TP-4\n"},
    {TURN("{\"message_type\":\"response\"}"), "error " M0 " TP-5\nerror " M0 " TP-5\nerror " M0 " TP-5\n"},
    /* TP-6 */
    {TURN(RESPONSE("{\"part_kind\":\"text\",\"content\":7}")), "error " P0 "/content TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"text\"}")), "error " P0 " TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"thinking\",\"content\":\"x\"}")), "warning " P0 " TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"tool-call\"}")), "error " P0 " TP-6\nerror " P0 " TP-6\nerror " P0 " TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"tool-call\",\"tool_name\":[],\"tool_call_id\":\"1\",\"args\":null}")),
     "error " P0 "/tool_name TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"tool-call\",\"tool_name\":null,\"tool_call_id\":null,\"args\":null}")),
     "error " P0 "/tool_name TP-6\n"}, /* old lists of Pydantic AI have calls without an id */
    {TURN(RESPONSE(CALL("1")) "," REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":null,\"tool_call_id\":\"1\","
                                          "\"status\":\"success\",\"content\":1}")),
     "error /turns/0/messages/1/parts/0/tool_name TP-6\n"},
    {TURN(REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":\"again\",\"tool_name\":null}")), ""},
    {TURN(RESPONSE(CALL("1")) "," REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":\"f\",\"tool_call_id\":\"1\","
                                          "\"status\":\"maybe\",\"content\":1}")),
     "error /turns/0/messages/1/parts/0/status TP-6\n"},
    {TURN(REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":7}")), "error " P0 "/content TP-6\n"},
    {TURN(RESPONSE("{\"part_kind\":\"file\",\"content\":{\"kind\":\"binary\",\"data\":\"*\",\"media_type\":\"a/b\"}}")),
     "error " P0 "/content/data TP-7\nwarning " P0 "/content TP-7\n"},
    {TURN(RESPONSE("{\"part_kind\":\"hologram\"}")), ""},
    {TURN(RESPONSE("{}")), "error " P0 " TP-6\n"},
    /* One that is no object does not hide what else is wrong. */
    {TURNS("7," USER(AT, PROMPT("8")) ",{\"turn_type\":\"robot\"}"),
     "error /turns/0 TP-3\nerror /turns/1/parts/0/content TP-7\nerror /turns/2/turn_type TP-3\n"},
    {TURN("7,{\"message_type\":\"note\",\"timestamp\":\"2026-01-01T00:00:01Z\"}"),
     "error " M0 " TP-5\nerror /turns/0/messages/1/message_type TP-4\n"},
    {TURN(RESPONSE("7,{\"part_kind\":\"text\"}")), "error " P0 " TP-6\nerror /turns/0/messages/0/parts/1 TP-6\n"},
    /* TP-7 */
    {TURNS(USER(AT, PROMPT("7"))), "error /turns/0/parts/0/content TP-7\n"},
    {TURNS(USER(
         AT, PROMPT("[\"a\",7,{\"kind\":\"image-url\"},{\"kind\":\"binary\",\"data\":\"AA==\"},{\"kind\":\"new\"}]"))),
     "error /turns/0/parts/0/content/1 TP-7\nerror /turns/0/parts/0/content/2 TP-7\n"
     "warning /turns/0/parts/0/content/2 TP-7\nerror /turns/0/parts/0/content/3 TP-7\n"
     "warning /turns/0/parts/0/content/3 TP-7\n"},
    {TURNS(USER(AT, PROMPT("[{\"kind\":\"image-url\",\"url\":\"u\"},{\"kind\":\"image-url\",\"url\":\"u\","
                           "\"identifier\":null},{\"kind\":\"image-url\",\"url\":\"u\",\"identifier\":7},"
                           "{\"kind\":\"image-url\",\"url\":\"u\",\"identifier\":\"i\"}]"))),
     "warning /turns/0/parts/0/content/0 TP-7\nwarning /turns/0/parts/0/content/1/identifier TP-7\n"
     "error /turns/0/parts/0/content/2/identifier TP-7\n"},
    /* TP-8, TP-9 */
    {TURN("{\"message_type\":\"system\",\"timestamp\":\"2026-01-01T00:00:01Z\"}"),
     "error " M0 " TP-8\nerror " M0 " TP-8\n"},
    {TURN(REQUEST("{\"part_kind\":\"system-prompt\",\"content\":\"x\"}")), "error " P0 " TP-9\n"},
    /* TP-13 */
    {"{\"version\":\"3.0.0\",\"turns\":[]}", "error /version TP-13\n"},
    {"{\"version\":\"x\",\"turns\":[]}", "error /version TP-13\n"},
    {"{\"version\":\"2.1.0\",\"thread_id\":\"t\",\"created_at\":\"" AT "\",\"updated_at\":\"" AT "\"," AGENTS
     ",\"turns\":[]}",
     "warning /version TP-13\n"},
    {"{\"version\":\"1.2\",\"thread_id\":\"t\",\"turns\":[]}",
     "warning /version TP-13\nwarning  TP-13\nwarning  TP-13\nwarning  TP-13\n"},
    /* TP-14 */
    {TURN("{\"message_type\":\"response\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"agent_id\":\"a\",\"parts\":[],"
          "\"finish_reason\":\"bored\",\"usage\":{\"input_tokens\":\"7\"}}"),
     "error " M0 "/usage/input_tokens TP-14\nerror " M0 "/finish_reason TP-14\n"},
    /* TP-40 */
    {TURNS(USER("2026-02-30T00:00:00Z", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-02-03T24:00:00Z", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-02-03T23:59:60Z", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-W05-1", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-034", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-02-03", "")), "error /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-02-03T01:02:03", "")), "warning /turns/0/submitted_at TP-40\n"},
    {TURNS(USER("2026-02-03T01:02:03.5+01:00", "")), ""},
    /* TP-41 */
    {TURN(REQUEST(RETURN("1"))), "error " P0 "/tool_call_id TP-41\n"},
    {TURN(RESPONSE(CALL("1")) "," REQUEST(RETURN("1") "," RETURN("1"))),
     "error /turns/0/messages/1/parts/1/tool_call_id TP-41\n"},
    {TURN(RESPONSE(CALL("1") "," CALL("1"))), "error /turns/0/messages/0/parts/1/tool_call_id TP-41\n"},
    {TURN(RESPONSE(CALL("1")) "," REQUEST(RETURN("1")) "," REQUEST(CALL("1"))),
     "warning /turns/0/messages/2/parts/0/tool_call_id TP-41\n"},
    {TURN(RESPONSE(CALL("1")) "," REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":\"x\",\"tool_name\":\"g\","
                                          "\"tool_call_id\":\"1\"}")),
     "warning /turns/0/messages/1/parts/0/tool_name TP-41\n"},
    {TURN(REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":\"x\",\"tool_call_id\":\"9\"}")), ""}, /* of no tool */
    {TURN(REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":\"x\",\"tool_name\":\"f\",\"tool_call_id\":\"9\"}")),
     "error " P0 "/tool_call_id TP-41\n"},
    /* TP-42 */
    {"{" HEAD ",\"agents\":{\"a\":{\"agent_id\":\"b\",\"agent_name\":\"A\",\"created_at\":\"" AT "\"}},\"turns\":[]}",
     "error /agents/a/agent_id TP-42\n"},
    {TURN("{\"message_type\":\"response\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"agent_id\":\"z\",\"parts\":[]}"),
     "error " M0 "/agent_id TP-42\nwarning " M0 "/agent_id TP-42\n"},
    {TURN("{\"message_type\":\"system\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"event_type\":\"x\",\"event_data\":1,"
          "\"source_agent\":\"y\",\"target_agents\":[\"a\",\"z\"]}"),
     "warning " M0 "/source_agent TP-42\nwarning " M0 "/target_agents/1 TP-42\n"},
    /* TP-43: equal is allowed; instants, not texts */
    {TURNS(USER("2026-01-01T00:00:05Z", "") "," USER("2026-01-01T00:00:04Z", "")),
     "error /turns/1/submitted_at TP-43\n"},
    {TURNS(USER("2026-01-01T00:00:05Z", "") "," USER("2026-01-01T00:00:05Z", "")), ""},
    {TURNS(USER("2026-01-01T00:00:05Z", "") "," USER("2026-01-01T01:00:05+01:00", "")), ""},
    {TURNS("{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"started_at\":\"2026-01-01T00:00:05Z\",\"completed_at\":\"" AT
           "\",\"messages\":[]}"),
     "error /turns/0/completed_at TP-43\n"},
    /* TP-44 */
    {TURN(REQUEST("") "," RESPONSE("")), "error /turns/0/messages/1/timestamp TP-44\n"},
    {TURN("{\"message_type\":\"system\",\"timestamp\":\"2026-01-01T00:01:00Z\",\"event_type\":\"x\",\"event_data\":"
          "null}"),
     "warning " M0 "/timestamp TP-44\n"},
};

/* covers: TP-1, TP-2, TP-3, TP-4, TP-5, TP-14, TP-40, TP-43, TP-44 */
/* covers: TP-6/2/3, TP-7/1, TP-8/1, TP-9/1, TP-13/2/3, TP-41/1/2/3, TP-42/1/2, TP-45/1 */
TEST(thread_rules_are_told_with_pointer_and_severity)
{
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        if (test_brief() && i % 4)
            continue;
        test_note("%s", rules[i].document);
        CHECK(problems_of(wb_cstr(rules[i].document), &out));
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}

static bool golden(const char *path, char **text, size_t *n)
{
    *text = test_read(path, n);
    return EXPECT(*text);
}

/* covers: TP-13/2, TP-45/2 */
TEST(thread_examples_of_the_specification_are_valid)
{
    WB_CLEANUP(freep) char *weather = NULL, *fragment = NULL;
    size_t n = 0, m = 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), part = WB_BUF(ROOM);
    CHECK(golden("golden/thread/weather.json", &weather, &n) && golden("golden/thread/enrichment.json", &fragment, &m));
    CHECK(problems_of(wb_str(weather, n), &out) && problems_of(wb_str(fragment, m), &part));
    CHECK_STR(wb_buf_str(&out), UPP_STR(""));
    CHECK_STR(wb_buf_str(&part),
              UPP_STR("warning  TP-13\nwarning  TP-13\nwarning  TP-13\nwarning  TP-13\nwarning  TP-13\n"));
}

TEST(thread_problems_have_a_limit)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(ROOM);
    const struct wd_document_ops *ops;
    struct upp_err err;
    wb_buf_add(&text, UPP_STR("{" HEAD "," AGENTS ",\"turns\":["));
    for (int i = 0; i < 1500; i++)
        wb_buf_addf(&text, "%s{\"turn_type\":\"robot\"}", i ? "," : "");
    wb_buf_add(&text, UPP_STR("]}"));
    CHECK(!text.failed);
    CHECK(wd_document_validate(NULL, wb_buf_str(&text), &a, &p, &ops, &err) >= 0);
    CHECK(ops == &wd_document_thread && p.errors == 1500 && p.list.n == WD_MAX_PROBLEMS);
}

/* ---- Reading and writing --------------------------------------------------------------------- */

static int convert(struct upp_str text, const struct wd_document_ops *to, const struct wd_convert_opts *opts,
                   struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int r = wd_document_read(&d, NULL, text, opts, err);
    return r < 0 ? r : wd_document_write(&d, to, opts, out, losses, err);
}

/* covers: TP-13/4 */
TEST(thread_of_a_higher_major_is_refused)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    struct upp_err err = {0};
    ALWAYS(convert(UPP_STR("{\"version\":\"3.1.0\",\"turns\":[]}"), &wd_document_thread, NULL, &out, NULL, &err) < 0);
    CHECK(err.code == UPP_EINVALID && strstr(err.msg, "3.1.0") && strstr(err.msg, "2.0.0"));
}

/* covers: TP-13/2/3 */
TEST(thread_of_another_version_keeps_it)
{
    static const char newer[] = "{\"version\":\"2.7.0\",\"thread_id\":\"t\",\"created_at\":\"" AT
                                "\",\"updated_at\":\"" AT "\",\"mood\":\"good\"," AGENTS ",\"turns\":[]}";
    static const char older[] = "{\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"" AT "\",\"parts\":[" PROMPT(
        "\"hi\"") "]},{\"turn_type\":\"agent\",\"agent_id\":\"x\",\"messages\":[{\"message_type\":\"response\","
                  "\"timestamp\":"
                  "\"2026-01-01T00:00:03Z\",\"parts\":[{\"part_kind\":\"text\",\"content\":\"yo\"}]}]}]}";
    static const char filled[] =
        "{\"version\":\"2.0.0\",\"thread_id\":\"thread\",\"created_at\":\"" AT
        "\",\"updated_at\":\"2026-01-01T00:00:03Z\",\"agents\":{\"x\":{\"agent_id\":\"x\",\"agent_name\":\"x\","
        "\"created_at\":"
        "\"" AT "\"}},\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"" AT
        "\",\"parts\":[{\"part_kind\":\"user-prompt\","
        "\"content\":\"hi\"}]},{\"turn_type\":\"agent\",\"agent_id\":\"x\",\"started_at\":\"2026-01-01T00:00:03Z\","
        "\"completed_at\":\"2026-01-01T00:00:03Z\",\"messages\":[{\"message_type\":\"response\",\"timestamp\":\"2026-"
        "01-01T00:"
        "00:03Z\",\"agent_id\":\"x\",\"parts\":[{\"part_kind\":\"text\",\"content\":\"yo\"}]}]}]}";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), same = WB_BUF(ROOM), full = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(convert(wb_cstr(newer), &wd_document_thread, NULL, &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), wb_cstr(newer));
    CHECK(convert(wb_cstr(older), &wd_document_thread, NULL, &same, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&same), wb_cstr(older));
    CHECK(convert(wb_cstr(older), &wd_document_thread, UPP_OPTS(wd_convert_opts, .forget = true), &full, NULL, &err) >=
          0);
    CHECK_STR(wb_buf_str(&full), wb_cstr(filled));
}

/* Every text of one kind of part of a list of messages, by bars. */
static bool texts(struct upp_str json, const char *kind, struct wb_buf *out)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    yyjson_val *v, *m, *p;
    size_t i, n, k, o;
    if (wj_read(&a, json, NULL, &v, NULL) < 0)
        return false;
    yyjson_arr_foreach(v, i, n, m) yyjson_arr_foreach(yyjson_obj_get(m, "parts"), k, o, p)
    {
        yyjson_val *content = yyjson_obj_get(p, "content");
        if (yyjson_equals_str(yyjson_obj_get(p, "part_kind"), kind) && content && yyjson_is_str(content))
            wb_buf_addf(out, "%.*s|", UPP_FMT(wj_text(content)));
    }
    return !out->failed;
}

/* covers: TP-31 TP-10 TP-11 */
TEST(thread_seen_by_one_agent_names_the_others)
{
    WB_CLEANUP(freep) char *weather = NULL;
    size_t n = 0;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
    WB_CLEANUP(wb_buf_done)
    struct wb_buf out = WB_BUF(ROOM), said = WB_BUF(ROOM), thought = WB_BUF(ROOM), asked = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(golden("golden/thread/weather.json", &weather, &n));
    CHECK(convert(wb_str(weather, n), &wd_document_pydantic, UPP_OPTS(wd_convert_opts, .view = UPP_STR("agent_002")),
                  &out, &losses, &err) >= 0);
    CHECK(texts(wb_buf_str(&out), "text", &said) && texts(wb_buf_str(&out), "thinking", &thought) &&
          texts(wb_buf_str(&out), "user-prompt", &asked));
    CHECK_STR(
        wb_buf_str(&said),
        UPP_STR(
            "{agent:Weather Assistant}: Let me check the current weather in Tokyo.|{agent:Weather Assistant}: The "
            "weather in Tokyo is currently 18°C and partly cloudy. Travel Planner, what do you think?|Perfect weather "
            "for sightseeing! I'd recommend visiting temples and parks.|"));
    CHECK_STR(wb_buf_str(&thought), UPP_STR("The weather is mild and partly cloudy...|"));
    CHECK_STR(wb_buf_str(&asked),
              UPP_STR("What's the weather like in Tokyo?|Based on the weather, what activities would you recommend?|"));
    bool told = false;
    for (size_t i = 0; i < losses.list.n; i++)
        told |= wb_str_eq(losses.list.p[i].what, UPP_STR("a system event"));
    CHECK(told);
    ALWAYS(convert(wb_str(weather, n), &wd_document_pydantic, UPP_OPTS(wd_convert_opts, .view = UPP_STR("nobody")),
                   &out, NULL, &err) < 0);
}

/* covers: TP-9/3/4 */
TEST(thread_without_system_prompts_reports_them)
{
    static const char messages[] = "[{\"parts\":[{\"content\":\"SECRET "
                                   "PERSONA\",\"part_kind\":\"system-prompt\"},{\"content\":\"hi\",\"part_kind\":"
                                   "\"user-prompt\"}],\"kind\":\"request\",\"timestamp\":\"" AT "\"}]";
    for (int pure = 0; pure < 2; pure++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct upp_err err;
        bool told = false;
        CHECK(convert(wb_cstr(messages), &wd_document_thread, UPP_OPTS(wd_convert_opts, .pure = pure), &out, &losses,
                      &err) >= 0);
        bool there = wb_str_find(wb_buf_str(&out), UPP_STR("SECRET PERSONA"), 0) < out.n;
        for (size_t i = 0; i < losses.list.n; i++)
            told |= wb_str_eq(losses.list.p[i].pointer, UPP_STR("/0/parts/0"));
        CHECK(there == !pure && told == (pure == 1));
    }
}

/* covers: TP-50, TP-16 */
TEST(thread_keeps_branch_point_and_running_turn)
{
    static const char text[] =
        "{" HEAD ",\"parent_thread_id\":\"p\",\"branch_point\":3," AGENTS
        ",\"turns\":[{\"turn_type\":\"agent\",\"agent_id\":"
        "\"a\",\"started_at\":\"" AT "\",\"completed_at\":\"" AT
        "\",\"messages\":[{\"message_type\":\"response\",\"timestamp\":"
        "\"" AT "\",\"agent_id\":\"a\",\"parts\":[]}],\"x_weft\":{\"partial\":true},\"attachments\":[{\"name\":\"n\","
        "\"media_type\":\"text/plain\"}]}]}";
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM), ended = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(wd_document_read(&d, NULL, wb_cstr(text), NULL, &err) >= 0);
    CHECK_STR(d.doc.parent, UPP_STR("p"));
    CHECK(d.doc.parent_at == 3 && d.doc.turns.n == 1 && d.doc.turns.p[0].partial);
    CHECK(wd_document_write(&d, &wd_document_thread, NULL, &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), wb_cstr(text));
    d.doc.turns.p[0].partial = false; /* it has ended */
    CHECK(wd_document_write(&d, &wd_document_thread, NULL, &ended, NULL, &err) >= 0);
    CHECK(wb_str_find(wb_buf_str(&ended), UPP_STR("partial"), 0) >= ended.n);
    CHECK(wb_str_find(wb_buf_str(&ended), UPP_STR("attachments"), 0) < ended.n);
}

/* covers: TP-30, TP-13/1, TP-22/1 */
TEST(thread_made_of_messages_has_their_times_and_usage)
{
    static const char messages[] =
        "[{\"parts\":[{\"content\":\"hi\",\"timestamp\":\"2026-05-01T00:00:00Z\",\"part_kind\":\"user-prompt\"}],"
        "\"kind\":"
        "\"request\"},{\"parts\":[{\"content\":\"a\",\"part_kind\":\"text\"}],\"usage\":{\"input_tokens\":10,\"output_"
        "tokens\":"
        "4,\"details\":{\"reasoning_tokens\":3}},\"timestamp\":\"2026-05-01T00:00:01Z\",\"kind\":\"response\","
        "\"provider_response_id\":\"r1\"},{\"parts\":[{\"content\":\"b\",\"part_kind\":\"text\"}],\"usage\":{\"input_"
        "tokens\":"
        "20,\"output_tokens\":6},\"timestamp\":\"2026-05-01T00:00:02Z\",\"kind\":\"response\"}]";
    static const char want[] =
        "{\"version\":\"2.0.0\",\"thread_id\":\"thread\",\"created_at\":\"2026-05-01T00:00:00Z\",\"updated_at\":\"2026-"
        "05-01T00:"
        "00:02Z\",\"agents\":{\"bob\":{\"agent_id\":\"bob\",\"agent_name\":\"bob\",\"created_at\":\"2026-05-01T00:00:"
        "00Z\"}},"
        "\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-05-01T00:00:00Z\",\"parts\":[{\"part_kind\":\"user-"
        "prompt\","
        "\"content\":\"hi\"}]},{\"turn_type\":\"agent\",\"agent_id\":\"bob\",\"started_at\":\"2026-05-01T00:00:01Z\","
        "\"completed_at\":\"2026-05-01T00:00:02Z\",\"messages\":[{\"message_type\":\"response\",\"timestamp\":\"2026-"
        "05-01T00:"
        "00:01Z\",\"agent_id\":\"bob\",\"provider_response_id\":\"r1\",\"usage\":{\"input_tokens\":10,\"output_"
        "tokens\":4,"
        "\"thinking_tokens\":3,\"total_tokens\":14},\"parts\":[{\"part_kind\":\"text\",\"content\":\"a\"}]},{\"message_"
        "type\":"
        "\"response\",\"timestamp\":\"2026-05-01T00:00:02Z\",\"agent_id\":\"bob\",\"usage\":{\"input_tokens\":20,"
        "\"output_tokens\":6,\"total_tokens\":26},\"parts\":[{\"part_kind\":\"text\",\"content\":\"b\"}]}],\"total_"
        "usage\":{"
        "\"input_tokens\":30,\"output_tokens\":10,\"thinking_tokens\":3,\"total_tokens\":40}}]}";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(convert(wb_cstr(messages), &wd_document_thread,
                  UPP_OPTS(wd_convert_opts, .agent = UPP_STR("bob"), .pure = true), &out, NULL, &err) >= 0);
    CHECK_STR(wb_buf_str(&out), wb_cstr(want));
}

/* covers: TP-22/2 */
TEST(thread_usage_of_responses_without_any)
{
    static const char messages[] =
        "[{\"parts\":[{\"content\":\"hi\",\"timestamp\":\"2026-05-01T00:00:00Z\",\"part_kind\":\"user-prompt\"}],"
        "\"kind\":\"request\"},{\"parts\":[],\"usage\":{\"input_tokens\":10,\"output_tokens\":4},\"timestamp\":"
        "\"2026-05-01T00:00:01Z\",\"kind\":\"response\"},{\"parts\":[],\"timestamp\":\"2026-05-01T00:00:02Z\",\"kind\":"
        "\"response\"}]";
    static const char want[] = "\"total_usage\":{\"input_tokens\":10,\"output_tokens\":4,\"total_tokens\":14}";
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    struct upp_err err;
    CHECK(convert(wb_cstr(messages), &wd_document_thread,
                  UPP_OPTS(wd_convert_opts, .agent = UPP_STR("bob"), .pure = true), &out, NULL, &err) >= 0);
    test_note("%.*s", UPP_FMT(wb_buf_str(&out)));
    CHECK(wb_str_find(wb_buf_str(&out), wb_cstr(want), 0) != SIZE_MAX);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

#define SAID(id, more)                                                                                                 \
    REQUEST("{\"part_kind\":\"tool-return\",\"tool_name\":\"f\",\"tool_call_id\":\"" id "\",\"content\":1," more "}")
#define AGENT(messages)                                                                                                \
    "{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"started_at\":\"" AT "\",\"completed_at\":\"" AT                     \
    "\",\"messages\":[" messages "]}"
#define NOTE "{\"message_type\":\"system\",\"timestamp\":\"" AT "\",\"event_type\":\"x\",\"event_data\":{}}"

static const struct {
    const char *document, *states; /* of each call: pending, rejected, completed */
    size_t first;                  /* pending in the first turn */
} calls[] = {
    {TURNS(AGENT(RESPONSE(CALL("1") "," CALL("2")) "," NOTE "," SAID("2", "\"status\":\"success\""))), "pc", 1},
    /* The answer comes in a later turn. */
    {TURNS(AGENT(RESPONSE(CALL("1"))) "," AGENT(NOTE "," SAID("1", "\"status\":\"success\""))), "c", 0},
    /* Refused, and what only went wrong. */
    {TURNS(AGENT(RESPONSE(CALL("1")) "," SAID("1", "\"status\":\"error\",\"outcome\":\"denied\""))), "r", 0},
    {TURNS(AGENT(RESPONSE(CALL("1")) "," SAID("1", "\"status\":\"error\""))), "r", 0},
    {TURNS(AGENT(RESPONSE(CALL("1")) "," SAID("1", "\"status\":\"error\",\"outcome\":\"failed\""))), "c", 0},
    {TURNS(AGENT(RESPONSE(CALL("1")) "," SAID("1", "\"status\":\"validation_error\""))), "c", 0},
    /* A retry answers; an id that is used again is open again. */
    {TURNS(
         AGENT(RESPONSE(CALL("1")) "," REQUEST("{\"part_kind\":\"retry-prompt\",\"content\":\"x\",\"tool_name\":\"f\","
                                               "\"tool_call_id\":\"1\"}") "," RESPONSE(CALL("1")))),
     "cp", 1},
    {TURNS(AGENT(REQUEST(RETURN("9")))), "", 0},
};

/* covers: TP-20 TP-21 */
TEST(thread_calls_have_the_state_that_their_messages_say)
{
    for (size_t i = 0; i < WB_LEN(calls); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        WB_CLEANUP(wm_doc_calls_done) struct wm_doc_calls c = {0}, before = {0};
        struct upp_err err;
        char states[8] = "";
        test_note("%s", calls[i].document);
        CHECK(wd_document_read(&d, NULL, wb_cstr(calls[i].document), NULL, &err) >= 0);
        CHECK(wm_doc_calls_find(&c, &d.doc, UINT32_MAX, &err) >= 0 && c.list.n < sizeof states);
        for (size_t k = 0; k < c.list.n; k++)
            states[k] = " prc"[c.list.p[k].state];
        CHECK_STR(wb_cstr(states), wb_cstr(calls[i].states));
        CHECK(wm_doc_pending(&c, &d.doc.turns.p[0]) == calls[i].first);
        CHECK(wm_doc_calls_find(&before, &d.doc, 1, &err) >= 0); /* as it was after the first entry */
        for (size_t k = 0; k < before.list.n; k++)
            CHECK(before.list.p[k].state == WM_CALL_PENDING);
    }
}
