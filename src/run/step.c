/* run/step.c — the end of a step (C4), the beginning of a wait, and the end of the strategy. */
#include <upp/provider.h>

#include "base/clock.h"
#include "base/crash.h"
#include "model/upp_json.h"
#include "run/engine_state.h"
#include "run/journal.h"
#include "run/middleware.h"
#include "run/ask/open_message.h"
#include "run/step.h"
#include "run/strategy.h"
#include "run/run.h"

/* A branch keeps its journal. Other runs keep only branches that are not adopted yet: they belong to no single step. */
static void journal_close(struct wr_run *run)
{
    size_t n_open = 0;
    run->journal.prompted.n = run->journal.pending.n = 0;
    if (run->branch)
        return;
    for (size_t i = 0; i < run->journal.calls.n; i++) {
        struct wr_call *c = run->journal.calls.p[i];
        if (wr_is_open_branch(c))
            run->journal.calls.p[n_open++] = c;
    }
    run->journal.replies.n = 0;
    run->journal.calls.n = n_open;
}

/* A step without messages has a start too. */
static int step_open(struct wr_run *run, struct upp_err *err)
{
    if (run->step.open || run->draft.open)
        return 0;
    struct wr_open *o;
    int r = wr_open_new(run->engine, &run->memory, &o, err);
    if (r < 0)
        return r;
    wm_tape_mark(&o->tape, WM_MARK_STEP, 0);
    r = wb_buf_check(&o->tape.out, err);
    if (r < 0) {
        wr_open_free(run->engine, o);
        return r;
    }
    run->draft.open = o;
    run->step.open = true;
    return 0;
}

/* Adds the records and the state of a step's end to the draft. */
static int step_close(struct wr_run *run, struct upp_err *err)
{
    int opened = step_open(run, err);
    if (opened < 0)
        return opened;
    struct wm_event *end = wr_draft_record(run, WM_STEP_END, err);
    if (!end)
        return wr_draft_failed(run, err);
    end->step_end.usage = run->step.usage;
    if (!wr_draft_record(run, WM_CHECKPOINT, err)) { /* its id follows from its position */
        int r = wr_draft_failed(run, err);
        run->draft.records.n--;
        return r;
    }
    wr_observe(run);
    run->pub.state.step++;
    if (!run->branch) /* a branch becomes a step of its run, and counts there */
        wr_usage_add_above(run, &(struct upp_usage){0}, 1);
    run->budget.below_before.steps = run->budget.below.steps;
    run->draft.state = true;
    run->step.open = run->step.dirty = run->step.start_reported = false;
    run->step.n_adopted = 0;
    run->step.usage = (struct upp_usage){0};
    run->step.from = wr_mark_now(run);
    journal_close(run);
    return 0;
}

/* Also called after the last step, so that a hook that counts steps sees all of them. */
int wr_should_stop(struct wr_run *run, bool goes_on, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    int r = h && h->stop ? wr_count_tokens(run, err) : 0;
    if (r >= 0 && h && h->stop)
        r = h->stop(h->arg, &run->pub);
    if (r < 0)
        return r;
    bool enough = r || run->handoff.passing.to.n > 0; /* another agent continues */
    int used_up = wr_budget(run, goes_on && !enough, err);
    return used_up < 0 ? used_up : enough || used_up;
}

const struct wr_watch *wr_run_watch(struct weft_run *pub)
{
    const struct wr_outcome *o = wr_of(pub)->tree->outcome;
    return o ? o->watch : NULL;
}

static WEFT_SUSPENDS int call_watch(struct wr_run *run, struct upp_err *err)
{
    const struct wr_watch *w = run->row.depth ? NULL : wr_run_watch(&run->pub);
    return w && w->stepped ? w->stepped(w->arg, &run->pub, err) : 0;
}

/* Is it certain that another step follows? The hook is asked when this one is committed. */
static bool goes_on(const struct wr_run *run)
{
    return !run->budget.done && !run->handoff.passing.to.n && !(run->pub.hooks && run->pub.hooks->stop);
}

void wr_done(struct weft_run *pub)
{
    wr_of(pub)->budget.done = true;
}

