/* server/doors/options.c — checks the options of a request by one table, merges them, and writes them for the run. */
#include "server/doors/options.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/utf8.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "run/engine.h"
#include "run/settings/settings.h"
#include "server/doors/agent.h"
#include "server/doors/objects/message_files.h"
#include "server/http/auth.h"
#include "server/http/error.h"
#include "server/http/server.h"

enum { PAIRS = 16, KEY_CHARS = 64, VALUE_CHARS = 512, STOPS = 4 };

struct reading {
    struct sv_exchange *x;
    const struct sv_body *body;
    yyjson_val *from;
    struct upp_str agent;
    struct upp_err *err;
};

struct option;
typedef int check_fn(const struct reading *in, const struct option *o, yyjson_val *v);

struct option {
    const char *name;
    check_fn *check;
    double min, max;
    const char *words; /* of a text: those that are allowed; NULL: any */
};

/* ---- Kinds of values --------------------------------------------------------------------------------------------- */

static int wrong(const struct reading *in, const yyjson_val *v, const char *want, yyjson_val *found)
{
    char text[WJ_QUOTED];
    return sv_body_wrong(in->body, v, in->err, "expected %s, found %s", want, wj_found(found, text, sizeof text));
}

static int is_number(const struct reading *in, const struct option *o, yyjson_val *v)
{
    char want[64];
    double n = 0;
    if (yyjson_is_raw(v) && wj_num_f64(wj_text(v), &n) && n >= o->min && n <= o->max)
        return 0;
    (void)snprintf(want, sizeof want, "a number from %g to %g", o->min, o->max);
    return wrong(in, v, want, v);
}

static int is_integer(const struct reading *in, const struct option *o, yyjson_val *v)
{
    int64_t n;
    if (yyjson_is_raw(v) && wj_num_i64(wj_text(v), &n) && (double)n >= o->min)
        return 0;
    return wrong(in, v, o->min > 0 ? "a whole number of at least 1" : "a whole number", v);
}

static int is_bool(const struct reading *in, const struct option *o, yyjson_val *v)
{
    (void)o;
    return yyjson_is_bool(v) ? 0 : wrong(in, v, "true or false", v);
}

static int is_word(const struct reading *in, const struct option *o, yyjson_val *v)
{
    char want[96];
    if (yyjson_is_str(v) && upp__word_among(o->words, wj_text(v)))
        return 0;
    (void)snprintf(want, sizeof want, "one of: %s", o->words);
    return wrong(in, v, want, v);
}

/* A member that is not null, of a type; NULL: there is none. */
static int object_at(const struct reading *in, yyjson_val *object, const char *name, yyjson_val **ret)
{
    *ret = NULL;
    return sv_body_object(in->body, object, wb_cstr(name), ret, in->err);
}

static int bool_at(const struct reading *in, yyjson_val *object, const char *name)
{
    bool b;
    int r = sv_body_bool(in->body, object, wb_cstr(name), &b, in->err);
    return r < 0 ? r : 0;
}

static int str_at(const struct reading *in, yyjson_val *object, const char *name)
{
    struct upp_str s;
    int r = sv_body_str(in->body, object, wb_cstr(name), &s, in->err);
    return r < 0 ? r : 0;
}

/* ---- Model and prompt -------------------------------------------------------------------------------------------- */

static int is_model(const struct reading *in, const struct option *o, yyjson_val *v)
{
    (void)o;
    if (!yyjson_is_str(v))
        return wrong(in, v, "a string", v);
    if (wr_has_model(in->x->core->engine, sv_model_named(in->x, wj_text(v))))
        return 0;
    return sv_model_unknown(in->x, in->body, v, wj_text(v), in->err);
}

/* UAP 16.5: a request may set the run's system prompt, unless the configuration forbids it, on loopback or with a key
 * of the scope `instructions`. */
