/* server/doors/chat/routes.h — POST /v1/chat/completions: an agent as a model of OpenAI's Chat Completions API. */
#pragma once

#include "server/http/route.h"

extern const struct sv_door sv_door_chat;
