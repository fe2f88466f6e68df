/* json/schema_check.c — checks a value against compiled rules.
 *
 * Recurses once for each nested schema, at most WJ_SCHEMA_DEPTH deep, with small frames: messages are formatted in
 * schema_report.c, in frames that do not stay on the stack. Where only yes or no matters (anyOf, oneOf, not) nothing is
 * reported, and the first violation ends the check. Every operation is charged to a budget, so that no schema, value or
 * pattern can make a check run forever.
 */
#include "base/utf8.h"
#include "json/compare.h"
#include "json/number.h"
#include "json/schema_rules.h"

/* Functions here return 1: it fits. 0: it does not, and that was reported. < 0: the check failed. */
struct check {
    struct wj_report report;
    unsigned depth, silent;
    uint64_t budget;
    uint16_t regex_steps;
    struct wj_regex_memory room;
    struct upp_err *err;
};

static int apply(struct check *k, const struct wj_rules *r, yyjson_val *v);

/* Yes or no, without a report. */
static int fits(struct check *k, const struct wj_rules *r, yyjson_val *v)
{
    k->silent++;
    int x = apply(k, r, v);
    k->silent--;
    return x;
}

static int too_much(struct check *k)
{
    return upp_fail(k->err, UPP_ELIMIT, "the check takes more than %d steps", WJ_SCHEMA_STEPS);
}

static int spend(struct check *k, uint64_t steps)
{
    if (steps >= k->budget)
        return too_much(k);
    k->budget -= steps;
    return 1;
}

/* Should checking continue after the result x? */
static inline bool goes_on(const struct check *k, int x)
{
    return x > 0 || (x == 0 && !k->silent);
}

/* Combines the results of two checks, of which the first did not fail. */
static inline int both(int x, int y)
{
    return y < 0 ? y : x & y;
}

/* For functions that do not call apply: inlining would enlarge the frames of those that do. */
#define LEAF __attribute__((noinline))

/* Reports a violation, unless only yes or no matters; 0. */
#define MISFIT(k, call) ((k)->silent ? 0 : ((call), 0))

/* ---- Any value -------------------------------------------------------------------------------------- */

static bool has_type(unsigned types, yyjson_val *v)
{
    switch (unsafe_yyjson_get_type(v)) {
    case YYJSON_TYPE_NULL:
        return types & WJ_IS_NULL;
    case YYJSON_TYPE_BOOL:
        return types & WJ_IS_BOOL;
    case YYJSON_TYPE_OBJ:
        return types & WJ_IS_OBJECT;
    case YYJSON_TYPE_ARR:
        return types & WJ_IS_ARRAY;
    case YYJSON_TYPE_STR:
        return types & WJ_IS_STRING;
    default:
        return types & WJ_IS_NUMBER || (types & WJ_IS_INTEGER && wj_num_whole(wj_text(v)));
    }
}

/* Charges the budget for the size of what is compared. */
LEAF static int equal(struct check *k, yyjson_val *a, yyjson_val *b)
{
    uint64_t cost = 1;
    if (unsafe_yyjson_get_type(a) != unsafe_yyjson_get_type(b))
        return spend(k, 1) < 0 ? -UPP_ELIMIT : 0;
    if (unsafe_yyjson_is_ctn(a))
        cost += (uint64_t)(unsafe_yyjson_get_next(a) - a);
    else
        cost += wj_text(a).n / 32;
    int r = spend(k, cost);
    if (r < 0)
        return r;
    r = wj_equal(a, b, NULL);
    return r < 0 ? upp_fail(k->err, (enum upp_code) - r, "%s", upp_code_text(r)) : r;
}

LEAF static int check_choices(struct check *k, yyjson_val *choices, yyjson_val *v)
{
    yyjson_val *item = unsafe_yyjson_get_first(choices);
    int x = 0;
    for (size_t n = unsafe_yyjson_get_len(choices); n && x == 0; n--, item = unsafe_yyjson_get_next(item))
        x = equal(k, item, v);
    return x ? x : MISFIT(k, wj_report_choices(&k->report, v, choices));
}

LEAF static int check_any_value(struct check *k, const struct wj_rules *r, yyjson_val *v)
{
    int x = 1, y = 1;
    if (r->never)
        return MISFIT(k, wj_report(&k->report, v, "no value is allowed here"));
    if (r->types && !has_type(r->types, v))
        return MISFIT(k, wj_report_type(&k->report, v, r->types));
    if (r->constant) {
        x = equal(k, r->constant, v);
        if (x == 0)
            return MISFIT(k, wj_report_constant(&k->report, v, r->constant));
    }
    if (r->choices && x > 0)
        y = check_choices(k, r->choices, v);
    return x < 0 ? x : y;
}

