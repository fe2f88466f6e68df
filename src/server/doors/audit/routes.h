/* server/doors/audit/routes.h — /v1/audit: what administrators have done to the store. */
#pragma once

#include "server/http/door.h"

extern const struct sv_door sv_door_audit;