static int may_prompt(struct sv_exchange *x, const struct sv_body *b, const char *what, yyjson_val *at,
                      struct upp_err *err)
{
    int r = 0;
    if (x->settings->no_instructions) {
        r = upp_fail(err, UPP_EREFUSED, "%s of a run is not taken: the configuration has server.instructions: false",
                     what);
        if (err)
            (void)snprintf(err->cause, sizeof err->cause, "%s", SV_INSTRUCTIONS);
    } else
        r = sv_auth_need(x, SV_SCOPE_INSTRUCTIONS, err);
    if (r == -UPP_EREFUSED)
        wj_pointer_err(err, b->root, at);
    return r < 0 ? r : 0;
}

static int is_prompt(const struct reading *in, const struct option *o, yyjson_val *v)
{
    char what[64];
    const struct wr_agent_def *def = wr_agent(in->x->core->engine, in->agent);
    (void)snprintf(what, sizeof what, "'%s'", o->name);
    if (yyjson_is_str(v) && def && def->gateway) /* it has no prompt to protect */
        return 0;
    return yyjson_is_str(v) ? may_prompt(in->x, in->body, what, v, in->err) : wrong(in, v, "a string", v);
}

/* ---- Metadata ---------------------------------------------------------------------------------------------------- */

static size_t characters(struct upp_str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

/* OpenAI's limits of metadata: 16 pairs, names of 64 and texts of 512 characters. What AITP keeps there may be any
 * JSON. v NULL: there is none. */
static int check_metadata(const struct sv_body *b, yyjson_val *v, struct upp_err *err)
{
    size_t i, max;
    yyjson_val *key, *value;
    if (!v)
        return 0;
    if (yyjson_obj_size(v) > PAIRS)
        return sv_body_wrong(b, v, err, "metadata has at most %d pairs", PAIRS);
    yyjson_obj_foreach(v, i, max, key, value)
    {
        if (characters(wj_text(key)) > KEY_CHARS)
            return sv_body_wrong(b, v, err, "a name in metadata has at most %d characters", KEY_CHARS);
        if (upp__word_among("actors parent_id", wj_text(key)))
            continue;
        if (!yyjson_is_str(value) || characters(wj_text(value)) > VALUE_CHARS)
            return sv_body_wrong(b, value, err, "a value in metadata is a string of at most %d characters",
                                 VALUE_CHARS);
    }
    return 0;
}

static int is_metadata(const struct reading *in, const struct option *o, yyjson_val *v)
{
    (void)o;
    if (!yyjson_is_obj(v))
        return wrong(in, v, "an object", v);
    return check_metadata(in->body, v, in->err);
}

/* ---- Tools ------------------------------------------------------------------------------------------------------- */

static int name_at(const struct reading *in, yyjson_val *object)
{
    yyjson_val *name = sv_member(object, UPP_STR("name"));
    if (name && yyjson_is_str(name) && wr_is_function_name(wj_text(name)))
        return 0;
    return sv_body_wrong(in->body, name ? name : object, in->err,
                         "expected a name of 1 to 64 letters, digits, underscores and hyphens");
}

static int is_tool(const struct reading *in, yyjson_val *v)
{
    yyjson_val *function, *parameters;
    int r = yyjson_is_obj(v) ? 0 : wrong(in, v, "an object", v);
    if (r < 0)
        return r;
    if (!wb_str_eq(wj_text_at(v, "type"), UPP_STR("function")))
        return sv_check_hosted(in->x, in->body, v, wr_agent(in->x->core->engine, in->agent), in->err);
    r = object_at(in, v, "function", &function);
    if (r >= 0 && !function)
        r = sv_body_wrong(in->body, v, in->err, "a tool of type function needs the member 'function'");
    if (r >= 0)
        r = name_at(in, function);
    if (r >= 0)
        r = str_at(in, function, "description");
    if (r >= 0)
        r = bool_at(in, function, "strict");
    return r < 0 ? r : object_at(in, function, "parameters", &parameters);
}

static int is_tools(const struct reading *in, const struct option *o, yyjson_val *v)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *tool;
    int r = 0;
    (void)o;
    if (!yyjson_is_arr(v) || yyjson_arr_size(v) > WR_CLIENT_TOOLS)
        return wrong(in, v, "an array of at most 128 tools", v);
    while (r >= 0 && (tool = yyjson_arr_iter_next(&it)))
        r = is_tool(in, tool);
    return r;
}

