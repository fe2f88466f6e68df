/* envelope/glob.c — names with '*' and '?', in time linear in pattern times text, and without recursion. */
#include "base/utf8.h"
#include "envelope/adapter.h"

static char fold(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool we_glob(struct upp_str pattern, struct upp_str text)
{
    size_t p = 0, t = 0, star = SIZE_MAX, from = 0; /* star: the last '*' seen; from: where its text ends at least */
    while (t < text.n) {
        if (p < pattern.n && pattern.p[p] == '*') {
            star = p++;
            from = t;
        } else if (p < pattern.n && pattern.p[p] == '?') {
            uint32_t c;
            size_t n = wb_wtf8_decode(text, t, &c);
            t += n ? n : 1;
            p++;
        } else if (p < pattern.n && fold(pattern.p[p]) == fold(text.p[t])) {
            p++;
            t++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            t = ++from;
        } else
            return false;
    }
    while (p < pattern.n && pattern.p[p] == '*')
        p++;
    return p == pattern.n;
}
