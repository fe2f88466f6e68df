/* A run with two agents below it and three tools, cancelled at its 1st, 2nd, 3rd ... suspension until it runs through
 * untouched; on the simulated loop and on libuv. Whatever the moment: the run and all below it have ended, every call
 * has one result, what the parts used is what the whole used, and no fiber, process or descriptor is left.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/defs.h"
#include "fiber/fiber.h"
#include "fiber/loop.h"
#include "run/tree.h"
#include "support/family.h"

/* Three tools: one that sleeps, one that runs a program, one on a worker. */

static int in_tools; /* that have begun and not returned */

static WEFT_SUSPENDS int naps(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    in_tools++;
    int r = weft_sleep_ms(2, err);
    in_tools--;
    return r < 0 ? r : upp_value_text(ret, UPP_STR("napped"), err);
}

static WEFT_SUSPENDS int run_program(struct upp_err *err)
{
    char *const argv[] = {(char[]){"true"}, NULL};
    struct upp_spawn what = {.file = "true", .argv = argv, .own_session = true};
    UPP_CLEANUP(weft_process_closep) struct weft_process *p = NULL;
    int status;
    what.in = what.out = what.error = -1;
    TRY(weft_process_open(&what, &p, err));
    return weft_process_wait(p, &status, err);
}

static WEFT_SUSPENDS int runs(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    in_tools++;
    int r = run_program(err);
    in_tools--;
    return r < 0 ? r : upp_value_text(ret, UPP_STR("ran"), err);
}

static int works(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("worked"), err);
}

static const struct wr_tool tools[] = {
    {.spec = SPEC_OF("nap"), .base = {.run = naps}},
    {.spec = SPEC_OF("run"), .delivery = WEFT_IDEMPOTENT, .base = {.run = runs}},
    {.spec = SPEC_OF("work"), .delivery = WEFT_PURE, .base = {.run = works, .blocking = true}},
    ASKS("ask_a", "a"),
    ASKS("ask_b", "b"),
};

static const struct family_member members[] = {
    {"main",
     SAYS(SAY(1, 2, SAY_CALL("c1", "ask_a", "{}"), SAY_CALL("c2", "nap", "{}"), SAY_CALL("c3", "ask_b", "{}")),
          SAY(3, 4, SAY_TEXT("done"))),
     FAMILY_TOOLS(tools)},
    {"a", SAYS(SAY(10, 20, SAY_CALL("a1", "run", "{}"), SAY_CALL("a2", "work", "{}")), SAY(30, 40, SAY_TEXT("a"))),
     FAMILY_TOOLS(tools)},
    {"b",
     SAYS("{\"parts\":[" SAY_TEXT("let me see") "," SAY_CALL("b1", "nap",
                                                             "{}") "],\"delta_bytes\":4,\"delay_ms\":1,\"usage\":{"
                                                                   "\"input_tokens\":100,\"output_tokens\":200}}",
          SAY(300, 400, SAY_TEXT("b"))),
     FAMILY_TOOLS(tools)}};

/* Who takes part, and what all of it uses when nobody cancels it. */
struct play {
    const struct family_member *members;
    size_t n;
    struct upp_usage used;
};
static const struct play asking = {members, WB_LEN(members), {.input = 444, .output = 666}};

struct plan {
    const struct play *play;
    unsigned at, seen;
    bool fiber; /* the run's fiber is cancelled, without a request in the log */
    struct family *f;
    bool now, over, canceled;
    struct weft_cond moment;
};

static void on_suspend(void *arg, struct weft_fiber *fiber)
{
    struct plan *plan = arg;
    struct wr_tree *t = plan->f->started.tree;
    (void)fiber;
    if (++plan->seen != plan->at)
        return;
    if (plan->fiber && t && t->fiber)
        weft_fiber_cancel(t->fiber);
    plan->now = true;
    weft_cond_signal(&plan->moment);
}

