/* weft/execution.h — how an agent goes about a run: strategies, their hooks, and what a strategy can do.
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
 *             if (r < 0 || (r = weft_run_step_end(run, err)) != 0)
 *                 return r < 0 ? r : 0;                          // 1: it is enough
 *         }
 *     }
 *     const struct weft_strategy mine = {.name = "mine", .execute = execute};
 *
 * execute() may be called again at any time (after a crash, a takeover, a wait of days) and must come to the same place
 * from run->state alone. Within a step it acts through weft_run_ask and weft_run_tools, which are journaled under (run,
 * step, phase, call id): when a step is entered again they give what the journal holds and do only what is missing.
 * Phases are names, never counts. What must come from outside returns -UPP_EWAIT, which execute() returns: the run then
 * waits without a fiber and without memory, and the answer calls execute() again. Run and stream are the same: whoever
 * listens hears what is said. A strategy that does otherwise when it is listened to has a stream() beside execute().
 */
#ifndef WEFT_EXECUTION_H
#define WEFT_EXECUTION_H

#include <upp/tool.h>
#include <upp/turn.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_agent;
struct weft_run;

/* ---- Strategies ----------------------------------------------------------------------------------------- */

struct weft_strategy {
    const char *name; /* NULL: weft_strategy_loop */
    WEFT_SUSPENDS int (*execute)(struct weft_run *run, struct upp_err *err);
    const void *opts; /* its own, as run->opts; borrowed */

    /* In the place of execute where somebody listens to the run when it is taken up. NULL: execute, whose asks are
     * streamed as well. It gets the same run and must come to the same place: one may go on where the other began. */
    WEFT_SUSPENDS int (*stream)(struct weft_run *run, struct upp_err *err);
};

/* UAP 5.2: asks, runs tools, until there are no more calls. */
struct weft_strategy_loop_opts {
    uint32_t size;
    uint32_t max_iterations; /* rounds of tools; 0: 10, or what the agent's tool_strategy says */
};

/* UAP 5.3: reasons without tools, acts, observes. */
struct weft_strategy_react_opts {
    uint32_t    size;
    uint32_t    max_steps;          /* 0: 10 */
    const char *reasoning_prompt;   /* NULL: the default */
    const char *observation_format; /* "markdown" (NULL), "json", "text" */
};

/* UAP 5.4: a plan first, then its steps, those that do not depend on each other at the same time. */
struct weft_strategy_plan_opts {
    uint32_t    size;
    uint32_t    max_plan_steps; /* 0: 10 */
    bool        no_replan;      /* a step that fails ends the run */
    uint32_t    max_replans;    /* 0: 3 */
    uint32_t    max_parallel;   /* 0: 4; 1: one after the other */
    uint32_t    max_iterations; /* rounds of tools in one step; 0: 10 */
    const char *plan_schema;    /* JSON Schema; NULL: the default */
};

UPP_API extern const struct weft_strategy weft_strategy_loop, weft_strategy_react, weft_strategy_plan; /* by default */

UPP_API struct weft_strategy weft_loop_with(const struct weft_strategy_loop_opts *opts); /* opts must outlive it */
UPP_API struct weft_strategy weft_react_with(const struct weft_strategy_react_opts *opts);
UPP_API struct weft_strategy weft_plan_with(const struct weft_strategy_plan_opts *opts);

#ifndef __cplusplus
/* `.execution = weft_react(.max_steps = 5)`: the options live until the end of the block that they are written in. For
 * an agent that outlives it (struct weft_agent_opts): weft_react_with, and options that are static. */
#define weft_loop(...)                                                                                                 \
    weft_loop_with(&(const struct weft_strategy_loop_opts){.size = sizeof(struct weft_strategy_loop_opts), __VA_ARGS__})
#define weft_react(...)                                                                                                \
    weft_react_with(                                                                                                   \
        &(const struct weft_strategy_react_opts){.size = sizeof(struct weft_strategy_react_opts), __VA_ARGS__})
#define weft_plan(...)                                                                                                 \
    weft_plan_with(&(const struct weft_strategy_plan_opts){.size = sizeof(struct weft_strategy_plan_opts), __VA_ARGS__})
#endif

/* ---- What a run is -------------------------------------------------------------------------------------- */

/* UAP's ExecutionState, as far as it is not in the log. Committed with every step. */
struct weft_state {
    uint32_t         step; /* steps that have ended: the current one is step + 1 */
    struct upp_usage usage;
    uint32_t         cycles;   /* calls of models */
    struct upp_str   metadata; /* JSON object; totalTokens is kept in it by the engine. weft_run_set_metadata */
    struct upp_str   plan;     /* JSON list of PlanSteps; no text: none. weft_run_set_plan */
    struct upp_str   own;      /* the strategy's one private JSON value; no text: none. weft_run_set_own */
};

/* UAP's ExecutionContext: the visible part of a run; the engine's own lies behind it. */
struct weft_run {
    const struct weft_agent  *agent; /* NULL: one of a configuration */
    struct weft_run          *parent;
    const void               *opts; /* of its strategy */
    const struct weft_hooks  *hooks;
    struct weft_state         state;
    const struct upp_message *input; /* NULL: none */
    uint16_t                  depth; /* 0: a root */
    bool                      has_tools;
    const struct upp_model   *model;  /* UAP: llm. What weft_run_ask asks; NULL: none */
    const struct upp_wait    *signal; /* UAP: signal. upp_wait_stopped says whether the run was cancelled, and a wait by
                                       * this table ends then; for the run's own fiber */
};

