/* run/turn.h — what a run brings: its messages, executions, cycles and usage, as a turn. */
#ifndef WR_TURN_H
#define WR_TURN_H

#include "run/run.h"

/* A path grows by one message; by one that is no scaffolding. */
int wr_path_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_add(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_mine_note(struct wr_run *run, const struct upp_message *m,
                 struct upp_err *err) UPP_MUST_CHECK; /* not the path */
int wr_reasoned(struct wr_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;

/* A message of the assistant that no model says now: into the draft, with a tape of one delta a part. What the draft
 * has is flushed before. `used` NULL: nothing. `data`: its structured answer; no text: none. */
WEFT_SUSPENDS int wr_say(struct wr_run *run, const struct upp_message *m, const char *phase,
                         const struct upp_usage *used, struct upp_str data, struct upp_err *err) UPP_MUST_CHECK;
/* A prompt of the strategy: on the path for this run alone, once for a phase. */
int wr_prompt(struct wr_run *run, const struct upp_message *prompt, struct upp_str phase,
              struct upp_err *err) UPP_MUST_CHECK;

int wr_execution_add(struct wr_run *run, const struct upp_execution *e, struct upp_err *err) UPP_MUST_CHECK;
int wr_cycle_add(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
/* The same for one that a branch made, which counts below the run until then. */
int  wr_cycle_adopt(struct wr_run *run, const struct upp_usage *u, struct upp_err *err) UPP_MUST_CHECK;
int  wr_turn_restore(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;
void wr_usage_add(struct upp_usage *to, const struct upp_usage *u);

/* With the record of the end of a call that was a child: what it used is the run's too from here on. */
int wr_spent(struct wr_run *run, const struct wr_call *call, struct wm_event *ended,
             struct upp_err *err) UPP_MUST_CHECK;

struct wr_mark wr_mark_now(const struct wr_run *run);

/* What the run brought since then. `abort`: it ends with an assistant message that says so. */
int wr_turn(struct wr_run *run, struct wr_mark from, bool abort, struct upp_turn **ret,
            struct upp_err *err) UPP_MUST_CHECK;

/* All that it brought, when it has ended well and is about to be freed. Where the run's memory holds little else the
 * turn takes it: from then on nothing of the run can be read but its row. */
int wr_turn_last(struct wr_run *run, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* As the agent that works now sees it: what others said begins with their name. */
int wr_as_seen(struct wr_run *run, const struct upp_message *m, struct upp_str who, const struct upp_message **ret,
               struct upp_err *err) UPP_MUST_CHECK;

#endif
