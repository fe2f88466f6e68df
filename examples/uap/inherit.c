/* examples/uap/inherit.c — an agent without a model uses its caller's, determined at run time (UAP 8.3). */
#include "stand_ins.h"

/* Two models; the first one answers for the parent and for the agent that inherits it. */
static const char large[] = JSON({"replies": [
    {"when": {"contains": "small task"}, "parts": [{"text": "done by the large model"}]},
    {"when": {"contains": "Go"}, "parts": [
        {"tool_call": {"name": "helper", "arguments": {"task": "a small task"}}},
        {"tool_call": {"name": "researcher", "arguments": {"task": "a topic"}}}]},
    {"parts": [{"text": "Both are done."}]}]});
static const char small[] = JSON({"replies": [{"parts": [{"text": "done by the small model"}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *helper, *researcher, *parent;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *alone = NULL;

    int r = weft_agent_new(
        rt,
        UPP_OPTS(weft_agent_opts, .name = "helper", .system = "You help with small tasks.", .tools = WEFT_TOOLS(Read)),
        &helper, err);
    if (r < 0)
        return r;
    r = weft_agent_new(
        rt, UPP_OPTS(weft_agent_opts, .name = "researcher", .system = "You research topics.", .model = stand_in(small)),
        &researcher, err);
    if (r < 0)
        return r;
    r = weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(large),
                                .tools = WEFT_TOOLS(WEFT_TOOL_AGENT(helper), WEFT_TOOL_AGENT(researcher))),
                       &parent, err);
    if (r < 0 || (r = weft_agent_run(parent, UPP_STR("Go"), &turn, err)) < 0)
        return r;
    for (const struct upp_part *p = NULL; (p = upp_part_next(&turn->messages[2], p, UPP_PARTS_RESULTS));)
        printf("%.*s: %.*s\n", UPP_FMT(p->name), UPP_FMT(p->text));

    /* Without a caller there is no model to inherit. */
    r = weft_agent_run(helper, UPP_STR("a small task"), &alone, err);
    printf("alone: %s\n", r < 0 ? err->msg : "?");
    return 0;
}

int main(void)
{
    return run_example(example);
}
