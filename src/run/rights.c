/* run/rights.c — what a run may do: the rights of its agent, of the tool by which it was asked, and of all above it.
 *
 * A run has two sets at most: its agent's, which go with the agent when the thread is passed on, and those that the
 * tool entry of its parent gave it, which stay. All sets from the run to the root hold at the same time, so that nobody
 * below can widen what somebody above has: a tool must be in every list that allows and in none that denies, every
 * limit of depth is counted from where it was set, and every handler is asked.
 */
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

bool wr_allowed(const struct wr_run *run, const struct wr_tool *tool)
{
    for (const struct wr_run *up = run; up; up = up->parent)
        for (int i = 0; i < SETS; i++) {
            const struct weft_rights *r = set_of(up, i);
            if (r &&
                ((r->allow && !listed(r->allow, tool->spec.name)) || (r->deny && listed(r->deny, tool->spec.name))))
                return false;
        }
    return true;
}

/* How many agents may be below a run; UINT32_MAX: as many as the engine says. */
static uint32_t depth_below(const struct weft_rights *r)
{
    return !r || !r->max_depth ? UINT32_MAX : r->max_depth == UINT32_MAX ? 0 : r->max_depth;
}

/* The deepest that a child of this run may be, counted from the root. */
static uint32_t deepest(const struct wr_run *run)
{
    uint64_t least = run->engine->opts.max_depth;
    for (const struct wr_run *up = run; up; up = up->parent)
        for (int i = 0; i < SETS; i++)
            least = WB_MIN(least, up->row.depth + (uint64_t)depth_below(set_of(up, i)));
    return (uint32_t)least;
}

int wr_may_call(const struct wr_run *run, const struct wr_tool *tool, struct upp_err *err)
{
    if (wr_bound(run) && !wr_allowed(run, tool))
        return upp_fail(err, UPP_EREFUSED, "Tool '%.*s' is not allowed here", UPP_FMT(tool->spec.name));
    if (tool->kind != WR_TOOL_AGENT)
        return 0;
    uint32_t most = deepest(run);
    if (run->row.depth + 1u > most)
        return upp_fail(err, UPP_ELIMIT, "agents ask agents more than %u deep", most);
    return 0;
}

int wr_approve(struct wr_run *run, struct upp_call *call, struct upp_err *err)
{
    int answer = 1;
    if (!wr_bound(run))
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
