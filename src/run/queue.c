/* run/queue.c — inputs for a busy thread: refused, queued, or replacing the run that holds it; and the queue. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/err.h"
#include "json/read.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "run/breaker.h"
#include "run/start.h"

/* A queued run's input is in its row: another run holds the node. */
static int queued_options(struct wr_starting *s, struct wb_buf *out, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wj_writer       j;
    wj_writer_init(&j, out, err);
    wj_write_open(&j, '{');
    if (w->api_key.n)
        wj_put_str(&j, WR_KEY_MEMBER, w->api_key);
    wj_write_name(&j, UPP_STR("input"));
    if (w->input)
        wm_message_write(&j, w->input);
    else
        wj_write_null(&j);
    wj_put_str(&j, "who", w->who);
    if (w->options.p) {
        wj_put_raw(&j, "options", w->options.p, w->options.n);
        j.comma = true;
    }
    wj_write_close(&j, '}');
    return wj_writer_check(&j);
}

int wr_queued_options(struct wb_arena *a, const struct wm_run *row, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v;
    *ret = row->options;
    if (row->started_ms || !row->options.n)
        return 0;
    int r = wj_read(a, row->options, NULL, &v, err);
    *ret  = (struct upp_str){NULL, 0};
    return r < 0 ? r : wj_value_text(a, yyjson_obj_get(v, "options"), ret, err);
}

static WEFT_SUSPENDS int enqueue(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n;
    int r = wl_list_runs(store, &s->what->owner, s->thread.id, true, s->engine->opts.max_queue + 2u, &s->memory, &live,
                         &n, err);
    if (r < 0)
        return r;
    if (n > s->engine->opts.max_queue)
        return wb_fail_full(err, "the queue of the thread is full: %u runs wait", s->engine->opts.max_queue);
    WB_CLEANUP(wb_buf_done) struct wb_buf options = WB_BUF(16u << 20);
    r                                             = queued_options(s, &options, err);
    if (r >= 0)
        r = wr_start_row(s, err);
    if (r < 0)
        return r;
    s->row.status               = WM_QUEUED;
    s->row.options              = wb_buf_str(&options);
    s->row.queue                = ++s->thread.queued;
    s->row.started_ms           = 0;
    s->key.object               = s->row.id;
    struct wl_change changes[5] = {{.kind = WL_ADD_RUN, .run = &s->row}, {.kind = WL_SET_THREAD, .thread = &s->thread}};
    size_t           count      = 2;
    if (s->what->key.p)
        changes[count++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &s->key};
    count += wr_start_alias(s, changes + count);
    struct wl_commit c = {.owner = s->what->owner, .changes = changes, .n = count, .flags = WL_SYNCED};
    wb_crashpoint("queue.before");
    r = store->ops->commit(store, &c, err);
    wb_crashpoint("queue.after");
    s->again = r == -UPP_EBUSY;
    if (r < 0)
        return r;
    s->engine->counts.started++;
    const struct wr_monitor *m = s->engine->monitor;
    if (m)
        m->run(m->arg, &(struct wr_run_note){.moment = WR_RUN_QUEUED, .owner = &s->what->owner, .row = &s->row});
    *ret = (struct wr_started){.run = s->row.id, .thread = s->thread.id, .queued = true, .row = s->row};
    /* The holder may have ended while this was written. The run is queued in any case. */
    wr_start_next_or_later(s->engine, &s->what->owner, s->thread.id);
    return 0;
}

int wr_start_has_queue(struct wr_starting *s, bool *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n = 0;
    int              r = 0;
    *ret               = false;
    if (s->fresh.n == 0 && s->thread.queued)
        r = wl_list_runs(store, &s->what->owner, s->thread.id, true, 2, &s->memory, &live, &n, err);
    for (size_t i = 0; i < n && !*ret; i++)
        *ret = live[i].status == WM_QUEUED;
    if (*ret && wr_is_zero(s->busy))
        s->busy = live[0].id;
    return r;
}

