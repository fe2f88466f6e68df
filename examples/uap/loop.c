/* examples/uap/loop.c — the simplest strategy: call the model, run its tools, repeat (UAP 5.2). */
#include "stand_ins.h"

static const char script[] =
    JSON({"replies": [
    {"parts": [{"tool_call": {"name": "calculator", "arguments": {"expression": "2 + 2"}}}]},
    {"parts": [{"text": "2 + 2 is 4."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *simple;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script),
                                    .execution = weft_loop(.max_iterations = 5), .tools = WEFT_TOOLS(calculator)),
                           &simple, err);
    if (r < 0 || (r = weft_agent_run(simple, UPP_STR("What is 2 + 2?"), &turn, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn));
    return 0;
}

int main(void)
{
    return run_example(example);
}
