/* run/event.h — a run's system events, tool grants and handoffs. */
#pragma once

#include "run/run.h"

/* Adds an event entry and its record to the draft. `json`: from wr_event_write. */
int wr_event_add(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* Has the run's next row room for it? */
bool wr_event_fits(const struct wr_run *run, struct upp_str json);
int wr_event_write(struct wr_run *run, const struct weft_system_event *ev, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Remembers an event of a branch, for its adoption. */
int wr_event_note(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* Adds the events that were held back until the end of a message. */
int wr_events_due(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Reads the grants of an event on the path. step: after how many steps of this run they hold; 0: at once. */
int wr_grant_note(struct wr_run *run, struct upp_str json, uint32_t step, struct upp_err *err) UPP_MUST_CHECK;

/* The first n grants, those of the path before this position, as a run's state has them: [position, [tool, agent, 1 or
 * 0] ...]. Empty: there are too many for it. wr_grants_before: the position; false: it is no such list. */
int wr_grants_write(struct wr_run *run, size_t n, uint32_t before, struct upp_str *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
bool wr_grants_before(struct wr_run *run, struct upp_str json, uint32_t *ret);
int wr_grants_read(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

bool wr_granted(const struct wr_run *run, const struct wr_tool *tool); /* wr_offers for a run with grants */
/* Is the tool offered to the model in this step? */
static inline bool wr_offers(const struct wr_run *run, const struct wr_tool *tool)
{
    return run->grants.n ? wr_granted(run, tool) : !tool->withheld;
}

/* Runs a call of a handoff tool: requests the handoff, and writes the call's result. */
int wr_handoff_call(struct wr_run *run, const struct wr_tool *tool, struct upp_call *call, struct upp_value *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
/* Requests it again, for a call that the journal has. */
int wr_handoff_again(struct wr_run *run, const struct wr_tool *tool, struct upp_str arguments,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Called when the strategy has ended. 1: another agent continues the run. */
WEFT_SUSPENDS int wr_handoff(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
