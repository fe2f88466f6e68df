/* log/store.h — the interface of a store: it stores rows and changes a few of them, in atomic commits.
 *
 * The log of a node is a list of rows (model/row.h). A row's position is (index of the first entry it adds, number of
 * rows before it at that index): rows that add no entry increment the second number. So positions have no gaps, an
 * entry is found by its index without a second index, and appending at a position that is taken fails: that is the
 * compare-and-swap on the node's length.
 *
 * A commit is a list of changes, applied all or none. Many commits share one transaction; a commit that fails does not
 * affect the others. A commit cannot be cancelled: it is finished when the call returns. Every key begins with the
 * tenant: objects of another tenant are not found.
 *
 * Stores suspend the calling fiber (fibers, workers); the layers above wait for them only through this table.
 *
 * Invariants
 *  1. When commit returns 0 under WL_SYNCED, everything in it survives a power loss.
 *  2. Commits become durable in the order in which they were submitted: a later one never survives the loss of an
 *     earlier one.
 *  3. After a failed sync, every further commit fails with -UPP_ESTORE until the store is opened again.
 */
#pragma once

#include <stdatomic.h>
#include <string.h>
#include <weft/fiber.h>

#include "base/arena.h"
#include "base/uuid.h"
#include "model/run.h"

/* The tenant of what is the store's own: its API keys, its audit, the ids of the configuration's agents. No key belongs
 * to it. */
#define WL_OWN_TENANT "weft"

struct wl_owner {
    struct upp_str tenant; /* never empty */
    struct upp_str user;   /* often empty */
};

/* Ids of a family share their first 32 bits, which are random: a tree, its nodes, its threads and the trees of their
 * sub-threads. So a conversation is contiguous in every table and is found without an extra index. (Nodes created
 * before this rule are found through the table of strays.) */
static inline uint32_t wl_family(struct wb_uuid id)
{
    return (uint32_t)id.b[0] << 24 | (uint32_t)id.b[1] << 16 | (uint32_t)id.b[2] << 8 | id.b[3];
}

/* A list of entries, with its parent node and the parent's length at the branch point. */
struct wl_node {
    uint64_t key; /* wm_key(id) */
    struct wb_uuid id, tree;
    uint64_t parent; /* key; 0: this is the root of its tree */
    uint32_t parent_length;
    struct wb_uuid holder; /* the run that holds it; all zero: none */
    int64_t created_ms;
    /* Texts: only WL_LIST_FAMILY_NODES reads them. */
    struct upp_str name, metadata; /* of a branch; metadata: JSON object; empty: none */
    struct upp_str origin;         /* JSON: imported data about the node that fits no other field; empty: none */
};

enum wl_thread_kind { WL_MAIN = 1, WL_SUB /* of a child run: listed on request, deleted with its parent */ };

/* A pointer into a tree, like a git branch. */
struct wl_thread {
    struct wb_uuid id, tree, parent; /* parent: of a sub-thread or a fork; all zero: none */
    struct wl_owner owner;
    uint64_t head; /* node key */
    uint32_t at;   /* 0: the thread includes the whole head, and appends go there. Otherwise it was forked or
                    * restored to the middle of the head: 1 + the number of the head's entries that it includes;
                    * appends go to a new branch from there, so a run that holds the head does not block this
                    * thread */
    uint8_t kind;
    uint32_t version;
    uint64_t queued;                /* runs ever queued on it: the next one gets queue position queued + 1 */
    struct upp_str title, metadata; /* metadata: JSON object; empty: none */
    int64_t created_ms, updated_ms;
};

/* How many entries of its head a thread includes; `all`: how many the head has. */
static inline uint32_t wl_thread_length(const struct wl_thread *t, uint32_t all)
{
    return t->at && t->at - 1 < all ? t->at - 1 : all;
}

/* The highest bits of a row's format are reserved for stores in front of a store: the layers above neither see them nor
 * may set them. */
#define WL_FORMAT_CUT (UINT32_C(1) << 30) /* long values were moved out of it into blobs: stores/blobs/cut.h */

struct wl_row {
    uint64_t node, pos;
    uint32_t n_entries;
    uint32_t format;
    struct wb_uuid run; /* all zero: no run wrote it */
    struct upp_str body, tape;
};

