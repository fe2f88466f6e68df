/* model/row_get.c — decodes values of a stored row, trusting nothing. */
#include "model/row_get.h"

#include "base/err.h"
#include "json/pointer.h"
#include "json/value.h"
#include "json/write.h"

void wm_get_refuse(struct wm_get *g, yyjson_val *v, const char *expected)
{
    char found[WJ_QUOTED];
    if (g->failed)
        return;
    g->failed = upp_fail(g->err, UPP_ESTORE, "expected %s, found %s", expected, wj_found(v, found, sizeof found));
    wj_pointer_err(g->err, g->root, v);
}

/* The same for the name of a member. */
void wm_get_refuse_name(struct wm_get *g, yyjson_val *name, const char *expected)
{
    char found[WJ_QUOTED];
    if (g->failed)
        return;
    g->failed =
        upp_fail(g->err, UPP_ESTORE, "expected %s, found %s", expected, wj_quote(wj_text(name), found, sizeof found));
    wj_pointer_err(g->err, g->root, name);
}

static void fail_get(struct wm_get *g, int r)
{
    if (!g->failed)
        g->failed = r;
}

struct upp_str wm_get_str(struct wm_get *g, yyjson_val *v)
{
    if (WB_LIKELY(yyjson_is_str(v)))
        return wj_text(v);
    wm_get_refuse(g, v, "a string");
    return (struct upp_str){0};
}

uint64_t wm_get_u64(struct wm_get *g, yyjson_val *v, uint64_t from, uint64_t to, const char *expected)
{
    uint64_t n;
    if (yyjson_is_raw(v) && wb_str_u64(wj_text(v), &n) && n >= from && n <= to)
        return n;
    wm_get_refuse(g, v, expected);
    return from;
}

uint32_t wm_get_u32(struct wm_get *g, yyjson_val *v)
{
    return (uint32_t)wm_get_u64(g, v, 0, UINT32_MAX, "a whole number of 32 bits");
}

uint64_t wm_get_number(struct wm_get *g, yyjson_val *v)
{
    return wm_get_u64(g, v, 0, UINT64_MAX, "a whole number of 64 bits");
}

uint8_t wm_get_enum(struct wm_get *g, yyjson_val *v, unsigned last)
{
    return (uint8_t)wm_get_u64(g, v, 1, last, "a value that this version knows");
}

bool wm_get_flag(struct wm_get *g, yyjson_val *v)
{
    return wm_get_u64(g, v, 1, 1, "1");
}

int64_t wm_get_time(struct wm_get *g, yyjson_val *v, int64_t from)
{
    int64_t n = 0;
    if (!yyjson_is_raw(v) || !wb_str_i64(wj_text(v), &n))
        wm_get_refuse(g, v, "a whole number of milliseconds");
    return (int64_t)((uint64_t)from + (uint64_t)n);
}

struct upp_str wm_get_num(struct wm_get *g, yyjson_val *v)
{
    if (yyjson_is_raw(v))
        return wj_text(v);
    wm_get_refuse(g, v, "a number");
    return (struct upp_str){0};
}

struct wb_uuid wm_get_uuid(struct wm_get *g, yyjson_val *v)
{
    struct wb_uuid u = {0};
    if (!yyjson_is_str(v) || !wb_uuid_parse(wj_text(v), &u))
        wm_get_refuse(g, v, "a UUID");
    return u;
}

struct upp_str wm_get_json(struct wm_get *g, yyjson_val *v, bool object)
{
    if (object && !yyjson_is_obj(v)) {
        wm_get_refuse(g, v, "an object");
        return (struct upp_str){0};
    }
    wb_buf_clear(g->scratch);
    int r = wj_write(v, g->scratch, g->err);
    if (r < 0) {
        fail_get(g, r);
        return (struct upp_str){0};
    }
    return wb_arena_dup(g->a, wb_buf_str(g->scratch));
}

size_t wm_get_items(struct wm_get *g, yyjson_val *v, size_t max, yyjson_val **first)
{
    if (!yyjson_is_arr(v)) {
        wm_get_refuse(g, v, "an array");
        return 0;
    }
    size_t n = unsafe_yyjson_get_len(v);
    if (n > max) {
        wm_get_refuse(g, v, "a shorter array");
        return 0;
    }
    *first = unsafe_yyjson_get_first(v);
    return n;
}

void wm_get_members(struct wm_get *g, yyjson_val *v, void *into,
                    void (*member)(struct wm_get *g, char name, yyjson_val *v, void *into))
{
    uint32_t seen = 0;
    if (!yyjson_is_obj(v)) {
        wm_get_refuse(g, v, "an object");
        return;
    }
    yyjson_val *key = unsafe_yyjson_get_first(v);
    for (size_t n = unsafe_yyjson_get_len(v); n && !g->failed; n--) {
        struct upp_str name = wj_text(key);
        uint32_t bit = name.n == 1 && name.p[0] >= 'a' && name.p[0] <= 'z' ? 1u << (name.p[0] - 'a') : 0;
        if (!bit)
            wm_get_refuse_name(g, key, "a member that this version knows");
        else if (seen & bit)
            wm_get_refuse_name(g, key, "a member once");
        else
            member(g, name.p[0], key + 1, into);
        seen |= bit;
        key = unsafe_yyjson_get_next(key + 1);
    }
}

void wm_get_unknown(struct wm_get *g, yyjson_val *v)
{
    wm_get_refuse_name(g, v - 1, "a member that this version knows");
}
