/* dialects/assistants_doc*.c: what is kept of any document, how lists are read, and every problem there is. */
#include <stdio.h>
#include <string.h>

#include "dialects/core/convert.h"
#include "dialects/core/lift.h"
#include "support/test.h"

/* ---- What is kept ------------------------------------------------------------------------------------------------ */

static const struct wm_doc_agent *agent_of(const struct wm_doc *d, const struct wm_doc_entry *e)
{
    return e->agent == WM_NO_AGENT ? NULL : &d->agents.p[e->agent];
}

/* Who said what in which order: texts and calls, each call with its result behind it. */
static void tell(const struct wm_doc *d, struct wb_buf *out)
{
    for (size_t i = 0; i < d->entries.n; i++) {
        const struct wm_doc_entry *e = &d->entries.p[i];
        const struct wm_doc_agent *a = agent_of(d, e);
        bool user = e->e.message.role == UPP_ROLE_USER;
        for (size_t k = 0; e->e.kind != WM_ENTRY_EVENT && k < e->e.message.n_parts; k++) {
            const struct upp_part *p = &e->e.message.parts[k];
            if (p->kind == UPP_PART_TEXT || p->kind == UPP_PART_CALL)
                wb_buf_addf(out, "%s %.*s (%.*s): %s %.*s %.*s %.*s\n", user ? "user" : "agent",
                            UPP_FMT(a ? a->id : UPP_STR("")), UPP_FMT(a ? a->name : UPP_STR("")),
                            p->kind == UPP_PART_CALL ? "call" : "text", UPP_FMT(p->id), UPP_FMT(p->name),
                            UPP_FMT(p->text));
            for (size_t j = i; p->kind == UPP_PART_CALL && j < d->entries.n; j++)
                for (size_t m = 0; m < d->entries.p[j].e.message.n_parts; m++) {
                    const struct upp_part *r = &d->entries.p[j].e.message.parts[m];
                    if (r->kind == UPP_PART_RESULT && wb_str_eq(r->id, p->id))
                        wb_buf_addf(out, "  %s %.*s\n", r->is_error ? "error" : "result", UPP_FMT(r->text));
                }
        }
    }
}

