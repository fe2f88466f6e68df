/* run/child.c — child runs: calls of agent tools.
 *
 * The child's ids follow from one UUID in the parent's TOOL_STARTED record: run, thread, tree and node have the same.
 * So a child that was announced but not yet created when the process died is created on recovery, once.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "base/log.h"
#include "base/vec_add.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "run/journal.h"
#include "run/engine_state.h"
#include "run/settings/settings.h"
#include "run/run.h"

/* What a call asks. */
struct asked {
    const struct wr_tool *tool;
    struct upp_str arguments;
    struct upp_str input; /* of a child that is new */
};

/* An id of the parent's family. Must not suspend, because several calls are announced in one row: a conflict of its key
 * shows when the child is created. */
int wr_child_new_id(const struct wr_run *run, struct wr_call *call, struct upp_err *err)
{
    int r = wl_id_new(wl_family(run->row.thread), &call->child, err);
    if (r >= 0)
        call->child_node = wm_key(call->child);
    return r;
}

/* The child's input: the member `task` if it is a string, else all arguments as compact JSON. */
static int task_of(struct wr_run *parent, struct upp_str arguments, struct upp_str *ret, struct upp_err *err)
{
    yyjson_val *v = NULL, *task;
    *ret = arguments;
    if (wj_read(&parent->memory, arguments, NULL, &v, NULL) < 0)
        return wb_arena_check(&parent->memory, err); /* the arguments were checked before: they are empty */
    task = yyjson_obj_get(v, "task");
    if (task && yyjson_is_str(task)) {
        *ret = wj_text(task);
        return 0;
    }
    return wj_value_text(&parent->memory, v, ret, err);
}

/* What the child is asked, and its options without those that it cannot honour. */
static int ask(struct wr_run *parent, const struct wr_tool *tool, struct upp_str arguments, struct wr_child_ask *ret,
               struct upp_err *err)
{
    const struct wr_child_adapter *with = tool->adapter;
    *ret = (struct wr_child_ask){0};
    if (!with)
        return task_of(parent, arguments, &ret->input, err);
    int r = with->ask(with->arg, tool, arguments, &parent->memory, ret, err);
    if (r >= 0 && !ret->certain)
        r = wr_settings_trim(parent->engine, tool->agent, ret->options, &parent->memory, &ret->options, err);
    return r;
}

static int draft_begin(struct wr_run *child, struct upp_str task, struct upp_err *err)
{
    struct wm_entry *e = wr_draft_entry(child, err);
    struct upp_part *part = e ? wb_new(&child->memory, struct upp_part) : NULL;
    struct wm_event *ev = part ? wr_draft_record(child, WM_RUN, err) : NULL;
    if (!ev)
        return wr_draft_failed(child, err);
    part->kind = UPP_PART_TEXT;
    part->text = wb_arena_dup(&child->memory, task);
    e->step = 0;
    e->message.role = UPP_ROLE_USER;
    e->message.parts = part;
    e->message.n_parts = 1;
    ev->run.status = WM_RUNNING;
    ev->step = 0;
    struct upp_message *m = wb_new(&child->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&child->memory, err);
    *m = e->message;
    child->pub.input = m;
    child->loaded = true;
    return wr_mine_add(child, m, err);
}

static struct wm_run child_row(const struct wr_run *parent, const struct wr_call *call, const struct wr_tool *tool,
                               struct upp_str options)
{
    return (struct wm_run){.id = call->child,
                           .root = parent->tree->root,
                           .parent = parent->row.id,
                           .thread = call->child,
                           .node = call->child_node,
                           .depth = (uint16_t)(parent->row.depth + 1),
                           .status = WM_RUNNING,
                           .durability = parent->row.durability,
                           .epoch = parent->tree->epoch,
                           .agent = tool->agent,
                           .call = call->id,
                           .options = options,
                           .created_ms = wb_wall_ms(),
                           .started_ms = wb_wall_ms()};
}

