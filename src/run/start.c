/* run/start.c — C1: an input becomes a run, durably, before the caller gets its id.
 *
 * A start is one commit: thread, input, run, the hold on the node, the idempotency key. After a conflict with another
 * commit all of it is read again.
 */
#include "base/crash.h"
#include "fiber/loop.h"
#include "model/upp_json.h"
#include "run/engine_state.h"
#include "run/start.h"
#include "run/run.h"

/* ---- One attempt -------------------------------------------------------------------------------------------- */

enum { ID_TRIES = 10000 };

static bool is_home(const struct wr_engine *e, struct wb_uuid tree)
{
    return e->opts.homes <= 1 || wr_home(tree, e->opts.homes) == e->opts.home;
}

/* Ids are random: a few attempts give one. */
int wr_engine_thread_id(const struct wr_engine *e, struct wb_uuid *ret, struct upp_err *err)
{
    int r = wb_uuid_new(ret, err);
    for (unsigned i = 0; r >= 0 && !is_home(e, *ret); i++)
        r = i < ID_TRIES ? wb_uuid_new(ret, err) : upp_fail(err, UPP_EBUG, "no id of this engine's in %d", ID_TRIES);
    return r;
}

static int new_thread(struct wr_starting *s, struct upp_err *err)
{
    struct wl_thread_opts opts = s->what->made ? *s->what->made : (struct wl_thread_opts){.size = sizeof opts};
    int r = 0;
    if (wb_uuid_is_nil(opts.id))
        r = wr_engine_thread_id(s->engine, &opts.id, err);
    else if (!is_home(s->engine, opts.id))
        r = upp_fail(err, UPP_EBUG, "the new thread belongs to another engine");
    if (r >= 0)
        r = wl_thread_make(s->engine->store, &s->what->owner, &opts, &s->fresh, err);
    if (r < 0)
        return r;
    s->thread = s->fresh.thread;
    s->node = s->fresh.root;
    return 0;
}

int wr_start_thread(struct wr_starting *s, struct upp_err *err)
{
    struct wl_store *store = s->engine->store;
    const struct wl_owner *o = &s->what->owner;
    if (wb_uuid_is_nil(s->what->thread))
        return new_thread(s, err);
    int r = wl_get_thread(store, o, s->what->thread, &s->memory, &s->thread, err);
    if (r >= 0 && !is_home(s->engine, s->thread.tree))
        r = upp_fail(err, UPP_EBUG, "the thread belongs to another engine");
    if (r >= 0)
        r = wl_get_node(store, o, s->thread.head, &s->node, err);
    if (r >= 0)
        r = wl_node_end(store, o, s->thread.head, &s->end, err);
    return r < 0 ? r : wl_thread_busy(store, &s->thread, &s->node, &s->busy, err);
}

int wr_start_branch(struct wr_starting *s, uint32_t length, struct upp_err *err)
{
    int r = s->accepted ? wl_branch_make(&s->node, length, &s->branch, err)
                        : wl_branch(s->engine->store, &s->what->owner, &s->node, length, &s->branch, err);
    if (r < 0)
        return r;
    s->branched = true;
    s->node = s->branch;
    s->end = (struct wl_end){.time_ms = s->end.time_ms};
    s->thread.at = 0;
    return 0;
}

int wr_start_leave(struct wr_starting *s, struct upp_err *err)
{
    return s->thread.at ? wr_start_branch(s, wl_thread_length(&s->thread, s->end.length), err) : 0;
}

/* ---- Where it begins --------------------------------------------------------------------------------------- */

static bool ends_there(const struct wr_starting *s)
{
    const struct wr_start *w = s->what;
    return !w->node || (s->thread.head == w->node && wl_thread_length(&s->thread, s->end.length) == w->length);
}

