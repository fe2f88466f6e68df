/* agent/tool/reaper_limits.h — how many processes a tool may have: what the system has to hold it to that.
 *
 * A control group where one can be made: version 2, with the tree's memory as well, or the pids controller of version
 * 1. Else, unless we are root, RLIMIT_NPROC in a user namespace of the tool's own, in which the same user counts anew.
 * Where there is neither, the reaper itself counts, and ends what is too much.
 */
#ifndef WA_REAPER_LIMITS_H
#define WA_REAPER_LIMITS_H

#include <stdbool.h>
#include <stddef.h>

enum reaper_means { REAPER_GROUP = 1, REAPER_USER, REAPER_WATCH };

struct reaper_limits {
    unsigned long long processes, memory; /* 0: no limit */
    enum reaper_means  means;
    bool               memory_too;   /* the group holds the memory as well */
    char               folder[1200]; /* of the group */
};

/* Finds the means, and makes the group where it is one. */
void reaper_limits_make(struct reaper_limits *l);
void reaper_limits_done(struct reaper_limits *l); /* when no process of the tool is left */

/* The calling process, and all it will start, is held to them. False: it cannot be, and must not go on. */
bool reaper_limits_enter(const struct reaper_limits *l);

/* "a control group (processes)" ... */
const char *reaper_limits_name(const struct reaper_limits *l);

#endif
