/* run/strategy.h — what the built-in strategies may know of a run beyond <weft/execution.h>. */
#ifndef WR_STRATEGY_H
#define WR_STRATEGY_H

#include "base/arena.h"
#include "run/def.h"

/* Memory that lives as long as the run works. */
struct wb_arena *wr_memory(struct weft_run *run);

const struct wr_tool *wr_tools_of(struct weft_run *run, size_t *n);
bool                  wr_can_structure(struct weft_run *run); /* can its model answer as a schema says? */

bool wr_step_begun(struct weft_run *run); /* was anything said in the current step, or on_step_start told of it? */

/* UPP's toolStrategy. Rounds of tools: what the strategy's own options say (0: nothing), else the agent's, else 10;
 * UPP_HAND_BACK: none, and calls go to whoever started the run. */
int wr_rounds(struct weft_run *run, uint32_t own);

/* The strategy has done all there was: a limit that is reached with its last step cuts nothing short. */
void wr_done(struct weft_run *run);

/* How many steps its budgets leave it, and those of all above it; UINT32_MAX: no limit. */
uint32_t wr_steps_left(struct weft_run *run);

/* The phase of the second message and of those after it, where a phase has several: "2/NAME". The number stands before
 * the name, so that no name that begins with a letter is the phase of another one's second message. NULL: no memory. */
const char *wr_phase(struct weft_run *run, const char *name, size_t cycle);

/* Tells on_max_iterations, and fails. */
WEFT_SUSPENDS int wr_too_many_rounds(struct weft_run *run, int max, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Branches --------------------------------------------------------------------------------------------- */

/* Work that is done beside other work of the same run: a child run of the same agent, with a strategy and hooks of its
 * own, on a node that branches off where the run stands. It sees the path as it was then, and the run sees nothing of
 * it until it is adopted. Its id is minted by the strategy and kept in its state, so that whoever enters the step again
 * finds it. In the log it is announced as the start of a call without a name. */
struct wr_branch {
    struct weft_run            *of;
    struct wb_uuid              id;
    const char                 *name; /* the phase of its first message, when adopted; lives as long as the run */
    const struct weft_strategy *strategy;
    const struct weft_hooks    *hooks;
    int                         result; /* of its strategy, when it has ended */
    struct upp_err              why;
    struct wr_run              *run;
};

/* Was it announced before? 1, 0. */
WEFT_SUSPENDS int wr_branch_known(struct weft_run *run, const struct wr_branch *b, struct upp_err *err) UPP_MUST_CHECK;

/* The id of a branch that is to be: kept by whoever runs it, before it does. */
WEFT_SUSPENDS int wr_branch_new_id(struct weft_run *run, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Announces those that are new, with the state as it is, and works on all that have not ended, at the same time. 0: all
 * have. -UPP_EWAIT: some wait for answers, the others have ended. */
WEFT_SUSPENDS int wr_branches_run(struct weft_run *run, struct wr_branch *b, size_t n,
                                  struct upp_err *err) UPP_MUST_CHECK;
enum { WR_BRANCHES = 64 };

/* A hook of the run is told of a branch: system events and handoffs that it adds to the run are the branch's, until the
 * next call with NULL. */
void wr_branch_speaks(struct weft_run *run, struct weft_run *branch);

/* Says in the current step of the run what was said in the branch, or what of it is missing: messages, calls, results
 * and system events as they were there, with their outcomes and their usage, and its wish to hand over. The caller ends
 * the step. Those that are not adopted count in the run's usage when it ends. */
WEFT_SUSPENDS int wr_branch_adopt(struct weft_run *run, struct wr_branch *b, struct upp_err *err) UPP_MUST_CHECK;
void              wr_branches_done(struct wr_branch *b, size_t n);

#endif
