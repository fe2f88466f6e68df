/* UAP-5.4: plans, one step after the other: what hooks hear, failures, new plans. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "support/hooks.h"
#include "support/race_rig.h"

#define USED(...)            "{\"parts\":[" __VA_ARGS__ "],\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}"
#define ADD(id)              "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}}"
#define STEP(id, what, deps) "{\"id\":\"" id "\",\"description\":\"" what "\",\"tool\":\"\",\"dependsOn\":[" deps "]}"
#define PLAN(...)            "{\"data\":{\"steps\":[" __VA_ARGS__ "]},\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}"
#define SEQUENTIAL           weft_plan(.max_parallel = 1)

/* Runs to its end, and this was heard. */
struct expecting {
    struct heard heard; /* first: the hooks have it */
    uint8_t status;
    const char *all, *end, *log;
};

static void expecting_done(struct expecting *e)
{
    heard_done(&e->heard);
}

static WEFT_SUSPENDS int runs(struct place *p, struct upp_err *err)
{
    struct expecting *e = (struct expecting *)p->hooks.arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf log = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    int r = heard_end(p, &s, e->status ? e->status : WM_COMPLETED, err);
    if (e->all)
        TRY(heard_is(&e->heard, e->all, err));
    if (e->end)
        TRY(heard_ends(&e->heard, e->end, err));
    TRY(r);
    if (p->no_store)
        return 0;
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    TRY(rig_history(&p->rig, s.thread, &log, err));
    if (e->log && wb_str_find(wb_buf_str(&log), wb_cstr(e->log), 0) == SIZE_MAX)
        return upp_fail(err, UPP_EBUG, "the log says: %.*s", UPP_FMT(wb_buf_str(&log)));
    return 0;
}
#define EXPECTS(name, ...) WB_CLEANUP(expecting_done) struct expecting name = {__VA_ARGS__}

/* ---- One after the other --------------------------------------------------------------------- */

#define THREE_STEPS                                                                                                    \
    SCRIPT(PLAN(STEP("c", "say it", "\"b\"") "," STEP("a", "look", "") "," STEP("b", "add", "\"a\"")) "," USED(        \
        TEXT("looked")) "," USED(TEXT("adding") "," ADD("c1")) "," USED(TEXT("it is 3")) "," USED(TEXT("said: 3")))

static const char three_steps[] =
    "start 1 []\n"
    "end 1: user; 7+3 in 1 cycles, 0 executions [a:pending b:pending c:pending]\nstop 1 10\n"
    "start 2 [a:in_progress b:pending c:pending] at a\n"
    "end 2: assistant; 10+2 in 1 cycles, 0 executions [a:completed b:pending c:pending] at a\nstop 2 22\n"
    "start 3 [a:completed b:in_progress c:pending] at b\nact 3: add\nobserve 3: 3\n"
    "end 3: assistant tool assistant; 20+4 in 2 cycles, 1 executions [a:completed b:completed c:pending] at b\n"
    "stop 3 46\n"
    "start 4 [a:completed b:completed c:in_progress] at c\n"
    "end 4: assistant; 10+2 in 1 cycles, 0 executions [a:completed b:completed c:completed] at c\nstop 4 58\n"
    "complete: user assistant assistant tool assistant assistant; 47+11 in 5 cycles, 1 executions; said: 3\n";

/* covers: UAP-5.4a/1/2, UAP-5.4b/1, UAP-5.4c/3, UAP-11.1/2, UAP-11.6/1/2 */
TEST(plan_steps_in_topological_order)
{
    const struct weft_strategy plan = SEQUENTIAL;
    for (int i = 0; i < 2; i++) {
        EXPECTS(e, .heard.plan = true, .all = three_steps,
                .log = "Carry out step 'a' of the plan: look\nDo this step alone, and say what came of it when it is "
                       "done.\nassistant: looked\nuser: Carry out step 'b' of the plan: add\n");
        PLAYS(.script = THREE_STEPS, .strategy = &plan, .hooks = heard_hooks(&e.heard), .act = runs, .no_store = i);
    }
}

#define AS_PLANNED STEP("c", "say it", "\"b\"") "," STEP("a", "look", "") "," STEP("b", "add", "\"a\"")

