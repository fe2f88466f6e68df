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

#include <stdatomic.h>
#include <string.h>
#include <weft/fiber.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "model/run.h"

struct wl_owner {
    struct upp_str tenant; /* never empty */
    struct upp_str user;   /* often empty */
};

/* Ids of a family begin alike: a tree, its nodes, its threads and the trees of the threads below them share their first
 * 32 bits, which are random. So all that belongs to a conversation stands together in every table, and is found without
 * an index of its own. (Nodes made before that are found through a table of strays.) */
static inline uint32_t wl_family(struct wb_uuid id)
{
    return (uint32_t)id.b[0] << 24 | (uint32_t)id.b[1] << 16 | (uint32_t)id.b[2] << 8 | id.b[3];
}

/* A list of entries with a parent and the parent's length where it branched off. */
struct wl_node {
    uint64_t       key; /* wm_key(id) */
    struct wb_uuid id, tree;
    uint64_t       parent; /* key; 0: the root of its tree */
    uint32_t       parent_length;
    struct wb_uuid holder; /* the run that holds it; all zero: none */
    int64_t        created_ms;
    /* Texts: read by WL_LIST_FAMILY_NODES alone. */
    struct upp_str name, metadata; /* of a branch; metadata: JSON object; no text: none */
    struct upp_str origin;         /* JSON: what an import said of it that has no other place; no text: none */
};

enum wl_thread_kind { WL_MAIN = 1, WL_SUB /* of a child run: listed on request, deleted with its parent */ };

/* A pointer into a tree, as a branch of git is. */
struct wl_thread {
    struct wb_uuid  id, tree, parent; /* parent: of a sub thread, or of a fork; all zero: none */
    struct wl_owner owner;
    uint64_t        head; /* node key */
    uint32_t        at; /* 0: all of the head counts, and what is added goes there. Else a fork or a restore has put it
                         * there: 1 + the entries of the head that count; what is added goes to a branch from there, so
                         * that whoever holds the head is no matter of this thread's */
    uint8_t        kind;
    uint32_t       version;
    uint64_t       queued;          /* runs that were ever queued on it: the next one's place is queued + 1 */
    struct upp_str title, metadata; /* metadata: JSON object; no text: none */
    int64_t        created_ms, updated_ms;
};

/* How many entries of its head a thread has, where the head has `all`. */
static inline uint32_t wl_thread_length(const struct wl_thread *t, uint32_t all)
{
    return t->at && t->at - 1 < all ? t->at - 1 : all;
}

/* The highest bits of a row's format belong to stores that stand in front of others: whoever is above them neither sees
 * them nor may set them. */
#define WL_FORMAT_CUT (UINT32_C(1) << 30) /* long values were cut out of it: stores/blobs/cut.h */

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

/* A small thing by name, beside the log: the keys of tenants, threads that were deleted, how far the search has come,
 * sessions that programs keep. */
struct wl_value {
    struct upp_str space, name; /* at most WS_NAME_MAX bytes */
    struct upp_str bytes;       /* at most 64 MiB */
};

/* A large value, kept once for each tenant in pieces. It is there when its last piece is. */
enum { WL_PIECE = 256 << 10 };
struct wl_blob_key {
    unsigned char b[32];
};
struct wl_piece {
    struct wl_blob_key key;
    uint32_t           number; /* from 0 */
    bool               last;
    struct upp_str     bytes; /* WL_PIECE of them in all but the last */
};

/* That a row (or, where node is 0, the thing with this id: a file) needs a blob. */
struct wl_ref {
    struct wl_blob_key blob;
    uint64_t           node, pos;
    struct wb_uuid     id;
};

/* An entry as the search sees it. The text is such that what is looked for can be compared byte by byte. */
struct wl_words {
    struct upp_str tenant;
    uint64_t       node;
    uint32_t       index;
    int64_t        time_ms;
    struct upp_str who, tool, text; /* by name: who said it; tools that are called or answered, a line each */
};

