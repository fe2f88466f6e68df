/* upp/http/frames.h — bytes of a body, as they come, cut into events: server-sent events, or a line each. No I/O.
 *
 * The same events come out however the bytes are cut. Lines end in LF, CR or CRLF; a byte order mark at the beginning,
 * comments and fields other than `event`, `data` (and `id`, `retry`) are passed over; data lines are joined by LF.
 */
#pragma once

#include "base/buf.h"
#include "base/export.h"

enum ww_framing { WW_SSE = 1, WW_LINES };

struct ww_frame {
    struct upp_str name; /* SSE: the event's name; empty: none */
    struct upp_str data; /* borrowed until the next call */
};

struct ww_frames {
    uint8_t kind;                            /* enum ww_framing */
    size_t max;                              /* bytes of one event */
    struct wb_buf bytes;                     /* what came; events point into it */
    size_t event;                            /* where the event being read begins: what is before it was given out */
    size_t line;                             /* where the line being read begins */
    size_t seen;                             /* no line ends between there and here */
    size_t next_cr;                          /* no CR stands between seen and there */
    struct wb_buf lines;                     /* the data of an event that has several lines of it */
    size_t data_at, data_n, name_at, name_n; /* in bytes */
    unsigned n_data;                         /* lines of data so far */
    bool has_name, begun;
    bool cr; /* the last line ended in CR: an LF that follows belongs to it */
};

/* More bytes at once than this are given in pieces. */
enum { WW_PIECE = 64 << 10 };

WB_EXPORT_BEGIN

void ww_frames_init(struct ww_frames *f, uint8_t kind, size_t max);
void ww_frames_done(struct ww_frames *f);

/* More bytes, at most WW_PIECE; all events before them were taken. */
int ww_frames_feed(struct ww_frames *f, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;

/* The next event: 1; 0: more bytes are needed. -UPP_ELIMIT: an event longer than the maximum. */
int ww_frames_next(struct ww_frames *f, struct ww_frame *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The body is over: what is left without its blank line or line end, once: 1; 0: nothing. */
int ww_frames_end(struct ww_frames *f, struct ww_frame *ret, struct upp_err *err) UPP_MUST_CHECK;

WB_EXPORT_END
