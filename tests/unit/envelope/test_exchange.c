/* Exchanges: what is asked of whom after which reply, and the envelope that answers. Every exchange here is fed to a
 * second one as a log, which must ask for nothing more and give the same answer. */
#include "json/value.h"
#include "support/envelopes.h"
#include "support/test.h"

#define AGENTS                                                                                                         \
    "models: {gpt-5: {provider: scripted, echo: true}, claude-x: {provider: scripted, echo: true}, gemini-x: "         \
    "{provider: "                                                                                                      \
    "scripted, echo: true}}\n"                                                                                         \
    "agents: {planner: {model: gpt-5}, writer: {model: claude-x}, runner: {model: gemini-x}}\n"
#define SCORE(s)   ",\"confidence\":{\"score\":" s "}"
#define ACTIONS(l) ",\"outputs\":{\"next_actions\":[" l "]}"
#define ACT(i, t)  "{\"intent\":\"" i "\",\"task\":\"" t "\",\"args\":{\"n\":1}}"
#define FAILS      "!"

enum { STEPS = 12 };

struct step { /* a reply: whose, and its members */
    const char *agent, *more;
};

struct play {
    struct wb_arena a;
    struct wc_config *c;
    struct envelopes_world world;
    struct we_limits limits;
    struct we_envelope ingress, answer;
    struct upp_str text;              /* of the answer */
    struct wb_buf told;               /* "agent intent task<parents\n" */
    struct upp_str *sent, *got, *who; /* the log */
    size_t n;
};

static void done(struct play *p)
{
    wc_config_free(p->c);
    wb_buf_done(&p->told);
    wb_arena_done(&p->a);
}

static int open(struct play *p, const char *yaml, const char *role, const char *intent, const char *more)
{
    *p = (struct play){.a = WB_ARENA(ENVELOPES_ROOM), .told = WB_BUF(1u << 20)};
    int r = envelopes_config(yaml, &p->c, NULL);
    if (r < 0)
        return r;
    p->limits = p->c->envelopes.limits;
    envelopes_world(&p->world, p->c);
    p->sent = wb_new_n(&p->a, struct upp_str, 3 * STEPS);
    if (!p->sent)
        return -UPP_ENOMEM;
    p->got = p->sent + STEPS;
    p->who = p->got + STEPS;
    return envelopes_read(&p->a, envelopes_text(&p->a, role, intent, more), &p->ingress);
}

/* A reply, as the agent's: an envelope of `more`, or a failure. */
static int write_reply(struct play *p, const struct we_exchange *x, const struct we_ask *ask, const char *more,
                       struct upp_str *ret)
{
    struct upp_err failure = {.code = UPP_ENET, .msg = "down"};
    struct we_replied r = {.request = we_exchange_request(x, ask->id),
                           .direct = p->limits.direct_parents,
                           .agent_id = ask->agent,
                           .agent_name = ask->agent,
                           .has_cost = true,
                           .input_tokens = 10,
                           .output_tokens = 5};
    int code = p->world.host.new_id(&p->world, &p->a, &r.id, NULL);
    r.model = p->world.host.model_of(&p->world, ask->agent);
    if (strcmp(more, FAILS) == 0)
        r.failure = &failure;
    else
        r.text = wb_arena_printf(
            &p->a, "{\"protocol\":\"multiagent-1.0\",\"content\":{\"type\":\"text\",\"text\":\"%.*s says\"}%s}",
            UPP_FMT(ask->agent), more);
    return code < 0 ? code : we_take_reply(&p->a, NULL, &r, ret, NULL);
}

