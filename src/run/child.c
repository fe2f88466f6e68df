/* run/child.c — a call that is a run of its own: an agent that another agent asks.
 *
 * The child's ids follow from one UUID that the parent's TOOL_STARTED record holds: run, thread, tree and node have the
 * same. So a child that was announced but not yet made when the process died is made then, once.
 */
#include "base/clock.h"
#include "base/crash.h"
#include "json/read.h"
#include "json/value.h"
#include "model/upp_json.h"
#include "run/internal.h"

int wr_child_mint(struct wr_call *call, struct upp_err *err)
{
    int r = wb_uuid_new(&call->child, err);
    if (r >= 0)
        call->child_node = wm_key(call->child);
    return r;
}

/* What the child is asked: the member `task` where it is a text, else all arguments. */
static struct upp_str task_of(struct wr_run *parent, struct upp_str arguments)
{
    yyjson_val *v, *task;
    if (wj_read(&parent->memory, arguments, NULL, &v, NULL) >= 0 && (task = yyjson_obj_get(v, "task")) &&
        yyjson_is_str(task))
        return wj_text(task);
    return arguments;
}

static int draft_begin(struct wr_run *child, struct upp_str task, struct upp_err *err)
{
    struct wm_entry *e    = wr_draft_entry(child, err);
    struct upp_part *part = e ? wb_new(&child->memory, struct upp_part) : NULL;
    struct wm_event *ev   = part ? wr_draft_record(child, WM_RUN, err) : NULL;
    if (!ev)
        return upp_fail(err, UPP_ENOMEM, "no memory for a child run");
    part->kind            = UPP_PART_TEXT;
    part->text            = wb_arena_dup(&child->memory, task);
    e->step               = 0;
    e->message.role       = UPP_ROLE_USER;
    e->message.parts      = part;
    e->message.n_parts    = 1;
    ev->status            = WM_RUNNING;
    ev->step              = 0;
    struct upp_message *m = wb_new(&child->memory, struct upp_message);
    if (!m)
        return wb_arena_check(&child->memory, err);
    *m               = e->message;
    child->pub.input = m;
    child->loaded    = true;
    return wr_mine_add(child, m, err);
}

static struct wm_run child_row(const struct wr_run *parent, const struct wr_call *call, const struct wr_tool *tool)
{
    return (struct wm_run){.id         = call->child,
                           .root       = parent->tree->root,
                           .parent     = parent->row.id,
                           .thread     = call->child,
                           .node       = call->child_node,
                           .depth      = (uint16_t)(parent->row.depth + 1),
                           .status     = WM_RUNNING,
                           .durability = parent->row.durability,
                           .epoch      = parent->tree->epoch,
                           .agent      = tool->agent,
                           .call       = call->id,
                           .created_ms = wb_wall_ms(),
                           .started_ms = wb_wall_ms()};
}

/* C1 of a child, with a thread and a tree of its own. */
static WEFT_SUSPENDS int begin(struct wr_run *parent, struct wr_run *child, struct upp_str task, struct upp_err *err)
{
    struct wl_thread thread = {.id         = child->row.id,
                               .tree       = child->row.id,
                               .parent     = parent->row.thread,
                               .owner      = parent->tree->owner,
                               .head       = child->row.node,
                               .kind       = WL_SUB,
                               .created_ms = child->row.created_ms,
                               .updated_ms = child->row.created_ms};
    struct wl_node   node   = {
            .key = child->row.node, .id = child->row.id, .tree = child->row.id, .created_ms = child->row.created_ms};
    struct wl_change made[] = {{.kind = WL_ADD_THREAD, .thread = &thread},
                               {.kind = WL_ADD_NODE, .node = &node},
                               {.kind = WL_ADD_RUN, .run = &child->row},
                               {.kind = WL_HOLD_NODE, .hold = {node.key, {{0}}, child->row.id}}};
    int              r      = draft_begin(child, task, err);
    wb_crashpoint("child.before");
    if (r >= 0)
        r = wr_flush(child, &WR_MORE_OF(made), err);
    wb_crashpoint("child.after");
    return r;
}

/* One that waited and has its answers goes on. */
int wr_child_go_on(struct wr_run *child, struct upp_err *err)
{
    int r         = wr_load(child, err);
    child->loaded = r >= 0;
    if (r < 0 || child->row.status != WM_WAITING)
        return r;
    struct wm_event *ev = wr_draft_record(child, WM_RUN, err);
    if (!ev)
        return -UPP_ENOMEM;
    ev->status           = WM_RUNNING;
    struct wm_run row    = child->row;
    row.status           = WM_RUNNING;
    struct wl_change set = {.kind = WL_SET_RUN, .run = &row};
    r                    = wr_flush(child, &(struct wr_more){&set, 1}, err);
    if (r >= 0) {
        child->row.status = WM_RUNNING;
        child->row.version++;
    }
    return r;
}

