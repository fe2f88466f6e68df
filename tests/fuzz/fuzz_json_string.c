/* fuzz/fuzz_json_string.c — any bytes as a string: either they are WTF-8 and come back, or nothing is written. */
#include "base/buf.h"
#include "base/utf8.h"
#include "fuzz/fuzz.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"

FUZZ(json_string)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
    struct upp_err err = {0};
    struct wj_writer w;
    yyjson_val *v;
    wj_writer_init(&w, &b, &err);
    wj_write_str(&w, in);
    int r = wj_writer_check(&w);
    REQUIRE(r == (wb_wtf8_valid(in, NULL) ? 0 : -UPP_EINVALID));
    if (r < 0)
        return;
    REQUIRE(wb_utf8_valid(wb_buf_str(&b), NULL));
    REQUIRE(wj_read(&a, wb_buf_str(&b), NULL, &v, &err) == 0);
    REQUIRE(yyjson_is_str(v) && wb_str_eq(wj_text(v), in));
}
