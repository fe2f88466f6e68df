/* Replay: recorded logs of envelopes through the rules again, and what these would have done differently. */
#include "envelope/replay.h"
#include "support/envelopes.h"
#include "support/test.h"

#define AGENTS                                                                                                         \
    "models: {gpt-5: {provider: scripted, echo: true}, claude-x: {provider: scripted, echo: true}, gemini-x: "         \
    "{provider: scripted, echo: true}}\n"                                                                              \
    "agents: {planner: {model: gpt-5}, writer: {model: claude-x}, runner: {model: gemini-x}}\n"
#define ACTIVE "envelopes: {actions: {enabled: true}}\n"

/* An envelope: who, intent, task, id, parents and more members. */
#define AGENT(name, model) "\"agent\":{\"id\":\"" name "\",\"name\":\"" name "\",\"model\":\"" model "\"},"
#define LINE(role, who, intent, task, id, parents, more)                                                               \
    "{\"protocol\":\"multiagent-1.0\",\"role\":\"" role "\"," who "\"timestamp\":\"2026-01-02T03:04:05Z\","            \
    "\"intent\":\"" intent "\",\"task\":\"" task "\",\"content\":{\"type\":\"text\",\"text\":\"" task "\"}" more       \
    ",\"trace\":{\"id\":\"" id "\",\"parents\":[" parents "],\"cost\":{\"input_tokens\":10,\"output_tokens\":5}}}"
#define USER(intent, id)                LINE("user", "", intent, "Do it", id, "", "")
#define SAYS(who, intent, id, of, more) LINE("agent", who, intent, "Do it", id, "\"" of "\"", more)
#define ROUTED(intent, task, id, of)    LINE("system", AGENT("orchestrator", "n/a"), intent, task, id, "\"" of "\"", "")
#define PLANNER                         AGENT("planner", "gpt-5")
#define WRITER                          AGENT("writer", "claude-x")
#define RUNNER                          AGENT("runner", "gemini-x")
#define NEXT(i, t)                      ",\"outputs\":{\"next_actions\":[{\"intent\":\"" i "\",\"task\":\"" t "\"}]}"

struct replayed {
    struct wb_buf told; /* "kind id recorded>replayed\n" */
    struct we_replayed sum;
    int bad; /* envelopes that were refused */
};

static void done(struct replayed *p)
{
    wb_buf_done(&p->told);
}

static int tell(void *arg, const struct we_difference *d, struct upp_err *err)
{
    struct replayed *p = arg;
    bool text = d->kind == WE_DIFFERENT_PROMPT;
    wb_buf_addf(&p->told, "%.*s %.*s %.*s>%.*s\n", UPP_FMT(we_difference_name(d->kind)),
                UPP_FMT(d->id.n ? d->id : d->intent), UPP_FMT(text ? UPP_STR("") : d->recorded),
                UPP_FMT(text ? UPP_STR("") : d->replayed));
    return wb_buf_check(&p->told, err);
}

static struct upp_str model_of(void *arg, struct upp_str agent)
{
    (void)arg;
    return wb_str_eq(agent, UPP_STR("planner"))  ? UPP_STR("gpt-5")
           : wb_str_eq(agent, UPP_STR("writer")) ? UPP_STR("claude-x")
           : wb_str_eq(agent, UPP_STR("runner")) ? UPP_STR("gemini-x")
                                                 : (struct upp_str){0};
}

static int ask_writer(void *arg, const struct we_envelope *request, const struct we_envelope *recorded,
                      struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct we_replied r = {.request = request,
                           .text = UPP_STR("anew"),
                           .agent_id = UPP_STR("writer"),
                           .agent_name = UPP_STR("writer"),
                           .model = UPP_STR("claude-x"),
                           .id = recorded->id};
    (void)arg;
    return we_take_reply(a, NULL, &r, ret, err);
}

