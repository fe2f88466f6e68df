#include "server/keys/limits.h"

#include "base/defs.h"
#include "base/str.h"
#include "support/test.h"

static bool writes(const struct sv_limits *l, const char *text)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(256);
    sv_limits_write(l, &out);
    test_note("%.*s", UPP_FMT(wb_buf_str(&out)));
    return wb_str_eq(wb_buf_str(&out), wb_cstr(text));
}

TEST(limits_are_read_and_written)
{
    static const struct {
        const char *text, *again;
    } cases[] = {
        {"", ""},
        {"requests=600/m", "requests=600/m"},
        {"requests=600", "requests=600/m"},
        {"runs=8,requests=1/m", "requests=1/m,runs=8"},
        {"requests=600/m,runs=8,tokens=1000000/d,bytes=10GiB",
         "requests=600/m,runs=8,tokens=1000000/d,bytes=10737418240"},
        {"bytes=1KiB", "bytes=1024"},
        {"bytes=3MB", "bytes=3000000"},
        {"requests=1000000000/m", "requests=1000000000/m"},
        {"bytes=1024TiB", "bytes=1125899906842624"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_limits l;
        struct upp_err err = {0};
        test_note("%s", cases[i].text);
        CHECK_INT(sv_limits_parse(wb_cstr(cases[i].text), &l, &err), 0);
        CHECK(writes(&l, cases[i].again));
        CHECK_INT(sv_limits_parse(wb_cstr(cases[i].again), &l, &err), 0); /* and what is written is read */
        CHECK(writes(&l, cases[i].again));
    }
}

TEST(limits_that_are_none_are_refused)
{
    static const char *const cases[] = {
        "requests",
        "requests=",
        "requests=0",
        "requests=-1",
        "requests=1/d",
        "request=1/m",
        "runs=8/m",
        "tokens=1/m",
        "bytes=1/d",
        "bytes=1GiBGiB",
        "bytes=1 GiB",
        "runs=8,",
        ",runs=8",
        "runs=8,runs=9",
        "runs=1.5",
        "runs=8;",
        "runs =8",
        "bytes=GiB",
        "requests=1000000001",
        "bytes=1025TiB",
        "tokens=1125899906842625",
        "tokens=99999999999999999999",
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_limits l = {.runs = 7};
        struct upp_err err = {0};
        test_note("%s", cases[i]);
        CHECK_INT(sv_limits_parse(wb_cstr(cases[i]), &l, &err), -UPP_EINVALID);
        CHECK(l.runs == 7 && err.msg[0]);
        CHECK(!strstr(cases[i], "bytes") || strstr(err.msg, "kB, MB, GB, TB, KiB, MiB, GiB, TiB"));
    }
}

TEST(limits_of_two_are_the_stricter)
{
    struct sv_limits a = {.requests = 5, .runs = 0, .tokens = 9}, b = {.requests = 6, .runs = 2, .tokens = 3};
    struct sv_limits l = sv_limits_both(&a, &b);
    CHECK(writes(&l, "requests=5/m,runs=2,tokens=3/d"));
    l = sv_limits_both(&b, &a);
    CHECK(writes(&l, "requests=5/m,runs=2,tokens=3/d"));
}

TEST(bucket_holds_a_minute_and_refills_evenly)
{
    struct sv_bucket b = {0};
    uint64_t now = 1000000;
    CHECK_INT(sv_bucket_left(&b, 6, now), 6);
    CHECK_INT(sv_bucket_reset_ms(&b, 6, now), 0);
    for (int i = 0; i < 6; i++)
        CHECK_INT(sv_bucket_take(&b, 6, now), 0);
    CHECK_INT(sv_bucket_left(&b, 6, now), 0);
    CHECK_INT(sv_bucket_reset_ms(&b, 6, now), 60000);
    CHECK_INT(sv_bucket_take(&b, 6, now), 10000); /* one every ten seconds */
    CHECK_INT(sv_bucket_take(&b, 6, now + 9999), 1);
    CHECK_INT(sv_bucket_left(&b, 6, now + 10000), 1);
    CHECK_INT(sv_bucket_take(&b, 6, now + 10000), 0);
    CHECK_INT(sv_bucket_take(&b, 6, now + 10000), 10000);
    CHECK_INT(sv_bucket_left(&b, 6, now + 69999), 5);
    CHECK_INT(sv_bucket_left(&b, 6, now + 70000), 6);
    CHECK_INT(sv_bucket_left(&b, 6, UINT64_MAX), 6); /* and never more */
    CHECK_INT(sv_bucket_take(&b, 6, 5), 10000);      /* a clock that went back gives nothing */
}

TEST(bucket_waits_as_long_as_it_says)
{
    static const uint64_t rates[] = {1, 7, 59, 61, 1000, 65537, SV_REQUESTS_MAX};
    for (size_t i = 0; i < WB_LEN(rates); i++) {
        struct sv_bucket b = {0};
        uint64_t now = 77, wait;
        test_note("%llu", (unsigned long long)rates[i]);
        for (unsigned n = 0; n < 200; n++) {
            if (n < 100 && sv_bucket_left(&b, rates[i], now) > 50)
                b = (struct sv_bucket){60000 * (rates[i] - 1), now}; /* nearly empty */
            wait = sv_bucket_take(&b, rates[i], now);
            if (!wait)
                continue;
            CHECK(sv_bucket_take(&(struct sv_bucket){b.used, b.at_ms}, rates[i], now + wait - 1) > 0);
            now += wait;
            CHECK_INT(sv_bucket_take(&b, rates[i], now), 0);
        }
    }
}

TEST(durations_are_written_as_openai_does)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } cases[] = {{0, "0ms"},      {350, "350ms"},   {1000, "1s"},        {1001, "2s"},         {59000, "59s"},
                 {60000, "1m0s"}, {360000, "6m0s"}, {3600000, "1h0m0s"}, {18180000, "5h3m0s"}, {86400000, "24h0m0s"}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        char out[SV_DURATION];
        CHECK_STR(sv_duration(cases[i].ms, out), wb_cstr(cases[i].text));
    }
}
