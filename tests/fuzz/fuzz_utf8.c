/* fuzz/fuzz_utf8.c — cleaning makes any bytes UTF-8; WTF-8 cut anywhere between characters joins to itself. */
#include "base/utf8.h"
#include "fuzz/fuzz.h"

FUZZ(utf8)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf clean = WB_BUF(1u << 22);
    size_t bad, worse;
    bool utf8 = wb_utf8_valid(in, &bad), wtf8 = wb_wtf8_valid(in, &worse);
    REQUIRE(utf8 || wb_utf8_valid(wb_str_sub(in, 0, bad), NULL));
    REQUIRE(!utf8 || wtf8);
    REQUIRE(utf8 || wtf8 || bad <= worse);

    wb_utf8_add_clean(&clean, in);
    REQUIRE(wb_buf_check(&clean, NULL) == 0 && wb_utf8_valid(wb_buf_str(&clean), NULL));
    REQUIRE(!utf8 || wb_str_eq(wb_buf_str(&clean), in));
    REQUIRE(wb_utf8_cut(in, in.n / 2) <= in.n / 2);
    if (!wtf8)
        return;

    REQUIRE(utf8 == !wb_wtf8_lone(in));
    size_t characters = 0;
    for (size_t at = 0, n; at < in.n; at += n, characters++) {
        uint32_t c;
        char out[4];
        n = wb_wtf8_decode(in, at, &c);
        REQUIRE(n && wb_utf8_encode(c, out) == n && memcmp(out, in.p + at, n) == 0);

        WB_CLEANUP(wb_buf_done) struct wb_buf joined = WB_BUF(1u << 21);
        wb_wtf8_add(&joined, wb_str_sub(in, 0, at));
        wb_wtf8_add(&joined, wb_str_sub(in, at, in.n));
        REQUIRE(wb_str_eq(wb_buf_str(&joined), in));
        if (characters > 64)
            return; /* every cut of a long text would be quadratic */
    }
    REQUIRE(wb_utf8_count(in) == characters);
}
