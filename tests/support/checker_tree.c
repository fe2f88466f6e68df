#include "support/checker_tree.h"

#include <stdlib.h>

#include "support/checker.h"
#include "support/fibers.h"

enum { MANY = 1 << 20, NESTED = 32 };

void tree_done(struct tree *t)
{
    wb_vec_done(&t->runs);
    wb_vec_done(&t->rows);
    wb_vec_done(&t->events);
    wb_arena_done(&t->memory);
}

static int keep_row(struct tree *t, struct tree_run *of, const struct wl_row *stored, struct tree_row **ret,
                    struct upp_err *err)
{
    struct tree_row *row = wb_new(&t->memory, struct tree_row);
    if (!row || !wb_vec_push(&t->rows, row, MANY))
        return upp_fail(err, UPP_ENOMEM, "no memory for a row");
    row->of = of;
    row->index = wl_pos_index(stored->pos);
    *ret = row;
    return wm_row_read(&t->memory, stored->format, stored->body, stored->tape, &row->row, err);
}

static WEFT_SUSPENDS int load_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct tree *t,
                                  unsigned depth, struct upp_err *err);

static WEFT_SUSPENDS int load_children(struct wl_store *s, const struct wl_owner *o, struct tree *t,
                                       const struct tree_row *row, unsigned depth, struct upp_err *err)
{
    for (size_t i = 0; i < row->row.n_records; i++) {
        const struct wm_event *ev = &row->row.records[i];
        if (ev->kind != WM_TOOL_STARTED || !ev->tool_started.child_node)
            continue;
        int r = load_run(s, o, ev->tool_started.child, t, depth + 1, err);
        if (r < 0 && r != -UPP_ENOTFOUND) /* announced and not made yet */
            return r;
    }
    return 0;
}

static WEFT_SUSPENDS int load_rows(struct wl_store *s, const struct wl_owner *o, struct tree *t, struct tree_run *run,
                                   unsigned depth, struct upp_err *err)
{
    for (uint64_t from = run->run.first;;) {
        struct wl_range range = {.node = run->run.node, .from = from, .to = UINT64_MAX >> 1};
        struct wl_rows rows;
        TRY(wl_store_rows(s, o, &range, &t->memory, &rows, err));
        for (size_t i = 0; i < rows.n; i++) {
            struct tree_row *row = NULL;
            if (!wb_uuid_eq(rows.p[i].run, run->run.id))
                return 0;
            TRY(keep_row(t, run, &rows.p[i], &row, err));
            TRY(load_children(s, o, t, row, depth, err));
            from = rows.p[i].pos + 1;
        }
        if (!rows.more)
            return 0;
    }
}

static WEFT_SUSPENDS int load_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct tree *t,
                                  unsigned depth, struct upp_err *err)
{
    struct tree_run *run = wb_new(&t->memory, struct tree_run);
    if (!run)
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    if (depth > NESTED)
        return upp_fail(err, UPP_EBUG, "runs are nested in a circle");
    TRY(wl_get_run(s, o, id, &t->memory, &run->run, err));
    if (!wb_vec_push(&t->runs, run, MANY))
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    run->from = (struct wm_source){.run = id,
                                   .root = t->runs.p[0]->run.id,
                                   .agent = run->run.agent,
                                   .node = run->run.node,
                                   .depth = run->run.depth,
                                   .input = run->run.input};
    if (run->run.status == WM_QUEUED || (wm_status_ended(run->run.status) && !run->run.started_ms))
        return 0; /* it never had rows */
    return load_rows(s, o, t, run, depth, err);
}

static int by_event(const void *a, const void *b)
{
    const struct tree_row *x = *(struct tree_row *const *)a, *y = *(struct tree_row *const *)b;
    return x->row.event < y->row.event ? -1 : x->row.event > y->row.event;
}

/* Results that a message of this row refers to, from all rows of its run before. */
static int join_row(struct tree *t, size_t upto, struct upp_err *err)
{
    struct tree_row *row = t->rows.p[upto];
    WB_VEC(const struct wm_event *) ended = {0};
    bool ok = true, wanted = false;
    for (size_t i = 0; i < row->row.n_entries; i++)
        wanted |= row->row.entries[i].n_refs > 0;
    for (size_t i = 0; wanted && i <= upto; i++)
        for (size_t k = 0; t->rows.p[i]->of == row->of && k < t->rows.p[i]->row.n_records; k++)
            if (t->rows.p[i]->row.records[k].kind == WM_TOOL_ENDED)
                ok &= wb_vec_push(&ended, &t->rows.p[i]->row.records[k], MANY);
    int r = ok ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for results");
    for (size_t i = 0; r >= 0 && i < row->row.n_entries; i++) {
        r = wm_entry_join(&t->memory, &row->row.entries[i], ended.p, ended.n, err);
        if (r > 0)
            r = upp_fail(err, UPP_EBUG, "%d results of an entry are nowhere", r);
    }
    wb_vec_done(&ended);
    return r;
}

static int expand_row(struct tree *t, size_t i, struct upp_err *err)
{
    struct tree_row *row = t->rows.p[i];
    if (!row->row.event)
        return 0;
    struct wm_source *from = wb_new(&t->memory, struct wm_source);
    if (!from)
        return wb_arena_check(&t->memory, err);
    *from = row->of->from;
    from->epoch = row->row.epoch;
    const struct wm_source lost = {0}; /* what was taken back: readers see it, it is no event of the tree */
    struct wm_expand x = {.from = from,
                          .from_lost = &lost,
                          .row = &row->row,
                          .index = row->index,
                          .memory = &t->memory,
                          .step_id = row->of->step};
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(16u << 20);
    TRY(join_row(t, i, err));
    for (struct wm_event ev;;) {
        int r = wm_expand_next(&x, &ev, err);
        if (r <= 0)
            return r;
        if (ev.from == &lost)
            continue;
        if (ev.kind == WM_STEP_START)
            row->of->step = ev.step_start.id;
        wb_buf_clear(&text);
        checker_event_text(&text, &ev);
        struct tree_event e = {.ev = ev, .text = wb_arena_dup(&t->memory, wb_buf_str(&text))};
        if (wb_buf_check(&text, err) < 0 || !e.text.p || !wb_vec_push(&t->events, e, MANY))
            return upp_fail(err, UPP_ENOMEM, "no memory for an event");
    }
}

int tree_load(struct wl_store *s, const struct wl_owner *o, struct wb_uuid root, struct tree *t, struct upp_err *err)
{
    *t = (struct tree){.memory = WB_ARENA(256u << 20)};
    TRY(load_run(s, o, root, t, 0, err));
    if (t->rows.n)
        qsort(t->rows.p, t->rows.n, sizeof t->rows.p[0], by_event);
    for (size_t i = 0; i < t->rows.n; i++)
        TRY(expand_row(t, i, err));
    return 0;
}
