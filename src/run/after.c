/* run/after.c — looking after runs that nobody works on.
 *
 * A waiting run expires. A queued one is started when its turn has come, and one that could not be ended or taken up
 * (no memory, too many at once, a full disk) is taken up again. One fiber does all of that: it sleeps until the next
 * moment that matters, reads the runs that have not ended, and goes when there is nothing left to look after.
 */
#include "base/clock.h"
#include "base/log.h"
#include "run/internal.h"

enum {
    SOON_MS  = 1000,
    LATER_MS = 60000,
    TRIES    = 10,  /* of a run that works and cannot be ended: five minutes, and as many answers of its model */
    TROUBLED = 4096 /* runs in trouble whose times are known */
};

/* ---- Trouble ---------------------------------------------------------------------------------------------------- */

static struct wr_trouble *find_trouble(const struct wr_engine *e, struct wb_uuid run)
{
    for (size_t i = 0; i < e->troubled.n; i++)
        if (wb_uuid_eq(e->troubled.p[i].run, run))
            return &e->troubled.p[i];
    return NULL;
}

int wr_troubled(const struct wr_engine *e, struct wb_uuid run)
{
    const struct wr_trouble *t = find_trouble(e, run);
    return t ? t->failed : 0;
}

void wr_trouble_over(struct wr_engine *e, struct wb_uuid run)
{
    struct wr_trouble *t = find_trouble(e, run);
    if (t)
        *t = e->troubled.p[--e->troubled.n];
}

static bool is_full(const struct wr_engine *e)
{
    return e->troubled.n >= TROUBLED;
}

/* Nobody will know how often one more was tried: it waits until one of the others is well. */
static void no_room(struct wr_tree *tree)
{
    char id[WB_UUID_TEXT + 1];
    if (!is_full(tree->engine)) { /* of memory: as those that find no room to work */
        wr_look_soon(tree->engine);
        return;
    }
    wb_log(WB_ERROR, "too many runs cannot be ended: this one waits for them",
           WB_LS("run", wb_uuid_text(tree->root, id)), WB_LU("runs", TROUBLED));
    wr_look_at(tree->engine, wb_wall_ms() + LATER_MS);
}

void wr_trouble(struct wr_tree *tree, bool worked)
{
    struct wr_engine  *e = tree->engine;
    struct wr_trouble *t = find_trouble(e, tree->root), new = {.run = tree->root};
    if (!e->store || e->closing)
        return;
    if (!t && wb_vec_push(&e->troubled, new, TROUBLED))
        t = &e->troubled.p[e->troubled.n - 1];
    if (!t) {
        no_room(tree);
        return;
    }
    t->failed  = tree->failed;
    t->wait_ms = t->wait_ms ? WB_MIN(2 * t->wait_ms, (int64_t)LATER_MS) : SOON_MS;
    t->tries += worked;
    t->at_ms = t->tries < TRIES ? wb_wall_ms() + t->wait_ms : INT64_MAX;
    if (t->at_ms == INT64_MAX) {
        char id[WB_UUID_TEXT + 1];
        wb_log(WB_ERROR, "a run cannot be ended, and is left for the next start",
               WB_LS("run", wb_uuid_text(tree->root, id)), WB_LU("tries", t->tries));
    } else
        wr_look_at(e, t->at_ms);
}

/* ---- Looking ---------------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int expire(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                struct upp_err *err)
{
    WB_CLEANUP(wr_tree_unrefp) struct wr_tree *t = NULL;
    int                                        r = wr_tree_get(e, o, row, &t, err);
    if (r < 0 || t->run)
        return r < 0 ? r : -UPP_EBUSY;
    struct upp_err why = {0};
    r                  = wr_end_idle(t, row, upp_fail(&why, UPP_ETIMEOUT, "nobody answered in time"), &why, err);
    return r == -UPP_EBUSY ? 0 : r; /* somebody answered after all */
}

