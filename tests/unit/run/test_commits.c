/* What a run writes, counted: commit points and no others, syncs as the durability says, hooks in their order. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "stores/sqlite/sqlite.h"
#include "support/fibers.h"
#include "support/rig.h"

#define SCRIPT(...)    "{\"replies\":[" __VA_ARGS__ "]}"
#define TEXT           "{\"parts\":[{\"text\":\"well\"}]}"
#define CALL(id, name) "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"" name "\"}}"
#define CALLS(...)     "{\"parts\":[" __VA_ARGS__ "]}"

struct counted {
    const char *script;
    uint8_t durability;
    const struct weft_hooks *hooks;
    uint64_t commits, syncs; /* of the whole run */
    uint8_t status;
};

static void store_closep(struct wl_store **s)
{
    if (*s)
        (*s)->ops->close(*s);
}

static WEFT_SUSPENDS int work(struct counted *c, struct rig *rig, struct upp_err *err)
{
    struct wr_started s;
    struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_thread other;
    int r = wl_thread_new(rig->store, &rig_owner, NULL, &a, &other, err); /* a new file has syncs of its own */
    wb_arena_done(&a);
    TRY(r);
    uint64_t commits = rig->store->count.commits, syncs = rig->store->count.syncs;
    TRY(rig_start(rig, "main", "hello", NULL, &s, err));
    TRY(wr_wait(rig->engine, &rig_owner, s.run, &c->status, err));
    c->commits = rig->store->count.commits - commits;
    c->syncs = rig->store->count.syncs - syncs;
    return rig_well_formed(rig->store, &rig_owner, s.thread, err);
}

static WEFT_SUSPENDS int on_sqlite(void *arg, struct upp_err *err)
{
    struct counted *c = arg;
    WB_CLEANUP(store_closep) struct wl_store *store = NULL;
    struct rig rig = {0};
    char path[512];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    /* Nothing but commits syncs: no moving of the log into the database, no flush of its own. */
    TRY(ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path, .flush_ms = 600000), &store, err));
    rig.store = store;
    int r = rig_agent(&rig, "main", c->script, err);
    if (r >= 0) {
        rig.agents[0].hooks = c->hooks;
        r = rig_open(&rig, weft_loop_current(), UPP_OPTS(wr_engine_opts, .durability = c->durability), err);
    }
    if (r >= 0)
        r = work(c, &rig, err);
    rig_close(&rig);
    return r;
}

static int count(struct counted *c)
{
    struct upp_err err = {0};
    int r = test_on_loop(on_sqlite, c, &err);
    if (r < 0)
        test_note("%s", err.msg);
    return r;
}

TEST_WITH(run_commits_of_an_answer, .no_torture = "the store's tests are tortured")
{
    struct counted c = {.script = SCRIPT(TEXT)};
    CHECK(count(&c) == 0);
    CHECK_INT(c.status, WM_COMPLETED);
    CHECK_INT(c.commits, 2); /* C1; C2 with C4 and the end */
    CHECK_INT(c.syncs, 2);
}

TEST_WITH(run_commits_of_a_round, .no_torture = "the store's tests are tortured")
{
    struct counted c = {.script = SCRIPT(CALLS(CALL("a", "note") "," CALL("b", "add")) "," TEXT)};
    CHECK(count(&c) == 0);
    CHECK_INT(c.commits, 5); /* C1; C2; C3 of the first; C4 with C3 of the last; C2 with C4 and the end */
    CHECK_INT(c.syncs, 5);
}

TEST_WITH(run_durability_decides_what_is_synced, .no_torture = "the store's tests are tortured")
{
    static const struct {
        uint8_t durability;
        const char *tool;
        uint64_t syncs;
    } cases[] = {
        {WM_SYNC, "add", 4},   /* C1, C2, C4 with the one C3, the end */
        {WM_GROUP, "add", 4},  /* the same promise */
        {WM_ASYNC, "add", 0},  /* on their way */
        {WM_ASYNC, "note", 1}, /* but the start of an at_most_once tool */
        {WM_EXIT, "add", 1},   /* the end */
        {WM_EXIT, "note", 2},  /* both */
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char script[256];
        (void)snprintf(script, sizeof script, SCRIPT(CALLS(CALL("a", "%s")) "," TEXT), cases[i].tool);
        struct counted c = {.script = script, .durability = cases[i].durability};
        test_note("durability %u, tool %s", cases[i].durability, cases[i].tool);
        CHECK(count(&c) == 0);
        CHECK_INT(c.status, WM_COMPLETED);
        CHECK_INT(c.commits, 4);
        CHECK_INT(c.syncs, cases[i].syncs);
    }
}

