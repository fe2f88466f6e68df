/* agent/provider.h — a tool provider: where tools come from.
 *
 * Four are ours: the commands of a configuration, the tools that its clients run, agents, and the functions of a C
 * program. Their lists are known when they are opened. Others have to ask somebody for their list, who may be slow, go
 * away, or change the list while runs use it: the runtime follows them (runtime/providers.c), and each list that it
 * gets becomes a generation of agents, as a reload does.
 *
 * Each kind is opened by a function of its own, because each needs something else. That must not wait: what takes time
 * belongs into `list`.
 *
 * Invariants
 * 1. A list is complete, or `list` fails: then the provider is unavailable, and agents are without its tools.
 * 2. A run keeps the tools with which its agent began. A call of one that the provider no longer has fails, and the
 *    model receives the reason.
 */
#pragma once

#include "run/def.h"

struct wa_provider;

struct wa_provider_ops {
    const char *kind; /* "command" */

    /* The tools that it has now; they and what they point to live in `a`, or as long as the provider. Waits only if the
     * provider is not `single`; one at a time. */
    WEFT_SUSPENDS int (*list)(struct wa_provider *p, struct wb_arena *a, struct wr_tool **ret, size_t *n,
                              struct upp_err *err);

    /* `run` of its tools: many calls may be in progress, on any loop. NULL: each has its own, or the engine does it (an
     * agent, a client's tool). */
    WEFT_SUSPENDS int (*call)(struct upp_call *call, struct upp_value *ret, struct upp_err *err);

    /* No agent has a tool of it any more, and nobody lists it. NULL: nothing is left to do. */
    void (*close)(struct wa_provider *p);
};

struct wa_provider {
    const struct wa_provider_ops *ops;
    struct upp_str name; /* an agent that lists it among its tools has all of its tools */
    bool single;         /* it is one tool, known when it is opened: listing does not wait, and never changes */

    /* Set by who follows it: the list may have changed. Called on the loop of who follows it; NULL: nobody does. */
    void (*changed)(void *arg);
    void *arg;
};
