/* runtime/config_agents.c — the section `agents`, and what they refer to. Read after models and tools. */
#include "base/uuid.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "runtime/config_read.h"

/* ---- References -------------------------------------------------------------------------------------------------- */

const struct wc_model *wc_find_model(struct wc_reader *r, const struct wc_node *n)
{
    struct upp_str name;
    struct wc_guess guess = {0};
    struct wc_config *c = r->config;
    if (!wc_text(r, n, "a model", &name))
        return NULL;
    for (size_t i = 0; i < c->n_models; i++) {
        wc_guess(&guess, n->text, c->models[i].name);
        if (wb_str_eq(c->models[i].name, name))
            return &c->models[i];
    }
    (void)wc_no_such(r, n, "model", &guess);
    return NULL;
}

static void read_model(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    a->model = wc_find_model(r, n);
    a->wrong_model = !a->model;
    if (a->model)
        a->def.model = a->model->model;
}

static const struct upp_str asked_in_words =
    UPP_STR_INIT("{\"type\":\"object\",\"properties\":{\"task\":{\"type\":\"string\"}},\"required\":[\"task\"]}");

struct upp_str wc_tool_name(struct wc_reader *r, const char *prefix, struct upp_str agent)
{
    struct upp_str parts[] = {wb_cstr(prefix), agent}, all = wb_arena_join(&r->config->arena, parts, 2);
    char *p = wb_arena_alloc(&r->config->arena, all.n + 1, 1);
    for (size_t i = 0; p && i < all.n; i++)
        p[i] = all.p[i] == '.' ? '_' : all.p[i];
    if (!p)
        return agent; /* the arena has failed */
    p[all.n] = 0;
    return wb_str(p, all.n);
}

/* An agent as a tool of another. */
struct agent_provider {
    struct wa_provider provider;
    struct wr_tool tool;
};

static int list_agent(struct wa_provider *p, struct wb_arena *a, struct wr_tool **ret, size_t *n, struct upp_err *err)
{
    (void)a, (void)err;
    *ret = &WB_OUTER(p, struct agent_provider, provider)->tool;
    *n = 1;
    return 0;
}

static const struct wa_provider_ops agent_ops = {.kind = "agent", .list = list_agent}; /* the arena has it */

static struct wa_provider *open_agent(struct wc_reader *r, const struct wc_item *agent)
{
    const struct wc_node *node = wc_get(agent->value, "description");
    struct upp_str name = agent->key->text;
    struct agent_provider *p = wb_new(&r->config->arena, struct agent_provider);
    if (!p)
        return NULL;
    p->provider = (struct wa_provider){.ops = &agent_ops, .name = name, .single = true};
    p->tool = (struct wr_tool){.spec = {.name = wc_tool_name(r, "", name), .parameters = asked_in_words},
                               .kind = WR_TOOL_AGENT,
                               .agent = name};
    p->tool.spec.description = node && node->kind == WC_SCALAR && !wc_null(node)
                                   ? node->text
                                   : wb_arena_printf(&r->config->arena, "Asks the agent %.*s.", UPP_FMT(name));
    return &p->provider;
}

static struct wa_provider *find_program(struct wc_reader *r, struct upp_str name, struct wc_guess *guess)
{
    for (size_t i = 0; i < r->opts->n_providers; i++) {
        wc_guess(guess, name, r->opts->providers[i]->name);
        if (wb_str_eq(r->opts->providers[i]->name, name))
            return r->opts->providers[i];
    }
    return NULL;
}

