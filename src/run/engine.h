/* run/engine.h — runs that cannot be lost: start, cancel, answer, read, recover.
 *
 * An engine lives on one loop, over one store (or none). A run is a fiber while it works, and rows of the log at all
 * times; what it says goes out through readers. Everything here is called on fibers of the engine's loop.
 *
 * Commit points, and no others: C1 input and run row, before wr_start returns; C2 the finished message with its tape
 * and the start of its tools, before any of them starts; C3 each result; C4 the end of a step, in one row with the last
 * C3 or with C2; C5 what belongs to no step.
 */
#ifndef WR_ENGINE_H
#define WR_ENGINE_H

#include "run/def.h"

#include "log/log.h"

struct wb_buf;
struct wr_engine;

struct wr_engine_opts {
    uint32_t         size;
    struct wl_store *store; /* NULL: runs live in memory alone, and only as long as somebody has them */

    /* The definition of an agent that is now in force, or NULL. It must stay as it is while runs use it. */
    const struct wr_agent_def *(*agent)(void *arg, struct upp_str name);
    void *arg;

    uint8_t  durability;  /* enum wm_durability; 0: WM_SYNC */
    uint32_t max_runs;    /* that work at the same time; 0: 4096 */
    uint32_t max_queue;   /* queued runs of one thread; 0: 16 */
    size_t   max_message; /* bytes of one message of a model; 0: 8 MiB */
    uint32_t max_depth;   /* of child runs; 0: 8 */
    uint64_t wait_ms;     /* until a waiting run expires; 0: 10 minutes; UINT64_MAX: never */
};

