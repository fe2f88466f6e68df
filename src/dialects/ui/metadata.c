/* dialects/ui/metadata.c — reads the metadata of a UI message. */
#include "dialects/core/lift.h"
#include "dialects/ui/doc.h"
#include "json/value.h"

/* Reads an object's members in the order in which we write them, which is usually the order they are in. */
struct members {
    yyjson_val *next; /* the key of the first member that was not read */
    size_t left;      /* how many members there are from there on */
    bool canonical;
};

static struct members members_of(yyjson_val *object)
{
    if (!yyjson_is_obj(object))
        return (struct members){0};
    return (struct members){unsafe_yyjson_get_first(object), unsafe_yyjson_get_len(object), true};
}

/* The first of the remaining members with this name. */
__attribute__((noinline)) static yyjson_val *find_member(struct members *o, struct upp_str name)
{
    yyjson_val *key = o->next;
    for (size_t n = o->left; n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name)) {
            o->canonical = false;
            return key + 1;
        }
    return NULL;
}

/* NULL: none. Each name is read once, so no member that was read already has it. */
static inline yyjson_val *member(struct members *o, struct upp_str name)
{
    if (!o->left)
        return NULL;
    if (!wb_str_eq(wj_text(o->next), name))
        return find_member(o, name);
    yyjson_val *value = o->next + 1;
    o->next = unsafe_yyjson_get_next(value);
    o->left--;
    return value;
}

static inline struct upp_str text(struct members *o, struct upp_str name)
{
    yyjson_val *v = member(o, name);
    if (v && unsafe_yyjson_is_str(v))
        return wj_text(v);
    o->canonical &= !v;
    return (struct upp_str){0};
}

static uint64_t number_of(struct members *o, yyjson_val *v)
{
    struct upp_str digits = v && unsafe_yyjson_is_raw(v) ? wj_text(v) : (struct upp_str){0};
    o->canonical &= !v || wd_is_canonical_number(digits);
    return wd_number_of(digits);
}

static inline uint64_t number(struct members *o, struct upp_str name)
{
    return number_of(o, member(o, name));
}

/* All members were read, in order, each with its proper type. */
static bool is_canonical(const struct members *o)
{
    return o->canonical && !o->left;
}

static bool read_time(yyjson_val *v, struct wd_ui_about *to)
{
    struct members o = members_of(v);
    to->time = text(&o, UPP_STR("timestamp"));
    return is_canonical(&o) && to->time.p;
}

static bool read_who(yyjson_val *v, struct wd_ui_about *to)
{
    struct members o = members_of(v);
    bool any = o.left;
    to->agent = text(&o, UPP_STR("agent"));
    to->name = text(&o, UPP_STR("name"));
    to->model = text(&o, UPP_STR("model"));
    to->provider = text(&o, UPP_STR("provider"));
    to->ended = text(&o, UPP_STR("ended"));
    to->run = text(&o, UPP_STR("run"));
    yyjson_val *partial = member(&o, UPP_STR("partial"));
    to->partial = yyjson_is_true(partial);
    return is_canonical(&o) && any && (!partial || to->partial);
}

/* lower writes all of them, except reasoningTokens if there are none. */
static bool read_usage(yyjson_val *v, struct wd_ui_about *to)
{
    enum { ALWAYS = 5 };
    struct members o = members_of(v);
    size_t n = o.left;
    to->has_usage = yyjson_is_obj(v);
    to->usage.input = number(&o, UPP_STR("inputTokens"));
    to->usage.output = number(&o, UPP_STR("outputTokens"));
    uint64_t total = number(&o, UPP_STR("totalTokens"));
    to->usage.cache_read = number(&o, UPP_STR("cacheReadTokens"));
    to->usage.cache_write = number(&o, UPP_STR("cacheWriteTokens"));
    yyjson_val *reasoning = member(&o, UPP_STR("reasoningTokens"));
    to->reasoning = number_of(&o, reasoning);
    return is_canonical(&o) && n == (reasoning ? ALWAYS + 1 : ALWAYS) && (!reasoning || to->reasoning) &&
           total == to->usage.input + to->usage.output;
}

void wd_ui_about(yyjson_val *metadata, struct wd_ui_about *to)
{
    struct members o = members_of(metadata);
    yyjson_val *time = member(&o, UPP_STR("pydantic_ai"));
    yyjson_val *weft = member(&o, UPP_STR("weft"));
    yyjson_val *usage = member(&o, UPP_STR("usage"));
    *to = (struct wd_ui_about){.events = member(&o, UPP_STR("weft_events"))};
    to->canonical = is_canonical(&o) && !to->events;
    to->canonical &= read_time(time, to);
    if (weft)
        to->canonical &= read_who(weft, to);
    if (usage)
        to->canonical &= read_usage(usage, to);
}
