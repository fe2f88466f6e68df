/* examples/uap/custom.c — a custom strategy: one model call, one step (UAP 5.5). It also works with streams. */
#include "stand_ins.h"
#include <weft/execution.h>

static const char script[] = JSON({"delta_bytes": 6, "replies": [{"parts": [{"text": "Once is enough."}]}]});

static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    const struct weft_reply *reply;
    return weft_run_ask(run, "act", NULL, &reply, err); /* the run completes with this reply */
}

static const struct weft_strategy custom = {.name = "custom", .execute = execute};

static int on_step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("step %u starts\n", step);
    return 0;
}

static int on_step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                       struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("step %u ends: %s\n", step, upp_turn_text(result->turn));
    return 0;
}

static const struct weft_hooks hooks = {.on_step_start = on_step_start, .on_step_end = on_step_end};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                                  *agent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn        *turn   = NULL;
    UPP_CLEANUP(weft_stream_closep) struct weft_stream *stream = NULL;
    struct weft_event                                   ev;

    int r = weft_agent_new(
        rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = custom, .hooks = &hooks), &agent, err);
    if (r < 0 || (r = weft_agent_run(agent, UPP_STR("Is once enough?"), &turn, err)) < 0)
        return r;

    r = weft_agent_stream(agent, UPP_OPTS(upp_input, .text = UPP_STR("Is once enough?")),
                                          UPP_OPTS(weft_stream_opts, .only = WEFT_SOURCE_UPP), &stream, err);
    while (r >= 0 && (r = weft_stream_next(stream, &ev, err)) > 0)
        if (ev.upp.type == UPP_TEXT_DELTA)
            printf("delta '%.*s'\n", UPP_FMT(ev.upp.text));
    return r;
}

int main(void)
{
    return run_example(example);
}
