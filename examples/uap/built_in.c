/* examples/uap/built_in.c — guardrails, memory and budget (UAP 10.4). */
#include "stand_ins.h"
#include <weft/execution.h>
#include <weft/middleware.h>

static const char script[] =
    JSON({"at_end": "repeat_last", "replies": [
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "a"}}}], "usage": {"input_tokens": 90, "output_tokens": 20}}]});

/* Prints the metadata of the run's state when it completes. */
static int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)arg, (void)err;
    printf("%.*s after %zu calls of the model\n", UPP_FMT(run->state.metadata), turn->n_cycles);
    return 0;
}

static const struct weft_hooks hooks = {.on_complete = on_complete};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    const struct weft_guard_rule input[]  = {{.name = "secrets", .action = WEFT_REJECT, .pattern = "password"},
                                             {.name = "mail", .action = WEFT_REWRITE, .pattern = "[a-z]+@[a-z.]+"}};
    const struct weft_middleware around[] = {weft_guardrails(.input = input, .n_input = 2),
                                             weft_memory(.max_tokens = 4000, .mode = WEFT_TRUNCATE),
                                             weft_budget(.max_tokens = 300)};
    struct weft_agent           *agent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *refused = NULL, *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .tools = WEFT_TOOLS(Read),
                                    .hooks = &hooks, .middleware = around, .n_middleware = 3),
                           &agent, err);
    if (r < 0)
        return r;
    r = weft_agent_run(agent, UPP_STR("My password is 1234"), &refused, err);
    printf("%s: %s\n", upp_code_name(r), err->msg);
    return weft_agent_run(agent, UPP_STR("Write to alice@example.org"), &turn, err);
}

int main(void)
{
    return run_example(example);
}
