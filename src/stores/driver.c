/* stores/driver.c — the list of the kinds of stores. */
#include "stores/driver.h"

static const struct ws_driver *const drivers[] = {&ws_sqlite_driver, &ws_memory_driver};

const struct ws_driver *ws_driver_find(struct upp_str address, struct upp_str *path)
{
    for (size_t i = 0; i < WB_LEN(drivers); i++) {
        struct upp_str scheme = wb_cstr(drivers[i]->scheme);
        if (!wb_str_starts(address, scheme))
            continue;
        *path = wb_str_sub(address, scheme.n, SIZE_MAX);
        return drivers[i]->durable || !path->n ? drivers[i] : NULL;
    }
    return NULL;
}
