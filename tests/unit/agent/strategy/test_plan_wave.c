/* Steps of a plan that do not depend on each other are done at the same time, each in a branch of the run. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "support/hooks.h"
#include "support/race_rig.h"

#define USE            ",\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}"
#define STEP(id, deps) "{\"id\":\"" id "\",\"description\":\"do it\",\"dependsOn\":[" deps "]}"
#define PLAN(...)      "{\"when\":{\"contains\":\"Make a\"},\"data\":{\"steps\":[" __VA_ARGS__ "]}" USE
#define ON(id, ...)    "{\"when\":{\"contains\":\"Carry out step '" id "'\"},\"parts\":[" __VA_ARGS__ "]" USE
#define AFTER(t, ...)  "{\"when\":{\"tool_result\":\"" t "\"},\"parts\":[" __VA_ARGS__ "]" USE

#define TWO_AND_ONE                                                                                                    \
    SCRIPT(PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\",\"b\"")) "," ON("a", CALL("a1", "slow")) "," ON(  \
        "b", CALL("b1", "slow")) "," AFTER("slow", TEXT("slowly done")) "," ON("c", TEXT("all done")))

static const char two_and_one[] =
    "start 1 []\nend 1: user; 10+2 in 1 cycles, 0 executions [a:pending b:pending c:pending]\nstop 1 12\n"
    "start 2 [a:in_progress b:in_progress c:pending] at a\n"
    "start 3 [a:in_progress b:in_progress c:pending] at b\n"
    "act 2: slow\nact 3: slow\nobserve 2: \"slowly\"\nobserve 3: \"slowly\"\n"
    "end 2: assistant tool assistant; 20+4 in 2 cycles, 1 executions [a:completed b:in_progress c:pending] at a\n"
    "stop 2 36\n"
    "end 3: assistant tool assistant; 20+4 in 2 cycles, 1 executions [a:completed b:completed c:pending] at b\n"
    "stop 3 60\n"
    "start 4 [a:completed b:completed c:in_progress] at c\n"
    "end 4: assistant; 10+2 in 1 cycles, 0 executions [a:completed b:completed c:completed] at c\nstop 4 72\n"
    "complete: user assistant tool assistant assistant tool assistant assistant; 60+12 in 6 cycles, 2 executions; "
    "all done\n";

static const char in_the_log[] =
    "user: Carry out step 'a' of the plan: do it\nDo this step alone, and say what came of it when it is done.\n"
    "assistant: slow={}\ntool: slow=\"slowly\"\nassistant: slowly done\n"
    "user: Carry out step 'b' of the plan: do it\nDo this step alone, and say what came of it when it is done.\n"
    "assistant: slow={}\ntool: slow=\"slowly\"\nassistant: slowly done\n"
    "user: Carry out step 'c' of the plan: do it\nDo this step alone, and say what came of it when it is done.\n"
    "assistant: all done\n";

static WEFT_SUSPENDS int log_has(struct place *p, const struct wr_started *s, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf log = WB_BUF(1u << 20);
    TRY(rig_well_formed(p->inner, &rig_owner, s->thread, err));
    TRY(rig_history(&p->rig, s->thread, &log, err));
    if (wb_str_find(wb_buf_str(&log), wb_cstr(want), 0) != SIZE_MAX)
        return 0;
    printf("# the log:\n%.*s", UPP_FMT(wb_buf_str(&log)));
    return upp_fail(err, UPP_EBUG, "the log says something else");
}

static WEFT_SUSPENDS int at_the_same_time(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    uint64_t began = wb_mono_ms();
    TRY(place_start(p, &s, err));
    int r = heard_end(p, &s, WM_COMPLETED, err);
    TRY(heard_is(h, two_and_one, err));
    TRY(r);
    FAIL_UNLESS(wb_mono_ms() - began >= 1000 && wb_mono_ms() - began < 1500); /* each takes a second */
    return p->no_store ? 0 : log_has(p, &s, in_the_log, err);
}

/* covers: UAP-5.4b/2/4/5 */
TEST(plan_wave_takes_as_long_as_one_step)
{
    for (int i = 0; i < 2; i++) {
        WB_CLEANUP(heard_done) struct heard h = {.plan = true};
        PLAYS(.script = TWO_AND_ONE, .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = at_the_same_time,
              .no_store = i);
    }
}

