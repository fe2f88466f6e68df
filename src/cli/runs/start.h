/* cli/runs/start.h — makes a thread and starts a run on it, by the routes of the store's owner. */
#ifndef CLI_START_H
#define CLI_START_H

#include "cli/runs/follow.h"

/* Creates a thread (with a title, if it is not empty), and adds its id to `path`. */
WEFT_SUSPENDS int cli_new_thread(struct cli_follow *f, struct upp_str title, struct wb_buf *path,
                                 struct upp_err *err) UPP_MUST_CHECK;

struct cli_start {
    struct upp_str thread; /* as in a path */
    struct upp_str agent, text;
    struct upp_str model; /* empty: the agent's own */
    struct upp_str key;   /* Idempotency-Key */
};

/* Sets the run's id before any event is read, so that a queued run can be cancelled too. Sending the request twice
 * starts one run: it has an idempotency key. */
WEFT_SUSPENDS int cli_start_run(struct cli_follow *f, const struct cli_start *start,
                                struct upp_err *err) UPP_MUST_CHECK;

#endif