static int replay_with(struct replayed *p, const char *yaml, struct upp_str live, const char *const *log, size_t n)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    WB_CLEANUP(we_replay_freep) struct we_replay *replay = NULL;
    int r = envelopes_config(yaml, &c, NULL);
    p->told = (struct wb_buf)WB_BUF(1u << 20);
    if (r < 0)
        return r;
    struct we_replay_opts opts = {.routes = &c->envelopes.routes,
                                  .adapters = &c->envelopes.adapters,
                                  .limits = &c->envelopes.limits,
                                  .model_of = model_of,
                                  .differs = tell,
                                  .live = live,
                                  .ask = ask_writer,
                                  .arg = p};
    r = we_replay_new(&opts, &replay, NULL);
    for (size_t i = 0; r >= 0 && i < n; i++) {
        struct upp_err err = {0};
        r = we_replay_add(replay, wb_cstr(log[i]), &err);
        if (r == -UPP_EINVALID) {
            p->bad++;
            r = 0;
        }
        if (r < 0)
            test_note("%s: %s", log[i], err.msg);
    }
    return r < 0 ? r : we_replay_end(replay, &p->sum, NULL);
}

#define REPLAY(p, yaml, log) replay_with(p, yaml, (struct upp_str){0}, log, WB_LEN(log))

/* A plan that is split, and a reply that is doubted. */
static const char *const plan[] = {USER("plan", "q"), SAYS(PLANNER, "plan", "a", "q", NEXT("decompose", "Split it")),
                                   ROUTED("decompose", "Split it", "r", "a"), SAYS(WRITER, "decompose", "b", "r", "")};

/* covers: ENV-9/2 */
TEST(replay_of_the_same_rules_has_no_differences)
{
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p, AGENTS ACTIVE, plan) >= 0);
    CHECK_STR(wb_buf_str(&p.told), UPP_STR("prompt r >\n")); /* the log was not written by these rules: its context */
    CHECK(p.sum.envelopes == 4 && p.sum.exchanges == 1 && p.sum.requests == 2 && p.sum.unanswered == 0);
    CHECK(p.sum.recorded_tokens == 30 && p.sum.replayed_tokens == 30);
}

/* covers: ENV-9/2 */
TEST(replay_tells_another_route)
{
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p,
                 AGENTS ACTIVE "routes: [{intent: plan, to: planner}, {intent: [decompose, reflect], to: runner}]\n",
                 plan) >= 0);
    CHECK(wb_str_find(wb_buf_str(&p.told), UPP_STR("route r writer>runner\n"), 0) != SIZE_MAX);
}

/* Requests that the rules do not send cost nothing. covers: ENV-9/2 */
TEST(replay_tells_what_is_not_sent)
{
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p, AGENTS, plan) >= 0);
    CHECK_STR(wb_buf_str(&p.told), UPP_STR("unsent r >\ncost  30 tokens>15 tokens\n"));
    CHECK(p.sum.differences == 2 && p.sum.recorded_tokens == 30 && p.sum.replayed_tokens == 15);
}

TEST(replay_tells_what_is_new)
{
    static const char *const log[] = {USER("plan", "q"), SAYS(PLANNER, "plan", "a", "q", NEXT("decompose", "Split it")),
                                      USER("analyze", "z"),
                                      SAYS(WRITER, "analyze", "y", "z", ",\"confidence\":{\"score\":0.2}")};
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p, AGENTS ACTIVE, log) >= 0);
    CHECK_STR(wb_buf_str(&p.told), UPP_STR("new decompose >writer\nnew reflect >planner\n"));
}

/* Nothing is known of what follows a reply that the log does not have. */
TEST(replay_counts_what_has_no_reply)
{
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(replay_with(&p, AGENTS ACTIVE, (struct upp_str){0}, plan, 1) >= 0);
    CHECK(p.sum.unanswered == 1 && p.sum.differences == 0);
}