/* C1 of a child, with its own thread and tree. */
static WEFT_SUSPENDS int child_begin(struct wr_run *parent, struct wr_run *child, struct upp_str input,
                                     struct upp_err *err)
{
    struct wl_thread thread = {.id = child->row.id,
                               .tree = child->row.id,
                               .parent = parent->row.thread,
                               .owner = parent->tree->owner,
                               .head = child->row.node,
                               .kind = WL_SUB,
                               .created_ms = child->row.created_ms,
                               .updated_ms = child->row.created_ms};
    struct wl_node node = {
        .key = child->row.node, .id = child->row.id, .tree = child->row.id, .created_ms = child->row.created_ms};
    struct wl_change made[] = {{.kind = WL_ADD_THREAD, .thread = &thread},
                               {.kind = WL_ADD_NODE, .node = &node},
                               {.kind = WL_ADD_RUN, .run = &child->row},
                               {.kind = WL_HOLD_NODE, .hold = {node.key, {{0}}, child->row.id}}};
    int r = draft_begin(child, input, err);
    wb_crashpoint("child.before");
    if (r >= 0)
        r = wr_flush(child, &WR_MORE_OF(made), err);
    wb_crashpoint("child.after");
    if (r >= 0)
        wr_note_run(child, WR_RUN_STARTED, NULL);
    return r;
}

/* A child that waited and has its answers becomes running again. */
int wr_child_resume(struct wr_run *child, struct upp_err *err)
{
    int r = wr_load(child, err);
    child->loaded = r >= 0;
    if (r < 0 || child->row.status != WM_WAITING)
        return r;
    struct wm_event *ev = wr_draft_record(child, WM_RUN, err);
    if (!ev)
        return wr_draft_failed(child, err);
    ev->run.status = WM_RUNNING;
    struct wm_run row = child->row;
    row.status = WM_RUNNING;
    struct wl_change set = {.kind = WL_SET_RUN, .run = &row};
    r = wr_flush(child, &(struct wr_more){&set, 1}, err);
    if (r >= 0) {
        child->row.status = WM_RUNNING;
        child->row.version++;
        wr_note_run(child, WR_RUN_RESUMED, NULL);
    }
    return r;
}

/* The text of the child's turn. */
static struct upp_str turn_text(const struct wr_run *child, struct wb_arena *a)
{
    if (child->turn) /* hooks or middleware may have replaced it */
        return wb_cstr(upp_turn_text(child->turn));
    for (size_t i = child->mine.n; i-- > 0;)
        if (child->mine.p[i]->role == UPP_ROLE_ASSISTANT)
            return wm_message_text(a, child->mine.p[i]);
    return UPP_STR("");
}

static int adapted(const struct wr_run *child, const struct asked *q, struct wr_child_end *end, struct upp_value *ret,
                   struct upp_err *err)
{
    const struct wr_child_adapter *with = q->tool->adapter;
    end->arguments = q->arguments;
    end->options = child->row.options;
    end->child = child->row.id;
    end->usage = child->pub.state.usage;
    end->model = child->model ? child->model->name : (struct upp_str){0};
    if (end->result < 0)
        upp_value_error(ret);
    return with->answer(with->arg, q->tool, end, ret, err);
}

/* The call's result: the text of the child's turn, or why it failed; or what the tool's adapter makes of them. */
static int result_of(const struct wr_run *child, const struct asked *q, int result, const struct upp_err *why,
                     struct upp_value *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    struct wr_child_end end = {.result = result, .why = why, .cut = result >= 0 && child->row.error.n > 0};
    end.text = result < 0 ? wb_cstr(why->msg[0] ? why->msg : upp_code_text(result)) : turn_text(child, &a);
    int r = wb_arena_check(&a, err);
    if (r < 0)
        return r;
    if (q->tool->adapter)
        return adapted(child, q, &end, ret, err);
    if (result < 0)
        upp_value_error(ret);
    return upp_value_text(ret, end.text, err);
}

