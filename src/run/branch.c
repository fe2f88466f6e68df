/* run/branch.c — branches: concurrent work within a run, each a child run on a branch of the run's node.
 *
 * One UUID, which the strategy has in its state, gives run, thread and node, as with other children (run/child.c). A
 * branch is announced by the start of a call that has no name and belongs to no message, committed together with that
 * state; so readers find its rows, and a cancel finds the run. When all have ended they are adopted one after the
 * other: their messages are added to the run's own node. The phases of the messages and the calls in the journal show
 * what of that is committed, as with everything else a strategy does.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "run/journal.h"
#include "run/engine_state.h"
#include "run/event.h"
#include "run/middleware.h"
#include "run/step.h"
#include "run/strategy.h"
#include "run/run.h"

/* ---- Beginning ------------------------------------------------------------------------------------------------ */

/* The agent in a branch: with other hooks and another strategy; of middleware only view, screen and call remain. */
static int define(struct wr_run *child, const struct wr_branch *b, struct upp_err *err)
{
    struct wr_run *parent = child->parent;
    struct wr_agent_def *def = wb_new(&child->memory, struct wr_agent_def);
    struct wr_middleware *middleware = wb_new(&child->memory, struct wr_middleware);
    if (!def || !middleware || !parent->def)
        return wb_arena_check(&child->memory, err);
    *def = *parent->def;
    def->strategy = b->strategy;
    def->hooks = b->hooks;
    if (def->middleware) {
        *middleware = *def->middleware;
        middleware->before = NULL;
        middleware->after = NULL;
        middleware->failed = NULL;
        middleware->observe = NULL; /* it is called for a step when that is adopted */
        def->middleware = middleware;
    }
    child->branch = true;
    child->handoff.n = parent->handoff.n;
    child->def = def;
    child->settings = parent->settings;
    child->model = parent->model;
    child->params = parent->params;
    child->system = parent->system;
    child->pub.model = parent->model;
    child->pub.opts = b->strategy->opts;
    child->pub.hooks = b->hooks;
    return 0;
}

/* The branch's call id in the journal. Made of its UUID: another plan may have a step of the same name. */
static struct upp_str call_of(struct wr_run *run, const struct wr_branch *b)
{
    char hex[WB_UUID_HEX + 1] = "";
    wb_uuid_hex(b->id, hex);
    return wb_arena_printf(&run->memory, "branch_%.*s", WB_UUID_HEX, hex);
}

static struct wm_run row_of(struct wr_run *parent, const struct wr_branch *b)
{
    return (struct wm_run){.id = b->id,
                           .root = parent->tree->root,
                           .parent = parent->row.id,
                           .thread = b->id,
                           .node = wm_key(b->id),
                           .depth = (uint16_t)(parent->row.depth + 1),
                           .status = WM_RUNNING,
                           .durability = parent->row.durability,
                           .epoch = parent->tree->epoch,
                           .agent = parent->row.agent,
                           .call = call_of(parent, b),
                           .created_ms = wb_wall_ms(),
                           .started_ms = wb_wall_ms()};
}

/* The history of a branch is the path of its run, all of which is in the log. */
static int take_path(struct wr_run *child, struct upp_err *err)
{
    const struct wr_run *parent = child->parent;
    int r = 0;
    for (size_t i = 0; r >= 0 && i < parent->path.n; i++)
        r = wr_path_add(child, parent->path.p[i], err);
    child->n_history = child->path.n;
    child->time_ms = parent->time_ms;
    return r;
}

/* Copies the grants of its run that hold now. */
static int take_grants(struct wr_run *child, struct upp_err *err)
{
    const struct wr_run *parent = child->parent;
    for (size_t i = 0; i < parent->grants.n; i++) {
        struct wr_grant g = parent->grants.p[i];
        if (g.step > parent->pub.state.step)
            continue;
        g.step = 0;
        if (!wb_vec_push(&child->grants, g, parent->grants.n))
            return upp_fail(err, UPP_ENOMEM, "no memory for a branch");
    }
    return 0;
}

