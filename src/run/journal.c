/* run/journal.c — loads a run from the log: journal of the current step, state, executions; the path is in path.c. */
#include "base/hooks.h"
#include "base/vec_add.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/journal.h"
#include "run/middleware.h"
#include "run/path.h"
#include "run/step.h"
#include "run/run.h"

/* ---- The journal --------------------------------------------------------------------------------------- */

struct wr_call *wr_call_find(struct wr_run *run, struct upp_str id)
{
    for (size_t i = 0; i < run->journal.calls.n; i++)
        if (wb_str_eq(run->journal.calls.p[i]->id, id))
            return run->journal.calls.p[i];
    return NULL;
}

int wr_call_add(struct wr_run *run, struct upp_str id, struct wr_call **ret, struct upp_err *err)
{
    struct wr_call *c = wr_call_find(run, id);
    *ret = c;
    if (c)
        return 0;
    c = wb_new(&run->memory, struct wr_call);
    if (!c)
        return wb_arena_check(&run->memory, err);
    int r = wb_vec_add(&run->journal.calls, c, (size_t)WR_STEP_CALLS, "calls in one step", err);
    if (r < 0)
        return r;
    c->id = id;
    *ret = c;
    return 0;
}

/* A client has seen these arguments: they must not change. */
static int journal_pending(struct wr_run *run, const struct wm_pending *p, struct upp_err *err)
{
    if (!wb_uuid_eq(p->run, run->row.id))
        return 0;
    struct wr_call *c;
    int r = wr_call_add(run, p->call, &c, err);
    if (r < 0)
        return r;
    c->asked = true;
    c->begun = !p->approval;
    c->arguments = p->arguments;
    return 0;
}

/* A child's usage, for the adoption of the branch that called it: only the sum is right. */
static int journal_usage(struct wr_run *run, struct wr_call *c, const struct wm_event *ev, struct upp_err *err)
{
    if (!ev->tool_ended.model_calls)
        return 0;
    c->cycles = wb_new_n(&run->memory, struct upp_usage, ev->tool_ended.model_calls);
    if (!c->cycles)
        return wb_arena_check(&run->memory, err);
    c->cycles[0] = ev->tool_ended.usage;
    c->n_cycles = ev->tool_ended.model_calls;
    return 0;
}

static int journal_record(struct wr_run *run, const struct wm_event *ev, struct upp_err *err)
{
    struct wr_call *c;
    int r;
    switch (ev->kind) {
    case WM_TOOL_STARTED:
    case WM_TOOL_ENDED:
        r = wr_call_add(run, ev->call.id, &c, err);
        if (r < 0)
            return r;
        c->name = ev->call.name;
        if (ev->kind == WM_TOOL_STARTED) {
            c->state = WR_CALL_STARTED;
            c->begun = true;
            c->arguments = ev->tool_started.arguments;
            c->child = ev->tool_started.child;
            c->child_node = ev->tool_started.child_node;
            c->branch = wm_is_branch(ev);
        } else {
            c->state = WR_CALL_ENDED;
            c->outcome = ev->tool_ended.outcome;
            c->result = ev->tool_ended.result;
            c->ms = ev->tool_ended.ms;
            wm_usage_add(&run->step.usage, &ev->tool_ended.usage);
            run->step.below += (uint32_t)ev->tool_ended.model_calls;
            c->order = run->step.n_ended++;
        }
        return run->branch && ev->kind == WM_TOOL_ENDED ? journal_usage(run, c, ev, err) : 0;
    case WM_APPROVED:
        r = wr_call_add(run, ev->call.id, &c, err);
        if (r < 0)
            return r;
        c->approved = true;
        return 0;
    case WM_VOID:
        run->voids++;
        return 0;
    case WM_RUN:
        run->journal.pending.n = 0;
        for (size_t i = 0; i < ev->run.n_pending; i++) {
            r = wb_vec_add(&run->journal.pending, ev->run.pending[i], (size_t)WR_STEP_CALLS, "calls that wait", err);
            if (r >= 0)
                r = journal_pending(run, &ev->run.pending[i], err);
            if (r < 0)
                return r;
        }
        return 0;
    default:
        return 0;
    }
}

static size_t count_calls(const struct upp_message *m)
{
    size_t n = 0;
    for (const struct upp_part *p = NULL; (p = upp_part_next(m, p, UPP_PARTS_CALLS));)
        n += !p->cut;
    return n;
}

static int journal_reply(struct wr_run *run, struct wm_entry *e, const struct wm_row *row, struct upp_err *err)
{
    struct wr_journal_reply *journaled = wb_new(&run->memory, struct wr_journal_reply);
    if (!journaled)
        return wb_arena_check(&run->memory, err);
    int r = wb_vec_add(&run->journal.replies, journaled, (size_t)WR_CALLS, "messages of a model in one step", err);
    if (r < 0)
        return r;
    *journaled = (struct wr_journal_reply){
        .phase = e->phase, .reply = {.message = &e->message, .n_calls = count_calls(&e->message), .data = e->data}};
    for (size_t i = 0; i < row->n_records; i++)
        if (row->records[i].kind == WM_MESSAGE && row->records[i].message.entry == e) {
            journaled->reply.usage = row->records[i].message.usage;
            journaled->reply.stop = row->records[i].message.stop;
        }
    wm_usage_add(&run->step.usage, &journaled->reply.usage);
    run->voids = 0;
    return 0;
}

