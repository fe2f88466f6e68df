/* run/start.c — C1: an input becomes a run, durably, before anybody is told so.
 *
 * Everything of a start is one commit: thread, input, run, the hold on the node, the idempotency key. Where somebody
 * else was first (a conflict) all of it is looked at again.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/hooks.h"
#include "fiber/loop.h"
#include "json/read.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "run/internal.h"

/* ---- One try ------------------------------------------------------------------------------------------------ */

struct starting {
    struct wr_engine      *engine;
    const struct wr_start *what;
    struct wb_arena        memory;
    struct wl_new_thread   fresh; /* a thread that is made */
    struct wl_thread       thread;
    struct wl_node         node, branch;
    struct wl_end          end;
    struct wm_run          row;
    struct wl_key          key;
    struct wb_uuid         busy;   /* the run that holds the node; all zero: none */
    struct wr_tree        *holder; /* of the run whose place is taken, until that is done; NULL: none */
    struct upp_str         notice; /* JSON of a system event before the input; no text: none */
    bool                   branched;
    bool                   again; /* somebody else was first: look again */
};

static bool is_zero(struct wb_uuid u)
{
    return wb_uuid_eq(u, (struct wb_uuid){{0}});
}

static int new_thread(struct starting *s, struct upp_err *err)
{
    int r = wl_thread_make(&s->what->owner, NULL, &s->fresh, err);
    if (r < 0)
        return r;
    s->thread = s->fresh.thread;
    s->node   = s->fresh.root;
    return 0;
}

static WEFT_SUSPENDS int find_thread(struct starting *s, struct upp_err *err)
{
    struct wl_store       *store = s->engine->store;
    const struct wl_owner *o     = &s->what->owner;
    if (is_zero(s->what->thread))
        return new_thread(s, err);
    int r = store->ops->thread(store, o, s->what->thread, &s->memory, &s->thread, err);
    if (r >= 0)
        r = store->ops->node(store, o, s->thread.head, &s->node, err);
    if (r >= 0)
        r = wl_node_end(store, o, s->thread.head, &s->end, err);
    if (r >= 0)
        s->busy = s->node.holder;
    return r;
}

/* From here on the run is on a branch from `length` entries of the head. */
static int branch_off(struct starting *s, uint32_t length, struct upp_err *err)
{
    int r = wl_branch_make(&s->node, length, &s->branch, err);
    if (r < 0)
        return r;
    s->branched  = true;
    s->node      = s->branch;
    s->end       = (struct wl_end){.time_ms = s->end.time_ms};
    s->thread.at = 0;
    return 0;
}

/* A thread that was put back into its head leaves it with what comes next. */
static int leave_head(struct starting *s, struct upp_err *err)
{
    return s->thread.at ? branch_off(s, wl_thread_length(&s->thread, s->end.length), err) : 0;
}

/* The row of a run that is new, but for its place. */
static int new_row(struct wr_engine *e, const struct wr_start *w, int64_t after_ms, struct wm_run *ret,
                   struct upp_err *err)
{
    struct wb_uuid id;
    int            r = wb_uuid_new(&id, err);
    if (r < 0)
        return r;
    int64_t now = weft__loop_wall_ms(e->loop);
    now         = WB_MAX(now, after_ms);
    *ret        = (struct wm_run){.id         = id,
                                  .root       = id,
                                  .status     = WM_RUNNING,
                                  .epoch      = 1,
                                  .durability = w->durability ? w->durability : e->opts.durability,
                                  .agent      = w->agent,
                                  .options    = w->options,
                                  .created_ms = now,
                                  .started_ms = now};
    return 0;
}

static int fill_row(struct starting *s, struct upp_err *err)
{
    int r         = new_row(s->engine, s->what, s->end.time_ms, &s->row, err);
    s->row.thread = s->thread.id;
    s->row.node   = s->node.key;
    s->row.first  = s->end.pos;
    s->row.input  = s->end.length + (s->notice.p != NULL);
    return r;
}

