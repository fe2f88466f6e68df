/* upp/providers/settings.c — translates settings into each vendor's params by one table, and checks their values. */
#include "upp/providers/settings.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "json/number.h"
#include "upp/providers/adapter.h"
#include "upp/providers/vendors.h"

/* ---- The table --------------------------------------------------------------------------------------------------- */

enum setting { TEMPERATURE, TOP_P, STOP, SEED, FREQUENCY, PRESENCE, EFFORT, PARALLEL, N_VALUES };

static const char *const names[N_VALUES] = {
    [TEMPERATURE] = "temperature",
    [TOP_P] = "top_p",
    [STOP] = "stop",
    [SEED] = "seed",
    [FREQUENCY] = "frequency_penalty",
    [PRESENCE] = "presence_penalty",
    [EFFORT] = "reasoning_effort",
    [PARALLEL] = "parallel_tool_calls",
};

/* How a vendor is told which tool to call: the value at `path`, by enum upp__tool_choice. */
struct choice_words {
    const char *path;
    const char *words[UPP__CHOICE_FUNCTION]; /* [choice]: none, auto, required */
    const char *before, *after;              /* around the name of a function, a JSON string */
};

static const struct choice_words chat_choice = {
    "tool_choice",
    {NULL, "\"none\"", "\"auto\"", "\"required\""},
    "{\"type\":\"function\",\"function\":{\"name\":",
    "}}",
};
static const struct choice_words responses_choice = {
    "tool_choice",
    {NULL, "\"none\"", "\"auto\"", "\"required\""},
    "{\"type\":\"function\",\"name\":",
    "}",
};
static const struct choice_words anthropic_choice = {
    "tool_choice",
    {NULL, "{\"type\":\"none\"}", "{\"type\":\"auto\"}", "{\"type\":\"any\"}"},
    "{\"type\":\"tool\",\"name\":",
    "}",
};
static const struct choice_words google_choice = {
    "toolConfig/functionCallingConfig",
    {NULL, "{\"mode\":\"NONE\"}", "{\"mode\":\"AUTO\"}", "{\"mode\":\"ANY\"}"},
    "{\"mode\":\"ANY\",\"allowedFunctionNames\":[",
    "]}",
};

/* The words of an API, as paths in its params; NULL: it has none. */
struct words {
    const char *adapter;  /* NULL: any other model, scripted ones among them */
    const char *provider; /* NULL: all that use the adapter */
    const char *path[N_VALUES];
    const char *max_tokens;
    const char *json_path, *json; /* how a request asks for a JSON object */
    const struct choice_words *choice;
    const char *efforts; /* the values of reasoning_effort; NULL: any */
    uint8_t max_temperature;
    bool stop_list; /* `stop` is always an array */
};

#define CHAT_PATHS                                                                                                     \
    {                                                                                                                  \
        "temperature", "top_p", "stop", "seed", "frequency_penalty", "presence_penalty", "reasoning_effort",           \
            "parallel_tool_calls"                                                                                      \
    }
#define CHAT(a, p, max)                                                                                                \
    {                                                                                                                  \
        .adapter = (a), .provider = (p), .path = CHAT_PATHS, .max_tokens = (max), .json_path = "response_format",      \
        .json = "{\"type\":\"json_object\"}", .choice = &chat_choice, .max_temperature = 2                             \
    }

/* Those of one adapter stand together, the row for all of its providers last. max_tokens is an error for OpenAI's
 * reasoning models; other servers know only that. */