static int is_choice(const struct reading *in, const struct option *o, yyjson_val *v)
{
    yyjson_val *function;
    if (!yyjson_is_obj(v))
        return is_word(in, o, v);
    if (!wb_str_eq(wj_text_at(v, "type"), UPP_STR("function")))
        return sv_check_hosted(in->x, in->body, v, wr_agent(in->x->core->engine, in->agent), in->err);
    int r = object_at(in, v, "function", &function);
    return r < 0 ? r : name_at(in, function ? function : v);
}

/* ---- The response ------------------------------------------------------------------------------------------------ */

static int is_schema(const struct reading *in, yyjson_val *format)
{
    yyjson_val *description, *schema = NULL;
    int r = object_at(in, format, "json_schema", &description);
    if (r >= 0 && description)
        r = name_at(in, description);
    if (r >= 0)
        r = object_at(in, description, "schema", &schema);
    if (r >= 0 && !schema)
        r = sv_body_wrong(in->body, description ? description : format, in->err, "json_schema needs a schema");
    return r < 0 ? r : bool_at(in, description, "strict");
}

static int is_format(const struct reading *in, const struct option *o, yyjson_val *v)
{
    if (!yyjson_is_obj(v))
        return yyjson_is_str(v) && wb_str_eq(wj_text(v), UPP_STR("auto")) ? 0 : wrong(in, v, "auto or an object", v);
    yyjson_val *type = sv_member(v, UPP_STR("type"));
    int r = is_word(in, o, type ? type : v);
    return r < 0 || !wb_str_eq(wj_text(type), UPP_STR("json_schema")) ? r : is_schema(in, v);
}

static int is_stop(const struct reading *in, const struct option *o, yyjson_val *v)
{
    yyjson_arr_iter it = yyjson_arr_iter_with(v);
    yyjson_val *one;
    (void)o;
    if (yyjson_is_str(v) && wj_text(v).n)
        return 0;
    if (!yyjson_is_arr(v) || !yyjson_arr_size(v) || yyjson_arr_size(v) > STOPS)
        return wrong(in, v, "a text, or an array of 1 to 4 texts", v);
    while ((one = yyjson_arr_iter_next(&it)))
        if (!yyjson_is_str(one) || !wj_text(one).n)
            return wrong(in, one, "a text that is not empty", one);
    return 0;
}

static int is_truncation(const struct reading *in, const struct option *o, yyjson_val *v)
{
    static const struct option count = {.name = "last_messages", .min = 1};
    if (!yyjson_is_obj(v))
        return wrong(in, v, "an object", v);
    yyjson_val *type = sv_member(v, UPP_STR("type")), *last = sv_member(v, UPP_STR("last_messages"));
    int r = is_word(in, o, type ? type : v);
    if (r < 0)
        return r;
    if (!wb_str_eq(wj_text(type), UPP_STR("last_messages")))
        return last ? sv_body_wrong(in->body, last, in->err, "last_messages belongs to the type of that name") : 0;
    return last ? is_integer(in, &count, last)
                : sv_body_wrong(in->body, v, in->err, "the type last_messages needs the member 'last_messages'");
}

/* ---- All of them ------------------------------------------------------------------------------------------------- */

