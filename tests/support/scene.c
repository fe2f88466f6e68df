/* support/scene.c — a tool and hooks that follow a script, and write down their calls. */
#include "support/scene.h"

#include <stdio.h>
#include <string.h>

#include "support/llm.h"

static int act(struct scene *sc, const char *what, int r, struct upp_err *err)
{
    wb_buf_addf(&sc->log, "%s%s", sc->log.n ? " " : "", what);
    return r < 0 ? upp_fail(err, UPP_EREFUSED, "%s failed", what) : r;
}

static int do_it(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct scene *sc = call->arg;
    int r = act(sc, "run", sc->run, err);
    return r < 0 ? r : upp_value_json(ret, call->arguments, err);
}

static int approve(struct upp_call *call, struct upp_err *err)
{
    struct scene *sc = call->arg;
    memset(sc->room, 'x', sizeof sc->room); /* they were copied */
    return act(sc, "approval", sc->approval, err);
}

static int on_call(void *arg, struct upp_call *call, struct upp_err *err)
{
    struct scene *sc = arg;
    (void)call;
    return act(sc, "on_call", sc->on_call, err);
}

static int on_before(void *arg, struct upp_call *call, struct upp_err *err)
{
    struct scene *sc = arg;
    if (sc->arguments) {
        (void)snprintf(sc->room, sizeof sc->room, "%s", sc->arguments);
        call->arguments = wb_cstr(sc->room);
    }
    return act(sc, "on_before", sc->on_before, err);
}

static int on_after(void *arg, struct upp_call *call, struct upp_value *result, struct upp_err *err)
{
    struct scene *sc = arg;
    (void)call;
    int r = act(sc, "on_after", sc->on_after, err);
    if (r >= 0 && sc->after) {
        struct upp_str was = upp_value_get(result);
        r = upp_value_printf(result, err, "%s%.*s", sc->after, UPP_FMT(was));
    }
    return r;
}

static int on_error(void *arg, struct upp_call *call, const struct upp_err *why, struct upp_err *err)
{
    struct scene *sc = arg;
    if (!call->tool)
        return upp_fail(err, UPP_EBUG, "on_error without a tool");
    wb_buf_addf(&sc->log, " (%s)", why->msg);
    return act(sc, "on_error", sc->on_error, err);
}

struct upp_tool scene_tool(struct scene *sc, const char *parameters)
{
    sc->log = (struct wb_buf)WB_BUF(4096);
    return (struct upp_tool){.name = "f", .parameters = parameters, .run = do_it, .approval = approve, .arg = sc};
}

struct upp_tool_strategy scene_hooks(struct scene *sc)
{
    return (struct upp_tool_strategy){
        .arg = sc, .on_call = on_call, .on_before = on_before, .on_after = on_after, .on_error = on_error};
}

int scene_ask(struct scene *sc, const char *parameters, const char *script, struct upp_turn **ret, struct upp_err *err)
{
    const struct upp_tool tool = scene_tool(sc, parameters);
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = llm_script(script);
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    if (!model)
        return upp_fail(err, UPP_ENOMEM, "no model");
    int r = upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = &tool, .n_tools = 1, .strategy = scene_hooks(sc)),
                        &llm, err);
    return r < 0 ? r : upp_ask(llm, UPP_STR("go"), ret, err);
}
