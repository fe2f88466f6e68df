/* run/step.c — the end of a step (C4), and a run that comes to wait. */
#include "base/clock.h"
#include "base/crash.h"
#include "run/internal.h"
#include "run/strategy.h"

/* A branch keeps its journal. Of others what belongs to no one step stays: branches that are not adopted yet. */
static void journal_close(struct wr_run *run)
{
    size_t kept     = 0;
    run->prompted.n = run->approved.n = run->pending.n = 0;
    if (run->branch)
        return;
    for (size_t i = 0; i < run->calls.n; i++) {
        struct wr_call *c = run->calls.p[i];
        if (wr_is_open_branch(c))
            run->calls.p[kept++] = c;
    }
    run->said.n  = 0;
    run->calls.n = kept;
}

/* A step in which nothing was said has a beginning all the same. */
static int step_open(struct wr_run *run, struct upp_err *err)
{
    if (run->step_open || run->draft.open)
        return 0;
    struct wr_open *o;
    int             r = wr_open_new(run->engine, &run->memory, &o, err);
    if (r < 0)
        return r;
    wm_tape_mark(&o->tape, WM_MARK_STEP, 0);
    r = wb_buf_check(&o->tape.out, err);
    if (r < 0) {
        wr_open_free(run->engine, o);
        return r;
    }
    run->draft.open = o;
    run->step_open  = true;
    return 0;
}

int wr_step_close(struct wr_run *run, struct upp_err *err)
{
    int opened = step_open(run, err);
    if (opened < 0)
        return opened;
    struct wm_event *end = wr_draft_record(run, WM_STEP_END, err);
    if (!end)
        return -UPP_ENOMEM;
    end->usage = run->step_usage;
    if (!wr_draft_record(run, WM_CHECKPOINT, err)) { /* its id follows from its place */
        run->draft.records.n--;
        return -UPP_ENOMEM;
    }
    wr_observe(run);
    run->pub.state.step++;
    if (!run->branch) /* it becomes a step of its run, and counts there */
        wr_used(run, &(struct upp_usage){0}, 1);
    run->below_before.steps = run->below.steps;
    run->draft.state        = true;
    run->step_open = run->step_dirty = run->step_told = false;
    run->n_adopted                                    = 0;
    run->step_usage                                   = (struct upp_usage){0};
    run->step_from                                    = wr_mark_now(run);
    journal_close(run);
    return 0;
}

/* Also after the last step: whoever counts, counts them all. */
int wr_enough(struct wr_run *run, bool goes_on, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    int                      r = h && h->stop ? wr_count_tokens(run, err) : 0;
    if (r >= 0 && h && h->stop)
        r = h->stop(h->arg, &run->pub);
    if (r < 0)
        return r;
    bool enough  = r || run->passing.to.n > 0; /* another agent goes on */
    int  used_up = wr_budget(run, goes_on && !enough, err);
    return used_up < 0 ? used_up : enough || used_up;
}

const struct wr_watch *wr_run_watch(struct weft_run *pub)
{
    const struct wr_outcome *o = wr_of(pub)->tree->outcome;
    return o ? o->watch : NULL;
}

static WEFT_SUSPENDS int tell_watch(struct wr_run *run, struct upp_err *err)
{
    const struct wr_watch *w = run->row.depth ? NULL : wr_run_watch(&run->pub);
    return w && w->stepped ? w->stepped(w->arg, &run->pub, err) : 0;
}

/* Is it known already that there is to be another step? The hook is asked when this one is committed. */
static bool goes_on(const struct wr_run *run)
{
    return !run->done && !run->passing.to.n && !(run->pub.hooks && run->pub.hooks->stop);
}

void wr_done(struct weft_run *pub)
{
    wr_of(pub)->done = true;
}

int weft_run_step_end(struct weft_run *pub, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    int            r   = wr_mend(run, err);
    if (r >= 0)
        r = wr_step_hook(run, err);
    if (r >= 0)
        r = wr_step_close(run, err);
    if (r >= 0) /* in the checkpoint stands also that it was the last one */
        r = wr_budget(run, goes_on(run), err);
    if (r < 0)
        return r;
    wb_crashpoint("c4.before");
    r = wr_flush(run, NULL, err);
    wb_crashpoint("c4.after");
    if (r >= 0 && weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    if (r >= 0)
        r = tell_watch(run, err);
    return r < 0 ? r : wr_enough(run, !run->done, err);
}

int weft_run_reasoned(struct weft_run *pub, struct upp_str text, struct upp_err *err)
{
    const struct weft_hooks *h = pub->hooks;
    return h && h->on_reason ? h->on_reason(h->arg, pub, pub->state.step + 1, text, err) : 0;
}

void wr_row_claim(struct wr_run *run)
{
    wr_lane_take(run->tree); /* a cancel that is being written is over then */
    run->changing = true;
    wr_lane_leave(run->tree);
}

/* ---- Waiting ------------------------------------------------------------------------------------------- */

static int64_t expires(const struct wr_engine *e)
{
    uint64_t ms = e->opts.wait_ms;
    return ms == UINT64_MAX ? 0 : wb_wall_ms() + (int64_t)WB_MIN(ms, (uint64_t)INT64_MAX / 4);
}

int wr_wait_for(struct wr_run *run, struct upp_err *err)
{
    wr_row_claim(run);
    if (run->tree->run && run->tree->run->row.cancel) /* it came first, and nobody would end a run that waits */
        return run->changing = false, upp_fail(err, UPP_ECANCELED, "cancelled");
    struct wm_pending *copy = wb_new_n(&run->memory, struct wm_pending, run->pending.n ? run->pending.n : 1);
    struct wm_event   *ev   = copy ? wr_draft_record(run, WM_RUN, err) : NULL;
    if (!ev)
        return run->changing = false, upp_fail(err, UPP_ENOMEM, "no memory for a run that waits");
    for (size_t i = 0; i < run->pending.n; i++)
        copy[i] = run->pending.p[i];
    ev->status              = WM_WAITING;
    ev->pending             = copy;
    ev->n_pending           = run->pending.n;
    run->draft.state        = true;
    struct wm_run row       = run->row;
    row.status              = WM_WAITING;
    row.epoch               = run->tree->epoch;
    row.expires_ms          = run->row.depth ? 0 : expires(run->engine);
    struct wl_thread thread = {.id = row.thread, .updated_ms = wr_now(run)};
    struct wl_change set[]  = {{.kind = WL_SET_RUN, .run = &row}, {.kind = WL_TOUCH_THREAD, .thread = &thread}};
    wb_crashpoint("wait.before");
    int r = wr_flush(run, &(struct wr_more){set, row.depth ? 1 : 2}, err);
    wb_crashpoint("wait.after");
    run->changing = false;
    if (r < 0)
        return r;
    run->row = row;
    run->row.version++;
    wr_look_at(run->engine, row.expires_ms);
    return upp_fail(err, UPP_EWAIT, "%zu calls wait for an answer", run->pending.n);
}
