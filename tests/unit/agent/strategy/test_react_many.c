/* UAP-11.4 for a thousand runs at the same time: each hears its hooks in the documented order, and while a hook takes
 * its time nothing else of its run happens, though everything of the other runs does. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "base/hooks.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"
#include "support/fibers.h"
#include "support/rig.h"

enum { RUNS = 1000, HEARD = 160 };

/* What one run has heard. */
struct ears {
    char lines[HEARD];
    size_t n;
    const char *inside; /* the hook that has not returned; NULL: none */
    uint32_t stop_at;
};

struct many {
    struct ears ears[RUNS];
    size_t n, now, peak; /* runs; between their first and their last hook; at most */
    uint64_t waited;     /* the next hook waits so long, more or less */
    char wrong[200];     /* the first thing */
};

static struct ears *ears_of(struct weft_run *run)
{
    struct many *m = run->hooks->arg;
    const struct upp_str *text = &run->input->parts[0].text;
    int64_t i = -1;
    return wb_str_i64(*text, &i) && i >= 0 && (size_t)i < m->n ? &m->ears[i] : NULL;
}

/* Something of a run happens, and takes some time in which all others can go on. */
static WEFT_SUSPENDS int happens(struct weft_run *run, const char *what, uint32_t step, struct upp_err *err)
{
    struct many *m = run->hooks->arg;
    struct ears *e = ears_of(run);
    if (!e)
        return upp_fail(err, UPP_EBUG, "a hook of a run that nobody began");
    if (e->inside && !m->wrong[0])
        (void)snprintf(m->wrong, sizeof m->wrong, "run %zu: %s %u within %s", (size_t)(e - m->ears), what, step,
                       e->inside);
    int n = snprintf(e->lines + e->n, sizeof e->lines - e->n, "%s%u ", what, step);
    if (n < 0 || (size_t)n >= sizeof e->lines - e->n)
        return upp_fail(err, UPP_EBUG, "too much is heard: %s", e->lines);
    e->n += (size_t)n;
    e->inside = what;
    m->waited = m->waited * 6364136223846793005u + 1442695040888963407u;
    int r = weft_sleep_ms(1 + (m->waited >> 60), err);
    e->inside = NULL;
    return r;
}

static WEFT_SUSPENDS int on_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    struct many *m = arg;
    if (step == 1 && ++m->now > m->peak)
        m->peak = m->now;
    return happens(run, "start", step, err);
}

static WEFT_SUSPENDS int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str text,
                                   struct upp_err *err)
{
    (void)arg, (void)text;
    return happens(run, "reason", step, err);
}

static WEFT_SUSPENDS int on_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls,
                                struct upp_err *err)
{
    (void)arg, (void)calls;
    return happens(run, "act", step, err);
}

static WEFT_SUSPENDS int on_observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                                    struct upp_err *err)
{
    (void)arg, (void)results;
    return happens(run, "observe", step, err);
}

static WEFT_SUSPENDS int on_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                                struct upp_err *err)
{
    (void)arg, (void)result;
    return happens(run, "end", step, err);
}

static WEFT_SUSPENDS bool stop(void *arg, struct weft_run *run)
{
    struct ears *e = ears_of(run);
    (void)arg;
    return happens(run, "stop", run->state.step, NULL) < 0 || (e && run->state.step == e->stop_at);
}

static WEFT_SUSPENDS int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    struct many *m = arg;
    (void)turn;
    m->now--;
    return happens(run, "complete", run->state.step, err);
}

/* The tool is something of its run that happens, too. */
static WEFT_SUSPENDS int work(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct weft_run *run = weft_call_run(call);
    TRY(happens(run, "tool", run->state.step + 1, err));
    return upp_value_text(ret, UPP_STR("worked"), err);
}

static const struct wr_tool tools[] = {{.spec = {.name = UPP_STR_INIT("work"),
                                                 .description = UPP_STR_INIT("works"),
                                                 .parameters = UPP_STR_INIT("{\"type\":\"object\"}")},
                                        .delivery = WEFT_PURE,
                                        .base = {.run = work}}};