static inline uint64_t wl_pos(uint32_t first, unsigned sub)
{
    return (uint64_t)first << 16 | sub;
}
static inline uint32_t wl_pos_index(uint64_t pos)
{
    return (uint32_t)(pos >> 16);
}
enum { WL_SUBS = 1 << 16 }; /* rows without entries between two rows with entries, at most */

/* The position of the row after this one. */
static inline uint64_t wl_pos_next(uint64_t pos, uint32_t n_entries)
{
    return n_entries ? wl_pos(wl_pos_index(pos) + n_entries, 0) : pos + 1;
}

enum wl_alias_kind { WL_ALIAS_THREAD = 1, WL_ALIAS_ENTRY, WL_ALIAS_RUN, WL_ALIAS_AGENT, WL_ALIAS_FILE };

struct wl_alias {
    uint8_t kind;
    struct upp_str text;
    struct wb_uuid object;
};

/* An Idempotency-Key that was used. */
struct wl_key {
    struct upp_str route, key;
    unsigned char body[32]; /* SHA-256 */
    struct wb_uuid object;
    int64_t created_ms;
};

/* A small named value outside the log: tenants' keys, deleted threads, the progress of the search index, sessions that
 * programs store. */
struct wl_value {
    struct upp_str space, name; /* at most WS_NAME_MAX bytes */
    struct upp_str bytes;       /* at most 64 MiB */
};

/* A large value, stored once per tenant, in pieces. It exists once its last piece is stored. */
enum { WL_PIECE = 256 << 10 };
struct wl_blob_key {
    unsigned char b[32];
};
struct wl_piece {
    struct wl_blob_key key;
    uint32_t number; /* from 0 */
    bool last;
    struct upp_str bytes; /* WL_PIECE of them in all but the last */
};

/* A reference: this row (or, if node is 0, the object with this id: a file) needs the blob. */
struct wl_ref {
    struct wl_blob_key blob;
    uint64_t node, pos;
    struct wb_uuid id;
};

/* An entry as the search index sees it. The text is folded so that words can be compared byte by byte. */
struct wl_index_entry {
    struct upp_str tenant;
    uint64_t node;
    uint32_t index;
    int64_t time_ms;
    struct upp_str who, tool, text; /* names: the author; tools that are called or answered, one per line */
};

/* What the search index has read of the log: all rows up to this one (struct wl_followed). */
struct wl_index_update {
    const struct wl_index_entry *list;
    size_t n;
    uint64_t from, upto; /* equal: the position stays; else it must still be `from` */
    uint64_t changes;    /* wl_followed.changes of the rows that were read */
    bool anew;           /* only drop the whole index: it is followed from the start again */
};

