/* dialects/envelope/read.c — reads one envelope.
 *
 * Most envelopes are canonical: they have the members that lower writes, in its order. These are read in sequence,
 * without searching. All others are decoded.
 */
#include "dialects/envelope/envelope.h"
#include "dialects/core/lift.h"
#include "json/value.h"

/* The members of an object that were not read yet. */
struct rest {
    yyjson_val *at, *end;
};

static inline struct rest inside(yyjson_val *obj)
{
    return (struct rest){obj + 1, unsafe_yyjson_get_next(obj)};
}

/* Always inlined: then a name is compared as a few constant bytes. */
#define INLINE __attribute__((always_inline)) static inline

/* Reads the next member if it has this name; else NULL. */
INLINE yyjson_val *take(struct rest *r, struct upp_str name)
{
    if (r->at == r->end || !wj_named(r->at, name))
        return NULL;
    yyjson_val *v = r->at + 1;
    r->at = unsafe_yyjson_get_next(v);
    return v;
}

/* The same for a string. */
INLINE bool take_text(struct rest *r, struct upp_str name, struct upp_str *to)
{
    if (r->at == r->end || !wj_named(r->at, name) || !unsafe_yyjson_is_str(r->at + 1))
        return false;
    *to = wj_text(r->at + 1);
    r->at += 2;
    return true;
}

static bool take_agent(struct rest *r, struct wd_envelope *e)
{
    e->agent = take(r, UPP_STR("agent"));
    if (!e->agent)
        return true;
    if (!unsafe_yyjson_is_obj(e->agent))
        return false;
    struct rest in = inside(e->agent);
    return take_text(&in, UPP_STR("id"), &e->agent_id) && take_text(&in, UPP_STR("name"), &e->agent_name) &&
           take_text(&in, UPP_STR("model"), &e->model) && in.at == in.end;
}

static bool take_content(struct rest *r, struct wd_envelope *e)
{
    e->content = take(r, UPP_STR("content"));
    if (!e->content || !unsafe_yyjson_is_obj(e->content))
        return false;
    struct rest in = inside(e->content);
    if (!take_text(&in, UPP_STR("type"), &e->type) || !take_text(&in, UPP_STR("text"), &e->text))
        return false;
    e->data = take(&in, UPP_STR("data"));
    return in.at == in.end;
}

static bool is_cost(yyjson_val *v)
{
    if (!unsafe_yyjson_is_obj(v))
        return false;
    struct rest in = inside(v);
    yyjson_val *input = take(&in, UPP_STR("input_tokens")), *output = take(&in, UPP_STR("output_tokens"));
    return input && unsafe_yyjson_is_raw(input) && output && unsafe_yyjson_is_raw(output) && in.at == in.end;
}

static bool take_trace(struct rest *r, struct wd_envelope *e)
{
    e->trace = take(r, UPP_STR("trace"));
    if (!e->trace || !unsafe_yyjson_is_obj(e->trace))
        return false;
    struct rest in = inside(e->trace);
    yyjson_val *parents = take(&in, UPP_STR("parents"));
    if (parents) {
        if (!unsafe_yyjson_is_arr(parents) || unsafe_yyjson_get_len(parents) != 1 || !unsafe_yyjson_is_str(parents + 1))
            return false;
        e->parent = wj_text(parents + 1);
    }
    if (!take_text(&in, UPP_STR("id"), &e->id))
        return false;
    e->cost = take(&in, UPP_STR("cost"));
    return in.at == in.end && (!e->cost || is_cost(e->cost));
}

static bool take_weft(struct rest *r, struct wd_envelope *e)
{
    e->weft = take(r, UPP_STR("weft"));
    if (!e->weft)
        return true;
    if (!unsafe_yyjson_is_obj(e->weft) || !unsafe_yyjson_get_len(e->weft))
        return false;
    struct rest in = inside(e->weft);
    (void)take_text(&in, UPP_STR("of"), &e->of);
    (void)take_text(&in, UPP_STR("kind"), &e->kind);
    (void)take_text(&in, UPP_STR("provider"), &e->provider);
    (void)take_text(&in, UPP_STR("call"), &e->call);
    (void)take_text(&in, UPP_STR("name"), &e->name);
    return in.at == in.end;
}

bool wd_envelope_read_canonical(yyjson_val *v, struct wd_envelope *e)
{
    struct rest r = inside(v);
    *e = (struct wd_envelope){.node = {.from = v}};
    e->canonical = take_text(&r, UPP_STR("protocol"), &e->protocol) && take_text(&r, UPP_STR("role"), &e->role) &&
                   take_agent(&r, e) && take_text(&r, UPP_STR("timestamp"), &e->timestamp) &&
                   take_text(&r, UPP_STR("intent"), &e->intent) && take_text(&r, UPP_STR("task"), &e->task) &&
                   take_content(&r, e) && take_trace(&r, e) && take_weft(&r, e) && r.at == r.end &&
                   wb_str_eq(e->protocol, UPP_STR(WD_ENVELOPE_PROTOCOL));
    return e->canonical;
}

static void look_inside(struct wd_envelope *e)
{
    yyjson_val *parent = yyjson_arr_get_last(yyjson_obj_get(e->trace, "parents"));
    e->agent_id = wj_text_at(e->agent, "id");
    e->agent_name = wj_text_at(e->agent, "name");
    e->model = wj_text_at(e->agent, "model");
    e->type = wj_text_at(e->content, "type");
    e->text = wj_text_at(e->content, "text");
    e->data = yyjson_obj_get(e->content, "data");
    e->parent = wj_text_of(parent);
    e->id = wj_text_at(e->trace, "id");
    e->cost = yyjson_obj_get(e->trace, "cost");
    e->of = wj_text_at(e->weft, "of");
    e->kind = wj_text_at(e->weft, "kind");
    e->within = wj_text_at(e->weft, "agent");
    e->provider = wj_text_at(e->weft, "provider");
    e->call = wj_text_at(e->weft, "call");
    e->name = wj_text_at(e->weft, "name");
}

int wd_envelope_read(struct wb_arena *a, yyjson_val *v, struct wd_envelope *e, struct upp_err *err)
{
    if (wd_envelope_read_canonical(v, e))
        return 0;
    int r = WJ_DECODE(a, wd_envelope, v, UPP_OPTS(wj_decode_opts, .problem = wd_ignore_problem), e, err);
    if (r >= 0)
        look_inside(e);
    return r;
}
