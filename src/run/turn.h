/* run/turn.h — a run's output as a turn: messages, executions, cycles and usage. */
#pragma once

#include "run/run.h"

/* Appends a message to the path. wr_mine_add: one that is not scaffolding, to path and `mine`. */
int wr_path_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_note(struct wr_run *run, const struct upp_message *m,
                 struct upp_err *err) UPP_MUST_CHECK; /* only to `mine` */
int wr_reasoned(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* Adds a complete assistant message to the draft, with a tape of one delta per part, after a flush of the draft. `used`
 * NULL: no usage. `data`: its structured answer; empty: none. */
WEFT_SUSPENDS int wr_message_add(struct wr_run *run, const struct upp_message *m, const char *phase,
                                 const struct upp_usage *used, struct upp_str data, struct upp_err *err) UPP_MUST_CHECK;
/* Adds a strategy's prompt to the path, for this run only, once per phase. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase,
              struct upp_err *err) UPP_MUST_CHECK;

int wr_execution_add(struct wr_run *run, const struct upp_execution *e, struct upp_err *err) UPP_MUST_CHECK;
int wr_cycle_add(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
/* The same for one of a branch or child, which counted in `below` until now. */
int wr_cycle_adopt(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
int wr_turn_restore(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Puts a child's usage into the end record of its call; from here on it is the run's own too. */
int wr_child_usage_add(struct wr_run *run, const struct wr_call *call, struct wm_event *ended,
                       struct upp_err *err) UPP_MUST_CHECK;

struct wr_mark wr_mark_now(const struct wr_run *run);

/* The run's output since then. `abort`: it ends with an assistant message marked as aborted. */
int wr_turn(struct wr_run *run, struct wr_mark from, bool abort, struct upp_turn **ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* All output, when the run has completed and is about to be freed. If the run's memory holds little else the turn takes
 * it over: then only the run's row can still be read. */
int wr_turn_last(struct wr_run *run, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The message as the current agent sees it: texts of other agents begin with their name. */
int wr_message_for_agent(struct wr_run *run, const struct upp_message *m, struct upp_str who,
                         const struct upp_message **ret, struct upp_err *err) UPP_MUST_CHECK;
