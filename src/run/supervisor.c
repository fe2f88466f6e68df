/* run/supervisor.c — supervises runs that nobody works on.
 *
 * Waiting runs expire. Queued ones are started when their turn has come, and those that could not be ended or recovered
 * (no memory, too many at once, a full disk) are recovered again. One fiber does all of that: it sleeps until the next
 * relevant time, reads the runs that have not ended, and ends when there is nothing left to supervise.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "log/log.h"
#include "run/engine_state.h"
#include "run/journal.h"
#include "run/start.h"

enum {
    SOON_MS = 1000,
    LOOK_MS = 15000, /* at most, after a failed look: what works again is found while people still wait */
    LATER_MS = 60000,
    TRIES = 10,            /* executions in a row that commit nothing: five minutes, and as many model answers */
    MAX_FAILED_RUNS = 4096 /* failed runs that the engine remembers */
};

/* ---- Homes ------------------------------------------------------------------------------------------------------- */

WEFT_SUSPENDS static int home_of(struct wl_store *s, const struct wl_owner *o, const struct wm_run *row, uint32_t n,
                                 uint32_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4u << 20);
    struct wl_thread t;
    int r = wl_get_thread(s, o, row->thread, &a, &t, err);
    if (r >= 0)
        *ret = wr_home(t.tree, n);
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int wr_home_of_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid run, uint32_t n,
                                 uint32_t *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run row;
    int r = wl_get_run(s, o, run, &a, &row, err);
    if (r >= 0 && !wb_uuid_eq(row.root, run))
        r = wl_get_run(s, o, row.root, &a, &row, err);
    return r < 0 ? r : home_of(s, o, &row, n, ret, err);
}

/* Whether this engine works on a root, which it does if nobody can say whose it is: its thread is gone. Otherwise two
 * engines would work on the same run. */
WEFT_SUSPENDS static int is_mine(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                 struct upp_err *err)
{
    uint32_t home = 0;
    if (e->opts.homes <= 1)
        return 1;
    int r = home_of(e->store, o, row, e->opts.homes, &home, err);
    if (r == -UPP_ENOTFOUND)
        home = wr_home(row->thread, e->opts.homes);
    else if (r < 0)
        return r;
    return home == e->opts.home;
}

/* ---- Failed runs (struct wr_failed_run) -------------------------------------------------------------------------- */

static struct wr_failed_run *find_failed_run(const struct wr_engine *e, struct wb_uuid run)
{
    for (size_t i = 0; i < e->failed_runs.n; i++)
        if (wb_uuid_eq(e->failed_runs.p[i].run, run))
            return &e->failed_runs.p[i];
    return NULL;
}

int wr_failed_run_error(const struct wr_engine *e, struct wb_uuid run)
{
    const struct wr_failed_run *f = find_failed_run(e, run);
    return f ? f->error : 0;
}

void wr_failed_run_over(struct wr_engine *e, struct wb_uuid run)
{
    struct wr_failed_run *f = find_failed_run(e, run);
    if (f)
        *f = e->failed_runs.p[--e->failed_runs.n];
}

/* Before and after all runs were read: those that are not stored as running any more leave the list. One whose end is
 * stored although its commit failed would stay for ever. */
static void failed_runs_mark(struct wr_engine *e)
{
    for (size_t i = 0; i < e->failed_runs.n; i++)
        e->failed_runs.p[i].live = false;
}

static void failed_runs_sweep(struct wr_engine *e)
{
    for (size_t i = e->failed_runs.n; i-- > 0;)
        if (!e->failed_runs.p[i].live)
            e->failed_runs.p[i] = e->failed_runs.p[--e->failed_runs.n];
}

static bool is_full(const struct wr_engine *e)
{
    return e->failed_runs.n >= MAX_FAILED_RUNS;
}

/* The attempts of one more cannot be counted: it waits until one of the others has left the list. */
static void no_room(struct wr_engine *e, struct wb_uuid run)
{
    char id[WB_UUID_TEXT + 1];
    if (!is_full(e)) { /* no memory: like runs that find no room to work */
        wr_supervise_soon(e);
        return;
    }
    wb_log(WB_ERROR, "too many runs cannot be ended: this one waits for them", WB_LS("run", wb_uuid_text(run, id)),
           WB_LU("runs", MAX_FAILED_RUNS));
    wr_supervise_at(e, wb_wall_ms() + LATER_MS);
}

static void count_execution(struct wr_failed_run *f, uint64_t next)
{
    char id[WB_UUID_TEXT + 1];
    if (next > f->next && f->tries < TRIES) { /* it comes closer to its end */
        f->tries = 0;
        f->wait_ms = 0;
    }
    f->next = next;
    if (++f->tries == TRIES)
        wb_log(WB_ERROR, "a run cannot be ended: it is not executed again, and fails when the store takes that",
               WB_LS("run", wb_uuid_text(f->run, id)), WB_LU("tries", f->tries));
}

