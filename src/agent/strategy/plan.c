/* agent/strategy/plan.c — UAP-5.4: makes a plan, then executes its steps.
 *
 * Planning is a step of the run, and so is each step of the plan. Between steps everything is in the state: the plan
 * with the statuses of its steps, and in the private state the number of replans and the reason why one is needed now.
 */
#include <stdio.h>

#include "agent/strategy/plan.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "model/upp_json.h"
#include "run/ask/structure.h"

enum { PLAN_STEPS = 10, REPLANS = 3, PARALLEL = 4, PROMPT_BYTES = 4 << 20 };

/* ---- The private state ----------------------------------------------------------------------------------------- */

static int load_wave(struct weft_run *run, yyjson_val *list, struct wa_own *ret, struct upp_err *err)
{
    size_t n = yyjson_arr_size(list);
    ret->wave = n ? wb_new_n(wr_memory(run), struct wa_pair, n) : NULL;
    if (n && !ret->wave)
        return wb_arena_check(wr_memory(run), err);
    for (size_t i = 0; i < n; i++) {
        yyjson_val *v = yyjson_arr_get(list, i), *step = yyjson_arr_get(v, 0), *id = yyjson_arr_get(v, 1);
        if (!yyjson_is_str(step) || !yyjson_is_str(id) || !wb_uuid_parse(wj_text(id), &ret->wave[i].branch))
            return upp_fail(err, UPP_ESTORE, "the private state of the run has no fitting wave");
        ret->wave[ret->n_wave++].step = wj_text(step);
    }
    return 0;
}

static int load_own(struct weft_run *run, struct wa_own *ret, struct upp_err *err)
{
    struct upp_str text = run->state.own;
    yyjson_val *v, *why, *replans, *code;
    *ret = (struct wa_own){0};
    int r = text.n ? wj_read(wr_memory(run), text, NULL, &v, err) : 0;
    if (r < 0 || !text.n)
        return r;
    why = yyjson_obj_get(v, "why");
    replans = yyjson_obj_get(v, "replans");
    code = yyjson_obj_get(v, "code");
    if (!replans || !wb_str_u64(wj_text(replans), &ret->replans) || !code || !wb_str_u64(wj_text(code), &ret->code) ||
        !yyjson_is_str(why))
        return upp_fail(err, UPP_ESTORE, "the private state of the run is not that of a plan");
    ret->why = wj_text(why);
    return load_wave(run, yyjson_obj_get(v, "wave"), ret, err);
}

int wa_own_store(struct weft_run *run, const struct wa_own *own, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64 << 10);
    struct wj_writer w;
    char id[WB_UUID_TEXT + 1];
    wj_writer_init(&w, &b, err);
    wj_write_open(&w, '{');
    wj_put_u64(&w, "replans", own->replans);
    wj_put_u64(&w, "code", own->code);
    wj_put_str_or_empty(&w, "why", own->why);
    wj_put_open(&w, "wave", '[');
    for (size_t i = 0; i < own->n_wave; i++) {
        wj_write_open(&w, '[');
        wj_write_str(&w, own->wave[i].step);
        wj_write_str(&w, wb_uuid_text(own->wave[i].branch, id));
        wj_write_close(&w, ']');
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    return r < 0 ? r : weft_run_set_own(run, wb_buf_str(&b), err);
}

/* Records that a new plan is needed; if none is allowed, the run fails with this error. */
static int needs_plan(struct weft_run *run, const struct wa_own *own, const struct upp_err *why, struct upp_err *err)
{
    struct wa_own now = {.replans = own->replans, .code = (uint64_t)why->code, .why = wb_cstr(why->msg)};
    return wa_own_store(run, &now, err);
}

int wa_plan_at(struct weft_run *run, struct upp_str id, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8 * WA_ID_BYTES);
    struct wj_writer w;
    wj_writer_init(&w, &b, err);
    if (id.n)
        wj_write_str(&w, id);
    int r = wj_writer_check(&w);
    return r < 0 ? r : weft_run_set_metadata(run, UPP_STR("planStepId"), wb_buf_str(&b), err);
}

