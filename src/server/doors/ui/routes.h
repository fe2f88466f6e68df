/* server/doors/ui/routes.h — /api/chat: the chat of the AI SDK (useChat, DefaultChatTransport).
 *
 * A chat is a thread; its id is the client's, or that of any thread. An edited message and an answer made anew are
 * branches of it.
 */
#pragma once

#include "server/http/route.h"

extern const struct sv_door sv_door_ui;
