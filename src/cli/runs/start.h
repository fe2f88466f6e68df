/* cli/runs/start.h — starts a run, on a thread of its own or on one that is there, by the routes of the store's owner.
 */
#pragma once

#include "cli/runs/follow.h"

struct cli_start {
    struct upp_str thread; /* as in a path; empty: a new one, which is there if the run is */
    struct upp_str title;  /* of the new one; empty: none */
    struct upp_str agent, text;
    struct upp_str model; /* empty: the agent's own */
    struct upp_str key;   /* Idempotency-Key */
};

/* Sets the run's id before any event is read, so that a queued run can be cancelled too. Sending the request twice
 * starts one run: it has an idempotency key. */
WEFT_SUSPENDS int cli_start_run(struct cli_follow *f, const struct cli_start *start,
                                struct upp_err *err) UPP_MUST_CHECK;
