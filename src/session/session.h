/* session/session.h — the session from the inside.
 *
 *   session.c             its life, SessionJSON, a program's own store
 *   run.c         runs and streams on it
 *   query.c       queries beside its conversation
 *   checkpoint.c  looking at checkpoints, restoring them
 *   tree.c        its tree in memory, beside the log
 *   session_doc.c, session_nodes.c, commits.c   out of a store and into it; know nothing of sessions
 */
#ifndef WA_SESSION_H
#define WA_SESSION_H

#include <weft/session.h>

#include "agent/agent.h"
#include "thread/session_doc.h"

struct wa_session_tree;

struct weft_session {
    struct weft_agent      *agent;
    struct wa_home         *home;
    struct upp_str          id, metadata; /* as the program says them */
    char                   *texts;        /* where they lie */
    struct wb_uuid          thread;       /* all zero: not in the log yet */
    struct weft_persistence persistence;
    bool                    persists, no_checkpoints, every_turn;
    bool                    busy;    /* a call of it is under way that changes it */
    bool                    running; /* a run of it works, perhaps a stream's between two pulls */
    struct wr_watch         watch;
    struct wa_session_tree *tree; /* NULL: nobody has asked for it */

    /* Of which it was made, until it is in the log; later what the log has, for whoever looks at checkpoints. */
    struct wm_session doc;
    bool              has_doc;    /* it is true */
    struct wb_arena   doc_memory; /* where the one lies of which it was made */
    struct wa_doc    *reading;    /* where the other one lies; NULL: nobody has looked */
    bool              is_read;    /* somebody is at it: one at a time */
    struct weft_cond  was_read;
    struct wb_buf     subagents; /* of the checkpoint that was looked at */
};

static inline bool wa_session_stored(const struct weft_session *s)
{
    return !wb_uuid_eq(s->thread, (struct wb_uuid){{0}});
}

/* A call that changes the session, on a fiber: -UPP_EINVALID while another one, or a run, is under way. */
typedef WEFT_SUSPENDS int wa_session_fn(struct weft_session *s, void *arg, struct upp_err *err);
WEFT_SUSPENDS int         wa_session_change(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg,
                                            struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int         wa_session_look(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg,
                                          struct upp_err *err) UPP_MUST_CHECK; /* one that changes nothing */

/* What the program has in memory (the document it was made of, changes of its tree) goes into the log. This, and
 * wa_session_read, free what checkpoints show: whoever calls them has copied what a program handed in. */
WEFT_SUSPENDS int wa_session_flush(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* s->doc is what the log has now: what is new is read. */
WEFT_SUSPENDS int wa_session_read(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;
void              wa_session_stale(struct weft_session *s); /* the log has changed */

/* Its row in the log. */
WEFT_SUSPENDS int wa_session_thread(struct weft_session *s, struct wb_arena *a, struct wl_thread *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Into the program's own store, where it has one. */
WEFT_SUSPENDS int wa_session_persist(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Running (run.c), also for streams ---- */

int               wa_session_input(const struct upp_input *in, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wa_session_begin(struct weft_session *s, struct wa_asked *asked, struct wa_where *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;
/* What the run came to, or why keeping it failed. */
WEFT_SUSPENDS int wa_session_end(struct weft_session *s, int result, struct upp_err *err) UPP_MUST_CHECK;

/* Runs of one of its threads that were cut short end. */
WEFT_SUSPENDS int wa_session_end_runs(struct weft_session *s, struct wb_uuid thread,
                                      struct upp_err *err) UPP_MUST_CHECK;

/* ---- The tree (tree.c) ---- */

WEFT_SUSPENDS int wa_session_tree_store(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK; /* into the log */
WEFT_SUSPENDS int wa_session_tree_read(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;  /* what is new */
WEFT_SUSPENDS int wa_session_tree_query(struct weft_session *s, uint64_t node, struct upp_err *err) UPP_MUST_CHECK;
void              wa_session_tree_free(struct wa_session_tree *t); /* NULL is fine */

#endif
