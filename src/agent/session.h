/* agent/session.h — the session from the inside. */
#ifndef WA_SESSION_H
#define WA_SESSION_H

#include <weft/session.h>

#include "agent/agent.h"
#include "agent/session_doc.h"

struct wa_session_tree;

struct weft_session {
    struct weft_agent        *agent;
    struct wa_home           *home;
    struct wl_store          *store; /* of home->kept */
    struct wb_arena           memory;
    struct upp_str            id, metadata; /* as the program says them */
    struct wb_uuid            thread;       /* all zero: not in the log yet */
    struct weft_persistence   persistence;
    bool                      persists, no_checkpoints, every_turn;
    bool                      busy;    /* a run of it works */
    int                       failed;  /* what saving it in the middle of that run came to; 0: well */
    struct upp_err            why;     /* where failed is not 0 */
    struct wm_session        *doc;     /* not in the log yet: of which it was made; NULL: it is */
    struct wb_arena           doc_memory;
    struct wa_session_tree   *tree;    /* NULL: nobody has asked for it */
    struct wb_arena           view;    /* of the checkpoints that were handed out */
    struct wm_session         viewed;  /* what they were taken from; `seen` says whether it is true still */
    bool                      seen;
};

extern const struct wl_owner wa_owner;

/* Runs fn on a fiber, one at a time for a session: -UPP_EINVALID while a run of it works. */
WEFT_SUSPENDS int wa_session_do(struct weft_session *s, const char *name, int (*fn)(struct weft_session *s, void *arg, struct upp_err *err), void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* Everything that was changed in memory is in the log after this: the document it was made of, and its tree. */
WEFT_SUSPENDS int wa_session_settle(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* The log has more than the tree: reads it (session_tree.c). */
WEFT_SUSPENDS int wa_session_refresh(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;
void wa_session_tree_free(struct wa_session_tree *t); /* NULL is fine */

#endif
