/* runtime/config_routes.c — `routes`: which agent gets an envelope. Without it, the table of the specification, for
 * agents whose models belong to its families. */
#include "json/value.h"
#include "runtime/config_read.h"

struct reading {
    struct we_rule *rule;
    const struct wc_node *to;
};

/* ---- Agents ---------------------------------------------------------------------------------- */

/* An agent that can be asked: it exists, and has a model of its own. */
static bool read_agent(struct wc_reader *r, const struct wc_node *n, struct upp_str *ret)
{
    struct wc_guess guess = {0};
    struct upp_str name;
    const struct wc_agent *a;
    if (!wc_text(r, n, "an agent", &name))
        return false;
    if (!wc_find_agent(r, name, &guess))
        return wc_no_such(r, n, "agent", &guess);
    a = name.n ? wc_config_agent(r->config, name) : NULL;
    if (a && !a->model && !a->wrong_model) {
        wc_mistake(r, n, "the agent '%.*s' has no model of its own: others ask it", UPP_FMT(name));
        return false;
    }
    *ret = name;
    return true;
}

static bool is_target(const struct we_rule *rule, struct upp_str agent)
{
    for (size_t i = 0; i < rule->n_targets; i++)
        if (wb_str_eq(rule->targets[i].agent, agent))
            return true;
    return false;
}

static void read_target_agent(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_target *t = into;
    (void)read_agent(r, n, &t->agent);
}

/* `planner`, or {agent: planner, weight: 3}. */
static void add_target(struct wc_reader *r, const struct wc_node *n, struct we_rule *rule)
{
    static const struct wc_key keys[] = {{.name = "agent", .read = read_target_agent, .flags = WC_REQUIRED},
                                         WC_MEMBER(WC_U32, "weight", struct we_target, weight, 1, WE_MAX_WEIGHT)};
    struct we_target t = {.weight = 1};
    if (n->kind == WC_MAP)
        wc_map(r, n, "a target", keys, WB_LEN(keys), &t);
    else
        (void)read_agent(r, n, &t.agent);
    if (!t.agent.n)
        return; /* was reported */
    if (is_target(rule, t.agent))
        wc_mistake(r, n, "'%.*s' is there a second time", UPP_FMT(t.agent));
    else
        rule->targets[rule->n_targets++] = t;
}

static void read_to(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *s = into;
    size_t count = n->kind == WC_LIST ? n->n : 1;
    s->to = n;
    if (count > WE_MAX_TARGETS || !count) {
        wc_mistake(r, n, "a rule has 1 to %d agents in 'to'", WE_MAX_TARGETS);
        return;
    }
    s->rule->targets = wb_new_n(&r->config->arena, struct we_target, count);
    if (!s->rule->targets)
        return;
    if (n->kind != WC_LIST) {
        add_target(r, n, s->rule);
        return;
    }
    for (const struct wc_item *i = n->first; i; i = i->next)
        add_target(r, i->value, s->rule);
}

static void add_fallback(struct wc_reader *r, const struct wc_node *n, struct we_rule *rule)
{
    struct upp_str agent = {0};
    if (!read_agent(r, n, &agent))
        return;
    bool twice = is_target(rule, agent);
    for (size_t i = 0; i < rule->n_fallbacks; i++)
        twice |= wb_str_eq(rule->fallbacks[i], agent);
    if (twice)
        wc_mistake(r, n, "'%.*s' would be asked again after it failed: a circle", UPP_FMT(agent));
    else
        rule->fallbacks[rule->n_fallbacks++] = agent;
}

static void read_fallback(struct wc_reader *r, const struct wc_node *n, struct we_rule *rule)
{
    size_t count = n->kind == WC_LIST ? n->n : 1;
    if (count > WE_MAX_FALLBACKS) {
        wc_mistake(r, n, "a rule has at most %d fallbacks", WE_MAX_FALLBACKS);
        return;
    }
    rule->fallbacks = wb_new_n(&r->config->arena, struct upp_str, count + 1);
    if (!rule->fallbacks)
        return;
    if (n->kind != WC_LIST) {
        add_fallback(r, n, rule);
        return;
    }
    for (const struct wc_item *i = n->first; i; i = i->next)
        add_fallback(r, i->value, rule);
}

