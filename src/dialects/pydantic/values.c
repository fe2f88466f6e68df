/* dialects/pydantic/values.c — recognises the texts and numbers that Pydantic takes for an integer, a decimal, a
 * boolean or a time. */
#include "dialects/pydantic/values.h"

#include <string.h>

#include "base/iso8601.h"
#include "json/number.h"
#include "json/value.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Skips digits with single '_' between them from i on; returns the index after them. */
static size_t digits(struct upp_str s, size_t i)
{
    size_t from = i;
    while (i < s.n && (is_digit(s.p[i]) || (s.p[i] == '_' && i > from && s.p[i - 1] != '_')))
        i++;
    return i > from && s.p[i - 1] == '_' ? from : i;
}

static size_t sign(struct upp_str s)
{
    return s.n && (s.p[0] == '-' || s.p[0] == '+');
}

static bool text_is_int(struct upp_str s)
{
    s = wb_str_trim(s);
    size_t from = sign(s), i = digits(s, from);
    if (i == from)
        return false;
    if (i < s.n && s.p[i] == '.')
        for (i++; i < s.n && s.p[i] == '0'; i++)
            ;
    return i == s.n;
}

bool wd_pydantic_int(yyjson_val *v)
{
    int64_t unused;
    if (yyjson_is_str(v))
        return text_is_int(wj_text(v));
    if (!yyjson_is_raw(v))
        return yyjson_is_bool(v);
    struct upp_str s = wj_text(v);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] == '.' || s.p[i] == 'e' || s.p[i] == 'E')
            return wj_num_i64(s, &unused); /* a float must fit, an integer may have any size */
    return true;
}

bool wd_pydantic_decimal(yyjson_val *v)
{
    if (yyjson_is_raw(v))
        return true;
    if (!yyjson_is_str(v))
        return false;
    struct upp_str s = wb_str_trim(wj_text(v));
    size_t from = sign(s), i = digits(s, from), n = i - from;
    if (i < s.n && s.p[i] == '.') {
        size_t end = digits(s, i + 1);
        n += end - (i + 1);
        i = end;
    }
    if (n && i < s.n && (s.p[i] == 'e' || s.p[i] == 'E')) {
        size_t exponent = i + 1 + sign(wb_str_sub(s, i + 1, SIZE_MAX));
        i = digits(s, exponent);
        n = i - exponent;
    }
    return n && i == s.n;
}

bool wd_pydantic_bool(yyjson_val *v)
{
    static const char *const words[] = {"0", "off", "f", "false", "n", "no", "1", "on", "t", "true", "y", "yes"};
    int64_t n;
    if (yyjson_is_raw(v))
        return wj_num_i64(wj_text(v), &n) && (n == 0 || n == 1);
    if (!yyjson_is_str(v))
        return yyjson_is_bool(v);
    for (size_t i = 0; i < WB_LEN(words); i++)
        if (wb_str_eq_nocase(wj_text(v), wb_cstr(words[i])))
            return true;
    return false;
}

/* Seconds since 1970 or, if the number is too large, milliseconds: from the year 1 to 9999. */
static bool number_is_time(struct upp_str s)
{
    static const double first = -62135596800, end = 253402300800, most = 2e10;
    double n;
    if (!wj_num_f64(s, &n))
        return false;
    if (n > most || n < -most)
        n /= 1000;
    return n >= first && n < end;
}

bool wd_pydantic_time(yyjson_val *v)
{
    char text[80];
    struct wb_time t;
    if (yyjson_is_raw(v))
        return number_is_time(wj_text(v));
    if (!yyjson_is_str(v))
        return false;
    struct upp_str s = wj_text(v);
    if (wb_time_parse(s, &t, NULL) >= 0 || (wj_num_valid(s) && number_is_time(s)))
        return true;
    if (s.n < 16 || s.n + 1 > sizeof text)
        return false;
    /* Accepted beyond RFC 3339: '_' before the hours, a comma before the fraction, offsets without a colon. */
    memcpy(text, s.p, s.n);
    if (text[10] == '_')
        text[10] = 'T';
    char *comma = memchr(text, ',', s.n);
    if (comma)
        *comma = '.';
    size_t n = s.n, zone = n - 5;
    if ((text[zone] == '+' || text[zone] == '-') && is_digit(text[n - 1]) && is_digit(text[n - 3])) {
        memmove(text + n - 1, text + n - 2, 2);
        text[n - 2] = ':';
        n++;
    }
    return wb_time_parse(wb_str(text, n), &t, NULL) >= 0;
}
