/* run/journal.h — what the log has of a run: the messages and calls of its current step. */
#pragma once

#include "run/run.h"

/* A model's message in the current step. */
struct wr_journal_reply {
    struct upp_str phase;
    struct weft_reply reply;
    bool answered; /* every call of it has a result on the path */
};
enum wr_call_state { WR_CALL_STARTED = 1, WR_CALL_ENDED };
struct wr_call {
    struct upp_str id, name;
    uint8_t state;
    uint8_t outcome;
    bool asked;     /* hooks were called, and the arguments they chose are in the log */
    bool begun;     /* it was started, or given to the client */
    bool approved;  /* by somebody who was asked */
    bool counted;   /* it is among the run's executions */
    bool on_path;   /* its result is on the path */
    bool branch;    /* a branch, not a tool call (run/branch.c) */
    uint32_t order; /* rank by time of end, among the calls of the journal */
    uint64_t ms;
    struct upp_str arguments; /* it was started with; NULL: those of the message */
    struct upp_str result;
    struct wb_uuid child;
    uint64_t child_node;

    uint32_t messages;        /* of an ended child: between agents, in it and below it */
    struct upp_usage *cycles; /* of an ended child: usage of it and its sub-agents, per model call */
    size_t n_cycles;
};

/* Loads the history and the journal of the run from the store. */
WEFT_SUSPENDS int wr_load(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

struct wr_call *wr_call_find(struct wr_run *run, struct upp_str id);
/* The call with this id, a new one if there is none. */
int wr_call_add(struct wr_run *run, struct upp_str id, struct wr_call **ret, struct upp_err *err) UPP_MUST_CHECK;

/* A branch (run/branch.c), a call of no message, that has not ended. It may outlive the step that began it. */
static inline bool wr_is_open_branch(const struct wr_call *c)
{
    return c->state == WR_CALL_STARTED && c->branch;
}

/* Child runs: calls of agent tools, and branches. */

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
