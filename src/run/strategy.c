/* run/strategy.c — a run as its strategy sees it. */
#include "run/strategy.h"

#include "run/internal.h"

enum { ROUNDS = 10 };

struct wb_arena *wr_memory(struct weft_run *run)
{
    return &wr_of(run)->memory;
}

const struct wr_tool *wr_tools_of(struct weft_run *run, size_t *n)
{
    const struct wr_agent_def *def = wr_of(run)->def;
    *n                             = def->n_tools;
    return def->tools;
}

bool wr_can_structure(struct weft_run *run)
{
    const struct upp_model *m = wr_of(run)->model;
    return m && (!m->can || (m->can & UPP_CAN_STRUCTURE));
}

bool wr_step_begun(struct weft_run *run)
{
    const struct wr_run *r = wr_of(run);
    return r->step_dirty || r->step_told;
}

int wr_rounds(struct weft_run *run, uint32_t own)
{
    const struct upp_tool_strategy *s = wr_of(run)->def->tool_strategy;
    if (own)
        return own > INT_MAX ? INT_MAX : (int)own;
    if (s && s->max_iterations < 0)
        return UPP_HAND_BACK;
    return s && s->max_iterations ? s->max_iterations : ROUNDS;
}

int wr_too_many_rounds(struct weft_run *run, int max, struct upp_err *err)
{
    const struct upp_tool_strategy *s = wr_of(run)->def->tool_strategy;
    int                             r = s && s->on_max_iterations ? s->on_max_iterations(s->arg, max, err) : 0;
    return r < 0 ? r : upp_fail(err, UPP_EINVALID, "Tool execution exceeded maximum iterations (%d)", max);
}
