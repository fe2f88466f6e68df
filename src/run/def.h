/* run/def.h — compiled agents and tools, as the engine uses them: immutable while runs use them. */
#pragma once

#include "model/event.h"
#include <weft/agent.h>

struct upp_schema;
struct wb_arena;
struct wr_tool;

enum wr_tool_kind {
    WR_TOOL_FUNCTION = 0, /* base.run, on a fiber of the run, or on a worker thread if it blocks */
    WR_TOOL_CLIENT,       /* the client runs it: the run waits for its result */
    WR_TOOL_AGENT,        /* a child run of `agent` */
    WR_TOOL_HANDOFF,      /* the turn ends, and the next one is that of `agent` */
};

/* Where a tool comes from, for protocols that tell the calls of such tools apart. It changes nothing else. */
enum wr_tool_source { WR_SOURCE_PLUGIN, WR_SOURCE_MCP, WR_SOURCE_COMPONENT };

/* What a child run is asked, and what may be set for it (run/settings/settings.h). */
struct wr_child_ask {
    struct upp_str input;
    struct upp_str options; /* JSON; empty: none. What its model cannot honour is left out ... */
    bool certain;           /* ... unless nothing in them is for the model */
};

/* How a child run ended. */
struct wr_child_end {
    struct upp_str arguments;  /* of the call */
    struct upp_str options;    /* that it had: those of `ask` that could be honoured */
    struct upp_str text;       /* of its turn */
    struct upp_str model;      /* its name; empty: none */
    struct wb_uuid child;      /* the run */
    struct upp_usage usage;    /* of the child and all below it */
    int result;                /* < 0: it failed */
    bool cut;                  /* it completed because a limit ended it */
    const struct upp_err *why; /* of a failure */
};

/* Translates between the call of an AGENT tool and its child run, where both are not plain text. Must not suspend. What
 * is made of a call may not depend on anything but its arguments and the definition: a child that was announced is
 * created after a restart. */
struct wr_child_adapter {
    const void *arg;
    int (*ask)(const void *arg, const struct wr_tool *tool, struct upp_str arguments, struct wb_arena *a,
               struct wr_child_ask *ret, struct upp_err *err);
    int (*answer)(const void *arg, const struct wr_tool *tool, const struct wr_child_end *end, struct upp_value *ret,
                  struct upp_err *err);
};

struct wr_tool {
    struct upp_tool_spec spec;
    struct upp_tool base;            /* run, approval, blocking, arg */
    const struct upp_schema *schema; /* of the arguments; NULL: not checked */
    uint8_t kind;                    /* enum wr_tool_kind */
    uint8_t delivery;
    bool approval;               /* a person must approve each call */
    bool sequential;             /* no other call of its round runs at the same time */
    const struct upp_str *after; /* tools whose calls in the same round run first */
    size_t n_after;
    uint64_t timeout_ms;              /* 0: 600000 */
    size_t max_result;                /* 0: 1 MiB; a longer text is truncated and marked */
    bool withheld;                    /* not offered to the model until a tool.grant event */
    uint8_t source;                   /* enum wr_tool_source */
    struct upp_str server;            /* MCP: the label of its server */
    struct upp_str agent;             /* AGENT, HANDOFF: the agent's name */
    const struct weft_rights *rights; /* AGENT: further limits for the child; NULL: its parent's rights */

    const struct wr_child_adapter *adapter; /* AGENT: NULL: the child gets the task and answers with its text */
};

/* An agent to which an agent may hand over the thread. Each has a tool of kind HANDOFF too. */
struct wr_handoff {
    struct upp_str agent;  /* its name */
    struct upp_str title;  /* with on_mention, an answer that contains this title hands over */
    struct upp_str prompt; /* its prompt if the call has none; empty: only the history */
    bool on_mention;
};

extern const struct upp_str wr_handoff_parameters; /* of HANDOFF tools, as JSON Schema */

/* The end of a history that a model receives: the messages from the first user's on that are followed by at least
 * `keep` - 1 others, or as many more as have this many tokens (run/settings/window.h). */
