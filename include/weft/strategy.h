/* weft/strategy.h — how an agent goes about a run: restartable functions.
 *
 *     static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
 *     {
 *         for (;;) {
 *             const struct weft_reply *reply;
 *             int r = weft_run_ask(run, "act", NULL, &reply, err);
 *             if (r < 0)
 *                 return r;                                      // also -UPP_EWAIT and -UPP_ECANCELED: pass them up
 *             if (!reply->n_calls)
 *                 return 0;                                      // the run is completed with this step
 *             r = weft_run_tools(run, "act", reply, NULL, err);
 *             if (r < 0 || (r = weft_run_step_end(run, err)) < 0)
 *                 return r;
 *         }
 *     }
 *
 * execute() may be called again at any time (after a crash, a takeover, a wait of days) and must come to the same place
 * from run->state alone. Within a step it acts through weft_run_ask and weft_run_tools, which are journaled under (run,
 * step, phase, call id): when a step is entered again they give what the journal holds and do only what is missing.
 * Phases are names, never counts. What must come from outside returns -UPP_EWAIT, which execute() returns: the run then
 * waits without a fiber and without memory, and the answer calls execute() again.
 */
#ifndef WEFT_STRATEGY_H
#define WEFT_STRATEGY_H

#include <upp/model.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_run;

/* ---- Tools ------------------------------------------------------------------------------------------- */

/* What may happen to a call whose outcome a crash made unknown. */
enum weft_delivery {
    WEFT_AT_MOST_ONCE = 0, /* never run again: the model is told that nobody knows */
    WEFT_IDEMPOTENT,       /* run again with the same key */
    WEFT_PURE,             /* run again; need not even wait for its start to be on disk */
};

enum weft_tool_kind {
    WEFT_TOOL_FUNCTION = 0, /* run() on the run's fibers */
    WEFT_TOOL_CLIENT,       /* the client runs it: the run waits for its result */
    WEFT_TOOL_AGENT,        /* a child run of the agent `agent` */
};

/* One call of a tool, for the function that does it. Everything in it is borrowed for the call. */
struct weft_call {
    struct weft_run *run;
    struct upp_str   id, name;
    struct upp_str   arguments; /* JSON text as the model wrote it, known to be a JSON object */
    struct upp_str   key;       /* idempotency key: the same when the call is run again */
    void            *arg;       /* of the tool */
};

/* The result of a call: a JSON value the function writes, with the functions below. */
struct weft_result;
UPP_API int  weft_result_text(struct weft_result *r, struct upp_str text, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int  weft_result_json(struct weft_result *r, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API void weft_result_is_error(struct weft_result *r); /* what was written is an error that the model shall see */

struct weft_tool {
    struct upp_tool_spec spec;
    uint8_t              kind;       /* enum weft_tool_kind */
    uint8_t              delivery;   /* enum weft_delivery */
    bool                 approval;   /* a person must say yes before each call */
    uint64_t             timeout_ms; /* 0: 600000 */
    size_t               max_result; /* 0: 1 MiB; a longer result is cut and says so */

    /* FUNCTION: 0; or <0, which makes an error result out of err. May wait; a cancel ends its waits. */
    WEFT_SUSPENDS int (*run)(const struct weft_call *call, struct weft_result *ret, struct upp_err *err);
    void          *arg;
    struct upp_str agent; /* AGENT: by name */
};

/* ---- Agents, as the engine sees them ------------------------------------------------------------------ */

struct weft_strategy {
    const char *name;
    WEFT_SUSPENDS int (*execute)(struct weft_run *run, struct upp_err *err);
    const void *opts; /* its own: struct weft_loop_strategy ... */
};

/* UAP's strategy hooks, called in this order at the phases of a step; each may be NULL. At least once across a crash. A
 * hook that fails (<0) fails the run. */
struct weft_hooks {
    void *arg;
    int (*on_step_start)(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err);
    int (*on_reason)(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning, struct upp_err *err);
    int (*on_act)(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls, struct upp_err *err);
    int (*on_observe)(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                      struct upp_err *err);
    int (*on_step_end)(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err);
    int (*on_complete)(void *arg, struct weft_run *run, struct upp_err *err);
    int (*on_error)(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_err *err);
    bool (*stop)(void *arg, struct weft_run *run); /* after each step: is it enough? */
};

struct weft_agent_def {
    struct upp_str              name; /* by which runs refer to it */
    struct upp_str              id;   /* UUID, as text */
    const struct upp_model     *model;
    struct upp_str              system, params;
    const struct weft_strategy *strategy;
    const struct weft_tool     *tools;
    size_t                      n_tools;
    const struct weft_hooks    *hooks; /* NULL: none */
};

/* ---- What a strategy sees and does ---------------------------------------------------------------------- */

/* UAP's ExecutionState, as far as it is not in the log. Committed with every step. */
struct weft_state {
    uint32_t         step; /* steps that have ended: the current one is step + 1 */
    struct upp_usage usage;
    uint32_t         cycles;   /* calls of models */
    struct upp_str   metadata; /* JSON object; totalTokens is kept in it by the engine when it is written out */
    struct upp_str   own;      /* the strategy's one private JSON value; no text: none. weft_run_set_own */
};

/* The visible part of a run; the engine's own lies behind it. */
struct weft_run {
    const struct weft_agent_def *agent;
    struct weft_state            state;
    const struct upp_message    *input; /* NULL: none */
    uint16_t                     depth; /* 0: a root */
};

struct weft_reply {
    const struct upp_message *message;
    struct upp_usage          usage;
    uint8_t                   stop;    /* enum upp_stop */
    size_t                    n_calls; /* that can be run */
    struct upp_str            data;    /* structured answer as JSON; no text: none */
};

struct weft_ask_opts {
    uint32_t                  size;
    bool                      no_tools;
    bool                      scaffolding; /* what is said stays on the path for this run alone */
    const struct upp_message *prompt;      /* added before the call, for this run alone; NULL: none */
    struct upp_str            structure;   /* JSON Schema of the answer */
};

/* Asks the model with the path so far, or gives what the journal of this step holds under the phase. The reply lives
 * until the run ends or waits. */
UPP_API WEFT_SUSPENDS int weft_run_ask(struct weft_run *run, const char *phase, const struct weft_ask_opts *opts,
                                       const struct weft_reply **ret, struct upp_err *err) UPP_MUST_CHECK;

struct weft_tools_opts {
    uint32_t size;
    uint32_t parallel; /* 0: 16 at a time */
};

/* Runs the calls of a reply, or what of them is missing, all of them together. Their results are on the path then. */
UPP_API WEFT_SUSPENDS int weft_run_tools(struct weft_run *run, const char *phase, const struct weft_reply *reply,
                                         const struct weft_tools_opts *opts, struct upp_err *err) UPP_MUST_CHECK;

/* The step is over: state, checkpoint and all that was pending are committed; state.step rises. 1: the hook `stop` says
 * that it is enough. */
UPP_API WEFT_SUSPENDS int weft_run_step_end(struct weft_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the private value; committed with the step. */
UPP_API int weft_run_set_own(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;

/* UAP-5.2: asks, runs tools, until there are no more calls. */
struct weft_loop_strategy {
    uint32_t size;
    uint32_t max_iterations; /* 0: 10 rounds of tools */
};
UPP_API extern const struct weft_strategy weft_strategy_loop; /* with the defaults */

/* The loop with other numbers: `struct weft_strategy s = weft_loop_with(&opts)`; opts must outlive it. */
UPP_API struct weft_strategy weft_loop_with(const struct weft_loop_strategy *opts);

#ifdef __cplusplus
}
#endif
#endif
