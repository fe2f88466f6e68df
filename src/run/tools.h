/* run/tools.h — a round of tools from the inside: its calls, their order, one of them.
 *
 * What becomes of a call, and who says so:
 *
 *     nobody of that name, no JSON           ended at once
 *     on_call, on_before                     may end it, or give it other arguments
 *     the schema of its parameters           may end it
 *     approval, the flag of the same name    may end it, or make it wait for a person
 *     the start is committed (C2)            from here on its outcome may become unknown
 *     run                                    on this fiber, beside it, as a child run, by the client
 *     on_after, on_error                     may change the result, may end the run
 *     the end is committed (C3)
 *
 * What hooks said is in the log as soon as anybody outside acts by it: in the start, or in what the run waits for. It
 * is not asked again then.
 */
#ifndef WR_TOOLS_H
#define WR_TOOLS_H

#include "run/journal.h"
#include "upp/client/call.h"

/* A call under way, behind the struct upp_call that its function sees. */
struct wr_doing {
    struct upp__call call;
    struct wr_run   *run;
    struct upp_str   key;      /* weft_call_key has it */
    char            *key_room; /* where it comes to stand; NULL: it does */
};

/* Why a call that has not ended does not go on now. */
enum wr_waits {
    WR_WAITS_NOT = 0,
    WR_WAITS_FOR_YES, /* it has not begun */
    WR_WAITS_OUTSIDE, /* the client, or a child that waits itself, has it */
};

struct wr_round;

struct wr_job {
    struct wr_round       *round;
    const struct upp_part *part;
    const struct wr_tool  *tool; /* NULL: there is none of that name */
    struct wr_call        *call;
    struct wr_doing        doing; /* what hooks and functions of the tool see */
    uint32_t               group;
    bool                   ready; /* to be run in its group */
    uint8_t                waits; /* enum wr_waits */
};

/* The calls of one message. */
struct wr_round {
    struct wr_run                  *run;
    const struct upp_tool_strategy *hooks; /* never NULL */
    struct wr_job                  *jobs;
    size_t                          n, next, left; /* left: that have not ended */
    uint32_t                        n_groups, group;
    int                             failed;
    struct upp_err                 *err; /* of the first failure; may be NULL */
    bool                            hooking;
    struct weft_cond                hooked; /* one hook at a time */
};

/* ---- One call (run/tool_call.c) ---------------------------------------------------------------------------------- */

/* From the message to `ready`, or to its end, or to waiting. */
WEFT_SUSPENDS int wr_call_prepare(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* Runs one that is ready, to its end or until it waits. */
WEFT_SUSPENDS int wr_call_run(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* The execution of a call that has ended, into the turn; once. */
int wr_call_count(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* The arguments in force: as the journal has them, else as the model wrote them. */
struct upp_str wr_call_arguments(const struct wr_job *j);

/* ---- On workers (run/tools.c) -------------------------------------------------------------------------------- */

/* Runs a function that blocks on a worker and waits for it. When it is told to stop, or its time is up, it has 10 s to
 * come back; then it is left alone: *left, and its result concerns nobody. */
WEFT_SUSPENDS int wr_call_on_worker(struct wr_job *j, struct upp_value *ret, bool *left,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* ---- Rights (run/rights.c) ----------------------------------------------------------------------------------- */

/* Is there anybody from here to the root who has rights? */
static inline bool wr_bound(const struct wr_run *run)
{
    while (run && !run->given && !(run->def && run->def->rights))
        run = run->parent;
    return run != NULL;
}

/* Is it in no list of what is denied, and in each list of what is allowed, from here to the root? */
bool wr_allowed(const struct wr_run *run, const struct wr_tool *tool);

/* May the model have this call made? -UPP_EREFUSED: not allowed. -UPP_ELIMIT: too deep. */
int wr_may_call(const struct wr_run *run, const struct wr_tool *tool, struct upp_err *err) UPP_MUST_CHECK;

/* Asks the handlers of this run and of all above it, the nearest first: 1, 0, WEFT_PENDING (nobody said no), <0. */
WEFT_SUSPENDS int wr_approve(struct wr_run *run, struct upp_call *call, struct upp_err *err) UPP_MUST_CHECK;

#endif