static WEFT_SUSPENDS int tree_of(struct wr_run *parent, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_store *s = parent->engine->store;
    struct wl_node node;
    int r = s ? wl_get_node(s, &parent->tree->owner, parent->row.node, &node, err) : 0;
    *ret = s && r >= 0 ? node.tree : parent->row.thread;
    return r;
}

/* C1 of a branch: a node in the tree of its run, and a thread that points to it. */
static WEFT_SUSPENDS int branch_begin(struct wr_run *child, struct upp_err *err)
{
    struct wr_run *parent = child->parent;
    struct wl_thread thread = {.id = child->row.id,
                               .parent = parent->row.thread,
                               .owner = parent->tree->owner,
                               .head = child->row.node,
                               .kind = WL_SUB,
                               .created_ms = child->row.created_ms,
                               .updated_ms = child->row.created_ms};
    struct wl_node node = {.key = child->row.node,
                           .id = child->row.id,
                           .parent = parent->row.node,
                           .parent_length = parent->end.length,
                           .created_ms = child->row.created_ms};
    struct wl_change made[] = {{.kind = WL_ADD_NODE, .node = &node},
                               {.kind = WL_ADD_THREAD, .thread = &thread},
                               {.kind = WL_ADD_RUN, .run = &child->row},
                               {.kind = WL_HOLD_NODE, .hold = {node.key, {{0}}, child->row.id}}};
    struct wm_event *ev = wr_draft_record(child, WM_RUN, err);
    int r = ev ? tree_of(parent, &node.tree, err) : wr_draft_failed(child, err);
    if (r >= 0)
        r = take_path(child, err);
    if (r >= 0)
        r = take_grants(child, err);
    if (r < 0)
        return r;
    thread.tree = node.tree;
    ev = &child->draft.records.p[0];
    ev->run.status = WM_RUNNING;
    ev->step = 0;
    child->loaded = true;
    wb_crashpoint("branch.before");
    r = wr_flush(child, &WR_MORE_OF(made), err);
    wb_crashpoint("branch.after");
    if (r >= 0)
        wr_note_run(child, WR_RUN_STARTED, NULL);
    return r;
}

/* Opens the run of a branch, new or found in the store. */
static WEFT_SUSPENDS int open_branch(struct wr_run *parent, struct wr_branch *b, struct upp_err *err)
{
    struct wl_store *s = parent->engine->store;
    struct wm_run row;
    int r = s ? wl_get_run(s, &parent->tree->owner, b->id, &parent->memory, &row, err) : -UPP_ENOTFOUND;
    bool made = r >= 0;
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    if (!made)
        row = row_of(parent, b);
    r = wr_run_new(parent->engine, parent->tree, parent, &row, &b->run, err);
    if (r >= 0)
        r = define(b->run, b, err);
    if (r < 0)
        return r;
    b->run->whole = made && wm_status_ended(row.status);
    return made ? wr_child_resume(b->run, err) : branch_begin(b->run, err);
}

/* ---- Working ---------------------------------------------------------------------------------------------------- */

/* The result of a branch that had ended before, from its row. */
static int stored_result(struct wr_branch *b)
{
    struct wr_run *run = b->run;
    yyjson_val *v = NULL;
    int code = UPP_EPROVIDER;
    if (run->row.status == WM_COMPLETED)
        return 0;
    if (run->row.status == WM_CANCELED)
        return upp_fail(&b->why, UPP_ECANCELED, "cancelled");
    if (!run->row.error.n || wj_read(&run->memory, run->row.error, NULL, &v, NULL) < 0)
        v = NULL;
    yyjson_val *name = yyjson_obj_get(v, "code"), *message = yyjson_obj_get(v, "message");
    for (int i = 1; i <= UPP_EBUG && yyjson_is_str(name); i++)
        if (wb_str_eq(wj_text(name), wb_cstr(upp_code_name(i))))
            code = i;
    return upp_fail(&b->why, (enum upp_code)code, "%.*s",
                    UPP_FMT(yyjson_is_str(message) ? wj_text(message) : wb_cstr(upp_code_text(code))));
}