/* The child ended before the process restarted: its result, from its row. */
static int stored_result(struct wr_run *child, struct upp_err *why)
{
    yyjson_val *v = NULL, *message = NULL;
    if (child->row.status == WM_COMPLETED)
        return 0;
    if (child->row.error.n && wj_read(&child->memory, child->row.error, NULL, &v, NULL) >= 0)
        message = yyjson_obj_get(v, "message");
    if (message && yyjson_is_str(message))
        return upp_fail(why, UPP_EPROVIDER, "%.*s", UPP_FMT(wj_text(message)));
    return upp_fail(why, UPP_EPROVIDER, "the agent '%.*s' did not come to an end", UPP_FMT(child->row.agent));
}

/* Copies the child's usage, for the end record of the call. */
static int child_spent(struct wr_run *parent, struct wr_call *call, const struct wr_run *child, struct upp_err *err)
{
    if (call->cycles || !wm_status_ended(child->row.status))
        return 0;
    call->messages = child->budget.messages;
    if (!child->cycles.n)
        return 0;
    struct upp_usage *copy = wb_new_n(&parent->memory, struct upp_usage, child->cycles.n);
    if (!copy)
        return wb_arena_check(&parent->memory, err);
    memcpy(copy, child->cycles.p, child->cycles.n * sizeof *copy);
    call->cycles = copy;
    call->n_cycles = child->cycles.n;
    return 0;
}

int wr_child_pending(struct wr_run *parent, const struct wr_run *child, struct upp_err *err)
{
    for (size_t i = 0; i < child->journal.pending.n; i++) {
        struct wm_pending p = child->journal.pending.p[i];
        p.call = wb_arena_dup(&parent->memory, p.call);
        p.name = wb_arena_dup(&parent->memory, p.name);
        p.arguments = wb_arena_dup(&parent->memory, p.arguments);
        int r = wb_vec_add(&parent->journal.pending, p, (size_t)WR_STEP_CALLS, "calls that wait", err);
        if (r < 0)
            return r;
    }
    return wb_arena_check(&parent->memory, err);
}

/* The deadline does not cover the child's end: a child that runs out of time ends too. */
static WEFT_SUSPENDS int execute(struct wr_run *child, const struct wr_tool *tool, struct upp_err *err)
{
    if (!tool->timeout_ms)
        return wr_execute(child, err);
    WEFT_DEADLINE(tool->timeout_ms);
    return wr_execute(child, err);
}

static WEFT_SUSPENDS int work(struct wr_run *parent, struct wr_run *child, const struct asked *q, struct upp_value *ret,
                              struct upp_err *err)
{
    struct upp_err why = {0};
    if (wm_status_ended(child->row.status))
        return result_of(child, q, stored_result(child, &why), &why, ret, err);
    int r = execute(child, q->tool, &why);
    int f = wr_finish(child, r, &why, err);
    if (f < 0)
        return f;
    if (r == -UPP_EWAIT) {
        r = wr_child_pending(parent, child, err);
        return r < 0 ? r : upp_fail(err, UPP_EWAIT, "the agent waits");
    }
    if (r == -UPP_ECANCELED || r == -UPP_ESTORE) {
        if (err)
            *err = why;
        return r;
    }
    return result_of(child, q, r, &why, ret, err);
}

static WEFT_SUSPENDS int find_row(struct wr_run *parent, struct wr_call *call, struct wm_run *ret, struct upp_err *err)
{
    struct wl_store *s = parent->engine->store;
    return s ? wl_get_run(s, &parent->tree->owner, call->child, &parent->memory, ret, err)
             : upp_fail(err, UPP_ENOTFOUND, "there is no store");
}

/* If the parent passed the failure to its model and continued, the child would never end. */
static int check_ended(const struct wr_run *child, int r, struct upp_err *err)
{
    bool fine = r >= 0 || r == -UPP_EWAIT || r == -UPP_ECANCELED || r == -UPP_ESTORE;
    if (fine || !child->engine->store || wm_status_ended(child->row.status))
        return r;
    return upp_wrap(err, -UPP_ESTORE, "the agent '%.*s' could not be ended", UPP_FMT(child->row.agent));
}

