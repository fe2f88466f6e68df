/* server/http/sse_out.h — the only place that writes server-sent events.
 *
 * Whatever the data contains, a reader sees as many events as frames were written, with that data, name and id: names
 * are words, ids are three numbers, data is one line. A line end in it becomes a space (JSON has them only between
 * tokens), and U+2028 and U+2029 become their JSON escapes.
 */
#pragma once

#include "base/buf.h"

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
