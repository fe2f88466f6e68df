/* Streams of agents: both layers' events, the same turns and hooks as a run, and their end. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/stream_event.h"
#include "base/defs.h"
#include "dialects/core/dialect.h"
#include "support/agents.h"
#include "support/llm.h"

/* ---- Events as text ------------------------------------------------------------------------------------------- */

static void upp_text(struct wb_buf *out, const struct upp_event *e)
{
    wb_buf_addf(out, "%s %u", upp_event_name(e->type), e->index);
    if (e->text.p)
        wb_buf_addf(out, " '%.*s'", UPP_FMT(e->text));
    if (e->name.n)
        wb_buf_addf(out, " %.*s=%.*s", UPP_FMT(e->id), UPP_FMT(e->name));
    if (e->result.p)
        wb_buf_addf(out, " -> %.*s%s", UPP_FMT(e->result), e->is_error ? " (error)" : "");
    wb_buf_addf(out, "\n");
}

static void event_text(struct wb_buf *out, const struct weft_event *e)
{
    for (unsigned i = 0; i < e->depth; i++)
        wb_buf_addf(out, "> ");
    if (e->source == WEFT_SOURCE_UPP) {
        upp_text(out, &e->upp);
        return;
    }
    wb_buf_addf(out, "%u %s", e->step, weft_event_name(e->type));
    if (e->text.n)
        wb_buf_addf(out, " '%.*s'", UPP_FMT(e->text));
    for (const struct upp_part *p = NULL;
         e->message && (p = upp_part_next(e->message, p, UPP_PARTS_CALLS | UPP_PARTS_RESULTS));)
        wb_buf_addf(out, " %.*s=%.*s", UPP_FMT(p->name), UPP_FMT(p->text));
    if (e->usage.input)
        wb_buf_addf(out, " in=%llu out=%llu", (unsigned long long)e->usage.input, (unsigned long long)e->usage.output);
    wb_buf_addf(out, "%s\n", e->is_error ? " (error)" : "");
}

static WEFT_SUSPENDS int open_stream(struct agents *p, const struct weft_stream_opts *opts, struct weft_stream **ret,
                                     struct upp_err *err)
{
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL), &a, err));
    return weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")), opts, ret, err);
}

static WEFT_SUSPENDS int read_all(struct weft_stream *s, struct wb_buf *out, struct upp_err *err)
{
    struct weft_event ev;
    int r;
    while ((r = weft_stream_next(s, &ev, err)) > 0)
        event_text(out, &ev);
    return r < 0 ? r : wb_buf_check(out, err);
}

/* ---- What it says ---------------------------------------------------------------------------------------------- */

#define ROUND                                                                                                          \
    SCRIPT(CUT_REPLY(TEXT("Let me."), CALL("1", "add", "\"a\":1"), CALL("2", "note", "")),                             \
           "{\"parts\":[" TEXT("one") "],\"usage\":{\"input_tokens\":5,\"output_tokens\":2}}")

static WEFT_SUSPENDS int tells_both(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn = NULL, *again = NULL;
    TRY(open_stream(p, NULL, &s, err));
    FAIL_UNLESS(p->trace.n == 0); /* nothing starts before the first pull */
    TRY(read_all(s, &out, err));
    FAIL_UNLESS(test_expect_str(wb_buf_str(&out),
                                UPP_STR("1 step_start\n"
                                        "message_start 0\n"
                                        "content_block_start 0\n"
                                        "text_delta 0 'Let'\n"
                                        "text_delta 0 ' me'\n"
                                        "text_delta 0 '.'\n"
                                        "content_block_stop 0\n"
                                        "content_block_start 1\n"
                                        "tool_call_delta 1 '{\"a' 1=add\n"
                                        "tool_call_delta 1 '\":1' 1=add\n"
                                        "tool_call_delta 1 '}' 1=add\n"
                                        "content_block_stop 1\n"
                                        "content_block_start 2\n"
                                        "tool_call_delta 2 '{}' 2=note\n"
                                        "content_block_stop 2\n"
                                        "message_stop 0\n"
                                        "1 action add={\"a\":1} note={}\n"
                                        "tool_execution_start 0 1=add\n"
                                        "tool_execution_start 1 2=note\n"
                                        "tool_execution_end 0 1=add -> 1\n"
                                        "tool_execution_end 1 2=note -> \"noted\"\n"
                                        "1 observation add=1 note=\"noted\"\n"
                                        "1 step_end\n"
                                        "2 step_start\n"
                                        "message_start 0\n"
                                        "content_block_start 0\n"
                                        "text_delta 0 'one'\n"
                                        "content_block_stop 0\n"
                                        "message_stop 0\n"
                                        "2 step_end in=5 out=2\n"),
                                __FILE__, __LINE__, "events"));
    TRY(weft_stream_turn(s, &turn, err));
    TRY(weft_stream_turn(s, &again, err));
    FAIL_UNLESS(turn && turn == again && strcmp(upp_turn_text(turn), "one") == 0);
    struct weft_event ev;
    FAIL_UNLESS(weft_stream_next(s, &ev, err) == 0);
    return 0;
}