static WEFT_SUSPENDS int work(void *arg, struct upp_err *err)
{
    struct wr_branch *b = arg;
    struct upp_err why = {0};
    (void)err;
    b->result = open_branch(wr_of(b->of), b, &b->why);
    if (b->result < 0)
        return 0;
    if (wm_status_ended(b->run->row.status))
        return b->result = stored_result(b), 0;
    b->result = wr_execute(b->run, &b->why);
    int r = wr_finish(b->run, b->result, &b->why, &why);
    if (r < 0) {
        b->result = r;
        b->why = why;
    }
    return 0;
}

static WEFT_SUSPENDS int is_stored(struct wr_run *run, struct wb_uuid id, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct wl_store *s = run->engine->store;
    struct wm_run row;
    int r = s ? wl_get_run(s, &run->tree->owner, id, &a, &row, err) : -UPP_ENOTFOUND;
    return r < 0 && r != -UPP_ENOTFOUND ? r : r >= 0;
}

/* An announced branch is in the journal of its step; one that is adopted in a later step is in the store. */
static WEFT_SUSPENDS int is_known(struct wr_run *run, const struct wr_branch *b, struct upp_err *err)
{
    struct upp_str id = call_of(run, b);
    if (!id.p)
        return wb_arena_check(&run->memory, err);
    return wr_call_find(run, id) ? 1 : is_stored(run, b->id, err);
}

int wr_branch_known(struct weft_run *pub, const struct wr_branch *b, struct upp_err *err)
{
    return is_known(wr_of(pub), b, err);
}

struct wr_call *wr_branch_call(struct wr_run *run, struct wb_uuid id, struct upp_err *err)
{
    struct upp_str call = call_of(run, &(struct wr_branch){.id = id});
    struct wr_call *c;
    if (!call.p) {
        upp_fail(err, UPP_ENOMEM, "no memory for a branch");
        return NULL;
    }
    if (wr_call_add(run, call, &c, err) < 0)
        return NULL;
    c->child = id;
    c->child_node = wm_key(id);
    c->state = WR_CALL_STARTED;
    c->branch = true;
    return c;
}

/* Announces each branch once; until its adoption a branch is in the journal of every step. */
static WEFT_SUSPENDS int announce(struct wr_run *run, const struct wr_branch *b, size_t n, struct upp_err *err)
{
    for (size_t i = 0; i < n; i++) {
        int known = is_known(run, &b[i], err);
        struct wr_call *c = known < 0 ? NULL : wr_branch_call(run, b[i].id, err);
        if (!c)
            return known < 0 ? known : -UPP_ENOMEM;
        if (known)
            continue;
        struct wm_event *ev = wr_draft_record(run, WM_TOOL_STARTED, err);
        if (!ev)
            return wr_draft_failed(run, err);
        ev->tool_started.child = c->child;
        ev->tool_started.child_node = c->child_node;
        ev->call.id = c->id;
        ev->tool_started.arguments = wb_cstr(b[i].name);
        run->draft.state = true;
    }
    return wr_draft_empty(run) ? 0 : wr_flush(run, NULL, err);
}

/* A branch's usage is counted when it is adopted, or when its run ends before that. */
static int note_usage(struct wr_run *run, struct wr_branch *b, struct upp_err *err)
{
    struct wr_call *c = wr_call_find(run, call_of(run, b));
    struct upp_usage sum = {0};
    if (!c)
        return wb_arena_check(&run->memory, err);
    size_t n = b->run->cycles.n;
    struct upp_usage *list = wb_new_n(&run->memory, struct upp_usage, n + 1);
    if (!list)
        return wb_arena_check(&run->memory, err);
    for (size_t i = 0; i < n; i++)
        wm_usage_add(&sum, &b->run->cycles.p[i]);
    list[0] = sum;
    c->cycles = list;
    c->n_cycles = n;
    c->messages = b->run->budget.messages;
    return 0;
}

