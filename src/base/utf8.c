/* base/utf8.c — UTF-8 and WTF-8. */
#include "base/utf8.h"

size_t wb_utf8_cut(struct upp_str s, size_t max)
{
    if (s.n <= max)
        max = s.n;
    size_t at = max;
    while (at && max - at < 3 && ((unsigned char)s.p[at - 1] & 0xc0) == 0x80)
        at--;
    if (at == 0)
        return max;
    unsigned char lead = (unsigned char)s.p[at - 1];
    size_t        need = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    return max - (at - 1) < need ? at - 1 : max;
}

/* Length of the character at p, which has n > 0 bytes; 0 when it is none. Surrogates count as characters. */
static size_t length(const unsigned char *p, size_t n)
{
    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2)
        return 0; /* a continuation, or an overlong form */
    if (p[0] < 0xe0)
        return n > 1 && (p[1] & 0xc0) == 0x80 ? 2 : 0;
    if (p[0] < 0xf0) {
        if (n < 3 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[0] == 0xe0 && p[1] < 0xa0))
            return 0;
        return 3;
    }
    if (p[0] > 0xf4 || n < 4 || (p[1] & 0xc0) != 0x80 || (p[2] & 0xc0) != 0x80 || (p[3] & 0xc0) != 0x80)
        return 0;
    return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) ? 0 : 4;
}

static bool valid(struct upp_str s, bool surrogates, size_t *bad)
{
    const unsigned char *p    = (const unsigned char *)s.p;
    bool                 high = false; /* the last character was a high surrogate */
    for (size_t i = 0; i < s.n;) {
        uint64_t word;
        while (s.n - i >= sizeof word) {
            memcpy(&word, p + i, sizeof word);
            if (word & 0x8080808080808080u)
                break;
            i += sizeof word;
            high = false;
        }
        if (i == s.n)
            break;
        size_t n         = length(p + i, s.n - i);
        bool   surrogate = n == 3 && p[i] == 0xed && p[i + 1] >= 0xa0;
        bool   low       = surrogate && p[i + 1] >= 0xb0;
        if (n == 0 || (surrogate && !surrogates) || (low && high)) {
            if (bad)
                *bad = i;
            return false;
        }
        high = surrogate && !low;
        i += n;
    }
    return true;
}

bool wb_utf8_valid(struct upp_str s, size_t *bad)
{
    return valid(s, false, bad);
}

bool wb_wtf8_valid(struct upp_str s, size_t *bad)
{
    return valid(s, true, bad);
}
