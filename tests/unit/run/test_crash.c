/* Deaths at every commit, written or not, and what was found by chance before, each on its own. */
#include <stdio.h>
#include <string.h>

#include "agent/middleware/middleware.h"
#include "base/defs.h"
#include "envelope/run/router.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/failing_store.h"
#include "support/rig.h"

struct stage {
    const char *script, *helper, *picker;
    const struct weft_strategy *strategy; /* of the main agent; NULL: the loop */
    const struct weft_strategy *helps;    /* of the helper */
    int (*act)(struct stage *st, struct upp_err *err);
    struct weft__sim *sim;
    struct wl_store *inner;
    struct frail frail;
    struct rig rig;
    struct checker check;
    uint64_t deaths[2]; /* at which commit of the first and second life it dies; 0: not */
    bool applies;
    uint64_t commits; /* of the first life */
    unsigned died;

    bool sums;                              /* what its steps used is what it used */
    const char *log;                        /* what the log must say in the end, whenever it died; NULL: anything */
    const struct wr_middleware *middleware; /* of the agent that is started; NULL: none */
    const struct wr_tool *tools;            /* of that agent; NULL: those of the rig */

    const char *text;      /* that is asked; NULL: "hello" */
    bool routed;           /* the agent that is started is the router of envelopes, between the two others */
    size_t routed_n;       /* envelopes that its exchange must have in the end */
    struct wb_arena arena; /* of the router */
};

#define CALL(id, name)                                                                                                 \
    "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\",\"arguments\":{\"a\":1,\"task\":\"go\"}}}"
#define TEXT(text)      "{\"text\":\"" text "\"}"
#define REPLY(...)      "{\"parts\":[" __VA_ARGS__ "],\"usage\":{\"input_tokens\":5,\"output_tokens\":3}}"
#define SCRIPT(...)     "{\"replies\":[" __VA_ARGS__ "],\"at_end\":\"restart\",\"delta_bytes\":4,\"delay_ms\":1}"
#define BREAKS(text, n) "{\"parts\":[" TEXT(text) "],\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":" n "}}"

static struct upp_str own_model(const void *arg, struct upp_str agent)
{
    (void)arg;
    return agent; /* so that their models are different */
}

static int make_router(struct stage *st, struct upp_err *err)
{
    static struct we_target targets[] = {{UPP_STR_INIT("helper"), 1}, {UPP_STR_INIT("picker"), 1}};
    static const struct we_rule rules[] = {
        {.intents = 1u << WE_PLAN, .targets = &targets[0], .n_targets = 1},
        {.intents = (1u << WE_REFLECT) | (1u << WE_EXECUTE), .targets = &targets[1], .n_targets = 1}};
    static const struct we_routes routes = {rules, WB_LEN(rules), NULL, 0};
    static const struct we_adapter generic = {.name = UPP_STR_INIT("generic"), .user = UPP_STR_INIT("{{task}}")};
    static const struct we_adapters adapters = {&generic, 1};
    static const struct we_limits limits = {
        .doubt = 0.5, .reflections = 1, .actions = {.on = true, .depth = 1, .count = 8, .fan_out = 8}};
    struct we_router *router;
    wb_arena_done(&st->arena);
    st->arena = (struct wb_arena)WB_ARENA(1u << 22);
    TRY(we_router_make(&st->arena,
                       &(struct we_router_opts){.routes = &routes,
                                                .adapters = &adapters,
                                                .limits = &limits,
                                                .agents = st->rig.agents + 1,
                                                .n_agents = 2,
                                                .model = own_model},
                       &router, err));
    router->def.name = st->rig.agents[0].name; /* the name that is started, and the rig's own id */
    router->def.id = st->rig.agents[0].id;
    router->def.owner = st->rig.agents[0].owner;
    st->rig.agents[0] = router->def;
    return 0;
}

static WEFT_SUSPENDS int open_stage(struct stage *st, uint64_t dies_in, struct upp_err *err)
{
    frail_open(&st->frail, st->inner, st->sim);
    st->frail.dies_in = dies_in;
    st->frail.applies = st->applies;
    st->rig = (struct rig){.store = &st->frail.store, .checker = &st->check, .dead = &st->frail.dead, .slow_ms = 20};
    TRY(rig_agent(&st->rig, "main", st->script, err));
    st->rig.agents[0].middleware = st->middleware;
    if (st->tools)
        st->rig.agents[0].tools = st->tools;
    if (st->strategy)
        st->rig.agents[0].strategy = st->strategy;
    TRY(rig_agent(&st->rig, "helper", st->helper, err));
    if (st->helps)
        st->rig.agents[1].strategy = st->helps;
    TRY(rig_agent(&st->rig, "picker", st->picker, err));
    if (st->routed)
        TRY(make_router(st, err));
    return rig_open(&st->rig, weft_loop_current(), NULL, err);
}