/* A branch from the position. */
static WEFT_SUSPENDS int branch_there(struct wr_starting *s, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wl_store *o = s->engine->store;
    int r = wl_get_node(o, &w->owner, w->node, &s->node, err);
    if (r >= 0 && !wb_uuid_eq(s->node.tree, s->thread.tree))
        r = -UPP_ENOTFOUND;
    if (r >= 0)
        r = wl_node_end(o, &w->owner, w->node, &s->end, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && s->end.length < w->length))
        return upp_fail(err, UPP_EINVALID, "the thread's tree has no such position");
    return r < 0 ? r : wr_start_branch(s, w->length, err);
}

int wr_start_move(struct wr_starting *s, struct upp_err *err)
{
    return ends_there(s) ? 0 : branch_there(s, err);
}

/* A thread of its own, from the position. */
static WEFT_SUSPENDS int fork_there(struct wr_starting *s, struct upp_err *err)
{
    struct wl_thread from = s->thread;
    int r = wl_fork_make(&from, s->what->node, s->what->length, &s->memory, &s->thread, err);
    if (r >= 0)
        r = branch_there(s, err);
    s->busy = WB_UUID_NIL;
    s->forked = true;
    return r;
}

/* wr_start_busy, and then the position where the run begins (wr_start.node). */
WEFT_SUSPENDS static int find_place(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    bool here = ends_there(s);
    bool queued = false;
    int r = w->node ? wr_start_has_queue(s, &queued, err) : 0;
    if (r < 0)
        return r;
    if (w->forks && (!here || queued || !wb_uuid_is_nil(s->busy)))
        return fork_there(s, err);
    if (here && (!w->node || wb_uuid_is_nil(w->ends))) /* a run that ends writes behind the position */
        return wr_start_busy(s, w->on_busy, ret, err);
    r = queued ? wr_start_refuse(s, err) : wr_start_busy(s, WR_REJECT, ret, err); /* the queue waits for the end */
    return r != 0 ? r : wr_start_move(s, err);
}

/* The row of a new run, without its position. */
static int new_row(struct wr_engine *e, const struct wr_start *w, int64_t after_ms, struct wm_run *ret,
                   struct upp_err *err)
{
    struct wb_uuid id;
    int r = wb_uuid_new(&id, err);
    if (r < 0)
        return r;
    int64_t now = weft__loop_wall_ms(e->loop);
    now = WB_MAX(now, after_ms);
    *ret = (struct wm_run){.id = id,
                           .root = id,
                           .status = WM_RUNNING,
                           .engine = e->id,
                           .epoch = 1,
                           .durability = w->durability ? w->durability : e->opts.durability,
                           .agent = w->agent,
                           .options = w->options,
                           .created_ms = now,
                           .started_ms = now};
    return 0;
}

int wr_start_row(struct wr_starting *s, struct upp_err *err)
{
    int r = new_row(s->engine, s->what, s->end.time_ms, &s->row, err);
    if (s->forked && s->what->fork_options.p)
        s->row.options = s->what->fork_options;
    s->row.thread = s->thread.id;
    s->row.node = s->node.key;
    s->row.first = s->end.pos;
    s->row.input = s->end.length + (s->notice.p != NULL);
    return r;
}

/* Makes the run in memory, in a tree that is new or (for a queued run) exists already. */
static int run_in(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret, struct upp_err *err)
{
    struct wr_run *run;
    int r = wr_run_new(t->engine, t, NULL, row, &run, err);
    wr_tree_unref(t);
    if (r < 0)
        return r;
    run->time_ms = row->started_ms;
    *ret = run;
    return 0;
}

/* A new run whose settings cannot be honoured does not begin. */
static int refuse_unfit(struct wr_run *run, struct upp_err *err)
{
    int code = run->unfit ? run->unfit->code : 0;
    if (!code)
        return 0;
    if (err)
        *err = *run->unfit;
    wr_run_free(run);
    return -code;
}

int wr_start_run(struct wr_starting *s, bool queued, struct wr_run **ret, struct upp_err *err)
{
    struct wr_tree *t;
    int r = queued ? wr_tree_get(s->engine, &s->what->owner, &s->row, &t, err)
                   : wr_tree_new(s->engine, &s->what->owner, s->row.id, &t, err);
    if (r < 0)
        return r;
    if (t->run) {
        wr_tree_unref(t);
        return upp_fail(err, UPP_EBUSY, "somebody else starts the run");
    }
    r = run_in(t, &s->row, ret, err);
    if (r >= 0 && !queued)
        r = refuse_unfit(*ret, err);
    if (r >= 0)
        (*ret)->end = s->end;
    return r;
}

