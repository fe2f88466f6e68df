#include "base/iso8601.h"

#include <stdio.h>
#include <time.h>

#include "base/defs.h"
#include "support/test.h"

TEST(iso8601_reads)
{
    static const struct {
        const char *text;
        int64_t seconds;
        uint32_t nanos;
        int offset;
        bool naive, date_only;
        const char *upp, *pydantic;
    } cases[] = {
        {"1970-01-01T00:00:00Z", 0, 0, 0, false, false, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00Z"},
        {"1970-01-01", 0, 0, 0, true, true, "1970-01-01T00:00:00.000Z", "1970-01-01T00:00:00"},
        {"2026-02-03T04:05:06Z", 1770091506, 0, 0, false, false, "2026-02-03T04:05:06.000Z", "2026-02-03T04:05:06Z"},
        {"2026-02-03t04:05:06z", 1770091506, 0, 0, false, false, "2026-02-03T04:05:06.000Z", "2026-02-03T04:05:06Z"},
        {"2026-02-03 04:05:06", 1770091506, 0, 0, true, false, "2026-02-03T04:05:06.000Z", "2026-02-03T04:05:06"},
        {"2026-02-03T04:05", 1770091500, 0, 0, true, false, "2026-02-03T04:05:00.000Z", "2026-02-03T04:05:00"},
        {"2026-02-03T04:05Z", 1770091500, 0, 0, false, false, "2026-02-03T04:05:00.000Z", "2026-02-03T04:05:00Z"},
        {"2026-02-03 04:05+01:00", 1770087900, 0, 60, false, false, "2026-02-03T03:05:00.000Z",
         "2026-02-03T04:05:00+01:00"},
        {"2026-02-03T04:05:06.5Z", 1770091506, 500000000, 0, false, false, "2026-02-03T04:05:06.500Z",
         "2026-02-03T04:05:06.500000Z"},
        {"2026-02-03T04:05:06.123456789987654321Z", 1770091506, 123456789, 0, false, false, "2026-02-03T04:05:06.123Z",
         "2026-02-03T04:05:06.123456Z"},
        {"2026-02-03T04:05:06.0000009Z", 1770091506, 900, 0, false, false, "2026-02-03T04:05:06.000Z",
         "2026-02-03T04:05:06Z"},
        {"2026-02-03T04:05:06.999999999Z", 1770091506, 999999999, 0, false, false, "2026-02-03T04:05:06.999Z",
         "2026-02-03T04:05:06.999999Z"},
        {"2026-02-03T04:05:06.25", 1770091506, 250000000, 0, true, false, "2026-02-03T04:05:06.250Z",
         "2026-02-03T04:05:06.250000"},
        {"2026-02-03T04:05:06-00:00", 1770091506, 0, 0, false, false, "2026-02-03T04:05:06.000Z",
         "2026-02-03T04:05:06Z"},
        {"2026-02-03T04:05:06+05:30", 1770071706, 0, 330, false, false, "2026-02-02T22:35:06.000Z",
         "2026-02-03T04:05:06+05:30"},
        {"2026-02-03T04:05:06.000001-23:59", 1770177846, 1000, -1439, false, false, "2026-02-04T04:04:06.000Z",
         "2026-02-03T04:05:06.000001-23:59"},
        {"2024-02-29T23:59:59Z", 1709251199, 0, 0, false, false, "2024-02-29T23:59:59.000Z", "2024-02-29T23:59:59Z"},
        {"2000-02-29", 951782400, 0, 0, true, true, "2000-02-29T00:00:00.000Z", "2000-02-29T00:00:00"},
        {"1969-12-31T23:59:59.999Z", -1, 999000000, 0, false, false, "1969-12-31T23:59:59.999Z",
         "1969-12-31T23:59:59.999000Z"},
        {"0001-01-01T00:00:00Z", -62135596800, 0, 0, false, false, "0001-01-01T00:00:00.000Z", "0001-01-01T00:00:00Z"},
        {"9999-12-31T23:59:59Z", 253402300799, 0, 0, false, false, "9999-12-31T23:59:59.000Z", "9999-12-31T23:59:59Z"},
        /* In UTC these are in a year that has no four digits, or none at all. */
        {"0001-01-01T00:00:00+00:01", -62135596860, 0, 1, false, false, NULL, "0001-01-01T00:00:00+00:01"},
        {"9999-12-31T23:59:59-00:01", 253402300859, 0, -1, false, false, NULL, "9999-12-31T23:59:59-00:01"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_time t;
        struct upp_err err;
        char out[WB_TIME_TEXT];
        test_note("%s", cases[i].text);
        CHECK(wb_time_parse(wb_cstr(cases[i].text), &t, &err) == 0);
        CHECK_STR(t.text, wb_cstr(cases[i].text));
        CHECK_INT(t.seconds, cases[i].seconds);
        CHECK_INT(t.nanos, cases[i].nanos);
        CHECK_INT(t.offset, cases[i].offset);
        CHECK(t.naive == cases[i].naive && t.date_only == cases[i].date_only);
        CHECK_STR(wb_time_upp(&t, out), wb_cstr(cases[i].upp));
        CHECK_STR(wb_time_pydantic(&t, out), wb_cstr(cases[i].pydantic));
    }
}

TEST(iso8601_refuses_and_says_where)
{
    static const struct {
        struct upp_str text;
        const char *what;
    } cases[] = {
        {UPP_STR_INIT(""), "expected a digit of the year at offset 0"},
        {UPP_STR_INIT("now"), "expected a digit of the year at offset 0"},
        {UPP_STR_INIT(" 2026-01-01"), "expected a digit of the year at offset 0"},
        {UPP_STR_INIT("-2026-01-01"), "expected a digit of the year at offset 0"},
        {UPP_STR_INIT("+12026-01-01"), "expected a digit of the year at offset 0"},
        {UPP_STR_INIT("26-01-01"), "expected a digit of the year at offset 2"},
        {UPP_STR_INIT("12026-01-01"), "expected '-' at offset 4"},
        {UPP_STR_INIT("0000-01-01"), "year 0000 is not 0001 to 9999 at offset 0"},
        {UPP_STR_INIT("2026"), "expected '-' at offset 4"},
        {UPP_STR_INIT("2026-01"), "expected '-' at offset 7"},
        {UPP_STR_INIT("20260101"), "expected '-' at offset 4"},
        {UPP_STR_INIT("20260101T000000Z"), "expected '-' at offset 4"},
        {UPP_STR_INIT("1770091506"), "expected '-' at offset 4"},
        {UPP_STR_INIT("2026-W01-1"), "expected a digit of the month at offset 5"},
        {UPP_STR_INIT("2026-123"), "expected '-' at offset 7"},
        {UPP_STR_INIT("2026/01/01"), "expected '-' at offset 4"},
        {UPP_STR_INIT("2026-00-01"), "month 00 is not 01 to 12 at offset 5"},
        {UPP_STR_INIT("2026-13-01"), "month 13 is not 01 to 12 at offset 5"},
        {UPP_STR_INIT("2026-1-01"), "expected a digit of the month at offset 6"},
        {UPP_STR_INIT("2026-01-00"), "day 00 is not 01 to 31 at offset 8"},
        {UPP_STR_INIT("2026-01-32"), "day 32 is not 01 to 31 at offset 8"},
        {UPP_STR_INIT("2026-04-31T00:00Z"), "day 31 is not in April 2026 at offset 8"},
        {UPP_STR_INIT("2024-02-30"), "day 30 is not in February 2024 at offset 8"},
        {UPP_STR_INIT("2025-02-29"), "day 29 is not in February 2025 at offset 8"},
        {UPP_STR_INIT("1900-02-29"), "day 29 is not in February 1900 at offset 8"},
        {UPP_STR_INIT("2026-01-01Z"), "expected 'T' or a blank after the date at offset 10"},
        {UPP_STR_INIT("2026-01-01+01:00"), "expected 'T' or a blank after the date at offset 10"},
        {UPP_STR_INIT("2026-01-01_10:00"), "expected 'T' or a blank after the date at offset 10"},
        {UPP_STR_INIT("2026-01-01\n"), "expected 'T' or a blank after the date at offset 10"},
        {UPP_STR_INIT("2026-01-01\0"), "expected 'T' or a blank after the date at offset 10"},
        {UPP_STR_INIT("2026-01-01T"), "expected a digit of the hour at offset 11"},
        {UPP_STR_INIT("2026-01-01  10:00"), "expected a digit of the hour at offset 11"},
        {UPP_STR_INIT("2026-01-01T10"), "expected ':' at offset 13"},
        {UPP_STR_INIT("2026-01-01T1000"), "expected ':' at offset 13"},
        {UPP_STR_INIT("2026-01-01T24:00:00Z"), "hour 24 is not 00 to 23 at offset 11"},
        {UPP_STR_INIT("2026-01-01T10:60Z"), "minute 60 is not 00 to 59 at offset 14"},
        {UPP_STR_INIT("2026-01-01T10:0"), "expected a digit of the minute at offset 15"},
        {UPP_STR_INIT("2016-12-31T23:59:60Z"), "second 60 is not 00 to 59 at offset 17"},
        {UPP_STR_INIT("2026-01-01T10:00:"), "expected a digit of the second at offset 17"},
        {UPP_STR_INIT("2026-01-01T10:00:00."), "expected a digit of the fraction at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00.Z"), "expected a digit of the fraction at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00,5Z"), "expected 'Z', '+' or '-' at offset 19"},
        {UPP_STR_INIT("2026-01-01T10:00.5Z"), "expected 'Z', '+' or '-' at offset 16"},
        {UPP_STR_INIT("2026-01-01T10:00:00 Z"), "expected 'Z', '+' or '-' at offset 19"},
        {UPP_STR_INIT("2026-01-01T10:00:00\0"), "expected 'Z', '+' or '-' at offset 19"},
        {UPP_STR_INIT("2026-01-01T10:00:00ZZ"), "expected the end at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00Z "), "expected the end at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00+"), "expected a digit of the offset hour at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00+01"), "expected ':' at offset 22"},
        {UPP_STR_INIT("2026-01-01T10:00:00+0100"), "expected ':' at offset 22"},
        {UPP_STR_INIT("2026-01-01T10:00:00+01:"), "expected a digit of the offset minute at offset 23"},
        {UPP_STR_INIT("2026-01-01T10:00:00+24:00"), "offset hour 24 is not 00 to 23 at offset 20"},
        {UPP_STR_INIT("2026-01-01T10:00:00-23:60"), "offset minute 60 is not 00 to 59 at offset 23"},
        {UPP_STR_INIT("2026-01-01T10:00:00+01:00:00"), "expected the end at offset 25"},
        {UPP_STR_INIT("2026-01-01T10:00:00\xe2\x88\x92"
                      "01:00"),
         "expected 'Z', '+' or '-' at offset 19"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_time t = {.seconds = 7};
        struct upp_err err;
        char want[160];
        (void)snprintf(want, sizeof want, "not a time: %s", cases[i].what);
        test_note("%.*s", UPP_FMT(cases[i].text));
        CHECK_INT(wb_time_parse(cases[i].text, &t, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(want));
        CHECK(t.seconds == 7);
        CHECK_INT(wb_time_parse(cases[i].text, &t, NULL), -UPP_EINVALID);
    }
}

