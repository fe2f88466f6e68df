/* server/http/error.h — an error as a response: its status, and a body in the form of the door, by default OpenAI's
 * error object {"error":{"message","type","param","code"}}. */
#pragma once

#include "server/http/route.h"

/* Causes that become `code`: a client sets what only the agent's definition may set. */
#define SV_CLIENT_SYSTEM "system_message_refused"
#define SV_INSTRUCTIONS  "instructions_refused"

/* The same with 403: an API key lacks a scope. */
#define SV_SCOPE  "insufficient_scope"
#define SV_MEMBER "not_a_member" /* of an AITP thread */

/* The status of an error at a door (NULL: none). A conflict is 400 unless the door has another status for it: OpenAI's
 * clients retry 409 for ever. */
int sv_error_status(const struct sv_door *door, const struct upp_err *err);

/* Replaces the response, whatever the handler had written, by *err in the form of the door. A 500 names only the error
 * kind. */
void sv_error_reply(struct sv_exchange *x, const struct sv_door *door, const struct upp_err *err);

/* The same without a upp_err: a refusal of the HTTP layer. */
void sv_error_refuse(struct sv_exchange *x, const struct sv_door *door, int status, const char *why);

/* The same with a code of its own, and Retry-After (0: none). */
void sv_error_refuse_as(struct sv_exchange *x, const struct sv_door *door, int status, const char *why,
                        const char *code, uint64_t retry_ms);
