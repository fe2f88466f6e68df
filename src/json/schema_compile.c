/* json/schema_compile.c — a schema's JSON to rules.
 *
 * One row a keyword; what has no row is an annotation. Schemas inside of schemas are put on a list and done one after
 * the other, so that nothing recurses, and each is made once, however many references lead to it.
 */
#include <stdarg.h>

#include "base/err.h"
#include "base/hooks.h"
#include "base/vec.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/schema_rules.h"

struct job {
    yyjson_val      *v, *base;
    struct wj_rules *to;
};

struct compiler {
    struct upp_schema *s;
    yyjson_val        *root;
    size_t             places;
    struct wj_rules  **made; /* by place in the document */
    WB_VEC(struct job) work;
    struct job      now;
    uint64_t        budget; /* for following references */
    struct upp_err *err;
};

/* ---- Errors ----------------------------------------------------------------------------------------- */

UPP_PRINTF(3, 4) static int refuse(struct compiler *c, yyjson_val *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(c->err, UPP_EINVALID, fmt, args);
    va_end(args);
    wj_pointer_err(c->err, c->root, v);
    return r;
}

static int expected(struct compiler *c, yyjson_val *v, const char *what)
{
    char found[64];
    return refuse(c, v, "expected %s, found %s", what, wj_found(v, found, sizeof found));
}

static int at(struct compiler *c, int r, yyjson_val *v)
{
    if (r < 0)
        wj_pointer_err(c->err, c->root, v);
    return r;
}

static int too_many(struct compiler *c, yyjson_val *v, int max, const char *what)
{
    return at(c, upp_fail(c->err, UPP_ELIMIT, "more than %d %s", max, what), v);
}

static int no_room(struct compiler *c)
{
    return wb_arena_check(&c->s->arena, c->err);
}

/* ---- Schemas inside --------------------------------------------------------------------------------- */

/* The rules of schema v: those that were made already, or new ones that will be filled. */
static int rules_of(struct compiler *c, yyjson_val *v, yyjson_val *base, const struct wj_rules **ret)
{
    if (!yyjson_is_obj(v) && !yyjson_is_bool(v))
        return expected(c, v, "a schema: an object, true or false");
    struct wj_rules **slot = &c->made[v - c->root];
    if (!*slot) {
        struct wj_rules *r = wb_new(&c->s->arena, struct wj_rules);
        if (!r)
            return no_room(c);
        if (!wb_vec_push(&c->work, ((struct job){v, base, r}), WJ_SCHEMA_COUNT))
            return c->work.n < WJ_SCHEMA_COUNT ? upp_fail(c->err, UPP_ENOMEM, "out of memory")
                                               : too_many(c, v, WJ_SCHEMA_COUNT, "schemas in a schema");
        r->place = (uint32_t)(v - c->root);
        *slot    = r;
    }
    *ret = *slot;
    return 0;
}

static int inside(struct compiler *c, yyjson_val *v, const struct wj_rules **ret)
{
    return rules_of(c, v, c->now.base, ret);
}

static int list_inside(struct compiler *c, yyjson_val *v, bool may_be_empty, struct wj_rules_list *ret)
{
    size_t n = yyjson_is_arr(v) ? unsafe_yyjson_get_len(v) : 0;
    if (!yyjson_is_arr(v) || (n == 0 && !may_be_empty))
        return expected(c, v, "an array of schemas, at least one");
    yyjson_val             *item = unsafe_yyjson_get_first(v);
    const struct wj_rules **p    = wb_new_n(&c->s->arena, const struct wj_rules *, n + 1);
    if (!p)
        return no_room(c);
    for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item)) {
        int r = inside(c, item, &p[i]);
        if (r < 0)
            return r;
    }
    *ret = (struct wj_rules_list){p, n};
    return 0;
}

static struct wj_object_rules *object_rules(struct compiler *c)
{
    struct wj_object_rules **o = &c->now.to->object;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_object_rules)))
        (*o)->count.max = UINT64_MAX;
    return *o;
}

static struct wj_array_rules *array_rules(struct compiler *c)
{
    struct wj_array_rules **o = &c->now.to->array;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_array_rules))) {
        (*o)->count.max  = UINT64_MAX;
        (*o)->some_count = (struct wj_span){1, UINT64_MAX};
    }
    return *o;
}

