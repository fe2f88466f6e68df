/* run/reader.c — a cursor over the events of a run tree: stored rows, cached rows, the open message.
 *
 * All three are expanded by the same code (model/row.h), so every later reader sees what a live reader saw. A reader
 * that falls behind the tree's cache reads the store; it never slows the run.
 */
#include <string.h>

#include "base/hooks.h"
#include "base/vec_add.h"
#include "run/engine_state.h"
#include "run/ask/open_message.h"
#include "run/run.h"

enum {
    MAX_RUNS = 65536,                  /* of a tree, that work at the same time */
    MAX_RESULTS = WR_CALLS * WR_CALLS, /* of one step: of each model call that a step may have, all tools */
    BATCH_ROWS = 16,
};

/* ---- Through the store ---------------------------------------------------------------------------------------- */

/* A cursor over the rows of one node. The events of a tree are spread over the nodes of its runs: the next number is in
 * exactly one of them. */
struct node_cursor {
    uint64_t node, from; /* position of the next row to be read */
    struct wb_uuid run;
    struct wb_arena memory;
    struct wl_rows rows;
    size_t i;
    uint64_t ahead; /* number of the first event of row i, which was read too early; 0: it was not read */
    bool over;      /* what was read is all that there is: the run has ended, or a row of another one follows */
};

struct wr_stored {
    WB_VEC(struct node_cursor *) cursors;
};

static void stored_free(struct wr_stored *s)
{
    for (size_t i = 0; s && i < s->cursors.n; i++) {
        wb_arena_done(&s->cursors.p[i]->memory);
        wb_free(s->cursors.p[i]);
    }
    if (s)
        wb_vec_done(&s->cursors);
    wb_free(s);
}

static int add_cursor(struct wr_stored *s, uint64_t node, uint64_t from, struct wb_uuid run, struct upp_err *err)
{
    for (size_t i = 0; i < s->cursors.n; i++) /* one per run */
        if (s->cursors.p[i]->node == node)
            return 0;
    struct node_cursor *w = wb_calloc(1, sizeof *w);
    if (!w)
        return upp_fail(err, UPP_ENOMEM, "no memory to read a child run");
    int r = wb_vec_add(&s->cursors, w, MAX_RUNS, "runs of one tree at the same time", err);
    if (r < 0) {
        wb_free(w);
        return r;
    }
    *w = (struct node_cursor){.node = node, .from = from, .run = run, .memory = WB_ARENA(WR_RUN_MEMORY)};
    return 0;
}

/* A run that has ended is read no more: a long run has had any number of sub-agents, but few work at the same time. */
static void drop_cursor(struct wr_stored *s, size_t i)
{
    struct node_cursor *w = s->cursors.p[i];
    wb_arena_done(&w->memory);
    wb_free(w);
    s->cursors.n--;
    memmove(&s->cursors.p[i], &s->cursors.p[i + 1], (s->cursors.n - i) * sizeof s->cursors.p[0]);
}

static WEFT_SUSPENDS int refill(struct wr_reader *rd, struct node_cursor *w, struct upp_err *err)
{
    struct wl_store *s = rd->tree->engine->store;
    if (w->i < w->rows.n)
        return 1;
    if (w->over)
        return 0;
    wb_arena_done(&w->memory);
    w->i = 0;
    w->rows = (struct wl_rows){0};
    struct wl_range range = {.node = w->node, .from = w->from, .to = UINT64_MAX >> 1, .max_rows = BATCH_ROWS};
    int r = wl_store_rows(s, &rd->tree->owner, &range, &w->memory, &w->rows, err);
    if (r < 0)
        return r;
    if (w->rows.n)
        w->from = w->rows.p[w->rows.n - 1].pos + 1;
    return w->rows.n > 0;
}

/* A reader that waits for the next event of a message holds no rows. */
static void stored_rest(struct wr_stored *s)
{
    for (size_t i = 0; s && i < s->cursors.n; i++) {
        struct node_cursor *w = s->cursors.p[i];
        if (w->i < w->rows.n)
            continue;
        wb_arena_done(&w->memory);
        w->rows = (struct wl_rows){0};
        w->i = 0;
    }
}

static void source_of(struct wr_reader *rd, const struct wm_run *run, uint32_t epoch);

