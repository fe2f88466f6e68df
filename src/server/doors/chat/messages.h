/* server/doors/chat/messages.h — `messages` of a chat request. */
#pragma once

#include "server/doors/conversation/messages.h"

/* Reads `messages`, for `agent`. -UPP_EINVALID with a pointer. */
int sv_chat_read_messages(struct sv_exchange *x, const struct sv_body *b, const struct wr_agent_def *agent,
                          struct sv_conversation_messages *ret, struct upp_err *err) UPP_MUST_CHECK;
