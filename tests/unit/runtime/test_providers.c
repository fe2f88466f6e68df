/* Tool providers whose lists come late, change while runs use them, and go away. */
#include <stdio.h>

#include "base/defs.h"
#include "runtime/runtime.h"
#include "support/fault.h"
#include "support/fibers.h"
#include "support/rig.h"

/* A provider that lists when it is told to, and whose calls return when they are told to. */
struct clock {
    struct wa_provider provider; /* first */
    const char *tool;            /* the only one that it has; NULL: nobody answers */
    bool listing, lists, calling, answers;
    struct weft_cond may_list, may_answer;
    unsigned calls;
    struct wr_tool tools[1];
};

static WEFT_SUSPENDS int list_tools(struct wa_provider *p, struct wb_arena *a, struct wr_tool **ret, size_t *n,
                                    struct upp_err *err)
{
    struct clock *c = (struct clock *)p;
    struct wr_tool *t = wb_new_n(a, struct wr_tool, 2);
    c->listing = true;
    while (!c->lists)
        TRY(weft_cond_wait(&c->may_list, err));
    c->listing = false;
    if (!c->tool)
        return upp_fail(err, UPP_ENET, "nobody answers");
    if (!t)
        return wb_arena_check(a, err);
    for (size_t i = 0; i < 2; i++)
        t[i] = (struct wr_tool){.spec = {.name = wb_cstr(i ? "own" : c->tool), .parameters = UPP_STR("{}")},
                                .base = {.run = p->ops->call, .arg = c}};
    *ret = t;
    *n = 2;
    return 0;
}

static WEFT_SUSPENDS int call_tool(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct clock *c = call->arg;
    c->calls++;
    c->calling = true;
    while (!c->answers)
        TRY(weft_cond_wait(&c->may_answer, err));
    c->calling = false;
    if (!c->tool || !wb_str_eq(call->name, wb_cstr(c->tool)))
        return upp_fail(err, UPP_ENOTFOUND, "the clock has no '%.*s' any more", UPP_FMT(call->name));
    return upp_value_text(ret, UPP_STR("twelve"), err);
}

static const struct wa_provider_ops clock_ops = {.kind = "clock", .list = list_tools, .call = call_tool};

struct world {
    struct clock clock;
    struct wa_provider *providers[1];
    struct wc_config *config;
    struct wrt_runtime *rt;
};

static const char yaml[] = "store: memory\n"
                           "models:\n"
                           "  tells: {provider: scripted, script: tells.json}\n"
                           "tools: {own: {parameters: {type: object}}}\n"
                           "agents:\n"
                           "  teller: {model: tells, tools: [own, clock]}\n"
                           "  other: {model: tells, tools: [own]}\n";

static const char script[] =
    "{\"replies\":["
    "{\"when\":{\"contains\":\"hello\"},\"parts\":[{\"text\":\"hello\"}]},"
    "{\"when\":{\"contains\":\"time\"},\"parts\":[{\"tool_call\":{\"name\":\"tick\",\"arguments\":\"{}\"}}]},"
    "{\"parts\":[{\"tool_call\":{\"name\":\"tick\",\"arguments\":\"{}\"}}]},"
    "{\"parts\":[{\"text\":\"late\"}]}]}";

static const struct wr_agent_def *teller(const struct world *w)
{
    return wrt_agent(w->rt, UPP_STR("teller"));
}

/* One turn of a wait. What waits for what an injected fault has prevented gives up. */
static WEFT_SUSPENDS int pause_once(unsigned *turns, struct upp_err *err)
{
    if (fault_fired() && ++*turns > 100)
        return upp_fail(err, UPP_ETIMEOUT, "it does not come any more");
    return weft_sleep_ms(1, err);
}

/* Waits until the agent has a tool as its second one (NULL: it has only its own). */
static WEFT_SUSPENDS int has_tool(struct world *w, const char *name, struct upp_err *err)
{
    const struct wrt_provider *x = &w->rt->providers[0];
    unsigned turns = 0;
    for (;;) {
        const struct wr_agent_def *def = teller(w);
        if (def->n_tools == (name ? 2u : 1u) && (!name || wb_str_eq(def->tools[1].spec.name, wb_cstr(name))))
            return 0;
        if (x->why.code && x->why.code != UPP_ENET) { /* a fault of the test's */
            *err = x->why;
            return -x->why.code;
        }
        TRY(pause_once(&turns, err));
    }
}

static WEFT_SUSPENDS int start(struct world *w, const char *text, struct wr_started *ret, struct upp_err *err)
{
    struct rig rig = {.engine = w->rt->engine};
    return rig_start(&rig, "teller", text, NULL, ret, err);
}

static WEFT_SUSPENDS int finish(struct world *w, const struct wr_started *run, uint8_t *status, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct wr_run_info look;
    unsigned turns = 0;
    while (wr_engine_counts(w->rt->engine).working)
        TRY(pause_once(&turns, err));
    TRY(wr_get(w->rt->engine, &rig_owner, run->run, &a, &look, err));
    *status = look.run.status;
    return 0;
}

static void change(struct clock *c, const char *tool)
{
    c->tool = tool;
    c->provider.changed(c->provider.arg);
}