static WEFT_SUSPENDS int stage_main(void *arg, struct upp_err *err)
{
    struct stage *st = arg;
    WEFT_DEADLINE(600000); /* where nothing can be started any more, somebody tries again for ever */
    TRY(ws_memory_open(&st->inner, err));
    int r = open_stage(st, st->deaths[0], err);
    if (r >= 0)
        r = st->act(st, err);
    if (st->rig.engine)
        rig_close(&st->rig);
    rig_done(&st->rig);
    wb_arena_done(&st->arena);
    st->inner->ops->close(st->inner);
    return r;
}

static bool plays(struct stage *st)
{
    struct upp_err err = {0};
    checker_init(&st->check, rig_owner);
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 11), &st->sim, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(st->sim, 0), "stage", stage_main, st, &err);
    weft__sim_close(st->sim);
    checker_done(&st->check);
    test_note("deaths at %llu (%s), %llu: %s", (unsigned long long)st->deaths[0], st->applies ? "written" : "lost",
              (unsigned long long)st->deaths[1], err.msg);
    return EXPECT(r == 0);
}
#define PLAYS(...) CHECK(plays(&(struct stage){__VA_ARGS__}))

/* ---- What a client does ------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int answer_all(struct stage *st, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_answer answers[16];
    struct wr_run_info look;
    TRY(wr_get(st->rig.engine, &rig_owner, run, &a, &look, err));
    for (size_t i = 0; i < look.n_pending && i < WB_LEN(answers); i++)
        answers[i] = look.pending[i].approval
                         ? (struct wr_answer){.call = look.pending[i].call, .approved = true}
                         : (struct wr_answer){.call = look.pending[i].call, .result = UPP_STR("\"picked\"")};
    TRY(wr_answer(st->rig.engine, &rig_owner, run, answers, look.n_pending, err));
    for (size_t i = 0; i < look.n_pending && !st->frail.dead; i++)
        TRY(checker_acked_answer(&st->check, &(struct checker_answer){run, answers[i].call, answers[i].result,
                                                                      !answers[i].result.p, answers[i].approved}));
    return 0;
}

/* Until it has ended, with everything answered. */
static WEFT_SUSPENDS int see_through(struct stage *st, struct wb_uuid run, struct upp_err *err)
{
    for (int i = 0; i < 50; i++) {
        uint8_t status;
        TRY(wr_wait(st->rig.engine, &rig_owner, run, &status, err));
        if (st->frail.dead)
            return -UPP_ESTORE;
        if (wm_status_ended(status))
            return 0;
        TRY(answer_all(st, run, err));
    }
    return upp_fail(err, UPP_EBUG, "it never ends");
}

static WEFT_SUSPENDS int start(struct stage *st, const char *text, struct wr_started *ret, struct upp_err *err)
{
    TRY(rig_start(&st->rig, "main", text, NULL, ret, err));
    return checker_acked_start(&st->check, &(struct checker_start){ret->run, ret->thread, wb_cstr(text), {0}, true});
}

static WEFT_SUSPENDS int read_all(struct stage *st, struct wb_uuid run, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct checker_view view = {0};
    struct wm_event ev;
    int r;
    TRY(wr_reader_open(st->rig.engine, &rig_owner, run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, false, &ev, err)) > 0 && !st->frail.dead)
        TRY(checker_saw(&st->check, &view, &ev, err));
    return r;
}

/* ---- Every commit ---------------------------------------------------------------------------- */

struct following {
    struct stage *st;
    struct wb_uuid run;
};

static WEFT_SUSPENDS int follow(void *arg, struct upp_err *err)
{
    struct following *f = arg;
    return read_all(f->st, f->run, err);
}

/* The first run of the store: the one that was started, whether anybody was told or not. */
static WEFT_SUSPENDS int first_run(struct stage *st, struct wb_uuid *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wl_thread *threads;
    struct wm_run *runs;
    size_t n;
    TRY(wl_list_threads(st->inner, &rig_owner, WB_UUID_NIL, 10, &a, &threads, &n, err));
    for (size_t i = 0; i < n; i++)
        if (threads[i].kind == WL_MAIN) {
            TRY(wl_list_runs(st->inner, &rig_owner, threads[i].id, false, 10, &a, &runs, &n, err));
            *ret = runs[0].id;
            return 1;
        }
    return 0;
}

/* One life: until it dies, or the run has ended. */
static WEFT_SUSPENDS int live(struct stage *st, struct upp_err *err)
{
    struct following f = {st, {{0}}}; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope readers = {.flags = WEFT_SCOPE_ISOLATED};
    struct wr_started s;
    size_t n;
    TRY(wr_recover(st->rig.engine, &n, err));
    int r = first_run(st, &f.run, err);
    if (r == 0) {
        TRY(start(st, st->text ? st->text : "hello", &s, err));
        f.run = s.run;
    }
    if (r < 0)
        return r;
    TRY(weft_scope_spawn(&readers, "reader", follow, &f, NULL, err));
    TRY(see_through(st, f.run, err));
    return weft_scope_join(&readers, err);
}