static unsigned pick(uint64_t *s, unsigned n) /* splitmix64 */
{
    uint64_t z = (*s += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (unsigned)((z ^ (z >> 31)) % n);
}

static struct upp_part invent_part(struct wb_arena *a, uint64_t *s, unsigned *calls, bool user)
{
    static const char *const texts[] = {"hello", "", "two\nlines", "\xc3\xa9 \"quoted\"", "{\"a\":1}"};
    struct upp_part p = {.kind = UPP_PART_TEXT, .text = wb_cstr(texts[pick(s, WB_LEN(texts))])};
    unsigned kind = pick(s, 6);
    if (kind == 0 && !user) {
        p.kind = UPP_PART_CALL;
        p.id = wb_arena_printf(a, "c%u", (*calls)++);
        p.name = UPP_STR("look");
        p.text = pick(s, 3) ? UPP_STR("{\"q\": 1.50}") : UPP_STR("{\"q\":oops");
    } else if (kind == 1 && !user)
        p.kind = UPP_PART_REASONING;
    else if (kind == 2) {
        struct upp_media *m = wb_new(a, struct upp_media);
        if (m)
            *m = pick(s, 2) ? (struct upp_media){.source = UPP_SOURCE_URL, .data = UPP_STR("https://example.org/x.png")}
                            : (struct upp_media){
                                  .source = UPP_SOURCE_BASE64, .mime = UPP_STR("image/png"), .data = UPP_STR("AAAA")};
        p = (struct upp_part){.kind = m ? UPP_PART_IMAGE : UPP_PART_TEXT, .media = m};
    }
    p.cut = pick(s, 12) == 0;
    return p;
}

static bool add(struct wm_doc *d, struct wb_arena *a, uint8_t role, uint32_t agent, struct upp_part *parts, size_t n,
                int64_t time)
{
    struct upp_err err;
    struct wm_doc_entry *e = wm_doc_entry_add(d, &err);
    struct upp_part *copy = wb_new_n(a, struct upp_part, n + 1);
    if (!e || !copy)
        return false;
    memcpy(copy, parts, n * sizeof *copy);
    e->agent = agent;
    e->e.kind = WM_ENTRY_MESSAGE;
    e->e.audience = WM_AUDIENCE_ALL;
    e->e.message.role = role;
    e->e.message.time_ms = time;
    e->e.message.parts = copy;
    e->e.message.n_parts = n;
    return true;
}

static bool invent(struct wm_doc *d, struct wb_arena *a, uint64_t seed)
{
    static const char *const results[] = {"1.50", "\"text\"", "{\"n\":[null]}", "null", "\"18\""};
    uint64_t *s = &seed;
    struct upp_err err;
    uint32_t agent;
    unsigned calls = 0, entries = 1 + pick(s, 12);
    int64_t time = 1770091507000;
    for (unsigned i = 0; i < 3; i++) {
        struct wm_doc_agent one = {.id = wb_arena_printf(a, "a%u", i),
                                   .name = wb_arena_printf(a, i ? "Agent %u" : "a%u", i)};
        if (wm_doc_agent_add(d, &one, &agent, &err) < 0)
            return false;
    }
    for (unsigned i = 0; i < entries; i++) {
        struct upp_part *parts = wb_new_n(a, struct upp_part, 6), *answers = wb_new_n(a, struct upp_part, 6);
        bool user = pick(s, 3) == 0;
        size_t n = 1 + pick(s, 5), m = 0;
        if (!parts || !answers)
            return false;
        agent = user && pick(s, 6) ? WM_NO_AGENT : pick(s, 3);
        for (size_t k = 0; k < n; k++) {
            parts[k] = invent_part(a, s, &calls, user);
            if (parts[k].kind == UPP_PART_CALL && pick(s, 4))
                answers[m++] = (struct upp_part){.kind = UPP_PART_RESULT,
                                                 .id = parts[k].id,
                                                 .text = wb_cstr(results[pick(s, WB_LEN(results))]),
                                                 .is_error = pick(s, 3) == 0};
        }
        time += pick(s, 2) * 500;
        if (!add(d, a, user ? UPP_ROLE_USER : UPP_ROLE_ASSISTANT, agent, parts, n, time) ||
            (m && !add(d, a, UPP_ROLE_TOOL, agent, answers, m, time)))
            return false;
    }
    return wm_doc_divide(d, &err) >= 0;
}

/* Any document of the model is read as what was written, which breaks no rule. */
TEST_WITH(dialect_assistants_doc_keeps_who_said_what, .no_torture = "thousands of documents")
{
    uint64_t seeds = test_times("WEFT_SEEDS", 2000);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16 << 20);
        WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
        WB_CLEANUP(wd_document_done) struct wd_document got = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), was = WB_BUF(1 << 20), is = WB_BUF(1 << 20);
        struct upp_err err = {0};
        WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
        const struct wd_document_ops *ops;
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(invent(&d, &a, seed));
        CHECK(wd_doc_write(&d, &wd_document_assistants, NULL, &out, NULL, &err) >= 0);
        CHECK(wd_document_read(&got, NULL, wb_buf_str(&out), NULL, &err) >= 0);
        CHECK(got.ops == &wd_document_assistants);
        CHECK(wd_document_validate(NULL, wb_buf_str(&out), &a, &p, &ops, &err) >= 0);
        CHECK_INT(p.errors + p.warnings, 0);
        tell(&d, &was);
        tell(&got.doc, &is);
        CHECK_STR(wb_buf_str(&is), wb_buf_str(&was));
    }
}

/* ---- How lists are read ------------------------------------------------------------------------------------------ */

/* JSON that the writer would write so is put as it is, and any other is read. */
TEST(dialect_assistants_doc_outputs_are_texts_or_json)
{
    static const struct {
        const char *result, *output; /* as JSON has it */
        bool json;
    } cases[] = {
        {"\"plain\"", "plain", false},        {" \"plain\"", "plain", false},         {"\"a\\nb\"", "a\\nb", false},
        {"{\"k\":1}", "{\\\"k\\\":1}", true}, {"{\"k\": 1}", "{\\\"k\\\": 1}", true}, {"1.50", "1.50", true},
        {"no JSON", "no JSON", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1 << 20), want = WB_BUF(1 << 10);
        WB_CLEANUP(wm_doc_done) struct wm_doc d = {0};
        struct upp_part call = {.kind = UPP_PART_CALL, .id = UPP_STR("c"), .name = UPP_STR("f"), .text = UPP_STR("{}")};
        struct upp_part result = {.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = wb_cstr(cases[i].result)};
        struct upp_err err;
        uint32_t agent;
        test_note("%s", cases[i].result);
        CHECK(wm_doc_agent_add(&d, &(struct wm_doc_agent){.id = UPP_STR("a"), .name = UPP_STR("a")}, &agent, &err) ==
              0);
        CHECK(add(&d, &a, UPP_ROLE_ASSISTANT, agent, &call, 1, 0) && add(&d, &a, UPP_ROLE_TOOL, agent, &result, 1, 0));
        CHECK(wm_doc_divide(&d, &err) >= 0);
        CHECK(wd_doc_write(&d, &wd_document_assistants, NULL, &out, NULL, &err) == 0);
        wb_buf_addf(&want, "\"output\":\"%s\"}", cases[i].output);
        CHECK(wb_str_find(wb_buf_str(&out), wb_buf_str(&want), 0) != SIZE_MAX);
        CHECK((wb_str_find(wb_buf_str(&out), UPP_STR("\"json\":[\"c\"]"), 0) != SIZE_MAX) == cases[i].json);
        CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"step_00000000000000010000000000000000\""), 0) != SIZE_MAX);
    }
}