/* The result of all branches: 0, a failure that stops the run, or a wait. */
static WEFT_SUSPENDS int join(struct wr_run *run, struct wr_branch *b, size_t n, struct upp_err *err)
{
    bool waits = false;
    run->journal.pending.n = 0;
    for (size_t i = 0; i < n; i++) {
        bool stops = b[i].result == -UPP_ECANCELED || b[i].result == -UPP_ESTORE || !b[i].run;
        if (stops && b[i].result < 0) {
            if (err)
                *err = b[i].why;
            return b[i].result;
        }
        if (b[i].result != -UPP_EWAIT)
            continue;
        waits = true;
        int r = wr_child_pending(run, b[i].run, err);
        if (r < 0)
            return r;
    }
    if (waits)
        return wr_wait_for(run, err);
    int r = 0;
    for (size_t i = 0; r >= 0 && i < n; i++)
        r = note_usage(run, &b[i], err);
    return r;
}

int wr_branch_new_id(struct weft_run *pub, struct wb_uuid *ret, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    struct wl_store *s = run->engine->store;
    const uint32_t family = wl_family(run->row.thread);
    return s ? wl_id_new_node(s, &run->tree->owner, family, ret, err) : wl_id_new(family, ret, err);
}

/* When the time budget of the run is used up, so is that of its branches: they end by themselves, and are adopted. */
static WEFT_SUSPENDS int await_all(const struct wr_run *run, struct weft_scope *branches, struct upp_err *err)
{
    int r = weft_scope_join(branches, err);
    if (r != -UPP_ETIMEOUT || wr_budget_ms(run) > 0)
        return r;
    WEFT_SHIELD(WR_END_MS);
    return weft_scope_join(branches, err);
}

int wr_branches_run(struct weft_run *pub, struct wr_branch *b, size_t n, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    if (n > WR_BRANCHES)
        return upp_fail(err, UPP_ELIMIT, "more than %d branches at once", WR_BRANCHES);
    int r = announce(run, b, n, err);
    if (r < 0)
        return r;
    WB_CLEANUP(weft_scope_close) struct weft_scope scope = {.flags = WEFT_SCOPE_ISOLATED};
    for (size_t i = 0; r >= 0 && i < n; i++) {
        b[i].of = pub;
        r = weft_scope_spawn(&scope, "branch", work, &b[i], NULL, err);
    }
    if (r >= 0)
        r = await_all(run, &scope, err);
    return r < 0 ? r : join(run, b, n, err);
}

void wr_branch_speaks(struct weft_run *run, struct weft_run *branch)
{
    wr_of(run)->hook_branch = branch ? wr_of(branch) : NULL;
}

void wr_branches_done(struct wr_branch *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        wr_run_free(b[i].run);
        b[i].run = NULL;
    }
}

/* ---- Adopting --------------------------------------------------------------------------------------------------- */

static bool has_reply(const struct wr_run *run, const char *phase)
{
    for (size_t i = 0; i < run->journal.replies.n; i++)
        if (wb_str_eq(run->journal.replies.p[i]->phase, wb_cstr(phase)))
            return true;
    return false;
}

/* A branch that is being adopted as a step of its run. */
struct adopting {
    struct wr_run *run;
    struct wr_branch *branch;
    struct wr_call *call;        /* the branch in the journal; its usage is what is not adopted yet, ... */
    struct upp_usage *remaining; /* ... the sum in its first cycle */
    size_t cycle;                /* model messages so far */
    size_t event, old;           /* system events so far; how many were adopted before recovery */
};

