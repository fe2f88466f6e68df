/* json/schema_compile.c — compiles a schema's JSON to rules.
 *
 * Keywords are table rows: those for any value are here, those for one type in schema_compile_typed.c; a keyword
 * without a row is an annotation. Nested schemas go onto a work list and are compiled one after the other, so nothing
 * recurses, and each is compiled once, however many references lead to it.
 */
#include "json/schema_compile.h"

#include <stdarg.h>

#include "base/err.h"
#include "base/hooks.h"
#include "json/pointer.h"

int wj_schema_refuse(struct wj_schema_work *c, yyjson_val *v, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(c->err, UPP_EINVALID, fmt, args);
    va_end(args);
    wj_pointer_err(c->err, c->root, v);
    return r;
}

int wj_schema_expected(struct wj_schema_work *c, yyjson_val *v, const char *what)
{
    char found[64];
    return wj_schema_refuse(c, v, "expected %s, found %s", what, wj_found(v, found, sizeof found));
}

int wj_schema_at(struct wj_schema_work *c, int r, yyjson_val *v)
{
    if (r < 0)
        wj_pointer_err(c->err, c->root, v);
    return r;
}

int wj_schema_too_many(struct wj_schema_work *c, yyjson_val *v, int max, const char *what)
{
    return wj_schema_at(c, upp_fail(c->err, UPP_ELIMIT, "more than %d %s", max, what), v);
}

int wj_schema_no_room(struct wj_schema_work *c)
{
    return wb_arena_check(&c->s->arena, c->err);
}

/* The rules of schema v: existing ones, or new ones that are filled later. */
static int rules_of(struct wj_schema_work *c, yyjson_val *v, yyjson_val *base, const struct wj_rules **ret)
{
    if (!yyjson_is_obj(v) && !yyjson_is_bool(v))
        return wj_schema_expected(c, v, "a schema: an object, true or false");
    struct wj_rules **slot = &c->made[v - c->root];
    if (!*slot) {
        struct wj_rules *r = wb_new(&c->s->arena, struct wj_rules);
        if (!r)
            return wj_schema_no_room(c);
        if (!wb_vec_push(&c->work, ((struct wj_schema_job){v, base, r}), WJ_SCHEMA_COUNT))
            return c->work.n < WJ_SCHEMA_COUNT ? upp_fail(c->err, UPP_ENOMEM, "out of memory")
                                               : wj_schema_too_many(c, v, WJ_SCHEMA_COUNT, "schemas in a schema");
        r->index = (uint32_t)(v - c->root);
        *slot = r;
    }
    *ret = *slot;
    return 0;
}

int wj_schema_inside(struct wj_schema_work *c, yyjson_val *v, const struct wj_rules **ret)
{
    return rules_of(c, v, c->now.base, ret);
}

int wj_schema_list_inside(struct wj_schema_work *c, yyjson_val *v, bool may_be_empty, struct wj_rules_list *ret)
{
    size_t n = yyjson_is_arr(v) ? unsafe_yyjson_get_len(v) : 0;
    if (!yyjson_is_arr(v) || (n == 0 && !may_be_empty))
        return wj_schema_expected(c, v, "an array of schemas, at least one");
    yyjson_val *item = unsafe_yyjson_get_first(v);
    const struct wj_rules **p = wb_new_n(&c->s->arena, const struct wj_rules *, n + 1);
    if (!p)
        return wj_schema_no_room(c);
    for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item)) {
        int r = wj_schema_inside(c, item, &p[i]);
        if (r < 0)
            return r;
    }
    *ret = (struct wj_rules_list){p, n};
    return 0;
}

static int add_type(struct wj_schema_work *c, yyjson_val *v)
{
    static const struct {
        struct upp_str name;
        unsigned bit;
    } types[] = {
        {UPP_STR_INIT("null"), WJ_IS_NULL},       {UPP_STR_INIT("boolean"), WJ_IS_BOOL},
        {UPP_STR_INIT("object"), WJ_IS_OBJECT},   {UPP_STR_INIT("array"), WJ_IS_ARRAY},
        {UPP_STR_INIT("number"), WJ_IS_NUMBER},   {UPP_STR_INIT("string"), WJ_IS_STRING},
        {UPP_STR_INIT("integer"), WJ_IS_INTEGER},
    };
    char quoted[WJ_QUOTED];
    if (!yyjson_is_str(v))
        return wj_schema_expected(c, v, "the name of a type");
    for (size_t i = 0; i < WB_LEN(types); i++)
        if (wj_named(v, types[i].name)) {
            c->now.to->types |= (uint8_t)types[i].bit;
            return 0;
        }
    return wj_schema_refuse(c, v, "expected the name of a type, found %s", wj_quote(wj_text(v), quoted, sizeof quoted));
}