static WEFT_SUSPENDS int sums_up(struct stage *st, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct upp_usage steps = {0}, all = {0};
    struct wb_uuid run;
    struct wm_event ev;
    int r;
    TRY(first_run(st, &run, err));
    TRY(wr_reader_open(st->rig.engine, &rig_owner, run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, false, &ev, err)) > 0) {
        if (ev.kind == WM_STEP_END && !ev.from->depth)
            steps = (struct upp_usage){.input = steps.input + ev.step_end.usage.input,
                                       .output = steps.output + ev.step_end.usage.output};
        if (ev.kind == WM_RUN && !ev.from->depth)
            all = ev.run.usage;
    }
    if (r >= 0 && (steps.input != all.input || steps.output != all.output))
        return upp_fail(err, UPP_EBUG, "its steps used %llu+%llu, it used %llu+%llu", (unsigned long long)steps.input,
                        (unsigned long long)steps.output, (unsigned long long)all.input,
                        (unsigned long long)all.output);
    return r;
}

/* Once: it stands in one place, and what it says is said nowhere else. */
static WEFT_SUSPENDS int log_says(struct stage *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = WB_BUF(1u << 20);
    struct wb_uuid run;
    struct wr_run_info look;
    TRY(first_run(st, &run, err));
    TRY(wr_get(st->rig.engine, &rig_owner, run, &a, &look, err));
    TRY(rig_history(&st->rig, look.run.thread, &log, err));
    size_t at = wb_str_find(wb_buf_str(&log), wb_cstr(st->log), 0);
    if (at != SIZE_MAX && at + strlen(st->log) == log.n)
        return 0;
    printf("# the log:\n%.*s", UPP_FMT(wb_buf_str(&log)));
    return upp_fail(err, UPP_EBUG, "the log says something else");
}

/* Each envelope once: those of the exchange, each with an id of its own. */
static WEFT_SUSPENDS int is_exchange(struct stage *st, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct upp_str seen[16];
    struct wb_uuid run;
    struct wr_run_info look;
    struct wl_thread t;
    struct wl_path path;
    struct wl_line *lines;
    size_t n, found = 0, results = 0;
    TRY(first_run(st, &run, err));
    TRY(wr_get(st->rig.engine, &rig_owner, run, &a, &look, err));
    TRY(wl_get_thread(st->inner, &rig_owner, look.run.thread, &a, &t, err));
    TRY(wl_thread_path(st->inner, &rig_owner, &t, &a, &path, err));
    TRY(wl_path_tail(st->inner, &rig_owner, &path, path.length, path.length, &a, &lines, &n, err));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < lines[i].entry.message.n_parts; k++) {
            const struct upp_part *p = &lines[i].entry.message.parts[k];
            struct upp_str id = wd_envelope_id(wd_envelope_recorded(&a, wd_envelope_part_text(p)));
            size_t at = 0;
            FAIL_UNLESS(id.n > 0);
            results += p->kind == UPP_PART_RESULT;
            while (at < found && !wb_str_eq(seen[at], id))
                at++;
            FAIL_UNLESS(at < WB_LEN(seen) && (at == found || p->kind != UPP_PART_RESULT));
            seen[at] = id;
            found += at == found;
        }
    if (found != st->routed_n || 2 * results != found)
        return upp_fail(err, UPP_EBUG, "%zu envelopes, %zu of them replies", found, results);
    return 0;
}

static WEFT_SUSPENDS int lives(struct stage *st, struct upp_err *err)
{
    for (unsigned life = 0; life < 4; life++) {
        struct upp_err why = {0};
        int r = live(st, &why);
        if (life == 0)
            st->commits = st->frail.commits;
        if (!st->frail.dead) {
            if (r < 0 && err)
                *err = why;
            if (r >= 0)
                r = checker_check(&st->check, st->inner, true, err);
            if (r >= 0 && st->routed)
                r = is_exchange(st, err);
            if (r >= 0 && st->log)
                r = log_says(st, err);
            return r >= 0 && st->sums ? sums_up(st, err) : r;
        }
        st->died++;
        rig_close(&st->rig);
        TRY(checker_check(&st->check, st->inner, false, err));
        TRY(open_stage(st, life == 0 ? st->deaths[1] : 0, err));
    }
    return upp_fail(err, UPP_EBUG, "it died too often");
}

static const char *const swept = "it dies by itself, at every commit";

/* Void, tools of every class, a client's tool, an approval, children on two levels of which one waits: all there is. */
static const struct stage everything = {
    .script = SCRIPT(BREAKS("As I was saying", "2") "," REPLY(
        TEXT("Let me see.") "," CALL("m1", "note") "," CALL("m2", "again") "," CALL("m3", "ask_helper") "," CALL(
            "m4", "danger")) "," REPLY(CALL("m5", "pick") "," CALL("m6", "fails")) "," REPLY(TEXT("So it is."))),
    .helper = SCRIPT(REPLY(CALL("h1", "note") "," CALL("h2", "ask_picker")) "," REPLY(TEXT("Helped."))),
    .picker = SCRIPT(REPLY(CALL("p1", "pick")) "," REPLY(TEXT("Picked."))),
    .act = lives,
};

