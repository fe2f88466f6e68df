/* runtime/config_middleware.c — how an agent works: its `strategy` and `middleware`, and the constructors of both. */
#include "json/regex.h"
#include "runtime/config_read.h"
#include "agent/middleware/middleware.h"
#include "runtime/config.h"

enum { KEEP_LAST = 10000 };

static void read_logging(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
    static const struct wc_key keys[] = {
        WC_CHOICE(WC_WORD, "level", struct weft_logging_opts, level, 0, "a level", levels),
        WC_MEMBER(WC_TRUTH, "include_messages", struct weft_logging_opts, include_messages, 0, 0),
        WC_MEMBER(WC_UNTRUTH, "include_timing", struct weft_logging_opts, no_timing, 0, 0),
    };
    struct wc_middleware *m = into;
    m->kind = WC_LOGGING;
    m->logging = (struct weft_logging_opts){.size = sizeof m->logging};
    if (!wc_null(n))
        wc_map(r, n, "logging", keys, WB_LEN(keys), &m->logging);
}

static void read_pattern(struct wc_reader *r, const struct wc_node *n, void *into)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(4u << 20);
    struct weft_guard_rule *rule = into;
    struct wj_regex ignored;
    struct upp_err err = {0};
    if (!wc_cstr(r, n, "a pattern", &rule->pattern))
        return;
    int code = wj_regex_new(&scratch, wb_cstr(rule->pattern), &ignored, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for a pattern"));
    else if (code < 0)
        wc_mistake(r, n, "this pattern cannot be used: %s", wc_has_variables(n) ? "look at its variables" : err.msg);
}

static void read_rule(struct wc_reader *r, const struct wc_node *n, struct weft_guard_rule *rule)
{
    static const char *const actions[] = {"reject", "rewrite", "flag", NULL};
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_CSTR, "name", struct weft_guard_rule, name, 0, 0),
        {.name = "action",
         .flags = WC_REQUIRED,
         .type = WC_ENUM,
         .at = offsetof(struct weft_guard_rule, action),
         .min = WEFT_REJECT,
         .what = "an action",
         .words = actions},
        {.name = "pattern", .read = read_pattern, .flags = WC_REQUIRED},
        WC_MEMBER(WC_CSTR, "instead", struct weft_guard_rule, instead, 0, 0),
    };
    wc_map(r, n, "a rule", keys, WB_LEN(keys), rule);
    if (rule->instead && rule->action && rule->action != WEFT_REWRITE)
        wc_mistake(r, wc_get(n, "instead"), "'instead' has a meaning with 'action: rewrite' alone");
}

/* Reads a list of rules: the array goes to the key's member, its length to the size_t at offset `min`. */
static void read_rules(struct wc_reader *r, const struct wc_node *n, void *into)
{
    const struct wc_key *key = r->key;
    size_t *count = (void *)((char *)into + key->min);
    if (!wc_is(r, n, WC_LIST, key->name))
        return;
    if (n->n > WC_MAX_MIDDLEWARE) {
        wc_mistake(r, n, "%s has more than %d rules", key->name, WC_MAX_MIDDLEWARE);
        return;
    }
    struct weft_guard_rule *rules = wb_new_n(&r->config->arena, struct weft_guard_rule, n->n + 1);
    for (const struct wc_item *i = n->first; rules && i; i = i->next)
        read_rule(r, i->value, &rules[(*count)++]);
    *(const struct weft_guard_rule **)((char *)into + key->at) = rules;
}

