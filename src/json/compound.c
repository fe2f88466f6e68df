/* json/compound.c — members with structure: objects, objects chosen by a tag, arrays. */
#include "json/decode.h"
#include "json/encode.h"
#include "json/value.h"

/* Slots hold pointers of the program's own types; memcpy reads and writes them without aliasing anything. */
static void *load(const void *slot)
{
    void *p;
    memcpy(&p, slot, sizeof p);
    return p;
}

/* ---- An object behind a pointer ----------------------------------------------------------------------- */

static int obj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_shape *s = f->arg;
    void                  *p = wb_arena_zero(d->arena, s->size, _Alignof(max_align_t));
    if (!p)
        return wb_arena_check(d->arena, d->err);
    memcpy(slot, &p, sizeof p);
    return wj_decode_object(d, s, v, p);
}

static void obj_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    wj_encode_object(e, f->arg, load(slot));
}

const struct wj_kind wj_kind_obj = {.expects = "an object",
                                    .takes   = WJ_OBJECT,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(void *),
                                    .get     = obj_get,
                                    .put     = obj_put};

/* ---- An object in its place: the item of an array ------------------------------------------------------- */

static int inl_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    return wj_decode_object(d, f->arg, v, slot);
}

static void inl_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    wj_encode_object(e, f->arg, slot);
}

const struct wj_kind wj_kind_inl = {
    .expects = "an object", .takes = WJ_OBJECT, .has = WJ_HAS_BIT, .get = inl_get, .put = inl_put};

/* ---- One of several objects -------------------------------------------------------------------------------- */

/* The value of the last member of that name: of duplicates the last one counts, here as everywhere. */
static yyjson_val *last_member(yyjson_val *obj, struct upp_str name)
{
    size_t      n     = unsafe_yyjson_get_len(obj);
    yyjson_val *found = NULL, *key = unsafe_yyjson_get_first(obj);
    for (; n; n--, key = unsafe_yyjson_get_next(key + 1))
        if (wj_named(key, name))
            found = key + 1;
    return found;
}

__attribute__((noinline, cold)) static int unknown_tag(struct wj_decoder *d, const struct wj_variants *vs,
                                                       yyjson_val *v, yyjson_val *tag)
{
    struct wj_list list = {0};
    char           found[WJ_QUOTED];
    if (!tag)
        return wj_refuse(d, v, "member '%.*s' is missing", UPP_FMT(vs->member));
    for (unsigned i = 0; i < vs->n; i++)
        wj_list_add(&list, ", ", "'", vs->list[i].name);
    return wj_refuse(d, tag, "expected one of %s, found %s", list.p,
                     yyjson_is_str(tag) ? wj_quote(wj_text(tag), found, sizeof found)
                                        : wj_found(tag, found, sizeof found));
}

static int var_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_variants *vs  = f->arg;
    struct wj_var            *var = slot;
    yyjson_val               *tag = last_member(v, vs->member);
    const struct wj_variant  *one = NULL;
    if (tag && yyjson_is_str(tag))
        for (unsigned i = 0; i < vs->n && !one; i++)
            if (wj_named(tag, vs->list[i].name))
                one = &vs->list[i];
    if (!one && !vs->open)
        return unknown_tag(d, vs, v, tag);
    *var = (struct wj_var){.raw = v, .tag = one ? one->tag : vs->other};
    if (!one || !one->shape)
        return 0;
    var->node = wb_arena_zero(d->arena, one->shape->size, _Alignof(max_align_t));
    if (!var->node)
        return wb_arena_check(d->arena, d->err);
    return wj_decode_object(d, one->shape, v, var->node);
}

static void var_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    const struct wj_variants *vs  = f->arg;
    const struct wj_var      *var = slot;
    for (unsigned i = 0; var->node && i < vs->n; i++)
        if (vs->list[i].tag == var->tag && vs->list[i].shape) {
            wj_encode_object(e, vs->list[i].shape, var->node);
            return;
        }
    e->value = var->raw;
    if (var->raw)
        wj_write_value(&e->w, var->raw);
    else
        wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_EINVALID, "expected a known variant, found %d", var->tag));
}