/* on_step_end. */
static WEFT_SUSPENDS int step_hook(struct wr_run *run, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    wr_observe(run); /* tools before the end of the step */
    if (!h || !h->on_step_end)
        return 0;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    int r = wr_count_tokens(run, err);
    if (r >= 0)
        r = wr_turn(run, run->step.from, false, &turn, err);
    if (r < 0)
        return r;
    struct weft_step_result result = {.turn = turn, .state = &run->pub.state};
    return h->on_step_end(h->arg, &run->pub, run->pub.state.step + 1, &result, err);
}

int weft_run_step_end(struct weft_run *pub, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    int r = wr_repair_continuing(run, err);
    if (r >= 0)
        r = step_hook(run, err);
    if (r >= 0)
        r = step_close(run, err);
    if (r >= 0) /* the checkpoint also records that it was the last one */
        r = wr_budget(run, goes_on(run), err);
    if (r < 0)
        return r;
    wb_crashpoint("c4.before");
    r = wr_flush(run, NULL, err);
    wb_crashpoint("c4.after");
    if (r >= 0 && weft_fiber_canceled())
        return upp_fail(err, UPP_ECANCELED, "cancelled");
    if (r >= 0)
        r = call_watch(run, err);
    return r < 0 ? r : wr_should_stop(run, !run->budget.done, err);
}

int weft_run_reasoned(struct weft_run *pub, struct upp_str text, struct upp_err *err)
{
    const struct weft_hooks *h = pub->hooks;
    return h && h->on_reason ? h->on_reason(h->arg, pub, pub->state.step + 1, text, err) : 0;
}

void wr_row_claim(struct wr_run *run)
{
    wr_commit_lock_take(run->tree); /* waits for a cancel that is being written */
    run->changing = true;
    wr_commit_lock_leave(run->tree);
}

/* ---- Waiting ------------------------------------------------------------------------------------------- */

static int64_t call_expires(const struct wr_engine *e, const struct wm_pending *p)
{
    uint64_t ms = p->approval ? e->opts.approval_wait_ms : e->opts.tool_wait_ms;
    return ms == UINT64_MAX ? 0 : p->since_ms + (int64_t)WB_MIN(ms, (uint64_t)INT64_MAX / 4);
}

/* When the time of a pending call is over, and the first time of all of a run's pending calls. 0: never. */
static int64_t run_expires(const struct wr_run *run)
{
    int64_t first = INT64_MAX;
    for (size_t i = 0; i < run->journal.pending.n; i++) {
        int64_t ms = call_expires(run->engine, &run->journal.pending.p[i]);
        if (ms)
            first = WB_MIN(first, ms);
    }
    return first == INT64_MAX ? 0 : first;
}

void wr_set_expiry(const struct wr_run *run, struct wm_run *row, struct wm_event *waiting)
{
    row->expires_ms = run->row.depth ? 0 : run_expires(run);
    waiting->run.waits_ms = row->expires_ms > waiting->time_ms ? (uint64_t)(row->expires_ms - waiting->time_ms) : 0;
}

int wr_wait_for(struct wr_run *run, struct upp_err *err)
{
    wr_row_claim(run);
    if (run->tree->run && run->tree->run->row.cancel) /* the cancel came first, and nobody would end a run that waits */
        return run->changing = false, upp_fail(err, UPP_ECANCELED, "cancelled");
    size_t n = run->journal.pending.n;
    struct wm_pending *copy = wb_new_n(&run->memory, struct wm_pending, n ? n : 1);
    (void)wr_now(run); /* the wait begins */
    struct wm_event *ev = copy ? wr_draft_record(run, WM_RUN, err) : NULL;
    if (!ev)
        return run->changing = false, wr_draft_failed(run, err);
    for (size_t i = 0; i < n; i++) {
        if (!run->journal.pending.p[i].since_ms) /* a child's wait since before */
            run->journal.pending.p[i].since_ms = ev->time_ms;
        copy[i] = run->journal.pending.p[i];
    }
    ev->run.status = WM_WAITING;
    ev->run.pending = copy;
    ev->run.n_pending = n;
    run->draft.state = true;
    struct wm_run row = run->row;
    row.status = WM_WAITING;
    row.epoch = run->tree->epoch;
    wr_set_expiry(run, &row, ev);
    struct wl_thread thread = {.id = row.thread, .updated_ms = wl_list_time(run->engine->store, wr_now(run))};
    struct wl_change set[] = {{.kind = WL_SET_RUN, .run = &row}, {.kind = WL_TOUCH_THREAD, .thread = &thread}};
    wb_crashpoint("wait.before");
    int r = wr_flush(run, &(struct wr_more){set, row.depth ? 1 : 2}, err);
    wb_crashpoint("wait.after");
    run->changing = false;
    if (r < 0)
        return r;
    run->row = row;
    run->row.version++;
    if (!run->row.depth)
        wr_failed_run_over(run->engine, run->row.id);
    wr_note_run(run, WR_RUN_WAITS, NULL);
    wr_supervise_at(run->engine, row.expires_ms);
    return upp_fail(err, UPP_EWAIT, "%zu calls wait for an answer", run->journal.pending.n);
}