static WEFT_SUSPENDS int run_child(struct wr_run *parent, struct wr_call *call, const struct asked *q,
                                   struct wr_run *child, bool made, struct upp_value *ret, struct upp_err *err)
{
    char ids[2][WB_UUID_TEXT + 1];
    WB_LOG_CTX(WB_LS("child", wb_uuid_text(child->row.id, ids[0])),
               WB_LS("parent", wb_uuid_text(parent->row.id, ids[1])), WB_LS("agent", child->row.agent),
               WB_LS("agent_id", weft_run_agent_id(&child->pub)),
               WB_LS("parent_agent_id", weft_run_agent_id(&parent->pub)), WB_LS("call", call->id),
               WB_LU("depth", child->row.depth));
    wb_log(WB_DEBUG, "an agent is asked by another");
    int r = made ? wr_child_resume(child, err) : child_begin(parent, child, q->input, err);
    if (r == -UPP_EBUSY && !made) { /* another node of the family has its key; another call gets another id */
        upp_value_error(ret);
        return upp_value_text(ret, UPP_STR("the agent could not be asked: its id is taken; ask again"), err);
    }
    if (r >= 0)
        r = work(parent, child, q, ret, err);
    wb_log(WB_DEBUG, "an agent that was asked by another has ended or waits", WB_LU("status", child->row.status),
           WB_LU("input", child->pub.state.usage.input), WB_LU("output", child->pub.state.usage.output));
    int copied = child_spent(parent, call, child, err);
    return r >= 0 && copied < 0 ? copied : check_ended(child, r, err);
}

int wr_child(struct wr_run *parent, struct wr_call *call, const struct wr_tool *tool, struct upp_str arguments,
             struct upp_value *ret, struct upp_err *err)
{
    struct wm_run row;
    int r = find_row(parent, call, &row, err);
    bool made = r >= 0;
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    struct asked q = {tool, arguments, {0}};
    if (!made) {
        struct wr_child_ask with;
        r = ask(parent, tool, arguments, &with, err);
        if (r < 0)
            return r;
        q.input = with.input;
        row = child_row(parent, call, tool, with.options);
    }
    WB_CLEANUP(wr_run_freep) struct wr_run *child = NULL;
    r = wr_run_new(parent->engine, parent->tree, parent, &row, &child, err);
    if (r < 0)
        return r;
    child->given = tool->rights;
    struct wb_log_ctx *parents = wb_log_ctx_swap(NULL); /* log lines name one parent and one child */
    r = run_child(parent, call, &q, child, made, ret, err);
    (void)wb_log_ctx_swap(parents);
    return r;
}

static WEFT_SUSPENDS int end_child(struct wr_run *parent, struct wr_call *call, int result, const struct upp_err *why,
                                   struct upp_err *err)
{
    struct wm_run row;
    int r = find_row(parent, call, &row, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && call->cycles && wm_status_ended(row.status)))
        return 0;
    if (r < 0)
        return r;
    WB_CLEANUP(wr_run_freep) struct wr_run *child = NULL;
    r = wr_run_new(parent->engine, parent->tree, parent, &row, &child, err);
    if (r >= 0)
        r = wr_load(child, err);
    if (r >= 0 && !wm_status_ended(row.status))
        r = wr_end(child, result, why, err);
    return r < 0 ? r : child_spent(parent, call, child, err);
}

int wr_children_end(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err)
{
    size_t branches = 0;
    for (size_t i = 0; i < run->journal.calls.n; i++) {
        struct wr_call *c = run->journal.calls.p[i];
        if (c->state != WR_CALL_STARTED || !c->child_node)
            continue;
        bool adopting = !c->cycles && wr_is_open_branch(c) && !branches++; /* the first one, if any */
        int r = end_child(run, c, result, why, err);
        wb_crashpoint("child.ended");
        if (r < 0)
            return r;
        if (adopting)
            wr_branch_left(run, c);
    }
    return 0;
}