/* covers: UAP-12.5a, UAP-4.3b/1, UAP-12.1/1, UAP-12.2/2/4 */
TEST(agent_stream_tells_both_layers_in_order)
{
    AGENTS(ROUND, tells_both);
}

/* The events of libupp's own stream for the same script. */
static int upp_events(struct agents *p, const char *structure, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_stream_closep) struct upp_stream *s = NULL;
    struct upp_event ev;
    int r;
    TRY(upp_llm_new(
        UPP_OPTS(upp_llm_opts, .use = p->model, .tools = agents_tools, .n_tools = AGENTS_TOOLS, .structure = structure),
        &llm, err));
    TRY(upp_stream_open(llm, UPP_OPTS(upp_input, .text = UPP_STR("go")), &s, err));
    while ((r = upp_stream_next(s, &ev, err)) > 0)
        upp_text(out, &ev);
    return r;
}

static WEFT_SUSPENDS int passes_on(struct agents *p, struct upp_err *err)
{
    static const char *const structures[] = {NULL, "{\"type\":\"object\"}"};
    for (size_t i = 0; i < WB_LEN(structures); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf ours = WB_BUF(1u << 20), theirs = WB_BUF(1u << 20);
        UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
        struct weft_agent *a;
        TRY(weft_agent_new(p->rt,
                           UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .structure = structures[i]),
                           &a, err));
        TRY(weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")),
                              UPP_OPTS(weft_stream_opts, .only = WEFT_SOURCE_UPP), &s, err));
        TRY(read_all(s, &ours, err));
        TRY(upp_events(p, structures[i], &theirs, err));
        FAIL_UNLESS(test_expect_str(wb_buf_str(&ours), wb_buf_str(&theirs), __FILE__, __LINE__, "events"));
    }
    return 0;
}

/* covers: UAP-12.2/1, UAP-12.5c/4 */
TEST(agent_stream_passes_provider_events_on_unchanged)
{
    AGENTS(ROUND, passes_on);
    AGENTS(SCRIPT(CUT_REPLY("{\"reasoning\":\"hm hm\"}", TEXT("x"), CALL("1", "fails", "")), REPLY(TEXT("done"))),
           passes_on);
    AGENTS("{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"1\",\"name\":\"note\"}}]},{\"parts\":[]}]}", passes_on);
}

static WEFT_SUSPENDS int one_source(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    TRY(open_stream(p, UPP_OPTS(weft_stream_opts, .only = WEFT_SOURCE_UAP), &s, err));
    TRY(read_all(s, &out, err));
    FAIL_UNLESS(test_expect_str(wb_buf_str(&out),
                                UPP_STR("1 step_start\n1 action add={\"a\":1} note={}\n1 observation add=1 "
                                        "note=\"noted\"\n1 step_end\n2 step_start\n2 step_end in=5 "
                                        "out=2\n"),
                                __FILE__, __LINE__, "events"));
    return 0;
}

/* covers: UAP-12.2/1, UAP-12.5c/4 */
TEST(agent_stream_of_one_source)
{
    AGENTS(ROUND, one_source);
}

/* ---- Equal to a run -------------------------------------------------------------------------- */

static int step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)run, (void)err;
    wb_buf_addf(arg, "start %u\n", step);
    return 0;
}

static int act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *m, struct upp_err *err)
{
    (void)run, (void)err, (void)m;
    wb_buf_addf(arg, "act %u\n", step);
    return 0;
}

static int observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *m, struct upp_err *err)
{
    (void)run, (void)err, (void)m;
    wb_buf_addf(arg, "observe %u\n", step);
    return 0;
}

static int step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                    struct upp_err *err)
{
    (void)run, (void)err;
    wb_buf_addf(arg, "end %u of %zu messages\n", step, result->turn->n_messages);
    return 0;
}