/* The run in memory, in a tree that is new or (of a queued run) there already. */
static int run_in(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret, struct upp_err *err)
{
    struct wr_run *run;
    int            r = wr_run_new(t->engine, t, NULL, row, &run, err);
    wr_tree_unref(t);
    if (r < 0)
        return r;
    run->time_ms = row->started_ms;
    *ret         = run;
    return 0;
}

static WEFT_SUSPENDS int make_run(struct starting *s, bool queued, struct wr_run **ret, struct upp_err *err)
{
    struct wr_tree *t;
    int             r = queued ? wr_tree_get(s->engine, &s->what->owner, &s->row, &t, err)
                               : wr_tree_new(s->engine, &s->what->owner, s->row.id, &t, err);
    if (r < 0)
        return r;
    if (t->run) {
        wr_tree_unref(t);
        return upp_fail(err, UPP_EBUSY, "somebody else starts the run");
    }
    r = run_in(t, &s->row, ret, err);
    if (r >= 0)
        (*ret)->end = s->end;
    return r;
}

static int draft_notice(struct wr_run *run, struct upp_str notice, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return -UPP_ENOMEM;
    e->kind = WM_ENTRY_EVENT;
    e->step = 0;
    e->data = wb_arena_dup(&run->memory, notice);
    return wb_arena_check(&run->memory, err);
}

static int draft_input(struct wr_run *run, const struct upp_message *input, struct upp_str who, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return -UPP_ENOMEM;
    e->origin = WM_ORIGIN_CLIENT;
    e->step   = 0;
    e->who    = wb_arena_dup(&run->memory, who);
    int r     = wm_message_copy(&run->memory, input, &e->message, err);
    if (r < 0)
        return r;
    e->message.time_ms    = run->time_ms; /* that of the run */
    e->message.time_text  = (struct upp_str){0};
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&run->memory, err);
    *m             = e->message;
    run->pub.input = m;
    return 0;
}

/* Its first row as draft. */
static int draft_start(const struct wr_start *w, struct upp_str notice, struct wr_run *run, struct upp_err *err)
{
    int r = notice.p ? draft_notice(run, notice, err) : 0;
    if (r >= 0 && w->input)
        r = draft_input(run, w->input, w->who, err);
    struct wm_event *ev = r >= 0 ? wr_draft_record(run, WM_RUN, err) : NULL;
    if (!ev)
        return r < 0 ? r : -UPP_ENOMEM;
    ev->status = WM_RUNNING;
    ev->step   = 0;
    return 0;
}

/* All else that a start changes. The thread is made, or becomes the newest (and moves to a branch). */
static size_t start_changes(struct starting *s, struct wl_change to[WR_MORE])
{
    size_t n = 0;
    for (size_t i = 0; i < s->fresh.n; i++)
        to[n++] = s->fresh.changes[i];
    if (s->branched)
        to[n++] = (struct wl_change){.kind = WL_ADD_NODE, .node = &s->branch};
    if (!s->fresh.n) {
        s->thread.updated_ms = s->row.created_ms;
        s->thread.head       = s->row.node;
        to[n++]              = (struct wl_change){.kind = WL_SET_THREAD, .thread = &s->thread};
    }
    to[n++] = (struct wl_change){.kind = WL_ADD_RUN, .run = &s->row};
    to[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {s->row.node, {{0}}, s->row.id}};
    if (s->what->key.p)
        to[n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &s->key};
    return n;
}

/* The caller waits for the turn: the tree stays until wr_leave. */
static int want_turn(const struct wr_start *w, struct wr_run *run, struct upp_err *err)
{
    if (!w->wants_turn)
        return 0;
    struct wr_tree    *t = run->tree;
    struct wr_outcome *o = wb_arena_alloc(&t->memory, sizeof *o, _Alignof(struct wr_outcome));
    if (!o)
        return wb_arena_check(&t->memory, err);
    o->told    = false; /* and then the rest is set */
    o->turn    = NULL;
    t->outcome = o;
    return 0;
}

static struct wr_tree *wanted(struct wr_run *run)
{
    if (!run->tree->outcome)
        return NULL;
    run->tree->refs++;
    return run->tree;
}

