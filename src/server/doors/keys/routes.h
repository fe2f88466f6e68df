/* server/doors/keys/routes.h — the API keys over HTTP: GET, POST and DELETE /v1/keys. */
#pragma once

#include "server/http/door.h"

extern const struct sv_door sv_door_keys;
