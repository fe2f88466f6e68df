/* json/number.c — numbers as text: values, exact comparison, formatting. */
#include "json/number.h"

#include <stdio.h>
#include <yyjson.h>

#include "base/defs.h"

/* A parsed number. Its value is 0.DIGITS * 10^(exponent + scale), where DIGITS are the digits of the mantissa from the
 * first to the last that is not zero; the exponent is still text. */
struct parts {
    bool negative, zero;
    const char *digits; /* the first that is not zero; a '.' may be among them */
    size_t n;           /* number of digits, without the '.' */
    int64_t scale;
    bool exp_negative;
    struct upp_str exp; /* digits without leading zeros; empty: 0 */
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static struct parts take_apart(struct upp_str s)
{
    struct parts p = {.zero = true};
    const char *at = s.p, *end = s.p + s.n;
    size_t all = 0, last = 0; /* digits since the first nonzero one; of those, up to the last nonzero one */
    bool dot = false;
    if (at < end && *at == '-') {
        p.negative = true;
        at++;
    }
    for (; at < end && (is_digit(*at) || *at == '.'); at++) {
        if (*at == '.') {
            dot = true;
            continue;
        }
        if (p.zero && *at == '0') { /* leading: counts only after the point */
            p.scale -= dot;
            continue;
        }
        if (p.zero) {
            p.zero = false;
            p.digits = at;
        }
        all++;
        p.scale += !dot;
        if (*at != '0')
            last = all;
    }
    p.n = last;
    if (at < end) { /* the e */
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            p.exp_negative = *at++ == '-';
        while (at < end && *at == '0')
            at++;
        p.exp = wb_str(at, (size_t)(end - at));
    }
    return p;
}

/* Returns the next digit, skipping the point. */
static char next_digit(const char **at)
{
    if (**at == '.')
        ++*at;
    return *(*at)++;
}

/* exponent(a) - exponent(b): exact unless beyond FAR, then any value beyond FAR. Exponents may have a million digits.
 * Each step takes one digit of both; once the difference is large, no later digit can make it small again. */
static int64_t exponent_diff(const struct parts *a, const struct parts *b)
{
    static const int64_t FAR = 100000000000000000;
    size_t n = WB_MAX(a->exp.n, b->exp.n);
    int64_t diff = 0;
    for (size_t i = 0; i < n && diff < FAR && diff > -FAR; i++) {
        int x = n - i <= a->exp.n ? a->exp.p[a->exp.n - (n - i)] - '0' : 0;
        int y = n - i <= b->exp.n ? b->exp.p[b->exp.n - (n - i)] - '0' : 0;
        diff = diff * 10 + (a->exp_negative ? -x : x) - (b->exp_negative ? -y : y);
    }
    return diff;
}

bool wj_num_eq(struct upp_str sa, struct upp_str sb)
{
    struct parts a = take_apart(sa), b = take_apart(sb);
    if (a.zero || b.zero)
        return a.zero && b.zero;
    if (a.negative != b.negative || a.n != b.n || exponent_diff(&a, &b) != b.scale - a.scale)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (next_digit(&a.digits) != next_digit(&b.digits))
            return false;
    return true;
}

/* Compares the digits of two numbers whose first digits have the same weight. */
static int compare_digits(const struct parts *a, const struct parts *b)
{
    const char *x = a->digits, *y = b->digits;
    for (size_t i = 0; i < a->n && i < b->n; i++) {
        char d = next_digit(&x), e = next_digit(&y);
        if (d != e)
            return d < e ? -1 : 1;
    }
    return (a->n > b->n) - (a->n < b->n); /* the last digit is not zero */
}

int wj_num_cmp(struct upp_str sa, struct upp_str sb)
{
    struct parts a = take_apart(sa), b = take_apart(sb);
    int x = a.zero ? 0 : a.negative ? -1 : 1, y = b.zero ? 0 : b.negative ? -1 : 1;
    if (x != y || x == 0)
        return (x > y) - (x < y);
    int64_t places = exponent_diff(&a, &b) + a.scale - b.scale; /* scales are far below FAR */
    return x * (places ? (places > 0) - (places < 0) : compare_digits(&a, &b));
}

/* The exponent as a number; beyond +-10^15, any value beyond that. */
static int64_t exponent(const struct parts *p)
{
    int64_t n = 0;
    for (size_t i = 0; i < p->exp.n && n < 1000000000000000; i++)
        n = n * 10 + (p->exp.p[i] - '0');
    return p->exp_negative ? -n : n;
}

bool wj_num_whole(struct upp_str s)
{
    struct parts p = take_apart(s);
    return p.zero || exponent(&p) + p.scale >= (int64_t)p.n;
}

bool wj_num_divisor(struct upp_str s)
{
    struct parts p = take_apart(s);
    return !p.zero && !p.negative && p.n <= WJ_NUM_DIVISOR;
}

bool wj_num_multiple(struct upp_str sa, struct upp_str sb)
{
    /* So many tens contain 2^64 and 5^64, more than a divisor of 18 digits can; and ten times 18 digits fit 64 bits. */
    enum { ENOUGH = 64 };
    struct parts a = take_apart(sa), b = take_apart(sb);
    const char *at = b.digits;
    uint64_t divisor = 0, rest = 0;
    if (a.zero)
        return true;
    for (size_t i = 0; i < b.n; i++)
        divisor = divisor * 10 + (uint64_t)(next_digit(&at) - '0');
    /* Both as integers without trailing zeros; `tens` is the remaining power of ten between them. */
    int64_t tens = exponent_diff(&a, &b) + (a.scale - (int64_t)a.n) - (b.scale - (int64_t)b.n);
    if (tens < 0)
        return false; /* a would have to end in a zero */
    at = a.digits;
    for (size_t i = 0; i < a.n; i++)
        rest = (rest * 10 + (uint64_t)(next_digit(&at) - '0')) % divisor;
    for (int64_t i = 0; i < WB_MIN(tens, (int64_t)ENOUGH); i++)
        rest = rest * 10 % divisor;
    return rest == 0;
}

/* |s| as an integer. */
static bool magnitude(const struct parts *p, uint64_t *ret)
{
    if (p->zero) {
        *ret = 0;
        return true;
    }
    int64_t places = exponent(p) + p->scale; /* digits before the point; every uint64_t fits 20 */
    if (places < (int64_t)p->n || places > 20)
        return false;
    const char *at = p->digits;
    uint64_t n = 0;
    for (int64_t i = 0; i < places; i++) {
        uint64_t d = i < (int64_t)p->n ? (uint64_t)(next_digit(&at) - '0') : 0;
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, d, &n))
            return false;
    }
    *ret = n;
    return true;
}

