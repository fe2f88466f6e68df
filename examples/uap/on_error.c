/* examples/uap/on_error.c — a hook that passes an error on, replaces it, or completes the run (UAP 11.5). */
#include "stand_ins.h"
#include <weft/execution.h>

static const char script[] = JSON({"replies": [
    {"when": {"contains": "quickly"}, "error": {"code": "RATE_LIMITED", "message": "slow down"}},
    {"when": {"contains": "long"}, "error": {"code": "CONTEXT_LENGTH_EXCEEDED", "message": "too long"}},
    {"error": {"code": "NETWORK_ERROR", "message": "no route"}}]});

/* A turn made by the program: the input and a final message. */
static int summary_turn(struct weft_run *run, struct upp_turn **ret, struct upp_err *err)
{
    struct upp_part    part    = {.kind = UPP_PART_TEXT, .text = UPP_STR("Context limit reached")};
    struct upp_message said[2] = {*run->input, {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1}};
    return upp_turn_copy(&(struct upp_turn){.messages = said, .n_messages = 2}, ret, err);
}

static int on_error(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                    struct upp_err *err)
{
    (void)arg;
    if (why->code == UPP_ERATE) {
        printf("rate limited\n");
        return 0; /* the run fails with this error */
    }
    if (why->code == UPP_ECONTEXT) {
        int r = summary_turn(run, ret, err);
        return r < 0 ? r : 1; /* the run completes with *ret */
    }
    return upp_fail(err, (enum upp_code)why->code, "cannot be helped: %s", why->msg); /* replaces the error */
}

static const struct weft_hooks hooks = {.on_error = on_error};

static void try_one(struct weft_agent *agent, struct upp_str text, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;

    int r = weft_agent_run(agent, text, &turn, err);
    if (r < 0)
        printf("%s: %s\n", upp_code_name(r), err->msg);
    else
        printf("completed: %s\n", upp_turn_text(turn));
}

static int example(struct weft_runtime *rt, struct upp_err *err)
{
    struct weft_agent *agent;
    int r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .model = stand_in(script), .hooks = &hooks), &agent, err);
    if (r < 0)
        return r;
    try_one(agent, UPP_STR("Do it quickly"), err);
    try_one(agent, UPP_STR("Read this long text"), err);
    try_one(agent, UPP_STR("Go on"), err);
    return 0;
}

int main(void)
{
    return run_example(example);
}