/* Dies at each commit of a play once before and once after it is written. How often it died; 0: something was wrong. */
__attribute__((noinline)) static uint64_t sweep(const struct stage *what)
{
    uint64_t deaths = 0;
    for (uint64_t n = 1;; n++) {
        struct stage st = *what;
        st.applies = n % 2;
        st.deaths[0] = (n + 1) / 2;
        if (!plays(&st))
            return 0;
        deaths += st.died;
        if (!st.died)
            break;
    }
    printf("# %llu deaths\n", (unsigned long long)deaths);
    return deaths;
}

TEST_WITH(crash_at_every_commit, .no_torture = swept, .seconds = 300)
{
    CHECK(sweep(&everything) >= 30);
}

static int ask_adapted(const void *arg, const struct wr_tool *tool, struct upp_str arguments, struct wb_arena *a,
                       struct wr_child_ask *ret, struct upp_err *err)
{
    (void)arg;
    ret->input = wb_arena_printf(a, "%.*s %.*s", UPP_FMT(tool->agent), UPP_FMT(arguments));
    ret->options = UPP_STR("{\"temperature\":0.5,\"weft_readonly\":true,\"seed\":[]}");
    return wb_arena_check(a, err);
}

static int answer_adapted(const void *arg, const struct wr_tool *tool, const struct wr_child_end *end,
                          struct upp_value *ret, struct upp_err *err)
{
    (void)arg;
    (void)tool;
    return upp_value_printf(ret, err, "%.*s by %.*s", UPP_FMT(end->text), UPP_FMT(end->options));
}

/* Children with options of their own, which forbid some of their tools, whenever it dies. */
TEST_WITH(crash_at_every_commit_of_adapted_children, .no_torture = swept, .seconds = 300)
{
    static const struct wr_child_adapter adapter = {NULL, ask_adapted, answer_adapted};
    static struct wr_tool tools[24];
    static struct stage st;
    for (size_t i = 0; i < rig_n_tools && i < WB_LEN(tools); i++) {
        tools[i] = rig_tools[i];
        tools[i].adapter = rig_tools[i].kind == WR_TOOL_AGENT ? &adapter : NULL;
    }
    st = everything;
    st.tools = tools;
    CHECK(sweep(&st) >= 30);
}

#define ENVELOPE(role, intent, more)                                                                                   \
    "{\\\"protocol\\\":\\\"multiagent-1.0\\\",\\\"role\\\":\\\"" role                                                  \
    "\\\",\\\"timestamp\\\":\\\"2025-10-10T12:40:00Z\\\",\\\"intent\\\":"                                              \
    "\\\"" intent                                                                                                      \
    "\\\",\\\"task\\\":\\\"t\\\",\\\"content\\\":{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"x\\\"}" more "}"
#define SCORE(s) ",\\\"confidence\\\":{\\\"score\\\":" s "}"

/* A request, a doubted reply, a reflection with two actions, whose agents run at the same time. */
static const struct stage exchange = {
    .script = SCRIPT(REPLY(TEXT("unused"))),
    .helper = SCRIPT(REPLY(TEXT(ENVELOPE("agent", "plan", SCORE("0.2"))))),
    .picker = SCRIPT(REPLY(TEXT(ENVELOPE(
        "agent", "reflect",
        SCORE("0.9") ",\\\"outputs\\\":{\\\"next_actions\\\":[{\\\"intent\\\":\\\"plan\\\",\\\"task\\\":\\\"a\\\"}"
                     ",{\\\"intent\\\":\\\"plan\\\",\\\"task\\\":\\\"b\\\"}]}")))),
    .text = "{\"protocol\":\"multiagent-1.0\",\"role\":\"user\",\"timestamp\":\"2025-10-10T12:40:00Z\",\"intent\":"
            "\"plan\","
            "\"task\":\"t\",\"content\":{\"type\":\"text\",\"text\":\"x\"},\"trace\":{\"id\":\"first\"}}",
    .routed = true,
    .routed_n = 12,
    .act = lives,
};

/* covers: ENV-9/1 */
TEST_WITH(crash_at_every_commit_of_an_exchange, .no_torture = swept, .seconds = 300)
{
    CHECK(sweep(&exchange) >= 20);
}

/* The same with nobody dying: for the torture. */
TEST(run_exchange_of_envelopes)
{
    static struct stage st;
    st = exchange;
    CHECK(plays(&st));
}

/* covers: UAP-5.3c/2 */
TEST_WITH(crash_at_every_commit_of_react, .no_torture = swept, .seconds = 300)
{
    static const struct stage react = {
        .script = SCRIPT(BREAKS("As I was thinking", "2") "," REPLY(TEXT("First a note.")) "," REPLY(
            CALL("m1", "note") "," CALL("m2", "ask_helper") "," CALL(
                "m3",
                "danger")) "," REPLY(TEXT("Now the client.") "," CALL("m4",
                                                                      "note")) "," REPLY(CALL("m5",
                                                                                              "pick")) "," REPLY(TEXT("Enough.")) "," REPLY(TEXT("So it is."))),
        .helper = SCRIPT(REPLY(CALL("h1", "again")) "," REPLY(TEXT("Helped."))),
        .strategy = &weft_strategy_react,
        .act = lives,
    };
    CHECK(sweep(&react) >= 24);
}

