/* run/strategy.h — what the built-in strategies may know of a run beyond <weft/execution.h>. */
#pragma once

#include "base/arena.h"
#include "run/def.h"

/* Memory that lives as long as the run works. */
struct wb_arena *wr_memory(struct weft_run *run);

const struct wr_tool *wr_tools_of(struct weft_run *run, size_t *n);
bool wr_can_structure(struct weft_run *run); /* does its model support structured output? */

bool wr_step_begun(struct weft_run *run); /* has the current step messages, or was on_step_start called for it? */

/* UPP's toolStrategy: the maximum number of tool rounds, from the strategy's own options (0: not set), else the
 * agent's, else 10; UPP_HAND_BACK: none, and calls go to the caller that started the run. */
int wr_rounds(struct weft_run *run, uint32_t own);

/* The strategy has nothing more to do: a limit that is reached with its last step cuts nothing short. */
void wr_done(struct weft_run *run);

/* How many steps its budgets and those of its ancestors leave it; UINT32_MAX: no limit. */
uint32_t wr_steps_left(struct weft_run *run);

/* The phase of message number `cycle`, if a phase has several: from the second on "2/NAME". The number comes first, so
 * that no name that begins with a letter is the phase of another one's second message. NULL: no memory. */
const char *wr_phase(struct weft_run *run, const char *name, size_t cycle);

/* Calls on_max_iterations, and fails. */
WEFT_SUSPENDS int wr_too_many_rounds(struct weft_run *run, int max, struct upp_err *err) UPP_MUST_CHECK;

/* Concurrent work within a run: a child run of the same agent, with its own strategy and hooks, on a node that branches
 * off at the run's current position. It sees the path as it was then, and the run sees nothing of it until it adopts
 * the branch. The strategy creates its id and stores it in its state, so that a restarted step finds the branch. The
 * log announces a branch as the start of a call without a name. */
struct wr_branch {
    struct weft_run *of;
    struct wb_uuid id;
    const char *name; /* the phase of its first message, when adopted; valid as long as the run */
    const struct weft_strategy *strategy;
    const struct weft_hooks *hooks;
    int result; /* of its strategy, when it has ended */
    struct upp_err why;
    struct wr_run *run;
};

/* Was it announced before? 1, 0. */
WEFT_SUSPENDS int wr_branch_known(struct weft_run *run, const struct wr_branch *b, struct upp_err *err) UPP_MUST_CHECK;

/* A new branch's id. The caller must store it in its state before it runs the branch. */
WEFT_SUSPENDS int wr_branch_new_id(struct weft_run *run, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Announces the new ones, with the current state, and runs all that have not ended, concurrently. 0: all have ended.
 * -UPP_EWAIT: some wait for answers, the others have ended. */
WEFT_SUSPENDS int wr_branches_run(struct weft_run *run, struct wr_branch *b, size_t n,
                                  struct upp_err *err) UPP_MUST_CHECK;
enum { WR_BRANCHES = 64 };

/* The run's hooks are being called for a branch: system events and handoffs that they add to the run go to the branch,
 * until the next call with NULL. */
void wr_branch_speaks(struct weft_run *run, struct weft_run *branch);

/* Adds the branch's content to the run's current step, or what of it is missing: messages, calls, results and system
 * events, with their outcomes and usage, and its handoff request. The caller ends the step. Branches that are not
 * adopted count in the run's usage when it ends. */
WEFT_SUSPENDS int wr_branch_adopt(struct weft_run *run, struct wr_branch *b, struct upp_err *err) UPP_MUST_CHECK;
void wr_branches_done(struct wr_branch *b, size_t n);