struct wr_window {
    uint64_t tokens;
    size_t keep;
};

/* Middleware, assembled by the layer above. Each function may be NULL. */
struct wr_middleware {
    void *arg;

    /* Once per agent of a run, before its strategy: may change what the model receives (wr_run_set_input,
     * wr_run_set_history). */
    WEFT_SUSPENDS int (*before)(void *arg, struct weft_run *run, struct upp_err *err);

    /* When the run completes: may replace *turn. */
    WEFT_SUSPENDS int (*after)(void *arg, struct weft_run *run, struct upp_turn **turn, struct upp_err *err);

    /* When the run fails. 1: it completes with *ret instead. */
    WEFT_SUSPENDS int (*failed)(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                struct upp_err *err);

    /* Before each model call: may replace the request's messages. The new ones live in the run's memory. */
    WEFT_SUSPENDS int (*view)(void *arg, struct weft_run *run, struct upp_request *request, struct upp_err *err);

    /* The model's message, before anybody receives it: may change the texts of its parts. If set, nothing is streamed
     * before the message is complete. */
    WEFT_SUSPENDS int (*screen)(void *arg, struct weft_run *run, struct upp_message *message, struct upp_err *err);

    /* A tool call, after hooks and before the schema check and the approval: may replace the arguments (the new ones
     * live in the run's memory). < 0: the tool does not run, and the model receives the reason. */
    WEFT_SUSPENDS int (*call)(void *arg, struct weft_run *run, struct upp_call *call, struct upp_err *err);

    /* STEP_START, STEP_END, TOOL_STARTED and TOOL_ENDED of model/event.h (without number and source), in order. Tool
     * events come just before their record is committed: at least once across a crash. */
    void (*observe)(void *arg, struct weft_run *run, const struct wm_event *ev);

    /* How much of the history `view` leaves; tokens 0: all may be needed; UINT64_MAX: there is no view, nor a need. */
    struct wr_window window;

    const struct weft_budget *const *budgets; /* in addition to those of the agent's rights */
    size_t n_budgets;
};

/* What people and other agents are told about an agent. */
struct wr_card {
    struct upp_str description;         /* empty: none */
    const struct upp_str *capabilities; /* URLs of AITP's schemas that it knows */
    size_t n_capabilities;
};

struct wr_agent_def {
    struct upp_str name;           /* runs refer to it by this name */
    struct upp_str title;          /* for people, and for messages that other agents receive; empty: its name */
    struct upp_str id;             /* UUID, as text */
    const struct upp_model *model; /* NULL: its parent's, with the parent's params */
    struct upp_str system, params, structure;
    bool check_structure;     /* responses must fit `structure` */
    bool allow_client_system; /* accept clients' system messages as marked user messages */
    bool gateway;             /* a model alone: clients' system messages are its system prompt */
    bool reads_history;       /* a program's function may ask for all of it (weft_run_history) */
    bool base;                /* runs on it have a name of their own, and their model from their options */
    const struct weft_strategy *strategy;
    const struct wr_tool *tools;
    size_t n_tools;
    const struct wr_handoff *handoffs;
    size_t n_handoffs;
    const struct weft_hooks *hooks;                /* NULL: none */
    const struct upp_tool_strategy *tool_strategy; /* NULL: none */
    const struct wr_middleware *middleware;        /* NULL: none */
    const struct weft_rights *rights;              /* of its whole subtree; NULL: only the engine's limits */
    const struct weft_agent *agent;                /* NULL: it comes from a configuration */
    const struct wr_card *card;                    /* NULL: none */
    /* The answer of a run that a limit ends before it has answered, from all of its messages; in the arena. Must not
     * suspend. 1: something was left to do; 0: nothing was, and the run is complete. NULL: it ends with what it has. */
    int (*closing)(const struct wr_agent_def *def, struct wb_uuid thread, const struct upp_message *const *messages,
                   size_t n, struct wb_arena *a, struct upp_str *ret, struct upp_err *err);
    void *owner; /* for wr_engine_opts.hold */
};
