/* examples/uap/react.c — reason, act, observe, with hooks that print each phase (UAP 5.3). */
#include "stand_ins.h"

static const char script[] = JSON({"replies": [
    {"parts": [{"text": "I need sources before I say anything."}]},
    {"parts": [{"tool_call": {"name": "WebSearch", "arguments": {"query": "fibers in C"}}},
               {"tool_call": {"name": "Read", "arguments": {"path": "notes"}}}]},
    {"parts": [{"text": "That is enough."}]},
    {"parts": [{"text": "Fibers are cheap."}]}]});

static int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("[Step %u] Reasoning: %.*s\n", step, reasoning.n < 100 ? (int)reasoning.n : 100, reasoning.p);
    return 0;
}

static int on_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    for (const struct upp_part *call = NULL; (call = upp_part_next(calls, call, UPP_PARTS_CALLS));)
        printf("[Step %u] Action: %.*s\n", step, UPP_FMT(call->name));
    return 0;
}

static const struct weft_hooks hooks = {.on_reason = on_reason, .on_act = on_act};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *researcher;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(
        rt,
        UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_react(.max_steps = 15),
                 .tools  = WEFT_TOOLS(WebSearch, Read, Summarize),
                 .system = "You are a research assistant. Think carefully before acting.", .hooks = &hooks),
        &researcher, err);
    if (r < 0 || (r = weft_agent_run(researcher, UPP_STR("What do fibers cost?"), &turn, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn));
    return 0;
}

int main(void)
{
    return run_example(example);
}
