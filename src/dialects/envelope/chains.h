/* dialects/envelope/chains.h — trace.parents of recorded envelopes: direct in the log, whole on the wire.
 *
 * On the wire the parents of a reply are those of its request and then the request. The log has the request alone, and
 * in trace.above how many of the request's parents precede it:
 *
 *     the log    {"parents": ["r"], "above": 2, "id": "a"}        the request r has the parents ["p", "q"]
 *     the wire   {"parents": ["p", "q", "r"], "id": "a"}
 *
 * A reply without trace.above is as it was sent: all of its parents are there, or `envelopes.parents` is direct. The
 * parents of requests are never cut: those of ours are direct anyway, and an envelope that came in is stored as it
 * came.
 */
#pragma once

#include "dialects/envelope/envelope.h"
#include "model/names.h"

#define WD_ENVELOPE_ABOVE "above" /* the member of trace; only in the log */

/* The parents of the requests of a run. Starts all zero. */
struct wd_chains {
    struct wm_names requests;       /* their ids */
    WB_VEC(struct upp_str) parents; /* of each: the list as JSON */
    struct wb_arena kept;           /* the texts */
    bool begun;
};

/* A new run begins: replies follow requests of their own run. */
void wd_chains_begin(struct wd_chains *c);

/* A request, before its reply. */
int wd_chains_add(struct wd_chains *c, yyjson_val *request, struct upp_err *err) UPP_MUST_CHECK;

/* A reply or an answer as it is on the wire: itself, or a copy in the arena. If its request is not known (it is not in
 * this part of the log), the direct parents are all. */
int wd_chains_restore(const struct wd_chains *c, struct wb_arena *a, yyjson_val *reply, yyjson_val **ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* One part of a message of the router: a call is added, what is not the user's is restored. */
int wd_chains_part(struct wd_chains *c, struct wb_arena *a, const struct upp_message *m, const struct upp_part *p,
                   yyjson_val *envelope, yyjson_val **ret, struct upp_err *err) UPP_MUST_CHECK;

void wd_chains_done(struct wd_chains *c);