/* What a word of `tools` names; NULL: nothing, which is reported. */
static struct wa_provider *find_provider(struct wc_reader *r, const struct wc_node *at)
{
    struct wc_guess guess = {0};
    struct upp_str name;
    if (!wc_text(r, at, "a tool", &name))
        return NULL;
    struct wc_tool *tool = wc_find_tool(r, name, &guess);
    const struct wc_item *agent = wc_find_agent(r, name, &guess);
    struct wa_provider *program = find_program(r, name, &guess);
    if (!tool && !agent && !program) {
        (void)wc_no_such(r, at, "tool or agent", &guess);
        return NULL;
    }
    if ((tool && agent) || (program && (tool || agent))) {
        wc_mistake(r, at,
                   program ? "'%.*s' is the name of a tool provider and of a tool or an agent"
                           : "'%.*s' is the name of a tool and of an agent",
                   UPP_FMT(name));
        return NULL;
    }
    if (program)
        return program;
    return tool ? &tool->provider : open_agent(r, agent);
}

/* The tool of one that is a single one; NULL: it failed, which is reported. */
static const struct wr_tool *single_tool(struct wc_reader *r, struct wa_provider *p)
{
    struct wr_tool *tool;
    size_t n;
    int code = p->ops->list(p, &r->config->arena, &tool, &n, r->err);
    if (code < 0)
        wc_fail(r, code);
    return code < 0 ? NULL : tool;
}

static void read_tools(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    if (!wc_is(r, n, WC_LIST, "tools"))
        return;
    if (n->n > WC_MAX_NAMED) {
        wc_mistake(r, n, "an agent has at most %d tools", WC_MAX_NAMED);
        return;
    }
    struct wr_tool *tools = wb_new_n(&r->config->arena, struct wr_tool, n->n + 1);
    a->providers = wb_new_n(&r->config->arena, struct wa_provider *, n->n + 1);
    size_t count = 0;
    for (const struct wc_item *i = n->first; tools && a->providers && i; i = i->next) {
        struct wa_provider *p = find_provider(r, i->value);
        const struct wr_tool *tool = p && p->single ? single_tool(r, p) : NULL;
        bool twice = false;
        if (!p)
            continue;
        for (size_t j = 0; j < a->n_providers; j++)
            twice |= a->providers[j] == p;
        for (size_t j = 0; tool && j < count; j++)
            twice |= wb_str_eq(tools[j].spec.name, tool->spec.name);
        if (twice)
            wc_mistake(r, i->value, "'%.*s' is there a second time", UPP_FMT(tool ? tool->spec.name : p->name));
        else if (tool)
            tools[count++] = *tool;
        else if (!p->single)
            a->providers[a->n_providers++] = p;
    }
    a->def.tools = tools;
    a->def.n_tools = tools ? count : 0;
}

/* The tools that the Assistants API has of its own, by tools of the configuration: the agent gets these under those
 * names. After `tools`. */
static void read_hosted(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a)
{
    static const char *const names[] = {"file_search", "code_interpreter"};
    if (!wc_is(r, n, WC_MAP, "hosted"))
        return;
    struct wr_tool *tools = wb_new_n(&r->config->arena, struct wr_tool, a->def.n_tools + n->n + 1);
    size_t count = a->def.n_tools;
    if (tools && count)
        memcpy(tools, a->def.tools, count * sizeof *tools);
    for (const struct wc_item *i = n->first; tools && i; i = i->next) {
        struct upp_str name = i->key->text;
        bool known = false, taken = false;
        struct wc_guess guess = {0};
        struct wa_provider *p;
        const struct wr_tool *tool;
        for (size_t k = 0; k < WB_LEN(names); k++) {
            known |= wb_str_eq(name, wb_cstr(names[k]));
            wc_guess(&guess, name, wb_cstr(names[k]));
        }
        for (size_t k = 0; k < count; k++)
            taken |= wb_str_eq(name, tools[k].spec.name);
        if (!known || taken)
            wc_mistake(r, i->key,
                       known ? "the agent has a tool '%.*s' already%s"
                             : "'%.*s' is not file_search or code_interpreter%s",
                       UPP_FMT(name), known ? "" : wc_guessed(&guess));
        else if ((p = find_provider(r, i->value)) && !p->single)
            wc_mistake(r, i->value, "'%.*s' has a list of tools: name one tool", UPP_FMT(p->name));
        else if (p && (tool = single_tool(r, p))) {
            tools[count] = *tool;
            tools[count++].spec.name = name;
        }
    }
    a->def.tools = tools;
    a->def.n_tools = tools ? count : 0;
}

