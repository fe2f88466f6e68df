/* run/child.h — runs below a run: children of calls, and branches. */
#ifndef WR_CHILD_H
#define WR_CHILD_H

#include "run/journal.h"

/* Runs the child of a call, new or begun before; its last words are the result. -UPP_EWAIT: it waits. */
WEFT_SUSPENDS int wr_child(struct wr_run *parent, struct wr_call *call, const struct wr_tool *tool,
                           struct upp_str arguments, struct upp_value *ret, struct upp_err *err) UPP_MUST_CHECK;
int               wr_child_new_id(const struct wr_run *run, struct wr_call *call, struct upp_err *err) UPP_MUST_CHECK;

/* A child run that was found in the store goes on; what it waits for is what its parent waits for. */
WEFT_SUSPENDS int wr_child_go_on(struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;
int wr_child_pending(struct wr_run *parent, const struct wr_run *child, struct upp_err *err) UPP_MUST_CHECK;

struct wr_call *wr_branch_call(struct wr_run *run, struct wb_uuid id, struct upp_err *err); /* NULL: failed */

/* One that ends with its run: what of its usage was adopted in the current step is counted already. */
void wr_branch_left(const struct wr_run *run, struct wr_call *c);

/* Ends the children of open calls, before their parent is ended by a cancel. */
WEFT_SUSPENDS int wr_children_end(struct wr_run *run, int result, const struct upp_err *why,
                                  struct upp_err *err) UPP_MUST_CHECK;

#endif
