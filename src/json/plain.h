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

static inline uint32_t wj_load4(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return le32toh(x);
}

/* 16 bytes of a string. gcc and clang make SSE2 or NEON of what is done with them. */
typedef unsigned char wj_block __attribute__((vector_size(16)));

static inline wj_block wj_block_of(const char *p)
{
    wj_block x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline wj_block wj_block_of_two(uint64_t first, uint64_t second)
{
    typedef uint64_t words __attribute__((vector_size(16)));
    return (wj_block)(words){htole64(first), htole64(second)};
}

/* Of n bytes, fewer than 16, and zeros; nothing beyond them is read. */
static inline wj_block wj_block_of_few(const char *p, size_t n)
{
    if (n >= 8) /* here and below: pieces that overlap */
        return wj_block_of_two(wj_load8(p), wj_load8(p + n - 8) >> (8 * (15 - n)) >> 8);
    uint64_t x = 0;
    if (n >= 4)
        x = wj_load4(p) | (uint64_t)wj_load4(p + n - 4) << (8 * (n - 4));
    else if (n)
        x = (unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << (8 * (n / 2)) |
            (uint64_t)(unsigned char)p[n - 1] << (8 * (n - 1));
    return wj_block_of_two(x, 0);
}

/* The highest bit of each byte; the first byte's is the lowest. */
static inline unsigned wj_block_bits(wj_block x)
{
#ifdef __SSE2__
    typedef char chars __attribute__((vector_size(16)));
    return (unsigned)__builtin_ia32_pmovmskb128((chars)x);
#else
    uint64_t both[2];
    memcpy(both, &x, sizeof both);
    for (int i = 0; i < 2; i++) /* the product has the bit of byte k at 56 + k */
        both[i] = ((le64toh(both[i]) >> 7) & WJ_EACH(1)) * 0x0102040810204080u >> 56;
    return (unsigned)(both[0] | both[1] << 8);
#endif
}

/* Quotes, backslashes and control characters: what a string of JSON can only have escaped. */
static inline wj_block wj_block_escaped(wj_block x)
{
    return (wj_block)(x < 0x20) | (wj_block)(x == '"') | (wj_block)(x == '\\');
}

/* A bit for each byte of the characters beyond ASCII that are well-formed UTF-8 and whole in the block; U+100000 and
 * above are left out. `beyond` are the bytes that are not ASCII. The rules are those of base/utf8.c. */
static inline unsigned wj_block_chars(wj_block x, unsigned beyond)
{
    unsigned next = wj_block_bits((wj_block)((x & 0xc0) == 0x80)) >> 1; /* what has a byte after it that goes on */
    unsigned two  = wj_block_bits((wj_block)(x - 0xc2 < 0x1e)) & next;
    unsigned ret  = two | two << 1;
    if (beyond & ~ret) {
        unsigned upper = wj_block_bits((wj_block)((x & 0x20) == 0x20)) >> 1; /* after it: a0..bf */
        unsigned three = wj_block_bits((wj_block)((x & 0xf0) == 0xe0)) & next & next >> 1;
        three &= upper | ~wj_block_bits((wj_block)(x == 0xe0));
        three &= ~upper | ~wj_block_bits((wj_block)(x == 0xed));
        ret |= three | three << 1 | three << 2;
    }
    unsigned four = beyond & ~ret ? wj_block_bits((wj_block)((x & 0xfc) == 0xf0)) : 0;
    if (four) {
        unsigned upper = wj_block_bits((wj_block)((x & 0x30) != 0)) >> 1; /* after it: 90..bf */
        four &= next & next >> 1 & next >> 2;
        four &= upper | ~wj_block_bits((wj_block)(x == 0xf0));
        ret |= four | four << 1 | four << 2 | four << 3;
    }
    return ret;
}

/* How many at the beginning of n bytes are neither quote, backslash nor control character; of the bytes from 0x80 on,
 * 0xed is none of them where the text is known to be WTF-8 (`wtf8`), and else none that is not seen to be UTF-8: few
 * characters at the very end, and those above U+FFFFF, take another look. */
static inline size_t wj_plain(const char *p, size_t n, bool wtf8)
{
    for (size_t i = 0; i < n;) {
        bool     few  = n - i < sizeof(wj_block);
        wj_block x    = few ? wj_block_of_few(p + i, n - i) : wj_block_of(p + i);
        unsigned stop = wj_block_bits(wj_block_escaped(x) | (wtf8 ? (wj_block)(x == 0xed) : x));
        unsigned more = stop && !wtf8 ? wj_block_bits(x) : 0;
        if (more)
            stop &= ~wj_block_chars(x, more);
        size_t took = stop ? (size_t)__builtin_ctz(stop) : sizeof x;
        i += took;
        if (stop && (took == 0 || !(more >> took & 1))) /* else the next block may have the character whole */
            return i < n ? i : n;                       /* what stops behind the last byte are zeros */
    }
    return n;
}

#endif