TEST(iso8601_every_prefix_is_read_or_refused)
{
    static const char whole[] = "2026-02-03T04:05:06.123456789012+05:30";
    for (size_t n = 0; n < sizeof whole; n++) {
        struct wb_time t;
        bool good = n == 10 || n == 16 || n == 19 || (n > 20 && n <= 32) || n == sizeof whole - 1;
        test_note("%.*s", (int)n, whole);
        CHECK((wb_time_parse(wb_str(whole, n), &t, NULL) == 0) == good);
    }
}

TEST(iso8601_compares_as_instants)
{
    /* In order; those on one row are the same moment. */
    static const char *const rows[][4] = {
        {"0001-01-01T00:00:00+23:59"},
        {"0001-01-01", "0001-01-01T00:00Z"},
        {"1969-12-31T23:59:59.999999999Z"},
        {"1970-01-01", "1970-01-01T00:00:00.000", "1970-01-01T01:00:00+01:00", "1969-12-31T00:01-23:59"},
        {"2024-02-28T23:59:59Z"},
        {"2024-02-29T00:00:00Z", "2024-02-28T23:00:00-01:00"},
        {"2024-12-31T23:59:59.9Z", "2025-01-01T09:59:59.90+10:00"},
        {"2025-01-01T00:00:00Z", "2024-12-31T19:00:00-05:00", "2025-01-01 05:30+05:30"},
        {"2025-01-01T00:00:00.0000000000000000000001Z"},
        {"2025-01-01T00:00:00.000000001Z", "2025-01-01T00:00:00.0000000010000000000Z"},
        {"2025-01-01T00:00:00.0000000010000000001Z"},
        {"2025-01-01T00:00:00.000000001000000000100001Z"},
        {"2025-01-01T00:00:00.00000000100000000011Z"},
        {"2025-01-01T00:00:00.000000001000000001Z", "2025-01-01T02:00:00.000000001000000001+02:00"},
        {"2025-01-01T00:00:00.00000000100000001Z"},
        {"9999-12-31T23:59:59.99999999999999999999Z"},
        {"9999-12-31T23:59:59-23:59"},
    };
    for (size_t i = 0; i < WB_LEN(rows); i++)
        for (size_t k = 0; k < WB_LEN(rows); k++)
            for (size_t x = 0; x < 4 && rows[i][x]; x++)
                for (size_t y = 0; y < 4 && rows[k][y]; y++) {
                    struct wb_time a, b;
                    test_note("%s and %s", rows[i][x], rows[k][y]);
                    CHECK(wb_time_parse(wb_cstr(rows[i][x]), &a, NULL) == 0);
                    CHECK(wb_time_parse(wb_cstr(rows[k][y]), &b, NULL) == 0);
                    CHECK_INT(wb_time_cmp(&a, &b), (i > k) - (i < k));
                }
}

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 11;
}

