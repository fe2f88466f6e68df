/* server/doors/responses/routes.h — /v1/responses: an agent as a model of OpenAI's Responses API.
 *
 * A response is a segment of a run, and a conversation is a thread. previous_response_id continues after that response,
 * on a new branch if the thread went on without it.
 */
#pragma once

#include "server/http/route.h"

extern const struct sv_door sv_door_responses;
