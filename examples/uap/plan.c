/* examples/uap/plan.c — makes a plan, then runs its steps in order of their dependencies (UAP 5.4). */
#include "stand_ins.h"
#include <string.h>

static const char script[] = JSON({"replies": [
    {"data": {"steps": [
        {"id": "write", "description": "Write the new module", "tool": "Write", "dependsOn": ["read"]},
        {"id": "read", "description": "Read the module", "tool": "Read", "dependsOn": []},
        {"id": "test", "description": "Run the tests", "tool": "Test", "dependsOn": ["write"]}]}},
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "auth.c"}}}]},
    {"parts": [{"text": "Read."}]},
    {"parts": [{"tool_call": {"name": "Write", "arguments": {"path": "auth.c", "text": "..."}}}]},
    {"parts": [{"text": "Written."}]},
    {"parts": [{"tool_call": {"name": "Test"}}]},
    {"parts": [{"text": "The module is refactored and its tests pass."}]}]});

static const char fails_first[] = JSON({"replies": [
    {"data": {"steps": [{"id": "build", "description": "Build it", "tool": "build", "dependsOn": []}]}},
    {"parts": [{"tool_call": {"name": "build"}}]},
    {"data": {"steps": [{"id": "read", "description": "Read it instead", "tool": "Read", "dependsOn": []}]}},
    {"parts": [{"tool_call": {"name": "Read", "arguments": {"path": "auth.c"}}}]},
    {"parts": [{"text": "It cannot be built here, but it reads well."}]}]});

static int build(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret;
    return upp_fail(err, UPP_EPROVIDER, "there is no compiler");
}

/* Prints the statuses of the plan, which is JSON: [{id, description, tool, dependsOn, status}]. */
static int on_step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                       struct upp_err *err)
{
    const char *p = result->state->plan.p, *end = p + result->state->plan.n;
    (void)arg, (void)run, (void)err;
    printf("step %u:", step);
    for (; (p = memmem(p, (size_t)(end - p), "\"status\":\"", 10)); p += 10)
        printf(" %.*s", (int)strcspn(p + 10, "\""), p + 10);
    printf("\n");
    return 0;
}

static const struct weft_hooks hooks = {.on_step_end = on_step_end};

static int show(struct weft_agent *agent, struct upp_str task, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_run(agent, task, &turn, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < turn->n_executions; i++)
        printf("%.*s: %.*s\n", UPP_FMT(turn->executions[i].name), UPP_FMT(turn->executions[i].result));
    printf("%s\n", upp_turn_text(turn));
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent *architect, *another;

    int r = weft_agent_new(
        rt,
        UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_plan(.max_plan_steps = 10),
                 .tools  = WEFT_TOOLS(Read, Write, Bash, Test),
                 .system = "You are a software architect. Plan before implementing.", .hooks = &hooks),
        &architect, err);
    if (r < 0 || (r = show(architect, UPP_STR("Refactor the authentication module"), err)) < 0)
        return r;

    /* If a step fails, the model makes a new plan, up to .max_replans times, unless .no_replan is set. */
    r = weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(fails_first), .execution = weft_plan(),
                                .tools = WEFT_TOOLS(UPP_TOOL(build, "Builds", "{}"), Read), .hooks = &hooks),
                       &another, err);
    return r < 0 ? r : show(another, UPP_STR("Does it build?"), err);
}

int main(void)
{
    return run_example(example);
}