/* At most so many: three steps of a second each, two at a time. */
static WEFT_SUSPENDS int two_at_a_time(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint64_t began = wb_mono_ms();
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    FAIL_UNLESS(wb_mono_ms() - began >= 2000 && wb_mono_ms() - began < 2500);
    return 0;
}

/* covers: UAP-5.4b/2 */
TEST(plan_wave_has_a_limit)
{
    const struct weft_strategy two = weft_plan(.max_parallel = 2);
    PLAYS(.script =
              SCRIPT(PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "")) "," ON("a", CALL("a1", "slow")) "," ON(
                  "b",
                  CALL("b1",
                       "slow")) "," ON("c",
                                       CALL("c1",
                                            "slow")) "," AFTER("slow",
                                                               TEXT("so")) "," AFTER("slow",
                                                                                     TEXT("so")) "," AFTER("slow",
                                                                                                           TEXT("so"))),
          .strategy = &two, .act = two_at_a_time);
}

/* ---- Readers --------------------------------------------------------------------------------- */

/* What a reader that looks on sees is what a later one reads, and the step shows whole when it is adopted. */
static WEFT_SUSPENDS int read_twice(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf live = WB_BUF(1u << 20), later = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(rig_read(&p->rig, s.run, &live, err));
    TRY(rig_read(&p->rig, s.run, &later, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&live), wb_buf_str(&later)));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&live), UPP_STR("> s1 tool slow started"), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&live), UPP_STR(" s2 tool slow done \"slowly\""), 0) != SIZE_MAX);
    size_t n = 0;
    TRY(place_restart(p, &n, err)); /* from the store alone */
    wb_buf_clear(&later);
    TRY(rig_read(&p->rig, s.run, &later, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&live), wb_buf_str(&later)));
    return observed_is(p, s.run, "2:a1=\"slowly\" ; 3:b1=\"slowly\" ; ", err);
}

/* covers: UAP-12.2/3 */
TEST(plan_wave_is_read_the_same_later)
{
    PLAYS(.script = TWO_AND_ONE, .strategy = &weft_strategy_plan, .act = read_twice);
}

/* ---- Waiting, failing ------------------------------------------------------------------------ */

/* The steps of the run itself, with which of the plan they are and what they used; its calls, where they began, and
 * how they came out. */
static WEFT_SUSPENDS int steps_are(struct place *p, struct wb_uuid run, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wm_event ev;
    int r = wr_reader_open(p->rig.engine, &rig_owner, run, NULL, &rd, err);
    while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0) {
        if (ev.from->depth || wm_is_branch(&ev))
            continue;
        if (ev.kind == WM_STEP_START)
            wb_buf_addf(&out, "<%u:%.*s ", ev.step, UPP_FMT(ev.step_start.plan_step));
        if (ev.kind == WM_TOOL_STARTED)
            wb_buf_addf(&out, "%.*s! ", UPP_FMT(ev.call.id));
        if (ev.kind == WM_TOOL_ENDED)
            wb_buf_addf(&out, "%.*s=%u ", UPP_FMT(ev.call.id), ev.tool_ended.outcome);
        if (ev.kind == WM_STEP_END)
            wb_buf_addf(&out, "%u:%llu+%llu> ", ev.step, (unsigned long long)ev.step_end.usage.input,
                        (unsigned long long)ev.step_end.usage.output);
    }
    TRY(r);
    TRY(wb_buf_check(&out, err));
    if (wb_str_eq(wb_buf_str(&out), wb_cstr(want)))
        return 0;
    printf("# the steps: %.*s\n", UPP_FMT(wb_buf_str(&out)));
    return upp_fail(err, UPP_EBUG, "other steps");
}

static const char both_waited[] =
    "start 1\nend 1: user; 10+2 in 1 cycles, 0 executions\nstop 1 12\nstart 2\nstart 3\nact 2: pick\nact 3: pick\n"
    "observe 3: \"blue\"\nobserve 2: \"red\"\n"
    "end 2: assistant tool assistant; 20+4 in 2 cycles, 1 executions\nstop 2 36\n"
    "end 3: assistant tool assistant; 20+4 in 2 cycles, 1 executions\nstop 3 60\n"
    "complete: user assistant tool assistant assistant tool assistant; 50+10 in 5 cycles, 2 executions; picked\n";

