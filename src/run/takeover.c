/* run/takeover.c — an input replaces the run that holds its thread.
 *
 * The cancel of that run and the new one, with all that it begins with, are one commit. So a request that is refused
 * has ended nothing, and after a crash there are both or none: recovery ends the one, and then the other begins.
 */
#include "base/crash.h"
#include "fiber/fiber.h"
#include "json/write.h"
#include "log/log.h"
#include "run/engine_state.h"
#include "run/start.h"

/* Notes which tools ran in the run that is rolled back: nothing is deleted, and nothing is hidden. */
static WEFT_SUSPENDS int rollback_notice(struct wr_starting *s, const struct wm_run *holder, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wj_writer j;
    char id[WB_UUID_HEX + 1];
    wj_writer_init(&j, &b, err);
    wj_write_open(&j, '{');
    wj_put_str(&j, "type", UPP_STR("rollback"));
    wj_put_str(&j, "run", wb_uuid_hex(holder->id, id));
    wj_put_open(&j, "tools", '[');
    for (uint64_t from = holder->first;;) {
        struct wl_range range = {.node = holder->node, .from = from, .to = UINT64_MAX >> 1};
        struct wl_rows rows;
        int r = wl_store_rows(store, &s->what->owner, &range, &s->memory, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            struct wm_row row;
            from = rows.p[i].pos + 1;
            if (!wb_uuid_eq(rows.p[i].run, holder->id))
                continue;
            r = wm_row_read(&s->memory, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, err);
            for (size_t k = 0; r >= 0 && k < row.n_records; k++)
                if (row.records[k].kind == WM_TOOL_STARTED)
                    wj_write_str(&j, row.records[k].call.name);
        }
        if (r < 0)
            return r;
        if (!rows.more)
            break;
    }
    wj_write_close(&j, ']');
    wj_write_close(&j, '}');
    return wj_writer_text(&j, &s->memory, &s->notice);
}

int wr_start_rollback(struct wr_starting *s, struct wb_uuid id, struct upp_err *err)
{
    struct wm_run holder;
    int r = wl_get_run(s->engine->store, &s->what->owner, id, &s->memory, &holder, err);
    if (r >= 0)
        r = rollback_notice(s, &holder, err);
    if (r >= 0)
        r = wr_start_branch(s, WB_MIN(holder.input, wl_thread_length(&s->thread, s->end.length)), err);
    if (r < 0)
        return r;
    wb_crashpoint("rollback");
    return 0;
}

static int was_first(struct wr_starting *s, struct upp_err *err)
{
    s->again = true;
    return upp_fail(err, UPP_EBUSY, "somebody else was first");
}

/* What would be refused later must not end anything. */
static WEFT_SUSPENDS int may_take_over(const struct wr_starting *s, const struct wm_run *holder, bool rolls_back,
                                       struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wr_starting at = *s; /* the branch is made when the turn of the run comes */
    bool stays = wb_uuid_eq(s->busy, w->ends) && !wr_is_left(s->engine, s->busy);
    if (stays && holder->status == WM_RUNNING)
        return wr_start_refuse(s, err);
    int r = wr_check_options(s->engine, w->agent, w->options, err);
    if (r >= 0 && rolls_back)
        r = wr_start_branch(&at, 1, err);
    else if (r >= 0 && w->node)
        r = wr_start_move(&at, err);
    return r;
}

/* It has been cancelled already, perhaps for another input, whose turn then comes first. */
static WEFT_SUSPENDS int wait_for_end(struct wr_starting *s, struct upp_err *err)
{
    int r = wr_stop(s->engine, &s->what->owner, s->busy, err);
    if (r >= 0)
        r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
    return r < 0 && r != -UPP_EBUSY ? r : was_first(s, err);
}

/* Whoever ends the holder may be starting the run right now. */
static WEFT_SUSPENDS void await_start(struct wr_engine *e, struct wb_uuid run)
{
    struct wr_tree *t = wr_tree_find(e, run);
    int r = 0;
    if (!t)
        return;
    t->refs++;
    while (r >= 0 && t->run && t->status == WM_QUEUED)
        r = weft_cond_wait(&t->changed, NULL);
    wr_tree_unref(t);
}

/* The new run is accepted: whatever fails from here on, it begins as soon as the other one has ended. */
static WEFT_SUSPENDS void end_holder(struct wr_starting *s, struct wr_started *ret)
{
    struct wr_engine *e = s->engine;
    const struct wl_owner *o = &s->what->owner;
    struct wm_run now;
    struct upp_err why = {0};
    WEFT_SHIELD(WR_END_MS);
    int r = wr_stop(e, o, s->busy, &why);
    if (r < 0)
        wr_supervise_soon(e);
    wr_start_next_or_later(e, o, s->thread.id);
    await_start(e, s->row.id);
    r = wl_get_run(e->store, o, s->row.id, &s->memory, &now, &why);
    if (r < 0 || now.status == WM_QUEUED)
        return;
    ret->queued = false;
    ret->row.status = now.status;
    ret->row.node = now.node;
    ret->row.first = now.first;
    ret->row.input = now.input;
    ret->row.version = now.version;
    ret->row.started_ms = now.started_ms;
}

int wr_start_take_over(struct wr_starting *s, bool rolls_back, struct wr_started *ret, struct upp_err *err)
{
    struct wr_engine *e = s->engine;
    const struct wl_owner *o = &s->what->owner;
    struct wm_run holder, root;
    int r = wl_get_run(e->store, o, s->busy, &s->memory, &holder, err);
    if (r >= 0)
        r = wr_get_root(e, o, s->busy, &s->memory, &root, err);
    if (r < 0)
        return r;
    if (wm_status_ended(holder.status) || wm_status_ended(root.status))
        return was_first(s, err);
    if (root.cancel)
        return wait_for_end(s, err);
    r = may_take_over(s, &holder, rolls_back, err);
    if (r >= 0)
        r = wr_start_queue(s, true, rolls_back ? &holder : NULL, err);
    if (r < 0)
        return r;
    struct wl_change changes[WR_QUEUE_CHANGES];
    struct wr_more more = {changes, wr_start_queue_changes(s, changes)};
    wb_crashpoint("takeover.before");
    r = wr_cancel_with(e, o, &root, &more, err);
    wb_crashpoint("takeover.after");
    if (r < 0)
        return r == -UPP_EBUSY ? was_first(s, err) : r;
    wr_start_queued(s, ret);
    end_holder(s, ret);
    return 1;
}
