/* dialects/upp/values.c — times and metadata of UPP messages. */
#include "base/iso8601.h"
#include "dialects/upp/doc.h"
#include "model/upp_weft.h"
#include "json/read.h"
#include "json/value.h"

static struct upp_str spelled(struct wd_lowering *l, struct upp_str text, int64_t ms)
{
    char upp[WB_TIME_TEXT];
    struct wb_time t, m;
    struct upp_str s = text.p ? wb_time_upp_of(text, upp) : text;
    if (s.p)
        return wb_arena_dup(&l->keep, s);
    if (text.p && wb_time_parse(text, &t, NULL) >= 0) {
        m = wb_time_from_ms(wb_time_ms(&t));
        if (t.naive || wb_time_cmp(&t, &m) != 0)
            return text;
        ms = wb_time_ms(&t);
    }
    t = wb_time_from_ms(ms);
    s = wb_time_upp(&t, upp);
    return s.p ? wb_arena_dup(&l->keep, s) : UPP_STR("1970-01-01T00:00:00.000Z");
}

static bool is_cached(const struct wd_timed *last, struct upp_str text, int64_t ms)
{
    return last->spelled.p && last->ms == ms && !last->text.p == !text.p && wb_str_eq(last->text, text);
}

struct upp_str wd_upp_time(struct wd_lowering *l, struct upp_str text, int64_t ms)
{
    int64_t unused;
    struct wd_timed *last = &l->upp_time;
    if (is_cached(last, text, ms))
        return last->spelled;
    last->spelled = text.p && wb_time_parse_upp(text, &unused) ? text : spelled(l, text, ms);
    last->text = text;
    last->ms = ms;
    return last->spelled;
}

/* With a zone: threads and sessions allow no other times. */
static struct upp_str zoned(struct wd_lowering *l, struct upp_str text, int64_t ms)
{
    struct wb_time t;
    if (!text.p || wb_time_parse(text, &t, NULL) < 0)
        return wd_upp_time(l, (struct upp_str){0}, ms);
    return t.naive ? wd_upp_time(l, (struct upp_str){0}, wb_time_ms(&t)) : text;
}

struct upp_str wd_upp_created(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return zoned(l, d->created, d->entries.n ? d->entries.p[0].e.message.time_ms : l->now_ms);
}

struct upp_str wd_upp_updated(struct wd_lowering *l)
{
    const struct wm_doc *d = l->doc;
    return zoned(l, d->updated, d->entries.n ? d->entries.p[d->entries.n - 1].e.message.time_ms : l->now_ms);
}

void wd_upp_weft_others(struct wd_upp_weft *o, struct upp_str json, unsigned depth)
{
    struct wj_syntax seen;
    wb_arena_reset(&o->l->scratch);
    if (!json.p || wj_syntax(json, depth, &seen, NULL) < 0 || wb_str_trim(json).p[0] != '{')
        return;
    o->others = json;
    o->depth = seen.depth;
    o->weft = wb_str_find(json, UPP_STR("\"weft\""), 0) != SIZE_MAX;
}

/* Foreign metadata: the members of a map except "weft", and the members of "weft" without names of ours. */
struct others {
    yyjson_val *map, *weft; /* NULL: none */
    size_t n, within;       /* number of foreign members of each */
    unsigned depth;
};

/* Recurses once per level; values are at most WD_DOC_DEPTH deep. */
static unsigned depth_of(yyjson_val *v)
{
    unsigned deepest = 0;
    if (!unsafe_yyjson_is_ctn(v))
        return 0;
    bool object = unsafe_yyjson_is_obj(v);
    for (yyjson_val *x = v + 1, *end = unsafe_yyjson_get_next(v); x < end; x = unsafe_yyjson_get_next(x)) {
        x += object;
        unsigned depth = depth_of(x);
        deepest = WB_MAX(deepest, depth);
    }
    return deepest + 1;
}

static void count_other(struct others *x, size_t *n, yyjson_val *value, unsigned outer)
{
    unsigned depth = outer + depth_of(value);
    x->depth = WB_MAX(x->depth, depth);
    (*n)++;
}

static struct others find_others(const struct wd_upp_weft *o)
{
    yyjson_val *key, *value;
    size_t i, max;
    struct others x = {.map = o->others.n ? wd_scratch_read(o->l, o->others) : NULL};
    if (!x.map)
        return x;
    yyjson_obj_foreach(x.map, i, max, key, value)
    {
        if (!wm_weft_is_weft(key))
            count_other(&x, &x.n, value, 1);
        else if (!x.weft)
            x.weft = value;
    }
    if (x.weft)
        yyjson_obj_foreach(x.weft, i, max, key, value)
        {
            if (!wm_upp_is_ours(key, o->names))
                count_other(&x, &x.within, value, 2);
        }
    return x;
}

/* Only a map with a "weft" may be written without some of its members. */
unsigned wd_upp_weft_depth(const struct wd_upp_weft *o)
{
    return o->weft && o->depth >= WJ_MAX_DEPTH ? find_others(o).depth : o->depth;
}

static void put_members(struct wd_upp_weft *o, const struct others *x)
{
    yyjson_val *key, *value;
    size_t i, max;
    wj_put_open(&o->l->w, "metadata", '{');
    if (x->map)
        yyjson_obj_foreach(x->map, i, max, key, value)
        {
            if (!wm_weft_is_weft(key))
                wj_put_member(&o->l->w, key);
        }
}

static void put_within(struct wd_upp_weft *o, const struct others *x)
{
    o->open = true;
    wj_put_open(&o->l->w, "weft", '{');
    if (x->weft)
        (void)wm_weft_put_others(&o->l->w, x->weft, o->names);
}

void wd_upp_weft_open(struct wd_upp_weft *o)
{
    struct others x = find_others(o);
    put_members(o, &x);
    put_within(o, &x);
}

/* Without members of ours. */
static void put_others(struct wd_upp_weft *o, bool always)
{
    struct others x = {0};
    if (o->others.n && !o->weft) {
        wd_member_json(o->l, "metadata", o->others);
        return;
    }
    if (o->weft)
        x = find_others(o);
    if (!x.n && !x.within && !always)
        return;
    put_members(o, &x);
    if (x.within)
        put_within(o, &x);
    else
        wj_write_close(&o->l->w, '}');
}

void wd_upp_weft_close(struct wd_upp_weft *o, bool always)
{
    if (!o->open)
        put_others(o, always);
    if (o->open) {
        wj_write_close(&o->l->w, '}');
        wj_write_close(&o->l->w, '}');
    }
}