/* What the search has read of the log: all rows up to this one (struct wl_followed). */
struct wl_learned {
    const struct wl_words *list;
    size_t                 n;
    uint64_t               upto;
    uint64_t               changes; /* of the rows that were followed */
    bool                   anew;    /* forget everything first */
};

enum wl_change_kind {
    WL_ADD_ROW = 1,  /* row; -UPP_EBUSY: its position is taken, or does not follow the node's last row */
    WL_ADD_NODE,     /* node */
    WL_ADD_THREAD,   /* thread */
    WL_SET_THREAD,   /* thread; -UPP_EBUSY unless the stored version is thread.version; it is counted up */
    WL_HOLD_NODE,    /* node.key gets the holder `to`; -UPP_EBUSY unless it is `from` now */
    WL_ADD_RUN,      /* run */
    WL_SET_RUN,      /* run; as WL_SET_THREAD */
    WL_ADD_ALIAS,    /* alias; -UPP_EBUSY: taken (by another object; by the same it is no change) */
    WL_ADD_KEY,      /* key; -UPP_EBUSY: used before and not yet 24 hours old */
    WL_TOUCH_THREAD, /* thread: it changed at updated_ms, if that is later than what is stored. Neither its version
                      * counts nor that of anybody else; one that is not there is no change */
    /* What can be changed and deleted. What is not there: -UPP_ENOTFOUND, but for the three that drop values, aliases
     * and references, which then change nothing. */
    WL_SET_NODE, /* node: name and metadata, by its key */
    WL_SET_ROW,  /* row: body, tape and format, in place of those at its position; its n_entries stay. What it referred
                  * to and what the search knew of it are forgotten (references of the new body follow as WL_ADD_REF) */
    WL_DROP_THREAD, /* thread: id; -UPP_EBUSY unless the stored version is thread.version. Aliases that lead to it go
                       too */
    WL_DROP_NODE, /* node.key: with its rows, their references, and what the search knew. -UPP_EBUSY: a run holds it, or
                   * another node stands on it */
    WL_DROP_RUN,  /* run: id; -UPP_EBUSY: it has not ended */
    WL_DROP_ALIAS, /* alias: kind and text */
    WL_PUT_VALUE,  /* value */
    WL_DROP_VALUE, /* value: space and name */
    WL_ADD_PIECE,  /* piece; one that is there already is no change; -UPP_EBUSY: the one before it is not there */
    WL_NAME_BLOB, /* name: a whole blob is called `to` from now on; where there is one already, `from` goes. -UPP_EBUSY:
                   * it is not whole, or something refers to it */
    WL_ADD_REF,   /* ref; -UPP_EBUSY: the blob is not there (any more): its pieces are to be added again */
    WL_DROP_REF,  /* ref */
    WL_DROP_BLOB, /* blob; -UPP_EBUSY: something refers to it */
    WL_LEARN,     /* learned; the tenant of the commit is not looked at. What was known of these entries is forgotten.
                   * -UPP_EBUSY: a row was set or dropped since they were read (wl_followed.changes): follow again */
    WL_TIDY,      /* more; the tenant of the commit is not looked at. What was forgotten leaves the indexes for good: a
                   * piece of work, and *more says whether some is left */
};

struct wl_change {
    enum wl_change_kind kind;
    union {
        const struct wl_row      *row;
        const struct wl_node     *node;
        const struct wl_thread   *thread;
        const struct wm_run      *run;
        const struct wl_alias    *alias;
        const struct wl_key      *key;
        const struct wl_value    *value;
        const struct wl_piece    *piece;
        const struct wl_ref      *ref;
        const struct wl_blob_key *blob;
        const struct wl_learned  *learned;
        bool                     *more;
        struct {
            uint64_t       node;
            struct wb_uuid from, to;
        } hold;
        struct {
            const struct wl_blob_key *from, *to;
        } name;
    };
};

enum {
    WL_SYNCED = 1 << 0, /* return when it is on disk; else when it is in order */
    WL_SEALED = 1 << 1, /* from a store in front of this one that has checked it: what it made of the texts is longer
                         * than they may be, and it may have added as many changes again */
};
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