/* The plan is what the run says then. */
/* covers: UAP-11.6/1 */
TEST(plan_stops_after_planning_when_the_hook_says_so)
{
    for (int i = 0; i < 2; i++) {
        EXPECTS(e, .heard.stop_at = 1,
                .all = "start 1\nend 1: user; 7+3 in 1 cycles, 0 executions\nstop 1 10\n"
                       "complete: user assistant; 7+3 in 1 cycles, 0 executions; {\"steps\":[" AS_PLANNED "]}\n",
                .log = "assistant: {\"steps\":[" AS_PLANNED "]}\nassistant: {\"steps\":[" AS_PLANNED "]}\n");
        PLAYS(.script = THREE_STEPS, .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = runs,
              .no_store = i);
    }
}

/* A plan without steps: the answer is what is left to do. */
TEST(plan_without_steps_is_answered)
{
    EXPECTS(e, .end = "complete: user assistant; 17+5 in 2 cycles, 0 executions; hi\n");
    PLAYS(.script = SCRIPT(PLAN("") "," USED(TEXT("hi"))), .strategy = &weft_strategy_plan,
          .hooks = heard_hooks(&e.heard), .act = runs);
}

/* covers: UAP-5.4d/1 */
TEST(plan_that_is_too_long_keeps_its_first_steps)
{
    const struct weft_strategy two = weft_plan(.max_plan_steps = 2, .max_parallel = 1);
    EXPECTS(e, .heard.metadata = true,
            .end = "stop 3 {\"planTruncated\":true,\"planStepId\":\"b\",\"totalTokens\":46}\n"
                   "complete: user assistant assistant tool assistant; 37+9 in 4 cycles, 1 executions; it is 3\n");
    PLAYS(.script = THREE_STEPS, .strategy = &two, .hooks = heard_hooks(&e.heard), .act = runs);
}

/* A model that cannot answer as a schema says is asked for JSON. */
static WEFT_SUSPENDS int runs_without_structure(struct place *p, struct upp_err *err)
{
    p->rig.models[0]->can = UPP_CAN_STREAM | UPP_CAN_TOOLS;
    return runs(p, err);
}