enum wl_change_kind {
    WL_ADD_ROW = 1,  /* row; -UPP_EBUSY: its position is taken, or does not follow the node's last row */
    WL_ADD_NODE,     /* node */
    WL_ADD_THREAD,   /* thread */
    WL_SET_THREAD,   /* thread; -UPP_EBUSY unless the stored version is thread.version; increments it */
    WL_HOLD_NODE,    /* node.key gets the holder `to`; -UPP_EBUSY unless the holder is `from` */
    WL_ADD_RUN,      /* run */
    WL_SET_RUN,      /* run; as WL_SET_THREAD */
    WL_ADD_ALIAS,    /* alias; -UPP_EBUSY: taken by another object (if by the same object: no change) */
    WL_ADD_KEY,      /* key; -UPP_EBUSY: used before and not yet 24 hours old */
    WL_TOUCH_THREAD, /* thread: sets updated_ms if it is later than the stored one. Checks and increments no version; a
                      * missing thread is no change */
    /* Changing and deleting. A missing object is -UPP_ENOTFOUND, except for the three changes that drop values, aliases
     * and references: they then change nothing. */
    WL_SET_NODE, /* node: name and metadata, by its key */
    WL_SET_ROW,  /* row: replaces body, tape and format at its position; n_entries stays. Drops the row's references and
                  * its search index (add references of the new body with WL_ADD_REF) */
    WL_DROP_THREAD, /* thread: id; -UPP_EBUSY unless the stored version is thread.version. Drops its aliases too */
    WL_DROP_NODE, /* node.key: with its rows, their references and their search index. -UPP_EBUSY: a run holds it, or it
                   * has a child node */
    WL_DROP_RUN,  /* run: id; -UPP_EBUSY: it has not ended. Drops its aliases too */
    WL_DROP_ALIAS, /* alias: kind and text */
    WL_PUT_VALUE,  /* value */
    WL_DROP_VALUE, /* value: space and name */
    WL_ADD_PIECE,  /* piece; one that exists is no change; -UPP_EBUSY: the piece before it is missing */
    WL_NAME_BLOB,  /* name: renames a whole blob to `to`; if that exists, drops `from`. -UPP_EBUSY: the blob is
                    * incomplete, or something refers to it */
    WL_ADD_REF,    /* ref; -UPP_EBUSY: the blob does not exist (any more): add its pieces again */
    WL_DROP_REF,   /* ref */
    WL_DROP_BLOB,  /* blob; -UPP_EBUSY: something refers to it */
    WL_INDEX_ADD,  /* learned; ignores the tenant of the commit. Replaces the index of these entries. -UPP_EBUSY: a row
                    * was set or dropped since they were read (wl_followed.changes), or the index was dropped or followed
                    * by another: follow the log again */
    WL_INDEX_COMPACT, /* more; ignores the tenant of the commit. Removes deleted entries from the index for good, one
                       * bounded step at a time; *more: some are left */
};

struct wl_change {
    enum wl_change_kind kind;
    union {
        const struct wl_row *row;
        const struct wl_node *node;
        const struct wl_thread *thread;
        const struct wm_run *run;
        const struct wl_alias *alias;
        const struct wl_key *key;
        const struct wl_value *value;
        const struct wl_piece *piece;
        const struct wl_ref *ref;
        const struct wl_blob_key *blob;
        const struct wl_index_update *learned;
        bool *more;
        struct {
            uint64_t node;
            struct wb_uuid from, to;
        } hold;
        struct {
            const struct wl_blob_key *from, *to;
        } name;
    };
};

enum {
    WL_SYNCED = 1 << 0, /* return when it is on disk; otherwise when it is in order */
    WL_SEALED = 1 << 1, /* from a store in front of this one that has checked it: the encoded texts may exceed the
                         * limits, and there may be as many added changes as original ones */
};
enum { WL_CHANGES = 512 /* in one commit, at most */ };
enum {
    WL_PAGE = 256,       /* objects of a list that is read page by page (log/pages.h) */
    WL_PAGE_NAME = 1024, /* bytes of a name after which such a list continues */
};

struct wl_commit {
    struct wl_owner owner; /* of all objects that are changed; the user matters only for threads and aliases */
    const struct wl_change *changes;
    size_t n;
    unsigned flags;
    size_t conflict; /* set with -UPP_EBUSY: the index of the failed change */
};

/* A range of a node's rows. */
struct wl_range {
    uint64_t node;
    uint64_t from, to; /* positions; `to` is exclusive */
    bool backwards;    /* last rows first */
    size_t max_rows;   /* 0: 256 */
    size_t max_bytes;  /* 0: 1 MiB; the first row is returned whatever its size */
};

struct wl_rows {
    struct wl_row *p;
    size_t n;
    bool more; /* the range has more rows than were returned */
};

/* Rows of all tenants in the order in which they were stored, for readers that follow the log. A row changed since
 * (WL_SET_ROW) keeps its number. */
struct wl_followed {
    struct upp_str tenant;
    uint64_t number;  /* increases */
    uint64_t changes; /* number of row sets and node drops since the store was opened: for WL_INDEX_ADD */
    struct wl_row row;
};

enum { WL_QUERY_WORDS = 16 /* at most */ };
struct wl_query {
    struct upp_str words;       /* all must match (separated by blanks), anywhere in the text; empty: any */
    struct upp_str who, tool;   /* whole names; empty: any */
    int64_t since_ms, until_ms; /* until: exclusive; 0: any */
    uint32_t family;            /* with in_family: only entries of this family */
    bool in_family;
    uint64_t after; /* continue after the hit with this number; 0: from the start. Newest first */
    size_t max;
};