static int journal_entry(struct wr_run *run, const struct wm_row *row, struct wm_entry *e, struct upp_err *err)
{
    run->step.n_adopted += e->kind == WM_ENTRY_EVENT && e->phase.n && !wr_is_context(e);
    if (e->kind != WM_ENTRY_MESSAGE || e->origin != WM_ORIGIN_RUN || wr_is_context(e))
        return 0;
    int r = 0;
    if (e->audience == WM_AUDIENCE_RUN && e->message.role == UPP_ROLE_USER)
        r = wb_vec_add(&run->journal.prompted, e->phase, (size_t)WR_CALLS, "prompts in one step", err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < e->n_refs; i++) {
        struct wr_call *c = wr_call_find(run, e->refs[i]);
        if (c)
            c->on_path = true;
    }
    if (e->message.role != UPP_ROLE_ASSISTANT)
        return 0;
    run->step.open = run->step.dirty = true;
    return journal_reply(run, e, row, err);
}

/* One row of the current step. Records first: a message of results refers to them. */
static int journal_row(struct wr_run *run, const struct wm_row *row, struct upp_err *err)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < row->n_records; i++)
        r = journal_record(run, &row->records[i], err);
    for (size_t i = 0; r >= 0 && i < row->n_entries; i++)
        r = journal_entry(run, row, &row->entries[i], err);
    return r;
}

static bool ends_step(const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_records; i++)
        if (row->records[i].kind == WM_STEP_END)
            return true;
    return false;
}

/* The run's rows since its last step end, newest first, and the newest state. */
struct journal {
    WB_VEC(struct wm_row) rows;
    struct upp_str state;
    size_t newer; /* rows that came after the state */
    bool newest;  /* the newest row was seen */
};

static int journal_take(struct wr_run *run, struct journal *j, const struct wl_row *stored, bool *stop,
                        struct upp_err *err)
{
    struct wm_row row;
    int r = wm_row_read(&run->memory, stored->format, stored->body, stored->tape, &row, err);
    if (r < 0)
        return r;
    if (!j->newest) {
        j->newest = true;
        run->end.pos = wl_pos_next(stored->pos, stored->n_entries);
        run->end.length = wl_pos_index(stored->pos) + stored->n_entries;
        run->end.time_ms = row.time_ms;
    }
    if (row.state.p && !j->state.p) {
        j->state = row.state;
        j->newer = j->rows.n;
    }
    *stop = (ends_step(&row) && !run->whole) || stored->pos == run->row.first;
    if (ends_step(&row) && j->state.p && !run->whole)
        return 0;
    if (!wb_vec_push(&j->rows, row, 65536))
        return upp_fail(err, UPP_ENOMEM, "no memory for the journal");
    return 0;
}

static WEFT_SUSPENDS int read_journal(struct wr_run *run, struct journal *j, struct upp_err *err)
{
    struct wl_store *s = run->engine->store;
    uint64_t to = UINT64_MAX >> 1;
    for (bool stop = false; !stop;) {
        struct wl_range range = {
            .node = run->row.node, .from = run->row.first, .to = to, .backwards = true, .max_rows = 16};
        struct wl_rows rows;
        int r = wl_store_rows(s, &run->tree->owner, &range, &run->memory, &rows, err);
        if (r < 0)
            return r;
        for (size_t i = 0; i < rows.n && !stop; i++) {
            r = journal_take(run, j, &rows.p[i], &stop, err);
            if (r < 0)
                return r;
            to = rows.p[i].pos;
        }
        if (!rows.n || !rows.more)
            break;
    }
    return 0;
}

/* Adds usage that is newer than the state: of messages, and of children that ended since. */
static void count_newer(struct wr_run *run, const struct wm_row *row)
{
    for (size_t i = 0; i < row->n_records; i++) {
        const struct wm_event *ev = &row->records[i];
        if (ev->kind == WM_MESSAGE && ev->message.entry->message.role != UPP_ROLE_TOOL) {
            wm_usage_add(&run->pub.state.usage, &ev->message.usage);
            run->pub.state.cycles++;
        } else if (ev->kind == WM_TOOL_ENDED) {
            wm_usage_add(&run->pub.state.usage, &ev->tool_ended.usage);
            run->pub.state.cycles += (uint32_t)ev->tool_ended.model_calls;
        }
    }
}

