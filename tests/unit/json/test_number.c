#include "json/number.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/defs.h"
#include "support/test.h"

TEST(json_number_equality_is_by_exact_value)
{
    static const struct {
        const char *a, *b;
        bool same;
    } cases[] = {
        {"1", "1", true},
        {"1", "1.0", true},
        {"1", "10e-1", true},
        {"1", "0.1e1", true},
        {"1", "0.001E+3", true},
        {"100", "1e2", true},
        {"1.50", "15e-1", true},
        {"12.340", "1234e-2", true},
        {"0", "-0", true},
        {"0", "0.000e99999999999999999999", true},
        {"-0.0", "0e-5", true},
        {"1", "2", false},
        {"1", "-1", false},
        {"1", "0", false},
        {"1", "10", false},
        {"1.1", "11", false},
        {"101", "1.01", false},
        {"1e400", "1e400", true},
        {"1e400", "10e399", true},
        {"1e400", "1e401", false},
        {"1e1000000000", "1e999999999", false},
        {"1e1000000000", "10e999999999", true},
        {"1e-1000000000", "0.1e-999999999", true},
        {"1e100000000000000000000000000000", "10e99999999999999999999999999999", true},
        {"1e100000000000000000000000000000", "1e99999999999999999999999999999", false},
        {"1e100000000000000000000000000000", "1e-100000000000000000000000000000", false},
        {"1e-100000000000000000000000000000", "0.1e-99999999999999999999999999999", true},
        {"1e000000000000000000000000000000000005", "100000", true},
        {"1e+5", "1e5", true},
        {"9007199254740993", "9007199254740992", false}, /* one double, two numbers */
        {"0.1", "0.1000000000000000055511151231257827021181583404541015625", false},
        {"123456789012345678901234567890", "123456789012345678901234567890.0", true},
        {"123456789012345678901234567890", "123456789012345678901234567891", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%s and %s", cases[i].a, cases[i].b);
        CHECK(wj_num_valid(wb_cstr(cases[i].a)) && wj_num_valid(wb_cstr(cases[i].b)));
        CHECK(wj_num_eq(wb_cstr(cases[i].a), wb_cstr(cases[i].b)) == cases[i].same);
        CHECK(wj_num_eq(wb_cstr(cases[i].b), wb_cstr(cases[i].a)) == cases[i].same);
    }
}

TEST(json_number_integers)
{
    static const struct {
        const char *text;
        bool i_ok, u_ok;
        int64_t i;
        uint64_t u;
    } cases[] = {
        {"0", true, true, 0, 0},
        {"-0", true, true, 0, 0},
        {"-0.0e5", true, true, 0, 0},
        {"7", true, true, 7, 7},
        {"7.0", true, true, 7, 7},
        {"70e-1", true, true, 7, 7},
        {"0.00012e5", true, true, 12, 12},
        {"12e2", true, true, 1200, 1200},
        {"-7", true, false, -7, 0},
        {"-7.00", true, false, -7, 0},
        {"9223372036854775807", true, true, INT64_MAX, INT64_MAX},
        {"9223372036854775808", false, true, 0, (uint64_t)INT64_MAX + 1},
        {"-9223372036854775808", true, false, INT64_MIN, 0},
        {"-9223372036854775808.0", true, false, INT64_MIN, 0},
        {"-9223372036854775809", false, false, 0, 0},
        {"18446744073709551615", false, true, 0, UINT64_MAX},
        {"1844674407370955161.5e1", false, true, 0, UINT64_MAX},
        {"18446744073709551616", false, false, 0, 0},
        {"99999999999999999999", false, false, 0, 0},
        {"1e19", false, true, 0, 10000000000000000000u},
        {"1e20", false, false, 0, 0},
        {"1.5", false, false, 0, 0},
        {"15e-1", false, false, 0, 0},
        {"1e-400", false, false, 0, 0},
        {"1e999999999999999999999999", false, false, 0, 0},
        {"1e-999999999999999999999999", false, false, 0, 0},
        {"0e999999999999999999999999", true, true, 0, 0},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        int64_t s = 0;
        uint64_t u = 0;
        test_note("%s", cases[i].text);
        CHECK(wj_num_i64(wb_cstr(cases[i].text), &s) == cases[i].i_ok);
        CHECK(wj_num_u64(wb_cstr(cases[i].text), &u) == cases[i].u_ok);
        CHECK(s == (cases[i].i_ok ? cases[i].i : 0));
        CHECK(u == (cases[i].u_ok ? cases[i].u : 0));
    }
}

TEST(json_number_doubles)
{
    static const struct {
        const char *text;
        double v;
    } cases[] = {
        {"0", 0},
        {"-0", -0.0},
        {"1", 1},
        {"0.1", 0.1},
        {"1e22", 1e22},
        {"1e23", 1e23},
        {"4.9e-324", 4.9e-324},
        {"1e-400", 0},
        {"1.7976931348623157e308", DBL_MAX},
        {"9007199254740993", 9007199254740992.0},
        {"123456789012345678901234567890", 123456789012345678901234567890.0},
        {"0.1000000000000000055511151231257827021181583404541015625000000000000000000000000000000001", 0.1},
    };
    double v = 5;
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%s", cases[i].text);
        CHECK(wj_num_f64(wb_cstr(cases[i].text), &v));
        CHECK(memcmp(&v, &cases[i].v, sizeof v) == 0);
    }
    v = 5;
    CHECK(!wj_num_f64(UPP_STR("1e400"), &v) && !wj_num_f64(UPP_STR("-1e309"), &v) && v > 4);
    CHECK(
        !wj_num_f64(UPP_STR("1e99999999999999999999999999999999999999999999999999999999999999999999999999999999"), &v));
}