static int tell(struct play *p, const struct we_ask *ask)
{
    struct we_envelope e;
    yyjson_val *v;
    size_t i, n;
    int r = we_read(&p->a, ask->envelope, NULL, &e, NULL);
    if (r < 0)
        return r;
    wb_buf_addf(&p->told, "%.*s %.*s", UPP_FMT(ask->agent), UPP_FMT(e.intent_name));
    yyjson_arr_foreach(e.parents, i, n, v) wb_buf_addf(&p->told, " <%.*s", UPP_FMT(wj_text(v)));
    yyjson_arr_foreach(e.tags, i, n, v) wb_buf_addf(&p->told, " #%.*s", UPP_FMT(wj_text(v)));
    wb_buf_addc(&p->told, '\n');
    return 0;
}

static const char *take(const struct step *steps, bool *used, struct upp_str agent)
{
    for (size_t i = 0; steps[i].agent; i++)
        if (!used[i] && wb_str_eq(wb_cstr(steps[i].agent), agent)) {
            used[i] = true;
            return steps[i].more;
        }
    return "";
}

static int run(struct play *p, struct we_exchange *x, const struct step *steps)
{
    struct we_ask asks[STEPS];
    bool used[STEPS] = {false};
    size_t n;
    int r = we_exchange_next(x, asks, STEPS, &n, NULL);
    for (; r >= 0 && n; r = r < 0 ? r : we_exchange_next(x, asks, STEPS, &n, NULL))
        for (size_t i = 0; r >= 0 && i < n; i++) {
            if (!EXPECT(p->n < STEPS))
                return -1;
            p->sent[p->n] = asks[i].envelope;
            p->who[p->n] = asks[i].agent;
            r = tell(p, &asks[i]);
            if (r >= 0)
                r = write_reply(p, x, &asks[i], take(steps, used, asks[i].agent), &p->got[p->n]);
            if (r >= 0)
                r = we_exchange_reply(x, asks[i].id, p->got[p->n], NULL);
            p->n++;
        }
    return r;
}

/* The log in another exchange. */
static bool replays(struct play *p)
{
    struct we_exchange *x;
    struct we_ask asks[STEPS];
    struct upp_str text;
    size_t n;
    unsigned ids = p->world.ids;
    int r = we_exchange_new(&p->a, &p->world.host, &p->limits, &p->ingress, &x, NULL);
    for (size_t i = 0; r >= 0 && i < p->n; i++) {
        struct we_envelope e;
        r = we_exchange_sent(x, p->who[i], p->sent[i], NULL);
        if (r > 0)
            test_note("request %zu is not expected: %.*s", i, UPP_FMT(p->sent[i]));
        if (r == 0)
            r = we_read(&p->a, p->sent[i], NULL, &e, NULL);
        if (r == 0)
            r = we_exchange_reply(x, e.id, p->got[i], NULL);
        if (r > 0)
            return EXPECT(false);
    }
    if (r >= 0)
        r = we_exchange_next(x, asks, STEPS, &n, NULL);
    if (r < 0 || !EXPECT(n == 0 && we_exchange_waiting(x) == 0))
        return EXPECT(false);
    if (p->n) /* ids are made only for what the log does not have */
        r = EXPECT(p->world.ids == ids) ? r : -1;
    if (r >= 0)
        r = we_exchange_answer(x, &text, NULL);
    return EXPECT(r >= 0) && (!p->n || test_expect_str(text, p->text, __FILE__, __LINE__, "answer"));
}

static bool plays(struct play *p, const struct step *steps, const char *told)
{
    struct we_exchange *x;
    int r = we_exchange_new(&p->a, &p->world.host, &p->limits, &p->ingress, &x, NULL);
    if (r >= 0)
        r = run(p, x, steps);
    if (r >= 0)
        r = we_exchange_answer(x, &p->text, NULL);
    if (r >= 0)
        r = we_read(&p->a, p->text, NULL, &p->answer, NULL);
    if (r >= 0)
        r = wb_buf_check(&p->told, NULL);
    if (!EXPECT(r >= 0))
        return false;
    test_note("answer %.*s", UPP_FMT(p->text));
    return test_expect_str(wb_buf_str(&p->told), wb_cstr(told), __FILE__, __LINE__, "told") && replays(p);
}

