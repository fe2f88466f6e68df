/* envelope/routes_explain.c — says which rule an envelope fits, and why it does not fit the others. */
#include "envelope/fit.h"

#include "json/number.h"
#include "json/value.h"

static void add_number(struct wb_buf *out, double v)
{
    char text[WJ_NUM_MAX];
    size_t n = wj_num_format(v, text);
    wb_buf_add(out, wb_str(text, n));
}

static void add_list(struct wb_buf *out, const struct upp_str *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "%s%.*s", i ? ", " : "", UPP_FMT(list[i]));
}

static void add_intents(struct wb_buf *out, uint32_t intents)
{
    const char *between = "";
    for (int i = 0; i < WE_INTENTS; i++)
        if (intents & 1u << i) {
            wb_buf_addf(out, "%s%.*s", between, UPP_FMT(we_intent_name(i)));
            between = ", ";
        }
}

static void add_conditions(struct wb_buf *out, const struct we_when *w)
{
    if (w->role.n)
        wb_buf_addf(out, ", role %.*s", UPP_FMT(w->role));
    if (w->agent.n)
        wb_buf_addf(out, ", agent %.*s", UPP_FMT(w->agent));
    if (w->type.n)
        wb_buf_addf(out, ", type %.*s", UPP_FMT(w->type));
    if (w->n_tags) {
        wb_buf_add(out, UPP_STR(", tags "));
        add_list(out, w->tags, w->n_tags);
    }
    if (w->has_below) {
        wb_buf_add(out, UPP_STR(", confidence below "));
        add_number(out, w->below);
    }
    if (w->has_above) {
        wb_buf_add(out, UPP_STR(", confidence above "));
        add_number(out, w->above);
    }
    if (w->has_cost)
        wb_buf_addf(out, ", cost above %llu", (unsigned long long)w->cost_above);
}

static void add_rule(struct wb_buf *out, const struct we_rule *r, size_t i)
{
    wb_buf_addf(out, "rule %zu", i + 1);
    if (r->line)
        wb_buf_addf(out, " (line %u)", r->line);
    else
        wb_buf_add(out, UPP_STR(" (default)"));
    wb_buf_add(out, UPP_STR(": "));
    add_intents(out, r->intents);
    add_conditions(out, &r->when);
    wb_buf_add(out, UPP_STR(" -> "));
    for (size_t k = 0; k < r->n_targets; k++) {
        wb_buf_addf(out, "%s%.*s", k ? ", " : "", UPP_FMT(r->targets[k].agent));
        if (r->n_targets > 1)
            wb_buf_addf(out, " (weight %u)", r->targets[k].weight);
    }
    if (r->n_fallbacks) {
        wb_buf_add(out, UPP_STR(", else "));
        add_list(out, r->fallbacks, r->n_fallbacks);
    }
    wb_buf_addc(out, '\n');
}

static void add_verdict(struct wb_buf *out, const struct we_rule *r, const struct we_envelope *e, bool taken)
{
    enum we_unfit why = we_rule_fits(r, e, e->intent);
    wb_buf_add(out, UPP_STR("    "));
    switch (why) {
    case WE_FITS:
        wb_buf_add(out, taken ? UPP_STR("fits: taken") : UPP_STR("fits, but an earlier one was taken"));
        break;
    case WE_UNFIT_INTENT:
        wb_buf_addf(out, "does not fit: the intent is %.*s", UPP_FMT(e->intent_name));
        break;
    case WE_UNFIT_ROLE:
        wb_buf_addf(out, "does not fit: the role is %.*s", UPP_FMT(e->role));
        break;
    case WE_UNFIT_AGENT:
        if (e->agent_id.n)
            wb_buf_addf(out, "does not fit: the agent is %.*s", UPP_FMT(e->agent_id));
        else
            wb_buf_add(out, UPP_STR("does not fit: it names no agent"));
        break;
    case WE_UNFIT_TYPE:
        wb_buf_addf(out, "does not fit: the content's type is %.*s", UPP_FMT(e->type));
        break;
    case WE_UNFIT_TAGS:
        wb_buf_add(out, UPP_STR("does not fit: it does not have all tags"));
        break;
    case WE_UNFIT_NO_SCORE:
        wb_buf_add(out, UPP_STR("does not fit: it has no confidence.score"));
        break;
    case WE_UNFIT_SCORE:
        wb_buf_add(out, UPP_STR("does not fit: its confidence is "));
        add_number(out, e->score);
        break;
    case WE_UNFIT_COST:
        wb_buf_addf(out, "does not fit: its cost is %llu",
                    (unsigned long long)e->input_tokens + (unsigned long long)e->output_tokens);
        break;
    }
    wb_buf_addc(out, '\n');
}

int we_explain(const struct we_routes *routes, const struct we_envelope *e, struct wb_buf *out, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct we_choice choice = {0};
    int r = we_route(&a, routes, e, (struct upp_str){0}, &choice, err);
    if (r < 0 && r != -UPP_ENOTFOUND)
        return r;
    for (size_t i = 0; i < routes->n; i++) {
        add_rule(out, &routes->rules[i], i);
        add_verdict(out, &routes->rules[i], e, r >= 0 && choice.rule == &routes->rules[i]);
    }
    if (we_is_result(e))
        wb_buf_add(out, UPP_STR("it is the result of a call: it is not executed again\n"));
    if (r >= 0)
        wb_buf_addf(out, "agent: %.*s (%.*s)\n", UPP_FMT(choice.agent), UPP_FMT(choice.why));
    else if (err)
        wb_buf_addf(out, "no route: %s\n", err->msg);
    int full = wb_buf_check(out, NULL);
    return full < 0 ? wb_buf_check(out, err) : r;
}
