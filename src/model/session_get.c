/* model/session_get.c — reads the members of an object by a table of rows. */
#include "model/session_get.h"

#include <stdarg.h>

#include "base/err.h"
#include "base/iso8601.h"
#include "json/number.h"
#include "json/pointer.h"
#include "json/write.h"

void wm_getting_fail_at(struct wm_getting *d, const yyjson_val *v, int r)
{
    if (d->failed)
        return;
    d->failed = r;
    wj_pointer_err(d->err, d->root, v);
}

void wm_getting_fail(struct wm_getting *d, yyjson_val *v, enum upp_code code, const char *fmt, ...)
{
    va_list args;
    if (d->failed)
        return;
    va_start(args, fmt);
    wm_getting_fail_at(d, v, wb_vfail(d->err, code, fmt, args));
    va_end(args);
}

void wm_getting_refuse(struct wm_getting *d, yyjson_val *v, const char *expected)
{
    char found[WJ_QUOTED];
    wm_getting_fail(d, v, UPP_EINVALID, "expected %s, found %s", expected, wj_found(v, found, sizeof found));
}

bool wm_doc_out_of_memory(struct wm_getting *d)
{
    if (!d->failed)
        d->failed = wb_arena_check(d->a, d->err);
    return d->failed;
}

static bool is_u32(yyjson_val *v)
{
    uint64_t n;
    return yyjson_is_raw(v) && wj_num_u64(wj_text(v), &n) && n < UINT32_MAX;
}

uint32_t wm_doc_u32(yyjson_val *v)
{
    uint64_t n = 0;
    return wj_num_u64(wj_text(v), &n) ? (uint32_t)n : 0;
}

static void check_time(struct wm_getting *d, yyjson_val *v)
{
    struct wb_time t;
    int r = wb_time_parse(wj_text(v), &t, d->err);
    if (r < 0)
        wm_getting_fail_at(d, v, r);
    else if (t.naive)
        wm_getting_fail(d, v, UPP_EINVALID, "expected a time with its zone (Z or +01:00), found '%.*s'",
                        UPP_FMT(t.text));
}

static void check_type(struct wm_getting *d, yyjson_val *v, uint8_t type)
{
    static const char *const expected[] = {
        [WM_STR] = "a string",          [WM_ID] = "a string",
        [WM_TIME] = "a string: a time", [WM_U32] = "a whole number from 0 to 4294967294",
        [WM_OBJ] = "an object",         [WM_ARR] = "an array"};
    bool fits = type == WM_OBJ   ? yyjson_is_obj(v)
                : type == WM_ARR ? yyjson_is_arr(v)
                : type == WM_U32 ? is_u32(v)
                                 : yyjson_is_str(v);
    if (!fits)
        wm_getting_refuse(d, v, expected[type]);
    else if (type == WM_ID && wj_text(v).n == 0)
        wm_getting_fail(d, v, UPP_EINVALID, "expected an id, found an empty string");
    else if (type == WM_TIME)
        check_time(d, v);
}

bool wm_getting_members(struct wm_getting *d, yyjson_val *v, const struct wm_member *table, size_t n, yyjson_val **ret)
{
    bool null[WM_MEMBERS] = {false};
    if (d->failed)
        return false;
    if (!yyjson_is_obj(v)) {
        wm_getting_refuse(d, v, "an object");
        return false;
    }
    memset(ret, 0, n * sizeof ret[0]);
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t k = unsafe_yyjson_get_len(v); k && !d->failed; k--, key = unsafe_yyjson_get_next(key + 1)) {
        size_t i = 0;
        while (i < n && !wj_named(key, table[i].name))
            i++;
        if (i == n)
            continue;
        if (ret[i] || null[i])
            wm_getting_fail(d, key, UPP_EINVALID, "the member '%.*s' comes twice", UPP_FMT(table[i].name));
        else if ((table[i].flags & WM_MAY_BE_NULL) && yyjson_is_null(key + 1))
            null[i] = true;
        else {
            check_type(d, key + 1, table[i].type);
            ret[i] = key + 1;
        }
    }
    for (size_t i = 0; i < n && !d->failed; i++)
        if (!ret[i] && !(table[i].flags & WM_MAY_MISS))
            wm_getting_fail(d, v, UPP_EINVALID, "expected the member '%.*s'", UPP_FMT(table[i].name));
    return !d->failed;
}

struct upp_str wm_getting_json(struct wm_getting *d, yyjson_val *v)
{
    if (!v || d->failed)
        return (struct upp_str){0};
    wb_buf_clear(d->scratch);
    int r = wj_write(v, d->scratch, d->err);
    if (r < 0)
        wm_getting_fail_at(d, v, r);
    struct upp_str text = r < 0 ? (struct upp_str){0} : wb_arena_dup(d->a, wb_buf_str(d->scratch));
    return wm_doc_out_of_memory(d) ? (struct upp_str){0} : text;
}

/* Index of the key; n: none of them. */
static size_t key_of(yyjson_val *name, const struct upp_str *keys, size_t n)
{
    size_t i = 0;
    while (i < n && !wj_named(name, keys[i]))
        i++;
    return i;
}

static struct upp_str without(struct wm_getting *d, yyjson_val *map, const struct upp_str *keys, size_t n)
{
    struct wj_writer w;
    wb_buf_clear(d->scratch);
    wj_writer_init(&w, d->scratch, d->err);
    wj_write_open(&w, '{');
    yyjson_val *key = unsafe_yyjson_get_first(map);
    for (size_t k = unsafe_yyjson_get_len(map); k; k--, key = unsafe_yyjson_get_next(key + 1))
        if (key_of(key, keys, n) == n)
            wj_put_member(&w, key);
    wj_write_close(&w, '}');
    int r = wj_writer_check(&w);
    if (r < 0)
        wm_getting_fail_at(d, map, r);
    struct upp_str text = r < 0 ? (struct upp_str){0} : wb_arena_dup(d->a, wb_buf_str(d->scratch));
    return wm_doc_out_of_memory(d) ? (struct upp_str){0} : text;
}

struct upp_str wm_getting_map(struct wm_getting *d, yyjson_val *map, const struct upp_str *keys, size_t n,
                              yyjson_val **found)
{
    bool any = false;
    memset(found, 0, n * sizeof found[0]);
    if (!map || d->failed)
        return (struct upp_str){0};
    yyjson_val *key = unsafe_yyjson_get_first(map);
    for (size_t k = unsafe_yyjson_get_len(map); k; k--, key = unsafe_yyjson_get_next(key + 1)) {
        size_t i = key_of(key, keys, n);
        if (i == n)
            continue;
        if (found[i])
            wm_getting_fail(d, key, UPP_EINVALID, "the member '%.*s' comes twice", UPP_FMT(keys[i]));
        found[i] = key + 1;
        any = true;
    }
    return any && !d->failed ? without(d, map, keys, n) : wm_getting_json(d, map);
}

uint32_t wm_getting_length(struct wm_getting *d, yyjson_val *v, size_t most)
{
    if (!v || d->failed)
        return WM_ALL_MESSAGES;
    if (!is_u32(v))
        wm_getting_refuse(d, v, "a number of messages");
    else if (wm_doc_u32(v) > most)
        wm_getting_fail(d, v, UPP_EINVALID, "expected at most %zu, the messages that are there, found %u", most,
                        wm_doc_u32(v));
    else
        return wm_doc_u32(v);
    return WM_ALL_MESSAGES;
}