/* ---- The rest of an agent ------------------------------------------------------------------------------------ */

static void read_id(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    struct wb_uuid id;
    struct upp_str text;
    char out[WB_UUID_TEXT + 1];
    if (!wc_text(r, n, "an id", &text))
        return;
    if (!wb_uuid_parse(text, &id)) {
        wc_mistake(r, n, "an id is a UUID, as in 5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11");
        return;
    }
    a->def.id = wb_arena_dup(&r->config->arena, wb_uuid_text(id, out));
    for (struct wc_agent *other = r->config->agents; other < a; other++)
        if (wb_str_eq(other->def.id, a->def.id))
            wc_mistake(r, n, "the agent '%.*s' has the same id", UPP_FMT(other->def.name));
}

static void read_structure(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    (void)wc_schema(r, n, "structure", &a->def.structure, NULL);
}

enum { CAPABILITIES = 64 };

static void read_capabilities(struct wc_reader *r, const struct wc_node *n, void *into)
{
    struct wc_agent *a = into;
    if (!wc_is(r, n, WC_LIST, "capabilities"))
        return;
    if (n->n > CAPABILITIES) {
        wc_mistake(r, n, "an agent has at most %d capabilities", CAPABILITIES);
        return;
    }
    struct upp_str *list = wb_new_n(&r->config->arena, struct upp_str, n->n + 1);
    size_t count = 0;
    for (const struct wc_item *i = n->first; list && i; i = i->next)
        if (wc_text(r, i->value, "the URL of a capability", &list[count]))
            count++;
    a->card.capabilities = list;
    a->card.n_capabilities = list ? count : 0;
}

/* ---- Params ------------------------------------------------------------------------------------------------------ */

static void copy_members(struct wj_writer *w, yyjson_val *from, yyjson_val *without)
{
    size_t i, max;
    yyjson_val *key, *v;
    yyjson_obj_foreach(from, i, max, key, v)
    {
        if (without && yyjson_obj_getn(without, yyjson_get_str(key), yyjson_get_len(key)))
            continue;
        wj_put_member(w, key);
    }
}

/* The model's, overridden by the agent's. */
static int merge_params(struct wc_config *c, struct upp_str model, struct upp_str own, struct upp_str *ret,
                        struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(64u << 20);
    yyjson_val *first, *second;
    struct wj_writer w;
    int code = wj_read(&scratch, model, NULL, &first, err);
    if (code >= 0)
        code = wj_read(&scratch, own, NULL, &second, err);
    if (code < 0)
        return code;
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    copy_members(&w, first, second);
    copy_members(&w, second, NULL);
    wj_write_close(&w, '}');
    return wj_writer_text(&w, &c->arena, ret);
}

/* After the model is known. */
static void read_params(struct wc_reader *r, const struct wc_node *n, struct wc_agent *a)
{
    struct upp_str own = {0};
    if (a->model)
        a->def.params = a->model->params;
    if (!n || !wc_is(r, n, WC_MAP, "params") || !wc_json(r, n, "params", &own))
        return;
    if (!a->model) {
        if (!a->wrong_model)
            wc_mistake(r, n, "an agent without a model has the params of whoever asks it");
    } else if (a->def.params.n)
        wc_fail(r, merge_params(r->config, a->model->params, own, &a->def.params, r->err));
    else
        a->def.params = own;
}

/* ---- An agent ---------------------------------------------------------------------------------------------------- */

static void by_hand(struct wc_reader *r, const struct wc_node *n, void *into)
{
    (void)r, (void)n, (void)into; /* read when the rest of the agent is known */
}

/* A gateway has nothing that a client's system text could change: it is a model alone. */
static void check_gateway(struct wc_reader *r, const struct wc_node *value, struct wc_agent *a)
{
    static const char *const others[] = {"system", "tools", "hosted", "handoff", "allow_client_system"};
    for (size_t i = 0; a->def.gateway && i < WB_LEN(others); i++) {
        const struct wc_node *n = wc_get(value, others[i]);
        if (n)
            wc_mistake(r, n, "an agent with 'gateway' is a model alone: it has no '%s'", others[i]);
    }
}