/* The runs that begin with this row, and whether its own one ends with it. */
static int follow_row(struct wr_reader *rd, struct node_cursor *w, struct upp_err *err)
{
    for (size_t i = 0; i < rd->row.n_records; i++) {
        const struct wm_event *ev = &rd->row.records[i];
        if (ev->kind == WM_RUN && wm_status_ended(ev->run.status))
            w->over = true;
        if (ev->kind != WM_TOOL_STARTED || !ev->tool_started.child_node)
            continue;
        int r = add_cursor(rd->stored, ev->tool_started.child_node, 0, ev->tool_started.child, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* Advances to the row that holds the next number. 1: it is in rd->row. 0: this node does not have it, or a row that was
 * passed over has begun other runs, which come first. */
static WEFT_SUSPENDS int advance(struct wr_reader *rd, struct node_cursor *w, struct upp_err *err)
{
    size_t had = rd->stored->cursors.n;
    for (int r; rd->stored->cursors.n == had && (r = refill(rd, w, err)) != 0;) {
        if (r < 0)
            return r;
        const struct wl_row *stored = &w->rows.p[w->i];
        uint64_t n = 0;
        if (rd->next < w->ahead)
            return 0;
        if (!wb_uuid_eq(stored->run, w->run)) {
            w->over = true;
            w->i = w->rows.n;
            continue;
        }
        wb_arena_reset(&rd->memory);
        r = wm_row_read(&rd->memory, stored->format, stored->body, stored->tape, &rd->row, err);
        if (r >= 0)
            r = wm_row_events(&rd->row, &n, err);
        if (r < 0)
            return r;
        if (rd->row.event && rd->next < rd->row.event) {
            w->ahead = rd->row.event;
            return 0; /* another node has it */
        }
        w->ahead = 0;
        w->i++;
        r = follow_row(rd, w, err); /* also if the row itself was read from the cache */
        if (r < 0)
            return r;
        if (rd->row.event && rd->next < rd->row.event + n) {
            rd->expand = (struct wm_expand){.row = &rd->row, .index = wl_pos_index(stored->pos)};
            return 1;
        }
    }
    return 0;
}

/* Sets the source of the row that was found. */
static WEFT_SUSPENDS int set_row_source(struct wr_reader *rd, size_t cursor, struct upp_err *err)
{
    struct wm_run run = rd->run;
    struct wl_store *s = rd->tree->engine->store;
    int r = cursor ? wl_get_run(s, &rd->tree->owner, rd->stored->cursors.p[cursor]->run, &rd->memory, &run, err) : 0;
    if (r < 0)
        return r;
    if (rd->row.agent.n) /* the run was handed over */
        run.agent = rd->row.agent;
    source_of(rd, &run, rd->row.epoch);
    return 1;
}

/* Reads the row that holds the next number from the store. 1: rd->row is set. 0: there is none. */
static WEFT_SUSPENDS int from_store(struct wr_reader *rd, struct upp_err *err)
{
    if (!rd->stored) {
        rd->stored = wb_calloc(1, sizeof *rd->stored);
        if (!rd->stored)
            return upp_fail(err, UPP_ENOMEM, "no memory for a reader");
        int r = add_cursor(rd->stored, rd->run.node, rd->run.first, rd->run.id, err);
        if (r < 0)
            return r;
    }
    struct wr_stored *s = rd->stored;
    for (size_t i = s->cursors.n; i-- > 0;) {
        struct node_cursor *w = s->cursors.p[i];
        size_t had = s->cursors.n;
        int r = advance(rd, w, err);
        if (r != 0)
            return r < 0 ? r : set_row_source(rd, i, err);
        if (s->cursors.n > had) /* a row that was passed over began them: to their ends first, so that they are few */
            i = s->cursors.n;
        else if (i > 0 && w->over && w->i == w->rows.n)
            drop_cursor(s, i);
    }
    return 0;
}

/* ---- The reader ------------------------------------------------------------------------------------------------- */

static void source_of(struct wr_reader *rd, const struct wm_run *run, uint32_t epoch)
{
    const struct wr_agent_def *agent = wr_agent(rd->tree->engine, run->agent);
    rd->from_row = (struct wm_source){.run = run->id,
                                      .root = rd->tree->root,
                                      .agent = run->agent,
                                      .node = run->node,
                                      .epoch = epoch,
                                      .depth = run->depth,
                                      .input = run->input};
    if (!agent || !wb_uuid_parse(agent->id, &rd->from_row.agent_id))
        rd->from_row.agent_id = WB_UUID_NIL;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

static struct wr_open_step *open_step(struct wr_reader *rd, struct wb_uuid run)
{
    for (size_t i = 0; i < rd->steps.n; i++)
        if (wb_uuid_eq(rd->steps.p[i].run, run))
            return &rd->steps.p[i];
    return NULL;
}

static int need_step(struct wr_reader *rd, struct wb_uuid run, struct wr_open_step **ret, struct upp_err *err)
{
    *ret = open_step(rd, run);
    if (*ret)
        return 0;
    struct wr_open_step fresh = {.run = run, .memory = WB_ARENA(WR_RUN_MEMORY)};
    int r = wb_vec_add(&rd->steps, fresh, MAX_RUNS, "runs of one tree at the same time", err);
    if (r >= 0)
        *ret = &rd->steps.p[rd->steps.n - 1];
    return r;
}

static void drop_step(struct wr_reader *rd, struct wr_open_step *step)
{
    wb_vec_done(&step->results);
    wb_arena_done(&step->memory);
    *step = rd->steps.p[--rd->steps.n];
}

static int copy_result(struct wr_open_step *step, const struct wm_event *ev, struct upp_err *err)
{
    struct wb_arena *a = &step->memory;
    struct wm_event *copy = wb_new(a, struct wm_event);
    if (!copy)
        return wb_arena_check(a, err);
    *copy = (struct wm_event){
        .kind = WM_TOOL_ENDED,
        .call = {.id = wb_arena_dup(a, ev->call.id), .name = wb_arena_dup(a, ev->call.name)},
        .tool_ended = {.result = wb_arena_dup(a, ev->tool_ended.result), .outcome = ev->tool_ended.outcome}};
    int r = wb_arena_check(a, err);
    return r < 0 ? r : wb_vec_add(&step->results, copy, MAX_RESULTS, "results in one step", err);
}

/* A message of results refers to records of this row and of earlier ones of its step. */
static int join_results(struct wr_reader *rd, struct upp_err *err)
{
    struct wr_open_step *step = open_step(rd, rd->from_row.run);
    for (size_t i = 0; i < rd->row.n_records; i++) {
        if (rd->row.records[i].kind != WM_TOOL_ENDED)
            continue;
        int r = step ? 0 : need_step(rd, rd->from_row.run, &step, err);
        if (r >= 0)
            r = copy_result(step, &rd->row.records[i], err);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < rd->row.n_entries; i++) {
        const struct wm_event *const *ended = step ? (const struct wm_event *const *)step->results.p : NULL;
        int r = wm_entry_join(&rd->memory, &rd->row.entries[i], ended, step ? step->results.n : 0, err);
        if (r < 0)
            return r;
    }
    return 0;
}

/* After its end a step has no results to refer to; a run that has ended has no step. With a step of the root end all
 * runs below it, also those that could not say so. */
static void leave_step(struct wr_reader *rd)
{
    bool over = false;
    for (size_t i = 0; i < rd->row.n_records; i++) {
        const struct wm_event *ev = &rd->row.records[i];
        over = over || ev->kind == WM_STEP_END || (ev->kind == WM_RUN && wm_status_ended(ev->run.status));
    }
    if (!over)
        return;
    struct wr_open_step *step = open_step(rd, rd->from_row.run);
    if (step)
        drop_step(rd, step);
    while (!rd->from_row.depth && rd->steps.n)
        drop_step(rd, &rd->steps.p[rd->steps.n - 1]);
    while (!rd->from_row.depth && rd->stored && rd->stored->cursors.n > 1)
        drop_cursor(rd->stored, rd->stored->cursors.n - 1);
}

static int note_step(struct wr_reader *rd, const struct wm_event *ev, struct upp_err *err)
{
    struct wr_open_step *step;
    int r = need_step(rd, ev->from->run, &step, err);
    if (r >= 0)
        step->id = ev->step_start.id;
    return r;
}

static int begin_row(struct wr_reader *rd, struct upp_err *err)
{
    const struct wr_open_step *step = open_step(rd, rd->from_row.run);
    rd->from_lost = rd->from_row;
    rd->from_lost.epoch = rd->row.epoch - 1;
    rd->expand.from = &rd->from_row;
    rd->expand.from_lost = &rd->from_lost;
    rd->expand.number = rd->row.event;
    rd->expand.memory = &rd->memory;
    if (step)
        rd->expand.step_id = step->id;
    rd->open = NULL;
    int r = join_results(rd, err);
    if (r >= 0)
        r = wm_expand_pass(&rd->expand, rd->next + (rd->row.lost ? rd->n_voided : 0), err);
    rd->n_voided = 0;
    rd->has_row = r >= 0;
    return r;
}

static int from_cache(struct wr_reader *rd, struct upp_err *err)
{
    struct wr_tree *t = rd->tree;
    for (struct wb_link *l = t->cached.prev; l != &t->cached; l = l->prev) {
        struct wr_cached_row *k = wb_item(l, struct wr_cached_row, link);
        if (rd->next < k->at.number || !k->at.number)
            continue;
        if (rd->next >= k->at.number + k->events)
            return 0;
        wb_arena_reset(&rd->memory);
        int r = wm_row_read(&rd->memory, WM_FORMAT, k->body, k->tape, &rd->row, err);
        if (r < 0)
            return r;
        rd->expand = (struct wm_expand){.row = &rd->row, .index = k->index};
        rd->from_row = k->source->from;
        rd->from_row.epoch = k->at.epoch;
        return 1;
    }
    return 0;
}

static void begin_open(struct wr_reader *rd, struct wr_open *o)
{
    wb_arena_done(&rd->memory);
    stored_rest(rd->stored);
    rd->from_row = o->source->from;
    rd->from_row.epoch = o->epoch;
    rd->expand = (struct wm_expand){.from = &rd->from_row,
                                    .tape = &o->tape,
                                    .open = &o->entry,
                                    .index = o->index,
                                    .step = o->step,
                                    .number = o->number,
                                    .memory = &rd->memory};
    rd->open = o;
    rd->has_row = true;
}

void wr_readers_leave(struct wr_tree *t, const struct wr_open *o, bool is_void)
{
    wb_list_each (l, &t->readers) {
        struct wr_reader *rd = wb_item(l, struct wr_reader, link);
        if (rd->open != o)
            continue;
        rd->open = NULL;
        rd->has_row = false;
        if (is_void) {
            rd->n_voided = rd->next - o->number;
            rd->next = o->number;
        }
    }
}

/* Replaces the run's texts by copies that live as long as the tree. */
static int copy_run_texts(struct wr_reader *rd, struct upp_err *err)
{
    const struct wr_agent_def *agent = wr_agent(rd->tree->engine, rd->run.agent);
    const struct wr_source *source = wr_tree_source(rd->tree, &rd->run, agent ? agent->id : UPP_STR(""));
    if (!source)
        return upp_fail(err, UPP_ENOMEM, "no memory for a reader");
    rd->run.agent = source->from.agent;
    rd->run.call = rd->run.options = rd->run.error = (struct upp_str){0};
    return 0;
}

/* Whether the store may be read: it is waited for, which fibers alone can. */
static bool may_read(struct wr_reader *rd)
{
    rd->behind = !weft_fiber_self();
    return !rd->behind;
}

/* A run that was queued when the reader was opened: its node is known when it starts. 0: not yet. */
static WEFT_SUSPENDS int has_begun(struct wr_reader *rd, struct upp_err *err)
{
    struct wr_tree *t = rd->tree;
    struct wl_store *s = t->engine->store;
    if (!s || rd->run.status != WM_QUEUED)
        return 1;
    if (t->status == WM_QUEUED || !may_read(rd))
        return 0;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    int r = wl_get_run(s, &t->owner, t->root, &a, &rd->run, err);
    if (r < 0 || rd->run.status == WM_QUEUED)
        return r;
    if (!rd->run.started_ms) {
        rd->ended = true; /* cancelled before it began: it has no events */
        return 0;
    }
    r = copy_run_texts(rd, err);
    return r < 0 ? r : 1;
}

/* Finds the next event. 1: expanding has begun. 0: it has not happened yet. Not inlined: most steps do not need it. */
static WEFT_SUSPENDS __attribute__((noinline)) int find_next(struct wr_reader *rd, struct upp_err *err)
{
    struct wr_tree *t = rd->tree;
    bool live = t->run || t->open || t->n_cached;
    int r = has_begun(rd, err);
    if (r <= 0)
        return r;
    r = 0;
    if (live && t->open && rd->next >= t->open->number) {
        begin_open(rd, t->open);
        return 1;
    }
    if (!live || rd->next < t->next || wm_status_ended(t->status)) {
        r = from_cache(rd, err);
        if (r == 0 && t->engine->store)
            r = may_read(rd) ? from_store(rd, err) : 0;
        else if (r == 0 && rd->next < t->next)
            r = upp_fail(err, UPP_ELIMIT, "the reader is more than %d bytes behind", WR_CACHE_ALONE);
        if (r > 0) {
            r = begin_row(rd, err);
            r = r < 0 ? r : 1;
        }
    }
    return r;
}

static void note_event(struct wr_reader *rd, struct wm_event *ev)
{
    rd->next = ev->number + 1;
    if (ev->kind == WM_VOID && !rd->row.lost) /* a crash lost the attempt, or it was too large to store */
        ev->voided.unseen = rd->from.epoch + 1 == ev->from->epoch && rd->from.number >= ev->number;
    if (ev->kind != WM_RUN || ev->from->depth)
        return;
    rd->ended = wm_status_ended(ev->run.status);
    rd->waiting = ev->run.status == WM_WAITING;
}

static __attribute__((noinline)) void leave_row(struct wr_reader *rd)
{
    rd->has_row = false;
    leave_step(rd);
    wr_cache_trim(rd->tree);
}

/* One step: 1 an event, 0 nothing now, <0 failed. */
static WEFT_SUSPENDS int step(struct wr_reader *rd, struct wm_event *ev, struct upp_err *err)
{
    for (;;) {
        if (!rd->has_row) {
            int r = find_next(rd, err);
            if (r <= 0)
                return r;
            continue;
        }
        int r = wm_expand_next(&rd->expand, ev, err);
        if (r < 0)
            return r;
        if (r > 0) {
            bool lost = ev->from == &rd->from_lost; /* its numbers are used again */
            if (!lost && ev->number < rd->next)
                continue; /* returned before, while it was streaming */
            if (!lost)
                note_event(rd, ev);
            return ev->kind != WM_STEP_START || (r = note_step(rd, ev, err)) >= 0 ? 1 : r;
        }
        if (rd->open)
            return 0;
        leave_row(rd);
    }
}

/* The number of the first event in the cache. */
static uint64_t first_cached(const struct wr_tree *t)
{
    const struct wr_cached_row *k =
        wb_list_empty(&t->cached) ? NULL : wb_item(t->cached.next, struct wr_cached_row, link);
    return k ? k->at.number : t->next;
}

int wr_reader_open(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, const struct wr_from *from,
                   struct wr_reader **ret, struct upp_err *err)
{
    struct wr_reader *rd = wb_calloc(1, sizeof *rd);
    if (!rd)
        return upp_fail(err, UPP_ENOMEM, "no memory for a reader");
    rd->memory = (struct wb_arena)WB_ARENA(WR_RUN_MEMORY);
    rd->next = 1;
    rd->from = from ? *from : (struct wr_from){0};
    struct wr_tree *t = wr_tree_find(e, id);
    int r = 0;
    if (e->store) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
        r = wl_get_run(e->store, o, id, &a, &rd->run, err);
        if (r >= 0 && rd->run.depth)
            r = upp_fail(err, UPP_EINVALID, "a child run is read through its root");
        if (r >= 0 && rd->run.swept)
            r = upp_fail(err, UPP_ENOTFOUND, "the events of this run were swept: what it said is in its thread");
        if (r >= 0)
            r = wr_tree_get(e, o, &rd->run, &t, err);
        if (r >= 0) {
            rd->tree = t;
            if (rd->run.status == WM_QUEUED)
                rd->run = (struct wm_run){.status = WM_QUEUED};
            else if (!rd->run.started_ms)
                rd->ended = true; /* cancelled while it was queued */
            r = rd->ended || rd->run.status == WM_QUEUED ? 0 : copy_run_texts(rd, err);
            if (r < 0)
                wr_tree_unref(t);
        }
    } else if (!t)
        r = upp_fail(err, UPP_ENOTFOUND, "no such run works");
    else if (first_cached(t) > 1 && t->next > 1)
        r = upp_fail(err, UPP_ENOTFOUND, "the beginning of the run is gone: nothing was stored");
    else
        t->refs++;
    if (r < 0) {
        wb_free(rd);
        return r;
    }
    rd->tree = t;
    t->was_read = true;
    wb_list_push(&t->readers, &rd->link);
    e->counts.waiting_readers++;
    *ret = rd;
    return 0;
}

void wr_reader_close(struct wr_reader *rd)
{
    if (!rd)
        return;
    wb_unlink(&rd->link);
    rd->tree->asleep -= rd->asleep;
    rd->tree->engine->counts.waiting_readers--;
    wr_cache_trim(rd->tree);
    stored_free(rd->stored);
    wb_arena_done(&rd->memory);
    while (rd->steps.n)
        drop_step(rd, &rd->steps.p[rd->steps.n - 1]);
    wb_vec_done(&rd->steps);
    wr_tree_unref(rd->tree);
    wb_free(rd);
}

void wr_reader_closep(struct wr_reader **rd)
{
    wr_reader_close(*rd);
}

bool wr_is_left(struct wr_engine *e, struct wb_uuid root)
{
    const struct wr_tree *t = wr_tree_find(e, root);
    return !t || (t->was_read && wb_list_empty(&t->readers));
}

static bool has_failed(const struct wr_tree *t)
{
    return t->engine->store ? wr_failed_run_error(t->engine, t->root) < 0 : t->refused < 0;
}

static int waits_for_retry(struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "the store failed while this run worked");
    if (err)
        memcpy(err->cause, WL_IO, sizeof WL_IO);
    return r;
}

/* The result of a reader that finds no event now; the engine calls `wake` when there is one. */
static int wait_for_more(struct wr_reader *rd, bool to_wait, void (*wake)(void *arg), void *arg, struct upp_err *err)
{
    if (to_wait && rd->waiting)
        return 0; /* nothing came after its wait: it still waits */
    if (rd->next == 1 && wm_status_ended(rd->tree->status) && !rd->tree->run)
        return 0; /* cancelled while it was queued: it has no events */
    if (!rd->tree->run && has_failed(rd->tree))
        return waits_for_retry(err);
    rd->wake = wake;
    rd->arg = arg;
    rd->tree->asleep += !rd->asleep;
    rd->asleep = true;
    return -UPP_EBUSY;
}

int wr_reader_try(struct wr_reader *rd, bool to_wait, struct wm_event *ev, void (*wake)(void *arg), void *arg,
                  struct upp_err *err)
{
    if (rd->ended)
        return 0;
    rd->behind = false;
    uint64_t news;
    do { /* an event may come while the store is being read */
        news = rd->tree->news;
        int r = step(rd, ev, err);
        if (r != 0 || rd->ended)
            return r;
        if (rd->behind)
            return -UPP_EBUSY;
    } while (news != rd->tree->news);
    return wait_for_more(rd, to_wait, wake, arg, err);
}

bool wr_reader_behind(const struct wr_reader *rd)
{
    return rd->behind;
}

int wr_reader_load(struct wr_reader *rd, bool to_wait, void (*wake)(void *arg), void *arg, struct upp_err *err)
{
    rd->behind = false;
    uint64_t news;
    do {
        news = rd->tree->news;
        int r = rd->has_row ? 1 : find_next(rd, err);
        if (r != 0 || rd->ended)
            return r;
    } while (news != rd->tree->news);
    return wait_for_more(rd, to_wait, wake, arg, err);
}

int wr_reader_next(struct wr_reader *rd, bool to_wait, struct wm_event *ev, struct upp_err *err)
{
    for (;;) {
        int r = wr_reader_try(rd, to_wait, ev, NULL, NULL, err);
        if (r != -UPP_EBUSY)
            return r;
        r = weft_cond_wait(&rd->cond, err);
        if (r < 0)
            return r;
    }
}

uint32_t wr_reader_received(const struct wr_reader *rd, const struct wm_event *ev)
{
    const struct wr_from *from = &rd->from;
    bool lost = ev->from == &rd->from_lost;
    uint64_t number = lost && !from->epoch ? rd->row.event : ev->number; /* counts with its void */
    if (from->epoch && ev->from->epoch < from->epoch)
        return WR_RECEIVED_ALL;
    if (number > from->number || (from->epoch && ev->from->epoch > from->epoch))
        return 0;
    return number == from->number && from->part ? from->part : WR_RECEIVED_ALL;
}
