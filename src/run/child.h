/* run/child.h — child runs: calls of agent tools, and branches. */
#pragma once

#include "run/journal.h"

/* Runs the child run of a call, new or found in the store; the text of its turn is the result. -UPP_EWAIT: it waits. */
WEFT_SUSPENDS int wr_child(struct wr_run *parent, struct wr_call *call, const struct wr_tool *tool,
                           struct upp_str arguments, struct upp_value *ret, struct upp_err *err) UPP_MUST_CHECK;
int wr_child_new_id(const struct wr_run *run, struct wr_call *call, struct upp_err *err) UPP_MUST_CHECK;

/* Resumes a child run that was found in the store. Adds a child's pending calls to those of its parent. */
WEFT_SUSPENDS int wr_child_resume(struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;
int wr_child_pending(struct wr_run *parent, const struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;

struct wr_call *wr_branch_call(struct wr_run *run, struct wb_uuid id, struct upp_err *err); /* NULL: failed */

/* For a branch that ends with its run: subtracts the usage adopted in the current step, which is counted already. */
void wr_branch_left(const struct wr_run *run, struct wr_call *c);

/* Ends the child runs of open calls, before their parent ends without completing. */
WEFT_SUSPENDS int wr_children_end(struct wr_run *run, int result, const struct upp_err *why,
                                  struct upp_err *err) UPP_MUST_CHECK;