static int complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)run, (void)err;
    wb_buf_addf(arg, "complete %zu\n", turn->n_messages);
    return 0;
}

static WEFT_SUSPENDS int same_as_run(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf one = WB_BUF(1u << 20), two = WB_BUF(1u << 20);
    struct weft_hooks hooks = {.arg = &one,
                               .on_step_start = step_start,
                               .on_act = act,
                               .on_observe = observe,
                               .on_step_end = step_end,
                               .on_complete = complete};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *stream = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .hooks = &hooks), &a,
                       err));
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    agents_turn_text(&one, turn);
    hooks.arg = &two;
    TRY(weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")), NULL, &s, err));
    TRY(weft_stream_turn(s, &stream, err)); /* without looking at any event */
    agents_turn_text(&two, stream);
    FAIL_UNLESS(test_expect_str(wb_buf_str(&one), wb_buf_str(&two), __FILE__, __LINE__, "turns and hooks"));
    return 0;
}

/* covers: UAP-12.5c/1/2 */
TEST(agent_stream_and_run_are_equal)
{
    AGENTS(ROUND, same_as_run);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* What the dialect writes of the same events, but for the states of runs, which programs learn otherwise. */
struct both {
    struct agents *p;
    bool plan;
    struct wb_buf ours, theirs;
    char state[4096] __attribute__((aligned(16)));
    struct wd_frames frames;
    struct wa_translator telling;
};

static int both_tell(struct both *b, const struct wm_event *ev, struct upp_err *err)
{
    const struct upp_str aside = UPP_STR("\"aside\":\"plan\",");
    struct weft_event e;
    wd_frames_clear(&b->frames);
    TRY(wd_stream_weft.event(b->state, ev, &b->frames, err));
    for (size_t i = 0; i < b->frames.list.n; i++) {
        struct upp_str line = wb_str(b->frames.text.p + b->frames.list.p[i].from, b->frames.list.p[i].n);
        size_t at = wb_str_find(line, aside, 0); /* a program is not told what is scaffolding */
        if (wb_str_find(line, UPP_STR("\"type\":\"run\""), 0) != SIZE_MAX)
            continue;
        wb_buf_add(&b->theirs, wb_str_sub(line, 0, at));
        wb_buf_addf(&b->theirs, "%.*s\n", UPP_FMT(wb_str_sub(line, at == SIZE_MAX ? at : at + aside.n, SIZE_MAX)));
    }
    int r = wa_translate(&b->telling, ev, &e, err);
    while (r > 0) {
        struct upp_str json;
        if (e.type != WEFT_SUBAGENT_START && e.type != WEFT_SUBAGENT_END) {
            TRY(weft_event_to_json(&e, &json, err));
            wb_buf_addf(&b->ours, "%.*s\n", UPP_FMT(json));
            upp_text_free(json);
        }
        r = wa_translate_more(&b->telling, &e);
    }
    return r;
}

/* With all that one may have, and with nothing. */
static WEFT_SUSPENDS int tells_of_acts(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls,
                                       struct upp_err *err)
{
    static const struct upp_str to[] = {UPP_STR_INIT("helper"), UPP_STR_INIT("\"")};
    struct weft_system_event ev = {
        .type = UPP_STR("x.y"), .data = UPP_STR("{\"n\": [1.50, null]}"), .targets = to, .n_targets = 2};
    (void)arg, (void)step, (void)calls;
    TRY(weft_run_event(run, &ev, err));
    return weft_run_event(run, &(struct weft_system_event){.type = UPP_STR("z")}, err);
}

static WEFT_SUSPENDS int read_both(void *arg, struct upp_err *err)
{
    struct both *b = arg;
    UPP_CLEANUP(upp_model_freep) struct upp_model *echo = llm_script(NULL);
    UPP_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct weft_agent *a, *helper = NULL;
    struct wa_run_input asked = {0};
    struct wr_started started;
    struct wm_event ev;
    struct upp_turn *turn = NULL;
    if (!echo)
        return -UPP_ENOMEM;
    TRY(weft_agent_new(b->p->rt, UPP_OPTS(weft_agent_opts, .use = echo, .name = "helper"), &helper, err));
    const struct upp_tool tools[] = {agents_tools[0], agents_tools[2], WEFT_TOOL_AGENT(helper)};
    static const struct weft_hooks hooks = {.on_act = tells_of_acts};
    int r = weft_agent_new(b->p->rt,
                           UPP_OPTS(weft_agent_opts, .use = b->p->model, .tools = {tools, 3}, .hooks = &hooks,
                                    .execution = b->plan ? weft_strategy_plan : weft_strategy_loop),
                           &a, err);
    if (r >= 0)
        r = wa_run_input_take(&asked, UPP_OPTS(upp_input, .text = UPP_STR("go")), err);
    if (r >= 0)
        r = wa_start(a, NULL, &asked, false, &started, err);
    if (r >= 0) {
        r = wr_reader_open(a->home->engine, &wa_owner, started.run, NULL, &rd, err);
        while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0)
            r = both_tell(b, &ev, err);
        int ended = wa_join(a->home->engine, &started, NULL, &turn, r < 0 ? NULL : err);
        r = r < 0 ? r : ended;
        wr_tree_release(started.tree);
        upp_turn_free(turn);
    }
    wr_reader_close(WB_TAKE(rd));
    weft_agent_free(helper);
    wa_run_input_done(&asked);
    return r;
}

