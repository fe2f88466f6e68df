/* json/string_block.h — finds the bytes of a string that JSON writes unescaped, 16 at a time. */
#pragma once

#include <endian.h>

#include "base/str.h"

#define WJ_EACH(byte) (0x0101010101010101u * (byte))

static inline uint64_t wj_load8(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return le64toh(x); /* the first byte becomes the lowest */
}

static inline uint32_t wj_load4(const char *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return le32toh(x);
}

/* 16 bytes of a string. gcc and clang compile operations on them to SSE2 or NEON. */
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

/* n bytes, fewer than 16, then zeros; reads nothing beyond them. */
static inline wj_block wj_block_of_few(const char *p, size_t n)
{
    if (n >= 8) /* here and below: the two loads overlap */
        return wj_block_of_two(wj_load8(p), wj_load8(p + n - 8) >> (8 * (15 - n)) >> 8);
    uint64_t x = 0;
    if (n >= 4)
        x = wj_load4(p) | (uint64_t)wj_load4(p + n - 4) << (8 * (n - 4));
    else if (n)
        x = (unsigned char)p[0] | (uint64_t)(unsigned char)p[n / 2] << (8 * (n / 2)) |
            (uint64_t)(unsigned char)p[n - 1] << (8 * (n - 1));
    return wj_block_of_two(x, 0);
}

/* The highest bit of each byte, the first byte's in bit 0. */
static inline unsigned wj_block_bits(wj_block x)
{
#ifdef __SSE2__
    typedef char chars __attribute__((vector_size(16)));
    return (unsigned)__builtin_ia32_pmovmskb128((chars)x);
#else
    uint64_t both[2];
    memcpy(both, &x, sizeof both);
    for (int i = 0; i < 2; i++) /* the product has byte k's bit at 56 + k */
        both[i] = ((le64toh(both[i]) >> 7) & WJ_EACH(1)) * 0x0102040810204080u >> 56;
    return (unsigned)(both[0] | both[1] << 8);
#endif
}

/* Quotes, backslashes and control characters, which JSON strings must escape. */
static inline wj_block wj_block_escaped(wj_block x)
{
    return (wj_block)(x < 0x20) | (wj_block)(x == '"') | (wj_block)(x == '\\');
}

/* A bit for each byte of a well-formed UTF-8 character beyond ASCII that lies wholly in the block; U+100000 and above
 * are left out. `beyond` has a bit for each byte that is not ASCII. The rules are those of base/utf8.c. */
static inline unsigned wj_block_chars(wj_block x, unsigned beyond)
{
    unsigned next = wj_block_bits((wj_block)((x & 0xc0) == 0x80)) >> 1; /* bytes followed by a continuation byte */
    unsigned two = wj_block_bits((wj_block)(x - 0xc2 < 0x1e)) & next;
    unsigned ret = two | two << 1;
    if (beyond & ~ret) {
        unsigned upper = wj_block_bits((wj_block)((x & 0x20) == 0x20)) >> 1; /* followed by a0..bf */
        unsigned three = wj_block_bits((wj_block)((x & 0xf0) == 0xe0)) & next & next >> 1;
        three &= upper | ~wj_block_bits((wj_block)(x == 0xe0));
        three &= ~upper | ~wj_block_bits((wj_block)(x == 0xed));
        ret |= three | three << 1 | three << 2;
    }
    unsigned four = beyond & ~ret ? wj_block_bits((wj_block)((x & 0xfc) == 0xf0)) : 0;
    if (four) {
        unsigned upper = wj_block_bits((wj_block)((x & 0x30) != 0)) >> 1; /* followed by 90..bf */
        four &= next & next >> 1 & next >> 2;
        four &= upper | ~wj_block_bits((wj_block)(x == 0xf0));
        ret |= four | four << 1 | four << 2 | four << 3;
    }
    return ret;
}

/* Length of the prefix of n bytes without quotes, backslashes and control characters. With `wtf8` the text is known to
 * be WTF-8, and the prefix also ends at 0xed, which may begin a surrogate. Without it the prefix also ends at a byte
 * that this function cannot confirm as UTF-8: the caller must check characters above U+FFFFF and some at the very end
 * itself. */
static inline size_t wj_unescaped_len(const char *p, size_t n, bool wtf8)
{
    for (size_t i = 0; i < n;) {
        bool few = n - i < sizeof(wj_block);
        wj_block x = few ? wj_block_of_few(p + i, n - i) : wj_block_of(p + i);
        unsigned stop = wj_block_bits(wj_block_escaped(x) | (wtf8 ? (wj_block)(x == 0xed) : x));
        unsigned more = stop && !wtf8 ? wj_block_bits(x) : 0;
        if (more)
            stop &= ~wj_block_chars(x, more);
        size_t took = stop ? (size_t)__builtin_ctz(stop) : sizeof x;
        i += took;
        if (stop && (took == 0 || !(more >> took & 1))) /* else the next block may contain the whole character */
            return i < n ? i : n;                       /* a stop after the last byte is zero padding */
    }
    return n;
}
