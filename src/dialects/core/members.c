/* dialects/core/members.c — checks the members of wire objects against tables. */
#include "dialects/core/members.h"

#include "json/number.h"
#include "json/value.h"

/* Of an object or a list: is each value text, or an object? */
static bool holds_only(yyjson_val *v, bool texts)
{
    yyjson_val *key, *one;
    size_t i, n;
    yyjson_obj_foreach(v, i, n, key, one) if (!yyjson_is_obj(one)) return false;
    yyjson_arr_foreach(v, i, n, one) if (texts && !yyjson_is_str(one)) return false;
    return true;
}

/* What a value of this type is; *ret: whether v is one. */
static const char *has_type(yyjson_val *v, char type, bool *ret)
{
    int64_t n;
    bool raw = yyjson_is_raw(v), whole = raw && wj_num_i64(wj_text(v), &n);
    switch (type) {
    case 's':
        *ret = yyjson_is_str(v);
        return "a text";
    case 'b':
        *ret = yyjson_is_bool(v);
        return "true or false";
    case 'i':
        *ret = whole;
        return "a whole number";
    case 'w':
        *ret = raw && wb_str_i64(wj_text(v), &n);
        return "a whole number";
    case 'q':
        *ret = whole || yyjson_is_str(v);
        return "a whole number, or a text";
    case 'n':
        *ret = raw;
        return "a number";
    case 'o':
        *ret = yyjson_is_obj(v);
        return "an object";
    case 'p':
        *ret = yyjson_is_obj(v) && holds_only(v, false);
        return "an object of objects, by provider";
    case 'a':
        *ret = yyjson_is_arr(v);
        return "a list";
    case 't':
        *ret = yyjson_is_str(v) || (yyjson_is_arr(v) && holds_only(v, true));
        return "a text or a list of texts";
    default:
        *ret = true;
        return "a value";
    }
}

bool wd_check_row(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *row, yyjson_val *v,
                  bool nulls)
{
    bool good = !(row->flags & WD_MUST);
    if (!v || (nulls && yyjson_is_null(v))) {
        if (!good)
            wd_problem(p, WD_ERROR, rule, v ? v : of, "member '%s' is missing", row->name.p);
        return good;
    }
    const char *type = has_type(v, row->type, &good);
    if (!good)
        wd_problem(p, WD_ERROR, rule, v, "'%s' must be %s", row->name.p, type);
    return good;
}

void wd_check_found(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows, size_t from,
                    size_t end, yyjson_val *const *found)
{
    for (size_t i = from; i < end; i++)
        (void)wd_check_row(p, rule, of, &rows[i], found[i], true);
}

void wd_check_members(struct wd_problems *p, const char *rule, yyjson_val *of, const struct wd_row *rows)
{
    yyjson_val *found[WD_ROWS];
    wd_check_found(p, rule, of, rows, 0, WJ_MEMBERS(of, rows, found), found);
}
