/* run/tree.h — a root run with its children: one event sequence, one commit at a time (the commit lock), the readers.
 *
 * Invariants
 *  1. Events are numbered in commit order. A root's open message has the numbers that follow the last commit, and while
 *     it is open nothing else of its tree is committed with events. A child's message is numbered when it is committed:
 *     children may produce output at the same time, and the sequence has no gaps.
 *  2. Every delivered record is in the store. Only what is not committed is lost with the process.
 *  3. Everything of an engine happens on its one loop; only the commit lock is held across a suspension.
 */
#pragma once

#include "base/list.h"
#include "base/vec.h"
#include "fiber/fiber.h"
#include "run/engine.h"

enum {
    WR_CACHE_ROWS = 64,        /* committed rows that a tree caches for live readers, with a store */
    WR_CACHE_BYTES = 1 << 20,  /* and their total size */
    WR_CACHE_ALONE = 64 << 20, /* without a store: how far the slowest reader may be behind */
};

struct wr_open;
struct wr_run;

/* A committed row as it was written, for readers. */
struct wr_cached_row {
    struct wb_link link;
    struct upp_str body, tape;
    struct wr_from at; /* epoch and number of its first event */
    uint64_t events;   /* how many it has */
    uint32_t index;    /* of its first entry in its node */
    struct wr_source *source;
};

/* The source of events, shared by the events of one run. Lives as long as the tree. */
struct wr_source {
    struct wr_source *next;
    struct wm_source from; /* epoch is not used: each row has its own */
};

/* A set of hashes of call ids. An id that is not in it is free; one that is in it may be taken. */
struct wr_ids {
    uint64_t *slots;
    size_t n, size; /* a power of two, or 0 */
};
bool wr_ids_have(const struct wr_ids *ids, struct upp_str id);
int wr_ids_add(struct wr_ids *ids, struct upp_str id, struct upp_err *err) UPP_MUST_CHECK;
void wr_ids_clear(struct wr_ids *ids); /* keeps its capacity */
void wr_ids_done(struct wr_ids *ids);

struct wr_tree {
    struct wr_tree *next_free; /* in the engine's free list */
    struct wr_engine *engine;
    struct wb_link link; /* in the engine's table */
    unsigned refs;
    struct wb_uuid root;
    struct wl_owner owner; /* texts are in `memory` */
    struct wb_arena memory;
    struct wr_source *sources;
    struct wr_ids ids; /* call ids of the tree's runs that worked in this process: answers are routed by them */

    uint32_t epoch;
    uint64_t next;  /* number of the next event to be committed: all before are */
    uint8_t status; /* of the root, as committed */
    int refused;    /* a commit of the run that works here, or did last, failed: it commits nothing more */

    bool resumed; /* from the store: not all call ids of its children are in `ids` */
    bool loading; /* somebody reads epoch and next from the store: wait for `changed` */
    int unread;   /* error of that read */

    bool locked; /* the commit lock is held */
    struct weft_cond commit_lock;

    struct wb_link cached; /* the newest committed rows, without a gap, up to `next` */
    size_t n_cached, cached_bytes;
    struct wr_open *open; /* streaming; NULL: nothing */
    struct wb_link readers;
    bool was_read;            /* there has been a reader, or it was loaded: whoever read it then is gone */
    size_t asleep;            /* readers that have read everything and wait for a wake */
    uint64_t news;            /* counts wakes, to detect changes during a read */
    struct weft_cond changed; /* for wr_wait */

    struct wr_run *run; /* the root's, while a fiber works on it */
    struct weft_fiber *fiber;

    struct wr_outcome *outcome; /* somebody waits for it in wr_join; NULL: nobody */
};

/* The result of a run, for wr_join. */
struct wr_outcome {
    bool set;
    int result;
    struct upp_turn *turn; /* NULL: no output */
    const struct wr_watch *watch;
    struct upp_err why;
};