static WEFT_SUSPENDS int load_journal(struct wr_run *run, struct upp_err *err)
{
    struct journal j = {.newer = SIZE_MAX};
    int r = read_journal(run, &j, err);
    if (r >= 0 && !j.newest)
        r = upp_fail(err, UPP_ESTORE, "the run has no rows");
    if (r >= 0 && j.state.p)
        r = wr_state_read(run, j.state, err);
    if (r >= 0 && run->handoff.becomes.n) { /* it was handed over */
        r = wr_become(run, run->handoff.becomes, err);
        run->handoff.becomes = (struct upp_str){0};
    }
    for (size_t i = j.rows.n; r >= 0 && i-- > 0;) {
        if (i < j.newer)
            count_newer(run, &j.rows.p[i]);
        r = journal_row(run, &j.rows.p[i], err);
    }
    wb_vec_done(&j.rows);
    return r;
}

/* ---- Executions ----------------------------------------------------------------------------------------------------
 *
 * Of a recovered run: messages have only the results of its calls. The arguments with which a tool was started, its
 * approval, its duration and the order in which calls ended are in the rows of the run, which are read once for it.
 */

static const struct upp_str denied = UPP_STR_INIT("\"Tool execution denied\"");

struct reading {
    struct wr_run *run;
    size_t n_ended; /* executions already in order, at the front */
};

static struct upp_execution *find_execution(struct reading *in, struct upp_str call)
{
    for (size_t i = in->n_ended; i < in->run->executions.n; i++)
        if (wb_str_eq(in->run->executions.p[i].id, call))
            return &in->run->executions.p[i];
    return NULL;
}

static void mark_started(struct reading *in, struct upp_execution *e, struct upp_str arguments)
{
    if (wb_str_trim(arguments).n)
        e->arguments = wb_arena_dup(&in->run->memory, arguments);
    e->approved = UPP_APPROVED_YES;
}

/* Moves it behind those that ended before it. */
static void mark_ended(struct reading *in, struct upp_execution *e, const struct wm_event *ev)
{
    struct upp_execution it = *e;
    it.duration_ms = ev->tool_ended.ms;
    if (ev->tool_ended.outcome == WM_DENIED) {
        it.approved = UPP_APPROVED_NO;
        it.result = denied;
    }
    struct upp_execution *to = &in->run->executions.p[in->n_ended++];
    memmove(to + 1, to, (size_t)(e - to) * sizeof *to);
    *to = it;
}

static void take_record(struct reading *in, const struct wm_event *ev)
{
    struct upp_execution *e = NULL;
    if (ev->kind == WM_TOOL_STARTED || ev->kind == WM_TOOL_ENDED)
        e = find_execution(in, ev->call.id);
    if (e && ev->kind == WM_TOOL_STARTED)
        mark_started(in, e, ev->tool_started.arguments);
    else if (e)
        mark_ended(in, e, ev);
    for (size_t i = 0; ev->kind == WM_RUN && i < ev->run.n_pending; i++) {
        const struct wm_pending *p = &ev->run.pending[i];
        e = wb_uuid_eq(p->run, in->run->row.id) ? find_execution(in, p->call) : NULL;
        if (!e)
            continue;
        mark_started(in, e, p->arguments);
        if (p->approval)
            e->approved = UPP_APPROVED_UNASKED; /* its start, if any, says that it was approved */
    }
}

static WEFT_SUSPENDS int read_some(struct reading *in, struct wl_range *range, bool *more, struct upp_err *err)
{
    struct wr_run *run = in->run;
    struct wl_store *s = run->engine->store;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WR_RUN_MEMORY);
    struct wl_rows rows;
    int r = wl_store_rows(s, &run->tree->owner, range, &a, &rows, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < rows.n; i++) {
        struct wm_row row;
        r = wm_row_read(&a, rows.p[i].format, rows.p[i].body, rows.p[i].tape, &row, err);
        if (r < 0)
            return r;
        for (size_t k = 0; k < row.n_records; k++)
            take_record(in, &row.records[k]);
        range->from = rows.p[i].pos + 1;
    }
    *more = rows.more && rows.n;
    return wb_arena_check(&run->memory, err);
}

/* Completes the executions of a recovered run from its records. */
static WEFT_SUSPENDS int executions_read(struct wr_run *run, struct upp_err *err)
{
    struct reading in = {.run = run};
    struct wl_range range = {.node = run->row.node, .from = run->row.first, .to = UINT64_MAX >> 1, .max_rows = 64};
    int r = 0;
    for (bool more = run->executions.n > 0; r >= 0 && more;)
        r = read_some(&in, &range, &more, err);
    return r;
}

/* ---- Loading ----------------------------------------------------------------------------------------------- */

int wr_load(struct wr_run *run, struct upp_err *err)
{
    if (!run->engine->store)
        return 0;
    int r = load_journal(run, err);
    if (r < 0)
        return r;
    r = wr_path_load(run, err);
    if (r >= 0) {
        wr_used_restore(run);
        r = wr_turn_restore(run, err);
    }
    if (r >= 0)
        r = executions_read(run, err);
    bool ends = run->unfit || run->row.cancel; /* which needs nothing of the history before it */
    return ends && r == -UPP_ESTORE ? 0 : r;
}