static const char script[] =
    "{\"replies\":[{\"parts\":[{\"text\":\"first I think\"}],\"delta_bytes\":5,\"delay_ms\":40},"
    "{\"parts\":[{\"text\":\"then I act\"},{\"tool_call\":{\"id\":\"c1\",\"name\":\"work\"}}],\"delay_ms\":7},"
    "{\"parts\":[{\"text\":\"I think again\"}],\"delay_ms\":3},"
    "{\"parts\":[{\"tool_call\":{\"id\":\"c2\",\"name\":\"work\"}}]},"
    "{\"parts\":[{\"text\":\"nothing is left\"}],\"delta_bytes\":3,\"delay_ms\":1},"
    "{\"parts\":[{\"text\":\"done\"}],\"delay_ms\":2}]}";

#define STEP_1 "start1 reason1 act1 tool1 observe1 end1 stop1 "
#define STEP_2 "start2 reason2 act2 tool2 observe2 end2 stop2 "

/* By the step after which it is enough; 0: the model says so, in a step without calls. */
static const char *const in_order[] = {STEP_1 STEP_2 "start3 reason3 end3 stop3 complete3 ", STEP_1 "complete1 ",
                                       STEP_1 STEP_2 "complete2 "};

static WEFT_SUSPENDS int all_of_them(struct many *m, struct rig *rig, struct wr_started *started, struct upp_err *err)
{
    WEFT_DEADLINE(600000);
    for (size_t i = 0; i < m->n; i++) {
        char text[24];
        m->ears[i].stop_at = i % WB_LEN(in_order);
        (void)snprintf(text, sizeof text, "%zu", i);
        TRY(rig_start(rig, "main", text, NULL, &started[i], err));
    }
    for (size_t i = 0; i < m->n; i++) {
        uint8_t status;
        TRY(wr_wait(rig->engine, &rig_owner, started[i].run, &status, err));
        if (status != WM_COMPLETED)
            return upp_fail(err, UPP_EBUG, "run %zu ended with status %u", i, status);
        if (strcmp(m->ears[i].lines, in_order[m->ears[i].stop_at]) != 0)
            return upp_fail(err, UPP_EBUG, "run %zu heard: %s", i, m->ears[i].lines);
    }
    if (m->wrong[0])
        return upp_fail(err, UPP_EBUG, "%s", m->wrong);
    FAIL_UNLESS(m->peak == m->n && m->now == 0); /* all of them at the same time */
    return 0;
}

static WEFT_SUSPENDS int in_a_rig(void *arg, struct upp_err *err)
{
    struct many *m = arg;
    const struct weft_hooks hooks = {.arg = m,
                                     .on_step_start = on_start,
                                     .on_reason = on_reason,
                                     .on_act = on_act,
                                     .on_observe = on_observe,
                                     .on_step_end = on_end,
                                     .on_complete = on_complete,
                                     .stop = stop};
    struct rig rig = {0};
    struct wr_started *all = wb_calloc(m->n, sizeof *all);
    int r = all ? ws_memory_open(&rig.store, err) : -UPP_ENOMEM;
    if (r >= 0)
        r = rig_agent(&rig, "main", script, err);
    if (r >= 0) {
        rig.agents[0].strategy = &weft_strategy_react;
        rig.agents[0].hooks = &hooks;
        rig.agents[0].tools = tools;
        rig.agents[0].n_tools = WB_LEN(tools);
        r = rig_open(&rig, weft_loop_current(), NULL, err);
    }
    if (r >= 0)
        r = all_of_them(m, &rig, all, err);
    rig_close(&rig);
    if (rig.store)
        rig.store->ops->close(rig.store);
    wb_free(all);
    return r;
}

static int react_with(size_t n, uint64_t seed)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err = {0};
    struct many *m = wb_calloc(1, sizeof *m);
    int r = m ? weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = seed), &w, &err) : -UPP_ENOMEM;
    if (r >= 0) {
        m->n = n;
        m->waited = seed;
        r = weft_loop_run(weft__sim_loop(w, 0), "many", in_a_rig, m, &err);
    }
    if (r < 0)
        test_note("%s", err.msg);
    wb_free(m);
    return r;
}

/* covers: UAP-11.4/2 */
TEST(react_three_runs_hear_their_hooks_in_order)
{
    CHECK_INT(react_with(3, 1), 0);
}

/* covers: UAP-11.4/2 */
TEST_WITH(react_1000_runs_hear_their_hooks_in_order, .no_torture = "three of them are tortured", .seconds = 120)
{
    for (uint64_t seed = 1; seed <= 3; seed++)
        CHECK_INT(react_with(RUNS, seed), 0);
}
