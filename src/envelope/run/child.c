/* envelope/run/child.c — child runs of the router: a request as a prompt and options, the end of a run as a reply.
 *
 * inputs.parameters reach the model call through the options of the run (run/settings). A parameter that no model has,
 * or that this one cannot honour, is named in the reply's confidence.risks and in the log; unless prompts are strict,
 * it is also shown to the agent, at the end of its prompt. inputs.resources of type tool limit the agent to these
 * tools; the hint readonly refuses every tool that is not declared pure. Nothing is fetched.
 */
#include <string.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/log.h"
#include "envelope/run/router.h"
#include "json/number.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/settings/settings.h"

enum { MAX_RISKS = 64, OPTIONS_MAX = 16 << 20 };

/* ---- Parameters ------------------------------------------------------------------------------ */

enum kind { NUMBER, INTEGER, WORD, STOPS, FLAG };

/* The parameters that are options of a run, by their names there. */
static const struct parameter {
    const char *name, *option;
    enum kind kind;
} parameters[] = {
    {"temperature", "temperature", NUMBER},
    {"top_p", "top_p", NUMBER},
    {"max_tokens", "max_completion_tokens", INTEGER},
    {"stop", "stop", STOPS},
    {"seed", "seed", INTEGER},
    {"frequency_penalty", "frequency_penalty", NUMBER},
    {"presence_penalty", "presence_penalty", NUMBER},
    {"reasoning_effort", "reasoning_effort", WORD},
    {"parallel_tool_calls", "parallel_tool_calls", FLAG},
};

static const struct parameter *parameter_named(struct upp_str name)
{
    for (size_t i = 0; i < WB_LEN(parameters); i++)
        if (wb_str_eq(wb_cstr(parameters[i].name), name))
            return &parameters[i];
    return NULL;
}

static bool are_texts(yyjson_val *v)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *one;
    while ((one = yyjson_arr_iter_next(&it)))
        if (!yyjson_is_str(one))
            return false;
    return yyjson_is_arr(v);
}

static bool fits(const struct parameter *p, yyjson_val *v)
{
    double number;
    uint64_t integer;
    switch (p->kind) {
    case NUMBER:
        return yyjson_is_raw(v) && wj_num_f64(wj_text(v), &number);
    case INTEGER:
        return yyjson_is_raw(v) && wj_num_u64(wj_text(v), &integer) && integer > 0;
    case WORD:
        return yyjson_is_str(v);
    case STOPS:
        return yyjson_is_str(v) || are_texts(v);
    default:
        return yyjson_is_bool(v);
    }
}

/* For the router, not for the agent. */
static bool is_routing(struct upp_str name)
{
    return wb_str_eq(name, UPP_STR("target"));
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* The parameters that are options; whether there are others. */
static bool put_parameters(struct wj_writer *w, const struct we_envelope *e)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(e->parameters);
    bool others = false;
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it))) {
        yyjson_val *v = yyjson_obj_iter_get_val(key);
        const struct parameter *p = parameter_named(wj_text(key));
        if (p && fits(p, v))
            wj_put_value(w, p->option, v);
        else if (!is_routing(wj_text(key)))
            others = true;
    }
    return others;
}

static void put_resources(struct wj_writer *w, const struct we_envelope *e)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(e->resources);
    bool only = false, readonly = false;
    yyjson_val *one;
    while ((one = yyjson_arr_iter_next(&it))) {
        readonly = readonly || wb_str_eq(wj_text_at(one, "hint"), UPP_STR("readonly"));
        if (!wb_str_eq(wj_text_at(one, "type"), UPP_STR("tool")))
            continue;
        if (!only)
            wj_put_open(w, WR_ONLY_TOOLS, '[');
        only = true;
        wj_write_str(w, wj_text_at(one, "id"));
    }
    if (only)
        wj_write_close(w, ']');
    if (readonly)
        wj_put_bool(w, WR_READONLY, true);
}

