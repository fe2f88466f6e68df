/* What a configuration says of agents: strategies, rights, handoffs, middleware; and of tools in a round. */
#include <stdio.h>
#include <string.h>

#include "base/hooks.h"
#include "runtime/config.h"
#include "support/paths.h"
#include "support/test.h"

static struct weft_strategy loop(const struct weft_strategy_loop_opts *opts)
{
    return (struct weft_strategy){.name = "loop", .opts = opts};
}

static struct weft_strategy react(const struct weft_strategy_react_opts *opts)
{
    return (struct weft_strategy){.name = "react", .opts = opts};
}

static struct weft_strategy plan(const struct weft_strategy_plan_opts *opts)
{
    return (struct weft_strategy){.name = "plan", .opts = opts};
}

static struct weft_middleware logging(const struct weft_logging_opts *opts)
{
    return (struct weft_middleware){.name = "logging", .opts = opts};
}

static struct weft_middleware guardrails(const struct weft_guardrails_opts *opts)
{
    return (struct weft_middleware){.name = "guardrails", .opts = opts};
}

static struct weft_middleware memory(const struct weft_memory_opts *opts)
{
    return (struct weft_middleware){.name = "memory", .opts = opts};
}

static struct weft_middleware limits(const struct weft_budget *opts)
{
    return (struct weft_middleware){.name = "budget", .opts = opts};
}

/* What was put around an agent, to look at. */
struct surrounding {
    struct wr_middleware pub;
    const struct weft_middleware *list;
    size_t n;
};

static int middleware(const struct weft_middleware *list, size_t n, const struct weft_agent *agent,
                      const struct wr_middleware **ret, struct upp_err *err)
{
    if (agent || n > 4)
        return upp_fail(err, UPP_EINVALID, "five are too many");
    struct surrounding *s = wb_alloc(sizeof *s);
    if (!s)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    *s = (struct surrounding){.list = list, .n = n};
    *ret = &s->pub;
    return 0;
}

static void middleware_free(const struct wr_middleware *a)
{
    union {
        const struct wr_middleware *in;
        void *out;
    } it = {.in = a};
    wb_free(it.out);
}

static const struct wc_makers all = {.loop = loop,
                                     .react = react,
                                     .plan = plan,
                                     .logging = logging,
                                     .guardrails = guardrails,
                                     .memory = memory,
                                     .budget = limits,
                                     .middleware = middleware,
                                     .middleware_free = middleware_free};
static const struct wc_makers some = {.loop = loop};

static int parse(const char *text, const struct wc_makers *makers, struct wc_config **ret, struct upp_err *err)
{
    return wc_config_parse("/etc/weft.yaml", wb_cstr(text),
                           UPP_OPTS(wc_opts, .makers = makers, .reaper = test_reaper, .no_files = true), NULL, ret,
                           err);
}

#define MODELS "models: {e: {provider: scripted, echo: true, params: {temperature: 0.5, top_p: 1}}}\n"

TEST(config_strategies_have_their_numbers)
{
    static const char text[] = MODELS
        "agents:\n"
        "  a: {model: e, strategy: react}\n"
        "  b: {model: e, strategy: {react: {max_steps: 5, reasoning_prompt: Think., observation_format: json}}}\n"
        "  c: {model: e, strategy: {plan: {max_plan_steps: 7, allow_replan: false, max_parallel: 2,\n"
        "      max_iterations: 3}}}\n"
        "  d: {model: e, strategy: {plan: {max_replans: 4, allow_replan: true}}}\n"
        "  f: {model: e, strategy: {loop: }}\n"
        "  g: {model: e}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse(text, &all, &c, &err), 0);
    const struct wc_agent *a = c->agents;
    CHECK(a[0].kind == WC_REACT && a[0].def.strategy->opts == &a[0].react && a[0].react.max_steps == 0);
    CHECK(a[0].react.size == sizeof a[0].react && !a[0].react.reasoning_prompt && !a[0].react.observation_format);
    CHECK(a[1].react.max_steps == 5 && strcmp(a[1].react.reasoning_prompt, "Think.") == 0 &&
          strcmp(a[1].react.observation_format, "json") == 0);
    CHECK(a[2].def.strategy->opts == &a[2].plan && a[2].plan.max_plan_steps == 7 && a[2].plan.no_replan &&
          a[2].plan.max_parallel == 2 && a[2].plan.max_iterations == 3 && a[2].plan.max_replans == 0);
    CHECK(a[3].plan.max_replans == 4 && !a[3].plan.no_replan && a[3].plan.size == sizeof a[3].plan);
    CHECK(a[4].def.strategy->opts == &a[4].loop && strcmp(a[5].def.strategy->name, "loop") == 0);
}