const char *wr_phase(struct weft_run *run, const char *name, size_t cycle)
{
    return cycle == 1 ? name : wb_arena_printf(wr_memory(run), "%zu/%s", cycle, name).p;
}

/* ---- Usage: what messages and calls carry is not counted with the branch itself -------------------------------- */

static void subtract(uint64_t *from, uint64_t n)
{
    *from -= WB_MIN(*from, n);
}

static void subtract_usage(struct upp_usage *from, const struct upp_usage *u)
{
    subtract(&from->input, u->input);
    subtract(&from->output, u->output);
    subtract(&from->cache_read, u->cache_read);
    subtract(&from->cache_write, u->cache_write);
    subtract(&from->reasoning, u->reasoning);
}

static void subtract_adopted(struct adopting *a, const struct upp_usage *u, size_t n)
{
    for (size_t i = 0; i < n; i++)
        subtract_usage(a->remaining, &u[i]);
    a->call->n_cycles -= WB_MIN(a->call->n_cycles, n);
}

void wr_branch_left(const struct wr_run *run, struct wr_call *c)
{
    if (!c->cycles || !run->step.dirty)
        return;
    for (size_t i = 1; i < c->n_cycles; i++) {
        wm_usage_add(&c->cycles[0], &c->cycles[i]);
        c->cycles[i] = (struct upp_usage){0};
    }
    subtract_usage(&c->cycles[0], &run->step.usage);
    c->n_cycles -= WB_MIN(c->n_cycles - 1, run->journal.replies.n + run->step.below);
}

/* Adopted before the run was recovered: the run's state has this usage, and the recovered branch counted it again. */
static void adopted_before(struct adopting *a, const struct upp_usage *u, size_t n)
{
    subtract_adopted(a, u, n);
    for (size_t i = 0; i < n; i++)
        wr_usage_sub_below(a->run, &u[i]);
}

static WEFT_SUSPENDS int adopt_reply(struct adopting *a, const struct upp_message *m, struct upp_err *err)
{
    struct wr_run *run = a->run;
    const struct wr_run *child = a->branch->run;
    const struct wr_journal_reply *journaled =
        a->cycle < child->journal.replies.n ? child->journal.replies.p[a->cycle] : NULL;
    const char *phase = wr_phase(&run->pub, a->branch->name, ++a->cycle);
    struct upp_str data = {0};
    if (!phase)
        return wb_arena_check(&run->memory, err);
    if (has_reply(run, phase)) {
        if (journaled)
            adopted_before(a, &journaled->reply.usage, 1);
        return 0;
    }
    if (journaled)
        data = journaled->reply.data;
    int r = wr_message_add(run, m, phase, journaled ? &journaled->reply.usage : NULL, data, err);
    if (r < 0 || !journaled)
        return r;
    subtract_adopted(a, &journaled->reply.usage, 1);
    return wr_cycle_adopt(run, &journaled->reply.usage, err);
}

static const struct upp_execution *execution_of(const struct wr_run *child, struct upp_str call)
{
    for (size_t i = 0; i < child->executions.n; i++)
        if (wb_str_eq(child->executions.p[i].id, call))
            return &child->executions.p[i];
    return NULL;
}

static const struct wr_call *call_in(const struct wr_run *child, struct upp_str id)
{
    for (size_t i = 0; i < child->journal.calls.n; i++)
        if (wb_str_eq(child->journal.calls.p[i]->id, id))
            return child->journal.calls.p[i];
    return NULL;
}

static int draft_start(struct wr_run *run, const struct upp_execution *e, struct upp_err *err)
{
    struct wm_event *ev = wr_draft_record(run, WM_TOOL_STARTED, err);
    if (!ev)
        return wr_draft_failed(run, err);
    ev->call.id = e->id;
    ev->call.name = e->name;
    ev->tool_started.arguments = e->arguments;
    return 0;
}

