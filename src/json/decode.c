/* json/decode.c — values to structs. */
#include "json/decode.h"

#include "base/err.h"
#include "json/pointer.h"
#include "json/value.h"

/* ---- Problems ------------------------------------------------------------------------------------ */

int wj_refuse(struct wj_decoder *d, const yyjson_val *v, const char *fmt, ...)
{
    struct upp_err problem;
    struct upp_err *err = d->opts->problem ? &problem : d->err;
    unsigned most = d->opts->max_problems ? d->opts->max_problems : WJ_MAX_PROBLEMS;
    if (d->problems++ >= most)
        return -UPP_EINVALID;
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(err, UPP_EINVALID, fmt, args);
    va_end(args);
    if (d->opts->problem) {
        char text[512];
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
    char found[64];
    do
        wj_list_add(&expects, " or ", "", wb_cstr(f->kind->expects));
    while (f++->flags & F_OR);
    return wj_refuse(d, v, "expected %s, found %s", expects.p, wj_found(v, found, sizeof found));
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

int wj_get(struct wj_decoder *d, const struct wj_field *f, yyjson_val *v, char *base)
{
    const struct wj_field *row = f;
    unsigned type = 1u << unsafe_yyjson_get_type(v);
    for (; WB_UNLIKELY(!(row->kind->takes & type)); row++)
        if (!(row->flags & F_OR))
            return wrong_type(d, f, v);
    return row->kind->get(d, row, v, base + row->off);
}

bool wj_is_set(const struct wj_node *node, size_t off)
{
    for (unsigned i = 0; node->shape && i < node->shape->n; i++)
        if (node->shape->fields[i].off == off && ((node->seen & ~node->null) >> i & 1))
            return true;
    return false;
}

/* The rows of one member: its alternatives (F_OR) and aliases. From the first to one past the last. */
static unsigned group_first(const struct wj_shape *s, unsigned i)
{
    while (i > 0 && ((s->fields[i].flags & F_ALIAS) || (s->fields[i - 1].flags & F_OR)))
        i--;
    return i;
}

static unsigned group_end(const struct wj_shape *s, unsigned i)
{
    do
        i++;
    while (i < s->n && ((s->fields[i].flags & F_ALIAS) || (s->fields[i - 1].flags & F_OR)));
    return i;
}

static uint64_t bits(unsigned first, unsigned end) /* first < end <= 64 */
{
    return (~(uint64_t)0 >> (64 - (end - first))) << first;
}

/* ---- Plans ---------------------------------------------------------------------------------------- */

/* Hash of a name: the slot where its search begins. Names of one table rarely collide. */
static inline unsigned hash_name(const char *name, size_t n)
{
    return n ? (8 * (unsigned)n + (unsigned char)name[0] + 4 * (unsigned char)name[n - 1]) % 128 : 0;
}

/* Rows that have no alternatives and are not aliases. */
static uint64_t rows_alone(const struct wj_shape *s)
{
    uint64_t alone = 0;
    for (unsigned i = 0; i < s->n; i++)
        alone |= (uint64_t)(!(s->fields[i].flags & (F_OR | F_ALIAS)) && !(i && (s->fields[i - 1].flags & F_OR))) << i;
    return alone;
}

/* At most half of the slots are used, so every search ends. */
static void make_plan(struct wj_plan *plan, const struct wj_shape *s)
{
    *plan = (struct wj_plan){.shape = s, .alone = rows_alone(s)};
    for (unsigned i = 0; i < s->n; i++) {
        const struct wj_field *f = &s->fields[i];
        if (i && (f[-1].flags & F_OR)) /* has the name of the row before */
            continue;
        unsigned at = hash_name(f->name.p, f->name.n);
        while (plan->rows[at])
            at = (at + 1) % 128;
        plan->rows[at] = (uint8_t)(i + 1);
        plan->required |= (uint64_t)((f->flags & (F_REQUIRED | F_ALIAS)) == F_REQUIRED) << i;
    }
}

/* NULL: no room. */
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

/* First row with that name; NULL: none. */
static inline const struct wj_field *find_planned(const struct wj_plan *plan, const struct wj_field *fields,
                                                  const yyjson_val *name, unsigned *row)
{
    unsigned at = hash_name(name->uni.str, (size_t)(name->tag >> YYJSON_TAG_BIT));
    for (; plan->rows[at]; at = (at + 1) % 128) {
        const struct wj_field *f = &fields[ *row = plan->rows[at] - 1u];
        if (WB_LIKELY(wj_named(name, f->name)))
            return f;
    }
    return NULL;
}

/* The same, but first tries the row that followed the previous one last time. On entry *row is 1 + the previous row, or
 * 0. */
static inline const struct wj_field *planned_row(struct wj_plan *plan, const struct wj_field *fields,
                                                 const yyjson_val *name, unsigned *row)
{
    unsigned before = *row;
    const struct wj_field *f = &fields[ *row = plan->after[before]];
    if (WB_LIKELY(wj_named(name, f->name)))
        return f;
    f = find_planned(plan, fields, name, row);
    if (f)
        plan->after[before] = (uint8_t)*row;
    return f;
}

/* The same without a plan: row by row, starting after the previous one. */
static const struct wj_field *find_row(const struct wj_shape *s, const yyjson_val *name, unsigned *row)
{
    for (unsigned i = 0, at = *row; i < s->n; i++, at++) {
        at = at < s->n ? at : 0;
        if (!wj_named(name, s->fields[at].name))
            continue;
        while (at && (s->fields[at - 1].flags & F_OR))
            at--;
        *row = at;
        return &s->fields[at];
    }
    return NULL;
}

/* ---- Objects -------------------------------------------------------------------------------------- */

/* One object while it is decoded. */
struct reading {
    struct wj_decoder *d;
    const struct wj_shape *s;
    struct wj_node *node;
    uint64_t refused; /* rows whose member is there, but had a problem */
};

static void clear_slots(struct reading *r, unsigned first, unsigned end)
{
    for (unsigned i = first; i < end; i++)
        memset((char *)r->node + r->s->fields[i].off, 0, r->s->fields[i].kind->size);
    r->node->seen &= ~bits(first, end);
    r->node->null &= ~bits(first, end);
}

/* Handles a member's refused value. Returns x, or WJ_SPELLED if decoding continues. */
__attribute__((noinline, cold)) static int refuse_row(struct reading *r, unsigned row, int x)
{
    if (x != -UPP_EINVALID || !r->d->opts->problem)
        return x;
    unsigned end = group_end(r->s, row);
    clear_slots(r, row, end);
    r->refused |= bits(group_first(r->s, row), end);
    return WJ_SPELLED;
}

/* Decodes a member's value into the row. Returns the result of `get`, or < 0. */
static inline int read_value(struct reading *r, const struct wj_field *f, unsigned row, yyjson_val *v)
{
    r->node->seen |= (uint64_t)1 << row;
    if (unsafe_yyjson_is_null(v) && (f->flags & F_NULLABLE)) {
        r->node->null |= (uint64_t)1 << row;
        return 0;
    }
    int x = wj_get(r->d, f, v, (char *)r->node);
    return WB_LIKELY(x >= 0) ? x : refuse_row(r, row, x);
}

/* Slow path: a member that was read before, or whose row has aliases or alternatives. From now on all members of its
 * group take this path. */
__attribute__((noinline)) static int read_again(struct reading *r, unsigned row, uint64_t *left, yyjson_val *v)
{
    unsigned first = group_first(r->s, row), end = group_end(r->s, row), one = row;
    uint64_t group = bits(first, end), type = 1u << unsafe_yyjson_get_type(v);
    *left &= ~group;
    if (r->node->seen & group) {
        /* The earlier name in the group wins; of equal names the later member. An alternative (F_OR) has the name of
         * its first row. */
        unsigned old = (unsigned)__builtin_ctzll(r->node->seen & group);
        while (old > first && (r->s->fields[old - 1].flags & F_OR))
            old--;
        if (row > old)
            return WJ_SPELLED;
        clear_slots(r, first, end);
    }
    const struct wj_field *fields = r->s->fields;
    if (!unsafe_yyjson_is_null(v) || !(fields[row].flags & F_NULLABLE))
        while (!(fields[one].kind->takes & type) && (fields[one].flags & F_OR))
            one++;
    row = fields[one].kind->takes & type ? one : row; /* if none accepts it, the message lists them all */
    return read_value(r, &fields[row], row, v);
}

static int unknown(struct wj_decoder *d, const yyjson_val *name)
{
    int x = d->opts->closed ? wj_refuse(d, name, "expected no such member") : 0;
    return d->opts->problem ? 0 : x;
}

/* Reports the required ones of these rows that have no member. */
static int missing(struct reading *r, yyjson_val *v, uint64_t rows)
{
    const struct wj_shape *s = r->s;
    uint64_t todo = ~r->node->seen & rows;
    for (; todo; todo &= todo - 1) {
        unsigned i = (unsigned)__builtin_ctzll(todo);
        if (WB_LIKELY(!(s->fields[i].flags & F_REQUIRED)) || group_first(s, i) != i)
            continue;
        if ((r->node->seen | r->refused) & bits(i, group_end(s, i)))
            continue;
        int x = wj_refuse(r->d, v, "member '%.*s' is missing", UPP_FMT(s->fields[i].name));
        if (!r->d->opts->problem)
            return x;
    }
    return 0;
}

/* Most members have a row of their own and occur once. Inlined for each way to find rows. */
static inline __attribute__((always_inline)) int read_members(struct reading *r, struct wj_plan *plan, yyjson_val *v,
                                                              bool ordered)
{
    const struct wj_field *fields = r->s->fields;
    struct wj_node *node = r->node;
    uint64_t left = plan ? plan->alone : rows_alone(r->s); /* rows without a member so far */
    uint64_t order = 0, falls = 0;
    bool known = r->s->n < WJ_ROWS;
    yyjson_val *name = v + 1, *end = unsafe_yyjson_get_next(v);
    unsigned next = 0;
    while (name < end) {
        unsigned row = next;
        const struct wj_field *f = plan ? planned_row(plan, fields, name, &row) : find_row(r->s, name, &row);
        uint64_t bit = f ? left & (uint64_t)1 << row : 0;
        left ^= bit;
        next = f ? row + 1 : next;
        if (ordered) {
            order = wj_order_step(order, row);
            falls |= node->seen & -bit; /* rows after it in the table whose member came earlier */
        }
        if (bit && f->kind == &wj_kind_str && unsafe_yyjson_is_str(name + 1)) { /* the common case: saves two calls */
            *(struct upp_str *)(void *)((char *)node + f->off) = wj_text(name + 1);
            node->seen |= bit;
            name += 2;
            continue;
        }
        int x = bit ? read_value(r, f, row, name + 1) : f ? read_again(r, row, &left, name + 1) : unknown(r->d, name);
        if (WB_UNLIKELY(x < 0))
            return x;
        known = known && ordered && bit && x == 0; /* the value was read without changes */
        name = unsafe_yyjson_get_next(name + 1);
    }
    if (ordered && known)
        node->order = (unsafe_yyjson_get_len(v) <= WJ_ORDER_ROWS ? order : 0) | (falls ? 0 : WJ_TABLE_ORDER);
    return 0;
}

int wj_decode_object(struct wj_decoder *d, const struct wj_shape *s, yyjson_val *v, struct wj_node *node)
{
    struct wj_plan *plan = d->opts->plans ? plan_of(d->opts->plans, s) : NULL;
    struct reading r = {.d = d, .s = s, .node = node};
    if (d->depth == d->limit)
        return wj_too_deep(d, v);
    d->depth++;
    node->shape = s;
    node->from = v;
    int x = !plan                     ? read_members(&r, NULL, v, true)
            : d->opts->plans->ordered ? read_members(&r, plan, v, true)
                                      : read_members(&r, plan, v, false);
    if (x < 0)
        return x;
    d->depth--;
    uint64_t required = plan ? plan->required : bits(0, s->n);
    return WB_UNLIKELY(required & ~node->seen) ? missing(&r, v, required) : 0;
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