void wr_failed_run(struct wr_run *run, int error, bool executed)
{
    struct wr_engine *e = run->engine;
    struct wr_failed_run *f = find_failed_run(e, run->row.id), new = {.run = run->row.id};
    if (!e->store || e->closing)
        return;
    if (!f && wb_vec_push(&e->failed_runs, new, MAX_FAILED_RUNS))
        f = &e->failed_runs.p[e->failed_runs.n - 1];
    if (!f) {
        no_room(e, run->row.id);
        return;
    }
    if (executed)
        count_execution(f, run->tree->next);
    f->live = true;
    f->error = error;
    f->wait_ms = f->wait_ms ? WB_MIN(2 * f->wait_ms, (int64_t)LATER_MS) : SOON_MS;
    f->at_ms = wb_wall_ms() + f->wait_ms;
    wr_supervise_at(e, f->at_ms);
}

/* It is executed again: what it commits from here on counts. */
static void failed_run_begins(const struct wr_run *run)
{
    struct wr_failed_run *f = find_failed_run(run->engine, run->row.id);
    if (f)
        f->next = run->tree->next;
}

/* ---- After a crash: every run that has not ended continues from the log ------------------------------------------ */

/* C5: the dead process's output since the last record is void. The epoch increases, even if nothing was streaming. */
static WEFT_SUSPENDS int draft_recovery(struct wr_run *run, struct upp_err *err)
{
    struct wr_tree *t = run->tree;
    int r = wr_load(run, err);
    if (r < 0)
        return r;
    run->loaded = true;
    (void)wr_now(run);
    struct wm_event *ev = wr_draft_record(run, WM_VOID, err);
    if (!ev)
        return wr_draft_failed(run, err);
    ev->voided.last = t->next - 1;
    run->draft.voids = true;
    run->voids++;
    run->attempt = run->voids;
    return 0;
}

/* Reads the row again, because a list may be old. 1: it is still running, and nobody works on it. */
static WEFT_SUSPENDS int still_works(struct wr_run *run, struct upp_err *err)
{
    struct wl_store *s = run->engine->store;
    struct wm_run now;
    int r = wl_get_run(s, &run->tree->owner, run->row.id, &run->memory, &now, err);
    if (r < 0)
        return r;
    if (now.status != WM_RUNNING && now.status != WM_CANCELING)
        return 0;
    run->row = now;
    return 1;
}

/* What a recovery is for. */
struct recovery {
    bool cancel; /* it ends as cancelled */
    const struct wr_watch *watch;
    struct wr_started *ret; /* a caller waits for its turn: gets the tree, if this recovered it; NULL: nobody does */
};

/* Its executions were in vain: this one fails at once, and costs no model answer. Then nothing but its end is tried. */
static int give_up(struct wr_run *run, const struct wr_failed_run *f, struct upp_err *err)
{
    struct upp_err why = {0};
    (void)upp_fail(&why, UPP_ESTORE, "the store failed the run %u times", f->tries);
    return wr_run_unfit(run, &why, err);
}

/* Prepares a run that nobody works on, and launches its fiber. */
static WEFT_SUSPENDS int launch_recovery(struct wr_run *run, const struct recovery *how, struct upp_err *err)
{
    const struct wr_failed_run *f = find_failed_run(run->engine, run->row.id);
    int r = f && f->tries >= TRIES ? give_up(run, f, err) : 0;
    if (r >= 0)
        r = draft_recovery(run, err);
    if (r >= 0 && how->ret)
        r = wr_outcome_request(run, how->watch, err);
    return r < 0 ? r : wr_launch(run, err);
}

/* The first commit of a recovery claims the run: of two engines that take it over, the second finds another version of
 * its row. With it the cancel, if there is one: a full disk takes that of a cancelled run. */
static WEFT_SUSPENDS int commit_recovery(struct wr_run *run, struct upp_err *err)
{
    struct wm_run row = run->row;
    struct wl_change set = {.kind = WL_SET_RUN, .run = &row};
    row.engine = run->engine->id;
    run->draft.must_sync = row.cancel;
    wb_crashpoint("recover.before");
    int r = wr_flush(run, &(struct wr_more){&set, 1}, err);
    wb_crashpoint("recover.after");
    if (r < 0) {
        wr_failed_run(run, r, false);
        return r;
    }
    run->changing = false;
    run->row.engine = row.engine;
    run->row.version++;
    failed_run_begins(run);
    run->engine->counts.recovered++;
    wr_note_run(run, WR_RUN_RESUMED, NULL);
    return 0;
}

