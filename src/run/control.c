/* run/control.c — controls runs from outside: get, cancel, wait; and ends all runs of a thread that is deleted. */
#include "base/clock.h"
#include "base/crash.h"
#include "log/change.h"
#include "run/engine_state.h"
#include "run/journal.h"
#include "run/start.h"

/* ---- Getting ------------------------------------------------------------------------------------------------ */

/* Reads the pending calls of a waiting run from the last row of its node. */
static WEFT_SUSPENDS int read_pending(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *run,
                                      struct wb_arena *a, struct wr_run_info *ret, struct upp_err *err)
{
    struct wl_range range = {
        .node = run->node, .from = run->first, .to = UINT64_MAX >> 1, .backwards = true, .max_rows = 1};
    struct wl_rows rows;
    struct wm_row row;
    int r = wl_store_rows(e->store, o, &range, a, &rows, err);
    if (r >= 0 && !rows.n)
        r = upp_fail(err, UPP_ESTORE, "a run that waits has no rows");
    if (r >= 0)
        r = wm_row_read(a, rows.p[0].format, rows.p[0].body, rows.p[0].tape, &row, err);
    for (size_t i = 0; r >= 0 && i < row.n_records; i++)
        if (row.records[i].kind == WM_RUN) {
            ret->pending = row.records[i].run.pending;
            ret->n_pending = row.records[i].run.n_pending;
        }
    uint64_t n = 0;
    if (r >= 0)
        r = wm_row_events(&row, &n, err);
    if (r >= 0 && row.event && n) {
        ret->epoch = row.epoch;
        ret->last = row.event + n - 1;
    }
    return r;
}

int wr_get(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
           struct wr_run_info *ret, struct upp_err *err)
{
    if (!e->store) {
        struct wr_tree *t = wr_tree_find(e, id);
        if (!t)
            return upp_fail(err, UPP_ENOTFOUND, "no such run");
        *ret = (struct wr_run_info){.run = {.id = id, .root = id, .status = t->status, .epoch = t->epoch}};
        return 0;
    }
    *ret = (struct wr_run_info){0};
    int r = wl_get_run(e->store, o, id, a, &ret->run, err);
    if (r >= 0)
        r = wr_queued_options(a, &ret->run, &ret->run.options, err);
    return r < 0 || ret->run.status != WM_WAITING ? r : read_pending(e, o, &ret->run, a, ret, err);
}

int wr_get_root(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                struct wm_run *ret, struct upp_err *err)
{
    int r = wl_get_run(e->store, o, id, a, ret, err);
    if (r >= 0 && !wb_uuid_eq(ret->root, id))
        r = wl_get_run(e->store, o, ret->root, a, ret, err);
    return r;
}

/* ---- Ending from outside -------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int set_row(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                 const struct wr_more *more, struct upp_err *err)
{
    struct wl_change changes[WR_MORE + 1] = {{.kind = WL_SET_RUN, .run = row}};
    struct wl_commit c = {.owner = *o, .changes = changes, .n = 1, .flags = WL_SYNCED};
    for (size_t i = 0; more && i < more->n; i++)
        changes[c.n++] = more->changes[i];
    wb_crashpoint("cancel.before");
    int r = wl_store_commit(e->store, &c, err);
    wb_crashpoint("cancel.after");
    return r;
}

/* Ending a waiting tree with children takes several commits: the request is durable before the first. */
static WEFT_SUSPENDS int note_cancel(struct wr_run *run, bool noted, struct upp_err *err)
{
    bool children = false;
    for (size_t i = 0; i < run->journal.calls.n; i++)
        children |= run->journal.calls.p[i]->state == WR_CALL_STARTED && run->journal.calls.p[i]->child_node;
    if (!run->row.cancel || noted || !children)
        return 0;
    int r = set_row(run->engine, &run->tree->owner, &run->row, NULL, err);
    run->row.version += r >= 0;
    return r;
}

int wr_end_waiting(struct wr_tree *t, const struct wm_run *row, int result, const struct upp_err *why,
                   struct upp_err *err)
{
    struct wr_run *run;
    int r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    struct wr_engine *e = run->engine;
    struct wb_uuid thread = run->row.thread;
    struct wm_run now;
    run->changing = true;
    r = wl_get_run(e->store, &t->owner, row->id, &run->memory, &now, err);
    if (r >= 0 && now.version != row->version)
        r = upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (r >= 0)
        r = wr_load(run, err);
    if (r >= 0)
        r = note_cancel(run, now.cancel, err);
    if (r >= 0)
        r = wr_finish(run, result, why, err);
    wr_tree_disown(run);
    weft_cond_broadcast(&e->moved);
    if (r < 0 && r != -UPP_EBUSY)
        wr_supervise_soon(e); /* its end may have begun: the cancel is stored, or children have ended */
    else
        wr_start_next_or_later(e, &t->owner, thread);
    return r;
}

