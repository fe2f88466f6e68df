/* dialects/ui/metadata.c — what the metadata of a UI message say of it. */
#include "dialects/core/lift.h"
#include "dialects/ui/doc.h"
#include "json/value.h"

/* An object whose members are asked for in the order in which we write them: mostly they stand there in it. */
struct asked {
    yyjson_val *next; /* the name of the first that was not taken */
    size_t      left; /* how many there are from there on */
    bool        plain;
};

static struct asked ask(yyjson_val *object)
{
    if (!yyjson_is_obj(object))
        return (struct asked){0};
    return (struct asked){unsafe_yyjson_get_first(object), unsafe_yyjson_get_len(object), true};
}

/* The first of those that are left that has this name. */
__attribute__((noinline)) static yyjson_val *look_for(struct asked *o, struct upp_str name)
{
    yyjson_val *key = o->next;
    for (size_t n = o->left; n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name)) {
            o->plain = false;
            return key + 1;
        }
    return NULL;
}

/* NULL: there is none. Each name is asked for once, so none of those that were taken has it. */
static inline yyjson_val *member(struct asked *o, struct upp_str name)
{
    if (!o->left)
        return NULL;
    if (!wb_str_eq(wj_text(o->next), name))
        return look_for(o, name);
    yyjson_val *value = o->next + 1;
    o->next           = unsafe_yyjson_get_next(value);
    o->left--;
    return value;
}

static inline struct upp_str text(struct asked *o, struct upp_str name)
{
    yyjson_val *v = member(o, name);
    if (v && unsafe_yyjson_is_str(v))
        return wj_text(v);
    o->plain &= !v;
    return (struct upp_str){0};
}

static uint64_t number_of(struct asked *o, yyjson_val *v)
{
    struct upp_str said = v && unsafe_yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
    o->plain &= !v || wd_is_plain_number(said);
    return wd_number_of(said);
}

static inline uint64_t number(struct asked *o, struct upp_str name)
{
    return number_of(o, member(o, name));
}

/* Were all taken, each where it stood, and was each what it should be? */
static bool is_plain(const struct asked *o)
{
    return o->plain && !o->left;
}

/* ---- Objects ----------------------------------------------------------------------------------------------- */

static bool read_time(yyjson_val *v, struct wd_ui_about *to)
{
    struct asked o = ask(v);
    to->time       = text(&o, UPP_STR("timestamp"));
    return is_plain(&o) && to->time.p;
}

static bool read_who(yyjson_val *v, struct wd_ui_about *to)
{
    struct asked o   = ask(v);
    bool         any = o.left;
    to->agent        = text(&o, UPP_STR("agent"));
    to->name         = text(&o, UPP_STR("name"));
    to->model        = text(&o, UPP_STR("model"));
    to->provider     = text(&o, UPP_STR("provider"));
    to->ended        = text(&o, UPP_STR("ended"));
    to->run          = text(&o, UPP_STR("run"));
    return is_plain(&o) && any;
}

/* All of them are written, but for the tokens of reasoning where there were none. */
static bool read_usage(yyjson_val *v, struct wd_ui_about *to)
{
    enum { ALWAYS = 5 };
    struct asked o        = ask(v);
    size_t       n        = o.left;
    to->has_usage         = yyjson_is_obj(v);
    to->usage.input       = number(&o, UPP_STR("inputTokens"));
    to->usage.output      = number(&o, UPP_STR("outputTokens"));
    uint64_t total        = number(&o, UPP_STR("totalTokens"));
    to->usage.cache_read  = number(&o, UPP_STR("cacheReadTokens"));
    to->usage.cache_write = number(&o, UPP_STR("cacheWriteTokens"));
    yyjson_val *reasoning = member(&o, UPP_STR("reasoningTokens"));
    to->reasoning         = number_of(&o, reasoning);
    return is_plain(&o) && n == (reasoning ? ALWAYS + 1 : ALWAYS) && (!reasoning || to->reasoning) &&
           total == to->usage.input + to->usage.output;
}

void wd_ui_about(yyjson_val *metadata, struct wd_ui_about *to)
{
    struct asked o     = ask(metadata);
    yyjson_val  *time  = member(&o, UPP_STR("pydantic_ai"));
    yyjson_val  *weft  = member(&o, UPP_STR("weft"));
    yyjson_val  *usage = member(&o, UPP_STR("usage"));
    *to                = (struct wd_ui_about){.events = member(&o, UPP_STR("weft_events"))};
    to->plain          = is_plain(&o) && !to->events;
    to->plain &= read_time(time, to);
    if (weft)
        to->plain &= read_who(weft, to);
    if (usage)
        to->plain &= read_usage(usage, to);
}