/* Digits beyond those that matter still break ties: exactly between two doubles, and a hair above. */
TEST_WITH(json_number_long_texts_round_right, .no_torture = "it allocates nothing of ours")
{
    static const char half[] = "9007199254740993"; /* 2^53 + 1: between 2^53 and 2^53 + 2 */
    for (size_t zeros = 0; zeros < 2000; zeros += 111) {
        size_t n = sizeof half + zeros;
        char *s = malloc(n + 1);
        double v = 0;
        if (!s)
            abort();
        memcpy(s, half, sizeof half - 1);
        s[sizeof half - 1] = '.';
        memset(s + sizeof half, '0', zeros);
        s[n] = '1';
        bool up = wj_num_f64(wb_str(s, n + 1), &v) && v == 9007199254740994.0;
        s[n] = '0';
        bool even = wj_num_f64(wb_str(s, n + 1), &v) && v == 9007199254740992.0;
        free(s);
        test_note("%zu zeros", zeros);
        CHECK(up && even);
    }
}

TEST(json_number_format_reads_back)
{
    static const double values[] = {0.0,    -0.0,    1.0,      0.1,   1e21,  1e-7, 1.0 / 3,       DBL_MAX,
                                    5e-324, DBL_MIN, -123.456, 1e300, 255.0, 1e15, 123456789.125, 2.5e-10};
    char text[WJ_NUM_MAX];
    for (size_t i = 0; i < WB_LEN(values); i++) {
        double v;
        size_t n = wj_num_format(values[i], text);
        test_note("%g", values[i]);
        CHECK(n > 0 && n < WJ_NUM_MAX && wj_num_valid(wb_str(text, n)));
        CHECK(wj_num_f64(wb_str(text, n), &v) && memcmp(&v, &values[i], sizeof v) == 0);
    }
    CHECK(wj_num_format((double)INFINITY, text) == 0 && wj_num_format((double)NAN, text) == 0);
}

TEST_WITH(json_number_does_not_know_the_locale, .no_torture = "setlocale is not ours")
{
    double v = 0;
    char text[WJ_NUM_MAX];
    bool comma = setlocale(LC_NUMERIC, "de_DE.UTF-8") || setlocale(LC_NUMERIC, "de_DE");
    bool read = wj_num_f64(UPP_STR("1.5"), &v) && v == 1.5;
    size_t n = wj_num_format(1.5, text);
    bool wrote = n == 3 && memcmp(text, "1.5", 3) == 0;
    (void)setlocale(LC_NUMERIC, "C");
    CHECK(read && wrote);
    (void)comma; /* without that locale on the machine it holds trivially */
}

