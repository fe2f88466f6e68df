/* dialects/envelope_check.c — every problem of envelopes, as the table of their members says.
 *
 * What the table does not know is allowed: the envelope is a record, and records keep what they are given. What it
 * cannot say is here: members that come twice, ids that come again for something else, contents that are not there.
 */
#include "base/err.h"
#include "base/hooks.h"
#include "dialects/envelope.h"
#include "dialects/lift.h"
#include "json/keys.h"
#include "json/number.h"
#include "json/value.h"

/* ---- Members --------------------------------------------------------------------------------------------- */

static void check_object(struct wd_problems *p, const struct wd_envelope_shape *s, yyjson_val *v, const char *rule);

static void check_word(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    if (wd_envelope_is_word(f->words, wj_text(v)))
        return;
    struct wj_list list = {0};
    char           quoted[WJ_QUOTED];
    for (const char *const *w = f->words->list; *w; w++)
        wj_list_add(&list, ", ", "'", wb_cstr(*w));
    wd_problem(p, f->flags & WD_ENV_OPEN ? WD_WARNING : WD_ERROR, rule, v, "'%s' is %s, and not %s%s", f->name.p,
               wj_quote(wj_text(v), quoted, sizeof quoted), f->words->list[1] ? "one of " : "", list.p);
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
    bool good = number && wj_num_cmp(wj_text(v), UPP_STR("0")) >= 0;
    if (good)
        good = count ? wj_num_whole(wj_text(v)) : wj_num_cmp(wj_text(v), UPP_STR("1")) <= 0;
    if (!good)
        wd_problem(p, WD_ERROR, rule, v, "'%s' must be a %s", f->name.p,
                   count ? "whole number, 0 or more" : "number between 0 and 1");
}

static void check_list(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    yyjson_val *item;
    size_t      i, n;
    if (!yyjson_is_arr(v)) {
        wd_problem(p, WD_ERROR, rule, v, "'%s' must be a list", f->name.p);
        return;
    }
    yyjson_arr_foreach(v, i, n, item)
    {
        if (f->type == WD_ENV_OBJECTS && yyjson_is_obj(item))
            check_object(p, f->of, item, rule);
        else if (f->type == WD_ENV_OBJECTS || !yyjson_is_str(item))
            wd_problem(p, WD_ERROR, rule, item, "'%s' is a list of %s", f->name.p,
                       f->type == WD_ENV_OBJECTS ? "objects" : "texts");
    }
}

static void check_member(struct wd_problems *p, const struct wd_envelope_field *f, yyjson_val *v, const char *rule)
{
    switch (f->type) {
    case WD_ENV_TEXT:
    case WD_ENV_TIME:
    case WD_ENV_WORD:
        check_text(p, f, v, rule);
        break;
    case WD_ENV_RATIO:
    case WD_ENV_COUNT:
        check_number(p, f, v, rule);
        break;
    case WD_ENV_OBJECTS:
    case WD_ENV_TEXTS:
        check_list(p, f, v, rule);
        break;
    case WD_ENV_MAP:
    case WD_ENV_OBJECT:
        if (!yyjson_is_obj(v))
            wd_problem(p, WD_ERROR, rule, v, "'%s' must be an object", f->name.p);
        else if (f->type == WD_ENV_OBJECT)
            check_object(p, f->of, v, rule);
        break;
    default: /* anything */
        break;
    }
}

static void check_object(struct wd_problems *p, const struct wd_envelope_shape *s, yyjson_val *v, const char *rule)
{
    yyjson_val *found[WD_ENV_FIELDS];
    size_t      n = WJ_MEMBERS(v, s->fields, found);
    for (size_t i = 0; i < n; i++) {
        const struct wd_envelope_field *f  = &s->fields[i];
        const char                     *of = f->rule ? f->rule : rule;
        if (found[i])
            check_member(p, f, found[i], of);
        else if (f->flags & WD_ENV_REQUIRED)
            wd_problem(p, WD_ERROR, of, v, "member '%s' is missing", f->name.p);
    }
}

/* ---- Beyond the table ------------------------------------------------------------------------------------ */

/* json and tool_result are their data, all else its text. */
static void check_content(struct wd_problems *p, yyjson_val *content)
{
    struct upp_str type = wd_text_at(content, "type");
    bool           data = wb_str_eq(type, UPP_STR("json")) || wb_str_eq(type, UPP_STR("tool_result"));
    const char    *name = data ? "data" : "text";
    if (yyjson_is_obj(content) && type.p && wd_envelope_is_word(&wd_envelope_contents, type) &&
        !yyjson_obj_get(content, name))
        wd_problem(p, WD_WARNING, "ENV-1.6", content, "a content of this type has '%s'", name);
}

static void check_envelope(struct wd_problems *p, yyjson_val *v)
{
    if (!yyjson_is_obj(v)) {
        wd_problem(p, WD_ERROR, "ENV-1.1", v, "an envelope must be an object");
        return;
    }
    check_object(p, &wd_envelope_table, v, "ENV-1.1");
    check_content(p, yyjson_obj_get(v, "content"));
}

/* The members of one object that have a name for the second time. */
static int check_names(struct wd_problems *p, yyjson_val *object, struct upp_err *err)
{
    size_t       n    = unsafe_yyjson_get_len(object);
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

static int check_all_names(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    size_t values = unsafe_yyjson_is_ctn(root) ? root->uni.ofs / sizeof *root : 1;
    int    r      = wj_keys_unique(root, values, err);
    if (r != -UPP_EINVALID)
        return r; /* as nearly all: no name twice */
    r = 0;
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

static struct upp_str id_of(yyjson_val *envelope)
{
    return wd_text_at(yyjson_obj_get(envelope, "trace"), "id");
}

static uint64_t hash_of(struct upp_str s)
{
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3;
    return h ^ h >> 32;
}

/* An envelope may come again as it was; its id may not be another's. */
static int check_ids(struct wd_problems *p, yyjson_val *list, struct upp_err *err)
{
    size_t      size = 16, i, n;
    int         r    = 0;
    yyjson_val *v;
    while (size < 2 * yyjson_arr_size(list))
        size *= 2;
    yyjson_val **index = wb_calloc(size, sizeof *index);
    if (!index)
        return upp_fail(err, UPP_ENOMEM, "no memory for the ids of %zu envelopes", yyjson_arr_size(list));
    yyjson_arr_foreach(list, i, n, v)
    {
        struct upp_str id = id_of(v);
        size_t         k  = (size_t)hash_of(id) & (size - 1);
        while (id.n && index[k] && !wb_str_eq(id_of(index[k]), id))
            k = (k + 1) & (size - 1);
        if (id.n && index[k] && !same(index[k], v, err, &r) && r >= 0)
            wd_problem(p, WD_ERROR, "ENV-1.11", yyjson_obj_get(yyjson_obj_get(v, "trace"), "id"),
                       "another envelope has this id");
        else if (id.n)
            index[k] = v;
        if (r < 0)
            break;
    }
    wb_free(index);
    return r;
}

int wd_envelope_validate(struct wd_problems *p, yyjson_val *root, struct upp_err *err)
{
    yyjson_val *v;
    size_t      i, n;
    int         r = 0;
    if (!yyjson_is_arr(root))
        check_envelope(p, root);
    else {
        yyjson_arr_foreach(root, i, n, v) check_envelope(p, v);
        r = check_ids(p, root, err);
    }
    return r < 0 ? r : check_all_names(p, root, err);
}
