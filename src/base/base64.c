/* base/base64.c — bytes as text, in both alphabets.
 *
 * One table reads both. Beside its value a byte has a bit for each alphabet that it alone belongs to, and a byte
 * of neither has both bits. So the bits of all bytes or'ed together say whether anything is wrong, and the loop
 * asks nothing; what is wrong, and where, is looked for only then.
 */
#include "base/base64.h"

#include "base/defs.h"

enum { VALUE = 0x3f, STD = 0x40, URL = 0x80, NEITHER = STD | URL };

static const char alphabets[][65] = {
    [WB_BASE64] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    [WB_BASE64_URL] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
};

/* clang-format off */
#define N NEITHER
static const unsigned char values[256] = {
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, 62 | STD, N, 62 | URL, N, 63 | STD,
    52, 53, 54, 55, 56, 57, 58, 59, 60, 61, N, N, N, N, N, N,
    N, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
    15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, N, N, N, N, 63 | URL,
    N, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40,
    41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
    N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N, N,
};
#undef N
/* clang-format on */

size_t wb_base64_size(size_t n)
{
    size_t groups = n / 3 + (n % 3 != 0);
    return groups > SIZE_MAX / 4 ? SIZE_MAX : groups * 4;
}

void wb_base64_add(struct wb_buf *b, struct upp_str bytes, enum wb_base64 alphabet)
{
    const char *digit = alphabets[alphabet];
    size_t size = wb_base64_size(bytes.n);
    if (size == 0 || !wb_buf_reserve(b, size))
        return;
    const unsigned char *p = (const unsigned char *)bytes.p;
    char *out = b->p + b->n;
    size_t n = bytes.n;
    for (; n >= 3; p += 3, n -= 3, out += 4) {
        uint32_t v = (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
        out[0] = digit[v >> 18];
        out[1] = digit[v >> 12 & VALUE];
        out[2] = digit[v >> 6 & VALUE];
        out[3] = digit[v & VALUE];
    }
    if (n) {
        uint32_t v = (uint32_t)p[0] << 16 | (n == 2 ? (uint32_t)p[1] << 8 : 0);
        out[0] = digit[v >> 18];
        out[1] = digit[v >> 12 & VALUE];
        out[2] = n == 2 ? digit[v >> 6 & VALUE] : '=';
        out[3] = '=';
    }
    b->n += size;
}

/* The sentence for the first byte that is wrong. */
static int complain(struct upp_str text, size_t padding, struct upp_err *err)
{
    unsigned seen = 0;
    for (size_t at = 0; at < text.n; at++) {
        unsigned v = values[(unsigned char)text.p[at]];
        if ((v & NEITHER) == NEITHER)
            return upp_fail(err, UPP_EINVALID, "not base64: byte 0x%02x at offset %zu", (unsigned char)text.p[at], at);
        seen |= v;
        if ((seen & NEITHER) == NEITHER)
            return upp_fail(err, UPP_EINVALID, "not base64: '%c' at offset %zu is of the other alphabet", text.p[at],
                            at);
    }
    size_t over = text.n % 4;
    if (over == 1)
        return upp_fail(err, UPP_EINVALID, "not base64: one digit too many or too few at offset %zu", text.n - 1);
    if (padding > (4 - over) % 4)
        return upp_fail(err, UPP_EINVALID, "not base64: padding too long at offset %zu", text.n + (4 - over) % 4);
    return upp_fail(err, UPP_EINVALID, "not base64: bits left over at offset %zu", text.n - 1);
}

int wb_base64_decode(struct upp_str text, struct wb_buf *ret, struct upp_err *err)
{
    size_t padding = 0, start = ret->n;
    while (padding < text.n && text.p[text.n - 1 - padding] == '=')
        padding++;
    text.n -= padding;

    size_t over = text.n % 4, size = text.n / 4 * 3 + (over ? over - 1 : 0);
    if (over == 1 || padding > (4 - over) % 4)
        return complain(text, padding, err);
    if (size == 0 || !wb_buf_reserve(ret, size))
        return wb_buf_check(ret, err);

    const unsigned char *p = (const unsigned char *)text.p;
    char *out = ret->p + start;
    unsigned seen = 0;
    for (size_t n = text.n / 4; n; n--, p += 4, out += 3) {
        uint32_t a = values[p[0]], b = values[p[1]], c = values[p[2]], d = values[p[3]];
        uint32_t v = a << 18 | (b & VALUE) << 12 | (c & VALUE) << 6 | (d & VALUE);
        seen |= a | b | c | d;
        out[0] = (char)(v >> 16);
        out[1] = (char)(v >> 8);
        out[2] = (char)v;
    }
    unsigned left = 0;
    if (over) {
        uint32_t a = values[p[0]], b = values[p[1]], c = over == 3 ? values[p[2]] : 0;
        uint32_t v = a << 18 | (b & VALUE) << 12 | (c & VALUE) << 6;
        seen |= a | b | c;
        left = over == 3 ? c & 3 : b & 15;
        out[0] = (char)(v >> 16);
        if (over == 3)
            out[1] = (char)(v >> 8);
    }
    if ((seen & NEITHER) == NEITHER || left)
        return complain(text, padding, err);
    ret->n += size;
    return 0;
}