static WEFT_SUSPENDS int canceller(void *arg, struct upp_err *err)
{
    struct plan *plan = arg;
    while (!plan->now && !plan->over)
        TRY(weft_cond_wait(&plan->moment, err));
    if (plan->fiber || !plan->now)
        return 0;
    int r = wr_cancel(plan->f->rig.engine, &rig_owner, plan->f->started.run, err);
    return r == -UPP_EREFUSED || r == -UPP_ENOTFOUND ? 0 : r; /* it had ended */
}

static WEFT_SUSPENDS int no_child_lives(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 24);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wm_run row;
    TRY(wl_get_run(f->store, &rig_owner, f->started.run, &a, &row, err));
    FAIL_UNLESS(row.status == WM_COMPLETED || row.status == WM_CANCELED);
    const struct upp_usage *used = &((struct plan *)f->arg)->play->used;
    FAIL_UNLESS(row.status != WM_COMPLETED || (row.usage.input == used->input && row.usage.output == used->output));
    TRY(wr_trace(f->rig.engine, &rig_owner, f->started.run, &b, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&b), UPP_STR("\"running\""), 0) == SIZE_MAX);
    TRY(rig_well_formed(f->store, &rig_owner, f->started.thread, err));
    return checker_check(&f->checker, f->store, true, err);
}

/* A fiber of that name is left. */
static bool lives(const char *name)
{
    const struct wb_link *all = &weft_loop_current()->fibers;
    for (struct wb_link *l = all->next; l != all; l = l->next)
        if (strcmp(WB_OUTER(l, struct weft_fiber, all)->name, name) == 0)
            return true;
    return false;
}

static WEFT_SUSPENDS int cancel_it(struct family *f, struct upp_err *err)
{
    struct plan *plan = f->arg;
    UPP_CLEANUP(weft_scope_close) struct weft_scope s = {0};
    TRY(weft_scope_spawn(&s, "canceller", canceller, plan, NULL, err));
    TRY(family_turn(f, err));
    weft__loop_on_suspend(weft_loop_current(), NULL, NULL);
    plan->over = true;
    weft_cond_signal(&plan->moment);
    TRY(weft_scope_join(&s, err));
    for (int i = 0; i < 100 && lives("run"); i++) /* its fiber is about to return */
        TRY(weft_yield(err));
    FAIL_UNLESS(!lives("run") && !lives("tools"));
    FAIL_UNLESS(in_tools == 0);
    FAIL_UNLESS(f->result == 0 || f->result == -UPP_ECANCELED);
    const struct checker_start start = {
        .run = f->started.run, .thread = f->started.thread, .input = UPP_STR("go"), .durable = true};
    TRY(checker_acked_start(&f->checker, &start));
    return f->store ? no_child_lives(f, err) : 0;
}

static int once(struct plan *plan, uint64_t seed, bool real, bool no_store, struct upp_err *err)
{
    static struct family f;
    f = (struct family){.members = plan->play->members,
                        .n = plan->play->n,
                        .act = cancel_it,
                        .arg = plan,
                        .on_suspend = on_suspend,
                        .seed = seed,
                        .commit_ms = 1,
                        .real = real,
                        .no_store = no_store};
    plan->f = &f;
    plan->seen = 0;
    plan->now = plan->over = false;
    plan->moment = (struct weft_cond){0};
    in_tools = 0;
    int r = family_play(&f, err);
    if (r >= 0 && f.turn && f.result == 0 && f.turn->usage.input != plan->play->used.input)
        r = upp_fail(err, UPP_EBUG, "the turn used %llu tokens", (unsigned long long)f.turn->usage.input);
    plan->canceled = f.result == -UPP_ECANCELED;
    family_done(&f);
    return r;
}

static unsigned sweep(const struct play *play, uint64_t seed, bool fiber, bool no_store)
{
    struct upp_err err = {0};
    unsigned points = 0, cut_short = 0;
    for (struct plan plan = {.play = play, .at = 1, .fiber = fiber};; plan.at++) {
        int r = once(&plan, seed, false, no_store, &err);
        if (r < 0 || test_failed()) {
            test_note("seed %llu, cancelled at suspension %u: %s", (unsigned long long)seed, plan.at, err.msg);
            return 0;
        }
        if (plan.seen < plan.at)
            break;
        points++;
        cut_short += plan.canceled;
    }
    printf("# cancelled at %u suspensions, %u before its end\n", points, cut_short);
    return cut_short;
}

