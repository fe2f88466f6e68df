/* model/row.h — one commit of a node as one row, in the one stored format.
 *
 * A row holds all that one commit point says: the entries it adds to the node, the records it adds to the run's
 * events, the tape of a message, the run's state. It is written whole or not at all, so that a step is one append.
 *
 * Order of its events: those of the tape, then the records. They are numbered from `event` on, without a gap. Where
 * the tape is about something that was taken back its events are of the epoch before, and the records have the same
 * numbers again: VOID is the first of them.
 *
 * Format 1 is compact JSON with one-letter names (model/row.c lists them) and, beside it, the tape. Readers for
 * every released number stay.
 */
#ifndef WM_ROW_H
#define WM_ROW_H

#include "base/arena.h"
#include "base/buf.h"
#include "model/event.h"
#include "model/tape.h"

enum { WM_FORMAT = 1 };
enum { WM_ROW_MAX = 64 << 20 /* bytes of a body, at most */ };

/* What came with entries and is none: what a dialect said of them that the model has no place for, and what a document
 * knew of them that the log has none for (model/doc_sidecar.h). */
struct wm_sidecar {
    uint32_t       entry, entries; /* the first of the row that it is about, and how many from it on */
    bool           thread;         /* it is about all of the thread */
    struct upp_str dialect, slot;
    struct upp_str text;
};

#define WM_SIDECAR_OWN "weft" /* the dialect of what is of the model itself */

/* Whose turn it was: of the entries from the first one on. */
static inline bool wm_is_turn(const struct wm_sidecar *b)
{
    return !b->thread && wb_str_eq(b->dialect, UPP_STR(WM_SIDECAR_OWN)) && wb_str_eq(b->slot, UPP_STR("turn"));
}

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
    struct wm_entry *lost;  /* what the tape is about, where it was taken back: it is in no history. NULL: it was not */
    struct upp_str   agent; /* by name, where the run has been handed over; no text: the run's own */

    struct wm_sidecar *beside; /* not read with entries alone. It goes with any entry that it is about */
    size_t             n_beside;
};

WB_EXPORT_BEGIN

/* The body; the tape is stored beside it. Where a row holds JSON (metadata, results, data, error, state) it is checked
 * and written as it is, at most WJ_MAX_DEPTH deep. -UPP_EINVALID: something in it cannot be stored, see err->where.
 * A MESSAGE record's entry is one of row->entries. */
int wm_row_write(const struct wm_row *row, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Texts point into the arena. -UPP_ESTORE: these bytes are no row of this format, or the tape is not one of its
 * message; err has the pointer. JSON inside comes out token for token, compact. */
int wm_row_read(struct wb_arena *a, unsigned format, struct upp_str body, struct upp_str tape, struct wm_row *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Only the entries, for histories: skips records and tape. The results that `refs` name are in the TOOL_ENDED records,
 * which are read as well. */
int wm_row_read_entries(struct wb_arena *a, unsigned format, struct upp_str body, struct wm_row *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Puts the results that e->refs name into e->message, in that order, as parts with call id, name, JSON and is_error
 * (every outcome but WM_DONE). `ended`: TOOL_ENDED records of the same row and of rows before; of two for one call the
 * later in the list counts. What was joined before is made anew. Returns how many refs are in none of them: those have
 * no part. */
int wm_entry_join(struct wb_arena *a, struct wm_entry *e, const struct wm_event *const *ended, size_t n,
                  struct upp_err *err) UPP_MUST_CHECK;

/* ---- Erasing ---------------------------------------------------------------------------------------- */

/* What is to be erased of a row. */
struct wm_erasing {
    struct wm_erased      mark;
    bool                  all;   /* every entry and record, and the state */
    size_t                entry; /* else this entry of the row; SIZE_MAX: none */
    const struct upp_str *calls; /* and what came of these calls */
    size_t                n_calls;
    bool                  arguments; /* and what they were asked */
    bool                  asides;    /* and what middleware made of the input, for its run alone */
    bool                  lost;      /* and what was taken back */

    /* And what was made of a message elsewhere. */
    bool     rewritten; /* what middleware made of a history that has it */
    bool     summed;    /* summaries that stand for this place of the path too */
    uint32_t place;
    bool     prompts; /* what a strategy told the model in the steps of the run */
    bool     plans;   /* all of the run's state but its numbers */
};

/* Takes what was said out of a row that was read with its tape. Roles, times, ids and the pairing of calls and results
 * stay: calls have no arguments then and results are "erased". A tape goes with its message; then the records keep
 * their numbers, and those of the tape are nowhere. Returns how much was erased: 0 leaves the row as it is. */
int wm_row_erase(struct wb_arena *a, struct wm_row *row, const struct wm_erasing *what,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Takes out of a row of a run that ended long ago what only its events need: the tape, starts of tools (but those that
 * are runs of their own, without what they were asked), states on the way. What was said, results, what it took and the
 * checkpoints stay. 0: there was nothing. */
size_t wm_row_sweep(struct wm_row *row);

/* ---- Events of a row ------------------------------------------------------------------------------- */

/* The events of one row, one by one; of a message that is still open likewise. */
struct wm_expand {
    const struct wm_source *from;
    const struct wm_source *from_lost; /* of what was taken back: the epoch before. NULL: as the others */
    const struct wm_row    *row;       /* a stored one; or NULL: */
    const struct wm_tape   *tape;      /* the open message, which may grow between two calls */
    const struct wm_entry  *open;
    uint32_t                index;  /* in the node, of the row's first entry / of the open message */
    uint32_t                step;   /* of the open message; a stored row knows its own */
    uint64_t                number; /* of the next event; 0: begin with the row's */
    struct wm_tape_at       at;
    size_t                  record;
    size_t                  entry; /* the entry the tape is about */
    size_t                  n_offset;
    size_t                 *offset; /* by part: how far its text was given out. In `memory` */
    struct wb_arena        *memory;
    struct wb_uuid          step_id; /* of the step that began last: carry it over to the expansion of the next row, so
                                      * that STEP_END has the id of its STEP_START. All zero: that of the row's first
                                      * entry */
};

/* 1: *ev is set. 0: no more (for an open message: now). Texts in it are borrowed from the row or the open message and
 * stay good until it grows. The tape is about the row's first entry that is a message of the assistant; the entry of a
 * STEP_END is the row's message of the tool role, as it is: the caller has joined its results. -UPP_ESTORE: the tape
 * does not fit the message (a part that it has not, opened twice or not open; a delta beyond its text). A tape whose
 * one mark is STEP needs no message: nothing was said in the step that the row ends. Where row->event is 0 the events
 * of a row are numbered from x->number, which is then to be set. */
int wm_expand_next(struct wm_expand *x, struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* Before the first event of a row that has numbers: passes over what of its tape comes before this one, a run of deltas
 * at a time, so that who has heard a message while it was open does not pay for it again. */
int wm_expand_pass(struct wm_expand *x, uint64_t number, struct upp_err *err) UPP_MUST_CHECK;

/* How many numbers the events of a row take. -UPP_ESTORE: its tape is broken, or is about nothing. */
int wm_row_events(const struct wm_row *row, uint64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

#endif
