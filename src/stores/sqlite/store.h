/* stores/sqlite/store.h — the SQLite store as its files see it.
 *
 *   sqlite.c         opening, closing, the life of the struct
 *   tables.c  the tables from version to version, the file we will not touch
 *   statements.c
 *                    the statements over them
 *   conn.c    a connection, its statements, what SQLite's results mean
 *   sum.c     the checksums of rows
 *   writer.c  the queue, who writes what waits in it, checkpoints
 *   batch.c   many commits in one transaction, and its sync
 *   change.c  one commit inside the writer's transaction: what is added, and set
 *   drop.c    what is changed in place, and deleted
 *   blob.c    values, blobs and who refers to them
 *   read.c    reading, on workers, each with a connection of the pool
 *   search.c  following the log, and the words that are learned from it
 *   grams.c   what the index of words keeps of a text
 *   loss.c    what a log must hold that an unclean stop has left, and a start without what is missing
 *   reserve.c room that is kept for the ends of runs on a full disk
 */
#ifndef WS_SQLITE_STORE_H
#define WS_SQLITE_STORE_H

#include <pthread.h>
#include <sqlite3.h>

#include "base/list.h"
#include "stores/check.h"
#include "stores/columns.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/vfs.h"

/* ---- Statements, prepared once a connection -------------------------------------------------------- */

enum ws_statement {
    /* The writer's. */
    WS_BEGIN,
    WS_COMMIT,
    WS_ROLLBACK,
    WS_SAVE,
    WS_SAVE_END,
    WS_SAVE_UNDO,
    WS_TENANT,
    WS_ADD_TENANT,
    WS_NODE_END,
    WS_NODE_IS,
    WS_ADD_ROW,
    WS_ADD_NODE,
    WS_HOLD_NODE,
    WS_ADD_THREAD,
    WS_SET_THREAD,
    WS_TOUCH_THREAD,
    WS_THREAD_VERSION,
    WS_ADD_RUN,
    WS_SET_RUN,
    WS_RUN_VERSION,
    WS_ADD_ALIAS,
    WS_ALIAS_OBJECT,
    WS_DROP_KEY,
    WS_ADD_KEY,
    WS_SWEEP_KEYS,
    WS_WRITER_END,
    /* The readers'. */
    WS_ROWS = WS_WRITER_END,
    WS_ROWS_BACK,
    WS_NODE,
    WS_THREAD,
    WS_THREAD_UPDATED,
    WS_THREADS,
    WS_RUN,
    WS_RUNS,
    WS_RUNS_LIVE,
    WS_LIVE,
    WS_ALIAS,
    WS_KEY,
    WS_OFTEN_END,
    /* Seldom used, by either: prepared when first needed. */
    WS_SET_BRANCH = WS_OFTEN_END,
    WS_ADD_STRAY_NODE,
    WS_ADD_STRAY_THREAD,
    WS_STRAY_NODE_AS,
    WS_STRAY_THREAD_AS,
    WS_ROW_IS,
    WS_SET_ROW,
    WS_FORGET_TEXT,
    WS_FORGET_WORDS,
    WS_FREE_BLOBS,
    WS_FORGET_REFS,
    WS_DROP_THREAD,
    WS_DROP_ALIASES_OF,
    WS_DROP_STRAY_THREAD,
    WS_NODE_HELD,
    WS_NODE_UNDER,
    WS_STRAY_UNDER,
    WS_LOG_NEWEST,
    WS_LOG_KEEP,
    WS_DROP_ROWS,
    WS_DROP_NODE,
    WS_DROP_BRANCH,
    WS_DROP_STRAY_NODE,
    WS_DROP_RUN,
    WS_DROP_ALIAS,
    WS_PUT_VALUE,
    WS_DROP_VALUE,
    WS_BLOB_IS,
    WS_ADD_BLOB,
    WS_NAME_BLOB,
    WS_TOUCH_BLOB,
    WS_DROP_BLOB,
    WS_ADD_PIECE,
    WS_GROW_BLOB,
    WS_DROP_PIECES,
    WS_ADD_REF,
    WS_DROP_REF,
    WS_COUNT_REF,
    WS_OWN_NODES,
    WS_STRAY_NODES,
    WS_OWN_THREADS,
    WS_STRAY_THREADS,
    WS_VALUE,
    WS_VALUES,
    WS_TENANTS_BY_NAME,
    WS_PIECE,
    WS_LOOSE,
    WS_OLD_RUNS,
    WS_FOLLOW,
    WS_LEARNED,
    WS_LOG_END,
    WS_LEARN_UPTO,
    WS_ADD_WORDS,
    WS_ADD_TEXT,
    WS_STATEMENTS,
};