static struct wj_string_rules *string_rules(struct compiler *c)
{
    struct wj_string_rules **o = &c->now.to->string;
    if (!*o && (*o = wb_new(&c->s->arena, struct wj_string_rules)))
        (*o)->length.max = UINT64_MAX;
    return *o;
}

static struct wj_number_rules *number_rules(struct compiler *c)
{
    struct wj_number_rules **o = &c->now.to->number;
    if (!*o)
        *o = wb_new(&c->s->arena, struct wj_number_rules);
    return *o;
}

/* ---- Any value -------------------------------------------------------------------------------------- */

static int add_type(struct compiler *c, yyjson_val *v)
{
    static const struct {
        struct upp_str name;
        unsigned       bit;
    } types[] =
        {
            {UPP_STR_INIT("null"), WJ_IS_NULL},       {UPP_STR_INIT("boolean"), WJ_IS_BOOL},
                                                       {UPP_STR_INIT("object"), WJ_IS_OBJECT},   {UPP_STR_INIT("array"), WJ_IS_ARRAY},
                                                                                                  {UPP_STR_INIT("number"), WJ_IS_NUMBER},   {UPP_STR_INIT("string"), WJ_IS_STRING},
                                                                                                                                        {UPP_STR_INIT("integer"), WJ_IS_INTEGER},
                                                                                                                                       };
    char quoted[WJ_QUOTED];
    if (!yyjson_is_str(v))
        return expected(c, v, "the name of a type");
    for (size_t i = 0; i < WB_LEN(types); i++)
        if (wj_named(v, types[i].name)) {
            c->now.to->types |= (uint8_t)types[i].bit;
            return 0;
        }
    return refuse(c, v, "expected the name of a type, found %s", wj_quote(wj_text(v), quoted, sizeof quoted));
}

static int key_type(struct compiler *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return add_type(c, v);
    yyjson_val *item = unsafe_yyjson_get_first(v);
    int         r    = unsafe_yyjson_get_len(v) ? 0 : refuse(c, v, "expected at least one type");
    for (size_t n = unsafe_yyjson_get_len(v); n && r == 0; n--, item = unsafe_yyjson_get_next(item))
        r = add_type(c, item);
    return r;
}

static int key_const(struct compiler *c, yyjson_val *v)
{
    c->now.to->constant = v;
    return 0;
}

static int key_enum(struct compiler *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return expected(c, v, "an array");
    c->now.to->choices = v;
    return 0;
}

static int key_all(struct compiler *c, yyjson_val *v)
{
    return list_inside(c, v, false, &c->now.to->all);
}

static int key_any(struct compiler *c, yyjson_val *v)
{
    return list_inside(c, v, false, &c->now.to->any);
}

static int key_one(struct compiler *c, yyjson_val *v)
{
    return list_inside(c, v, false, &c->now.to->one);
}

static int key_not(struct compiler *c, yyjson_val *v)
{
    return inside(c, v, &c->now.to->not_this);
}

static int key_if(struct compiler *c, yyjson_val *v)
{
    yyjson_val *yes = wj_member(c->now.v, UPP_STR("then")), *no = wj_member(c->now.v, UPP_STR("else"));
    int         r = inside(c, v, &c->now.to->when); /* the two mean nothing without it */
    if (r == 0 && yes)
        r = inside(c, yes, &c->now.to->then);
    if (r == 0 && no)
        r = inside(c, no, &c->now.to->otherwise);
    return r;
}

static int key_ref(struct compiler *c, yyjson_val *v)
{
    yyjson_val *base = c->now.base, *target;
    if (!yyjson_is_str(v))
        return expected(c, v, "a string");
    int r = at(c, wj_schema_find(wj_text(v), &base, &target, &c->budget, c->err), v);
    return r < 0 ? r : rules_of(c, target, base, &c->now.to->ref);
}

static int key_dynamic(struct compiler *c, yyjson_val *v)
{
    return refuse(c, v, "references that depend on where they are met from are not supported");
}

/* ---- Numbers ---------------------------------------------------------------------------------------- */

static int set_bound(struct compiler *c, yyjson_val *v, size_t offset)
{
    struct wj_number_rules *n = number_rules(c);
    if (!n)
        return no_room(c);
    if (!yyjson_is_raw(v))
        return expected(c, v, "a number");
    *(struct upp_str *)(void *)((char *)n + offset) = wj_text(v);
    return 0;
}

