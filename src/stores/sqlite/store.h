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
#define WS_STATEMENT(name, sql) name,
#define WS_STATEMENTS_END(name) name, BEFORE_##name = name - 1,
#include "stores/sqlite/statement_list.h"
#undef WS_STATEMENT
#undef WS_STATEMENTS_END
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

/* One parameter: WS_N a number, WS_A a name, WS_S a text or NULL, WS_I an id, WS_O an id or NULL, WS_K a blob's key. */
struct ws_arg {
    bool           is_number;
    uint64_t       n;
    struct upp_str s; /* no text: NULL */
};
#define WS_N(x) ((struct ws_arg){.is_number = true, .n = (uint64_t)(x)})
#define WS_S(x) ((struct ws_arg){.s = (x)})
#define WS_A(x) ws_arg_name(x)
#define WS_I(x) ((struct ws_arg){.s = {(const char *)(x)->b, sizeof(x)->b}})
#define WS_O(x) (ws_none(*(x)) ? (struct ws_arg){.is_number = false} : WS_I(x))
#define WS_K(x) WS_I(x)
static inline struct ws_arg ws_arg_name(struct upp_str s)
{
    return (struct ws_arg){.s = {s.p ? s.p : "", s.n}};
}
static inline void ws_bind_arg(sqlite3_stmt *st, int i, struct ws_arg x)
{
    if (x.is_number)
        ws_bind_u64(st, i, x.n);
    else
        ws_bind_str(st, i, x.s);
}

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
    struct wl_store         store;
    _Atomic unsigned        refs;  /* the owner's, those of background fibers and jobs */
    _Atomic unsigned        reads; /* under way, or waiting for a worker */
    struct ws_sqlite_opts   opts;
    char                   *path;
    struct ws_vfs           vfs;
    struct ws_lock          lock_file;
    struct ws_promise       promise; /* of whoever writes */
    struct ws_promise_look *look;    /* how it was found; while it is opened */
    bool                    open;    /* all of it went well */

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
    struct upp_str   user;      /* whose commit it is */
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
#define WS_SEAL_CONTEXT(key) "(~((" key ") & (1 << 63)) & ((" key ") | (1 << 63)))"
static inline int64_t ws_seal_context(uint64_t key)
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

/* Runs a statement of whoever writes: 0, WS_CONSTRAINT or a failure; 1 where it gives a row, and is reset by whoever
 * has read it. */
int ws_do(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n,
          struct upp_err *err) UPP_MUST_CHECK;
#define WS_DO(s, i, err, ...)                                                                                          \
    ws_do((s), (i), (const struct ws_arg[]){__VA_ARGS__}, WB_LEN(((const struct ws_arg[]){__VA_ARGS__})), (err))
static inline sqlite3_stmt *ws_row_of(struct ws_sqlite *s, enum ws_statement i)
{
    return s->writer.st[i];
}
/* The same, of a row's first column as a number; 0 where there is none. */
int ws_do_number(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n, int64_t *ret,
                 struct upp_err *err) UPP_MUST_CHECK;
/* The same over a table whose columns begin with the tenant and, where it is not NULL, the user. */
int                ws_do_with(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct upp_str *user,
                              const struct ws_kind *k, size_t n, const void *thing, struct upp_err *err) UPP_MUST_CHECK;
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

/* One change of a commit. */
typedef int ws_change_fn(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err);

/* ---- drop.c ---- */

ws_change_fn ws_set_node, ws_set_row, ws_drop_thread, ws_drop_node, ws_drop_run, ws_drop_alias;
/* What a node or thread has that is not of its own family's ids, and the texts of a branch. */
int ws_keep_branch(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_keep_stray_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t,
                         struct upp_err *err) UPP_MUST_CHECK;

/* ---- blob.c ---- */

enum { WS_PIECE_BITS = 20 }; /* of a piece's id: its number */
_Static_assert(1 << WS_PIECE_BITS == WS_PIECES_MAX, "every number of a piece fits");

ws_change_fn ws_put_value, ws_drop_value, ws_add_piece, ws_name_blob, ws_drop_blob, ws_add_ref, ws_drop_ref;

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
void ws_forgot(struct ws_sqlite *s);        /* a row was set, or dropped */
void ws_forgot_by_all(struct ws_sqlite *s); /* the transaction is over */

ws_change_fn ws_learn, ws_tidy;

/* ---- read.c ---- */

extern const struct wl_store_ops ws_sqlite_ops;
void                             ws_readers_close(struct ws_sqlite *s);

/* ---- sqlite.c ---- */

WEFT_SUSPENDS void ws_sqlite_close(struct wl_store *store);

#endif
