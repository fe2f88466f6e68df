/* examples/uap/sub_agent.c — an agent as a tool of another, without and with options (UAP 8.1, 8.2). */
#include "stand_ins.h"

static const char explores[] =
    JSON({"replies": [
    {"parts": [{"tool_call": {"name": "Glob", "arguments": {"pattern": "*.c"}}}]},
    {"parts": [{"text": "There are two files."}]}]});
static const char codes[] = JSON({"replies": [
    {"parts": [{"tool_call": {"name": "explorer", "arguments": {"task": "What is here?"}}}]},
    {"parts": [{"tool_call": {"name": "look", "arguments": {"where": "src", "depth": 2}}}]},
    {"parts": [{"text": "Two files, as I said."}]}]});

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent                           *explorer, *coder;
    struct upp_tool                              look;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r =
        weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(explores), .name = "explorer",
                                .system = "You explore and analyze codebases.", .tools = WEFT_TOOLS(Glob, Grep, Read)),
                       &explorer, err);
    if (r < 0)
        return r;
    /* Defaults: the name agent_ID, and a description made from the system prompt. */
    r = weft_agent_to_tool(explorer,
                           UPP_OPTS(weft_to_tool, .name = "look", .description = "Looks into a folder",
                                    .parameters = "{where: string, depth?: integer}"),
                           &look, err);
    if (r < 0)
        return r;
    r = weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(codes),
                                .tools = WEFT_TOOLS(Bash, Write, WEFT_TOOL_AGENT(explorer), look)),
                       &coder, err);
    if (r < 0 || (r = weft_agent_run(coder, UPP_STR("What is in this project?"), &turn, err)) < 0)
        return r;
    for (size_t i = 0; i < turn->n_executions; i++)
        printf("%.*s %.*s: %.*s\n", UPP_FMT(turn->executions[i].name), UPP_FMT(turn->executions[i].arguments),
               UPP_FMT(turn->executions[i].result));
    printf("%s\n", upp_turn_text(turn));
    return 0;
}

int main(void)
{
    return run_example(example);
}