static const struct words table[] = {
    CHAT("openai_chat", "openai", "max_completion_tokens"),
    CHAT("openai_chat", "groq", "max_completion_tokens"),
    CHAT("openai_chat", "cerebras", "max_completion_tokens"),
    CHAT("openai_chat", "xai", "max_completion_tokens"),
    CHAT("openai_chat", NULL, "max_tokens"),
    {.adapter = "openai_responses",
     .path = {[TEMPERATURE] = "temperature",
              [TOP_P] = "top_p",
              [EFFORT] = "reasoning/effort",
              [PARALLEL] = "parallel_tool_calls"},
     .max_tokens = "max_output_tokens",
     .json_path = "text/format",
     .json = "{\"type\":\"json_object\"}",
     .choice = &responses_choice,
     .max_temperature = 2},
    {.adapter = "anthropic",
     .path = {[TEMPERATURE] = "temperature",
              [TOP_P] = "top_p",
              [STOP] = "stop_sequences",
              [EFFORT] = "output_config/effort",
              [PARALLEL] = "tool_choice"}, /* a member of it: see put_choice */
     .max_tokens = "max_tokens",
     .choice = &anthropic_choice,
     .efforts = "low medium high max",
     .max_temperature = 1,
     .stop_list = true},
    {.adapter = "google",
     .path = {[TEMPERATURE] = "generationConfig/temperature",
              [TOP_P] = "generationConfig/topP",
              [STOP] = "generationConfig/stopSequences",
              [SEED] = "generationConfig/seed",
              [FREQUENCY] = "generationConfig/frequencyPenalty",
              [PRESENCE] = "generationConfig/presencePenalty",
              [EFFORT] = "generationConfig/thinkingConfig/thinkingLevel"},
     .max_tokens = "generationConfig/maxOutputTokens",
     .json_path = "generationConfig/responseMimeType",
     .json = "\"application/json\"",
     .choice = &google_choice,
     .efforts = "minimal low medium high",
     .max_temperature = 2,
     .stop_list = true},
    {.adapter = "ollama",
     .path = {[TEMPERATURE] = "options/temperature",
              [TOP_P] = "options/top_p",
              [STOP] = "options/stop",
              [SEED] = "options/seed",
              [FREQUENCY] = "options/frequency_penalty",
              [PRESENCE] = "options/presence_penalty",
              [EFFORT] = "think"},
     .max_tokens = "options/num_predict",
     .json_path = "format",
     .json = "\"json\"",
     .efforts = "low medium high",
     .max_temperature = 2,
     .stop_list = true},
    CHAT(NULL, NULL, "max_completion_tokens"),
};

static const struct words *words_of(const struct upp_model *m)
{
    const struct upp__adapter *adapter = upp__adapter_of(m);
    for (size_t i = 0;; i++) {
        const struct words *w = &table[i];
        if (!w->adapter ||
            (adapter && !strcmp(w->adapter, adapter->name) && (!w->provider || !strcmp(w->provider, m->ops->provider))))
            return w;
    }
}

/* ---- Changes of params ------------------------------------------------------------------------------------------- */

struct change {
    struct upp_str path; /* names, with slashes between */
    struct upp_str json;
};

enum { CHANGES = N_VALUES + 4 };

struct writing {
    const struct upp_model *model;
    const struct words *words;
    const struct upp__settings *settings;
    yyjson_val *params; /* NULL: none */
    struct wb_arena *arena;
    struct change list[CHANGES];
    size_t n;
    bool without_tools;
    struct upp_err *err;
};

static int refuse(const struct writing *x, const char *member, const char *why)
{
    int r = upp_fail(x->err, UPP_EINVALID, "'%s' cannot be set for model '%.*s' of %s%s", member,
                     UPP_FMT(x->model->name), x->model->ops->provider, why);
    if (x->err)
        (void)snprintf(x->err->where, sizeof x->err->where, "/%s", member);
    return r;
}

static void change(struct writing *x, const char *path, struct upp_str json)
{
    x->list[x->n++] = (struct change){wb_cstr(path), json};
}

static struct upp_str first_name(struct upp_str path)
{
    return wb_str_sub(path, 0, wb_str_find(path, UPP_STR("/"), 0));
}

/* What is behind the first name; NULL: nothing. */
static struct upp_str rest_of(struct upp_str path)
{
    size_t n = first_name(path).n;
    return n < path.n ? wb_str_sub(path, n + 1, SIZE_MAX) : (struct upp_str){0};
}

static void put_changed(struct wj_writer *w, yyjson_val *object, const struct change *list, size_t n);

