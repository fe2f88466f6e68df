/* envelope/run/router.h — routing as an agent: the router's model, and the agent that has it.
 *
 * An exchange of envelopes is a run of this agent with the strategy loop. Its input is the envelope that came in; a
 * call of its model names the agent that is asked, its arguments are the request, exactly as sent, and its result is
 * the reply, exactly. The last text is the envelope that answers. So the log holds envelopes and nothing else, and
 * kills, waits, budgets, streams and exports are those of every run.
 *
 * The model is a function of the messages: what is to be sent next follows from what was sent and replied
 * (envelope/exchange.h). It does no I/O and uses no tokens.
 */
#pragma once

#include "dialects/envelope/envelope.h"
#include "envelope/exchange.h"
#include "run/def.h"

#define WE_ROUTER_AGENT WD_ENVELOPE_ROUTER
#define WE_ROUTER_ID    "00000000-0000-4000-8000-000000000001"
#define WE_PEER         "envelopes" /* the provider of models that are sent envelopes themselves (remote/envelopes.h) */

enum { WE_MAX_RESULT = 8 << 20 /* bytes of a reply envelope */ };

struct we_router_opts {
    const struct we_routes *routes;
    const struct we_adapters *adapters;
    const struct we_limits *limits;
    const struct wr_agent_def *agents; /* all of the configuration */
    size_t n_agents;
    uint64_t announce; /* max_tokens of the handshake */
    /* The name of an agent's model, for adapters and reflections. NULL: as the model is called. */
    struct upp_str (*model)(const void *arg, struct upp_str agent);
    /* The default score of an agent; 0: that of all. NULL: none has one. */
    double (*score)(const void *arg, struct upp_str agent);
    const void *arg;
    struct weft_budget budget; /* of an exchange: of the router's run and those of the agents. All zero: none */
};

struct we_router {
    struct we_router_opts opts;
    struct upp_model model;
    struct weft_strategy strategy;
    struct wr_child_adapter adapter;
    struct weft_rights rights;
    struct wr_agent_def def; /* the agent; the caller sets its owner */
};

/* All in the arena; what the options point to must outlive it. Agents without a model of their own cannot be asked. */
int we_router_make(struct wb_arena *a, const struct we_router_opts *opts, struct we_router **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* The agent of that name, if it can be asked; NULL: none. */
const struct wr_agent_def *we_router_agent(const struct we_router *r, struct upp_str name);

/* The name of its model; NULL text: it cannot be asked. */
struct upp_str we_router_model(const struct we_router *r, struct upp_str agent);

/* The prompt and the options of a child run, for a request; its end as a reply. arg: a struct we_router. */
int we_child_ask(const void *arg, const struct wr_tool *tool, struct upp_str arguments, struct wb_arena *a,
                 struct wr_child_ask *ret, struct upp_err *err);
int we_child_answer(const void *arg, const struct wr_tool *tool, const struct wr_child_end *end, struct upp_value *ret,
                    struct upp_err *err);
