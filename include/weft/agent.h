/* weft/agent.h — agents: a model with a system prompt, tools and an execution strategy (UAP 4, 8, 9, 12).
 *
 *     const struct weft_tools tools = WEFT_TOOLS(UPP_TOOL(get_weather, "The weather of a city", "{city: string}"));
 *     struct weft_agent *weather;
 *     struct upp_turn *turn;
 *     if (weft_agent_new(rt, UPP_OPTS(weft_agent_opts,
 *             .model = upp_anthropic("claude-sonnet-4-20250514"),
 *             .system = "You know the weather.",
 *             .tools = tools), &weather, &err) < 0 ||
 *         weft_agent_run(weather, UPP_STR("Tokyo?"), &turn, &err) < 0)
 *         return fprintf(stderr, "%s\n", err.msg), 1;
 *     puts(upp_turn_text(turn));
 *     upp_turn_free(turn);
 *
 * Messages, turns, threads and tools are libupp's. Calls block: on a fiber of the runtime's loop the fiber, elsewhere
 * the thread, which drives the loop meanwhile. The caller's arguments are never modified.
 */
#pragma once

#include <upp/llm.h>
#include <weft/execution.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_runtime;
struct weft_middleware;

/* What to do after a crash with a call that had started and has no result. */
enum weft_delivery {
    WEFT_AT_MOST_ONCE = 0, /* never run again: the model receives "outcome unknown" */
    WEFT_IDEMPOTENT,       /* run again with the same key (weft_call_key) */
    WEFT_PURE,             /* run again; may run before its start is on disk */
};

/* Third result of an approval function, besides yes (1) and no (0): a person will decide, perhaps in days. Until then
 * the run waits without a fiber. */
enum { WEFT_PENDING = 2 };

/* Limits of a run and all its sub-agents. 0: no limit. */
struct weft_budget {
    uint64_t max_tokens, max_time_ms;
    uint32_t max_steps;
    double max_cost; /* computed from the prices, which are per million tokens */
    double input_price, output_price;
    double cache_read_price, cache_write_price; /* of cached input tokens; 0: input_price */
};

/* What a run and all its sub-agents may do. A child cannot extend the rights of its parents. */
struct weft_rights {
    const char *const *allow; /* tool names, NULL-terminated; NULL: all */
    const char *const *deny;
    uint32_t max_depth; /* of sub-agents; 0: the runtime's limit; UINT32_MAX: no sub-agents */
    struct weft_budget budget;
    /* Messages between agents: calls of sub-agents and handoffs, in all runs together. 0: no limit; UINT32_MAX: none.
     */
    uint32_t max_agent_messages;
    /* Called before each tool call, after the tool's own approval. Returns 1, 0, WEFT_PENDING, or <0. NULL: 1. */
    WEFT_SUSPENDS int (*approval)(void *arg, struct upp_call *call, struct upp_err *err);
    void *arg;
};

/* Options of a tool that only runs support: `extra` of a struct upp_tool. */
struct weft_tool_opts {
    uint32_t size;
    uint8_t delivery;                 /* enum weft_delivery */
    bool client;                      /* executed by the client: the run waits for its result */
    bool approval;                    /* a person must approve each call */
    bool sequential;                  /* no other call of its round runs at the same time */
    bool unchecked;                   /* arguments are not validated against the parameters */
    bool withheld;                    /* not offered until a system event tool.grant names it */
    const char *const *after;         /* tools whose calls of the same round finish first; NULL-terminated */
    uint64_t timeout_ms;              /* 0: 600000, or none if the tool is an agent */
    size_t max_result;                /* 0: 1 MiB; a longer text is cut and marked as cut */
    const struct weft_agent *agent;   /* the tool is this agent */
    const struct weft_rights *rights; /* of the agent's runs as this tool */
};

struct weft_tools {
    const struct upp_tool *list;
    size_t n;
};

/* An agent that may take over the thread: by a call of the tool handoff_to_NAME or, with on_mention, by a response that
 * contains its name. */
struct weft_handoff {
    const struct weft_agent *to;
    const char *prompt; /* its input if the call has no message; NULL: only the history */
    bool on_mention;
};

