/* run/journal.h — what the log has of a run: its path, and the calls and messages of its current step. */
#ifndef WR_JOURNAL_H
#define WR_JOURNAL_H

#include "run/run.h"

/* What the journal of the current step holds. */
struct wr_journal_reply {
    struct upp_str    phase;
    struct weft_reply reply;
    bool              answered; /* every call of it has a result on the path */
};
enum wr_call_state { WR_CALL_STARTED = 1, WR_CALL_ENDED };
struct wr_call {
    struct upp_str id, name;
    uint8_t        state;
    uint8_t        outcome;
    bool           asked;   /* hooks were, and what they made of the arguments is in the log */
    bool           begun;   /* it was started, or given to the client */
    bool           counted; /* it is among the run's executions */
    bool           shown;   /* its result is on the path */
    bool           branch;  /* no call at all (run/branch.c) */
    uint32_t       order;   /* in which it ended, of those that the journal has */
    uint64_t       ms;
    struct upp_str arguments; /* that it was started with; no text: those of the message */
    struct upp_str result;
    struct wb_uuid child;
    uint64_t       child_node;

    struct upp_usage *cycles; /* of a child that has ended: what it and all below it used, call by call */
    size_t            n_cycles;
};

/* Loads the history and the journal of the run from the store. */
WEFT_SUSPENDS int wr_load(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

struct wr_call *wr_call_find(struct wr_run *run, struct upp_str id);
struct wr_call *wr_call_add(struct wr_run *run, struct upp_str id, struct upp_err *err);

/* Branches (run/branch.c): calls of no message that have not ended. They may outlive the step that began them. */
static inline bool wr_is_open_branch(const struct wr_call *c)
{
    return c->state == WR_CALL_STARTED && c->branch;
}

/* History and messages anew, for an agent that has just come. */
WEFT_SUSPENDS int wr_path_anew(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

#endif
