/* run/draft.h — the row that a run has not committed yet. */
#ifndef WR_DRAFT_H
#define WR_DRAFT_H

#include "base/vec.h"
#include "run/engine.h"

enum {
    WR_LOST_BYTES = 1 << 20, /* of what an attempt said that is void: more of it is not kept for readers */
};

struct wr_open;
struct wr_run;

/* The row that is not committed yet. Texts live in the run's memory. */
struct wr_draft {
    WB_VEC(struct wm_entry) entries;
    WB_VEC(struct wm_event) records;
    struct wr_open *open;     /* whose message is the first entry: its tape goes with the row */
    bool            lost;     /* it is none: it was taken back, and the first record is VOID */
    size_t          observed; /* records that middleware has been told of */
    bool            state;    /* write the run's state */
    bool            must_sync;
    uint64_t        turn; /* counts flushes: whose content went with which */
};

/* Changes beside the row, for one flush. */
enum { WR_MORE = 8 };
struct wr_more {
    const struct wl_change *changes; /* at most WR_MORE */
    size_t                  n;
};
#define WR_MORE_OF(array) ((struct wr_more){(array), WB_LEN(array)})

struct wm_event *wr_draft_record(struct wr_run *run, uint8_t kind, struct upp_err *err); /* NULL: failed */
struct wm_entry *wr_draft_entry(struct wr_run *run, struct upp_err *err);
bool             wr_draft_empty(const struct wr_run *run);

/* Commits the draft as one row, with these other changes. Takes the lane. */
WEFT_SUSPENDS int wr_flush(struct wr_run *run, const struct wr_more *more, struct upp_err *err) UPP_MUST_CHECK;

int64_t wr_now(struct wr_run *run); /* max(now, the time of the entry before) */

#endif