/* C5: the cancel request is durable before the fiber is cancelled. */
static WEFT_SUSPENDS int cancel_working(struct wr_tree *t, const struct wr_more *more, struct upp_err *err)
{
    int r = 0;
    wr_commit_lock_take(t);
    struct wr_run *run = t->run;
    if (!run || run->changing || !t->fiber || (more && run->row.cancel))
        r = -UPP_EBUSY; /* it is about to end or to wait: the caller tries again */
    else if (!run->row.cancel) {
        struct wm_run row = run->row;
        row.cancel = true;
        r = t->engine->store ? set_row(t->engine, &t->owner, &row, more, err) : 0;
        if (r >= 0) {
            run->row.cancel = true;
            run->row.version += t->engine->store != NULL;
        }
    }
    wr_commit_lock_leave(t);
    if (r >= 0 && t->fiber)
        weft_fiber_cancel(t->fiber);
    return r;
}

static WEFT_SUSPENDS int cancel_queued(struct wr_engine *e, const struct wl_owner *o, struct wm_run *row,
                                       struct upp_err *err)
{
    row->status = WM_CANCELED;
    row->ended_ms = wb_wall_ms();
    row->queue = 0;
    int r = set_row(e, o, row, NULL, err);
    if (r < 0)
        return r;
    wr_quota_leave(e, o, wr_run_key(row), &row->usage);
    struct wr_tree *t = wr_tree_find(e, row->id);
    if (t) { /* somebody waits for it */
        t->status = row->status;
        wr_tree_wake(t);
    }
    weft_cond_broadcast(&e->moved);
    return r;
}

static const char *status_word(uint8_t status)
{
    switch (status) {
    case WM_COMPLETED:
        return "completed";
    case WM_FAILED:
        return "failed";
    case WM_EXPIRED:
        return "expired";
    default:
        return "cancelled";
    }
}

static WEFT_SUSPENDS int try_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id,
                                    struct wb_arena *a, struct upp_err *err)
{
    struct wm_run row;
    int r = wr_get_root(e, o, id, a, &row, err);
    if (r < 0)
        return r;
    if (row.status == WM_CANCELED)
        return 0;
    if (wm_status_ended(row.status))
        return upp_fail(err, UPP_EREFUSED, "Cannot cancel run with status '%s'.", status_word(row.status));
    if (row.status == WM_QUEUED)
        return cancel_queued(e, o, &row, err);
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    r = wr_tree_get(e, o, &row, &t, err);
    if (r < 0)
        return r;
    if (t->run && t->fiber)
        r = cancel_working(t, NULL, err);
    else if (t->run || t->fiber)
        r = -UPP_EBUSY;
    else if (row.status == WM_WAITING) {
        row.cancel = true;
        struct upp_err why = {0};
        return wr_end_waiting(t, &row, upp_fail(&why, UPP_ECANCELED, "cancelled"), &why, err);
    } else
        return wr_recover_canceled(e, o, &row, err);
    if (r == -UPP_EBUSY) {
        int w = t->run ? weft_cond_wait(&t->changed, err) : weft_yield(err);
        return w < 0 ? w : -UPP_EBUSY;
    }
    return r;
}

int wr_cancel_with(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row, const struct wr_more *more,
                   struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wm_run now = *row;
    struct wr_run *run;
    int r = wr_tree_get(e, o, row, &t, err);
    if (r < 0)
        return r;
    if (t->run && t->fiber && !t->run->changing)
        return cancel_working(t, more, err);
    if (t->run || t->fiber) {
        r = t->run ? weft_cond_wait(&t->changed, err) : weft_yield(err);
        return r < 0 ? r : -UPP_EBUSY;
    }
    r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    run->changing = true; /* until this is stored nobody answers it, and it is not recovered */
    now.cancel = true;
    r = set_row(e, o, &now, more, err);
    wr_tree_disown(run);
    return r;
}

