/* run/conclude.c — from the strategy's last word to what the run comes to: hooks, middleware, recovery.
 *
 * Everything here may wait and may be cancelled; the end itself (run/finish.c) is shielded and writes the last row.
 * Order of a run that goes well: the last step's on_step_end, on_complete, middleware's after. Of one that fails:
 * on_error; where that has a turn, on_complete and after as before; else middleware's on_error, whose turn is what the
 * caller gets. What fails in middleware's before or after goes to middleware's on_error alone: the strategy had no part
 * in it.
 */
#include <upp/provider.h>

#include "model/upp_json.h"
#include "run/internal.h"

static bool is_mine(const struct wr_run *run, const struct upp_message *m)
{
    for (size_t i = 0; m->id.n && i < run->mine.n; i++)
        if (wb_str_eq(run->mine.p[i]->id, m->id))
            return true;
    return false;
}

/* Says what of a turn the run has not said: a recovery's last words. */
static WEFT_SUSPENDS int adopt(struct wr_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < turn->n_messages; i++)
        if (turn->messages[i].role == UPP_ROLE_ASSISTANT && !is_mine(run, &turn->messages[i]))
            r = wr_say(run, &turn->messages[i], "recovered", NULL, (struct upp_str){0}, err);
    return r;
}

static void replace_turn(struct wr_run *run, struct upp_turn *turn)
{
    if (run->turn != turn)
        upp_turn_free(run->turn);
    run->turn = turn;
}

/* Does anybody want to see the turn before the run has ended? Where there is a store a run completes only when whoever
 * waits for its turn can have it. */
static bool turn_wanted(const struct wr_run *run)
{
    const struct weft_hooks *h = run->pub.hooks;
    return (run->tree->outcome && !run->row.depth && run->engine->store) || (h && h->on_complete) ||
           (run->def->around && run->def->around->after);
}

int wr_step_hook(struct wr_run *run, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    wr_observe(run); /* what tools did, before its end */
    if (!h || !h->on_step_end)
        return 0;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    int                                          r    = wr_count_tokens(run, err);
    if (r >= 0)
        r = wr_turn(run, run->step_from, false, &turn, err);
    if (r < 0)
        return r;
    struct weft_step_result result = {.turn = turn, .state = &run->pub.state};
    return h->on_step_end(h->arg, &run->pub, run->pub.state.step + 1, &result, err);
}

/* The step with which the run completes ends in the same row as the run. */
int wr_last_step(struct wr_run *run, struct upp_err *err)
{
    if (!run->step_dirty)
        return 0;
    int r = wr_repair(run, false, err);
    if (r >= 0)
        r = wr_step_hook(run, err);
    if (r >= 0)
        r = wr_step_close(run, err);
    run->done = run->done || !run->over;
    return r < 0 ? r : wr_enough(run, false, err);
}

/* A run that was stopped before it said anything but scaffolding (right after planning) answers with the last of that.
 * It is in the row that ends the run: whoever takes the run up before that says it again. */
static int answer(struct wr_run *run, struct upp_err *err)
{
    const struct upp_message *last = NULL;
    for (size_t i = 0; i < run->mine.n; i++)
        if (run->mine.p[i]->role == UPP_ROLE_ASSISTANT)
            return 0;
    for (size_t i = run->n_history; i < run->path.n; i++)
        if (run->path.p[i]->role == UPP_ROLE_ASSISTANT)
            last = run->path.p[i];
    if (!last || run->branch)
        return 0;
    struct upp_message *m     = wb_new(&run->memory, struct upp_message);
    struct wm_entry    *entry = m ? wr_draft_entry(run, err) : NULL;
    struct wm_event    *ev    = entry ? wr_draft_record(run, WM_MESSAGE, err) : NULL;
    int                 r     = ev ? wm_message_copy(&run->memory, last, &entry->message, err) : -UPP_ENOMEM;
    if (r < 0)
        return upp_fail(err, UPP_ENOMEM, "no memory for an answer");
    entry->who             = run->def->name;
    entry->step            = run->pub.state.step;
    entry->message.id      = (struct upp_str){0};
    entry->message.time_ms = wr_now(run);
    ev->step               = run->pub.state.step;
    ev->stop               = UPP_STOP_END;
    ev->part               = (uint32_t)(run->draft.entries.n - 1);
    *m                     = entry->message;
    return wr_mine_note(run, m, err);
}

/* The strategy is content, or a hook has made a turn of its failure. */
static WEFT_SUSPENDS int completed(struct wr_run *run, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    const struct wr_around  *m = run->def->around;
    int                      r = wr_last_step(run, err);
    if (r >= 0 && !run->turn)
        r = answer(run, err);
    if (r >= 0 && !run->turn && turn_wanted(run)) {
        struct upp_turn *turn = NULL;
        r                     = wr_turn(run, (struct wr_mark){0}, false, &turn, err);
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
    return result == -UPP_EWAIT || result == -UPP_ECANCELED || result == -UPP_ESTORE || run->tree->failed ||
           run->engine->closing || run->row.cancel;
}

/* 1: there is a turn after all. */
static WEFT_SUSPENDS int recover_by_hook(struct wr_run *run, int result, struct upp_err *err)
{
    const struct weft_hooks *h = run->pub.hooks;
    if (!h || !h->on_error)
        return result;
    struct upp_err   why  = *err;
    struct upp_turn *turn = NULL;
    int              r    = h->on_error(h->arg, &run->pub, &why, &turn, err);
    if (r == 0 && err)
        *err = why;
    if (r <= 0)
        return r < 0 ? r : result;
    replace_turn(run, turn);
    r = adopt(run, turn, err);
    return r < 0 ? r : 1;
}

static WEFT_SUSPENDS int recover_by_middleware(struct wr_run *run, int result, struct upp_err *err)
{
    const struct wr_around *m = run->def->around;
    if (!m || !m->failed || final(run, result))
        return result;
    struct upp_err   why  = *err;
    struct upp_turn *turn = NULL;
    int              r    = m->failed(m->arg, &run->pub, &why, &turn, err);
    if (r == 0)
        *err = why;
    if (r <= 0)
        return r < 0 ? r : result;
    replace_turn(run, turn);
    r = adopt(run, turn, err);
    return r < 0 ? r : wr_last_step(run, err);
}

int wr_not_begun(struct wr_run *run, int result, struct upp_err *err)
{
    return recover_by_middleware(run, result, err);
}

int wr_conclude(struct wr_run *run, int result, struct upp_err *err)
{
    int r = result < 0 ? wr_out_of_budget(run, result, err) : 0;
    if (r < 0)
        return r;
    if (r && run->branch) /* its run completes with what it has; the step itself was cut off */
        return upp_fail(err, UPP_ELIMIT, "the budget is used up: %s", run->over);
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
