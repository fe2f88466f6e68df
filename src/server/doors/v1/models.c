/* server/doors/v1/models.c — /v1/models: the names of the configuration's models and agents, and their aliases. An
 * agent can be asked like a model. */
#include "json/value.h"
#include "runtime/config.h"
#include "server/doors/objects/list_page.h"
#include "server/doors/v1/routes.h"
#include "server/http/server.h"

static void write_model(struct wj_writer *w, struct upp_str name)
{
    wj_write_open(w, '{');
    wj_put_str(w, "id", name);
    wj_put_str(w, "object", UPP_STR("model"));
    wj_put_u64(w, "created", 0); /* nobody knows */
    wj_put_str(w, "owned_by", UPP_STR("weft"));
    wj_write_close(w, '}');
}

/* A name may be that of a model and of an agent: it is listed once. */
int sv_list_models(struct sv_exchange *x, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct upp_str name;
    struct wj_writer w;
    wj_writer_init(&w, &x->reply.body, err);
    sv_list_begin(&w);
    for (size_t i = 0; wr_model_at(x->core->engine, i, &name); i++)
        write_model(&w, name);
    for (size_t i = 0; (def = wr_agent_at(x->core->engine, i)); i++)
        if (!wr_has_model(x->core->engine, def->name))
            write_model(&w, def->name);
    for (size_t i = 0; i < x->settings->names.n; i++) { /* a pattern is no name that one could ask for */
        name = x->settings->names.p[i].name;
        if (wb_str_find(name, UPP_STR("*"), 0) == SIZE_MAX)
            write_model(&w, name);
    }
    wj_write_close(&w, ']');
    wj_write_close(&w, '}');
    return sv_finish(x, &w);
}

static int find(struct sv_exchange *x, struct upp_err *err)
{
    const struct wr_agent_def *def;
    struct upp_str name = x->params[0];
    char shown[WJ_QUOTED];
    if (wr_has_model(x->core->engine, name))
        return 0;
    for (size_t i = 0; (def = wr_agent_at(x->core->engine, i)); i++)
        if (wb_str_eq(def->name, name))
            return 0;
    if (sv_name_find(&x->settings->names, name).n)
        return 0;
    return upp_fail(err, UPP_ENOMODEL, "The model %s does not exist", wj_quote(name, shown, sizeof shown));
}

int sv_get_model(struct sv_exchange *x, struct upp_err *err)
{
    struct wj_writer w;
    int r = find(x, err);
    if (r < 0)
        return r;
    wj_writer_init(&w, &x->reply.body, err);
    write_model(&w, x->params[0]);
    return sv_finish(x, &w);
}
