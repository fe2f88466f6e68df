/* model/id.c — ids that lead back to the log without an index.
 *
 * The 122 free bits, from the front: node 64, index 32, noun 3, attempt 6, part 14, check 2, turned 1. They begin with
 * the node's key, so that ids of one node stand together and sort by index. Of version 8, as they were once given out:
 * node 64, index 32, noun 6, attempt 6, part 14.
 *
 * Places (checkpoints) are UUIDs of version 4 too, with ten bits that only a place gets right. An id that would pass
 * for one is written with its last bit turned, which is one of those ten: so nothing is ever both.
 */
#include "model/id.h"

#include <endian.h>

enum {
    INDEX_BITS   = 32,
    NOUN_BITS    = 3,
    V8_NOUN_BITS = 6,
    ATTEMPT_BITS = 6,
    PART_BITS    = 14,
    CHECK_BITS   = 2,
    NODE_LOW     = 4 /* bits of it in the lower half */
};
enum {
    CHECK_AT   = 1,
    PART_AT    = CHECK_AT + CHECK_BITS,
    ATTEMPT_AT = PART_AT + PART_BITS,
    NOUN_AT    = ATTEMPT_AT + ATTEMPT_BITS,
    INDEX_AT   = NOUN_AT + NOUN_BITS,
    NODE_AT    = INDEX_AT + INDEX_BITS,
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

/* ---- Places ---------------------------------------------------------------------------------------------- */

enum { PLACE_CHECK = 10, STEP_BITS = 16, REST_BITS = PLACE_CHECK + STEP_BITS + INDEX_BITS };
_Static_assert(REST_BITS + NODE_LOW == 62, "the lower half of a UUID");

/* Ten bits that only our own ids get right; the rest is covered by bits of the node, so that neighbours look unlike. */
static uint64_t rest_of(struct wm_position p)
{
    uint64_t place = (uint64_t)p.length << STEP_BITS | p.step;
    uint64_t check = mix(p.node + mix(place)) & LOW_BITS(PLACE_CHECK);
    return (place << PLACE_CHECK | check) ^ (mix(p.node) & LOW_BITS(REST_BITS));
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
    uint64_t           node  = high << NODE_LOW | low >> REST_BITS;
    uint64_t           place = ((low ^ mix(node)) & LOW_BITS(REST_BITS)) >> PLACE_CHECK;
    struct wm_position p     = {.node = node, .length = (uint32_t)(place >> STEP_BITS), .step = (uint16_t)place};
    if (!node || rest_of(p) != (low & LOW_BITS(REST_BITS)))
        return false;
    *ret = p;
    return true;
}

/* ---- Ids ------------------------------------------------------------------------------------------------- */

static uint64_t check_of(uint64_t node, uint64_t low)
{
    return mix(node + (low >> PART_AT)) & LOW_BITS(CHECK_BITS);
}

struct wb_uuid wm_id_uuid(struct wm_id id)
{
    struct wm_position place;
    uint64_t           low = (id.node & LOW_BITS(NODE_LOW)) << NODE_AT | (uint64_t)id.index << INDEX_AT |
                   (id.noun & LOW_BITS(NOUN_BITS)) << NOUN_AT | (id.attempt & LOW_BITS(ATTEMPT_BITS)) << ATTEMPT_AT |
                   (id.part & LOW_BITS(PART_BITS)) << PART_AT;
    low |= check_of(id.node, low) << CHECK_AT;
    struct wb_uuid u = wb_uuid_v4(id.node >> NODE_LOW, low);
    return wm_position_parse(u, &place) ? wb_uuid_v4(id.node >> NODE_LOW, low | 1) : u;
}

static bool parse_v4(struct wb_uuid u, struct wm_id *ret)
{
    uint64_t high, low;
    if (!wb_uuid_v4_bits(u, &high, &low))
        return false;
    *ret = (struct wm_id){
        .node    = high << NODE_LOW | low >> NODE_AT,
        .index   = (uint32_t)(low >> INDEX_AT),
        .noun    = (uint8_t)(low >> NOUN_AT & LOW_BITS(NOUN_BITS)),
        .attempt = (uint8_t)(low >> ATTEMPT_AT & LOW_BITS(ATTEMPT_BITS)),
        .part    = (uint16_t)(low >> PART_AT & LOW_BITS(PART_BITS)),
    };
    return wb_uuid_eq(u, wm_id_uuid(*ret)); /* each has one spelling, and it is no place */
}

static bool parse_v8(struct wb_uuid u, struct wm_id *ret)
{
    uint64_t high, low;
    if (!wb_uuid_v8_bits(u, &high, &low))
        return false;
    *ret = (struct wm_id){
        .node    = high << NODE_LOW | low >> NODE_AT,
        .index   = (uint32_t)(low >> INDEX_AT),
        .noun    = (uint8_t)(low >> (ATTEMPT_BITS + PART_BITS) & LOW_BITS(V8_NOUN_BITS)),
        .attempt = (uint8_t)(low >> PART_BITS & LOW_BITS(ATTEMPT_BITS)),
        .part    = (uint16_t)(low & LOW_BITS(PART_BITS)),
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

/* ---- Keys ------------------------------------------------------------------------------------------------ */

/* The first 64 bits that are neither version nor variant: the ids of a node begin as its UUID does. */
uint64_t wm_key(struct wb_uuid u)
{
    uint64_t high, low;
    memcpy(&high, u.b, sizeof high);
    memcpy(&low, u.b + sizeof high, sizeof low);
    high         = be64toh(high);
    low          = be64toh(low);
    uint64_t key = high >> 16 << 16 | (high & LOW_BITS(12)) << 4 | (low >> 58 & LOW_BITS(NODE_LOW));
    return key ? key : 1;
}