static WEFT_SUSPENDS int both_wait(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    struct wr_run_info look;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wr_get(p->rig.engine, &rig_owner, s.run, &a, &look, err));
    FAIL_UNLESS(look.n_pending == 2);
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("b1"), .result = UPP_STR("\"blue\"")}, 1, err));
    TRY(place_restart(p, &n, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("a1"), .result = UPP_STR("\"red\"")}, 1, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(log_has(p, &s,
                "assistant: pick={}\ntool: pick=\"red\"\nassistant: picked\n"
                "user: Carry out step 'b' of the plan: do it\nDo this step alone, and say what came of it when it is "
                "done.\nassistant: pick={}\ntool: pick=\"blue\"\nassistant: picked\n",
                err));
    TRY(steps_are(p, s.run, "<1: 1:10+2> <2:a a1! a1=1 2:20+4> <3:b b1! b1=1 3:20+4> ", err));
    return heard_is(h, both_waited, err); /* each once, though the wave was entered twice */
}

/* covers: UAP-5.4b/4 */
TEST(plan_wave_waits_for_all_its_clients)
{
    WB_CLEANUP(heard_done) struct heard h = {0};
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," ON("a", CALL("a1", "pick")) "," ON(
              "b", CALL("b1", "pick")) "," AFTER("pick", TEXT("picked"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = both_wait);
}

#define TWICE "assistant tool assistant tool assistant"
#define ALIKE(after)                                                                                                   \
    SCRIPT(PLAN(STEP("x", "") "," STEP("x/2", after)) "," ON("x", CALL("", "pick")) "," ON(                            \
        "x/2",                                                                                                         \
        CALL("",                                                                                                       \
             "pick")) "," AFTER("pick",                                                                                \
                                CALL("",                                                                               \
                                     "pick")) "," AFTER("pick",                                                        \
                                                        TEXT("done")) "," AFTER("pick",                                \
                                                                                CALL("",                               \
                                                                                     "pick")) "," AFTER("pick",        \
                                                                                                        TEXT("done")))

/* A step that is called as if it were another one's second message. */
static WEFT_SUSPENDS int alike(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    for (int i = 0; i < 4; i++) { /* of two steps with two rounds; both wait at once, or one after the other */
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wr_run_info look;
        TRY(place_await(p, s.run, &status, err));
        if (status != WM_WAITING)
            break;
        TRY(place_restart(p, &n, err));
        TRY(wr_get(p->rig.engine, &rig_owner, s.run, &a, &look, err));
        for (size_t k = 0; k < look.n_pending; k++)
            TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                          &(struct wr_answer){.call = look.pending[k].call, .result = UPP_STR("\"red\"")}, 1, err));
    }
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    return heard_ends(p->hooks.arg, "complete: user " TWICE " " TWICE "; 70+14 in 7 cycles, 4 executions; done\n", err);
}

TEST(plan_wave_tells_steps_apart_that_are_called_alike)
{
    static const char *const scripts[] = {ALIKE(""), ALIKE("\"x\"")};
    for (size_t i = 0; i < WB_LEN(scripts); i++) {
        WB_CLEANUP(heard_done) struct heard h = {0};
        PLAYS(.script = scripts[i], .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = alike);
    }
}

static WEFT_SUSPENDS int one_fails(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    return heard_ends(
        h,
        "end 2: assistant tool; 10+2 in 1 cycles, 1 executions [a:failed b:in_progress c:pending] at a\nstop 2 24\n"
        "end 3: assistant; 10+2 in 1 cycles, 0 executions [a:failed b:completed c:pending] at b\nstop 3 36\n"
        "start 4 [a:failed b:completed c:pending]\n"
        "end 4:; 10+2 in 1 cycles, 0 executions [b:completed d:pending]\nstop 4 48\n"
        "start 5 [b:completed d:in_progress] at d\n"
        "end 5: assistant; 10+2 in 1 cycles, 0 executions [b:completed d:completed] at d\nstop 5 60\n"
        "complete: user assistant tool assistant assistant; 50+10 in 5 cycles, 1 executions; mended\n",
        err);
}

