/* run/middleware.h — what middleware can do with a run: read what it is, change what the model is told.
 *
 * Nothing here changes what a user said: a rewritten input, another history, what was remembered and a summary are
 * entries of their own, for this run's model alone (a summary: for the models of later runs too), and are found again
 * when the run is taken up after a crash.
 */
#ifndef WR_MIDDLEWARE_H
#define WR_MIDDLEWARE_H

#include "base/arena.h"
#include "run/def.h"

struct wl_line;
struct wm_entry;
struct wr_run;

/* Lives as long as the run works here. */
struct wb_arena *wr_run_memory(struct weft_run *run);

/* One pointer of the middleware's own; NULL at first, and again when the run is taken up. */
void **wr_run_slot(struct weft_run *run);

/* The metadata of the request, a JSON object, part of the state; no text: `before` has not been done. */
struct upp_str wr_run_request(struct weft_run *run);
int            wr_run_set_request(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* The model of the run (NULL: none), the table by which it waits, milliseconds since the run began. */
const struct upp_model *wr_run_model(struct weft_run *run);
const struct upp_wait  *wr_run_wait(struct weft_run *run);
uint64_t                wr_run_age_ms(struct weft_run *run);

/* What the model is told where the user's input stands; NULL: nothing. And its place in the path. */
const struct upp_message *wr_run_enriched(struct weft_run *run);
size_t                    wr_run_enriched_at(struct weft_run *run);

/* Only in `before`. The input the model is told instead: an entry of audience run, and the event prompt.enriched before
 * all else that the run says. The history it is told: those of the messages that are in weft_run_history stay what they
 * are, others are copied. What is told just before the input. */
int wr_run_set_input(struct weft_run *run, const struct upp_message *m, struct upp_err *err) UPP_MUST_CHECK;
int wr_run_set_history(struct weft_run *run, const struct upp_message *const *list, size_t n,
                       struct upp_err *err) UPP_MUST_CHECK;
int wr_run_remember(struct weft_run *run, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;

/* A summary stands for the first `covers` messages of the history from now on, in later runs too. `u`: what it took. */
int wr_run_summarise(struct weft_run *run, size_t covers, struct upp_str text, const struct upp_usage *u,
                     struct upp_err *err) UPP_MUST_CHECK;

/* ---- For the engine ------------------------------------------------------------------------------------------ */

/* Middleware's before, once: what it changed is committed. */
WEFT_SUSPENDS int wr_before(struct wr_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Tells middleware of the draft's records that it has not heard of; that a step begins. */
void wr_observe(struct wr_run *run);
void wr_observe_step(struct wr_run *run);

/* An entry by which middleware changed what the model is told: not in its own place on the path. */
bool wr_is_context(const struct wm_entry *e);

/* The newest summary that an earlier run made: where it stands, and the first line that it does not stand for. */
struct wr_summary {
    size_t at, through;
};
bool wr_summary_before(struct wr_run *run, const struct wl_line *lines, size_t n, struct wr_summary *ret);

/* Changes the path as middleware did before the run was taken up. */
int wr_context_restore(struct wr_run *run, const struct wl_line *lines, size_t n, struct upp_err *err) UPP_MUST_CHECK;

#endif
