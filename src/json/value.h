/* json/value.h — access to values, and simple constructors.
 *
 * Arrays and objects are built as text (json/write.h) and read (json/read.h), so that the invariants of json/read.h
 * hold for all values.
 */
#pragma once

#include <yyjson.h>

#include "base/arena.h"

/* The text of a string, of a member's name, or of a number. */
static inline struct upp_str wj_text(const yyjson_val *v)
{
    return wb_str(v->uni.str, (size_t)(v->tag >> YYJSON_TAG_BIT));
}

/* The text of a string, or of a member that is one; {NULL, 0}: not a string, or NULL. */
static inline struct upp_str wj_text_of(yyjson_val *v)
{
    return yyjson_is_str(v) ? wj_text(v) : (struct upp_str){0};
}

static inline struct upp_str wj_text_at(yyjson_val *object, const char *name)
{
    return wj_text_of(yyjson_obj_get(object, name));
}

/* How many values v is, names and all in it included: they are contiguous (json/read.h). */
static inline size_t wj_size(yyjson_val *v)
{
    return (size_t)(unsafe_yyjson_get_next(v) - v);
}

/* Are these n bytes equal? For names, which are short: calling memcmp costs more than comparing them. */
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

/* The same for a name or string value and a text. */
static inline bool wj_named(const yyjson_val *name, struct upp_str s)
{
    return name->tag >> YYJSON_TAG_BIT == s.n && wj_same(name->uni.str, s.p, s.n);
}

WB_EXPORT_BEGIN

/* Finds the first member for each name of a table, in one pass over the members: found[i] is the value for row i, NULL
 * if obj has none. Returns the number of rows. Rows are `size` bytes each; `names` points to the name of the first, and
 * the last row's is empty. Members in the order of the rows cost one comparison each. */
size_t wj_members(yyjson_val *obj, const struct upp_str *names, size_t size, yyjson_val **found);
#define WJ_MEMBERS(obj, rows, found) wj_members((obj), &(rows)->name, sizeof *(rows), (found))

/* Describes v for messages: "a string", "the number 1.5", "null" ... Uses buf if needed. */
const char *wj_found(yyjson_val *v, char *buf, size_t size);

/* Quotes a text for messages in buf (at least 16 bytes): 'text', with control characters and backslashes as JSON
 * escapes, U+FFFD for invalid UTF-8; cut at a character boundary if long, ending in "...". */
enum { WJ_QUOTED = 72 };
const char *wj_quote(struct upp_str s, char *buf, size_t size);

/* A list of alternatives for messages: "'user', 'tool'", each enclosed in `quote`. Starts all zero. If one does not
 * fit, "..." replaces it and all that follow. */
struct wj_list {
    char p[160];
    size_t n;
    bool cut;
};
void wj_list_add(struct wj_list *l, const char *between, const char *quote, struct upp_str item);

WB_EXPORT_END

/* Like wj_members, for an array of n names followed by an empty one. True: obj is an object without other members, each
 * of these at most once, and in this order. Fastest if names and n are compile-time constants. */
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
            key = unsafe_yyjson_get_next(key + 1);
        }
    }
    if (key && key == end)
        return true;
    (void)wj_members(obj, names, sizeof *names, found);
    return false;
}