static WEFT_SUSPENDS int commit_start(struct starting *s, struct wr_started *ret, struct upp_err *err)
{
    struct wr_run *run;
    int            r = fill_row(s, err);
    if (r >= 0)
        r = make_run(s, false, &run, err);
    if (r < 0)
        return r;
    r = draft_start(s->what, s->notice, run, err);
    if (r >= 0)
        r = want_turn(s->what, run, err);
    if (r >= 0)
        r = wr_launch(run, err);
    if (r < 0) {
        wr_run_free(run);
        return r;
    }
    if (s->fresh.n) { /* there is no history to be read */
        run->loaded = true;
        r           = run->pub.input ? wr_mine_add(run, run->pub.input, err) : 0;
    }
    s->key.object = s->row.id;
    struct wl_change changes[WR_MORE];
    struct wr_more   more = {changes, start_changes(s, changes)};
    *ret                  = (struct wr_started){.run = s->row.id, .thread = s->thread.id};
    wb_crashpoint("c1.before");
    if (r >= 0)
        r = wr_flush(run, &more, err);
    wb_crashpoint("c1.after");
    if (r >= 0) {
        s->engine->counts.started++;
        ret->tree = wanted(run);
    }
    s->again = r == -UPP_EBUSY;
    wr_go(run, r >= 0);
    return r < 0 ? r : 0;
}

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* 1: an earlier request with this key made the run. */
static WEFT_SUSPENDS int join_key(struct starting *s, struct wr_started *ret, struct upp_err *err)
{
    const struct wr_start *w     = s->what;
    struct wl_store       *store = s->engine->store;
    struct wl_key          had;
    if (!w->key.p)
        return 0;
    s->key = (struct wl_key){.route = w->route, .key = w->key, .created_ms = wb_wall_ms()};
    memcpy(s->key.body, w->body, sizeof s->key.body);
    int r = store->ops->key(store, &w->owner, w->route, w->key, &had, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r < 0)
        return r;
    if (memcmp(had.body, w->body, sizeof had.body) != 0)
        return upp_fail(err, UPP_EREFUSED, "the idempotency key was used with another request");
    struct wm_run run;
    r = store->ops->run(store, &w->owner, had.object, &s->memory, &run, err);
    if (r < 0)
        return r;
    *ret = (struct wr_started){.run = run.id, .thread = run.thread, .joined = true, .queued = run.status == WM_QUEUED};
    return 1;
}

/* ---- A second input ------------------------------------------------------------------------------------------- */

static int refuse(const struct starting *s, struct upp_err *err)
{
    char id[WB_UUID_HEX + 1], thread[WB_UUID_HEX + 1];
    wb_uuid_hex(s->busy, id);
    wb_uuid_hex(s->thread.id, thread);
    return upp_fail(err, UPP_EBUSY, "thread thread_%s already has an active run run_%s", thread, id);
}

/* The input of a queued run waits in its row: the node belongs to another one. */
static int queued_options(struct starting *s, struct wb_buf *out, struct upp_err *err)
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
    wj_write_name(&j, UPP_STR("who"));
    wj_write_str(&j, w->who);
    if (w->options.p) {
        wj_write_name(&j, UPP_STR("options"));
        wj_write_raw(&j, w->options.p, w->options.n);
        j.comma = true;
    }
    wj_write_close(&j, '}');
    return wj_writer_check(&j);
}

static WEFT_SUSPENDS int enqueue(struct starting *s, struct wr_started *ret, struct upp_err *err)
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
        r = fill_row(s, err);
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

/* Its place is ours when it has ended, not that of the first in the queue. */
static WEFT_SUSPENDS int stop_holder(struct starting *s, struct wm_run *holder, struct upp_err *err)
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
static bool leave_holder(struct starting *s)
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
static WEFT_SUSPENDS void go_on(struct wr_engine *e, const struct wr_start *what)
{
    struct upp_err why;
    if (wr_start_next(e, &what->owner, what->thread, &why) < 0)
        wr_look_soon(e);
}

