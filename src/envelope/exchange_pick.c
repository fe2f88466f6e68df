/* envelope/exchange_pick.c — which agent is asked: by the rules, the fallbacks, and for reflections by its model. */
#include "base/err.h"
#include "envelope/exchange_state.h"
#include "envelope/fit.h"

static bool was_tried(const struct we_chain *c, struct upp_str agent)
{
    for (size_t i = 0; i < c->n_tried; i++)
        if (wb_str_eq(c->tried[i], agent))
            return true;
    return false;
}

static struct upp_str model_of(const struct we_exchange *x, struct upp_str agent)
{
    return x->host->model_of(x->host->arg, agent);
}

static bool usable(const struct we_exchange *x, const struct we_chain *c, struct upp_str agent)
{
    return !was_tried(c, agent) && c->n_tried < WE_MAX_TRIED && model_of(x, agent).p;
}

static int take(struct we_node *n, struct upp_str agent, const struct we_rule *rule, struct upp_str why)
{
    n->agent = agent;
    n->rule = rule;
    n->why = why;
    n->chain->tried[n->chain->n_tried++] = agent;
    return 0;
}

int we_pick(struct we_exchange *x, struct we_node *n, const struct we_envelope *e, struct upp_err *err)
{
    struct we_choice choice;
    struct we_chain *c = n->chain;
    int r = we_route(x->a, x->host->routes, e, (struct upp_str){0}, &choice, err);
    if (r < 0)
        return r;
    if (usable(x, c, choice.agent))
        return take(n, choice.agent, choice.rule, choice.why);
    for (size_t i = 0; choice.rule && i < choice.rule->n_fallbacks; i++)
        if (usable(x, c, choice.rule->fallbacks[i]))
            return take(n, choice.rule->fallbacks[i], choice.rule, UPP_STR("a fallback of the rule"));
    return upp_fail(err, UPP_ENOTFOUND, "the agent %.*s is not there, and no fallback is", UPP_FMT(choice.agent));
}

/* Reflections: on a model other than the one that wrote it. */

/* Ruling 5: the names, trimmed and folded. */
static bool same_model(struct upp_str a, struct upp_str b)
{
    return wb_str_eq_nocase(wb_str_trim(a), wb_str_trim(b));
}

struct search {
    struct we_exchange *x;
    struct we_node *n;
    struct upp_str writer; /* the model */
};

static bool differs(const struct search *s, struct upp_str agent)
{
    return usable(s->x, s->n->chain, agent) && !same_model(model_of(s->x, agent), s->writer);
}

/* Of the agents of one rule, the first that differs; NULL text: none. */
static struct upp_str among(const struct search *s, const struct we_rule *r)
{
    for (size_t i = 0; i < r->n_targets; i++)
        if (differs(s, r->targets[i].agent))
            return r->targets[i].agent;
    for (size_t i = 0; i < r->n_fallbacks; i++)
        if (differs(s, r->fallbacks[i]))
            return r->fallbacks[i];
    return (struct upp_str){0};
}

static struct upp_str elsewhere(const struct search *s)
{
    const struct we_routes *routes = s->x->host->routes;
    struct upp_str found = {0};
    for (size_t i = 0; !found.p && i < routes->n; i++)
        found = among(s, &routes->rules[i]);
    return found;
}

int we_pick_reflector(struct we_exchange *x, struct we_node *n, const struct we_envelope *doubted,
                      struct upp_str writer, struct upp_err *err)
{
    struct search s = {.x = x, .n = n, .writer = writer};
    struct we_envelope as = *doubted; /* the rules see the doubted message, as one to reflect on */
    struct we_choice choice = {0};
    struct upp_str other;
    as.intent = WE_REFLECT;
    int r = we_route(x->a, x->host->routes, &as, (struct upp_str){0}, &choice, err);
    if (r < 0)
        return r;
    if (differs(&s, choice.agent))
        return take(n, choice.agent, choice.rule, UPP_STR("reflects: another model than the one that wrote it"));
    other = among(&s, choice.rule);
    if (other.p)
        return take(n, other, choice.rule, UPP_STR("reflects: the rule's other agent, of another model"));
    other = elsewhere(&s);
    if (other.p)
        return take(n, other, choice.rule, UPP_STR("reflects: an agent of another rule, of another model"));
    if (!usable(x, n->chain, choice.agent))
        return upp_fail(err, UPP_ENOTFOUND, "no agent is left to reflect");
    n->same_model = true;
    return take(n, choice.agent, choice.rule, UPP_STR("reflects: there is no other model"));
}