/* Rows of all tenants in the order in which they were stored, for whoever follows the log. A row that was changed since
 * (WL_SET_ROW) is where it was. */
struct wl_followed {
    struct upp_str tenant;
    uint64_t       number; /* counts up */
    uint64_t changes; /* counts rows that are set and nodes that are dropped while the store is open: for WL_LEARN */
    struct wl_row row;
};

enum { WL_QUERY_WORDS = 16 /* at most */ };
struct wl_query {
    struct upp_str words;              /* all of them (between blanks), wherever in the text; no text: any */
    struct upp_str who, tool;          /* whole names; no text: any */
    int64_t        since_ms, until_ms; /* until: exclusive; 0: any */
    uint32_t       family;             /* with in_family: of these alone */
    bool           in_family;
    uint64_t       after; /* a hit's number, to go on behind it; 0: from the beginning. Newest first */
    size_t         max;
};

struct wl_hit {
    uint64_t node, number;
    uint32_t index;
};

/* What a store can do now. */
enum wl_state {
    WL_WORKS,
    WL_FULL,   /* the disk is: reading works, and commits that end or cancel runs or delete; see WL_DISK_FULL */
    WL_FAILED, /* a sync failed, or a transaction could not be ended: nothing is written until it is opened again */
};
#define WL_DISK_FULL "disk_full" /* upp_err.cause of an -UPP_ESTORE that is over when there is room again */

struct wl_store;

/* What is read together: from a store that does not wait. */
typedef int wl_reading_fn(struct wl_store *s, void *arg, struct upp_err *err);

/* ---- Reading: what get and list are asked for (typed: wl_get_* and wl_list_* below) ---- */

enum wl_what {
    /* One thing by its key: get. What is not there: -UPP_ENOTFOUND. */
    WL_GET_NODE,    /* number: its key. A struct wl_node without its texts; needs no arena */
    WL_GET_THREAD,  /* id */
    WL_GET_RUN,     /* id */
    WL_GET_ALIAS,   /* number: its kind; name. A struct wl_alias of which only the object is set; needs no arena */
    WL_GET_KEY,     /* space: the route; name: the key. Needs no arena */
    WL_GET_VALUE,   /* space, name */
    WL_GET_PIECE,   /* blob, number: one piece of a blob that is whole */
    WL_GET_LEARNED, /* a struct wl_progress: of all tenants, and always there; needs no arena */
    /* Several, at most max: list. */
    WL_LIST_THREADS,        /* of an owner, newest (by update, then id) first, behind the one with this id */
    WL_LIST_FAMILY_THREADS, /* number: the family; of any user of the tenant, in the order of their ids, behind id */
    WL_LIST_FAMILY_NODES,   /* the same of nodes, with their texts */
    WL_LIST_RUNS,           /* id: of this thread, newest first */
    WL_LIST_RUNS_LIVE,      /* id: of this thread those that have not ended, in the order of their coming */
    WL_LIST_LIVE,           /* runs of all tenants that have not ended, with their owners: by id, behind this one */
    WL_LIST_OLD_RUNS,       /* runs of a tenant that came before a time, by age, with numbers: behind this number */
    WL_LIST_VALUES,         /* of a space, by name, behind this name (no text: from the beginning) */
    WL_LIST_TENANTS,        /* struct upp_str: by name, behind this name */
    WL_LIST_LOOSE_BLOBS,    /* struct wl_blob_key: blobs that nothing has referred to since a time, whole or not */
    WL_WHATS,
};

struct wl_ask {
    enum wl_what              what;
    const struct wl_owner    *owner; /* NULL: of all tenants */
    struct wb_uuid            id;    /* in lists all zero: from the beginning */
    uint64_t                  number;
    struct upp_str            space, name;
    const struct wl_blob_key *blob;
    int64_t                   before_ms;
    size_t                    max;
};

struct wl_list {
    void            *p; /* things of the kind that was asked for, one after the other */
    size_t           n;
    struct wl_owner *owners;  /* of WL_LIST_LIVE */
    uint64_t        *numbers; /* of WL_LIST_OLD_RUNS */
};

