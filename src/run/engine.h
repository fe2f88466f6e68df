/* run/engine.h — durable runs: start, cancel, answer, read, recover.
 *
 * An engine works on one loop, with one store (or none). A run is a fiber while it works, and rows of the log at all
 * times; readers deliver its events. Call everything here on fibers of the engine's loop.
 *
 * Commit points, and no others: C1 input and run row, before wr_start returns; C2 the finished message with its tape
 * and the start of its tools, before any of them starts; C3 each result; C4 the end of a step, in one row with the last
 * C3 or with C2; C5 what belongs to no step.
 */
#pragma once

#include <upp/wait.h>

#include "run/def.h"

#include "base/words.h"
#include "log/log.h"

struct wb_buf;
struct wr_engine;

struct wr_engine_opts {
    uint32_t size;
    struct wl_store *store; /* NULL: runs exist only in memory, while somebody refers to them */

    /* Returns the current definition of an agent, or NULL. It must not change while runs use it: `hold` (NULL: nobody
     * wants to know) says when one begins to, and when it is done. Neither suspends. */
    const struct wr_agent_def *(*agent)(void *arg, struct upp_str name);
    void (*hold)(void *arg, const struct wr_agent_def *def, bool begins);

    /* A model that a run may ask for by name, and its params; NULL: none of that name. NULL: runs cannot choose. */
    const struct upp_model *(*model)(void *arg, struct upp_str name, struct upp_str *params);

    /* The agents and models by number, for lists; false or NULL: no more. NULL: none are listed. */
    const struct wr_agent_def *(*agent_at)(void *arg, size_t i);
    bool (*model_at)(void *arg, size_t i, struct upp_str *name);

    void *arg;

    uint8_t durability; /* enum wm_durability; 0: WM_SYNC */
    uint32_t max_runs;  /* that work at the same time; 0: 12000 */
    uint32_t max_queue; /* queued runs of one thread; 0: 16 */
    size_t max_message; /* bytes of one message of a model; 0: 8 MiB */
    uint32_t max_depth; /* of child runs; 0: 8 */

    /* How long a call may wait for its answer: a waiting run expires with the first of its calls. UINT64_MAX: for ever
     */
    uint64_t tool_wait_ms;     /* for a client's result; 0: 24 hours */
    uint64_t approval_wait_ms; /* for an approval; 0: 7 days */

    /* How long a queued run waits for a model that cannot be reached (run/breaker.h). 0: an hour; UINT64_MAX: for ever
     */
    uint64_t provider_wait_ms;

    /* Engines that share the store, each on a loop of its own. This one works on the threads whose home it is
     * (wr_home); threads of other homes are refused. 0: it is the only one. */
    uint32_t homes, home;

    /* Is this the id of an engine that works (wr_engine_id)? Its runs are its own; those of others are taken over.
     * NULL: no other engine works on the runs of this home. */
    bool (*is_alive)(void *arg, struct wb_uuid engine);
};

/* Sets them afterwards; before anything is recovered or started. */
void wr_engine_set_home(struct wr_engine *e, uint32_t homes, uint32_t home);

/* Which of n engines works on the threads of a tree: all of a family's have the same home. */
static inline uint32_t wr_home(struct wb_uuid tree, uint32_t n)
{
    return n ? wl_family(tree) % n : 0;
}

/* A new id for a thread that is at home in this engine. */
int wr_engine_thread_id(const struct wr_engine *e, struct wb_uuid *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The home of a run: that of its root's thread. -UPP_ENOTFOUND. */
WEFT_SUSPENDS int wr_home_of_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid run, uint32_t n,
                                 uint32_t *ret, struct upp_err *err) UPP_MUST_CHECK;