const struct wj_kind wj_kind_var = {.expects = "an object",
                                    .takes   = WJ_OBJECT,
                                    .has     = WJ_HAS_EITHER,
                                    .size    = sizeof(struct wj_var),
                                    .get     = var_get,
                                    .put     = var_put};

/* ---- Arrays -------------------------------------------------------------------------------------------------- */

/* What every WJ_ARR(E) looks like. */
struct arr {
    void       *p;
    size_t      n;
    yyjson_val *from;
};

static int arr_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_item *item = f->arg;
    struct arr            arr  = {.n = unsafe_yyjson_get_len(v), .from = v};
    int                   bad  = 0;
    if (arr.n > SIZE_MAX / item->size)
        return upp_fail(d->err, UPP_ELIMIT, "an array of %zu items", arr.n);
    arr.p = arr.n ? wb_arena_zero(d->arena, arr.n * item->size, _Alignof(max_align_t)) : v; /* empty: any pointer */
    if (!arr.p)
        return wb_arena_check(d->arena, d->err);
    if (d->depth == d->limit)
        return wj_too_deep(d, v);
    d->depth++;
    char       *at = arr.p;
    yyjson_val *x  = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < arr.n; i++, at += item->size, x = unsafe_yyjson_get_next(x)) {
        if (unsafe_yyjson_is_null(x) && (f->flags & F_NULL_ITEMS))
            continue;
        bool object = item->alts->kind == &wj_kind_inl && unsafe_yyjson_is_obj(x); /* most are: it saves two calls */
        int  r      = object ? wj_decode_object(d, item->alts->arg, x, (struct wj_node *)(void *)(at + item->alts->off))
                             : wj_get(d, item->alts, x, at);
        if (r < 0) {
            bad = f->flags & F_BAD_ITEMS ? bad : r;
            if (r != -UPP_EINVALID || !d->opts->problem)
                return r;
        }
    }
    d->depth--;
    memcpy(slot, &arr, sizeof arr);
    return bad;
}

/* One item. `from`: what it was read from, as far as anybody can tell. */
static void item_put(struct wj_encoder *e, const struct wj_field *alts, const char *at, yyjson_val *from, bool null)
{
    const struct wj_field *f = alts;
    while (!wj_slot_filled(f, at + f->off)) {
        if (!(f->flags & F_OR)) {
            if (null)
                wj_write_null(&e->w);
            else
                wj_writer_fail(&e->w, upp_fail(e->w.err, UPP_EINVALID, "expected %s, found nothing", f->kind->expects));
            return;
        }
        f++;
    }
    if (from && f->kind->same && (f->kind->takes >> unsafe_yyjson_get_type(from) & 1) &&
        f->kind->same(f, from, at + f->off))
        wj_write_value(&e->w, from);
    else
        f->kind->put(e, f, at + f->off);
}

static void arr_put(struct wj_encoder *e, const struct wj_field *f, const void *slot)
{
    const struct wj_item *item  = f->arg;
    struct wj_level       level = {.up = e->at};
    struct arr            arr;
    memcpy(&arr, slot, sizeof arr);
    if (!wj_encode_enter(e))
        return;
    const char *at   = arr.p;
    yyjson_val *from = arr.from && unsafe_yyjson_get_len(arr.from) == arr.n ? unsafe_yyjson_get_first(arr.from) : NULL;
    e->at            = &level;
    wj_write_open(&e->w, '[');
    for (; level.index < arr.n; level.index++, at += item->size) {
        item_put(e, item->alts, at, from, f->flags & F_NULL_ITEMS);
        if (WB_UNLIKELY(e->w.failed)) {
            wj_encode_place(e);
            break;
        }
        if (from)
            from = unsafe_yyjson_get_next(from);
    }
    wj_write_close(&e->w, ']');
    e->at = level.up;
    e->depth--;
}

const struct wj_kind wj_kind_arr = {.expects = "an array",
                                    .takes   = WJ_ARRAY,
                                    .has     = WJ_HAS_POINTER,
                                    .size    = sizeof(struct arr),
                                    .get     = arr_get,
                                    .put     = arr_put};
