/* server/libraries.h — the libraries that the server uses. */
#ifndef WEFT_SERVER_LIBRARIES_H
#define WEFT_SERVER_LIBRARIES_H

#include "base/library.h"

struct wb_library weft__llhttp_library(void);
struct wb_library weft__openssl_library(void);

/* Of all layers. */
enum { SV_LIBRARIES = 7 };
extern struct wb_library (*const sv_libraries[SV_LIBRARIES])(void);

#endif
