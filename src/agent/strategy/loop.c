/* agent/strategy/loop.c — UAP-5.2: calls the model and its tools until there are no more calls. */
#include <weft/execution.h>

#include "run/strategy.h"

static int rounds(struct weft_run *run)
{
    const struct weft_strategy_loop_opts *opts = run->opts;
    return wr_rounds(run, opts ? opts->max_iterations : 0);
}

/* A step is one response of the model and the tools it calls. It ends and fails like libupp's generate. */
static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    int max = rounds(run);
    for (;;) {
        const struct weft_reply *reply;
        int r = weft_run_ask(run, "act", NULL, &reply, err);
        if (r < 0)
            return r;
        if (!reply->n_calls || !run->has_tools || reply->data.n || max == UPP_HAND_BACK)
            return 0;
        if (run->state.step >= (uint32_t)max)
            return wr_too_many_rounds(run, max, err);
        r = weft_run_tools(run, "act", reply, NULL, err);
        if (r < 0)
            return r;
        r = weft_run_step_end(run, err);
        if (r != 0)
            return r < 0 ? r : 0; /* 1: a hook ends the run */
    }
}

const struct weft_strategy weft_strategy_loop = {.name = "loop", .execute = execute};

struct weft_strategy weft_loop_with(const struct weft_strategy_loop_opts *opts)
{
    return (struct weft_strategy){.name = "loop", .execute = execute, .opts = opts};
}
