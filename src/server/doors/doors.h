/* server/doors/doors.h — all doors of the server. */
#pragma once

#include "server/http/door.h"

/* For sv_server_opts.doors. */
extern const struct sv_door *const sv_doors[];
