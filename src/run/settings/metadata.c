/* run/settings/metadata.c — replaces the metadata of a run, in any of its states.
 *
 * The metadata is a member of the stored options. Whoever works on a run has its row in memory, with the version that
 * the next commit expects: a working run is changed through that row, with the commit lock held as for a cancel.
 */
#include "base/crash.h"
#include "json/edit.h"
#include "run/engine_state.h"
#include "run/run.h"
#include "run/start.h"

enum { REPLACED_MAX = 32 << 20 }; /* of options that a working run keeps after such changes: others may point there */

static int with_metadata(struct wb_arena *a, const struct wm_run *row, struct upp_str metadata, struct upp_str *ret,
                         struct upp_err *err)
{
    struct upp_str options;
    int r = wr_queued_options(a, row, &options, err);
    if (r >= 0)
        r = wj_set(a, options, "metadata", metadata, ret, err);
    if (r >= 0 && !row->started_ms) /* it has not started: they are a member of what is stored */
        r = wj_set(a, row->options, "options", *ret, ret, err);
    return r;
}

/* Commits a copy of the row with another metadata. *options: as they are now. */
static WEFT_SUSPENDS int commit(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *from,
                                struct upp_str metadata, struct wb_arena *a, struct upp_str *options,
                                struct upp_err *err)
{
    struct wm_run row = *from;
    struct wl_change change = {.kind = WL_SET_RUN, .run = &row};
    struct wl_commit c = {.owner = *o, .changes = &change, .n = 1, .flags = WL_SYNCED};
    int r = with_metadata(a, from, metadata, &row.options, err);
    wb_crashpoint("metadata.before");
    if (r >= 0)
        r = wl_store_commit(e->store, &c, err);
    wb_crashpoint("metadata.after");
    *options = row.options;
    return r;
}

static WEFT_SUSPENDS int set_working(struct wr_tree *t, struct upp_str metadata, struct upp_err *err)
{
    struct upp_str options;
    int r = -UPP_EBUSY; /* it is about to end or to wait: the caller tries again */
    wr_commit_lock_take(t);
    struct wr_run *run = t->run;
    if (run && !run->changing && t->fiber && run->replaced > REPLACED_MAX)
        r = upp_fail(err, UPP_ELIMIT,
                     "the metadata of a run that works was changed too often: it can be when it has ended");
    else if (run && !run->changing && t->fiber) {
        size_t before = run->memory.used;
        r = commit(t->engine, &t->owner, &run->row, metadata, &run->memory, &options, err);
        run->replaced += run->memory.used - before;
        if (r >= 0) {
            run->row.version++;
            run->row.options = options;
        }
    }
    wr_commit_lock_leave(t);
    return r;
}

/* A run that waits: an answer must not find another version than it has read. */
static WEFT_SUSPENDS int set_waiting(struct wr_tree *t, const struct wm_run *row, struct upp_str metadata,
                                     struct wb_arena *a, struct upp_err *err)
{
    struct wr_run *run;
    struct wm_run now;
    struct upp_str options;
    int r = wr_tree_own(t, row, &run, err);
    if (r < 0)
        return r;
    run->changing = true;
    r = wl_get_run(t->engine->store, &t->owner, row->id, a, &now, err);
    if (r >= 0 && now.version != row->version)
        r = upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (r >= 0)
        r = commit(t->engine, &t->owner, &now, metadata, a, &options, err);
    wr_tree_disown(run);
    return r;
}

static WEFT_SUSPENDS int try_set(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id,
                                 struct upp_str metadata, struct wb_arena *a, struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    struct wm_run row;
    struct upp_str options;
    int r = wl_get_run(e->store, o, id, a, &row, err);
    if (r >= 0 && row.depth)
        return upp_fail(err, UPP_EINVALID, "the run of a sub-agent has the metadata of its root");
    if (r < 0)
        return r;
    if (row.status == WM_QUEUED || wm_status_ended(row.status))
        return commit(e, o, &row, metadata, a, &options, err);
    r = wr_tree_get(e, o, &row, &t, err);
    if (r < 0)
        return r;
    if (t->run && t->fiber)
        r = set_working(t, metadata, err);
    else if (!t->run && !t->fiber)
        return set_waiting(t, &row, metadata, a, err);
    else
        r = -UPP_EBUSY;
    if (r == -UPP_EBUSY) {
        int w = t->run ? weft_cond_wait(&t->changed, err) : weft_yield(err);
        return w < 0 ? w : -UPP_EBUSY;
    }
    return r;
}

int wr_set_metadata(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct upp_str metadata,
                    struct upp_err *err)
{
    if (!e->store)
        return upp_fail(err, UPP_ENOTFOUND, "there is no store");
    for (unsigned tries = 0;; tries++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(256u << 20);
        int r = try_set(e, o, id, metadata, &a, err);
        if (r != -UPP_EBUSY || tries >= 4 * WR_RETRIES)
            return r;
    }
}
