/* run/event.h — system events of a run, what they grant, and handoffs. */
#ifndef WR_EVENT_H
#define WR_EVENT_H

#include "run/run.h"

/* An event entry and its record, into the draft. `json` as wr_event_write makes it. */
int wr_event_add(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
int wr_event_write(struct wr_run *run, const struct weft_system_event *ev, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A branch keeps it in mind. */
int wr_event_note(struct wr_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* Those that have waited for the end of a message. */
int wr_events_due(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Takes note of an event on the path. step: of this run, 0: of another. */
int  wr_grant_note(struct wr_run *run, struct upp_str json, uint32_t step, struct upp_err *err) UPP_MUST_CHECK;
bool wr_granted(const struct wr_run *run, const struct wr_tool *tool); /* wr_offers, where there are grants */
/* May the model call it in this step? */
static inline bool wr_offers(const struct wr_run *run, const struct wr_tool *tool)
{
    return run->grants.n ? wr_granted(run, tool) : !tool->withheld;
}

/* A call of a handoff tool: asks for it, and says so. */
int wr_handoff_call(struct wr_run *run, const struct wr_tool *tool, struct upp_call *call, struct upp_value *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
/* The journal says that it was called. */
int wr_handoff_again(struct wr_run *run, const struct wr_tool *tool, struct upp_str arguments,
                     struct upp_err *err) UPP_MUST_CHECK;

/* 1: the strategy has ended, and another agent goes on. */
WEFT_SUSPENDS int wr_handoff(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

#endif