/* Which tools ran in what is rolled back: nothing is deleted, and nothing is hidden. */
static WEFT_SUSPENDS int rollback_notice(struct starting *s, const struct wm_run *holder, struct upp_err *err)
{
    struct wl_store                      *store = s->engine->store;
    WB_CLEANUP(wb_buf_done) struct wb_buf b     = WB_BUF(1u << 20);
    struct wj_writer                      j;
    char                                  id[WB_UUID_HEX + 1];
    wj_writer_init(&j, &b, err);
    wj_write_open(&j, '{');
    wj_write_name(&j, UPP_STR("type"));
    wj_write_str(&j, UPP_STR("rollback"));
    wj_write_name(&j, UPP_STR("run"));
    wj_write_str(&j, wb_uuid_hex(holder->id, id));
    wj_write_name(&j, UPP_STR("tools"));
    wj_write_open(&j, '[');
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
    int r = wj_writer_check(&j);
    if (r >= 0) {
        s->notice = wb_arena_dup(&s->memory, wb_buf_str(&b));
        r         = wb_arena_check(&s->memory, err);
    }
    return r;
}

/* Cancels what holds the thread, and goes on after it, or from before its input. */
static WEFT_SUSPENDS int take_over(struct starting *s, struct upp_err *err)
{
    struct wm_run holder;
    uint32_t      version = s->thread.version;
    int           r       = stop_holder(s, &holder, err);
    if (r >= 0)
        r = find_thread(s, err);
    if (r < 0)
        return r;
    s->again = !is_zero(s->busy) || s->thread.version != version;
    if (s->again)
        return upp_fail(err, UPP_EBUSY, "somebody else was first");
    if (s->what->on_busy != WR_ROLLBACK)
        return 0;
    r = rollback_notice(s, &holder, err);
    if (r >= 0)
        r = branch_off(s, WB_MIN(holder.input, wl_thread_length(&s->thread, s->end.length)), err);
    if (r < 0)
        return r;
    wb_crashpoint("rollback");
    s->busy = (struct wb_uuid){{0}};
    return 0;
}

/* Is a run queued on a thread that nobody holds? It is about to start, and no later input comes before it. */
static WEFT_SUSPENDS int find_queued(struct starting *s, bool *ret, struct upp_err *err)
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

static WEFT_SUSPENDS int try_busy(struct starting *s, struct wr_started *ret, struct upp_err *err)
{
    bool queued;
    int  r;
    switch (s->what->on_busy) {
    case WR_ENQUEUE:
        r = is_zero(s->busy) ? find_queued(s, &queued, err) : 0;
        return r < 0 || is_zero(s->busy) ? r : (r = enqueue(s, ret, err)) < 0 ? r : 1;
    case WR_INTERRUPT:
    case WR_ROLLBACK:
        return is_zero(s->busy) ? 0 : take_over(s, err);
    default:
        if (!is_zero(s->busy))
            return refuse(s, err);
        r = find_queued(s, &queued, err);
        if (r >= 0 && queued) /* whoever should start it may have failed to */
            r = wr_start_next(s->engine, &s->what->owner, s->thread.id, err);
        return r < 0 || !queued ? r : refuse(s, err);
    }
}

/* The key is looked for after the thread: who is refused because of a run knows whether the run is its own. */
static WEFT_SUSPENDS int try_start(struct starting *s, struct wr_started *ret, struct upp_err *err)
{
    int r = find_thread(s, err);
    if (r >= 0)
        r = join_key(s, ret, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = try_busy(s, ret, err);
    if (r == 0)
        r = leave_head(s, err);
    if (r == 0)
        r = commit_start(s, ret, err);
    return r < 0 ? r : 0;
}

/* ---- Without a store ------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int start_alone(struct wr_engine *e, const struct wr_start *w, struct wr_started *ret,
                                     struct upp_err *err)
{
    struct wm_run   row;
    struct wr_tree *t;
    struct wr_run  *run;
    int             r = new_row(e, w, 0, &row, err);
    if (r < 0)
        return r;
    row.thread = row.id; /* one id is enough where nothing is stored */
    row.node   = wm_key(row.id);
    r          = wr_tree_new(e, &w->owner, row.id, &t, err);
    if (r >= 0)
        r = run_in(t, &row, &run, err);
    if (r < 0)
        return r;
    run->loaded = true;
    r           = want_turn(w, run, err);
    if (r >= 0)
        r = draft_start(w, (struct upp_str){0}, run, err);
    for (size_t i = 0; r >= 0 && i < w->n_history; i++) {
        r = wr_path_add(run, w->history[i], err);
        for (const struct upp_part *p = NULL; r >= 0 && (p = upp_part_next(w->history[i], p, UPP_PARTS_CALLS));)
            r = wr_ids_add(&run->ids, p->id, err);
    }
    run->n_history = w->n_history;
    if (r >= 0 && run->pub.input)
        r = wr_mine_add(run, run->pub.input, err);
    if (r >= 0)
        r = w->here ? wr_launch_here(run, err) : wr_launch(run, err);
    if (r < 0) {
        wr_run_free(run);
        return r;
    }
    e->counts.started++;
    *ret = (struct wr_started){.run = row.id, .thread = row.thread, .tree = wanted(run)};
    if (w->here)
        wr_work_here(run);
    else
        wr_go(run, true);
    return 0;
}

