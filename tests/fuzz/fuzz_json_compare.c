/* fuzz/fuzz_json_compare.c — comparison is reflexive, symmetric, and blind to the order of members.
 *
 * Input: two texts with a byte 0xff between them, which no JSON holds.
 */
#include "base/buf.h"
#include "base/hooks.h"
#include "fuzz/fuzz.h"
#include "json/compare.h"
#include "json/keys.h"
#include "json/read.h"
#include "json/write.h"

/* The value with the members of every object sorted by name, duplicates in their order. Depth is limited by the reader.
 */
static void write_sorted(struct wj_writer *w, yyjson_val *v)
{
    size_t n = unsafe_yyjson_get_len(v);
    if (yyjson_is_arr(v)) {
        yyjson_val *item = unsafe_yyjson_get_first(v);
        wj_write_open(w, '[');
        for (size_t i = 0; i < n; i++, item = unsafe_yyjson_get_next(item))
            write_sorted(w, item);
        wj_write_close(w, ']');
    } else if (yyjson_is_obj(v)) {
        yyjson_val **keys = wb_calloc(n + 1, 2 * sizeof *keys);
        REQUIRE(keys);
        wj_keys_sort(v, keys, keys + n);
        wj_write_open(w, '{');
        for (size_t i = 0; i < n; i++) {
            wj_write_name(w, wj_text(keys[i]));
            write_sorted(w, keys[i] + 1);
        }
        wj_write_close(w, '}');
        wb_free(keys);
    } else
        wj_write_value(w, v);
}

FUZZ(json_compare)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    struct upp_err err = {0};
    yyjson_val *x, *y, *sorted;
    struct upp_str one;
    struct wj_writer w;
    if (!wb_str_split(&in, (char)0xff, &one) || wj_read(&a, one, NULL, &x, &err) < 0)
        return;
    REQUIRE(wj_equal(x, x, &err) == 1);
    wj_writer_init(&w, &b, &err);
    write_sorted(&w, x);
    REQUIRE(wj_writer_check(&w) == 0 && wj_read(&a, wb_buf_str(&b), NULL, &sorted, &err) == 0);
    REQUIRE(wj_equal(x, sorted, &err) == 1 && wj_equal(sorted, x, &err) == 1);
    if (!in.p || wj_read(&a, in, NULL, &y, &err) < 0)
        return;
    int r = wj_equal(x, y, &err);
    REQUIRE(r == wj_equal(y, x, NULL) && r == wj_equal(sorted, y, NULL));
    REQUIRE(r == 1 || err.msg[0]);
}