/* When to look at it again, in milliseconds since 1970; INT64_MAX: never, somebody works on it or it has ended. */
static WEFT_SUSPENDS int64_t look_at(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row)
{
    int64_t        now = wb_wall_ms();
    struct upp_err err = {0};
    int            r   = 0;
    if (row->depth)
        return INT64_MAX; /* its parent does */
    if (row->status == WM_QUEUED)
        r = wr_start_next(e, o, row->thread, &err);
    else if (row->status != WM_WAITING) {
        const struct wr_trouble *t = find_trouble(e, row->id);
        if (t && t->at_ms > now)
            return t->at_ms;
        if (!t && is_full(e))
            return now + LATER_MS;
        r = wr_take_up(e, o, row, &err);
    } else if (row->cancel) /* its end had begun */
        r = wr_cancel(e, o, row->id, &err);
    else if (row->expires_ms && row->expires_ms > now)
        return row->expires_ms;
    else
        r = row->expires_ms ? expire(e, o, row, &err) : 0;
    if (r >= 0 || r == -UPP_EREFUSED || r == -UPP_ECANCELED)
        return INT64_MAX;
    if (r != -UPP_EBUSY && r != -UPP_ELIMIT) {
        char id[WB_UUID_TEXT + 1];
        wb_log(WB_WARN, "a run waits until something is better", WB_LS("run", wb_uuid_text(row->id, id)),
               WB_LERR(&err));
    }
    return now + e->look_ms;
}

static WEFT_SUSPENDS int look_at_all(struct wr_engine *e, struct upp_err *err)
{
    struct wb_uuid after = {{0}};
    int64_t        next  = INT64_MAX;
    for (size_t n = 1; n && !e->closing;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        struct wm_run                            *runs;
        struct wl_owner                          *owners;
        int r = wl_list_live(e->store, after, 256, &a, &runs, &owners, &n, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < n && !e->closing; i++) {
            int64_t at = look_at(e, &owners[i], &runs[i]);
            after      = runs[i].id;
            next       = WB_MIN(next, at);
        }
    }
    e->look_at_ms = WB_MIN(e->look_at_ms, next);
    return 0;
}

static WEFT_SUSPENDS int look_main(void *arg, struct upp_err *err)
{
    struct wr_engine *e = arg;
    (void)err;
    for (int r = 0; r != -UPP_ECANCELED && !e->closing && e->look_at_ms != INT64_MAX;) {
        int64_t        now = wb_wall_ms(), left = e->look_at_ms - now;
        struct upp_err why = {0};
        if (left > 0) {
            WEFT_DEADLINE((uint64_t)WB_MIN(left, LATER_MS)); /* the clock may be moved */
            r = weft_cond_wait(&e->look, &why);
            continue;
        }
        e->look_at_ms = INT64_MAX;
        e->look_ms    = WB_MIN(2 * e->look_ms, (int64_t)LATER_MS);
        r             = look_at_all(e, &why);
        if (r < 0 && r != -UPP_ECANCELED) {
            wb_log(WB_WARN, "runs could not be looked after", WB_LERR(&why));
            e->look_at_ms = now + LATER_MS;
        }
        if (e->look_at_ms > now + LATER_MS) /* nothing is in a bad state */
            e->look_ms = SOON_MS;
    }
    e->looking = false;
    return 0;
}

void wr_look_at(struct wr_engine *e, int64_t ms)
{
    if (!ms || !e->store || e->closing)
        return;
    if (!e->look_ms)
        e->look_ms = SOON_MS;
    e->look_at_ms = WB_MIN(e->look_at_ms, ms);
    if (e->looking)
        weft_cond_broadcast(&e->look);
    else
        e->looking = weft_scope_spawn(&e->scope, "looks after runs", look_main, e, NULL, NULL) >= 0;
}

void wr_look_soon(struct wr_engine *e)
{
    wr_look_at(e, wb_wall_ms() + SOON_MS);
}