static void read_agent(struct wc_reader *r, const struct wc_node *key, const struct wc_node *value, void *into)
{
    static const struct wc_key keys[] = {
        {.name = "id", .read = read_id},
        {.name = "model", .read = read_model},
        {.name = "params", .read = by_hand},
        WC_MEMBER(WC_STR, "title", struct wc_agent, def.title, 0, 0),
        WC_MEMBER(WC_STR, "system", struct wc_agent, def.system, 0, 0),
        WC_MEMBER(WC_TRUTH, "allow_client_system", struct wc_agent, def.allow_client_system, 0, 0),
        WC_MEMBER(WC_TRUTH, "gateway", struct wc_agent, def.gateway, 0, 0),
        WC_MEMBER(WC_STR, "description", struct wc_agent, card.description, 0, 0),
        {.name = "structure", .read = read_structure},
        WC_MEMBER(WC_TRUTH, "check_structure", struct wc_agent, def.check_structure, 0, 0),
        {.name = "strategy", .read = wc_read_strategy},
        {.name = "tools", .read = read_tools},
        {.name = "hosted", .read = by_hand},
        {.name = "handoff", .read = by_hand},
        {.name = "capabilities", .read = read_capabilities},
        {.name = "allow", .read = wc_read_allow},
        {.name = "deny", .read = wc_read_deny},
        {.name = "max_depth", .read = wc_read_depth},
        {.name = "max_agent_messages", .read = wc_read_agent_messages},
        {.name = "budget", .read = wc_read_budget},
        {.name = "middleware", .read = wc_read_middleware},
        {.name = "on_disconnect"},
        {.name = "remote", .read = by_hand},
        {.name = "url", .read = by_hand},
        {.name = "api_key", .read = by_hand},
        {.name = "headers", .read = by_hand},
        {.name = "timeout_ms", .read = by_hand},
        {.name = "idle_ms", .read = by_hand},
        {.name = "max_answer_bytes", .read = by_hand},
        {.name = "retry", .read = by_hand},
        {.name = "actor", .read = by_hand},
    };
    struct wc_agent *a = &r->config->agents[r->config->n_agents++];
    const struct wc_node *handoff = wc_get(value, "handoff"), *hosted = wc_get(value, "hosted");
    (void)into;
    *a = (struct wc_agent){.loop = {.size = sizeof a->loop},
                           .react = {.size = sizeof a->react},
                           .plan = {.size = sizeof a->plan},
                           .line = key->line};
    a->def.name = a->def.title = key->text;
    a->def.card = &a->card;
    wc_map(r, value, "an agent", keys, WB_LEN(keys), a);
    wc_read_remote(r, key, value, a);
    read_params(r, wc_get(value, "params"), a);
    if (hosted)
        read_hosted(r, hosted, a);
    if (handoff)
        wc_read_handoff(r, handoff, a);
    check_gateway(r, value, a);
    wc_make_strategy(r, value, a);
}

/* ---- Sub-agents ---------------------------------------------------------------------------------------------- */

enum mark { WHITE, GREY, BLACK };

struct descent {
    struct wc_reader *r;
    uint8_t *mark;   /* of each agent */
    uint8_t *height; /* longest chain of sub-agents, once it is black */
};

