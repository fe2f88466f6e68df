/* base/iso8601.c — moments as text.
 *
 * Days are counted in years that begin in March, so that the leap day is the last of its year, and in cycles of
 * 400 years, which always have the same number of days.
 */
#include "base/iso8601.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/defs.h"

enum { DAY = 86400, CYCLE_DAYS = 146097, CYCLE_YEARS = 400, EPOCH_DAYS = 719468 /* 0000-03-01 to 1970-01-01 */ };

struct date {
    int64_t year;
    unsigned month, day; /* from 1 */
};

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static int64_t days_of(struct date d)
{
    int64_t year = d.year - (d.month <= 2);
    int64_t cycle = floor_div(year, CYCLE_YEARS), of_cycle = year - cycle * CYCLE_YEARS;
    unsigned of_year = (153 * (d.month + (d.month > 2 ? -3u : 9u)) + 2) / 5 + d.day - 1;
    return cycle * CYCLE_DAYS + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - EPOCH_DAYS;
}

static struct date date_of(int64_t days)
{
    days += EPOCH_DAYS;
    int64_t cycle = floor_div(days, CYCLE_DAYS);
    unsigned of_cycle = (unsigned)(days - cycle * CYCLE_DAYS);
    unsigned year = (of_cycle - of_cycle / 1460 + of_cycle / 36524 - of_cycle / 146096) / 365;
    unsigned of_year = of_cycle - (365 * year + year / 4 - year / 100);
    unsigned month = (5 * of_year + 2) / 153; /* 0 is March */
    return (struct date){
        .year = cycle * CYCLE_YEARS + year + (month >= 10),
        .month = month < 10 ? month + 3 : month - 9,
        .day = of_year - (153 * month + 2) / 5 + 1,
    };
}

static const struct {
    const char *name;
    unsigned days;
} months[] = {
    {"January", 31}, {"February", 28}, {"March", 31},     {"April", 30},   {"May", 31},      {"June", 30},
    {"July", 31},    {"August", 31},   {"September", 30}, {"October", 31}, {"November", 30}, {"December", 31},
};

