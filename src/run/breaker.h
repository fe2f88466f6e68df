/* run/breaker.h — circuit breakers: queued runs wait while their model cannot be reached.
 *
 * After WR_BREAKER_FAILURES requests in a row that failed for a reason that passes (no connection, no answer, 5xx, 429)
 * the model is down: a queued run on it is not started, but for one every 1, 2, 4 ... 60 seconds, which tries it. The
 * first success lets all others follow. A run waits at most wr_engine_opts.provider_wait_ms from when its turn came;
 * then it starts whatever the model does. Runs that are not queued never wait here: their clients hear of the failure
 * at once. A model of the same name at another address is another model.
 *
 * Each engine has its own, in memory: after a restart the first requests find out again.
 */
#pragma once

#include "run/engine_state.h"

enum { WR_BREAKER_FAILURES = 5 };

/* A request to the model has ended with this result. */
void wr_breaker_note(struct wr_engine *e, const struct upp_model *model, int result, const struct upp_err *why);

/* May a queued run start on the model, whose turn came at this time? true takes the turn of the run that tries it.
 * false: the supervisor looks at it again. */
bool wr_breaker_lets(struct wr_engine *e, const struct upp_model *model, int64_t since_ms);
