#include "base/uuid.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/defs.h"
#include "base/random.h"
#include "support/test.h"

static int by_value(const void *a, const void *b)
{
    return wb_uuid_cmp(*(const struct wb_uuid *)a, *(const struct wb_uuid *)b);
}

TEST(uuid_random_ones_are_version_4_and_distinct)
{
    static struct wb_uuid u[5000];
    unsigned char any[16] = {0}, all[16];
    struct upp_err err;
    memset(all, 0xff, sizeof all);
    wb_random_forget();
    for (size_t i = 0; i < WB_LEN(u); i++) {
        char text[WB_UUID_TEXT + 1];
        CHECK(wb_uuid_new(&u[i], &err) == 0);
        CHECK_INT(wb_uuid_version(u[i]), 4);
        struct upp_str s = wb_uuid_text(u[i], text);
        CHECK(s.n == 36 && s.p[14] == '4' && strchr("89ab", s.p[19]) && text[36] == 0);
        for (size_t k = 0; k < 16; k++)
            any[k] |= u[i].b[k], all[k] &= u[i].b[k];
    }
    for (size_t k = 0; k < 16; k++) { /* every free bit is sometimes 0 and sometimes 1 */
        CHECK_INT(any[k], k == 6 ? 0x4f : k == 8 ? 0xbf : 0xff);
        CHECK_INT(all[k], k == 6 ? 0x40 : k == 8 ? 0x80 : 0);
    }
    qsort(u, WB_LEN(u), sizeof u[0], by_value);
    for (size_t i = 1; i < WB_LEN(u); i++)
        CHECK(!wb_uuid_eq(u[i - 1], u[i]));
}

TEST(uuid_from_a_random_one_is_version_4_and_another_for_each_number)
{
    static struct wb_uuid u[5000];
    struct wb_uuid random;
    CHECK(wb_uuid_new(&random, NULL) == 0);
    for (size_t i = 0; i < WB_LEN(u); i++) {
        u[i] = wb_uuid_from(random, i);
        CHECK_INT(wb_uuid_version(u[i]), 4);
        CHECK(wb_uuid_eq(u[i], wb_uuid_from(random, i)));
    }
    qsort(u, WB_LEN(u), sizeof u[0], by_value);
    for (size_t i = 1; i < WB_LEN(u); i++)
        CHECK(!wb_uuid_eq(u[i - 1], u[i]));
}

TEST(uuid_leaves_ret_alone_when_it_fails)
{
    struct wb_uuid u = {{7}};
    wb_random_forget();
    int r = wb_uuid_new(&u, NULL);
    ALWAYS(r == 0 || u.b[0] == 7);
    CHECK(r == 0);
}

TEST(uuid_is_written_and_read_in_both_forms)
{
    struct wb_uuid u = {
        {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10}};
    struct wb_uuid back;
    char out[WB_UUID_TEXT + 1];
    CHECK_STR(wb_uuid_text(u, out), UPP_STR("01234567-89ab-cdef-fedc-ba9876543210"));
    CHECK_STR(wb_uuid_hex(u, out), UPP_STR("0123456789abcdeffedcba9876543210"));
    static const char *const good[] = {"01234567-89ab-cdef-fedc-ba9876543210", "01234567-89AB-CDEF-FEDC-BA9876543210",
                                       "0123456789abcdeffedcba9876543210", "0123456789ABCdefFEDCba9876543210"};
    for (size_t i = 0; i < WB_LEN(good); i++) {
        memset(&back, 0, sizeof back);
        CHECK(wb_uuid_parse(wb_cstr(good[i]), &back) && wb_uuid_eq(back, u));
    }
    CHECK_INT(wb_uuid_version(u), 0); /* another variant */
}

TEST(uuid_reads_nothing_else)
{
    static const struct upp_str bad[] = {
        UPP_STR_INIT(""),
        UPP_STR_INIT("01234567-89ab-cdef-fedc-ba987654321"),
        UPP_STR_INIT("01234567-89ab-cdef-fedc-ba98765432100"),
        UPP_STR_INIT("0123456789abcdeffedcba987654321"),
        UPP_STR_INIT("0123456789abcdeffedcba98765432100"),
        UPP_STR_INIT("01234567-89ab-cdef-fedcba9876543210-"),
        UPP_STR_INIT("0123456-789ab-cdef-fedc-ba9876543210"),
        UPP_STR_INIT("01234567_89ab_cdef_fedc_ba9876543210"),
        UPP_STR_INIT("01234567-89ab-cdef-fedc-ba987654321g"),
        UPP_STR_INIT("0x234567-89ab-cdef-fedc-ba9876543210"),
        UPP_STR_INIT("{0123456789abcdeffedcba98765432100}"),
        UPP_STR_INIT(" 0123456789abcdeffedcba987654321"),
        UPP_STR_INIT("0123456789abcdeffedcba987654321\0"),
        UPP_STR_INIT("urn:uuid:01234567-89ab-cdef-fedc-ba9876543210"),
    };
    struct wb_uuid u = {{7}};
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        test_note("case %zu", i);
        CHECK(!wb_uuid_parse(bad[i], &u));
        ALWAYS(u.b[0] == 7);
    }
    for (int c = 0; c < 256; c++) { /* one place, every byte */
        char text[] = "0123456789abcdeffedcba9876543210";
        text[9] = (char)c;
        CHECK(wb_uuid_parse(wb_cstr(text), &u) == (c && isxdigit(c)));
    }
}

TEST(uuid_carries_122_bits)
{
    char out[WB_UUID_TEXT + 1];
    uint64_t high = 0, low = 0;
    CHECK_STR(wb_uuid_text(wb_uuid_v8(0, 0), out), UPP_STR("00000000-0000-8000-8000-000000000000"));
    CHECK_STR(wb_uuid_text(wb_uuid_v8(UINT64_MAX, UINT64_MAX), out), UPP_STR("ffffffff-ffff-8fff-bfff-ffffffffffff"));
    CHECK_STR(wb_uuid_text(wb_uuid_v8(0x123456789abcdef, 0x123456789abcdef0), out),
              UPP_STR("12345678-9abc-8def-9234-56789abcdef0"));
    for (unsigned bit = 0; bit < 122; bit++) {
        uint64_t h = bit < 62 ? 0 : (uint64_t)1 << (bit - 62), l = bit < 62 ? (uint64_t)1 << bit : 0;
        struct wb_uuid u = wb_uuid_v8(h, l);
        CHECK_INT(wb_uuid_version(u), 8);
        CHECK(wb_uuid_v8_bits(u, &high, &low) && high == h && low == l);
        CHECK(wb_uuid_cmp(u, wb_uuid_v8(h, l - (l > 0))) >= 0);
    }
    struct wb_uuid u;
    CHECK(wb_uuid_parse(UPP_STR("ffffffff-ffff-4fff-bfff-ffffffffffff"), &u) && !wb_uuid_v8_bits(u, &high, &low));
    CHECK(wb_uuid_parse(UPP_STR("ffffffff-ffff-8fff-ffff-ffffffffffff"), &u) && !wb_uuid_v8_bits(u, &high, &low));
}