/* Recovers a run that is stored as running, if nobody works on it. -UPP_EBUSY: another engine does, somebody has it who
 * does not, or it is in no state to be cancelled by this. */
static WEFT_SUSPENDS int recover(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                 const struct recovery *how, struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wr_run *run;
    if (e->opts.is_alive && !wb_uuid_eq(row->engine, e->id) && e->opts.is_alive(e->opts.arg, row->engine))
        return upp_fail(err, UPP_EBUSY, "another engine works on the run");
    int r = wr_tree_get(e, o, row, &t, err);
    if (r < 0)
        return r;
    if (t->run) /* one that has failed is about to be gone */
        return t->fiber && !how->cancel && !t->refused ? 0 : upp_fail(err, UPP_EBUSY, "somebody else has the run");
    r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    run->changing = true; /* a cancel or other metadata wait until it works */
    r = still_works(run, err);
    if (r <= 0) {
        wr_tree_disown(run);
        if (r == 0)
            wr_failed_run_over(e, row->id);
        return r == 0 && how->cancel ? upp_fail(err, UPP_EBUSY, "the run does not work any more") : r;
    }
    run->row.cancel = run->row.cancel || how->cancel;
    r = launch_recovery(run, how, err);
    if (r < 0) {
        if (r == -UPP_ESTORE && !how->cancel) /* what stays unreadable must not keep it for ever */
            wr_failed_run(run, r, true);
        wr_tree_disown(run);
        return r;
    }
    r = commit_recovery(run, err);
    if (r >= 0 && how->ret)
        how->ret->tree = wr_outcome_tree(run);
    wr_go(run, r >= 0);
    return r;
}

int wr_recover_canceled(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row, struct upp_err *err)
{
    return recover(e, o, row, &(struct recovery){.cancel = true}, err);
}

int wr_resume(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread, const struct wr_watch *watch,
              struct wr_started *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run *runs;
    size_t n;
    int r = wl_list_runs(e->store, o, thread, true, 16, &a, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (!runs[i].depth && (runs[i].status == WM_RUNNING || runs[i].status == WM_CANCELING)) {
            *ret = (struct wr_started){.run = runs[i].id, .thread = thread};
            r = recover(e, o, &runs[i], &(struct recovery){.watch = watch, .ret = ret}, err);
            return r < 0 || ret->tree ? r : upp_fail(err, UPP_EBUSY, "the run works already");
        }
    return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "no run of the thread was cut short");
}

/* Adds to *n if it is this engine's. */
static WEFT_SUSPENDS int recover_one(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row, size_t *n,
                                     struct upp_err *err)
{
    if (row->depth)
        return 0; /* its parent resumes it */
    int mine = is_mine(e, o, row, err);
    if (mine <= 0)
        return mine;
    ++*n;
    switch (row->status) {
    case WM_QUEUED:
        return wr_start_next(e, o, row->thread, err);
    case WM_WAITING:
        if (row->cancel) { /* its end had begun before */
            int r = wr_cancel(e, o, row->id, err);
            return r == -UPP_EREFUSED ? 0 : r;
        }
        wr_supervise_at(e, row->expires_ms);
        return 0;
    default:
        return recover(e, o, row, &(struct recovery){0}, err);
    }
}

int wr_recover(struct wr_engine *e, size_t *ret, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    *ret = 0;
    wb_crashpoint("recover.begin");
    for (size_t n = 1; n && e->store;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_live_run *runs;
        int r = wl_live_page(e->store, after, &a, &runs, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            struct upp_err why = {0};
            after = runs[i].run.id;
            size_t mine = 0;
            r = recover_one(e, &runs[i].owner, &runs[i].run, &mine, &why);
            if (r == -UPP_ENOMEM || r == -UPP_ECANCELED) {
                if (err)
                    *err = why;
                return r;
            }
            if (r < 0) /* it is tried again, and must not block the others */
                wr_supervise_soon(e);
            if (r < 0 && r != -UPP_ELIMIT && r != -UPP_EBUSY) { /* else they follow when there is room */
                char id[WB_UUID_TEXT + 1];
                wb_log(WB_ERROR, "a run could not be recovered", WB_LS("run", wb_uuid_text(runs[i].run.id, id)),
                       WB_LERR(&why));
            } else if (r >= 0)
                *ret += mine;
        }
    }
    return 0;
}

/* ---- Supervising ------------------------------------------------------------------------------------------------ */

int wr_expire(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row, struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    int r = wr_tree_get(e, o, row, &t, err);
    if (r < 0 || t->run)
        return r < 0 ? r : -UPP_EBUSY;
    struct upp_err why = {0};
    r = wr_end_waiting(t, row, upp_fail(&why, UPP_ETIMEOUT, "nobody answered in time"), &why, err);
    return r == -UPP_EBUSY ? 0 : r; /* somebody answered after all */
}