struct wl_hit {
    uint64_t node, number;
    uint32_t index;
};

enum wl_state {
    WL_WORKS,
    WL_FULL,    /* disk full: reads work, and commits that end or cancel runs or delete; see WL_DISK_FULL */
    WL_FAILING, /* commits fail for another reason that may pass; the store finds out by itself when it has */
    WL_FAILED,  /* a sync failed, or a transaction could not be ended: no writes until it is opened again */
};

/* upp_err.cause of an -UPP_ESTORE whose reason may pass: the same call may succeed later. What is damaged stays so. */
#define WL_DISK_FULL "disk_full"
#define WL_LOCKED    "locked"    /* by another program */
#define WL_IO        "I/O error" /* the disk failed a call; the cause begins so */
static inline bool wl_may_pass(const struct upp_err *err)
{
    return err->code == UPP_ESTORE && (strcmp(err->cause, WL_DISK_FULL) == 0 || strcmp(err->cause, WL_LOCKED) == 0 ||
                                       strncmp(err->cause, WL_IO, sizeof WL_IO - 1) == 0);
}

struct wl_store;

/* Several reads in one call, from a store that does not suspend. */
typedef int wl_reading_fn(struct wl_store *s, void *arg, struct upp_err *err);

/* ---- Reads: what get and list are asked for (typed: wl_get_* and wl_list_* below) ------ */

enum wl_what {
    /* One object by its key: get. Missing: -UPP_ENOTFOUND. */
    WL_GET_NODE,           /* number: its key. A struct wl_node without its texts; needs no arena */
    WL_GET_THREAD,         /* id */
    WL_GET_RUN,            /* id */
    WL_GET_ALIAS,          /* number: its kind; name. Sets only the object of a struct wl_alias; needs no arena */
    WL_GET_KEY,            /* space: the route; name: the key. Needs no arena */
    WL_GET_VALUE,          /* space, name */
    WL_GET_PIECE,          /* blob, number: one piece of a complete blob */
    WL_GET_INDEX_PROGRESS, /* a struct wl_progress: of all tenants, always exists; needs no arena */
    WL_GET_BYTES, /* a struct wl_size: what the tenant has stored. Always exists; reads all of its rows, so that
                   * it is for the background; needs no arena */
    /* Several, at most max: list. */
    WL_LIST_THREADS,        /* of an owner, newest (by update, then id) first, after the one with this id */
    WL_LIST_FAMILY_THREADS, /* number: the family; of any user of the tenant, ordered by id, after id */
    WL_LIST_FAMILY_NODES,   /* the same for nodes, with their texts */
    WL_LIST_RUNS,           /* id: of this thread, newest first, after the run `after` */
    WL_LIST_RUNS_UP,        /* the same, oldest first */
    WL_LIST_OWN_RUNS,       /* root runs of an owner, newest first, after the run `after`; passes over other owners' */
    WL_LIST_OWN_RUNS_UP,    /* the same, oldest first */
    WL_LIST_WAITING,   /* root runs of an owner that wait for answers, oldest first, after the run `after`: costs as
                        * much as the tenant has runs that have not ended */
    WL_LIST_RUNS_LIVE, /* id: of this thread, those not ended, in order of arrival */
    WL_LIST_LIVE,      /* struct wl_live_run: runs of all tenants that have not ended: ordered by id, after id */
    WL_LIST_OLD_RUNS,  /* struct wl_old_run: runs of a tenant in the order in which they were stored, after this number,
                        * up to the first of any tenant that was created at this time or later. One from the future (the
                        * clock was wrong) ends no list, but is in it */
    WL_LIST_VALUES,    /* of a space, ordered by name, after this name (empty: from the start) */
    WL_LIST_TENANTS,   /* struct upp_str: ordered by name, after this name */
    WL_LIST_UNREFERENCED_BLOBS, /* struct wl_blob_key: blobs without references since a time; number 1: complete ones
                                   only */
    WL_WHATS,
};