/* How far WL_LEARN has come, and how far the log. */
struct wl_progress {
    uint64_t upto, end;
};

/* All functions may wait; none can be cancelled. What is read is put into the arena, and the answer set only on
 * success. All but at_once are mandatory. */
struct wl_store_ops {
    uint32_t    size;
    const char *name;

    WEFT_SUSPENDS int (*commit)(struct wl_store *s, struct wl_commit *c, struct upp_err *err);
    WEFT_SUSPENDS int (*rows)(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                              struct wb_arena *a, struct wl_rows *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*get)(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
                             struct upp_err *err);
    WEFT_SUSPENDS int (*list)(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                              struct upp_err *err);
    WEFT_SUSPENDS int (*follow)(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                struct wb_arena *a, struct wl_followed **ret, size_t *n, struct upp_err *err);
    /* -UPP_EREFUSED: this store keeps no words; whoever asks reads the log itself. */
    WEFT_SUSPENDS int (*search)(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err);
    /* Calls fn once, on a worker, with a store that answers there: of it rows, get and list alone can be used, and no
     * fiber. So several reads cost one way to a worker and back. NULL: it cannot. */
    WEFT_SUSPENDS int (*at_once)(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err);
    WEFT_SUSPENDS void (*close)(struct wl_store *s);
};

/* What the search is told of the log as it grows. */
enum wl_index {
    WL_INDEX_SAME,       /* to whoever opens a store: what it has; a new one has words */
    WL_INDEX_SUBSTRINGS, /* any piece of a text is found */
    WL_INDEX_WORDS,      /* whole words are */
    WL_INDEX_OFF,        /* nothing is kept, and nothing found */
};
extern const char *const wl_index_names[]; /* [kind - 1]: as weft.yaml has them; the last one is NULL */

/* First member of every store. */
struct wl_store {
    const struct wl_store_ops *ops;
    struct wl_store           *inner; /* before which it stands; NULL: none */
    struct {
        /* So far: for benchmarks and /metrics. Stores in front look at transactions and syncs from other threads. */
        uint64_t commits, transactions, syncs, rows, bytes;
    } count;
    /* Of stores that stand before another neither is looked at. */
    _Atomic uint8_t state; /* enum wl_state */
    uint8_t         index; /* enum wl_index; a store that keeps no words reads, and finds any piece of a text */
};

static inline enum wl_state wl_store_state(const struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    return (enum wl_state)atomic_load(&s->state);
}

static inline enum wl_index wl_store_index(const struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    return (enum wl_index)s->index;
}

/* ---- get and list by type ---- */

