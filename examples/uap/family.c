/* examples/uap/family.c — who called whom, and two sub-agents at the same time (UAP 8.4, 8.5). */
#include "stand_ins.h"
#include <string.h>
#include <weft/execution.h>

static const char asks_both[]  = JSON({"replies": [
    {"parts": [{"tool_call": {"name": "explorer", "arguments": {"task": "Find tests"}}},
               {"tool_call": {"name": "researcher", "arguments": {"task": "Research testing patterns"}}}]},
    {"parts": [{"text": "Both have answered."}]}]});
static const char finds[]      = JSON({"replies": [{"delay_ms": 20, "parts": [{"text": "12 tests"}]}]});
static const char researches[] = JSON({"replies": [{"delay_ms": 40, "parts": [{"text": "3 patterns"}]}]});

static const char *name_of(struct weft_run *run)
{
    struct upp_str task = run->input->parts[0].text;
    return !run->parent ? "coder" : task.p[0] == 'F' ? "explorer" : "researcher";
}

/* The run's id is UAP's turnId; all ids are UUIDs. */
static int on_step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    char *parent_turn = arg;
    (void)err;
    if (!run->parent) {
        (void)snprintf(parent_turn, 37, "%.*s", UPP_FMT(weft_run_id(run)));
        return 0;
    }
    struct upp_str turn = weft_run_id(run->parent), agent = weft_run_agent_id(run->parent);
    printf("%s starts step %u, called by agent %.*s in %s turn\n", name_of(run), step, UPP_FMT(agent),
           !memcmp(turn.p, parent_turn, 36) ? "this" : "another");
    return 0;
}

static int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)arg, (void)err;
    printf("%s: %s\n", name_of(run), upp_turn_text(turn));
    return 0;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    char                    parent_turn[37];
    const struct weft_hooks hooks = {parent_turn, .on_step_start = on_step_start, .on_complete = on_complete};
    struct weft_agent      *explorer, *researcher, *coder;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .name = "explorer", .model = stand_in(finds), .hooks = &hooks),
                           &explorer, err);
    if (r < 0)
        return r;
    r = weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .name = "researcher", .model = stand_in(researches), .hooks = &hooks),
                       &researcher, err);
    if (r < 0)
        return r;
    r = weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(asks_both), .hooks = &hooks,
                                .id    = "00000000-0000-4000-8000-000000000001",
                                .tools = WEFT_TOOLS(WEFT_TOOL_AGENT(explorer), WEFT_TOOL_AGENT(researcher))),
                       &coder, err);
    return r < 0 ? r : weft_agent_run(coder, UPP_STR("How do we test?"), &turn, err);
}

int main(void)
{
    return run_example(example);
}
