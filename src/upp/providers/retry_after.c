/* upp/providers/retry_after.c — when to retry, in the forms that servers use: durations, seconds, dates. */
#include <stdio.h>

#include "base/defs.h"
#include "base/iso8601.h"
#include "base/str.h"
#include "upp/providers/provider_error.h"

enum { BILLION = 1000000000 };

struct decimal {
    uint64_t whole;
    uint64_t billionths; /* more digits are passed over */
};

static bool digit_at(struct upp_str s, size_t i)
{
    return i < s.n && s.p[i] >= '0' && s.p[i] <= '9';
}

/* Takes "12", "1.5" or ".5" off the beginning of *s. In whole numbers: 34.4 has no binary form. */
static bool take_decimal(struct upp_str *s, struct decimal *ret)
{
    struct decimal d = {0};
    size_t i = 0;
    for (; digit_at(*s, i); i++)
        if (__builtin_mul_overflow(d.whole, (uint64_t)10, &d.whole) ||
            __builtin_add_overflow(d.whole, (uint64_t)(s->p[i] - '0'), &d.whole))
            return false;
    bool any = i > 0;
    if (i < s->n && s->p[i] == '.' && (any || digit_at(*s, i + 1))) {
        any = true;
        i++;
        for (uint64_t unit = BILLION / 10; digit_at(*s, i); i++, unit /= 10)
            d.billionths += unit * (uint64_t)(s->p[i] - '0');
    }
    if (!any)
        return false;
    *s = wb_str_sub(*s, i, s->n);
    *ret = d;
    return true;
}

/* d units of `unit` ms, rounded up. */
static bool in_ms(struct decimal d, uint64_t unit, uint64_t *ret)
{
    uint64_t ms, part = (d.billionths * unit + BILLION - 1) / BILLION; /* at most an hour of billionths: 3.6e15 */
    return !__builtin_mul_overflow(d.whole, unit, &ms) && !__builtin_add_overflow(ms, part, ret);
}

static const struct {
    struct upp_str name;
    uint64_t ms, per_ms; /* one of them is 1 */
} units[] = {
    {UPP_STR_INIT("ms"), 1, 1},           {UPP_STR_INIT("us"), 1, 1000},
    {UPP_STR_INIT("\xc2\xb5s"), 1, 1000}, /* the micro sign, and the Greek
                                             letter, which Go reads as well */
    {UPP_STR_INIT("\xce\xbcs"), 1, 1000}, {UPP_STR_INIT("ns"), 1, 1000000},
    {UPP_STR_INIT("h"), 3600000, 1},      {UPP_STR_INIT("m"), 60000, 1},
    {UPP_STR_INIT("s"), 1000, 1},
};

/* Takes "6m" off the beginning. */
static bool take_piece(struct upp_str *s, uint64_t *ret)
{
    struct decimal d;
    if (!take_decimal(s, &d))
        return false;
    for (size_t i = 0; i < WB_LEN(units); i++) {
        if (!wb_str_starts(*s, units[i].name))
            continue;
        *s = wb_str_sub(*s, units[i].name.n, s->n);
        if (units[i].per_ms == 1)
            return in_ms(d, units[i].ms, ret);
        *ret = d.whole / units[i].per_ms + (d.whole % units[i].per_ms || d.billionths);
        return true;
    }
    return false;
}

bool upp__duration_ms(struct upp_str s, uint64_t *ret)
{
    uint64_t sum = 0, ms;
    if (!s.n)
        return false;
    while (s.n)
        if (!take_piece(&s, &ms) || __builtin_add_overflow(sum, ms, &sum))
            return false;
    *ret = sum;
    return true;
}

static int month_of(struct upp_str word)
{
    static const char names[] = "janfebmaraprmayjunjulaugsepoctnovdec";
    for (int i = 0; i < 12; i++)
        if (wb_str_eq_nocase(word, wb_str(names + (size_t)i * 3, 3)))
            return i + 1;
    return 0;
}

/* A year of two digits is the one that is not more than 50 years ahead (RFC 9110, 5.6.7). */
static uint64_t whole_year(uint64_t year, int64_t now_ms)
{
    struct wb_time now = wb_time_from_ms(now_ms);
    char text[WB_TIME_TEXT];
    uint64_t this_year;
    if (!wb_str_u64(wb_str_sub(wb_time_upp(&now, text), 0, 4), &this_year))
        return year;
    year += this_year - this_year % 100;
    return year > this_year + 50 ? year - 100 : year + 50 < this_year ? year + 100 : year;
}