/* covers: UAP-16.1/6 */
TEST_WITH(children_sweep_by_request, .no_torture = "a sweep of its own; the program is tortured below", .seconds = 300)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        CHECK(sweep(&asking, seed, false, false) > 30);
}

/* covers: UAP-16.1/6 */
TEST_WITH(children_sweep_by_fiber, .no_torture = "a sweep of its own; the program is tortured below", .seconds = 300)
{
    for (uint64_t seed = 1; seed <= 5; seed++)
        CHECK(sweep(&asking, seed, true, false) > 30);
}

TEST_WITH(children_sweep_without_a_store, .no_torture = "a sweep of its own; the program is tortured below",
          .seconds = 300)
{
    CHECK(sweep(&asking, 1, false, true) > 15);
    CHECK(sweep(&asking, 2, true, true) > 15);
}

#define WHEN(what, ...) "{\"when\":{" what "}," __VA_ARGS__ ",\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}"
#define STEP(id)                                                                                                       \
    WHEN("\"contains\":\"step '" id "'\"",                                                                             \
         "\"parts\":[" SAY_CALL(id "1", "ask_a", "{}") "," SAY_CALL(id "2", "nap", "{}") "]")

/* Two steps of a plan at the same time, of which each asks an agent and has a tool of its own. */
static const struct family_member planning[] = {
    {"main",
     SAYS(WHEN("\"contains\":\"Make a\"", "\"data\":{\"steps\":[{\"id\":\"x\",\"description\":\"x\"},{\"id\":\"y\","
                                          "\"description\":\"y\"}]}"),
          STEP("x"), STEP("y"), WHEN("\"tool_result\":\"ask_a\"", "\"parts\":[" SAY_TEXT("so") "]")),
     FAMILY_TOOLS(tools), .strategy = &weft_strategy_plan},
    {"a", SAYS(SAY(10, 20, SAY_CALL("a1", "run", "{}"), SAY_CALL("a2", "work", "{}")), SAY(30, 40, SAY_TEXT("a"))),
     FAMILY_TOOLS(tools)}};
static const struct play waves = {planning, WB_LEN(planning), {.input = 85, .output = 130}};

/* covers: UAP-16.1/6 */
TEST_WITH(children_sweep_of_a_wave, .no_torture = "a sweep of its own; waves are tortured in plan_wave_*",
          .seconds = 300)
{
    CHECK(sweep(&waves, 1, false, false) > 30);
    CHECK(sweep(&waves, 2, true, false) > 30);
    CHECK(sweep(&waves, 3, true, true) > 15);
}

/* For real, at a sample of moments. */
TEST_WITH(children_sweep_on_libuv, .no_torture = "a sweep of its own; the program is tortured below", .seconds = 120)
{
    struct upp_err err = {0};
    struct plan never = {.play = &asking, .at = 0};
    CHECK_INT(once(&never, 0, true, false, &err), 0); /* what libuv opens once for the process */
    size_t before = test_descriptors();
    for (struct plan plan = {.play = &asking, .at = 1}; plan.at < never.seen + 7; plan.at += 7) {
        plan.fiber = plan.at % 2;
        int r = once(&plan, 0, true, false, &err);
        if (r < 0)
            test_note("cancelled at suspension %u: %s", plan.at, err.msg);
        CHECK_INT(r, 0);
        CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
        CHECK_INT(test_descriptors(), before);
    }
    CHECK(never.seen > 30);
}

TEST(children_sweep_program)
{
    struct upp_err err = {0};
    struct plan never = {.play = &asking, .at = 0};
    CHECK_INT(once(&never, 5, false, false, &err), 0);
}
