/* fuzz/fuzz_json_number.c — numbers as text, against the checker of syntax, strtod, and each other.
 *
 * Input: two texts with a blank between them.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "json/number.h"
#include "json/syntax.h"

static void one(struct upp_str s)
{
    struct wj_syntax seen;
    bool starts = s.n && (s.p[0] == '-' || (s.p[0] >= '0' && s.p[0] <= '9'));
    bool ends = s.n && s.p[s.n - 1] >= '0' && s.p[s.n - 1] <= '9';
    bool valid = wj_num_valid(s);
    REQUIRE(valid == (starts && ends && wj_syntax(s, 1, &seen, NULL) == 0));
    if (!valid)
        return;
    REQUIRE(wj_num_eq(s, s));

    char text[32];
    int64_t i;
    uint64_t u;
    double d = 0;
    if (wj_num_i64(s, &i)) {
        int n = snprintf(text, sizeof text, "%lld", (long long)i);
        REQUIRE(wj_num_eq(s, wb_str(text, (size_t)n)));
    }
    if (wj_num_u64(s, &u)) {
        int n = snprintf(text, sizeof text, "%llu", (unsigned long long)u);
        REQUIRE(wj_num_eq(s, wb_str(text, (size_t)n)));
    }
    char *copy = malloc(s.n + 1);
    if (!copy)
        abort();
    memcpy(copy, s.p, s.n);
    copy[s.n] = 0;
    double want = strtod(copy, NULL); /* the C locale: nobody has set another */
    free(copy);
    REQUIRE(wj_num_f64(s, &d) == !isinf(want));
    if (!isinf(want)) {
        char shortest[WJ_NUM_MAX];
        double back;
        REQUIRE(memcmp(&d, &want, sizeof d) == 0);
        size_t n = wj_num_format(d, shortest);
        REQUIRE(n && wj_num_valid(wb_str(shortest, n)) && wj_num_f64(wb_str(shortest, n), &back));
        REQUIRE(memcmp(&d, &back, sizeof d) == 0);
    }
}

FUZZ(json_number)
{
    struct upp_str a, b = in;
    if (!wb_str_split(&b, ' ', &a))
        return;
    one(a);
    if (!b.p)
        return;
    one(b);
    if (wj_num_valid(a) && wj_num_valid(b)) {
        double x, y;
        bool same = wj_num_eq(a, b);
        REQUIRE(same == wj_num_eq(b, a));
        if (same && wj_num_f64(a, &x))
            REQUIRE(wj_num_f64(b, &y) && x == y);
    }
}
