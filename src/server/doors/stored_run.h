/* server/doors/stored_run.h — a run as an object that a client has stored: a response, or a chat completion.
 *
 * Such an object is a view of its run, and of one segment of it: each wait for the client ends one. It has no record of
 * its own, so that it belongs to whom the thread belongs to, and goes with it.
 */
#pragma once

#include "log/log.h"
#include "model/run.h"
#include "server/http/route.h"

struct sv_stored {
    struct wm_run run;
    uint32_t segment; /* 0: the first */
};

/* An id: the prefix and a run; for its second segment, `separator` and 2 after it. */
bool sv_stored_id(struct upp_str id, const char *prefix, char separator, struct wb_uuid *run, uint32_t *segment);

/* A run of this client; x->thread is its thread. A run of another owner and none at all get the same -UPP_ENOTFOUND. */
WEFT_SUSPENDS int sv_stored_find(struct sv_exchange *x, struct wb_uuid id, struct wm_run *ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* What it answers: the path to its first message, after sv_stored_find. Where the run is at home. */
WEFT_SUSPENDS int sv_stored_context(struct sv_exchange *x, const struct sv_stored *it, struct wl_path *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Deletes the run with all its segments, and erases its messages, the question included; with the thread, if nobody
 * asked for one and nothing else is in it. After sv_stored_find. `what`: "the response", for messages. It can be
 * repeated after a failure. -UPP_EBUSY: the run has not ended. */
WEFT_SUSPENDS int sv_stored_delete(struct sv_exchange *x, const struct sv_stored *it, const char *what,
                                   struct upp_err *err) UPP_MUST_CHECK;
