/* server/doors/chat/chat.h — POST /v1/chat/completions: an agent as a model of OpenAI's Chat Completions API. */
#pragma once

#include "server/doors/conversation/messages.h"
#include "server/doors/stored_run.h"
#include "server/http/route.h"

extern const struct sv_door sv_door_chat;

/* Reads `messages`, for `agent`. -UPP_EINVALID with a pointer. */
int sv_chat_read_messages(struct sv_exchange *x, const struct sv_body *b, const struct wr_agent_def *agent,
                          struct sv_conversation_messages *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Completions that their requests have stored (`store: true`): lists, one of them, its metadata, its messages,
 * deleting.
 *
 * A completion is a segment of a run with the option SV_STORED. Which it is, its id says: chatcmpl- and the run, for
 * its second segment -2 after that. There is one when the segment is over: runs that work, or have failed, have none.
 */

enum { SV_CHAT_METADATA = 16 /* filters of a list by metadata */ };

/* The stored completion that the path names; goes on with `handler` where it is at home: x->work is a struct sv_stored.
 */
WEFT_SUSPENDS int sv_chat_at_home(struct sv_exchange *x, sv_handler *handler, struct upp_err *err) UPP_MUST_CHECK;

/* Parameters of a list: `limit`, and `order`, here asc without it. */
int sv_chat_limit(struct sv_exchange *x, uint64_t *limit, bool *ascending, struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS int sv_chat_list(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_chat_get(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_chat_update(struct sv_exchange *x, struct upp_err *err);
WEFT_SUSPENDS int sv_chat_delete(struct sv_exchange *x, struct upp_err *err);

/* Of server/doors/chat/stored_messages.c. */
WEFT_SUSPENDS int sv_chat_list_messages(struct sv_exchange *x, struct upp_err *err);
