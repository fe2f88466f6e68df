/* run/def.h — agents and tools as the engine takes them: compiled, and never changed while runs use them. */
#ifndef WR_DEF_H
#define WR_DEF_H

#include "model/event.h"
#include <weft/agent.h>

struct upp_schema;

enum wr_tool_kind {
    WR_TOOL_FUNCTION = 0, /* base.run, on the run's fibers, or beside them where it blocks */
    WR_TOOL_CLIENT,       /* the client runs it: the run waits for its result */
    WR_TOOL_AGENT,        /* a child run of `agent` */
    WR_TOOL_HANDOFF,      /* the turn ends, and the next one is that of `agent` */
};

struct wr_tool {
    struct upp_tool_spec      spec;
    struct upp_tool           base;   /* run, approval, blocking, arg */
    const struct upp_schema  *schema; /* of the arguments; NULL: they are not checked */
    uint8_t                   kind;   /* enum wr_tool_kind */
    uint8_t                   delivery;
    bool                      approval;   /* a person must say yes before each call */
    bool                      sequential; /* nothing else of its round runs at the same time */
    const struct upp_str     *after;      /* tools whose calls of the same round come first */
    size_t                    n_after;
    uint64_t                  timeout_ms; /* 0: 600000 */
    size_t                    max_result; /* 0: 1 MiB; a longer text is cut and says so */
    bool                      withheld;   /* not offered until an event tool.grant says so */
    struct upp_str            agent;      /* AGENT, HANDOFF: by name */
    const struct weft_rights *rights;     /* AGENT: what the child may do at most; NULL: what its parent may */
};

/* To whom an agent may pass the thread. Each has a tool of kind HANDOFF too. */
struct wr_handoff {
    struct upp_str agent;  /* by name */
    struct upp_str title;  /* how it is spoken of: an answer that names it hands over, where on_mention is set */
    struct upp_str prompt; /* what it is asked, where the call says nothing; no text: nothing but the history */
    bool           on_mention;
};

extern const struct upp_str wr_handoff_parameters; /* of those tools, as JSON Schema */

/* Middleware, put together by the layer above. Each function may be NULL. */
struct wr_middleware {
    void *arg;

    /* Once a run, before its strategy: may change what the model is told (wr_run_set_input, wr_run_set_history). */
    WEFT_SUSPENDS int (*before)(void *arg, struct weft_run *run, struct upp_err *err);

    /* A run that completes: *turn may be replaced by another one. */
    WEFT_SUSPENDS int (*after)(void *arg, struct weft_run *run, struct upp_turn **turn, struct upp_err *err);

    /* 1: the run completes with *ret after all. */
    WEFT_SUSPENDS int (*failed)(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                struct upp_err *err);

    /* Before each call of the model: may give it other messages than the path. What it points to lives in the run. */
    WEFT_SUSPENDS int (*view)(void *arg, struct weft_run *run, struct upp_request *request, struct upp_err *err);

    /* What the model said, before anybody hears it: may change the texts of its parts. Where this is set nothing is
     * streamed before it is whole. */
    WEFT_SUSPENDS int (*screen)(void *arg, struct weft_run *run, struct upp_message *said, struct upp_err *err);

    /* A call of a tool, after hooks and before its schema and its approval: may put other arguments in (what they point
     * to lives in the run). < 0: the tool does not run, and the model is told why. */
    WEFT_SUSPENDS int (*call)(void *arg, struct weft_run *run, struct upp_call *call, struct upp_err *err);

    /* STEP_START, STEP_END, TOOL_STARTED and TOOL_ENDED of model/event.h (without number and source), in order: calls
     * when their record is about to be committed, so that they come at least once across a crash. */
    void (*observe)(void *arg, struct weft_run *run, const struct wm_event *ev);

    const struct weft_budget *const *budgets; /* limits beside those of the agent's rights */
    size_t                           n_budgets;
};

struct wr_agent_def {
    struct upp_str                  name;  /* by which runs refer to it */
    struct upp_str                  title; /* for people, and in what other agents are told of it; no text: its name */
    struct upp_str                  id;    /* UUID, as text */
    const struct upp_model         *model; /* NULL: its parent's, with the parent's params */
    struct upp_str                  system, params, structure;
    bool                            allow_client_system; /* clients' system messages come as marked words of a user */
    const struct weft_strategy     *strategy;
    const struct wr_tool           *tools;
    size_t                          n_tools;
    const struct wr_handoff        *handoffs;
    size_t                          n_handoffs;
    const struct weft_hooks        *hooks;         /* NULL: none */
    const struct upp_tool_strategy *tool_strategy; /* NULL: none */
    const struct wr_middleware     *middleware;    /* NULL: none */
    const struct weft_rights       *rights;        /* of its whole subtree; NULL: no more than the engine's */
    const struct weft_agent        *agent;         /* NULL: one of a configuration */
};

#endif
