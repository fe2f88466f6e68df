/* json/syntax.c — a strict, iterative JSON checker.
 *
 * One loop: a value, then what may follow it. The stack has one bit per level: is it an object?
 */
#include "json/syntax.h"

#include <stdio.h>

#include "base/defs.h"
#include "base/err.h"
#include "base/utf8.h"
#include "json/string_block.h"

struct scan {
    const char *at, *end;
    struct upp_str text;
    struct upp_err *err;
    unsigned depth, limit;
    uint64_t objects[WJ_DEPTH_MAX / 64]; /* bit d: level d + 1 is an object */
    struct wj_syntax seen;
};

void wj_err_position(struct upp_err *err, struct upp_str text, size_t at)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] == '\n') {
            line++;
            column = 1;
        } else if (((unsigned char)text.p[i] & 0xc0) != 0x80)
            column++;
    }
    if (err)
        (void)snprintf(err->where, sizeof err->where, "line %zu, column %zu (byte %zu)", line, column, at);
}

int wj_hex4(const char *p)
{
    int n = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i], folded = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            n = n * 16 + (c - '0');
        else if (folded >= 'a' && folded <= 'f')
            n = n * 16 + (folded - 'a' + 10);
        else
            return -1;
    }
    return n;
}

UPP_PRINTF(3, 4) static int refuse(struct scan *s, const char *at, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int r = wb_vfail(s->err, UPP_EINVALID, fmt, args);
    va_end(args);
    wj_err_position(s->err, s->text, (size_t)(at - s->text.p));
    return r;
}

/* Fails with "expected X, found Y" at s->at. */
static int expected(struct scan *s, const char *what)
{
    if (s->at == s->end)
        return refuse(s, s->at, "expected %s, found the end of the text", what);
    unsigned char c = (unsigned char)*s->at;
    if (wb_str_starts(wb_str(s->at, (size_t)(s->end - s->at)), UPP_STR("\xef\xbb\xbf")))
        return refuse(s, s->at, "expected %s, found a byte order mark", what);
    if (c > 0x20 && c < 0x7f)
        return refuse(s, s->at, "expected %s, found '%c'", what, c);
    return refuse(s, s->at, "expected %s, found the byte 0x%02x", what, c);
}

static void skip_blank(struct scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t'))
        s->at++;
}