static size_t count(const struct wb_buf *in, const char *what)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(in), wb_cstr(what), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

/* Each event of a step of the plan names it: of the branch it was done in, and of the run that adopted it. */
static int names_steps(const struct both *b)
{
    for (const char *const *id = (const char *const[]){"a", "b", NULL}; *id; id++) {
        char planned[64];
        (void)snprintf(planned, sizeof planned, "\"planStepId\":\"%s\"", *id);
        FAIL_UNLESS(count(&b->ours, planned) == (**id == 'a' ? 13 : 5)); /* a has a call, its result, and two events */
    }
    FAIL_UNLESS(count(&b->ours, "\"planStepId\"") == 18 && count(&b->ours, "\"type\":\"observation\"") == 2);
    FAIL_UNLESS(count(&b->ours, "tool_execution_start") == 2 && count(&b->ours, "\"toolName\":\"\"") == 0);
    return 0;
}

static WEFT_SUSPENDS int compare_json(struct agents *p, bool plan, struct upp_err *err)
{
    static struct both b; /* too large for a frame */
    b = (struct both){.p = p, .plan = plan, .ours = WB_BUF(1u << 20), .theirs = WB_BUF(1u << 20)};
    if (!p->loop)
        return 0;
    FAIL_UNLESS(sizeof b.state >= wd_stream_weft.state_size);
    wd_frames_init(&b.frames);
    wa_translator_init(&b.telling, UPP_OPTS(weft_stream_opts, .children = true), false, WA_POINTS_STEPS);
    int r = wd_stream_weft.begin(b.state, UPP_OPTS(wd_stream_opts, .children = true), err);
    if (r >= 0)
        r = read_both(&b, err);
    if (r >= 0)
        r = test_expect_str(wb_buf_str(&b.ours), wb_buf_str(&b.theirs), __FILE__, __LINE__, "JSON") ? 0 : -UPP_EBUG;
    if (r >= 0 && count(&b.ours, "\"type\":\"system_event\"") != 4) /* of two acts, or of one that is adopted too */
        r = -UPP_EBUG;
    if (r >= 0 && b.ours.n < 1000)
        r = -UPP_EBUG;
    if (r >= 0) /* whoever is below says who called it, the root does not */
        r = count(&b.ours, "\"parentTurnId\"") > 0 &&
                    count(&b.ours, "\"parentTurnId\"") == count(&b.ours, "\"depth\":1,\"parentAgentId\"")
                ? 0
                : -UPP_EBUG;
    if (r >= 0 && plan)
        r = names_steps(&b);
    wd_stream_weft.done(b.state);
    wa_translator_done(&b.telling);
    wd_frames_done(&b.frames);
    wb_buf_done(&b.ours);
    wb_buf_done(&b.theirs);
    return r;
}

static WEFT_SUSPENDS int same_json(struct agents *p, struct upp_err *err)
{
    return compare_json(p, false, err);
}

static WEFT_SUSPENDS int same_json_of_a_plan(struct agents *p, struct upp_err *err)
{
    return compare_json(p, true, err);
}

#define ON(what, then) "{\"when\":{\"contains\":\"" what "\"}," then "}"

/* covers: UAP-5.4b/6, UAP-12.2/3 */
TEST(agent_event_json_names_the_steps_of_a_plan)
{
    AGENTS(SCRIPT(ON("Make a", "\"data\":{\"steps\":[{\"id\":\"a\",\"description\":\"add\"},{\"id\":\"b\","
                               "\"description\":\"say\"}]}"),
                  ON("step 'a'", PARTS(CALL("a1", "add", "\"a\":1,\"b\":2"))), ON("step 'b'", PARTS(TEXT("b is done"))),
                  "{\"when\":{\"tool_result\":\"add\"}," PARTS(TEXT("a is done")) "}"),
           same_json_of_a_plan);
}