/* Everything has a default; without a model, the agent can only be a sub-agent. Tools, parameters and sub-agents are
 * checked when the agent first runs, which fails if they are invalid. An agent may be its own sub-agent: the depth of
 * runs is limited.
 *
 * Lifetimes:
 *  - During the call of weft_agent_new: this struct (so UPP_OPTS is always right), `model` and its options, `id`.
 *  - Until the agent and all agents derived from it are freed: everything else that the struct points to. These are
 *    strings; tools, their strings and `extra`; `execution.opts`; middleware with its options and rules; hooks,
 *    tool_strategy, rights, handoff; the model of `use`.
 *
 * WEFT_TOOLS(...), weft_react(...), weft_logging(...) and the like are compound literals, which live until the end of
 * the enclosing block: the body of an `if` or a loop, or the whole `if` statement if they are in its condition.
 * An agent that is used after that block needs `static const` data:
 *
 *     static const struct upp_tool                 tools[] = {UPP_TOOL(get_weather, "The weather", "{city: string}")};
 *     static const struct weft_strategy_react_opts five    = {.size = sizeof five, .max_steps = 5};
 *     r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .tools = {tools, 1}, .execution = weft_react_with(&five)),
 *                        &agent, err);
 */
struct weft_agent_opts {
    uint32_t size;
    struct upp_model_ref model; /* or `use`; neither: the model of the calling agent */
    const struct upp_model *use;
    const char *params;             /* JSON object */
    struct weft_strategy execution; /* default: loop */
    struct weft_tools tools;        /* WEFT_TOOLS(...) */
    const char *system;
    const char *structure; /* JSON Schema of the response */
    const struct weft_middleware *middleware;
    size_t n_middleware;
    const struct weft_hooks *hooks; /* UAP: strategy */
    const struct upp_tool_strategy *tool_strategy;

    const char *id, *name, *description; /* id: UUID; NULL: a new one. name: how other agents call it */
    const struct weft_rights *rights;
    const struct weft_handoff *handoff; /* agents to which it may hand over the thread */
    size_t n_handoff;
    bool check_structure; /* a response that does not fit `structure` is asked for again */
};