WEFT_SUSPENDS static inline int wl_get_node(struct wl_store *s, const struct wl_owner *o, uint64_t key,
                                            struct wl_node *ret, struct upp_err *err)
{
    return s->ops->get(s, &(struct wl_ask){.what = WL_GET_NODE, .owner = o, .number = key}, NULL, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id,
                                              struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    return s->ops->get(s, &(struct wl_ask){.what = WL_GET_THREAD, .owner = o, .id = id}, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id,
                                           struct wb_arena *a, struct wm_run *ret, struct upp_err *err)
{
    return s->ops->get(s, &(struct wl_ask){.what = WL_GET_RUN, .owner = o, .id = id}, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind,
                                             struct upp_str text, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_ask   ask = {.what = WL_GET_ALIAS, .owner = o, .number = kind, .name = text};
    struct wl_alias alias;
    int             r = s->ops->get(s, &ask, NULL, &alias, err);
    if (r >= 0)
        *ret = alias.object;
    return r;
}

WEFT_SUSPENDS static inline int wl_get_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route,
                                           struct upp_str key, struct wl_key *ret, struct upp_err *err)
{
    return s->ops->get(s, &(struct wl_ask){.what = WL_GET_KEY, .owner = o, .space = route, .name = key}, NULL, ret,
                       err);
}

WEFT_SUSPENDS static inline int wl_get_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                             struct upp_str name, struct wb_arena *a, struct upp_str *ret,
                                             struct upp_err *err)
{
    struct wl_ask   ask = {.what = WL_GET_VALUE, .owner = o, .space = space, .name = name};
    struct wl_value value;
    int             r = s->ops->get(s, &ask, a, &value, err);
    if (r >= 0)
        *ret = value.bytes;
    return r;
}

WEFT_SUSPENDS static inline int wl_get_piece(struct wl_store *s, const struct wl_owner *o,
                                             const struct wl_blob_key *key, uint32_t number, struct wb_arena *a,
                                             struct wl_piece *ret, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_GET_PIECE, .owner = o, .blob = key, .number = number};
    return s->ops->get(s, &ask, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err)
{
    struct wl_progress x;
    int                r = s->ops->get(s, &(struct wl_ask){.what = WL_GET_LEARNED}, NULL, &x, err);
    if (r >= 0) {
        *upto = x.upto;
        *end  = x.end;
    }
    return r;
}

/* ret: where the address of the first one goes. Where it fails there are none. */
WEFT_SUSPENDS static inline int wl_list_into(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a,
                                             void *ret, size_t *n, struct upp_err *err)
{
    struct wl_list list = {0};
    int            r    = s->ops->list(s, ask, a, &list, err);
    memcpy(ret, &list.p, sizeof list.p);
    *n = list.n;
    return r;
}

WEFT_SUSPENDS static inline int wl_list_threads(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after,
                                                size_t max, struct wb_arena *a, struct wl_thread **ret, size_t *n,
                                                struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_THREADS, .owner = o, .id = after, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread,
                                             bool live_only, size_t max, struct wb_arena *a, struct wm_run **ret,
                                             size_t *n, struct upp_err *err)
{
    enum wl_what  what = live_only ? WL_LIST_RUNS_LIVE : WL_LIST_RUNS;
    struct wl_ask ask  = {.what = what, .owner = o, .id = thread, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                                             struct wm_run **runs, struct wl_owner **owners, size_t *n,
                                             struct upp_err *err)
{
    struct wl_list list = {0};
    int            r = s->ops->list(s, &(struct wl_ask){.what = WL_LIST_LIVE, .id = after, .max = max}, a, &list, err);
    *runs            = (struct wm_run *)list.p;
    *owners          = list.owners;
    *n               = list.n;
    return r;
}

WEFT_SUSPENDS static inline int wl_list_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after,
                                                 int64_t before_ms, size_t max, struct wb_arena *a, struct wm_run **ret,
                                                 uint64_t **numbers, size_t *n, struct upp_err *err)
{
    struct wl_ask  ask  = {.what = WL_LIST_OLD_RUNS, .owner = o, .number = after, .before_ms = before_ms, .max = max};
    struct wl_list list = {0};
    int            r    = s->ops->list(s, &ask, a, &list, err);
    *ret                = (struct wm_run *)list.p;
    *numbers            = list.numbers;
    *n                  = list.n;
    return r;
}

WEFT_SUSPENDS static inline int wl_list_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                                     struct wb_uuid after, size_t max, struct wb_arena *a,
                                                     struct wl_node **ret, size_t *n, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_FAMILY_NODES, .owner = o, .number = family, .id = after, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                                       struct wb_uuid after, size_t max, struct wb_arena *a,
                                                       struct wl_thread **ret, size_t *n, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_FAMILY_THREADS, .owner = o, .number = family, .id = after, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                               struct upp_str after, size_t max, struct wb_arena *a,
                                               struct wl_value **ret, size_t *n, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_VALUES, .owner = o, .space = space, .name = after, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_tenants(struct wl_store *s, struct upp_str after, size_t max,
                                                struct wb_arena *a, struct upp_str **ret, size_t *n,
                                                struct upp_err *err)
{
    return wl_list_into(s, &(struct wl_ask){.what = WL_LIST_TENANTS, .name = after, .max = max}, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms,
                                                    size_t max, struct wb_arena *a, struct wl_blob_key **ret, size_t *n,
                                                    struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_LOOSE_BLOBS, .owner = o, .before_ms = before_ms, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

#endif