/* The prompt, and the parameters that are no options. They are the client's: they are never part of the system prompt.
 */
static int put_others(struct wb_arena *a, const struct we_envelope *e, struct upp_str prompt, struct upp_str *ret,
                      struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(WE_MAX_PROMPT + OPTIONS_MAX);
    yyjson_obj_iter it = yyjson_obj_iter_with(e->parameters);
    yyjson_val *key;
    struct wj_writer w;
    wb_buf_add(&out, prompt);
    wb_buf_add(&out, UPP_STR("\n\nParameters: "));
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    while ((key = yyjson_obj_iter_next(&it))) {
        const struct parameter *p = parameter_named(wj_text(key));
        if (!is_routing(wj_text(key)) && !(p && fits(p, yyjson_obj_iter_get_val(key))))
            wj_put_member(&w, key);
    }
    wj_write_close(&w, '}');
    return wj_writer_text(&w, a, ret);
}

static int put_options(struct wb_arena *a, const struct we_envelope *e, const struct we_prompt *prompt, bool strict,
                       struct wr_child_ask *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(OPTIONS_MAX);
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    bool others = put_parameters(&w, e);
    put_resources(&w, e);
    if (prompt->system.n)
        wj_put_str(&w, "additional_instructions", prompt->system);
    wj_write_close(&w, '}');
    int r = wj_writer_text(&w, a, &ret->options);
    if (r >= 0 && ret->options.n == 2)
        ret->options = (struct upp_str){NULL, 0};
    ret->input = prompt->user;
    return r < 0 || !others || strict ? r : put_others(a, e, prompt->user, &ret->input, err);
}

static bool is_peer(const struct wr_agent_def *def)
{
    return strcmp(def->model->ops->provider, WE_PEER) == 0;
}

static const struct we_adapter *adapter_of(const struct we_router *router, const struct wr_tool *tool)
{
    return we_adapter_for(router->opts.adapters, we_router_model(router, tool->agent));
}

static int no_agent(const struct wr_tool *tool, struct upp_err *err)
{
    return upp_fail(err, UPP_ENOTFOUND, "agent '%.*s' is not defined any more", UPP_FMT(tool->agent));
}

int we_child_ask(const void *arg, const struct wr_tool *tool, struct upp_str arguments, struct wb_arena *a,
                 struct wr_child_ask *ret, struct upp_err *err)
{
    const struct we_router *router = arg;
    const struct wr_agent_def *def = we_router_agent(router, tool->agent);
    struct we_envelope request;
    struct we_prompt prompt;
    if (!def)
        return no_agent(tool, err);
    if (is_peer(def)) {
        ret->input = arguments;
        return 0;
    }
    bool strict = router->opts.limits->strict;
    int r = we_read_any(a, arguments, NULL, &request, err);
    if (r >= 0)
        r = we_prompt(a, adapter_of(router, tool), &request, strict, &prompt, err);
    if (r < 0)
        return r;
    ret->certain = !request.parameters;
    return put_options(a, &request, &prompt, strict, ret, err);
}

/* ---- Answering ------------------------------------------------------------------------------- */

struct risks {
    struct upp_str list[MAX_RISKS];
    size_t n;
};

/* The parameters that the run did not have; of more than there is room for, the last entry is their number. */
static int find_risks(struct wb_arena *a, const struct we_envelope *e, struct upp_str options, bool strict,
                      struct risks *ret, struct upp_err *err)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(e->parameters);
    yyjson_val *had = NULL, *key;
    size_t all = 0;
    int r = wr_options_read(a, options, &had, err);
    if (r < 0)
        return r;
    while ((key = yyjson_obj_iter_next(&it))) {
        const struct parameter *p = parameter_named(wj_text(key));
        if (is_routing(wj_text(key)) || (p && yyjson_obj_get(had, p->option)))
            continue;
        if (++all >= MAX_RISKS)
            continue;
        ret->list[ret->n++] = wb_arena_printf(a, "parameter '%.*s' could not be honoured%s", UPP_FMT(wj_text(key)),
                                              p        ? ": the model does not take this value"
                                              : strict ? ": no model has it"
                                                       : ": no model has it; the agent was shown it as text");
    }
    if (all > ret->n) {
        struct upp_str more = wb_arena_printf(a, "%zu more parameters could not be honoured", all - ret->n);
        ret->list[ret->n++] = more;
    }
    return wb_arena_check(a, err);
}