/* One member of an object: a change of it, or changes inside of it. `from` is the first of them. */
static void put_changed_member(struct wj_writer *w, struct upp_str name, yyjson_val *v, const struct change *list,
                               size_t from, size_t n)
{
    struct change inside[CHANGES];
    size_t k = 0;
    wj_write_name(w, name);
    for (size_t i = from; i < n; i++) {
        if (!wb_str_eq(first_name(list[i].path), name))
            continue;
        struct upp_str rest = rest_of(list[i].path);
        if (!rest.p) {
            wj_write_raw(w, list[i].json.p, list[i].json.n);
            return;
        }
        inside[k++] = (struct change){rest, list[i].json};
    }
    put_changed(w, yyjson_is_obj(v) ? v : NULL, inside, k);
}

static bool is_changed(struct upp_str name, const struct change *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (wb_str_eq(first_name(list[i].path), name))
            return true;
    return false;
}

/* An object with the changes. Recurses as deep as the paths of the table. */
static void put_changed(struct wj_writer *w, yyjson_val *object, const struct change *list, size_t n)
{
    yyjson_obj_iter it = yyjson_obj_iter_with(object);
    yyjson_val *key;
    wj_write_open(w, '{');
    while ((key = yyjson_obj_iter_next(&it)))
        if (is_changed(wj_text(key), list, n))
            put_changed_member(w, wj_text(key), yyjson_obj_iter_get_val(key), list, 0, n);
        else
            wj_put_member(w, key);
    for (size_t i = 0; i < n; i++) {
        struct upp_str name = first_name(list[i].path);
        if (!upp__member(object, name) && !is_changed(name, list, i))
            put_changed_member(w, name, NULL, list, i, n);
    }
    wj_write_close(w, '}');
}

/* ---- The settings ------------------------------------------------------------------------------------------------ */

bool upp__word_among(const char *list, struct upp_str word)
{
    struct upp_str rest = wb_cstr(list), one;
    while (wb_str_split(&rest, ' ', &one))
        if (wb_str_eq(one, word))
            return true;
    return false;
}

static int check_temperature(struct writing *x, yyjson_val *v)
{
    char why[48];
    double t = 0;
    if (yyjson_is_raw(v) && wj_num_f64(wj_text(v), &t) && t <= x->words->max_temperature)
        return 0;
    (void)snprintf(why, sizeof why, " to a value above %u", x->words->max_temperature);
    return refuse(x, names[TEMPERATURE], why);
}

static int check_value(struct writing *x, size_t i, yyjson_val *v)
{
    char why[96];
    if (i == TEMPERATURE)
        return check_temperature(x, v);
    if (i != EFFORT || !x->words->efforts || upp__word_among(x->words->efforts, wj_text_of(v)))
        return 0;
    (void)snprintf(why, sizeof why, " to this value: it has %s", x->words->efforts);
    return refuse(x, names[EFFORT], why);
}

static int put_value(struct writing *x, size_t i, yyjson_val *v)
{
    struct upp_str json = {0};
    if (i == PARALLEL && (!x->settings->has_tools || x->words->choice == &anthropic_choice))
        return 0; /* said with the choice, or of nothing */
    if (i == PARALLEL && yyjson_is_true(v) && !x->words->path[i])
        return 0; /* so it does anyway */
    if (!x->words->path[i])
        return refuse(x, names[i], ": it has no such parameter");
    int r = check_value(x, i, v);
    if (r >= 0)
        r = wj_value_text(x->arena, v, &json, x->err);
    if (r >= 0 && i == STOP && x->words->stop_list && yyjson_is_str(v))
        json = wb_arena_printf(x->arena, "[%.*s]", UPP_FMT(json));
    change(x, x->words->path[i], json);
    return r < 0 ? r : wb_arena_check(x->arena, x->err);
}

static int put_values(struct writing *x)
{
    int r = 0;
    for (size_t i = 0; r >= 0 && i < N_VALUES; i++) {
        yyjson_val *v = upp__get(x->settings->values, names[i]);
        r = v && !yyjson_is_null(v) ? put_value(x, i, v) : 0;
    }
    return r;
}