bool wj_num_u64(struct upp_str s, uint64_t *ret)
{
    uint64_t n;
    struct parts p;
    if (wb_str_u64(s, ret))
        return true;
    p = take_apart(s);
    if (!magnitude(&p, &n) || (p.negative && n))
        return false;
    *ret = n;
    return true;
}

bool wj_num_i64(struct upp_str s, int64_t *ret)
{
    uint64_t n;
    struct parts p;
    if (wb_str_i64(s, ret))
        return true;
    p = take_apart(s);
    if (!magnitude(&p, &n) || n > (uint64_t)INT64_MAX + p.negative)
        return false;
    *ret = p.negative ? (int64_t)(0 - n) : (int64_t)n;
    return true;
}

bool wj_num_valid(struct upp_str s)
{
    const char *at = s.p, *end = s.p + s.n;
    if (at < end && *at == '-')
        at++;
    if (at == end || !is_digit(*at))
        return false;
    if (*at == '0')
        at++;
    else
        while (at < end && is_digit(*at))
            at++;
    if (at < end && *at == '.') {
        at++;
        if (at == end || !is_digit(*at))
            return false;
        while (at < end && is_digit(*at))
            at++;
    }
    if (at < end && (*at | 0x20) == 'e') {
        at++;
        if (at < end && (*at == '+' || *at == '-'))
            at++;
        if (at == end || !is_digit(*at))
            return false;
        while (at < end && is_digit(*at))
            at++;
    }
    return at == end;
}

/* yyjson's reader needs a NUL after the number; our text has none. */
static bool read_f64(const char *text, double *ret)
{
    yyjson_val v;
    if (!yyjson_read_number(text, &v, YYJSON_READ_NOFLAG, NULL, NULL))
        return false; /* too large */
    *ret = yyjson_get_num(&v);
    if (*ret == 0 && text[0] == '-')
        *ret = -0.0; /* yyjson reads -0 as an integer */
    return true;
}

bool wj_num_f64(struct upp_str s, double *ret)
{
    enum { SHORT = 64, DIGITS = 800 }; /* at most 767 digits of a double matter: the rest only breaks ties */
    char text[DIGITS + 32], *to = text;
    if (s.n < SHORT) {
        memcpy(text, s.p, s.n);
        text[s.n] = 0;
        return read_f64(text, ret);
    }
    struct parts p = take_apart(s);
    if (p.negative)
        *to++ = '-';
    if (p.zero)
        *to++ = '0';
    const char *at = p.digits;
    size_t keep = WB_MIN(p.n, (size_t)DIGITS);
    for (size_t i = 0; i < keep; i++)
        *to++ = next_digit(&at);
    int64_t places = p.zero ? 0 : exponent(&p) + p.scale - (int64_t)keep;
    if (keep < p.n) {
        *to++ = '1'; /* the digits cut off are not all zero */
        places--;
    }
    (void)snprintf(to, (size_t)(text + sizeof text - to), "e%lld", (long long)places);
    return read_f64(text, ret);
}

size_t wj_num_format(double v, char *to)
{
    _Alignas(max_align_t) char pool[512];
    yyjson_alc alc;
    yyjson_val val;
    size_t n = 0;
    if (!yyjson_alc_pool_init(&alc, pool, sizeof pool) || !yyjson_set_real(memset(&val, 0, sizeof val), v))
        return 0;
    char *text = yyjson_val_write_opts(&val, YYJSON_WRITE_NOFLAG, &alc, &n, NULL);
    if (!text || n >= WJ_NUM_MAX)
        return 0;
    memcpy(to, text, n);
    return n;
}
