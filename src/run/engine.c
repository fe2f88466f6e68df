/* run/engine.c — the engine itself: its table of trees, its fibers, its end. */
#include <upp/http.h>

#include "base/clock.h"
#include "base/hooks.h"
#include "model/limits.h"
#include "run/engine_state.h"
#include "run/run.h"
#include "run/engine.h"

#define HOUR_MS (UINT64_C(60) * 60 * 1000)

enum { MESSAGE = 8 << 20 /* bytes of a message of a model */ };
_Static_assert(6 * MESSAGE + WM_RESULTS_MAX < WM_ROW_MAX,
               "a row holds a message of escaped characters, and its results");

static uint32_t or_u32(uint32_t v, uint32_t otherwise)
{
    return v ? v : otherwise;
}

int wr_engine_open(struct weft_loop *loop, const struct wr_engine_opts *opts, struct wr_engine **ret,
                   struct upp_err *err)
{
    if (!opts->agent)
        return upp_fail(err, UPP_EINVALID, "an engine needs a way to find agents");
    struct wr_engine *e = wb_calloc(1, sizeof *e);
    if (!e)
        return upp_fail(err, UPP_ENOMEM, "no memory for an engine");
    /* When there is no memory, whoever reads a run must hear that it has failed, and not wait until there is. */
    int r = wb_vec_reserve(&e->failed_runs, WR_FAILED_RUNS) ? 0 : upp_fail(err, UPP_ENOMEM, "no memory for an engine");
    if (r >= 0)
        r = wb_uuid_new(&e->id, err);
    if (r >= 0)
        r = upp_http_new(NULL, &e->http, err); /* connects nothing until it is used */
    if (r < 0) {
        wb_vec_done(&e->failed_runs);
        wb_free(e);
        return r;
    }
    e->wait = wr_wait_table(e->http);
    e->loop = loop;
    e->opts = *opts;
    e->store = opts->store;
    e->opts.durability = (uint8_t)or_u32(opts->durability, WM_SYNC);
    e->opts.max_runs = or_u32(opts->max_runs, 12000);
    e->opts.max_queue = or_u32(opts->max_queue, 16);
    e->opts.max_depth = or_u32(opts->max_depth, 8);
    e->opts.max_message = opts->max_message ? opts->max_message : (size_t)MESSAGE;
    e->opts.tool_wait_ms = opts->tool_wait_ms ? opts->tool_wait_ms : 24 * HOUR_MS;
    e->opts.approval_wait_ms = opts->approval_wait_ms ? opts->approval_wait_ms : 7 * 24 * HOUR_MS;
    e->opts.provider_wait_ms = opts->provider_wait_ms ? opts->provider_wait_ms : HOUR_MS;
    e->scope.flags = WEFT_SCOPE_ISOLATED;
    e->look_at_ms = INT64_MAX;
    for (size_t i = 0; i < WR_BUCKETS; i++)
        wb_list_init(&e->trees[i]);
    *ret = e;
    return 0;
}

struct wb_uuid wr_engine_id(const struct wr_engine *e)
{
    return e->id;
}

void wr_engine_monitor(struct wr_engine *e, const struct wr_monitor *monitor)
{
    e->monitor = monitor;
}

void wr_note_run(const struct wr_run *run, enum wr_moment moment, const struct upp_err *why)
{
    const struct wr_monitor *m = run->engine->monitor;
    if (m)
        m->run(m->arg, &(struct wr_run_note){.moment = moment,
                                             .owner = &run->tree->owner,
                                             .row = &run->row,
                                             .traceparent = wr_traceparent(run),
                                             .agent_id = run->def ? run->def->id : UPP_STR(""),
                                             .why = why,
                                             .branch = run->branch});
}

struct wr_note_of wr_note_of(const struct wr_run *run)
{
    return (struct wr_note_of){&run->row, wr_traceparent(run), run->def->name, run->def->id};
}

void wr_engine_set_home(struct wr_engine *e, uint32_t homes, uint32_t home)
{
    e->opts.homes = homes;
    e->opts.home = home;
}

void wr_engine_close(struct wr_engine *e)
{
    if (!e)
        return;
    e->closing = true;
    weft_cond_broadcast(&e->look);
    weft_scope_close(&e->scope);
    for (size_t i = 0; i < WR_BUCKETS; i++) /* fibers that were cancelled before they ever ran */
        wb_list_each (l, &e->trees[i]) {
            struct wr_tree *t = wb_item(l, struct wr_tree, link);
            if (t->run)
                wr_run_free(WB_TAKE(t->run));
        }
    wb_vec_done(&e->failed_runs);
    wb_vec_done(&e->breakers);
    wr_pools_done(&e->pools);
    upp_http_free(e->http);
    wb_free(e);
}

struct wl_store *wr_engine_store(const struct wr_engine *e)
{
    return e->store;
}

size_t wr_engine_working(const struct wr_engine *e)
{
    return e->working;
}

size_t wr_engine_models_down(const struct wr_engine *e)
{
    return e->down;
}

struct wr_counts wr_engine_counts(const struct wr_engine *e)
{
    struct wr_counts c = e->counts;
    c.working = e->working;
    return c;
}

bool wr_has_model(const struct wr_engine *e, struct upp_str name)
{
    struct upp_str params;
    return e->opts.model && e->opts.model(e->opts.arg, name, &params);
}

const struct wr_agent_def *wr_agent(const struct wr_engine *e, struct upp_str name)
{
    return e->opts.agent(e->opts.arg, name);
}

const struct wr_agent_def *wr_agent_at(const struct wr_engine *e, size_t i)
{
    return e->opts.agent_at ? e->opts.agent_at(e->opts.arg, i) : NULL;
}

bool wr_model_at(const struct wr_engine *e, size_t i, struct upp_str *name)
{
    return e->opts.model_at && e->opts.model_at(e->opts.arg, i, name);
}

void wr_guess_agent(const struct wr_engine *e, struct upp_str name, struct wb_guess *ret)
{
    const struct wr_agent_def *def;
    for (size_t i = 0; (def = wr_agent_at(e, i)); i++)
        wb_guess(ret, name, def->name);
}

int wr_no_agent(const struct wr_engine *e, struct upp_str name, struct upp_err *err)
{
    struct wb_guess guess = {0};
    wr_guess_agent(e, name, &guess);
    return upp_fail(err, UPP_ENOTFOUND, "no agent '%.*s'%s", UPP_FMT(name), wb_guessed(&guess));
}

void wr_guess_model(const struct wr_engine *e, struct upp_str name, struct wb_guess *ret)
{
    struct upp_str right;
    for (size_t i = 0; wr_model_at(e, i, &right); i++)
        wb_guess(ret, name, right);
}

struct upp_str wr_model_of(const struct wr_engine *e, const struct wr_agent_def *def)
{
    struct upp_str name, params;
    for (size_t i = 0; def->model && e->opts.model && wr_model_at(e, i, &name); i++)
        if (e->opts.model(e->opts.arg, name, &params) == def->model)
            return name;
    return (struct upp_str){NULL, 0};
}
