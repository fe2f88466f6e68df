/* remote/remote.h — agents behind other servers, as models (docs/remote.md).
 *
 * The server has an agent with its own memory, tools and model; to us it is a model that remembers. So everything that
 * holds for calls of models holds for it: retries before the first output, cancelling, limits, streaming, recovery.
 */
#pragma once

#include <upp/provider.h>

#include "upp/providers/adapter.h"

/* "agentapi", "aitp", "envelopes"; ends with NULL. */
extern const char *const rm_protocols[];

/* A model of the agent at opts->base_url. `name` is the name it has here. `actor`: who calls it, of protocols with
 * actors, {"id": ..., "capabilities": [...]}; empty: "user". */
int rm_model_new(const char *protocol, const char *name, const struct upp_provider_opts *opts, struct upp_str actor,
                 struct upp_model **ret, struct upp_err *err) UPP_MUST_CHECK;

extern const struct upp__adapter rm_agentapi, rm_aitp, rm_envelopes;