/* The length of the longest chain of sub-agents. Not deeper than WC_MAX_CHAIN + 1. */
static unsigned descend(struct descent *d, size_t at, unsigned depth)
{
    struct wc_config *c = d->r->config;
    struct wc_agent *agent = &c->agents[at];
    unsigned most = 0;
    d->mark[at] = GREY;
    for (size_t i = 0; i < agent->def.n_tools; i++) {
        const struct wr_tool *t = &agent->def.tools[i];
        struct wc_agent *below;
        if (t->kind != WR_TOOL_AGENT || !(below = wc_config_agent(c, t->agent)))
            continue;
        size_t to = (size_t)(below - c->agents);
        unsigned n;
        if (d->mark[to] == GREY) {
            wc_report_at(d->r, (struct wc_mark){agent->line, 1}, false,
                         "the agent '%.*s' is below itself: '%.*s' has it as a tool", UPP_FMT(below->def.name),
                         UPP_FMT(agent->def.name));
            continue;
        }
        n = d->mark[to] == BLACK ? d->height[to] : depth < WC_MAX_CHAIN ? descend(d, to, depth + 1) : 0;
        most = WB_MAX(most, n + 1);
    }
    d->height[at] = (uint8_t)WB_MIN(most, 255u);
    d->mark[at] = BLACK;
    return most;
}

static void check_chains(struct wc_reader *r)
{
    struct wc_config *c = r->config;
    struct descent d = {.r = r, .mark = wb_new_n(&c->arena, uint8_t, c->n_agents + 1)};
    d.height = wb_new_n(&c->arena, uint8_t, c->n_agents + 1);
    for (size_t i = 0; d.mark && d.height && i < c->n_agents; i++)
        if (d.mark[i] == WHITE && descend(&d, i, 0) > WC_MAX_CHAIN)
            wc_report_at(r, (struct wc_mark){c->agents[i].line, 1}, false,
                         "below the agent '%.*s' are agents in a chain of more than %d", UPP_FMT(c->agents[i].def.name),
                         WC_MAX_CHAIN);
}

/* An agent without a model must be a tool of another. */
static bool is_asked(const struct wc_config *c, const struct wc_agent *who)
{
    for (size_t i = 0; i < c->n_agents; i++)
        for (size_t j = 0; j < c->agents[i].def.n_tools; j++)
            if (c->agents[i].def.tools[j].kind == WR_TOOL_AGENT &&
                wb_str_eq(c->agents[i].def.tools[j].agent, who->def.name))
                return true;
    return false;
}

static void check_models(struct wc_reader *r)
{
    const struct wc_config *c = r->config;
    for (size_t i = 0; i < c->n_agents; i++)
        if (!c->agents[i].model && !c->agents[i].wrong_model && !is_asked(c, &c->agents[i]))
            wc_report_at(r, (struct wc_mark){c->agents[i].line, 1}, false,
                         "the agent '%.*s' needs 'model': no other agent has it as a tool",
                         UPP_FMT(c->agents[i].def.name));
}

/* Models and rights know an agent with a '.' by another name, which must be its own. */
static void check_dotted(struct wc_reader *r)
{
    const struct wc_config *c = r->config;
    for (size_t i = 0; i < c->n_agents; i++) {
        struct upp_str name = c->agents[i].def.name;
        struct wc_guess guess = {0};
        if (wb_str_find(name, UPP_STR("."), 0) == SIZE_MAX)
            continue;
        struct upp_str tool = wc_tool_name(r, "", name);
        bool taken = wc_find_tool(r, tool, &guess) != NULL;
        for (size_t k = 0; k < c->n_agents; k++)
            taken |= k != i && wb_str_eq(wc_tool_name(r, "", c->agents[k].def.name), tool);
        if (taken)
            wc_report_at(r, (struct wc_mark){c->agents[i].line, 1}, false,
                         "for models the agent '%.*s' is called '%.*s', and there is another one of that name",
                         UPP_FMT(name), UPP_FMT(tool));
    }
}

void wc_read_agents(struct wc_reader *r, const struct wc_node *n, void *into)
{
    size_t room = n->kind == WC_MAP && n->n <= WC_MAX_NAMED ? n->n : 0;
    r->config->agents = wb_new_n(&r->config->arena, struct wc_agent, room + 1);
    if (!r->config->agents)
        return;
    wc_named_dotted(r, n, "agents", read_agent, into);
    check_chains(r);
    check_models(r);
    check_dotted(r);
    wc_link_handoffs(r);
}
