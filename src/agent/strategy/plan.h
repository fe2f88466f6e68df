/* agent/strategy/plan.h — plans: parses a model's plan, stores it in the state of a run, executes its steps.
 *
 * A plan is in topological order: a step comes after all that it depends on. Completed steps come first and stay when
 * there is a new plan.
 */
#pragma once

#include <weft/execution.h>

#include "base/buf.h"
#include "run/strategy.h"

enum wa_status { WA_PENDING = 0, WA_IN_PROGRESS, WA_COMPLETED, WA_FAILED };

struct wa_step {
    struct upp_str id, description;
    struct upp_str tool; /* empty: none */
    uint32_t *after;     /* steps of the same plan by index, all smaller than its own */
    uint32_t n_after;
    uint8_t status; /* enum wa_status */
};

struct wa_plan {
    struct wa_step *steps;
    size_t n;
};

enum { WA_PLAN_STEPS = 4096, WA_ID_BYTES = 256 };

extern const struct upp_str wa_plan_schema; /* the default */

/* Parses a model's plan: {"steps": [{id, description, tool?, dependsOn?}]}. `done` is the previous plan (all zero:
 * none), whose completed steps stay and may be named in dependsOn; a new step with the id of one of them is dropped.
 * Takes the first `max` new steps and sets *cut if there were more. -UPP_EPROTO: it is no valid plan, err says why. */
struct wa_plan_reading {
    const struct wa_plan *done;
    const struct wr_tool *tools;
    size_t n_tools, max;
};
int wa_plan_read(struct wb_arena *a, struct upp_str json, const struct wa_plan_reading *how, struct wa_plan *ret,
                 bool *cut, struct upp_err *err) UPP_MUST_CHECK;

/* The text from the first { to the last }; empty: there is none. */
struct upp_str wa_plan_find(struct upp_str text);

/* Writes and reads state.plan; empty: a plan without steps. */
int wa_plan_write(const struct wa_plan *p, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int wa_plan_load(struct wb_arena *a, struct upp_str json, struct wa_plan *ret, struct upp_err *err) UPP_MUST_CHECK;
int wa_plan_store(struct weft_run *run, const struct wa_plan *p, struct upp_err *err) UPP_MUST_CHECK;

struct wa_planning {
    uint32_t max_steps, max_replans, max_parallel;
    uint32_t max_iterations; /* 0: not set */
    bool no_replan;
    struct upp_str schema;
};

enum { WA_HANDED_BACK = 2 };

/* The strategy's private state. */
struct wa_own {
    uint64_t replans;
    uint64_t code; /* enum upp_code: why a new plan is needed; 0: it is not */
    struct upp_str why;
    struct wa_pair {
        struct upp_str step;
        struct wb_uuid branch;
    } * wave; /* concurrent steps that are not adopted yet */
    size_t n_wave;
};
int wa_own_store(struct weft_run *run, const struct wa_own *own, struct upp_err *err) UPP_MUST_CHECK;

/* Sets metadata.planStepId; empty: removes it. */
int wa_plan_at(struct weft_run *run, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;

/* Finds a step by id; NULL: none. Whether all steps after it have ended. Whether all steps are completed. */
struct wa_step *wa_plan_step(struct wa_plan *plan, struct upp_str id);
bool wa_plan_last(const struct wa_plan *plan, const struct wa_step *step);
bool wa_plan_done(const struct wa_plan *plan);

/* Executes the wave of the private state. 1: the run ends. */
WEFT_SUSPENDS int wa_plan_wave(struct weft_run *run, const struct wa_planning *how, struct wa_own *own,
                               struct wa_plan *plan, struct upp_err *err) UPP_MUST_CHECK;

/* Calls the model and its tools until the step is done. 0: it is done. WA_HANDED_BACK: its calls go back to the caller
 * of the run. `last`: this step produces the run's structured output. */
WEFT_SUSPENDS int wa_step_cycles(struct weft_run *run, const struct wa_step *step, uint32_t max_iterations, bool last,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* True if the error fails the step, not the run. */
bool wa_step_failed(int r);

/* "step:ID", or "CYCLE/step:ID" from the second cycle on, in memory of the run. NULL: out of memory. */
const char *wa_step_phase(struct weft_run *run, struct upp_str id, unsigned cycle);
