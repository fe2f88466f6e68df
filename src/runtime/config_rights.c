/* runtime/config_rights.c — rights of an agent and its sub-agents: allow, deny, max_depth, max_agent_messages, budget.
 */
#include "runtime/config_read.h"

/* Something that an agent can call: a tool, another agent, a handoff. */
static bool can_be_called(struct wc_reader *r, struct upp_str name, struct wc_guess *guess)
{
    const struct upp_str handing = UPP_STR(WC_HANDOFF);
    return wc_find_tool(r, name, guess) || wc_find_agent(r, name, guess) ||
           (wb_str_starts(name, handing) && wc_find_agent(r, wb_str_sub(name, handing.n, name.n), guess));
}

static const char *const *read_names(struct wc_reader *r, const struct wc_node *n, const char *what)
{
    struct upp_str *names;
    size_t count;
    if (!wc_texts(r, n, what, WC_MAX_NAMED, &names, &count))
        return NULL;
    const char **list = wb_new_n(&r->config->arena, const char *, count + 1);
    size_t i = 0;
    for (const struct wc_item *at = n->first; list && at; at = at->next, i++) {
        struct wc_guess guess = {0};
        if (!can_be_called(r, names[i], &guess))
            (void)wc_no_such(r, at->value, "tool or agent", &guess);
        list[i] = wc_tool_name(r, "", names[i]).p; /* what is called is a tool */
    }
    return list;
}

void wc_read_allow(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    a->rights.allow = read_names(r, n, "allow");
    a->def.rights = &a->rights;
}

void wc_read_deny(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    a->rights.deny = read_names(r, n, "deny");
    a->def.rights = &a->rights;
}

void wc_read_depth(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    uint64_t v;
    if (wc_number(r, n, "max_depth", 0, WC_MAX_CHAIN, &v))
        a->rights.max_depth = v ? (uint32_t)v : UINT32_MAX;
    a->def.rights = &a->rights;
}

void wc_read_agent_messages(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    uint64_t v;
    if (wc_number(r, n, "max_agent_messages", 0, 1000000, &v))
        a->rights.max_agent_messages = v ? (uint32_t)v : UINT32_MAX;
    a->def.rights = &a->rights;
}

void wc_read_limits(struct wc_reader *r, const struct wc_node *n, struct weft_budget *into)
{
    enum { PRICE = 1000000 }; /* per million tokens, in the currency of max_cost */
    static const struct wc_key keys[] = {
        WC_MEMBER(WC_U64, "max_tokens", struct weft_budget, max_tokens, 1, UINT64_C(1) << 50),
        WC_MEMBER(WC_U64, "max_time_ms", struct weft_budget, max_time_ms, 1, UINT64_C(31) * 86400000),
        WC_MEMBER(WC_U32, "max_steps", struct weft_budget, max_steps, 1, 1000000),
        WC_MEMBER(WC_F64, "max_cost", struct weft_budget, max_cost, 0, 1000000000),
        WC_MEMBER(WC_F64, "input_price", struct weft_budget, input_price, 0, PRICE),
        WC_MEMBER(WC_F64, "output_price", struct weft_budget, output_price, 0, PRICE),
        WC_MEMBER(WC_F64, "cache_read_price", struct weft_budget, cache_read_price, 0, PRICE),
        WC_MEMBER(WC_F64, "cache_write_price", struct weft_budget, cache_write_price, 0, PRICE),
    };
    const struct wc_node *cost = wc_get(n, "max_cost");
    wc_map(r, n, "budget", keys, WB_LEN(keys), into);
    if (n->kind == WC_MAP && !n->n)
        wc_mistake(r, n, "a budget needs a limit");
    if (cost && into->max_cost == 0)
        wc_mistake(r, cost, "max_cost must be more than 0");
    else if (cost && into->input_price == 0 && into->output_price == 0)
        wc_mistake(r, cost, "max_cost needs 'input_price' and 'output_price', of a million tokens");
}

void wc_read_budget(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    wc_read_limits(r, n, &a->rights.budget);
    a->def.rights = &a->rights;
}
