/* The mux of C programs: the specification's orchestrator, without server, store or configuration. */
#include <weft/agent.h>
#include <weft/envelope.h>
#include <weft/runtime.h>

#include "json/value.h"
#include "support/envelopes.h"
#include "support/test.h"

#define REPLY(more) "{\"content\":{\"type\":\"text\",\"text\":\"hi\"},\"intent\":\"plan\"" more "}"

static int answers(void *arg, struct upp_str envelope, struct weft_mux_answer *reply, struct upp_err *err)
{
    (void)envelope;
    return arg ? weft_mux_reply(reply, wb_cstr(arg), err) : upp_fail(err, UPP_ENET, "down");
}

static void free_text(struct upp_str *s)
{
    upp_text_free(*s);
}

/* Routes an envelope of this intent; the answer is read into the arena. */
static int route(struct wb_arena *a, const struct weft_mux_rule *rules, size_t n, const struct weft_mux_opts *opts,
                 const char *envelope, struct we_envelope *ret)
{
    UPP_CLEANUP(weft_mux_freep) struct weft_mux *m = NULL;
    WB_CLEANUP(free_text) struct upp_str text = {0};
    struct upp_err err = {0};
    int r = envelope ? weft_mux_new(rules, n, opts, &m, &err) : -UPP_ENOMEM;
    if (r >= 0)
        r = weft_mux_route(m, wb_cstr(envelope), &text, &err);
    test_note("%s %s", err.msg, text.p ? text.p : "");
    return r < 0 ? r : we_read_any(a, text, NULL, ret, NULL);
}

static char plan_reply[] = REPLY(",\"trace\":{\"id\":\"theirs\",\"parents\":[\"x\"],\"tags\":[\"t\"],\"cost\":{\"input_"
                                 "tokens\":2}},\"role\":\"agent\",\"mine\":1");
static char low_reply[] = REPLY(",\"confidence\":{\"score\":0.2}");
static char reflect_reply[] = "Reflected.";

static const struct weft_mux_rule two[] = {
    {.intent = "plan", .fn = answers, .arg = plan_reply},
    {.intent = "reflect", .fn = answers, .arg = reflect_reply, .name = "mirror", .model = "glass"}};

/* covers: ENV-15, ENV-6/1, ENV-6/2, ENV-6/4 */
TEST(mux_is_the_specifications)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    struct wb_uuid id;
    CHECK(route(&a, two, 2, NULL, envelopes_text(&a, "user", "plan", ",\"trace\":{\"id\":\"q\",\"parents\":[\"p\"]}"),
                &e) >= 0);
    CHECK(yyjson_obj_get(e.root, "mine") && we_has_tag(&e, UPP_STR("t")) && e.input_tokens == 2);
    CHECK(wb_uuid_parse(e.id, &id) && wb_uuid_version(id) == 4);
    CHECK_INT(yyjson_arr_size(e.parents), 2);
    CHECK_STR(wj_text(yyjson_arr_get(e.parents, 0)), UPP_STR("p"));
    CHECK_STR(we_parent(&e), UPP_STR("q"));
    CHECK(route(&a, two, 2, UPP_OPTS(weft_mux_opts, .direct_parents = true),
                envelopes_text(&a, "user", "plan", ",\"trace\":{\"id\":\"q\",\"parents\":[\"p\"]}"), &e) >= 0);
    CHECK_INT(yyjson_arr_size(e.parents), 1);
    CHECK(route(&a, two, 2, NULL, envelopes_text(&a, "user", "execute", ",\"trace\":{}"), &e) >=
          0); /* no rule: reflect */
    CHECK_STR(e.text, UPP_STR("Reflected."));
    CHECK_STR(e.agent_id, UPP_STR("mirror"));
    CHECK_STR(e.model, UPP_STR("glass"));
    CHECK_STR(e.intent_name, UPP_STR("execute"));
    CHECK(wb_uuid_parse(we_parent(&e), &id)); /* it got an id when it came in */
}

