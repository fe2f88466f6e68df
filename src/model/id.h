/* model/id.h — ids that lead back to the log without an index.
 *
 * A node has a random 64-bit key. What stands in it is named by (key, index, noun, attempt, part), written in the form
 * of a random UUID (version 4): the same id in a live stream, a poll, an export and after a restart. The key itself
 * comes from the node's UUID, so that both lead to the same row. Ids that were given out as UUIDs of version 8 are read
 * for ever.
 */
#ifndef WM_ID_H
#define WM_ID_H

#include "base/uuid.h"

enum wm_noun {
    WM_NOUN_ENTRY = 1, /* an entry: a message and all else in the log */
    WM_NOUN_PART,      /* one part of its message */
    WM_NOUN_TURN,      /* all a run says, as one (the UI message): index is that of the run's input */
    WM_NOUN_STEP,      /* a step: index is that of the first entry it made */
};

struct wm_id {
    uint64_t node;          /* the node's key */
    uint32_t index;         /* of the entry in it */
    uint8_t  noun, attempt; /* attempt: modulo 64 */
    uint16_t part;          /* below 16384 */
};

enum { WM_ATTEMPTS = 64, WM_PARTS = 1 << 14 };

/* Where a step or a turn has ended: a node, and how many of its entries there were then. It is all that a checkpoint
 * is, and its id says it: that has the form of a random UUID (version 4), and nothing need be stored to find it. */
struct wm_position {
    uint64_t node;
    uint32_t length;
    uint16_t step; /* the lower 16 bits of its number */
};

WB_EXPORT_BEGIN

struct wb_uuid wm_position_uuid(struct wm_position p);
bool           wm_position_parse(struct wb_uuid u, struct wm_position *ret); /* false: not one of ours */

struct wb_uuid wm_id_uuid(struct wm_id id);
bool           wm_id_parse(struct wb_uuid u, struct wm_id *ret); /* false: not one of ours */

/* The key of a thing with a random UUID (node, thread, run): 64 of its random bits. Never 0. */
uint64_t wm_key(struct wb_uuid u);

WB_EXPORT_END

#endif
