/* json/value.c — what a value is, in words; simple values. */
#include "json/value.h"

#include <stdio.h>

#include "base/utf8.h"

/* Rows of a table, from one on: the first is `row`, and its name stands there. */
struct rows {
    const char *name;
    size_t      row;
};

/* Goes on to the row of that name; false: up to `end` there is none. */
static inline bool find_row(struct rows *at, size_t end, size_t size, const yyjson_val *key)
{
    for (; at->row < end; at->row++, at->name += size)
        if (wj_named(key, *(const struct upp_str *)(const void *)at->name))
            return true;
    return false;
}

size_t wj_members(yyjson_val *obj, const struct upp_str *names, size_t size, yyjson_val **found)
{
    const struct rows all = {(const char *)names, 0};
    struct rows       next; /* behind the row that was found last */
    size_t            rows = 0, i, n;
    yyjson_val       *key, *v;
    for (const char *at = all.name; ((const struct upp_str *)(const void *)at)->p; at += size)
        found[rows++] = NULL;
    next = all;
    yyjson_obj_foreach(obj, i, n, key, v)
    {
        struct rows at = next;
        if (!find_row(&at, rows, size, key)) {
            at = all;
            if (!find_row(&at, next.row, size, key))
                continue; /* no row has this name */
        }
        if (!found[at.row])
            found[at.row] = v;
        next = (struct rows){at.name + size, at.row + 1};
    }
    return rows;
}

const char *wj_found(yyjson_val *v, char *buf, size_t size)
{
    switch (yyjson_get_type(v)) {
    case YYJSON_TYPE_NULL:
        return "null";
    case YYJSON_TYPE_BOOL:
        return yyjson_get_bool(v) ? "true" : "false";
    case YYJSON_TYPE_ARR:
        return "an array";
    case YYJSON_TYPE_OBJ:
        return "an object";
    case YYJSON_TYPE_STR:
        return "a string";
    default:
        break;
    }
    struct upp_str s = wj_text(v);
    if (s.n > 40)
        return "a long number";
    (void)snprintf(buf, size, "the number %.*s", UPP_FMT(s));
    return buf;
}

/* One character of s at *at, made visible, in at most 6 bytes of `to`. How many. */
static size_t show(struct upp_str s, size_t *at, char to[8])
{
    static const char letters[] = "btn\0fr"; /* U+0008 to U+000D */
    uint32_t          c         = 0;
    size_t            n         = wb_wtf8_decode(s, *at, &c);
    const char       *from      = s.p + *at;
    *at += n ? n : 1;
    if (n == 0 || (c >= 0xd800 && c <= 0xdfff)) {
        memcpy(to, "\xef\xbf\xbd", 3);
        return 3;
    }
    if (c >= 0x20 && c != 0x7f && c != '\\') {
        memcpy(to, from, n);
        return n;
    }
    char letter = c == '\\' ? '\\' : c >= 8 && c <= 13 ? letters[c - 8] : 0;
    return (size_t)(letter ? snprintf(to, 8, "\\%c", letter) : snprintf(to, 8, "\\u%04x", (unsigned)c & 0xff));
}

const char *wj_quote(struct upp_str s, char *buf, size_t size)
{
    size_t room = size - sizeof "'", n = 1, keep = 1; /* up to `keep` is shown when the rest does not fit */
    buf[0] = '\'';
    for (size_t at = 0; at < s.n;) {
        char   one[8];
        size_t k = show(s, &at, one);
        if (n + k > room) {
            memcpy(buf + keep, "...", 3);
            n = keep + 3;
            break;
        }
        memcpy(buf + n, one, k);
        n += k;
        if (n + 3 <= room)
            keep = n;
    }
    memcpy(buf + n, "'", sizeof "'");
    return buf;
}

void wj_list_add(struct wj_list *l, const char *between, const char *quote, struct upp_str item)
{
    size_t left = sizeof l->p - l->n, more = strlen(between) + sizeof "...";
    if (l->cut)
        return;
    l->cut = item.n >= left || item.n + strlen(between) + 2 * strlen(quote) + more > left;
    l->n +=
        (size_t)(l->cut ? snprintf(l->p + l->n, left, "%s...", l->n ? between : "")
                        : snprintf(l->p + l->n, left, "%s%s%.*s%s", l->n ? between : "", quote, UPP_FMT(item), quote));
}

static yyjson_val *new_value(struct wb_arena *a)
{
    return wb_new(a, yyjson_val);
}

yyjson_val *wj_value_str(struct wb_arena *a, struct upp_str s)
{
    struct upp_str copy = wb_arena_dup(a, s.p ? s : UPP_STR(""));
    yyjson_val    *v    = new_value(a);
    if (v && copy.p)
        (void)yyjson_set_strn(v, copy.p, copy.n);
    return copy.p ? v : NULL;
}

yyjson_val *wj_value_i64(struct wb_arena *a, int64_t n)
{
    struct upp_str text = wb_arena_printf(a, "%lld", (long long)n);
    yyjson_val    *v    = new_value(a);
    if (v && text.p)
        (void)yyjson_set_raw(v, text.p, text.n);
    return text.p ? v : NULL;
}

yyjson_val *wj_value_bool(struct wb_arena *a, bool b)
{
    yyjson_val *v = new_value(a);
    if (v)
        (void)yyjson_set_bool(v, b);
    return v;
}

yyjson_val *wj_value_null(struct wb_arena *a)
{
    yyjson_val *v = new_value(a);
    if (v)
        (void)yyjson_set_null(v);
    return v;
}