/* Written by us, read by us, and both as the C library has it. */
static bool agrees(int64_t ms, int offset)
{
    struct wb_time t = wb_time_from_ms(ms), back;
    char out[WB_TIME_TEXT], want[64];
    struct tm tm;
    time_t seconds = (time_t)t.seconds;
    if (!gmtime_r(&seconds, &tm))
        return false;
    (void)snprintf(want, sizeof want, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900, tm.tm_mon + 1,
                   tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec, (int)(t.nanos / 1000000));
    struct upp_str s = wb_time_upp(&t, out);
    if (!wb_str_eq(s, wb_cstr(want)) || wb_time_parse(s, &back, NULL) < 0 || wb_time_cmp(&t, &back) != 0 ||
        wb_time_ms(&back) != ms || back.seconds != timegm(&tm))
        return false;
    t.offset = (int16_t)offset;
    s = wb_time_pydantic(&t, out);
    return !s.p || (wb_time_parse(s, &back, NULL) == 0 && wb_time_cmp(&t, &back) == 0 && back.offset == offset);
}

TEST_WITH(iso8601_agrees_with_the_c_library, .no_torture = "it calls no hook")
{
    const int64_t first = -62135596800000, last = 253402300799999;
    uint64_t seed = 1;
    for (int i = 0; i < 100000; i++) {
        int64_t ms = first + (int64_t)(next(&seed) % (uint64_t)(last - first + 1));
        int offset = (int)(next(&seed) % 2879) - 1439;
        if (!agrees(ms, offset)) {
            test_note("%lld ms, offset %d", (long long)ms, offset);
            CHECK(agrees(ms, offset));
        }
    }
    for (int64_t day = -100000; day < 46097; day++) { /* every day of 400 years, which then repeat */
        if (!agrees(day * 86400000, 0)) {
            test_note("day %lld", (long long)day);
            CHECK(agrees(day * 86400000, 0));
        }
    }
    char out[WB_TIME_TEXT];
    struct wb_time t = wb_time_from_ms(first - 1);
    CHECK(!wb_time_upp(&t, out).p && !wb_time_pydantic(&t, out).p);
    t = wb_time_from_ms(last + 1);
    CHECK(!wb_time_upp(&t, out).p);
    t = wb_time_from_ms(INT64_MIN);
    CHECK(!wb_time_upp(&t, out).p && wb_time_ms(&t) == INT64_MIN);
    t = wb_time_from_ms(INT64_MAX);
    CHECK(!wb_time_upp(&t, out).p && wb_time_ms(&t) == INT64_MAX);
    t = wb_time_from_ms(-1);
    CHECK(t.seconds == -1 && t.nanos == 999000000 && wb_time_ms(&t) == -1);
}