static bool digit(const struct scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static int digits(struct scan *s, const char *what)
{
    if (!digit(s))
        return expected(s, what);
    while (digit(s))
        s->at++;
    return 0;
}

static int number(struct scan *s)
{
    int r = 0;
    if (*s->at == '-') {
        s->at++;
        if (!digit(s))
            return expected(s, "a digit after '-'");
    }
    if (*s->at == '0') {
        s->at++;
        if (digit(s))
            return refuse(s, s->at - 1, "expected a number without leading zeros");
    } else
        r = digits(s, "a digit");
    if (r == 0 && s->at < s->end && *s->at == '.') {
        s->at++;
        r = digits(s, "a digit after the decimal point");
    }
    if (r == 0 && s->at < s->end && (*s->at | 0x20) == 'e') {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-'))
            s->at++;
        r = digits(s, "a digit in the exponent");
    }
    return r;
}

/* Called at a backslash. */
static int escape(struct scan *s)
{
    const char *slash = s->at++;
    if (s->at == s->end)
        return expected(s, "an escape after the backslash");
    if (*s->at != 'u') {
        if (!*s->at || !strchr("\"\\/bfnrt", *s->at))
            return expected(s, "one of \" \\ / b f n r t u after the backslash");
        s->at++;
        return 0;
    }
    int unit = s->end - s->at >= 5 ? wj_hex4(s->at + 1) : -1;
    if (unit < 0)
        return refuse(s, slash, "expected four hexadecimal digits after \\u");
    s->at += 5;
    if (unit >= 0xdc00 && unit <= 0xdfff)
        s->seen.lone++; /* a low surrogate without a high one before it */
    else if (unit >= 0xd800 && unit <= 0xdbff) {
        int low = s->end - s->at >= 6 && s->at[0] == '\\' && s->at[1] == 'u' ? wj_hex4(s->at + 2) : -1;
        if (low >= 0xdc00 && low <= 0xdfff)
            s->at += 6;
        else
            s->seen.lone++;
    }
    return 0;
}

/* Called at a string byte that is not ASCII. */
static int beyond_ascii(struct scan *s)
{
    uint32_t c;
    size_t n = wb_utf8_decode(wb_str(s->at, (size_t)(s->end - s->at)), 0, &c);
    if (n == 0)
        return refuse(s, s->at, "expected UTF-8 in a string, found the byte 0x%02x", (unsigned char)*s->at);
    s->at += n;
    return 0;
}

/* Called at the opening quote. */
static int string(struct scan *s)
{
    const char *open = s->at++;
    for (;;) {
        s->at += wj_unescaped_len(s->at, (size_t)(s->end - s->at), false);
        if (s->at < s->end && (unsigned char)*s->at >= 0x80) {
            int r = beyond_ascii(s);
            if (r < 0)
                return r;
            continue;
        }
        if (s->at == s->end)
            return refuse(s, open, "expected a closing quote for this string, found the end of the text");
        if (*s->at == '"') {
            s->at++;
            return 0;
        }
        if (*s->at != '\\')
            return refuse(s, s->at, "expected control characters in a string as escapes, found the byte 0x%02x",
                          (unsigned char)*s->at);
        int r = escape(s);
        if (r < 0)
            return r;
    }
}

static int literal(struct scan *s, struct upp_str word)
{
    if (!wb_str_starts(wb_str(s->at, (size_t)(s->end - s->at)), word))
        return expected(s, "a value");
    s->at += word.n;
    return 0;
}

static bool in_object(const struct scan *s)
{
    return s->objects[(s->depth - 1) / 64] >> ((s->depth - 1) % 64) & 1;
}

static int deeper(struct scan *s, bool object)
{
    if (s->depth == s->limit) {
        int r = upp_fail(s->err, UPP_ELIMIT, "nested deeper than %u levels", s->limit);
        wj_err_position(s->err, s->text, (size_t)(s->at - s->text.p));
        return r;
    }
    uint64_t bit = (uint64_t)1 << (s->depth % 64);
    if (object)
        s->objects[s->depth / 64] |= bit;
    else
        s->objects[s->depth / 64] &= ~bit;
    s->depth++;
    s->seen.depth = WB_MAX(s->seen.depth, s->depth);
    s->at++;
    skip_blank(s);
    return 0;
}

/* Reads a member's name and its colon. */
static int name(struct scan *s, const char *what)
{
    if (s->at == s->end || *s->at != '"')
        return expected(s, what);
    int r = string(s);
    if (r < 0)
        return r;
    skip_blank(s);
    if (s->at == s->end || *s->at != ':')
        return expected(s, "':' after a member name");
    s->at++;
    skip_blank(s);
    return 0;
}

/* Enters a container. 1: it is empty and was left again. 0: a value comes next. */
static int enter(struct scan *s, bool object)
{
    int r = deeper(s, object);
    if (r < 0)
        return r;
    if (s->at < s->end && *s->at == (object ? '}' : ']')) {
        s->at++;
        s->depth--;
        return 1;
    }
    return object ? name(s, "a member name in double quotes or '}'") : 0;
}

/* After a value: leaves the containers that end here. 0: another value comes next. 1: the text is over. */
static int follow(struct scan *s)
{
    for (;;) {
        skip_blank(s);
        if (s->depth == 0)
            return s->at == s->end ? 1 : expected(s, "the end of the text");
        bool object = in_object(s);
        if (s->at < s->end && *s->at == ',') {
            s->at++;
            skip_blank(s);
            return object ? name(s, "a member name in double quotes after ','") : 0;
        }
        if (s->at == s->end || *s->at != (object ? '}' : ']'))
            return expected(s, object ? "',' or '}'" : "',' or ']'");
        s->at++;
        s->depth--;
    }
}

/* 1: read a whole value. 0: entered a container whose first value comes next. */
static int value(struct scan *s)
{
    int r;
    if (s->at == s->end)
        return expected(s, "a value");
    s->seen.values++;
    switch (*s->at) {
    case '{':
        return enter(s, true);
    case '[':
        return enter(s, false);
    case '"':
        r = string(s);
        break;
    case 't':
        r = literal(s, UPP_STR("true"));
        break;
    case 'f':
        r = literal(s, UPP_STR("false"));
        break;
    case 'n':
        r = literal(s, UPP_STR("null"));
        break;
    default:
        r = *s->at == '-' || digit(s) ? number(s) : expected(s, "a value");
    }
    return r < 0 ? r : 1;
}

int wj_syntax(struct upp_str text, unsigned depth, struct wj_syntax *ret, struct upp_err *err)
{
    struct scan s = {
        .at = text.p, .end = text.p + text.n, .text = text, .err = err, .limit = WB_MIN(depth, (unsigned)WJ_DEPTH_MAX)};
    skip_blank(&s);
    for (;;) {
        int r = value(&s);
        if (r == 1)
            r = follow(&s);
        if (r < 0)
            return r;
        if (r == 1)
            break;
    }
    *ret = s.seen;
    return 0;
}
