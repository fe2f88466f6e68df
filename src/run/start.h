/* run/start.h — one attempt to start a run: internals. */
#pragma once

#include "model/row.h"
#include "run/run.h"

#define WR_KEY_MEMBER "weft_key" /* in the stored options of a run: its API key. Always the first member */

enum { WR_QUEUE_CHANGES = 5 };

struct wr_starting {
    struct wr_engine *engine;
    const struct wr_start *what;
    struct wb_arena memory;
    struct wl_new_thread fresh; /* a new thread */
    struct wl_thread thread;
    struct wl_node node, branch;
    struct wl_end end;
    struct wl_row before; /* with messages before the input: their row */
    struct wb_buf before_body;
    struct wb_buf queued; /* a queued run: its row's options */
    struct wm_run row;
    struct wl_key key;
    struct wl_alias alias;
    bool stale;            /* the alias may be that of another run, which loses it */
    struct wb_uuid busy;   /* the run that holds the node; all zero: none */
    struct upp_str notice; /* JSON of a system event before the input; NULL: none */
    bool branched;
    bool forked;    /* the thread is a fork, made with the run */
    bool *admitted; /* by the quota, in this attempt or an earlier one */
    bool accepted;  /* a queued run: it gets its branch, however many there are */
    bool again;     /* conflict with another commit: try again */
};

#define WR_STARTING(engine_, what_)                                                                                    \
    {                                                                                                                  \
        .engine = (engine_), .what = (what_), .memory = WB_ARENA(64u << 20), .before_body = WB_BUF(WM_ROW_MAX),        \
        .queued = WB_BUF(WM_ROW_MAX)                                                                                   \
    }
void wr_starting_done(struct wr_starting *s);

/* Loads the thread with its newest node, or makes a new one. */
WEFT_SUSPENDS int wr_start_thread(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* Moves the run to a branch after `length` entries of the head. wr_start_leave: the same for a thread that points into
 * the middle of its head, which it leaves with its next entry. */
WEFT_SUSPENDS int wr_start_branch(struct wr_starting *s, uint32_t length, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_leave(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the run's row; the run with its tree (`queued`: it has a row already); its first log row, as draft. */
int wr_start_row(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_run(struct wr_starting *s, bool queued, struct wr_run **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
int wr_start_draft(const struct wr_start *w, struct upp_str notice, struct wr_run *run,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Makes a row of the messages before the input: the run begins after it. */
int wr_start_before(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* The key of the run that s->row has. It has the time of the run: a repetition finds that nothing was before it. */
void wr_start_key(struct wr_starting *s);

/* Adds the changes that make its alias, at most two; how many. */
size_t wr_start_alias(struct wr_starting *s, struct wl_change *to);

/* Moves the run to the position where it begins (wr_start.node), unless the thread ends there. */
WEFT_SUSPENDS int wr_start_move(struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK;

/* Applies `busy`, an on_busy, to a busy thread. 0: the run may start now. 1: *ret has the outcome. */
WEFT_SUSPENDS int wr_start_busy(struct wr_starting *s, uint8_t busy, struct wr_started *ret,
                                struct upp_err *err) UPP_MUST_CHECK;

/* Cancels the run that holds the thread and continues after it, or from before its input, in one commit: until the run
 * that is replaced has written its end, the new one is queued, before all others. 1: *ret has it; mostly it has
 * started. wr_start_rollback: moves it there when its turn comes. */
WEFT_SUSPENDS int wr_start_take_over(struct wr_starting *s, bool rolls_back, struct wr_started *ret,
                                     struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int wr_start_rollback(struct wr_starting *s, struct wb_uuid holder, struct upp_err *err) UPP_MUST_CHECK;

int wr_start_refuse(const struct wr_starting *s, struct upp_err *err) UPP_MUST_CHECK; /* names the run s->busy */

/* Stores the request to cancel a root, which has not been cancelled before, in one commit with these changes. Whoever
 * asked cancels it then (wr_stop); after a crash recovery does. -UPP_EBUSY: it changes, or has changed since `row`. */
WEFT_SUSPENDS int wr_cancel_with(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                 const struct wr_more *more, struct upp_err *err) UPP_MUST_CHECK;

/* Does a run of the thread wait in its queue? If nobody holds the thread, s->busy is that run. */
WEFT_SUSPENDS int wr_start_has_queue(struct wr_starting *s, bool *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Makes the row of a queued run; next: its turn comes before that of all others. The changes that store it. What
 * follows their commit. */
int wr_start_queue(struct wr_starting *s, bool next, const struct wm_run *rolls_back,
                   struct upp_err *err) UPP_MUST_CHECK;
size_t wr_start_queue_changes(struct wr_starting *s, struct wl_change to[WR_QUEUE_CHANGES]);
void wr_start_queued(struct wr_starting *s, struct wr_started *ret);

/* Has the run taken its thread over, and not begun? */
static inline bool wr_takes_over(const struct wm_run *run)
{
    return run->status == WM_QUEUED && !run->queue;
}

/* The options of the request that made a run. Until it starts its row also has its input, and the options are a member
 * of what is stored. */
int wr_queued_options(struct wb_arena *a, const struct wm_run *row, struct upp_str *ret,
                      struct upp_err *err) UPP_MUST_CHECK;

/* When nobody holds the thread: starts the next run in its queue. wr_start_next_or_later: the supervisor tries again
 * what failed. */
WEFT_SUSPENDS int wr_start_next(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                                struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void wr_start_next_or_later(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread);
