/* agent/strategy/plan_wave.c — executes independent steps concurrently.
 *
 * Each step of a wave works in a branch of the run (run/strategy.h), whose id is in the private state before it begins.
 * When all have ended, the run adopts them in plan order, each as one step. Hooks are called one at a time:
 * on_step_start when the wave begins, on_act and on_observe as they happen, on_step_end when a step is adopted.
 */
#include "agent/strategy/plan.h"

/* Serialises the calls of hooks. */
struct hook_lock {
    bool locked;
    struct weft_cond unlocked;
};

struct wave_step {
    struct weft_run *run; /* the run with the plan */
    struct wa_step *step;
    struct hook_lock *hook_lock;
    uint32_t max_iterations;
    uint32_t ordinal; /* number of the run's step that it will become */
    bool last;
    struct weft_strategy strategy;
    struct weft_hooks hooks;
};

static WEFT_SUSPENDS int in_branch(struct weft_run *branch, struct upp_err *err)
{
    const struct wave_step *d = branch->opts;
    return wa_step_cycles(branch, d->step, d->max_iterations, d->last, err);
}

static WEFT_SUSPENDS int lock_hooks(struct wave_step *d, struct weft_run *branch, struct upp_err *err)
{
    while (d->hook_lock->locked) {
        int r = weft_cond_wait(&d->hook_lock->unlocked, err);
        if (r < 0)
            return r;
    }
    int r = wa_plan_at(d->run, d->step->id, err);
    d->hook_lock->locked = r >= 0;
    if (r >= 0)
        wr_branch_speaks(d->run, branch);
    return r;
}

static void unlock_hooks(struct wave_step *d)
{
    d->hook_lock->locked = false;
    wr_branch_speaks(d->run, NULL);
    weft_cond_signal(&d->hook_lock->unlocked);
}

static WEFT_SUSPENDS int on_act(void *arg, struct weft_run *branch, uint32_t step, const struct upp_message *calls,
                                struct upp_err *err)
{
    struct wave_step *d = arg;
    const struct weft_hooks *h = d->run->hooks;
    (void)step;
    int r = lock_hooks(d, branch, err);
    if (r < 0)
        return r;
    r = h->on_act(h->arg, d->run, d->ordinal, calls, err);
    unlock_hooks(d);
    return r;
}

static WEFT_SUSPENDS int on_observe(void *arg, struct weft_run *branch, uint32_t step,
                                    const struct upp_message *results, struct upp_err *err)
{
    struct wave_step *d = arg;
    const struct weft_hooks *h = d->run->hooks;
    (void)step;
    int r = lock_hooks(d, branch, err);
    if (r < 0)
        return r;
    r = h->on_observe(h->arg, d->run, d->ordinal, results, err);
    unlock_hooks(d);
    return r;
}

/* Called once per step: if the wave is entered again, steps that were announced have had it. */
static WEFT_SUSPENDS int on_start(struct wave_step *d, const struct wr_branch *b, struct upp_err *err)
{
    const struct weft_hooks *h = d->run->hooks;
    int r = wr_branch_known(d->run, b, err);
    if (r != 0)
        return WB_MIN(r, 0);
    r = wa_plan_at(d->run, d->step->id, err);
    return r < 0 || !h || !h->on_step_start ? r : h->on_step_start(h->arg, d->run, d->ordinal, err);
}

struct wave {
    struct weft_run *run;
    const struct wa_planning *how;
    struct wa_own *own;
    struct wa_plan *plan;
    struct hook_lock hook_lock;
    struct wave_step *steps;
    struct wr_branch *branches;
    size_t n;
};

static void wave_done(struct wave *w)
{
    if (w->branches)
        wr_branches_done(w->branches, w->n);
}

