/* run/settings/settings.c — reads the options of a run, checks them, and applies them to the requests of its model. */
#include "run/settings/settings.h"

#include <stdio.h>
#include <upp/schema.h>

#include "base/defs.h"
#include "base/err.h"
#include "json/edit.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "run/engine_state.h"
#include "run/run.h"
#include "run/settings/window.h"

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

struct making {
    const struct wr_engine *engine;
    struct upp_str agent;
    yyjson_val *options;
    struct wb_arena *arena;
    struct wr_settings *to;
    struct upp_err *err;
};

static int wrong(const struct making *x, const yyjson_val *at, const char *why)
{
    int r = upp_fail(x->err, UPP_EINVALID, "%s", why);
    wj_pointer_err(x->err, x->options, at);
    return r;
}

/* A member that is not null. */
static yyjson_val *member(yyjson_val *object, const char *name)
{
    yyjson_val *v = object ? yyjson_obj_get(object, name) : NULL;
    return v && yyjson_is_null(v) ? NULL : v;
}

uint64_t wr_option_number(yyjson_val *object, const char *name)
{
    uint64_t n = 0;
    yyjson_val *v = member(object, name);
    return v && yyjson_is_raw(v) && wj_num_u64(wj_text(v), &n) ? n : 0;
}

int wr_options_read(struct wb_arena *a, struct upp_str json, yyjson_val **ret, struct upp_err *err)
{
    *ret = NULL;
    if (!json.n)
        return 0;
    int r = wj_read(a, json, NULL, ret, err);
    if (r < 0)
        return r == -UPP_ENOMEM ? r : upp_fail(err, UPP_ESTORE, "the options of the run are no JSON");
    return 0;
}

/* ---- Model and prompt -------------------------------------------------------------------------------------------- */

static int choose_model(const struct making *x)
{
    const struct wr_engine_opts *o = &x->engine->opts;
    struct upp_str name = wj_text_at(x->options, "model");
    if (!name.n)
        return x->to->def.base
                   ? upp_fail(x->err, UPP_ENOTFOUND, "no agent '%.*s': a stored one names its model", UPP_FMT(x->agent))
                   : 0;
    x->to->params = (struct upp_str){0};
    x->to->model = o->model ? o->model(o->arg, name, &x->to->params) : NULL;
    return x->to->model ? 0 : upp_fail(x->err, UPP_ENOMODEL, "model '%.*s' is not defined any more", UPP_FMT(name));
}

/* As in OpenAI's API, `instructions` replace the agent's prompt, and `additional_instructions` are appended. */
static void set_prompt(const struct making *x)
{
    struct wr_settings *s = x->to;
    struct upp_str own = wj_text_at(x->options, "instructions");
    struct upp_str more = wj_text_at(x->options, "additional_instructions");
    if (own.n)
        s->system = own;
    if (more.n)
        s->system = s->system.n ? wb_arena_printf(x->arena, "%.*s\n\n%.*s", UPP_FMT(s->system), UPP_FMT(more)) : more;
}

/* An agent that is not in the configuration has the name, the title and the id of the run's. */
static void set_name(const struct making *x)
{
    struct wr_agent_def *def = &x->to->def;
    struct wb_uuid id;
    char text[WB_UUID_TEXT + 1];
    if (!def->base)
        return;
    def->name = wb_arena_dup(x->arena, x->agent); /* the caller's may be that of a request */
    def->title = wj_text_at(x->options, "weft_title");
    if (wl_id_parse(x->agent, UPP_STR("asst_"), &id))
        def->id = wb_arena_dup(x->arena, wb_uuid_text(id, text));
}

/* ---- Tools of the client ----------------------------------------------------------------------------------------- */

bool wr_is_function_name(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!(s.p[i] >= 'a' && s.p[i] <= 'z') && !(s.p[i] >= 'A' && s.p[i] <= 'Z') &&
            !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_' && s.p[i] != '-')
            return false;
    return s.n >= 1 && s.n <= 64;
}

/* The text of a schema, and the schema compiled; an error points into the schema. */
static int compile_schema(const struct making *x, yyjson_val *v, struct upp_str *text, struct upp_schema **ret)
{
    struct upp_err why = {0};
    char at[sizeof why.where];
    int r = wj_value_text(x->arena, v, text, x->err);
    if (r < 0)
        return r;
    r = upp_schema_new(*text, ret, &why);
    if (r >= 0)
        return 0;
    if (r == -UPP_ENOMEM)
        return upp_fail(x->err, UPP_ENOMEM, "no memory for a schema");
    r = wrong(x, v, why.msg);
    if (x->err) {
        memcpy(at, x->err->where, sizeof at);
        (void)snprintf(x->err->where, sizeof x->err->where, "%.*s%.*s", 40, at, 20, why.where);
    }
    return r;
}

