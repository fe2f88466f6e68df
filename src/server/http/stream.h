/* server/http/stream.h — a streaming response: a subscriber of events.
 *
 * A stream pulls what its source has, sends all of it in one write, and waits to be woken. Its fiber's stack holds
 * nothing but this loop, so that it can become an ordinary object later.
 */
#pragma once

#include "base/list.h"
#include "server/http/route.h"
#include "server/http/sse_out.h"

enum sv_pull {
    SV_PULL_LATER = 0, /* nothing now: sv_stream_wake will be called */
    SV_PULL_MORE,      /* frames were added, and there may be more */
    SV_PULL_END,       /* the end (frames may have been added) */
};

struct sv_stream {
    struct sv_exchange *x;
    struct wb_link link; /* in the streams of its core */
    struct wb_buf out;   /* frames: sv_sse_frame(&stream->out, ...) */
    struct weft_cond cond;
    bool woken, chunked;
    bool lines;    /* JSON lines instead of server-sent events */
    bool apart;    /* each frame is a chunk of its own */
    bool cut;      /* `before` has frames */
    size_t before; /* bytes of the response's head and of whole chunks, before the chunk being made */
};

enum { SV_STREAM_FLUSH = 32 << 10, SV_STREAM_MAX = 48 << 20 };

/* Adds frames to st->out; may suspend. A failure ends the stream in the middle, so that the client reconnects. */
typedef int sv_source(void *arg, struct sv_stream *st, struct upp_err *err);

struct sv_stream_opts {
    const char *headers; /* additional headers, each with CRLF; NULL: none */
    bool lines;          /* application/x-ndjson, without comments */
    bool apart;          /* each frame is a chunk of HTTP, for clients that take a chunk for one */

    /* Adds a frame after a long silence; 0: it has none to add, and a comment is sent. NULL: likewise. */
    int (*beat)(void *arg, struct sv_stream *st, struct upp_err *err);
};

/* Responds with a stream. 0: it ended properly, or the server stops; -UPP_ENET, -UPP_ETIMEOUT: its client is gone, or
 * does not read. If the source fails before it added a frame, nothing is sent: the failure can be the response. */
WEFT_SUSPENDS int sv_stream_run(struct sv_exchange *x, const struct sv_stream_opts *opts, sv_source *source, void *arg,
                                struct upp_err *err) UPP_MUST_CHECK;

/* A frame was added: with `apart` it is a chunk. */
void sv_stream_cut(struct sv_stream *st);

/* There is something to pull: call it on the loop, at any time while the stream runs. */
void sv_stream_wake(void *stream);