/* covers: UAP-5.4a/1 */
TEST(plan_as_text_where_the_model_has_no_structured_output)
{
    EXPECTS(e, .log = "Answer with one JSON object and nothing else, as this schema says:\n{\"type\":\"object\"",
            .end = "complete: user assistant; 10+2 in 2 cycles, 0 executions; done\n");
    PLAYS(.script = SCRIPT(REPLY(TEXT("Sure: ```{\\\"steps\\\":[{\\\"id\\\":\\\"a\\\",\\\"description\\\":\\\"go\\\"}"
                                      "]}``` as you like")) "," USED(TEXT("done"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = runs_without_structure);
}

/* ---- Failures -------------------------------------------------------------------------------- */

#define FAILS_ONCE                                                                                                     \
    SCRIPT(PLAN(STEP("a", "look", "") "," STEP("b", "break it", "\"a\"") "," STEP("c", "end", "\"b\"")) "," USED(      \
        TEXT("looked")) "," USED(CALL("f1", "fails")) "," PLAN(STEP("a", "look",                                       \
                                                                    "") "," STEP("d", "mend it",                       \
                                                                                 "\"a\"")) "," USED(TEXT("mended")))

/* covers: UAP-5.4a/3, UAP-5.4c/1/2/3 */
TEST(plan_new_one_when_a_step_fails_and_nothing_is_done_twice)
{
    EXPECTS(e, .heard.plan = true,
            .log = "The plan so far cannot be carried out: step 'b' of the plan: the tool 'fails' failed: \"this tool "
                   "always fails\"\nThese steps are completed and stay so:\n- a: look\nMake a new plan",
            .end = "end 3: assistant tool; 10+2 in 1 cycles, 1 executions [a:completed b:failed c:pending] at b\n"
                   "stop 3 34\nstart 4 [a:completed b:failed c:pending]\n"
                   "end 4:; 7+3 in 1 cycles, 0 executions [a:completed d:pending]\nstop 4 44\n"
                   "start 5 [a:completed d:in_progress] at d\n"
                   "end 5: assistant; 10+2 in 1 cycles, 0 executions [a:completed d:completed] at d\nstop 5 56\n"
                   "complete: user assistant assistant tool assistant; 44+12 in 5 cycles, 1 executions; mended\n");
    PLAYS(.script = FAILS_ONCE, .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = runs);
}

/* covers: UAP-5.4d/2 */
TEST(plan_without_a_new_one_fails_with_the_step)
{
    const struct weft_strategy once = weft_plan(.no_replan = true);
    EXPECTS(e, .status = WM_FAILED,
            .end = "stop 3 34\nerror PROVIDER_ERROR: step 'b' of the plan: the tool 'fails' failed: \"this tool always "
                   "fails\"\n");
    PLAYS(.script = FAILS_ONCE, .strategy = &once, .hooks = heard_hooks(&e.heard), .act = runs);
}

/* covers: UAP-5.4b/7, UAP-5.4c/4 */
TEST(plan_number_of_new_ones_is_bounded)
{
    const struct weft_strategy two = weft_plan(.max_replans = 2);
    EXPECTS(e, .status = WM_FAILED,
            .all = "start 1\nend 1: user; 0+0 in 1 cycles, 0 executions\nstop 1 0\n"
                   "start 2\nend 2:; 0+0 in 1 cycles, 0 executions\nstop 2 0\n"
                   "start 3\nend 3:; 0+0 in 1 cycles, 0 executions\nstop 3 0\n"
                   "error INVALID_RESPONSE: the plan makes no sense: it has no list 'steps'\n");
    PLAYS(.script = "{\"replies\":[" REPLY(TEXT("no plan")) "],\"at_end\":\"repeat_last\"}", .strategy = &two,
          .hooks = heard_hooks(&e.heard), .act = runs);
}

#define ONLY_A "{\"when\":{\"contains\":\"Carry out step 'a'\"},"

/* A model that fails in a step, with and without having said something: a step all the same. */
/* covers: UAP-11.6/1 */
TEST(plan_step_in_which_the_model_fails)
{
    static const char *const breaks[] = {
        ONLY_A "\"error\":{\"code\":\"CONTENT_FILTERED\",\"message\":\"no\"}}",
        ONLY_A "\"parts\":[" TEXT(
            "as I was saying") "],\"delta_bytes\":4,\"error\":{\"code\":\"CONTENT_FILTERED\",\"after\":2}}",
    };
    for (size_t i = 0; i < WB_LEN(breaks); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(1u << 16);
        wb_buf_addf(&script, "{\"replies\":[%s,%s,%s,%s]}", PLAN(STEP("a", "look", "")), breaks[i],
                    PLAN(STEP("b", "see", "")), USED(TEXT("seen")));
        wb_buf_addc(&script, 0);
        CHECK(wb_buf_check(&script, NULL) >= 0);
        EXPECTS(e, .heard.plan = true,
                .end = i ? "executions [b:completed] at b\nstop 4 32\n"
                           "complete: user assistant assistant; 24+8 in 3 cycles, 0 executions; seen\n"
                         : "end 2:; 0+0 in 0 cycles, 0 executions [a:failed] at a\nstop 2 10\nstart 3 [a:failed]\n"
                           "end 3:; 7+3 in 1 cycles, 0 executions [b:pending]\nstop 3 20\n"
                           "start 4 [b:in_progress] at b\nend 4: assistant; 10+2 in 1 cycles, 0 executions "
                           "[b:completed] at b\nstop 4 32\n"
                           "complete: user assistant; 24+8 in 3 cycles, 0 executions; seen\n");
        PLAYS(.script = script.p, .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = runs);
    }
}

/* Calls that nobody runs any more have results all the same. */
TEST(plan_step_with_too_many_rounds)
{
    const struct weft_strategy one = weft_plan(.max_iterations = 1, .no_replan = true);
    EXPECTS(e, .status = WM_FAILED,
            .end = "error INVALID_REQUEST: step 'a' of the plan: Tool execution exceeded maximum iterations (1)\n",
            .log = "assistant: add={\"a\":1,\"b\":2}\nrepair tool: add=\"not run: the agent went on without it\"\n");
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "count", "")) "," USED(ADD("c1")) "," USED(ADD("c2"))), .strategy = &one,
          .hooks = heard_hooks(&e.heard), .act = runs);
}

static WEFT_SUSPENDS int runs_with_little(struct place *p, struct upp_err *err)
{
    static const struct weft_rights little = {.budget = {.max_tokens = 20}};
    p->rig.agents[0].rights = &little;
    return runs(p, err);
}