/* covers: UAP-5.4c/1 */
TEST(plan_wave_with_a_step_that_fails)
{
    WB_CLEANUP(heard_done) struct heard h = {.plan = true};
    PLAYS(.script = SCRIPT(
              PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\"")) "," ON("a", CALL("a1", "fails")) "," ON(
                  "b", TEXT("b is done")) "," PLAN(STEP("d", "\"b\"")) "," ON("d", TEXT("mended"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = one_fails);
}

/* One that fails before it has said anything is a step as the others are. */
static WEFT_SUSPENDS int one_is_silent(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    for (int i = 0; i < 2; i++) {
        TRY(steps_are(p, s.run, "<1: 1:10+2> <2:a 2:0+0> <3:b 3:10+2> <4: 4:10+2> <5:d 5:10+2> ", err));
        TRY(place_restart(p, &n, err));
    }
    return heard_is(h,
                    "start 1 []\nend 1: user; 10+2 in 1 cycles, 0 executions [a:pending b:pending]\nstop 1 12\n"
                    "start 2 [a:in_progress b:in_progress] at a\nstart 3 [a:in_progress b:in_progress] at b\n"
                    "end 2:; 0+0 in 0 cycles, 0 executions [a:failed b:in_progress] at a\nstop 2 12\n"
                    "end 3: assistant; 10+2 in 1 cycles, 0 executions [a:failed b:completed] at b\nstop 3 24\n"
                    "start 4 [a:failed b:completed]\n"
                    "end 4:; 10+2 in 1 cycles, 0 executions [b:completed d:pending]\nstop 4 36\n"
                    "start 5 [b:completed d:in_progress] at d\n"
                    "end 5: assistant; 10+2 in 1 cycles, 0 executions [b:completed d:completed] at d\nstop 5 48\n"
                    "complete: user assistant assistant; 40+8 in 4 cycles, 0 executions; mended\n",
                    err);
}

#define FILTERED(id)                                                                                                   \
    "{\"when\":{\"contains\":\"Carry out step '" id "'\"},\"error\":{\"code\":\"CONTENT_FILTERED\",\"message\":"       \
    "\"no\"}}"

/* covers: UAP-5.4b/5/6, UAP-11.6/1 */
TEST(plan_wave_with_a_step_that_says_nothing)
{
    WB_CLEANUP(heard_done) struct heard h = {.plan = true};
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," FILTERED("a") "," ON(
              "b", TEXT("b is done")) "," PLAN(STEP("d", "\"b\"")) "," ON("d", TEXT("mended"))),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = one_is_silent);
}

/* A call that was denied in a branch is one that was denied in the run, and never began there either; nor did one of a
 * tool that there is not. */
static WEFT_SUSPENDS int one_is_denied(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run, &(struct wr_answer){.call = UPP_STR("a1"), .approved = false}, 1,
                  err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    for (int i = 0; i < 2; i++) {
        TRY(steps_are(p, s.run, "<1: 1:10+2> <2:a a1=4 2:10+2> <3:b b1=2 3:10+2> <4: 4:10+2> <5:d 5:10+2> ", err));
        TRY(place_restart(p, &n, err));
    }
    return 0;
}

TEST(plan_wave_keeps_how_calls_came_out)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," ON("a", CALL("a1", "danger")) "," ON(
              "b", CALL("b1", "nowhere")) "," PLAN(STEP("d", "")) "," ON("d", TEXT("mended"))),
          .strategy = &weft_strategy_plan, .act = one_is_denied);
}

/* ---- Budgets --------------------------------------------------------------------------------- */

/* A step that is cut off by a budget is not completed, and its branch says why; one that ended before is. All is on the
 * thread, and the run completes with what it has. */
struct limit {
    struct heard heard; /* first: the hooks have it */
    struct weft_rights rights;
    const char *why, *over;
};

static void limit_done(struct limit *l)
{
    heard_done(&l->heard);
}

static WEFT_SUSPENDS int runs_out(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf seen = WB_BUF(1u << 20);
    const struct limit *l = p->hooks.arg;
    struct upp_str told;
    struct wr_started s;
    p->rig.agents[0].rights = &l->rights;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    TRY(rig_read(&p->rig, s.run, &seen, err));
    told = wb_buf_str(&l->heard.lines);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&seen), wb_cstr(l->why), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(told, wb_cstr(l->over), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(told, UPP_STR("[a:failed b:completed c:pending] at b\n"), 0) != SIZE_MAX);
    return log_has(p, &s, "assistant: b is done\n", err);
}

