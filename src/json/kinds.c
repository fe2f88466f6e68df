/* json/kinds.c — decoders for members: text, numbers, enums, undecoded values, objects, arrays. */
#include "json/decode.h"
#include "json/number.h"
#include "json/value.h"

static int str_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(struct upp_str *)slot = wj_text(v);
    return 0;
}

const struct wj_kind wj_kind_str = {
    .expects = "a string", .takes = WJ_STRING, .size = sizeof(struct upp_str), .get = str_get};

const struct wj_item wj_item_str = {{.kind = &wj_kind_str}, sizeof(struct upp_str)};

static int number_out_of_range(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v)
{
    char found[64];
    return wj_refuse(d, v, "expected %s, found %s", f->kind->expects, wj_found(v, found, sizeof found));
}

static int u64_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    if (WB_LIKELY(wb_str_u64(wj_text(v), slot)))
        return 0;
    return wj_num_u64(wj_text(v), slot) ? WJ_SPELLED : number_out_of_range(d, f, v);
}

const struct wj_kind wj_kind_u64 = {.expects = "an integer of 64 bits that is not negative",
                                    .takes = WJ_NUMBER,
                                    .size = sizeof(uint64_t),
                                    .get = u64_get};

const struct wj_kind wj_kind_num = {
    .expects = "a number", .takes = WJ_NUMBER, .size = sizeof(struct upp_str), .get = str_get};

static int bool_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(bool *)slot = unsafe_yyjson_get_bool(v);
    return 0;
}

const struct wj_kind wj_kind_bool = {
    .expects = "true or false", .takes = WJ_BOOL, .size = sizeof(bool), .get = bool_get};

__attribute__((noinline, cold)) static int unknown_word(struct wj_decoder *d, const struct wj_enum *words,
                                                        yyjson_val *v)
{
    struct wj_list list = {0};
    char found[WJ_QUOTED];
    for (unsigned i = 0; i < words->n; i++)
        wj_list_add(&list, ", ", "'", words->words[i].text);
    return wj_refuse(d, v, "expected %s%s, found %s", words->n > 1 ? "one of " : "", list.p,
                     wj_quote(wj_text(v), found, sizeof found));
}

/* Enums are stored as int: every enum of ours fits, and gcc and clang give it that size. */
static int enum_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_enum *words = f->arg;
    for (unsigned i = 0; i < words->n; i++)
        if (wj_named(v, words->words[i].text)) {
            memcpy(slot, &words->words[i].value, sizeof(int));
            return 0;
        }
    return unknown_word(d, words, v);
}

const struct wj_kind wj_kind_enum = {.expects = "a string", .takes = WJ_STRING, .size = sizeof(int), .get = enum_get};

static int any_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    (void)d, (void)f;
    *(yyjson_val **)slot = v;
    return 0;
}

const struct wj_kind wj_kind_any = {.expects = "a value",
                                    .takes = WJ_NUMBER | WJ_NULL | WJ_BOOL | WJ_STRING | WJ_ARRAY | WJ_OBJECT,
                                    .size = sizeof(yyjson_val *),
                                    .get = any_get};

static int map_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    struct wj_map *map = slot;
    (void)f;
    map->n = unsafe_yyjson_get_len(v);
    map->p = wb_new_n(d->arena, struct wj_pair, map->n ? map->n : 1); /* an empty map has a pointer too */
    if (!map->p)
        return wb_arena_check(d->arena, d->err);
    yyjson_val *name = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < map->n; i++, name = unsafe_yyjson_get_next(name + 1))
        map->p[i] = (struct wj_pair){wj_text(name), name + 1};
    return 0;
}

const struct wj_kind wj_kind_map = {
    .expects = "an object", .takes = WJ_OBJECT, .size = sizeof(struct wj_map), .get = map_get};

static int obj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_shape *s = f->arg;
    void *p = wb_arena_zero(d->arena, s->size, _Alignof(max_align_t));
    if (!p)
        return wb_arena_check(d->arena, d->err);
    memcpy(slot, &p, sizeof p);
    return wj_decode_object(d, s, v, p);
}

const struct wj_kind wj_kind_obj = {.expects = "an object", .takes = WJ_OBJECT, .size = sizeof(void *), .get = obj_get};

/* Inline objects: items of an array. */

static int inl_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    return wj_decode_object(d, f->arg, v, slot);
}

const struct wj_kind wj_kind_inl = {.expects = "an object", .takes = WJ_OBJECT, .get = inl_get};

/* The layout of every WJ_ARR(E). */
struct arr {
    void *p;
    size_t n;
};

static int arr_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, void *slot)
{
    const struct wj_item *item = f->arg;
    struct arr arr = {.n = unsafe_yyjson_get_len(v)};
    int bad = 0;
    if (arr.n > SIZE_MAX / item->size)
        return upp_fail(d->err, UPP_ELIMIT, "an array of %zu items", arr.n);
    arr.p = arr.n ? wb_arena_zero(d->arena, arr.n * item->size, _Alignof(max_align_t)) : v; /* empty: any pointer */
    if (!arr.p)
        return wb_arena_check(d->arena, d->err);
    if (d->depth == d->limit)
        return wj_too_deep(d, v);
    d->depth++;
    char *at = arr.p;
    yyjson_val *x = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < arr.n; i++, at += item->size, x = unsafe_yyjson_get_next(x)) {
        bool object = item->row.kind == &wj_kind_inl && unsafe_yyjson_is_obj(x); /* the common case: saves two calls */
        int r =
            object ? wj_decode_object(d, item->row.arg, x, (struct wj_node *)(void *)at) : wj_get(d, &item->row, x, at);
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

const struct wj_kind wj_kind_arr = {
    .expects = "an array", .takes = WJ_ARRAY, .size = sizeof(struct arr), .get = arr_get};