/* Does what is due for a root of this engine. *at: when to check it again; unchanged: nothing is known about that. */
static WEFT_SUSPENDS int look_after(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                    int64_t now, int64_t *at, struct upp_err *err)
{
    if (row->status == WM_QUEUED)
        return wr_start_next(e, o, row->thread, err);
    if (row->status != WM_WAITING) {
        const struct wr_failed_run *f = find_failed_run(e, row->id);
        bool full = !f && is_full(e);
        if (!full && !(f && f->at_ms > now))
            return recover(e, o, row, &(struct recovery){0}, err);
        *at = full ? now + LATER_MS : f->at_ms;
        return 0;
    }
    if (row->cancel) /* its end had begun before */
        return wr_cancel(e, o, row->id, err);
    if (!row->expires_ms || row->expires_ms <= now)
        return row->expires_ms ? wr_expire(e, o, row, err) : 0;
    *at = row->expires_ms;
    return 0;
}

/* When to check it again, in milliseconds since 1970; INT64_MAX: never, somebody works on it or it has ended. */
static WEFT_SUSPENDS int64_t supervise_run(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row)
{
    int64_t now = wb_wall_ms(), at = INT64_MAX;
    struct upp_err err = {0};
    if (row->depth)
        return at; /* its parent supervises it */
    struct wr_failed_run *f = find_failed_run(e, row->id);
    if (f && row->status != WM_QUEUED && row->status != WM_WAITING)
        f->live = true;
    int r = is_mine(e, o, row, &err);
    if (r > 0)
        r = look_after(e, o, row, now, &at, &err);
    if (r >= 0 || r == -UPP_EREFUSED || r == -UPP_ECANCELED)
        return at;
    if (r != -UPP_EBUSY && r != -UPP_ELIMIT) {
        char id[WB_UUID_TEXT + 1];
        wb_log(WB_WARN, "a run waits until something is better", WB_LS("run", wb_uuid_text(row->id, id)),
               WB_LERR(&err));
    }
    return now + e->look_ms;
}

static WEFT_SUSPENDS int supervise_all(struct wr_engine *e, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    int64_t next = INT64_MAX;
    failed_runs_mark(e);
    for (size_t n = 1; n && !e->closing;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wl_live_run *runs;
        int r = wl_live_page(e->store, after, &a, &runs, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n && !e->closing; i++) {
            int64_t at = supervise_run(e, &runs[i].owner, &runs[i].run);
            after = runs[i].run.id;
            next = WB_MIN(next, at);
        }
    }
    if (!e->closing)
        failed_runs_sweep(e);
    e->look_at_ms = WB_MIN(e->look_at_ms, next);
    return 0;
}

static WEFT_SUSPENDS int supervisor_main(void *arg, struct upp_err *err)
{
    struct wr_engine *e = arg;
    (void)err;
    for (int r = 0; r != -UPP_ECANCELED && !e->closing && e->look_at_ms != INT64_MAX;) {
        int64_t now = wb_wall_ms(), left = e->look_at_ms - now;
        struct upp_err why = {0};
        if (left > 0) {
            WEFT_DEADLINE((uint64_t)WB_MIN(left, LATER_MS)); /* the wall clock may be set */
            r = weft_cond_wait(&e->look, &why);
            continue;
        }
        e->look_at_ms = INT64_MAX;
        e->look_ms = WB_MIN(2 * e->look_ms, (int64_t)LOOK_MS);
        r = supervise_all(e, &why);
        if (r < 0 && r != -UPP_ECANCELED) {
            wb_log(WB_WARN, "runs could not be looked after", WB_LERR(&why));
            e->look_at_ms = WB_MIN(e->look_at_ms, now + e->look_ms);
        }
        if (e->look_at_ms > now + LATER_MS) /* no run needs another attempt soon */
            e->look_ms = SOON_MS;
    }
    e->looking = false;
    return 0;
}

void wr_supervise_at(struct wr_engine *e, int64_t ms)
{
    if (!ms || !e->store || e->closing)
        return;
    if (!e->look_ms)
        e->look_ms = SOON_MS;
    e->look_at_ms = WB_MIN(e->look_at_ms, ms);
    if (e->looking)
        weft_cond_broadcast(&e->look);
    else
        e->looking = weft_scope_spawn(&e->scope, "looks after runs", supervisor_main, e, NULL, NULL) >= 0;
}

void wr_supervise_soon(struct wr_engine *e)
{
    wr_supervise_at(e, wb_wall_ms() + SOON_MS);
}
