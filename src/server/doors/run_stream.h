/* server/doors/run_stream.h — the events of a run as a stream in a dialect, for every door.
 *
 * Every frame has an id. A reader that returns with the last id it received gets exactly the rest.
 */
#pragma once

#include "dialects/core/dialect.h"
#include "run/engine.h"
#include "server/http/route.h"

/* A frame before those of the events, without an id: a reader that returns does not get it again. */
struct sv_preamble {
    const char *name; /* NULL: none */
    struct upp_str data;
};

struct sv_run_stream {
    uint64_t drop; /* so many of its frames are not sent: the client has them */
    const struct wd_stream_ops *ops;
    struct wd_stream_opts opts; /* of this request; a door may set those of its dialect (sv_run_stream_own) */
    struct wr_from from;        /* after this event; all zero: from the start */
    bool to_wait;               /* ends when the run waits for an answer from outside */
    bool segment;               /* with to_wait: also if it goes on by now */
    struct sv_preamble preamble;
    bool unstored; /* its thread is erased before the end of the stream is sent */
    bool lines;    /* JSON lines instead of server-sent events */
    bool plain;    /* frames without ids, each in a chunk of HTTP of its own */
    uint32_t skip; /* of sv_run_answer: frames before the one */
    bool now;      /* of sv_run_answer: does not wait for it */
};

/* What a request asks for: `?as=` chooses the dialect (otherwise `as`; NULL: the door's), `?children=` and the
 * dialect's own parameters its options. To be called before anything is started. */
int sv_run_stream_read(struct sv_exchange *x, const char *as, struct sv_run_stream *ret,
                       struct upp_err *err) UPP_MUST_CHECK;

/* The dialect's own options; NULL: the request asks for another dialect than `ops`. */
static inline void *sv_run_stream_own(const struct sv_run_stream *s, const struct wd_stream_ops *ops)
{
    return s->ops == ops ? s->opts.own : NULL;
}

/* Where it continues: Last-Event-ID is the last event received; ?from=N the first one wanted. */
int sv_run_stream_from(struct sv_exchange *x, struct sv_run_stream *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Encodes a run up to now or, with `whole`, to its end or wait, and calls `frame` for each frame after s->from, until
 * it returns 1. name NULL: it has none. */
typedef int sv_frame_fn(void *arg, const struct wm_event *ev, const char *name, struct upp_str frame,
                        struct upp_err *err);
WEFT_SUSPENDS int sv_run_encode(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s, bool whole,
                                sv_frame_fn *frame, void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the stream. */
WEFT_SUSPENDS int sv_run_stream(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s,
                                struct upp_err *err) UPP_MUST_CHECK;

/* Responds with the one frame that a dialect gives for a whole segment: the body of the answer. A frame with a name is
 * an error. A run that failed is an error with the status of dialects/core/failure.h, unless it is only looked at
 * (`now`) or the dialect says it in the answer. 1; 0, only with `now`: it is not there yet, and nothing was done. */
WEFT_SUSPENDS int sv_run_answer(struct sv_exchange *x, struct wb_uuid run, struct sv_run_stream *s,
                                struct upp_err *err) UPP_MUST_CHECK;
