/* server/doors/usage/routes.h — GET /v1/usage: tokens, runs and requests by key, tenant and day. */
#pragma once

#include "server/http/door.h"

extern const struct sv_door sv_door_usage;