static int prepare(struct wave *w, size_t i, struct upp_err *err)
{
    struct wave_step *d = &w->steps[i];
    const struct weft_hooks *h = w->run->hooks;
    struct wa_step *s = wa_plan_step(w->plan, w->own->wave[i].step);
    if (!s)
        return upp_fail(err, UPP_ESTORE, "the plan has no step '%.*s' any more", UPP_FMT(w->own->wave[i].step));
    *d = (struct wave_step){.run = w->run,
                            .step = s,
                            .hook_lock = &w->hook_lock,
                            .max_iterations = w->how->max_iterations,
                            .ordinal = w->run->state.step + 1 + (uint32_t)i,
                            .last = wa_plan_last(w->plan, s)};
    d->strategy = (struct weft_strategy){.name = "plan step", .execute = in_branch, .opts = d};
    d->hooks = (struct weft_hooks){
        .arg = d, .on_act = h && h->on_act ? on_act : NULL, .on_observe = h && h->on_observe ? on_observe : NULL};
    w->branches[i] = (struct wr_branch){.id = w->own->wave[i].branch, .strategy = &d->strategy, .hooks = &d->hooks};
    const char *phase = wa_step_phase(w->run, s->id, 1);
    w->branches[i].name = phase;
    return phase ? 0 : wb_arena_check(wr_memory(w->run), err);
}

/* Records the result of a step in the state. */
static int record_result(struct wave *w, size_t i, struct upp_err *err)
{
    struct wr_branch *b = &w->branches[i];
    struct wa_step *s = w->steps[i].step;
    s->status = b->result < 0 ? WA_FAILED : WA_COMPLETED;
    w->own->n_wave--;
    w->own->wave++;
    if (b->result < 0 && !w->own->code) {
        (void)upp_wrap(&b->why, b->result, "step '%.*s' of the plan", UPP_FMT(s->id));
        w->own->code = (uint64_t)b->why.code;
        w->own->why = wb_arena_dup(wr_memory(w->run), wb_cstr(b->why.msg));
    }
    if (wa_plan_done(w->plan))
        wr_done(w->run);
    int r = wa_own_store(w->run, w->own, err);
    return r < 0 ? r : wa_plan_store(w->run, w->plan, err);
}

/* Adopts the remaining steps, each as a whole. 1: the run ends. */
static WEFT_SUSPENDS int adopt(struct wave *w, struct upp_err *err)
{
    int ends = 0;
    for (size_t i = 0; i < w->n; i++) {
        struct wr_branch *b = &w->branches[i];
        if (b->result < 0 && !wa_step_failed(b->result)) {
            if (err)
                *err = b->why;
            return b->result;
        }
        int r = wa_plan_at(w->run, w->steps[i].step->id, err);
        if (r >= 0)
            r = wr_branch_adopt(w->run, b, err);
        if (r >= 0)
            r = record_result(w, i, err);
        if (r >= 0)
            r = weft_run_step_end(w->run, err);
        if (r < 0)
            return r;
        ends |= r; /* adopt the rest of the wave before the run ends */
    }
    return ends;
}

int wa_plan_wave(struct weft_run *run, const struct wa_planning *how, struct wa_own *own, struct wa_plan *plan,
                 struct upp_err *err)
{
    WB_CLEANUP(wave_done) struct wave w = {.run = run, .how = how, .own = own, .plan = plan, .n = own->n_wave};
    int r = 0;
    w.steps = wb_new_n(wr_memory(run), struct wave_step, w.n);
    w.branches = wb_new_n(wr_memory(run), struct wr_branch, w.n);
    if (!w.steps || !w.branches)
        return wb_arena_check(wr_memory(run), err);
    for (size_t i = 0; r >= 0 && i < w.n; i++)
        r = prepare(&w, i, err);
    for (size_t i = 0; r >= 0 && i < w.n; i++)
        r = on_start(&w.steps[i], &w.branches[i], err);
    if (r >= 0)
        r = wr_branches_run(run, w.branches, w.n, err);
    return r < 0 ? r : adopt(&w, err);
}
