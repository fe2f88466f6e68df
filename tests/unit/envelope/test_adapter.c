/* Adapters: the specification's own code was run over random envelopes and inputs
 * (tests/fixtures/envelope/adapters.json has what it gave), and ours gives the same characters; which adapter a model
 * has; mistakes in templates. */
#include <stdlib.h>

#include "envelope/adapter.h"
#include "json/read.h"
#include "json/value.h"
#include "support/envelopes.h"
#include "support/test.h"

#define ONE_AGENT "models: {m: {provider: scripted, echo: true}}\nagents: {a: {model: m}}\n"

static void freep(char **p)
{
    free(*p);
}

static const struct we_adapter *named(const struct wc_config *c, const char *name)
{
    return we_adapter_named(&c->envelopes.adapters, wb_cstr(name));
}

/* The pairs of the fixture. */
static int fixture(struct wb_arena *a, const char *what, yyjson_val **ret)
{
    WB_CLEANUP(freep) char *text = NULL;
    yyjson_val *root;
    size_t n;
    text = test_read("fixtures/envelope/adapters.json", &n);
    if (!EXPECT(text != NULL))
        return -1;
    int r = wj_read(a, wb_str(text, n), NULL, &root, NULL);
    *ret = r >= 0 ? yyjson_obj_get(root, what) : NULL;
    return r;
}

static bool prompt_is(struct wb_arena *a, const struct we_adapter *adapter, const struct we_envelope *e, bool strict,
                      yyjson_val *system, yyjson_val *user)
{
    struct we_prompt p;
    int r = we_prompt(a, adapter, e, strict, &p, NULL);
    return EXPECT(r >= 0) && test_expect_str(p.user, wj_text(user), __FILE__, __LINE__, "user") &&
           test_expect_str(p.system, system ? wj_text(system) : UPP_STR(""), __FILE__, __LINE__, "system");
}

/* covers: ENV-3/2, ENV-13/2 */
TEST_WITH(adapter_prompts_are_the_specifications, .no_torture = "300 envelopes: adapter_prompts_one has one",
          .seconds = 120)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM), scratch = WB_ARENA(ENVELOPES_ROOM);
    yyjson_val *pairs, *one;
    size_t i, n;
    CHECK(envelopes_config(ONE_AGENT, &c, NULL) >= 0 && fixture(&a, "pairs", &pairs) >= 0);
    CHECK(yyjson_arr_size(pairs) >= 300);
    yyjson_arr_foreach(pairs, i, n, one)
    {
        struct we_envelope e;
        yyjson_val *gpt5 = yyjson_obj_get(one, "gpt5");
        wb_arena_reset(&scratch);
        test_note("pair %zu", i);
        CHECK(we_read(&scratch, wj_text_at(one, "envelope"), NULL, &e, NULL) >= 0);
        CHECK(prompt_is(&scratch, named(c, "claude"), &e, false, NULL, yyjson_obj_get(one, "claude")));
        CHECK(prompt_is(&scratch, named(c, "gemini"), &e, false, NULL, yyjson_obj_get(one, "gemini")));
        CHECK(prompt_is(&scratch, named(c, "gpt5"), &e, true, yyjson_arr_get(gpt5, 0), yyjson_arr_get(gpt5, 1)));
    }
}

/* What JavaScript would make of our text. */
static bool same_in_js(struct wb_arena *a, struct upp_str ours, yyjson_val *theirs)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    yyjson_val *v;
    int r = wj_read(a, ours, NULL, &v, NULL);
    if (r >= 0)
        r = we_stringify(v, 0, &b, NULL);
    return EXPECT(r >= 0) && test_expect_str(wb_buf_str(&b), wj_text(theirs), __FILE__, __LINE__, "envelope");
}

/* covers: ENV-3/1 */
TEST_WITH(adapter_envelopes_are_the_specifications, .no_torture = "60 inputs: adapter_prompts_one has one")
{
    static const char *const names[] = {"claude", "gpt5", "gemini"};
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM), scratch = WB_ARENA(ENVELOPES_ROOM);
    yyjson_val *inputs, *one;
    size_t i, n;
    CHECK(envelopes_config(ONE_AGENT, &c, NULL) >= 0 && fixture(&a, "inputs", &inputs) >= 0);
    CHECK(yyjson_arr_size(inputs) >= 60);
    yyjson_arr_foreach(inputs, i, n, one)
    {
        struct we_raw raw = {.user = wj_text_at(one, "user"),
                             .system = wj_text_at(one, "system"),
                             .now_ms = 1767323045678,
                             .strict = true};
        struct upp_str data = wj_text_at(one, "data"), text;
        wb_arena_reset(&scratch);
        test_note("input %zu", i);
        CHECK(!data.p || wj_read(&scratch, data, NULL, &raw.data, NULL) >= 0);
        for (size_t k = 0; k < WB_LEN(names); k++) {
            CHECK(we_to_envelope(&scratch, named(c, names[k]), &raw, &text, NULL) >= 0);
            CHECK(same_in_js(&scratch, text, yyjson_obj_get(one, names[k])));
        }
    }
}

