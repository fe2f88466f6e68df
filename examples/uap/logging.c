/* examples/uap/logging.c — logs what an agent does (UAP 10.3). */
#include "stand_ins.h"
#include <weft/middleware.h>

static const char script[] =
    JSON({"replies": [{"parts": [{"text": "Hello!"}], "usage": {"input_tokens": 100, "output_tokens": 50}}]});

static void logger(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    /* Without .logger, lines go to standard error here. .no_timing omits durations. */
    const struct weft_middleware                 around[] = {weft_logging(.level = "debug", .logger = logger)};
    struct weft_agent                           *coder;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .middleware = around, .n_middleware = 1,
                                    .id = "00000000-0000-4000-8000-000000000001"),
                           &coder, err);
    return r < 0 ? r : weft_agent_run(coder, UPP_STR("Hello"), &turn, err);
}

int main(void)
{
    return run_example(example);
}
