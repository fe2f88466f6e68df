/* json/value.h — looking at values, and making simple ones.
 *
 * Arrays and objects are made as text (json/write.h) and read (json/read.h), so that what json/read.h promises about
 * values holds for all of them.
 */
#ifndef WJ_VALUE_H
#define WJ_VALUE_H

#include <yyjson.h>

#include "base/arena.h"

/* The text of a string, of a member's name, or of a number. */
static inline struct upp_str wj_text(const yyjson_val *v)
{
    return wb_str(v->uni.str, (size_t)(v->tag >> YYJSON_TAG_BIT));
}

/* The text of a string; no text: it is none, or NULL. And that of a member of an object. */
static inline struct upp_str wj_text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? wj_text(v) : (struct upp_str){0};
}

static inline struct upp_str wj_text_at(yyjson_val *object, const char *name)
{
    return wj_text_of(yyjson_obj_get(object, name));
}

/* Are these n bytes the same? Names are short: a call of memcmp costs more than they do. */
static inline bool wj_same(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        uint64_t x, y, z, w;
        for (; n > 16; n -= 8, a += 8, b += 8) {
            memcpy(&x, a, 8);
            memcpy(&y, b, 8);
            if (x != y)
                return false;
        }
        memcpy(&x, a, 8);
        memcpy(&y, b, 8);
        memcpy(&z, a + n - 8, 8);
        memcpy(&w, b + n - 8, 8);
        return x == y && z == w;
    }
    if (n >= 4) {
        uint32_t x, y, z, w;
        memcpy(&x, a, 4);
        memcpy(&y, b, 4);
        memcpy(&z, a + n - 4, 4);
        memcpy(&w, b + n - 4, 4);
        return x == y && z == w;
    }
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* The same for the name of a member, or a string, and a text. */
static inline bool wj_named(const yyjson_val *name, struct upp_str s)
{
    return name->tag >> YYJSON_TAG_BIT == s.n && wj_same(name->uni.str, s.p, s.n);
}

WB_EXPORT_BEGIN

/* The first member of each name of a table, in one walk over the members: found[i] is that of row i, NULL where obj has
 * none; how many rows there are. The rows are `size` bytes each; `names` is the name of the first, and the last has
 * none. Members that come in the order of the rows cost one comparison each. */
size_t wj_members(yyjson_val *obj, const struct upp_str *names, size_t size, yyjson_val **found);
#define WJ_MEMBERS(obj, rows, found) wj_members((obj), &(rows)->name, sizeof *(rows), (found))

/* "a string", "the number 1.5", "null" ...: what v is, for messages; in buf where it needs one. */
const char *wj_found(yyjson_val *v, char *buf, size_t size);

/* 'text', for messages, in buf (of at least 16 bytes): control characters and backslashes as JSON escapes them, U+FFFD
 * for what is no UTF-8, and a long one cut at a character, with "..." at its end. */
enum { WJ_QUOTED = 72 };
const char *wj_quote(struct upp_str s, char *buf, size_t size);

/* "'user', 'tool'": alternatives, each between two of `quote`. Begins all zero. Where one does not fit, "..." stands
 * for it and all that follow. */
struct wj_list {
    char   p[160];
    size_t n;
    bool   cut;
};
void wj_list_add(struct wj_list *l, const char *between, const char *quote, struct upp_str item);

WB_EXPORT_END

/* The same for n names in a row, behind which there is one without text. True: obj is an object, has no other members,
 * each of these at most once, and in this order. Best with names and a number of them that the compiler knows. */
static inline bool wj_members_in_order(yyjson_val *obj, const struct upp_str *names, size_t n, yyjson_val **found)
{
    yyjson_val *key = NULL, *end = NULL;
    if (yyjson_is_obj(obj)) {
        key = unsafe_yyjson_get_first(obj);
        end = unsafe_yyjson_get_next(obj);
    }
#pragma GCC unroll 20
    for (size_t i = 0; i < n; i++) {
        found[i] = NULL;
        if (key < end && wj_named(key, names[i])) {
            found[i] = key + 1;
            key      = unsafe_yyjson_get_next(key + 1);
        }
    }
    if (key && key == end)
        return true;
    (void)wj_members(obj, names, sizeof *names, found);
    return false;
}

#endif