#define STEP(id, deps) "{\"id\":\"" id "\",\"description\":\"do " id "\",\"dependsOn\":[" deps "]}"
#define PLAN(...)                                                                                                      \
    "{\"when\":{\"contains\":\"plan\"},\"data\":{\"steps\":[" __VA_ARGS__ "]},\"usage\":{\"input_tokens\":7}}"

/* One after the other, with a step that fails and a new plan. */
/* covers: UAP-5.4c/2 */
TEST_WITH(crash_at_every_commit_of_a_plan, .no_torture = swept, .seconds = 300)
{
    static const struct weft_strategy_plan_opts one = {.size = sizeof one, .max_parallel = 1};
    const struct weft_strategy plan = weft_plan_with(&one);
    const struct stage planed = {
        .script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "\"a\"")) "," REPLY(CALL("m1", "note") "," CALL(
            "m2",
            "ask_"
            "helpe"
            "r")) "," REPLY(CALL("m3",
                                 "pick")) "," REPLY(TEXT("a is done.")) "," REPLY(CALL("m4",
                                                                                       "fails")) "," PLAN(STEP("c",
                                                                                                               "\"a\"")) "," REPLY(CALL("m5",
                                                                                                                                        "dan"
                                                                                                                                        "ge"
                                                                                                                                        "r")) "," REPLY(TEXT("c is done."))),
        .helper = SCRIPT(REPLY(CALL("h1", "again")) "," REPLY(TEXT("Helped."))),
        .strategy = &plan,
        .act = lives,
    };
    CHECK(sweep(&planed) >= 24);
}

/* Groups: what is alone, what comes after what, what waits between them. */
static const struct stage in_order = {
    .script = SCRIPT(
        REPLY(CALL("m1", "then") "," CALL("m2", "note") "," CALL("m3", "pick") "," CALL("m4", "maybe")) "," REPLY(
            CALL("m5", "alone") "," CALL("m6", "block") "," CALL("m7", "ask_helper") "," CALL(
                "m8", "alone")) "," REPLY(TEXT("So it is."))),
    .helper = SCRIPT(REPLY(CALL("h1", "maybe") "," CALL("h2", "then") "," CALL("h3", "note")) "," REPLY(TEXT("Yes."))),
    .picker = SCRIPT(REPLY(TEXT("Picked."))),
    .act = lives,
};

/* covers: UAP-2.6/2 */
TEST_WITH(crash_at_every_commit_between_groups, .no_torture = swept, .seconds = 300)
{
    uint64_t n = 1, deaths = 0;
    for (struct stage st = in_order;; n++) {
        st = in_order;
        st.applies = n % 2;
        st.deaths[0] = (n + 1) / 2;
        CHECK(plays(&st));
        deaths += st.died;
        if (!st.died)
            break;
    }
    CHECK(deaths >= 30);
    printf("# %llu deaths\n", (unsigned long long)deaths);
}

TEST_WITH(crash_again_between_groups, .no_torture = swept, .seconds = 300)
{
    uint64_t twice = 0;
    for (uint64_t first = 2; first < 24; first += 2)
        for (uint64_t second = 1; second < 12; second += 2) {
            struct stage st = in_order;
            st.applies = (first / 2 + second / 2) % 2;
            st.deaths[0] = first;
            st.deaths[1] = second;
            CHECK(plays(&st));
            twice += st.died == 2;
        }
    CHECK(twice >= 30);
    printf("# %llu times two deaths\n", (unsigned long long)twice);
}

TEST_WITH(crash_again_while_it_recovers, .no_torture = swept, .seconds = 300)
{
    uint64_t twice = 0;
    for (uint64_t first = 1; first < 24; first++)
        for (uint64_t second = 1; second < 12; second++) {
            struct stage st = everything;
            st.applies = (first + second) % 2;
            st.deaths[0] = first;
            st.deaths[1] = second;
            CHECK(plays(&st));
            twice += st.died == 2;
        }
    CHECK(twice >= 100);
    printf("# %llu times two deaths\n", (unsigned long long)twice);
}

/* Changes all that can be changed. */
static WEFT_SUSPENDS int meddle(void *arg, struct weft_context *c, struct upp_err *err)
{
    static struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("once upon a time")};
    static struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    static const struct upp_message *list = &m;
    (void)arg;
    c->history = &list;
    c->n_history = 1;
    c->input = &m;
    return weft_context_set(c, "meddled", UPP_STR("true"), err);
}

static bool meddled_and_whole = true;

static WEFT_SUSPENDS int meddled(void *arg, struct weft_context *c, struct upp_turn **turn, struct upp_err *err)
{
    (void)arg;
    (void)turn;
    (void)err;
    meddled_and_whole &= wb_str_eq(weft_context_get(c, "meddled"), UPP_STR("true")) && c->n_history == 1 &&
                         wb_str_eq(c->input->parts[0].text, UPP_STR("once upon a time"));
    return 0;
}