TEST(replay_tells_another_order)
{
    static const char *const log[] = {
        USER("plan", "q"),
        SAYS(PLANNER, "plan", "a", "q",
             ",\"outputs\":{\"next_actions\":[{\"intent\":\"decompose\",\"task\":\"Do it\"},{\"intent\":\"execute\","
             "\"task\":\"Do it\"}]}"),
        ROUTED("execute", "Do it", "r2", "a"),
        ROUTED("decompose", "Do it", "r1", "a"),
        SAYS(RUNNER, "execute", "b2", "r2", ""),
        SAYS(WRITER, "decompose", "b1", "r1", "")};
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p, AGENTS ACTIVE, log) >= 0);
    CHECK_STR(wb_buf_str(&p.told), UPP_STR("order r2 >\n"));
}

TEST(replay_runs_an_agent_anew)
{
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(replay_with(&p, AGENTS ACTIVE, UPP_STR("writer"), plan, WB_LEN(plan)) >= 0);
    CHECK(wb_str_find(wb_buf_str(&p.told), UPP_STR("reply r Do it>anew\n"), 0) != SIZE_MAX);
    CHECK(wb_str_find(wb_buf_str(&p.told), UPP_STR("cost  30 tokens>15 tokens\n"), 0) != SIZE_MAX);
    CHECK(p.sum.recorded_tokens == 30 && p.sum.replayed_tokens == 15); /* the new reply has no cost */
}

/* Models that write envelopes make up names: who is asked anew is the agent that the rules choose. */
TEST(replay_runs_an_agent_anew_whatever_it_calls_itself)
{
    static const char *const log[] = {USER("analyze", "q"), SAYS(AGENT("own.name", "m"), "analyze", "a", "q", "")};
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(replay_with(&p, AGENTS, UPP_STR("writer"), log, WB_LEN(log)) >= 0);
    CHECK(wb_str_find(wb_buf_str(&p.told), UPP_STR("reply q Do it>anew\n"), 0) != SIZE_MAX);
}

/* Envelopes of several exchanges in one log, some of them twice, and lines that are none. */
TEST(replay_reads_mixed_exchanges)
{
    static const char *const log[] = {
        USER("analyze", "q1"), USER("plan", "q2"), "{\"protocol\":\"other\"}", SAYS(PLANNER, "plan", "a2", "q2", ""),
        SAYS(PLANNER, "plan", "a2", "q2", ""), "no JSON", SAYS(WRITER, "analyze", "a1", "q1", ""),
        /* who continues a conversation begins an exchange */
        LINE("user", "", "execute", "Go on", "q3", "\"q1\",\"a1\"", ""), SAYS(RUNNER, "execute", "a3", "q3", "")};
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(REPLAY(&p, AGENTS, log) >= 0);
    CHECK_STR(wb_buf_str(&p.told), UPP_STR(""));
    CHECK(p.sum.exchanges == 3 && p.sum.repeated == 1 && p.bad == 2 && p.sum.unanswered == 0);
}

/* More exchanges at once than are kept open: the one that nothing was heard of for the longest time ends. */
TEST(replay_keeps_a_limited_number_open)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(8u << 20);
    enum { N = WE_REPLAY_OPEN + 1 };
    const char *log[N + 2];
    struct upp_str begin = UPP_STR(USER("plan", "%")), end = UPP_STR(SAYS(PLANNER, "plan", "a", "%", ""));
    size_t at = wb_str_find(begin, UPP_STR("%"), 0), to = wb_str_find(end, UPP_STR("%"), 0);
    for (int i = 0; i < N; i++)
        log[i] = wb_arena_printf(&a, "%.*s%d%.*s", (int)at, begin.p, i, UPP_FMT(wb_str_sub(begin, at + 1, SIZE_MAX))).p;
    for (int i = 0; i < 2; i++)
        log[N + i] =
            wb_arena_printf(&a, "%.*s%d%.*s", (int)to, end.p, i ? N - 1 : 1, UPP_FMT(wb_str_sub(end, to + 1, SIZE_MAX)))
                .p;
    CHECK(wb_arena_check(&a, NULL) >= 0);
    WB_CLEANUP(done) struct replayed p = {0};
    CHECK(replay_with(&p, AGENTS, (struct upp_str){0}, log, N + 1) >= 0);
    CHECK(p.sum.exchanges == N && p.sum.unanswered == N - 1); /* 1 was still open, 0 was not */
}
