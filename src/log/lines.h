/* log/lines.h — reads a range of one node's entries, with the results of its tool messages; writes rows that replace
 * others, and the events that record why. */
#pragma once

#include "log/log.h"

/* How many rows of its run may separate a tool message from its results, at most. */
enum { WL_JOIN_ROWS = 32768 };

/* Reads the entries first .. end-1 of a node into lines, which has room for them. Reads rows backwards from `end`, in
 * small batches, and nothing unneeded except the rest of the last batch. -UPP_ENOTFOUND: the node does not have all of
 * them. bytes: grows by the size of the rows that are read; NULL: not asked for. */
WEFT_SUSPENDS int wl__lines(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, uint32_t end,
                            struct wb_arena *a, struct wl_line *lines, size_t *bytes,
                            struct upp_err *err) UPP_MUST_CHECK;

/* The last row of a node before position `to`: its position and number of entries, without decoding it. 1: found. 0:
 * there is none. */
WEFT_SUSPENDS int wl__last_row(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint64_t to,
                               struct wb_arena *scratch, struct wl_row *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The position after all rows that begin at an index below `end`. */
static inline uint64_t wl__pos_end(uint32_t end)
{
    return wl_pos(end, 0);
}

/* Encodes a changed row, as it will be stored, in the arena. Returns 1. */
int wl__row_write(struct wb_arena *a, const struct wm_row *from, struct wl_row *row,
                  struct upp_err *err) UPP_MUST_CHECK;

/* The row of a system event caused by the owner, after the node's last row: *e has its data. */
int wl__event_row(struct wb_arena *a, const struct wl_owner *o, struct wm_entry *e, uint64_t node,
                  const struct wl_end *end, int64_t now, struct wl_row *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Limits: for a batch of rows, or one row of maximum size; for one such row together with its decoded form. */
enum { WL__SCRATCH = 80 << 20, WL__LARGE = 1 << 30 };