#define RULES(name_)                                                                                                   \
    {                                                                                                                  \
        .name = #name_, .read = read_rules, .at = offsetof(struct weft_guardrails_opts, name_),                        \
        .min = offsetof(struct weft_guardrails_opts, n_##name_)                                                        \
    }

static void read_guardrails(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {RULES(input), RULES(output), RULES(tools)};
    struct wc_middleware *m = into;
    m->kind = WC_GUARDRAILS;
    m->guardrails = (struct weft_guardrails_opts){.size = sizeof m->guardrails};
    wc_map(r, n, "guardrails", keys, WB_LEN(keys), &m->guardrails);
    if (n->kind == WC_MAP && !n->n)
        wc_mistake(r, n, "guardrails need rules: 'input', 'output' or 'tools'");
}

static void read_model(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct weft_memory_opts *o = into;
    const struct wc_model *m = wc_find_model(r, n);
    if (m)
        o->model = m->model;
}

static void read_memory(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const modes[] = {"truncate", "summarise", NULL}; /* retrieval needs a program */
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U64, "max_tokens", struct weft_memory_opts, max_tokens, 1, 1000000000),
        WC_CHOICE(WC_ENUM, "mode", struct weft_memory_opts, mode, WEFT_TRUNCATE, "a mode", modes),
        WC_MEMBER(WC_U32, "keep_last", struct weft_memory_opts, keep_last, 1, KEEP_LAST),
        {.name = "model", .read = read_model},
    };
    struct wc_middleware *m = into;
    m->kind = WC_MEMORY;
    m->memory = (struct weft_memory_opts){.size = sizeof m->memory};
    if (wc_null(n))
        return;
    wc_map(r, n, "memory", keys, WB_LEN(keys), &m->memory);
    if (wc_get(n, "model") && m->memory.mode != WEFT_SUMMARISE)
        wc_mistake(r, wc_get(n, "model"), "'model' has a meaning with 'mode: summarise' alone");
}

static void read_budget(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_middleware *m = into;
    m->kind = WC_BUDGET;
    m->budget = (struct weft_budget){0};
    wc_read_limits(r, n, &m->budget);
}

/* `logging`, or {logging: {...}}. */
static void read_one(struct wc_reader *r, const struct wc_node *n, struct wc_middleware *m)
{
    static const struct wc_key keys[] = {{.name = "logging", .read = read_logging},
                                         {.name = "guardrails", .read = read_guardrails},
                                         {.name = "memory", .read = read_memory},
                                         {.name = "budget", .read = read_budget}};
    static const char *const words[] = {"logging", "guardrails", "memory", "budget", NULL};
    static const struct wc_node none = {.kind = WC_SCALAR, .plain = true};
    unsigned which;
    if (n->kind != WC_SCALAR) {
        wc_map(r, n, "middleware", keys, WB_LEN(keys), m);
        if (n->kind == WC_MAP && n->n != 1)
            wc_mistake(r, n, "a middleware is one of 'logging', 'guardrails', 'memory', 'budget'");
        return;
    }
    if (!wc_word(r, n, "a middleware", words, &which))
        return;
    if (which == WC_GUARDRAILS || which == WC_BUDGET)
        wc_mistake(r, n, "'%s' needs to be told what to do: {%s: {...}}", words[which], words[which]);
    else
        keys[which].read(r, &none, m);
}

static struct weft_middleware make(const struct wc_makers *make, const struct wc_middleware *m)
{
    switch (m->kind) {
    case WC_LOGGING:
        return make->logging(&m->logging);
    case WC_GUARDRAILS:
        return make->guardrails(&m->guardrails);
    case WC_MEMORY:
        return make->memory(&m->memory);
    default:
        return make->budget(&m->budget);
    }
}

static void make_around(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a)
{
    const struct wc_makers *makers = r->opts->makers;
    struct upp_err err = {0};
    if (!makers || !a->n_middleware || r->report->errors || wb_arena_check(&r->config->arena, NULL) < 0)
        return;
    if (!makers->middleware) {
        wc_mistake(r, n, "middleware is not built yet");
        return;
    }
    struct weft_middleware *list = wb_new_n(&r->config->arena, struct weft_middleware, a->n_middleware + 1);
    if (!list)
        return;
    for (size_t i = 0; i < a->n_middleware; i++)
        list[i] = make(makers, &a->middleware[i]);
    int code = makers->middleware(list, a->n_middleware, NULL, &a->chain, &err);
    if (code == -UPP_ENOMEM)
        wc_fail(r, upp_fail(r->err, UPP_ENOMEM, "no memory for middleware"));
    else if (code < 0)
        wc_mistake(r, n, "%s", err.msg);
    else
        a->def.middleware = a->chain;
}

void wc_read_middleware(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    if (!wc_is(r, n, WC_LIST, "middleware"))
        return;
    if (n->n > WC_MAX_MIDDLEWARE) {
        wc_mistake(r, n, "an agent has at most %d middleware", WC_MAX_MIDDLEWARE);
        return;
    }
    a->middleware = wb_new_n(&r->config->arena, struct wc_middleware, n->n + 1);
    for (const struct wc_item *i = n->first; a->middleware && i; i = i->next)
        read_one(r, i->value, &a->middleware[a->n_middleware++]);
    make_around(r, n, a);
}

