/* run/draft.h — the row that a run has not committed yet. */
#pragma once

#include "base/vec.h"
#include "run/engine.h"

enum {
    WR_VOID_BYTES = 1 << 20, /* of a void attempt's output: more is not stored for readers */
};

struct wr_open;
struct wr_run;

/* Texts live in the run's memory. */
struct wr_draft {
    WB_VEC(struct wm_entry) entries;
    WB_VEC(struct wm_event) records;
    struct wr_open *open; /* its message is the first entry, and its tape goes with the row */
    bool lost;            /* `open` is a void attempt, not an entry; the first record is VOID */
    size_t observed;      /* records already reported to middleware */
    bool state;           /* write the run's state */
    bool voids;           /* the row begins a new epoch: what readers saw since the last row is void */
    bool must_sync;
    uint64_t turn; /* counts flushes, to see whether another flush committed the content */
};

/* Changes that one flush commits together with the row. */
enum { WR_MORE = 10 };
struct wr_more {
    const struct wl_change *changes; /* at most WR_MORE */
    size_t n;
};
#define WR_MORE_OF(array) ((struct wr_more){(array), WB_LEN(array)})

struct wm_event *wr_draft_record(struct wr_run *run, uint8_t kind, struct upp_err *err); /* NULL: failed */
struct wm_entry *wr_draft_entry(struct wr_run *run, struct upp_err *err);

/* Why one of them, or what belongs to it, failed: -UPP_ELIMIT, the draft is full, or -UPP_ENOMEM. */
int wr_draft_failed(const struct wr_run *run, struct upp_err *err);
bool wr_draft_empty(const struct wr_run *run);

/* Commits the draft as one row, together with these changes. Takes the commit lock. */
WEFT_SUSPENDS int wr_flush(struct wr_run *run, const struct wr_more *more, struct upp_err *err) UPP_MUST_CHECK;

int64_t wr_now(struct wr_run *run); /* max(now, time of the newest entry) */