static int read_parameters(const struct making *x, yyjson_val *v, struct wr_tool *t)
{
    struct upp_schema *schema = NULL;
    if (!v)
        return 0;
    if (!yyjson_is_obj(v))
        return wrong(x, v, "the parameters of a function are a JSON Schema");
    int r = compile_schema(x, v, &t->spec.parameters, &schema);
    t->schema = schema;
    return r;
}

/* `strict` is for the vendor that has it. */
static void set_strict(const struct making *x, yyjson_val *function, struct wr_tool *t)
{
    yyjson_val *strict = member(function, "strict");
    if (strict && yyjson_is_true(strict) && x->to->model)
        t->spec.metadata = wb_arena_printf(x->arena, "{\"%s\":{\"strict\":true}}", x->to->model->ops->provider);
}

/* The tool of that name; NULL: none. */
static const struct wr_tool *tool_named(const struct wr_tool *list, size_t n, struct upp_str name)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(list[i].spec.name, name))
            return &list[i];
    return NULL;
}

/* An agent's own tool of the client may be described by the request: it keeps its other properties. */
static int read_tool(const struct making *x, yyjson_val *v, const struct wr_agent_def *agent)
{
    struct wr_settings *s = x->to;
    yyjson_val *function = member(v, "function"), *name = member(function, "name");
    if (!name || !yyjson_is_str(name) || !wr_is_function_name(wj_text(name)))
        return wrong(x, name ? name : v, "the name of a function has 1 to 64 letters, digits, _ and -");
    const struct wr_tool *had = tool_named(agent->tools, agent->n_tools, wj_text(name));
    if (had && had->kind != WR_TOOL_CLIENT)
        return wrong(x, name, "the agent has a tool of this name, which the server runs");
    if (tool_named(s->tools, s->def.n_tools, wj_text(name)))
        return wrong(x, name, "there are two tools of this name");
    struct wr_tool *t = &s->tools[s->def.n_tools++];
    s->n_own++;
    *t = had ? *had : (struct wr_tool){.kind = WR_TOOL_CLIENT};
    t->spec = (struct upp_tool_spec){.name = wj_text(name), .description = wj_text_at(function, "description")};
    t->schema = NULL;
    set_strict(x, function, t);
    return read_parameters(x, member(function, "parameters"), t);
}

static bool is_function(yyjson_val *v)
{
    return wb_str_eq(wj_text_at(v, "type"), UPP_STR("function")); /* others are the agent's own, by another name */
}

/* Does the request describe a tool of this name? */
static bool describes(yyjson_val *list, struct upp_str name)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    yyjson_val *v;
    while ((v = yyjson_arr_iter_next(&it)))
        if (is_function(v) && wb_str_eq(wj_text_at(member(v, "function"), "name"), name))
            return true;
    return false;
}

static int read_tools(const struct making *x, const struct wr_agent_def *agent)
{
    struct wr_settings *s = x->to;
    yyjson_val *list = member(x->options, "tools"), *v;
    size_t n = list ? yyjson_arr_size(list) : 0;
    if (!n)
        return 0;
    if (n > WR_CLIENT_TOOLS)
        return wrong(x, list, "a run has at most 128 tools of the client");
    s->tools = wb_new_n(x->arena, struct wr_tool, agent->n_tools + n);
    if (!s->tools)
        return wb_arena_check(x->arena, x->err);
    s->def.tools = s->tools;
    s->def.n_tools = 0;
    for (size_t i = 0; i < agent->n_tools; i++)
        if (agent->tools[i].kind != WR_TOOL_CLIENT || !describes(list, agent->tools[i].spec.name))
            s->tools[s->def.n_tools++] = agent->tools[i];
    yyjson_arr_iter it = yyjson_arr_iter_with(list);
    int r = 0;
    while (r >= 0 && (v = yyjson_arr_iter_next(&it)))
        r = is_function(v) ? read_tool(x, v, agent) : 0;
    if (r >= 0 && s->n_own && s->model && s->model->can && !(s->model->can & UPP_CAN_TOOLS))
        r = wrong(x, list, "the model has no tools");
    return r;
}

/* ---- Choice of tools, form of the response ----------------------------------------------------------------------- */

static int read_function_choice(const struct making *x, yyjson_val *v)
{
    struct wr_settings *s = x->to;
    yyjson_val *name = member(member(v, "function"), "name");
    s->common.choice = UPP__CHOICE_FUNCTION;
    s->common.function = wj_text_of(name);
    struct wb_guess guess = {0};
    for (size_t i = 0; i < s->def.n_tools; i++) {
        if (s->common.function.n && wb_str_eq(s->def.tools[i].spec.name, s->common.function))
            return 0;
        wb_guess(&guess, s->common.function, s->def.tools[i].spec.name);
    }
    char why[160];
    (void)snprintf(why, sizeof why, "tool_choice names no function of this run%s", wb_guessed(&guess));
    return wrong(x, name ? name : v, why);
}

