/* json/compare.c — are two values equal? */
#include "json/compare.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "base/vec.h"
#include "json/keys.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/syntax.h"

/* A pair of containers that is being compared. */
struct pair {
    yyjson_val *a, *b; /* next item, or name of the next member, in each */
    yyjson_val **keys; /* NULL: same order; else the names sorted, a's and then b's; freed with the pair */
    size_t i, n;       /* compared so far, and in total */
    bool object;
};

struct comparison {
    WB_VEC(struct pair) open;
    yyjson_val *root;
    struct upp_err *err;
};

/* Reports a difference at `at`, a value in a's document. */
static int differ(struct comparison *c, const yyjson_val *at, const char *what)
{
    (void)upp_fail(c->err, UPP_EINVALID, "%s", what);
    wj_pointer_err(c->err, c->root, at);
    return 0;
}

static int differ_values(struct comparison *c, yyjson_val *a, yyjson_val *b)
{
    char x[64], y[64];
    if (c->err)
        (void)upp_fail(c->err, UPP_EINVALID, "%s against %s", wj_found(a, x, sizeof x), wj_found(b, y, sizeof y));
    wj_pointer_err(c->err, c->root, a);
    return 0;
}

/* Sorts the members of both objects by name, unless both already have the same order. */
static int sort_members(struct comparison *c, struct pair *p, yyjson_val *a, yyjson_val *b)
{
    yyjson_val *x = p->a, *y = p->b;
    size_t i = 0;
    while (i < p->n && wj_named(x, wj_text(y))) {
        i++;
        x = unsafe_yyjson_get_next(x + 1);
        y = unsafe_yyjson_get_next(y + 1);
    }
    if (i == p->n)
        return 1;
    p->keys = wb_calloc(p->n, 3 * sizeof *p->keys);
    if (!p->keys)
        return upp_fail(c->err, UPP_ENOMEM, "out of memory");
    wj_keys_sort(a, p->keys, p->keys + 2 * p->n);
    wj_keys_sort(b, p->keys + p->n, p->keys + 2 * p->n);
    return 1;
}

/* Reports the first name that one object has more often than the other: in a by its pointer, in b by a sentence. */
static int differ_names(struct comparison *c, const struct pair *p, yyjson_val *a)
{
    yyjson_val *x = p->keys[p->i], *y = p->keys[p->n + p->i];
    if (wb_str_cmp(wj_text(x), wj_text(y)) < 0)
        return differ(c, x, "a member that the other has not");
    if (c->err) {
        struct wj_pointer t;
        (void)upp_fail(c->err, UPP_EINVALID, "no member that the other has");
        wj_pointer_init(&t, c->err->where, sizeof c->err->where);
        wj_pointer_find(&t, c->root, a);
        wj_pointer_name(&t, wj_text(y));
    }
    return 0;
}

static int open_pair(struct comparison *c, yyjson_val *a, yyjson_val *b)
{
    struct pair p = {.a = unsafe_yyjson_get_first(a),
                     .b = unsafe_yyjson_get_first(b),
                     .n = unsafe_yyjson_get_len(a),
                     .object = yyjson_is_obj(a)};
    if (p.n != unsafe_yyjson_get_len(b))
        return differ(c, a, p.object ? "another number of members" : "another number of items");
    if (p.n == 0)
        return 1;
    int r = p.object ? sort_members(c, &p, a, b) : 1;
    if (r <= 0)
        return r;
    /* Names first: a missing name explains more than the unequal values that it causes. */
    for (; p.keys && p.i < p.n; p.i++)
        if (!wb_str_eq(wj_text(p.keys[p.i]), wj_text(p.keys[p.n + p.i]))) {
            r = differ_names(c, &p, a);
            wb_free(p.keys);
            return r;
        }
    p.i = 0;
    if (!wb_vec_push(&c->open, p, WJ_DEPTH_MAX)) {
        wb_free(p.keys);
        return upp_fail(c->err, UPP_ENOMEM, "out of memory");
    }
    return 1;
}

static int compare_one(struct comparison *c, yyjson_val *a, yyjson_val *b)
{
    if (unsafe_yyjson_get_type(a) != unsafe_yyjson_get_type(b))
        return differ_values(c, a, b);
    bool same = true;
    switch (unsafe_yyjson_get_type(a)) {
    case YYJSON_TYPE_OBJ:
    case YYJSON_TYPE_ARR:
        return open_pair(c, a, b);
    case YYJSON_TYPE_STR:
        return wb_str_eq(wj_text(a), wj_text(b)) ? 1 : differ(c, a, "another string");
    case YYJSON_TYPE_RAW:
        same = wj_num_eq(wj_text(a), wj_text(b));
        break;
    case YYJSON_TYPE_BOOL:
        same = unsafe_yyjson_get_bool(a) == unsafe_yyjson_get_bool(b);
        break;
    default:
        break;
    }
    return same ? 1 : differ_values(c, a, b);
}

/* The next two values of the innermost pair. */
static void next_values(struct pair *p, yyjson_val **a, yyjson_val **b)
{
    if (p->keys) {
        *a = p->keys[p->i] + 1;
        *b = p->keys[p->n + p->i] + 1;
    } else {
        *a = p->a + p->object;
        *b = p->b + p->object;
        p->a = unsafe_yyjson_get_next(*a);
        p->b = unsafe_yyjson_get_next(*b);
    }
    p->i++;
}

int wj_equal(yyjson_val *a, yyjson_val *b, struct upp_err *err)
{
    struct comparison c = {.root = a, .err = err};
    int r = compare_one(&c, a, b);
    while (r > 0 && c.open.n) {
        struct pair *p = &c.open.p[c.open.n - 1];
        if (p->i == p->n) {
            wb_free(p->keys);
            c.open.n--;
        } else {
            next_values(p, &a, &b);
            r = compare_one(&c, a, b);
        }
    }
    for (size_t i = 0; i < c.open.n; i++)
        wb_free(c.open.p[i].keys);
    wb_vec_done(&c.open);
    return r;
}
