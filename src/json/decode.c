/* json/decode.c — values to structs. */
#include "json/decode.h"

#include "base/err.h"
#include "json/pointer.h"
#include "json/value.h"

/* ---- Problems ------------------------------------------------------------------------------------ */

int wj_refuse(struct wj_decoder *d, const yyjson_val *v, const char *fmt, ...)
{
    struct upp_err  problem;
    struct upp_err *err  = d->opts->problem ? &problem : d->err;
    unsigned        most = d->opts->max_problems ? d->opts->max_problems : WJ_MAX_PROBLEMS;
    if (d->problems++ >= most)
        return -UPP_EINVALID;
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_EINVALID, fmt, args);
    va_end(args);
    if (d->opts->problem) {
        char              text[512];
        struct wj_pointer pointer;
        wj_pointer_init(&pointer, text, sizeof text);
        wj_pointer_find(&pointer, d->root, v);
        d->opts->problem(d->opts->ctx, pointer.p, problem.msg);
    } else
        wj_pointer_err(err, d->root, v);
    return r;
}

__attribute__((noinline, cold)) int wj_too_deep(struct wj_decoder *d, const yyjson_val *v)
{
    int r = upp_fail(d->err, UPP_ELIMIT, "nested deeper than %u levels", d->limit);
    wj_pointer_err(d->err, d->root, v);
    return r;
}

/* "expected a string or an array, found null". Not inlined: its buffers would be in every frame of the recursion. */
__attribute__((noinline, cold)) static int wrong_type(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v)
{
    struct wj_list expects = {0};
    char           found[64];
    do
        wj_list_add(&expects, " or ", "", wb_cstr(f->kind->expects));
    while (f++->flags & F_OR);
    return wj_refuse(d, v, "expected %s, found %s", expects.p, wj_found(v, found, sizeof found));
}

/* ---- One member ---------------------------------------------------------------------------------- */

int wj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, char *base)
{
    const struct wj_field *row  = f;
    unsigned               type = 1u << unsafe_yyjson_get_type(v);
    for (; WB_UNLIKELY(!(row->kind->takes & type)); row++)
        if (!(row->flags & F_OR))
            return wrong_type(d, f, v);
    return row->kind->get(d, row, v, base + row->off);
}

/* The first row of that name; s->n when there is none. */
static unsigned find_row(const struct wj_shape *s, const yyjson_val *name)
{
    unsigned i = 0;
    while (i < s->n && !wj_named(name, s->fields[i].name))
        i++;
    return i;
}

/* ---- Plans ---------------------------------------------------------------------------------------- */

/* Where the search for a name begins: of the names in one table hardly two begin at the same place. */
static inline unsigned place_of(const char *name, size_t n)
{
    return n ? (8 * (unsigned)n + (unsigned char)name[0] + 4 * (unsigned char)name[n - 1]) % 128 : 0;
}

/* At most half of the places are taken, so every search ends. */
static void make_plan(struct wj_plan *plan, const struct wj_shape *s)
{
    *plan = (struct wj_plan){.shape = s};
    for (unsigned i = 0; i < s->n; i++) {
        const struct wj_field *f = &s->fields[i];
        if (i && (f[-1].flags & F_OR)) /* of the same name as the one before */
            continue;
        unsigned at = place_of(f->name.p, f->name.n);
        while (plan->rows[at])
            at = (at + 1) % 128;
        plan->rows[at] = (uint8_t)(i + 1);
        plan->required |= (uint64_t)((f->flags & (F_REQUIRED | F_ALIAS)) == F_REQUIRED) << i;
        plan->alone |= (uint64_t) !(f->flags & (F_OR | F_ALIAS)) << i;
    }
}

/* NULL: there is no room for it. */
static struct wj_plan *plan_of(struct wj_plans *plans, const struct wj_shape *s)
{
    unsigned i = 0;
    while (i < plans->n && plans->list[i].shape != s)
        i++;
    if (i == WB_LEN(plans->list))
        return NULL;
    if (i == plans->n)
        make_plan(&plans->list[plans->n++], s);
    return &plans->list[i];
}

