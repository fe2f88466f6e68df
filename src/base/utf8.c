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
