#include "support/round.h"

#include "stores/memory/memory.h"

static int open_rig(struct round *round, struct upp_err *err)
{
    round->rig = (struct rig){.store = round->store};
    TRY(rig_agent(&round->rig, "main", round->script, err));
    struct wr_agent_def *def = &round->rig.agents[0];
    def->tools = round->tools;
    def->n_tools = round->n_tools;
    def->tool_strategy = round->hooks;
    return rig_open(&round->rig, weft_loop_current(), NULL, err);
}

static WEFT_SUSPENDS int play_fiber(void *arg, struct upp_err *err)
{
    struct round *round = arg;
    if (!round->no_store)
        TRY(ws_memory_open(&round->store, err));
    int r = open_rig(round, err);
    if (r >= 0)
        r = round->act ? round->act(round, err) : round_turn(round, err);
    if (round->rig.engine)
        rig_close(&round->rig);
    rig_done(&round->rig);
    if (round->store)
        round->store->ops->close(round->store);
    return r;
}

int round_play(struct round *round, struct upp_err *err)
{
    if (round->real)
        return test_on_loop(play_fiber, round, err);
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    TRY(weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = round->seed ? round->seed : 7), &w, err));
    return weft_loop_run(weft__sim_loop(w, 0), "test", play_fiber, round, err);
}

void round_done(struct round *round)
{
    upp_turn_free(round->turn);
    round->turn = NULL;
}

int round_turn(struct round *round, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("go")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {.owner = rig_owner, .agent = UPP_STR("main"), .input = &input, .wants_turn = true};
    struct wr_started s;
    TRY(wr_start(round->rig.engine, &what, &s, err));
    round->run = s.run;
    round->thread = s.thread;
    round->result = wr_join(s.tree, &round->turn, &round->why);
    wr_tree_release(s.tree);
    return 0;
}

int round_wait(struct round *round, uint8_t *status, struct upp_err *err)
{
    return wr_wait(round->rig.engine, &rig_owner, round->run, status, err);
}

int round_start(struct round *round, uint8_t *status, struct upp_err *err)
{
    struct wr_started s;
    TRY(rig_start(&round->rig, "main", "go", NULL, &s, err));
    round->run = s.run;
    round->thread = s.thread;
    return round_wait(round, status, err);
}

int round_restart(struct round *round, struct upp_err *err)
{
    size_t n;
    rig_close(&round->rig);
    TRY(open_rig(round, err));
    return wr_recover(round->rig.engine, &n, err);
}

int round_pending(struct round *round, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_run_info look;
    TRY(wr_get(round->rig.engine, &rig_owner, round->run, &a, &look, err));
    for (size_t i = 0; i < look.n_pending; i++)
        wb_buf_addf(out, "%s%s:%.*s%.*s", i ? " " : "", look.pending[i].approval ? "approve" : "answer",
                    UPP_FMT(look.pending[i].call), UPP_FMT(look.pending[i].arguments));
    return wb_buf_check(out, err);
}

int round_story(struct round *round, struct wb_buf *out, struct upp_err *err)
{
    TRY(rig_read(&round->rig, round->run, out, err));
    TRY(rig_well_formed(round->store, &rig_owner, round->thread, err));
    return rig_history(&round->rig, round->thread, out, err);
}