static int read_tool_choice(const struct making *x)
{
    static const char *const words[] = {
        [UPP__CHOICE_NONE] = "none", [UPP__CHOICE_AUTO] = "auto", [UPP__CHOICE_REQUIRED] = "required"};
    struct wr_settings *s = x->to;
    yyjson_val *v = member(x->options, "tool_choice");
    if (!v)
        return 0;
    if (yyjson_is_obj(v))
        return read_function_choice(x, v);
    for (uint8_t i = UPP__CHOICE_NONE; i < WB_LEN(words); i++)
        if (wb_str_eq(wj_text_of(v), wb_cstr(words[i])))
            s->common.choice = i;
    if (!s->common.choice)
        return wrong(x, v, "tool_choice is none, auto, required or a function");
    if (s->common.choice == UPP__CHOICE_REQUIRED && !s->def.n_tools)
        return wrong(x, v, "a tool is required, and the run has none");
    return 0;
}

static int read_schema(const struct making *x, yyjson_val *format)
{
    yyjson_val *schema = member(member(format, "json_schema"), "schema");
    if (!schema || !yyjson_is_obj(schema))
        return wrong(x, schema ? schema : format, "json_schema needs a schema, an object");
    if (x->to->model && x->to->model->can && !(x->to->model->can & UPP_CAN_STRUCTURE))
        return wrong(x, format, "the model has no structured output");
    UPP_CLEANUP(upp_schema_freep) struct upp_schema *checked = NULL;
    return x->to->def.check_structure ? compile_schema(x, schema, &x->to->def.structure, &checked)
                                      : wj_value_text(x->arena, schema, &x->to->def.structure, x->err);
}

