/* server/doors/responses/options.h — the options of a response, in their own spelling. */
#pragma once

#include "server/doors/conversation/messages.h"

/* Members that would change the answer, and that runs do not have. */
int sv_responses_refuse(const struct sv_body *b, struct upp_err *err) UPP_MUST_CHECK;

/* The options of the run. `instructions` are added to the agent's prompt. model: `model` is an
 * option, not the agent. */
int sv_responses_options(struct sv_exchange *x, const struct sv_body *b, struct upp_str agent, bool model,
                         struct upp_str previous, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