TEST(config_of_what_is_not_built)
{
    static const struct {
        const char *agent, *want;
    } cases[] = {
        {"strategy: react", "the strategy 'react' is not built yet"},
        {"strategy: {plan: {max_replans: 1}}", "the strategy 'plan' is not built yet"},
        {"middleware: [logging]", "middleware is not built yet"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
        struct upp_err err;
        char text[300];
        (void)snprintf(text, sizeof text, MODELS "agents:\n  a: {model: e, %s}\n", cases[i].agent);
        CHECK_INT(parse(text, &some, &c, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].want));
        CHECK(strncmp(err.where, "/etc/weft.yaml:3:", 17) == 0);
    }
}

TEST(config_agents_have_rights)
{
    static const char text[] = MODELS
        "tools: {t: , u: }\n"
        "agents:\n"
        "  a: {model: e, tools: [t, b], allow: [t, b], deny: [u, handoff_to_b], max_depth: 0, max_agent_messages: 0,\n"
        "      params: {top_p: 0.5, k: [1]}, structure: {type: object, required: [x]}, check_structure: true,\n"
        "      budget: {max_tokens: 1000, max_steps: 3, max_time_ms: 60000, max_cost: 0.5, input_price: 3,\n"
        "               output_price: 15, cache_read_price: 0.3, cache_write_price: 3.75}}\n"
        "  b: {max_depth: 2, max_agent_messages: 5, title: 'The B', description: It helps.}\n"
        "  c: {model: e, allow_client_system: true}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    int r = parse(text, &all, &c, &err);
    test_note("%s", r < 0 ? err.msg : "");
    CHECK_INT(r, 0);
    const struct wr_agent_def *a = &c->agents[0].def, *b = &c->agents[1].def;
    CHECK(a->check_structure && !b->check_structure);
    CHECK(!a->allow_client_system && !b->allow_client_system && c->agents[2].def.allow_client_system);
    const struct weft_rights *rights = a->rights;
    CHECK(rights && strcmp(rights->allow[0], "t") == 0 && strcmp(rights->allow[1], "b") == 0 && !rights->allow[2]);
    CHECK(strcmp(rights->deny[1], "handoff_to_b") == 0 && !rights->deny[2] && rights->max_depth == UINT32_MAX);
    CHECK(rights->budget.max_tokens == 1000 && rights->budget.max_steps == 3 && rights->budget.max_time_ms == 60000);
    CHECK(rights->budget.max_cost == 0.5 && rights->budget.input_price == 3 && rights->budget.output_price == 15);
    CHECK(rights->budget.cache_read_price == 0.3 && rights->budget.cache_write_price == 3.75);
    CHECK_STR(a->params, UPP_STR("{\"temperature\":0.5,\"top_p\":0.5,\"k\":[1]}"));
    CHECK_STR(a->structure, UPP_STR("{\"type\":\"object\",\"required\":[\"x\"]}"));
    CHECK_STR(a->tools[1].spec.description, UPP_STR("It helps."));
    CHECK(rights->max_agent_messages == UINT32_MAX && b->rights->max_agent_messages == 5);
    CHECK(!b->model && !c->agents[1].model && !b->params.n && b->rights->max_depth == 2 && !b->rights->allow);
    CHECK(!c->agents[2].def.rights && !c->default_agent);
    CHECK_STR(c->agents[2].def.params, UPP_STR("{\"temperature\":0.5,\"top_p\":1}"));
}

