/* examples/uap/stop.c — conditions that end a run after a step (UAP 11.3): a flag, a text, a number of tokens. */
#include "stand_ins.h"
#include <string.h>
#include <weft/execution.h>

/* Each step: reasoning, then a tool call. */
static const char marks_it[] = JSON({"replies": [
    {"parts": [{"text": "I work."}]}, {"parts": [{"tool_call": {"name": "work", "arguments": {"last": true}}}]}]});
static const char says_so[]  = JSON({"replies": [
    {"parts": [{"text": "I work."}]}, {"parts": [{"tool_call": {"name": "work"}}]},
    {"parts": [{"text": "I tell."}]}, {"parts": [{"text": "TASK COMPLETE"}, {"tool_call": {"name": "work"}}]}]});
static const char talks[]    = JSON({"replies": [
    {"parts": [{"text": "I work."}]}, {"parts": [{"tool_call": {"name": "work"}}]},
    {"parts": [{"text": "I work."}]}, {"parts": [{"tool_call": {"name": "work"}}]},
    {"parts": [{"text": "I work."}]},
    {"parts": [{"tool_call": {"name": "work"}}], "usage": {"input_tokens": 9999, "output_tokens": 9}}]});

/* A tool that marks the task as complete. */
static int work(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    bool last = false;
    int  r    = upp_call_arg_bool(call, "last", &last, NULL);
    if (last)
        r = weft_run_set_metadata(weft_call_run(call), UPP_STR("taskComplete"), UPP_STR("true"), err);
    return last && r < 0 ? r : upp_value_text(ret, UPP_STR("worked"), err);
}

static bool has(struct upp_str text, const char *what)
{
    return text.p && memmem(text.p, text.n, what, strlen(what));
}

static bool stop(void *arg, struct weft_run *run)
{
    size_t                           n;
    const struct upp_message *const *messages = weft_run_messages(run, &n);
    unsigned long long tokens = run->state.usage.input + run->state.usage.output; /* metadata.totalTokens too */
    const char       **why    = arg;

    if (has(run->state.metadata, "\"taskComplete\":true"))
        return *why = "it is marked as complete", true;
    for (size_t i = 0; i < n; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(messages[i], p, UPP_PARTS_CONTENT));)
            if (messages[i]->role == UPP_ROLE_ASSISTANT && has(p->text, "TASK COMPLETE"))
                return *why = "the model says so", true;
    if (tokens > 10000)
        return *why = "too many tokens", true;
    return false;
}

static int try_one(struct weft_runtime *rt, const char *script, struct upp_err *err)
{
    const char                                  *why   = "it ended by itself";
    const struct weft_hooks                      hooks = {.arg = &why, .stop = stop};
    struct weft_agent                           *agent = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn  = NULL;

    int r =
        weft_agent_new(rt,
                       UPP_OPTS(weft_agent_opts, .model = stand_in(script), .execution = weft_react(.max_steps = 50),
                                .tools = WEFT_TOOLS(UPP_TOOL(work, "Works", "{last?: boolean}")), .hooks = &hooks),
                       &agent, err);
    if (r >= 0)
        r = weft_agent_run(agent, UPP_STR("Work"), &turn, err);
    if (r >= 0)
        printf("%s, after %zu steps\n", why, turn->n_cycles / 2);
    weft_agent_free(agent); /* its options point to locals of this function */
    return r;
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    int r = try_one(rt, marks_it, err);
    if (r < 0 || (r = try_one(rt, says_so, err)) < 0)
        return r;
    return try_one(rt, talks, err);
}

int main(void)
{
    return run_example(example);
}
