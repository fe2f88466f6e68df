/* examples/uap/complete.c — everything together: a sub-agent, react, hooks, logging and a session (UAP A.1). */
#include <string.h>

#include "stand_ins.h"
#include <weft/execution.h>
#include <weft/middleware.h>
#include <weft/session.h>

static const char explores[] = JSON({"replies": [
    {"parts": [{"tool_call": {"name": "Grep", "arguments": {"pattern": "TODO"}}}], "usage": {"input_tokens": 20, "output_tokens": 5}},
    {"parts": [{"text": "One TODO, in main.c:1."}], "usage": {"input_tokens": 30, "output_tokens": 5}}]});
/* Reasoning is not in the history of the next run, so that run uses the same reasoning reply again. */
static const char codes[] = JSON({"replies": [
    {"parts": [{"text": "One thing after the other."}], "usage": {"input_tokens": 40, "output_tokens": 6}},
    {"parts": [{"tool_call": {"id": "c1", "name": "explorer", "arguments": {"task": "Find all TODO comments"}}}]},
    {"parts": [{"text": "Issue 1 comes first, as there is no other."}]},
    {"parts": [{"text": "Issue 1: x is not declared in main.c."}], "usage": {"input_tokens": 90, "output_tokens": 10}}]});

/* Stands in for any storage of texts by key. weft_session_opts.persistence would save every session automatically. */
static struct {
    char  *text;
    size_t n;
} storage;

static int storage_save(struct upp_str json)
{
    storage.text = malloc(json.n);
    storage.n    = storage.text ? json.n : 0;
    if (storage.n)
        memcpy(storage.text, json.p, json.n);
    return storage.text ? 0 : -UPP_ENOMEM;
}

/* state.metadata.taskComplete */
static bool stop(void *arg, struct weft_run *run)
{
    (void)arg;
    return run->state.metadata.p && strstr(run->state.metadata.p, "\"taskComplete\":true");
}

static int on_step_start(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("--- Step %u ---\n", step);
    return 0;
}

static int on_reason(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err)
{
    (void)arg, (void)run, (void)step, (void)err;
    printf("Reasoning: %.*s\n", (int)(reasoning.n < 200 ? reasoning.n : 200), reasoning.p);
    return 0;
}

static int on_act(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err)
{
    (void)arg, (void)run, (void)step, (void)err;
    for (const struct upp_part *p = NULL; (p = upp_part_next(calls, p, UPP_PARTS_CALLS));)
        printf("Action: %.*s\n", UPP_FMT(p->name));
    return 0;
}

static int on_step_end(void *arg, struct weft_run *run, uint32_t step, const struct weft_step_result *result,
                       struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("Step %u used %llu tokens\n", step,
           (unsigned long long)(result->turn->usage.input + result->turn->usage.output));
    return 0;
}

static int on_complete(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    (void)arg, (void)run, (void)err;
    printf("Completed in %zu cycles\n", turn->n_cycles);
    return 0;
}

static void logger(void *arg, const char *line)
{
    (void)arg;
    puts(line);
}

static const struct weft_hooks hooks = {.stop          = stop,
                                        .on_step_start = on_step_start,
                                        .on_reason     = on_reason,
                                        .on_act        = on_act,
                                        .on_step_end   = on_step_end,
                                        .on_complete   = on_complete};

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    const struct weft_tools                               looking  = WEFT_TOOLS(Glob, Grep, Read);
    const struct weft_middleware                          around[] = {weft_logging(.level = "info", .logger = logger)};
    UPP_CLEANUP(weft_session_closep) struct weft_session *sess = NULL, *restored = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn          *turn = NULL, *turn2 = NULL;
    struct weft_agent                                    *explorer, *coder;
    struct upp_str                                        json;

    /* Define sub-agents. */
    int r = weft_agent_new(rt,
                           UPP_OPTS(weft_agent_opts, .model = stand_in(explores), .name = "explorer", .tools = looking,
                                    .system = "You explore codebases and report findings concisely."),
                           &explorer, err);
    if (r < 0)
        return r;

    /* Define the main agent, with the sub-agent as a tool. */
    const struct weft_tools tools = WEFT_TOOLS(Bash, Read, Write, WEFT_TOOL_AGENT(explorer));
    r                             = weft_agent_new(rt,
                                                   UPP_OPTS(weft_agent_opts, .model = stand_in(codes), .params = "{\"max_tokens\": 4096}",
                                                            .execution = weft_react(.max_steps = 20), .tools = tools,
                                                            .system     = "You are an expert software engineer.\n"
                                                                                                      "Use the explorer tool to understand code structure before making changes.\n"
                                                                                                      "Think step by step and explain your reasoning.",
                                                            .middleware = around, .n_middleware = 1, .hooks = &hooks,
                                                            .id = "00000000-0000-4000-8000-000000000001"),
                                                   &coder, err);

    /* Create a session for persistence, and run the task. */
    if (r < 0 ||
        (r = weft_session_new(coder, UPP_OPTS(weft_session_opts, .interval = WEFT_EVERY_STEP), &sess, err)) < 0 ||
        (r = weft_session_run(sess, UPP_STR("Find all TODO comments and create issues for them"), &turn, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn));

    /* Save the session for later. */
    if ((r = weft_session_to_json(sess, &json, err)) < 0)
        return r;
    r = storage_save(json);
    upp_text_free(json);

    /* Later: restore, and continue. */
    if (r < 0 ||
        (r = weft_session_from_json(coder, (struct upp_str){storage.text, storage.n}, NULL, &restored, err)) < 0 ||
        (r = weft_session_run(restored, UPP_STR("Now prioritize those issues"), &turn2, err)) < 0)
        return r;
    printf("%s\n", upp_turn_text(turn2));
    free(storage.text);
    return 0;
}

int main(void)
{
    return run_example(example);
}