struct wl_ask {
    enum wl_what what;
    const struct wl_owner *owner; /* NULL: of all tenants */
    struct wb_uuid id;            /* in lists, all zero: from the start */
    struct wb_uuid after;         /* in lists of runs, all zero: from the start; -UPP_ENOTFOUND: there is no such run */
    uint64_t number;
    struct upp_str space, name;
    const struct wl_blob_key *blob;
    int64_t before_ms;
    size_t max;
};

struct wl_live_run {
    struct wm_run run;
    struct wl_owner owner;
};

struct wl_old_run {
    struct wm_run run;
    uint64_t number; /* by which the list continues */
};

struct wl_list {
    void *p; /* array of the requested type */
    size_t n;
    struct {                    /* how far WL_LIST_OLD_RUNS has read; all zero in other lists */
        uint64_t upto;          /* unless the list is full, it has all runs up to this number; 0: unknown */
        uint64_t damaged, past; /* rows passed over, and the number of the last of them; 0: none */
    } reach;
};

/* How far the search index (WL_INDEX_ADD) is, and the end of the log. */
struct wl_progress {
    uint64_t upto, end;
};

/* Texts that a tenant has stored: of the log, threads, runs, values, blobs. Of an encrypted store: as encrypted. */
struct wl_size {
    uint64_t bytes;
};

/* Sizes of a store's files, in bytes. 0: there is no such file. */
struct wl_files {
    uint64_t database, wal;
};

/* Called through wl_store_commit and the others below. Every function except files may suspend; none can be cancelled.
 * Results are allocated from the arena, and ret is set only on success. A store in front of another leaves NULL what it
 * does not change: the inner store does it. In a store without an inner one only at_once and files may be NULL. */
struct wl_store_ops {
    uint32_t size;
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
    /* -UPP_EREFUSED: this store has no search index, or a damaged one; the caller scans the log instead. */
    WEFT_SUSPENDS int (*search)(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err);
    /* Calls fn once, on a worker, with a store of which only rows, get and list may be used, and no fiber. So several
     * reads cost one round trip to a worker. NULL: not supported, or (wl_store_at_once) by the inner store. */
    WEFT_SUSPENDS int (*at_once)(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err);
    WEFT_SUSPENDS void (*close)(struct wl_store *s);
    /* As they are now; cheap. NULL: it has no files, or is in front of another store. */
    struct wl_files (*files)(const struct wl_store *s);
};

/* What the search index contains. */
enum wl_index {
    WL_INDEX_SAME,       /* when opening a store: what it has; a new one gets words */
    WL_INDEX_SUBSTRINGS, /* any part of a text is found */
    WL_INDEX_WORDS,      /* whole words are found */
    WL_INDEX_OFF,        /* no index, and nothing is found */
};
extern const char *const wl_index_names[]; /* [kind - 1]: as spelled in weft.yaml; NULL-terminated */

/* Nothing but the search needs the index, so damage of it is no damage of the store: commits continue without it,
 * searches scan the log, and wl_index_rows drops it and fills it again. */
enum wl_index_state { WL_INDEX_SOUND, WL_INDEX_DAMAGED, WL_INDEX_REFILLED /* not yet up to the end of the log */ };
#define WL_INDEX_IS_DAMAGED "damaged index" /* upp_err.cause of an -UPP_ESTORE */

/* Observes commits, after they have succeeded. Must not suspend. */
struct wl_watch {
    void *arg;
    void (*committed)(void *arg, const struct wl_commit *c);
};

/* First member of every store. */
struct wl_store {
    const struct wl_store_ops *ops;
    struct wl_store *inner;       /* the store behind this one; NULL: none */
    const struct wl_watch *watch; /* of the store in front of all others: stores/blobs or stores/outbox; NULL: none */
    struct {
        /* Totals, for benchmarks and /metrics. Stores in front read transactions and syncs from other threads. */
        uint64_t commits, transactions, syncs, rows, bytes;
    } count;
    /* Unused in a store that is in front of another. */
    _Atomic uint8_t state; /* enum wl_state */
    uint8_t index;         /* enum wl_index; a store without an index scans the log, and finds any part of a text */
    _Atomic uint8_t index_state; /* enum wl_index_state */
    _Atomic int64_t listed_ms;   /* the latest of wl_list_time */
    _Atomic uint64_t listed_at;  /* on the monotonic clock */
};

