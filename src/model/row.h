/* model/row.h — one commit of a node as one row, in the stored format.
 *
 * A row holds everything of one commit point: the entries added to the node, the records added to the run's events, the
 * tape of a message, the run's state. It is written whole or not at all, so a step is one append.
 *
 * Order of its events: those of the tape, then the records, numbered from `event` on without a gap. If the tape belongs
 * to voided output, its events are of the previous epoch and the records use the same numbers again: VOID is the first
 * of them.
 *
 * Format 1 is compact JSON with one-letter names (listed in model/row.c) and, separately, the tape. Readers for every
 * released format number stay.
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "model/event.h"
#include "model/tape.h"

enum { WM_FORMAT = 1 };
enum { WM_ROW_MAX = 64 << 20 /* maximum size of a body in bytes */ };

/* Data stored next to entries: residue of a dialect (model/doc.h), or data of an imported document
 * (model/doc_sidecar.h). */
struct wm_sidecar {
    uint32_t entry, entries; /* index of its first entry in the row, and how many from there on */
    bool thread;             /* belongs to the whole thread */
    struct upp_str dialect, slot;
    struct upp_str text;
};

/* The member of a run's state that says what is granted on its path before the run (run/path.c). */
#define WM_STATE_GRANTS "grants"

#define WM_SIDECAR_OWN "weft" /* the dialect of the model's own sidecars */

/* Does it describe a turn, which begins at its first entry? */
static inline bool wm_is_turn(const struct wm_sidecar *b)
{
    return !b->thread && wb_str_eq(b->dialect, UPP_STR(WM_SIDECAR_OWN)) && wb_str_eq(b->slot, UPP_STR("turn"));
}

struct wm_row {
    uint64_t event; /* number of its first event; 0: none */
    uint32_t epoch;
    uint32_t step; /* of the run at the time of writing */
    int64_t time_ms;
    struct wm_entry *entries;
    size_t n_entries;
    struct wm_event *records; /* number, from and entry ids are not stored: wm_expand fills them in */
    size_t n_records;
    struct upp_str state;  /* JSON: the run's state from here on; empty: unchanged */
    struct upp_str grants; /* wm_row_read_entries: the member WM_STATE_GRANTS of the state; empty: none */
    struct upp_str tape;
    struct wm_entry *lost; /* the message of the tape if it was voided: in no history. NULL: not voided */
    struct upp_str agent;  /* name of the agent after a handoff; empty: the run's own */

    struct wm_sidecar *beside; /* not read by wm_row_read_entries. Erased together with any of its entries */
    size_t n_beside;
};

WB_EXPORT_BEGIN

/* Writes the body; the tape is stored separately. JSON in a row (metadata, results, data, error, state) is checked and
 * written unchanged, at most WJ_MAX_DEPTH deep. -UPP_EINVALID: something cannot be stored, see err->where. A MESSAGE
 * record's entry is one of row->entries. */
int wm_row_write(const struct wm_row *row, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;

/* Texts point into the arena. -UPP_ESTORE: not a row of this format, or the tape does not fit its message; err has the
 * pointer. JSON inside is returned token for token, compact. */
int wm_row_read(struct wb_arena *a, unsigned format, struct upp_str body, struct upp_str tape, struct wm_row *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Reads only the entries, for histories: skips tape and records, except TOOL_ENDED records, which have the results that
 * `refs` name. Of the state only what it says of grants. */
int wm_row_read_entries(struct wb_arena *a, unsigned format, struct upp_str body, struct wm_row *ret,
                        struct upp_err *err) UPP_MUST_CHECK;

/* Inserts the results that e->refs name into e->message, in that order, as parts with call id, name, JSON and is_error
 * (every outcome but WM_DONE). `ended`: TOOL_ENDED records of the same row and of earlier rows; of two for one call the
 * later in the list counts. Replaces results that were joined before. Returns the number of refs without a record:
 * those get no part. */
int wm_entry_join(struct wb_arena *a, struct wm_entry *e, const struct wm_event *const *ended, size_t n,
                  struct upp_err *err) UPP_MUST_CHECK;

/* What to erase in a row. */
struct wm_erasing {
    struct wm_erased mark;
    bool all;                    /* every entry and record, and the state */
    size_t entry;                /* else this entry of the row; SIZE_MAX: none */
    const struct upp_str *calls; /* and the results of these calls */
    size_t n_calls;
    bool arguments; /* and their arguments */
    bool asides;    /* and the input as middleware rewrote it, for its run only */
    bool lost;      /* and voided output */

    /* And what was derived from a message. */
    bool rewritten; /* histories rewritten by middleware */
    bool summed;    /* summaries that cover this position of the path */
    uint32_t place;
    bool prompts; /* a strategy's prompts to the model in the steps of the run */
    bool plans;   /* the run's state except its numbers */
};

/* Erases content in a row that was read with its tape. Roles, times, ids and the pairing of calls and results stay:
 * calls then have no arguments and results are "erased". A tape is erased with its message; the records keep their
 * numbers, and those of the tape are unused. Returns how much was erased: 0 leaves the row unchanged. */
int wm_row_erase(struct wb_arena *a, struct wm_row *row, const struct wm_erasing *what,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Removes from a row of a run that ended long ago what only its events need: the tape, starts of tools (except those
 * that are runs of their own, which lose their arguments), intermediate states. Messages, results, usage and
 * checkpoints stay. 0: nothing to remove. */
size_t wm_row_sweep(struct wm_row *row);

/* Iterates over the events of one row, or of an open message. */
struct wm_expand {
    const struct wm_source *from;
    const struct wm_source *from_lost; /* of voided output: the previous epoch. NULL: as `from` */
    const struct wm_row *row;          /* a stored row; or NULL: */
    const struct wm_tape *tape;        /* the open message, which may grow between calls */
    const struct wm_entry *open;
    uint32_t index;  /* in the node: of the row's first entry / of the open message */
    uint32_t step;   /* of the open message; a stored row has its own */
    uint64_t number; /* of the next event; 0: begin with the row's */
    struct wm_tape_at at;
    size_t record;
    size_t entry; /* the entry of the tape */
    size_t n_offset;
    size_t *offset; /* by part: how much of its text was delivered. In `memory` */
    struct wb_arena *memory;
    struct wb_uuid step_id; /* of the step that began last: copy it to the expansion of the next row, so that STEP_END
                               has the id of its STEP_START. All zero: that of the row's first entry */
};

/* 1: *ev is set. 0: no more (for an open message: for now). Texts are borrowed from the row or the open message, valid
 * until it grows. The tape belongs to the row's first assistant message; the entry of a STEP_END is the row's message
 * of the tool role, unchanged: the caller has joined its results. -UPP_ESTORE: the tape does not fit the message (a
 * part that does not exist, is opened twice or is not open; a delta beyond its text). A tape with the single mark STEP
 * needs no message: the step that the row ends had no output. If row->event is 0, events are numbered from x->number,
 * which the caller sets. */
int wm_expand_next(struct wm_expand *x, struct wm_event *ev, struct upp_err *err) UPP_MUST_CHECK;

/* Before the first event of a row that has numbers: skips the events of its tape before this number, a run of deltas at
 * a time, so that a reader who followed the open message does not pay for it again. */
int wm_expand_pass(struct wm_expand *x, uint64_t number, struct upp_err *err) UPP_MUST_CHECK;

/* How many event numbers a row uses. -UPP_ESTORE: its tape is corrupt, or has no message. */
int wm_row_events(const struct wm_row *row, uint64_t *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
