/* log/lines.h — reading a stretch of one node's entries, with the results of its tool messages; rows that take the
 * place of others, and events that say why. */
#ifndef WL_LINES_H
#define WL_LINES_H

#include "log/log.h"

/* How far results may stand before the message that shows them: rows of its run, at most. */
enum { WL_JOIN_ROWS = 32768 };

/* The entries first .. end-1 of a node into lines, which has room for them. Rows are read backwards from `end`, in
 * small batches, and none that is not needed but for the rest of the last batch.
 * -UPP_ENOTFOUND: the node does not have them all. */
WEFT_SUSPENDS int wl__lines(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint32_t first, uint32_t end,
                            struct wb_arena *a, struct wl_line *lines, struct upp_err *err) UPP_MUST_CHECK;

/* The last row of a node that begins before index `end`: its position and how many entries it adds, without looking
 * into it. 1: there is one. 0: there is none. */
WEFT_SUSPENDS int wl__last_row(struct wl_store *s, const struct wl_owner *o, uint64_t node, uint64_t to,
                               struct wb_arena *scratch, struct wl_row *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The position behind all rows that begin at an index below `end`. */
static inline uint64_t wl__pos_end(uint32_t end)
{
    return wl_pos(end, 0);
}

/* A row that was changed, as it is stored from now on: in the arena. 1. */
int wl__row_write(struct wb_arena *a, const struct wm_row *from, struct wl_row *row,
                  struct upp_err *err) UPP_MUST_CHECK;

/* The row of a system event that the owner brings about, behind the last one of a node: *e has its data. */
int wl__event_row(struct wb_arena *a, const struct wl_owner *o, struct wm_entry *e, uint64_t node,
                  const struct wl_end *end, int64_t now, struct wl_row *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Room for a batch of rows, or for one at its largest; and for one together with what is read from it. */
enum { WL__SCRATCH = 80 << 20, WL__LARGE = 1 << 30 };

#endif