static void reads(const char *json, const char *want)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf is = WB_BUF(1 << 16);
    struct upp_err err;
    CHECK(wd_document_read(&d, &wd_document_assistants, wb_cstr(json), NULL, &err) >= 0);
    tell(&d.doc, &is);
    CHECK(wb_buf_check(&is, NULL) == 0);
    CHECK_STR(wb_buf_str(&is), wb_cstr(want));
}

#define SAYS(id_, at_, role_, text_)                                                                                   \
    "{\"id\":\"" id_ "\",\"object\":\"thread.message\",\"created_at\":" at_ ",\"role\":\"" role_                       \
    "\",\"assistant_id\":\"a\",\"run_id\":\"r\",\"content\":\"" text_ "\"}"
#define CALLS(at_, id_)                                                                                                \
    "{\"object\":\"thread.run.step\",\"created_at\":" at_                                                              \
    ",\"assistant_id\":\"a\",\"run_id\":\"r\",\"step_details\":{"                                                      \
    "\"tool_calls\":[{\"id\":\"" id_ "\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\",\"output\":\"o\"}}]}}"
#define MADE(id_)                                                                                                      \
    "{\"object\":\"thread.run.step\",\"step_details\":{\"message_creation\":{\"message_id\":\"" id_ "\"}}}"

TEST(dialect_assistants_doc_newest_first_is_turned_round)
{
    reads("[" SAYS("2", "2", "assistant", "B") "," SAYS("1", "1", "user", "A") "]",
          "user  (): text   A\nagent a (a): text   B\n");
}

TEST(dialect_assistants_doc_pages_of_one_second_end_with_the_user)
{
    reads("{\"object\":\"list\",\"data\":[" SAYS("2", "1", "assistant", "B") "," SAYS("1", "1", "user", "A") "]}",
          "user  (): text   A\nagent a (a): text   B\n");
}

TEST(dialect_assistants_doc_steps_stand_between_the_messages_of_the_steps_around_them)
{
    reads(
        "{\"object\":\"thread\",\"messages\":[" SAYS("1", "1", "user", "A") "," SAYS(
            "2", "1", "assistant", "B") "," SAYS("3", "1", "assistant",
                                                 "C") "],\"steps\":[" MADE("2") "," CALLS("1", "c") "," MADE("3") "]}",
        "user  (): text   A\nagent a (a): text   B\nagent a (a): call c f {}\n  result \"o\"\nagent a (a): text   C\n");
}

TEST(dialect_assistants_doc_steps_alone_stand_by_their_time)
{
    reads("{\"object\":\"thread\",\"messages\":[" SAYS("1", "1", "user", "A") "," SAYS(
              "2", "5", "user", "B") "],\"steps\":[" CALLS("3", "c") "," CALLS("7", "d") "]}",
          "user  (): text   A\nagent a (a): call c f {}\n  result \"o\"\nuser  (): text   B\nagent a (a): call d f {}\n"
          "  result \"o\"\n");
}

TEST(dialect_assistants_doc_refuses_what_is_no_thread)
{
    static const char *const bad[] = {"[]",
                                      "{}",
                                      "7",
                                      "{\"object\":\"list\",\"data\":[]}",
                                      "{\"object\":\"run\"}",
                                      "[{\"object\":\"thread.message\",\"role\":\"user\",\"content\":[]}]"};
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(wd_document_done) struct wd_document d = {0};
        struct upp_err err = {0};
        test_note("%s", bad[i]);
        CHECK_INT(wd_document_read(&d, &wd_document_assistants, wb_cstr(bad[i]), NULL, &err), -UPP_EINVALID);
        CHECK(err.msg[0] != 0);
    }
}

/* ---- Problems ---------------------------------------------------------------------------------------------------- */