/* covers: ENV-15, ENV-4/3 */
TEST(mux_answers_failures_by_envelopes)
{
    static const struct weft_mux_rule plan = {.intent = "plan", .fn = answers};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    struct upp_str code;
    bool again;
    CHECK(route(&a, &plan, 1, NULL, envelopes_text(&a, "user", "analyze", ""), &e) >= 0);
    CHECK(we_error_code(&e, &code, &again) && wb_str_eq(code, UPP_STR("no_route")));
    CHECK(route(&a, &plan, 1, NULL, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK(we_error_code(&e, &code, &again) && again && wb_str_eq(code, UPP_STR("NETWORK_ERROR")));
    CHECK_STR(e.text, UPP_STR("down"));
    CHECK(route(&a, &plan, 1, NULL, "{\"protocol\":1,\"task\":2}", &e) >= 0);
    CHECK(we_is_error(&e) && yyjson_arr_size(yyjson_obj_get(e.data, "problems")) > 4);
    CHECK(route(&a, &plan, 1, NULL, "nonsense", &e) >= 0);
    CHECK(we_is_error(&e));
}

TEST(mux_reflects_if_asked_to)
{
    static const struct weft_mux_rule rules[] = {
        {.intent = "plan", .fn = answers, .arg = low_reply, .model = "a"},
        {.intent = "reflect", .fn = answers, .arg = reflect_reply, .model = "b"}};
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    struct we_envelope e;
    CHECK(route(&a, rules, 2, NULL, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK(e.score == 0.2); /* the specification's orchestrator does not */
    CHECK(route(&a, rules, 2, UPP_OPTS(weft_mux_opts, .doubt = 0.5), envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK_STR(e.text, UPP_STR("Reflected."));
}

#define LETTER(intent, more)                                                                                           \
    envelopes_text(&a, "agent", intent, ",\"agent\":{\"id\":\"x\",\"name\":\"X\",\"model\":\"m\"}" more)

/* covers: ENV-15, ENV-4/3 */
TEST(mux_sends_unknown_intents_to_reflect_if_asked_to)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    const struct weft_mux_opts *opts = UPP_OPTS(weft_mux_opts, .unknown_reflects = true);
    struct we_envelope e;
    CHECK(route(&a, two, 2, NULL, LETTER("sing", ""), &e) >= 0 && we_is_error(&e));
    CHECK(route(&a, two, 2, opts, LETTER("sing", ",\"trace\":{\"id\":\"q\"}"), &e) >= 0);
    CHECK_STR(e.text, UPP_STR("Reflected."));
    CHECK_STR(e.intent_name, UPP_STR("sing"));
    CHECK_STR(we_parent(&e), UPP_STR("q"));
    CHECK(route(&a, two, 2, opts, LETTER("", ""), &e) >= 0 && we_is_error(&e));
    CHECK(route(&a, two, 2, opts, LETTER("sing", ",\"confidence\":{\"score\":2}"), &e) >= 0 && we_is_error(&e));
    CHECK(route(&a, two, 1, opts, LETTER("sing", ""), &e) >= 0 && we_is_error(&e)); /* nobody reflects */
}

/* covers: ENV-15 */
TEST(mux_sends_doubtful_envelopes_to_reflect_if_asked_to)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    const struct weft_mux_opts *opts = UPP_OPTS(weft_mux_opts, .doubt = 0.5, .doubtful_reflects = true);
    struct we_envelope e;
    CHECK(route(&a, two, 2, UPP_OPTS(weft_mux_opts, .doubt = 0.5), LETTER("plan", ",\"confidence\":{\"score\":0.4}"),
                &e) >= 0);
    CHECK(yyjson_obj_get(e.root, "mine"));
    CHECK(route(&a, two, 2, opts, LETTER("plan", ",\"confidence\":{\"score\":0.4}"), &e) >= 0);
    CHECK_STR(e.text, UPP_STR("Reflected."));
    CHECK(route(&a, two, 2, opts, LETTER("plan", ",\"confidence\":{\"score\":0.5}"), &e) >= 0);
    CHECK(yyjson_obj_get(e.root, "mine"));
    CHECK(route(&a, two, 1, opts, LETTER("plan", ",\"confidence\":{\"score\":0.4}"), &e) >= 0);
    CHECK(yyjson_obj_get(e.root, "mine")); /* nobody reflects: by its intent */
}

TEST(mux_rules_are_checked)
{
    static const struct {
        struct weft_mux_rule rules[2];
        size_t n;
        struct weft_mux_opts opts;
        const char *why;
    } table[] = {
        {{{.intent = "sing", .fn = answers}}, 1, {0}, "'sing' is not an intent"},
        {{{.intent = "plan"}}, 1, {0}, "the rule of plan has neither or both of a function and an agent"},
        {{{.intent = "plan", .fn = answers}, {.intent = "plan", .fn = answers}}, 2, {0}, "plan has a second rule"},
        {{{0}}, 1, {0}, "'' is not an intent"},
        {{{0}}, 0, {.doubt = 2}, "doubt is 0 to 1, and reflections are at most 16"},
        {{{0}}, 0, {.depth = 65}, "depth, count and fan_out of actions are at most 64, 4096 and 256"},
        {{{0}}, 257, {0}, "a mux has at most 256 rules"},
    };
    for (size_t i = 0; i < WB_LEN(table); i++) {
        struct weft_mux *m = NULL;
        struct upp_err err = {0};
        struct weft_mux_opts opts = table[i].opts;
        opts.size = sizeof opts;
        CHECK(weft_mux_new(table[i].rules, table[i].n, &opts, &m, &err) < 0);
        ALWAYS(!m);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(table[i].why));
    }
}

static void close_runtime(struct weft_runtime **rt)
{
    weft_runtime_close(*rt);
}

/* The agent's model gets the generic prompt. covers: ENV-15 */
TEST(mux_asks_agents)
{
    static const char script[] =
        "{\"replies\":[{\"parts\":[{\"text\":\"{\\\"text\\\":\\\"Sure\\\",\\\"confidence\\\":0.75}\"}]}]}";
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ENVELOPES_ROOM);
    WB_CLEANUP(close_runtime) struct weft_runtime *rt = NULL;
    struct weft_agent *agent = NULL;
    struct we_envelope e;
    CHECK(weft_runtime_open(NULL, &rt, NULL) >= 0);
    CHECK(weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = {.provider = "scripted", .name = script}), &agent,
                         NULL) >= 0);
    struct weft_mux_rule rule = {.intent = "plan", .agent = agent, .name = "planner", .model = "llama"};
    CHECK(route(&a, &rule, 1, NULL, envelopes_text(&a, "user", "plan", ""), &e) >= 0);
    CHECK_STR(e.text, UPP_STR("Sure"));
    CHECK(e.score == 0.75 && e.has_cost);
    CHECK_STR(e.model, UPP_STR("llama"));
}