/* covers: UAP-5.4c/3, UAP-10.4/8 */
TEST(plan_wave_with_a_step_that_a_budget_cuts_off)
{
    static const struct limit limits[] = {
        {.rights = {.budget = {.max_tokens = 30}},
         .why = "> s0 run failed {\"name\":\"UPPError\",\"message\":\"the budget is used up: max_tokens\"",
         .over = "\"budgetExceeded\":\"max_tokens\""},
        {.rights = {.budget = {.max_time_ms = 700}},
         .why = "> s0 run failed {\"name\":\"UPPError\",\"message\":\"the tool 'slow' failed: \\\"timed out",
         .over = "\"budgetExceeded\":\"max_time\""},
    };
    for (size_t i = 0; i < WB_LEN(limits); i++) {
        WB_CLEANUP(limit_done) struct limit l = limits[i];
        l.heard.plan = l.heard.metadata = true;
        PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\",\"b\"")) "," ON(
                  "a", CALL("a1", "slow")) "," ON("b", TEXT("b is done")) "," AFTER("slow", TEXT("never said"))),
              .strategy = &weft_strategy_plan, .hooks = heard_hooks(&l.heard), .act = runs_out);
    }
}

/* A wave is no wider than the steps that are left: three steps are one for the plan and two at the same time, two are
 * one for the plan and one more. */
static WEFT_SUSPENDS int has_few_steps(struct place *p, struct upp_err *err)
{
    static const char *const steps[] = {"<1: 1:10+2> <2:a 2:10+2> ", "<1: 1:10+2> <2:a 2:10+2> <3:b 3:10+2> "};
    for (uint32_t i = 0; i < WB_LEN(steps); i++) {
        struct weft_rights rights = {.budget = {.max_steps = i + 2}};
        struct wr_started s;
        p->rig.agents[0].rights = &rights;
        TRY(place_start(p, &s, err));
        int r = heard_end(p, &s, WM_COMPLETED, err);
        p->rig.agents[0].rights = NULL;
        TRY(r);
        TRY(steps_are(p, s.run, steps[i], err));
    }
    return 0;
}

/* covers: UAP-10.4/8 */
TEST(plan_wave_is_no_wider_than_its_budget)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "")) "," ON(
              "a", TEXT("a is done")) "," ON("b", TEXT("b is done")) "," ON("c", TEXT("c is done"))),
          .strategy = &weft_strategy_plan, .act = has_few_steps);
}

/* ---- Agents below, and beside ---------------------------------------------------------------- */

/* "usage" and "totalUsage" of the run itself, while it waits in its last step. */
static WEFT_SUSPENDS int trace_says(struct place *p, struct wb_uuid run, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    TRY(wr_trace(p->rig.engine, &rig_owner, run, &out, err));
    if (wb_str_find(wb_buf_str(&out), wb_cstr(want), 0) != SIZE_MAX)
        return 0;
    printf("# the trace: %.*s\n", UPP_FMT(wb_buf_str(&out)));
    return upp_fail(err, UPP_EBUG, "another trace");
}

#define USED(in, out, sum)                                                                                             \
    "{\"inputTokens\":" in ",\"outputTokens\":" out ",\"totalTokens\":" sum                                            \
    ",\"cacheReadTokens\":0,\"cacheWriteTokens\":0}"
#define TRACED "\"usage\":" USED("20", "4", "24") ",\"totalUsage\":" USED("150", "11", "161")

