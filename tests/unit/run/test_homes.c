/* Engines on two loops that share one store, its agents and their models: each works on the threads whose home it is.
 */
#include <stdio.h>

#include "base/clock.h"
#include "base/defs.h"
#include "stores/memory/memory.h"
#include "stores/sqlite/sqlite.h"
#include "support/fibers.h"
#include "support/race_rig.h"
#include "support/test.h"

enum { LOOPS = 2, RUNS = 40, PATIENCE_MS = 60000 };

struct core {
    struct weft_loop *loop;
    struct wr_engine *engine;
    uint32_t home;
    struct rig *rig; /* agents and store of all cores */
    const char *agent;
    struct wr_started started[RUNS];
    size_t recovered;
};

struct scene_of_cores {
    struct weft_group *group;
    struct rig rig;
    struct core cores[LOOPS];
    bool sqlite;
};

static const struct wr_agent_def *find_agent(void *arg, struct upp_str name)
{
    const struct rig *rig = arg;
    for (size_t i = 0; i < rig->n; i++)
        if (wb_str_eq(rig->agents[i].name, name))
            return &rig->agents[i];
    return NULL;
}

static WEFT_SUSPENDS int opens(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    return wr_engine_open(c->loop,
                          UPP_OPTS(wr_engine_opts, .store = c->rig->store, .agent = find_agent, .arg = c->rig,
                                   .homes = LOOPS, .home = c->home),
                          &c->engine, err);
}

static WEFT_SUSPENDS int closes(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    (void)err;
    wr_engine_close(WB_TAKE(c->engine));
    return 0;
}

static WEFT_SUSPENDS int starts(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    struct rig mine = {.engine = c->engine};
    for (size_t i = 0; i < RUNS; i++) {
        TRY(rig_start(&mine, c->agent, "go", NULL, &c->started[i], err));
        FAIL_UNLESS(wr_home(c->started[i].thread, LOOPS) == c->home);
    }
    return 0;
}

static WEFT_SUSPENDS int recovers(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    return wr_recover(c->engine, &c->recovered, err);
}

static WEFT_SUSPENDS int finishes(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    uint64_t since = wb_mono_ms();
    while (wr_engine_counts(c->engine).working) {
        FAIL_UNLESS(wb_mono_ms() - since < PATIENCE_MS);
        TRY(weft_sleep_ms(1, err));
    }
    return 0;
}

/* Every run of this core has completed, with one answer; another engine refuses its thread. */
static WEFT_SUSPENDS int checks(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    for (size_t i = 0; i < RUNS; i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
        struct wr_run_info look;
        uint32_t home;
        TRY(wr_get(c->engine, &rig_owner, c->started[i].run, &a, &look, err));
        FAIL_UNLESS(look.run.status == WM_COMPLETED);
        TRY(rig_well_formed(c->rig->store, &rig_owner, c->started[i].thread, err));
        TRY(wr_home_of_run(c->rig->store, &rig_owner, c->started[i].run, LOOPS, &home, err));
        FAIL_UNLESS(home == c->home);
    }
    return 0;
}

static WEFT_SUSPENDS int is_refused(void *arg, struct upp_err *err)
{
    struct core *c = arg;
    struct rig wrong = {.engine = c->engine};
    struct wr_started run;
    struct upp_err why = {0};
    (void)err;
    FAIL_UNLESS(rig_start(&wrong, c->agent, "go", &c[c->home ? -1 : 1].started[0].thread, &run, &why) == -UPP_EBUG);
    return 0;
}

struct errand {
    struct core *core;
    weft_fn *fn;
};

static WEFT_SUSPENDS int do_errand(void *arg, struct upp_err *err)
{
    struct errand *e = arg;
    int result = 0;
    TRY(weft_loop_call(e->core->loop, "errand", e->fn, e->core, NULL, &result, err));
    return result;
}

static WEFT_SUSPENDS int all_do(struct scene_of_cores *s, weft_fn *fn, struct upp_err *err)
{
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    struct errand errands[LOOPS];
    int r = 0;
    for (size_t i = 0; i < LOOPS && r >= 0; i++) {
        errands[i] = (struct errand){&s->cores[i], fn};
        r = weft_scope_spawn(&scope, "errand", do_errand, &errands[i], NULL, err);
    }
    return r < 0 ? r : weft_scope_join(&scope, err);
}

static WEFT_SUSPENDS int works_and_recovers(struct scene_of_cores *s, struct upp_err *err)
{
    TRY(all_do(s, opens, err));
    TRY(all_do(s, starts, err));
    TRY(all_do(s, finishes, err));
    TRY(all_do(s, checks, err));
    TRY(all_do(s, is_refused, err));

    for (size_t i = 0; i < LOOPS; i++)
        s->cores[i].agent = "sleeper";
    TRY(all_do(s, starts, err));
    TRY(all_do(s, closes, err)); /* in the middle of every run */
    TRY(all_do(s, opens, err));
    TRY(all_do(s, recovers, err));
    FAIL_UNLESS(s->cores[0].recovered == RUNS && s->cores[1].recovered == RUNS);
    TRY(all_do(s, finishes, err));
    return all_do(s, checks, err);
}

static WEFT_SUSPENDS int with_a_store(void *arg, struct upp_err *err)
{
    struct scene_of_cores *s = arg;
    char path[600];
    (void)snprintf(path, sizeof path, "%s/weft.db", test_folder());
    TRY(s->sqlite ? ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = path), &s->rig.store, err)
                  : ws_memory_open(&s->rig.store, err));
    int r = rig_agent(
        &s->rig, "adder",
        SCRIPT(REPLY(TEXT("I add.") "," CALL("c1", "add") "," CALL("c2", "block")) "," REPLY(TEXT("done"))), err);
    if (r >= 0)
        r = rig_agent(&s->rig, "sleeper", SCRIPT(SLOW_REPLY(20, TEN_WORDS)), err);
    for (uint32_t i = 0; i < LOOPS; i++)
        s->cores[i] = (struct core){.loop = weft_group_loop(s->group, i), .home = i, .rig = &s->rig, .agent = "adder"};
    if (r >= 0)
        r = works_and_recovers(s, err);
    (void)all_do(s, closes, NULL);
    rig_done(&s->rig);
    s->rig.store->ops->close(s->rig.store);
    return r;
}

static int play(bool sqlite)
{
    static struct scene_of_cores s; /* too large for a stack */
    s = (struct scene_of_cores){.sqlite = sqlite};
    struct upp_err err = {0};
    int r = weft_group_open(UPP_OPTS(weft_group_opts, .loops = LOOPS), &s.group, &err);
    if (r >= 0)
        r = test_on_loop(with_a_store, &s, &err);
    weft_group_close(s.group);
    if (r < 0)
        test_note("%s", err.msg);
    return r;
}

TEST_WITH(homes_share_a_store_in_memory, .no_torture = "a failed call leaves fibers of another loop at work")
{
    CHECK_INT(play(false), 0);
}

TEST_WITH(homes_share_a_store_on_disk, .no_torture = "a failed call leaves fibers of another loop at work")
{
    CHECK_INT(play(true), 0);
}