/* ---- The end of the strategy ---------------------------------------------------------------------------------------
 *
 * From the strategy's result to the run's result: hooks, middleware, recovery from errors.
 *
 * Everything here may suspend and may be cancelled; the end itself (run/execution.c) is shielded and writes the last
 * row. Order for a run that succeeds: the last step's on_step_end, on_complete, middleware's after. For one that fails:
 * on_error; if that has a turn, on_complete and after as before; else middleware's on_error, whose turn the caller
 * gets. A failure of middleware's before or after goes only to middleware's on_error: the strategy had no part in it.
 */

static bool is_mine(const struct wr_run *run, const struct upp_message *m)
{
    for (size_t i = 0; m->id.n && i < run->mine.n; i++)
        if (wb_str_eq(run->mine.p[i]->id, m->id))
            return true;
    return false;
}

/* Adds the messages of an error handler's turn that the run does not have. */
static WEFT_SUSPENDS int add_missing(struct wr_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < turn->n_messages; i++)
        if (turn->messages[i].role == UPP_ROLE_ASSISTANT && !is_mine(run, &turn->messages[i]))
            r = wr_message_add(run, &turn->messages[i], "recovered", NULL, (struct upp_str){0}, err);
    return r;
}

static void replace_turn(struct wr_run *run, struct upp_turn *turn)
{
    if (run->turn != turn)
        upp_turn_free(run->turn);
    run->turn = turn;
}

/* Is the turn needed before the run has ended? With a store, a run completes only when the turn for wr_join exists. */
static bool turn_wanted(const struct wr_run *run)
{
    const struct weft_hooks *h = run->pub.hooks;
    return (run->tree->outcome && !run->row.depth && run->engine->store) || (h && h->on_complete) ||
           (run->def->middleware && run->def->middleware->after);
}

/* The step with which the run completes ends in the same row as the run. */
int wr_last_step(struct wr_run *run, struct upp_err *err)
{
    if (!run->step.dirty)
        return 0;
    int r = wr_repair(run, false, err);
    if (r >= 0)
        r = step_hook(run, err);
    if (r >= 0)
        r = step_close(run, err);
    run->budget.done = run->budget.done || !run->budget.over;
    return r < 0 ? r : wr_should_stop(run, false, err);
}

/* The answer is in the row that ends the run: a run that is recovered before that writes it again. */
static int add_answer(struct wr_run *run, const struct upp_message *said, struct upp_err *err)
{
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    struct wm_entry *entry = m ? wr_draft_entry(run, err) : NULL;
    struct wm_event *ev = entry ? wr_draft_record(run, WM_MESSAGE, err) : NULL;
    int r = ev ? wm_message_copy(&run->memory, said, &entry->message, err) : wr_draft_failed(run, err);
    if (r < 0)
        return r;
    entry->who = run->def->name;
    entry->step = run->pub.state.step;
    entry->message.id = (struct upp_str){0};
    entry->message.time_ms = wr_now(run);
    ev->step = run->pub.state.step;
    ev->message.stop = UPP_STOP_END;
    ev->message.index = (uint32_t)(run->draft.entries.n - 1);
    *m = entry->message;
    return wr_mine_note(run, m, err);
}

