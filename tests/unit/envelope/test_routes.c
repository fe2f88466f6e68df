/* Routes: the first rule that fits, its conditions, weights, and what the explanation says. */
#include "support/envelopes.h"
#include "support/test.h"

#define AGENTS                                                                                                         \
    "models: {gpt-5: {provider: scripted, echo: true}, claude-x: {provider: scripted, echo: true}, gemini-x: "         \
    "{provider: "                                                                                                      \
    "scripted, echo: true}, other: {provider: scripted, echo: true}}\n"                                                \
    "agents: {planner: {model: gpt-5}, writer: {model: claude-x}, runner: {model: gemini-x}, spare: {model: other}}\n"

/* The agent, or what went wrong. */
static bool goes(const struct wc_config *c, const char *role, const char *intent, const char *more, const char *agent)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    struct we_choice choice = {0};
    struct upp_err err = {0};
    if (envelopes_read(&a, envelopes_text(&a, role, intent, more), &e) < 0)
        return EXPECT(false);
    int r = we_route(&a, &c->envelopes.routes, &e, (struct upp_str){0}, &choice, &err);
    test_note("%s %s%s: %s", role, intent, more, err.msg);
    return r < 0 ? test_expect_str(wb_cstr(err.msg), wb_cstr(agent), __FILE__, __LINE__, "failure")
                 : test_expect_str(choice.agent, wb_cstr(agent), __FILE__, __LINE__, "agent");
}

/* covers: ENV-4/1, ENV-4/2 */
TEST(routes_by_default_are_the_specifications)
{
    static const char *const table[][2] = {
        {"plan", "planner"},     {"reflect", "planner"}, {"finalize", "planner"}, {"decompose", "writer"},
        {"summarize", "writer"}, {"analyze", "writer"},  {"execute", "runner"},   {"tool.call", "runner"},
        {"retrieve", "runner"},  {"route", "planner"},
    };
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    CHECK(envelopes_config(AGENTS, &c, NULL) >= 0);
    CHECK_INT(c->envelopes.routes.n, 3);
    for (size_t i = 0; i < WB_LEN(table); i++)
        CHECK(goes(c, "user", table[i][0], "", table[i][1]));
    CHECK(goes(c, "user", "route", ",\"inputs\":{\"parameters\":{\"target\":\"spare\"}}", "spare"));
    CHECK(goes(c, "user", "route", ",\"inputs\":{\"parameters\":{\"target\":\"nobody\"}}",
               "there is no agent 'nobody' to route to"));
    CHECK(goes(c, "user", "plan", ",\"inputs\":{\"parameters\":{\"target\":\"spare\"}}", "planner"));
}

/* covers: ENV-4/1, ENV-4/3 */
TEST(routes_without_a_rule_reflect)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL, *none = NULL;
    CHECK(envelopes_config(AGENTS "routes: [{intent: reflect, to: spare}, {intent: [plan, execute], to: runner}]\n", &c,
                           NULL) >= 0);
    CHECK(goes(c, "user", "analyze", "", "spare"));
    CHECK(goes(c, "user", "execute", "", "runner"));
    CHECK(goes(c, "user", "route", "", "runner"));
    CHECK(envelopes_config(AGENTS "routes: [{intent: plan, to: runner}]\n", &none, NULL) >= 0);
    CHECK(goes(none, "user", "analyze", "", "no rule fits the intent analyze, and there is none for reflect"));
}

