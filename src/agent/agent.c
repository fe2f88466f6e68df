/* agent/agent.c — creates agents; the tables in their options stay the caller's. */
#include "agent/agent.h"

#include "base/hooks.h"
#include "base/opts.h"
#include "fiber/loop.h"

struct upp_str wa_agent_id(const struct weft_agent *a)
{
    union {
        const struct weft_agent *in;
        struct weft_agent *out;
    } u = {.in = a};
    if (a->id_is != WA_ID_TEXT) {
        struct wb_uuid id = a->id_is == WA_ID_GIVEN ? a->id.given : wb_uuid_from(a->home->ids, a->id.number);
        (void)wb_uuid_text(id, u.out->id.text);
        u.out->id_is = WA_ID_TEXT;
    }
    return wb_str(a->id.text, WB_UUID_TEXT);
}

struct upp_str wa_agent_name(const struct weft_agent *a)
{
    return a->name ? wb_cstr(a->name) : wa_agent_id(a);
}

static int take_id(struct weft_agent *a, const char *given, struct upp_err *err)
{
    if (!given) {
        a->id.number = ++a->home->made;
        return 0;
    }
    a->id_is = WA_ID_GIVEN;
    return wb_uuid_parse(wb_cstr(given), &a->id.given)
               ? 0
               : upp_fail(err, UPP_EINVALID, "the id of an agent is a UUID, not '%s'", given);
}

static void model_unref(struct wa_model *m)
{
    if (!m || --m->refs)
        return;
    upp_model_free(m->model);
    wb_free(m);
}

/* Creates the agent's own model from a reference. */
static int make_model(struct weft_agent *a, struct upp_model_ref ref, struct upp_err *err)
{
    a->owned = wb_calloc(1, sizeof *a->owned);
    if (!a->owned)
        return upp_fail(err, UPP_ENOMEM, "no memory for an agent");
    a->owned->refs = 1;
    int r = upp_model_new(ref, &a->owned->model, err);
    a->model = a->owned->model;
    return r;
}

static int take_model(struct weft_agent *a, const struct weft_agent_opts *o, const struct weft_agent *from,
                      struct upp_err *err)
{
    if (o->use) {
        a->model = o->use;
        return 0;
    }
    if (o->model.provider)
        return make_model(a, o->model, err);
    if (from) {
        a->model = from->model;
        a->owned = from->owned;
        if (a->owned)
            a->owned->refs++;
    }
    return 0;
}

#define OR(given, otherwise) ((given) ? (given) : from ? (otherwise) : NULL)

/* All options except the model; those not given are taken from `from`. */
static int take_opts(struct weft_agent *a, const struct weft_agent_opts *o, const struct weft_agent *from,
                     struct upp_err *err)
{
    bool none = !o->execution.name && !o->execution.execute;
    a->params = OR(o->params, from->params);
    a->system = OR(o->system, from->system);
    a->structure = OR(o->structure, from->structure);
    a->check_structure = o->check_structure || (from && from->check_structure);
    a->description = OR(o->description, from->description);
    a->hooks = OR(o->hooks, from->hooks);
    a->tool_strategy = OR(o->tool_strategy, from->tool_strategy);
    a->rights = OR(o->rights, from->rights);
    a->handoff = OR(o->handoff, from->handoff);
    a->name = o->name; /* not inherited: names are unique */
    a->execution = none && from ? from->execution : none ? weft_strategy_loop : o->execution;
    a->tools = !o->tools.list && from ? from->tools : o->tools;
    if (o->n_middleware > UINT32_MAX || o->n_handoff > UINT32_MAX)
        return upp_fail(err, UPP_EINVALID, "an agent with %zu middlewares and %zu handoffs", o->n_middleware,
                        o->n_handoff);
    a->n_handoff = !o->handoff && from ? from->n_handoff : (uint32_t)o->n_handoff;
    a->middleware = OR(o->middleware, from->middleware);
    a->n_middleware = !o->middleware && from ? from->n_middleware : (uint32_t)o->n_middleware;
    if (!a->execution.execute)
        return upp_fail(err, UPP_EINVALID, "strategy '%s' has nothing to execute", a->execution.name);
    return 0;
}

static int make(struct wa_home *h, const struct weft_agent_opts *given, const struct weft_agent *from,
                struct weft_agent **ret, struct upp_err *err)
{
    struct weft_agent_opts own;
    const struct weft_agent_opts *o = wb_opts_of(&own, sizeof own, given);
    struct weft_agent *a = wb_alloc(sizeof *a);
    if (!a)
        return upp_fail(err, UPP_ENOMEM, "no memory for an agent");
    *a = (struct weft_agent){.home = h};
    int r = take_opts(a, o, from, err);
    if (r >= 0)
        r = take_id(a, o->id, err);
    if (r >= 0)
        r = take_model(a, o, from, err);
    if (r >= 0)
        r = wa_home_add(h, a, o->id, err);
    if (r < 0) {
        model_unref(a->owned);
        wb_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

int weft_agent_new(struct weft_runtime *rt, const struct weft_agent_opts *opts, struct weft_agent **ret,
                   struct upp_err *err)
{
    return make(wa_home_of(rt), opts, NULL, ret, err);
}

int weft_agent_derive(const struct weft_agent *from, const struct weft_agent_opts *changes, struct weft_agent **ret,
                      struct upp_err *err)
{
    return make(from->home, changes, from, ret, err);
}

void weft_agent_free(struct weft_agent *a)
{
    if (!a)
        return;
    wa_home_remove(a->home, a);
    wa_def_free(a->def);
    wa_made_free(a->made);
    model_unref(a->owned);
    wb_free(a);
}

struct upp_str weft_agent_id(const struct weft_agent *a)
{
    return wa_agent_id(a);
}

const struct upp_model *weft_agent_model(const struct weft_agent *a)
{
    return a->model;
}

struct weft_tools weft_agent_tools(const struct weft_agent *a)
{
    return a->tools;
}

const char *weft_agent_system(const struct weft_agent *a)
{
    return a->system;
}