TEST_WITH(crash_at_every_commit_with_middleware, .no_torture = swept, .seconds = 300)
{
    const struct weft_guard_rule rules[] = {{.name = "all", .pattern = ".", .action = WEFT_FLAG},
                                            {.pattern = "So", .action = WEFT_REWRITE, .instead = "Thus"}};
    const struct weft_middleware list[] = {weft_guardrails(.output = rules, .n_output = 2),
                                           weft_memory(.max_tokens = 1000000),
                                           {.name = "meddle", .before = meddle, .after = meddled}};
    const struct wr_middleware *middleware;
    CHECK_INT(wa_middleware_new(list, WB_LEN(list), NULL, &middleware, NULL), 0);
    meddled_and_whole = true;
    static struct stage st; /* frames are small */
    st = everything;
    st.middleware = middleware;
    uint64_t deaths = sweep(&st);
    wa_middleware_free(middleware);
    CHECK(deaths >= 30);
    CHECK(meddled_and_whole);
}

/* A handoff, by which the helper goes on and hands over to itself once more: at every commit. */
TEST_WITH(crash_while_handing_over, .no_torture = swept, .seconds = 300)
{
    static const struct stage handing = {
        .script = SCRIPT(REPLY(TEXT("Wait.") "," CALL("m1", "note") "," CALL("m2", "pass_on"))),
        .helper = SCRIPT(REPLY(CALL("h1", "note")) "," REPLY(CALL("h2", "pass_on")) "," REPLY(TEXT("Helped."))),
        .act = lives,
    };
    CHECK(sweep(&handing) >= 14);
}

#define ON(id, ...)                                                                                                    \
    "{\"when\":{\"contains\":\"step '" id "'\"},\"parts\":[" __VA_ARGS__ "],\"usage\":{\"input_tokens\":5}}"
#define AFTER(tool, ...)                                                                                               \
    "{\"when\":{\"tool_result\":\"" tool "\"},\"parts\":[" __VA_ARGS__ "],\"usage\":{\"input_tokens\":3}}"

/* Three steps at the same time: one with a child, one that waits for the client, one that fails. Then a new plan of
 * two that are done at the same time again. */
static const struct stage waves = {
    .script = "{\"replies\":[" PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "")) "," ON(
        "a",
        CALL(
            "a1",
            "not"
            "e") "," CALL("a2",
                          "ask_helper")) "," ON("b",
                                                CALL("b1", "pick") "," CALL(
                                                    "b2",
                                                    "danger")) "," ON("c",
                                                                      CALL(
                                                                          "c1",
                                                                          "fails")) "," PLAN(STEP("d",
                                                                                                  "\"a\"") "," STEP("e",
                                                                                                                    "")) "," ON("d",
                                                                                                                                CALL(
                                                                                                                                    "d1",
                                                                                                                                    "again")) "," ON("e", TEXT("e is done.")) "," AFTER("note",
                                                                                                                                                                                        TEXT(
                                                                                                                                                                                            "a is done.")) "," AFTER("pick",
                                                                                                                                                                                                                     TEXT("b is "
                                                                                                                                                                                                                          "done"
                                                                                                                                                                                                                          ".")) "," AFTER("again", TEXT("d is done.")) "," AFTER("ask_helper",
                                                                                                                                                                                                                                                                                 TEXT(
                                                                                                                                                                                                                                                                                     "a is done too.")) "," AFTER("danger",
                                                                                                                                                                                                                                                                                                                  TEXT(
                                                                                                                                                                                                                                                                                                                      "b too.")) "]}",
    .helper = SCRIPT(REPLY(CALL("h1", "again")) "," REPLY(TEXT("Helped."))),
    .strategy = &weft_strategy_plan,
    .act = lives,
    .sums = true,
};

/* covers: UAP-5.4b/4, UAP-5.4c/2 */
TEST_WITH(crash_at_every_commit_of_waves, .no_torture = swept, .seconds = 300)
{
    CHECK(sweep(&waves) >= 40);
}

#define TELL(what) "{\"tool_call\":{\"id\":\"" what "\",\"name\":\"tells\",\"arguments\":{\"what\":\"" what "\"}}}"
#define TOLD(what)                                                                                                     \
    "assistant: tells={\"what\":\"" what "\"}\nevent {\"type\":\"agent.note\",\"data\":{\"what\":\"" what              \
    "\"},\"source\":\"main\"}\ntool: tells=\"told\"\n"
#define CARRY(id)                                                                                                      \
    "user: Carry out step '" id "' of the plan: do " id                                                                \
    "\nDo this step alone, and say what came of it when it is done.\n"
#define PASSED "pass_on={\"a\":1,\"task\":\"go\"}\ntool: pass_on=\"helper goes on from here\"\n"

