#include "support/race_rig.h"

#include "base/defs.h"
#include "support/sim/sim.h"
#include "stores/memory/memory.h"

WEFT_SUSPENDS int place_open(struct place *p, struct upp_err *err)
{
    p->rig = (struct rig){.store = p->no_store ? NULL : &p->lazy.store};
    TRY(rig_agent(&p->rig, p->name ? p->name : "main", p->script, err));
    TRY(rig_agent(&p->rig, "helper", p->helper, err));
    TRY(rig_agent(&p->rig, "picker", p->picker, err));
    p->rig.agents[0].hooks = &p->hooks;
    p->rig.agents[0].middleware = p->middleware;
    if (p->strategy)
        p->rig.agents[0].strategy = p->strategy;
    return rig_open(&p->rig, weft_loop_current(),
                    UPP_OPTS(wr_engine_opts, .max_runs = p->max_runs, .tool_wait_ms = p->wait_ms,
                             .approval_wait_ms = p->approval_ms ? p->approval_ms : p->wait_ms, .is_alive = p->is_alive),
                    err);
}

WEFT_SUSPENDS int place_restart(struct place *p, size_t *recovered, struct upp_err *err)
{
    rig_close(&p->rig);
    TRY(place_open(p, err));
    return wr_recover(p->rig.engine, recovered, err);
}

static WEFT_SUSPENDS int place_main(void *arg, struct upp_err *err)
{
    struct place *p = arg;
    if (!p->no_store)
        TRY(ws_memory_open(&p->inner, err));
    lazy_open(&p->lazy, p->inner);
    int r = place_open(p, err);
    if (r >= 0)
        r = p->act(p, err);
    rig_close(&p->rig);
    if (p->inner)
        p->inner->ops->close(p->inner);
    return r;
}

int place_play(struct place *p)
{
    UPP_CLEANUP(weft__sim_closep) struct weft__sim *w = NULL;
    struct upp_err err = {0};
    int r = weft__sim_open(UPP_OPTS(weft__sim_opts, .seed = 7), &w, &err);
    if (r >= 0)
        r = weft_loop_run(weft__sim_loop(w, 0), "place", place_main, p, &err);
    if (r < 0)
        test_note("%s", err.msg);
    return r;
}

WEFT_SUSPENDS int place_start(struct place *p, struct wr_started *ret, struct upp_err *err)
{
    return rig_start(&p->rig, p->name ? p->name : "main", "hello", NULL, ret, err);
}

WEFT_SUSPENDS int place_start_on(struct place *p, struct wb_uuid thread, uint8_t on_busy, struct wr_started *ret,
                                 struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("again")};
    struct upp_message input = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct wr_start what = {
        .owner = rig_owner, .thread = thread, .agent = UPP_STR("main"), .input = &input, .on_busy = on_busy};
    return wr_start(p->rig.engine, &what, ret, err);
}

WEFT_SUSPENDS int place_await(struct place *p, struct wb_uuid run, uint8_t *status, struct upp_err *err)
{
    WEFT_DEADLINE(600000);
    return wr_wait(p->rig.engine, &rig_owner, run, status, err);
}

WEFT_SUSPENDS int place_stored(struct place *p, struct wb_uuid run, struct wm_run *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    int r = wl_get_run(p->inner, &rig_owner, run, &a, ret, err);
    ret->agent = ret->call = ret->options = ret->error = (struct upp_str){0};
    return r;
}

WEFT_SUSPENDS int place_next(struct place *p, struct wr_reader *rd, bool to_wait, uint64_t *last, struct wm_event *ev,
                             struct upp_err *err)
{
    WEFT_DEADLINE(60000);
    int r = wr_reader_next(rd, to_wait, ev, err);
    if (r <= 0)
        return r;
    p->gap |= ev->number != *last + 1;
    *last = ev->number;
    return r;
}

WEFT_SUSPENDS int place_read(struct place *p, struct wb_uuid run, struct tally *ret, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wm_event ev;
    int r = 0;
    *ret = (struct tally){0};
    TRY(wr_reader_open(p->rig.engine, &rig_owner, run, NULL, &rd, err));
    while ((r = place_next(p, rd, true, &ret->events, &ev, err)) > 0) {
        ret->voids += ev.kind == WM_VOID;
        ret->results += ev.kind == WM_TOOL_ENDED;
        if (ev.kind == WM_RUN && !ev.from->depth) {
            ret->status = ev.run.status;
            ret->ends += wm_status_ended(ev.run.status);
        }
    }
    return r;
}
