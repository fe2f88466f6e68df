/* weft/agent.h — agents: a model with a system text, tools and a way to work (UAP 4, 8, 9, 12).
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
 * the thread, which drives the loop meanwhile. Nothing that the caller gave is changed.
 */
#ifndef WEFT_AGENT_H
#define WEFT_AGENT_H

#include <upp/llm.h>
#include <weft/execution.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_runtime;
struct weft_middleware;

/* ---- Tools ---------------------------------------------------------------------------------------------- */

/* What may happen to a call whose outcome a crash made unknown. */
enum weft_delivery {
    WEFT_AT_MOST_ONCE = 0, /* never run again: the model is told that nobody knows */
    WEFT_IDEMPOTENT,       /* run again with the same key */
    WEFT_PURE,             /* run again; need not even wait for its start to be on disk */
};

/* What a tool's or the run's approval may answer besides yes (1) and no (0): a person will say, perhaps in days. The
 * run waits without a fiber until then. */
enum { WEFT_PENDING = 2 };

/* Limits of a run and all below it. 0: none. */
struct weft_budget {
    uint64_t max_tokens, max_time_ms;
    uint32_t max_steps;
    double   max_cost; /* by the prices of a million tokens */
    double   input_price, output_price;
    double   cache_read_price, cache_write_price; /* of the input's tokens that were cached; 0: input_price */
};

/* What a run and all below it may do. A child cannot widen what its parents may. */
struct weft_rights {
    const char *const *allow; /* names of tools, NULL after the last; NULL: all */
    const char *const *deny;
    uint32_t           max_depth; /* of agents below this one; 0: as the runtime says; UINT32_MAX: none */
    struct weft_budget budget;
    /* Asked before each call, after the tool's own approval: 1, 0, WEFT_PENDING, or <0. */
    WEFT_SUSPENDS int (*approval)(void *arg, struct upp_call *call, struct upp_err *err);
    void *arg;
};

/* What only a run can do with a tool: `extra` of a struct upp_tool. */
struct weft_tool_opts {
    uint32_t                  size;
    uint8_t                   delivery;   /* enum weft_delivery */
    bool                      client;     /* the client runs it: the run waits for its result */
    bool                      approval;   /* a person must say yes before each call */
    bool                      sequential; /* nothing else of its round runs at the same time */
    bool                      unchecked;  /* arguments are not checked against the parameters */
    bool                      withheld;   /* not offered until a system event tool.grant names it */
    const char *const        *after;      /* tools whose calls of the same round come first; NULL after the last */
    uint64_t                  timeout_ms; /* 0: 600000 */
    size_t                    max_result; /* 0: 1 MiB; a longer text is cut and says so */
    const struct weft_agent  *agent;      /* it is this agent */
    const struct weft_rights *rights;     /* of the agent's runs as this tool */
};

struct weft_tools {
    const struct upp_tool *list;
    size_t                 n;
};

/* An agent to which another may pass the thread: a tool handoff_to_NAME, or, with on_mention, an answer that names it.
 */
struct weft_handoff {
    const struct weft_agent *to;
    const char              *prompt; /* what it is asked, where the call says nothing; NULL: it sees the history */
    bool                     on_mention;
};

/* ---- Agents --------------------------------------------------------------------------------------------- */

/* All but the model has a default. Tools, parameters and the agents below are looked at when the agent first runs: what
 * is wrong with them is said then. An agent may stand below itself: the depth of runs has a limit.
 *
 * What must live how long:
 *  - For the call of weft_agent_new alone: this struct (UPP_OPTS is always right), `model` and its options, `id`.
 *  - Until the agent, and all that were derived from it, are freed: everything else that it points to. The texts; the
 *    tools, their texts and `extra`; `execution.opts`; middleware with its options and rules; hooks, tool_strategy,
 *    rights, handoff; the model of `use`.
 *
 * WEFT_TOOLS(...), weft_react(...), weft_logging(...) and their like are literals, and live until the end of the block
 * that they are written in: the body of an `if` or a loop, the whole `if` statement where they stand in its condition.
 * An agent that is used beyond that block has them as `static const` data:
 *
 *     static const struct upp_tool                 tools[] = {UPP_TOOL(get_weather, "The weather", "{city: string}")};
 *     static const struct weft_strategy_react_opts five    = {.size = sizeof five, .max_steps = 5};
 *     r = weft_agent_new(rt, UPP_OPTS(weft_agent_opts, .tools = {tools, 1}, .execution = weft_react_with(&five)),
 *                        &agent, err);
 */
