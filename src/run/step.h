/* run/step.h — the end of a step and of a strategy; budgets. */
#pragma once

#include "run/run.h"

/* Commits that the run waits for run->journal.pending: C5, or with the last C3. Returns -UPP_EWAIT when it is
 * committed. */
WEFT_SUSPENDS int wr_wait_for(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Sets until when a run waits, in its row and in the record that says so. */
void wr_set_expiry(const struct wr_run *run, struct wm_run *row, struct wm_event *waiting);

/* 1: the run stops: the hook `stop` says so, a handoff was requested, or a budget is used up. `goes_on`: it would begin
 * one more step. */
WEFT_SUSPENDS int wr_should_stop(struct wr_run *run, bool goes_on, struct upp_err *err) UPP_MUST_CHECK;

/* Ends the current step with what is in the draft. */
WEFT_SUSPENDS int wr_last_step(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Passes the strategy's result through hooks and middleware: 0, or why the run fails. */
WEFT_SUSPENDS int wr_conclude(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a run whose strategy did not begin: middleware's before failed. */
WEFT_SUSPENDS int wr_conclude_not_started(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;

/* Adds a run's usage to all its ancestors. */
void wr_usage_add_above(struct wr_run *run, const struct upp_usage *u, uint32_t steps);
void wr_used_restore(struct wr_run *run);

/* Counts a message between agents, a call or a handoff. A child has ended: its messages become those of its parent. */
void wr_agent_message(struct wr_run *run);
void wr_agent_messages_adopt(struct wr_run *run, uint32_t n);
/* A child has ended: its usage moves from `below` to the run's own state. */
void wr_usage_sub_below(struct wr_run *run, const struct upp_usage *u);

/* 1: it exceeds a limit of its own or of an ancestor; its metadata says so. `goes_on`: it wants one more step. */
int wr_budget(struct wr_run *run, bool goes_on, struct upp_err *err) UPP_MUST_CHECK;

/* The run ends because of this limit, with what it has. 1, or an error. */
int wr_limit_reached(struct wr_run *run, const char *which, struct upp_err *err) UPP_MUST_CHECK;

/* How long it may still work; UINT64_MAX: no limit. How long it has worked. */
uint64_t wr_budget_ms(const struct wr_run *run);
uint64_t wr_worked_ms(const struct wr_run *run);

/* What tokens cost by the prices of a budget, and an agent's budget that has prices; NULL: none. */
double wr_cost(const struct weft_budget *b, const struct upp_usage *u);
const struct weft_budget *wr_prices(const struct wr_agent_def *def);

/* 1: the strategy failed because a limit was reached, which is not a failure of the run. */
int wr_out_of_budget(struct wr_run *run, int result, struct upp_err *err) UPP_MUST_CHECK;
