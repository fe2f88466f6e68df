/* base/library.h — what is known of a library we stand on; each layer names its own. */
#pragma once

#include <stdio.h>

struct wb_library {
    const char *name;
    const char *built; /* the version we were compiled against; NULL: not in this build */
    char running[24];  /* the loaded version, as reported by the library; empty: unknown */
};

static inline struct wb_library wb_library(const char *name, const char *built, const char *running)
{
    struct wb_library l = {.name = name, .built = built};
    (void)snprintf(l.running, sizeof l.running, "%s", running ? running : "");
    return l;
}
