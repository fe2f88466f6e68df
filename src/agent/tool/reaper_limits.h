/* agent/tool/reaper_limits.h — how the system enforces a tool's number of processes.
 *
 * A control group if one can be created: version 2, which also limits the memory of all processes, or the pids
 * controller of version 1. Otherwise, unless we are root, RLIMIT_NPROC in the tool's own user namespace, where the
 * user's processes count separately. Without either, the reaper polls and kills when there are too many.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum reaper_method { REAPER_GROUP = 1, REAPER_USER, REAPER_POLL };

struct reaper_limits {
    unsigned long long processes, memory; /* 0: no limit */
    enum reaper_method method;
    bool memory_too;   /* the group limits the memory too */
    char folder[1200]; /* of the group */
};

/* Selects the method, and creates the group if it is one. */
void reaper_limits_make(struct reaper_limits *l);
void reaper_limits_done(struct reaper_limits *l); /* call it when no process of the tool is left */

/* Applies the limits to the calling process and all its descendants. False: that failed, and it must not go on. */
bool reaper_limits_enter(const struct reaper_limits *l);

/* "a control group (processes)" ... */
const char *reaper_limits_name(const struct reaper_limits *l);
