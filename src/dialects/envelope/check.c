/* dialects/envelope/check.c — problems of envelopes, mostly by the table of their members.
 *
 * Members that the table does not have are allowed: an envelope is a record. The code checks what the table cannot
 * express: duplicate members, ids used for different envelopes, missing contents.
 */
#include "base/err.h"
#include "base/hooks.h"
#include "dialects/envelope/envelope.h"
#include "dialects/core/lift.h"
#include "json/keys.h"
#include "json/number.h"
#include "json/value.h"
#include "model/names.h"

/* An envelope of a list, and its id; empty: none. */
struct named {
    yyjson_val *of;
    struct upp_str id;
};

struct checking {
    struct wd_problems *p;
    bool duplicate_key;  /* an object has two members of one name */
    struct upp_str time; /* the last valid time: the next one is often the same */
    int failed;
    struct upp_err *err;
};

/* ---- Members --------------------------------------------------------------------------------------------- */

static void check_inside(struct checking *c, const struct wd_envelope_shape *s, yyjson_val *v, const char *rule);

/* Checks a value that is in no table: does an object in it have two members of one name? */
static void check_untyped(struct checking *c, yyjson_val *v)
{
    int r = unsafe_yyjson_is_ctn(v) ? wj_keys_unique(v, wj_size(v), c->err) : 0;
    if (r == -UPP_EINVALID)
        c->duplicate_key = true;
    else if (r < 0)
        c->failed = r;
}

static void check_word(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    if (wd_envelope_is_word(f->words, wj_text(v)))
        return;
    struct wj_list list = {0};
    char quoted[WJ_QUOTED];
    for (const struct upp_str *w = f->words->list; w->p; w++)
        wj_list_add(&list, ", ", "'", *w);
    wd_problem(p, f->flags & WD_ENV_OPEN ? WD_WARNING : WD_ERROR, rule, v, "'%s' is %s, and not %s%s", f->name.p,
               wj_quote(wj_text(v), quoted, sizeof quoted), f->words->list[1].p ? "one of " : "", list.p);
}

static void check_text(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    if (!yyjson_is_str(v)) {
        if (!(yyjson_is_null(v) && f->flags & WD_ENV_NULLABLE))
            wd_problem(p, WD_ERROR, rule, v, "'%s' must be a text%s", f->name.p,
                       f->flags & WD_ENV_NULLABLE ? " or null" : "");
    } else if (f->type == WD_ENV_WORD)
        check_word(p, f, v, rule);
    else if (f->type == WD_ENV_TIME && !wd_envelope_is_time(wj_text(v)))
        wd_problem(p, WD_ERROR, rule, v, "'%s' must be a time of RFC 3339, with Z or an offset", f->name.p);
    else if (f->flags & WD_ENV_FILLED && !wj_text(v).n)
        wd_problem(p, WD_ERROR, rule, v, "'%s' must not be empty", f->name.p);
}

static void check_number(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    bool number = yyjson_is_raw(v), count = f->type == WD_ENV_COUNT;
    uint64_t digits;
    if (count && number && wb_str_u64(wj_text(v), &digits))
        return; /* the usual case */
    bool good = number && wj_num_cmp(wj_text(v), UPP_STR("0")) >= 0;
    if (good)
        good = count ? wj_num_whole(wj_text(v)) : wj_num_cmp(wj_text(v), UPP_STR("1")) <= 0;
    if (!good)
        wd_problem(p, WD_ERROR, rule, v, "'%s' must be a %s", f->name.p,
                   count ? "whole number, 0 or more" : "number between 0 and 1");
}

static void check_list(struct checking *c, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    yyjson_val *item;
    size_t i, n;
    if (!yyjson_is_arr(v)) {
        wd_problem(c->p, WD_ERROR, rule, v, "'%s' must be a list", f->name.p);
        check_untyped(c, v);
        return;
    }
    yyjson_arr_foreach(v, i, n, item)
    {
        if (f->type == WD_ENV_OBJECTS && yyjson_is_obj(item))
            check_inside(c, f->of, item, rule);
        else if (f->type == WD_ENV_OBJECTS || !yyjson_is_str(item)) {
            wd_problem(c->p, WD_ERROR, rule, item, "'%s' is a list of %s", f->name.p,
                       f->type == WD_ENV_OBJECTS ? "objects" : "texts");
            check_untyped(c, item);
        }
    }
}