/* covers: UAP-12.2/2 */
TEST(agent_event_json_is_that_of_the_dialect)
{
    AGENTS(SCRIPT(CUT_REPLY("{\"reasoning\":\"hm\"}", TEXT("a \\\"b\\\""), CALL("1", "add", "\"a\":1, \"b\": 2"),
                            CALL("2", "fails", "")),
                  REPLY(CALL("3", "helper", "\"task\":\"say\"")), REPLY(TEXT("done"))),
           same_json);
}

/* ---- Agents below ---------------------------------------------------------------------------- */

static WEFT_SUSPENDS int tells_children(struct agents *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    UPP_CLEANUP(upp_model_freep) struct upp_model *echo = llm_script(NULL);
    struct weft_agent *a, *helper = NULL;
    struct weft_stream *s = NULL;
    if (!echo)
        return -UPP_ENOMEM;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = echo, .name = "helper"), &helper, err));
    const struct upp_tool tools[] = {WEFT_TOOL_AGENT(helper)};
    int r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = {tools, 1}), &a, err);
    if (r >= 0)
        r = weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("go")),
                              UPP_OPTS(weft_stream_opts, .only = WEFT_SOURCE_UAP, .children = true), &s, err);
    if (r >= 0)
        r = read_all(s, &out, err);
    weft_stream_close(s);
    weft_agent_free(helper);
    TRY(r);
    FAIL_UNLESS(test_expect_str(wb_buf_str(&out),
                                UPP_STR("1 step_start\n1 action helper={\"task\":\"say\"}\n"
                                        "> 0 subagent_start 'say'\n> 1 step_start\n> 1 step_end\n"
                                        "> 1 subagent_end 'say'\n"
                                        "1 observation helper=\"say\"\n1 step_end in=5 out=2\n"
                                        "2 step_start\n2 step_end in=5 out=2\n"),
                                __FILE__, __LINE__, "events"));
    return 0;
}

TEST(agent_stream_tells_of_children_where_asked)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "helper", "\"task\":\"say\"")), REPLY(TEXT("done"))), tells_children);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int aborted_before(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn = NULL;
    struct weft_event ev;
    struct upp_err why = {0};
    TRY(open_stream(p, NULL, &s, err));
    weft_stream_abort(s);
    FAIL_UNLESS(weft_stream_next(s, &ev, &why) == -UPP_ECANCELED && why.code == UPP_ECANCELED);
    FAIL_UNLESS(weft_stream_turn(s, &turn, &why) == -UPP_ECANCELED && !turn);
    return 0;
}

/* covers: UAP-12.5b/3 */
TEST(agent_stream_aborted_before_it_began)
{
    AGENTS(ROUND, aborted_before);
}

static bool is_partial(const struct upp_turn *t)
{
    return t && t->response && t->response->metadata.n && strstr(t->response->metadata.p, "\"aborted\":true");
}

static WEFT_SUSPENDS int aborted_while(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn = NULL;
    struct weft_event ev = {0};
    TRY(open_stream(p, NULL, &s, err));
    while (ev.upp.type != UPP_TEXT_DELTA)
        TRY(weft_stream_next(s, &ev, err));
    weft_stream_abort(s);
    int r = weft_stream_next(s, &ev, err);
    if (r != -UPP_ECANCELED)
        return r < 0 ? r : -UPP_EBUG;
    r = weft_stream_turn(s, &turn, err);
    if (r < 0 && r != -UPP_ECANCELED)
        return r;
    FAIL_UNLESS(r == 0 && is_partial(turn) && wb_str_eq(turn->response->parts[0].text, UPP_STR("One ")));
    return 0;
}

/* covers: UAP-12.1/2, UAP-12.5b/1/2 */
TEST(agent_stream_aborted_in_the_middle_of_a_text)
{
    AGENTS(SCRIPT(SLOW_REPLY(100, TEXT("One two three four"))), aborted_while);
}

static void *abort_soon(void *s)
{
    struct timespec ms = {.tv_nsec = 20000000};
    nanosleep(&ms, NULL);
    weft_stream_abort(s);
    return NULL;
}

