/* agent/tool/reaper.h — how libweft talks to weft-reaper, the small program under which every command tool runs.
 *
 *     weft-reaper PARENT MEMORY CPU PROCESSES PROGRAM [ARGUMENT...]
 *     weft-reaper --limits
 *
 * PARENT is the pid of the process that starts it. Limits, 0 for none: MEMORY (bytes: address space of each process of
 * the tool, and memory of all of them together), CPU (seconds, of each process), PROCESSES (of all of them, threads
 * included). With --limits it says in a line by what means this system holds a tool to those of all its processes
 * (agent/tool/reaper_limits.h). PROGRAM is looked up in PATH when it holds no slash. Environment, folder and the three
 * standard descriptors are the tool's own.
 *
 * The protocol is one pipe. The reaper keeps the writing end of standard output for as long as anything of the tool
 * lives:
 *  - whoever reads it sees its end only when no descendant is left;
 *  - when the reader closes it, or dies in any way, the reaper ends all of them.
 * It then ends as the program did: with its exit code, or by its signal.
 */
#ifndef WA_REAPER_H
#define WA_REAPER_H

enum {
    WA_REAPER_PARENT = 1, /* places in argv */
    WA_REAPER_MEMORY,
    WA_REAPER_CPU,
    WA_REAPER_PROCESSES,
    WA_REAPER_PROGRAM,
};

/* Exit codes of the reaper itself; standard error has a line that begins with WA_REAPER_SAYS. */
enum {
    WA_REAPER_FAILED  = 125, /* it could not do its work, and nothing was started */
    WA_REAPER_NOSTART = 127, /* the program could not be started */
};
#define WA_REAPER_SAYS "weft-reaper: "

#endif