/* The fast one takes a text exactly when the other does and would write the same. */
TEST(iso8601_knows_what_pydantic_spells)
{
    static const char *const texts[] = {"2026-02-03T04:05:06Z", "2024-02-29T23:59:59.000001Z", "0001-01-01T00:00:00Z",
                                        "9999-12-31T23:59:59.999999Z"};
    char out[WB_TIME_TEXT], text[WB_TIME_TEXT];
    for (size_t i = 0; i < WB_LEN(texts); i++)
        for (size_t at = 0; texts[i][at]; at++)
            for (const char *c = "0123456789-T:.Zz /\x80"; *c; c++) { /* one byte of it is another */
                struct wb_time t;
                (void)snprintf(text, sizeof text, "%s", texts[i]);
                text[at] = *c;
                bool want = wb_time_parse(wb_cstr(text), &t, NULL) == 0 && !t.naive && !t.date_only &&
                            wb_str_eq(wb_time_pydantic(&t, out), wb_cstr(text));
                test_note("%s", text);
                CHECK_INT(wb_time_is_pydantic(wb_cstr(text)), want);
            }
    CHECK(!wb_time_is_pydantic((struct upp_str){0}) && !wb_time_is_pydantic(UPP_STR("2026-02-03T04:05:06+00:00")));
}

