/* agent/query.h — the inside of queries (UAP 9.2), for those whose thread is kept in a session. */
#ifndef WA_QUERY_H
#define WA_QUERY_H

#include <weft/agent.h>

/* Where the turns of a query are kept beside its thread, and what knows its history. */
struct wa_query_backend {
    /* Answers, and appends the turn to the thread. */
    WEFT_SUSPENDS int (*turn)(struct wa_query_backend *p, struct upp_thread *t, struct upp_str text,
                              struct upp_turn **ret, struct upp_err *err);
    void (*free)(struct wa_query_backend *p);
};

/* A query with this thread, which it takes over together with its place, also when it fails. text: no text: nothing is
 * asked yet, and the result has no turn. */
WEFT_SUSPENDS int wa_query_at(struct weft_agent *a, struct wa_query_backend *place, struct upp_thread *thread,
                              struct upp_str text, struct weft_query_result **ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