/* wr_outcome_request, before the run starts: the caller will wait for the turn, and the tree stays until
 * wr_tree_release. wr_outcome_tree, afterwards: that tree, with a reference; or NULL. */
int wr_outcome_request(struct wr_run *run, const struct wr_watch *watch, struct upp_err *err) UPP_MUST_CHECK;
struct wr_tree *wr_outcome_tree(struct wr_run *run);

struct wr_tree *wr_tree_find(struct wr_engine *e, struct wb_uuid root); /* live; borrowed; NULL: none */
int wr_tree_new(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid root, struct wr_tree **ret,
                struct upp_err *err) UPP_MUST_CHECK;
/* The live tree, or one loaded from the store. Adds a reference. */
WEFT_SUSPENDS int wr_tree_get(struct wr_engine *e, const struct wl_owner *o, const struct wm_run *root,
                              struct wr_tree **ret, struct upp_err *err) UPP_MUST_CHECK;
void wr_tree_unref(struct wr_tree *t);
void wr_tree_unrefp(struct wr_tree **t);

/* Reads the root of any run of a tree from the store. */
WEFT_SUSPENDS int wr_get_root(struct wr_engine *e, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                              struct wm_run *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Waits until nobody works on the tree, and makes the root's run for the caller, who passes it to wr_launch or
 * wr_tree_disown. wr_tree_take: the same with a run that exists, when nobody works on its tree. */
WEFT_SUSPENDS int wr_tree_own(struct wr_tree *t, const struct wm_run *row, struct wr_run **ret,
                              struct upp_err *err) UPP_MUST_CHECK;
void wr_tree_take(struct wr_tree *t, struct wr_run *run);
void wr_tree_disown(struct wr_run *run); /* frees it and wakes whoever waits for the tree */

/* Ends a run that waits. */
WEFT_SUSPENDS int wr_end_waiting(struct wr_tree *t, const struct wm_run *row, int result, const struct upp_err *why,
                                 struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS void wr_commit_lock_take(struct wr_tree *t); /* shielded: a commit is never cancelled */
void wr_commit_lock_leave(struct wr_tree *t);

/* The source of a run's events, created on first use. NULL: no memory. */
struct wr_source *wr_tree_source(struct wr_tree *t, const struct wm_run *run, struct upp_str agent_id);

void wr_tree_wake(struct wr_tree *t);    /* readers and waiters: there is something new */
void wr_readers_wake(struct wr_tree *t); /* readers only: there is more output */

/* Frees cached rows that no reader needs, or that exceed the limits. */
void wr_cache_trim(struct wr_tree *t);

/* The current step of one run: it may end in another row than the one that began it. */
struct wr_open_step {
    struct wb_uuid run, id;
    WB_VEC(struct wm_event *) results; /* for the message that refers to them */
    struct wb_arena memory;            /* of the results */
};

struct wr_reader {
    struct wr_tree *tree;
    struct wb_link link;
    struct wr_from from;
    uint64_t next;     /* number of the next event to return */
    uint64_t n_voided; /* events from there on that were returned, and became void since */
    void (*wake)(void *arg);
    void *arg;
    struct weft_cond cond;
    struct wr_stored *stored; /* its cursors in the store; NULL: it has not read there */

    struct wm_row row; /* whose events are returned, in `memory` */
    struct wm_expand expand;
    struct wm_source from_row, from_lost;
    struct wb_arena memory;
    struct wr_open *open; /* or whose events are returned */
    bool has_row;
    bool ended, waiting;
    bool asleep; /* counted in the tree */
    bool behind; /* the store has the next event, and it was asked for outside of a fiber */
    struct wm_run run;

    WB_VEC(struct wr_open_step) steps; /* of the runs that work where the reader is */
};

/* The open message that readers may be reading is gone: committed, or void; then its numbers are used again. */
void wr_readers_leave(struct wr_tree *t, const struct wr_open *o, bool is_void);
