/* agent/def.c — compiles an agent's options into the engine's form.
 *
 * Done once, when the agent first runs, for it and all agents that its tools and handoffs lead to: an error in any of
 * them is reported before anything runs. An agent may be its own sub-agent: the depth of runs is limited, and at the
 * limit the model receives an error result.
 */
#include <upp/schema.h>

#include "agent/agent.h"
#include "agent/middleware/middleware.h"
#include "base/vec.h"
#include "base/vec_add.h"
#include "json/read.h"

enum { DEF_BYTES = 64 << 20, TOOLS = 4096 };

/* The agents of one compilation, in the order of discovery. */
struct batch {
    WB_VEC(struct weft_agent *) list;
};

int wa_object(const char *what, const char *json, struct upp_str *ret, struct upp_err *err)
{
    struct wj_syntax seen;
    *ret = wb_str_trim(wb_cstr(json));
    if (!json)
        return 0;
    int r = wj_syntax(*ret, WJ_MAX_DEPTH, &seen, err);
    if (r < 0)
        return upp_wrap(err, r, "%s", what);
    return ret->p[0] == '{' ? 0 : upp_fail(err, UPP_EINVALID, "%s: expected an object", what);
}

/* Adds an agent to the batch, unless it is compiled or queued already. */
static int enqueue(struct batch *b, const struct weft_agent *of, const struct weft_agent *subagent, struct upp_err *err)
{
    union { /* tools refer to agents as const */
        const struct weft_agent *in;
        struct weft_agent *out;
    } a = {.in = subagent};
    if (subagent->home != of->home)
        return upp_fail(err, UPP_EINVALID, "agent '%.*s' lives in another runtime", UPP_FMT(wa_agent_name(subagent)));
    if (subagent->def || subagent->queued)
        return 0;
    int r = wb_vec_add(&b->list, a.out, WA_AGENTS, "agents below one", err);
    if (r >= 0)
        a.out->queued = true;
    return r;
}

/* The agents to which it may hand over; each also becomes a tool. */
static int make_handoffs(const struct weft_agent *a, struct wa_def *d, struct upp_err *err)
{
    struct wr_handoff *list = a->n_handoff ? wb_new_n(&d->arena, struct wr_handoff, a->n_handoff) : NULL;
    for (size_t i = 0; list && i < a->n_handoff; i++) {
        const struct weft_handoff *h = &a->handoff[i];
        if (!h->to)
            return upp_fail(err, UPP_EINVALID, "handoff %zu is to nobody", i);
        list[i] = (struct wr_handoff){.agent = wa_agent_name(h->to),
                                      .title = wa_agent_name(h->to),
                                      .prompt = wb_cstr(h->prompt),
                                      .on_mention = h->on_mention};
    }
    d->pub.handoffs = list;
    d->pub.n_handoffs = list ? a->n_handoff : 0;
    return wb_arena_check(&d->arena, err);
}

static int check_name(const struct wa_def *d, size_t n, struct upp_err *err)
{
    struct upp_str name = d->tools[n].spec.name;
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(d->tools[i].spec.name, name))
            return upp_fail(err, UPP_EINVALID, "there are two tools called '%.*s'", UPP_FMT(name));
    return 0;
}

/* Its own tools, then one for each agent to which it may hand over. */
static int make_tools(struct batch *b, struct weft_agent *a, struct wa_def *d, struct upp_err *err)
{
    struct wa_functions own = {.provider = {.ops = &wa_functions_ops, .name = wa_agent_name(a)}, .agent = a};
    size_t n, handoffs = a->n_handoff;
    if (handoffs > TOOLS || a->tools.n > TOOLS - handoffs)
        return upp_fail(err, UPP_ELIMIT, "more than %d tools", TOOLS);
    int r = own.provider.ops->list(&own.provider, &d->arena, &d->tools, &n, err);
    if (r < 0)
        return r;
    d->pub.tools = d->tools;
    d->pub.n_tools = n;
    if (handoffs) {
        d->tools = wb_new_n(&d->arena, struct wr_tool, n + handoffs);
        if (!d->tools)
            return wb_arena_check(&d->arena, err);
        memcpy(d->tools, d->pub.tools, n * sizeof *d->tools);
        d->pub.tools = d->tools;
    }
    for (size_t i = 0; r >= 0 && i < n + handoffs; i++) {
        const struct weft_agent *other = i < n ? wa_tool_agent(&a->tools.list[i]) : a->handoff[i - n].to;
        if (i >= n) {
            r = wa_handoff_make(&d->arena, other, &d->tools[i], err);
            d->pub.n_tools = i + 1; /* it may own a schema also if it failed */
        }
        if (r >= 0)
            r = check_name(d, i, err);
        if (r >= 0 && other)
            r = enqueue(b, a, other, err);
    }
    return r;
}