/* Is a run queued on a thread that nobody holds? It is about to start, and no later input comes before it. */
static WEFT_SUSPENDS int is_queued(struct wr_starting *s, bool *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n = 0;
    int              r = 0;
    if (s->fresh.n == 0 && s->thread.queued)
        r = wl_list_runs(store, &s->what->owner, s->thread.id, true, 1, &s->memory, &live, &n, err);
    *ret = r >= 0 && n && live[0].status == WM_QUEUED;
    if (*ret)
        s->busy = live[0].id;
    return r;
}

/* Reads the input and the options of a queued run from its row. */
static int read_queued(struct wr_starting *s, const struct wm_run *row, struct wr_start *what,
                       struct upp_message *input, struct upp_err *err)
{
    yyjson_val *v;
    int         r = wj_read(&s->memory, row->options, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_val *in = yyjson_obj_get(v, "input"), *who = yyjson_obj_get(v, "who"),
               *options = yyjson_obj_get(v, "options");
    if (yyjson_is_obj(in)) {
        r           = wm_message_read(&s->memory, in, input, err);
        what->input = input;
    }
    if (r >= 0 && yyjson_is_str(who))
        what->who = wb_str(yyjson_get_str(who), yyjson_get_len(who));
    if (r >= 0)
        r = wj_value_text(&s->memory, options, &what->options, err);
    return r < 0 ? r : wb_arena_check(&s->memory, err);
}

/* C5: a queued run takes the node. */
static WEFT_SUSPENDS int start_queued(struct wr_starting *s, const struct wm_run *row, struct upp_err *err)
{
    struct wr_run *run;
    s->row            = *row;
    s->row.node       = s->node.key;
    s->row.first      = s->end.pos;
    s->row.input      = s->end.length;
    s->row.status     = WM_RUNNING;
    s->row.options    = s->what->options;
    s->row.queue      = 0;
    int64_t now       = wb_wall_ms();
    s->row.started_ms = WB_MAX(now, s->end.time_ms);
    int r             = wr_start_run(s, true, &run, err);
    if (r < 0)
        return r;
    /* Its turn came when the run before it wrote its end. */
    if (!wr_breaker_lets(s->engine, run->model, WB_MAX(row->created_ms, s->end.time_ms))) {
        wr_run_free(run);
        return 0;
    }
    wr_tree_take(run->tree, run);
    run->tree->was_read = !wb_list_empty(&run->tree->readers); /* nobody has left what nobody could read yet */
    r                   = wr_start_draft(s->what, s->notice, run, err);
    if (r >= 0)
        r = wr_launch(run, err);
    if (r < 0) {
        wr_tree_disown(run);
        return r;
    }
    s->thread.head           = s->row.node;
    struct wl_change taken[] = {{.kind = WL_ADD_NODE, .node = &s->branch},
                                {.kind = WL_SET_THREAD, .thread = &s->thread},
                                {.kind = WL_SET_RUN, .run = &s->row},
                                {.kind = WL_HOLD_NODE, .hold = {s->row.node, {{0}}, s->row.id}}};
    struct wr_more   more    = s->branched ? WR_MORE_OF(taken) : (struct wr_more){taken + 2, 2};
    wb_crashpoint("dequeue.before");
    r = wr_flush(run, &more, err);
    wb_crashpoint("dequeue.after");
    run->row.version++;
    if (r >= 0)
        wr_note_run(run, WR_RUN_STARTED, NULL);
    wr_go(run, r >= 0);
    return r;
}

static WEFT_SUSPENDS int try_next(struct wr_starting *s, struct wr_start *what, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n;
    int              r = wr_start_thread(s, err);
    if (r < 0 || !wr_is_zero(s->busy))
        return r;
    r = wl_list_runs(store, &what->owner, what->thread, true, 1, &s->memory, &live, &n, err);
    if (r < 0 || !n || live[0].status != WM_QUEUED)
        return r;
    struct upp_message input;
    r = read_queued(s, &live[0], what, &input, err);
    if (r >= 0)
        r = wr_start_leave(s, err);
    return r < 0 ? r : start_queued(s, &live[0], err);
}

int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    for (unsigned tries = 0;; tries++) {
        struct wr_start    what = {.owner = *o, .thread = thread};
        struct wr_starting s    = {.engine = e, .what = &what, .memory = WB_ARENA(64u << 20), .accepted = true};
        int                r    = try_next(&s, &what, err);
        wb_arena_done(&s.memory);
        if (r != -UPP_EBUSY || tries == WR_RETRIES)
            return r == -UPP_EBUSY ? 0 : r; /* the run that was first starts the next one when it ends */
    }
}