static int key_minimum(struct compiler *c, yyjson_val *v)
{
    return set_bound(c, v, offsetof(struct wj_number_rules, min));
}

static int key_maximum(struct compiler *c, yyjson_val *v)
{
    return set_bound(c, v, offsetof(struct wj_number_rules, max));
}

/* Draft 4, which many still write, has a boolean here, which makes the other keyword's bound exclusive. */
static int exclusive(struct compiler *c, yyjson_val *v, struct upp_str other, size_t offset)
{
    if (!yyjson_is_bool(v))
        return set_bound(c, v, offset);
    yyjson_val *bound = wj_member(c->now.v, other);
    return yyjson_is_true(v) && bound ? set_bound(c, bound, offset) : 0;
}

static int key_above(struct compiler *c, yyjson_val *v)
{
    return exclusive(c, v, UPP_STR("minimum"), offsetof(struct wj_number_rules, above));
}

static int key_below(struct compiler *c, yyjson_val *v)
{
    return exclusive(c, v, UPP_STR("maximum"), offsetof(struct wj_number_rules, below));
}

static int key_multiple(struct compiler *c, yyjson_val *v)
{
    if (yyjson_is_raw(v) && wj_num_cmp(wj_text(v), UPP_STR("0")) <= 0)
        return refuse(c, v, "expected a number above 0");
    if (yyjson_is_raw(v) && !wj_num_divisor(wj_text(v)))
        return too_many(c, v, WJ_NUM_DIVISOR, "digits");
    return set_bound(c, v, offsetof(struct wj_number_rules, step));
}

/* ---- Counts ----------------------------------------------------------------------------------------- */

static int set_count(struct compiler *c, yyjson_val *v, uint64_t *ret)
{
    struct upp_str s = yyjson_is_raw(v) ? wj_text(v) : UPP_STR("-1");
    if (!wj_num_whole(s) || wj_num_cmp(s, UPP_STR("0")) < 0)
        return expected(c, v, "a whole number, at least 0");
    if (!wj_num_u64(s, ret))
        *ret = UINT64_MAX; /* more than anything has */
    return 0;
}

#define KEY_COUNT(name, kind, member)                                                                                  \
    static int name(struct compiler *c, yyjson_val *v)                                                                 \
    {                                                                                                                  \
        struct wj_##kind##_rules *k = kind##_rules(c);                                                                 \
        return k ? set_count(c, v, &k->member) : no_room(c);                                                           \
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

static int make_pattern(struct compiler *c, yyjson_val *v, struct wj_pattern *ret)
{
    ret->text = wj_text(v);
    int r     = wj_regex_new(&c->s->arena, ret->text, &ret->regex, c->err);
    if (r < 0)
        return at(c, upp_wrap(c->err, r, "pattern"), v);
    c->s->regex_steps = WB_MAX(c->s->regex_steps, ret->regex.n);
    return 0;
}

static int key_pattern(struct compiler *c, yyjson_val *v)
{
    struct wj_string_rules *s = string_rules(c);
    if (!yyjson_is_str(v))
        return expected(c, v, "a string");
    if (s)
        s->pattern = wb_new(&c->s->arena, struct wj_pattern);
    return s && s->pattern ? make_pattern(c, v, s->pattern) : no_room(c);
}

/* ---- Arrays ----------------------------------------------------------------------------------------- */

static int key_prefix_items(struct compiler *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    return a ? list_inside(c, v, false, &a->first) : no_room(c);
}

/* Up to 2019-09 `items` may be what `prefixItems` is now; `additionalItems` is then for the rest. */
static int key_items(struct compiler *c, yyjson_val *v)
{
    struct wj_array_rules *a    = array_rules(c);
    yyjson_val            *rest = wj_member(c->now.v, UPP_STR("additionalItems"));
    if (!a)
        return no_room(c);
    if (!yyjson_is_arr(v))
        return inside(c, v, &a->rest);
    if (wj_member(c->now.v, UPP_STR("prefixItems")))
        return refuse(c, v, "expected one schema, as there are prefixItems, found an array");
    int r = list_inside(c, v, true, &a->first);
    return r == 0 && rest ? inside(c, rest, &a->rest) : r;
}

static int key_contains(struct compiler *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    return a ? inside(c, v, &a->some) : no_room(c);
}

static int key_unique(struct compiler *c, yyjson_val *v)
{
    struct wj_array_rules *a = array_rules(c);
    if (!yyjson_is_bool(v))
        return expected(c, v, "true or false");
    if (!a)
        return no_room(c);
    a->unique = yyjson_is_true(v);
    return 0;
}

/* ---- Objects ---------------------------------------------------------------------------------------- */

static int key_others(struct compiler *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    return o ? inside(c, v, &o->others) : no_room(c);
}

static int key_property_names(struct compiler *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    return o ? inside(c, v, &o->names) : no_room(c);
}

static int key_pattern_properties(struct compiler *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    size_t                  n = yyjson_is_obj(v) ? unsafe_yyjson_get_len(v) : 0;
    if (!yyjson_is_obj(v))
        return expected(c, v, "an object of schemas");
    if (o)
        o->patterns = wb_new_n(&c->s->arena, struct wj_pattern, n + 1);
    if (!o || !o->patterns)
        return no_room(c);
    o->n_patterns   = n;
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1)) {
        int r = make_pattern(c, key, &o->patterns[i]);
        if (r == 0)
            r = inside(c, key + 1, &o->patterns[i].rules);
        if (r < 0)
            return r;
    }
    return 0;
}