#define SAID(flag)                                                                                                     \
    "]}\n" flag CARRY("a") TOLD("a")                                                                                   \
        TOLD("more") "assistant: told.\n" flag CARRY("b") "assistant: " PASSED "assistant: passed.\n" flag CARRY("c")  \
            TOLD("c")                                                                                                  \
                TOLD("more") "assistant: told.\n" flag "event "                                                        \
                             "{\"type\":\"agent.handoff\",\"data\":{\"from\":\"main\","                                \
                             "\"to\":\"helper\",\"reason\":\"tool_call\"},"                                            \
                             "\"source\":\"main\",\"targets\":[\"helper\"]}\nturn of helper\nassistant: Helped.\n"

/* System events of steps that are done at the same time, and a wish to hand over, are adopted with their steps: in the
 * order of the plan, each once, whenever it dies. */
static const struct stage telling_waves = {
    .script = "{\"replies\":[" PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "")) "," ON("a", TELL("a")) "," ON(
        "b",
        CALL("b1",
             "pass_on")) "," ON("c",
                                TELL(
                                    "c")) "," AFTER("tells",
                                                    TELL(
                                                        "more")) "," AFTER("tells",
                                                                           TEXT(
                                                                               "told.")) "," AFTER("pass_on",
                                                                                                   TEXT(
                                                                                                       "passed.")) "]}",
    .helper = SCRIPT(REPLY(TEXT("Helped."))),
    .strategy = &weft_strategy_plan,
    .act = lives,
    .sums = true,
    .log = SAID(""),
};

/* covers: UAP-5.4b/4, TP-60/3, TP-62/3 */
TEST_WITH(crash_at_every_commit_of_waves_that_tell, .no_torture = swept, .seconds = 300)
{
    CHECK(sweep(&telling_waves) >= 40);
}

/* A plan of an agent that is asked, whose steps at the same time tell, wait and fail. */
TEST_WITH(crash_at_every_commit_of_waves_below, .no_torture = swept, .seconds = 300)
{
    static const struct stage below = {
        .script = SCRIPT(REPLY(CALL("m1", "ask_helper") "," CALL("m2", "again")) "," REPLY(TEXT("So it is."))),
        .helper = "{\"replies\":[" PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "")) "," ON("a", TELL("a")) "," ON(
            "b",
            CALL(
                "b1",
                "pick")) "," ON("c",
                                CALL(
                                    "c1",
                                    "fails")) "," PLAN(STEP("d",
                                                            "")) "," ON("d",
                                                                        TEXT(
                                                                            "d is done.")) "," AFTER("tells",
                                                                                                     TEXT(
                                                                                                         "told.")) "," AFTER("pick",
                                                                                                                             TEXT(
                                                                                                                                 "picked.")) "]}",
        .helps = &weft_strategy_plan,
        .act = lives,
        .sums = true,
        .log = "tool: ask_helper=\"d is done.\" again=\"noted\"\nassistant: So it is.\n",
    };
    CHECK(sweep(&below) >= 40);
}

#define FLAGGED                                                                                                        \
    "event {\"type\":\"guardrail.flagged\",\"data\":{\"rule\":\"all\",\"on\":\"output\"},\"source\":\"guardrails\"}\n"

/* The same for what middleware appends: each text of the model is flagged, once. */
TEST_WITH(crash_at_every_commit_of_waves_with_guardrails, .no_torture = swept, .seconds = 300)
{
    const struct weft_guard_rule rules[] = {{.name = "all", .pattern = ".", .action = WEFT_FLAG}};
    const struct weft_middleware list[] = {weft_guardrails(.output = rules, .n_output = 1)};
    const struct wr_middleware *middleware;
    CHECK_INT(wa_middleware_new(list, WB_LEN(list), NULL, &middleware, NULL), 0);
    struct stage st = telling_waves;
    st.middleware = middleware;
    st.log = SAID(FLAGGED);
    uint64_t deaths = sweep(&st);
    wa_middleware_free(middleware);
    CHECK(deaths >= 40);
}

TEST_WITH(crash_again_while_waves_recover, .no_torture = swept, .seconds = 300)
{
    const struct stage *const all[] = {&waves, &telling_waves};
    for (size_t i = 0; i < WB_LEN(all); i++) {
        uint64_t twice = 0;
        for (uint64_t first = 3; first < 30; first += 2)
            for (uint64_t second = 1; second < 12; second += 2) {
                struct stage st = *all[i];
                st.applies = (first + second / 2) % 2;
                st.deaths[0] = first;
                st.deaths[1] = second;
                CHECK(plays(&st));
                twice += st.died == 2;
            }
        CHECK(twice >= 30);
    }
}

/* ---- Found before ---------------------------------------------------------------------------- */