static void check_member(struct checking *c, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    bool object = yyjson_is_obj(v);
    switch (f->type) {
    case WD_ENV_OBJECT:
        if (object) {
            check_inside(c, f->of, v, rule);
            return;
        }
        break;
    case WD_ENV_OBJECTS:
    case WD_ENV_TEXTS:
        check_list(c, f, v, rule);
        return;
    case WD_ENV_TEXT:
    case WD_ENV_TIME:
    case WD_ENV_WORD:
        check_text(c->p, f, v, rule);
        break;
    case WD_ENV_RATIO:
    case WD_ENV_COUNT:
        check_number(c->p, f, v, rule);
        break;
    default: /* any value */
        break;
    }
    if (!object && (f->type == WD_ENV_MAP || f->type == WD_ENV_OBJECT))
        wd_problem(c->p, WD_ERROR, rule, v, "'%s' must be an object", f->name.p);
    check_untyped(c, v);
}

static bool is_filled(yyjson_val *v)
{
    return yyjson_is_str(v) && unsafe_yyjson_get_len(v);
}

/* Checks members that are not in the table: their names and values. */
static void check_others(struct checking *c, yyjson_val *v, yyjson_val *const *found, size_t rows)
{
    yyjson_val *key, *value;
    size_t i, n;
    if (wj_keys_unique(v, 1, NULL) < 0) /* only this object; check_untyped then reports all of it */
        check_untyped(c, v);
    yyjson_obj_foreach(v, i, n, key, value)
    {
        size_t k = 0;
        while (k < rows && found[k] != value)
            k++;
        if (k == rows)
            check_untyped(c, value);
    }
}

/* found: its members, by row. */
static void check_object(struct checking *c, const struct wd_envelope_shape *s, yyjson_val *v, const char *rule,
                         yyjson_val **found)
{
    size_t n = WJ_MEMBERS(v, s->fields, found), known = 0;
    for (size_t i = 0; i < n; i++) {
        const struct wd_envelope_field *f = &s->fields[i];
        known += found[i] != NULL;
        if (found[i] && f->type == WD_ENV_TEXT && is_filled(found[i]))
            continue; /* the usual case */
        const char *of = f->rule ? f->rule : rule;
        if (found[i])
            check_member(c, f, found[i], of);
        else if (f->flags & WD_ENV_REQUIRED)
            wd_problem(c->p, WD_ERROR, of, v, "member '%s' is missing", f->name.p);
    }
    if (known != unsafe_yyjson_get_len(v)) /* unknown members, or duplicates */
        check_others(c, v, found, n);
}

static void check_inside(struct checking *c, const struct wd_envelope_shape *s, yyjson_val *v, const char *rule)
{
    yyjson_val *found[WD_ENV_FIELDS];
    check_object(c, s, v, rule, found);
}

/* ---- Beyond the table ------------------------------------------------------------------------------------ */

/* json and tool_result need data, all others a text. */
static void check_content(struct wd_problems *p, yyjson_val *content)
{
    struct upp_str type = wj_text_at(content, "type");
    bool data = wb_str_eq(type, UPP_STR("json")) || wb_str_eq(type, UPP_STR("tool_result"));
    const char *name = data ? "data" : "text";
    if (type.p && !yyjson_obj_get(content, name) && wd_envelope_is_word(&wd_envelope_contents, type))
        wd_problem(p, WD_WARNING, "ENV-1.6", content, "a content of this type has '%s'", name);
}

static bool is_good_time(struct checking *c, struct upp_str text)
{
    if (!wb_str_eq(text, c->time) && !wd_envelope_is_time(text))
        return false;
    c->time = text;
    return true;
}

static bool is_good_cost(yyjson_val *cost)
{
    uint64_t n;
    return !cost || (wb_str_u64(wj_text(cost + 2), &n) && wb_str_u64(wj_text(cost + 4), &n));
}

/* True if an envelope, apart from its data, has no problems. A fast path for canonical envelopes; all others are
 * checked member by member. */
static bool is_good(struct checking *c, const struct wd_envelope *e)
{
    bool data = wb_str_eq(e->type, UPP_STR("json")) || wb_str_eq(e->type, UPP_STR("tool_result"));
    return (!e->agent || e->agent_id.n) && e->task.n && e->id.n && (e->data || !data) && is_good_cost(e->cost) &&
           wd_envelope_is_word(&wd_envelope_roles, e->role) && wd_envelope_is_word(&wd_envelope_intents, e->intent) &&
           wd_envelope_is_word(&wd_envelope_contents, e->type) && is_good_time(c, e->timestamp);
}