static int fail_unsupported(const struct upp_model *m, const char *what, struct upp_err *err)
{
    return upp_fail(err, UPP_EINVALID, "model '%.*s' does not support %s", UPP_FMT(m->name), what);
}

/* Rejects features that the model lacks before anything is sent. */
static int check_model(const struct weft_agent *a, const struct wa_def *d, struct upp_err *err)
{
    const struct upp_model *m = a->model;
    if (!m || !m->can)
        return 0;
    if (d->pub.n_tools && !(m->can & UPP_CAN_TOOLS))
        return fail_unsupported(m, "tools", err);
    return a->structure && !(m->can & UPP_CAN_STRUCTURE) ? fail_unsupported(m, "structured output", err) : 0;
}

/* A schema that responses are checked against must be one that we can check. */
static int check_structure(struct wa_def *d, struct upp_err *err)
{
    UPP_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    if (!d->pub.check_structure || !d->pub.structure.n)
        return 0;
    int r = upp_schema_new(d->pub.structure, &s, err);
    return r < 0 ? upp_wrap(err, r, "structure") : 0;
}

static bool is_built_in(const struct weft_strategy *s)
{
    return !s->stream && (s->execute == weft_strategy_loop.execute || s->execute == weft_strategy_react.execute ||
                          s->execute == weft_strategy_plan.execute);
}

/* Does a function of the program get its runs, and so what weft_run_history returns? Middleware is looked at by
 * itself. */
static bool gets_runs(const struct weft_agent *a, const struct wa_def *d)
{
    if (a->hooks || a->tool_strategy || a->rights || !is_built_in(&a->execution))
        return true;
    for (size_t i = 0; i < d->pub.n_tools; i++)
        if (d->tools[i].kind == WR_TOOL_FUNCTION)
            return true;
    return false;
}

static int compile(struct batch *b, struct weft_agent *a, struct upp_err *err)
{
    struct wb_arena arena = WB_ARENA(DEF_BYTES);
    struct wa_def *d = wb_new(&arena, struct wa_def);
    if (!d)
        return wb_arena_check(&arena, err);
    d->arena = arena;
    a->def = d;
    d->pub.name = wa_agent_name(a);
    d->pub.id = wa_agent_id(a);
    d->pub.model = a->model;
    d->pub.system = wb_cstr(a->system);
    d->pub.strategy = &a->execution;
    d->pub.hooks = a->hooks;
    d->pub.tool_strategy = a->tool_strategy;
    d->pub.rights = a->rights;
    d->pub.check_structure = a->check_structure;
    d->pub.agent = a;
    int r = wa_home_index(a->home, a, err);
    if (r >= 0)
        r = wa_object("params", a->params, &d->pub.params, err);
    if (r >= 0)
        r = wa_object("structure", a->structure, &d->pub.structure, err);
    if (r >= 0)
        r = check_structure(d, err);
    if (r >= 0)
        r = make_handoffs(a, d, err);
    if (r >= 0)
        r = make_tools(b, a, d, err);
    d->pub.reads_history = gets_runs(a, d);
    if (r >= 0)
        r = check_model(a, d, err);
    if (r >= 0)
        r = wa_middleware_new(a->middleware, a->n_middleware, a, &d->pub.middleware, err);
    return r < 0 ? upp_wrap(err, r, "agent '%.*s'", UPP_FMT(wa_agent_name(a))) : 0;
}

void wa_def_free(struct wa_def *d)
{
    if (!d)
        return;
    for (size_t i = 0; i < d->pub.n_tools; i++)
        wa_tool_done(&d->pub.tools[i]);
    wa_middleware_free(d->pub.middleware);
    struct wb_arena arena = d->arena;
    wb_arena_done(&arena);
}

int wa_agent_def(struct weft_agent *a, const struct wr_agent_def **ret, struct upp_err *err)
{
    if (a->def) {
        *ret = &a->def->pub;
        return 0;
    }
    struct batch b = {0};
    int r = enqueue(&b, a, a, err);
    for (size_t i = 0; r >= 0 && i < b.list.n; i++)
        r = compile(&b, b.list.p[i], err);
    for (size_t i = 0; i < b.list.n; i++) {
        struct weft_agent *one = b.list.p[i];
        one->queued = false;
        if (r < 0) { /* all or none: they refer to each other */
            wa_def_free(one->def);
            one->def = NULL;
        }
    }
    wb_vec_done(&b.list);
    if (r < 0)
        return r;
    *ret = &a->def->pub;
    return 0;
}
