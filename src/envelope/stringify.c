/* envelope/stringify.c — writes numbers as JavaScript does, and members in the order of its objects. */
#include "envelope/adapter.h"

#include <stdlib.h>

#include "base/err.h"
#include "base/hooks.h"
#include "json/number.h"
#include "json/value.h"
#include "json/write.h"

/* Numbers: ECMA-262, Number::toString. */

/* The shortest digits that read back as v, and the position of the point: 0.DIGITS * 10^point. */
struct decimal {
    char digits[WJ_NUM_MAX];
    size_t n;
    int point;
};

static void read_decimal(struct upp_str text, struct decimal *d)
{
    bool seen_point = false;
    size_t i = 0;
    d->n = 0;
    d->point = 0;
    for (; i < text.n && text.p[i] != 'e' && text.p[i] != 'E'; i++) {
        char c = text.p[i];
        if (c == '.')
            seen_point = true;
        else if (c >= '0' && c <= '9') {
            if (d->n || c != '0')
                d->digits[d->n++] = c;
            if (!seen_point && d->n)
                d->point++;
            else if (seen_point && !d->n)
                d->point--;
        }
    }
    if (i < text.n)
        d->point += (int)strtol(text.p + i + 1, NULL, 10);
    while (d->n && d->digits[d->n - 1] == '0')
        d->n--;
}

static size_t put_zeros(char *to, int n)
{
    if (n > 0)
        memset(to, '0', (size_t)n);
    return n > 0 ? (size_t)n : 0;
}

static size_t put_exponent(const struct decimal *d, char *to)
{
    size_t n = 0;
    to[n++] = d->digits[0];
    if (d->n > 1) {
        to[n++] = '.';
        memcpy(to + n, d->digits + 1, d->n - 1);
        n += d->n - 1;
    }
    int e = d->point - 1, high = 100;
    to[n++] = 'e';
    to[n++] = e < 0 ? '-' : '+';
    e = abs(e);
    while (high > 1 && e < high)
        high /= 10;
    for (; high; high /= 10)
        to[n++] = (char)('0' + e / high % 10);
    return n;
}

static size_t put_decimal(const struct decimal *d, char *to)
{
    size_t n = 0;
    if (d->point > 21 || d->point <= -6)
        return put_exponent(d, to);
    if (d->point <= 0) {
        to[n++] = '0';
        to[n++] = '.';
        n += put_zeros(to + n, -d->point);
        memcpy(to + n, d->digits, d->n);
        return n + d->n;
    }
    size_t whole = (size_t)d->point < d->n ? (size_t)d->point : d->n;
    memcpy(to, d->digits, whole);
    n = whole + put_zeros(to + whole, d->point - (int)whole);
    if (whole < d->n) {
        to[n++] = '.';
        memcpy(to + n, d->digits + whole, d->n - whole);
        n += d->n - whole;
    }
    return n;
}

size_t we_js_number(struct upp_str number, char to[WE_JS_NUMBER])
{
    struct decimal d;
    char text[WJ_NUM_MAX + 1];
    double v;
    if (!wj_num_f64(number, &v)) {
        memcpy(to, "null", 4); /* JSON.parse gives Infinity, which JSON has no number for */
        return 4;
    }
    if (v == 0) {
        to[0] = '0';
        return 1;
    }
    size_t n = wj_num_format(v, text), sign = v < 0;
    text[n] = 0; /* for strtol */
    to[0] = '-';
    read_decimal(wb_str(text, n), &d);
    return sign + put_decimal(&d, to + sign);
}

/* Objects: members whose names are array indices come first. */

static bool is_index(yyjson_val *key, uint64_t *ret)
{
    struct upp_str s = wj_text(key);
    return s.n && s.n <= 10 && (s.n == 1 || s.p[0] != '0') && wb_str_u64(s, ret) && *ret < UINT32_MAX;
}

struct numbered {
    uint64_t number;
    yyjson_val *key;
};

static int by_number(const void *a, const void *b)
{
    const struct numbered *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

struct writing {
    struct wj_writer w;
    unsigned indent, level;
};

static void write_value(struct writing *s, yyjson_val *v);

static void new_line(struct writing *s)
{
    if (!s->indent)
        return;
    wb_buf_addc(s->w.out, '\n');
    for (unsigned i = 0; i < s->indent * s->level; i++)
        wb_buf_addc(s->w.out, ' ');
}

static void next_item(struct writing *s, bool first)
{
    if (!first)
        wb_buf_addc(s->w.out, ',');
    new_line(s);
    s->w.comma = false;
}

static void write_member(struct writing *s, yyjson_val *key, bool first)
{
    next_item(s, first);
    wj_write_str(&s->w, wj_text(key));
    wb_buf_add(s->w.out, s->indent ? UPP_STR(": ") : UPP_STR(":"));
    write_value(s, key + 1);
}

/* Those with index names, sorted; how many. */
static size_t write_indexed(struct writing *s, yyjson_val *object)
{
    yyjson_val *key, *value;
    size_t i, n, found = 0;
    uint64_t number;
    yyjson_obj_foreach(object, i, n, key, value) found += is_index(key, &number);
    if (!found)
        return 0;
    struct numbered *list = wb_calloc(found, sizeof *list);
    if (!list) {
        wj_writer_fail(&s->w, upp_fail(s->w.err, UPP_ENOMEM, "no memory for %zu members", found));
        return found;
    }
    found = 0;
    yyjson_obj_foreach(object, i, n, key, value)
    {
        if (is_index(key, &number))
            list[found++] = (struct numbered){number, key};
    }
    qsort(list, found, sizeof *list, by_number);
    for (i = 0; i < found; i++)
        write_member(s, list[i].key, i == 0);
    wb_free(list);
    return found;
}

static void write_object(struct writing *s, yyjson_val *object)
{
    yyjson_val *key, *value;
    size_t i, n, done;
    uint64_t number;
    wb_buf_addc(s->w.out, '{');
    s->level++;
    done = write_indexed(s, object);
    bool only_few = done == unsafe_yyjson_get_len(object);
    if (!only_few)
        yyjson_obj_foreach(object, i, n, key, value)
        {
            if (!is_index(key, &number))
                write_member(s, key, done++ == 0);
        }
    s->level--;
    if (done)
        new_line(s);
    wb_buf_addc(s->w.out, '}');
}

static void write_array(struct writing *s, yyjson_val *array)
{
    yyjson_val *v;
    size_t i, n;
    wb_buf_addc(s->w.out, '[');
    s->level++;
    yyjson_arr_foreach(array, i, n, v)
    {
        next_item(s, i == 0);
        write_value(s, v);
    }
    s->level--;
    if (yyjson_arr_size(array))
        new_line(s);
    wb_buf_addc(s->w.out, ']');
}

static void write_value(struct writing *s, yyjson_val *v)
{
    char number[WE_JS_NUMBER];
    s->w.comma = false;
    if (s->w.failed || s->w.out->failed)
        return;
    if (yyjson_is_obj(v))
        write_object(s, v);
    else if (yyjson_is_arr(v))
        write_array(s, v);
    else if (yyjson_is_raw(v))
        wb_buf_add(s->w.out, wb_str(number, we_js_number(wj_text(v), number)));
    else
        wj_write_value(&s->w, v);
}

int we_stringify(yyjson_val *v, unsigned indent, struct wb_buf *out, struct upp_err *err)
{
    struct writing s = {.indent = indent};
    wj_writer_init(&s.w, out, err);
    write_value(&s, v);
    return wj_writer_check(&s.w);
}
