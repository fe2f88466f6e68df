/* weft/execution.h — execution strategies, their hooks, and the functions a strategy calls.
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
 * The engine may call execute() again at any time (after a crash, a takeover, a wait of days); it must get to the same
 * point from run->state alone. Within a step it acts through weft_run_ask and weft_run_tools, which are journaled under
 * (run, step, phase, call id): when a step is repeated, they return what the journal holds and perform only what is
 * missing. Phases are names, never counts. If an answer from outside is needed they return -UPP_EWAIT, and so must
 * execute(): the run then waits without a fiber or memory, and the answer makes the engine call execute() again. Runs
 * and streams use the same execute(): readers receive its output. A strategy that works differently for readers sets
 * stream() too.
 */
#pragma once

#include <upp/tool.h>
#include <upp/turn.h>
#include <weft/fiber.h>

#ifdef __cplusplus
extern "C" {
#endif

struct weft_agent;
struct weft_run;

struct weft_strategy {
    const char *name; /* name and execute NULL: weft_strategy_loop */
    WEFT_SUSPENDS int (*execute)(struct weft_run *run, struct upp_err *err);
    const void *opts; /* its own options, found in run->opts; borrowed */

    /* Called instead of execute if the run has readers when it starts or resumes. NULL: execute, whose output is
     * streamed as well. Gets the same run and must get to the same points: either may continue what the other began. */
    WEFT_SUSPENDS int (*stream)(struct weft_run *run, struct upp_err *err);
};

/* UAP 5.2: calls the model and runs its tools until there are no more calls. */
struct weft_strategy_loop_opts {
    uint32_t size;
    uint32_t max_iterations; /* rounds of tools; 0: that of the agent's tool_strategy, else 10 */
};

/* UAP 5.3: a step reasons without tools, acts, and observes. */
struct weft_strategy_react_opts {
    uint32_t size;
    uint32_t max_steps;             /* 0: 10 */
    const char *reasoning_prompt;   /* NULL: the built-in one */
    const char *observation_format; /* "markdown" (NULL), "json", "text" */
};

/* UAP 5.4: makes a plan, then executes its steps; steps that do not depend on each other run concurrently. */
struct weft_strategy_plan_opts {
    uint32_t size;
    uint32_t max_plan_steps; /* 0: 10 */
    bool no_replan;          /* a failed step fails the run */
    uint32_t max_replans;    /* 0: 3 */
    uint32_t max_parallel;   /* concurrent steps; 0: 4; 1: one after the other */
    uint32_t max_iterations; /* rounds of tools in one step; 0: that of the agent's tool_strategy, else 10 */
    const char *plan_schema; /* JSON Schema of a plan; NULL: the built-in one */
};

UPP_API extern const struct weft_strategy weft_strategy_loop, weft_strategy_react, weft_strategy_plan; /* defaults */

UPP_API struct weft_strategy weft_loop_with(const struct weft_strategy_loop_opts *opts); /* opts must outlive it */
UPP_API struct weft_strategy weft_react_with(const struct weft_strategy_react_opts *opts);
UPP_API struct weft_strategy weft_plan_with(const struct weft_strategy_plan_opts *opts);

#ifndef __cplusplus
/* `.execution = weft_react(.max_steps = 5)`: the options live until the end of the enclosing block. For an agent that
 * outlives it (struct weft_agent_opts), use weft_react_with and static options. */
#define weft_loop(...)                                                                                                 \
    weft_loop_with(&(const struct weft_strategy_loop_opts){.size = sizeof(struct weft_strategy_loop_opts), __VA_ARGS__})
#define weft_react(...)                                                                                                \
    weft_react_with(                                                                                                   \
        &(const struct weft_strategy_react_opts){.size = sizeof(struct weft_strategy_react_opts), __VA_ARGS__})
#define weft_plan(...)                                                                                                 \
    weft_plan_with(&(const struct weft_strategy_plan_opts){.size = sizeof(struct weft_strategy_plan_opts), __VA_ARGS__})
#endif

/* UAP's ExecutionState, except for what is in the log. Committed with every step. */
struct weft_state {
    uint32_t step; /* number of steps that have ended: the current one is step + 1 */
    struct upp_usage usage;
    uint32_t cycles;         /* model calls */
    struct upp_str metadata; /* JSON object; the engine maintains totalTokens in it. weft_run_set_metadata */
    struct upp_str plan;     /* JSON list of PlanSteps; NULL: none. weft_run_set_plan */
    struct upp_str own;      /* the strategy's private JSON value; NULL: none. weft_run_set_own */
};

/* UAP's ExecutionContext: the public part of a run. */
struct weft_run {
    const struct weft_agent *agent; /* NULL: an agent of a configuration */
    struct weft_run *parent;
    const void *opts; /* of its strategy */
    const struct weft_hooks *hooks;
    struct weft_state state;
    const struct upp_message *input; /* NULL: none */
    uint16_t depth;                  /* 0: a root run */
    bool has_tools;
    const struct upp_model *model; /* UAP: llm. The model that weft_run_ask calls; NULL: none */
    const struct upp_wait *signal; /* UAP: signal. upp_wait_stopped tells whether the run was cancelled, which also
                                    * ends waits through this table; only on the run's own fiber */
};

/* The ids of the run (UAP: turnId) and of its agent. Borrowed while the run is in memory. */
UPP_API struct upp_str weft_run_id(struct weft_run *run);
UPP_API struct upp_str weft_run_agent_id(struct weft_run *run);

/* history: the messages before the input. messages: the input and all messages of this run since, without scaffolding
 * (UAP: state.messages). Borrowed until the run adds a message. */
UPP_API const struct upp_message *const *weft_run_history(struct weft_run *run, size_t *n);
UPP_API const struct upp_message *const *weft_run_messages(struct weft_run *run, size_t *n);

/* UAP: context.tools. The tools that weft_run_ask now offers to the model: functions, sub-agents and handoffs, after
 * rights, grants and revocations. Borrowed while the run is in memory. */
UPP_API int weft_run_offered(struct weft_run *run, const struct upp_tool_spec **ret, size_t *n,
                             struct upp_err *err) UPP_MUST_CHECK;

/* The texts of the responses in phases named "reason" (UAP: state.reasoning). */
UPP_API const struct upp_str *weft_run_reasoning(struct weft_run *run, size_t *n);

/* UAP's StepResult. */
struct weft_step_result {
    const struct upp_turn *turn; /* of this step alone */
    const struct weft_state *state;
};

/* UAP's AgentStrategy, called in this order at the phases of a step; each may be NULL. The run continues when a hook
 * returns; it may wait. Across a crash a hook is called at least once. A hook that fails (<0) fails the run. */
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

    /* 0: the run fails with `why`. 1: the run completes with *ret, which the engine takes over and frees; its assistant
     * messages that are not the run's are added to the thread. <0: the run fails with err instead of `why`. */
    WEFT_SUSPENDS int (*on_error)(void *arg, struct weft_run *run, const struct upp_err *why, struct upp_turn **ret,
                                  struct upp_err *err);
    WEFT_SUSPENDS bool (*stop)(void *arg,
                               struct weft_run *run); /* UAP: stopCondition. After each step; true ends the run */
};