static WEFT_SUSPENDS int asks_below(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(trace_says(p, s.run, TRACED, err));
    TRY(place_restart(p, &n, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("c1"), .result = UPP_STR("\"red\"")}, 1, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(steps_are(p, s.run, "<1: 1:10+2> <2:a a1! a1=1 2:120+5> <3:b 3:10+2> <4:c c1=1 4:20+4> ", err));
    return heard_ends(h,
                      "complete: user assistant tool assistant assistant assistant tool assistant; 160+13 in 7 cycles, "
                      "2 executions; picked\n",
                      err);
}

/* What an agent below used is the step's that asked it. */
/* covers: UAP-5.4b/5 */
TEST(plan_wave_counts_agents_below_in_their_step)
{
    WB_CLEANUP(heard_done) struct heard h = {0};
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\",\"b\"")) "," ON(
              "a",
              CALL(
                  "a1",
                  "ask_helper")) "," AFTER("ask_helper",
                                           TEXT(
                                               "helped")) "," ON("b",
                                                                 TEXT(
                                                                     "b is done")) "," ON("c",
                                                                                          CALL(
                                                                                              "c1",
                                                                                              "pick")) "," AFTER("pick",
                                                                                                                 TEXT(
                                                                                                                     "p"
                                                                                                                     "i"
                                                                                                                     "c"
                                                                                                                     "k"
                                                                                                                     "e"
                                                                                                                     "d"))),
          .helper = SCRIPT("{\"parts\":[" TEXT("so") "],\"usage\":{\"input_tokens\":100,\"output_tokens\":1}}"),
          .strategy = &weft_strategy_plan, .hooks = heard_hooks(&h), .act = asks_below);
}

/* A step of a wave has no thread to pass on: the run does it, when the wave is adopted. What is left of the plan is not
 * done any more, as after a handoff of a step that was alone. */
static WEFT_SUSPENDS int hands_over(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(steps_are(p, s.run, "<1: 1:10+2> <2:a a1! a1=1 2:20+4> <3:b b1! b1=1 3:20+4> <4: 4:0+0> ", err));
    return log_has(
        p, &s,
        "assistant: pass_on={}\ntool: pass_on=\"helper goes on from here\"\nassistant: passed\n"
        "user: Carry out step 'b' of the plan: do it\nDo this step alone, and say what came of it when it is "
        "done.\nassistant: slow={}\ntool: slow=\"slowly\"\nassistant: b is done\n"
        "event {\"type\":\"agent.handoff\",\"data\":{\"from\":\"main\",\"to\":\"helper\",\"reason\":"
        "\"tool_call\"},\"source\":\"main\",\"targets\":[\"helper\"]}\nturn of helper\n"
        "assistant: I will.\n",
        err);
}

/* covers: TP-62/3 */
TEST(plan_wave_hands_over_when_it_is_adopted)
{
    PLAYS(.script = SCRIPT(
              PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\"")) "," ON("a", CALL("a1", "pass_on")) "," ON(
                  "b", CALL("b1", "slow")) "," AFTER("pass_on", TEXT("passed")) "," AFTER("slow", TEXT("b is done"))),
          .helper = SCRIPT(REPLY(TEXT("I will."))), .strategy = &weft_strategy_plan, .act = hands_over);
}

/* ---- System events --------------------------------------------------------------------------- */

/* What hooks add while they are told of a step is that step's. */
static int tell(struct weft_run *run, const char *type, uint32_t n, struct upp_err *err)
{
    char data[64];
    int len = snprintf(data, sizeof data, "{\"tools\":[\"add\"],\"n\":%u}", n);
    struct weft_system_event ev = {.type = wb_cstr(type), .data = wb_str(data, (size_t)len)};
    return weft_run_event(run, &ev, err);
}

static WEFT_SUSPENDS int tells_when_acting(void *arg, struct weft_run *run, uint32_t step,
                                           const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)calls;
    return tell(run, "acts", step, err);
}

static WEFT_SUSPENDS int tells_when_observing(void *arg, struct weft_run *run, uint32_t step,
                                              const struct upp_message *results, struct upp_err *err)
{
    (void)arg, (void)results;
    return tell(run, "observes", step, err);
}

#define TOLD(type, n) "event {\"type\":\"" type "\",\"data\":{\"tools\":[\"add\"],\"n\":" n "},\"source\":\"main\"}\n"
#define OF_B                                                                                                           \
    "user: Carry out step 'b' of the plan: do it\nDo this step alone, and say what came of it when it is done.\n"