static struct named check_envelope(struct checking *c, yyjson_val *v)
{
    struct named ret = {.of = v};
    yyjson_val *found[WD_ENV_FIELDS];
    struct wd_envelope e;
    if (yyjson_is_obj(v) && wd_envelope_read_canonical(v, &e) && is_good(c, &e)) {
        if (e.data)
            check_untyped(c, e.data);
        ret.id = e.id;
        return ret;
    }
    if (!yyjson_is_obj(v)) {
        wd_problem(c->p, WD_ERROR, "ENV-1.1", v, "an envelope must be an object");
        check_untyped(c, v);
        return ret;
    }
    check_object(c, &wd_envelope_table, v, "ENV-1.1", found);
    check_content(c->p, found[WD_ENV_ROW_CONTENT]);
    ret.id = wj_text_at(found[WD_ENV_ROW_TRACE], "id");
    return ret;
}

/* Reports the members of one object whose name occurs a second time. */
static int check_names(struct wd_problems *p, yyjson_val *object, struct upp_err *err)
{
    size_t n = unsafe_yyjson_get_len(object);
    yyjson_val **room = n > 1 ? wb_calloc(n, 2 * sizeof *room) : NULL;
    if (n < 2)
        return 0;
    if (!room)
        return upp_fail(err, UPP_ENOMEM, "no memory for %zu names", n);
    wj_keys_sort(object, room, room + n);
    for (size_t i = 1; i < n; i++)
        if (wb_str_eq(wj_text(room[i - 1]), wj_text(room[i])))
            wd_problem(p, WD_ERROR, "ENV-1.10", room[i], "a member has this name for the second time");
    wb_free(room);
    return 0;
}

/* Does this for all objects, in document order. */
static int check_all_names(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    size_t values = wj_size(root);
    int r = 0;
    for (yyjson_val *v = root; r >= 0 && v < root + values; v++)
        if (yyjson_is_obj(v))
            r = check_names(p, v, err);
    return r;
}

/* ---- Ids ------------------------------------------------------------------------------------------------- */

static bool same(yyjson_val *a, yyjson_val *b, struct upp_err *err, int *r)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf x = WB_BUF(WD_DOC_BYTES), y = WB_BUF(WD_DOC_BYTES);
    *r = wj_write(a, &x, err);
    if (*r >= 0)
        *r = wj_write(b, &y, err);
    return *r >= 0 && wb_str_eq(wb_buf_str(&x), wb_buf_str(&y));
}

/* An envelope may be repeated unchanged; its id must not belong to another. */
static int check_id(struct wd_problems *p, struct wm_names *ids, yyjson_val **first, const struct named *v,
                    struct upp_err *err)
{
    uint32_t number;
    int r = wm_names_add(ids, v->id, &number, err);
    if (r == 1)
        first[number] = v->of;
    else if (r == 0 && !same(first[number], v->of, err, &r) && r >= 0)
        wd_problem(p, WD_ERROR, "ENV-1.11", yyjson_obj_get(yyjson_obj_get(v->of, "trace"), "id"),
                   "another envelope has this id");
    return r < 0 ? r : 0;
}

static int check_ids(struct wd_problems *p, const struct named *list, size_t n, struct upp_err *err)
{
    WB_CLEANUP(wm_names_done) struct wm_names ids = {0};
    yyjson_val **first = wb_calloc(n + 1, sizeof *first); /* by number of the id */
    int r = 0;
    if (!first)
        return upp_fail(err, UPP_ENOMEM, "no memory for the ids of %zu envelopes", n);
    for (size_t i = 0; r >= 0 && i < n; i++)
        if (list[i].id.n)
            r = check_id(p, &ids, first, &list[i], err);
    wb_free(first);
    return r;
}

static int check_list_of(struct checking *c, yyjson_val *root)
{
    struct named *list = wb_calloc(yyjson_arr_size(root) + 1, sizeof *list);
    yyjson_val *v;
    size_t i, n;
    if (!list)
        return upp_fail(c->err, UPP_ENOMEM, "no memory for %zu envelopes", yyjson_arr_size(root));
    yyjson_arr_foreach(root, i, n, v) list[i] = check_envelope(c, v);
    int r = check_ids(c->p, list, yyjson_arr_size(root), c->err);
    wb_free(list);
    return r;
}

int wd_envelope_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    struct checking c = {.p = p, .err = err};
    int r = 0;
    if (yyjson_is_arr(root))
        r = check_list_of(&c, root);
    else
        (void)check_envelope(&c, root);
    if (r >= 0)
        r = c.failed;
    return r < 0 || !c.duplicate_key ? r : check_all_names(p, root, err);
}
