/* runtime/config_strategy.c — `strategy` of an agent: a name, or a name with its options. */
#include "runtime/config_read.h"

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