static int draft_notice(struct wr_run *run, struct upp_str notice, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return wr_draft_failed(run, err);
    e->kind = WM_ENTRY_EVENT;
    e->step = 0;
    e->data = wb_arena_dup(&run->memory, notice);
    return wb_arena_check(&run->memory, err);
}

static int draft_input(struct wr_run *run, const struct upp_message *input, struct upp_str who, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(run, err);
    if (!e)
        return wr_draft_failed(run, err);
    e->origin = WM_ORIGIN_CLIENT;
    e->step = 0;
    e->who = wb_arena_dup(&run->memory, who);
    int r = wm_message_copy(&run->memory, input, &e->message, err);
    if (r < 0)
        return r;
    e->message.time_ms = run->time_ms; /* the run's */
    e->message.time_text = (struct upp_str){0};
    if (e->message.role != UPP_ROLE_USER) /* tool results: there is no question */
        return 0;
    struct upp_message *m = wb_new(&run->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&run->memory, err);
    *m = e->message;
    run->pub.input = m;
    return 0;
}

int wr_start_draft(const struct wr_start *w, struct upp_str notice, struct wr_run *run, struct upp_err *err)
{
    int r = notice.p ? draft_notice(run, notice, err) : 0;
    if (r >= 0 && w->input)
        r = draft_input(run, w->input, w->who, err);
    struct wm_event *ev = r >= 0 ? wr_draft_record(run, WM_RUN, err) : NULL;
    if (!ev)
        return r < 0 ? r : wr_draft_failed(run, err);
    ev->run.status = WM_RUNNING;
    ev->step = 0;
    return 0;
}

int wr_start_before(struct wr_starting *s, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    if (!w->n_before)
        return 0;
    int64_t now = WB_MAX(weft__loop_wall_ms(s->engine->loop), s->end.time_ms);
    int r = wl_row_of(w->before, w->n_before, s->node.key, &s->end, now, &s->before_body, &s->before, err);
    if (r < 0)
        return r;
    s->end.pos = wl_pos_next(s->end.pos, s->before.n_entries);
    s->end.length += s->before.n_entries;
    s->end.time_ms = now;
    return 0;
}

size_t wr_start_alias(struct wr_starting *s, struct wl_change *to)
{
    size_t n = 0;
    if (!s->what->alias.p)
        return 0;
    s->alias = (struct wl_alias){.kind = WL_ALIAS_RUN, .text = s->what->alias, .object = s->row.id};
    if (s->stale)
        to[n++] = (struct wl_change){.kind = WL_DROP_ALIAS, .alias = &s->alias};
    to[n++] = (struct wl_change){.kind = WL_ADD_ALIAS, .alias = &s->alias};
    return n;
}

/* The other changes of a start. The thread is made, or becomes the newest (and moves to a branch). */
static size_t start_changes(struct wr_starting *s, struct wl_change to[WR_MORE])
{
    size_t n = 0;
    for (size_t i = 0; i < s->fresh.n; i++)
        to[n++] = s->fresh.changes[i];
    if (s->branched)
        to[n++] = (struct wl_change){.kind = WL_ADD_NODE, .node = &s->branch};
    if (s->what->n_before)
        to[n++] = (struct wl_change){.kind = WL_ADD_ROW, .row = &s->before};
    if (s->forked) {
        s->thread.updated_ms = wl_list_time(s->engine->store, s->row.created_ms);
        s->thread.head = s->row.node;
        s->thread.at = 0;
        to[n++] = (struct wl_change){.kind = WL_ADD_THREAD, .thread = &s->thread};
    } else if (!s->fresh.n) {
        s->thread.updated_ms = wl_list_time(s->engine->store, s->row.created_ms);
        s->thread.head = s->row.node;
        to[n++] = (struct wl_change){.kind = WL_SET_THREAD, .thread = &s->thread};
    }
    to[n++] = (struct wl_change){.kind = WL_ADD_RUN, .run = &s->row};
    to[n++] = (struct wl_change){.kind = WL_HOLD_NODE, .hold = {s->row.node, {{0}}, s->row.id}};
    if (s->what->key.p)
        to[n++] = (struct wl_change){.kind = WL_ADD_KEY, .key = &s->key};
    return n + wr_start_alias(s, to + n);
}