TEST(json_number_order_is_by_exact_value)
{
    static const char *const rising[] = {"-1e99999999999999999999",
                                         "-1e400",
                                         "-123456789012345678901234567890",
                                         "-10.5",
                                         "-10.49999999999999999999999",
                                         "-1",
                                         "-0.1",
                                         "-1e-99999999999999999999",
                                         "0",
                                         "1e-99999999999999999999",
                                         "1E-400",
                                         "0.09999999999999999999",
                                         "0.1",
                                         "0.10000000000000000001",
                                         "1",
                                         "9.99",
                                         "10",
                                         "9007199254740992",
                                         "9007199254740993",
                                         "9.0071992547409931e15",
                                         "123456789012345678901234567890",
                                         "1e400",
                                         "1e99999999999999999999",
                                         "10e99999999999999999999"};
    static const char *const same[] = {"1", "1.0", "10e-1", "0.1e+1", "0.001E3"};
    for (size_t i = 0; i < WB_LEN(rising); i++)
        for (size_t k = 0; k < WB_LEN(rising); k++) {
            test_note("%s and %s", rising[i], rising[k]);
            CHECK_INT(wj_num_cmp(wb_cstr(rising[i]), wb_cstr(rising[k])), (i > k) - (i < k));
        }
    for (size_t i = 0; i < WB_LEN(same); i++)
        CHECK_INT(wj_num_cmp(wb_cstr(same[i]), UPP_STR("1")), 0);
    CHECK_INT(wj_num_cmp(UPP_STR("-0"), UPP_STR("0e5")), 0);
}

TEST(json_number_whole_and_multiple)
{
    static const struct {
        const char *a;
        bool whole;
    } whole[] = {{"0", true},
                 {"-0.0", true},
                 {"1.0", true},
                 {"1e99999999999999999999", true},
                 {"1.50e1", true},
                 {"1.5", false},
                 {"1e-1", false},
                 {"10e-1", true},
                 {"0e-9", true},
                 {"1.05e1", false},
                 {"123456789012345678901234567890.0", true},
                 {"1e-99999999999999999999", false}};
    static const struct {
        const char *a, *b;
        bool multiple;
    } cases[] = {{"0", "3", true},
                 {"9", "3", true},
                 {"-9", "3", true},
                 {"10", "3", false},
                 {"19.99", "0.01", true},
                 {"0.0075", "0.0001", true},
                 {"0.00751", "0.0001", false},
                 {"4.5", "1.5", true},
                 {"35", "1.5", false},
                 {"1e308", "0.123456789", false},
                 {"1e308", "0.5", true},
                 {"1e99999999999999999999", "1024e3", true},
                 {"1e99999999999999999999", "7", false},
                 {"7e99999999999999999999", "7", true},
                 {"7e99999999999999999999", "7e99999999999999999999", true},
                 {"7e99999999999999999999", "7e99999999999999999998", true},
                 {"7e99999999999999999998", "7e99999999999999999999", false},
                 {"999999999999999999999999999999999999", "999999999999999999", true},
                 {"999999999999999999999999999999999998", "999999999999999999", false},
                 {"5", "10", false},
                 {"0.5", "1", false}};
    for (size_t i = 0; i < WB_LEN(whole); i++) {
        test_note("%s", whole[i].a);
        CHECK(wj_num_whole(wb_cstr(whole[i].a)) == whole[i].whole);
    }
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("%s by %s", cases[i].a, cases[i].b);
        CHECK(wj_num_divisor(wb_cstr(cases[i].b)));
        CHECK(wj_num_multiple(wb_cstr(cases[i].a), wb_cstr(cases[i].b)) == cases[i].multiple);
    }
    CHECK(!wj_num_divisor(UPP_STR("0")) && !wj_num_divisor(UPP_STR("-1")));
    CHECK(!wj_num_divisor(UPP_STR("1234567890123456789")) && wj_num_divisor(UPP_STR("123456789012345678000")));
}
