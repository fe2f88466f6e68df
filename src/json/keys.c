/* json/keys.c — sorting members by name; finding duplicates. */
#include "json/keys.h"

#include "base/defs.h"
#include "base/hooks.h"
#include "json/pointer.h"

/* Merges the sorted halves [0, mid) and [mid, n) of a into b. Of equal names the left one goes first. */
static void merge(yyjson_val *const *a, size_t mid, size_t n, yyjson_val **b)
{
    size_t i = 0, j = mid;
    for (size_t k = 0; k < n; k++) {
        bool left = j == n || (i < mid && wb_str_cmp(wj_text(a[i]), wj_text(a[j])) <= 0);
        b[k] = left ? a[i++] : a[j++];
    }
}

void wj_keys_sort(yyjson_val *obj, yyjson_val **to, yyjson_val **scratch)
{
    size_t n = unsafe_yyjson_get_len(obj);
    yyjson_val *key = unsafe_yyjson_get_first(obj);
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1))
        to[i] = key;

    /* Bottom up: no recursion, and stable. libc's qsort may allocate memory outside of our hooks. */
    yyjson_val **from = to, **other = scratch;
    for (size_t width = 1; width < n; width *= 2) {
        for (size_t i = 0; i < n; i += 2 * width) {
            size_t both = WB_MIN(2 * width, n - i);
            merge(from + i, WB_MIN(width, both), both, other + i);
        }
        yyjson_val **swap = from;
        from = other;
        other = swap;
    }
    if (from != to)
        memcpy(to, from, n * sizeof *to);
}

/* Bloom filter bit of a name, from its length and two of its bytes. yyjson puts a NUL after an empty name. */
static uint64_t bit_of(const yyjson_val *key)
{
    struct upp_str s = wj_text(key);
    const unsigned char *p = (const unsigned char *)s.p;
    return (uint64_t)1 << ((s.n + p[0] + 4u * p[s.n / 2]) % 64);
}

/* The second of two equal names, or NULL. Needs no memory: compares a name with the earlier ones only if one of them
 * has the same bit. */
static yyjson_val *twice_in_small(yyjson_val *obj)
{
    size_t n = unsafe_yyjson_get_len(obj);
    yyjson_val *key = unsafe_yyjson_get_first(obj), *first = key;
    uint64_t bits = 0;
    for (size_t i = 0; i < n; i++, key = unsafe_yyjson_get_next(key + 1)) {
        uint64_t bit = bit_of(key);
        if (bits & bit)
            for (yyjson_val *k = first; k != key; k = unsafe_yyjson_get_next(k + 1))
                if (wj_named(k, wj_text(key)))
                    return key;
        bits |= bit;
    }
    return NULL;
}

static yyjson_val *twice_in_large(yyjson_val *obj, yyjson_val **room)
{
    size_t n = unsafe_yyjson_get_len(obj);
    wj_keys_sort(obj, room, room + n);
    for (size_t i = 1; i < n; i++)
        if (wb_str_eq(wj_text(room[i - 1]), wj_text(room[i])))
            return room[i];
    return NULL;
}

int wj_keys_unique(yyjson_val *root, size_t values, struct upp_err *err)
{
    enum { SMALL = 12 };
    for (yyjson_val *v = root; v < root + values; v++) {
        if (!yyjson_is_obj(v))
            continue;
        size_t n = unsafe_yyjson_get_len(v);
        yyjson_val *twice;
        if (n <= SMALL)
            twice = twice_in_small(v);
        else {
            yyjson_val **room = wb_calloc(n, 2 * sizeof *room);
            if (!room)
                return upp_fail(err, UPP_ENOMEM, "out of memory");
            twice = twice_in_large(v, room);
            wb_free(room);
        }
        if (twice) {
            int r = upp_fail(err, UPP_EINVALID, "expected each member once, found a second one of this name");
            wj_pointer_err(err, root, twice);
            return r;
        }
    }
    return 0;
}
