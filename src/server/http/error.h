/* server/http/error.h — an error as a response: the status, and OpenAI's error object. */
#ifndef SV_ERROR_H
#define SV_ERROR_H

#include "server/http/route.h"

/* Causes that become `code`: a client sets what only the agent's definition may set. */
#define SV_CLIENT_SYSTEM "system_message_refused"
#define SV_INSTRUCTIONS  "instructions_refused"

/* The status of an error on /v1. A conflict is 400: OpenAI's clients retry 409 for ever. */
int sv_error_status(const struct upp_err *err);

/* {"error":{"message","type","param","code"}}. A 500 names only the error kind. */
void sv_error_write(struct wb_buf *out, int status, struct upp_str message, struct upp_str param, const char *code);

/* Replaces the response, whatever the handler had written, by *err. */
void sv_error_reply(struct sv_reply *reply, const struct upp_err *err);

/* The same without a upp_err: a refusal of the HTTP layer. */
void sv_error_refuse(struct sv_reply *reply, int status, const char *why);

#endif