static void read_loop(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U32, "max_iterations", struct weft_strategy_loop_opts, max_iterations, 1, 1000),
    };
    struct wc_agent *a = into;
    a->kind = WC_LOOP;
    if (!wc_null(n))
        wc_map(r, n, "loop", keys, WB_LEN(keys), &a->loop);
}

static void read_react(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const char *const formats[] = {"markdown", "json", "text", NULL};
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U32, "max_steps", struct weft_strategy_react_opts, max_steps, 1, 1000),
        WC_MEMBER(WC_CSTR, "reasoning_prompt", struct weft_strategy_react_opts, reasoning_prompt, 0, 0),
        WC_CHOICE(WC_WORD, "observation_format", struct weft_strategy_react_opts, observation_format, 0, NULL, formats),
    };
    struct wc_agent *a = into;
    a->kind = WC_REACT;
    if (!wc_null(n))
        wc_map(r, n, "react", keys, WB_LEN(keys), &a->react);
}

static void read_plan(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U32, "max_plan_steps", struct weft_strategy_plan_opts, max_plan_steps, 1, 100),
        WC_MEMBER(WC_UNTRUTH, "allow_replan", struct weft_strategy_plan_opts, no_replan, 0, 0),
        WC_MEMBER(WC_U32, "max_replans", struct weft_strategy_plan_opts, max_replans, 1, 100),
        WC_MEMBER(WC_U32, "max_parallel", struct weft_strategy_plan_opts, max_parallel, 1, 16),
        WC_MEMBER(WC_U32, "max_iterations", struct weft_strategy_plan_opts, max_iterations, 1, 1000),
    };
    struct wc_agent *a = into;
    a->kind = WC_PLAN;
    if (wc_null(n))
        return;
    wc_map(r, n, "plan", keys, WB_LEN(keys), &a->plan);
    if (a->plan.no_replan && a->plan.max_replans)
        wc_mistake(r, wc_get(n, "max_replans"), "max_replans has no meaning with 'allow_replan: false'");
}

/* `loop`, or {loop: {...}}. */
void wc_read_strategy(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{.name = "loop", .read = read_loop},
                                         {.name = "react", .read = read_react},
                                         {.name = "plan", .read = read_plan}};
    static const char *const words[] = {[WC_LOOP] = "loop", [WC_REACT] = "react", [WC_PLAN] = "plan", NULL};
    struct wc_agent *a = into;
    unsigned which;
    if (n->kind == WC_SCALAR) {
        if (wc_word(r, n, "a strategy", words, &which))
            a->kind = (uint8_t)which;
        return;
    }
    wc_map(r, n, "strategy", keys, WB_LEN(keys), into);
    if (n->kind == WC_MAP && n->n != 1)
        wc_mistake(r, n, "a strategy is one of 'loop', 'react', 'plan'");
}

void wc_make_strategy(struct wc_reader *r, const struct wc_node *agent, struct wc_agent *a)
{
    static const char *const names[] = {[WC_LOOP] = "loop", [WC_REACT] = "react", [WC_PLAN] = "plan"};
    const struct wc_makers *m = r->opts->makers;
    const struct wc_node *node = wc_get(agent, "strategy");
    a->def.strategy = &a->strategy;
    a->strategy.name = names[a->kind];
    if (!m)
        return;
    if (a->kind == WC_LOOP && m->loop)
        a->strategy = m->loop(&a->loop);
    else if (a->kind == WC_REACT && m->react)
        a->strategy = m->react(&a->react);
    else if (a->kind == WC_PLAN && m->plan)
        a->strategy = m->plan(&a->plan);
    else
        wc_mistake(r, node ? node : agent, "the strategy '%s' is not built yet", names[a->kind]);
}

const struct wc_makers wc_makers = {
    .loop = weft_loop_with,
    .react = weft_react_with,
    .plan = weft_plan_with,
    .logging = weft_logging_with,
    .guardrails = weft_guardrails_with,
    .memory = weft_memory_with,
    .budget = weft_budget_with,
    .middleware = wa_middleware_new,
    .middleware_free = wa_middleware_free,
};