/* The first row of that name; NULL: none. */
static inline const struct wj_field *find_planned(const struct wj_plan *plan, const struct wj_field *fields,
                                                  const yyjson_val *name, unsigned *row)
{
    unsigned at = place_of(name->uni.str, (size_t)(name->tag >> YYJSON_TAG_BIT));
    for (; plan->rows[at]; at = (at + 1) % 128) {
        const struct wj_field *f = &fields[ *row = plan->rows[at] - 1u];
        if (WB_LIKELY(wj_named(name, f->name)))
            return f;
    }
    return NULL;
}

/* The same, looked for first where it was the last time that this one came before. *row: the one before, plus 1; 0:
 * none. */
static inline const struct wj_field *planned_row(struct wj_plan *plan, const struct wj_field *fields,
                                                 const yyjson_val *name, unsigned *row)
{
    unsigned               before = *row;
    const struct wj_field *f      = &fields[ *row = plan->after[before]];
    if (WB_LIKELY(wj_named(name, f->name)))
        return f;
    f = find_planned(plan, fields, name, row);
    if (f)
        plan->after[before] = (uint8_t)*row;
    return f;
}

/* ---- Objects -------------------------------------------------------------------------------------- */

/* One object while it is read. */
struct reading {
    struct wj_decoder     *d;
    const struct wj_shape *s;
    struct wj_node        *node;
    size_t                 members;
    uint64_t               refused; /* rows whose member is there, but had a problem */
};

/* From now on what becomes of each member is written down. Up to here (i members) all were rows in table order. */
static bool need_rows(struct reading *r, size_t i)
{
    if (!r->node->rows) {
        uint8_t *rows = wb_arena_alloc(r->d->arena, r->members, 1);
        if (!rows)
            return false;
        uint64_t seen = r->node->seen;
        for (size_t k = 0; k < i; k++, seen &= seen - 1)
            rows[k] = (uint8_t)__builtin_ctzll(seen);
        r->node->rows = rows;
    }
    return true;
}

static void clear_slots(struct reading *r, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        memset((char *)r->node + r->s->fields[i].off, 0, r->s->fields[i].kind->size);
    r->node->seen &= ~wj_bits(first, end);
    r->node->null &= ~wj_bits(first, end);
}

/* Member i names a row whose group was read before. False: the old one stays, this one is left over.
 * Only one that replaces the old one looks for it: so the search is linear over all of an object, passing each member
 * once for each group. */
static bool replace(struct reading *r, size_t i, unsigned row)
{
    unsigned first = wj_group_first(r->s, row), end = wj_group_end(r->s, row);
    unsigned had = (unsigned)__builtin_ctzll(r->node->seen & wj_bits(first, end)), old = had;
    /* The better name wins; of equal names the later. An alternative (F_OR) has the name of its first row. */
    while (old > first && (r->s->fields[old - 1].flags & F_OR))
        old--;
    if (row > old)
        return false;
    uint8_t *rows = r->node->rows;
    if (rows) {
        size_t k = i - 1;
        while (rows[k] == WJ_EXTRA || (rows[k] & WJ_ROW) != had)
            k--;
        rows[k] = WJ_EXTRA;
    }
    clear_slots(r, first, end);
    return true;
}

/* The value of a member was refused, with this result. The same, or WJ_EXTRA where decoding goes on. */
__attribute__((noinline, cold)) static int refuse_row(struct reading *r, unsigned row, int x)
{
    if (x != -UPP_EINVALID || !r->d->opts->problem)
        return x;
    unsigned end = wj_group_end(r->s, row);
    clear_slots(r, row, end);
    r->refused |= wj_bits(wj_group_first(r->s, row), end);
    return WJ_EXTRA;
}

/* Reads the value of a member into the row, or one of its alternatives. What goes into rows[i], or < 0. */
static inline int read_value(struct reading *r, const struct wj_field *f, unsigned row, yyjson_val *v)
{
    if (f->kind == &wj_kind_str && unsafe_yyjson_is_str(v)) { /* most values are: it saves two calls */
        *(struct upp_str *)(void *)((char *)r->node + f->off) = wj_text(v);
        r->node->seen |= (uint64_t)1 << row;
        return (int)row;
    }
    if (unsafe_yyjson_is_null(v) && (f->flags & F_NULLABLE)) {
        r->node->seen |= (uint64_t)1 << row;
        r->node->null |= (uint64_t)1 << row;
        return (int)row;
    }
    const struct wj_field *one  = f;
    unsigned               type = 1u << unsafe_yyjson_get_type(v);
    while (!(one->kind->takes & type) && (one->flags & F_OR))
        one++;
    int x = WB_LIKELY(one->kind->takes & type) ? one->kind->get(r->d, one, v, (char *)r->node + one->off)
                                               : wrong_type(r->d, f, v);
    if (WB_UNLIKELY(x < 0))
        return refuse_row(r, row, x);
    row += (unsigned)(one - f);
    r->node->seen |= (uint64_t)1 << row;
    return x == WJ_SPELLED ? (int)(row | WJ_ROW_SPELLED) : (int)row;
}