/* ---- Planning ---------------------------------------------------------------------------------------------------- */

static void prompt_tools(struct weft_run *run, struct wb_buf *out)
{
    size_t n;
    const struct wr_tool *tools = wr_tools_of(run, &n);
    wb_buf_addf(out, n ? "The tools that steps can use:\n" : "There are no tools.\n");
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(out, "- %.*s: %.*s\n", UPP_FMT(tools[i].spec.name), UPP_FMT(tools[i].spec.description));
}

static void prompt_again(const struct wa_own *own, const struct wa_plan *plan, struct wb_buf *out)
{
    size_t done = 0;
    wb_buf_addf(out, "The plan so far cannot be carried out: %.*s\n", UPP_FMT(own->why));
    for (size_t i = 0; i < plan->n; i++)
        if (plan->steps[i].status == WA_COMPLETED)
            wb_buf_addf(out, "%s- %.*s: %.*s\n", done++ ? "" : "These steps are completed and stay so:\n",
                        UPP_FMT(plan->steps[i].id), UPP_FMT(plan->steps[i].description));
    wb_buf_addf(out, "Make a new plan for the work that is left, with new ids. ");
}

static void prompt_text(struct weft_run *run, const struct wa_planning *how, const struct wa_own *own,
                        const struct wa_plan *plan, struct wb_buf *out)
{
    if (own->code)
        prompt_again(own, plan, out);
    else
        wb_buf_addf(out, "Make a plan before doing anything. ");
    wb_buf_addf(out,
                "It has at most %u steps. Each has an id, a description of what it does, the tool it uses, and in "
                "dependsOn the ids of the steps that must be done before it. Steps that do not depend on each other "
                "may be done at the same time.\n",
                how->max_steps);
    prompt_tools(run, out);
    if (!wr_can_structure(run))
        wb_buf_addf(out, "Answer with one JSON object and nothing else, as this schema says:\n%.*s\n",
                    UPP_FMT(how->schema));
}

static WEFT_SUSPENDS int ask_plan(struct weft_run *run, const struct wa_planning *how, const struct wa_own *own,
                                  const struct wa_plan *plan, struct upp_str *ret, bool *structured,
                                  struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(PROMPT_BYTES);
    prompt_text(run, how, own, plan, &text);
    int r = wb_buf_check(&text, err);
    if (r < 0)
        return r;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = wb_buf_str(&text)};
    struct upp_message prompt = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    struct weft_ask_opts opts = {.size = sizeof opts, .no_tools = true, .scaffolding = true, .prompt = &prompt};
    const struct weft_reply *reply;
    if (wr_can_structure(run))
        opts.structure = how->schema;
    r = weft_run_ask(run, "plan", &opts, &reply, err);
    if (r < 0)
        return r;
    *structured = reply->data.n;
    *ret = *structured ? reply->data : wa_plan_find(wm_message_text(wr_memory(run), reply->message));
    return wb_arena_check(wr_memory(run), err);
}

/* A structured plan fits the program's own schema. Of the built-in one wa_plan_read has checked what plans need: their
 * `tool` and `dependsOn` may be left out, which the strict schemas of providers do not know. */
static int check_plan(struct weft_run *run, const struct wa_planning *how, struct upp_str json, struct upp_err *err)
{
    struct upp_str wrong;
    if (how->schema.p == wa_plan_schema.p)
        return 0;
    int r = wr_structure_fits(wr_memory(run), how->schema, json, &wrong, err);
    return r ? r : upp_fail(err, UPP_EPROTO, "the plan does not fit its schema: %.*s", UPP_FMT(wrong));
}

