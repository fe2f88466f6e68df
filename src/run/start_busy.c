/* run/start_busy.c — an input for a thread that a run holds: refused, queued, or in the place of that run. */
#include "base/crash.h"
#include "json/write.h"
#include "run/start.h"

static int refuse(const struct wr_starting *s, struct upp_err *err)
{
    char id[WB_UUID_HEX + 1], thread[WB_UUID_HEX + 1];
    wb_uuid_hex(s->busy, id);
    wb_uuid_hex(s->thread.id, thread);
    return upp_fail(err, UPP_EBUSY, "thread thread_%s already has an active run run_%s", thread, id);
}

/* Its place is ours when it has ended, not that of the first in the queue. */
static WEFT_SUSPENDS int stop_holder(struct wr_starting *s, struct wm_run *holder, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    uint8_t          status;
    int              r = store->ops->run(store, &s->what->owner, s->busy, &s->memory, holder, err);
    if (r >= 0)
        r = wr_tree_get(s->engine, &s->what->owner, holder, &s->holder, err);
    if (r < 0)
        return r;
    s->holder->heirs++;
    wb_crashpoint("takeover");
    r = wr_cancel(s->engine, &s->what->owner, s->busy, err);
    if (r >= 0)
        r = wr_wait(s->engine, &s->what->owner, s->busy, &status, err);
    s->again = r == -UPP_EREFUSED || r == -UPP_EBUSY; /* it has just ended by itself */
    return s->again ? upp_fail(err, UPP_EBUSY, "the run has just ended") : r;
}

/* True: there was one, and the queue waits for whoever takes its place. */
bool wr_start_left(struct wr_starting *s)
{
    struct wr_tree *t = WB_TAKE(s->holder);
    if (!t)
        return false;
    t->heirs--;
    wr_tree_unref(t);
    return true;
}

/* Where nothing took the place of a run that was stopped (it failed, or an earlier request with its key was found), the
 * queue goes on: at once, or when the engine looks for runs that nobody works on. */
void wr_start_go_on(struct wr_engine *e, const struct wr_start *what)
{
    struct upp_err why;
    if (wr_start_next(e, &what->owner, what->thread, &why) < 0)
        wr_look_soon(e);
}

/* Which tools ran in what is rolled back: nothing is deleted, and nothing is hidden. */
static WEFT_SUSPENDS int rollback_notice(struct wr_starting *s, const struct wm_run *holder, struct upp_err *err)
{
    struct wl_store                      *store = s->engine->store;
    WB_CLEANUP(wb_buf_done) struct wb_buf b     = WB_BUF(1u << 20);
    struct wj_writer                      j;
    char                                  id[WB_UUID_HEX + 1];
    wj_writer_init(&j, &b, err);
    wj_write_open(&j, '{');
    wj_put_str(&j, "type", UPP_STR("rollback"));
    wj_put_str(&j, "run", wb_uuid_hex(holder->id, id));
    wj_put_open(&j, "tools", '[');
    for (uint64_t from = holder->first;;) {
        struct wl_range range = {.node = holder->node, .from = from, .to = UINT64_MAX >> 1};
        struct wl_rows  rows;
        int             r = store->ops->rows(store, &s->what->owner, &range, &s->memory, &rows, err);
        for (size_t i = 0; r >= 0 && i < rows.n; i++) {
            struct wm_row row;
            from = rows.p[i].pos + 1;
            if (!wb_uuid_eq(rows.p[i].run, holder->id))
                continue;
            r = wm_row_read(&s->memory, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, err);
            for (size_t k = 0; r >= 0 && k < row.n_records; k++)
                if (row.records[k].kind == WM_TOOL_STARTED)
                    wj_write_str(&j, row.records[k].name);
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

/* Cancels what holds the thread, and goes on after it, or from before its input. */
static WEFT_SUSPENDS int take_over(struct wr_starting *s, struct upp_err *err)
{
    struct wm_run holder;
    uint32_t      version = s->thread.version;
    int           r       = stop_holder(s, &holder, err);
    if (r >= 0)
        r = wr_start_thread(s, err);
    if (r < 0)
        return r;
    s->again = !wr_is_zero(s->busy) || s->thread.version != version;
    if (s->again)
        return upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (s->what->on_busy != WR_ROLLBACK)
        return 0;
    r = rollback_notice(s, &holder, err);
    if (r >= 0)
        r = wr_start_branch(s, WB_MIN(holder.input, wl_thread_length(&s->thread, s->end.length)), err);
    if (r < 0)
        return r;
    wb_crashpoint("rollback");
    s->busy = (struct wb_uuid){{0}};
    return 0;
}

int wr_start_busy(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    bool queued;
    int  r;
    switch (s->what->on_busy) {
    case WR_ENQUEUE:
        r = wr_is_zero(s->busy) ? wr_start_queued(s, &queued, err) : 0;
        return r < 0 || wr_is_zero(s->busy) ? r : (r = wr_start_enqueue(s, ret, err)) < 0 ? r : 1;
    case WR_INTERRUPT:
    case WR_ROLLBACK:
        return wr_is_zero(s->busy) ? 0 : take_over(s, err);
    default:
        if (!wr_is_zero(s->busy))
            return refuse(s, err);
        r = wr_start_queued(s, &queued, err);
        if (r >= 0 && queued) /* whoever should start it may have failed to */
            r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
        return r < 0 || !queued ? r : refuse(s, err);
    }
}