static int check_span(struct check *k, const struct wj_span *s, uint64_t n, yyjson_val *v, const char *what)
{
    unsigned long long have = n, min = s->min, max = s->max;
    const char *plural = n == 1 ? "" : "s";
    if (n < s->min)
        return MISFIT(k, wj_report(&k->report, v, "has %llu %s%s, fewer than %llu", have, what, plural, min));
    if (n > s->max)
        return MISFIT(k, wj_report(&k->report, v, "has %llu %s%s, more than %llu", have, what, plural, max));
    return 1;
}

/* ---- Numbers and strings ---------------------------------------------------------------------------- */

LEAF static int check_number(struct check *k, const struct wj_number_rules *n, yyjson_val *v)
{
    const struct {
        struct upp_str bound;
        int from, to; /* accepted range of comparison results */
        const char *words;
    } rows[] = {{n->min, 0, 1, "less than"},
                {n->max, -1, 0, "more than"},
                {n->above, 1, 1, "not more than"},
                {n->below, -1, -1, "not less than"}};
    char shown[WJ_SHOW_SIZE];
    int x = 1;
    for (size_t i = 0; i < WB_LEN(rows); i++) {
        if (!rows[i].bound.p)
            continue;
        int order = wj_num_cmp(wj_text(v), rows[i].bound);
        if (order < rows[i].from || order > rows[i].to)
            x = MISFIT(k, wj_report(&k->report, v, "%s is %s %.*s", wj_show(v, shown), rows[i].words,
                                    (int)WB_MIN(rows[i].bound.n, (size_t)40), rows[i].bound.p));
    }
    if (n->step.p && !wj_num_multiple(wj_text(v), n->step))
        x = MISFIT(k, wj_report(&k->report, v, "%s is not a multiple of %.*s", wj_show(v, shown),
                                (int)WB_MIN(n->step.n, (size_t)40), n->step.p));
    return x;
}

static int matches(struct check *k, const struct wj_pattern *p, struct upp_str text)
{
    int r = k->room.memory ? 0 : wj_regex_room_init(&k->room, k->regex_steps, k->err);
    if (r == 0)
        r = wj_regex_find(&p->regex, text, &k->room, &k->budget);
    return r == -UPP_ELIMIT ? too_much(k) : r;
}

LEAF static int check_string(struct check *k, const struct wj_string_rules *s, yyjson_val *v)
{
    char shown[WJ_SHOW_SIZE], quoted[WJ_QUOTED];
    int x = check_span(k, &s->length, wb_utf8_count(wj_text(v)), v, "character"), y = 1;
    if (s->pattern && (x > 0 || !k->silent)) {
        y = matches(k, s->pattern, wj_text(v));
        if (y == 0)
            return MISFIT(k, wj_report(&k->report, v, "%s does not match the pattern %s", wj_show(v, shown),
                                       wj_quote(s->pattern->text, quoted, sizeof quoted)));
    }
    return y < 0 ? y : x;
}

/* ---- Arrays and objects ----------------------------------------------------------------------------- */

/* Compares all pairs: quadratic, limited by the budget. */
LEAF static int check_unique(struct check *k, yyjson_val *v)
{
    yyjson_val *b = unsafe_yyjson_get_first(v);
    for (size_t i = 0; i < unsafe_yyjson_get_len(v); i++, b = unsafe_yyjson_get_next(b)) {
        yyjson_val *a = unsafe_yyjson_get_first(v);
        for (size_t j = 0; j < i; j++, a = unsafe_yyjson_get_next(a)) {
            int x = equal(k, a, b);
            if (x != 0)
                return x < 0 ? x : MISFIT(k, wj_report(&k->report, b, "the same as item %zu; each must be another", j));
        }
    }
    return 1;
}

static int check_some(struct check *k, const struct wj_array_rules *a, yyjson_val *v)
{
    yyjson_val *item = unsafe_yyjson_get_first(v);
    unsigned long long found = 0, min = a->some_count.min, max = a->some_count.max;
    for (size_t n = unsafe_yyjson_get_len(v); n; n--, item = unsafe_yyjson_get_next(item)) {
        int x = fits(k, a->some, item);
        if (x < 0)
            return x;
        found += (unsigned)x;
    }
    if (found < min)
        return MISFIT(k, wj_report(&k->report, v, "has %llu items that fit `contains`, fewer than %llu", found, min));
    if (found > max)
        return MISFIT(k, wj_report(&k->report, v, "has %llu items that fit `contains`, more than %llu", found, max));
    return 1;
}