struct weft_reply {
    const struct upp_message *message;
    struct upp_usage usage;
    uint8_t stop;        /* enum upp_stop */
    size_t n_calls;      /* without calls that were cut off */
    struct upp_str data; /* structured response as JSON; NULL: none */
};

struct weft_ask_opts {
    uint32_t size;
    bool no_tools;
    bool scaffolding;                 /* only this run's model ever receives the response */
    const struct upp_message *prompt; /* added before the call, for this run only; NULL: none */
    struct upp_str structure;         /* JSON Schema of the response; empty: the agent's, unless scaffolding */
    bool no_structure;
};

/* Calls the model with the messages so far, or returns the reply that the step's journal holds for the phase. The reply
 * is valid until the run ends or waits. */
UPP_API WEFT_SUSPENDS int weft_run_ask(struct weft_run *run, const char *phase, const struct weft_ask_opts *opts,
                                       const struct weft_reply **ret, struct upp_err *err) UPP_MUST_CHECK;

struct weft_tools_opts {
    uint32_t size;
    uint32_t parallel; /* calls at a time; 0: 16 */
};

/* Runs the calls of a reply together, except those that already have a result. Adds the results to the messages. */
UPP_API WEFT_SUSPENDS int weft_run_tools(struct weft_run *run, const char *phase, const struct weft_reply *reply,
                                         const struct weft_tools_opts *opts, struct upp_err *err) UPP_MUST_CHECK;

/* Ends the step: commits state, checkpoint and everything pending, and increments state.step. Returns 1 if execute()
 * should return: the hook `stop` returned true, a budget is used up, or another agent takes over. */
UPP_API WEFT_SUSPENDS int weft_run_step_end(struct weft_run *run, struct upp_err *err) UPP_MUST_CHECK;

/* Calls the hook on_reason. */
UPP_API WEFT_SUSPENDS int weft_run_reasoned(struct weft_run *run, struct upp_str text,
                                            struct upp_err *err) UPP_MUST_CHECK;

/* Replace values of the state; committed with the step. set_metadata sets one member; an empty json removes it. */
UPP_API int weft_run_set_own(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_run_set_plan(struct weft_run *run, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
UPP_API int weft_run_set_metadata(struct weft_run *run, struct upp_str name, struct upp_str json,
                                  struct upp_err *err) UPP_MUST_CHECK;

/* ThreadProtocol's system event: stored in order with the run's next commit, streamed, never sent to a model. Two types
 * change which tools the targets (none: all agents) may call from their next step on: tool.grant and tool.revoke, with
 * data {"tools": ["name" ...]}. They apply to the branch they were added on. */
struct weft_system_event {
    struct upp_str type;           /* "agent.note" */
    struct upp_str data;           /* JSON; empty: {} */
    struct upp_str source;         /* empty: the agent's name */
    const struct upp_str *targets; /* names of agents */
    size_t n_targets;
};
UPP_API int weft_run_event(struct weft_run *run, const struct weft_system_event *ev,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Hands the thread over to another agent after the current step: this agent's turn ends with the system event
 * agent.handoff, and the other's begins. -UPP_ENOTFOUND: no such agent. -UPP_ELIMIT: more than 8 in this run. */
struct weft_handoff_to {
    struct upp_str agent;   /* its name */
    struct upp_str reason;  /* empty: "program" */
    struct upp_str message; /* input for the other agent; empty: only the history */
};
UPP_API int weft_run_handoff(struct weft_run *run, const struct weft_handoff_to *to,
                             struct upp_err *err) UPP_MUST_CHECK;

/* The run that makes the call (NULL in a blocking tool, which runs on another thread), and the call's idempotency key:
 * the same if the call is repeated. Only for calls made by a run. */
UPP_API struct weft_run *weft_call_run(const struct upp_call *call);
UPP_API struct upp_str weft_call_key(const struct upp_call *call);

#ifdef __cplusplus
}
#endif
