/* model/id.c — ids that encode a position in the log, so that no index is needed to find it.
 *
 * The 122 free bits, from the front: node 64, index 32, noun 3, attempt 6, part 14, check 2, flip 1. They begin with
 * the node's key, so that ids of one node are adjacent and sort by index. Older ids are UUIDs of version 8: node 64,
 * index 32, noun 6, attempt 6, part 14.
 *
 * Positions (checkpoints) are UUIDs of version 4 too, with ten check bits. An id that would pass for a position gets
 * its last bit flipped, which is one of those ten: so nothing is ever both.
 */
#include "model/id.h"

#include <endian.h>

enum {
    INDEX_BITS = 32,
    NOUN_BITS = 3,
    V8_NOUN_BITS = 6,
    ATTEMPT_BITS = 6,
    PART_BITS = 14,
    CHECK_BITS = 2,
    NODE_LOW = 4 /* bits of the node in the lower half */
};
enum {
    CHECK_AT = 1,
    PART_AT = CHECK_AT + CHECK_BITS,
    ATTEMPT_AT = PART_AT + PART_BITS,
    NOUN_AT = ATTEMPT_AT + ATTEMPT_BITS,
    INDEX_AT = NOUN_AT + NOUN_BITS,
    NODE_AT = INDEX_AT + INDEX_BITS,
};
_Static_assert(NODE_AT + NODE_LOW == 62, "the lower half of a UUID");
_Static_assert(PART_BITS + ATTEMPT_BITS + V8_NOUN_BITS == INDEX_AT, "the index stands where it stood in version 8");

#define LOW_BITS(n) (((uint64_t)1 << (n)) - 1)

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return x ^ x >> 32;
}

enum { POSITION_CHECK = 10, STEP_BITS = 16, REST_BITS = POSITION_CHECK + STEP_BITS + INDEX_BITS };
_Static_assert(REST_BITS + NODE_LOW == 62, "the lower half of a UUID");

/* Ten check bits, which only our own ids satisfy; the other bits are XORed with a hash of the node, so that ids of
 * neighbours look different. */
static uint64_t rest_of(struct wm_position p)
{
    uint64_t position = (uint64_t)p.length << STEP_BITS | p.step;
    uint64_t check = mix(p.node + mix(position)) & LOW_BITS(POSITION_CHECK);
    return (position << POSITION_CHECK | check) ^ (mix(p.node) & LOW_BITS(REST_BITS));
}

struct wb_uuid wm_position_uuid(struct wm_position p)
{
    uint64_t low = (p.node & LOW_BITS(NODE_LOW)) << REST_BITS | rest_of(p);
    return wb_uuid_v4(p.node >> NODE_LOW, low);
}

bool wm_position_parse(struct wb_uuid u, struct wm_position *ret)
{
    uint64_t high, low;
    if (!wb_uuid_v4_bits(u, &high, &low))
        return false;
    uint64_t node = high << NODE_LOW | low >> REST_BITS;
    uint64_t position = ((low ^ mix(node)) & LOW_BITS(REST_BITS)) >> POSITION_CHECK;
    struct wm_position p = {.node = node, .length = (uint32_t)(position >> STEP_BITS), .step = (uint16_t)position};
    if (!node || rest_of(p) != (low & LOW_BITS(REST_BITS)))
        return false;
    *ret = p;
    return true;
}

static uint64_t check_of(uint64_t node, uint64_t low)
{
    return mix(node + (low >> PART_AT)) & LOW_BITS(CHECK_BITS);
}

struct wb_uuid wm_id_uuid(struct wm_id id)
{
    struct wm_position position;
    uint64_t low = (id.node & LOW_BITS(NODE_LOW)) << NODE_AT | (uint64_t)id.index << INDEX_AT |
                   (id.noun & LOW_BITS(NOUN_BITS)) << NOUN_AT | (id.attempt & LOW_BITS(ATTEMPT_BITS)) << ATTEMPT_AT |
                   (id.part & LOW_BITS(PART_BITS)) << PART_AT;
    low |= check_of(id.node, low) << CHECK_AT;
    struct wb_uuid u = wb_uuid_v4(id.node >> NODE_LOW, low);
    return wm_position_parse(u, &position) ? wb_uuid_v4(id.node >> NODE_LOW, low | 1) : u;
}

static bool parse_v4(struct wb_uuid u, struct wm_id *ret)
{
    uint64_t high, low;
    if (!wb_uuid_v4_bits(u, &high, &low))
        return false;
    *ret = (struct wm_id){
        .node = high << NODE_LOW | low >> NODE_AT,
        .index = (uint32_t)(low >> INDEX_AT),
        .noun = (uint8_t)(low >> NOUN_AT & LOW_BITS(NOUN_BITS)),
        .attempt = (uint8_t)(low >> ATTEMPT_AT & LOW_BITS(ATTEMPT_BITS)),
        .part = (uint16_t)(low >> PART_AT & LOW_BITS(PART_BITS)),
    };
    return wb_uuid_eq(u, wm_id_uuid(*ret)); /* each has one spelling, and is not a position */
}

static bool parse_v8(struct wb_uuid u, struct wm_id *ret)
{
    uint64_t high, low;
    if (!wb_uuid_v8_bits(u, &high, &low))
        return false;
    *ret = (struct wm_id){
        .node = high << NODE_LOW | low >> NODE_AT,
        .index = (uint32_t)(low >> INDEX_AT),
        .noun = (uint8_t)(low >> (ATTEMPT_BITS + PART_BITS) & LOW_BITS(V8_NOUN_BITS)),
        .attempt = (uint8_t)(low >> PART_BITS & LOW_BITS(ATTEMPT_BITS)),
        .part = (uint16_t)(low & LOW_BITS(PART_BITS)),
    };
    return true;
}

bool wm_id_parse(struct wb_uuid u, struct wm_id *ret)
{
    struct wm_id id;
    if (!parse_v4(u, &id) && !parse_v8(u, &id))
        return false;
    if (id.node == 0 || id.noun < WM_NOUN_ENTRY || id.noun > WM_NOUN_STEP)
        return false;
    *ret = id;
    return true;
}

/* The first 64 bits that are neither version nor variant: the ids of a node begin like its UUID. */
uint64_t wm_key(struct wb_uuid u)
{
    uint64_t high, low;
    memcpy(&high, u.b, sizeof high);
    memcpy(&low, u.b + sizeof high, sizeof low);
    high = be64toh(high);
    low = be64toh(low);
    uint64_t key = high >> 16 << 16 | (high & LOW_BITS(12)) << 4 | (low >> 58 & LOW_BITS(NODE_LOW));
    return key ? key : 1;
}

struct wb_uuid wm_id_within(struct wb_uuid entry, uint8_t noun, uint32_t part)
{
    struct wm_id id;
    if (!wm_id_parse(entry, &id))
        return entry;
    id.noun = noun;
    id.part = (uint16_t)part;
    return wm_id_uuid(id);
}
