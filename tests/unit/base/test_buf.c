#include "base/buf.h"
#include "support/test.h"

TEST(buf_grows_and_formats)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    for (int i = 0; i < 1000; i++) {
        wb_buf_addc(&b, 'a');
        wb_buf_add(&b, UPP_STR("bc"));
    }
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK_INT(b.n, 3000);
    wb_buf_clear(&b);
    wb_buf_addf(&b, "%0200d", 7);
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK_INT(b.n, 200);
    CHECK(b.p[199] == '7' && b.p[0] == '0');
    wb_buf_addf(&b, "%s", "end");
    wb_buf_drop(&b, 200);
    CHECK_STR(wb_buf_str(&b), UPP_STR("end"));
    wb_buf_drop(&b, 99);
    CHECK_STR(wb_buf_str(&b), UPP_STR(""));
}

TEST(buf_stops_at_its_maximum_and_stays_failed)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(10);
    struct upp_err err;
    wb_buf_add(&b, UPP_STR("0123456789"));
    CHECK(wb_buf_check(&b, NULL) == 0);
    wb_buf_addc(&b, 'x');
    wb_buf_clear(&b);
    wb_buf_add(&b, UPP_STR("01234567890"));
    wb_buf_addc(&b, 'y'); /* would fit, but the buffer failed */
    CHECK_INT(wb_buf_check(&b, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("more than 10 bytes"));
    CHECK_INT(b.n, 0);
    wb_buf_clear(&b);
    wb_buf_addf(&b, "%0300d", 1);
    CHECK_INT(wb_buf_check(&b, NULL), -UPP_ELIMIT);
    for (int n = 0; n <= 300; n += 10) { /* both ways to add stop at the same byte */
        WB_CLEANUP(wb_buf_done) struct wb_buf exact = WB_BUF(300);
        wb_buf_addf(&exact, "%*s", n, "");
        wb_buf_addf(&exact, "%*s", 300 - n, "");
        CHECK(wb_buf_check(&exact, NULL) == 0 && exact.n == 300);
        wb_buf_addf(&exact, "x");
        CHECK_INT(wb_buf_check(&exact, NULL), -UPP_ELIMIT);
    }
}
