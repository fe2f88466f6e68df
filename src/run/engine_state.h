/* run/engine_state.h — the engine's internal state: its trees, its pools, its failed runs. */
#pragma once

#include "run/tree.h"
#include "upp/client/call.h"

enum { WR_BUCKETS = 1024, WR_FAILED_RUNS = 64 /* for which there is always room */ };

/* Free lists of what runs consist of, with their memory: at most this many of each, none of them large. */
enum { WR_POOL_ITEMS = 64, WR_POOL_BYTES = 64 << 10, WR_POOL_CALLS = 16 };
struct wr_pools {
    struct wr_tree *trees;
    struct wr_run *runs;
    struct wr_open *opens;
    struct wb_arena arenas[WR_POOL_CALLS];  /* empty, each with one chunk: for the arguments of calls */
    struct upp_value values[WR_POOL_CALLS]; /* for the results of calls */
    struct upp__room room;                  /* for one model call */
    unsigned n_trees, n_runs, n_opens, n_arenas, n_values;
};
void wr_pools_done(struct wr_pools *s);
struct wb_arena wr_arena_take(struct wr_pools *s, size_t max);
void wr_arena_give(struct wr_pools *s, struct wb_arena *a);
void wr_value_take(struct wr_pools *s, struct upp_value *ret);
void wr_value_give(struct wr_pools *s, struct upp_value *v);

/* A failed run: stored as running, and nobody works on it, because one of its commits failed. The engine's list of them
 * (run/supervisor.c) is the only place that says so: wr_tree.refused is about one execution and ends with it.
 *
 *   enters: when an execution ends because a commit failed, and when the first commit of a recovery does
 *   leaves: when it ends, when it waits, and when it is not stored as running any more
 *   the way out: recovery, which executes it again; of a run that was cancelled it is the end, and after ten executions
 *                that committed nothing too, as failed
 *
 *   supervisor                               recovers it at at_ms
 *   cancel; deleting, interrupting and
 *   rolling back, which cancel it            recover it at once, with the cancel in the same commit
 *   readers, wr_join                         get the error instead of waiting for the next attempt
 *   answers                                  are refused, as for any run that does not wait
 *   metadata                                 is replaced; the supervisor comes back when that is done
 *
 * A start that failed was never stored, and a queued or waiting run whose next commit failed is still queued or waits:
 * those are not failed, and nobody is told so. */
struct wr_failed_run {
    struct wb_uuid run;
    int error;       /* of the last attempt */
    unsigned tries;  /* executions in a row that committed nothing */
    uint64_t next;   /* number of the tree's next event when the last execution began */
    int64_t wait_ms; /* the last delay */
    int64_t at_ms;   /* time of the next attempt */
    bool live;       /* was stored as running when the supervisor last read all runs, or is newer */
};

/* What is known of a model whose last request failed (run/breaker.h). */
struct wr_breaker {
    char model[128], provider[24];
    uint64_t host;     /* a hash of its address */
    unsigned failures; /* in a row */
    int64_t failed_ms; /* time of the last one */
    int64_t wait_ms;   /* the last delay */
    int64_t next_ms;   /* time when the next queued run tries it */
};

struct wr_engine {
    struct wb_uuid id;
    struct weft_loop *loop;
    struct wr_engine_opts opts;
    struct wl_store *store;
    const struct wr_monitor *monitor; /* NULL: none */
    const struct wr_quota *quota;     /* NULL: none */
    struct upp_http *http;            /* connections of this loop; `wait` is the wait table of its models */
    struct upp_wait wait;
    struct weft_scope scope;
    bool closing;
    _Atomic size_t working; /* also read by other threads */
    struct wb_link trees[WR_BUCKETS];
    struct wr_counts counts;
    struct weft_cond moved; /* a run has ended, begun to wait, or left the queue */
    int64_t look_at_ms;     /* when the supervisor checks idle runs next; INT64_MAX: never */
    int64_t look_ms;        /* delay after a failure */
    struct weft_cond look;
    bool looking; /* the supervisor's fiber exists */
    WB_VEC(struct wr_failed_run) failed_runs;
    WB_VEC(struct wr_breaker) breakers;
    _Atomic size_t down; /* models whose queued runs wait; also read by other threads */
    struct wr_pools pools;
    struct wb_uuid last_id; /* the last agent id that was parsed: most runs have the same agent */
    char last_id_text[WB_UUID_TEXT];
};

/* A root has ended, or was not stored (usage is NULL): tells the quota. */
void wr_quota_leave(struct wr_engine *e, const struct wl_owner *o, struct upp_str key, const struct upp_usage *usage);

/* Tells the monitor, if there is one. */
void wr_note_run(const struct wr_run *run, enum wr_moment moment, const struct upp_err *why);

/* A run at work, for its other notes. */
struct wr_note_of wr_note_of(const struct wr_run *run);

/* Makes the supervisor (run/supervisor.c) check idle runs at this time; 0: does nothing. */
void wr_supervise_at(struct wr_engine *e, int64_t ms);
void wr_supervise_soon(struct wr_engine *e);

/* Recovers a root that is stored as running and that nobody works on, to end as cancelled: the cancel is durable when
 * this returns. -UPP_EBUSY: it is in another state, or somebody has it. */
WEFT_SUSPENDS int wr_recover_canceled(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                                      struct upp_err *err) UPP_MUST_CHECK;

/* Ends a waiting root whose time is over. -UPP_EBUSY: somebody works on it. */
WEFT_SUSPENDS int wr_expire(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *row,
                            struct upp_err *err) UPP_MUST_CHECK;

/* A root has failed: schedules its recovery, with a growing delay. executed: it was, before that. */
void wr_failed_run(struct wr_run *run, int error, bool executed);
void wr_failed_run_over(struct wr_engine *e, struct wb_uuid run);       /* the run has ended, or waits */
int wr_failed_run_error(const struct wr_engine *e, struct wb_uuid run); /* its error; 0: not a failed run */