/* An array of names. */
static int check_names(struct compiler *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return expected(c, v, "an array of names");
    yyjson_val *item = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, item = unsafe_yyjson_get_next(item))
        if (!yyjson_is_str(item))
            return expected(c, item, "the name of a member");
    return 0;
}

static int key_needs(struct compiler *c, yyjson_val *v)
{
    struct wj_object_rules *o = object_rules(c);
    if (!yyjson_is_obj(v))
        return expected(c, v, "an object of arrays of names");
    if (!o)
        return no_room(c);
    yyjson_val *key = unsafe_yyjson_get_first(v);
    int         r   = 0;
    for (size_t n = unsafe_yyjson_get_len(v); n && r == 0; n--, key = unsafe_yyjson_get_next(key + 1))
        r = check_names(c, key + 1);
    o->needs = v;
    return r;
}

static void sort_properties(struct wj_property *p, size_t n)
{
    for (size_t gap = n / 2; gap; gap /= 2) /* Shell's: libc's takes memory behind our back */
        for (size_t i = gap; i < n; i++)
            for (size_t k = i; k >= gap && wb_str_cmp(p[k - gap].name, p[k].name) > 0; k -= gap) {
                struct wj_property swap = p[k];
                p[k]                    = p[k - gap];
                p[k - gap]              = swap;
            }
}

/* One entry a name, with all that is said of it. */
static size_t merge_properties(struct wj_property *p, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || !wb_str_eq(p[kept - 1].name, p[i].name)) {
            p[kept++] = p[i];
            continue;
        }
        p[kept - 1].required |= p[i].required;
        if (p[i].rules)
            p[kept - 1].rules = p[i].rules;
    }
    return kept;
}

static int fill_properties(struct compiler *c, yyjson_val *schemas, yyjson_val *required, struct wj_property *to)
{
    yyjson_val *key = schemas ? unsafe_yyjson_get_first(schemas) : NULL;
    for (size_t n = schemas ? unsafe_yyjson_get_len(schemas) : 0; n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        to->name = wj_text(key);
        int r    = inside(c, key + 1, &to++->rules);
        if (r < 0)
            return r;
    }
    yyjson_val *item = required ? unsafe_yyjson_get_first(required) : NULL;
    for (size_t n = required ? unsafe_yyjson_get_len(required) : 0; n; n--, item++)
        *to++ = (struct wj_property){.name = wj_text(item), .required = true};
    return 0;
}