TEST(adapter_numbers_are_javascripts)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    yyjson_val *numbers, *one;
    size_t i, n;
    char out[WE_JS_NUMBER];
    CHECK(fixture(&a, "numbers", &numbers) >= 0);
    yyjson_arr_foreach(numbers, i, n, one)
    {
        struct upp_str from = wj_text(yyjson_arr_get(one, 0));
        test_note("%.*s", UPP_FMT(from));
        CHECK_STR(wb_str(out, we_js_number(from, out)), wj_text(yyjson_arr_get(one, 1)));
    }
}

/* What the adapters write where the specification's have no place: content for GPT-5, resources for all.
 * covers: ENV-3/3, ENV-13/2 */
TEST(adapter_prompts_one)
{
    static const char resources[] = ",\"inputs\":{\"context\":\"C\",\"resources\":[{\"type\":\"db\",\"id\":"
                                    "\"customers\",\"hint\":\"readonly\"},{\"type\":\"url\",\"id\":\"u\"}]}";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    struct we_prompt p;
    CHECK(envelopes_config(ONE_AGENT, &c, NULL) >= 0);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", resources), &e) >= 0);
    CHECK(we_prompt(&a, named(c, "gpt5"), &e, false, &p, NULL) >= 0);
    CHECK_STR(p.system, UPP_STR("You speak Envelope v1. Intent=plan. Return JSON only."));
    CHECK_STR(p.user,
              UPP_STR("{\"task\":\"Do it\",\"context\":\"C\",\"resources\":[{\"type\":\"db\",\"id\":\"customers\","
                      "\"hint\":\"readonly\"},{\"type\":\"url\",\"id\":\"u\"}]}"));
    CHECK(we_prompt(&a, named(c, "claude"), &e, false, &p, NULL) >= 0);
    CHECK_STR(p.user, UPP_STR("[INTENT:plan] [TASK:Do it]\nCONTEXT:\nC\nCONTENT:\nDo it\nRESOURCES:\n- db customers "
                              "(readonly)\n- url u"));
    CHECK(we_prompt(&a, named(c, "claude"), &e, true, &p, NULL) >= 0);
    CHECK_STR(p.user, UPP_STR("[INTENT:plan] [TASK:Do it]\nCONTEXT:\nC\nCONTENT:\nDo it"));
    CHECK(we_prompt(&a, named(c, "gemini"), &e, false, &p, NULL) >= 0);
    CHECK_STR(
        p.user,
        UPP_STR("Goal: Do it\nIntent: plan\nContext: C\nData:{}\nResources:\n- db customers (readonly)\n- url u"));
    CHECK(we_prompt(&a, named(c, "deepseek"), &e, false, &p, NULL) >= 0);
    CHECK_STR(p.user, UPP_STR("Task: Do it\nContext: C\nResources:\n- db customers (readonly)\n- url u"));
    CHECK(envelopes_read(
              &a,
              "{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent\":"
              "\"plan\",\"task\":\"Do it\",\"content\":{\"type\":\"text\",\"text\":\"More than that\"}}",
              &e) >= 0);
    CHECK(we_prompt(&a, named(c, "gpt5"), &e, false, &p, NULL) >= 0);
    CHECK_STR(
        p.user,
        UPP_STR("{\"task\":\"Do it\",\"context\":null,\"content\":{\"type\":\"text\",\"text\":\"More than that\"}}"));
    CHECK(we_prompt(&a, named(c, "gpt5"), &e, true, &p, NULL) >= 0);
    CHECK_STR(p.user, UPP_STR("{\"task\":\"Do it\",\"context\":null}"));
    CHECK(we_prompt(&a, named(c, "generic"), &e, false, &p, NULL) >= 0);
    CHECK_STR(p.user, UPP_STR("Task: Do it\nContent: More than that"));
}

