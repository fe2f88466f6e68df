/* run/tree.h — a root run with its children: one event sequence, one commit at a time (its lane), the readers.
 *
 * Invariants
 *  1. Events are numbered in the order of commits. A root's open message has the numbers that follow the last commit,
 * and while it is open nothing else of its tree is committed with events. A child's message is numbered when it is
 *     committed: children may speak at the same time, and the sequence has no gaps.
 *  2. What is delivered as a record is in the store. What is not committed is lost with the process, and only that.
 *  3. Everything of an engine happens on its one loop; only the lane is held across a wait.
 */
#ifndef WR_TREE_H
#define WR_TREE_H

#include "base/list.h"
#include "base/vec.h"
#include "fiber/fiber.h"
#include "run/engine.h"

enum {
    WR_CACHE_ROWS  = 64,       /* committed rows a tree keeps for readers that follow, while there is a store */
    WR_CACHE_BYTES = 1 << 20,  /* and at most so much of them */
    WR_CACHE_ALONE = 64 << 20, /* without a store: what the slowest reader may be behind */
};

struct wr_open;
struct wr_run;

/* A committed row as it was written, for readers. */
struct wr_cached_row {
    struct wb_link    link;
    struct upp_str    body, tape;
    struct wr_from    at;     /* epoch and number of its first event */
    uint64_t          events; /* how many it has */
    uint32_t          index;  /* of its first entry in its node */
    struct wr_source *source;
};

/* Who speaks: shared by the events of one run. Lives as long as the tree. */
struct wr_source {
    struct wr_source *next;
    struct wm_source  from; /* epoch is not used: each row has its own */
};

/* Hashes of call ids. One that is not in it is free; one that is may be. */
struct wr_ids {
    uint64_t *slots;
    size_t    n, size; /* a power of two, or 0 */
};
bool wr_ids_have(const struct wr_ids *ids, struct upp_str id);
int  wr_ids_add(struct wr_ids *ids, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;
void wr_ids_clear(struct wr_ids *ids); /* keeps its room */
void wr_ids_done(struct wr_ids *ids);

struct wr_tree {
    struct wr_tree   *spare; /* the next one of the engine's spare ones */
    struct wr_engine *engine;
    struct wb_link    link; /* in the engine's table */
    unsigned          refs;
    struct wb_uuid    root;
    struct wl_owner   owner; /* texts in memory */
    struct wb_arena   memory;
    struct wr_source *sources;
    struct wr_ids     ids; /* call ids of the runs of the tree that worked here: answers are routed by them */

    uint32_t epoch;
    uint64_t next;   /* number of the next event to be committed: all before are */
    uint8_t  status; /* of the root, as committed */
    int      failed; /* the store failed it: it goes on when an engine recovers it */

    bool     resumed;        /* from the store: not all call ids of its children are in `ids` */
    bool     loading;        /* somebody reads epoch and next from the store: wait for `changed` */
    int      unread;         /* and that failed */
    unsigned waiting_inputs; /* inputs that wait for its end to take its place: the queue comes after them */

    bool             locked; /* the lane */
    struct weft_cond commit_lock;

    struct wb_link   kept; /* the newest committed rows, without a gap, up to `next` */
    size_t           n_kept, kept_bytes;
    struct wr_open  *open; /* on the air; NULL: nothing */
    struct wb_link   readers;
    size_t           asleep;  /* readers that have had everything and want to be told of more */
    uint64_t         news;    /* counts wakes: has anything happened since? */
    struct weft_cond changed; /* for wr_wait */

    struct wr_run     *run; /* the root's, while a fiber works on it */
    struct weft_fiber *fiber;

    struct wr_outcome *outcome; /* somebody waits for it in wr_join; NULL: nobody */
};

/* What a run came to, for whoever started it. */
struct wr_outcome {
    bool                   told;
    int                    result;
    struct upp_turn       *turn; /* NULL: nothing was said */
    const struct wr_watch *watch;
    struct upp_err         why;
};

/* The caller waits for the turn: the tree stays until wr_leave. Before the run goes; and then the tree, or NULL. */
int             wr_want_turn(struct wr_run *run, const struct wr_watch *watch, struct upp_err *err) UPP_MUST_CHECK;
struct wr_tree *wr_wanted(struct wr_run *run);

struct wr_tree *wr_tree_find(struct wr_engine *e, struct wb_uuid root); /* live; borrowed; NULL: none */
int             wr_tree_new(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid root, struct wr_tree **ret,
                            struct upp_err *err) UPP_MUST_CHECK;
/* The live tree or one made from the store. Referenced. */
WEFT_SUSPENDS int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root,
                              struct wr_tree **ret, struct upp_err *err) UPP_MUST_CHECK;
void              wr_tree_unref(struct wr_tree *t);
void              wr_tree_unrefp(struct wr_tree **t);

/* The root of a run, whichever of its tree was named; out of the store. */
WEFT_SUSPENDS int wr_get_root(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                              struct wm_run *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until nobody works on the tree, and makes the root's run for the caller, who gives it to wr_launch or frees it.
 */
WEFT_SUSPENDS int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret,
                              struct upp_err *err) UPP_MUST_CHECK;
void              wr_tree_disown(struct wr_run *run); /* frees it and lets the next one in */

/* A run that nobody works on is ended by whoever comes. */
WEFT_SUSPENDS int wr_end_idle(struct wr_tree *t, const struct wm_run *row, int result, const struct upp_err *why,
                              struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS void wr_commit_lock_take(struct wr_tree *t); /* shielded: a commit is never cancelled */
void               wr_commit_lock_leave(struct wr_tree *t);

/* The face of a run, made when first needed. NULL: no memory. */
struct wr_source *wr_tree_source(struct wr_tree *t, const struct wm_run *run, struct upp_str agent_id);

void wr_tree_wake(struct wr_tree *t);    /* readers and waiters: there is something new */
void wr_readers_wake(struct wr_tree *t); /* readers alone: more was said */

/* ---- Readers --------------------------------------------------------------------------------------------- */

/* Frees rows that no reader and no limit asks for any more. */
void wr_cache_trim(struct wr_tree *t);

/* Ids of steps that have begun, by run: a step ends in another row than the one that began it. */
struct wr_begun {
    struct wb_uuid run, step;
};

struct wr_reader {
    struct wr_tree *tree;
    struct wb_link  link;
    struct wr_from  from;
    uint64_t        next;  /* number of the next event to be given out */
    uint64_t        aired; /* events from there on that were given out, and are void since */
    void (*wake)(void *arg);
    void             *arg;
    struct weft_cond  cond;
    struct wr_stored *stored; /* the way through the store, when it reads there */

    struct wm_row    row; /* whose events are given out, from `memory` */
    struct wm_expand expand;
    struct wm_source from_row, from_lost;
    struct wb_arena  memory;
    struct wr_open  *open; /* or those of this open message */
    bool             has_row;
    bool             ended, waiting;
    bool             asleep; /* counted in the tree */
    struct wm_run    run;

    WB_VEC(struct wm_event *) results; /* of the current step of the root, for the message that refers to them */
    struct wb_arena kept_results;
    WB_VEC(struct wr_begun) begun;
};

/* The open message that readers may be reading is gone: committed, or void, and then its numbers come again. */
void wr_readers_leave(struct wr_tree *t, const struct wr_open *o, bool is_void);

#endif