TEST(iso8601_reads_its_own_spelling_fast)
{
    static const char *const texts[] = {"2026-02-03T04:05:06.007Z", "0001-01-01T00:00:00.000Z",
                                        "9999-12-31T23:59:59.999Z", "2024-02-29T00:00:00.000Z"};
    char out[WB_TIME_TEXT], text[WB_TIME_TEXT];
    for (size_t i = 0; i < WB_LEN(texts); i++)
        for (size_t at = 0; texts[i][at]; at++)
            for (const char *c = "0123456789-T:.Zz /\x80"; *c; c++) { /* one byte of it is another */
                struct wb_time t;
                int64_t ms = -7;
                (void)snprintf(text, sizeof text, "%s", texts[i]);
                text[at] = *c;
                bool want =
                    wb_time_parse(wb_cstr(text), &t, NULL) == 0 && wb_str_eq(wb_time_upp(&t, out), wb_cstr(text));
                test_note("%s", text);
                CHECK_INT(wb_time_parse_upp(wb_cstr(text), &ms), want);
                CHECK_INT(ms, want ? wb_time_ms(&t) : -7);
            }
    int64_t ms;
    CHECK(!wb_time_parse_upp(UPP_STR("2026-02-03T04:05:06.007Z "), &ms) &&
          !wb_time_parse_upp((struct upp_str){0}, &ms));
}

/* A text of whole seconds becomes UPP's as it does by parsing it, whatever one byte of it is. */
TEST(iso8601_spells_whole_seconds_fast)
{
    static const char good[] = "2024-02-29T23:59:59Z";
    char text[sizeof good], slow[WB_TIME_TEXT], fast[WB_TIME_TEXT];
    for (size_t i = 0; i + 1 < sizeof good; i++)
        for (const char *c = "0123456789TtZz-:. +"; *c; c++) {
            struct wb_time t;
            memcpy(text, good, sizeof good);
            text[i] = *c;
            struct upp_str was = wb_cstr(text), is = wb_time_upp_of(was, fast);
            bool one = wb_time_parse(was, &t, NULL) == 0;
            test_note("%s", text);
            if (is.p)
                CHECK(one && wb_str_eq(is, wb_time_upp(&t, slow)));
            else
                CHECK(!one || i == 10 || i == 19); /* "t", a blank, "z" */
        }
    CHECK(!wb_time_upp_of(UPP_STR("2024-02-29T23:59:59.000Z"), fast).p);
    CHECK(!wb_time_upp_of(UPP_STR(""), fast).p);
}
