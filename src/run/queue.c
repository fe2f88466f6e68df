/* run/queue.c — runs that wait until their thread is free: into the queue, and out of it. */
#include "base/clock.h"
#include "base/crash.h"
#include "json/read.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "run/start.h"

/* The input of a queued run waits in its row: the node belongs to another one. */
static int queued_options(struct wr_starting *s, struct wb_buf *out, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wj_writer       j;
    wj_writer_init(&j, out, err);
    wj_write_open(&j, '{');
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

int wr_start_enqueue(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n;
    int r = store->ops->runs(store, &s->what->owner, s->thread.id, true, s->engine->opts.max_queue + 2u, &s->memory,
                             &live, &n, err);
    if (r < 0)
        return r;
    if (n > s->engine->opts.max_queue)
        return upp_fail(err, UPP_EBUSY, "the queue of the thread is full: %u runs", s->engine->opts.max_queue);
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
    struct wl_change changes[3] = {{.kind = WL_ADD_RUN, .run = &s->row}, {.kind = WL_SET_THREAD, .thread = &s->thread}};
    size_t           count      = 2;
    if (s->what->key.p)
        changes[count++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &s->key};
    struct wl_commit c = {.owner = s->what->owner, .changes = changes, .n = count, .flags = WL_SYNCED};
    wb_crashpoint("queue.before");
    r = store->ops->commit(store, &c, err);
    wb_crashpoint("queue.after");
    s->again = r == -UPP_EBUSY;
    if (r < 0)
        return r;
    s->engine->counts.started++;
    *ret = (struct wr_started){.run = s->row.id, .thread = s->thread.id, .queued = true};
    /* The holder may have ended while this was written. The run is there, whatever becomes of that. */
    if (wr_start_next(s->engine, &s->what->owner, s->thread.id, NULL) < 0)
        wr_look_soon(s->engine);
    return 0;
}

/* Is a run queued on a thread that nobody holds? It is about to start, and no later input comes before it. */
int wr_start_queued(struct wr_starting *s, bool *ret, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n = 0;
    int              r = 0;
    if (s->fresh.n == 0 && s->thread.queued)
        r = store->ops->runs(store, &s->what->owner, s->thread.id, true, 1, &s->memory, &live, &n, err);
    *ret = r >= 0 && n && live[0].status == WM_QUEUED;
    if (*ret)
        s->busy = live[0].id;
    return r;
}

/* The input and the options of a queued run, out of its row. */
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
    run->tree->run = run;
    r              = wr_start_draft(s->what, s->notice, run, err);
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
    r = store->ops->runs(store, &what->owner, what->thread, true, 1, &s->memory, &live, &n, err);
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
        struct wr_starting s    = {.engine = e, .what = &what, .memory = WB_ARENA(64u << 20)};
        int                r    = try_next(&s, &what, err);
        wb_arena_done(&s.memory);
        if (r != -UPP_EBUSY || tries == WR_RETRIES)
            return r == -UPP_EBUSY ? 0 : r; /* whoever was first looks for the next one in the end */
    }
}
