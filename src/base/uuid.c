/* base/uuid.c — UUIDs.
 *
 *     byte   0  1  2  3 - 4  5 - 6  7 - 8  9 - 10 11 12 13 14 15
 *     version: the upper half of byte 6. Variant: the upper two bits of byte 8, always 10.
 */
#include "base/uuid.h"

#include <endian.h>

#include "base/random.h"

#define LOW_BITS(n) (((uint64_t)1 << (n)) - 1)

/* Both halves as numbers, in registers: changing single bytes of one just stored would stall every id. */
static struct wb_uuid make(uint64_t high, uint64_t low, uint64_t version)
{
    struct wb_uuid u;
    high = htobe64((high & ~(LOW_BITS(4) << 12)) | version << 12);
    low = htobe64((low & LOW_BITS(62)) | (uint64_t)2 << 62);
    memcpy(u.b, &high, sizeof high);
    memcpy(u.b + sizeof high, &low, sizeof low);
    return u;
}

int wb_uuid_new(struct wb_uuid *ret, struct upp_err *err)
{
    uint64_t bits[2];
    int r = wb_random(bits, sizeof bits, err);
    if (r < 0)
        return r;
    *ret = make(bits[0], bits[1], 4);
    return 0;
}

struct wb_uuid wb_uuid_from(struct wb_uuid random, uint64_t n)
{
    uint64_t halves[2];
    memcpy(halves, random.b, sizeof halves);
    return make(wb_mix(halves[0] + n), wb_mix(halves[1] + n), 4);
}

struct wb_uuid wb_uuid_v4(uint64_t high, uint64_t low)
{
    return make(high >> 12 << 16 | (high & LOW_BITS(12)), low, 4);
}

struct wb_uuid wb_uuid_v8(uint64_t high, uint64_t low)
{
    return make(high >> 12 << 16 | (high & LOW_BITS(12)), low, 8);
}

static bool bits(struct wb_uuid u, unsigned version, uint64_t *high, uint64_t *low)
{
    if (wb_uuid_version(u) != version)
        return false;
    uint64_t halves[2];
    memcpy(halves, u.b, sizeof halves);
    *high = be64toh(halves[0]) >> 16 << 12 | (be64toh(halves[0]) & LOW_BITS(12));
    *low = be64toh(halves[1]) & LOW_BITS(62);
    return true;
}

bool wb_uuid_v4_bits(struct wb_uuid u, uint64_t *high, uint64_t *low)
{
    return bits(u, 4, high, low);
}

bool wb_uuid_v8_bits(struct wb_uuid u, uint64_t *high, uint64_t *low)
{
    return bits(u, 8, high, low);
}

unsigned wb_uuid_version(struct wb_uuid u)
{
    return (u.b[8] & 0xc0) == 0x80 ? u.b[6] >> 4 : 0;
}

/* The two digits of every byte: "000102...fdfeff". Spreading bits by arithmetic was not faster. */
#define PAIRS(h) h "0" h "1" h "2" h "3" h "4" h "5" h "6" h "7" h "8" h "9" h "a" h "b" h "c" h "d" h "e" h "f"
static const char pairs[] = PAIRS("0") PAIRS("1") PAIRS("2") PAIRS("3") PAIRS("4") PAIRS("5") PAIRS("6") PAIRS("7")
    PAIRS("8") PAIRS("9") PAIRS("a") PAIRS("b") PAIRS("c") PAIRS("d") PAIRS("e") PAIRS("f");
_Static_assert(sizeof pairs == 2 * 256 + 1, "two digits a byte");

/* Where the two digits of each byte stand in the form with dashes. */
static const unsigned char places[16] = {0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

struct upp_str wb_uuid_hex(struct wb_uuid u, char out[WB_UUID_HEX + 1])
{
    for (size_t i = 0; i < sizeof u.b; i++)
        memcpy(out + 2 * i, pairs + (size_t)2 * u.b[i], 2);
    out[WB_UUID_HEX] = 0;
    return wb_str(out, WB_UUID_HEX);
}

struct upp_str wb_uuid_text(struct wb_uuid u, char out[WB_UUID_TEXT + 1])
{
    for (size_t i = 0; i < sizeof u.b; i++)
        memcpy(out + places[i], pairs + (size_t)2 * u.b[i], 2);
    out[8] = out[13] = out[18] = out[23] = '-';
    out[WB_UUID_TEXT] = 0;
    return wb_str(out, WB_UUID_TEXT);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool wb_uuid_parse(struct upp_str s, struct wb_uuid *ret)
{
    bool dashes = s.n == WB_UUID_TEXT;
    if (dashes ? s.p[8] != '-' || s.p[13] != '-' || s.p[18] != '-' || s.p[23] != '-' : s.n != WB_UUID_HEX)
        return false;
    struct wb_uuid u;
    for (size_t i = 0; i < sizeof u.b; i++) {
        const char *p = s.p + (dashes ? places[i] : 2 * i);
        int high = digit(p[0]), low = digit(p[1]);
        if (high < 0 || low < 0)
            return false;
        u.b[i] = (unsigned char)(high << 4 | low);
    }
    *ret = u;
    return true;
}