struct weft_agent_opts {
    uint32_t                        size;
    struct upp_model_ref            model; /* or `use`; neither: that of whoever asks it */
    const struct upp_model         *use;
    const char                     *params;    /* JSON object */
    struct weft_strategy            execution; /* none: loop */
    struct weft_tools               tools;     /* WEFT_TOOLS(...) */
    const char                     *system;
    const char                     *structure; /* JSON Schema of the answer */
    const struct weft_middleware   *middleware;
    size_t                          n_middleware;
    const struct weft_hooks        *hooks; /* UAP: strategy */
    const struct upp_tool_strategy *tool_strategy;

    const char                *id, *name, *description; /* UUID, made where absent; by which others call it */
    const struct weft_rights  *rights;
    const struct weft_handoff *handoff; /* to whom it may pass the thread */
    size_t                     n_handoff;
};

UPP_API int weft_agent_new(struct weft_runtime *rt, const struct weft_agent_opts *opts, struct weft_agent **ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* All of an agent's options but its name, with those that `changes` (NULL: none) sets, and an id of its own. */
UPP_API int weft_agent_derive(const struct weft_agent *from, const struct weft_agent_opts *changes,
                              struct weft_agent **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Before the runtime closes, which frees those that are left. No run of it works. NULL is fine. */
UPP_API void weft_agent_free(struct weft_agent *a);

UPP_API struct upp_str          weft_agent_id(const struct weft_agent *a);
UPP_API const struct upp_model *weft_agent_model(const struct weft_agent *a); /* NULL: none of its own */
UPP_API struct weft_tools       weft_agent_tools(const struct weft_agent *a); /* as given */
UPP_API const char             *weft_agent_system(const struct weft_agent *a);

/* An agent as a tool of another; what is absent follows from the agent. Good as long as the agent. */
struct weft_to_tool {
    uint32_t                  size;
    const char               *name, *description, *parameters;
    const struct weft_rights *rights;
};
UPP_API int weft_agent_to_tool(struct weft_agent *a, const struct weft_to_tool *opts, struct upp_tool *ret,
                               struct upp_err *err) UPP_MUST_CHECK;

#ifndef __cplusplus
/* These live until the end of the block that they are written in: see struct weft_agent_opts. */
#define WEFT_TOOLS(...)                                                                                                \
    ((struct weft_tools){(const struct upp_tool[]){__VA_ARGS__},                                                       \
                         sizeof((const struct upp_tool[]){__VA_ARGS__}) / sizeof(struct upp_tool)})
/* An agent among the tools; a tool with options of weft_tool_opts. */
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

/* ---- Running -------------------------------------------------------------------------------------------- */

/* The turn is the caller's (upp_turn_free). On failure it is the turn so far where something was said, else NULL; also
 * when the run comes to wait for a client or a person (-UPP_EWAIT): nobody can answer it here, and its open calls are
 * in the turn. Of several new messages the last one is the input where it is a user's, and what stands before it is
 * history: it is not in the turn. When the caller is cancelled (its fiber, or by in->wait) so is the run; nothing is
 * left of it when the call returns. */
UPP_API WEFT_SUSPENDS int weft_agent_run(struct weft_agent *a, struct upp_str text, struct upp_turn **ret,
                                         struct upp_err *err) UPP_MUST_CHECK;
UPP_API WEFT_SUSPENDS int weft_agent_run_with(struct weft_agent *a, const struct upp_input *in, struct upp_turn **ret,
                                              struct upp_err *err) UPP_MUST_CHECK;

/* UAP 9.1: with the history of *thread, to which the turn is appended; *thread NULL: a new one, the caller's. On
 * failure nothing is appended. -UPP_EBUSY: the thread is being answered, by this or another agent. */
UPP_API WEFT_SUSPENDS int weft_ask(struct weft_agent *a, struct upp_str text, struct upp_thread **thread,
                                   struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;

/* UAP 9.2 (QueryResult): on a thread of its own, which can be gone on with. */
struct weft_query_result {
    struct upp_turn   *turn; /* the newest */
    struct upp_thread *thread;
    struct weft_agent *agent;
};
UPP_API WEFT_SUSPENDS int weft_query(struct weft_agent *a, struct upp_str text, struct weft_query_result **ret,
                                     struct upp_err *err) UPP_MUST_CHECK;
/* A new result at the end of the same thread; the older ones stay good. The thread lives as long as any of them.
 * -UPP_EBUSY: it is being answered. */
UPP_API WEFT_SUSPENDS int weft_query_continue(struct weft_query_result *q, struct upp_str text,
                                              struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void              weft_query_free(struct weft_query_result *q); /* NULL is fine */
UPP_API void              weft_query_freep(struct weft_query_result **q);

/* ---- Streams -------------------------------------------------------------------------------------------- */

enum weft_event_type {
    WEFT_STEP_START = 1,
    WEFT_STEP_END,    /* usage */
    WEFT_REASONING,   /* text */
    WEFT_ACTION,      /* message: its calls */
    WEFT_OBSERVATION, /* message: its results */
    WEFT_CHECKPOINT,  /* id */
    /* Beyond UAP: */
    WEFT_SYSTEM_EVENT,   /* name = its type, text = its data as JSON, from, to; id = the step of a plan it belongs to */
    WEFT_ATTEMPT_VOID,   /* what was said since the last record (text: its number) is void and comes again */
    WEFT_SUBAGENT_START, /* with opts.children, as the two below: text = what it is asked */
    WEFT_SUBAGENT_END,   /* text = its last words or error; is_error, usage */
};

enum { WEFT_SOURCE_UAP = 1, WEFT_SOURCE_UPP = 2 };

/* UAP's AgentStreamEvent. Borrowed until the next call. */
struct weft_event {
    uint8_t                   source; /* WEFT_SOURCE_* */
    uint8_t                   type;   /* UAP: enum weft_event_type */
    uint16_t                  depth;  /* 0: the agent itself */
    uint32_t                  step;
    struct upp_str            agent_id, run_id;
    struct upp_str            id, name, text; /* name of an event of a step: which step of a plan it is (planStepId) */
    bool                      is_error;
    const struct upp_message *message;
    struct upp_usage          usage;
    struct upp_event          upp;      /* UPP: as the provider layer tells it */
    struct upp_str            from, to; /* system events: its source; its targets, a JSON list. No text: none */
    struct upp_str            parent_agent_id, parent_run_id; /* of an agent below: who called it. No text: nobody */
};

struct weft_stream_opts {
    uint32_t size;
    uint8_t  only;     /* WEFT_SOURCE_UAP or _UPP; 0: both */
    bool     children; /* events of agents below it too */
};

/* Nothing happens before the first pull, with which the run starts; `in` is borrowed until close. The turn is the one
 * that a run would give. */
struct weft_stream;
UPP_API int weft_agent_stream(struct weft_agent *a, const struct upp_input *in, const struct weft_stream_opts *opts,
                              struct weft_stream **ret, struct upp_err *err) UPP_MUST_CHECK;

/* 1: *ret. 0: it is over. <0: it failed, and is over; after an abort that is -UPP_ECANCELED. */
UPP_API WEFT_SUSPENDS int weft_stream_next(struct weft_stream *s, struct weft_event *ret,
                                           struct upp_err *err) UPP_MUST_CHECK;

/* Reads what is left and gives the turn, again at each call; it belongs to the stream. After an abort: what was said
 * until then, or -UPP_ECANCELED where nothing had begun. */
UPP_API WEFT_SUSPENDS int  weft_stream_turn(struct weft_stream *s, const struct upp_turn **ret,
                                            struct upp_err *err) UPP_MUST_CHECK;
UPP_API void               weft_stream_abort(struct weft_stream *s); /* from any thread */
UPP_API WEFT_SUSPENDS void weft_stream_close(struct weft_stream *s); /* NULL is fine; in the middle it aborts */
UPP_API WEFT_SUSPENDS void weft_stream_closep(struct weft_stream **s);

/* "step_start" ...; AgentStreamEvent JSON as docs/dialects/uap.md has it, freed by upp_text_free. */
UPP_API const char *weft_event_name(uint8_t type);
UPP_API int weft_event_to_json(const struct weft_event *ev, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