/* ---- The door --------------------------------------------------------------------------------------------------- */

int wr_start(struct wr_engine *e, const struct wr_start *what, struct wr_started *ret, struct upp_err *err)
{
    if (!wr_agent(e, what->agent))
        return upp_fail(err, UPP_ENOTFOUND, "no agent '%.*s'", UPP_FMT(what->agent));
    if (what->key.p && !what->body)
        return upp_fail(err, UPP_EBUG, "an idempotency key without the hash of a body");
    if (!e->store)
        return start_alone(e, what, ret, err);
    bool owed = false; /* in this try or an earlier one */
    for (unsigned tries = 0;; tries++) {
        struct starting s = {.engine = e, .what = what, .memory = WB_ARENA(64u << 20)};
        int             r = try_start(&s, ret, err);
        owed              = leave_holder(&s) || owed;
        wb_arena_done(&s.memory);
        if (r >= 0 || !s.again || tries >= WR_RETRIES) {
            if (owed && (r < 0 || ret->joined))
                go_on(e, what);
            return r < 0 ? r : 0;
        }
    }
}

/* ---- Queued runs --------------------------------------------------------------------------------------------------
 */

/* The input and the options of a queued run, out of its row. */
static int read_queued(struct starting *s, const struct wm_run *row, struct wr_start *what, struct upp_message *input,
                       struct upp_err *err)
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
    if (r >= 0 && options) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(16u << 20);
        r                                       = wj_write(options, &b, err);
        what->options                           = wb_arena_dup(&s->memory, wb_buf_str(&b));
    }
    return r < 0 ? r : wb_arena_check(&s->memory, err);
}

/* C5: a queued run takes the node. */
static WEFT_SUSPENDS int start_queued(struct starting *s, const struct wm_run *row, struct upp_err *err)
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
    int r             = make_run(s, true, &run, err);
    if (r < 0)
        return r;
    run->tree->run = run;
    r              = draft_start(s->what, s->notice, run, err);
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

static WEFT_SUSPENDS int try_next(struct starting *s, struct wr_start *what, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    struct wm_run   *live;
    size_t           n;
    int              r = find_thread(s, err);
    if (r < 0 || !is_zero(s->busy))
        return r;
    r = store->ops->runs(store, &what->owner, what->thread, true, 1, &s->memory, &live, &n, err);
    if (r < 0 || !n || live[0].status != WM_QUEUED)
        return r;
    struct upp_message input;
    r = read_queued(s, &live[0], what, &input, err);
    if (r >= 0)
        r = leave_head(s, err);
    return r < 0 ? r : start_queued(s, &live[0], err);
}

int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread, struct upp_err *err)
{
    for (unsigned tries = 0;; tries++) {
        struct wr_start what = {.owner = *o, .thread = thread};
        struct starting s    = {.engine = e, .what = &what, .memory = WB_ARENA(64u << 20)};
        int             r    = try_next(&s, &what, err);
        wb_arena_done(&s.memory);
        if (r != -UPP_EBUSY || tries == WR_RETRIES)
            return r == -UPP_EBUSY ? 0 : r; /* whoever was first looks for the next one in the end */
    }
}
