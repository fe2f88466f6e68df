/* dialects/core/failure.h — why a run has failed, in the words of OpenAI's APIs. */
#pragma once

#include "base/arena.h"
#include "model/event.h"

struct wd_failure {
    struct upp_str message; /* in the arena, or constant */
    struct upp_str code;    /* "rate_limit_exceeded", or the error's own */
    const char *type;       /* "rate_limit_error" */
    int status;             /* of HTTP */
    bool refused;           /* by the provider, for a reason that the client can do something about */
    uint64_t retry_ms;      /* what the provider has asked to wait; 0: nothing */
};

/* `status`, `error`: of the run's last record, or of its row. Never fails: without memory the message is a general one.
 */
void wd_failure_read(struct wb_arena *a, uint8_t status, struct upp_str error, struct wd_failure *ret);