/* Nothing waits for a provider that is slow: agents work without its tools until they are listed. */
static WEFT_SUSPENDS int lists_late(struct world *w, struct upp_err *err)
{
    struct wr_started run;
    uint8_t status;
    TRY(start(w, "hello", &run, err));
    TRY(finish(w, &run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED && w->clock.listing);
    FAIL_UNLESS(teller(w)->n_tools == 1 && w->rt->providers[0].state == WRT_LISTING);
    w->clock.lists = true;
    weft_cond_signal(&w->clock.may_list);
    TRY(has_tool(w, "tick", err));
    FAIL_UNLESS(wrt_agent(w->rt, UPP_STR("other"))->n_tools == 1);
    FAIL_UNLESS(teller(w)->tools[0].kind == WR_TOOL_CLIENT); /* of two tools of a name, the agent's own */
    return 0;
}

/* A run keeps the list with which it began; a call of what is gone fails, and the run goes on. */
static WEFT_SUSPENDS int changes_list(struct world *w, struct upp_err *err)
{
    struct wr_started run;
    uint8_t status;
    TRY(start(w, "time", &run, err));
    unsigned turns = 0;
    while (!w->clock.calling && wr_engine_counts(w->rt->engine).working)
        TRY(pause_once(&turns, err));
    FAIL_UNLESS(w->clock.calling);
    const struct wrt_generation *before = w->rt->agents;
    change(&w->clock, "tock");
    TRY(has_tool(w, "tock", err));
    FAIL_UNLESS(w->rt->agents != before && before->runs == 1);
    w->clock.answers = true;
    weft_cond_signal(&w->clock.may_answer);
    TRY(finish(w, &run, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED && w->clock.calls == 2);
    FAIL_UNLESS(before->runs == 0 && wrt__drop_unused(w->rt, 0) == 0);
    return 0;
}

/* Its state says why; agents are without its tools until it is there again. */
static WEFT_SUSPENDS int goes_away(struct world *w, struct upp_err *err)
{
    const struct wrt_provider *x = &w->rt->providers[0];
    change(&w->clock, NULL);
    TRY(has_tool(w, NULL, err));
    FAIL_UNLESS(x->state == WRT_UNAVAILABLE && x->why.code == UPP_ENET);
    FAIL_UNLESS(wb_str_eq(wb_cstr(x->why.msg), UPP_STR("nobody answers")));
    change(&w->clock, "tick");
    TRY(has_tool(w, "tick", err));
    FAIL_UNLESS(x->state == WRT_READY);
    return 0;
}

static WEFT_SUSPENDS int plays(void *arg, struct upp_err *err)
{
    struct world *w = arg;
    struct wrt_location at;
    TRY(wrt_location_of(w->config, NULL, &at, err));
    TRY(wrt_runtime_open(weft_loop_current(), w->config, &at, &w->rt, err));
    int r = lists_late(w, err);
    if (r >= 0)
        r = changes_list(w, err);
    if (r >= 0)
        r = goes_away(w, err);
    w->clock.lists = false; /* closing ends a list that is being read */
    if (r >= 0)
        change(&w->clock, "tick");
    unsigned turns = 0;
    while (r >= 0 && !w->clock.listing)
        r = pause_once(&turns, err);
    wrt_runtime_close(w->rt);
    return r;
}

static bool writes_script(char path[600])
{
    char file[700];
    (void)snprintf(path, 600, "%s/weft.yaml", test_folder());
    (void)snprintf(file, sizeof file, "%s/tells.json", test_folder());
    FILE *f = fopen(file, "w");
    bool good = f && fputs(script, f) >= 0;
    return f && fclose(f) == 0 && good;
}

TEST_WITH(providers_feed_generations, .no_torture = NULL, .seconds = 120)
{
    char path[600];
    struct upp_err err = {0};
    struct world w = {.clock = {.provider = {.ops = &clock_ops, .name = UPP_STR("clock")}, .tool = "tick"}};
    w.providers[0] = &w.clock.provider;
    CHECK(writes_script(path));
    CHECK_INT(wc_config_parse(path, wb_cstr(yaml),
                              UPP_OPTS(wc_opts, .makers = &wc_makers, .providers = w.providers, .n_providers = 1), NULL,
                              &w.config, &err),
              0);
    int r = test_on_loop(plays, &w, &err);
    if (r < 0)
        test_note("%s", err.msg);
    wc_config_free(w.config);
    CHECK_INT(r, 0);
}

TEST(providers_have_names_of_their_own)
{
    struct clock clock = {.provider = {.ops = &clock_ops, .name = UPP_STR("clock")}};
    struct wa_provider *const providers[] = {&clock.provider};
    static const struct {
        const char *agents, *mistake;
    } rows[] = {
        {"tools: {clock: {}}\nagents: {a: {model: m, tools: [clock]}}\n",
         "'clock' is the name of a tool provider and of a tool or an agent"},
        {"agents: {a: {model: m, tools: [clock, clock]}}\n", "'clock' is there a second time"},
        {"agents: {a: {model: m, tools: [clok]}}\n", "there is no tool or agent 'clok'; did you mean 'clock'?"},
        {"agents: {a: {model: m, hosted: {file_search: clock}}}\n", "'clock' has a list of tools: name one tool"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4096);
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err = {0};
        wb_buf_addf(&text, "models: {m: {provider: scripted, echo: true}}\n%s", rows[i].agents);
        int r = wc_config_parse("weft.yaml", wb_buf_str(&text),
                                UPP_OPTS(wc_opts, .makers = &wc_makers, .providers = providers, .n_providers = 1), NULL,
                                &c, &err);
        CHECK_INT(r, -UPP_EINVALID);
        CHECK(wb_str_find(wb_cstr(err.msg), wb_cstr(rows[i].mistake), 0) != SIZE_MAX);
    }
}
