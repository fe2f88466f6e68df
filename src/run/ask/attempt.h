/* run/ask/attempt.h — one call of a model: its attempts, and the open message that they fill. */
#pragma once

#include <upp/model.h>

#include "run/ask/open_message.h"

/* One call of the model. */
struct wr_asking {
    struct wr_run *run;
    const struct weft_ask_opts *opts;
    struct upp_str phase;
    struct wr_open *open;
    struct upp_request request;
    struct wb_arena files;     /* what the request has of uploaded files */
    struct upp_step_event end; /* usage, stop, metadata, data */
    struct upp_usage spent;    /* on structured responses that did not fit */
    unsigned corrections;
    bool streams;    /* readers receive it while it grows */
    bool has_output; /* this attempt had output */
    bool capped;     /* it may have what is left of the run's max_completion_tokens */
    unsigned since;  /* deltas since the last yield */
    size_t bytes;
};

/* A new open message for the call. */
int wr_asking_open(struct wr_asking *a, struct upp_err *err) UPP_MUST_CHECK;

/* Drops an open message: its readers leave it. */
void wr_asking_drop(struct wr_run *run, struct wr_open **open);

/* The schema of the response; empty: none. */
struct upp_str wr_asking_structure(const struct wr_asking *a);

/* Is a structured response checked? Not that of a strategy, which knows itself what it wants. */
bool wr_asking_checked(const struct wr_asking *a);

/* Calls the model until it has answered: then the open message is complete. A response that must fit and does not is
 * asked for again. Negative: the last failure; what was said until then is still open. */
WEFT_SUSPENDS int wr_attempts(struct wr_asking *a, struct upp_err *err) UPP_MUST_CHECK;
