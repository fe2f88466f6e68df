/* server/doors/doors.h — all doors of the server. */
#pragma once

#include "server/http/route.h"

extern const struct sv_door sv_door_audit, sv_door_keys, sv_door_usage;

/* For sv_server_opts.doors. */
extern const struct sv_door *const sv_doors[];