/* With its outcome, and with its usage if it was an agent. */
static int draft_end(struct adopting *a, const struct upp_part *p, const struct wr_call *was, uint64_t ms,
                     struct upp_err *err)
{
    struct wr_run *run = a->run;
    struct wr_call *c;
    int r = wr_call_add(run, p->id, &c, err);
    if (r < 0)
        return r;
    struct wm_event *ev = wr_draft_record(run, WM_TOOL_ENDED, err);
    if (!ev)
        return wr_draft_failed(run, err);
    ev->call.id = p->id;
    ev->call.name = p->name;
    ev->tool_ended.result = p->text;
    ev->tool_ended.ms = ms;
    ev->tool_ended.outcome = was && was->outcome ? was->outcome : p->is_error ? WM_ERROR : WM_DONE;
    c->outcome = ev->tool_ended.outcome;
    c->name = p->name;
    c->result = p->text;
    c->state = WR_CALL_ENDED;
    c->on_path = true;
    if (!was)
        return 0;
    subtract_adopted(a, was->cycles, was->n_cycles);
    return wr_child_usage_add(run, was, ev, err);
}

/* A call that never began, because it was denied or its arguments were invalid, has only an end. */
static int adopt_call(struct adopting *a, const struct upp_part *p, struct upp_err *err)
{
    struct wr_run *run = a->run;
    const struct upp_execution *e = execution_of(a->branch->run, p->id);
    const struct wr_call *was = call_in(a->branch->run, p->id);
    struct upp_execution copy = {.id = p->id, .name = p->name, .result = p->text, .is_error = p->is_error};
    copy.arguments = wb_arena_dup(&run->memory, e ? e->arguments : UPP_STR("{}"));
    if (e) {
        copy.result = wb_arena_dup(&run->memory, e->result);
        copy.duration_ms = e->duration_ms;
        copy.approved = e->approved;
    }
    int r = wb_arena_check(&run->memory, err);
    if (r >= 0 && (!was || was->begun))
        r = draft_start(run, &copy, err);
    if (r >= 0)
        r = draft_end(a, p, was, copy.duration_ms, err);
    return r < 0 ? r : wr_execution_add(run, &copy, err);
}

static void results_adopted_before(struct adopting *a, const struct upp_message *m)
{
    for (size_t i = 0; i < m->n_parts; i++) {
        const struct wr_call *was = call_in(a->branch->run, m->parts[i].id);
        if (was)
            adopted_before(a, was->cycles, was->n_cycles);
    }
}

/* Results go into the row of the message with their calls. */
static int adopt_results(struct adopting *a, const struct upp_message *m, struct upp_err *err)
{
    struct wr_run *run = a->run;
    const struct wr_call *known = m->n_parts ? wr_call_find(run, m->parts[0].id) : NULL;
    if (known && known->on_path)
        return results_adopted_before(a, m), 0;
    if (!m->n_parts)
        return 0;
    struct upp_message *copy = wb_new(&run->memory, struct upp_message);
    struct upp_str *refs = wb_new_n(&run->memory, struct upp_str, m->n_parts);
    struct wm_entry *entry = copy && refs ? wr_draft_entry(run, err) : NULL;
    int r = entry ? wm_message_copy(&run->memory, m, copy, err) : wr_draft_failed(run, err);
    if (r < 0)
        return r;
    for (size_t i = 0; r >= 0 && i < copy->n_parts; i++) {
        refs[i] = copy->parts[i].id;
        r = adopt_call(a, &copy->parts[i], err);
    }
    entry->message.role = UPP_ROLE_TOOL;
    entry->refs = refs;
    entry->n_refs = m->n_parts;
    copy->time_ms = entry->message.time_ms;
    return r < 0 ? r : wr_mine_add(run, copy, err);
}

/* System events per row; results may follow them. */
enum { ROW_EVENTS = 100 };

