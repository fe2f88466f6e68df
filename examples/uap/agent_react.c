/* examples/uap/agent_react.c — an agent with another strategy, react (UAP 4.5). */
#include "stand_ins.h"

static const char script[] =
    JSON({"replies": [
    {"parts": [{"text": "I look for errors first."}]},
    {"parts": [{"tool_call": {"name": "Grep", "arguments": {"pattern": "error"}}}]},
    {"parts": [{"text": "One line is wrong; it is known which."}]},
    {"parts": [{"text": "Line 1 of main.c is mended."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *coder;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r =
        weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_react(.max_steps = 20),
                                .tools  = WEFT_TOOLS(Bash, Read, Write, Glob, Grep),
                                .system = "You are a coding assistant. Think step by step."),
                       &coder, err);
    if (r < 0 || (r = weft_agent_run(coder, UPP_STR("Find and fix all errors in the project"), &turn, err)) < 0)
        return r;
    printf("%s (%zu calls of the model, %zu of tools)\n", upp_turn_text(turn), turn->n_cycles, turn->n_executions);
    return 0;
}

int main(void)
{
    return run_example(example);
}
