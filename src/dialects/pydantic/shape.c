/* dialects/pydantic/shape.c — checks an object against its table of members, and each member's value by its kind. */
#include "dialects/pydantic/shape.h"

#include "dialects/pydantic/values.h"

void pyd_wrong(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row, const char *what)
{
    char found[WJ_QUOTED];
    wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is %s, not %s", row->name.p, what, wj_found(v, found, sizeof found));
}

void pyd_unknown(struct pyd_check *c, yyjson_val *object, const char *member, yyjson_val *name)
{
    char found[WJ_QUOTED];
    if (!name)
        wd_problem(c->p, WD_ERROR, c->rule, object, "member '%s' is missing", member);
    else
        wd_problem(c->p, WD_ERROR, c->rule, name, "'%s' cannot be %s", member,
                   yyjson_is_str(name) ? wj_quote(wj_text(name), found, sizeof found)
                                       : wj_found(name, found, sizeof found));
}

void pyd_newer(struct pyd_check *c, yyjson_val *at, const char *what)
{
    wd_problem(c->p, WD_WARNING, "PAI-1.7", at, "%s is newer than Pydantic AI 2.33, which refuses it", what);
}

/* The row of that name, or s->n. Searches from row `from` on first: Pydantic AI writes members in the order of the
 * rows. */
static size_t row_of(const struct pyd_shape *s, yyjson_val *key, size_t from)
{
    while (from < s->n && !wj_named(key, s->rows[from].name))
        from++;
    if (from < s->n)
        return from;
    for (from = 0; from < s->n && !wj_named(key, s->rows[from].name);)
        from++;
    return from;
}

void pyd_check_object(struct pyd_check *c, yyjson_val *object, const struct pyd_shape *s)
{
    yyjson_val *found[PYD_ROWS] = {0}, *key, *v;
    size_t i, n, next = 0;
    yyjson_obj_foreach(object, i, n, key, v)
    {
        /* Mostly it is the next row. */
        size_t at = next < s->n && wj_named(key, s->rows[next].name) ? next : row_of(s, key, next + 1);
        if (at == s->n) {
            if (!s->open)
                wd_problem(c->p, WD_WARNING, "PAI-1.0", v, "Pydantic AI 2.33 does not know this member and drops it");
            continue;
        }
        if (found[at])
            wd_problem(c->p, WD_WARNING, "PAI-1.0", v, "'%s' is named twice: the last one counts", s->rows[at].name.p);
        found[at] = v;
        next = at + 1;
    }
    yyjson_val **value = found;
    for (const struct pyd_row *row = s->rows, *end = row + s->n; row < end; row++, value++) {
        if (*value) {
            if (row->is && !(row->flags & PYD_OR_NULL && yyjson_is_null(*value)))
                row->is(c, *value, row);
        } else if (row->flags & PYD_NEEDED)
            wd_problem(c->p, WD_ERROR, c->rule, object, "member '%s' is missing", row->name.p);
        else if (row->flags & PYD_GENERATED)
            wd_problem(c->p, WD_WARNING, c->rule, object,
                       "member '%s' is missing: Pydantic AI makes up another one each time it loads this", row->name.p);
    }
}

void pyd_text(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!yyjson_is_str(v))
        pyd_wrong(c, v, row, "a text");
}

void pyd_object(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!yyjson_is_obj(v))
        pyd_wrong(c, v, row, "an object");
}

void pyd_whole(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!wd_pydantic_int(v))
        pyd_wrong(c, v, row, "a whole number");
}

void pyd_decimal(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    if (!wd_pydantic_decimal(v))
        pyd_wrong(c, v, row, "a decimal number");
}

void pyd_moment(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    char quoted[WJ_QUOTED];
    if (c->time.p && yyjson_is_str(v) && wj_named(v, c->time))
        return;
    if (wd_pydantic_time(v)) {
        if (yyjson_is_str(v))
            c->time = wj_text(v);
        return;
    }
    if (yyjson_is_str(v))
        wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is no time: %s", row->name.p,
                   wj_quote(wj_text(v), quoted, sizeof quoted));
    else
        pyd_wrong(c, v, row, "a time");
}

void pyd_word(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    for (const char *const *w = row->words; *w; w++)
        if (pyd_is_text(v, wb_cstr(*w)))
            return;
    struct wj_list list = {0};
    char found[WJ_QUOTED];
    for (const char *const *w = row->words; *w; w++)
        wj_list_add(&list, ", ", "'", wb_cstr(*w));
    wd_problem(c->p, WD_ERROR, c->rule, v, "'%s' is one of %s, not %s", row->name.p, list.p,
               yyjson_is_str(v) ? wj_quote(wj_text(v), found, sizeof found) : wj_found(v, found, sizeof found));
}

void pyd_texts(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    size_t i, n;
    yyjson_val *item;
    if (!yyjson_is_arr(v))
        pyd_wrong(c, v, row, "a list of texts");
    yyjson_arr_foreach(v, i, n, item)
    {
        if (!yyjson_is_str(item))
            pyd_wrong(c, item, row, "a list of texts");
    }
}
