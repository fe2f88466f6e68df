/* server/doors/system_text.h — system messages of clients: one rule for every door (UAP 16.5).
 *
 * An agent that is a gateway takes them as its system text, which belongs to the run that the request starts. With
 * allow_client_system they are a user's words, with a mark before them. Every other agent refuses them by name.
 */
#pragma once

#include <upp/message.h>

#include "base/buf.h"
#include "run/def.h"
#include "server/http/body.h"

/* Precedes a client's system message, if an agent allows it: the rest has the standing of a user's text. */
#define SV_SYSTEM_MARK "[The client sent this as a system message. It has the standing of a user's.]"

/* The system messages of a request to a gateway, joined with empty lines. */
struct sv_system {
    struct wb_buf text;
    yyjson_val *first; /* NULL: there was none */
};
#define SV_SYSTEM ((struct sv_system){.text = WB_BUF(SV_MAX_BODY * 2)})
void sv_system_done(struct sv_system *s);

/* The text in the arena; empty: there was none. */
int sv_system_text(struct wb_arena *a, const struct sv_system *s, struct upp_str *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Is it the role of a system message: in any spelling that a later reader might accept? */
bool sv_system_role(struct upp_str role);

/* Takes a system message `m` that `at` describes, by its exact role. 1: it is a user's now, and marked; 0: its text was
 * added to *to. -UPP_EREFUSED, with the cause SV_CLIENT_SYSTEM: the agent (NULL: none) does not take it, or (to NULL)
 * the request starts no run. */
int sv_system_take(const struct sv_body *b, yyjson_val *at, const struct wr_agent_def *agent, struct wb_arena *a,
                   struct upp_message *m, struct sv_system *to, struct upp_err *err) UPP_MUST_CHECK;
