/* examples/uap/agent.c — creates an agent and runs it, with and without history (UAP 4.1 to 4.4). */
#include "stand_ins.h"
#include <upp/thread.h>

static const char script[] = JSON({"replies": [
    {"when": {"contains": "fibonacci"},
     "parts": [{"tool_call": {"name": "Write", "arguments": {"path": "fib.ts", "text": "..."}}}]},
    {"when": {"tool_result": "Write"}, "parts": [{"text": "It is in fib.ts."}]},
    {"when": {"contains": "My name is"}, "parts": [{"text": "Hello Alice."}]},
    {"when": {"contains": "What is my name"}, "parts": [{"text": "Alice."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                               *coder;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn     *turn = NULL, *turn1 = NULL, *turn2 = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *history = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .params = "{\"max_tokens\": 4096}",
                                    .system = "You are a coding assistant.", .tools = WEFT_TOOLS(Bash, Read, Write)),
                           &coder, err);
    if (r < 0)
        return r;

    /* The turn is a struct of libupp. */
    r = weft_agent_run(coder, UPP_STR("Implement a fibonacci function in TypeScript"), &turn, err);
    if (r < 0)
        return r;
    printf("%s (%zu messages, %zu tools)\n", upp_turn_text(turn), turn->n_messages, turn->n_executions);

    /* With history: a list of messages, or a thread. The caller owns it and appends to it. */
    r = weft_agent_run(coder, UPP_STR("My name is Alice"), &turn1, err);
    if (r >= 0)
        r = weft_agent_run_with(coder, UPP_OPTS(upp_input, .history = turn1->messages, .n_history = turn1->n_messages,
                                                .text = UPP_STR("What is my name?")),
                                                &turn2, err);
    if (r < 0)
        return r;
    printf("%s\n", upp_turn_text(turn2));

    upp_turn_free(turn2);
    turn2 = NULL;
    r     = upp_thread_new(&history, err);
    if (r < 0 || (r = upp_thread_append(history, turn1, err)) < 0 ||
        (r = weft_agent_run_with(coder, UPP_OPTS(upp_input, .thread = history, .text = UPP_STR("What is my name?")),
                                                 &turn2, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn2));
    return 0;
}

int main(void)
{
    return run_example(example);
}