static void log_risks(const struct wr_tool *tool, const struct we_envelope *e, const struct risks *risks)
{
    for (size_t i = 0; i < risks->n; i++)
        wb_log(WB_WARN, "a parameter of an envelope could not be honoured", WB_LS("agent", tool->agent),
               WB_LS("envelope", e->id), WB_LS("risk", risks->list[i]));
}

/* Those of a request that precede it in the chain of its reply. */
static size_t parents_of(const struct we_envelope *request)
{
    size_t n = request->parents ? yyjson_arr_size(request->parents) : 0;
    return WB_MIN(n, (size_t)WE_MAX_PARENTS - 1);
}

/* What an agent said until a limit ended it. */
static int tag_cut(struct wb_arena *a, struct upp_str *reply, struct upp_err *err)
{
    struct we_envelope e;
    const struct upp_str tag = UPP_STR(WE_CUT);
    int r = we_read_any(a, *reply, NULL, &e, err);
    return r < 0 ? r : we_retrace(a, &e, (struct upp_str){0}, NULL, 0, &tag, 1, reply, err);
}

static int write_reply(const struct we_router *router, const struct wr_tool *tool, const struct wr_child_end *end,
                       struct wb_arena *a, struct risks *risks, struct upp_str *ret, struct upp_err *err)
{
    const struct wr_agent_def *def = we_router_agent(router, tool->agent);
    const struct we_limits *limits = router->opts.limits;
    struct we_envelope request;
    char id[WB_UUID_TEXT + 1];
    struct upp_err cut = {.code = UPP_ELIMIT, .msg = "a limit ended the agent before it had said anything"};
    int r = we_read_any(a, end->arguments, NULL, &request, err);
    if (r >= 0 && def && !is_peer(def))
        r = find_risks(a, &request, end->options, limits->strict, risks, err);
    if (r < 0)
        return r;
    log_risks(tool, &request, risks);
    struct we_replied replied = {
        .request = &request,
        .text = end->text,
        .agent_id = tool->agent,
        .agent_name = def && def->title.n ? def->title : tool->agent,
        .model = we_router_model(router, tool->agent),
        .failure = end->result < 0            ? end->why
                   : end->cut && !end->text.n ? &cut
                                              : NULL,
        .input_tokens = end->usage.input,
        .output_tokens = end->usage.output,
        .has_cost = true,
        .default_score = router->opts.score ? router->opts.score(router->opts.arg, tool->agent) : 0,
        .risks = risks->list,
        .n_risks = risks->n,
        .foreign = def && is_peer(def),
        .direct = true, /* in the log; what leaves has the whole chain: dialects/envelope/chains.h */
        .above = limits->direct_parents ? 0 : parents_of(&request),
        .id = wb_uuid_text(end->child, id), /* the reply's id leads to the run that wrote it */
        .now_ms = wb_wall_ms(),
    };
    r = we_take_reply(a, adapter_of(router, tool), &replied, ret, err);
    return r < 0 || !end->cut || replied.failure ? r : tag_cut(a, ret, err);
}

int we_child_answer(const void *arg, const struct wr_tool *tool, const struct wr_child_end *end, struct upp_value *ret,
                    struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(WE_MEMORY);
    struct risks *risks = wb_new(&a, struct risks);
    struct upp_str reply = {0};
    int r = risks ? write_reply(arg, tool, end, &a, risks, &reply, err) : wb_arena_check(&a, err);
    return r < 0 ? r : upp_value_json(ret, reply, err);
}
