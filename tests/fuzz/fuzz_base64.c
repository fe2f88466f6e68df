/* fuzz/fuzz_base64.c — what decodes is what its bytes encode to, but for alphabet and padding. */
#include "base/base64.h"
#include "fuzz/fuzz.h"

FUZZ(base64)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf bytes = WB_BUF(1u << 20);
    if (wb_base64_decode(in, &bytes, NULL) < 0) {
        REQUIRE(bytes.n == 0);
        return;
    }
    for (int alphabet = WB_BASE64; alphabet <= WB_BASE64_URL; alphabet++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(1u << 21), again = WB_BUF(1u << 20);
        wb_base64_add(&text, wb_buf_str(&bytes), (enum wb_base64)alphabet);
        REQUIRE(wb_buf_check(&text, NULL) == 0 && text.n == wb_base64_size(bytes.n));
        REQUIRE(wb_base64_decode(wb_buf_str(&text), &again, NULL) == 0);
        REQUIRE(wb_str_eq(wb_buf_str(&again), wb_buf_str(&bytes)));
        REQUIRE(in.n <= text.n);
        for (size_t i = 0; i < in.n; i++) {
            char a = in.p[i], b = text.p[i];
            REQUIRE(a == b || ((a == '+' || a == '-') && (b == '+' || b == '-')) ||
                    ((a == '/' || a == '_') && (b == '/' || b == '_')));
        }
    }
}
