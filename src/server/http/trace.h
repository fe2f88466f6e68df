/* server/http/trace.h — the trace that a request belongs to, from its header `traceparent` (W3C Trace Context, level
 * 1).
 *
 * We are one span of that trace: the id of our span replaces the caller's in what we send on.
 */
#pragma once

#include "base/str.h"

struct sv_trace {
    char id[33];     /* 32 hex digits; empty: the request has no valid traceparent */
    char parent[56]; /* the traceparent to send on: the same trace, our span */
    char caller[17]; /* 16 hex digits: the span that the header names */
};

/* Takes a valid header and makes a span of our own. False: it is not valid, or there is no randomness; *ret is then
 * empty. */
bool sv_trace_take(struct sv_trace *ret, struct upp_str header);
