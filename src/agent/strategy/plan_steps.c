/* agent/strategy/plan_steps.c — one step of a plan: cycles of the model and its tools. */
#include <stdio.h>

#include "agent/strategy/plan.h"

enum { PROMPT_BYTES = 1 << 20 };

/* Cycles of a step are identified by number: a step that is entered again goes through the same ones. */
const char *wa_step_phase(struct weft_run *run, struct upp_str id, unsigned cycle)
{
    const char *name = wb_arena_printf(wr_memory(run), "step:%.*s", UPP_FMT(id)).p;
    return name ? wr_phase(run, name, cycle) : NULL;
}

bool wa_step_failed(int r)
{
    return r < 0 && r != -UPP_EWAIT && r != -UPP_ECANCELED && r != -UPP_ESTORE && r != -UPP_ENOMEM && r != -UPP_EBUG;
}

static WEFT_SUSPENDS int ask(struct weft_run *run, const struct wa_step *step, unsigned cycle, bool last,
                             const struct weft_reply **ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(PROMPT_BYTES);
    const char *phase = wa_step_phase(run, step->id, cycle);
    wb_buf_addf(&text, "Carry out step '%.*s' of the plan: %.*s\n", UPP_FMT(step->id), UPP_FMT(step->description));
    if (step->tool.n)
        wb_buf_addf(&text, "Use the tool '%.*s'.\n", UPP_FMT(step->tool));
    wb_buf_addf(&text, "Do this step alone, and say what came of it when it is done.");
    int r = phase ? wb_buf_check(&text, err) : wb_arena_check(wr_memory(run), err);
    if (r < 0)
        return r;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_buf_str(&text)};
    struct upp_message prompt = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    return weft_run_ask(
        run, phase, UPP_OPTS(weft_ask_opts, .prompt = cycle == 1 ? &prompt : NULL, .no_structure = !last), ret, err);
}

static const struct upp_part *result_of(struct weft_run *run, struct upp_str call)
{
    size_t n;
    const struct upp_message *const *messages = weft_run_messages(run, &n);
    while (n--)
        for (const struct upp_part *p = NULL; (p = upp_part_next(messages[n], p, UPP_PARTS_RESULTS));)
            if (wb_str_eq(p->id, call))
                return p;
    return NULL;
}

/* An error result of a tool fails the step. */
static int check_results(struct weft_run *run, const struct weft_reply *reply, struct upp_err *err)
{
    for (const struct upp_part *c = NULL; (c = upp_part_next(reply->message, c, UPP_PARTS_CALLS));) {
        const struct upp_part *p = c->cut ? NULL : result_of(run, c->id);
        if (p && p->is_error)
            return upp_fail(err, UPP_EPROVIDER, "the tool '%.*s' failed: %.*s", UPP_FMT(c->name), UPP_FMT(p->text));
    }
    return 0;
}

int wa_step_cycles(struct weft_run *run, const struct wa_step *step, uint32_t max_iterations, bool last,
                   struct upp_err *err)
{
    int max = wr_rounds(run, max_iterations);
    for (unsigned cycle = 1;; cycle++) {
        const struct weft_reply *reply;
        int r = ask(run, step, cycle, last, &reply, err);
        if (r < 0)
            return r;
        if (!reply->n_calls || !run->has_tools || reply->data.n)
            return 0;
        if (max == UPP_HAND_BACK)
            return WA_HANDED_BACK;
        if (cycle > (unsigned)max)
            return wr_too_many_rounds(run, max, err);
        r = weft_run_tools(run, "act", reply, NULL, err);
        if (r >= 0)
            r = check_results(run, reply, err);
        if (r < 0)
            return r;
    }
}