/* The entry's phase is the name of the branch: recovery counts the adopted events by it. */
static WEFT_SUSPENDS int adopt_event(struct adopting *a, struct upp_str json, struct upp_err *err)
{
    struct wr_run *run = a->run;
    struct upp_str copy = wb_arena_dup(&run->memory, json);
    int r = wb_arena_check(&run->memory, err);
    if (r >= 0 && (run->draft.entries.n >= ROW_EVENTS || !wr_event_fits(run, copy)))
        r = wr_flush(run, NULL, err);
    if (r >= 0)
        r = wr_event_add(run, copy, err);
    if (r < 0)
        return r;
    run->draft.entries.p[run->draft.entries.n - 1].phase = wb_cstr(a->branch->name);
    run->step.n_adopted++;
    return wr_grant_note(run, copy, run->pub.state.step + 1, err);
}

/* Adopts the events that came before this message. */
static WEFT_SUSPENDS int adopt_events(struct adopting *a, size_t message, struct upp_err *err)
{
    const struct wr_run *child = a->branch->run;
    int r = 0;
    for (; r >= 0 && a->event < child->noted.n && child->noted.p[a->event].after <= message; a->event++)
        r = a->event < a->old ? 0 : adopt_event(a, child->noted.p[a->event].json, err);
    return r;
}

static const struct upp_message *prompt_of(const struct wr_run *child)
{
    const struct upp_message *first = child->path.n > child->n_history ? child->path.p[child->n_history] : NULL;
    return first && first->role == UPP_ROLE_USER ? first : NULL;
}

/* Only the run can hand over its thread, after the step that requested it. The first request counts. */
static int adopt_handoff(struct wr_run *run, const struct wr_handoff_request *request, struct upp_err *err)
{
    if (!request->to.n || run->handoff.passing.to.n)
        return 0;
    run->handoff.passing = (struct wr_handoff_request){.to = wb_arena_dup(&run->memory, request->to),
                                                       .reason = wb_arena_dup(&run->memory, request->reason),
                                                       .message = wb_arena_dup(&run->memory, request->message)};
    return wb_arena_check(&run->memory, err);
}

static int end_branch(struct adopting *a, struct upp_err *err)
{
    struct wm_event *ev = wr_draft_record(a->run, WM_TOOL_ENDED, err);
    if (!ev)
        return wr_draft_failed(a->run, err);
    ev->call.id = a->call->id;
    ev->tool_ended.result = UPP_STR("null");
    ev->tool_ended.outcome = a->branch->result < 0 ? WM_ERROR : WM_DONE;
    a->call->state = WR_CALL_ENDED;
    return wr_child_usage_add(a->run, a->call, ev, err);
}

int wr_branch_adopt(struct weft_run *pub, struct wr_branch *b, struct upp_err *err)
{
    struct wr_run *run = wr_of(pub);
    const struct wr_run *child = b->run;
    const struct upp_message *prompt = prompt_of(child);
    struct adopting a = {
        .run = run, .branch = b, .call = wr_call_find(run, call_of(run, b)), .old = run->step.n_adopted};
    if (!a.call)
        return upp_fail(err, UPP_EBUG, "a branch is adopted that did not work");
    a.remaining = &a.call->cycles[0];
    wr_observe_step(run);
    int r = prompt ? wr_prompt(run, prompt, wb_cstr(b->name), err) : 0;
    for (size_t i = 0; r >= 0 && i < child->mine.n; i++) {
        const struct upp_message *m = child->mine.p[i];
        wb_crashpoint("branch.adopt");
        r = adopt_events(&a, i, err);
        if (r >= 0 && m->role == UPP_ROLE_ASSISTANT)
            r = adopt_reply(&a, m, err);
        else if (r >= 0 && m->role == UPP_ROLE_TOOL)
            r = adopt_results(&a, m, err);
    }
    if (r >= 0)
        r = adopt_events(&a, child->mine.n, err);
    if (r >= 0)
        r = adopt_handoff(run, &child->handoff.passing, err);
    return r < 0 ? r : end_branch(&a, err);
}
