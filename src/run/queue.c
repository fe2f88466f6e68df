/* run/queue.c — inputs for a busy thread: refused, queued, or replacing the run that holds it (run/takeover.c); and the
 * queue. */
#include "base/clock.h"
#include "base/crash.h"
#include "base/err.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/row.h"
#include "model/upp_json.h"
#include "run/breaker.h"
#include "run/start.h"

/* What a queued run begins with is in its row: another run holds the node. */
static int write_before(struct wr_starting *s, struct wj_writer *j, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    const struct wm_row row = {.entries = w->before, .n_entries = w->n_before};
    struct wb_buf text = WB_BUF(WM_ROW_MAX);
    int r = wm_row_write(&row, &text, err);
    if (r >= 0) {
        wj_put_raw(j, "before", text.p, text.n);
        j->comma = true;
    }
    wb_buf_done(&text);
    return r;
}

static int write_queued(struct wr_starting *s, const struct wm_run *rolls_back, struct wb_buf *out, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wj_writer j;
    char id[WB_UUID_HEX + 1];
    int r = 0;
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
    if (w->n_before)
        r = write_before(s, &j, err);
    if (w->node) {
        wj_put_u64(&j, "node", w->node);
        wj_put_u64(&j, "length", w->length);
    }
    if (rolls_back)
        wj_put_str(&j, "rolls_back", wb_uuid_hex(rolls_back->id, id));
    wj_write_close(&j, '}');
    return r < 0 ? r : wj_writer_check(&j);
}

int wr_start_queue(struct wr_starting *s, bool next, const struct wm_run *rolls_back, struct upp_err *err)
{
    int r = write_queued(s, rolls_back, &s->queued, err);
    if (r >= 0)
        r = wr_start_row(s, err);
    if (r < 0)
        return r;
    s->thread.queued++;
    s->row.status = WM_QUEUED;
    s->row.options = wb_buf_str(&s->queued);
    s->row.queue = next ? 0 : s->thread.queued;
    s->row.started_ms = 0;
    wr_start_key(s);
    return 0;
}

size_t wr_start_queue_changes(struct wr_starting *s, struct wl_change to[WR_QUEUE_CHANGES])
{
    size_t n = 0;
    to[n++] = (struct wl_change){.kind = WL_ADD_RUN, .run = &s->row};
    to[n++] = (struct wl_change){.kind = WL_SET_THREAD, .thread = &s->thread};
    if (s->what->key.p)
        to[n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &s->key};
    return n + wr_start_alias(s, to + n);
}

void wr_start_queued(struct wr_starting *s, struct wr_started *ret)
{
    const struct wr_monitor *m = s->engine->monitor;
    s->engine->counts.started++;
    if (m)
        m->run(m->arg, &(struct wr_run_note){.moment = WR_RUN_QUEUED, .owner = &s->what->owner, .row = &s->row});
    *ret = (struct wr_started){.run = s->row.id, .thread = s->thread.id, .queued = true, .row = s->row};
}

int wr_queued_options(struct wb_arena *a, const struct wm_run *row, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v;
    *ret = row->options;
    if (row->started_ms || !row->options.n)
        return 0;
    int r = wj_read(a, row->options, NULL, &v, err);
    *ret = (struct upp_str){NULL, 0};
    return r < 0 ? r : wj_value_text(a, yyjson_obj_get(v, "options"), ret, err);
}

static WEFT_SUSPENDS int enqueue(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run *live;
    size_t n;
    int r = wl_list_runs(store, &s->what->owner, s->thread.id, true, s->engine->opts.max_queue + 2u, &s->memory, &live,
                         &n, err);
    if (r < 0)
        return r;
    if (n > s->engine->opts.max_queue)
        return wb_fail_full(err, "the queue of the thread is full: %u runs wait", s->engine->opts.max_queue);
    r = wr_start_queue(s, false, NULL, err);
    if (r < 0)
        return r;
    struct wl_change changes[WR_QUEUE_CHANGES];
    struct wl_commit c = {.owner = s->what->owner, .changes = changes, .flags = WL_SYNCED};
    c.n = wr_start_queue_changes(s, changes);
    wb_crashpoint("queue.before");
    r = wl_store_commit(store, &c, err);
    wb_crashpoint("queue.after");
    s->again = r == -UPP_EBUSY;
    if (r < 0)
        return r;
    wr_start_queued(s, ret);
    /* The holder may have ended while this was written. The run is queued in any case. */
    wr_start_next_or_later(s->engine, &s->what->owner, s->thread.id);
    return 0;
}