/* Planning is a step of the run. An invalid plan counts as a failed one. */
static WEFT_SUSPENDS int make_plan(struct weft_run *run, const struct wa_planning *how, struct wa_own *own,
                                   const struct wa_plan *old, struct upp_err *err)
{
    struct wa_plan_reading reading = {.done = old, .max = how->max_steps};
    struct wa_plan plan;
    struct upp_str json;
    struct upp_err why = {0};
    bool structured, cut;
    reading.tools = wr_tools_of(run, &reading.n_tools);
    int r = wa_plan_at(run, (struct upp_str){0}, err);
    if (r >= 0)
        r = ask_plan(run, how, own, old, &json, &structured, err);
    if (r < 0)
        return r;
    own->replans += own->code != 0;
    r = wa_plan_read(wr_memory(run), json, &reading, &plan, &cut, &why);
    if (r >= 0 && structured)
        r = check_plan(run, how, json, &why);
    if (r == -UPP_EPROTO)
        r = needs_plan(run, own, &why, err);
    else if (r >= 0) {
        r = wa_own_store(run, &(struct wa_own){.replans = own->replans}, err);
        if (r >= 0)
            r = wa_plan_store(run, &plan, err);
        if (r >= 0 && cut)
            r = weft_run_set_metadata(run, UPP_STR("planTruncated"), UPP_STR("true"), err);
    } else if (err)
        *err = why;
    return r < 0 ? r : weft_run_step_end(run, err);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static int mark(struct weft_run *run, struct wa_plan *plan, struct wa_step *step, uint8_t status, struct upp_err *err)
{
    step->status = status;
    return wa_plan_store(run, plan, err);
}

static bool is_open(const struct wa_step *s)
{
    return s->status == WA_PENDING || s->status == WA_IN_PROGRESS;
}

/* The first open step: the plan is in topological order. NULL: all have ended. */
static struct wa_step *next_step(struct wa_plan *plan)
{
    for (size_t i = 0; i < plan->n; i++)
        if (is_open(&plan->steps[i]))
            return &plan->steps[i];
    return NULL;
}

bool wa_plan_done(const struct wa_plan *plan)
{
    size_t n = 0;
    while (n < plan->n && plan->steps[n].status == WA_COMPLETED)
        n++;
    return n == plan->n;
}

struct wa_step *wa_plan_step(struct wa_plan *plan, struct upp_str id)
{
    for (size_t i = 0; i < plan->n; i++)
        if (wb_str_eq(plan->steps[i].id, id))
            return &plan->steps[i];
    return NULL;
}

bool wa_plan_last(const struct wa_plan *plan, const struct wa_step *step)
{
    for (const struct wa_step *s = step + 1; s < plan->steps + plan->n; s++)
        if (is_open(s))
            return false;
    return true;
}

/* A failed step ends too: its output stays, and a new plan follows. */
static WEFT_SUSPENDS int step_failed(struct weft_run *run, const struct wa_own *own, const struct wa_step *step,
                                     struct upp_err *why, struct upp_err *err)
{
    (void)upp_wrap(why, -why->code, "step '%.*s' of the plan", UPP_FMT(step->id));
    int r = needs_plan(run, own, why, err);
    if (r < 0 || !wr_step_begun(run)) /* the budget ended before it began: it has no events */
        return r;
    return weft_run_step_end(run, err);
}

static WEFT_SUSPENDS int do_step(struct weft_run *run, const struct wa_planning *how, const struct wa_own *own,
                                 struct wa_plan *plan, struct wa_step *step, struct upp_err *err)
{
    struct upp_err why = {0};
    int r = wa_plan_at(run, step->id, err);
    if (r >= 0)
        r = mark(run, plan, step, WA_IN_PROGRESS, err);
    if (r < 0)
        return r;
    int done = wa_step_cycles(run, step, how->max_iterations, wa_plan_last(plan, step), &why);
    if (done < 0 && !wa_step_failed(done)) {
        if (err)
            *err = why;
        return done;
    }
    r = mark(run, plan, step, done < 0 ? WA_FAILED : WA_COMPLETED, err);
    if (r < 0)
        return r;
    if (done < 0)
        return step_failed(run, own, step, &why, err);
    if (wa_plan_done(plan))
        wr_done(run);
    return done == WA_HANDED_BACK ? done : weft_run_step_end(run, err);
}

/* ---- The strategy ------------------------------------------------------------------------------------------ */

static struct wa_planning options(const struct weft_run *run)
{
    static const struct weft_strategy_plan_opts none;
    const struct weft_strategy_plan_opts *o = run->opts ? run->opts : &none;
    return (struct wa_planning){.max_steps = o->max_plan_steps ? o->max_plan_steps : PLAN_STEPS,
                                .max_replans = o->max_replans ? o->max_replans : REPLANS,
                                .max_parallel = o->max_parallel ? o->max_parallel : PARALLEL,
                                .max_iterations = o->max_iterations,
                                .no_replan = o->no_replan,
                                .schema = o->plan_schema ? wb_cstr(o->plan_schema) : wa_plan_schema};
}

static bool is_ready(const struct wa_plan *plan, const struct wa_step *step)
{
    bool ready = step->status == WA_PENDING;
    for (uint32_t k = 0; ready && k < step->n_after; k++)
        ready = plan->steps[step->after[k]].status == WA_COMPLETED;
    return ready;
}

/* Forms a wave of all steps that are ready. With fewer than two there is none: a single step runs in the run itself. */
static WEFT_SUSPENDS int form_wave(struct weft_run *run, const struct wa_planning *how, struct wa_own *own,
                                   struct wa_plan *plan, struct upp_err *err)
{
    size_t max = wr_rounds(run, how->max_iterations) == UPP_HAND_BACK ? 1 : WB_MIN(how->max_parallel, WR_BRANCHES);
    int r = 0;
    max = WB_MIN(max, wr_steps_left(run));
    if (max < 2)
        return 0;
    own->wave = wb_new_n(wr_memory(run), struct wa_pair, max);
    if (!own->wave)
        return wb_arena_check(wr_memory(run), err);
    for (size_t i = 0; r >= 0 && i < plan->n && own->n_wave < max; i++)
        if (is_ready(plan, &plan->steps[i])) {
            own->wave[own->n_wave].step = plan->steps[i].id;
            r = wr_branch_new_id(run, &own->wave[own->n_wave++].branch, err);
        }
    if (r < 0 || own->n_wave < 2)
        return own->n_wave = 0, r;
    for (size_t i = 0; i < own->n_wave; i++)
        wa_plan_step(plan, own->wave[i].step)->status = WA_IN_PROGRESS;
    r = wa_own_store(run, own, err);
    return r < 0 ? r : wa_plan_store(run, plan, err);
}

/* One step of the run, or one wave. 0: continue. Positive: the run ends. */
static WEFT_SUSPENDS int advance(struct weft_run *run, const struct wa_planning *how, struct upp_err *err)
{
    struct wa_own own;
    struct wa_plan plan;
    int r = load_own(run, &own, err);
    if (r >= 0)
        r = wa_plan_load(wr_memory(run), run->state.plan, &plan, err);
    if (r < 0)
        return r;
    if (own.n_wave)
        return wa_plan_wave(run, how, &own, &plan, err);
    if (own.code && (how->no_replan || own.replans >= how->max_replans))
        return upp_fail(err, (enum upp_code)own.code, "%.*s", UPP_FMT(own.why));
    if (own.code || !run->state.plan.n)
        return make_plan(run, how, &own, &plan, err);
    struct wa_step *step = next_step(&plan);
    if (!step)
        return 1;
    if (step->status == WA_PENDING && how->max_parallel > 1)
        r = form_wave(run, how, &own, &plan, err);
    if (r < 0)
        return r;
    return own.n_wave ? wa_plan_wave(run, how, &own, &plan, err) : do_step(run, how, &own, &plan, step, err);
}

static WEFT_SUSPENDS int execute(struct weft_run *run, struct upp_err *err)
{
    struct wa_planning how = options(run);
    for (;;) {
        int r = advance(run, &how, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
}

const struct weft_strategy weft_strategy_plan = {.name = "plan", .execute = execute};

struct weft_strategy weft_plan_with(const struct weft_strategy_plan_opts *opts)
{
    return (struct weft_strategy){.name = "plan", .execute = execute, .opts = opts};
}