struct heard {
    char text[256];
    bool enough, refuses;
};

static int hear(struct heard *h, const char *what, uint32_t step)
{
    size_t n = strlen(h->text);
    (void)snprintf(h->text + n, sizeof h->text - n, "%s%u ", what, step);
    return 0;
}

static int started(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)run;
    (void)err;
    return hear(arg, "start", step);
}

static int acts(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    struct heard *h = arg;
    (void)run;
    (void)hear(h, "act", step);
    return h->refuses                                    ? upp_fail(err, UPP_EREFUSED, "the hook says no")
           : upp_part_next(calls, NULL, UPP_PARTS_CALLS) ? 0
                                                         : upp_fail(err, UPP_EBUG, "no calls");
}

static int observes(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                    struct upp_err *err)
{
    (void)run;
    (void)hear(arg, "observe", step);
    return upp_part_next(results, NULL, UPP_PARTS_RESULTS) ? 0 : upp_fail(err, UPP_EBUG, "no results");
}

static int step_ended(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                      struct upp_err *err)
{
    if (result->state != &run->state || !result->turn->n_messages)
        return upp_fail(err, UPP_EBUG, "the step has no turn");
    return hear(arg, "end", step);
}

static int completed(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    if (turn->n_cycles != run->state.cycles)
        return upp_fail(err, UPP_EBUG, "the turn has %zu cycles", turn->n_cycles);
    return hear(arg, "complete", run->state.step);
}

static int errors(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                  struct upp_err *err)
{
    (void)why, (void)ret, (void)err;
    return hear(arg, "error", run->state.step);
}

static bool stops(void *arg, struct weft_run *run)
{
    struct heard *h = arg;
    (void)hear(h, "stop", run->state.step);
    return h->enough;
}

static struct counted with_hooks(struct heard *h, struct weft_hooks *hooks)
{
    *hooks = (struct weft_hooks){.arg = h,
                                 .on_step_start = started,
                                 .on_act = acts,
                                 .on_observe = observes,
                                 .on_step_end = step_ended,
                                 .on_complete = completed,
                                 .on_error = errors,
                                 .stop = stops};
    return (struct counted){.script = SCRIPT(CALLS(CALL("a", "add")) "," CALLS(CALL("b", "add")) "," TEXT),
                            .hooks = hooks};
}

TEST_WITH(run_hooks_come_in_order, .no_torture = "the store's tests are tortured")
{
    struct heard h = {0};
    struct weft_hooks hooks;
    struct counted c = with_hooks(&h, &hooks);
    CHECK(count(&c) == 0);
    CHECK_STR(wb_cstr(h.text), UPP_STR("start1 act1 observe1 end1 stop1 start2 act2 observe2 end2 stop2 start3 end3 "
                                       "stop3 complete3 "));
}

TEST_WITH(run_hook_says_that_it_is_enough, .no_torture = "the store's tests are tortured")
{
    struct heard h = {.enough = true};
    struct weft_hooks hooks;
    struct counted c = with_hooks(&h, &hooks);
    CHECK(count(&c) == 0);
    CHECK_INT(c.status, WM_COMPLETED);
    CHECK_STR(wb_cstr(h.text), UPP_STR("start1 act1 observe1 end1 stop1 complete1 "));
}

TEST_WITH(run_hook_that_fails_fails_the_run, .no_torture = "the store's tests are tortured")
{
    struct heard h = {.refuses = true};
    struct weft_hooks hooks;
    struct counted c = with_hooks(&h, &hooks);
    CHECK(count(&c) == 0);
    CHECK_INT(c.status, WM_FAILED);
    CHECK_STR(wb_cstr(h.text), UPP_STR("start1 act1 error0 "));
}
