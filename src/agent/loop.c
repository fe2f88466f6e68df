/* agent/loop.c — UAP-5.2: ask, run tools, until there are no more calls. */
#include <weft/execution.h>

#include "base/defs.h"

enum { ITERATIONS = 10 };

static uint32_t rounds(const struct weft_run *run)
{
    const struct weft_strategy_loop_opts *opts = run->opts;
    return opts && opts->max_iterations ? opts->max_iterations : ITERATIONS;
}

/* A step is one answer of the model and the tools it asks for. */
static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    for (;;) {
        const struct weft_reply *reply;
        int                      r = weft_run_ask(run, "act", NULL, &reply, err);
        if (r < 0)
            return r;
        if (!reply->n_calls || !run->has_tools)
            return 0;
        if (run->state.step >= rounds(run))
            return upp_fail(err, UPP_EINVALID, "Tool execution exceeded maximum iterations (%u)", rounds(run));
        r = weft_run_tools(run, "act", reply, NULL, err);
        if (r < 0)
            return r;
        r = weft_run_step_end(run, err);
        if (r != 0)
            return r < 0 ? r : 0; /* 1: a hook says that it is enough */
    }
}

const struct weft_strategy weft_strategy_loop = {.name = "loop", .execute = execute};

struct weft_strategy weft_loop_with(const struct weft_strategy_loop_opts *opts)
{
    return (struct weft_strategy){.name = "loop", .execute = execute, .opts = opts};
}
