/* run/run.c — runs in memory: create, free, pool; their agent and system prompt; what strategies see of them. */
#include "base/hooks.h"
#include "json/value.h"
#include "run/engine_state.h"
#include "run/ask/open_message.h"
#include "run/run.h"
#include "run/settings/settings.h"
#include "run/strategy.h"

/* ---- Settings --------------------------------------------------------------------------------------------------- */

/* The agent's definition, with what the request that began the run has set (run/settings/settings.h). */
static void use_settings(struct wr_run *run, struct wr_settings *s)
{
    run->settings = s;
    run->def = &s->def;
    run->model = s->model;
    run->params = s->params;
    run->system = s->system;
    run->pub.model = s->model;
    run->pub.has_tools = s->def.n_tools > 0;
}

/* Is the agent the one that the request named? Its name may be an id. */
static bool is_named(const struct wr_run *run, struct upp_str agent)
{
    return wb_str_eq(agent, run->row.agent) || (!run->held->base && wr_agent(run->engine, run->row.agent) == run->held);
}

static int apply_options(struct wr_run *run, struct upp_str agent, struct upp_err *err)
{
    struct wr_settings *s = NULL;
    yyjson_val *v;
    run->system = run->def ? run->def->system : (struct upp_str){0};
    if (!run->def || (!run->row.options.n && (run->row.depth || !run->def->base)))
        return 0;
    int r = wr_options_read(&run->memory, run->row.options, &v, err);
    if (r < 0)
        return r;
    uint64_t most = wr_option_number(v, WR_AGENT_MESSAGES);
    run->traceparent = wj_text_at(v, "traceparent");
    run->names_calls = yyjson_is_true(yyjson_obj_get(v, WR_CALL_IDS));
    run->max_agent_messages = (uint32_t)WB_MIN(most, UINT32_MAX);
    run->only_tools = yyjson_obj_get(v, WR_ONLY_TOOLS); /* these two also hold for an agent that takes over */
    run->readonly = yyjson_is_true(yyjson_obj_get(v, WR_READONLY));
    if (!is_named(run, agent))
        return 0;
    r = wr_settings_make(run->engine, run->def, run->row.agent, v, &run->memory, &s, err);
    if (r >= 0)
        use_settings(run, s);
    return r;
}

struct upp_str wr_traceparent(const struct wr_run *run)
{
    while (run->parent)
        run = run->parent;
    return run->traceparent;
}

bool wr_names_calls(const struct wr_run *run)
{
    while (run->parent)
        run = run->parent;
    return run->names_calls;
}

/* ---- Create, free, pool -------------------------------------------------------------------------------------- */

/* A run from the free list keeps its memory and the capacity of its lists. */
static struct wr_run *take_run(struct wr_engine *e)
{
    struct wr_run *run = e->pools.runs;
    if (!run)
        return wb_calloc(1, sizeof *run);
    e->pools.runs = run->next_free;
    e->pools.n_runs--;
    memset(run, 0, offsetof(struct wr_run, memory));
    run->journal.replies.n = run->journal.prompted.n = run->journal.calls.n = 0;
    run->journal.pending.n = run->path.n = run->mine.n = run->reasoning.n = run->grants.n = run->speakers.n = 0;
    run->executions.n = run->cycles.n = run->positions.n = run->held_events.n = run->noted.n = 0;
    run->draft = (struct wr_draft){.entries = {run->draft.entries.p, 0, run->draft.entries.cap},
                                   .records = {run->draft.records.p, 0, run->draft.records.cap}};
    return run;
}

static void undefine(struct wr_run *run)
{
    const struct wr_engine_opts *o = &run->engine->opts;
    if (run->held && o->hold)
        o->hold(o->arg, run->held, false);
    if (!run->branch) /* else they are its parent's */
        wr_settings_done(run->settings);
    run->def = NULL;
    run->held = NULL;
    run->settings = NULL;
}

/* Sets the agent's current definition. An agent without a model has that of its caller. Params are an agent's own; in a
 * configuration they belong to the model, and are inherited with it. */
static void define(struct wr_run *run, const struct wr_agent_def *def)
{
    undefine(run);
    run->def = def;
    run->held = def;
    if (!def)
        return;
    if (run->engine->opts.hold)
        run->engine->opts.hold(run->engine->opts.arg, def, true);
    bool own = def->model || !run->parent;
    run->model = own ? def->model : run->parent->model;
    run->params = own || def->agent ? def->params : run->parent->params;
    run->pub.agent = def->agent;
    run->pub.opts = def->strategy->opts;
    run->pub.hooks = def->hooks;
    run->pub.has_tools = def->n_tools > 0;
    run->pub.model = run->model;
    run->pub.signal = &run->engine->wait;
}