/* A step that is cut off by a budget is not completed; the run is, with what it has. */
/* covers: UAP-5.4c/3, UAP-10.4/8 */
TEST(plan_step_that_a_budget_cuts_off)
{
    EXPECTS(e, .heard.plan = true, .log = "tool: add=3\n",
            .end = "end 2: assistant tool; 10+2 in 1 cycles, 1 executions [a:failed b:pending] at a\nstop 2 22\n"
                   "complete: user assistant tool; 17+5 in 2 cycles, 1 executions; adding\n");
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "add", "") "," STEP("b", "say it", "\"a\"")) "," USED(
              TEXT("adding") "," ADD("c1")) "," USED(TEXT("never said"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = runs_with_little);
}

/* covers: UPP-17/5 */
TEST(plan_that_does_not_fit_a_schema_of_ones_own_is_made_again)
{
    const struct weft_strategy mine = weft_plan(.plan_schema = "{\"properties\":{\"steps\":{\"minItems\":2}}}");
    EXPECTS(e, .log = "The plan so far cannot be carried out: the plan does not fit its schema: /steps: ");
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "look", "")) "," PLAN(
              STEP("a", "look", "") "," STEP("b", "say it", "\"a\"")) "," USED(TEXT("looked")) "," USED(TEXT("said"))),
          .strategy = &mine, .hooks = heard_hooks(&e.heard), .act = runs);
}

/* covers: UAP-5.4d/5 */
TEST(plan_schema_of_ones_own_must_give_steps)
{
    const struct weft_strategy mine = weft_plan(.plan_schema = "{\"type\":\"object\"}", .no_replan = true);
    EXPECTS(e, .status = WM_FAILED, .end = "error INVALID_RESPONSE: the plan makes no sense: it has no list 'steps'\n");
    PLAYS(.script = SCRIPT("{\"data\":{\"parts\":[]}}"), .strategy = &mine, .hooks = heard_hooks(&e.heard),
          .act = runs);
}

/* ---- A client's tool in a step --------------------------------------------------------------- */

static WEFT_SUSPENDS int waits(struct place *p, struct upp_err *err)
{
    struct expecting *e = (struct expecting *)p->hooks.arg;
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(place_restart(p, &n, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("p1"), .result = UPP_STR("\"red\"")}, 1, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return heard_ends(&e->heard, e->end, err);
}

TEST(plan_step_that_waits_for_the_client)
{
    EXPECTS(e, .heard.plan = true,
            .end = "observe 2: \"red\"\n"
                   "end 2: assistant tool assistant; 20+4 in 2 cycles, 1 executions [a:completed] at a\nstop 2 34\n"
                   "complete: user assistant tool assistant; 27+7 in 3 cycles, 1 executions; red it is\n");
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "pick", "")) "," USED(CALL("p1", "pick")) "," USED(TEXT("red it is"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&e.heard), .act = waits);
}

/* ---- What is observed ------------------------------------------------------------------------ */

/* Every round of a step, also where the answers came in another life and the row of results has nothing else; a live
 * reader and one of the store alone have the same. */
static WEFT_SUSPENDS int observes(struct place *p, struct upp_err *err)
{
    static const char all[] = "2:c1=3 ; 2:p1=\"red\" ; 2:c2=3 ; ";
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(observed_is(p, s.run, "2:c1=3 ; ", err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(place_restart(p, &n, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("p1"), .result = UPP_STR("\"red\"")}, 1, err));
    TRY(observed_is(p, s.run, all, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(place_restart(p, &n, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    return observed_is(p, s.run, all, err);
}

/* covers: UAP-12.2/3 */
TEST(plan_step_with_several_rounds_is_observed)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "pick", "")) "," USED(ADD("c1")) "," USED(CALL("p1", "pick")) "," USED(
              ADD("c2")) "," USED(TEXT("red it is"))),
          .strategy = &weft_strategy_plan, .act = observes);
}

/* Without a store, too. */
static WEFT_SUSPENDS int observes_live(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    return observed_is(p, s.run, "2:c1=3 ; 2:c2=3 ; ", err);
}

TEST(plan_step_is_observed_without_a_store)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "add", "")) "," USED(ADD("c1")) "," USED(ADD("c2")) "," USED(TEXT("3"))),
          .strategy = &weft_strategy_plan, .act = observes_live, .no_store = true);
}
