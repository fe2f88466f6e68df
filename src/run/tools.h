/* run/tools.h — a round of tools: its calls, their order, a single call. Internals.
 *
 * The stages of a call, and what each may do:
 *
 *     unknown name, arguments not JSON       end it at once
 *     on_call, on_before                     end it, or replace its arguments
 *     the schema of its parameters           end it
 *     approval, the flag of the same name    end it, or make it wait for a person
 *     the start is committed (C2)            from here on its outcome may become unknown
 *     run                                    on this fiber, on a worker, as a child run, by the client
 *     on_after, on_error                     change the result, or end the run
 *     the end is committed (C3)
 *
 * What hooks decided is in the log before anybody outside acts on it: in the start, or in the pending call. After that
 * they are not asked again.
 */
#pragma once

#include "run/journal.h"
#include "upp/client/call.h"

/* A call in progress, behind the struct upp_call that its function sees. */
struct wr_active_call {
    struct upp__call call;
    struct wr_run *run;
    struct upp_str key; /* set by weft_call_key */
    char *key_room;     /* buffer for the key; NULL: the key is set */
};

/* Why a call that has not ended cannot continue now. */
enum wr_waits {
    WR_WAITS_NOT = 0,
    WR_WAITS_APPROVAL, /* for an approval: it has not begun */
    WR_WAITS_OUTSIDE,  /* for the client, or for a child that waits itself */
};

struct wr_round;

struct wr_job {
    struct wr_round *round;
    const struct upp_part *part;
    const struct wr_tool *tool; /* NULL: there is none of that name */
    struct wr_call *call;
    struct wr_active_call doing; /* what hooks and the tool's function see */
    uint32_t group;
    bool ready;    /* to be run in its group */
    uint8_t waits; /* enum wr_waits */
};

/* The calls of one message. */
struct wr_round {
    struct wr_run *run;
    const struct upp_tool_strategy *hooks; /* never NULL */
    struct wr_job *jobs;
    size_t n, next, left; /* left: calls that have not ended */
    uint32_t n_groups, group;
    int failed;
    struct upp_err *err; /* of the first failure; may be NULL */
    bool hooking;
    struct weft_cond hooked; /* one hook at a time */
};

/* The run's tool of this name; NULL: none. */
const struct wr_tool *wr_tool_find(const struct wr_run *run, struct upp_str name);

/* Takes a call from the message to `ready`, to its end, or to waiting. */
WEFT_SUSPENDS int wr_call_prepare(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* Runs a call that is ready, until it ends or waits. */
WEFT_SUSPENDS int wr_call_run(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the execution of an ended call to the turn, once. */
int wr_call_count(struct wr_job *j, struct upp_err *err) UPP_MUST_CHECK;

/* The arguments from the journal, else as the model wrote them. */
struct upp_str wr_call_arguments(const struct wr_job *j);

/* Runs a blocking function on a worker and waits for it. After a cancel or a timeout it has 10 s to return; then it is
 * abandoned: *left is set, and its result is ignored. */
WEFT_SUSPENDS int wr_call_on_worker(struct wr_job *j, struct upp_value *ret, bool *left,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Does this run or one of its ancestors have rights? */
static inline bool wr_has_rights(const struct wr_run *run)
{
    while (run && !run->given && !run->only_tools && !run->readonly && !(run->def && run->def->rights))
        run = run->parent;
    return run != NULL;
}

/* Is the tool in every allow list and in no deny list, from here to the root? */
bool wr_allowed(const struct wr_run *run, const struct wr_tool *tool);

/* May the model call this tool? -UPP_EREFUSED: not allowed. -UPP_ELIMIT: too deep, or too many. */
int wr_may_call(const struct wr_run *run, const struct wr_tool *tool, struct upp_err *err) UPP_MUST_CHECK;

/* May the agent call or, with hands_over, hand over to another one? -UPP_ELIMIT: there were too many messages. */
int wr_may_tell_agent(const struct wr_run *run, bool hands_over, struct upp_err *err) UPP_MUST_CHECK;

/* Asks the approval handlers of this run and its ancestors, nearest first: 1, 0, WEFT_PENDING (none denied), <0. */
WEFT_SUSPENDS int wr_approve(struct wr_run *run, struct upp_call *call, struct upp_err *err) UPP_MUST_CHECK;