UPP_API int weft_agent_new(struct weft_runtime *rt, const struct weft_agent_opts *opts, struct weft_agent **ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* A new agent with a new id and the options of `from`, except its name; options set in `changes` (may be NULL) win. */
UPP_API int weft_agent_derive(const struct weft_agent *from, const struct weft_agent_opts *changes,
                              struct weft_agent **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Call it before the runtime is closed, which frees the remaining agents; no run of it may be active. Accepts NULL. */
UPP_API void weft_agent_free(struct weft_agent *a);

UPP_API struct upp_str weft_agent_id(const struct weft_agent *a);
UPP_API const struct upp_model *weft_agent_model(const struct weft_agent *a); /* NULL: it has none of its own */
UPP_API struct weft_tools weft_agent_tools(const struct weft_agent *a);       /* as given */
UPP_API const char *weft_agent_system(const struct weft_agent *a);

/* An agent as a tool of another; absent members are derived from the agent. *ret is valid as long as the agent. */
struct weft_to_tool {
    uint32_t size;
    const char *name, *description, *parameters;
    const struct weft_rights *rights;
};
UPP_API int weft_agent_to_tool(struct weft_agent *a, const struct weft_to_tool *opts, struct upp_tool *ret,
                               struct upp_err *err) UPP_MUST_CHECK;

#ifndef __cplusplus
/* These live until the end of the enclosing block: see struct weft_agent_opts. */
#define WEFT_TOOLS(...)                                                                                                \
    ((struct weft_tools){(const struct upp_tool[]){__VA_ARGS__},                                                       \
                         sizeof((const struct upp_tool[]){__VA_ARGS__}) / sizeof(struct upp_tool)})
/* An agent as a tool; a tool with options of struct weft_tool_opts. */
#define WEFT_TOOL_AGENT(a_)                                                                                            \
    {                                                                                                                  \
        .extra = &(const struct weft_tool_opts)                                                                        \
        {                                                                                                              \
            .size = sizeof(struct weft_tool_opts), .agent = (a_)                                                       \
        }                                                                                                              \
    }
#define WEFT_TOOL(fn, about, params, ...)                                                                              \
    {                                                                                                                  \
        .name = #fn, .description = (about), .parameters = (params), .run = (fn),                                      \
        .extra = &(const struct weft_tool_opts)                                                                        \
        {                                                                                                              \
            .size = sizeof(struct weft_tool_opts), __VA_ARGS__                                                         \
        }                                                                                                              \
    }
#endif

/* The caller frees the turn (upp_turn_free). On failure *ret is the turn so far if there is output, else NULL; also if
 * the run waits for a client or a person (-UPP_EWAIT): it cannot be answered here, and its open calls are in the turn.
 * Of several new messages the last is the input if it is a user message; those before it are history and not in the
 * turn. Cancelling the caller (its fiber, or through in->wait) cancels the run, which has ended when this returns. */
UPP_API WEFT_SUSPENDS int weft_agent_run(struct weft_agent *a, struct upp_str text, struct upp_turn **ret,
                                         struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_agent_run_with(struct weft_agent *a, const struct upp_input *in, struct upp_turn **ret,
                                              struct upp_err *err) UPP_MUST_CHECK;

/* UAP 9.1: runs with the history of *thread and appends the turn to it; *thread NULL: creates one for the caller. On
 * failure nothing is appended. -UPP_EBUSY: this or another agent is responding on the thread. */
UPP_API WEFT_SUSPENDS int weft_ask(struct weft_agent *a, struct upp_str text, struct upp_thread **thread,
                                   struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* UAP 9.2 (QueryResult): a run on a new thread, which weft_query_continue can continue. */
struct weft_query_result {
    struct upp_turn *turn; /* the newest; belongs to the result */
    struct upp_thread *thread;
    struct weft_agent *agent;
};
UPP_API WEFT_SUSPENDS int weft_query(struct weft_agent *a, struct upp_str text, struct weft_query_result **ret,
                                     struct upp_err *err) UPP_MUST_CHECK;
/* Continues the same thread with a new result; older results stay valid. The thread lives as long as any of them.
 * -UPP_EBUSY: another call on the thread is in progress. */
UPP_API WEFT_SUSPENDS int weft_query_continue(struct weft_query_result *q, struct upp_str text,
                                              struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_query_free(struct weft_query_result *q); /* accepts NULL */
UPP_API void weft_query_freep(struct weft_query_result **q);

enum weft_event_type {
    WEFT_STEP_START = 1,
    WEFT_STEP_END,    /* usage */
    WEFT_REASONING,   /* text */
    WEFT_ACTION,      /* message: with the calls */
    WEFT_OBSERVATION, /* message: with the results */
    WEFT_CHECKPOINT,  /* id */
    /* Beyond UAP: */
    WEFT_SYSTEM_EVENT,   /* name: type, text: data as JSON, from, to; id: the plan step it belongs to */
    WEFT_ATTEMPT_VOID,   /* the output since the last record (text: its number) is void and will be repeated */
    WEFT_SUBAGENT_START, /* only with opts.children, like the next; text: its input */
    WEFT_SUBAGENT_END,   /* text: its last message or error; is_error, usage */
};

enum { WEFT_SOURCE_UAP = 1, WEFT_SOURCE_UPP = 2 };

/* UAP's AgentStreamEvent. Borrowed until the next call. */
struct weft_event {
    uint8_t source; /* WEFT_SOURCE_* */
    uint8_t type;   /* UAP: enum weft_event_type */
    uint16_t depth; /* 0: the agent itself; else a sub-agent */
    uint32_t step;
    struct upp_str agent_id, run_id;
    struct upp_str id, name, text; /* name in events of a step: the plan step (planStepId) */
    bool is_error;
    const struct upp_message *message;
    struct upp_usage usage;
    struct upp_event upp;                          /* UPP: the event of the provider layer */
    struct upp_str from, to;                       /* system events: source; targets, a JSON list. NULL: none */
    struct upp_str parent_agent_id, parent_run_id; /* of a sub-agent: its caller. NULL: none */
};

struct weft_stream_opts {
    uint32_t size;
    uint8_t only;  /* WEFT_SOURCE_UAP or _UPP; 0: both */
    bool children; /* events of sub-agents too */
};

/* The first weft_stream_next starts the run; `in` is borrowed until close. The turn is the same as that of
 * weft_agent_run_with. */
struct weft_stream;
UPP_API int weft_agent_stream(struct weft_agent *a, const struct upp_input *in, const struct weft_stream_opts *opts,
                              struct weft_stream **ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *ret. 0: end of the stream. <0: the run failed and has ended; after an abort -UPP_ECANCELED. */
UPP_API WEFT_SUSPENDS int weft_stream_next(struct weft_stream *s, struct weft_event *ret,
                                           struct upp_err *err) UPP_MUST_CHECK;

/* Reads the remaining events and returns the turn, on every call the same; it belongs to the stream. After an abort:
 * the turn so far, or -UPP_ECANCELED if nothing had begun. */
UPP_API WEFT_SUSPENDS int weft_stream_turn(struct weft_stream *s, const struct upp_turn **ret,
                                           struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_stream_abort(struct weft_stream *s);               /* from any thread */
UPP_API WEFT_SUSPENDS void weft_stream_close(struct weft_stream *s); /* accepts NULL; aborts an active run */
UPP_API WEFT_SUSPENDS void weft_stream_closep(struct weft_stream **s);

/* "step_start" ...; the event as AgentStreamEvent JSON (docs/dialects/uap.md), to be freed with upp_text_free. */
UPP_API const char *weft_event_name(uint8_t type);
UPP_API int weft_event_to_json(const struct weft_event *ev, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