/* `properties` and `required` are one table; whichever comes first makes it. */
static int key_properties(struct compiler *c, yyjson_val *v)
{
    struct wj_object_rules *o        = object_rules(c);
    yyjson_val             *schemas  = wj_member(c->now.v, UPP_STR("properties"));
    yyjson_val             *required = wj_member(c->now.v, UPP_STR("required"));
    if (!o)
        return no_room(c);
    if (o->properties)
        return 0;
    if (schemas && !yyjson_is_obj(schemas))
        return expected(c, schemas, "an object of schemas");
    int r = required ? check_names(c, required) : 0;
    if (r < 0)
        return r;
    size_t n = (schemas ? unsafe_yyjson_get_len(schemas) : 0) + (required ? unsafe_yyjson_get_len(required) : 0);
    if (n > 2 * WJ_SCHEMA_NAMES)
        return too_many(c, v, WJ_SCHEMA_NAMES, "members of an object");
    o->properties = wb_new_n(&c->s->arena, struct wj_property, n + 1);
    if (!o->properties)
        return no_room(c);
    r = fill_properties(c, schemas, required, o->properties);
    if (r < 0)
        return r;
    sort_properties(o->properties, n);
    o->n            = merge_properties(o->properties, n);
    o->any_required = required && unsafe_yyjson_get_len(required);
    return o->n > WJ_SCHEMA_NAMES ? too_many(c, v, WJ_SCHEMA_NAMES, "members of an object") : 0;
}

/* ---- One schema ------------------------------------------------------------------------------------- */

static const struct {
    struct upp_str name;
    int (*make)(struct compiler *c, yyjson_val *v);
} keywords[] = {
    {UPP_STR_INIT("$dynamicRef"), key_dynamic},
     {UPP_STR_INIT("$recursiveRef"), key_dynamic},
      {UPP_STR_INIT("$ref"), key_ref},
       {UPP_STR_INIT("additionalProperties"), key_others},
        {UPP_STR_INIT("allOf"), key_all},
         {UPP_STR_INIT("anyOf"), key_any},
          {UPP_STR_INIT("const"), key_const},
           {UPP_STR_INIT("contains"), key_contains},
            {UPP_STR_INIT("dependentRequired"), key_needs},
             {UPP_STR_INIT("enum"), key_enum},
              {UPP_STR_INIT("exclusiveMaximum"), key_below},
               {UPP_STR_INIT("exclusiveMinimum"), key_above},
                {UPP_STR_INIT("if"), key_if},
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
                             {UPP_STR_INIT("not"), key_not},
                              {UPP_STR_INIT("oneOf"), key_one},
                               {UPP_STR_INIT("pattern"), key_pattern},
                                {UPP_STR_INIT("patternProperties"), key_pattern_properties},
                                 {UPP_STR_INIT("prefixItems"), key_prefix_items},
                                  {UPP_STR_INIT("properties"), key_properties},
                                   {UPP_STR_INIT("propertyNames"), key_property_names},
                                    {UPP_STR_INIT("required"), key_properties},
                                     {UPP_STR_INIT("type"), key_type}, {UPP_STR_INIT("uniqueItems"), key_unique},
};

static int compile(struct compiler *c)
{
    yyjson_val *v = c->now.v;
    if (yyjson_is_bool(v)) {
        c->now.to->never = yyjson_is_false(v);
        return 0;
    }
    if (wj_schema_is_base(v))
        c->now.base = v;
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, key = unsafe_yyjson_get_next(key + 1))
        for (size_t i = 0; i < WB_LEN(keywords); i++)
            if (wj_named(key, keywords[i].name)) {
                int r = keywords[i].make(c, key + 1);
                if (r < 0)
                    return r;
                break;
            }
    return 0;
}

static int compile_all(struct compiler *c)
{
    int r = rules_of(c, c->root, c->root, &c->s->root);
    for (size_t i = 0; r == 0 && i < c->work.n; i++) { /* which grows */
        c->now = c->work.p[i];
        r      = compile(c);
    }
    uint32_t place = 0;
    if (r == 0) {
        r = wj_schema_loops((const struct wj_rules *const *)c->made, c->places, &place, c->err);
        (void)at(c, r, c->root + place);
    }
    return r;
}

int wj_schema_compile(struct upp_schema *s, yyjson_val *v, struct upp_err *err)
{
    struct compiler c = {
        .s = s, .root = v, .places = (size_t)(unsafe_yyjson_get_next(v) - v), .budget = WJ_SCHEMA_STEPS, .err = err};
    c.made = wb_calloc(c.places, sizeof *c.made);
    int r  = c.made ? compile_all(&c) : upp_fail(err, UPP_ENOMEM, "out of memory");
    wb_free(c.made);
    wb_vec_done(&c.work);
    return r;
}