/* The events of the run itself that are no scaffolding of its readers: system events with their step. */
static WEFT_SUSPENDS int told_is(struct place *p, struct wb_uuid run, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wm_event ev;
    int r = wr_reader_open(p->rig.engine, &rig_owner, run, NULL, &rd, err);
    while (r >= 0 && (r = wr_reader_next(rd, true, &ev, err)) > 0)
        if (ev.kind == WM_SYSTEM && !ev.from->depth)
            wb_buf_addf(&out, "%u %.*s\n", ev.step, UPP_FMT(wb_str_sub(ev.system.entry->data, 0, 16)));
    TRY(r);
    TRY(wb_buf_check(&out, err));
    if (wb_str_eq(wb_buf_str(&out), wb_cstr(want)))
        return 0;
    printf("# told: %.*s\n", UPP_FMT(wb_buf_str(&out)));
    return upp_fail(err, UPP_EBUG, "other events");
}

/* In the order of the plan and not of time, each once, though the process ended in the middle. */
static WEFT_SUSPENDS int tells_in_order(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("b1"), .result = UPP_STR("\"blue\"")}, 1, err));
    TRY(place_await(p, s.run, &status, err));
    TRY(place_restart(p, &n, err));
    TRY(wr_answer(p->rig.engine, &rig_owner, s.run,
                  &(struct wr_answer){.call = UPP_STR("a1"), .result = UPP_STR("\"red\"")}, 1, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    for (int i = 0; i < 2; i++) {
        TRY(told_is(p, s.run,
                    "2 {\"type\":\"acts\",\"\n2 {\"type\":\"observe\n3 {\"type\":\"acts\",\"\n3 {\"type\":\"observe\n",
                    err));
        TRY(place_restart(p, &n, err));
    }
    return log_has(p, &s,
                   "assistant: pick={}\n" TOLD("acts", "2") "tool: pick=\"red\"\n" TOLD(
                       "observes", "2") "assistant: picked\n" OF_B
                                        "assistant: pick={}\n" TOLD("acts", "3") "tool: pick=\"blue\"\n" TOLD(
                                            "observes", "3") "assistant: picked\n",
                   err);
}

/* covers: TP-60/3 */
TEST(plan_wave_adopts_system_events_in_the_order_of_the_plan)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," ON("a", CALL("a1", "pick")) "," ON(
              "b", CALL("b1", "pick")) "," AFTER("pick", TEXT("picked"))),
          .strategy = &weft_strategy_plan, .hooks.on_act = tells_when_acting, .hooks.on_observe = tells_when_observing,
          .act = tells_in_order);
}

/* More than a row takes. */
enum { MANY_EVENTS = 240 };

static WEFT_SUSPENDS int tells_much(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls,
                                    struct upp_err *err)
{
    (void)arg, (void)calls;
    for (uint32_t i = 0; i < MANY_EVENTS; i++)
        TRY(tell(run, "acts", 1000 * step + i, err));
    return 0;
}

static WEFT_SUSPENDS int tells_all(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf log = WB_BUF(1u << 20);
    struct wr_started s;
    size_t at = 0;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    TRY(rig_history(&p->rig, s.thread, &log, err));
    for (uint32_t i = 0; i < 2 * MANY_EVENTS; i++) {
        char n[32];
        (void)snprintf(n, sizeof n, "\"n\":%u}", i < MANY_EVENTS ? 2000 + i : 3000 + i - MANY_EVENTS);
        at = wb_str_find(wb_buf_str(&log), wb_cstr(n), at);
        FAIL_UNLESS(at != SIZE_MAX);
    }
    return 0;
}

TEST_WITH(plan_wave_adopts_many_system_events, .no_torture = "many allocations of one kind; others are tortured")
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," ON("a", CALL("a1", "add")) "," ON(
              "b", CALL("b1", "add")) "," AFTER("add", TEXT("added"))),
          .strategy = &weft_strategy_plan, .hooks.on_act = tells_much, .act = tells_all);
}

/* ---- Grants: what was revoked before a wave is not there in it, and what a step of it revokes not after it. */

static WEFT_SUSPENDS int revokes_after_planning(void *arg, struct weft_run *run, uint32_t step,
                                                const struct weft_step_result *result, struct upp_err *err)
{
    (void)arg, (void)result;
    return step == 1 ? tell(run, "tool.revoke", 1, err) : 0;
}

static WEFT_SUSPENDS int revoked_before(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return steps_are(p, s.run, "<1: 1:10+2> <2:a a1=2 2:10+2> <3:b b1=2 3:10+2> <4: 4:10+2> <5:d 5:10+2> ", err);
}