/* "auto" leaves the agent's own; "text" is none. */
static int read_format(const struct making *x)
{
    yyjson_val *v = member(x->options, "response_format");
    struct upp_str type = wj_text_at(v, "type");
    if (!v || !yyjson_is_obj(v))
        return 0;
    if (wb_str_eq(type, UPP_STR("json_schema")))
        return read_schema(x, v);
    x->to->def.structure = (struct upp_str){0};
    x->to->common.json = wb_str_eq(type, UPP_STR("json_object"));
    return 0;
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static void read_limits(const struct making *x)
{
    yyjson_val *truncation = member(x->options, "truncation_strategy");
    x->to->max_prompt = wr_option_number(x->options, "max_prompt_tokens");
    x->to->max_completion = wr_option_number(x->options, "max_completion_tokens");
    if (wb_str_eq(wj_text_at(truncation, "type"), UPP_STR("last_messages")))
        x->to->last_messages = wr_option_number(truncation, "last_messages");
}

/* Can the model be told all of them? */
static int check_model(const struct making *x)
{
    struct upp__settings all = x->to->common;
    struct upp_str params;
    if (!x->to->model)
        return 0;
    all.has_tools = x->to->def.n_tools > 0;
    all.max_tokens = x->to->max_completion;
    int r = upp__settings_write(x->to->model, x->to->params, &all, x->arena, &params, x->err);
    return r < 0 ? r : 0;
}

int wr_settings_make(const struct wr_engine *e, const struct wr_agent_def *def, struct upp_str agent,
                     yyjson_val *options, struct wb_arena *a, struct wr_settings **ret, struct upp_err *err)
{
    struct making x = {
        .engine = e, .agent = agent, .options = options, .arena = a, .to = wb_new(a, struct wr_settings), .err = err};
    if (!x.to)
        return wb_arena_check(a, err);
    *x.to = (struct wr_settings){
        .def = *def, .model = def->model, .params = def->params, .system = def->system, .common = {.values = options}};
    int r = choose_model(&x);
    set_prompt(&x);
    set_name(&x);
    read_limits(&x);
    if (r >= 0)
        r = read_tools(&x, def);
    if (r >= 0)
        r = read_tool_choice(&x);
    if (r >= 0)
        r = read_format(&x);
    if (r >= 0)
        r = check_model(&x);
    if (r >= 0)
        r = wb_arena_check(a, err);
    if (r < 0) {
        wr_settings_done(x.to);
        return r;
    }
    *ret = x.to;
    return 0;
}

void wr_settings_done(struct wr_settings *s)
{
    for (size_t i = 0; s && i < s->n_own; i++) {
        union {
            const struct upp_schema *in;
            struct upp_schema *out;
        } schema = {.in = s->tools[s->def.n_tools - 1 - i].schema};
        upp_schema_free(schema.out);
    }
}

/* The member of the options at which err.where points; NULL: none. */
static yyjson_val *member_at(yyjson_val *options, const struct upp_err *why)
{
    struct upp_str at = wb_cstr(why->where);
    if (!options || at.n < 2 || at.p[0] != '/')
        return NULL;
    at = wb_str_sub(at, 1, SIZE_MAX);
    size_t end = wb_str_find(at, UPP_STR("/"), 0);
    yyjson_obj_iter it = yyjson_obj_iter_with(options);
    yyjson_val *key;
    while ((key = yyjson_obj_iter_next(&it)))
        if (wj_named(key, wb_str_sub(at, 0, end)))
            return key;
    return NULL;
}

int wr_settings_trim(const struct wr_engine *e, struct upp_str agent, struct upp_str options, struct wb_arena *a,
                     struct upp_str *ret, struct upp_err *err)
{
    const struct wr_agent_def *def = wr_agent(e, agent);
    *ret = options;
    for (;;) { /* one member less each time */
        WB_CLEANUP(wb_arena_done) struct wb_arena scratch = WB_ARENA(64u << 20);
        struct wr_settings *s = NULL;
        struct upp_err why = {0};
        yyjson_val *v;
        if (!def || !ret->n)
            return 0;
        int r = wr_options_read(&scratch, *ret, &v, err);
        if (r < 0)
            return r;
        r = wr_settings_make(e, def, agent, v, &scratch, &s, &why);
        wr_settings_done(s);
        if (r == -UPP_ENOMEM)
            return upp_fail(err, UPP_ENOMEM, "no memory for the settings of a run");
        const yyjson_val *gone = r < 0 ? member_at(v, &why) : NULL;
        if (!gone)
            return 0; /* honoured; or refused for another reason, which the run reports when it works */
        r = wj_edit(a, *ret, &(struct wj_edit){.name = wj_text(gone)}, 1, ret, err);
        if (r < 0)
            return r;
    }
}

int wr_check_options(const struct wr_engine *e, struct upp_str agent, struct upp_str options, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    const struct wr_agent_def *def = wr_agent(e, agent);
    struct wr_settings *s = NULL;
    yyjson_val *v;
    if (!def || (!options.n && !def->base))
        return 0; /* wr_start reports the first */
    int r = wr_options_read(&a, options, &v, err);
    if (r >= 0)
        r = wr_settings_make(e, def, agent, v, &a, &s, err);
    wr_settings_done(s);
    return r;
}

/* ---- At work ----------------------------------------------------------------------------------------------------- */

static uint64_t used_output(const struct wr_run *run)
{
    return run->pub.state.usage.output + run->budget.below.usage.output;
}

static uint64_t used_input(const struct wr_run *run)
{
    return run->pub.state.usage.input + run->budget.below.usage.input;
}

/* The run whose limits count: a branch (run/branch.c) is a part of its parent's step. */
static const struct wr_run *owner(const struct wr_run *run)
{
    while (run->branch && run->parent)
        run = run->parent;
    return run;
}

const char *wr_settings_limit(const struct wr_run *run)
{
    const struct wr_settings *s = run->settings;
    return s && !run->branch && s->max_completion && used_output(run) >= s->max_completion ? "max_completion_tokens"
                                                                                           : NULL;
}

bool wr_settings_no_calls(const struct wr_run *run)
{
    return run->settings && run->settings->common.choice == UPP__CHOICE_NONE;
}

/* Has the model made the call that it must make? After that it may answer. */
static bool has_called(const struct wr_run *run, struct upp_str function)
{
    for (size_t i = 0; i < run->mine.n; i++)
        for (const struct upp_part *p = NULL; (p = upp_part_next(run->mine.p[i], p, UPP_PARTS_CALLS));)
            if (!function.n || wb_str_eq(p->name, function))
                return true;
    return false;
}

int wr_settings_request(struct wr_run *run, bool plain, struct upp_request *q, bool *capped, struct upp_err *err)
{
    const struct wr_settings *s = run->settings;
    if (!s)
        return 0;
    const struct wr_run *own = owner(run);
    uint64_t had = used_input(own), room = s->max_prompt > had ? s->max_prompt - had : 0;
    struct upp__settings common = s->common;
    wr_window_last(run, q, s->last_messages);
    if (s->max_prompt && !wr_window_fit(run, q, room))
        return 1;
    common.has_tools = q->n_tools > 0;
    common.json = common.json && plain;
    if (common.choice >= UPP__CHOICE_REQUIRED && has_called(run, common.function))
        common.choice = UPP__CHOICE_UNSET;
    if (s->max_completion)
        common.max_tokens = s->max_completion > used_output(own) ? s->max_completion - used_output(own) : 1;
    *capped = s->max_completion > 0;
    int r = upp__settings_write(run->model, run->params, &common, &run->memory, &q->params, err);
    if (r > 0)
        q->n_tools = 0;
    return r < 0 ? r : 0;
}
