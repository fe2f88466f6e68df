/* run/tool_order.c — which calls of a round come before which.
 *
 * Again and again all calls are collected whose `after` is done; where one of them is sequential each is a group of its
 * own, else they are one group. When nothing can be collected, names that nobody calls do not count; and when that does
 * not help (a circle) the rest is collected as it is.
 */
#include "run/tools.h"

enum { NOW = WR_CALLS + 1, NOT_YET }; /* instead of a group */

static bool names(const struct wr_tool *tool, struct upp_str name)
{
    for (size_t i = 0; tool && i < tool->n_after; i++)
        if (wb_str_eq(tool->after[i], name))
            return true;
    return false;
}

/* Do all calls of that name have a group? `absent`: what to say where there is none. */
static bool placed(const struct wr_round *round, struct upp_str name, bool absent)
{
    bool found = false;
    for (size_t i = 0; i < round->n; i++)
        if (wb_str_eq(round->jobs[i].part->name, name)) {
            if (round->jobs[i].group >= NOW)
                return false;
            found = true;
        }
    return found || absent;
}

static bool may_come(const struct wr_round *round, const struct wr_job *j, bool absent)
{
    for (size_t i = 0; j->tool && i < j->tool->n_after; i++)
        if (!placed(round, j->tool->after[i], absent))
            return false;
    return true;
}

enum how { STRICT, WITHOUT_ABSENT, ALL };

static size_t collect(struct wr_round *round, enum how how)
{
    size_t n = 0;
    for (size_t i = 0; i < round->n; i++) {
        struct wr_job *j = &round->jobs[i];
        if (j->group == NOT_YET && (how == ALL || may_come(round, j, how == WITHOUT_ABSENT))) {
            j->group = NOW;
            n++;
        }
    }
    return n;
}

void wr_order(struct wr_round *round)
{
    bool any = false;
    for (size_t i = 0; i < round->n; i++) {
        const struct wr_tool *tool = round->jobs[i].tool;
        any |= tool && (tool->n_after || tool->sequential);
        round->jobs[i].group = NOT_YET;
    }
    round->n_groups = 0;
    for (size_t left = round->n; left;) {
        size_t n = 0;
        for (enum how how = STRICT; !n; how++)
            n = collect(round, any ? how : ALL);
        left -= n;
        bool alone = false;
        for (size_t i = 0; i < round->n; i++)
            alone |= round->jobs[i].group == NOW && round->jobs[i].tool && round->jobs[i].tool->sequential;
        for (size_t i = 0; i < round->n; i++)
            if (round->jobs[i].group == NOW)
                round->jobs[i].group = alone ? round->n_groups++ : round->n_groups;
        round->n_groups += !alone;
    }
}

bool wr_held_up(const struct wr_job *j)
{
    const struct wr_round *round = j->round;
    for (size_t i = 0; i < round->n; i++) {
        const struct wr_job *other = &round->jobs[i];
        if (other->group >= j->group || other->call->state == WR_CALL_ENDED)
            continue;
        bool alone = (j->tool && j->tool->sequential) || (other->tool && other->tool->sequential);
        if (names(j->tool, other->part->name) || (alone && other->waits == WR_WAITS_OUTSIDE))
            return true;
    }
    return false;
}