TEST(adapter_to_envelope_adds_score_and_summary)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    struct upp_str text;
    struct we_raw raw = {.user = UPP_STR(""), .model = UPP_STR("llama-4"), .trace = {.id = UPP_STR("x")}};
    CHECK(envelopes_config(ONE_AGENT, &c, NULL) >= 0);
    CHECK(we_to_envelope(&a, named(c, "gemini"), &raw, &text, NULL) >= 0 && we_read(&a, text, NULL, &e, NULL) >= 0);
    CHECK_STR(e.text, UPP_STR("object"));
    CHECK(e.has_score && e.default_score && e.score == 0.5);
    CHECK_STR(e.id, UPP_STR("x"));
    CHECK(we_to_envelope(&a, named(c, "generic"), &raw, &text, NULL) >= 0 && we_read(&a, text, NULL, &e, NULL) >= 0);
    CHECK_STR(e.model, UPP_STR("llama-4"));
    CHECK_STR(e.task, UPP_STR("(nothing)"));
}

TEST(adapter_is_found_by_model)
{
    static const char yaml[] = ONE_AGENT "adapters:\n  mine: {match: ['llama*', '*-MIXTRAL-?'], user: 'Q: {{task}}'}\n"
                                         "  claude: {match: ['claude-9*'], user: '{{task}}'}\n";
    static const char *const table[][2] = {
        {"gpt-5", "gpt5"},           {"GPT-4o", "gpt5"},          {"o3-mini", "gpt5"}, {"claude-9-x", "claude"},
        {"gemini-2.5", "gemini"},    {"DeepSeek-R1", "deepseek"}, {"llama-4", "mine"}, {"x-mixtral-7", "mine"},
        {"x-mixtral-77", "generic"}, {"claude-3.7", "generic"},   {"", "generic"},
    };
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    CHECK(envelopes_config(yaml, &c, NULL) >= 0);
    for (size_t i = 0; i < WB_LEN(table); i++) {
        const struct we_adapter *a = we_adapter_for(&c->envelopes.adapters, wb_cstr(table[i][0]));
        test_note("%s", table[i][0]);
        CHECK(a != NULL);
        CHECK_STR(a->name, wb_cstr(table[i][1]));
    }
    CHECK(!we_adapter_for(&(struct we_adapters){0}, UPP_STR("x")));
}

TEST(adapter_templates_have_mistakes)
{
    static const char *const table[][2] = {
        {"{{task}} {{context:n/a}} {{data|2}} {{content|json}} {{?resources}}x{{/}}", NULL},
        {"{{tusk}}", "'tusk' is not a field of an envelope's prompt"},
        {"a {{task", "{{ without }}"},
        {"{{/}}", "{{/}} without a section"},
        {"{{?data}}", "a section without {{/}}"},
        {"{{?data}}{{?task}}{{/}}", "a section inside a section"},
        {"{{?x}}{{/}}", "'x' is not a field of an envelope's prompt"},
        {"{{task|2}}", "'task|2': a form is |json, for data also |1 to |8, for context also :TEXT"},
        {"{{task:x}}", "'task:x': a form is |json, for data also |1 to |8, for context also :TEXT"},
        {"{{data|9}}", "'data|9': a form is |json, for data also |1 to |8, for context also :TEXT"},
    };
    for (size_t i = 0; i < WB_LEN(table); i++) {
        struct upp_err err = {0};
        int r = we_template_check(wb_cstr(table[i][0]), &err);
        CHECK_INT(r, table[i][1] ? -UPP_EINVALID : 0);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(table[i][1] ? table[i][1] : ""));
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    while (b.n <= WE_MAX_TEMPLATE && !b.failed)
        wb_buf_add(&b, UPP_STR("0123456789"));
    CHECK(!b.failed);
    CHECK_INT(we_template_check(wb_buf_str(&b), NULL), -UPP_ELIMIT);
}

TEST(adapter_stringify_indents)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    yyjson_val *v;
    CHECK(wj_read(&a, UPP_STR("{\"b\":[1,{}],\"2\":{\"x\":null},\"1\":[]}"), NULL, &v, NULL) >= 0);
    CHECK(we_stringify(v, 2, &b, NULL) >= 0);
    CHECK_STR(wb_buf_str(&b),
              UPP_STR("{\n  \"1\": [],\n  \"2\": {\n    \"x\": null\n  },\n  \"b\": [\n    1,\n    {}\n  ]\n}"));
}
