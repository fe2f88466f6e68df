/* server/libraries.h — what the server stands on. */
#ifndef WEFT_SERVER_LIBRARIES_H
#define WEFT_SERVER_LIBRARIES_H

#include "base/library.h"

struct wb_library weft__llhttp_library(void);
struct wb_library weft__openssl_library(void);

#endif
