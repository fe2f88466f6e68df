/* run/tree_load.c — a tree that nobody works on, from the store: where its events end, who may go on with it. */
#include "run/internal.h"

/* The number after the last committed event of a run that has not ended, and of its children that may have gone on
 * after it. */
struct tail {
    struct wl_store       *store;
    const struct wl_owner *owner;
    uint64_t               next;
    uint32_t               epoch;
    unsigned               depth;
};

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err);

static WEFT_SUSPENDS int tail_children(struct tail *t, const struct wm_row *row, struct upp_err *err)
{
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind != WM_TOOL_STARTED || !ev->child_node)
            continue;
        int r = tail_of(t, ev->child_node, 0, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int tail_row(struct tail *t, struct wb_arena *a, const struct wl_row *stored, bool *stop,
                                  struct upp_err *err)
{
    struct wm_row row;
    uint64_t      n = 0;
    int           r = wm_row_read(a, stored->format, stored->body, stored->tape, &row, err);
    if (r >= 0)
        r = wm_row_events(&row, &n, err);
    if (r < 0)
        return r;
    if (row.event) {
        t->next  = WB_MAX(t->next, row.event + n);
        t->epoch = WB_MAX(t->epoch, row.epoch);
    }
    for (size_t i = 0; i < row.n_records; i++)
        *stop |= row.records[i].kind == WM_STEP_END;
    return tail_children(t, &row, err);
}

static WEFT_SUSPENDS int tail_of(struct tail *t, uint64_t node, uint64_t first, struct upp_err *err)
{
    if (t->depth > 64)
        return upp_fail(err, UPP_ESTORE, "runs are nested too deeply");
    t->depth++;
    bool stop = false;
    int  r    = 0;
    for (uint64_t to = UINT64_MAX >> 1; r >= 0 && !stop;) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
        struct wl_range range = {.node = node, .from = first, .to = to, .backwards = true, .max_rows = 16};
        struct wl_rows  rows  = {0};
        r                     = t->store->ops->rows(t->store, t->owner, &range, &a, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n && !stop; i++) {
            r  = tail_row(t, &a, &rows.p[i], &stop, err);
            to = rows.p[i].pos;
        }
        if (!rows.more)
            break;
    }
    t->depth--;
    return r;
}

/* Whoever else wants the tree meanwhile waits for us, so what is read here stays true: all that is written of a tree
 * goes through it. */
static WEFT_SUSPENDS int tree_fill(struct wr_tree *t, struct upp_err *err)
{
    struct wl_store                          *s    = t->engine->store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(64u << 20);
    struct tail                               tail = {.store = s, .owner = &t->owner, .next = 1, .epoch = 1};
    struct wm_run                             root;
    int                                       r = wl_get_run(s, &t->owner, t->root, &a, &root, err);
    if (r >= 0 && !wm_status_ended(root.status) && root.status != WM_QUEUED)
        r = tail_of(&tail, root.node, root.first, err);
    if (r < 0)
        return r;
    t->next    = tail.next;
    t->epoch   = tail.epoch;
    t->status  = root.status;
    t->resumed = root.status != WM_QUEUED;
    return 0;
}

/* A tree that somebody else reads from the store. */
static WEFT_SUSPENDS int tree_await(struct wr_tree *t, struct upp_err *err)
{
    int r = 0;
    while (r >= 0 && t->loading)
        r = weft_cond_wait(&t->changed, err);
    return r >= 0 && t->unread ? upp_fail(err, (enum upp_code) - t->unread, "the run could not be read") : r;
}

int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root, struct wr_tree **ret,
                struct upp_err *err)
{
    struct wr_tree *t = wr_tree_find(e, root->id);
    int             r = 0;
    if (t) {
        t->refs++;
        r = tree_await(t, err);
    } else {
        r = wr_tree_new(e, o, root->id, &t, err);
        if (r < 0)
            return r;
        t->loading = true;
        r          = tree_fill(t, err);
        t->loading = false;
        t->unread  = r < 0 ? r : 0;
        t->failed  = wr_troubled(e, root->id); /* a reader is told so, instead of waiting for the next try */
        wr_tree_wake(t);
    }
    if (r < 0)
        wr_tree_unref(t);
    else
        *ret = t;
    return r;
}

int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret, struct upp_err *err)
{
    while (t->run) {
        int r = weft_cond_wait(&t->changed, err);
        if (r < 0)
            return r;
    }
    struct wr_run *run;
    int            r = wr_run_new(t->engine, t, NULL, row, &run, err);
    if (r < 0)
        return r;
    t->failed = 0;
    t->run    = run;
    *ret      = run;
    return 0;
}