int wr_start_has_queue(struct wr_starting *s, bool *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run *live;
    size_t n = 0;
    int r = 0;
    *ret = false;
    if (s->fresh.n == 0 && s->thread.queued)
        r = wl_list_runs(store, &s->what->owner, s->thread.id, true, 2, &s->memory, &live, &n, err);
    for (size_t i = 0; i < n && !*ret; i++)
        *ret = live[i].status == WM_QUEUED;
    if (*ret && wb_uuid_is_nil(s->busy))
        s->busy = live[0].id;
    return r;
}

/* Is a run queued on a thread that nobody holds? It is about to start, and no later input comes before it. */
static WEFT_SUSPENDS int is_queued(struct wr_starting *s, bool *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run *live;
    size_t n = 0;
    int r = 0;
    if (s->fresh.n == 0 && s->thread.queued)
        r = wl_list_runs(store, &s->what->owner, s->thread.id, true, 1, &s->memory, &live, &n, err);
    *ret = r >= 0 && n && live[0].status == WM_QUEUED;
    if (*ret)
        s->busy = live[0].id;
    return r;
}

/* What a queued run begins with, from its row. */
struct queued {
    struct wr_start *what;
    struct upp_message input;
    struct wm_row before;
    struct wb_uuid rolls_back; /* all zero: nothing */
};

static int read_before(struct wr_starting *s, yyjson_val *before, struct queued *q, struct upp_err *err)
{
    struct upp_str text;
    int r = wj_value_text(&s->memory, before, &text, err);
    if (r >= 0)
        r = wm_row_read_entries(&s->memory, WM_FORMAT, text, &q->before, err);
    if (r < 0)
        return r;
    q->what->before = q->before.entries;
    q->what->n_before = q->before.n_entries;
    return 0;
}

static int read_position(const yyjson_val *node, const yyjson_val *length, struct wr_start *what, struct upp_err *err)
{
    uint64_t n = 0;
    if (!wj_num_u64(wj_text(node), &what->node) || !length || !wj_num_u64(wj_text(length), &n) || n > UINT32_MAX)
        return upp_fail(err, UPP_ESTORE, "a queued run has no position where it begins");
    what->length = (uint32_t)n;
    return 0;
}

static int read_queued(struct wr_starting *s, const struct wm_run *row, struct queued *q, struct upp_err *err)
{
    struct wr_start *what = q->what;
    yyjson_val *v;
    int r = wj_read(&s->memory, row->options, NULL, &v, err);
    if (r < 0)
        return r;
    yyjson_val *in = yyjson_obj_get(v, "input"), *who = yyjson_obj_get(v, "who"),
               *options = yyjson_obj_get(v, "options"), *before = yyjson_obj_get(v, "before"),
               *node = yyjson_obj_get(v, "node"), *rolls_back = yyjson_obj_get(v, "rolls_back");
    if (yyjson_is_obj(in)) {
        r = wm_message_read(&s->memory, in, &q->input, err);
        what->input = &q->input;
    }
    if (r >= 0 && yyjson_is_str(who))
        what->who = wb_str(yyjson_get_str(who), yyjson_get_len(who));
    if (r >= 0)
        r = wj_value_text(&s->memory, options, &what->options, err);
    if (r >= 0 && before)
        r = read_before(s, before, q, err);
    if (r >= 0 && node)
        r = read_position(node, yyjson_obj_get(v, "length"), what, err);
    if (r >= 0 && rolls_back && !wb_uuid_parse(wj_text(rolls_back), &q->rolls_back))
        r = upp_fail(err, UPP_ESTORE, "a queued run has no id of the run that it rolls back");
    return r < 0 ? r : wb_arena_check(&s->memory, err);
}

static size_t dequeue_changes(struct wr_starting *s, struct wl_change to[5])
{
    size_t n = 0;
    if (s->branched)
        to[n++] = (struct wl_change){.kind = WL_ADD_NODE, .node = &s->branch};
    s->thread.head = s->row.node;
    to[n++] = (struct wl_change){.kind = WL_SET_THREAD, .thread = &s->thread}; /* another one may have moved it */
    if (s->what->n_before)
        to[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &s->before};
    to[n++] = (struct wl_change){.kind = WL_SET_RUN, .run = &s->row};
    to[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {s->row.node, {{0}}, s->row.id}};
    return n;
}