/* ---- Conditions ------------------------------------------------------------------------------ */

static bool read_word(struct wc_reader *r, const struct wc_node *n, const char *what,
                      const struct wd_envelope_words *from, struct upp_str *ret)
{
    const char *words[16] = {NULL};
    unsigned which;
    for (size_t i = 0; from->list[i].p && i < WB_LEN(words) - 1; i++)
        words[i] = from->list[i].p;
    if (!wc_word(r, n, what, words, &which))
        return false;
    *ret = from->list[which];
    return true;
}

static void read_role(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)read_word(r, n, "a role", &wd_envelope_roles, &((struct we_when *)into)->role);
}

static void read_type(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)read_word(r, n, "a content type", &wd_envelope_contents, &((struct we_when *)into)->type);
}

static void read_tags(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_when *w = into;
    if (n->kind == WC_LIST) {
        if (!wc_texts(r, n, "tags", WE_MAX_CONDITIONS, &w->tags, &w->n_tags))
            w->n_tags = 0;
        return;
    }
    w->tags = wb_new(&r->config->arena, struct upp_str);
    if (w->tags && wc_text(r, n, "a tag", w->tags))
        w->n_tags = 1;
}

static void read_below(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_when *w = into;
    w->has_below = wc_decimal(r, n, "below", 0, 1, &w->below);
}

static void read_above(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_when *w = into;
    w->has_above = wc_decimal(r, n, "above", 0, 1, &w->above);
}

static void read_confidence(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "below", .read = read_below}, {.name = "above", .read = read_above}};
    struct we_when *w = into;
    wc_map(r, n, "confidence", keys, WB_LEN(keys), into);
    if (w->has_below && w->has_above && w->above >= w->below)
        wc_mistake(r, n, "no confidence is above %g and below %g", w->above, w->below);
}

static void read_cost_above(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct we_when *w = into;
    w->has_cost = wc_number(r, n, "above", 0, UINT64_MAX / 2, &w->cost_above);
}

static void read_cost(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "above", .read = read_cost_above, .flags = WC_REQUIRED}};
    wc_map(r, n, "cost", keys, WB_LEN(keys), into);
}

static void read_when(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        {.name = "role", .read = read_role},
        WC_CHOICE(WC_STR, "agent", struct we_when, agent, 0, "an agent's id", NULL),
        {.name = "type", .read = read_type},
        {.name = "tags", .read = read_tags},
        {.name = "confidence", .read = read_confidence},
        {.name = "cost", .read = read_cost},
    };
    struct we_rule *rule = ((struct reading *)into)->rule;
    wc_map(r, n, "when", keys, WB_LEN(keys), &rule->when);
    rule->conditional = n->n > 0;
}

/* ---- Rules ----------------------------------------------------------------------------------- */

static void read_intent(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)wc_intents(r, n, &((struct reading *)into)->rule->intents);
}

static void later(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)r, (void)n, (void)into; /* `fallback`: read after `to` */
}

static void read_rule(struct wc_reader *r, const struct wc_node *n, struct we_rule *rule)
{
    static const struct wc_key keys[] = {{.name = "intent", .read = read_intent, .flags = WC_REQUIRED},
                                         {.name = "when", .read = read_when},
                                         {.name = "to", .read = read_to, .flags = WC_REQUIRED},
                                         {.name = "fallback", .read = later}};
    struct reading s = {.rule = rule};
    const struct wc_node *fallback = n->kind == WC_MAP ? wc_get(n, "fallback") : NULL;
    rule->line = n->line;
    wc_map(r, n, "a rule", keys, WB_LEN(keys), &s);
    if (fallback)
        read_fallback(r, fallback, rule);
}

/* A rule never fits if earlier ones without conditions have all its intents. */
static void check_reach(struct wc_reader *r, const struct wc_node *n, const struct we_rule *rules)
{
    uint32_t taken = 0;
    size_t k = 0;
    for (const struct wc_item *i = n->first; i; i = i->next, k++) {
        if (rules[k].intents && !(rules[k].intents & ~taken))
            wc_warning(r, i->value, "the rule never fits: earlier ones take every envelope of its intents");
        if (!rules[k].conditional)
            taken |= rules[k].intents;
    }
}

