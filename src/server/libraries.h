/* server/libraries.h — the libraries that the server uses. */
#pragma once

#include "base/library.h"

/* Of all layers. */
enum { SV_LIBRARIES = 7 };
extern struct wb_library (*const sv_libraries[SV_LIBRARIES])(void);
