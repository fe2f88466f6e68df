/* json/plain.h — the bytes of a string that stand in JSON as they are, many at a time. */
#ifndef WJ_PLAIN_H
#define WJ_PLAIN_H

#include <endian.h>

#include "base/str.h"

#define WJ_EACH(byte) (0x0101010101010101u * (byte))

static inline uint64_t wj_load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return le64toh(x); /* so that the first byte is the lowest */
}

/* A bit 0x80 for each byte that cannot simply be copied; the lowest such bit is exact. ASCII only: every byte from
 * 0x80 on stops. */
static inline uint64_t wj_stops_ascii(uint64_t x)
{
    return (x | (x - WJ_EACH(0x20)) | ((x ^ WJ_EACH('"')) - WJ_EACH(1)) | ((x ^ WJ_EACH('\\')) - WJ_EACH(1))) &
           WJ_EACH(0x80);
}

/* The same for text known to be WTF-8: of the bytes from 0x80 on only 0xed stops, which may begin a surrogate. */
static inline uint64_t wj_stops_wtf8(uint64_t x)
{
    uint64_t control = (x - WJ_EACH(0x20)) & ~x;
    uint64_t quote = x ^ WJ_EACH('"'), slash = x ^ WJ_EACH('\\'), lead = x ^ WJ_EACH(0xed);
    return (control | ((quote - WJ_EACH(1)) & ~quote) | ((slash - WJ_EACH(1)) & ~slash) |
            ((lead - WJ_EACH(1)) & ~lead)) &
           WJ_EACH(0x80);
}

/* Does one of the 16 bytes at p stop? gcc and clang make two dozen machine instructions of it, with SSE2 or NEON. */
static inline bool wj_stop_in_16(const char *p, bool wtf8)
{
    typedef unsigned char bytes __attribute__((vector_size(16)));
    typedef uint64_t      words __attribute__((vector_size(16)));
    bytes                 x;
    memcpy(&x, p, sizeof x);
    bytes stop = (bytes)(x < 0x20) | (bytes)(x == '"') | (bytes)(x == '\\');
    stop |= wtf8 ? (bytes)(x == 0xed) : (x & 0x80);
    words both = (words)stop;
    return both[0] | both[1];
}

/* How many at the beginning of n bytes are neither quote, backslash nor control character; of the bytes from 0x80 on,
 * 0xed is none of them where `wtf8`, and else all are not. */
static inline size_t wj_plain(const char *p, size_t n, bool wtf8)
{
    size_t i = 0;
    while (n - i >= 16 && !wj_stop_in_16(p + i, wtf8))
        i += 16;
    for (; n - i >= 8; i += 8) {
        uint64_t x = wj_load8(p + i), stop = wtf8 ? wj_stops_wtf8(x) : wj_stops_ascii(x);
        if (stop)
            return i + (size_t)__builtin_ctzll(stop) / 8;
    }
    for (; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c < 0x20 || c == '"' || c == '\\' || (c >= 0x80 && (!wtf8 || c == 0xed)))
            break;
    }
    return i;
}

#endif