int wr_outcome_request(struct wr_run *run, const struct wr_watch *watch, struct upp_err *err)
{
    struct wr_tree *t = run->tree;
    struct wr_outcome *o = wb_arena_alloc(&t->memory, sizeof *o, _Alignof(struct wr_outcome));
    if (!o)
        return wb_arena_check(&t->memory, err);
    o->set = false; /* the other members are set with it */
    o->turn = NULL;
    o->watch = watch;
    t->outcome = o;
    return 0;
}

static int want_turn(const struct wr_start *w, struct wr_run *run, struct upp_err *err)
{
    return w->wants_turn ? wr_outcome_request(run, w->watch, err) : 0;
}

struct wr_tree *wr_outcome_tree(struct wr_run *run)
{
    if (!run->tree->outcome)
        return NULL;
    run->tree->refs++;
    return run->tree;
}

static WEFT_SUSPENDS int commit_start(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    struct wr_run *run;
    int r = wr_start_before(s, err);
    if (r >= 0)
        r = wr_start_row(s, err);
    if (r >= 0)
        r = wr_start_run(s, false, &run, err);
    if (r < 0)
        return r;
    r = wr_start_draft(s->what, s->notice, run, err);
    if (r >= 0)
        r = want_turn(s->what, run, err);
    if (r >= 0)
        r = wr_launch(run, err);
    if (r < 0) {
        wr_run_free(run);
        return r;
    }
    if (s->fresh.n && !s->what->n_before) { /* there is no history to load */
        run->loaded = true;
        r = run->pub.input ? wr_mine_add(run, run->pub.input, err) : 0;
    }
    wr_start_key(s);
    struct wl_change changes[WR_MORE];
    struct wr_more more = {changes, start_changes(s, changes)};
    *ret = (struct wr_started){.run = s->row.id, .thread = s->thread.id, .forked = s->forked, .row = s->row};
    wb_crashpoint("c1.before");
    if (r >= 0)
        r = wr_flush(run, &more, err);
    wb_crashpoint("c1.after");
    if (r >= 0) {
        s->engine->counts.started++;
        wr_note_run(run, WR_RUN_STARTED, NULL);
        ret->tree = wr_outcome_tree(run);
    }
    s->again = r == -UPP_EBUSY;
    wr_go(run, r >= 0);
    return r < 0 ? r : 0;
}

void wr_start_key(struct wr_starting *s)
{
    s->key.object = s->row.id;
    s->key.created_ms = s->row.created_ms;
}

/* ---- Keys ---------------------------------------------------------------------------------------------------- */

/* 1: an earlier request with this key started the run. */
static WEFT_SUSPENDS int join_key(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wl_store *store = s->engine->store;
    struct wl_key had;
    if (!w->key.p)
        return 0;
    s->key = (struct wl_key){.route = w->route, .key = w->key};
    memcpy(s->key.body, w->body, sizeof s->key.body);
    int r = wl_get_key(store, &w->owner, w->route, w->key, &had, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r < 0)
        return r;
    if (memcmp(had.body, w->body, sizeof had.body) != 0)
        return upp_fail(err, UPP_EREFUSED, "the idempotency key was used with another request");
    struct wm_run run;
    r = wl_get_run(store, &w->owner, had.object, &s->memory, &run, err);
    if (r < 0)
        return r;
    *ret = (struct wr_started){.run = run.id, .thread = run.thread, .joined = true, .queued = run.status == WM_QUEUED};
    return 1;
}