static int check_array(struct check *k, const struct wj_array_rules *a, yyjson_val *v)
{
    size_t n = unsafe_yyjson_get_len(v);
    yyjson_val *item = unsafe_yyjson_get_first(v);
    int x = check_span(k, &a->count, n, v, "item");
    if (a->unique && goes_on(k, x))
        x = both(x, check_unique(k, v));
    if (a->some && goes_on(k, x))
        x = both(x, check_some(k, a, v));
    if (x < 0 || (!a->rest && !a->first.n))
        return x;
    for (size_t i = 0; i < n && (x > 0 || !k->silent); i++, item = unsafe_yyjson_get_next(item)) {
        const struct wj_rules *r = i < a->first.n ? a->first.p[i] : a->rest;
        int y = r ? apply(k, r, item) : 1;
        if (y < 0)
            return y;
        x &= y;
        if (!r)
            break; /* no rule for the remaining items */
    }
    return x;
}

static const struct wj_property *property(const struct wj_object_rules *o, struct upp_str name)
{
    size_t low = 0, high = o->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int order = wb_str_cmp(o->properties[mid].name, name);
        if (order == 0)
            return &o->properties[mid];
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

LEAF static int check_required(struct check *k, const struct wj_object_rules *o, yyjson_val *v)
{
    uint64_t seen[WJ_SCHEMA_NAMES / 64] = {0};
    yyjson_val *key = unsafe_yyjson_get_first(v);
    int x = spend(k, o->n);
    for (size_t n = unsafe_yyjson_get_len(v); n && x > 0; n--, key = unsafe_yyjson_get_next(key + 1)) {
        const struct wj_property *p = property(o, wj_text(key));
        if (p)
            seen[(p - o->properties) / 64] |= (uint64_t)1 << ((p - o->properties) % 64);
        x = spend(k, 1);
    }
    if (x < 0)
        return x;
    for (size_t i = 0; i < o->n; i++)
        if (o->properties[i].required && !(seen[i / 64] >> (i % 64) & 1))
            x = MISFIT(k, wj_report_missing(&k->report, v, o->properties[i].name));
    return x;
}

/* dependentRequired. */
LEAF static int check_needs(struct check *k, yyjson_val *needs, yyjson_val *v)
{
    yyjson_val *key = unsafe_yyjson_get_first(needs);
    size_t all = unsafe_yyjson_get_len(v);
    int x = 1;
    for (size_t n = unsafe_yyjson_get_len(needs); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        yyjson_val *name = unsafe_yyjson_get_first(key + 1);
        size_t m = unsafe_yyjson_get_len(key + 1);
        if (spend(k, (m + 1) * (all + 1)) < 0)
            return -UPP_ELIMIT;
        if (!wj_member(v, wj_text(key)))
            continue;
        for (; m; m--, name = unsafe_yyjson_get_next(name))
            if (!wj_member(v, wj_text(name)))
                x = MISFIT(k, wj_report_missing(&k->report, v, wj_text(name)));
    }
    return x;
}

/* Checks one member against all rules for its name. */
static int check_member(struct check *k, const struct wj_object_rules *o, yyjson_val *key)
{
    const struct wj_property *p = property(o, wj_text(key));
    bool known = p && p->rules;
    int x = known ? apply(k, p->rules, key + 1) : 1, y = 1;
    for (size_t i = 0; i < o->n_patterns && x >= 0; i++) {
        y = matches(k, &o->patterns[i], wj_text(key));
        if (y > 0) {
            known = true;
            y = apply(k, o->patterns[i].rules, key + 1);
            x = both(x, y);
        }
        if (y < 0)
            return y;
    }
    if (o->names && x >= 0) {
        y = apply(k, o->names, key);
        x = both(x, y);
    }
    if (known || !o->others || x < 0)
        return x;
    y = o->others->never ? MISFIT(k, wj_report_unknown(&k->report, key, o)) : apply(k, o->others, key + 1);
    return both(x, y);
}

static int check_object(struct check *k, const struct wj_object_rules *o, yyjson_val *v)
{
    yyjson_val *key = unsafe_yyjson_get_first(v);
    int x = check_span(k, &o->count, unsafe_yyjson_get_len(v), v, "member");
    if (o->any_required && (x > 0 || !k->silent)) {
        int y = check_required(k, o, v);
        x = both(x, y);
    }
    if (o->needs && goes_on(k, x))
        x = both(x, check_needs(k, o->needs, v));
    for (size_t n = unsafe_yyjson_get_len(v); n && goes_on(k, x); n--, key = unsafe_yyjson_get_next(key + 1)) {
        int y = spend(k, 1);
        if (y > 0)
            y = check_member(k, o, key);
        x = both(x, y);
    }
    return x;
}

/* ---- Combinations ----------------------------------------------------------------------------------- */

/* The types that a schema accepts, by itself or through references; 0: any. */
static unsigned types_of(const struct wj_rules *r)
{
    for (unsigned i = 0; i < WJ_SCHEMA_DEPTH && !r->types && r->ref; i++)
        r = r->ref;
    return r->types;
}

/* Reports why no alternative fits. If only one of them accepts this type, reports its violations. */
static int explain(struct check *k, const struct wj_rules_list *l, yyjson_val *v)
{
    const struct wj_rules *only = NULL;
    size_t n = 0;
    unsigned types = 0;
    for (size_t i = 0; i < l->n; i++) {
        unsigned t = types_of(l->p[i]);
        if (l->p[i]->never || (t && !has_type(t, v))) {
            types |= t;
            continue;
        }
        only = l->p[i];
        n++;
    }
    if (n == 1)
        return apply(k, only, v);
    if (n == 0 && types)
        wj_report_type(&k->report, v, types);
    else
        wj_report_none(&k->report, v, l->n);
    return 0;
}

/* How many of them fit; stops counting at `most`. */
static int count_fits(struct check *k, const struct wj_rules_list *l, yyjson_val *v, int most)
{
    int n = 0;
    for (size_t i = 0; i < l->n && n < most; i++) {
        int x = fits(k, l->p[i], v);
        if (x < 0)
            return x;
        n += x;
    }
    return n;
}

static int check_alternatives(struct check *k, const struct wj_rules_list *l, yyjson_val *v, int most)
{
    int n = count_fits(k, l, v, most);
    if (n < 0 || n == 1)
        return n;
    if (n == 0)
        return k->silent ? 0 : explain(k, l, v);
    return MISFIT(k, wj_report(&k->report, v, "fits more than one of the %zu alternatives, and must fit one", l->n));
}

static int check_combinations(struct check *k, const struct wj_rules *r, yyjson_val *v)
{
    int x = r->ref ? apply(k, r->ref, v) : 1, y;
    for (size_t i = 0; i < r->all.n && goes_on(k, x); i++) {
        y = apply(k, r->all.p[i], v);
        x = both(x, y);
    }
    if (r->any.n && goes_on(k, x)) {
        y = check_alternatives(k, &r->any, v, 1);
        x = both(x, y);
    }
    if (r->one.n && goes_on(k, x)) {
        y = check_alternatives(k, &r->one, v, 2);
        x = both(x, y);
    }
    if (r->when && goes_on(k, x)) {
        y = fits(k, r->when, v);
        if (y >= 0 && (y ? r->then : r->otherwise))
            x = both(x, apply(k, y ? r->then : r->otherwise, v));
        else if (y < 0)
            x = y;
    }
    if (r->not_this && goes_on(k, x)) {
        y = fits(k, r->not_this, v);
        if (y > 0)
            x = MISFIT(k, wj_report(&k->report, v, "fits what it must not fit"));
        else if (y < 0)
            x = y;
    }
    return x;
}

/* ---- One schema ------------------------------------------------------------------------------------- */

static int check_kind(struct check *k, const struct wj_rules *r, yyjson_val *v)
{
    if (r->object && yyjson_is_obj(v))
        return check_object(k, r->object, v);
    if (r->array && yyjson_is_arr(v))
        return check_array(k, r->array, v);
    if (r->string && yyjson_is_str(v))
        return check_string(k, r->string, v);
    if (r->number && yyjson_is_raw(v))
        return check_number(k, r->number, v);
    return 1;
}

static int apply(struct check *k, const struct wj_rules *r, yyjson_val *v)
{
    int x = spend(k, 1), y;
    if (x < 0)
        return x;
    if (k->depth == WJ_SCHEMA_DEPTH)
        return upp_fail(k->err, UPP_ELIMIT, "the check goes through more than %d schemas within schemas",
                        WJ_SCHEMA_DEPTH);
    k->depth++;
    x = check_any_value(k, r, v);
    if (goes_on(k, x)) {
        y = check_kind(k, r, v);
        x = both(x, y);
    }
    if (goes_on(k, x)) {
        y = check_combinations(k, r, v);
        x = both(x, y);
    }
    k->depth--;
    return x;
}

int wj_schema_check(const struct upp_schema *s, yyjson_val *v, const struct upp_schema_opts *opts,
                    struct upp_schema_report *report, struct upp_err *err)
{
    struct check k = {.report = {.root = v, .opts = opts, .to = report},
                      .budget = WJ_SCHEMA_STEPS,
                      .regex_steps = s->regex_steps,
                      .err = err};
    if (report) {
        report->shown = 0;
        report->text[0] = 0;
    }
    int r = apply(&k, s->root, v);
    wj_regex_room_done(&k.room);
    if (r < 0)
        return r;
    wj_report_end(&k.report);
    return (int)k.report.violations;
}
