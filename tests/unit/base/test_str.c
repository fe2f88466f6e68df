#include "base/str.h"

#include "support/test.h"

TEST(str_compares)
{
    CHECK_INT(wb_str_cmp(UPP_STR("a"), UPP_STR("ab")), -1);
    CHECK_INT(wb_str_cmp(UPP_STR("b"), UPP_STR("ab")), 1);
    CHECK_INT(wb_str_cmp(UPP_STR("\xff"), UPP_STR("a")), 1); /* bytes, not chars */
    CHECK_INT(wb_str_cmp((struct upp_str){0}, UPP_STR("")), 0);
    CHECK(wb_str_eq((struct upp_str){0}, UPP_STR("")));
    CHECK(wb_str_eq(wb_str("a\0b", 3), wb_str("a\0b", 3)) && !wb_str_eq(wb_str("a\0b", 3), wb_str("a\0c", 3)));
    CHECK(wb_str_eq_nocase(UPP_STR("Content-LENGTH"), UPP_STR("content-length")));
    CHECK(!wb_str_eq_nocase(UPP_STR("\xc4"), UPP_STR("\xe4")));
    CHECK(wb_str_starts(UPP_STR("abc"), UPP_STR("ab")) && !wb_str_starts(UPP_STR("a"), UPP_STR("ab")));
    CHECK(wb_str_ends(UPP_STR("abc"), UPP_STR("bc")) && wb_str_ends(UPP_STR("abc"), UPP_STR("")));
}

TEST(str_finds_and_cuts)
{
    CHECK_INT(wb_str_find(UPP_STR("banana"), UPP_STR("an"), 0), 1);
    CHECK_INT(wb_str_find(UPP_STR("banana"), UPP_STR("an"), 2), 3);
    CHECK(wb_str_find(UPP_STR("banana"), UPP_STR("an"), 4) == SIZE_MAX);
    CHECK(wb_str_find(UPP_STR("ab"), UPP_STR("abc"), 0) == SIZE_MAX);
    CHECK_STR(wb_str_sub(UPP_STR("abc"), 1, 99), UPP_STR("bc"));
    CHECK_STR(wb_str_sub(UPP_STR("abc"), 9, 1), UPP_STR(""));
    CHECK_STR(wb_str_trim(UPP_STR(" \t a b\r\n")), UPP_STR("a b"));
    CHECK_STR(wb_str_trim(UPP_STR(" \n")), UPP_STR(""));
}

TEST(str_splits_at_separators)
{
    struct upp_str rest = UPP_STR("a,,b"), piece;
    CHECK(wb_str_split(&rest, ',', &piece));
    CHECK_STR(piece, UPP_STR("a"));
    CHECK(wb_str_split(&rest, ',', &piece));
    CHECK_STR(piece, UPP_STR(""));
    CHECK(wb_str_split(&rest, ',', &piece));
    CHECK_STR(piece, UPP_STR("b"));
    CHECK(!wb_str_split(&rest, ',', &piece));
    rest = UPP_STR("");
    CHECK(wb_str_split(&rest, ',', &piece) && piece.n == 0);
    CHECK(!wb_str_split(&rest, ',', &piece));
}

TEST(str_reads_numbers)
{
    uint64_t u;
    int64_t i;
    CHECK(wb_str_u64(UPP_STR("18446744073709551615"), &u) && u == UINT64_MAX);
    CHECK(wb_str_i64(UPP_STR("-9223372036854775808"), &i) && i == INT64_MIN);
    CHECK(wb_str_i64(UPP_STR("9223372036854775807"), &i) && i == INT64_MAX);
    static const char *const bad_u64[] = {"",   "18446744073709551616", "99999999999999999999", "-1", "+1", " 1", "1 ",
                                          "0x1"};
    for (size_t k = 0; k < sizeof bad_u64 / sizeof bad_u64[0]; k++) {
        test_note("'%s'", bad_u64[k]);
        CHECK(!wb_str_u64(wb_cstr(bad_u64[k]), &u));
    }
    CHECK(!wb_str_i64(UPP_STR("9223372036854775808"), &i));
    CHECK(!wb_str_i64(UPP_STR("-9223372036854775809"), &i) && !wb_str_i64(UPP_STR("-"), &i));
    CHECK(!wb_str_i64(UPP_STR("--1"), &i));
}