int wr_engine_open(struct weft_loop *loop, const struct wr_engine_opts *opts, struct wr_engine **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* Stops the work of all runs without ending them: they go on when an engine recovers them. All readers are closed, and
 * nobody else is in a call of this engine. */
WEFT_SUSPENDS void wr_engine_close(struct wr_engine *e);

/* Takes up every run of the store that has not ended. Once, before anything is started. */
WEFT_SUSPENDS int wr_recover(struct wr_engine *e, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The one run of a thread that was cut short goes on, and wr_join gives its turn. -UPP_ENOTFOUND: none was. -UPP_EBUSY:
 * it works already. */
struct wr_watch;
struct wr_started;
WEFT_SUSPENDS int wr_resume(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                            const struct wr_watch *watch, struct wr_started *ret, struct upp_err *err) UPP_MUST_CHECK;

struct wl_store *wr_engine_store(const struct wr_engine *e);

/* The agent of this name that is now in force, or NULL. No text: the default agent. */
const struct wr_agent_def *wr_agent(const struct wr_engine *e, struct upp_str name);

/* ---- Starting ------------------------------------------------------------------------------------------ */

/* Who follows a run from within. */
struct wr_watch {
    void *arg;
    /* After the commit of each step but the last one, before anything else is decided. One that fails fails the run. */
    WEFT_SUSPENDS int (*stepped)(void *arg, struct weft_run *run, struct upp_err *err);
};
const struct wr_watch *wr_run_watch(struct weft_run *run); /* of the root of its tree; NULL: nobody */

enum wr_busy { WR_REJECT = 1, WR_ENQUEUE, WR_INTERRUPT, WR_ROLLBACK };

struct wr_start {
    struct wl_owner           owner;
    struct wb_uuid            thread; /* all zero: a new one */
    struct upp_str            agent;
    const struct upp_message *input;             /* NULL: the path ends with what shall be answered. Results: `who` is
                                                  * the agent that made the calls */
    uint64_t head;                               /* with `at`: the thread's head */
    uint32_t at;                                 /* not 0: the run stands in the place of the head's last entry, which
                                                  * is number `at`, on a branch. -UPP_EREFUSED: the thread has gone on */
    struct upp_str                   who;        /* the user by name; no text: not said */
    struct upp_str                   options;    /* JSON, kept with the run */
    uint8_t                          on_busy;    /* enum wr_busy; 0: WR_REJECT */
    uint8_t                          durability; /* 0: the engine's */
    struct upp_str                   route, key; /* Idempotency-Key; no text: none */
    const unsigned char             *body;       /* SHA-256 of the request's body, with a key */
    const struct upp_message *const *history;    /* before the input, where there is no store; borrowed until it ends */
    size_t                           n_history;
    bool                             wants_turn; /* wr_join will be called */
    const struct wr_watch           *watch;      /* with wants_turn; must outlive the run. NULL: nobody */
    bool                             here;       /* the calling fiber works on it and does nothing else in its life: who
                                                  * cancels the run cancels that. Not where there is a store */
};

struct wr_started {
    struct wb_uuid run, thread;
    bool           joined; /* an earlier request with the same key had started it */
    bool           queued;

    struct wr_tree *tree; /* with wants_turn, unless it joined or was queued: for wr_join and wr_leave */
};

/* C1. -UPP_ENOTFOUND: no such thread or agent. -UPP_EBUSY: a run holds the thread (err names it), or the queue is full.
 * -UPP_EREFUSED: the key was used with another body. */
WEFT_SUSPENDS int wr_start(struct wr_engine *e, const struct wr_start *what, struct wr_started *ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Waits for the run: what it came to, and its turn, which is the caller's from then on; NULL: nothing was said.
 * -UPP_EWAIT: it waits for an answer from outside. -UPP_ECANCELED with a turn: it was cancelled. */
WEFT_SUSPENDS int wr_join(struct wr_tree *t, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
bool wr_over(const struct wr_tree *t); /* wr_join need not wait: what it says is the run's, not the wait's */
void wr_leave(struct wr_tree *t);      /* NULL is fine */

/* ---- Looking, cancelling, answering ---------------------------------------------------------------------- */

struct wr_look {
    struct wm_run            run;
    const struct wm_pending *pending; /* of the whole tree, while it waits */
    size_t                   n_pending;
};
WEFT_SUSPENDS int wr_get(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct wb_arena *a,
                         struct wr_look *ret, struct upp_err *err) UPP_MUST_CHECK;

/* A durable request, idempotent. -UPP_EREFUSED: it has ended (err says how). */
WEFT_SUSPENDS int wr_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                            struct upp_err *err) UPP_MUST_CHECK;

struct wr_answer {
    struct upp_str call;
    struct upp_str result; /* a JSON value; no text: it is an approval */
    bool           is_error;
    bool           approved; /* where result is no text */
};

/* Results and approvals for open calls of a run tree. All or none: -UPP_EINVALID names a call that is not open.
 * The run goes on when nothing is open any more. */
WEFT_SUSPENDS int wr_answer(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                            const struct wr_answer *answers, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until the run has ended or waits for answers: its status. */
WEFT_SUSPENDS int wr_wait(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, uint8_t *status,
                          struct upp_err *err) UPP_MUST_CHECK;

/* Ends what runs on the thread and below it, waits for that, and deletes them (log/change.h). With `erase` also what
 * the tree says, and what other threads lose by that: -UPP_EBUSY where a run of one of those is under way. */
struct wr_erase {
    struct wb_arena *memory; /* for: */
    struct wb_uuid  *lost;
    size_t           n;
};
WEFT_SUSPENDS int wr_thread_delete(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wr_erase *erase, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Reading ---------------------------------------------------------------------------------------------- */

struct wr_reader;

struct wr_from {
    uint32_t epoch;  /* of the last event had; 0: the current one */
    uint64_t number; /* the last event had; 0: from the beginning */
    uint32_t part;   /* how many of its frames were had; 0: all of them */
};

/* A reader of a run tree's events, from its first one on. Events up to `from` are given out too, so that an encoder
 * sees them: wr_reader_had says how much of an event was had. (A reader that comes with an older epoch and a
 * number past that epoch's last record begins with the void.) */
WEFT_SUSPENDS int wr_reader_open(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                                 const struct wr_from *from, struct wr_reader **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;
void              wr_reader_close(struct wr_reader *r);
void              wr_reader_closep(struct wr_reader **r);

/* The next event, waiting for it. 1: *ev is set, borrowed until the next call or wait. 0: the run has ended, or it
 * waits and `to_wait` is set: there is nothing more to read now. */
WEFT_SUSPENDS int wr_reader_next(struct wr_reader *r, bool to_wait, struct wm_event *ev,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same without waiting for what has not happened yet (it may wait for the store): -UPP_EBUSY. Then `wake` is called
 * once, on the loop, when there is more; it must not suspend. */
WEFT_SUSPENDS int wr_reader_try(struct wr_reader *r, bool to_wait, struct wm_event *ev, void (*wake)(void *arg),
                                void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* How many frames of an event were had before. 0: none. WR_HAD: all, however many it makes. */
#define WR_HAD UINT32_MAX
uint32_t wr_reader_had(const struct wr_reader *r, const struct wm_event *ev);

/* ---- Who called whom ---------------------------------------------------------------------------------------- */

/* The tree of calls below a run, as one JSON object (docs/runs.md): each run with its ids, its parent's, what it was
 * asked, when, how it ended, and what it used itself and with all below it. -UPP_ENOTFOUND, -UPP_ELIMIT: too many. */
WEFT_SUSPENDS int wr_trace(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct wb_buf *out,
                           struct upp_err *err) UPP_MUST_CHECK;

/* ---- Numbers ------------------------------------------------------------------------------------------------ */

struct wr_counts {
    size_t   working, waiting_readers;
    uint64_t started, ended, voids, recovered;
};
struct wr_counts wr_engine_counts(const struct wr_engine *e);

#endif