static unsigned days_in(int64_t year, unsigned month)
{
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return months[month - 1].days + (month == 2 && leap);
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct reader {
    struct upp_str text;
    size_t at;
    struct upp_err *err;
};

UPP_PRINTF(3, 4) static int wrong(struct reader *r, size_t at, const char *fmt, ...)
{
    char what[80];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    return upp_fail(r->err, UPP_EINVALID, "not a time: %s at offset %zu", what, at);
}

static bool next_is(const struct reader *r, char c)
{
    return r->at < r->text.n && r->text.p[r->at] == c;
}

static bool next_is_digit(const struct reader *r)
{
    return r->at < r->text.n && r->text.p[r->at] >= '0' && r->text.p[r->at] <= '9';
}

static int skip(struct reader *r, char c)
{
    if (!next_is(r, c))
        return wrong(r, r->at, "expected '%c'", c);
    r->at++;
    return 0;
}

/* Exactly `digits` of them, from `low` to `high`. */
static int number(struct reader *r, const char *what, unsigned digits, unsigned low, unsigned high, unsigned *ret)
{
    unsigned v = 0;
    size_t from = r->at;
    for (unsigned i = 0; i < digits; i++, r->at++) {
        if (!next_is_digit(r))
            return wrong(r, r->at, "expected a digit of the %s", what);
        v = v * 10 + (unsigned)(r->text.p[r->at] - '0');
    }
    if (v < low || v > high)
        return wrong(r, from, "%s %0*u is not %0*u to %u", what, (int)digits, v, (int)digits, low, high);
    *ret = v;
    return 0;
}

static int read_date(struct reader *r, struct wb_time *t)
{
    unsigned year = 0, month = 1, day = 0;
    size_t at;
    int e = number(r, "year", 4, 1, 9999, &year);
    if (e == 0)
        e = skip(r, '-');
    if (e == 0)
        e = number(r, "month", 2, 1, 12, &month);
    if (e == 0)
        e = skip(r, '-');
    at = r->at;
    if (e == 0)
        e = number(r, "day", 2, 1, 31, &day);
    if (e < 0)
        return e;
    if (day > days_in(year, month))
        return wrong(r, at, "day %u is not in %s %04u", day, months[month - 1].name, year);
    t->seconds = days_of((struct date){year, month, day}) * DAY;
    return 0;
}

static int read_fraction(struct reader *r, struct wb_time *t)
{
    r->at++; /* the point */
    size_t from = r->at;
    if (!next_is_digit(r))
        return wrong(r, r->at, "expected a digit of the fraction");
    for (uint32_t worth = 100000000; next_is_digit(r); worth /= 10, r->at++)
        t->nanos += worth * (uint32_t)(r->text.p[r->at] - '0'); /* worth nothing after the ninth */
    if (r->at - from > 9) {
        t->finer = wb_str_sub(r->text, from + 9, r->at - from - 9);
        while (t->finer.n && t->finer.p[t->finer.n - 1] == '0')
            t->finer.n--;
    }
    return 0;
}

static int read_clock(struct reader *r, struct wb_time *t)
{
    unsigned hour = 0, minute = 0, second = 0;
    int e = number(r, "hour", 2, 0, 23, &hour);
    if (e == 0)
        e = skip(r, ':');
    if (e == 0)
        e = number(r, "minute", 2, 0, 59, &minute);
    if (e == 0 && next_is(r, ':')) {
        r->at++;
        e = number(r, "second", 2, 0, 59, &second);
        if (e == 0 && next_is(r, '.'))
            e = read_fraction(r, t);
    }
    if (e == 0)
        t->seconds += (hour * 60 + minute) * 60 + second;
    return e;
}

static int read_offset(struct reader *r, struct wb_time *t)
{
    unsigned hour = 0, minute = 0;
    bool west = next_is(r, '-');
    if (next_is(r, 'Z') || next_is(r, 'z')) {
        r->at++;
        return 0;
    }
    if (!west && !next_is(r, '+')) {
        t->naive = true;
        return 0;
    }
    r->at++;
    int e = number(r, "offset hour", 2, 0, 23, &hour);
    if (e == 0)
        e = skip(r, ':');
    if (e == 0)
        e = number(r, "offset minute", 2, 0, 59, &minute);
    if (e < 0)
        return e;
    t->offset = (int16_t)(hour * 60 + minute);
    if (west)
        t->offset = (int16_t)-t->offset;
    t->seconds -= t->offset * 60;
    return 0;
}

/* The value of n digits; what is none of them makes *bad greater than 9. */
static inline unsigned fixed(const char *p, unsigned n, unsigned *bad)
{
    unsigned v = 0;
    for (unsigned i = 0; i < n; i++) {
        unsigned digit = (unsigned char)p[i] - (unsigned)'0';
        *bad = WB_MAX(*bad, digit);
        v = v * 10 + digit;
    }
    return v;
}

/* Does it begin as nearly every time does? */
enum { PLAIN = sizeof "2026-01-02T03:04:05" - 1 };

static bool plain(struct upp_str text, int64_t *seconds)
{
    const char *p = text.p;
    unsigned bad = 0;
    if (text.n < PLAIN || p[4] != '-' || p[7] != '-' || p[10] != 'T' || p[13] != ':' || p[16] != ':')
        return false;
    unsigned year = fixed(p, 4, &bad), month = fixed(p + 5, 2, &bad), day = fixed(p + 8, 2, &bad);
    unsigned hour = fixed(p + 11, 2, &bad), minute = fixed(p + 14, 2, &bad), second = fixed(p + 17, 2, &bad);
    if (bad > 9 || year < 1 || month < 1 || month > 12 || day < 1 || day > days_in(year, month) || hour > 23 ||
        minute > 59 || second > 59)
        return false;
    *seconds = days_of((struct date){year, month, day}) * DAY + (int64_t)(hour * 3600 + minute * 60 + second);
    return true;
}

bool wb_time_parse_upp(struct upp_str text, int64_t *ms)
{
    unsigned bad = 0;
    int64_t seconds;
    if (text.n != PLAIN + sizeof ".678Z" - 1 || text.p[PLAIN] != '.' || text.p[PLAIN + 4] != 'Z')
        return false;
    unsigned milli = fixed(text.p + PLAIN + 1, 3, &bad);
    if (bad > 9 || !plain(text, &seconds))
        return false;
    *ms = seconds * 1000 + milli;
    return true;
}

bool wb_time_is_pydantic(struct upp_str text)
{
    unsigned bad = 0;
    int64_t seconds;
    if (text.n == PLAIN + sizeof ".678901Z" - 1) {
        if (text.p[PLAIN] != '.' || !fixed(text.p + PLAIN + 1, 6, &bad) || bad > 9)
            return false;
    } else if (text.n != PLAIN + sizeof "Z" - 1)
        return false;
    return text.p[text.n - 1] == 'Z' && plain(text, &seconds);
}

/* The date, and the clock behind it where there is one. */
static int read_local(struct reader *r, struct wb_time *t)
{
    if (plain(r->text, &t->seconds)) {
        r->at = PLAIN;
        return next_is(r, '.') ? read_fraction(r, t) : 0;
    }
    int e = read_date(r, t);
    if (e < 0 || r->at == r->text.n) {
        t->naive = t->date_only = true;
        return e;
    }
    if (!next_is(r, 'T') && !next_is(r, 't') && !next_is(r, ' '))
        return wrong(r, r->at, "expected 'T' or a blank after the date");
    r->at++;
    return read_clock(r, t);
}

int wb_time_parse(struct upp_str text, struct wb_time *ret, struct upp_err *err)
{
    struct reader r = {.text = text, .err = err};
    struct wb_time t = {.text = text};

    int e = read_local(&r, &t);
    if (e == 0 && !t.date_only)
        e = read_offset(&r, &t);
    if (e < 0)
        return e;
    if (r.at != text.n)
        return wrong(&r, r.at, t.naive ? "expected 'Z', '+' or '-'" : "expected the end");
    *ret = t;
    return 0;
}

/* ---- Comparing and writing ------------------------------------------------------------------- */

int wb_time_cmp(const struct wb_time *a, const struct wb_time *b)
{
    if (a->seconds != b->seconds)
        return a->seconds < b->seconds ? -1 : 1;
    if (a->nanos != b->nanos)
        return a->nanos < b->nanos ? -1 : 1;
    return !a->finer.n && !b->finer.n
               ? 0
               : wb_str_cmp(a->finer, b->finer); /* fractions without zeros at the end sort as text */
}

struct wb_time wb_time_from_ms(int64_t ms)
{
    int64_t left = ms % 1000;
    return (struct wb_time){
        .seconds = floor_div(ms, 1000),
        .nanos = (uint32_t)(left < 0 ? left + 1000 : left) * 1000000,
    };
}

int64_t wb_time_ms(const struct wb_time *t)
{
    return (int64_t)((uint64_t)t->seconds * 1000 + t->nanos / 1000000); /* right even where the product wraps */
}

static char *put(char *out, unsigned digits, unsigned v)
{
    for (unsigned i = digits; i--; v /= 10)
        out[i] = (char)('0' + v % 10);
    return out + digits;
}

static inline char *put_two(char *out, unsigned v)
{
    out[0] = (char)('0' + v / 10);
    out[1] = (char)('0' + v % 10);
    return out + 2;
}

/* "YYYY-MM-DDTHH:MM:SS"; NULL when the year does not fit. */
static char *put_local(char *out, int64_t seconds)
{
    int64_t days = floor_div(seconds, DAY);
    unsigned left = (unsigned)(seconds - days * DAY);
    struct date d = date_of(days);
    if (d.year < 1 || d.year > 9999)
        return NULL;
    out = put_two(put_two(out, (unsigned)d.year / 100), (unsigned)d.year % 100);
    *out++ = '-';
    out = put_two(out, d.month);
    *out++ = '-';
    out = put_two(out, d.day);
    *out++ = 'T';
    out = put_two(out, left / 3600);
    *out++ = ':';
    out = put_two(out, left / 60 % 60);
    *out++ = ':';
    return put_two(out, left % 60);
}

struct upp_str wb_time_upp(const struct wb_time *t, char out[WB_TIME_TEXT])
{
    char *end = put_local(out, t->seconds);
    if (!end)
        return (struct upp_str){0};
    *end++ = '.';
    end = put(end, 3, t->nanos / 1000000);
    *end++ = 'Z';
    *end = 0;
    return wb_str(out, (size_t)(end - out));
}

struct upp_str wb_time_upp_of(struct upp_str text, char out[WB_TIME_TEXT])
{
    static const char zero[] = ".000Z";
    int64_t unused;
    if (text.n != PLAIN + 1 || text.p[PLAIN] != 'Z' || !plain(text, &unused))
        return (struct upp_str){0};
    memcpy(out, text.p, PLAIN);
    memcpy(out + PLAIN, zero, sizeof zero);
    return wb_str(out, PLAIN + sizeof zero - 1);
}

struct upp_str wb_time_pydantic(const struct wb_time *t, char out[WB_TIME_TEXT])
{
    char *end = put_local(out, t->seconds + t->offset * 60);
    if (!end)
        return (struct upp_str){0};
    if (t->nanos >= 1000) {
        *end++ = '.';
        end = put(end, 6, t->nanos / 1000);
    }
    if (t->offset) {
        unsigned minutes = (unsigned)(t->offset < 0 ? -t->offset : t->offset);
        *end++ = t->offset < 0 ? '-' : '+';
        end = put(end, 2, minutes / 60);
        *end++ = ':';
        end = put(end, 2, minutes % 60);
    } else if (!t->naive) {
        *end++ = 'Z';
    }
    *end = 0;
    return wb_str(out, (size_t)(end - out));
}
