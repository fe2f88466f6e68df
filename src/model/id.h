/* model/id.h — ids that encode a position in the log, so that no index is needed to find it.
 *
 * A node has a random 64-bit key. Its contents are named by (key, index, noun, attempt, part), written in the form of a
 * random UUID (version 4): the id is the same in a live stream, a poll, an export and after a restart. The key is
 * derived from the node's UUID, so that both lead to the same row. Ids of an older format (UUIDs of version 8) stay
 * readable forever.
 */
#pragma once

#include "base/uuid.h"

enum wm_noun {
    WM_NOUN_ENTRY = 1, /* a message or any other entry of the log */
    WM_NOUN_PART,      /* one part of its message */
    WM_NOUN_TURN,      /* the output of a run as one (the UI message): index is that of the run's input */
    WM_NOUN_STEP,      /* a step: index is that of its first entry */
};

struct wm_id {
    uint64_t node;         /* the node's key */
    uint32_t index;        /* of the entry in the node */
    uint8_t noun, attempt; /* attempt: modulo 64 */
    uint16_t part;         /* below 16384 */
};

enum { WM_ATTEMPTS = 64, WM_PARTS = 1 << 14 };

/* The end of a step or turn: a node, and its number of entries then. A checkpoint is nothing more, and its id encodes
 * it in the form of a random UUID (version 4), so nothing need be stored to find it. */
struct wm_position {
    uint64_t node;
    uint32_t length;
    uint16_t step; /* the lower 16 bits of the step's number */
};

WB_EXPORT_BEGIN

struct wb_uuid wm_position_uuid(struct wm_position p);
bool wm_position_parse(struct wb_uuid u, struct wm_position *ret); /* false: not one of ours */

struct wb_uuid wm_id_uuid(struct wm_id id);
bool wm_id_parse(struct wb_uuid u, struct wm_id *ret); /* false: not one of ours */

/* The id of something else that the same entry has: a part, a step. An id that is not one of ours stays as it is. */
struct wb_uuid wm_id_within(struct wb_uuid entry, uint8_t noun, uint32_t part);

/* The key of an object with a random UUID (node, thread, run): 64 of its random bits. Never 0. */
uint64_t wm_key(struct wb_uuid u);

WB_EXPORT_END
