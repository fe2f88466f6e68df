/* base/uuid.h — UUIDs (RFC 9562): random ones, and ones that carry fields of ours. */
#pragma once

#include <upp/base.h>

#include "base/str.h"

enum { WB_UUID_TEXT = 36, WB_UUID_HEX = 32 };

/* In the order they are written in. Any 16 bytes are one. */
struct wb_uuid {
    unsigned char b[16];
};

WB_EXPORT_BEGIN

/* A random one (version 4). */
int wb_uuid_new(struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The same without asking for randomness: one for each number, from a random one. */
struct wb_uuid wb_uuid_from(struct wb_uuid random, uint64_t n);

/* One of version 4 or 8 from 122 bits: the lower 60 bits of `high`, then the lower 62 of `low`; and the way back, which
 * is false for any other version. They sort as the numbers do. */
struct wb_uuid wb_uuid_v4(uint64_t high, uint64_t low);
struct wb_uuid wb_uuid_v8(uint64_t high, uint64_t low);
bool wb_uuid_v4_bits(struct wb_uuid u, uint64_t *high, uint64_t *low);
bool wb_uuid_v8_bits(struct wb_uuid u, uint64_t *high, uint64_t *low);

/* 1 to 15; 0 when its variant is not the one that has versions. */
unsigned wb_uuid_version(struct wb_uuid u);

/* Lower case: "01234567-89ab-4cde-8f01-23456789abcd", and the same without dashes. What is returned lies in out and
 * is followed by a NUL. */
struct upp_str wb_uuid_text(struct wb_uuid u, char out[WB_UUID_TEXT + 1]);
struct upp_str wb_uuid_hex(struct wb_uuid u, char out[WB_UUID_HEX + 1]);

/* Either of the two forms and nothing else, in any case. */
bool wb_uuid_parse(struct upp_str s, struct wb_uuid *ret);

WB_EXPORT_END

static inline int wb_uuid_cmp(struct wb_uuid a, struct wb_uuid b)
{
    return memcmp(a.b, b.b, sizeof a.b);
}

static inline bool wb_uuid_eq(struct wb_uuid a, struct wb_uuid b)
{
    return wb_uuid_cmp(a, b) == 0;
}

/* 16 zero bytes: no object has it. */
#define WB_UUID_NIL ((struct wb_uuid){{0}})

static inline bool wb_uuid_is_nil(struct wb_uuid u)
{
    return wb_uuid_eq(u, WB_UUID_NIL);
}
