/* json/schema_compile_typed.c — the keywords for values of one type: numbers, strings, arrays, objects. */
#include "base/err.h"
#include "json/number.h"
#include "json/schema_compile.h"

/* ---- Rules by type ---------------------------------------------------------------------------------- */

static struct wj_object_rules *object_rules(struct wj_schema_work *c)
{
    struct wj_object_rules **o = &c->now.to->object;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_object_rules)))
        (*o)->count.max = UINT64_MAX;
    return *o;
}

static struct wj_array_rules *array_rules(struct wj_schema_work *c)
{
    struct wj_array_rules **o = &c->now.to->array;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_array_rules))) {
        (*o)->count.max = UINT64_MAX;
        (*o)->some_count = (struct wj_span){1, UINT64_MAX};
    }
    return *o;
}

static struct wj_string_rules *string_rules(struct wj_schema_work *c)
{
    struct wj_string_rules **o = &c->now.to->string;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_string_rules)))
        (*o)->length.max = UINT64_MAX;
    return *o;
}

static struct wj_number_rules *number_rules(struct wj_schema_work *c)
{
    struct wj_number_rules **o = &c->now.to->number;
    if (!*o)
        *o = wb_new(&c->s->arena, struct wj_number_rules);
    return *o;
}

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static int set_bound(struct wj_schema_work *c, yyjson_val *v, size_t offset)
{
    struct wj_number_rules *n = number_rules(c);
    if (!n)
        return wj_schema_no_room(c);
    if (!yyjson_is_raw(v))
        return wj_schema_expected(c, v, "a number");
    *(struct upp_str *)(void *)((char *)n + offset) = wj_text(v);
    return 0;
}

static int key_minimum(struct wj_schema_work *c, yyjson_val *v)
{
    return set_bound(c, v, offsetof(struct wj_number_rules, min));
}

static int key_maximum(struct wj_schema_work *c, yyjson_val *v)
{
    return set_bound(c, v, offsetof(struct wj_number_rules, max));
}

/* In draft 4, still in use, this is a boolean that makes the other keyword's bound exclusive. */
static int exclusive(struct wj_schema_work *c, yyjson_val *v, struct upp_str other, size_t offset)
{
    if (!yyjson_is_bool(v))
        return set_bound(c, v, offset);
    yyjson_val *bound = wj_member(c->now.v, other);
    return yyjson_is_true(v) && bound ? set_bound(c, bound, offset) : 0;
}

static int key_above(struct wj_schema_work *c, yyjson_val *v)
{
    return exclusive(c, v, UPP_STR("minimum"), offsetof(struct wj_number_rules, above));
}

static int key_below(struct wj_schema_work *c, yyjson_val *v)
{
    return exclusive(c, v, UPP_STR("maximum"), offsetof(struct wj_number_rules, below));
}

static int key_multiple(struct wj_schema_work *c, yyjson_val *v)
{
    if (yyjson_is_raw(v) && wj_num_cmp(wj_text(v), UPP_STR("0")) <= 0)
        return wj_schema_refuse(c, v, "expected a number above 0");
    if (yyjson_is_raw(v) && !wj_num_divisor(wj_text(v)))
        return wj_schema_too_many(c, v, WJ_NUM_DIVISOR, "digits");
    return set_bound(c, v, offsetof(struct wj_number_rules, step));
}

/* ---- Counts ----------------------------------------------------------------------------------------- */

static int set_count(struct wj_schema_work *c, yyjson_val *v, uint64_t *ret)
{
    struct upp_str s = yyjson_is_raw(v) ? wj_text(v) : UPP_STR("-1");
    if (!wj_num_whole(s) || wj_num_cmp(s, UPP_STR("0")) < 0)
        return wj_schema_expected(c, v, "a whole number, at least 0");
    if (!wj_num_u64(s, ret))
        *ret = UINT64_MAX; /* out of range: no value has as many */
    return 0;
}

#define KEY_COUNT(name, kind, member)                                                                                  \
    static int name(struct wj_schema_work *c, yyjson_val *v)                                                           \
    {                                                                                                                  \
        struct wj_##kind##_rules *k = kind##_rules(c);                                                                 \
        return k ? set_count(c, v, &k->member) : wj_schema_no_room(c);                                                 \
    }
KEY_COUNT(key_min_length, string, length.min)
KEY_COUNT(key_max_length, string, length.max)
KEY_COUNT(key_min_items, array, count.min)
KEY_COUNT(key_max_items, array, count.max)
KEY_COUNT(key_min_contains, array, some_count.min)
KEY_COUNT(key_max_contains, array, some_count.max)
KEY_COUNT(key_min_properties, object, count.min)
KEY_COUNT(key_max_properties, object, count.max)

