/* envelope/routes.c — the rule that an envelope fits, and the agent it goes to. */
#include "envelope/routes.h"

#include "base/err.h"
#include "envelope/adapter.h"
#include "envelope/fit.h"
#include "json/value.h"

static bool has_tags(const struct we_when *w, const struct we_envelope *e)
{
    for (size_t i = 0; i < w->n_tags; i++)
        if (!we_has_tag(e, w->tags[i]))
            return false;
    return true;
}

static uint64_t cost_of(const struct we_envelope *e)
{
    return e->input_tokens > UINT64_MAX - e->output_tokens ? UINT64_MAX : e->input_tokens + e->output_tokens;
}

enum we_unfit we_rule_fits(const struct we_rule *r, const struct we_envelope *e, int intent)
{
    const struct we_when *w = &r->when;
    if (intent < 0 || !(r->intents & 1u << intent))
        return WE_UNFIT_INTENT;
    if (!r->conditional)
        return WE_FITS;
    if (w->role.n && !wb_str_eq(w->role, e->role))
        return WE_UNFIT_ROLE;
    if (w->agent.n && !(e->agent_id.n && we_glob(w->agent, e->agent_id)))
        return WE_UNFIT_AGENT;
    if (w->type.n && !wb_str_eq(w->type, e->type))
        return WE_UNFIT_TYPE;
    if (!has_tags(w, e))
        return WE_UNFIT_TAGS;
    if ((w->has_below || w->has_above) && !e->has_score)
        return WE_UNFIT_NO_SCORE;
    if ((w->has_below && !(e->score < w->below)) || (w->has_above && !(e->score > w->above)))
        return WE_UNFIT_SCORE;
    if (w->has_cost && cost_of(e) <= w->cost_above)
        return WE_UNFIT_COST;
    return WE_FITS;
}

/* FNV-1a's high bits differ little between ids that end alike: they are mixed once more. */
static uint64_t spread(struct upp_str id)
{
    uint64_t h = wb_str_hash(id);
    h = (h ^ h >> 33) * 0xff51afd7ed558ccd;
    return h ^ h >> 33;
}

static struct upp_str choose(const struct we_rule *r, struct upp_str id)
{
    uint64_t sum = 0, at;
    if (r->n_targets == 1)
        return r->targets[0].agent;
    for (size_t i = 0; i < r->n_targets; i++)
        sum += r->targets[i].weight;
    at = sum ? spread(id) % sum : 0;
    for (size_t i = 0; i < r->n_targets; i++) {
        if (at < r->targets[i].weight)
            return r->targets[i].agent;
        at -= r->targets[i].weight;
    }
    return r->targets[0].agent;
}

/* Is this an agent that rules name, or that may be a target? */
static bool has_agent(const struct we_routes *routes, struct upp_str agent)
{
    for (size_t i = 0; i < routes->n_agents; i++)
        if (wb_str_eq(routes->agents[i], agent))
            return true;
    for (size_t i = 0; !routes->agents && i < routes->n; i++) {
        const struct we_rule *r = &routes->rules[i];
        for (size_t k = 0; k < r->n_targets; k++)
            if (wb_str_eq(r->targets[k].agent, agent))
                return true;
        for (size_t k = 0; k < r->n_fallbacks; k++)
            if (wb_str_eq(r->fallbacks[k], agent))
                return true;
    }
    return false;
}

/* The first rule that fits; NULL: none. */
static const struct we_rule *find_rule(const struct we_routes *routes, const struct we_envelope *e, int intent)
{
    for (size_t i = 0; i < routes->n; i++)
        if (routes->rules[i].n_targets && we_rule_fits(&routes->rules[i], e, intent) == WE_FITS)
            return &routes->rules[i];
    return NULL;
}

static int no_route(const struct we_envelope *e, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "no rule fits the intent %.*s, and there is none for reflect",
                    UPP_FMT(e->intent_name));
}

int we_route(struct wb_arena *a, const struct we_routes *routes, const struct we_envelope *e, struct upp_str id,
             struct we_choice *ret, struct upp_err *err)
{
    struct upp_str target = wj_text_at(e->parameters, "target");
    const struct we_rule *rule = NULL;
    int intent = e->intent;
    const char *why = "by the rule of its intent";
    if (intent == WE_ROUTE && target.n) {
        char quoted[WJ_QUOTED];
        if (!has_agent(routes, target))
            return upp_fail(err, UPP_ENOTFOUND, "there is no agent %s to route to",
                            wj_quote(target, quoted, sizeof quoted));
        *ret =
            (struct we_choice){.agent = wb_arena_dup(a, target), .why = UPP_STR("named by inputs.parameters.target")};
        return wb_arena_check(a, err);
    }
    rule = find_rule(routes, e, intent);
    if (!rule && intent == WE_ROUTE && (rule = find_rule(routes, e, WE_PLAN)))
        why = "route without a target goes to the agent of plan";
    if (!rule && (rule = find_rule(routes, e, WE_REFLECT)))
        why = "no rule fits its intent: it goes to reflect";
    if (!rule)
        return no_route(e, err);
    *ret = (struct we_choice){.rule = rule,
                              .number = (size_t)(rule - routes->rules),
                              .agent = choose(rule, id.n ? id : e->id),
                              .why = wb_cstr(why)};
    return 0;
}