static const struct option options[] = {
    {"metadata", is_metadata, 0, 0, NULL},
    {"model", is_model, 0, 0, NULL},
    {"instructions", is_prompt, 0, 0, NULL},
    {"additional_instructions", is_prompt, 0, 0, NULL},
    {"temperature", is_number, 0, 2, NULL},
    {"top_p", is_number, 0, 1, NULL},
    {"max_prompt_tokens", is_integer, 1, 0, NULL},
    {"max_completion_tokens", is_integer, 1, 0, NULL},
    {"truncation_strategy", is_truncation, 0, 0, "auto last_messages"},
    {"response_format", is_format, 0, 0, "text json_object json_schema"},
    {"tool_choice", is_choice, 0, 0, "none auto required"},
    {"parallel_tool_calls", is_bool, 0, 0, NULL},
    {"reasoning_effort", is_word, 0, 0, "none minimal low medium high xhigh"},
    {"tools", is_tools, 0, 0, NULL},
    {"stop", is_stop, 0, 0, NULL},
    {"seed", is_integer, -9.3e18, 0, NULL},
    {"frequency_penalty", is_number, -2, 2, NULL},
    {"presence_penalty", is_number, -2, 2, NULL},
};

/* The member with an option, under its own name or the door's. */
static yyjson_val *find_option(yyjson_val *from, const char *name, const struct sv_alias *aliases)
{
    yyjson_val *v = sv_member(from, wb_cstr(name));
    for (; aliases && aliases->option; aliases++) {
        if (strcmp(aliases->option, name))
            continue;
        if (!aliases->name)
            return NULL;
        if (!v)
            v = sv_member(from, wb_cstr(aliases->name));
    }
    return v;
}

int sv_options_read(struct sv_exchange *x, const struct sv_body *b, yyjson_val *from, struct upp_str agent,
                    const struct sv_alias *aliases, struct upp_str *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(SV_MAX_BODY + 4096);
    struct reading in = {.x = x, .body = b, .from = from, .agent = agent, .err = err};
    bool any = false;
    struct wj_writer w;
    wj_writer_init(&w, &out, err);
    wj_write_open(&w, '{');
    for (size_t i = 0; i < WB_LEN(options); i++) {
        yyjson_val *v = find_option(from, options[i].name, aliases);
        int r = v ? options[i].check(&in, &options[i], v) : 0;
        if (r < 0)
            return r;
        if (!v)
            continue;
        any = true;
        if (options[i].check == is_model)
            wj_put_str(&w, options[i].name, sv_model_named(x, wj_text(v)));
        else
            wj_put_value(&w, options[i].name, v);
    }
    wj_write_close(&w, '}');
    *ret = (struct upp_str){NULL, 0};
    return any ? wj_writer_text(&w, &x->arena, ret) : wj_writer_check(&w);
}

/* ---- Other members of requests ---------------------------------------------------------------------------------- */

int sv_options_stored(const struct sv_body *b, bool *unstored, struct upp_err *err)
{
    bool store = true;
    int r = sv_body_bool(b, b->root, UPP_STR("store"), &store, err);
    *unstored = !store;
    return r < 0 ? r : 0;
}

int sv_metadata_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err)
{
    yyjson_val *given = NULL;
    struct upp_str text;
    int r = sv_body_object(b, object, UPP_STR("metadata"), &given, err);
    if (r <= 0)
        return r;
    r = check_metadata(b, given, err);
    if (r >= 0)
        r = sv_body_text(a, given, &text, err);
    if (r < 0)
        return r;
    *ret = text;
    return 1;
}

int sv_resources_read(const struct sv_body *b, yyjson_val *object, struct wb_arena *a, struct upp_str *ret,
                      struct upp_err *err)
{
    yyjson_val *given = NULL, *key, *v;
    size_t i, max;
    struct upp_str text;
    int r = sv_body_object(b, object, UPP_STR("tool_resources"), &given, err);
    if (r <= 0)
        return r;
    yyjson_obj_foreach(given, i, max, key, v)
    {
        if (!yyjson_is_obj(v) && !yyjson_is_null(v))
            return sv_body_wrong(b, v, err, "the resources of a tool are an object");
    }
    r = sv_body_text(a, given, &text, err);
    if (r >= 0 && text.n > SV_RESOURCES_MAX)
        return sv_body_wrong(b, given, err, "tool_resources has at most %d bytes", SV_RESOURCES_MAX);
    if (r < 0)
        return r;
    *ret = text;
    return 1;
}