/* ---- Strings ---------------------------------------------------------------------------------------- */

static int make_pattern(struct wj_schema_work *c, yyjson_val *v, struct wj_pattern *ret)
{
    ret->text = wj_text(v);
    int r = wj_regex_new(&c->s->arena, ret->text, &ret->regex, c->err);
    if (r < 0)
        return wj_schema_at(c, upp_wrap(c->err, r, "pattern"), v);
    c->s->regex_steps = WB_MAX(c->s->regex_steps, ret->regex.n);
    return 0;
}

static int key_pattern(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_string_rules *s = string_rules(c);
    if (!yyjson_is_str(v))
        return wj_schema_expected(c, v, "a string");
    if (s)
        s->pattern = wb_new(&c->s->arena, struct wj_pattern);
    return s && s->pattern ? make_pattern(c, v, s->pattern) : wj_schema_no_room(c);
}

/* ---- Arrays ----------------------------------------------------------------------------------------- */

static int key_prefix_items(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    return a ? wj_schema_list_inside(c, v, false, &a->first) : wj_schema_no_room(c);
}

/* Up to 2019-09 `items` may be an array with the meaning of today's `prefixItems`; `additionalItems` then covers the
 * rest. */
static int key_items(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    yyjson_val *rest = wj_member(c->now.v, UPP_STR("additionalItems"));
    if (!a)
        return wj_schema_no_room(c);
    if (!yyjson_is_arr(v))
        return wj_schema_inside(c, v, &a->rest);
    if (wj_member(c->now.v, UPP_STR("prefixItems")))
        return wj_schema_refuse(c, v, "expected one schema, as there are prefixItems, found an array");
    int r = wj_schema_list_inside(c, v, true, &a->first);
    return r == 0 && rest ? wj_schema_inside(c, rest, &a->rest) : r;
}

static int key_contains(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    return a ? wj_schema_inside(c, v, &a->some) : wj_schema_no_room(c);
}

static int key_unique(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    if (!yyjson_is_bool(v))
        return wj_schema_expected(c, v, "true or false");
    if (!a)
        return wj_schema_no_room(c);
    a->unique = yyjson_is_true(v);
    return 0;
}

/* ---- Objects ---------------------------------------------------------------------------------------- */

static int key_others(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    return o ? wj_schema_inside(c, v, &o->others) : wj_schema_no_room(c);
}

static int key_property_names(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    return o ? wj_schema_inside(c, v, &o->names) : wj_schema_no_room(c);
}

static int key_pattern_properties(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    size_t n = yyjson_is_obj(v) ? unsafe_yyjson_get_len(v) : 0;
    if (!yyjson_is_obj(v))
        return wj_schema_expected(c, v, "an object of schemas");
    if (o)
        o->patterns = wb_new_n(&c->s->arena, struct wj_pattern, n + 1);
    if (!o || !o->patterns)
        return wj_schema_no_room(c);
    o->n_patterns = n;
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1)) {
        int r = make_pattern(c, key, &o->patterns[i]);
        if (r == 0)
            r = wj_schema_inside(c, key + 1, &o->patterns[i].rules);
        if (r < 0)
            return r;
    }
    return 0;
}

/* An array of names. */
static int check_names(struct wj_schema_work *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return wj_schema_expected(c, v, "an array of names");
    yyjson_val *item = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, item = unsafe_yyjson_get_next(item))
        if (!yyjson_is_str(item))
            return wj_schema_expected(c, item, "the name of a member");
    return 0;
}

static int key_needs(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    if (!yyjson_is_obj(v))
        return wj_schema_expected(c, v, "an object of arrays of names");
    if (!o)
        return wj_schema_no_room(c);
    yyjson_val *key = unsafe_yyjson_get_first(v);
    int r = 0;
    for (size_t n = unsafe_yyjson_get_len(v); n && r == 0; n--, key = unsafe_yyjson_get_next(key + 1))
        r = check_names(c, key + 1);
    o->needs = v;
    return r;
}

static void sort_properties(struct wj_property *p, size_t n)
{
    for (size_t gap = n / 2; gap; gap /= 2) /* Shell sort: libc's qsort may allocate memory outside of our hooks */
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap && wb_str_cmp(p[k - gap].name, p[k].name) > 0; k -= gap) {
                struct wj_property swap = p[k];
                p[k] = p[k - gap];
                p[k - gap] = swap;
            }
}

