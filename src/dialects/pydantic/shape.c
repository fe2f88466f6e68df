/* dialects/pydantic/shape.c — checks an object against its table of members, and each member's value by its kind: what
 * Pydantic accepts is more than the JSON type. */
#include "dialects/pydantic/shape.h"

#include <string.h>

#include "base/iso8601.h"
#include "json/number.h"
#include "json/value.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips digits with single '_' between them from i on; returns the index after them. */
static size_t digits(struct upp_str s, size_t i)
{
    size_t from = i;
    while (i < s.n && (is_digit(s.p[i]) || (s.p[i] == '_' && i > from && s.p[i - 1] != '_')))
        i++;
    return i > from && s.p[i - 1] == '_' ? from : i;
}

static size_t sign(struct upp_str s)
{
    return s.n && (s.p[0] == '-' || s.p[0] == '+');
}

static bool text_is_int(struct upp_str s)
{
    s = wb_str_trim(s);
    size_t from = sign(s), i = digits(s, from);
    if (i == from)
        return false;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] == '0'; i++)
            ;
    return i == s.n;
}

bool wd_pydantic_int(yyjson_val *v)
{
    int64_t unused;
    if (yyjson_is_str(v))
        return text_is_int(wj_text(v));
    if (!yyjson_is_raw(v))
        return yyjson_is_bool(v);
    struct upp_str s = wj_text(v);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == 'e' || s.p[i] == 'E')
            return wj_num_i64(s, &unused); /* a float must fit, an integer may have any size */
    return true;
}

static bool is_decimal(yyjson_val *v)
{
    if (yyjson_is_raw(v))
        return true;
    if (!yyjson_is_str(v))
        return false;
    struct upp_str s = wb_str_trim(wj_text(v));
    size_t from = sign(s), i = digits(s, from), n = i - from;
    if (i < s.n && s.p[i] == '.') {
        size_t end = digits(s, i + 1);
        n += end - (i + 1);
        i = end;
    }
    if (n && i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        size_t exponent = i + 1 + sign(wb_str_sub(s, i + 1, SIZE_MAX));
        i = digits(s, exponent);
        n = i - exponent;
    }
    return n && i == s.n;
}

bool wd_pydantic_bool(yyjson_val *v)
{
    static const char *const words[] = {"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"};
    int64_t n;
    if (yyjson_is_raw(v))
        return wj_num_i64(wj_text(v), &n) && (n == 0 || n == 1);
    if (!yyjson_is_str(v))
        return yyjson_is_bool(v);
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq_nocase(wj_text(v), wb_cstr(words[i])))
            return true;
    return false;
}

/* Seconds since 1970 or, if the number is too large, milliseconds: from the year 1 to 9999. */
static bool number_is_time(struct upp_str s)
{
    static const double first = -62135596800, end = 253402300800, most = 2e10;
    double n;
    if (!wj_num_f64(s, &n))
        return false;
    if (n > most || n < -most)
        n /= 1000;
    return n >= first && n < end;
}

static bool is_time(yyjson_val *v)
{
    char text[80];
    struct wb_time t;
    if (yyjson_is_raw(v))
        return number_is_time(wj_text(v));
    if (!yyjson_is_str(v))
        return false;
    struct upp_str s = wj_text(v);
    if (wb_time_parse(s, &t, NULL) >= 0 || (wj_num_valid(s) && number_is_time(s)))
        return true;
    if (s.n < 16 || s.n + 1 > sizeof text)
        return false;
    /* Accepted beyond RFC 3339: '_' before the hours, a comma before the fraction, offsets without a colon. */
    memcpy(text, s.p, s.n);
    if (text[10] == '_')
        text[10] = 'T';
    char *comma = memchr(text, ',', s.n);
    if (comma)
        *comma = '.';
    size_t n = s.n, zone = n - 5;
    if ((text[zone] == '+' || text[zone] == '-') && is_digit(text[n - 1]) && is_digit(text[n - 3])) {
        memmove(text + n - 1, text + n - 2, 2);
        text[n - 2] = ':';
        n++;
    }
    return wb_time_parse(wb_str(text, n), &t, NULL) >= 0;
}

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
    if (!is_decimal(v))
        pyd_wrong(c, v, row, "a decimal number");
}

void pyd_moment(struct pyd_check *c, yyjson_val *v, const struct pyd_row *row)
{
    char quoted[WJ_QUOTED];
    if (c->time.p && yyjson_is_str(v) && wj_named(v, c->time))
        return;
    if (is_time(v)) {
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
