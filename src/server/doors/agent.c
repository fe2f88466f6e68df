/* server/doors/agent.c — finds the agent that a request names, and the agents that a client may see. */
#include "server/doors/agent.h"

#include "json/pointer.h"
#include "json/value.h"
#include "server/http/auth.h"
#include "server/http/server.h"

struct upp_str sv_agent_named(const struct sv_exchange *x, struct upp_str name)
{
    const struct wr_engine *e = x->core->engine;
    if (!name.n || !x->settings->names.n || wr_agent(e, name) || wr_has_model(e, name))
        return name;
    struct upp_str agent = sv_name_find(&x->settings->names, name);
    return agent.n ? agent : name;
}

struct upp_str sv_model_named(const struct sv_exchange *x, struct upp_str name)
{
    const struct wr_engine *e = x->core->engine;
    struct upp_str agent = sv_agent_named(x, name);
    const struct wr_agent_def *def = wb_str_eq(agent, name) ? NULL : wr_agent(e, agent);
    struct upp_str model = def ? wr_model_of(e, def) : (struct upp_str){NULL, 0};
    return model.n ? model : name;
}

bool sv_agent_shows_all(const struct sv_exchange *x)
{
    return !x->settings->no_instructions && sv_auth_need(x, SV_SCOPE_INSTRUCTIONS, NULL) >= 0;
}

int sv_agent_read(const struct sv_exchange *x, const struct sv_body *b, const char *member, struct upp_str *ret,
                  struct upp_err *err)
{
    struct upp_str named = {NULL, 0};
    char shown[WJ_QUOTED];
    int r = sv_body_str(b, b->root, wb_cstr(member), &named, err);
    if (r < 0)
        return r;
    named = sv_agent_named(x, named);
    if (r > 0 && x->agent.n && !wb_str_eq(named, x->agent))
        return sv_body_wrong(b, sv_member(b->root, wb_cstr(member)), err,
                             "the URL is that of the agent '%.*s', and '%s' names %s", UPP_FMT(x->agent), member,
                             wj_quote(named, shown, sizeof shown));
    *ret = x->agent.n ? x->agent : named;
    return x->agent.n || r > 0;
}

int sv_agent_unknown(const struct sv_exchange *x, const struct sv_body *b, const char *member, struct upp_str name,
                     int code, struct upp_err *err)
{
    struct wb_guess guess = {0};
    yyjson_val *at = sv_member(b->root, wb_cstr(member));
    char shown[WJ_QUOTED];
    int r;
    wr_guess_agent(x->core->engine, name, &guess);
    if (code == UPP_ENOMODEL)
        wr_guess_model(x->core->engine, name, &guess);
    if (name.n)
        r = upp_fail(err, code, "no agent is called %s: GET /v1/models lists the names%s",
                     wj_quote(name, shown, sizeof shown), wb_guessed(&guess));
    else
        r = upp_fail(err, code, "'%s' names no agent, and the configuration has no default_agent", member);
    if (at)
        wj_pointer_err(err, b->root, at);
    return r;
}

int sv_model_unknown(const struct sv_exchange *x, const struct sv_body *b, yyjson_val *at, struct upp_str name,
                     struct upp_err *err)
{
    struct wb_guess guess = {0};
    wr_guess_model(x->core->engine, name, &guess);
    int r = upp_fail(err, UPP_ENOMODEL, "the configuration has no model '%.*s'%s", UPP_FMT(name), wb_guessed(&guess));
    wj_pointer_err(err, b->root, at);
    return r;
}

/* The name of a model asks the default agent, which is to use it. */
static const struct wr_agent_def *find_agent(const struct wr_engine *e, struct upp_str given, struct upp_str *who,
                                             bool *model)
{
    const struct wr_agent_def *def = wr_agent(e, *who);
    if (def || !given.n || !wr_has_model(e, given))
        return def;
    *model = true;
    *who = (struct upp_str){NULL, 0};
    return wr_agent(e, *who);
}

int sv_agent_as_model(const struct sv_exchange *x, const struct sv_body *b, struct upp_str other,
                      const struct wr_agent_def **agent, struct upp_str *name, bool *model, struct upp_err *err)
{
    struct upp_str given = {NULL, 0};
    int r = sv_body_str(b, b->root, UPP_STR("model"), &given, err);
    if (r < 0)
        return r;
    given = sv_agent_named(x, given);
    *model = x->agent.n && given.n && !wb_str_eq(given, x->agent);
    struct upp_str who = x->agent.n ? x->agent : given.n ? given : other;
    const struct wr_agent_def *def = find_agent(x->core->engine, given, &who, model);
    if (*model && !wr_has_model(x->core->engine, given))
        return sv_model_unknown(x, b, sv_member(b->root, UPP_STR("model")), given, err);
    if (!def)
        return sv_agent_unknown(x, b, "model", who, UPP_ENOMODEL, err);
    *agent = def;
    *name = def->base ? who : def->name; /* a stored assistant */
    return 0;
}
