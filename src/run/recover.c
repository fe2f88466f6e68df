/* run/recover.c — after a crash: every run that has not ended goes on from what the log holds. */
#include "base/crash.h"
#include "base/log.h"
#include "run/internal.h"

/* C5: what the dead process said since the last record is void. The epoch rises, whatever was on the air. */
static WEFT_SUSPENDS int take_up(struct wr_run *run, struct upp_err *err)
{
    struct wr_tree *t = run->tree;
    int             r = wr_load(run, err);
    if (r < 0)
        return r;
    run->loaded = true;
    (void)wr_now(run);
    struct wm_event *ev = wr_draft_record(run, WM_VOID, err);
    if (!ev)
        return -UPP_ENOMEM;
    ev->last = t->next - 1;
    t->epoch++;
    run->voids++;
    run->attempt = run->voids;
    return 0;
}

/* Still said to work, and nobody does? What a list said may be old. */
static WEFT_SUSPENDS int still_works(struct wr_run *run, struct upp_err *err)
{
    struct wl_store *s = run->engine->store;
    struct wm_run    now;
    int              r = wl_get_run(s, &run->tree->owner, run->row.id, &run->memory, &now, err);
    if (r < 0)
        return r;
    if (now.status != WM_RUNNING && now.status != WM_CANCELING)
        return 0;
    run->row = now;
    return 1;
}

/* ret: for whoever waits for its turn, with its tree where this took it up; NULL: nobody does. */
static WEFT_SUSPENDS int take_up_for(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                     const struct wr_watch *watch, struct wr_started *ret, struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wr_run                             *run;
    int                                        r = wr_tree_get(e, o, row, &t, err);
    if (r < 0 || t->run)
        return r; /* somebody has it */
    r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    r = still_works(run, err);
    if (r > 0)
        r = take_up(run, err);
    else if (r == 0)
        return wr_tree_disown(run), 0;
    if (r >= 0 && ret)
        r = wr_want_turn(run, watch, err);
    if (r >= 0)
        r = wr_launch(run, err);
    if (r < 0) {
        wr_tree_disown(run);
        return r;
    }
    wb_crashpoint("recover.before");
    r = wr_flush(run, NULL, err);
    wb_crashpoint("recover.after");
    if (r >= 0 && ret)
        ret->tree = wr_wanted(run);
    wr_go(run, r >= 0);
    e->counts.recovered += r >= 0;
    return r;
}

int wr_take_up(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row, struct upp_err *err)
{
    return take_up_for(e, o, row, NULL, NULL, err);
}

int wr_resume(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread, const struct wr_watch *watch,
              struct wr_started *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wm_run                            *runs;
    size_t                                    n;
    int r = wl_list_runs(e->store, o, thread, true, 16, &a, &runs, &n, err);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (!runs[i].depth && (runs[i].status == WM_RUNNING || runs[i].status == WM_CANCELING)) {
            *ret = (struct wr_started){.run = runs[i].id, .thread = thread};
            r    = take_up_for(e, o, &runs[i], watch, ret, err);
            return r < 0 || ret->tree ? r : upp_fail(err, UPP_EBUSY, "the run works already");
        }
    return r < 0 ? r : upp_fail(err, UPP_ENOTFOUND, "no run of the thread was cut short");
}

static WEFT_SUSPENDS int recover_one(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                     struct upp_err *err)
{
    if (row->depth)
        return 0; /* its parent takes it up */
    switch (row->status) {
    case WM_QUEUED:
        return wr_start_next(e, o, row->thread, err);
    case WM_WAITING:
        if (row->cancel) { /* its end had begun */
            int r = wr_cancel(e, o, row->id, err);
            return r == -UPP_EREFUSED ? 0 : r;
        }
        wr_look_at(e, row->expires_ms);
        return 0;
    default:
        return wr_take_up(e, o, row, err);
    }
}

int wr_recover(struct wr_engine *e, size_t *ret, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    *ret                 = 0;
    wb_crashpoint("recover.begin");
    for (size_t n = 1; n && e->store;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wm_run                            *runs;
        struct wl_owner                          *owners;
        int r = wl_list_live(e->store, after, 256, &a, &runs, &owners, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n; i++) {
            struct upp_err why = {0};
            after              = runs[i].id;
            r                  = recover_one(e, &owners[i], &runs[i], &why);
            if (r == -UPP_ENOMEM || r == -UPP_ECANCELED) {
                if (err)
                    *err = why;
                return r;
            }
            if (r == -UPP_ELIMIT) /* enough work for now: the others come when there is room */
                wr_look_soon(e);
            else if (r < 0) { /* one that cannot be read must not keep the others down */
                char id[WB_UUID_TEXT + 1];
                wb_log(WB_ERROR, "a run could not be recovered", WB_LS("run", wb_uuid_text(runs[i].id, id)),
                       WB_LERR(&why));
            } else
                ++*ret;
        }
    }
    return 0;
}
