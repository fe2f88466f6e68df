/* agent/tool/reaper.h — the interface of weft-reaper, the small program under which every command tool runs.
 *
 *     weft-reaper PARENT MEMORY CPU PROCESSES PROGRAM [ARGUMENT...]
 *     weft-reaper --limits
 *
 * PARENT is the pid of the process that starts it. Limits, 0 for none: MEMORY (bytes: address space of each process of
 * the tool, and memory of all of them together), CPU (seconds, per process), PROCESSES (of all of them, threads
 * included). With --limits it prints by which method this system enforces the limits over all processes of a tool
 * (below). PROGRAM is looked up in PATH if it has no slash. Environment, working directory and the
 * three standard descriptors are the tool's.
 *
 * The protocol is one pipe. The reaper holds the write end of standard output open while any process of the tool lives:
 * - the reader sees end of file only when no descendant is left;
 * - when the reader closes it, or dies in any way, the reaper kills all of them.
 * It then exits as the program did: with its exit code, or by its signal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    WA_REAPER_PARENT = 1, /* indices in argv */
    WA_REAPER_MEMORY,
    WA_REAPER_CPU,
    WA_REAPER_PROCESSES,
    WA_REAPER_PROGRAM,
};

/* Exit codes of the reaper itself; standard error has a line that begins with WA_REAPER_PREFIX. */
enum {
    WA_REAPER_FAILED = 125,  /* the reaper failed, and nothing was started */
    WA_REAPER_NOSTART = 127, /* the program could not be started */
};
#define WA_REAPER_PREFIX "weft-reaper: "

/* How the system enforces a tool's number of processes.
 *
 * A control group if one can be created: version 2, which also limits the memory of all processes, or the pids
 * controller of version 1. Otherwise, unless we are root, RLIMIT_NPROC in the tool's own user namespace, where the
 * user's processes count separately. Without either, the reaper polls and kills when there are too many.
 */

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