void wr_start_next_or_later(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread)
{
    struct upp_err why;
    if (wr_start_next(e, o, thread, &why) < 0)
        wr_supervise_soon(e);
}

/* ---- A second input ---------------------------------------------------------------------------------------------- */

int wr_start_refuse(const struct wr_starting *s, struct upp_err *err)
{
    char id[WB_UUID_HEX + 1], thread[WB_UUID_HEX + 1];
    wb_uuid_hex(s->busy, id);
    wb_uuid_hex(s->thread.id, thread);
    return upp_fail(err, UPP_EBUSY, "thread thread_%s already has an active run run_%s", thread, id);
}

/* Cancels the holder and waits for its end. This input then follows it, not the first run of the queue. */
static WEFT_SUSPENDS int stop_holder(struct wr_starting *s, struct wm_run *holder, struct upp_err *err)
{
    int r = wl_get_run(s->engine->store, &s->what->owner, s->busy, &s->memory, holder, err);
    if (r >= 0)
        r = wr_tree_get(s->engine, &s->what->owner, holder, &s->holder, err);
    if (r < 0)
        return r;
    if (wb_uuid_eq(s->busy, s->what->ends) && holder->status == WM_RUNNING)
        return wr_start_refuse(s, err);
    s->holder->waiting_inputs++;
    wb_crashpoint("takeover");
    r        = wr_stop(s->engine, &s->what->owner, s->busy, err);
    s->again = r == -UPP_EBUSY;
    return r;
}

bool wr_start_release_holder(struct wr_starting *s)
{
    struct wr_tree *t = WB_TAKE(s->holder);
    if (!t)
        return false;
    t->waiting_inputs--;
    wr_tree_unref(t);
    return true;
}

/* Notes which tools ran in the run that is rolled back: nothing is deleted, and nothing is hidden. */
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

/* Cancels the run that holds the thread, and continues after it, or from before its input. */
static WEFT_SUSPENDS int take_over(struct wr_starting *s, bool rolls_back, struct upp_err *err)
{
    struct wm_run  holder;
    struct wl_node branch;
    uint32_t       version = s->thread.version;
    int            r       = 0;
    if (rolls_back) /* a branch that is refused must not end anything */
        r = wl_branch(s->engine->store, &s->what->owner, &s->node, 1, &branch, err);
    if (r >= 0)
        r = stop_holder(s, &holder, err);
    if (r >= 0)
        r = wr_start_thread(s, err);
    if (r < 0)
        return r;
    s->again = !wr_is_zero(s->busy) || s->thread.version != version;
    if (s->again)
        return upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (!rolls_back)
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

int wr_start_busy(struct wr_starting *s, uint8_t busy, struct wr_started *ret, struct upp_err *err)
{
    bool queued;
    int  r;
    if (!wr_is_zero(s->busy) && wb_uuid_eq(s->busy, s->what->ends))
        return take_over(s, false, err);
    switch (s->what->n_before ? WR_REJECT : busy) {
    case WR_ENQUEUE:
        r = wr_is_zero(s->busy) ? is_queued(s, &queued, err) : 0;
        return r < 0 || wr_is_zero(s->busy) ? r : (r = enqueue(s, ret, err)) < 0 ? r : 1;
    case WR_INTERRUPT:
    case WR_ROLLBACK:
        return wr_is_zero(s->busy) ? 0 : take_over(s, busy == WR_ROLLBACK, err);
    default:
        if (!wr_is_zero(s->busy))
            return wr_start_refuse(s, err);
        r = is_queued(s, &queued, err);
        if (r >= 0 && queued) /* its start may have failed before */
            r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
        return r < 0 || !queued ? r : wr_start_refuse(s, err);
    }
}
