/* json/surrogate.c — the pre-pass that converts lone surrogates. */
#include "json/surrogate.h"

#include "json/syntax.h"

size_t wj_surrogates_in(struct upp_str text, char *to)
{
    char *out = to;
    const char *at = text.p, *end = text.p + text.n;
    while (at < end) {
        /* Outside strings JSON has no backslash, so the first one after the last escape begins the next. */
        const char *slash = memchr(at, '\\', (size_t)(end - at));
        size_t run = (size_t)((slash ? slash : end) - at);
        memcpy(out, at, run);
        out += run;
        at += run;
        if (!slash)
            break;
        size_t n = 2;
        int unit = at[1] == 'u' ? wj_hex4(at + 2) : 0;
        if (unit >= 0xd800 && unit <= 0xdfff) {
            int low = unit < 0xdc00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u' ? wj_hex4(at + 8) : -1;
            if (low < 0xdc00 || low > 0xdfff) {
                *out++ = (char)0xed;
                *out++ = (char)(0x80 | (unit >> 6 & 0x3f));
                *out++ = (char)(0x80 | (unit & 0x3f));
                at += 6;
                continue;
            }
            n = 12; /* a pair: yyjson handles it */
        }
        memcpy(out, at, n);
        out += n;
        at += n;
    }
    return (size_t)(out - to);
}
