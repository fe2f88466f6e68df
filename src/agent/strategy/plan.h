/* agent/strategy/plan.h — plans: reading what a model says, keeping it in the state of a run, carrying out steps.
 *
 * A plan is kept in topological order: a step stands after all that it depends on. Steps that are completed come first
 * and stay when there is a new plan.
 */
#ifndef WA_PLAN_H
#define WA_PLAN_H

#include <weft/execution.h>

#include "base/buf.h"
#include "run/strategy.h"

enum wa_status { WA_PENDING = 0, WA_IN_PROGRESS, WA_COMPLETED, WA_FAILED };

struct wa_step {
    struct upp_str id, description;
    struct upp_str tool;  /* no text: none */
    uint32_t      *after; /* steps of the same plan by their place, all smaller than its own */
    uint32_t       n_after;
    uint8_t        status; /* enum wa_status */
};

struct wa_plan {
    struct wa_step *steps;
    size_t          n;
};

enum { WA_PLAN_STEPS = 4096, WA_ID_BYTES = 256 };

extern const struct upp_str wa_plan_schema; /* the default */

/* What the model said: {"steps": [{id, description, tool?, dependsOn?}]}. `done` is the plan before (all zero: none),
 * whose completed steps are kept and may be named in dependsOn; a step of the same id as one of them is that one. Keeps
 * the first `max` new ones and sets *cut where there were more. -UPP_EPROTO: it is no plan, and err says why. */
struct wa_plan_reading {
    const struct wa_plan *done;
    const struct wr_tool *tools;
    size_t                n_tools, max;
};
int wa_plan_read(struct wb_arena *a, struct upp_str json, const struct wa_plan_reading *how, struct wa_plan *ret,
                 bool *cut, struct upp_err *err) UPP_MUST_CHECK;

/* The widest {...} of a text; no text: there is none. */
struct upp_str wa_plan_find(struct upp_str text);

/* As in state.plan, and back; no text is a plan without steps. */
int wa_plan_write(const struct wa_plan *p, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int wa_plan_load(struct wb_arena *a, struct upp_str json, struct wa_plan *ret, struct upp_err *err) UPP_MUST_CHECK;
int wa_plan_keep(struct weft_run *run, const struct wa_plan *p, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Carrying out -------------------------------------------------------------------------------------------- */

struct wa_planning {
    uint32_t       max_steps, max_replans, max_parallel;
    uint32_t       max_iterations; /* 0: not said */
    bool           no_replan;
    struct upp_str schema;
};

enum { WA_HANDED_BACK = 2 };

/* The private value of the strategy. */
struct wa_own {
    uint64_t       replans;
    uint64_t       code; /* enum upp_code: why a new plan is needed; 0: it is not */
    struct upp_str why;
    struct wa_pair {
        struct upp_str step;
        struct wb_uuid branch;
    } * wave; /* steps that are done at the same time, and not adopted yet */
    size_t n_wave;
};
int wa_own_load(struct weft_run *run, struct wa_own *ret, struct upp_err *err) UPP_MUST_CHECK;
int wa_own_keep(struct weft_run *run, const struct wa_own *own, struct upp_err *err) UPP_MUST_CHECK;

/* metadata.planStepId; no text: none. */
int wa_plan_at(struct weft_run *run, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;

/* By id; NULL: there is none. Is no step after it still to be done? Are all completed? */
struct wa_step *wa_plan_step(struct wa_plan *plan, struct upp_str id);
bool            wa_plan_last(const struct wa_plan *plan, const struct wa_step *step);
bool            wa_plan_done(const struct wa_plan *plan);

/* Carries out the wave of the private value. 1: it is enough. */
WEFT_SUSPENDS int wa_plan_wave(struct weft_run *run, const struct wa_planning *how, struct wa_own *own,
                               struct wa_plan *plan, struct upp_err *err) UPP_MUST_CHECK;

/* Asks and runs tools until the step is done. 0: it is. WA_HANDED_BACK: its calls are for whoever started the run.
 * `last`: the run's structured answer comes of it. */
WEFT_SUSPENDS int wa_step_cycles(struct weft_run *run, const struct wa_step *step, uint32_t max_iterations, bool last,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Is it the step that failed, and not the run? */
bool wa_step_failed(int r);

/* "step:ID", or "CYCLE/step:ID" from the second one on, in memory of the run. NULL: no memory. */
const char *wa_step_phase(struct weft_run *run, struct upp_str id, unsigned cycle);

#endif
