/* run/rights.c — what a run may do: the rights of its agent, of its parent's tool entry, and of all its ancestors.
 *
 * A run has at most two sets of rights: its agent's, which change with the agent at a handoff, and those from the tool
 * entry of its parent, which stay. All sets from the run to the root apply together, so that no run can widen what an
 * ancestor has: a tool must be in every allow list and in no deny list, every depth limit counts from the run that has
 * it, as does every limit of messages between agents, and every approval handler is asked. The options of a run may
 * limit it further in the same way: to some tools, or to those that are declared pure.
 */
#include "json/value.h"
#include "run/engine_state.h"
#include "run/tools.h"

enum { OWN, GIVEN, SETS };

static const struct weft_rights *set_of(const struct wr_run *run, int which)
{
    return which == GIVEN ? run->given : run->def ? run->def->rights : NULL;
}

static bool listed(const char *const *names, struct upp_str name)
{
    for (; *names; names++)
        if (wb_str_eq(wb_cstr(*names), name))
            return true;
    return false;
}

/* Is it among the tools to which the options of this run limit it? */
static bool in_options(const struct wr_run *run, struct upp_str name)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(run->only_tools);
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)))
        if (wb_str_eq(wj_text_of(v), name))
            return true;
    return !run->only_tools;
}

bool wr_allowed(const struct wr_run *run, const struct wr_tool *tool)
{
    for (const struct wr_run *up = run; up; up = up->parent) {
        if (!in_options(up, tool->spec.name))
            return false;
        for (int i = 0; i < SETS; i++) {
            const struct weft_rights *r = set_of(up, i);
            if (r &&
                ((r->allow && !listed(r->allow, tool->spec.name)) || (r->deny && listed(r->deny, tool->spec.name))))
                return false;
        }
    }
    return true;
}

/* May it have effects? The tools of a sub-agent, and of one that takes over, are looked at by themselves; one behind
 * another server has tools that nobody here knows. */
static bool may_change(const struct wr_run *run, const struct wr_tool *tool)
{
    if (tool->kind != WR_TOOL_AGENT && tool->kind != WR_TOOL_HANDOFF)
        return tool->delivery != WEFT_PURE;
    const struct wr_agent_def *def = wr_agent(run->engine, tool->agent);
    return def && def->model && def->model->once;
}

static bool is_readonly(const struct wr_run *run)
{
    while (run && !run->readonly)
        run = run->parent;
    return run != NULL;
}

/* How deep agents may nest below a run; UINT32_MAX: as deep as the engine allows. */
static uint32_t depth_below(const struct weft_rights *r)
{
    return !r || !r->max_depth ? UINT32_MAX : r->max_depth == UINT32_MAX ? 0 : r->max_depth;
}

/* The maximum depth of a child of this run, counted from the root. */
static uint32_t deepest(const struct wr_run *run)
{
    uint64_t least = run->engine->opts.max_depth;
    for (const struct wr_run *up = run; up; up = up->parent)
        for (int i = 0; i < SETS; i++)
            least = WB_MIN(least, up->row.depth + (uint64_t)depth_below(set_of(up, i)));
    return (uint32_t)least;
}

/* A right of one of these runs, or the default of the run's request if the root has none. */
static uint32_t most_messages(const struct wr_run *run)
{
    uint32_t most = 0;
    for (int i = 0; i < SETS; i++) {
        const struct weft_rights *r = set_of(run, i);
        if (r && r->max_agent_messages)
            most = most ? WB_MIN(most, r->max_agent_messages) : r->max_agent_messages;
    }
    return most || run->parent ? most : run->max_agent_messages;
}

int wr_may_tell_agent(const struct wr_run *run, bool hands_over, struct upp_err *err)
{
    for (const struct wr_run *up = run; up; up = up->parent) {
        uint32_t most = most_messages(up), had = up->budget.messages + up->budget.below.messages;
        if (!most)
            continue;
        if (most == UINT32_MAX)
            most = 0;
        had += up->handoff.passing.to.n && !hands_over; /* one that is requested is counted when it takes place */
        if (had >= most)
            return upp_fail(err, UPP_ELIMIT, "agents may exchange at most %u messages here: answer with what you have",
                            most);
    }
    return 0;
}

int wr_may_call(const struct wr_run *run, const struct wr_tool *tool, struct upp_err *err)
{
    if (wr_has_rights(run) && !wr_allowed(run, tool))
        return upp_fail(err, UPP_EREFUSED, "Tool '%.*s' is not allowed here", UPP_FMT(tool->spec.name));
    if (is_readonly(run) && may_change(run, tool))
        return upp_fail(err, UPP_EREFUSED,
                        "Tool '%.*s' is refused: the request is read-only, and it is not declared pure",
                        UPP_FMT(tool->spec.name));
    if (tool->kind != WR_TOOL_AGENT)
        return 0;
    uint32_t most = deepest(run);
    if (run->row.depth + 1u > most)
        return upp_fail(err, UPP_ELIMIT, "agents ask agents more than %u deep", most);
    return wr_may_tell_agent(run, false, err);
}

int wr_approve(struct wr_run *run, struct upp_call *call, struct upp_err *err)
{
    int answer = 1;
    if (!wr_has_rights(run))
        return 1;
    for (const struct wr_run *up = run; up; up = up->parent)
        for (int i = 0; i < SETS; i++) {
            const struct weft_rights *rights = set_of(up, i);
            if (!rights || !rights->approval)
                continue;
            int r = rights->approval(rights->arg, call, err);
            if (r <= 0)
                return r;
            answer = WB_MAX(answer, r);
        }
    return answer;
}
