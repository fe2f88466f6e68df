/* server/doors/chat/routes.h — POST /v1/chat/completions: an agent as a model of OpenAI's Chat Completions API. */
#ifndef SV_CHAT_ROUTES_H
#define SV_CHAT_ROUTES_H

#include "server/http/door.h"

extern const struct sv_door sv_door_chat;

#endif
