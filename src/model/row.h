/* model/row.h — one commit of a node as one row, in the one stored format.
 *
 * A row holds all that one commit point says: the entries it adds to the node, the records it adds to the run's
 * events, the tape of a message, the run's state. It is written whole or not at all, so that a step is one append.
 *
 * Order of its events: those of the tape, then the records. They are numbered from `event` on, without a gap.
 *
 * Format 1 is compact JSON with one-letter names (docs/storage.md lists them) and, beside it, the tape. Readers for
 * every released number stay.
 */
#ifndef WM_ROW_H
#define WM_ROW_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/event.h"
#include "model/tape.h"

enum { WM_FORMAT = 1 };

struct wm_row {
    uint64_t         event; /* number of its first event; 0: it has none */
    uint32_t         epoch;
    uint32_t         step; /* of the run when it was written */
    int64_t          time_ms;
    struct wm_entry *entries;
    size_t           n_entries;
    struct wm_event *records; /* number, from and entry ids are not stored: wm_expand fills them in */
    size_t           n_records;
    struct upp_str   state; /* JSON: the run's state from here on; no text: as before */
    struct upp_str   tape;
};

WB_EXPORT_BEGIN

/* The body; the tape is stored beside it. */
int wm_row_write(const struct wm_row *row, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Texts point into the arena. -UPP_ESTORE: these bytes are no row of this format. */
int wm_row_read(struct wb_arena *a, unsigned format, struct upp_str body, struct upp_str tape, struct wm_row *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Only the entries, for histories: skips records and tape. The results that `refs` name are in the TOOL_ENDED records,
 * which are read as well. */
int wm_row_read_entries(struct wb_arena *a, unsigned format, struct upp_str body, struct wm_row *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* ---- Events of a row ------------------------------------------------------------------------------- */

/* The events of one row, one by one; of a message that is still open likewise. */
struct wm_expand {
    const struct wm_source *from;
    const struct wm_row    *row;  /* a stored one; or NULL: */
    const struct wm_tape   *tape; /* the open message, which may grow between two calls */
    const struct wm_entry  *open;
    uint32_t                index; /* in the node, of the row's first entry / of the open message */
    uint32_t                step;
    uint64_t                number; /* of the next event */
    struct wm_tape_at       at;
    size_t                  record;
    size_t                  entry; /* the entry the tape is about */
    size_t                  n_offset;
    size_t                 *offset; /* by part: how far its text was given out. In `memory` */
    struct wb_arena        *memory;
};

/* 1: *ev is set. 0: no more (for an open message: now). Texts in it are borrowed from the row or the open message and
 * stay good until it grows. */
int wm_expand_next(struct wm_expand *x, struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* How many events a row has. */
int wm_row_events(const struct wm_row *row, uint64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