/* A run that was stopped when it had only scaffolding (right after planning) answers with the last of that. */
static int answer_scaffolding(struct wr_run *run, struct upp_err *err)
{
    const struct upp_message *last = NULL;
    for (size_t i = 0; i < run->mine.n; i++)
        if (run->mine.p[i]->role == UPP_ROLE_ASSISTANT)
            return 0;
    for (size_t i = run->n_history; i < run->path.n; i++)
        if (run->path.p[i]->role == UPP_ROLE_ASSISTANT)
            last = run->path.p[i];
    return last && !run->branch ? add_answer(run, last, err) : 0;
}

/* Did a limit end the run while somebody waits for what its agent makes of its messages? */
static bool is_cut_off(const struct wr_run *run)
{
    const struct upp_message *last = run->path.n ? run->path.p[run->path.n - 1] : NULL;
    return run->def->closing && run->budget.over && !run->branch && last && last->role != UPP_ROLE_ASSISTANT;
}

static int answer(struct wr_run *run, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT};
    struct upp_message said = {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1};
    if (!is_cut_off(run))
        return answer_scaffolding(run, err);
    int r = run->def->closing(run->def, run->row.thread, run->path.p, run->path.n, &run->memory, &part.text, err);
    if (r < 0)
        return r;
    run->budget.done = r == 0;
    return add_answer(run, &said, err);
}

/* The strategy succeeded, or a hook returned a turn for its failure. */
static WEFT_SUSPENDS int completed(struct wr_run *run, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    const struct wr_middleware *m = run->def->middleware;
    int r = wr_last_step(run, err);
    if (r >= 0 && !run->turn)
        r = answer(run, err);
    if (r >= 0 && !run->turn && turn_wanted(run)) {
        struct upp_turn *turn = NULL;
        r = wr_turn(run, (struct wr_mark){0}, false, &turn, err);
        replace_turn(run, turn);
    }
    if (r >= 0 && h && h->on_complete && (r = wr_count_tokens(run, err)) >= 0)
        r = h->on_complete(h->arg, &run->pub, run->turn, err);
    if (r >= 0 && m && m->after)
        r = m->after(m->arg, &run->pub, &run->turn, err);
    return r;
}

static bool final(const struct wr_run *run, int result)
{
    return result == -UPP_EWAIT || result == -UPP_ECANCELED || result == -UPP_ESTORE || run->tree->refused ||
           run->engine->closing || run->row.cancel;
}

/* 1: the hook returned a turn. */
static WEFT_SUSPENDS int recover_by_hook(struct wr_run *run, int result, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    if (!h || !h->on_error)
        return result;
    struct upp_err why = *err;
    struct upp_turn *turn = NULL;
    int r = h->on_error(h->arg, &run->pub, &why, &turn, err);
    if (r == 0 && err)
        *err = why;
    if (r <= 0)
        return r < 0 ? r : result;
    replace_turn(run, turn);
    r = add_missing(run, turn, err);
    return r < 0 ? r : 1;
}

static WEFT_SUSPENDS int recover_by_middleware(struct wr_run *run, int result, struct upp_err *err)
{
    const struct wr_middleware *m = run->def->middleware;
    if (!m || !m->failed || final(run, result))
        return result;
    struct upp_err why = *err;
    struct upp_turn *turn = NULL;
    int r = m->failed(m->arg, &run->pub, &why, &turn, err);
    if (r == 0)
        *err = why;
    if (r <= 0)
        return r < 0 ? r : result;
    replace_turn(run, turn);
    r = add_missing(run, turn, err);
    return r < 0 ? r : wr_last_step(run, err);
}

int wr_conclude_not_started(struct wr_run *run, int result, struct upp_err *err)
{
    return recover_by_middleware(run, result, err);
}

int wr_conclude(struct wr_run *run, int result, struct upp_err *err)
{
    int r = result < 0 ? wr_out_of_budget(run, result, err) : 0;
    if (r < 0)
        return r;
    if (r && run->branch) /* its run completes with what it has; this step was cut off */
        return upp_fail(err, UPP_ELIMIT, "the budget is used up: %s", run->budget.over);
    result = r ? 0 : result;
    if (final(run, result))
        return result;
    r = result;
    if (r < 0)
        r = recover_by_hook(run, result, err);
    if (r >= 0 && !final(run, r))
        r = completed(run, err);
    return r < 0 ? recover_by_middleware(run, r, err) : 0;
}
