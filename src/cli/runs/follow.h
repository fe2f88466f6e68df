/* cli/runs/follow.h — follows a run to its end, as `weft run` and the commands that answer a waiting run do.
 *
 * The run belongs to the owner of the store. If that process exits in the middle, the command finds the next owner, or
 * becomes it, and continues reading where it was.
 */
#pragma once

#include "cli/cli.h"
#include "cli/run_view.h"
#include "cli/store_owner.h"

struct cli_follow {
    struct cli_owner door;
    struct cli_run_view shown; /* .run is set by start */
    struct wb_arena arena;
    struct wb_uuid thread;
    char last_id[64]; /* of the last event received */
    bool cancels;     /* the first signal cancels the run; else it only ends the command */

    /* Starts the run, or lets it continue, and sets shown.run and thread. 1: there is nothing to follow; the command
     * ends well. Repeated if the owner exits before it is successful. */
    WEFT_SUSPENDS int (*start)(struct cli_follow *f, struct upp_err *err);
    void *arg;

    /* Instead of one run: follows as many as it likes, each with cli_follow_run. May be NULL. */
    WEFT_SUSPENDS int (*session)(struct cli_follow *f, struct upp_err *err);
    /* A signal came; true: nothing else happens. May be NULL. */
    bool (*on_signal)(struct cli_follow *f, int number);

    /* Its own: */
    struct weft_fiber *fiber;
    int signal_fd;
    bool started, stored, interrupted; /* stored: start has returned 1 */
};
void cli_follow_init(struct cli_follow *f, enum cli_show how, const char *name);
void cli_follow_done(struct cli_follow *f);

/* Does all of it, and returns the exit code. must_exist: a missing database is an error, and is not created. */
int cli_follow(const struct cli_command *self, struct cli_follow *f, const struct cli_source *from, bool must_exist);

/* In a session: starts a run and follows it until it ends or waits. */
WEFT_SUSPENDS int cli_follow_run(struct cli_follow *f, struct upp_err *err) UPP_MUST_CHECK;

/* An id in an answer of the owner. */
int cli_follow_id(yyjson_val *object, const char *name, const char *prefix, struct wb_uuid *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* A word of the command line; "-": standard input, in `in`. */
int cli_follow_text(const char *word, struct wb_buf *in, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Starts a run, on a thread of its own or on one that is there, by the routes of the store's owner.
 */

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
