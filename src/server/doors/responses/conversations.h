/* server/doors/responses/conversations.h — /v1/conversations: threads in the words of the Responses API. */
#ifndef SV_CONVERSATIONS_H
#define SV_CONVERSATIONS_H

#include "server/http/door.h"

extern const struct sv_door sv_door_conversations;

#endif