/* Words between blanks, commas and dashes: how many; 0 where there are more than `max`. */
static size_t words_of(struct upp_str s, struct upp_str *words, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n;) {
        size_t end = i;
        while (end < s.n && !memchr(" ,-", s.p[end], 3))
            end++;
        if (end > i) {
            if (n == max)
                return 0;
            words[n++] = wb_str_sub(s, i, end - i);
        }
        i = end + 1;
    }
    return n;
}

/* The three forms of RFC 9110:
 *   Sun, 06 Nov 1994 08:49:37 GMT     Sunday, 06-Nov-94 08:49:37 GMT     Sun Nov  6 08:49:37 1994
 * The calendar is checked by wb_time_parse, which reads what is made of it. Nobody minds the name of the day. */
static bool date_ms(struct upp_str s, int64_t now_ms, int64_t *ret)
{
    struct upp_str w[6], time;
    uint64_t day, year;
    size_t n = words_of(s, w, WB_LEN(w));
    bool asctime = n == 5 && month_of(w[1]);
    if (!asctime && (n != 6 || !(wb_str_eq(w[5], UPP_STR("GMT")) || wb_str_eq(w[5], UPP_STR("UTC")))))
        return false;
    int month = month_of(w[asctime ? 1 : 2]);
    time = w[asctime ? 3 : 4];
    if (!month || !wb_str_u64(w[asctime ? 2 : 1], &day) || day > 31 || !wb_str_u64(w[asctime ? 4 : 3], &year) ||
        year > 9999 || time.n != 8)
        return false;
    if (w[asctime ? 4 : 3].n == 2)
        year = whole_year(year, now_ms);
    char iso[40];
    struct wb_time t;
    bool leap = wb_str_ends(time, UPP_STR(":60")); /* allowed there; here there are none */
    (void)snprintf(iso, sizeof iso, "%04u-%02d-%02uT%.*s%sZ", (unsigned)year, month, (unsigned)day, leap ? 6 : 8,
                   time.p, leap ? "59" : "");
    if (wb_time_parse(wb_cstr(iso), &t, NULL) < 0)
        return false;
    *ret = wb_time_ms(&t);
    return true;
}

/* Here and not by upp_http_header: a transport that a program brings may leave names as they came. */
static struct upp_str header(const struct upp_http_head *h, struct upp_str name)
{
    for (size_t i = 0; i < h->n_headers; i++)
        if (wb_str_eq_nocase(h->headers[i].name, name))
            return wb_str_trim(h->headers[i].value);
    return (struct upp_str){0};
}

/* From now until the moment; 0 where it has passed. */
static uint64_t until(int64_t then, int64_t now_ms)
{
    return then > now_ms ? (uint64_t)then - (uint64_t)now_ms : 0;
}

/* Seconds, a duration, a date, or text that begins with seconds. False: it says nothing. */
static bool after_ms(struct upp_str s, int64_t now_ms, uint64_t *ret)
{
    struct upp_str rest = s;
    struct decimal d;
    struct wb_time t;
    int64_t then;
    bool number = take_decimal(&rest, &d) && in_ms(d, 1000, ret);
    if (number && !rest.n)
        return true;
    if (date_ms(s, now_ms, &then)) {
        *ret = until(then, now_ms);
        return true;
    }
    if (wb_time_parse(s, &t, NULL) == 0) {
        *ret = until(wb_time_ms(&t), now_ms);
        return true;
    }
    uint64_t said;
    if (!upp__duration_ms(s, &said))
        return number;
    *ret = said;
    return true;
}

uint64_t upp__retry_after(const struct upp_http_head *h, int64_t now_ms, uint64_t max_ms)
{
    /* What the vendors' own clients take for nonsense, and so do we. */
    const uint64_t too_long = INT32_MAX;
    if (wb_str_eq_nocase(header(h, UPP_STR("x-should-retry")), UPP_STR("false")))
        return UINT64_MAX;
    struct upp_str s = header(h, UPP_STR("retry-after-ms"));
    struct decimal d;
    uint64_t ms = 0, other;
    bool said = take_decimal(&s, &d) && !s.n && in_ms(d, 1, &ms) && ms <= too_long;
    if ((!said || !ms) && after_ms(header(h, UPP_STR("retry-after")), now_ms, &other) && other <= too_long) {
        said = true;
        ms = other;
    }
    /* At once is one ms: 0 stands for nothing said, and then a strategy may wait long. */
    return said ? WB_MIN(WB_MAX(ms, (uint64_t)1), max_ms) : 0;
}