static WEFT_SUSPENDS int aborted_from_a_thread(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn = NULL;
    pthread_t thread;
    if (p->loop) /* a simulated world has one thread */
        return 0;
    TRY(open_stream(p, NULL, &s, err));
    if (pthread_create(&thread, NULL, abort_soon, s))
        return -UPP_ELIMIT;
    int r = weft_stream_turn(s, &turn, err);
    (void)pthread_join(thread, NULL);
    TRY(r);
    FAIL_UNLESS(is_partial(turn) && wb_str_eq(wb_buf_str(&p->trace), UPP_STR("slow begins\nslow is stopped\n")));
    return 0;
}

/* covers: UAP-12.1/2, UAP-12.5b/1 */
TEST(agent_stream_aborted_from_another_thread)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "slow", "")), REPLY(TEXT("never"))), aborted_from_a_thread);
}

static WEFT_SUSPENDS int closed_while(struct agents *p, struct upp_err *err)
{
    struct weft_stream *s;
    struct weft_event ev = {0};
    TRY(open_stream(p, NULL, &s, err));
    int r = 1;
    while (r > 0 && ev.type != WEFT_ACTION)
        r = weft_stream_next(s, &ev, err);
    if (r > 0) /* slow begins */
        r = weft_stream_next(s, &ev, err);
    weft_stream_close(s);
    return r < 0 ? r : 0;
}

TEST(agent_stream_closed_in_the_middle)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "slow", "")), REPLY(TEXT("never"))), closed_while);
}

static WEFT_SUSPENDS int fails_at_last(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    const struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    TRY(open_stream(p, NULL, &s, err));
    int r = weft_stream_turn(s, &turn, &why);
    if (r != -UPP_ERATE)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    FAIL_UNLESS(turn && turn->n_messages == 3 && strstr(why.msg, "slow down"));
    return 0;
}

TEST(agent_stream_that_fails_says_why)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "note", "")), "{\"error\":{\"code\":\"RATE_LIMITED\",\"message\":\"slow down\"}}"),
           fails_at_last);
}

/* ---- What the context holds, and who listens ------------------------------------------------- */

static unsigned executed, streamed;

/* All of UAP's ExecutionContext, in C's way; a step that is entered again is looked at again. */
static WEFT_SUSPENDS int look(struct weft_run *run, struct upp_err *err)
{
    const struct upp_tool_spec *tools;
    const struct weft_reply *reply;
    size_t n, history;
    TRY(weft_run_offered(run, &tools, &n, err));
    (void)weft_run_history(run, &history);
    FAIL_UNLESS(run->model && wb_str_eq(run->model->name, UPP_STR("scripted")));
    FAIL_UNLESS(n == 4 && wb_str_eq(tools[0].name, UPP_STR("add")) && tools[0].parameters.n);
    FAIL_UNLESS(run->signal && upp_wait_stopped(run->signal, err) == 0);
    FAIL_UNLESS(run->input && history == 0 && run->state.step == 0 && run->agent);
    return weft_run_ask(run, "generate", NULL, &reply, err);
}

static WEFT_SUSPENDS int look_executed(struct weft_run *run, struct upp_err *err)
{
    executed++;
    return look(run, err);
}

static WEFT_SUSPENDS int look_streamed(struct weft_run *run, struct upp_err *err)
{
    streamed++;
    return look(run, err);
}
static const struct weft_strategy looking = {.name = "looking", .execute = look_executed, .stream = look_streamed};

static WEFT_SUSPENDS int both_ways(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *s = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    const struct upp_turn *same;
    struct weft_agent *a;
    executed = streamed = 0;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .execution = looking), &a,
                       err));
    TRY(weft_agent_run(a, UPP_STR("hello"), &turn, err));
    FAIL_UNLESS(executed == 1 && streamed == 0);
    TRY(weft_agent_stream(a, UPP_OPTS(upp_input, .text = UPP_STR("hello")), NULL, &s, err));
    TRY(weft_stream_turn(s, &same, err));
    FAIL_UNLESS(executed == 1 && streamed == 1);
    FAIL_UNLESS(strcmp(upp_turn_text(turn), "hi") == 0 && strcmp(upp_turn_text(same), "hi") == 0);
    return 0;
}

/* covers: UAP-5.1/4, UAP-5.5/1 */
TEST(strategy_has_a_stream_and_the_whole_context)
{
    AGENTS("{\"replies\":[{\"parts\":[{\"text\":\"hi\"}]}]}", both_ways);
}