static inline enum wl_state wl_store_state(const struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    return (enum wl_state)atomic_load(&s->state);
}

/* The first store from s inwards that has the method. */
#define WL_STORE_WITH(s, method)                                                                                       \
    while (!(s)->ops->method)                                                                                          \
    (s) = (s)->inner

WEFT_SUSPENDS static inline int wl_store_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    WL_STORE_WITH(s, commit);
    return s->ops->commit(s, c, err);
}

WEFT_SUSPENDS static inline int wl_store_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *r,
                                              struct wb_arena *a, struct wl_rows *ret, struct upp_err *err)
{
    WL_STORE_WITH(s, rows);
    return s->ops->rows(s, o, r, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_store_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a,
                                             void *ret, struct upp_err *err)
{
    WL_STORE_WITH(s, get);
    return s->ops->get(s, ask, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_store_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a,
                                              struct wl_list *ret, struct upp_err *err)
{
    WL_STORE_WITH(s, list);
    return s->ops->list(s, ask, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_store_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                                struct wb_arena *a, struct wl_followed **ret, size_t *n,
                                                struct upp_err *err)
{
    WL_STORE_WITH(s, follow);
    return s->ops->follow(s, after, max_rows, max_bytes, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_store_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                                struct wb_arena *a, struct wl_hit **ret, size_t *n, struct upp_err *err)
{
    WL_STORE_WITH(s, search);
    return s->ops->search(s, o, q, a, ret, n, err);
}

/* Reads with fn, from the store passed to it: in one call if the store supports that, otherwise one by one, here. A
 * store that has reads of its own and no at_once needs a fiber for them. */
WEFT_SUSPENDS static inline int wl_store_at_once(struct wl_store *s, wl_reading_fn *fn, void *arg, struct upp_err *err)
{
    struct wl_store *x = s;
    while (x->inner && !x->ops->at_once && !x->ops->rows && !x->ops->get && !x->ops->list)
        x = x->inner;
    return x->ops->at_once ? x->ops->at_once(x, fn, arg, err) : fn(s, arg, err);
}

/* False: the store is not in files. */
static inline bool wl_store_files(const struct wl_store *s, struct wl_files *ret)
{
    while (s->inner)
        s = s->inner;
    if (s->ops->files)
        *ret = s->ops->files(s);
    return s->ops->files != NULL;
}

/* The time of what is listed by time and is made or changed now (now_ms: the wall clock): never earlier than a time
 * that was given before. While a clock that was set back is behind, it goes on at half the speed, so that lists stay in
 * order and the clock catches up. `s` NULL: now_ms. */
int64_t wl_list_time(struct wl_store *s, int64_t now_ms);

static inline enum wl_index_state wl_store_index_state(const struct wl_store *s)
{
    while (s->inner)
        s = s->inner;
    return (enum wl_index_state)atomic_load(&s->index_state);
}

/* The index is up to the end of the log. */
static inline void wl_store_index_filled(struct wl_store *s)
{
    uint8_t refilled = WL_INDEX_REFILLED;
    while (s->inner)
        s = s->inner;
    (void)atomic_compare_exchange_strong(&s->index_state, &refilled, WL_INDEX_SOUND);
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
    return wl_store_get(s, &(struct wl_ask){.what = WL_GET_NODE, .owner = o, .number = key}, NULL, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id,
                                              struct wb_arena *a, struct wl_thread *ret, struct upp_err *err)
{
    return wl_store_get(s, &(struct wl_ask){.what = WL_GET_THREAD, .owner = o, .id = id}, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id,
                                           struct wb_arena *a, struct wm_run *ret, struct upp_err *err)
{
    return wl_store_get(s, &(struct wl_ask){.what = WL_GET_RUN, .owner = o, .id = id}, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind,
                                             struct upp_str text, struct wb_uuid *ret, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_GET_ALIAS, .owner = o, .number = kind, .name = text};
    struct wl_alias alias;
    int r = wl_store_get(s, &ask, NULL, &alias, err);
    if (r >= 0)
        *ret = alias.object;
    return r;
}

WEFT_SUSPENDS static inline int wl_get_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route,
                                           struct upp_str key, struct wl_key *ret, struct upp_err *err)
{
    return wl_store_get(s, &(struct wl_ask){.what = WL_GET_KEY, .owner = o, .space = route, .name = key}, NULL, ret,
                        err);
}

WEFT_SUSPENDS static inline int wl_get_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                             struct upp_str name, struct wb_arena *a, struct upp_str *ret,
                                             struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_GET_VALUE, .owner = o, .space = space, .name = name};
    struct wl_value value;
    int r = wl_store_get(s, &ask, a, &value, err);
    if (r >= 0)
        *ret = value.bytes;
    return r;
}

WEFT_SUSPENDS static inline int wl_get_piece(struct wl_store *s, const struct wl_owner *o,
                                             const struct wl_blob_key *key, uint32_t number, struct wb_arena *a,
                                             struct wl_piece *ret, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_GET_PIECE, .owner = o, .blob = key, .number = number};
    return wl_store_get(s, &ask, a, ret, err);
}

WEFT_SUSPENDS static inline int wl_get_index_progress(struct wl_store *s, uint64_t *upto, uint64_t *end,
                                                      struct upp_err *err)
{
    struct wl_progress x;
    int r = wl_store_get(s, &(struct wl_ask){.what = WL_GET_INDEX_PROGRESS}, NULL, &x, err);
    if (r >= 0) {
        *upto = x.upto;
        *end = x.end;
    }
    return r;
}

WEFT_SUSPENDS static inline int wl_get_bytes(struct wl_store *s, const struct wl_owner *o, uint64_t *ret,
                                             struct upp_err *err)
{
    struct wl_size x;
    int r = wl_store_get(s, &(struct wl_ask){.what = WL_GET_BYTES, .owner = o}, NULL, &x, err);
    if (r >= 0)
        *ret = x.bytes;
    return r;
}

/* ret: receives the address of the first one; NULL on failure. */
WEFT_SUSPENDS static inline int wl_list_into(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a,
                                             void *ret, size_t *n, struct upp_err *err)
{
    struct wl_list list = {0};
    int r = wl_store_list(s, ask, a, &list, err);
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
    enum wl_what what = live_only ? WL_LIST_RUNS_LIVE : WL_LIST_RUNS;
    struct wl_ask ask = {.what = what, .owner = o, .id = thread, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

/* what: WL_LIST_RUNS or WL_LIST_RUNS_UP with a thread; WL_LIST_OWN_RUNS, WL_LIST_OWN_RUNS_UP or WL_LIST_WAITING
 * without. */
WEFT_SUSPENDS static inline int wl_list_runs_after(struct wl_store *s, enum wl_what what, const struct wl_owner *o,
                                                   struct wb_uuid thread, struct wb_uuid after, size_t max,
                                                   struct wb_arena *a, struct wm_run **ret, size_t *n,
                                                   struct upp_err *err)
{
    struct wl_ask ask = {.what = what, .owner = o, .id = thread, .after = after, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a,
                                             struct wl_live_run **ret, size_t *n, struct upp_err *err)
{
    return wl_list_into(s, &(struct wl_ask){.what = WL_LIST_LIVE, .id = after, .max = max}, a, ret, n, err);
}

WEFT_SUSPENDS static inline int wl_list_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after,
                                                 int64_t before_ms, size_t max, struct wb_arena *a,
                                                 struct wl_old_run **ret, size_t *n, struct upp_err *err)
{
    struct wl_ask ask = {.what = WL_LIST_OLD_RUNS, .owner = o, .number = after, .before_ms = before_ms, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
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

WEFT_SUSPENDS static inline int wl_list_unreferenced_blobs(struct wl_store *s, const struct wl_owner *o, bool complete,
                                                           int64_t before_ms, size_t max, struct wb_arena *a,
                                                           struct wl_blob_key **ret, size_t *n, struct upp_err *err)
{
    struct wl_ask ask = {
        .what = WL_LIST_UNREFERENCED_BLOBS, .owner = o, .number = complete, .before_ms = before_ms, .max = max};
    return wl_list_into(s, &ask, a, ret, n, err);
}