/* covers: TP-63/1 */
TEST(plan_wave_knows_what_was_revoked)
{
    PLAYS(.script = SCRIPT(PLAN(STEP("a", "") "," STEP("b", "")) "," ON("a", CALL("a1", "add")) "," ON(
              "b", CALL("b1", "add")) "," PLAN(STEP("d", "")) "," ON("d", TEXT("mended"))),
          .strategy = &weft_strategy_plan, .hooks.on_step_end = revokes_after_planning, .act = revoked_before);
}

static WEFT_SUSPENDS int revokes_in_a_wave(void *arg, struct weft_run *run, uint32_t step,
                                           const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)calls;
    return step == 2 ? tell(run, "tool.revoke", 2, err) : 0;
}

static WEFT_SUSPENDS int revoked_since(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return steps_are(p, s.run,
                     "<1: 1:10+2> <2:a a1! a1=1 2:20+4> <3:b b1! b1=1 3:20+4> <4:c c1=2 4:10+2> <5: 5:10+2> "
                     "<6:d 6:10+2> ",
                     err);
}

/* covers: TP-63/1 */
TEST(plan_wave_revokes_for_what_comes_after_it)
{
    PLAYS(.script = SCRIPT(
              PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\",\"b\"")) "," ON("a", CALL("a1", "add")) "," ON(
                  "b",
                  CALL("b1",
                       "add")) "," AFTER("add",
                                         TEXT("added")) "," ON("c",
                                                               CALL("c1",
                                                                    "add")) "," PLAN(STEP("d",
                                                                                          "")) "," ON("d",
                                                                                                      TEXT("mended"))),
          .strategy = &weft_strategy_plan, .hooks.on_act = revokes_in_a_wave, .act = revoked_since);
}

/* ---- Two wishes: the first in the order of the plan counts, though it came later. */

static WEFT_SUSPENDS int wishes_late(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                                     struct upp_err *err)
{
    (void)arg, (void)results;
    return step == 2 ? weft_run_handoff(run, &(struct weft_handoff_to){.agent = UPP_STR("picker")}, err) : 0;
}

static WEFT_SUSPENDS int first_wish_counts(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return log_has(p, &s,
                   "assistant: passed\nevent {\"type\":\"agent.handoff\",\"data\":{\"from\":\"main\",\"to\":\"picker\","
                   "\"reason\":\"program\"},\"source\":\"main\",\"targets\":[\"picker\"]}\nturn of picker\n"
                   "assistant: Mine.\n",
                   err);
}

/* covers: TP-62/3 */
TEST(plan_wave_with_two_handoffs_follows_the_first_of_the_plan)
{
    PLAYS(.script = SCRIPT(
              PLAN(STEP("a", "") "," STEP("b", "") "," STEP("c", "\"a\"")) "," ON("a", CALL("a1", "slow")) "," ON(
                  "b", CALL("b1", "pass_on")) "," AFTER("pass_on", TEXT("passed")) "," AFTER("slow",
                                                                                             TEXT("a is done"))),
          .helper = SCRIPT(REPLY(TEXT("I will."))), .picker = SCRIPT(REPLY(TEXT("Mine."))),
          .strategy = &weft_strategy_plan, .hooks.on_observe = wishes_late, .act = first_wish_counts);
}

/* ---- Cancelling ------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int canceled(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wr_started s;
    struct wl_live_run *live;
    uint8_t status;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(500, err));
    TRY(wl_list_live(p->inner, WB_UUID_NIL, 10, &a, &live, &n, err));
    FAIL_UNLESS(n == 3);
    TRY(wr_cancel(p->rig.engine, &rig_owner, s.run, err));
    TRY(place_await(p, s.run, &status, err));
    FAIL_UNLESS(status == WM_CANCELED);
    TRY(wl_list_live(p->inner, WB_UUID_NIL, 10, &a, &live, &n, err));
    FAIL_UNLESS(n == 0);
    return rig_well_formed(p->inner, &rig_owner, s.thread, err);
}

TEST(plan_wave_is_cancelled_with_its_run)
{
    PLAYS(.script = TWO_AND_ONE, .strategy = &weft_strategy_plan, .act = canceled);
}
