/* examples/uap/hooks.c — every hook, in the order of a react step (UAP 11.1, 11.2, 11.4). */
#include "stand_ins.h"
#include <weft/execution.h>

static const char script[] =
    JSON({"replies": [
    {"parts": [{"text": "Look first."}]},
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "main.c"}}}]},
    {"parts": [{"text": "Seen."}]},
    {"parts": [{"text": "x is not declared."}]}]});

static int on_step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("onStepStart(%u)\n", step);
    return 0;
}

static int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err)
{
    size_t n;
    (void)arg, (void)err, (void)weft_run_reasoning(run, &n); /* state.reasoning */
    printf("  onReason(%u, '%.*s'), thought %zu\n", step, UPP_FMT(reasoning), n);
    return 0;
}

static int on_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("  onAct(%u, %.*s)\n", step, UPP_FMT(upp_part_next(calls, NULL, UPP_PARTS_CALLS)->name));
    return 0;
}

static int on_observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                      struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("  onObserve(%u, %.*s)\n", step, UPP_FMT(upp_part_next(results, NULL, UPP_PARTS_RESULTS)->text));
    return 0;
}

static int on_step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                       struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("onStepEnd(%u), %zu messages\n", step, result->turn->n_messages);
    return 0;
}

static bool stop(void *arg, struct weft_run *run)
{
    (void)arg;
    printf("  stopCondition() after step %u\n", run->state.step);
    return false;
}

static int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("onComplete('%s')\n", upp_turn_text(turn));
    return 0;
}

static const struct weft_hooks hooks = {.on_step_start = on_step_start,
                                        .on_reason     = on_reason,
                                        .on_act        = on_act,
                                        .on_observe    = on_observe,
                                        .on_step_end   = on_step_end,
                                        .stop          = stop,
                                        .on_complete   = on_complete};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *agent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_react(),
                                    .tools = WEFT_TOOLS(Read), .hooks = &hooks),
                           &agent, err);
    return r < 0 ? r : weft_agent_run(agent, UPP_STR("What is wrong with main.c?"), &turn, err);
}

int main(void)
{
    return run_example(example);
}
