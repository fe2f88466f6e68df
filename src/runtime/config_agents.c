/* runtime/config_agents.c — the section `agents`, and what they refer to. Read after models and tools. */
#include "base/uuid.h"
#include "json/value.h"
#include "runtime/config_read.h"

struct reading {
    struct wc_agent      *agent;
    const struct wc_node *all; /* the section: agents may name those that come later */
};

/* ---- References -------------------------------------------------------------------------------------------------- */

static bool no_such(struct wc_reader *r, const struct wc_node *at, const char *what, const struct wc_guess *guess)
{
    char quoted[WJ_QUOTED];
    wc_mistake(r, at, "there is no %s %s%s", what, wj_quote(at->text, quoted, sizeof quoted), wc_guessed(guess));
    return false;
}

static void read_model(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading   *a = into;
    struct upp_str    name;
    struct wc_guess   guess = {0};
    struct wc_config *c     = r->config;
    if (!wc_text(r, n, "a model", &name))
        return;
    for (size_t i = 0; i < c->n_models; i++) {
        struct wc_model *m = &c->models[i];
        wc_guess(&guess, n->text, m->name);
        if (wb_str_eq(m->name, name)) {
            a->agent->model      = m;
            a->agent->def.model  = m->model;
            a->agent->def.params = m->params;
            return;
        }
    }
    (void)no_such(r, n, "model", &guess);
}

static const struct wc_tool *find_tool(struct wc_config *c, struct upp_str name, struct wc_guess *guess)
{
    for (size_t i = 0; i < c->n_tools; i++) {
        wc_guess(guess, name, c->tools[i].tool.spec.name);
        if (wb_str_eq(c->tools[i].tool.spec.name, name))
            return &c->tools[i];
    }
    return NULL;
}

static const struct wc_item *find_agent(const struct wc_node *all, struct upp_str name, struct wc_guess *guess)
{
    for (const struct wc_item *i = all->first; i; i = i->next) {
        wc_guess(guess, name, i->key->text);
        if (wb_str_eq(i->key->text, name))
            return i;
    }
    return NULL;
}

static const struct upp_str asked_in_words =
    UPP_STR_INIT("{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"}},\"required\":[\"task\"]}");

/* An agent as a tool of another. */
static struct wr_tool agent_tool(struct wc_reader *r, const struct wc_item *agent)
{
    const struct wc_node *said        = wc_get(agent->value, "description");
    struct upp_str        name        = agent->key->text;
    struct upp_str        description = said && said->kind == WC_SCALAR && !wc_null(said)
                                            ? said->text
                                            : wb_arena_printf(&r->config->arena, "Asks the agent %.*s.", UPP_FMT(name));
    return (struct wr_tool){.spec  = {.name = name, .description = description, .parameters = asked_in_words},
                            .kind  = WR_TOOL_AGENT,
                            .agent = name};
}

static bool find_either(struct wc_reader *r, const struct wc_node *at, const struct wc_node *all, struct wr_tool *ret)
{
    struct wc_guess guess = {0};
    struct upp_str  name;
    if (!wc_text(r, at, "a tool", &name))
        return false;
    const struct wc_tool *tool  = find_tool(r->config, name, &guess);
    const struct wc_item *agent = find_agent(all, name, &guess);
    if (!tool && !agent)
        return no_such(r, at, "tool or agent", &guess);
    if (tool && agent) {
        wc_mistake(r, at, "'%.*s' is the name of a tool and of an agent", UPP_FMT(name));
        return false;
    }
    *ret = tool ? tool->tool : agent_tool(r, agent);
    return true;
}

static void read_tools(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *a = into;
    if (!wc_is(r, n, WC_LIST, "tools"))
        return;
    if (n->n > WC_MAX_NAMED) {
        wc_mistake(r, n, "an agent has at most %d tools", WC_MAX_NAMED);
        return;
    }
    struct wr_tool *tools = wb_new_n(&r->config->arena, struct wr_tool, n->n + 1);
    size_t          count = 0;
    for (const struct wc_item *i = n->first; tools && i; i = i->next) {
        if (!find_either(r, i->value, a->all, &tools[count]))
            continue;
        bool twice = false;
        for (size_t j = 0; j < count; j++)
            twice |= wb_str_eq(tools[j].spec.name, tools[count].spec.name);
        if (twice)
            wc_mistake(r, i->value, "'%.*s' is there a second time", UPP_FMT(tools[count].spec.name));
        else
            count++;
    }
    a->agent->def.tools   = tools;
    a->agent->def.n_tools = tools ? count : 0;
}

/* ---- The rest of an agent -------------------------------------------------------------------------------------------
 */

static void read_id(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *a = into;
    struct wb_uuid  id;
    struct upp_str  text;
    char            out[WB_UUID_TEXT + 1];
    if (!wc_text(r, n, "an id", &text))
        return;
    if (!wb_uuid_parse(text, &id)) {
        wc_mistake(r, n, "an id is a UUID, as in 5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11");
        return;
    }
    a->agent->def.id = wb_arena_dup(&r->config->arena, wb_uuid_text(id, out));
    for (struct wc_agent *other = r->config->agents; other < a->agent; other++)
        if (wb_str_eq(other->def.id, a->agent->def.id))
            wc_mistake(r, n, "the agent '%.*s' has the same id", UPP_FMT(other->def.name));
}

