/* run/start.h — one attempt to start a run: internals. */
#ifndef WR_START_H
#define WR_START_H

#include "run/run.h"

#define WR_KEY_MEMBER "weft_key" /* in the stored options of a run: its API key. Always the first member */

struct wr_starting {
    struct wr_engine      *engine;
    const struct wr_start *what;
    struct wb_arena        memory;
    struct wl_new_thread   fresh; /* a new thread */
    struct wl_thread       thread;
    struct wl_node         node, branch;
    struct wl_end          end;
    struct wl_row          before; /* with messages before the input: their row */
    struct wb_buf          before_body;
    struct wm_run          row;
    struct wl_key          key;
    struct wl_alias        alias;
    bool                   stale;  /* the alias may be that of another run, which loses it */
    struct wb_uuid         busy;   /* the run that holds the node; all zero: none */
    struct wr_tree        *holder; /* tree of the run that is being replaced, until that is done; NULL: none */
    struct upp_str         notice; /* JSON of a system event before the input; NULL: none */
    bool                   branched;
    bool                   forked;   /* the thread is a fork, made with the run */
    bool                  *admitted; /* by the quota, in this attempt or an earlier one */
    bool                   accepted; /* a queued run: it gets its branch, however many there are */
    bool                   again;    /* conflict with another commit: try again */
};

static inline bool wr_is_zero(struct wb_uuid u)
{
    return wb_uuid_eq(u, (struct wb_uuid){{0}});
}

/* Loads the thread with its newest node, or makes a new one. */
WEFT_SUSPENDS int wr_start_thread(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the run to a branch after `length` entries of the head. wr_start_leave: the same for a thread that points into
 * the middle of its head, which it leaves with its next entry. */
WEFT_SUSPENDS int wr_start_branch(struct wr_starting *s, uint32_t length, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_leave(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the run's row; the run with its tree (`queued`: it has a row already); its first log row, as draft. */
int               wr_start_row(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_run(struct wr_starting *s, bool queued, struct wr_run **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
int               wr_start_draft(const struct wr_start *w, struct upp_str notice, struct wr_run *run,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* Adds the changes that make its alias, at most two; how many. */
size_t wr_start_alias(struct wr_starting *s, struct wl_change *to);

/* ---- A second input (run/queue.c) ------------------------------------------------------------------------- */

/* Applies `busy`, an on_busy, to a busy thread. 0: the run may start now. 1: *ret has the outcome. */
WEFT_SUSPENDS int wr_start_busy(struct wr_starting *s, uint8_t busy, struct wr_started *ret,
                                struct upp_err *err) UPP_MUST_CHECK;

int wr_start_refuse(const struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK; /* names the run s->busy */

/* Does a run of the thread wait in its queue? If nobody holds the thread, s->busy is that run. */
WEFT_SUSPENDS int wr_start_has_queue(struct wr_starting *s, bool *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Releases the run that is replaced. True: there was one, and the queue waits for its successor. */
bool wr_start_release_holder(struct wr_starting *s);

/* ---- The queue (run/queue.c) ------------------------------------------------------------------------------------ */

/* The options of the request that made a run. Until it starts its row also has its input, and the options are a member
 * of what is stored. */
int wr_queued_options(struct wb_arena *a, const struct wm_run *row, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* When nobody holds the thread: starts the next run in its queue. wr_start_next_or_later: the supervisor tries again
 * what failed. */
WEFT_SUSPENDS int  wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                                 struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void wr_start_next_or_later(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread);

#endif