int wr_engine_open(struct weft_loop *loop, const struct wr_engine_opts *opts, struct wr_engine **ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* A new one every time it is opened: what it works on is stored with it (struct wm_run, engine). */
struct wb_uuid wr_engine_id(const struct wr_engine *e);

/* Stops all runs without ending them: they continue when an engine recovers them. The caller has closed all readers,
 * and nobody else is in a call of this engine. */
WEFT_SUSPENDS void wr_engine_close(struct wr_engine *e);

/* Recovers every run of the store that has not ended and that no engine alive works on; *ret: how many. Call it once,
 * before anything is started. */
WEFT_SUSPENDS int wr_recover(struct wr_engine *e, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Resumes the interrupted run of a thread; wr_join returns its turn. -UPP_ENOTFOUND: there is none. -UPP_EBUSY: it
 * works already. */
struct wr_watch;
struct wr_started;
WEFT_SUSPENDS int wr_resume(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid thread,
                            const struct wr_watch *watch, struct wr_started *ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Monitoring -------------------------------------------------------------------------------------------------- */

enum wr_moment { WR_RUN_QUEUED, WR_RUN_STARTED, WR_RUN_RESUMED, WR_RUN_WAITS, WR_RUN_ENDED };

struct wr_run_note {
    enum wr_moment moment;
    const struct wl_owner *owner;
    const struct wm_run *row;   /* as committed */
    struct upp_str traceparent; /* of the request that started it; empty: none */
    struct upp_str agent_id;    /* empty: its agent is not defined any more, or it is queued */
    const struct upp_err *why;  /* of a run that failed; else NULL */
    bool branch;                /* no tool called it: it is a part of a step of its parent (run/branch.c) */
};

/* The run that asked a model or called a tool. */
struct wr_note_of {
    const struct wm_run *row;   /* as last committed */
    struct upp_str traceparent; /* as above */
    struct upp_str agent;       /* the current one: another than the row's after a handoff */
    struct upp_str agent_id;
};

struct wr_model_note {
    struct wr_note_of of;
    struct upp_str model;          /* its name in the configuration, as sent to the vendor */
    struct upp_str provider;       /* "openai" */
    const struct upp_usage *usage; /* NULL: the request failed */
    const struct upp_err *why;     /* then it says why; else NULL */
    uint8_t stop;                  /* enum upp_stop, of one that succeeded */
    uint64_t ns;
};

struct wr_tool_note {
    struct wr_note_of of;
    struct upp_str tool; /* of the agent's definition, never a name that only a model chose */
    struct upp_str call; /* id of the call */
    uint8_t outcome;     /* enum wm_outcome */
    uint64_t ns;
};

/* Sees what the runs of an engine do, child runs included. Every function is mandatory, is called on the loop after
 * what it tells has happened, and must not suspend. Names and rows are borrowed for the call. */
struct wr_monitor {
    void *arg;
    void (*run)(void *arg, const struct wr_run_note *note);
    void (*model)(void *arg, const struct wr_model_note *note); /* each attempt */
    void (*tool)(void *arg, const struct wr_tool_note *note);
    void (*commit)(void *arg, uint64_t ns); /* of a run, in the store */
};

/* Set it before anything runs; it must outlive the engine. NULL: none. */
void wr_engine_monitor(struct wr_engine *e, const struct wr_monitor *monitor);

struct wl_store *wr_engine_store(const struct wr_engine *e);

/* May a run have the option `model` with this name? */
bool wr_has_model(const struct wr_engine *e, struct upp_str name);

/* Would a run of this agent be started with these options? -UPP_EINVALID: one of them cannot be honoured; err.where
 * points to it. An agent that is not defined is left to wr_start. */
int wr_check_options(const struct wr_engine *e, struct upp_str agent, struct upp_str options,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The current definition of the agent of this name, or NULL. Empty: the default agent. */
const struct wr_agent_def *wr_agent(const struct wr_engine *e, struct upp_str name);

/* The agents and the models that may be asked for, one by one, in the order of the configuration; NULL and false: no
 * more. They may be others after a wait. */
const struct wr_agent_def *wr_agent_at(const struct wr_engine *e, size_t i);
bool wr_model_at(const struct wr_engine *e, size_t i, struct upp_str *name);

/* Suggests one of them for a name that none has. */
void wr_guess_agent(const struct wr_engine *e, struct upp_str name, struct wb_guess *ret);
int wr_no_agent(const struct wr_engine *e, struct upp_str name,
                struct upp_err *err) UPP_MUST_CHECK; /* -UPP_ENOTFOUND */
void wr_guess_model(const struct wr_engine *e, struct upp_str name, struct wb_guess *ret);

/* The name in the configuration of an agent's model; empty: it has none of its own, or one without a name. */
struct upp_str wr_model_of(const struct wr_engine *e, const struct wr_agent_def *def);

/* ---- Starting ---------------------------------------------------------------------------------------------------- */

/* Limits on the runs of an API key (wr_start.api_key). The key is stored with the run: a recovered run still has it. */
struct wr_quota {
    void *arg;
    /* Called before a run is stored. A failure refuses it, as the result of wr_start. */
    WEFT_SUSPENDS int (*admit)(void *arg, struct upp_str key, struct upp_err *err);
    /* Once for each admitted run, and each that was stored without a key: it has ended with this usage (sub-agents
     * included); NULL: it was not stored. Must not suspend. */
    void (*leave)(void *arg, struct upp_str tenant, struct upp_str key, const struct upp_usage *usage);
};

/* quota must outlive the engine's last run, or be replaced by NULL before. */
void wr_engine_set_quota(struct wr_engine *e, const struct wr_quota *quota);

/* The key that a run was started with; empty: none. */
struct upp_str wr_run_key(const struct wm_run *row);

/* Observes a run, on the run's own fiber. */
struct wr_watch {
    void *arg;
    /* Called after the commit of each step but the last, before hooks and budgets decide about the next. A failure
     * fails the run. */
    WEFT_SUSPENDS int (*stepped)(void *arg, struct weft_run *run, struct upp_err *err);
};
const struct wr_watch *wr_run_watch(struct weft_run *run); /* of the root of its tree; NULL: none */

enum wr_busy { WR_REJECT = 1, WR_ENQUEUE, WR_INTERRUPT, WR_ROLLBACK };

struct wr_start {
    struct wl_owner owner;
    struct wb_uuid thread;             /* all zero: a new one ... */
    const struct wl_thread_opts *made; /* ... as this says; NULL: with nothing of its own. Its id is at home here */
    struct upp_str agent;

    /* Messages before the input, in the same commit; their times are set. With some, a busy thread is refused whatever
     * on_busy says. */
    struct wm_entry *before;
    size_t n_before;

    /* NULL: the end of the path is to be answered. Tool results: `who` is the agent that made the calls. */
    const struct upp_message *input;

    /* Where in the thread's tree the run begins; node 0: at the thread's end. A thread that ends elsewhere moves there,
     * with a branch; if it is busy, that is refused whatever on_busy says. With `forks` it stays, and the run gets a
     * fork of it; also if it is busy. */
    uint64_t node;
    uint32_t length; /* entries of the node before the run */
    bool forks;
    struct upp_str fork_options; /* of a run that gets a fork, instead of `options` */

    struct wb_uuid ends; /* this run, which waits, is cancelled for the new one if it holds the thread; one that works
                          * is not (-UPP_EBUSY), unless its readers have left it. All zero: none */

    /* at not 0: the run replaces the last entry of `head`, the thread's head, on a branch; that entry is number `at`.
     * -UPP_EREFUSED: the thread has changed since. */
    uint64_t head;
    uint32_t at;

    struct upp_str who;                       /* the user's name; empty: unknown */
    struct upp_str options;                   /* JSON, stored with the run */
    uint8_t on_busy;                          /* enum wr_busy; 0: WR_REJECT */
    uint8_t durability;                       /* 0: the engine's */
    struct upp_str route, key;                /* Idempotency-Key; NULL: none */
    const unsigned char *body;                /* SHA-256 of the request's body, with a key */
    struct upp_str alias;                     /* a name of the run, made with it; NULL: none */
    bool alias_moves;                         /* it is taken from the run that has it; else that is a failure */
    const struct upp_message *const *history; /* before the input, only without a store; borrowed until it ends */
    size_t n_history;
    struct upp_str api_key;       /* id of the API key of the request, for the quota; empty: none */
    bool wants_turn;              /* wr_join will be called */
    const struct wr_watch *watch; /* with wants_turn; must outlive the run. NULL: none */

    /* The run works on the calling fiber, which does nothing else in its life: cancelling the run cancels that fiber.
     * Only without a store. */
    bool here;
};

#define WR_ALIAS_TAKEN  "alias_taken"
#define WR_THREAD_TAKEN "thread_taken"

struct wr_started {
    struct wb_uuid run, thread;
    bool joined; /* an earlier request with the same key had started it */
    bool forked; /* on a fork of the thread (wr_start.forks) */
    bool queued;
    struct wm_run row; /* as committed, unless it joined; its texts are those of wr_start */

    struct wr_tree *tree; /* with wants_turn, unless it joined or was queued: for wr_join and wr_tree_release */
};

/* C1. -UPP_ENOTFOUND: no such thread or agent. -UPP_EBUSY: a run holds the thread (err names it), the queue is full, or
 * the alias of the new thread is that of another one (err.cause is WR_THREAD_TAKEN).
 * -UPP_EREFUSED: the key was used with another body, or the alias is taken (err.cause is WR_ALIAS_TAKEN). */
WEFT_SUSPENDS int wr_start(struct wr_engine *e, const struct wr_start *what, struct wr_started *ret,
                           struct upp_err *err) UPP_MUST_CHECK;

/* Waits for the run and returns its result and its turn, which the caller then owns; NULL: no output. -UPP_EWAIT: the
 * run waits for answers. -UPP_ECANCELED with a turn: it was cancelled. */
WEFT_SUSPENDS int wr_join(struct wr_tree *t, struct upp_turn **ret, struct upp_err *err) UPP_MUST_CHECK;
bool wr_has_result(const struct wr_tree *t); /* wr_join will not wait: its result is the run's */
void wr_tree_release(struct wr_tree *t);     /* accepts NULL */

/* ---- Getting, cancelling, answering ------------------------------------------------------------------------------ */

struct wr_run_info {
    struct wm_run run;
    const struct wm_pending *pending; /* of the whole tree, while it waits */
    size_t n_pending;
    uint32_t epoch; /* of its last event, while it waits: what follows is new to its reader */
    uint64_t last;
};
WEFT_SUSPENDS int wr_get(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct wb_arena *a,
                         struct wr_run_info *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Durable and idempotent. -UPP_EREFUSED: the run has ended (err says how). */
WEFT_SUSPENDS int wr_cancel(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                            struct upp_err *err) UPP_MUST_CHECK;

struct wr_answer {
    struct upp_str call;
    struct upp_str result; /* a JSON value; NULL: this is an approval */
    bool is_error;
    bool approved;         /* if result is NULL */
    struct upp_str reason; /* of a denial, for the model; empty: none */
};

/* Results and approvals for pending calls of a run tree. All or none: -UPP_EINVALID names a call that is not pending,
 * or says that the time for answers is over (the run has then expired).
 * The run resumes when no call is pending any more. */
WEFT_SUSPENDS int wr_answer(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                            const struct wr_answer *answers, size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* The same, with who gives them, for the record. */
struct wr_author {
    struct upp_str who;        /* empty: nobody knows */
    struct upp_str api_key;    /* its id; empty: none */
    struct upp_str alias;      /* a name that the run takes with the answers, also from another run; NULL: none */
    struct upp_str options;    /* of the run from now on, instead of those that it has; empty: those */
    struct upp_str route, key; /* idempotency key that is stored with the answers; key.p NULL: none */
    const unsigned char *body; /* SHA-256 of its request */
};
WEFT_SUSPENDS int wr_answer_by(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                               const struct wr_answer *answers, size_t n, const struct wr_author *by,
                               struct upp_err *err) UPP_MUST_CHECK;

/* Replaces the member `metadata` of the run's options, whatever the run does at the moment. metadata: a JSON object. */
WEFT_SUSPENDS int wr_set_metadata(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                                  struct upp_str metadata, struct upp_err *err) UPP_MUST_CHECK;

/* What the model receives for a call that was denied: a JSON string. */
int wr_denial(struct wb_arena *a, struct upp_str reason, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until the run has ended or waits for answers, and returns its status. */
WEFT_SUSPENDS int wr_wait(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, uint8_t *status,
                          struct upp_err *err) UPP_MUST_CHECK;

/* Cancels a root and waits for its end; 0 too if it had ended before. An error of the store: its end could not be
 * stored, and the engine tries that again. */
WEFT_SUSPENDS int wr_stop(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                          struct upp_err *err) UPP_MUST_CHECK;

/* Ends the runs of the thread and its sub-threads, waits for their end, and deletes the threads (log/change.h). With
 * `erase` also erases what the tree contains; *lost are other threads that shared it. -UPP_EBUSY: one of those has a
 * run in progress. */
struct wr_erase {
    struct wb_arena *memory; /* of `lost` */
    struct wb_uuid *lost;
    size_t n;
};
WEFT_SUSPENDS int wr_thread_delete(struct wr_engine *e, const struct wl_owner *o, const struct wl_thread *t,
                                   struct wr_erase *erase, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Reading ----------------------------------------------------------------------------------------------------- */

struct wr_reader;

struct wr_from {
    uint32_t epoch;  /* of the last event received; 0: the current one */
    uint64_t number; /* the last event received; 0: from the beginning */
    uint32_t part;   /* how many of its frames were received; 0: all of them */
};

/* Opens a reader of a run tree's events, from the first one on. It also returns events up to `from`, because an encoder
 * must see them: wr_reader_received tells how much of an event the client has received. (A client with an older epoch
 * and a number past that epoch's last record gets the void first.) */
WEFT_SUSPENDS int wr_reader_open(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run,
                                 const struct wr_from *from, struct wr_reader **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;
void wr_reader_close(struct wr_reader *r);
void wr_reader_closep(struct wr_reader **r);

/* Has everybody left who read the root's events? False: somebody reads them, or it was just started and nobody has
 * begun to. */
bool wr_is_left(struct wr_engine *e, struct wb_uuid root);

/* Waits for the next event. 1: *ev is set, borrowed until the next call or suspension. 0: the run has ended, or it
 * waits for answers and `to_wait` is set. */
WEFT_SUSPENDS int wr_reader_next(struct wr_reader *r, bool to_wait, struct wm_event *ev,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same without waiting for future events (it may wait for the store): -UPP_EBUSY. The engine then calls `wake`
 * once, on the loop, when there is more; it must not suspend. */
WEFT_SUSPENDS int wr_reader_try(struct wr_reader *r, bool to_wait, struct wm_event *ev, void (*wake)(void *arg),
                                void *arg, struct upp_err *err) UPP_MUST_CHECK;

/* Outside of a fiber wr_reader_try does not read the store: if it is -UPP_EBUSY and the reader is behind, a fiber loads
 * what it needs. 1: try again. 0, -UPP_EBUSY: as wr_reader_try. */
bool wr_reader_behind(const struct wr_reader *r);
WEFT_SUSPENDS int wr_reader_load(struct wr_reader *r, bool to_wait, void (*wake)(void *arg), void *arg,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* How many frames of an event the client has received. 0: none. WR_RECEIVED_ALL: all, however many there are. */
#define WR_RECEIVED_ALL UINT32_MAX
uint32_t wr_reader_received(const struct wr_reader *r, const struct wm_event *ev);

/* ---- Call tree --------------------------------------------------------------------------------------------------- */

/* Writes the call tree below a run as one JSON object (docs/runs.md): each run with its ids, its parent's ids, input,
 * times, status, own usage and total usage. -UPP_ENOTFOUND. -UPP_ELIMIT: too many runs. */
WEFT_SUSPENDS int wr_trace(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid run, struct wb_buf *out,
                           struct upp_err *err) UPP_MUST_CHECK;

/* "running", "completed" ...; empty: not an enum wm_status. */
struct upp_str wr_status_name(uint8_t status);

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

struct wr_counts {
    size_t working, waiting_readers;
    uint64_t started, ended, voids, recovered;
};
struct wr_counts wr_engine_counts(const struct wr_engine *e);
size_t wr_engine_working(const struct wr_engine *e);     /* runs that work now; from any thread */
size_t wr_engine_models_down(const struct wr_engine *e); /* whose queued runs wait; from any thread */

/* libupp's wait table on fibers: sleep, descriptors, parking, concurrent work. */

/* `http` (may be NULL): the loop's connections. The table may be used only on fibers. */
struct upp_wait wr_wait_table(struct upp_http *http);

/* Threads that leave nothing behind: of requests that said `store: false`.
 *
 * Such a thread exists as long as a run on it works or waits. It is noted before its run starts, so that it is erased
 * after a crash too: by whoever has read the run to its end, and otherwise by a sweep, within a minute.
 */
WEFT_SUSPENDS int wr_unstored_note(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Is the thread one of them? 1; 0. */
WEFT_SUSPENDS int wr_is_unstored(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same for whoever has read the run to its end: a failure is logged, and the sweep tries again. */
WEFT_SUSPENDS void wr_unstored_end(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread);

/* Those of a tenant whose runs have ended. *n: so many. */
WEFT_SUSPENDS int wr_unstored_sweep(struct wl_store *s, const struct wl_owner *o, size_t *n,
                                    struct upp_err *err) UPP_MUST_CHECK;