/* Does a rule with an intent in common send from `from` back to `to`? */
static bool falls_back(const struct we_rule *rule, uint32_t intents, struct upp_str from, struct upp_str to)
{
    bool has = (rule->intents & intents) && is_target(rule, from);
    for (size_t i = 0; has && i < rule->n_fallbacks; i++)
        if (wb_str_eq(rule->fallbacks[i], to))
            return true;
    return false;
}

static void check_circles(struct wc_reader *r, const struct wc_node *n, const struct we_rule *rules)
{
    size_t k = 0;
    for (const struct wc_item *i = n->first; i; i = i->next, k++)
        for (size_t j = 0; j < k; j++)
            for (size_t t = 0; t < rules[k].n_targets * rules[k].n_fallbacks; t++) {
                struct upp_str from = rules[k].targets[t / rules[k].n_fallbacks].agent;
                struct upp_str to = rules[k].fallbacks[t % rules[k].n_fallbacks];
                if (falls_back(&rules[j], rules[k].intents, to, from))
                    wc_warning(r, i->value,
                               "'%.*s' falls back to '%.*s', and for the same intent rule %zu "
                               "the other way round: a circle",
                               UPP_FMT(from), UPP_FMT(to), j + 1);
            }
}

static void read_rules(struct wc_reader *r, const struct wc_node *n)
{
    struct we_routes *routes = &r->config->envelopes.routes;
    if (!wc_is(r, n, WC_LIST, "routes"))
        return;
    if (n->n > WE_MAX_RULES) {
        wc_mistake(r, n, "there are more than %d rules", WE_MAX_RULES);
        return;
    }
    struct we_rule *rules = wb_new_n(&r->config->arena, struct we_rule, n->n + 1);
    size_t k = 0;
    if (!rules)
        return;
    for (const struct wc_item *i = n->first; i; i = i->next)
        read_rule(r, i->value, &rules[k++]);
    check_reach(r, n, rules);
    check_circles(r, n, rules);
    routes->rules = rules;
    routes->n = k;
}

/* ---- The default: the table of the specification --------------------------------------------- */

/* The first agent whose model has this adapter. */
static const struct wc_agent *agent_for(const struct wc_config *c, const struct we_adapter *adapter)
{
    for (size_t i = 0; i < c->n_agents; i++) {
        struct upp_str model = wc_agent_model(&c->agents[i]);
        if (model.p && we_adapter_for(&c->envelopes.adapters, model) == adapter)
            return &c->agents[i];
    }
    return NULL;
}

static void add_defaults(struct wc_config *c)
{
    const struct we_adapters *adapters = &c->envelopes.adapters;
    struct we_rule *rules = wb_new_n(&c->arena, struct we_rule, adapters->n + 1);
    struct we_target *targets = wb_new_n(&c->arena, struct we_target, adapters->n + 1);
    size_t n = 0;
    if (!rules || !targets)
        return;
    for (size_t i = 0; i < adapters->n; i++) {
        const struct wc_agent *a = adapters->list[i].intents ? agent_for(c, &adapters->list[i]) : NULL;
        if (!a)
            continue;
        targets[n] = (struct we_target){.agent = a->def.name, .weight = 1};
        rules[n] = (struct we_rule){.intents = adapters->list[i].intents, .targets = &targets[n], .n_targets = 1};
        n++;
    }
    c->envelopes.routes.rules = rules;
    c->envelopes.routes.n = n;
}

void wc_read_routes(struct wc_reader *r, const struct wc_node *n)
{
    struct wc_config *c = r->config;
    struct upp_str *names = wb_new_n(&c->arena, struct upp_str, c->n_agents + 1);
    size_t count = 0;
    if (n)
        read_rules(r, n);
    else
        add_defaults(c);
    for (size_t i = 0; names && i < c->n_agents; i++)
        if (c->agents[i].model)
            names[count++] = c->agents[i].def.name;
    c->envelopes.routes.agents = names;
    c->envelopes.routes.n_agents = names ? count : 0;
}