/* Its model belongs to the configuration, and is freed with it. */
TEST(config_agents_of_other_servers)
{
    static const char text[] = "agents:\n"
                               "  far: {remote: agentapi, url: 'http://127.0.0.1:9/process'}\n"
                               "  market: {remote: aitp, url: 'http://127.0.0.1:9/v1'}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    int r = parse(text, &all, &c, &err);
    test_note("%s", r < 0 ? err.msg : "");
    CHECK_INT(r, 0);
    CHECK(c->n_agents == 2 && c->agents[0].model == &c->agents[0].remote && c->agents[1].def.model);
    CHECK_STR(c->agents[1].remote.provider, UPP_STR("aitp"));
}

/* covers: TP-62/1 */
TEST(config_handoffs_are_tools)
{
    static const char text[] =
        MODELS "tools: {t: }\n"
               "agents:\n"
               "  weather:\n"
               "    model: e\n"
               "    handoff: [travel, {agent: news, on_mention: true, prompt: What is new?}]\n"
               "    tools: [t]\n"
               "  travel: {model: e, title: Travel Planner, description: It plans., handoff: [weather]}\n"
               "  news: {model: e}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse(text, &all, &c, &err), 0);
    const struct wr_agent_def *a = &c->agents[0].def;
    CHECK(a->n_tools == 3 && a->n_handoffs == 2 && a->tools[0].kind == WR_TOOL_CLIENT);
    CHECK(a->tools[1].kind == WR_TOOL_HANDOFF && a->tools[1].schema);
    CHECK_STR(a->tools[1].spec.name, UPP_STR("handoff_to_travel"));
    CHECK_STR(a->tools[1].agent, UPP_STR("travel"));
    CHECK_STR(a->tools[1].spec.description, UPP_STR("Hands the conversation over to Travel Planner: It plans."));
    CHECK_STR(a->tools[2].spec.description, UPP_STR("Hands the conversation over to news."));
    CHECK(wb_str_find(a->tools[2].spec.parameters, UPP_STR("\"message\""), 0) != SIZE_MAX);
    CHECK_INT(upp_schema_check(a->tools[1].schema, UPP_STR("{\"reason\":\"r\",\"message\":\"m\"}"), NULL, NULL, &err),
              0);
    CHECK_INT(upp_schema_check(a->tools[1].schema, UPP_STR("{\"message\":1}"), NULL, NULL, &err), 1);
    CHECK_STR(a->handoffs[0].title, UPP_STR("Travel Planner"));
    CHECK(!a->handoffs[0].on_mention && !a->handoffs[0].prompt.n && a->handoffs[1].on_mention);
    CHECK_STR(a->handoffs[1].title, UPP_STR("news"));
    CHECK_STR(a->handoffs[1].prompt, UPP_STR("What is new?"));
    CHECK(c->agents[1].def.n_tools == 1 && c->agents[2].def.n_handoffs == 0);
}