int wr_become(struct wr_run *run, struct upp_str agent, struct upp_err *err)
{
    struct wm_run row = run->row;
    row.agent = agent;
    define(run, wr_agent(run->engine, agent));
    if (!run->def)
        return upp_fail(err, UPP_ENOTFOUND, "agent '%.*s' is not defined any more", UPP_FMT(agent));
    int r = apply_options(run, agent, err);
    if (r < 0)
        return r;
    run->source = wr_tree_source(run->tree, &row, run->def->id);
    return run->source ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for an agent");
}

/* A run whose settings cannot be honoured any more, after a change of the configuration, can still be cancelled, and
 * fails when it works. One that is new is refused (run/start.c). */
int wr_run_unfit(struct wr_run *run, const struct upp_err *why, struct upp_err *err)
{
    struct upp_err *own = why->code == UPP_ENOMEM ? NULL : wb_new(&run->memory, struct upp_err);
    if (!own)
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    *own = *why;
    undefine(run);
    run->unfit = own;
    return 0;
}

static int apply_settings(struct wr_run *run, struct upp_err *err)
{
    struct upp_err why = {0};
    int r = wb_arena_check(&run->memory, err);
    if (r < 0)
        return r;
    r = apply_options(run, run->row.agent, &why);
    return r < 0 ? wr_run_unfit(run, &why, err) : 0;
}

int wr_run_new(struct wr_engine *e, struct wr_tree *t, struct wr_run *parent, const struct wm_run *row,
               struct wr_run **ret, struct upp_err *err)
{
    struct wr_run *run = take_run(e);
    if (!run)
        return upp_fail(err, UPP_ENOMEM, "no memory for a run");
    t->refs++;
    run->engine = e;
    run->tree = t;
    run->parent = parent;
    run->memory.max = WR_RUN_MEMORY;
    run->row = *row;
    run->row.call = wb_arena_dup(&run->memory, row->call);
    run->row.options = wb_arena_dup(&run->memory, row->options);
    run->row.error = wb_arena_dup(&run->memory, row->error);
    run->pub.depth = row->depth;
    run->pub.parent = parent ? &parent->pub : NULL;
    define(run, wr_agent(e, row->agent));
    int r = apply_settings(run, err);
    if (r >= 0)
        run->source = wr_tree_source(t, row, run->def ? run->def->id : UPP_STR(""));
    if (r >= 0 && !run->source)
        r = upp_fail(err, UPP_ENOMEM, "no memory for a run");
    if (r >= 0)
        run->row.agent = run->source->from.agent; /* the tree's copy outlives the run */
    if (r >= 0 && run->settings && run->settings->def.base)
        run->settings->def.name = run->row.agent;
    if (r < 0) {
        wr_run_free(run);
        return r;
    }
    *ret = run;
    return 0;
}

static void run_done(struct wr_run *run)
{
    wb_vec_done(&run->draft.entries);
    wb_vec_done(&run->draft.records);
    wb_vec_done(&run->path);
    wb_vec_done(&run->mine);
    wb_vec_done(&run->positions);
    wb_vec_done(&run->held_events);
    wb_vec_done(&run->reasoning);
    wb_vec_done(&run->grants);
    wb_vec_done(&run->noted);
    wb_vec_done(&run->speakers);
    wb_vec_done(&run->executions);
    wb_vec_done(&run->cycles);
    wb_vec_done(&run->journal.replies);
    wb_vec_done(&run->journal.prompted);
    wb_vec_done(&run->journal.calls);
    wb_vec_done(&run->journal.pending);
    wr_ids_done(&run->ids);
    wb_arena_done(&run->memory);
    wb_free(run);
}

enum { POOL_LIST_CAP = 64 };

static bool fits_pool(const struct wr_run *run)
{
    return run->engine->pools.n_runs < WR_POOL_ITEMS && run->memory.used <= WR_POOL_BYTES &&
           run->path.cap <= POOL_LIST_CAP && run->positions.cap <= POOL_LIST_CAP &&
           run->held_events.cap <= POOL_LIST_CAP && run->noted.cap <= POOL_LIST_CAP && run->mine.cap <= POOL_LIST_CAP &&
           run->executions.cap <= POOL_LIST_CAP && run->journal.calls.cap <= POOL_LIST_CAP &&
           run->journal.pending.cap <= POOL_LIST_CAP && run->ids.size <= POOL_LIST_CAP &&
           run->draft.entries.cap <= POOL_LIST_CAP && run->draft.records.cap <= POOL_LIST_CAP;
}

