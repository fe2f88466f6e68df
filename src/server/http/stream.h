/* server/http/stream.h — the only place that writes server-sent events.
 *
 * Whatever the data contains, a reader sees as many events as frames were written, with that data, name and id: names
 * are words, ids are three numbers, data is one line. A line end in it becomes a space (JSON has them only between
 * tokens), and U+2028 and U+2029 become their JSON escapes.
 */
#pragma once

#include "base/buf.h"
#include "base/list.h"
#include "server/http/route.h"

/* Id of a frame of a run's event: the epoch, the event's number, and the number of the frame within the event, from
 * 1. Written as "EPOCH-NUMBER.PART". */
struct sv_sse_id {
    uint32_t epoch;
    uint64_t number;
    uint32_t part; /* 0: the whole event; "EPOCH-NUMBER" */
};

/* Adds one frame. `name` (NULL: none) is letters, digits, and . _ - : at most 64 of them, or the buffer fails with
 * -UPP_EBUG; `id` NULL: none. */
void sv_sse_frame(struct wb_buf *out, const char *name, struct upp_str data, const struct sv_sse_id *id);

/* Comments, which readers ignore: a keep-alive, one that ends a stream to be resumed, and one that ends it for good. */
void sv_sse_ping(struct wb_buf *out);
void sv_sse_goodbye(struct wb_buf *out);
void sv_sse_revoked(struct wb_buf *out);

/* "EPOCH-NUMBER.PART" or "EPOCH-NUMBER", as in Last-Event-ID. */
bool sv_sse_id_parse(struct upp_str text, struct sv_sse_id *ret);

/* A streaming response: a subscriber of events.
 *
 * A stream pulls what its source has, sends all of it in one write, and waits to be woken. Its fiber's stack holds
 * nothing but this loop, so that it can become an ordinary object later.
 */

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
