/* session/session.h — the internals of sessions.
 *
 *   session.c     opening, closing, erasing; SessionJSON; a program's own store
 *   run.c         runs
 *   stream.c      runs as streams
 *   query.c       queries outside the conversation
 *   checkpoint.c  reading and restoring checkpoints
 *   tree.c        the tree in memory
 *   thread/       reads and writes the log; knows nothing of sessions
 */
#pragma once

#include <weft/session.h>

#include "agent/agent.h"
#include "thread/session_doc.h"

struct wa_session_tree;

struct weft_session {
    struct weft_agent *agent;
    struct wa_home *home;
    struct upp_str id, metadata; /* as the program sees them */
    char *texts;                 /* their memory */
    struct wb_uuid thread;       /* all zero: not in the log yet */
    struct weft_persistence persistence;
    bool persists, no_checkpoints, every_turn;
    bool busy;    /* a call that changes it is in progress */
    bool running; /* a run of it is active; a stream's may be between two pulls */
    struct wr_watch watch;
    struct wa_session_tree *tree; /* NULL: not requested yet */

    /* Until the session is in the log: the document that it was made of. Afterwards a cache of the log, for checkpoints
     * and SessionJSON. */
    struct wm_session doc;
    bool has_doc;               /* doc is up to date */
    struct wb_arena doc_memory; /* of the document that it was made of */
    struct wa_doc *reading;     /* of the cache; NULL: nothing was read */
    bool is_reading;            /* a fiber is reading: one at a time */
    struct weft_cond read_done;
    struct wb_buf subagents; /* of the checkpoint that was read last */
};

static inline bool wa_session_stored(const struct weft_session *s)
{
    return !wb_uuid_is_nil(s->thread);
}

/* Runs fn, which changes the session, on a fiber. -UPP_EINVALID while another such call, or a run, is in progress. */
typedef WEFT_SUSPENDS int wa_session_fn(struct weft_session *s, void *arg, struct upp_err *err);
WEFT_SUSPENDS int wa_session_change(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg,
                                    struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wa_session_look(struct weft_session *s, const char *name, wa_session_fn *fn, void *arg,
                                  struct upp_err *err) UPP_MUST_CHECK; /* for fn that changes nothing */

/* Writes what the program has in memory (the document that it was made of, changes of its tree) to the log. This and
 * wa_session_read free the memory of checkpoints that were read: copy a program's arguments before. */
WEFT_SUSPENDS int wa_session_flush(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* Makes s->doc up to date; reads only what is new. */
WEFT_SUSPENDS int wa_session_read(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;
void wa_session_stale(struct weft_session *s); /* the log has changed: doc is out of date */

/* Reads the thread's row. */
WEFT_SUSPENDS int wa_session_thread(struct weft_session *s, struct wb_arena *a, struct wl_thread *ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* Saves it in the program's own store, if there is one. */
WEFT_SUSPENDS int wa_session_persist(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Running (run.c), also for streams ---- */

int wa_session_input(const struct upp_input *in, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wa_session_begin(struct weft_session *s, struct wa_run_input *asked, struct wa_where *ret,
                                   struct upp_err *err) UPP_MUST_CHECK;
/* Returns the run's result, or the error of saving the session. */
WEFT_SUSPENDS int wa_session_end(struct weft_session *s, int result, struct upp_err *err) UPP_MUST_CHECK;

/* Ends interrupted runs of one of its threads. */
WEFT_SUSPENDS int wa_session_end_runs(struct weft_session *s, struct wb_uuid thread,
                                      struct upp_err *err) UPP_MUST_CHECK;

/* ---- The tree (tree.c) ---- */

WEFT_SUSPENDS int wa_session_tree_store(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK; /* to the log */
WEFT_SUSPENDS int wa_session_tree_read(struct weft_session *s, struct upp_err *err) UPP_MUST_CHECK;  /* what is new */
WEFT_SUSPENDS int wa_session_tree_query(struct weft_session *s, uint64_t node, struct upp_err *err) UPP_MUST_CHECK;
void wa_session_tree_free(struct wa_session_tree *t); /* accepts NULL */
