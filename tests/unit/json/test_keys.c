#include "json/keys.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/defs.h"
#include "json/read.h"
#include "support/test.h"

/* Names that are hard to sort: equal for long, in falling order; and objects one too large for the simple way. */
TEST_WITH(json_keys_unique_among_hostile_names, .no_torture = "nothing but time")
{
    static const struct {
        const char *name;
        int n, objects;
        bool falling, prefix;
    } cases[] = {
        {"falling", 500000, 1, true, false},
        {"rising", 500000, 1, false, false},
        {"a long way equal", 4000, 1, true, true},
        {"twelve long names", 12, 300, true, true},
        {"thirteen short names", 13, 40000, false, false},
    };
    static char same[3000];
    memset(same, 'x', sizeof same - 1);
    for (size_t k = 0; k < WB_LEN(cases); k++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64u << 20);
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA((size_t)1 << 30);
        yyjson_val *v;
        test_note("%s", cases[k].name);
        wb_buf_addc(&b, '[');
        for (int o = 0; o < cases[k].objects; o++) {
            wb_buf_add(&b, o ? UPP_STR(",{") : UPP_STR("{"));
            for (int i = 0; i < cases[k].n; i++)
                wb_buf_addf(&b, "%s\"%s%08d\":0", i ? "," : "", cases[k].prefix ? same : "",
                            cases[k].falling ? cases[k].n - i : i);
            wb_buf_addc(&b, '}');
        }
        wb_buf_addc(&b, ']');
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK(wj_read(&a, wb_buf_str(&b), UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE, .max_bytes = 64u << 20), &v,
                      NULL) == 0);
    }
}

TEST(json_keys_are_sorted_stably)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    unsigned x = 7;
    for (size_t n = 0; n < 130; n += 1 + n / 8) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        yyjson_val *v;
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
