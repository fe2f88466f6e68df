#include "json/keys.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/defs.h"
#include "json/read.h"
#include "support/test.h"

TEST(json_keys_are_sorted_stably)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    unsigned                              x = 7;
    for (size_t n = 0; n < 130; n += 1 + n / 8) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        yyjson_val                               *v;
        wb_buf_clear(&b);
        wb_buf_addc(&b, '{');
        for (size_t i = 0; i < n; i++) {
            x = x * 1103515245u + 12345u;
            wb_buf_addf(&b, "%s\"k%u\":%zu", i ? "," : "", (x >> 16) % 20, i);
        }
        wb_buf_addc(&b, '}');
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK(wj_read(&a, wb_buf_str(&b), NULL, &v, NULL) == 0);
        yyjson_val **to = wb_new_n(&a, yyjson_val *, n + 1), **spare = wb_new_n(&a, yyjson_val *, n + 1);
        CHECK(to && spare);
        wj_keys_sort(v, to, spare);
        for (size_t i = 1; i < n; i++) {
            int c = wb_str_cmp(wj_text(to[i - 1]), wj_text(to[i]));
            CHECK(c < 0 || (c == 0 && to[i - 1] < to[i]));
        }
    }
}
