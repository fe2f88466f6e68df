/* json/keys.h — the members of an object in the order of their names. */
#ifndef WJ_KEYS_H
#define WJ_KEYS_H

#include <yyjson.h>

#include "base/str.h"

static inline struct upp_str wj_text(const yyjson_val *v) /* of a string, a member's name or a raw number */
{
    return wb_str(v->uni.str, (size_t)(v->tag >> YYJSON_TAG_BIT));
}

/* Are these n bytes the same? Names are short: a call of memcmp costs more than they do. */
static inline bool wj_same(const char *a, const char *b, size_t n)
{
    if (n >= 8) {
        uint64_t x, y;
        for (size_t i = 0; i + 8 < n; i += 8) {
            memcpy(&x, a + i, 8);
            memcpy(&y, b + i, 8);
            if (x != y)
                return false;
        }
        memcpy(&x, a + n - 8, 8);
        memcpy(&y, b + n - 8, 8);
        return x == y;
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

/* The names of obj's members, sorted by their bytes and then by their place in the document, so that duplicates stand
 * in a row, oldest first. `to` and `spare` have room for as many pointers as obj has members. O(n log n) comparisons,
 * whatever the names. */
void wj_keys_sort(yyjson_val *obj, yyjson_val **to, yyjson_val **spare);

/* Looks for an object inside root that names a member twice. 0: there is none. -UPP_EINVALID: there is, see err. */
int wj_keys_unique(yyjson_val *root, size_t values, struct upp_err *err) UPP_MUST_CHECK;

#endif
