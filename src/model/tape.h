/* model/tape.h — how a message was streamed: the boundaries, without the text.
 *
 * A tape is a list of marks of a few bytes each: the step began, the message or a part was opened or closed, a delta
 * had so many bytes of a part's text (consecutive equal deltas are counted). Message and tape together give the events
 * again, one event per mark. It is written while the message grows; any number of cursors can read it meanwhile.
 *
 * Bytes: a mark is a varint (kind in the lower 3 bits, part above); for deltas a varint with their bytes and one with
 * their count minus one follow. The open run of equal deltas is not in the bytes yet but in the struct. Varints have
 * seven bits per byte, lowest first, in the shortest spelling only. The part of STEP and OPEN is 0; a delta has at
 * least one byte.
 *
 * Sticky like its buffer: once `out` has failed, marks are lost, and readers of the tape get the failure.
 */
#pragma once

#include "base/buf.h"

enum wm_mark { WM_MARK_STEP = 0, WM_MARK_OPEN, WM_MARK_PART, WM_MARK_DELTA, WM_MARK_CLOSE };

struct wm_tape {
    struct wb_buf out;
    uint64_t events; /* marks so far, deltas counted one by one */
    uint32_t part;   /* the run of equal deltas that is still open */
    uint64_t bytes, times;
};

/* A reader's cursor. All zero: at the beginning. */
struct wm_tape_at {
    size_t at;            /* in the bytes */
    uint64_t left, bytes; /* of the run of deltas being read */
    uint32_t part;
    uint64_t taken; /* deltas already delivered of the writer's open run */
};

WB_EXPORT_BEGIN

void wm_tape_init(struct wm_tape *t, size_t max);
void wm_tape_done(struct wm_tape *t);
void wm_tape_mark(struct wm_tape *t, enum wm_mark mark, uint32_t part);
void wm_tape_new_run(struct wm_tape *t, uint32_t part, uint64_t bytes); /* wm_tape_delta, unlike the last one */

/* Closes the open run: the bytes are then complete. */
struct upp_str wm_tape_end(struct wm_tape *t);

/* Next mark of a stored tape. 1: set. 0: no more. -UPP_ESTORE: not a tape. */
int wm_tape_next(struct upp_str tape, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                 struct upp_err *err) UPP_MUST_CHECK;

/* wm_tape_follow for a cursor that has not reached the open run. 0: it has now. */
int wm_tape_behind(const struct wm_tape *t, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Counts the marks of a stored tape, each delta as one, and the bytes of text in them. Takes time linear in the size of
 * the tape. */
int wm_tape_count(struct upp_str tape, uint64_t *events, uint64_t *text, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

/* Zero bytes: no delta, no event. */
static inline void wm_tape_delta(struct wm_tape *t, uint32_t part, uint64_t bytes)
{
    if (WB_LIKELY(t->times && part == t->part && bytes == t->bytes)) {
        t->times++;
        t->events++;
    } else if (bytes)
        wm_tape_new_run(t, part, bytes);
}

/* Next mark of a tape that is being written. 0: no more for now; the cursor continues once more is written. */
UPP_MUST_CHECK static inline int wm_tape_follow(const struct wm_tape *t, struct wm_tape_at *at, enum wm_mark *mark,
                                                uint32_t *part, uint64_t *bytes, struct upp_err *err)
{
    if (WB_UNLIKELY(at->left || at->at != t->out.n || t->out.failed)) {
        int r = wm_tape_behind(t, at, mark, part, bytes, err);
        if (r != 0)
            return r;
    }
    if (at->taken >= t->times)
        return 0;
    at->taken++;
    *mark = WM_MARK_DELTA;
    *part = t->part;
    *bytes = t->bytes;
    return 1;
}
