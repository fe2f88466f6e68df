/* server/doors/responses/conversations.h — /v1/conversations: threads in the words of the Responses API. */
#pragma once

#include "log/log.h"
#include "server/http/route.h"

extern const struct sv_door sv_door_conversations;

/* The thread that the id of a conversation names: "conv_..." or any name that a thread has. One of another owner and
 * none at all get the same answer. */
WEFT_SUSPENDS int sv_conversation_find(struct sv_exchange *x, struct upp_str id, struct wl_thread *ret,
                                       struct upp_err *err) UPP_MUST_CHECK;
