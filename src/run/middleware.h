/* run/middleware.h — what middleware can do with a run: read its properties, change what the model receives.
 *
 * Nothing here changes a user's message: a rewritten input, another history, memories and a summary are separate
 * entries, visible only to this run's model (a summary: to the models of later runs too), and are restored when the run
 * is recovered after a crash.
 */
#pragma once

#include "base/arena.h"
#include "run/def.h"

struct wl_line;
struct wm_entry;
struct wr_run;

/* Valid as long as the run works in this process. */
struct wb_arena *wr_run_memory(struct weft_run *run);

/* One pointer for the middleware's own use; NULL at first, and again after recovery. */
void **wr_run_slot(struct weft_run *run);

/* The metadata of the request, a JSON object, part of the state; NULL: `before` has not run. */
struct upp_str wr_run_request(struct weft_run *run);
int wr_run_set_request(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* The model of the run (NULL: none), its wait table, milliseconds since the run began. */
const struct upp_model *wr_run_model(struct weft_run *run);
const struct upp_wait *wr_run_wait(struct weft_run *run);
uint64_t wr_run_age_ms(struct weft_run *run);

/* What the model receives as the user's input; NULL: nothing. And its index in the path. */
const struct upp_message *wr_run_enriched(struct weft_run *run);
size_t wr_run_enriched_at(struct weft_run *run);

/* Only in `before`. set_input: the model receives this input instead; an entry of audience run, and the event
 * prompt.enriched before everything else of the run. set_history: the model receives this history; messages from
 * weft_run_history are referenced, others are copied. remember: the model receives this just before the input. */
int wr_run_set_input(struct weft_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_run_set_history(struct weft_run *run, const struct upp_message *const *list, size_t n,
                       struct upp_err *err) UPP_MUST_CHECK;
int wr_run_remember(struct weft_run *run, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;

/* From now on, in later runs too, a summary replaces the first `covers` messages of the history. `u`: its usage. */
int wr_run_summarise(struct weft_run *run, size_t covers, struct upp_str text, const struct upp_usage *u,
                     struct upp_err *err) UPP_MUST_CHECK;

/* Runs middleware's `before`, once, and commits what it changed. */
WEFT_SUSPENDS int wr_before(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Reports the draft's new records to middleware; reports that a step begins. */
void wr_observe(struct wr_run *run);
void wr_observe_step(struct wr_run *run);

/* An entry by which middleware changed what the model receives? It is not on the path at its own position. */
bool wr_is_context(const struct wm_entry *e);

/* Is it a summary of an earlier run? Then *through is the first position of the path that it does not cover; `at` is
 * its own. */
bool wr_is_summary(struct wr_run *run, const struct wl_line *line, uint32_t at, uint32_t *through);

/* Is it a change of this run that refers to messages of the history by their number? */
bool wr_counts_history(const struct wr_run *run, const struct wl_line *line);

/* Repeats middleware's changes of the path, for a recovered run. */
int wr_context_restore(struct wr_run *run, struct wl_line *const *lines, size_t n, struct upp_err *err) UPP_MUST_CHECK;