/* A reader of a queued run gets its events when it starts, and an end where it is cancelled before. */
static WEFT_SUSPENDS int reads_the_queue(struct stage *st, struct upp_err *err)
{
    struct following f[2] = {{st, {{0}}}, {st, {{0}}}}; /* outlives the scope */
    UPP_CLEANUP(weft_scope_close) struct weft_scope readers = {0};
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("more")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_started s;
    TRY(start(st, "hello", &s, err));
    for (int i = 0; i < 2; i++) {
        struct wr_start what = {
            .owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .thread = s.thread, .on_busy = WR_ENQUEUE};
        struct wr_started q;
        TRY(wr_start(st->rig.engine, &what, &q, err));
        FAIL_UNLESS(q.queued);
        f[i].run = q.run;
        TRY(weft_scope_spawn(&readers, "reader", follow, &f[i], NULL, err));
    }
    TRY(weft_sleep_ms(1, err));
    TRY(wr_cancel(st->rig.engine, &rig_owner, f[1].run, err));
    TRY(weft_scope_join(&readers, err));
    FAIL_UNLESS(st->check.count.events > 5);
    TRY(read_all(st, f[1].run, err)); /* also afterwards there is nothing */
    return checker_check(&st->check, st->inner, true, err);
}

TEST(crash_reader_of_a_queued_run)
{
    PLAYS(.script = SCRIPT(REPLY(TEXT("one two three"))), .act = reads_the_queue);
}

/* Who waits for a child waits, and does not spin. */
static WEFT_SUSPENDS int waits_for_a_child(struct stage *st, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    struct wb_uuid child = {{0}};
    TRY(start(st, "hello", &s, err));
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    TRY(wr_reader_open(st->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while (wr_reader_next(rd, false, &ev, err) > 0)
        if (ev.from->depth == 1) {
            child = ev.from->run;
            break;
        }
    TRY(wr_wait(st->rig.engine, &rig_owner, child, &status, err));
    FAIL_UNLESS(wm_status_ended(status));
    return see_through(st, s.run, err);
}

TEST(crash_waiting_for_a_child)
{
    PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_helper")) "," REPLY(TEXT("so"))),
          .helper = SCRIPT(REPLY(CALL("h1", "slow")) "," REPLY(TEXT("done"))), .act = waits_for_a_child);
}

/* A reader that falls behind what is kept in memory goes on in the store, also inside a child. */
static WEFT_SUSPENDS int falls_behind(struct stage *st, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct checker_view view = {0};
    struct wr_started s;
    struct wm_event ev;
    int r;
    uint8_t status;
    TRY(start(st, "hello", &s, err));
    TRY(wr_reader_open(st->rig.engine, &rig_owner, s.run, NULL, &rd, err));
    do {
        TRY(r = wr_reader_next(rd, false, &ev, err));
        TRY(checker_saw(&st->check, &view, &ev, err));
    } while (ev.kind != WM_TOOL_STARTED);
    TRY(wr_wait(st->rig.engine, &rig_owner, s.run, &status, err)); /* the child says much meanwhile */
    while ((r = wr_reader_next(rd, false, &ev, err)) > 0)
        TRY(checker_saw(&st->check, &view, &ev, err));
    TRY(r);
    return checker_check(&st->check, st->inner, true, err);
}

TEST_WITH(crash_reader_falls_behind_a_child, .no_torture = "many steps; readers are tortured in run_*")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf helper = WB_BUF(1u << 20);
    wb_buf_addf(&helper, "{\"replies\":[");
    for (int i = 0; i < 9; i++) { /* nine rounds of sixteen tools: each result is a row */
        wb_buf_addf(&helper, "{\"parts\":[");
        for (int k = 0; k < 16; k++)
            wb_buf_addf(&helper, "%s{\"tool_call\":{\"id\":\"h%d_%d\",\"name\":\"note\"}}", k ? "," : "", i, k);
        wb_buf_addf(&helper, "]},");
    }
    wb_buf_addf(&helper, "{\"parts\":[{\"text\":\"done\"}]}]}");
    wb_buf_addc(&helper, 0);
    CHECK(wb_buf_check(&helper, NULL) == 0);
    PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_helper")) "," REPLY(TEXT("so"))), .helper = helper.p,
          .act = falls_behind);
}

/* A cancel of a waiting tree that dies half-way is the same cancel when the process is back. */
static WEFT_SUSPENDS int half_canceled(struct stage *st, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(start(st, "hello", &s, err));
    TRY(wr_wait(st->rig.engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    st->frail.dies_in = st->deaths[1];
    st->frail.applies = true;
    int r = wr_cancel(st->rig.engine, &rig_owner, s.run, NULL);
    bool dead = st->frail.dead;
    FAIL_UNLESS(dead == (r < 0));
    rig_close(&st->rig);
    TRY(checker_check(&st->check, st->inner, false, err));
    TRY(open_stage(st, 0, err));
    TRY(wr_recover(st->rig.engine, &n, err));
    TRY(wr_wait(st->rig.engine, &rig_owner, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    return checker_check(&st->check, st->inner, true, err);
}

TEST_WITH(crash_half_way_through_a_cancel, .no_torture = swept)
{
    for (uint64_t n = 1; n <= 4; n++)
        PLAYS(.script = SCRIPT(REPLY(CALL("m1", "ask_picker") "," CALL("m2", "ask_picker"))),
              .picker = SCRIPT(REPLY(CALL("p1", "pick"))), .act = half_canceled, .deaths = {0, n});
}
