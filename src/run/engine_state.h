/* run/engine_state.h — the engine from the inside: its trees, what is used again, runs that nobody works on. */
#ifndef WR_ENGINE_STATE_H
#define WR_ENGINE_STATE_H

#include "run/tree.h"
#include "upp/client/call.h"

enum { WR_BUCKETS = 1024 };

/* What runs are made of is used again, with the memory it has: at most so many of each, none of them large. */
enum { WR_POOL_ITEMS = 64, WR_POOL_BYTES = 64 << 10, WR_POOL_CALLS = 16 };
struct wr_pools {
    struct wr_tree  *trees;
    struct wr_run   *runs;
    struct wr_open  *opens;
    struct wb_arena  arenas[WR_POOL_CALLS]; /* empty, each with one chunk: for the arguments of calls */
    struct upp_value values[WR_POOL_CALLS]; /* for what they give back */
    struct upp__room room;                  /* for a call of a model */
    unsigned         n_trees, n_runs, n_opens, n_arenas, n_values;
};
void            wr_pools_done(struct wr_pools *s);
struct wb_arena wr_arena_take(struct wr_pools *s, size_t max);
void            wr_arena_give(struct wr_pools *s, struct wb_arena *a);
void            wr_value_take(struct wr_pools *s, struct upp_value *ret);
void            wr_value_give(struct wr_pools *s, struct upp_value *v);

/* A run that was left before its end, because the store did not take what it had to write. */
struct wr_failed_run {
    struct wb_uuid run;
    int            failed;  /* how it failed the last time */
    unsigned       tries;   /* how often it worked and could not be ended */
    int64_t        wait_ms; /* the last time */
    int64_t        at_ms;   /* when it is taken up again; INT64_MAX: at the next start */
};

struct wr_engine {
    struct weft_loop     *loop;
    struct wr_engine_opts opts;
    struct wl_store      *store;
    struct upp_http      *http; /* connections of this loop, and the table by which its models wait */
    struct upp_wait       wait;
    struct weft_scope     scope;
    bool                  closing;
    size_t                working;
    struct wb_link        trees[WR_BUCKETS];
    struct wr_counts      counts;
    struct weft_cond      moved;      /* a run has ended, begun to wait, or left the queue */
    int64_t               look_at_ms; /* when to look after runs that nobody works on; INT64_MAX: never */
    int64_t               look_ms;    /* how long to wait after a failure */
    struct weft_cond      look;
    bool                  looking; /* the fiber that does it lives */
    WB_VEC(struct wr_failed_run) troubled;
    struct wr_pools pools;
    struct wb_uuid  last_id; /* of the agent whose text stands here: most runs have the same one */
    char            last_id_text[WB_UUID_TEXT];
};

/* Sees to it that runs nobody works on are looked at then (src/run/supervisor.c); 0: not because of this. */
void wr_look_at(struct wr_engine *e, int64_t ms);
void wr_look_soon(struct wr_engine *e);

/* A root was left before its end: it is taken up again, later each time. worked: it had been taken up, and its work was
 * for nothing; after so many times it is left for the next start. */
void wr_failed_run(struct wr_tree *t, bool worked);
void wr_failed_run_over(struct wr_engine *e, struct wb_uuid run);        /* it has ended */
int  wr_failed_run_error(const struct wr_engine *e, struct wb_uuid run); /* how it failed; 0: it is well */

#endif