static void read_system(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *a = into;
    (void)wc_text(r, n, "system", &a->agent->def.system);
}

static void read_description(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct upp_str text;
    (void)into;
    (void)wc_text(r, n, "a description", &text);
}

static void read_iterations(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct reading *a = into;
    uint64_t        v;
    if (wc_number(r, n, "max_iterations", 1, 1000, &v))
        a->agent->loop.max_iterations = (uint32_t)v;
}

static void read_loop(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[] = {{"max_iterations", read_iterations, 0}};
    if (!wc_null(n))
        wc_map(r, n, "loop", keys, WB_LEN(keys), into);
}

static void not_built(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)into;
    wc_mistake(r, n, "of the strategies only 'loop' is built yet");
}

/* `loop`, or {loop: {...}}. */
static void read_strategy(struct wc_reader *r, const struct wc_node *n, void *into)
{
    static const struct wc_key keys[]  = {{"loop", read_loop, 0}, {"react", not_built, 0}, {"plan", not_built, 0}};
    static const char *const   words[] = {"loop", "react", "plan", NULL};
    unsigned                   which;
    if (n->kind == WC_SCALAR) {
        if (wc_word(r, n, "a strategy", words, &which) && which)
            not_built(r, n, into);
        return;
    }
    wc_map(r, n, "strategy", keys, WB_LEN(keys), into);
    if (n->kind == WC_MAP && n->n != 1)
        wc_mistake(r, n, "a strategy is one of 'loop', 'react', 'plan'");
}

static void read_agent(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    static const struct wc_key keys[] = {
        {"id", read_id, 0},
        {"model", read_model, WC_REQUIRED},
        {"system", read_system, 0},
        {"description", read_description, 0},
        {"strategy", read_strategy, 0},
        {"tools", read_tools, 0},
        {"handoff", NULL, 0},
        {"middleware", NULL, 0},
        {"on_disconnect", NULL, 0},
    };
    struct reading a  = {.agent = &r->config->agents[r->config->n_agents++], .all = into};
    *a.agent          = (struct wc_agent){.loop = {.size = sizeof a.agent->loop}, .line = key->line};
    a.agent->def.name = key->text;
    wc_map(r, value, "an agent", keys, WB_LEN(keys), &a);
    if (r->opts->loop)
        a.agent->strategy = r->opts->loop(&a.agent->loop);
    a.agent->def.strategy = &a.agent->strategy;
}

/* ---- Agents below agents
 * --------------------------------------------------------------------------------------------- */

enum mark { WHITE, GREY, BLACK };

struct descent {
    struct wc_reader *r;
    uint8_t          *mark;   /* of each agent */
    uint8_t          *height; /* agents below it, once it is black */
};

/* How many are below it in the longest chain. Not deeper than WC_MAX_CHAIN + 1. */
static unsigned descend(struct descent *d, size_t at, unsigned depth)
{
    struct wc_config *c     = d->r->config;
    struct wc_agent  *agent = &c->agents[at];
    unsigned          most  = 0;
    d->mark[at]             = GREY;
    for (size_t i = 0; i < agent->def.n_tools; i++) {
        const struct wr_tool *t = &agent->def.tools[i];
        struct wc_agent      *below;
        if (t->kind != WR_TOOL_AGENT || !(below = wc_config_agent(c, t->agent)))
            continue;
        size_t   to = (size_t)(below - c->agents);
        unsigned n;
        if (d->mark[to] == GREY) {
            wc_report_at(d->r, (struct wc_place){agent->line, 1}, false,
                         "the agent '%.*s' is below itself: '%.*s' has it as a tool", UPP_FMT(below->def.name),
                         UPP_FMT(agent->def.name));
            continue;
        }
        n    = d->mark[to] == BLACK ? d->height[to] : depth < WC_MAX_CHAIN ? descend(d, to, depth + 1) : 0;
        most = WB_MAX(most, n + 1);
    }
    d->height[at] = (uint8_t)WB_MIN(most, 255u);
    d->mark[at]   = BLACK;
    return most;
}

static void check_chains(struct wc_reader *r)
{
    struct wc_config *c = r->config;
    struct descent    d = {.r = r, .mark = wb_new_n(&c->arena, uint8_t, c->n_agents + 1)};
    d.height            = wb_new_n(&c->arena, uint8_t, c->n_agents + 1);
    for (size_t i = 0; d.mark && d.height && i < c->n_agents; i++)
        if (d.mark[i] == WHITE && descend(&d, i, 0) > WC_MAX_CHAIN)
            wc_report_at(r, (struct wc_place){c->agents[i].line, 1}, false,
                         "below the agent '%.*s' are agents in a chain of more than %d", UPP_FMT(c->agents[i].def.name),
                         WC_MAX_CHAIN);
}

void wc_read_agents(struct wc_reader *r, const struct wc_node *n, void *into)
{
    union {
        const struct wc_node *in;
        void                 *out;
    } all             = {.in = n};
    size_t room       = n->kind == WC_MAP && n->n <= WC_MAX_NAMED ? n->n : 0;
    r->config->agents = wb_new_n(&r->config->arena, struct wc_agent, room + 1);
    (void)into;
    if (!r->config->agents)
        return;
    wc_named(r, n, "agents", read_agent, all.out);
    check_chains(r);
}
