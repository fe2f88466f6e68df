/* json/value.c — values described for messages; access to members. */
#include "json/value.h"

#include <stdio.h>

#include "base/utf8.h"

static const struct upp_str *row_at(const struct upp_str *names, size_t size, size_t i)
{
    return (const struct upp_str *)(const void *)((const char *)names + i * size);
}

/* The row of a name other than the next one; `rows`: none. */
static size_t find_row(const yyjson_val *key, const struct upp_str *names, size_t size, size_t next, size_t rows)
{
    for (size_t i = next + 1; i < rows; i++)
        if (wj_named(key, *row_at(names, size, i)))
            return i;
    for (size_t i = 0; i < next; i++)
        if (wj_named(key, *row_at(names, size, i)))
            return i;
    return rows;
}

size_t wj_members(yyjson_val *obj, const struct upp_str *names, size_t size, yyjson_val **found)
{
    size_t rows = 0, next = 0; /* next: the row after the last one found */
    yyjson_val *key = yyjson_is_obj(obj) ? unsafe_yyjson_get_first(obj) : NULL;
    for (; row_at(names, size, rows)->p; rows++)
        found[rows] = NULL;
    for (size_t n = yyjson_obj_size(obj); n; n--, key = unsafe_yyjson_get_next(key + 1)) {
        size_t at =
            next < rows && wj_named(key, *row_at(names, size, next)) ? next : find_row(key, names, size, next, rows);
        if (at == rows)
            continue;
        if (!found[at])
            found[at] = key + 1;
        next = at + 1;
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

/* Writes the character of s at *at, made visible, into `to`: at most 6 bytes. Returns their number. */
static size_t put_visible(struct upp_str s, size_t *at, char to[8])
{
    static const char letters[] = "btn\0fr"; /* U+0008 to U+000D */
    uint32_t c = 0;
    size_t n = wb_wtf8_decode(s, *at, &c);
    const char *from = s.p + *at;
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
    size_t room = size - sizeof "'", n = 1, keep = 1; /* keep: where the text is cut if the rest does not fit */
    buf[0] = '\'';
    for (size_t at = 0; at < s.n;) {
        char one[8];
        size_t k = put_visible(s, &at, one);
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
