/* model/tape.h — how a message was streamed: the cuts, without the text.
 *
 * A tape is a list of marks in a few bytes each: the step began, the message or a part was opened or closed, so many
 * bytes of a part's text were a delta (equal deltas in a row are counted). Message and tape together give the events
 * again, one mark one event. It is written while the message grows and read by any number of cursors at the same time.
 *
 * Bytes: one mark is a varint (kind in the lower 3 bits, part above) and, for deltas, a varint of bytes and one of how
 * often minus one. The open run of equal deltas is not in the bytes yet but in the struct. Varints: seven
 * bits a byte, the lowest first, in their one shortest spelling. The part of STEP and OPEN is 0, a delta has at least
 * one byte.
 *
 * Sticky as its buffer is: once `out` has failed, marks are lost, and who follows the tape gets the failure.
 */
#ifndef WM_TAPE_H
#define WM_TAPE_H

#include "base/buf.h"

enum wm_mark { WM_MARK_STEP = 0, WM_MARK_OPEN, WM_MARK_PART, WM_MARK_DELTA, WM_MARK_CLOSE };

struct wm_tape {
    struct wb_buf out;
    uint64_t      events; /* marks so far, deltas counted one by one */
    uint32_t      part;   /* the run of equal deltas that is still open */
    uint64_t      bytes, times;
};

/* Where a reader is. All zero: at the beginning. */
struct wm_tape_at {
    size_t   at;          /* in the bytes */
    uint64_t left, bytes; /* of a run of deltas that was begun */
    uint32_t part;
    uint64_t taken; /* of the open run of the tape's writer */
};

WB_EXPORT_BEGIN

void wm_tape_init(struct wm_tape *t, size_t max);
void wm_tape_done(struct wm_tape *t);
void wm_tape_mark(struct wm_tape *t, enum wm_mark mark, uint32_t part);
void wm_tape_other(struct wm_tape *t, uint32_t part, uint64_t bytes); /* wm_tape_delta, of one unlike those before */

/* Closes the open run: from here on the bytes are whole. */
struct upp_str wm_tape_end(struct wm_tape *t);

/* Next mark of a stored tape. 1: set. 0: at its end. -UPP_ESTORE: these bytes are no tape. */
int wm_tape_next(struct upp_str tape, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                 struct upp_err *err) UPP_MUST_CHECK;

/* wm_tape_follow, of a cursor that is behind the open run. 0: it is not any more. */
int wm_tape_behind(const struct wm_tape *t, struct wm_tape_at *at, enum wm_mark *mark, uint32_t *part, uint64_t *bytes,
                   struct upp_err *err) UPP_MUST_CHECK;

/* How many marks a stored tape has, deltas counted one by one, and how many bytes of text they are about. Takes as long
 * as its own bytes are many. */
int wm_tape_count(struct upp_str tape, uint64_t *events, uint64_t *text, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END

/* Of no bytes: no delta, no event. */
static inline void wm_tape_delta(struct wm_tape *t, uint32_t part, uint64_t bytes)
{
    if (WB_LIKELY(t->times && part == t->part && bytes == t->bytes)) {
        t->times++;
        t->events++;
    } else if (bytes)
        wm_tape_other(t, part, bytes);
}

/* Next mark of a tape that is being written. A cursor that has come to its end goes on when more was written. */
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
    *mark  = WM_MARK_DELTA;
    *part  = t->part;
    *bytes = t->bytes;
    return 1;
}

#endif
