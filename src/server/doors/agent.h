/* server/doors/agent.h — which agent a request is for. */
#pragma once

#include "run/engine.h"
#include "server/http/body.h"

/* The agent that a name of a client's stands for: itself, if it is that of an agent, a model or a stored assistant;
 * else what `aliases` of the configuration say. The engine knows no aliases. */
struct upp_str sv_agent_named(const struct sv_exchange *x, struct upp_str name);

/* The model that a name of a client's stands for, where a model is meant: itself, if it is that of a model; else that
 * of the agent which `aliases` name for it. */
struct upp_str sv_model_named(const struct sv_exchange *x, struct upp_str name);

/* May the client read the prompts of agents, and what else only the server knows of them? Who may also replace them. */
bool sv_agent_shows_all(const struct sv_exchange *x);

/* The agent of the path (/agents/{agent}/...), or the one that a member of the body names ("assistant_id", "model").
 * 1: *ret; 0: neither names one. -UPP_EINVALID: both do, and differ. */
int sv_agent_read(const struct sv_exchange *x, const struct sv_body *b, const char *member, struct upp_str *ret,
                  struct upp_err *err) UPP_MUST_CHECK;

/* Fails with `code`: the member names an agent that does not exist, or (name is empty) no agent, and there is no
 * default agent. */
int sv_agent_unknown(const struct sv_exchange *x, const struct sv_body *b, const char *member, struct upp_str name,
                     int code, struct upp_err *err) UPP_MUST_CHECK;

/* -UPP_ENOMODEL: "the configuration has no model 'x'", at the value `at` of the body. */
int sv_model_unknown(const struct sv_exchange *x, const struct sv_body *b, yyjson_val *at, struct upp_str name,
                     struct upp_err *err) UPP_MUST_CHECK;

/* `model` of a request for which an agent is a model: the agent (`other` if nothing names one). It may also name a
 * model of the configuration, which the agent of the path or the default agent is to use: *model is true.
 * -UPP_ENOMODEL. */
int sv_agent_as_model(const struct sv_exchange *x, const struct sv_body *b, struct upp_str other,
                      const struct wr_agent_def **agent, struct upp_str *name, bool *model,
                      struct upp_err *err) UPP_MUST_CHECK;
