/* runtime/config_handoff.c — to whom an agent may hand over (`handoff`), and what it may do at all (`rights`). */
#include "runtime/config_read.h"

enum { TOOL_NAME = 64 }; /* limit of providers */

struct one {
    struct wr_handoff handoff;
    const struct wc_node *name;
};

static void read_name(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct one *h = into;
    struct wc_guess guess = {0};
    struct upp_str name;
    if (!wc_text(r, n, "an agent", &name))
        return;
    h->name = n;
    if (!wc_find_agent(r, name, &guess))
        (void)wc_no_such(r, n, "agent", &guess);
    else
        h->handoff.agent = name;
}

/* `travel`, or {agent: travel, ...}. */
static void read_one(struct wc_reader *r, const struct wc_node *n, struct one *h)
{
    static const struct wc_key keys[] = {{.name = "agent", .read = read_name, .flags = WC_REQUIRED},
                                         WC_MEMBER(WC_TRUTH, "on_mention", struct one, handoff.on_mention, 0, 0),
                                         WC_CHOICE(WC_STR, "prompt", struct one, handoff.prompt, 0, "a prompt", NULL)};
    if (n->kind == WC_SCALAR)
        read_name(r, n, h);
    else
        wc_map(r, n, "a handoff", keys, WB_LEN(keys), h);
}

/* Can it be added to the earlier ones? */
static bool is_right(struct wc_reader *r, const struct wc_agent *a, const struct one *h)
{
    struct upp_str to = h->handoff.agent;
    if (!to.n)
        return false; /* was reported */
    for (size_t i = 0; i < a->def.n_handoffs; i++)
        if (wb_str_eq(a->handoffs[i].agent, to)) {
            wc_mistake(r, h->name, "'%.*s' is there a second time", UPP_FMT(to));
            return false;
        }
    if (wb_str_eq(a->def.name, to))
        wc_mistake(r, h->name, "an agent cannot hand over to itself");
    else if (to.n + sizeof WC_HANDOFF - 1 > TOOL_NAME)
        wc_mistake(r, h->name, "the name of an agent that is handed over to has at most %zu letters",
                   TOOL_NAME - (sizeof WC_HANDOFF - 1));
    else
        return true;
    return false;
}

static struct wr_tool tool_of(struct wc_reader *r, const struct wr_handoff *h)
{
    return (struct wr_tool){
        .spec = {.name = wc_tool_name(r, WC_HANDOFF, h->agent), .parameters = wr_handoff_parameters},
        .kind = WR_TOOL_HANDOFF,
        .schema = r->config->handing,
        .agent = h->agent};
}

/* Each is a tool, after the agent's other tools. */
static void add_tools(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a)
{
    struct wr_tool *tools = wb_new_n(&r->config->arena, struct wr_tool, a->def.n_tools + a->def.n_handoffs + 1);
    size_t count = a->def.n_tools;
    if (!tools)
        return;
    if (count)
        memcpy(tools, a->def.tools, count * sizeof *tools);
    for (size_t i = 0; i < a->def.n_handoffs; i++) {
        tools[count] = tool_of(r, &a->handoffs[i]);
        for (size_t j = 0; j < count; j++)
            if (wb_str_eq(tools[j].spec.name, tools[count].spec.name))
                wc_mistake(r, n, "the agent has a tool '%.*s' already", UPP_FMT(tools[j].spec.name));
        count++;
    }
    a->handing_tools = tools + a->def.n_tools;
    a->def.tools = tools;
    a->def.n_tools = count;
}

void wc_read_handoff(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a)
{
    if (!wc_is(r, n, WC_LIST, "handoff"))
        return;
    if (n->n > WC_MAX_NAMED) {
        wc_mistake(r, n, "an agent hands over to at most %d others", WC_MAX_NAMED);
        return;
    }
    if (!r->config->handing)
        wc_fail(r, upp_schema_new(wr_handoff_parameters, &r->config->handing, r->err));
    a->handoffs = wb_new_n(&r->config->arena, struct wr_handoff, n->n + 1);
    for (const struct wc_item *i = n->first; a->handoffs && i; i = i->next) {
        struct one h = {.name = i->value};
        read_one(r, i->value, &h);
        if (is_right(r, a, &h))
            a->handoffs[a->def.n_handoffs++] = h.handoff;
    }
    a->def.handoffs = a->handoffs;
    add_tools(r, n, a);
}

/* The description of a handoff that the model receives, once all agents are read. */
static struct upp_str describe(struct wc_reader *r, const struct wc_agent *to)
{
    return to->card.description.n
               ? wb_arena_printf(&r->config->arena, "Hands the conversation over to %.*s: %.*s", UPP_FMT(to->def.title),
                                 UPP_FMT(to->card.description))
               : wb_arena_printf(&r->config->arena, "Hands the conversation over to %.*s.", UPP_FMT(to->def.title));
}

static void link_agent(struct wc_reader *r, struct wc_agent *a)
{
    if (!a->handing_tools)
        return;
    for (size_t i = 0; i < a->def.n_handoffs; i++) {
        const struct wc_agent *to = wc_config_agent(r->config, a->handoffs[i].agent);
        struct wr_tool *tool = a->handing_tools + i;
        if (!to)
            continue; /* its name is invalid: reported */
        a->handoffs[i].title = to->def.title;
        tool->spec.description = describe(r, to);
        if (!to->model && !to->wrong_model)
            wc_report_at(r, (struct wc_mark){a->line, 1}, false,
                         "'%.*s' hands over to '%.*s', which has no model of its own", UPP_FMT(a->def.name),
                         UPP_FMT(to->def.name));
    }
}

void wc_link_handoffs(struct wc_reader *r)
{
    for (size_t i = 0; i < r->config->n_agents; i++)
        link_agent(r, &r->config->agents[i]);
}

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
