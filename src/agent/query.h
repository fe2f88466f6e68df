/* agent/query.h — the internals of queries (UAP 9.2), for queries that a session stores. */
#pragma once

#include <weft/agent.h>

/* Runs the turns of a query and stores them, besides its thread. */
struct wa_query_backend {
    /* Runs a turn and appends it to the thread. */
    WEFT_SUSPENDS int (*turn)(struct wa_query_backend *p, struct upp_thread *t, struct upp_str text,
                              struct upp_turn **ret, struct upp_err *err);
    void (*free)(struct wa_query_backend *p);
};

/* Creates a query with this thread. Takes over thread and backend, also on failure. text NULL: nothing is asked yet,
 * and the result has no turn. */
WEFT_SUSPENDS int wa_query_at(struct weft_agent *a, struct wa_query_backend *backend, struct upp_thread *thread,
                              struct upp_str text, struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;