static WEFT_SUSPENDS int check_alias(struct wr_starting *s, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    struct wb_uuid id;
    struct wm_run run;
    s->stale = w->alias_moves;
    if (!w->alias.p || w->alias_moves)
        return 0;
    int r = wl_get_alias(s->engine->store, &w->owner, WL_ALIAS_RUN, w->alias, &id, err);
    if (r == -UPP_ENOTFOUND)
        return 0;
    if (r >= 0)
        r = wl_get_run(s->engine->store, &w->owner, id, &s->memory, &run, err);
    s->stale = r == -UPP_ENOTFOUND;
    if (r < 0)
        return s->stale ? 0 : r;
    r = upp_fail(err, UPP_EREFUSED, "there is a run '%.*s'", UPP_FMT(w->alias));
    if (err)
        memcpy(err->cause, WR_ALIAS_TAKEN, sizeof WR_ALIAS_TAKEN);
    return r;
}

/* A new thread cannot have the name of one that another request has just made. */
static WEFT_SUSPENDS int check_thread_alias(struct wr_starting *s, struct upp_err *err)
{
    const struct wl_alias *alias = &s->fresh.alias;
    struct wb_uuid id;
    if (!s->fresh.n || !alias->text.p)
        return 0;
    int r = wl_get_alias(s->engine->store, &s->what->owner, WL_ALIAS_THREAD, alias->text, &id, err);
    if (r < 0)
        return r == -UPP_ENOTFOUND ? 0 : r;
    r = upp_fail(err, UPP_EBUSY, "thread '%.*s' exists already", UPP_FMT(alias->text));
    if (err)
        memcpy(err->cause, WR_THREAD_TAKEN, sizeof WR_THREAD_TAKEN);
    return r;
}

/* Replaces the head's last entry, if it is still what the caller has seen. */
static int replace_last(struct wr_starting *s, struct upp_err *err)
{
    const struct wr_start *w = s->what;
    if (!w->at)
        return 0;
    if (s->thread.head != w->head || s->thread.at || s->end.length != w->at)
        return upp_fail(err, UPP_EREFUSED, "the thread has gone on meanwhile");
    s->thread.at = w->at; /* that is: without its last entry (wl_thread_length) */
    return 0;
}

/* ---- API keys --------------------------------------------------------------------------------------------------- */

/* The key is the first member of the stored options: found without parsing them. */
#define KEY_MEMBER "{\"" WR_KEY_MEMBER "\":\""

struct upp_str wr_run_key(const struct wm_run *row)
{
    struct upp_str head = UPP_STR(KEY_MEMBER), rest;
    if (!wb_str_starts(row->options, head))
        return (struct upp_str){NULL, 0};
    rest = wb_str_sub(row->options, head.n, SIZE_MAX);
    return wb_str_sub(rest, 0, wb_str_find(rest, UPP_STR("\""), 0));
}

void wr_quota_leave(struct wr_engine *e, const struct wl_owner *o, struct upp_str key, const struct upp_usage *usage)
{
    if (e->quota)
        e->quota->leave(e->quota->arg, o->tenant, key, usage);
}

void wr_engine_set_quota(struct wr_engine *e, const struct wr_quota *quota)
{
    e->quota = quota;
}

/* Puts the key in front of options. Keys are digits: nothing to escape. */
static struct upp_str note_key(struct upp_str options, struct upp_str key, struct wb_arena *a)
{
    struct upp_str rest = options.n > 2 ? wb_str_sub(options, 1, SIZE_MAX) : UPP_STR("}");
    return wb_arena_printf(a, KEY_MEMBER "%.*s\"%s%.*s", UPP_FMT(key), rest.n > 1 ? "," : "", UPP_FMT(rest));
}

/* Once per start, after it was checked that it is not the repetition of an earlier one. */
static WEFT_SUSPENDS int admit(struct wr_starting *s, struct upp_err *err)
{
    const struct wr_quota *q = s->engine->quota;
    if (!q || !s->what->api_key.n || *s->admitted)
        return 0;
    int r = q->admit(q->arg, s->what->api_key, err);
    *s->admitted = r >= 0;
    return r < 0 ? r : 0;
}