void wr_run_free(struct wr_run *run)
{
    if (!run)
        return;
    struct wr_tree *t = run->tree;
    undefine(run);
    if (run->draft.open) {
        wr_readers_leave(t, run->draft.open, true);
        if (t->open == run->draft.open)
            t->open = NULL;
    }
    wr_open_free(run->engine, run->draft.open);
    upp_turn_free(run->turn);
    if (fits_pool(run)) {
        struct wr_pools *s = &run->engine->pools;
        if (run->memory.used || run->memory.failed) /* else the turn took it */
            wb_arena_reset(&run->memory);
        wr_ids_clear(&run->ids);
        run->next_free = s->runs;
        s->runs = run;
        s->n_runs++;
    } else
        run_done(run);
    wr_tree_unref(t);
}

struct wb_arena wr_arena_take(struct wr_pools *s, size_t max)
{
    struct wb_arena a = {0};
    if (s->n_arenas)
        a = s->arenas[--s->n_arenas];
    a.max = max;
    return a;
}

void wr_arena_give(struct wr_pools *s, struct wb_arena *a)
{
    if (!a->chunks)
        return;
    if (s->n_arenas == WR_POOL_CALLS || a->used > WR_POOL_BYTES) {
        wb_arena_done(a);
        return;
    }
    wb_arena_reset(a);
    s->arenas[s->n_arenas++] = *a;
}

void wr_value_take(struct wr_pools *s, struct upp_value *ret)
{
    *ret = s->n_values ? s->values[--s->n_values] : (struct upp_value)UPP__VALUE;
}

void wr_value_give(struct wr_pools *s, struct upp_value *v)
{
    if (s->n_values == WR_POOL_CALLS || v->json.cap + v->spare.cap > WR_POOL_BYTES) {
        upp__value_done(v);
        return;
    }
    wb_buf_clear(&v->json);
    wb_buf_clear(&v->spare);
    v->set = v->is_error = false;
    s->values[s->n_values++] = *v;
}

void wr_pools_done(struct wr_pools *s)
{
    upp__room_done(&s->room);
    while (s->n_values)
        upp__value_done(&s->values[--s->n_values]);
    while (s->n_arenas)
        wb_arena_done(&s->arenas[--s->n_arenas]);
    for (struct wr_run *run; (run = s->runs);) {
        s->runs = run->next_free;
        run_done(run);
    }
    for (struct wr_tree *t; (t = s->trees);) {
        s->trees = t->next_free;
        wb_arena_done(&t->memory);
        wb_free(t);
    }
    for (struct wr_open *o; (o = s->opens);) {
        s->opens = o->next_free;
        wr_open_done(o);
    }
}

void wr_run_freep(struct wr_run **run)
{
    wr_run_free(*run);
}

/* ---- For strategies ---------------------------------------------------------------------------------------------- */

enum { ROUNDS = 10 };

struct wb_arena *wr_memory(struct weft_run *run)
{
    return &wr_of(run)->memory;
}

const struct wr_tool *wr_tools_of(struct weft_run *run, size_t *n)
{
    const struct wr_agent_def *def = wr_of(run)->def;
    *n = def->n_tools;
    return def->tools;
}

bool wr_can_structure(struct weft_run *run)
{
    const struct upp_model *m = wr_of(run)->model;
    return m && (!m->can || (m->can & UPP_CAN_STRUCTURE));
}

bool wr_step_begun(struct weft_run *run)
{
    const struct wr_run *r = wr_of(run);
    return r->step.dirty || r->step.start_reported;
}

int wr_rounds(struct weft_run *run, uint32_t own)
{
    const struct upp_tool_strategy *s = wr_of(run)->def->tool_strategy;
    if (own)
        return own > INT_MAX ? INT_MAX : (int)own;
    if (s && s->max_iterations < 0)
        return UPP_HAND_BACK;
    return s && s->max_iterations ? s->max_iterations : ROUNDS;
}

int wr_too_many_rounds(struct weft_run *run, int max, struct upp_err *err)
{
    const struct upp_tool_strategy *s = wr_of(run)->def->tool_strategy;
    int r = s && s->on_max_iterations ? s->on_max_iterations(s->arg, max, err) : 0;
    return r < 0 ? r : upp_fail(err, UPP_EINVALID, "Tool execution exceeded maximum iterations (%d)", max);
}