static int key_type(struct wj_schema_work *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return add_type(c, v);
    yyjson_val *item = unsafe_yyjson_get_first(v);
    int r = unsafe_yyjson_get_len(v) ? 0 : wj_schema_refuse(c, v, "expected at least one type");
    for (size_t n = unsafe_yyjson_get_len(v); n && r == 0; n--, item = unsafe_yyjson_get_next(item))
        r = add_type(c, item);
    return r;
}

static int key_const(struct wj_schema_work *c, yyjson_val *v)
{
    c->now.to->constant = v;
    return 0;
}

static int key_enum(struct wj_schema_work *c, yyjson_val *v)
{
    if (!yyjson_is_arr(v))
        return wj_schema_expected(c, v, "an array");
    c->now.to->choices = v;
    return 0;
}

static int key_all(struct wj_schema_work *c, yyjson_val *v)
{
    return wj_schema_list_inside(c, v, false, &c->now.to->all);
}

static int key_any(struct wj_schema_work *c, yyjson_val *v)
{
    return wj_schema_list_inside(c, v, false, &c->now.to->any);
}

static int key_one(struct wj_schema_work *c, yyjson_val *v)
{
    return wj_schema_list_inside(c, v, false, &c->now.to->one);
}

static int key_not(struct wj_schema_work *c, yyjson_val *v)
{
    return wj_schema_inside(c, v, &c->now.to->not_this);
}

static int key_if(struct wj_schema_work *c, yyjson_val *v)
{
    yyjson_val *yes = wj_member(c->now.v, UPP_STR("then")), *no = wj_member(c->now.v, UPP_STR("else"));
    int r = wj_schema_inside(c, v, &c->now.to->when); /* `then` and `else` mean nothing without it */
    if (r == 0 && yes)
        r = wj_schema_inside(c, yes, &c->now.to->then);
    if (r == 0 && no)
        r = wj_schema_inside(c, no, &c->now.to->otherwise);
    return r;
}

static int key_ref(struct wj_schema_work *c, yyjson_val *v)
{
    yyjson_val *base = c->now.base, *target;
    if (!yyjson_is_str(v))
        return wj_schema_expected(c, v, "a string");
    int r = wj_schema_at(c, wj_schema_find(wj_text(v), &base, &target, &c->budget, c->err), v);
    return r < 0 ? r : rules_of(c, target, base, &c->now.to->ref);
}

static int key_dynamic(struct wj_schema_work *c, yyjson_val *v)
{
    return wj_schema_refuse(c, v, "references that depend on where they are met from are not supported");
}

static const struct wj_keyword any_value[] = {
    {UPP_STR_INIT("$dynamicRef"), key_dynamic},
    {UPP_STR_INIT("$recursiveRef"), key_dynamic},
    {UPP_STR_INIT("$ref"), key_ref},
    {UPP_STR_INIT("allOf"), key_all},
    {UPP_STR_INIT("anyOf"), key_any},
    {UPP_STR_INIT("const"), key_const},
    {UPP_STR_INIT("enum"), key_enum},
    {UPP_STR_INIT("if"), key_if},
    {UPP_STR_INIT("not"), key_not},
    {UPP_STR_INIT("oneOf"), key_one},
    {UPP_STR_INIT("type"), key_type},
    {{0}, NULL},
};

static const struct wj_keyword *const keywords[] = {any_value, wj_schema_typed};

static const struct wj_keyword *find(const yyjson_val *key)
{
    for (size_t i = 0; i < WB_LEN(keywords); i++)
        for (const struct wj_keyword *k = keywords[i]; k->name.p; k++)
            if (wj_named(key, k->name))
                return k;
    return NULL;
}

static int compile(struct wj_schema_work *c)
{
    yyjson_val *v = c->now.v;
    if (yyjson_is_bool(v)) {
        c->now.to->never = yyjson_is_false(v);
        return 0;
    }
    if (wj_schema_is_base(v))
        c->now.base = v;
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        const struct wj_keyword *k = find(key);
        int r = k ? k->make(c, key + 1) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int compile_all(struct wj_schema_work *c)
{
    int r = rules_of(c, c->root, c->root, &c->s->root);
    for (size_t i = 0; r == 0 && i < c->work.n; i++) { /* grows meanwhile */
        c->now = c->work.p[i];
        r = compile(c);
    }
    uint32_t index = 0;
    if (r == 0) {
        r = wj_schema_loops((const struct wj_rules *const *)c->made, c->n_values, &index, c->err);
        (void)wj_schema_at(c, r, c->root + index);
    }
    return r;
}

int wj_schema_compile(struct upp_schema *s, yyjson_val *v, struct upp_err *err)
{
    struct wj_schema_work c = {
        .s = s, .root = v, .n_values = (size_t)(unsafe_yyjson_get_next(v) - v), .budget = WJ_SCHEMA_STEPS, .err = err};
    c.made = wb_calloc(c.n_values, sizeof *c.made);
    int r = c.made ? compile_all(&c) : upp_fail(err, UPP_ENOMEM, "out of memory");
    wb_free(c.made);
    wb_vec_done(&c.work);
    return r;
}
