/* server/doors/process/history.h — which messages of a request a session has already. */
#pragma once

#include "server/http/body.h"

struct sv_history {
    struct upp_str *ids; /* of messages of the request that the session has */
    size_t n_ids;
    struct upp_str *calls; /* that have a result */
    size_t n_calls;
    struct wb_uuid last; /* the run that the last one of them started; all zero: none */
};

/* How far back it looks. */
enum { SV_HISTORY_ENTRIES = 1024, SV_HISTORY_RUNS = 64 };

/* `list`: the messages of the request. Ids are those that clients gave their messages, those of the thread's entries,
 * and those that streams have shown. */
WEFT_SUSPENDS int sv_history_read(struct sv_exchange *x, const struct wl_thread *t, yyjson_val *list,
                                  struct sv_history *ret, struct upp_err *err) UPP_MUST_CHECK;

bool sv_history_has(const struct sv_history *h, struct upp_str id);
bool sv_history_answered(const struct sv_history *h, struct upp_str call);