/* Merges entries of the same name into one. */
static size_t merge_properties(struct wj_property *p, size_t n)
{
    size_t merged = 0;
    for (size_t i = 0; i < n; i++) {
        if (merged == 0 || !wb_str_eq(p[merged - 1].name, p[i].name)) {
            p[merged++] = p[i];
            continue;
        }
        p[merged - 1].required |= p[i].required;
        if (p[i].rules)
            p[merged - 1].rules = p[i].rules;
    }
    return merged;
}

static int fill_properties(struct wj_schema_work *c, yyjson_val *schemas, yyjson_val *required, struct wj_property *to)
{
    yyjson_val *key = schemas ? unsafe_yyjson_get_first(schemas) : NULL;
    for (size_t n = schemas ? unsafe_yyjson_get_len(schemas) : 0; n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        to->name = wj_text(key);
        int r = wj_schema_inside(c, key + 1, &to++->rules);
        if (r < 0)
            return r;
    }
    yyjson_val *item = required ? unsafe_yyjson_get_first(required) : NULL;
    for (size_t n = required ? unsafe_yyjson_get_len(required) : 0; n; n--, item++)
        *to++ = (struct wj_property){.name = wj_text(item), .required = true};
    return 0;
}

/* `properties` and `required` share a table; whichever comes first creates it. */
static int key_properties(struct wj_schema_work *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    yyjson_val *schemas = wj_member(c->now.v, UPP_STR("properties"));
    yyjson_val *required = wj_member(c->now.v, UPP_STR("required"));
    if (!o)
        return wj_schema_no_room(c);
    if (o->properties)
        return 0;
    if (schemas && !yyjson_is_obj(schemas))
        return wj_schema_expected(c, schemas, "an object of schemas");
    int r = required ? check_names(c, required) : 0;
    if (r < 0)
        return r;
    size_t n = (schemas ? unsafe_yyjson_get_len(schemas) : 0) + (required ? unsafe_yyjson_get_len(required) : 0);
    if (n > 2 * WJ_SCHEMA_NAMES)
        return wj_schema_too_many(c, v, WJ_SCHEMA_NAMES, "members of an object");
    o->properties = wb_new_n(&c->s->arena, struct wj_property, n + 1);
    if (!o->properties)
        return wj_schema_no_room(c);
    r = fill_properties(c, schemas, required, o->properties);
    if (r < 0)
        return r;
    sort_properties(o->properties, n);
    o->n = merge_properties(o->properties, n);
    o->any_required = required && unsafe_yyjson_get_len(required);
    return o->n > WJ_SCHEMA_NAMES ? wj_schema_too_many(c, v, WJ_SCHEMA_NAMES, "members of an object") : 0;
}

/* ---- The table -------------------------------------------------------------------------------------- */

const struct wj_keyword wj_schema_typed[] = {
    {UPP_STR_INIT("additionalProperties"), key_others},
    {UPP_STR_INIT("contains"), key_contains},
    {UPP_STR_INIT("dependentRequired"), key_needs},
    {UPP_STR_INIT("exclusiveMaximum"), key_below},
    {UPP_STR_INIT("exclusiveMinimum"), key_above},
    {UPP_STR_INIT("items"), key_items},
    {UPP_STR_INIT("maxContains"), key_max_contains},
    {UPP_STR_INIT("maxItems"), key_max_items},
    {UPP_STR_INIT("maxLength"), key_max_length},
    {UPP_STR_INIT("maxProperties"), key_max_properties},
    {UPP_STR_INIT("maximum"), key_maximum},
    {UPP_STR_INIT("minContains"), key_min_contains},
    {UPP_STR_INIT("minItems"), key_min_items},
    {UPP_STR_INIT("minLength"), key_min_length},
    {UPP_STR_INIT("minProperties"), key_min_properties},
    {UPP_STR_INIT("minimum"), key_minimum},
    {UPP_STR_INIT("multipleOf"), key_multiple},
    {UPP_STR_INIT("pattern"), key_pattern},
    {UPP_STR_INIT("patternProperties"), key_pattern_properties},
    {UPP_STR_INIT("prefixItems"), key_prefix_items},
    {UPP_STR_INIT("properties"), key_properties},
    {UPP_STR_INIT("propertyNames"), key_property_names},
    {UPP_STR_INIT("required"), key_properties},
    {UPP_STR_INIT("uniqueItems"), key_unique},
    {{0}, NULL},
};