/* covers: ENV-6/1, ENV-6/4 */
TEST(exchange_asks_once)
{
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, AGENTS, "user", "plan", "") >= 0);
    CHECK(plays(&p, (struct step[]){{"planner", SCORE("0.5")}, {0}}, "planner plan\n"));
    CHECK_STR(p.answer.agent_id, UPP_STR("planner"));
    CHECK_STR(p.answer.id, UPP_STR("id-2"));
    CHECK_STR(we_parent(&p.answer), UPP_STR("id-1")); /* the ingress had no id */
    CHECK(!p.answer.tags);
}

/* A request with an id is sent exactly as it came. covers: ENV-6/1 */
TEST(exchange_sends_the_ingress_unchanged)
{
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, AGENTS, "user", "analyze", ",  \"trace\":{\"id\":\"mine\",\"parents\":[\"a\"]}, \"x\":1.0") >= 0);
    CHECK(plays(&p, (struct step[]){{"writer", SCORE("0.9")}, {0}}, "writer analyze <a\n"));
    CHECK_STR(p.sent[0], p.ingress.json);
    CHECK(wb_str_find(p.text, UPP_STR("\"parents\":[\"a\",\"mine\"]"), 0) != SIZE_MAX);
}

/* covers: ENV-5/1 */
TEST(exchange_reflects_on_another_model)
{
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\",\"tags\":[\"hot\"]}") >= 0);
    CHECK(plays(&p, (struct step[]){{"writer", SCORE("0.49")}, {"planner", SCORE("0.8")}, {0}},
                "writer analyze #hot\nplanner reflect <id-1 #hot\n"));
    CHECK_STR(p.answer.agent_id, UPP_STR("planner"));
    CHECK(p.answer.score == 0.8 && !p.answer.tags);
    CHECK(wb_str_find(p.sent[1], UPP_STR("\"text\":\"writer says\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(p.sent[1], UPP_STR("The answer's confidence is 0.49"), 0) != SIZE_MAX);
}

/* The agent of reflect wrote it itself: another agent of another model reflects. covers: ENV-5/1 */
TEST(exchange_reflects_elsewhere_if_the_reflector_wrote_it)
{
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, AGENTS, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, (struct step[]){{"planner", SCORE("0.1")}, {"writer", SCORE("0.7")}, {0}},
                "planner plan\nwriter reflect <id-1\n"));
}

/* It says that another model wrote it: the log and the choice of who reflects do not believe it. */
TEST(exchange_does_not_believe_who_wrote_it)
{
    static const char claim[] = ",\"agent\":{\"id\":\"writer\",\"name\":\"w\",\"model\":\"other\"}" SCORE("0.1");
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, AGENTS, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, (struct step[]){{"planner", claim}, {"writer", SCORE("0.05")}, {"planner", SCORE("0.01")}, {0}},
                "planner plan\nwriter reflect <id-1\nplanner reflect <id-3\n"));
    CHECK_STR(p.answer.agent_id, UPP_STR("planner"));
    CHECK(!wb_str_eq(p.answer.model, UPP_STR("other")));
}

