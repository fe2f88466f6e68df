/* stores/postgres.h — PostgreSQL, where it was built in. */
#ifndef WEFT_POSTGRES_H
#define WEFT_POSTGRES_H

#include "base/library.h"

/* .built is NULL when this build is without PostgreSQL. */
struct wb_library weft__postgres_library(void);

#endif
