/* log/store.h — what a store does: keep rows, and change a few, all or nothing.
 *
 * The log of a node is a list of rows (model/row.h). A row's position is (index of the first entry it adds, how many
 * rows stand before it at that index): rows that add no entry count up the second number. So the position is gap-free,
 * an entry is found by its index without a second index, and appending at a position that is taken fails: that is the
 * compare-and-swap on the node's length.
 *
 * A commit is a list of changes that happen all or not at all. Many commits share one transaction; one that fails
 * leaves its neighbours alone. A commit cannot be cancelled: it is over when the call returns. Every key begins with
 * the tenant: what belongs to another tenant is not found.
 *
 * Stores wait (fibers, workers); everything above them waits through this table alone.
 *
 * Invariants
 *  1. When commit returns 0 under WL_SYNCED, everything in it survives the loss of power.
 *  2. Commits are durable in the order in which they were given: a later one never survives an earlier one's loss.
 *  3. After a sync failed, every further commit fails with -UPP_ESTORE until the store is opened again.
 */
#ifndef WL_STORE_H
#define WL_STORE_H

#include <weft/fiber.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "model/run.h"

struct wl_owner {
    struct upp_str tenant; /* never empty */
    struct upp_str user;   /* often empty */
};

/* A list of entries with a parent and the parent's length where it branched off. */
struct wl_node {
    uint64_t       key; /* wm_key(id) */
    struct wb_uuid id, tree;
    uint64_t       parent; /* key; 0: the root of its tree */
    uint32_t       parent_length;
    struct wb_uuid holder; /* the run that holds it; all zero: none */
    int64_t        created_ms;
};

enum wl_thread_kind { WL_MAIN = 1, WL_SUB /* of a child run: listed on request, deleted with its parent */ };

/* A pointer into a tree, as a branch of git is. */
struct wl_thread {
    struct wb_uuid  id, tree, parent; /* parent: thread of a sub thread; all zero: none */
    struct wl_owner owner;
    uint64_t        head; /* node key */
    uint8_t         kind;
    uint32_t        version;
    uint64_t        queued;          /* runs that were ever queued on it: the next one's place is queued + 1 */
    struct upp_str  title, metadata; /* metadata: JSON object; no text: none */
    int64_t         created_ms, updated_ms;
};

struct wl_row {
    uint64_t       node, pos;
    uint32_t       n_entries;
    uint32_t       format;
    struct wb_uuid run; /* all zero: no run wrote it */
    struct upp_str body, tape;
};

/* Positions. */
static inline uint64_t wl_pos(uint32_t first, unsigned sub)
{
    return (uint64_t)first << 16 | sub;
}
static inline uint32_t wl_pos_index(uint64_t pos)
{
    return (uint32_t)(pos >> 16);
}
enum { WL_SUBS = 1 << 16 }; /* rows that add no entry, at most, between two that do */

/* Where the row after this one stands. */
static inline uint64_t wl_pos_next(uint64_t pos, uint32_t n_entries)
{
    return n_entries ? wl_pos(wl_pos_index(pos) + n_entries, 0) : pos + 1;
}

enum wl_alias_kind { WL_ALIAS_THREAD = 1, WL_ALIAS_ENTRY, WL_ALIAS_RUN, WL_ALIAS_AGENT, WL_ALIAS_FILE };

struct wl_alias {
    uint8_t        kind;
    struct upp_str text;
    struct wb_uuid object;
};

/* An Idempotency-Key that was used. */
struct wl_key {
    struct upp_str route, key;
    unsigned char  body[32]; /* SHA-256 */
    struct wb_uuid object;
    int64_t        created_ms;
};

enum wl_change_kind {
    WL_ADD_ROW = 1, /* row; -UPP_EBUSY: its position is taken, or does not follow the node's last row */
    WL_ADD_NODE,    /* node */
    WL_ADD_THREAD,  /* thread */
    WL_SET_THREAD,  /* thread; -UPP_EBUSY unless the stored version is thread.version; it is counted up */
    WL_HOLD_NODE,   /* node.key gets the holder `to`; -UPP_EBUSY unless it is `from` now */
    WL_ADD_RUN,     /* run */
    WL_SET_RUN,     /* run; as WL_SET_THREAD */
    WL_ADD_ALIAS,   /* alias; -UPP_EBUSY: taken (by another object; by the same it is no change) */
    WL_ADD_KEY,     /* key; -UPP_EBUSY: used before and not yet 24 hours old */
};

struct wl_change {
    enum wl_change_kind kind;
    union {
        const struct wl_row    *row;
        const struct wl_node   *node;
        const struct wl_thread *thread;
        const struct wm_run    *run;
        const struct wl_alias  *alias;
        const struct wl_key    *key;
        struct {
            uint64_t       node;
            struct wb_uuid from, to;
        } hold;
    };
};

enum { WL_SYNCED = 1 << 0 /* return when it is on disk; else when it is in order */ };
enum { WL_CHANGES = 512 /* in one commit, at most */ };

struct wl_commit {
    struct wl_owner         owner; /* of all that is changed; its user matters for threads and aliases */
    const struct wl_change *changes;
    size_t                  n;
    unsigned                flags;
    size_t                  conflict; /* set where commit returns -UPP_EBUSY: which change */
};

/* A stretch of a node's rows. */
struct wl_range {
    uint64_t node;
    uint64_t from, to;  /* positions, `to` is exclusive */
    bool     backwards; /* the last ones first */
    size_t   max_rows;  /* 0: 256 */
    size_t   max_bytes; /* 0: 1 MiB; the first row is given out whatever its size */
};

struct wl_rows {
    struct wl_row *p;
    size_t         n;
    bool           more; /* the range holds more than was asked for */
};

struct wl_store;

/* All functions but `name` and `close` may wait; none can be cancelled. What is read is put into the arena. Those that
 * look one thing up: -UPP_ENOTFOUND. All are mandatory. */
struct wl_store_ops {
    uint32_t    size;
    const char *name;

    WEFT_SUSPENDS int (*commit)(struct wl_store *s, struct wl_commit *c, struct upp_err *err);

    WEFT_SUSPENDS int (*rows)(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                              struct wb_arena *a, struct wl_rows *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*node)(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wl_node *ret,
                              struct upp_err *err);
    WEFT_SUSPENDS int (*thread)(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                                struct wl_thread *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*run)(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                             struct wm_run *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*alias)(struct wl_store *s, const struct wl_owner *o, uint8_t kind, struct upp_str text,
                               struct wb_uuid *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*key)(struct wl_store *s, const struct wl_owner *o, struct upp_str route, struct upp_str key,
                             struct wl_key *ret, struct upp_err *err);

    /* Threads of an owner, newest (by update, then id) first, after the one with id `after` (all zero: from the
     * beginning), at most max. */
    WEFT_SUSPENDS int (*threads)(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after, size_t max,
                                 struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err);
    /* Runs of a thread, newest first; with live_only those that have not ended, in the order of their coming. */
    WEFT_SUSPENDS int (*runs)(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool live_only,
                              size_t max, struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err);
    /* Runs of all tenants that have not ended, with their owners: for recovery. In the order of their ids, after
     * `after`. */
    WEFT_SUSPENDS int (*live)(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                              struct wm_run **runs, struct wl_owner **owners, size_t *n, struct upp_err *err);

    WEFT_SUSPENDS void (*close)(struct wl_store *s);
};

/* First member of every store. */
struct wl_store {
    const struct wl_store_ops *ops;
    struct {
        uint64_t commits, transactions, syncs, rows, bytes; /* so far: for benchmarks and /metrics */
    } count;
};

#endif