TEST(routes_have_conditions)
{
    static const char yaml[] =
        AGENTS "routes:\n"
               "- {intent: plan, when: {confidence: {below: 0.3}}, to: writer}\n"
               "- {intent: plan, when: {confidence: {above: 0.9}, tags: [hotfix, now]}, to: runner}\n"
               "- {intent: plan, when: {role: tool}, to: spare}\n"
               "- {intent: plan, when: {agent: 'GPT5.*', type: text}, to: writer}\n"
               "- {intent: plan, when: {cost: {above: 100}}, to: spare}\n"
               "- {intent: plan, when: {tags: slow}, to: runner}\n"
               "- {intent: [plan, reflect], to: planner}\n";
    static const char *const table[][3] = {
        {"user", "", "planner"},
        {"user", ",\"confidence\":{\"score\":0.29}", "writer"},
        {"user", ",\"confidence\":{\"score\":0.3}", "planner"},
        {"user", ",\"confidence\":{\"score\":0.95},\"trace\":{\"tags\":[\"now\",\"x\",\"hotfix\"]}", "runner"},
        {"user", ",\"confidence\":{\"score\":0.95},\"trace\":{\"tags\":[\"now\"]}", "planner"},
        {"user", ",\"confidence\":{\"score\":0.9},\"trace\":{\"tags\":[\"now\",\"hotfix\"]}", "planner"},
        {"tool", "", "spare"},
        {"agent", ",\"agent\":{\"id\":\"gpt5.plan\",\"name\":\"n\",\"model\":\"m\"}", "writer"},
        {"agent", ",\"agent\":{\"id\":\"gpt.plan\",\"name\":\"n\",\"model\":\"m\"}", "planner"},
        {"user", ",\"trace\":{\"cost\":{\"input_tokens\":60,\"output_tokens\":41}}", "spare"},
        {"user", ",\"trace\":{\"cost\":{\"input_tokens\":60,\"output_tokens\":40}}", "planner"},
        {"user", ",\"trace\":{\"tags\":[\"slow\"]}", "runner"},
    };
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    CHECK(envelopes_config(yaml, &c, NULL) >= 0);
    for (size_t i = 0; i < WB_LEN(table); i++)
        CHECK(goes(c, table[i][0], "plan", table[i][1], table[i][2]));
}

/* Three quarters of the ids go to the one with weight 3, and one id always to the same. */
TEST_WITH(routes_choose_by_weight, .no_torture = "many envelopes")
{
    static const char yaml[] = AGENTS "routes: [{intent: plan, to: [{agent: writer, weight: 3}, runner]}]\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    unsigned writer = 0;
    CHECK(envelopes_config(yaml, &c, NULL) >= 0);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    for (unsigned i = 0; i < 4000; i++) {
        struct we_choice one, again;
        e.id = wb_arena_numbered(&a, UPP_STR("msg_"), i);
        CHECK(we_route(&a, &c->envelopes.routes, &e, (struct upp_str){0}, &one, NULL) >= 0);
        CHECK(we_route(&a, &c->envelopes.routes, &e, (struct upp_str){0}, &again, NULL) >= 0);
        CHECK(wb_str_eq(one.agent, again.agent));
        writer += wb_str_eq(one.agent, UPP_STR("writer"));
    }
    test_note("%u of 4000", writer);
    CHECK(writer > 2850 && writer < 3150);
}

TEST(routes_explain_themselves)
{
    static const char yaml[] = AGENTS "routes:\n"
                                      "- {intent: [plan, execute], when: {role: tool, tags: [a, b], confidence: "
                                      "{below: 0.5}}, to: [{agent: writer, weight: 2}, spare]}\n"
                                      "- {intent: analyze, to: writer}\n"
                                      "- {intent: plan, to: planner, fallback: [spare, runner]}\n"
                                      "- {intent: plan, when: {cost: {above: 5}}, to: runner}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 16);
    struct we_envelope e;
    struct upp_err err = {0};
    CHECK(envelopes_config(yaml, &c, NULL) >= 0);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK_INT(we_explain(&c->envelopes.routes, &e, &b, &err), 0);
    CHECK_STR(wb_buf_str(&b), UPP_STR("rule 1 (line 4): plan, execute, role tool, tags a, b, confidence below 0.5 -> "
                                      "writer (weight 2), spare (weight 1)\n"
                                      "    does not fit: the role is user\n"
                                      "rule 2 (line 5): analyze -> writer\n"
                                      "    does not fit: the intent is plan\n"
                                      "rule 3 (line 6): plan -> planner, else spare, runner\n"
                                      "    fits: taken\n"
                                      "rule 4 (line 7): plan, cost above 5 -> runner\n"
                                      "    does not fit: its cost is 0\n"
                                      "agent: planner (by the rule of its intent)\n"));
    wb_buf_clear(&b);
    CHECK(envelopes_read(&a, envelopes_text(&a, "user", "retrieve", ""), &e) >= 0);
    CHECK_INT(we_explain(&c->envelopes.routes, &e, &b, &err), -UPP_ENOTFOUND);
    CHECK(wb_str_ends(wb_buf_str(&b),
                      UPP_STR("no route: no rule fits the intent retrieve, and there is none for reflect\n")));
}