struct ws_conn {
    struct wb_link link; /* in the pool of readers */
    sqlite3       *db;
    sqlite3_stmt  *st[WS_STATEMENTS]; /* those of its kind */
};

struct ws_sqlite;

enum ws_conn_kind { WS_WRITER, WS_READER, WS_CHECKPOINTER };
int ws_conn_open(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;
int ws_conn_prepare(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;
void ws_conn_close(struct ws_conn *c);

/* One of those that are seldom used. */
int ws_conn_need(struct ws_sqlite *s, struct ws_conn *c, enum ws_statement i, sqlite3_stmt **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* SQL without parameters. */
int ws_conn_exec(struct ws_sqlite *s, struct ws_conn *c, const char *sql, struct upp_err *err) UPP_MUST_CHECK;
/* The first column of the first row of a query, as a number; 0 where there is no row. */
int ws_conn_number(struct ws_sqlite *s, struct ws_conn *c, const char *sql, int64_t *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* 1: a row. 0: over. WS_CONSTRAINT: it must be unique and is not. <0: failed. All but a row reset the statement. */
enum { WS_CONSTRAINT = 2 };
int  ws_step(struct ws_sqlite *s, sqlite3_stmt *st, struct upp_err *err) UPP_MUST_CHECK;
void ws_resetp(sqlite3_stmt **st);

#define WS_DOCTOR "`weft doctor --export DIR` saves what can be read"

/* What SQLite says, as an error of ours that names the file. A full disk has the cause WL_DISK_FULL, a lock of another
 * program's WS_LOCKED, a row whose sum is wrong WS_DAMAGED: that one is named, and all others go on. */
#define WS_LOCKED  "locked"
#define WS_DAMAGED "damaged row"
int ws_disk_full(struct ws_sqlite *s, struct upp_err *err);
int ws_sqlite_gone(struct ws_sqlite *s, struct upp_err *err); /* a file is not where it was opened */
int ws_sqlite_fail(struct ws_sqlite *s, sqlite3 *db, int rc, const char *what, struct upp_err *err);

/* Compares a row, whose first n columns are those of its sum and whose next one is the sum. */
int ws_row_whole(struct ws_sqlite *s, sqlite3_stmt *st, const char *table, int n, struct upp_err *err) UPP_MUST_CHECK;

/* Binding. Texts and ids are borrowed until the statement is reset. */
static inline void ws_bind_u64(sqlite3_stmt *st, int i, uint64_t v)
{
    (void)sqlite3_bind_int64(st, i, (sqlite3_int64)v);
}
static inline void ws_bind_str(sqlite3_stmt *st, int i, struct upp_str s) /* no text: NULL */
{
    (void)sqlite3_bind_blob64(st, i, s.p, s.n, SQLITE_STATIC);
}
static inline void ws_bind_name(sqlite3_stmt *st, int i, struct upp_str s) /* never NULL: for keys */
{
    (void)sqlite3_bind_blob64(st, i, s.p ? s.p : "", s.n, SQLITE_STATIC);
}
static inline void ws_bind_id(sqlite3_stmt *st, int i, const struct wb_uuid *u)
{
    (void)sqlite3_bind_blob64(st, i, u->b, sizeof u->b, SQLITE_STATIC);
}
static inline void ws_bind_id_or_null(sqlite3_stmt *st, int i, const struct wb_uuid *u)
{
    if (ws_none(*u))
        (void)sqlite3_bind_null(st, i);
    else
        ws_bind_id(st, i, u);
}

/* The first n columns of a thing, from parameter i on. */
void ws_bind_columns(sqlite3_stmt *st, int i, const struct ws_kind *k, size_t n, const void *thing);

struct wb_uuid ws_column_id(sqlite3_stmt *st, int i); /* NULL: all zero */

/* ---- The store ------------------------------------------------------------------------------------- */

enum {
    WS_READERS        = 8,    /* connections that read at the same time */
    WS_ENDS           = 8192, /* nodes whose end the writer remembers */
    WS_TENANTS        = 256,  /* tenants whose number it remembers */
    WS_QUEUE_MAX      = 16384,
    WS_BATCH_COMMITS  = 1024,
    WS_BATCH_BYTES    = 8 << 20,
    WS_BATCHES_A_JOB  = 16, /* then somebody else's worker goes on */
    WS_FLUSH_MS       = 1000,
    WS_WAL_PAGES      = 4096,
    WS_CACHE_KIB      = 64 << 10,
    WS_READ_CACHE_KIB = 8 << 10,
    WS_BUSY_MS        = 10000,
    WS_RESERVE_KIB    = 1024,
};

/* Where the log of a node ends. */
struct ws_end {
    uint64_t node, next;
    int64_t  tenant; /* 0: an empty place */
};

struct ws_tenant {
    struct upp_str name;      /* in `bytes` */
    int64_t        id;        /* 0: an empty place */
    char           bytes[64]; /* longer names are looked up each time */
};

struct ws_waiter;

struct ws_sqlite {
    struct wl_store       store;
    _Atomic unsigned      refs;  /* the owner's, those of background fibers and jobs */
    _Atomic unsigned      reads; /* under way, or waiting for a worker */
    struct ws_sqlite_opts opts;
    char                 *path;
    struct ws_vfs         vfs;
    struct ws_lock        lock_file;
    struct ws_promise     promise; /* of whoever writes */
    struct ws_promise_look *look;  /* how it was found; while it is opened */
    bool                  open;    /* all of it went well */

    pthread_mutex_t   lock; /* of all to the next line */
    pthread_cond_t    idle; /* a reader was given back; the writer, or a checkpoint, has ended */
    struct wb_link    queue;
    size_t            queued;
    bool              writing; /* a leader has been chosen: it, or its job, will look at the queue */
    bool              closing;
    bool              checkpoint_asked, checkpointing;
    bool              log_rest;    /* a checkpoint has ended: the writer moves what was appended meanwhile */
    bool              flush_asked; /* a fiber will see to it */
    struct wb_link    readers;
    unsigned          n_readers;
    struct ws_waiter *closer;
    /* ---- */

    /* Of whoever writes: one at a time. */
    struct ws_conn writer;
    bool           unsynced;   /* transactions are in the log that no sync has followed */
    bool           full;       /* synchronous is FULL now, else NORMAL */
    bool           appended;   /* the commit that just ended put something into the log */
    bool           strays;     /* there are threads whose ids are not of their family */
    int64_t        row;        /* the newest of the table `log` that it has added */
    bool           broken;     /* a transaction could not be rolled back */
    bool           disk_full;  /* only last words are taken */
    bool           steady;     /* the log was not moved since the last transaction: the next one only appends to it */
    uint64_t       here_again; /* from when on a loop may write again itself (monotonic ns): the disk made it wait */
    uint64_t       told_full;  /* when somebody was told of it; ms */
    struct {
        char         *path;
        sqlite3_file *file; /* NULL: not opened */
    } reserve;
    int              wal_pages; /* in the log after the last commit */
    int              wal_moved; /* how many there were when it was last asked to be moved; 0: it began anew */
    int64_t          now_ms;    /* of this transaction */
    bool             forgot;    /* a row was set, or dropped, in this transaction */
    bool             tidy;      /* the index of words holds nothing of what was forgotten */
    _Atomic uint64_t changes;   /* how often that was: counted before it is written, and when it can be read */
    struct ws_end    ends[WS_ENDS];
    struct ws_tenant tenants[WS_TENANTS];

    struct ws_conn checkpointer; /* of whoever checkpoints: one at a time; opened when first needed */
};

static inline struct ws_sqlite *ws_sqlite(struct wl_store *s)
{
    return WB_OUTER(s, struct ws_sqlite, store);
}

void ws_sqlite_lock(struct ws_sqlite *s);
void ws_sqlite_unlock(struct ws_sqlite *s);
void ws_sqlite_unref(struct ws_sqlite *s);

/* ---- tables.c ---- */

enum { WS_SCHEMA = 3 }; /* the version that we know and write */

/* Makes the tables in an empty file, brings those of an older version to ours, looks at those of any other. */
int ws_schema_open(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;

/* Fills the tables of strays from threads and nodes. */
extern const char ws_tables_strays[];

/* In one transaction, from that version on (0: an empty file). */
int ws_tables_make(struct ws_sqlite *s, struct ws_conn *c, int64_t from, struct upp_err *err) UPP_MUST_CHECK;

/* Keys are unsigned and SQL's numbers are not: with the first bit turned they are in the right order. Works both ways.
 */
#define WS_PLACE(key) "(~((" key ") & (1 << 63)) & ((" key ") | (1 << 63)))"
static inline int64_t ws_place(uint64_t key)
{
    return (int64_t)(key ^ UINT64_C(1) << 63);
}

/* ---- statements.c ---- */

extern const char *const ws_statements[WS_STATEMENTS];

/* ---- writer.c ---- */

WEFT_SUSPENDS int ws_writer_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

/* No commit comes any more: waits until those that are under way, and a checkpoint, are over. */
WEFT_SUSPENDS void ws_writer_stop(struct ws_sqlite *s);

/* ---- batch.c ---- */

/* A commit of a batch. */
struct ws_item {
    struct wb_link    link;
    struct wl_commit *c;
    size_t            bytes;
    int               result;
    struct upp_err    err;
};

/* All of them, a list of ws_item, in one transaction; each gets its result. By whoever writes, as all of these. */
void ws_batch_write(struct ws_sqlite *s, struct wb_link *batch, struct upp_err *err);

/* Moves the log into the database; what SQLite says. On any thread. */
int ws_checkpoint(struct ws_sqlite *s, struct ws_conn *c, int mode);

/* Syncs what no sync has followed. */
int ws_batch_sync(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
int ws_batch_hook(void *arg, sqlite3 *db, const char *name, int pages); /* SQLite's after each commit */

/* Fails once a sync has failed: then nothing is acknowledged any more. */
int ws_poisoned(struct ws_sqlite *s, struct upp_err *err);

/* ---- change.c ---- */

/* Applies the changes one after the other; *done says how many. */
int  ws_change_apply(struct ws_sqlite *s, struct wl_commit *c, size_t *done, struct upp_err *err) UPP_MUST_CHECK;
void ws_change_forget(struct ws_sqlite *s, const struct wl_commit *c); /* it was rolled back */
void ws_change_forget_all(struct ws_sqlite *s);

/* One of the seldom used statements, of whoever writes; and to its end: 0, WS_CONSTRAINT or a failure. */
int ws_change_need(struct ws_sqlite *s, enum ws_statement i, sqlite3_stmt **ret, struct upp_err *err) UPP_MUST_CHECK;
int ws_change_run(struct ws_sqlite *s, sqlite3_stmt *st, struct upp_err *err) UPP_MUST_CHECK;
static inline bool ws_changed(struct ws_sqlite *s)
{
    return sqlite3_changes(s->writer.db) > 0;
}
int  ws_change_is_node(struct ws_sqlite *s, int64_t tenant, uint64_t key,
                       struct upp_err *err) UPP_MUST_CHECK; /* 1: yes */
void ws_change_forget_end(struct ws_sqlite *s, int64_t tenant, uint64_t node);
/* After a change of version `given` that met nothing. */
int ws_change_why_not(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const char *what,
                      const struct wb_uuid *id, uint32_t given, struct upp_err *err) UPP_MUST_CHECK;

/* ---- drop.c ---- */

int ws_set_node(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_set_row(struct ws_sqlite *s, int64_t tenant, const struct wl_row *row, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_node(struct ws_sqlite *s, int64_t tenant, uint64_t key, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_run(struct ws_sqlite *s, int64_t tenant, const struct wm_run *run, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_alias(struct ws_sqlite *s, int64_t tenant, struct upp_str user, const struct wl_alias *a,
                  struct upp_err *err) UPP_MUST_CHECK;
/* What a node or thread has that is not of its own family's ids, and the texts of a branch. */
int ws_keep_branch(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_keep_stray_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t,
                         struct upp_err *err) UPP_MUST_CHECK;

/* ---- blob.c ---- */

enum { WS_PIECE_BITS = 20 }; /* of a piece's id: its number */
_Static_assert(1 << WS_PIECE_BITS == WS_PIECES_MAX, "every number of a piece fits");

int ws_put_value(struct ws_sqlite *s, int64_t tenant, const struct wl_value *v, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_value(struct ws_sqlite *s, int64_t tenant, const struct wl_value *v, struct upp_err *err) UPP_MUST_CHECK;
int ws_add_piece(struct ws_sqlite *s, int64_t tenant, const struct wl_piece *p, struct upp_err *err) UPP_MUST_CHECK;
int ws_name_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_blob_key *k, struct upp_err *err) UPP_MUST_CHECK;
int ws_add_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_ref *x, struct upp_err *err) UPP_MUST_CHECK;
int ws_drop_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_ref *x, struct upp_err *err) UPP_MUST_CHECK;

/* What the search knew of the entries from..to-1 of a node. */
int ws_forget_words(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to,
                    struct upp_err *err) UPP_MUST_CHECK;

/* ---- loss.c ---- */

/* Is all there that was acknowledged? Else it is refused; or, with accept_loss, what is damaged is put aside. Before
 * SQLite opens the file; then what can be seen only in the database. */
int ws_loss_meet(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
int ws_loss_ask(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;

void ws_loss_done(struct ws_sqlite *s, bool undo); /* undo: what was put aside goes back */

/* Gives the database an id, where it has none, and writes down what was accepted: 1 where it wrote anything. */
int ws_loss_record(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- reserve.c ---- */

/* Takes the room, or takes it again; false: there is none. By whoever writes, as all of these. */
bool ws_reserve_fill(struct ws_sqlite *s) UPP_MUST_CHECK;
void ws_reserve_release(struct ws_sqlite *s); /* gives it to the disk */
void ws_reserve_close(struct ws_sqlite *s);   /* leaves it where it is */
/* Does it cancel or end a run, or only delete? Also a commit of nothing. */
bool ws_last_words(const struct wl_commit *c);

/* ---- search.c ---- */

/* Which kind of index it is to have; where it has another, that is forgotten: 1. */
int  ws_index_open(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
int  ws_learn(struct ws_sqlite *s, const struct wl_learned *l, struct upp_err *err) UPP_MUST_CHECK;
int  ws_tidy(struct ws_sqlite *s, bool *more, struct upp_err *err) UPP_MUST_CHECK;
void ws_forgot(struct ws_sqlite *s);        /* a row was set, or dropped */
void ws_forgot_by_all(struct ws_sqlite *s); /* the transaction is over */

/* ---- read.c ---- */

extern const struct wl_store_ops ws_sqlite_ops;
void                             ws_readers_close(struct ws_sqlite *s);

/* ---- sqlite.c ---- */

WEFT_SUSPENDS void ws_sqlite_close(struct wl_store *store);

#endif
