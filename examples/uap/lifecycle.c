/* examples/uap/lifecycle.c — the lifecycle of a react step, written as a custom strategy (UAP 5.3).
 *
 * The engine calls the hooks: on_step_start before the first action of a step, on_act and on_observe around tools,
 * on_step_end and stop in weft_run_step_end. weft_react does the same and adds observations to the prompts.
 */
#include "stand_ins.h"
#include <weft/execution.h>

static const char script[] = JSON({"replies": [
    {"parts": [{"text": "I should look."}]},
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "main.c"}}}]},
    {"parts": [{"text": "I have seen it."}]},
    {"parts": [{"text": "x is not declared."}]}]});

static struct upp_message prompt(struct upp_part *part, struct upp_str text)
{
    *part = (struct upp_part){.kind = UPP_PART_TEXT, .text = text};
    return (struct upp_message){.role = UPP_ROLE_USER, .parts = part, .n_parts = 1};
}

static WEFT_SUSPENDS int step_by_step(struct weft_run *run, struct upp_err *err)
{
    while (run->state.step < 10) {
        struct upp_part          part;
        struct upp_message       think = prompt(&part, UPP_STR("Think about what to do next. What is your reasoning?"));
        const struct weft_reply *reasoning, *action;

        /* Reason, without tools. Only this run sees the prompt and the answer. */
        int r = weft_run_ask(run, "reason",
                             UPP_OPTS(weft_ask_opts, .no_tools = true, .scaffolding = true, .prompt = &think),
                             &reasoning, err);
        if (r < 0)
            return r;
        const struct upp_part *said = upp_part_next(reasoning->message, NULL, UPP_PARTS_CONTENT);
        if (said && (r = weft_run_reasoned(run, said->text, err)) < 0)
            return r;

        /* Act and observe: weft_run_tools appends the results to the history. */
        struct upp_message act = prompt(&part, UPP_STR("Based on your reasoning, take action."));
        r                      = weft_run_ask(run, "act", UPP_OPTS(weft_ask_opts, .prompt = &act), &action, err);
        if (r < 0 || !action->n_calls)
            return r;
        if ((r = weft_run_tools(run, "act", action, NULL, err)) < 0 || (r = weft_run_step_end(run, err)) != 0)
            return r < 0 ? r : 0;
    }
    return 0;
}

static const struct weft_strategy mine = {.name = "step_by_step", .execute = step_by_step};

static int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("%u thinks: %.*s\n", step, UPP_FMT(reasoning));
    return 0;
}

static int on_observe(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                      struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("%u observes: %.*s\n", step, UPP_FMT(upp_part_next(results, NULL, UPP_PARTS_RESULTS)->text));
    return 0;
}

static const struct weft_hooks hooks = {.on_reason = on_reason, .on_observe = on_observe};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *coder;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = mine,
                                    .tools = WEFT_TOOLS(Read), .hooks = &hooks),
                           &coder, err);
    if (r < 0 || (r = weft_agent_run(coder, UPP_STR("What is wrong with main.c?"), &turn, err)) < 0)
        return r;
    printf("%s (%zu messages)\n", upp_turn_text(turn), turn->n_messages);
    return 0;
}

int main(void)
{
    return run_example(example);
}