/* Ids as text: of the run (UAP: turnId), of its agent. Borrowed while the run lives. */
UPP_API struct upp_str weft_run_id(struct weft_run *run);
UPP_API struct upp_str weft_run_agent_id(struct weft_run *run);

/* What came before the input; what this run has said and done since, without scaffolding, the input first (UAP:
 * state.messages). Borrowed until the run says more. */
UPP_API const struct upp_message *const *weft_run_history(struct weft_run *run, size_t *n);
UPP_API const struct upp_message *const *weft_run_messages(struct weft_run *run, size_t *n);

/* UAP: context.tools. What weft_run_ask offers to the model now: tools, agents below and handoffs, as rights, grants and
 * revocations have it. Borrowed while the run lives. */
UPP_API int weft_run_offered(struct weft_run *run, const struct upp_tool_spec **ret, size_t *n,
                             struct upp_err *err) UPP_MUST_CHECK;

/* What it thought in phases called "reason" (UAP: state.reasoning). */
UPP_API const struct upp_str *weft_run_reasoning(struct weft_run *run, size_t *n);

/* ---- Hooks ---------------------------------------------------------------------------------------------- */

/* UAP's StepResult. */
struct weft_step_result {
    const struct upp_turn   *turn; /* of this step alone */
    const struct weft_state *state;
};

/* UAP's AgentStrategy, called in this order at the phases of a step; each may be NULL. Each is finished before anything
 * else of the run happens; it may wait. At least once across a crash. A hook that fails (<0) fails the run. */
struct weft_hooks {
    void *arg;
    WEFT_SUSPENDS int (*on_step_start)(void *arg, struct weft_run *run, uint32_t step, struct upp_err *err);
    WEFT_SUSPENDS int (*on_reason)(void *arg, struct weft_run *run, uint32_t step, struct upp_str reasoning,
                                   struct upp_err *err);
    WEFT_SUSPENDS int (*on_act)(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *calls,
                                struct upp_err *err);
    WEFT_SUSPENDS int (*on_observe)(void *arg, struct weft_run *run, uint32_t step, const struct upp_message *results,
                                    struct upp_err *err);
    WEFT_SUSPENDS int (*on_step_end)(void *arg, struct weft_run *run, uint32_t step,
                                     const struct weft_step_result *result, struct upp_err *err);
    WEFT_SUSPENDS int (*on_complete)(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err);

    /* 0: the error goes on. 1: the run completes with *ret, which the engine takes over and frees; messages of it that
     * the run has not said are added to the thread. <0: err takes the place of `why`. */
    WEFT_SUSPENDS int (*on_error)(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    WEFT_SUSPENDS bool (*stop)(void            *arg,
                               struct weft_run *run); /* UAP: stopCondition. After each step: is it enough? */
};

/* ---- What a strategy does ---------------------------------------------------------------------------------- */

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
    struct upp_str            structure;   /* JSON Schema of the answer; no text: the agent's */
    bool                      no_structure;
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

/* The step is over: state, checkpoint and all that was pending are committed; state.step rises. 1: it is enough: the
 * hook `stop` says so, or a budget is used up. */
UPP_API WEFT_SUSPENDS int weft_run_step_end(struct weft_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Tells the hook on_reason. */
UPP_API WEFT_SUSPENDS int weft_run_reasoned(struct weft_run *run, struct upp_str text,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Replace values of the state; committed with the step. set_metadata: one member; json no text: removes it. */
UPP_API int weft_run_set_own(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_run_set_plan(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_run_set_metadata(struct weft_run *run, struct upp_str name, struct upp_str json,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* ThreadProtocol's system event: stored in order with the run's next commit, streamed, never sent to a model. Two kinds
 * change what the targets (none: all agents) may call from their next step on: tool.grant and tool.revoke, with data
 * {"tools": ["name" ...]}. They follow the branch that they were made on. */
struct weft_system_event {
    struct upp_str        type; /* "agent.note" */
    struct upp_str        data; /* JSON; no text: {} */
    struct upp_str        source;
    const struct upp_str *targets; /* agents by name */
    size_t                n_targets;
};
UPP_API int weft_run_event(struct weft_run *run, const struct weft_system_event *ev,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Passes the thread to another agent when the current step has ended: this agent's turn ends with the system event
 * agent.handoff, the next one is the other's. -UPP_ENOTFOUND: no such agent. -UPP_ELIMIT: too many in this run. */
struct weft_handoff_to {
    struct upp_str agent;   /* by name */
    struct upp_str reason;  /* no text: "program" */
    struct upp_str message; /* what it is asked; no text: it sees the history */
};
UPP_API int weft_run_handoff(struct weft_run *run, const struct weft_handoff_to *to,
                             struct upp_err *err) UPP_MUST_CHECK;

/* ---- What a tool can learn of its call ------------------------------------------------------------------------ */

/* The run whose call it is (NULL in a blocking tool, which is on a thread of its own), and the key under which it may
 * be done again: the same when it is. Only for calls that a run makes. */
UPP_API struct weft_run *weft_call_run(const struct upp_call *call);
UPP_API struct upp_str   weft_call_key(const struct upp_call *call);

#ifdef __cplusplus
}
#endif
#endif
