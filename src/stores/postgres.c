/* stores/postgres.c — PostgreSQL, where it was built in. */
#include "stores/postgres.h"

#include "config.h"

#if WEFT_POSTGRES
#include <libpq-fe.h>
#include <stddef.h>

struct wb_library weft__postgres_library(void)
{
    /* libpq tells its version as a number: MAJOR * 10000 + MINOR. Two digits each are enough for decades. */
    static _Thread_local char running[16];
    int                       v = PQlibVersion();
    running[0]                  = (char)('0' + v / 100000 % 10);
    running[1]                  = (char)('0' + v / 10000 % 10);
    running[2]                  = '.';
    running[3]                  = (char)('0' + v / 10 % 10);
    running[4]                  = (char)('0' + v % 10);
    running[5]                  = 0;
    return (struct wb_library){"libpq", WEFT_POSTGRES_VERSION, running};
}
#else
struct wb_library weft__postgres_library(void)
{
    return (struct wb_library){.name = "libpq"};
}
#endif