/* A member that does not keep the table's order: out of order, a duplicate, an alias, or unknown. *next is set to the
 * row after it, unless it is unknown. */
static int read_other(struct reading *r, size_t i, yyjson_val *name, unsigned *next)
{
    const struct wj_shape *s   = r->s;
    unsigned               row = find_row(s, name);
    if (row == s->n)
        return WJ_EXTRA;
    unsigned first = wj_group_first(s, row), end = wj_group_end(s, row);
    if (!need_rows(r, i))
        return wb_arena_check(r->d->arena, r->d->err);
    *next = end;
    if ((r->node->seen & wj_bits(first, end)) && !replace(r, i, row))
        return WJ_EXTRA;
    return read_value(r, &s->fields[row], row, name + 1);
}

/* Of these rows: those that are required, and whose member is not there. */
static int missing(struct reading *r, yyjson_val *v, uint64_t rows)
{
    const struct wj_shape *s    = r->s;
    uint64_t               todo = ~r->node->seen & rows;
    for (; todo; todo &= todo - 1) {
        unsigned i = (unsigned)__builtin_ctzll(todo);
        if (WB_LIKELY(!(s->fields[i].flags & F_REQUIRED)) || wj_group_first(s, i) != i)
            continue;
        if ((r->node->seen | r->refused) & wj_bits(i, wj_group_end(s, i)))
            continue;
        int x = wj_refuse(r->d, v, "member '%.*s' is missing", UPP_FMT(s->fields[i].name));
        if (!r->d->opts->problem)
            return x;
    }
    return 0;
}

/* An object that may be written back: what becomes of each member is written down. */
static int decode_kept(struct wj_decoder *d, const struct wj_shape *s, yyjson_val *v, struct wj_node *node)
{
    struct reading r = {.d = d, .s = s, .node = node, .members = unsafe_yyjson_get_len(v)};

    yyjson_val *name = unsafe_yyjson_get_first(v);
    unsigned    next = 0, n = s->n; /* the first row after the last that was found: where to look first */
    for (size_t i = 0; i < r.members; i++) {
        int                    what;
        unsigned               row = next;
        const struct wj_field *f   = &s->fields[row];
        for (; row < n && !wj_named(name, f->name); f++)
            row++;
        if (WB_LIKELY(row < n && !(f->flags & F_ALIAS) && !(node->seen >> row))) {
            what = read_value(&r, f, row, name + 1);
            next = row + 1; /* and past the group */
            for (; next < n && ((f->flags & F_OR) || (f[1].flags & F_ALIAS)); f++)
                next++;
        } else {
            what = read_other(&r, i, name, &next);
        }
        if (WB_UNLIKELY(what & ~WJ_ROW)) {
            if (what < 0)
                return what;
            if (!need_rows(&r, i))
                return wb_arena_check(d->arena, d->err);
        }
        if (node->rows)
            node->rows[i] = (uint8_t)what;
        name = unsafe_yyjson_get_next(name + 1);
    }
    d->depth--;
    return missing(&r, v, wj_bits(0, n));
}

/* A member that comes again, by another name, or in one of several forms: whatever is behind it of its group comes
 * again too. */
__attribute__((noinline)) static int read_again(struct reading *r, unsigned row, uint64_t *left, yyjson_val *v)
{
    uint64_t group = wj_bits(wj_group_first(r->s, row), wj_group_end(r->s, row));
    *left &= ~group;
    if ((r->node->seen & group) && !replace(r, 0, row))
        return 0;
    return read_value(r, &r->s->fields[row], row, v);
}