#define MSG  "\"id\":\"m\",\"object\":\"thread.message\",\"created_at\":1,\"role\":\"user\""
#define RUN  "\"id\":\"r\",\"object\":\"thread.run\",\"created_at\":1,\"assistant_id\":\"a\""
#define STEP "\"id\":\"s\",\"object\":\"thread.run.step\",\"created_at\":1"
#define TOP  "{\"id\":\"t\",\"object\":\"thread\",\"created_at\":1,"

static const struct {
    const char *json, *pointer, *rule;
    uint8_t severity;
} broken[] = {
    {"7", "", "OA-1", WD_ERROR},
    {TOP "\"messages\":{}}", "/messages", "OA-1", WD_ERROR},
    {TOP "\"messages\":[7]}", "/messages/0", "OA-1", WD_ERROR},
    {"{\"object\":\"thread\",\"created_at\":1}", "", "OA-2", WD_ERROR},
    {"{\"id\":\"t\",\"object\":\"thread\",\"created_at\":\"now\"}", "/created_at", "OA-2", WD_ERROR},
    {"[{" MSG "}]", "/0", "OA-3", WD_ERROR},
    {"[{\"id\":\"m\",\"object\":\"message\",\"created_at\":1,\"role\":\"user\",\"content\":\"\"}]", "/0/object", "OA-3",
     WD_ERROR},
    {"[{\"id\":\"m\",\"object\":\"thread.message\",\"created_at\":1,\"role\":\"system\",\"content\":\"\"}]", "/0/role",
     "OA-3", WD_ERROR},
    {"[{" MSG ",\"content\":\"\",\"run_id\":1}]", "/0/run_id", "OA-3", WD_ERROR},
    {"[{" MSG ",\"content\":\"\",\"status\":\"done\"}]", "/0/status", "OA-4", WD_ERROR},
    {"[{" MSG ",\"content\":\"\",\"incomplete_details\":{\"reason\":\"x\"}}]", "/0/incomplete_details/reason", "OA-4",
     WD_ERROR},
    {"[{" MSG ",\"content\":\"\",\"status\":\"completed\",\"incomplete_details\":{\"reason\":\"max_tokens\"}}]",
     "/0/incomplete_details", "OA-4", WD_WARNING},
    {"[{" MSG ",\"content\":7}]", "/0/content", "OA-5", WD_ERROR},
    {"[{" MSG ",\"content\":[7]}]", "/0/content/0", "OA-5", WD_ERROR},
    {"[{" MSG ",\"content\":[{\"type\":\"audio\"}]}]", "/0/content/0/type", "OA-5", WD_ERROR},
    {"[{" MSG ",\"content\":[{\"type\":\"text\",\"text\":{}}]}]", "/0/content/0/text", "OA-5", WD_ERROR},
    {"[{" MSG ",\"content\":[{\"type\":\"image_url\"}]}]", "/0/content/0", "OA-5", WD_ERROR},
    {"[{" MSG ",\"content\":[{\"type\":\"image_file\",\"image_file\":{}}]}]", "/0/content/0/image_file", "OA-5",
     WD_ERROR},
    {"[{" MSG ",\"content\":[{\"type\":\"refusal\"}]}]", "/0/content/0", "OA-5", WD_ERROR},
    {TOP "\"runs\":[{" RUN "}]}", "/runs/0", "OA-6", WD_ERROR},
    {TOP "\"runs\":[{" RUN ",\"status\":\"paused\"}]}", "/runs/0/status", "OA-6", WD_ERROR},
    {TOP "\"runs\":[{" RUN ",\"status\":\"requires_action\"}]}", "/runs/0", "OA-6", WD_WARNING},
    {TOP "\"runs\":[{" RUN ",\"status\":\"failed\",\"last_error\":{\"code\":\"x\"}}]}", "/runs/0/last_error/code",
     "OA-6", WD_ERROR},
    {TOP "\"steps\":[{" STEP "}]}", "/steps/0", "OA-7", WD_ERROR},
    {TOP "\"steps\":[{" STEP ",\"step_details\":{\"type\":\"x\"}}]}", "/steps/0/step_details", "OA-7", WD_ERROR},
    {TOP "\"steps\":[{" STEP ",\"step_details\":{\"type\":\"message_creation\"}}]}", "/steps/0/step_details", "OA-7",
     WD_ERROR},
    {TOP "\"steps\":[{" STEP
         ",\"type\":\"message_creation\",\"step_details\":{\"type\":\"tool_calls\",\"tool_calls\":[]}}]}",
     "/steps/0/step_details", "OA-7", WD_ERROR},
    {TOP "\"steps\":[{" STEP ",\"step_details\":{\"type\":\"tool_calls\",\"tool_calls\":[{}]}}]}",
     "/steps/0/step_details/tool_calls/0", "OA-8", WD_ERROR},
    {TOP "\"steps\":[{" STEP ",\"step_details\":{\"type\":\"tool_calls\",\"tool_calls\":[{\"id\":\"c\",\"type\":"
         "\"function\",\"function\":{}}]}}]}",
     "/steps/0/step_details/tool_calls/0/function", "OA-8", WD_ERROR},
    {TOP "\"steps\":[{" STEP ",\"step_details\":{\"type\":\"tool_calls\",\"tool_calls\":[{\"id\":\"c\",\"type\":"
         "\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"\",\"output\":7}}]}}]}",
     "/steps/0/step_details/tool_calls/0/function/output", "OA-8", WD_ERROR},
    {"[{" MSG ",\"content\":\"\"},{" MSG ",\"content\":\"\"}]", "/1/id", "OA-9", WD_ERROR},
    {TOP "\"metadata\":{\"a\":1,\"actors\":[1]}}", "/metadata/a", "OA-10", WD_WARNING},
    {TOP "\"messages\":[{" MSG ",\"content\":\"\",\"run_id\":\"x\"}],\"runs\":[]}", "/messages/0/run_id", "OA-11",
     WD_WARNING},
    {TOP "\"messages\":[],\"steps\":[{" STEP
         ",\"step_details\":{\"type\":\"message_creation\",\"message_creation\":{\"message_id\":\"x\"}}}]}",
     "/steps/0/step_details/message_creation/message_id", "OA-11", WD_WARNING},
};