/* ---- One attempt, whole ------------------------------------------------------------------------------------------ */

/* Looks for the key after it has read the thread: a request must not be refused because of a run that it started
 * itself. */
static WEFT_SUSPENDS int try_start(struct wr_starting *s, struct wr_started *ret, struct upp_err *err)
{
    int r = wr_start_thread(s, err);
    if (r >= 0)
        r = join_key(s, ret, err);
    if (r != 0)
        return r < 0 ? r : 0;
    r = check_alias(s, err);
    if (r == 0)
        r = check_thread_alias(s, err);
    if (r == 0)
        r = admit(s, err);
    if (r == 0)
        r = find_place(s, ret, err);
    if (r == 0)
        r = replace_last(s, err);
    if (r == 0)
        r = wr_start_leave(s, err);
    if (r == 0)
        r = commit_start(s, ret, err);
    return r < 0 ? r : 0;
}

/* ---- Without a store ------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int start_alone(struct wr_engine *e, const struct wr_start *w, struct wr_started *ret,
                                     struct upp_err *err)
{
    struct wm_run row;
    struct wr_tree *t;
    struct wr_run *run;
    int r = new_row(e, w, 0, &row, err);
    if (r < 0)
        return r;
    row.thread = row.id; /* without a store one id is enough */
    row.node = wm_key(row.id);
    r = wr_tree_new(e, &w->owner, row.id, &t, err);
    if (r >= 0)
        r = run_in(t, &row, &run, err);
    if (r >= 0)
        r = refuse_unfit(run, err);
    if (r < 0)
        return r;
    run->loaded = true;
    r = run->def ? want_turn(w, run, err) : wr_no_agent(e, w->agent, err);
    if (r >= 0)
        r = wr_start_draft(w, (struct upp_str){0}, run, err);
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
    wr_note_run(run, WR_RUN_STARTED, NULL);
    *ret = (struct wr_started){.run = row.id, .thread = row.thread, .tree = wr_outcome_tree(run)};
    if (w->here)
        wr_work_here(run);
    else
        wr_go(run, true);
    return 0;
}

void wr_starting_done(struct wr_starting *s)
{
    wb_arena_done(&s->memory);
    wb_buf_done(&s->before_body);
    wb_buf_done(&s->queued);
}

/* ---- Entry point ------------------------------------------------------------------------------------------------ */

static WEFT_SUSPENDS int start_stored(struct wr_engine *e, const struct wr_start *what, struct wr_started *ret,
                                      struct upp_err *err)
{
    bool admitted = false;
    for (unsigned tries = 0;; tries++) {
        struct wr_starting s = WR_STARTING(e, what);
        s.admitted = &admitted;
        int r = try_start(&s, ret, err);
        wr_starting_done(&s);
        if (r >= 0 || !s.again || tries >= WR_RETRIES) {
            if (admitted && (r < 0 || ret->joined))
                wr_quota_leave(e, &what->owner, what->api_key, NULL);
            return r < 0 ? r : 0;
        }
    }
}

int wr_start(struct wr_engine *e, const struct wr_start *what, struct wr_started *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(32u << 20);
    struct wr_start with = *what;
    if (!e->store)
        return start_alone(e, what, ret, err);
    if (!wr_agent(e, what->agent))
        return wr_no_agent(e, what->agent, err);
    if (what->key.p && !what->body)
        return upp_fail(err, UPP_EBUG, "an idempotency key without the hash of a body");
    if (what->api_key.n)
        with.options = note_key(what->options, what->api_key, &a);
    if (what->api_key.n && what->fork_options.p)
        with.fork_options = note_key(what->fork_options, what->api_key, &a);
    int r = wb_arena_check(&a, err);
    if (r >= 0)
        r = start_stored(e, &with, ret, err);
    ret->row.agent = what->agent;
    ret->row.options = r >= 0 && ret->forked && what->fork_options.p ? what->fork_options : what->options;
    return r;
}