/* The last thing it said, or why it failed. */
static int last_words(const struct wr_run *child, int result, const struct upp_err *why, struct upp_value *ret,
                      struct upp_err *err)
{
    if (result < 0) {
        upp_value_error(ret);
        return upp_value_text(ret, wb_cstr(why->msg), err);
    }
    if (child->turn) /* middleware may have replaced it */
        return upp_value_text(ret, wb_cstr(upp_turn_text(child->turn)), err);
    WB_CLEANUP(wb_arena_done) struct wb_arena a    = WB_ARENA(64u << 20);
    struct upp_str                            text = UPP_STR("");
    for (size_t i = child->path.n; i-- > 0;)
        if (child->path.p[i]->role == UPP_ROLE_ASSISTANT) {
            text = wm_message_text(&a, child->path.p[i]);
            break;
        }
    return upp_value_text(ret, text, err);
}

static int had_ended(const struct wr_run *child, struct upp_err *why)
{
    if (child->row.status == WM_COMPLETED)
        return 0;
    return upp_fail(why, UPP_EPROVIDER, "the agent '%.*s' did not come to an end", UPP_FMT(child->row.agent));
}

int wr_child_pending(struct wr_run *parent, const struct wr_run *child, struct upp_err *err)
{
    for (size_t i = 0; i < child->pending.n; i++) {
        struct wm_pending p = child->pending.p[i];
        p.call              = wb_arena_dup(&parent->memory, p.call);
        p.name              = wb_arena_dup(&parent->memory, p.name);
        p.arguments         = wb_arena_dup(&parent->memory, p.arguments);
        if (!wb_vec_push(&parent->pending, p, 8 * WR_CALLS))
            return upp_fail(err, UPP_ENOMEM, "no memory for a call that waits");
    }
    return wb_arena_check(&parent->memory, err);
}

static WEFT_SUSPENDS int work(struct wr_run *parent, struct wr_run *child, struct upp_value *ret, struct upp_err *err)
{
    struct upp_err why = {0};
    if (wm_status_ended(child->row.status))
        return last_words(child, had_ended(child, &why), &why, ret, err);
    int r = wr_execute(child, &why);
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
    return last_words(child, r, &why, ret, err);
}

static WEFT_SUSPENDS int find_row(struct wr_run *parent, struct wr_call *call, struct wm_run *ret, struct upp_err *err)
{
    struct wl_store *s = parent->engine->store;
    return s ? s->ops->run(s, &parent->tree->owner, call->child, &parent->memory, ret, err)
             : upp_fail(err, UPP_ENOTFOUND, "there is no store");
}

int wr_child(struct wr_run *parent, struct wr_call *call, const struct wr_tool *tool, struct upp_str arguments,
             struct upp_value *ret, struct upp_err *err)
{
    if (parent->row.depth + 1u > parent->engine->opts.max_depth)
        return upp_fail(err, UPP_ELIMIT, "agents ask agents more than %u deep", parent->engine->opts.max_depth);
    struct wm_run row;
    int           r    = find_row(parent, call, &row, err);
    bool          made = r >= 0;
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    if (!made)
        row = child_row(parent, call, tool);
    WB_CLEANUP(wr_run_freep) struct wr_run *child = NULL;
    r                                             = wr_run_new(parent->engine, parent->tree, parent, &row, &child, err);
    if (r >= 0)
        r = made ? wr_child_go_on(child, err) : begin(parent, child, task_of(parent, arguments), err);
    return r < 0 ? r : work(parent, child, ret, err);
}

static WEFT_SUSPENDS int end_child(struct wr_run *parent, struct wr_call *call, int result, const struct upp_err *why,
                                   struct upp_err *err)
{
    struct wm_run row;
    int           r = find_row(parent, call, &row, err);
    if (r == -UPP_ENOTFOUND || (r >= 0 && wm_status_ended(row.status)))
        return 0;
    if (r < 0)
        return r;
    WB_CLEANUP(wr_run_freep) struct wr_run *child = NULL;
    r                                             = wr_run_new(parent->engine, parent->tree, parent, &row, &child, err);
    if (r >= 0)
        r = wr_load(child, err);
    return r < 0 ? r : wr_finish(child, result, why, err);
}

int wr_children_end(struct wr_run *run, int result, const struct upp_err *why, struct upp_err *err)
{
    for (size_t i = 0; i < run->calls.n; i++) {
        struct wr_call *c = run->calls.p[i];
        if (c->state != WR_CALL_STARTED || !c->child_node)
            continue;
        int r = end_child(run, c, result, why, err);
        wb_crashpoint("child.ended");
        if (r < 0)
            return r;
    }
    return 0;
}
