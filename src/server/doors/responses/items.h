/* server/doors/responses/items.h — `input` of a request of the Responses API: a text, or a list of items. */
#pragma once

#include "server/doors/conversation/conversation.h"

struct sv_items {
    struct sv_conversation_messages messages;
    struct sv_answers answers; /* outputs and approvals for calls of a run that waits */
};

/* Reads `name` ("input", "items"). At a place where a run waits, outputs and approvals are for its calls; otherwise an
 * output needs its call before it, in the list or at the place (NULL: none). Items that a client sends back and that
 * only the server knows (reasoning, its own calls) are skipped. An item_reference is the item of that id, of any thread
 * of the client. */
WEFT_SUSPENDS int sv_items_read(struct sv_exchange *x, const struct sv_body *b, const char *name,
                                const struct wr_agent_def *agent, const struct sv_conversation_place *place,
                                struct sv_items *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The call that the first output of `input` is for; empty: there is none. */
struct upp_str sv_items_first_output(const struct sv_body *b);
