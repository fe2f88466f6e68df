#include "base/base64.h"

#include "base/defs.h"
#include "support/test.h"

TEST(base64_writes_both_alphabets_padded)
{
    static const struct {
        struct upp_str bytes;
        const char *std, *url;
    } cases[] = {
        {UPP_STR_INIT(""), "", ""},
        {UPP_STR_INIT("f"), "Zg==", "Zg=="},
        {UPP_STR_INIT("fo"), "Zm8=", "Zm8="},
        {UPP_STR_INIT("foo"), "Zm9v", "Zm9v"},
        {UPP_STR_INIT("foobar"), "Zm9vYmFy", "Zm9vYmFy"},
        {UPP_STR_INIT("\xfb\xff\xbe"), "+/++", "-_--"},
        {UPP_STR_INIT("\0\0\0\0"), "AAAAAA==", "AAAAAA=="},
        {UPP_STR_INIT("\xff"), "/w==", "_w=="},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64), back = WB_BUF(64);
        test_note("case %zu", i);
        CHECK_INT(wb_base64_size(cases[i].bytes.n), strlen(cases[i].std));
        wb_base64_add(&b, cases[i].bytes, WB_BASE64);
        CHECK(wb_buf_check(&b, NULL) == 0);
        CHECK_STR(wb_buf_str(&b), wb_cstr(cases[i].std));
        wb_buf_clear(&b);
        wb_base64_add(&b, cases[i].bytes, WB_BASE64_URL);
        CHECK_STR(wb_buf_str(&b), wb_cstr(cases[i].url));
        struct upp_err err;
        CHECK(wb_base64_decode(wb_cstr(cases[i].std), &back, &err) == 0);
        CHECK(wb_base64_decode(wb_cstr(cases[i].url), &back, &err) == 0);
        CHECK_INT(back.n, 2 * cases[i].bytes.n);
        CHECK_STR(wb_str_sub(wb_buf_str(&back), cases[i].bytes.n, SIZE_MAX), cases[i].bytes);
    }
    CHECK(wb_base64_size(SIZE_MAX) == SIZE_MAX && wb_base64_size(SIZE_MAX / 4 * 3) == SIZE_MAX / 4 * 4);
}

TEST(base64_reads_what_it_wrote)
{
    static const char pad[] = "==";
    unsigned char bytes[67];
    WB_CLEANUP(wb_buf_done) struct wb_buf text = WB_BUF(4096), back = WB_BUF(4096);
    for (unsigned seed = 0; seed < 64; seed++)
        for (size_t n = 0; n <= sizeof bytes; n++) {
            struct upp_str in = wb_str((const char *)bytes, n);
            struct upp_err err;
            for (size_t i = 0; i < n; i++)
                bytes[i] = (unsigned char)((i + 7) * 2654435761u * (seed + 1) >> 13);
            wb_buf_clear(&text);
            wb_base64_add(&text, in, seed & 1 ? WB_BASE64 : WB_BASE64_URL);
            CHECK(wb_buf_check(&text, NULL) == 0);
            struct upp_str whole = wb_buf_str(&text), bare = whole;
            CHECK_INT(whole.n, wb_base64_size(n));
            while (bare.n && bare.p[bare.n - 1] == '=')
                bare.n--;
            for (; bare.n <= whole.n; bare.n++) { /* all, some and no padding */
                wb_buf_clear(&back);
                CHECK(wb_base64_decode(bare, &back, &err) == 0);
                CHECK_STR(wb_buf_str(&back), in);
            }
            wb_buf_add(&text, wb_cstr(pad + seed % 2)); /* more than all */
            CHECK(wb_buf_check(&text, NULL) == 0);
            CHECK_INT(wb_base64_decode(wb_buf_str(&text), &back, &err), -UPP_EINVALID);
        }
}

TEST(base64_refuses_and_says_where)
{
    static const struct {
        struct upp_str text;
        const char *msg;
    } cases[] = {
        {UPP_STR_INIT("A"), "one digit too many or too few at offset 0"},
        {UPP_STR_INIT("AAAAA"), "one digit too many or too few at offset 4"},
        {UPP_STR_INIT("AAAAA==="), "one digit too many or too few at offset 4"},
        {UPP_STR_INIT("="), "padding too long at offset 0"},
        {UPP_STR_INIT("===="), "padding too long at offset 0"},
        {UPP_STR_INIT("AAAA="), "padding too long at offset 4"},
        {UPP_STR_INIT("AAA=="), "padding too long at offset 4"},
        {UPP_STR_INIT("AA==="), "padding too long at offset 4"},
        {UPP_STR_INIT("AA=A"), "byte 0x3d at offset 2"},
        {UPP_STR_INIT("Zg==Zg=="), "byte 0x3d at offset 2"},
        {UPP_STR_INIT("AAAA\n"), "byte 0x0a at offset 4"},
        {UPP_STR_INIT("AA A"), "byte 0x20 at offset 2"},
        {UPP_STR_INIT("AAA\0"), "byte 0x00 at offset 3"},
        {UPP_STR_INIT("AAA\xff"), "byte 0xff at offset 3"},
        {UPP_STR_INIT("AAAAAA*A"), "byte 0x2a at offset 6"},
        {UPP_STR_INIT("+A-A"), "'-' at offset 2 is of the other alphabet"},
        {UPP_STR_INIT("_AAAAAA/"), "'/' at offset 7 is of the other alphabet"},
        {UPP_STR_INIT("AAAA-/A"), "'/' at offset 5 is of the other alphabet"},
        {UPP_STR_INIT("Zh=="), "bits left over at offset 1"},
        {UPP_STR_INIT("Zh"), "bits left over at offset 1"},
        {UPP_STR_INIT("AAAAZm9="), "bits left over at offset 6"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
        struct upp_err err;
        char want[128] = "not base64: ";
        test_note("case %zu", i);
        wb_buf_add(&b, UPP_STR("kept"));
        CHECK(wb_buf_check(&b, NULL) == 0);
        int r = wb_base64_decode(cases[i].text, &b, &err);
        ALWAYS(wb_str_eq(wb_buf_str(&b), UPP_STR("kept")));
        CHECK(r != -UPP_ENOMEM); /* a fault */
        CHECK_INT(r, -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(strcat(want, cases[i].msg)));
        CHECK(!b.failed);
    }
}

TEST(base64_keeps_to_the_maximum)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(7);
    struct upp_err err;
    wb_base64_add(&b, UPP_STR("1234"), WB_BASE64);
    ALWAYS(b.failed && b.n == 0);
    wb_buf_clear(&b);
    CHECK_INT(wb_base64_decode(UPP_STR("AAAAAAAAAAA"), &b, &err), -UPP_ELIMIT);
    ALWAYS(b.n == 0);
    wb_buf_clear(&b);
    CHECK(wb_base64_decode(UPP_STR("AAAAAAAAAA"), &b, &err) == 0 && b.n == 7);
}