/* covers: ENV-5/2, ENV-14/2 */
TEST(exchange_does_not_reflect_without_need)
{
    static const char *const none[] = {"", SCORE("0.5"), ",\"role\":\"user\"" SCORE("0.1"),
                                       ",\"role\":\"system\"" SCORE("0.1"),
                                       ",\"confidence\":{\"score\":0.1,\"rationale\":\"not stated by the model\"}"};
    for (size_t i = 0; i < WB_LEN(none); i++) {
        WB_CLEANUP(done) struct play p = {0};
        test_note("%s", none[i]);
        CHECK(open(&p, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}" SCORE("0.1")) >= 0);
        CHECK(plays(&p, (struct step[]){{"writer", none[i]}, {0}}, "writer analyze\n"));
    }
    WB_CLEANUP(done) struct play tool = {0}, fails = {0};
    CHECK(open(&tool, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&tool, (struct step[]){{"writer", ",\"role\":\"tool\"" SCORE("0.1")}, {"planner", SCORE("0.6")}, {0}},
                "writer analyze\nplanner reflect <id-1\n"));
    CHECK(open(&fails, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&fails, (struct step[]){{"writer", FAILS}, {0}}, "writer analyze\n"));
    CHECK(we_is_error(&fails.answer));
}

/* covers: ENV-5/3 */
TEST(exchange_returns_the_best_when_reflections_are_exhausted)
{
    static const struct step steps[] = {
        {"writer", SCORE("0.3")}, {"planner", SCORE("0.4")}, {"writer", SCORE("0.2")}, {0}};
    WB_CLEANUP(done) struct play p = {0}, one = {0}, off = {0};
    CHECK(open(&p, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, steps, "writer analyze\nplanner reflect <id-1\nwriter reflect <id-3\n"));
    CHECK_STR(p.answer.agent_id, UPP_STR("planner"));
    CHECK(we_has_tag(&p.answer, UPP_STR("reflect:exhausted")));
    CHECK_STR(p.answer.id, UPP_STR("id-3"));
    CHECK(open(&one, AGENTS "envelopes: {reflections: 1}\n", "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&one, (struct step[]){{"writer", SCORE("0.3")}, {"planner", SCORE("0.2")}, {0}},
                "writer analyze\nplanner reflect <id-1\n"));
    CHECK_STR(one.answer.agent_id, UPP_STR("writer"));
    CHECK(open(&off, AGENTS "envelopes: {reflections: 0, doubt: 0.9}\n", "user", "analyze",
               ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&off, steps, "writer analyze\n"));
    CHECK(!off.answer.tags);
}

/* covers: ENV-5/4 */
TEST(exchange_reflects_on_the_same_model_if_there_is_no_other)
{
    static const char yaml[] =
        "models: {gpt-5: {provider: scripted, echo: true}, GPT-5: {provider: scripted, echo: true}}\n"
        "agents: {planner: {model: gpt-5}, other: {model: GPT-5}}\n"
        "routes: [{intent: [plan, reflect], to: planner, fallback: other}]\n";
    WB_CLEANUP(done) struct play p = {0};
    CHECK(open(&p, yaml, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, (struct step[]){{"planner", SCORE("0.1")}, {"planner", SCORE("0.6")}, {0}},
                "planner plan\nplanner reflect <id-1 #reflect:same-model\n"));
    CHECK(we_has_tag(&p.answer, UPP_STR("reflect:same-model")));
}

TEST(exchange_falls_back)
{
    static const char yaml[] =
        AGENTS "routes: [{intent: plan, to: planner, fallback: [writer, runner]}, {intent: reflect, to: runner}]\n";
    WB_CLEANUP(done) struct play p = {0}, all = {0}, reflector = {0};
    CHECK(open(&p, yaml, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, (struct step[]){{"planner", FAILS}, {"writer", FAILS}, {"runner", SCORE("0.9")}, {0}},
                "planner plan\nwriter plan <id-1 #route:fallback\nrunner plan <id-3 #route:fallback\n"));
    CHECK_STR(p.answer.agent_id, UPP_STR("runner"));
    CHECK(open(&all, yaml, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&all, (struct step[]){{"planner", FAILS}, {"writer", FAILS}, {"runner", FAILS}, {0}},
                "planner plan\nwriter plan <id-1 #route:fallback\nrunner plan <id-3 #route:fallback\n"));
    CHECK(we_is_error(&all.answer));
    CHECK(open(&reflector, yaml, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&reflector, (struct step[]){{"planner", SCORE("0.3")}, {"runner", FAILS}, {"writer", FAILS}, {0}},
                "planner plan\nrunner reflect <id-1\nwriter reflect <id-1\n"));
    CHECK(we_has_tag(&reflector.answer, UPP_STR("reflect:failed")) && reflector.answer.score == 0.3);
}

/* covers: ENV-4/3 */
TEST(exchange_without_a_route_is_an_error)
{
    WB_CLEANUP(done) struct play p = {0};
    struct upp_str code;
    bool again;
    CHECK(open(&p, AGENTS "routes: [{intent: plan, to: planner}]\n", "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >=
          0);
    CHECK(plays(&p, (struct step[]){{0}}, ""));
    CHECK(we_error_code(&p.answer, &code, &again) && !again);
    CHECK_STR(code, UPP_STR("no_route"));
    CHECK_STR(p.answer.role, UPP_STR("system"));
    CHECK_STR(we_parent(&p.answer), UPP_STR("q"));
    CHECK(p.answer.score == 0);
}

/* Ruling 10. */
TEST(exchange_does_not_execute_a_result)
{
    static const char text[] =
        "{\"protocol\":\"multiagent-1.0\",\"role\":\"tool\",\"timestamp\":\"2026-01-02T03:04:05Z\",\"intent\":\"tool."
        "call\","
        "\"task\":\"t\",\"content\":{\"type\":\"tool_result\",\"data\":1},\"trace\":{\"id\":\"r\"}" ACTIONS(
            ACT("summarize", "sum")) "}";
    WB_CLEANUP(done) struct play p = {0}, on = {0};
    CHECK(open(&p, AGENTS, "user", "plan", "") >= 0 && envelopes_read(&p.a, text, &p.ingress) >= 0);
    CHECK(plays(&p, (struct step[]){{0}}, ""));
    CHECK_STR(we_parent(&p.answer), UPP_STR("r"));
    CHECK_STR(p.answer.role, UPP_STR("system"));
    CHECK(open(&on, AGENTS "envelopes: {actions: {enabled: true}}\n", "user", "plan", "") >= 0 &&
          envelopes_read(&on.a, text, &on.ingress) >= 0);
    CHECK(plays(&on, (struct step[]){{"writer", SCORE("0.9")}, {0}}, "writer summarize <r\n"));
    CHECK_STR(on.answer.agent_id, UPP_STR("writer"));
}

#define PLAN ACTIONS(ACT("decompose", "one") "," ACT("retrieve", "two"))

/* covers: ENV-7/1 */
TEST(exchange_picks_actions_up)
{
    static const struct step steps[] = {{"planner", SCORE("0.9") PLAN},
                                        {"writer", SCORE("0.9") ACTIONS(ACT("execute", "three"))},
                                        {"runner", SCORE("0.9")},
                                        {"runner", SCORE("0.9")},
                                        {0}};
    WB_CLEANUP(done) struct play p = {0}, off = {0};
    CHECK(open(&off, AGENTS, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&off, steps, "planner plan\n"));
    CHECK(open(&p, AGENTS "envelopes: {actions: {enabled: true}}\n", "user", "plan",
               ",\"trace\":{\"id\":\"q\",\"tags\":[\"hot\"]},"
               "\"inputs\":{\"context\":\"C\",\"resources\":[{\"type\":\"db\",\"id\":\"d\",\"hint\":\"readonly\"}]}") >=
          0);
    CHECK(plays(
        &p, steps,
        "planner plan #hot\nwriter decompose <id-1 #hot\nrunner retrieve <id-1 #hot\nrunner execute <id-4 #hot\n"));
    for (size_t i = 1; i < 4; i++) { /* what is read only stays so for all that follows */
        test_note("%.*s", UPP_FMT(p.sent[i]));
        CHECK(wb_str_find(p.sent[i], UPP_STR("\"hint\":\"readonly\""), 0) != SIZE_MAX);
        CHECK(wb_str_find(p.sent[i], UPP_STR("\"parameters\":{\"n\":1}"), 0) != SIZE_MAX);
    }
    CHECK_STR(p.answer.task, UPP_STR("three"));
    CHECK(!we_has_tag(&p.answer, UPP_STR("actions:limit")));
}

static struct upp_str context_of(struct play *p, struct upp_str envelope)
{
    struct we_envelope e;
    return we_read(&p->a, envelope, NULL, &e, NULL) < 0 ? (struct upp_str){0} : e.context;
}

/* A context that is too long is cut, and says so; one that just fits does not. */
TEST(exchange_marks_a_context_that_is_cut)
{
    static const struct step steps[] = {
        {"planner", SCORE("0.9") ACTIONS(ACT("retrieve", "two"))}, {"runner", SCORE("0.9")}, {0}};
    const struct upp_str mark = UPP_STR("[cut: the context was longer]");
    for (int over = 0; over < 2; over++) {
        WB_CLEANUP(done) struct play p = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf more = WB_BUF(1u << 20);
        wb_buf_addf(&more, ",\"trace\":{\"id\":\"q\"},\"inputs\":{\"context\":\"");
        for (int i = 0; i < WE_MAX_CONTEXT + over; i++)
            wb_buf_addc(&more, 'c');
        wb_buf_addf(&more, "\"}");
        wb_buf_addc(&more, '\0');
        CHECK(!more.failed);
        CHECK(open(&p, AGENTS "envelopes: {actions: {enabled: true}}\n", "user", "plan", more.p) >= 0);
        CHECK(plays(&p, steps, "planner plan\nrunner retrieve <id-1\n"));
        struct upp_str context = context_of(&p, p.sent[1]);
        CHECK(context.n <= WE_MAX_CONTEXT && context.n > WE_MAX_CONTEXT - 8);
        CHECK((wb_str_find(context, mark, 0) == context.n - mark.n) == (over > 0));
    }
}

/* covers: ENV-7/2 */
TEST(exchange_limits_actions)
{
    static const struct {
        const char *limits, *told;
        bool stopped;
    } table[] = {
        {"depth: 1", "planner plan\nplanner plan <id-1\nplanner plan <id-1\n", true},
        {"count: 1", "planner plan\nplanner plan <id-1\n", true},
        {"fan_out: 1, depth: 3", "planner plan\nplanner plan <id-1\nplanner plan <id-3\nplanner plan <id-5\n", true},
        {"max_tokens: 15", "planner plan\n", true},
        {"max_tokens: 16, depth: 9", "planner plan\nplanner plan <id-1\nplanner plan <id-1\n", true},
    };
    static const struct step steps[] = {{"planner", ACTIONS(ACT("plan", "a") "," ACT("plan", "b"))},
                                        {"planner", ACTIONS(ACT("plan", "a") "," ACT("plan", "b"))},
                                        {"planner", ACTIONS(ACT("plan", "a") "," ACT("plan", "b"))},
                                        {"planner", ACTIONS(ACT("plan", "a") "," ACT("plan", "b"))},
                                        {0}};
    for (size_t i = 0; i < WB_LEN(table); i++) {
        WB_CLEANUP(done) struct play p = {0};
        char yaml[1024];
        (void)snprintf(yaml, sizeof yaml, AGENTS "envelopes: {actions: {enabled: true, %s}}\n", table[i].limits);
        test_note("%s", table[i].limits);
        CHECK(open(&p, yaml, "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
        CHECK(plays(&p, steps, table[i].told));
        CHECK(we_has_tag(&p.answer, UPP_STR("actions:limit")) == table[i].stopped);
    }
}

TEST(exchange_answers_with_what_finalizes)
{
    static const struct step steps[] = {
        {"planner", ACTIONS(ACT("finalize", "f") "," ACT("execute", "e"))}, {"planner", ""}, {"runner", ""}, {0}};
    WB_CLEANUP(done) struct play p = {0}, q = {0};
    CHECK(open(&p, AGENTS "envelopes: {actions: {enabled: true}}\n", "user", "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p, steps, "planner plan\nplanner finalize <id-1\nrunner execute <id-1\n"));
    CHECK_STR(p.answer.task, UPP_STR("f"));
    CHECK(open(&q, AGENTS "envelopes: {actions: {enabled: true}}\nroutes: [{intent: plan, to: planner}]\n", "user",
               "plan", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&q, steps, "planner plan\n"));
    CHECK(we_has_tag(&q.answer, UPP_STR("actions:no-route")));
}

/* A log of other rules: what they would not send is taken nevertheless, and reported. */
TEST(exchange_takes_a_foreign_log)
{
    WB_CLEANUP(done) struct play p = {0};
    struct we_exchange *x;
    struct we_ask asks[2];
    struct upp_str text;
    size_t n;
    CHECK(open(&p, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(plays(&p,
                (struct step[]){{"writer", SCORE("0.4")}, {"planner", SCORE("0.45")}, {"writer", SCORE("0.6")}, {0}},
                "writer analyze\nplanner reflect <id-1\nwriter reflect <id-3\n"));
    p.limits.reflections = 0;
    CHECK(we_exchange_new(&p.a, &p.world.host, &p.limits, &p.ingress, &x, NULL) >= 0);
    CHECK_INT(we_exchange_sent(x, UPP_STR("runner"), p.sent[0], NULL), 1); /* to another agent */
    CHECK_INT(we_exchange_sent(x, UPP_STR("runner"), p.sent[0], NULL), -UPP_EINVALID);
    CHECK_INT(we_exchange_reply(x, UPP_STR("nobody"), p.got[0], NULL), -UPP_ENOTFOUND);
    CHECK(we_exchange_reply(x, UPP_STR("q"), p.got[0], NULL) >= 0);
    CHECK_INT(we_exchange_reply(x, UPP_STR("q"), p.got[0], NULL), -UPP_ENOTFOUND);
    CHECK_INT(we_exchange_sent(x, UPP_STR("planner"), p.sent[1], NULL), 1);
    CHECK_INT(we_exchange_waiting(x), 1);
    CHECK(we_exchange_answer(x, &text, NULL) >= 0); /* the best so far */
    CHECK_STR(text, p.got[0]);
    CHECK(we_exchange_reply(x, UPP_STR("id-2"), p.got[1], NULL) >= 0);
    CHECK(we_exchange_next(x, asks, 2, &n, NULL) >= 0);
    CHECK_INT(n, 0);
    CHECK(we_exchange_answer(x, &text, NULL) >= 0);
    CHECK_STR(text, p.got[1]);
}

TEST(exchange_takes_garbage_as_a_failure)
{
    WB_CLEANUP(done) struct play p = {0};
    struct we_exchange *x;
    struct we_ask ask;
    struct upp_str text;
    struct we_envelope e;
    size_t n;
    CHECK(open(&p, AGENTS, "user", "analyze", ",\"trace\":{\"id\":\"q\"}") >= 0);
    CHECK(we_exchange_new(&p.a, &p.world.host, &p.limits, &p.ingress, &x, NULL) >= 0);
    CHECK(we_exchange_answer(x, &text, NULL) >= 0 && we_read(&p.a, text, NULL, &e, NULL) >= 0);
    CHECK(we_is_error(&e)); /* nothing is answered yet */
    CHECK(we_exchange_next(x, &ask, 1, &n, NULL) >= 0 && n == 1);
    CHECK(we_exchange_reply(x, ask.id, UPP_STR("no envelope"), NULL) >= 0);
    CHECK(we_exchange_answer(x, &text, NULL) >= 0 && we_read(&p.a, text, NULL, &e, NULL) >= 0);
    CHECK(wb_str_find(text, UPP_STR("INVALID_RESPONSE"), 0) != SIZE_MAX);
}
