/* stores/postgres.c — PostgreSQL, where it was built in. */
#include "stores/postgres.h"

#include <stddef.h>

#include "config.h"

#if WEFT_POSTGRES
#include <libpq-fe.h>

struct wb_library weft__postgres_library(void)
{
    char running[24];
    int  v = PQlibVersion(); /* MAJOR * 10000 + MINOR */
    (void)snprintf(running, sizeof running, "%d.%d", v / 10000, v % 10000);
    return wb_library("libpq", WEFT_POSTGRES_VERSION, running);
}
#else
struct wb_library weft__postgres_library(void)
{
    return wb_library("libpq", NULL, NULL);
}
#endif