/* A member of a row of its own that has not come before, into its slot. */
static inline int read_first(struct reading *r, const struct wj_field *f, uint64_t bit, yyjson_val *v)
{
    r->node->seen |= bit;
    if (unsafe_yyjson_is_null(v) && (f->flags & F_NULLABLE)) {
        r->node->null |= bit;
        return 0;
    }
    int x = wj_get(r->d, f, v, (char *)r->node);
    return WB_LIKELY(x >= 0) ? x : refuse_row(r, (unsigned)__builtin_ctzll(bit), x);
}

/* An object of which nobody needs to know what became of each member. Most are of a row of their own, and come once. */
static inline __attribute__((always_inline)) int decode_planned(struct wj_decoder *d, struct wj_plan *plan,
                                                                yyjson_val *v, struct wj_node *node, bool ordered)
{
    const struct wj_field *fields = plan->shape->fields;
    struct reading         r      = {.d = d, .s = plan->shape, .node = node};
    uint64_t               left   = plan->alone; /* of which none has come */
    uint64_t               order = 0, falls = 0;
    bool                   known = plan->shape->n < WJ_ROWS;
    yyjson_val            *name = v + 1, *end = unsafe_yyjson_get_next(v);
    unsigned               next = 0;
    while (name < end) {
        unsigned               row = next;
        const struct wj_field *f   = planned_row(plan, fields, name, &row);
        uint64_t               bit = f ? left & (uint64_t)1 << row : 0;
        left ^= bit;
        next = f ? row + 1 : next;
        if (ordered) {
            order = wj_order_step(order, row);
            falls |= node->seen & -bit; /* those behind it in the table that came before it */
        }
        if (bit && f->kind == &wj_kind_str && unsafe_yyjson_is_str(name + 1)) { /* most are: it saves two calls */
            *(struct upp_str *)(void *)((char *)node + f->off) = wj_text(name + 1);
            node->seen |= bit;
            name += 2;
            continue;
        }
        int x = bit ? read_first(&r, f, bit, name + 1) : f ? read_again(&r, row, &left, name + 1) : 0;
        if (WB_UNLIKELY(x < 0))
            return x;
        known = known && ordered && bit && x == 0; /* it was taken as it is */
        name  = unsafe_yyjson_get_next(name + 1);
    }
    d->depth--;
    if (ordered && known)
        node->order = (unsafe_yyjson_get_len(v) <= WJ_ORDER_ROWS ? order : 0) | (falls ? 0 : WJ_RISING);
    return WB_UNLIKELY(plan->required & ~node->seen) ? missing(&r, v, plan->required) : 0;
}

static int decode_ordered(struct wj_decoder *d, struct wj_plan *plan, yyjson_val *v, struct wj_node *node)
{
    return decode_planned(d, plan, v, node, true);
}

static int decode_unordered(struct wj_decoder *d, struct wj_plan *plan, yyjson_val *v, struct wj_node *node)
{
    return decode_planned(d, plan, v, node, false);
}

int wj_decode_object(struct wj_decoder *d, const struct wj_shape *s, yyjson_val *v, struct wj_node *node)
{
    struct wj_plan *plan = d->opts->plans ? plan_of(d->opts->plans, s) : NULL;
    if (d->depth == d->limit)
        return wj_too_deep(d, v);
    d->depth++;
    node->shape = s;
    node->from  = v;
    if (!plan)
        return decode_kept(d, s, v, node);
    return d->opts->plans->ordered ? decode_ordered(d, plan, v, node) : decode_unordered(d, plan, v, node);
}

int wj_decode(struct wb_arena *a, const struct wj_shape *s, yyjson_val *v, const struct wj_decode_opts *opts,
              struct wj_node *ret, struct upp_err *err)
{
    static const struct wj_decode_opts none = {.size = sizeof none};
    struct wj_decoder d = {.arena = a, .root = v, .opts = opts ? opts : &none, .err = err, .limit = WJ_SHAPE_DEPTH};
    if (d.opts->depth && d.opts->depth < d.limit)
        d.limit = d.opts->depth;
    memset(ret, 0, s->size);
    if (!yyjson_is_obj(v)) {
        char found[64];
        return upp_fail(err, UPP_EINVALID, "expected an object, found %s", wj_found(v, found, sizeof found));
    }
    int r = wj_decode_object(&d, s, v, ret);
    if (r < 0)
        return r;
    r = wb_arena_check(a, err);
    return r < 0 ? r : (int)WB_MIN(d.problems, (unsigned)INT32_MAX);
}