static WEFT_SUSPENDS int cancel_alone(struct wr_engine *e, struct wb_uuid id, struct upp_err *err)
{
    for (;;) {
        struct wr_tree *t = wr_tree_find(e, id);
        if (!t || !t->run)
            return upp_fail(err, UPP_ENOTFOUND, "no such run works");
        int r = cancel_working(t, NULL, err);
        if (r != -UPP_EBUSY)
            return r;
        r = weft_yield(err); /* its fiber has not begun, or is about to end */
        if (r < 0)
            return r;
    }
}

int wr_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct upp_err *err)
{
    if (!e->store)
        return cancel_alone(e, id, err);
    for (unsigned tries = 0;; tries++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        int r = try_cancel(e, o, id, &a, err);
        if (r != -UPP_EBUSY || tries >= 4 * WR_RETRIES)
            return r;
    }
}

/* ---- Waiting ------------------------------------------------------------------------------------------------ */

/* Waits until something changes in a tree that works or is queued. */
static WEFT_SUSPENDS int wait_tree(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                   struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wm_run root = {.id = row->root};
    int r = wr_tree_get(e, o, &root, &t, err);
    if (r >= 0 && (t->run || t->status == WM_QUEUED))
        r = weft_cond_wait(&t->changed, err);
    return r;
}

int wr_wait(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, uint8_t *status, struct upp_err *err)
{
    for (;;) {
        struct wr_tree *t = wr_tree_find(e, id);
        int r = 0;
        if (t && t->run) {
            t->refs++;
            r = weft_cond_wait(&t->changed, err);
            if (r >= 0 && !e->store && wm_status_ended(t->status)) {
                *status = t->status;
                wr_tree_unref(t);
                return 0;
            }
            wr_tree_unref(t);
            if (r < 0)
                return r;
            continue;
        }
        if (!e->store)
            return upp_fail(err, UPP_ENOTFOUND, "no such run works");
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wm_run row;
        r = wl_get_run(e->store, o, id, &a, &row, err);
        if (r < 0)
            return r;
        t = wr_tree_find(e, row.root);
        if (row.status != WM_QUEUED && !(t && t->run)) {
            *status = row.status;
            return 0;
        }
        r = wait_tree(e, o, &row, err);
        if (r < 0)
            return r;
    }
}

int wr_stop(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct upp_err *err)
{
    uint8_t status;
    int r = wr_cancel(e, o, run, err);
    if (r >= 0 || r == -UPP_EREFUSED) /* it ended by itself */
        r = wr_wait(e, o, run, &status, err);
    if (r < 0 || wm_status_ended(status))
        return r;
    int failed = wr_failed_run_error(e, run);
    return upp_fail(err, failed ? (enum upp_code) - failed : UPP_EBUSY, "the run could not be ended");
}

/* ---- Deleting a thread: its runs are cancelled first, and waited for --------------------------------------------- */

enum { LIVE = 64 }; /* runs of a thread that are ended in one batch */

/* Ends the thread's runs. Queued ones first: else each would start when the one before it ends. 1: there was one. */
static WEFT_SUSPENDS int end_runs(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(e->store, o, t->id, true, LIVE, &a, &runs, &n, err);
    for (size_t i = n; r >= 0 && i-- > 0;) {
        r = wr_stop(e, o, runs[i].root, err);
        if (r == -UPP_ENOTFOUND)
            r = 0;
    }
    return r < 0 ? r : n > 0;
}

/* Ends the runs of the thread and its sub-threads. */
static WEFT_SUSPENDS int end_all(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                 struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
    struct wl_thread *list;
    size_t n, others;
    int r = wl_thread_family(e->store, o, t, &a, &list, &n, &others, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = end_runs(e, o, &list[i], err);
    return r;
}

int wr_thread_delete(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t, struct wr_erase *erase,
                     struct upp_err *err)
{
    int r = -UPP_EBUSY;
    if (!e->store)
        return upp_fail(err, UPP_ENOTFOUND, "there is no store");
    for (unsigned tries = 0; r == -UPP_EBUSY && tries < WR_RETRIES; tries++) {
        r = end_all(e, o, t, err);
        if (r >= 0 && erase)
            r = wl_tree_erase(e->store, o, t, erase->memory, &erase->lost, &erase->n, err);
        else if (r >= 0)
            r = wl_thread_delete(e->store, o, t, err);
        if (r == -UPP_EBUSY && erase)
            break; /* perhaps another thread's run, which is not ours to end */
    }
    return r;
}