/* The params' own limit stays if it is lower. A chat API may have either name for it in the params. */
static int put_max_tokens(struct writing *x)
{
    const char *path = x->words->max_tokens;
    yyjson_val *own = x->params;
    uint64_t had = 0, max = x->settings->max_tokens;
    if (!max)
        return 0;
    if (x->words->choice == &chat_choice && upp__get(own, "max_tokens"))
        path = "max_tokens";
    else if (x->words->choice == &chat_choice && upp__get(own, "max_completion_tokens"))
        path = "max_completion_tokens";
    for (struct upp_str rest = wb_cstr(path); rest.p; rest = rest_of(rest))
        own = upp__member(own, first_name(rest));
    if (yyjson_is_raw(own) && wj_num_u64(wj_text(own), &had) && had && had <= max)
        return 0;
    change(x, path, wb_arena_printf(x->arena, "%" PRIu64, max));
    return wb_arena_check(x->arena, x->err);
}

static int choice_json(struct writing *x, const struct choice_words *words, uint8_t choice, struct upp_str *ret)
{
    struct upp_str name = {0};
    if (choice != UPP__CHOICE_FUNCTION) {
        *ret = wb_cstr(words->words[choice]);
        return 0;
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 16);
    struct wj_writer w;
    wj_writer_init(&w, &b, x->err);
    wj_write_str(&w, x->settings->function);
    int r = wj_writer_text(&w, x->arena, &name);
    *ret = wb_arena_printf(x->arena, "%s%.*s%s", words->before, UPP_FMT(name), words->after);
    return r < 0 ? r : wb_arena_check(x->arena, x->err);
}

/* Anthropic has one object for both: {"type":"auto","disable_parallel_tool_use":true}. */
static void add_one_at_a_time(struct writing *x, struct upp_str *json)
{
    *json = wb_arena_printf(x->arena, "%.*s,\"disable_parallel_tool_use\":true}", (int)json->n - 1, json->p);
}

static int put_choice(struct writing *x)
{
    const struct choice_words *words = x->words->choice;
    uint8_t choice = x->settings->choice;
    struct upp_str json = {0};
    yyjson_val *parallel = upp__get(x->settings->values, names[PARALLEL]);
    bool one = words == &anthropic_choice && parallel && yyjson_is_false(parallel) && choice != UPP__CHOICE_NONE;
    if (!x->settings->has_tools)
        return 0;
    if (one && !choice)
        choice = UPP__CHOICE_AUTO;
    if (!choice)
        return 0;
    if (!words) {
        x->without_tools = choice == UPP__CHOICE_NONE;
        return choice >= UPP__CHOICE_REQUIRED ? refuse(x, "tool_choice", " to this value: it cannot be made to") : 0;
    }
    int r = choice_json(x, words, choice, &json);
    if (r >= 0 && one)
        add_one_at_a_time(x, &json);
    change(x, words->path, json);
    return r < 0 ? r : wb_arena_check(x->arena, x->err);
}

static int put_json(struct writing *x)
{
    if (!x->settings->json)
        return 0;
    if (!x->words->json)
        return refuse(x, "response_format", " to json_object: it has json_schema");
    change(x, x->words->json_path, wb_cstr(x->words->json));
    return 0;
}

int upp__settings_write(const struct upp_model *m, struct upp_str params, const struct upp__settings *s,
                        struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct writing x = {.model = m, .words = words_of(m), .settings = s, .arena = a, .err = err};
    int r = params.n ? wj_read(a, params, NULL, &x.params, err) : 0;
    if (r < 0)
        return upp_wrap(err, r, "params");
    r = put_values(&x);
    if (r >= 0)
        r = put_max_tokens(&x);
    if (r >= 0)
        r = put_choice(&x);
    if (r >= 0)
        r = put_json(&x);
    if (r < 0)
        return r;
    *ret = params;
    if (x.n) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(64u << 20);
        struct wj_writer w;
        wj_writer_init(&w, &out, err);
        put_changed(&w, yyjson_is_obj(x.params) ? x.params : NULL, x.list, x.n);
        r = wj_writer_text(&w, a, ret);
    }
    return r < 0 ? r : x.without_tools;
}
