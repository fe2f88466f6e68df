/* agent/strategy/react.c — UAP-5.3: reason without tools, act, observe.
 *
 * Prompts, reasoning and observations are scaffolding: visible to this run only. Observations are part of the next
 * step's reasoning prompt; they are formatted from the results in the log, so a step that is entered again gets the
 * same text.
 */
#include <weft/execution.h>

#include "agent/strategy/observation.h"
#include "run/strategy.h"

enum { STEPS = 10, PROMPT_BYTES = 64 << 20 };

static const char reasoning_prompt[] = "Think about what to do next. What is your reasoning?";
static const char acting_prompt[] = "Based on your reasoning, take action using available tools, or give the final "
                                    "answer if nothing is left to do.";

struct react {
    uint32_t max_steps;
    struct upp_str prompt;
    uint8_t format;
};

static int options(const struct weft_run *run, struct react *ret, struct upp_err *err)
{
    const struct weft_strategy_react_opts *o = run->opts;
    ret->max_steps = o && o->max_steps ? o->max_steps : STEPS;
    ret->prompt = wb_cstr(o && o->reasoning_prompt ? o->reasoning_prompt : reasoning_prompt);
    return wa_format(o ? o->observation_format : NULL, &ret->format, err);
}

/* The results of the previous step, if they are the last message. */
static const struct upp_message *last_results(struct weft_run *run)
{
    size_t n;
    const struct upp_message *const *messages = weft_run_messages(run, &n);
    return run->state.step && n && messages[n - 1]->role == UPP_ROLE_TOOL ? messages[n - 1] : NULL;
}

static WEFT_SUSPENDS int reason(struct weft_run *run, const struct react *how, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(PROMPT_BYTES);
    const struct upp_message *results = last_results(run);
    int r = results ? wa_observe(&text, results, how->format, err) : 0;
    wb_buf_add(&text, how->prompt);
    if (r >= 0)
        r = wb_buf_check(&text, err);
    if (r < 0)
        return r;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_buf_str(&text)};
    struct upp_message prompt = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct weft_reply *reply;
    r = weft_run_ask(run, "reason", UPP_OPTS(weft_ask_opts, .no_tools = true, .scaffolding = true, .prompt = &prompt),
                     &reply, err);
    if (r < 0)
        return r;
    size_t n;
    const struct upp_str *thoughts = weft_run_reasoning(run, &n);
    return weft_run_reasoned(run, thoughts[n - 1], err);
}

static WEFT_SUSPENDS int act(struct weft_run *run, const struct weft_reply **ret, struct upp_err *err)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_cstr(acting_prompt)};
    struct upp_message prompt = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    return weft_run_ask(run, "act", UPP_OPTS(weft_ask_opts, .prompt = &prompt), ret, err);
}

static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    struct react how;
    int r = options(run, &how, err);
    while (r >= 0 && run->state.step < how.max_steps) {
        const struct weft_reply *reply;
        r = reason(run, &how, err);
        if (r >= 0)
            r = act(run, &reply, err);
        if (r < 0)
            return r;
        if (!reply->n_calls || !run->has_tools || reply->data.n || wr_rounds(run, 0) == UPP_HAND_BACK)
            return 0;
        r = weft_run_tools(run, "act", reply, NULL, err);
        if (r >= 0 && run->state.step + 1 == how.max_steps) /* it would continue */
            r = weft_run_set_metadata(run, UPP_STR("maxStepsReached"), UPP_STR("true"), err);
        if (r >= 0)
            r = weft_run_step_end(run, err);
        if (r != 0)
            return r < 0 ? r : 0; /* 1: a hook ends the run */
    }
    return r;
}

const struct weft_strategy weft_strategy_react = {.name = "react", .execute = execute};

struct weft_strategy weft_react_with(const struct weft_strategy_react_opts *opts)
{
    return (struct weft_strategy){.name = "react", .execute = execute, .opts = opts};
}
