/* run/start.h — one try to start a run, from the inside. */
#ifndef WR_START_H
#define WR_START_H

#include "run/run.h"

struct wr_starting {
    struct wr_engine      *engine;
    const struct wr_start *what;
    struct wb_arena        memory;
    struct wl_new_thread   fresh; /* a thread that is made */
    struct wl_thread       thread;
    struct wl_node         node, branch;
    struct wl_end          end;
    struct wm_run          row;
    struct wl_key          key;
    struct wb_uuid         busy;   /* the run that holds the node; all zero: none */
    struct wr_tree        *holder; /* of the run whose place is taken, until that is done; NULL: none */
    struct upp_str         notice; /* JSON of a system event before the input; no text: none */
    bool                   branched;
    bool                   again; /* somebody else was first: look again */
};

static inline bool wr_is_zero(struct wb_uuid u)
{
    return wb_uuid_eq(u, (struct wb_uuid){{0}});
}

/* Where the run would stand: the thread with its newest node, or a new one. */
WEFT_SUSPENDS int wr_start_thread(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* From here on the run is on a branch from `length` entries of the head. And the same for a thread that was put back
 * into its head: it leaves it with what comes next. */
int wr_start_branch(struct wr_starting *s, uint32_t length, struct upp_err *err) UPP_MUST_CHECK;
int wr_start_leave(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* The row of the run there; the run with its tree (`queued`: of one that has a row already); its first row, as draft.
 */
int               wr_start_row(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_run(struct wr_starting *s, bool queued, struct wr_run **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
int               wr_start_draft(const struct wr_start *w, struct upp_str notice, struct wr_run *run,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* ---- A second input (run/queue.c) ------------------------------------------------------------------------- */

/* What becomes of the input where the thread is busy: 0: it may start now. 1: *ret says what. */
WEFT_SUSPENDS int wr_start_busy(struct wr_starting *s, struct wr_started *ret, struct upp_err *err) UPP_MUST_CHECK;

/* True: there was a run whose place is taken, and the queue waits for whoever takes it. */
bool wr_start_left(struct wr_starting *s);

/* Where nothing took the place of a run that was stopped (it failed, or an earlier request with its key was found), the
 * queue goes on: at once, or when the engine looks for runs that nobody works on. */
WEFT_SUSPENDS void wr_start_go_on(struct wr_engine *e, const struct wr_start *what);

/* ---- The queue (run/queue.c) ------------------------------------------------------------------------------------ */

/* After the end of a run: the next one that waits in the queue of its thread. */
WEFT_SUSPENDS int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                                struct upp_err *err) UPP_MUST_CHECK;

#endif