/* One problem each, at its place, by its rule. */
TEST(dialect_assistants_doc_names_every_problem)
{
    for (size_t i = 0; i < WB_LEN(broken); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
        const struct wd_document_ops *ops;
        struct upp_err err = {0};
        test_note("%s", broken[i].json);
        CHECK(wd_document_validate(&wd_document_assistants, wb_cstr(broken[i].json), &a, &p, &ops, &err) >= 0);
        for (size_t k = 0; k < p.list.n; k++)
            test_note("%.*s: %s %.*s", UPP_FMT(p.list.p[k].pointer), p.list.p[k].rule, UPP_FMT(p.list.p[k].sentence));
        CHECK_INT(p.list.n, 1);
        CHECK_STR(p.list.p[0].pointer, wb_cstr(broken[i].pointer));
        CHECK_STR(wb_cstr(p.list.p[0].rule), wb_cstr(broken[i].rule));
        CHECK_INT(p.list.p[0].severity, broken[i].severity);
    }
}

TEST(dialect_assistants_doc_metadata_have_limits)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
    const struct wd_document_ops *ops;
    struct upp_err err = {0};
    wb_buf_addf(&b, TOP "\"metadata\":{\"%065d\":\"\",\"a\":\"%0513d\"", 0, 0);
    for (int i = 0; i < 15; i++)
        wb_buf_addf(&b, ",\"k%d\":\"%0512d\"", i, 0);
    wb_buf_add(&b, UPP_STR("}}"));
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK(wd_document_validate(NULL, wb_buf_str(&b), &a, &p, &ops, &err) >= 0);
    CHECK_INT(p.list.n, 3);
    CHECK_INT(p.warnings, 3);
}

/* As many pairs of metadata, and characters of each, as there may be; and one more. */
TEST(dialect_assistants_doc_metadata_has_limits)
{
    static const struct {
        int pairs, key, value;
        const char *sentence; /* NULL: none */
    } cases[] = {
        {16, 64, 512, NULL},
        {17, 64, 512, "more than 16 pairs of metadata"},
        {1, 65, 512, "a name of metadata has at most 64 characters, a value 512"},
        {1, 64, 513, "a name of metadata has at most 64 characters, a value 512"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1 << 20);
        WB_CLEANUP(wd_problems_done) struct wd_problems p = {0};
        const struct wd_document_ops *ops;
        struct upp_err err = {0};
        wb_buf_add(&text, UPP_STR(TOP "\"metadata\":{"));
        for (int k = 0; k < cases[i].pairs; k++)
            wb_buf_addf(&text, "%s\"%0*d\":\"%0*d\"", k ? "," : "", cases[i].key, k, cases[i].value, k);
        wb_buf_add(&text, UPP_STR("}}"));
        test_note("case %zu", i);
        CHECK(!text.failed &&
              wd_document_validate(&wd_document_assistants, wb_buf_str(&text), &a, &p, &ops, &err) >= 0);
        CHECK_INT(p.errors, 0);
        CHECK_INT(p.warnings, cases[i].sentence != NULL);
        if (p.list.n)
            CHECK_STR(p.list.p[0].sentence, wb_cstr(cases[i].sentence));
    }
}