TEST(config_middleware_is_read_and_made)
{
    static const char text[] =
        MODELS "agents:\n"
               "  a:\n"
               "    model: e\n"
               "    middleware:\n"
               "      - {logging: {level: debug, include_messages: true, include_timing: false}}\n"
               "      - {budget: {max_tokens: 5}}\n"
               "      - {memory: {max_tokens: 100, mode: summarise, keep_last: 2, model: e}}\n"
               "      - guardrails:\n"
               "          input: [{name: keys, action: rewrite, pattern: 'sk-[a-z]+', instead: '***'}]\n"
               "          output: [{action: flag, pattern: x}, {action: reject, pattern: 'y$'}]\n"
               "          tools: [{action: reject, pattern: 'rm -rf'}]\n"
               "  b: {model: e, middleware: [logging, memory]}\n"
               "  c: {model: e, middleware: []}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    int r = parse(text, &all, &c, &err);
    test_note("%s: %s", r < 0 ? err.where : "", r < 0 ? err.msg : "");
    CHECK_INT(r, 0);
    const struct wc_agent *a = &c->agents[0];
    const struct wc_middleware *m = a->middleware;
    CHECK(a->n_middleware == 4 && m[0].kind == WC_LOGGING && m[0].logging.include_messages && m[0].logging.no_timing);
    CHECK(strcmp(m[0].logging.level, "debug") == 0 && m[1].kind == WC_BUDGET && m[1].budget.max_tokens == 5);
    CHECK(m[2].kind == WC_MEMORY && m[2].memory.max_tokens == 100 && m[2].memory.mode == WEFT_SUMMARISE);
    CHECK(m[2].memory.keep_last == 2 && m[2].memory.model == c->models[0].model);
    CHECK(m[3].kind == WC_GUARDRAILS && m[3].guardrails.n_input == 1 && m[3].guardrails.n_output == 2);
    const struct weft_guard_rule *rule = m[3].guardrails.input;
    CHECK(strcmp(rule->name, "keys") == 0 && rule->action == WEFT_REWRITE && strcmp(rule->instead, "***") == 0);
    CHECK(strcmp(rule->pattern, "sk-[a-z]+") == 0 && m[3].guardrails.output[0].action == WEFT_FLAG);
    CHECK(m[3].guardrails.output[1].action == WEFT_REJECT && !m[3].guardrails.output[1].instead);
    CHECK(m[3].guardrails.n_tools == 1 && strcmp(m[3].guardrails.tools[0].pattern, "rm -rf") == 0);
    const struct surrounding *s = (const struct surrounding *)a->def.middleware;
    CHECK(s && s->n == 4 && s->list[0].opts == &m[0].logging && s->list[1].opts == &m[1].budget);
    CHECK(s->list[2].opts == &m[2].memory && s->list[3].opts == &m[3].guardrails);
    CHECK(c->agents[1].n_middleware == 2 && c->agents[1].middleware[1].memory.size && c->agents[1].def.middleware);
    CHECK(c->agents[2].n_middleware == 0 && !c->agents[2].def.middleware);
}

TEST(config_middleware_that_cannot_be_made_is_a_mistake)
{
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse(MODELS "agents:\n"
                           "  a: {model: e, middleware: [logging]}\n"
                           "  b: {model: e, middleware: [logging, memory, logging, memory, logging]}\n",
                    &all, &c, &err),
              -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("five are too many"));
    CHECK_STR(wb_cstr(err.where), UPP_STR("/etc/weft.yaml:4:29"));
}

TEST(config_tools_of_a_round)
{
    static const char text[] =
        MODELS "agents: {a: {model: e, tools: [t, u]}}\n"
               "tools:\n"
               "  t: {command: [cat], sequential: true, after: [u, v, a], withheld: true, timeout_ms: 1500,\n"
               "      parameters: {type: object, required: [x]}}\n"
               "  u: {parameters: {type: object, required: [y]}, after: [v], check: false}\n"
               "  v: {command: [cat], limits: {seconds: 7}}\n";
    WB_CLEANUP(wc_config_freep) struct wc_config *c = NULL;
    struct upp_err err;
    CHECK_INT(parse(text, &all, &c, &err), 0);
    const struct wr_tool *t = c->agents[0].def.tools;
    CHECK(t[0].sequential && t[0].withheld && t[0].timeout_ms == 1500 && t[0].n_after == 3);
    CHECK_STR(t[0].after[1], UPP_STR("v"));
    CHECK(t[0].schema && upp_schema_check(t[0].schema, UPP_STR("{}"), NULL, NULL, &err) == 1);
    CHECK(!t[1].schema && !t[1].sequential && !t[1].withheld && t[1].n_after == 1);
    CHECK(c->tools[2].tool.timeout_ms == 27000 && !c->tools[2].tool.schema);
}