/* C5: a queued run takes the node. */
static WEFT_SUSPENDS int start_queued(struct wr_starting *s, const struct wm_run *row, struct upp_err *err)
{
    struct wr_run *run;
    int r = wr_start_before(s, err);
    s->row = *row;
    s->row.node = s->node.key;
    s->row.first = s->end.pos;
    s->row.input = s->end.length + (s->notice.p != NULL);
    s->row.status = WM_RUNNING;
    s->row.engine = s->engine->id;
    s->row.options = s->what->options;
    s->row.queue = 0;
    int64_t now = wb_wall_ms();
    s->row.started_ms = WB_MAX(now, s->end.time_ms);
    if (r >= 0)
        r = wr_start_run(s, true, &run, err);
    if (r < 0)
        return r;
    /* Its turn came when the run before it wrote its end. Who takes over waits for that alone. */
    if (row->queue && !wr_breaker_lets(s->engine, run->model, WB_MAX(row->created_ms, s->end.time_ms))) {
        wr_run_free(run);
        return 0;
    }
    wr_tree_take(run->tree, run);
    run->tree->was_read = !wb_list_empty(&run->tree->readers); /* nobody has left what nobody could read yet */
    r = wr_start_draft(s->what, s->notice, run, err);
    if (r >= 0)
        r = wr_launch(run, err);
    if (r < 0) {
        wr_tree_disown(run);
        return r;
    }
    struct wl_change taken[5];
    struct wr_more more = {taken, dequeue_changes(s, taken)};
    wb_crashpoint("dequeue.before");
    r = wr_flush(run, &more, err);
    wb_crashpoint("dequeue.after");
    run->row.version++;
    if (r >= 0)
        wr_note_run(run, WR_RUN_STARTED, NULL);
    wr_go(run, r >= 0);
    return r;
}

/* The run of a thread that nobody holds whose turn it is: one that took the thread over, or the oldest. NULL: none. */
static const struct wm_run *next_of(const struct wm_run *live, size_t n)
{
    if (!n || live[0].status != WM_QUEUED)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (wr_takes_over(&live[i]))
            return &live[i];
    return &live[0];
}

static WEFT_SUSPENDS int try_next(struct wr_starting *s, struct wr_start *what, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct queued q = {.what = what};
    struct wm_run *live;
    size_t n;
    int r = wr_start_thread(s, err);
    if (r < 0 || !wb_uuid_is_nil(s->busy))
        return r;
    r = wl_list_runs(store, &what->owner, what->thread, true, s->engine->opts.max_queue + 3u, &s->memory, &live, &n,
                     err);
    const struct wm_run *next = r < 0 ? NULL : next_of(live, n);
    if (!next)
        return r < 0 ? r : 0;
    r = read_queued(s, next, &q, err);
    if (r >= 0 && !wb_uuid_is_nil(q.rolls_back))
        r = wr_start_rollback(s, q.rolls_back, err);
    else if (r >= 0)
        r = wr_start_move(s, err);
    if (r >= 0)
        r = wr_start_leave(s, err);
    return r < 0 ? r : start_queued(s, next, err);
}

int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    for (unsigned tries = 0;; tries++) {
        struct wr_start what = {.owner = *o, .thread = thread};
        struct wr_starting s = WR_STARTING(e, &what);
        s.accepted = true;
        int r = try_next(&s, &what, err);
        wr_starting_done(&s);
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

/* One that has taken the thread over is about to start: it comes before another one, which may then take over from it.
 */
static WEFT_SUSPENDS int let_first(struct wr_starting *s, struct upp_err *err)
{
    struct wm_run *live = NULL;
    size_t n = 0;
    int r = 0;
    if (s->fresh.n == 0 && s->thread.queued)
        r = wl_list_runs(s->engine->store, &s->what->owner, s->thread.id, true, s->engine->opts.max_queue + 3u,
                         &s->memory, &live, &n, err);
    const struct wm_run *next = r < 0 ? NULL : next_of(live, n);
    if (!next || !wr_takes_over(next))
        return r < 0 ? r : 0;
    r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
    if (r < 0)
        return r;
    s->again = true;
    return upp_fail(err, UPP_EBUSY, "somebody else was first");
}

int wr_start_busy(struct wr_starting *s, uint8_t busy, struct wr_started *ret, struct upp_err *err)
{
    bool queued;
    int r;
    if (!wb_uuid_is_nil(s->busy) && wb_uuid_eq(s->busy, s->what->ends))
        return wr_start_take_over(s, false, ret, err);
    switch (s->what->n_before ? WR_REJECT : busy) {
    case WR_ENQUEUE:
        r = wb_uuid_is_nil(s->busy) ? is_queued(s, &queued, err) : 0;
        return r < 0 || wb_uuid_is_nil(s->busy) ? r : (r = enqueue(s, ret, err)) < 0 ? r : 1;
    case WR_INTERRUPT:
    case WR_ROLLBACK:
        return wb_uuid_is_nil(s->busy) ? let_first(s, err) : wr_start_take_over(s, busy == WR_ROLLBACK, ret, err);
    default:
        if (!wb_uuid_is_nil(s->busy))
            return wr_start_refuse(s, err);
        r = is_queued(s, &queued, err);
        if (r >= 0 && queued) /* its start may have failed before */
            r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
        return r < 0 || !queued ? r : wr_start_refuse(s, err);
    }
}
