/* stores/sqlite/store.h — internals of the SQLite store, shared by its files.
 *
 *   sqlite.c      opening, closing, the lifetime of the struct
 *   tables.c      the tables of each version, and which files are refused
 *   statements.c  the SQL statements
 *   conn.c        a connection, its statements, SQLite's result codes as errors
 *   sum.c         the checksums of rows
 *   page.c        the checksums of pages, which vfs.c writes and checks
 *   rewrite.c     a database written anew, with checksums of pages
 *   writer.c      the queue of commits, who writes them, checkpoints of the WAL
 *   batch.c       many commits in one transaction, and its sync
 *   commit.c      one commit inside the writer's transaction: what is added and set
 *   drop.c        changes in place, and deletions
 *   blob.c        values, blobs and references to them
 *   read.c        reads, on workers, each with a connection from the pool
 *   search.c      following the log, and the search index
 *   grams.c       what the search index stores of a text
 *   loss.c        checks of the WAL after an unclean stop, and starting with a loss
 *   reserve.c     reserved disk space for a full disk
 */
#pragma once

#include <pthread.h>
#include <sqlite3.h>

#include "base/list.h"
#include "stores/check.h"
#include "stores/columns.h"
#include "stores/sqlite/sqlite.h"
#include "stores/sqlite/vfs.h"

/* ---- Statements, prepared once per connection ------------------------------------------------------ */

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
    sqlite3 *db;
    sqlite3_stmt *st[WS_STATEMENTS]; /* only those of its kind */
};

struct ws_sqlite;

enum ws_conn_kind { WS_WRITER, WS_READER, WS_CHECKPOINTER };
int ws_conn_open(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;
int ws_conn_prepare(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;
void ws_conn_close(struct ws_conn *c);

/* Pages of the next database that is written from nothing get sums: an empty file, or what VACUUM INTO writes. */
int ws_conn_reserve(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;

/* Prepares a statement on first use. */
int ws_conn_need(struct ws_sqlite *s, struct ws_conn *c, enum ws_statement i, sqlite3_stmt **ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* SQL without parameters. */
int ws_conn_exec(struct ws_sqlite *s, struct ws_conn *c, const char *sql, struct upp_err *err) UPP_MUST_CHECK;
/* The first column of the first row of a query, as a number; 0 if there is no row. */
int ws_conn_number(struct ws_sqlite *s, struct ws_conn *c, const char *sql, int64_t *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

/* 1: a row. 0: done. WS_CONSTRAINT: a uniqueness constraint failed. <0: failed. Resets the statement unless it returns
 * a row. */
enum { WS_CONSTRAINT = 2 };
int ws_step(struct ws_sqlite *s, sqlite3_stmt *st, struct upp_err *err) UPP_MUST_CHECK;
void ws_resetp(sqlite3_stmt **st);

#define WS_DOCTOR "`weft doctor --export DIR` saves what can be read"

/* An SQLite result as an error of ours that names the file. Causes: those that may pass (wl_may_pass); WS_DAMAGED: a
 * row has a wrong checksum (the message names it; other calls continue); WS_DAMAGED_PAGE: the same of a page, or SQLite
 * itself has found damage. */
#define WS_DAMAGED      "damaged row"
#define WS_DAMAGED_PAGE "damaged page"
int ws_disk_full(struct ws_sqlite *s, struct upp_err *err);
int ws_sqlite_gone(struct ws_sqlite *s, struct upp_err *err); /* a file was deleted or replaced */
int ws_sqlite_fail(struct ws_sqlite *s, sqlite3 *db, int rc, const char *what, struct upp_err *err);

/* Verifies a row whose first n columns are those of its checksum, and whose next one is the checksum. */
int ws_row_whole(struct ws_sqlite *s, sqlite3_stmt *st, const char *table, int n, struct upp_err *err) UPP_MUST_CHECK;

/* Binding. Texts and ids are borrowed until the statement is reset. */
static inline void ws_bind_u64(sqlite3_stmt *st, int i, uint64_t v)
{
    (void)sqlite3_bind_int64(st, i, (sqlite3_int64)v);
}
static inline void ws_bind_str(sqlite3_stmt *st, int i, struct upp_str s) /* NULL: SQL NULL */
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
    if (wb_uuid_is_nil(*u))
        (void)sqlite3_bind_null(st, i);
    else
        ws_bind_id(st, i, u);
}

/* One parameter: WS_N a number, WS_A a name, WS_S a text or NULL, WS_I an id, WS_O an id or NULL, WS_K a blob's key. */
struct ws_arg {
    bool is_number;
    uint64_t n;
    struct upp_str s; /* NULL: SQL NULL */
};
#define WS_N(x) ((struct ws_arg){.is_number = true, .n = (uint64_t)(x)})
#define WS_S(x) ((struct ws_arg){.s = (x)})
#define WS_A(x) ws_arg_name(x)
#define WS_I(x) ((struct ws_arg){.s = {(const char *)(x)->b, sizeof(x)->b}})
#define WS_O(x) (wb_uuid_is_nil(*(x)) ? (struct ws_arg){.is_number = false} : WS_I(x))
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
    WS_READERS = 8,   /* connections that read at the same time */
    WS_READS = 256,   /* reads that wait for one or for a worker; more wait for their turn */
    WS_ENDS = 8192,   /* node ends that the writer caches */
    WS_TENANTS = 256, /* tenant numbers that the writer caches */
    WS_QUEUE_MAX = 16384,
    WS_BATCH_COMMITS = 1024,
    WS_BATCH_BYTES = 8 << 20,
    WS_BATCHES_A_JOB = 16, /* then another job continues, so that other work gets the worker */
    WS_FLUSH_MS = 1000,
    WS_WAL_PAGES = 4096,
    WS_CACHE_KIB = 16 << 10,
    WS_BUSY_MS = 10000,
    WS_RESERVE_KIB = 1024,
};

/* The end of a node's log, cached. */
struct ws_end {
    uint64_t node, next;
    int64_t tenant; /* 0: an empty slot */
};

struct ws_tenant {
    struct upp_str name; /* in `bytes` */
    int64_t id;          /* 0: an empty slot */
    char bytes[64];      /* longer names are looked up each time */
};

struct ws_waiter;

struct ws_sqlite {
    struct wl_store store;
    _Atomic unsigned refs;  /* of the owner, of background fibers and of jobs */
    _Atomic unsigned reads; /* in progress, or waiting for their turn (read.c) */
    struct ws_sqlite_opts opts;
    char *path;
    struct ws_vfs vfs;
    struct ws_lock lock_file;
    struct ws_promise promise;    /* updated by the current writer */
    struct ws_promise_look *look; /* what was found; while the store is being opened */
    bool open;                    /* opening succeeded */

    pthread_mutex_t lock; /* protects everything up to the line below */
    pthread_cond_t idle;  /* a reader was returned; the writer, or a checkpoint, has ended */
    struct wb_link queue;
    size_t queued;
    bool writing; /* a leader has been chosen: it, or its job, will take the queue */
    bool closing;
    bool checkpoint_asked, checkpointing;
    bool wal_rest;    /* a checkpoint has ended: the writer checkpoints what was appended meanwhile */
    bool flush_asked; /* a fiber will flush */
    struct wb_link readers;
    unsigned n_readers;
    struct wb_link waiting_reads;
    unsigned read_turns; /* left for reads that are about to wait */
    struct ws_waiter *closer;
    /* ---- */

    /* Used only by the current writer (one at a time). */
    struct ws_conn writer;
    bool unsynced;           /* the WAL has transactions that were not synced */
    bool full;               /* synchronous is FULL now, otherwise NORMAL */
    bool appended;           /* the last commit wrote to the WAL */
    bool strays;             /* there are threads whose ids are not of their family */
    int64_t row;             /* the newest row of the table `log` that it added */
    _Atomic bool broken;     /* a transaction could not be rolled back */
    bool disk_full;          /* only commits that end or cancel runs, or delete, are accepted */
    bool steady;             /* no checkpoint since the last transaction: the next one only appends to the WAL */
    uint64_t here_again;     /* when a loop may write again itself (monotonic ns), after the disk made it wait */
    _Atomic bool no_room;    /* a checkpoint has found the disk full: the WAL must not grow */
    bool failing;            /* commits fail for another reason that may pass */
    bool on_loop;            /* the writer is a loop, not a worker: it must not wait */
    uint64_t logged_full_ms; /* when it was last logged; ms */
    uint64_t logged_failing_ms;
    uint64_t empty_at_ms; /* when a full disk may make it try again to empty the WAL */
    bool emptied;         /* it did: the next transaction begins the WAL anew, which syncs */
    struct {
        char *path;
        sqlite3_file *file; /* NULL: not opened */
    } reserve;
    int wal_pages;  /* frames in the WAL after the last commit */
    int room_pages; /* how many pages the disk has room for, when the WAL had room_seen frames */
    int room_seen;
    int wal_requested;        /* wal_pages when a checkpoint was last requested; 0: the WAL was restarted */
    int64_t now_ms;           /* time of this transaction */
    struct upp_str user;      /* user of the current commit */
    bool rows_changed;        /* this transaction has set or dropped a row */
    bool tidy;                /* nothing was deleted from the search index since its last merge began */
    bool merging;             /* a merge of the search index has begun and is not complete */
    bool dropped;             /* this transaction has dropped the search index */
    _Atomic uint64_t changes; /* such changes: counted before they are written, and again when readable */
    struct ws_end ends[WS_ENDS];
    struct ws_tenant tenants[WS_TENANTS];

    struct ws_conn checkpointer; /* used by one checkpoint at a time; opened on first use */
};

static inline struct ws_sqlite *ws_sqlite(struct wl_store *s)
{
    return WB_OUTER(s, struct ws_sqlite, store);
}

void ws_sqlite_lock(struct ws_sqlite *s);
void ws_sqlite_unlock(struct ws_sqlite *s);
void ws_sqlite_unref(struct ws_sqlite *s);

/* ---- tables.c ---- */

enum { WS_SCHEMA = 5 }; /* the version that we know and write */

/* Creates the tables in an empty file, migrates those of an older version, checks those of any other. */
int ws_schema_open(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;

/* The files of sql/, embedded by scripts/embed: each ends with a NUL. */
extern const struct upp_str ws_tables_1_sql, ws_tables_2_sql, ws_tables_3_sql, ws_tables_4_sql, ws_tables_5_sql,
    ws_index_sql, ws_strays_sql;
extern const struct upp_str ws_repair_sql, ws_believe_index_sql;

/* Writes a page of the file, with what it holds. */
int ws_tables_touch(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;

/* Keys are unsigned, SQL integers are signed: with the first bit flipped they sort in the right order. Works both
 * ways. */
#define WS_SIGNED_KEY(key) "(~((" key ") & (1 << 63)) & ((" key ") | (1 << 63)))"
static inline int64_t ws_signed_key(uint64_t key)
{
    return (int64_t)(key ^ UINT64_C(1) << 63);
}

/* ---- statements.c ---- */

extern const char *const ws_statements[WS_STATEMENTS];

/* ---- writer.c ---- */

WEFT_SUSPENDS int ws_writer_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

/* Refuses further commits, and waits until those in progress, and a checkpoint, have ended. */
WEFT_SUSPENDS void ws_writer_stop(struct ws_sqlite *s);

/* ---- batch.c ---- */

/* A commit of a batch. */
struct ws_item {
    struct wb_link link;
    struct wl_commit *c;
    size_t bytes;
    int result;
    struct upp_err err;
};

/* Writes a list of ws_item in one transaction; each gets its result. Only for the current writer, like all of these. */
void ws_batch_write(struct ws_sqlite *s, struct wb_link *batch, struct upp_err *err);

/* Checkpoints the WAL; returns SQLite's result. On any thread. */
int ws_checkpoint(struct ws_sqlite *s, struct ws_conn *c, int mode);

/* Syncs the WAL if it has unsynced transactions. */
int ws_batch_sync(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
int ws_batch_hook(void *arg, sqlite3 *db, const char *name, int pages); /* SQLite's WAL hook */

/* Fails once a sync has failed: then no commit is acknowledged any more. */
int ws_poisoned(struct ws_sqlite *s, struct upp_err *err);

/* ---- commit.c ---- */

/* Applies the changes in order; *done: how many were applied. */
int ws_change_apply(struct ws_sqlite *s, struct wl_commit *c, size_t *done, struct upp_err *err) UPP_MUST_CHECK;
void ws_change_forget(struct ws_sqlite *s, const struct wl_commit *c); /* after its rollback: fixes the caches */
void ws_change_forget_all(struct ws_sqlite *s);

/* Runs a statement of the writer: 0, WS_CONSTRAINT or a failure; 1: it returned a row, and the caller resets it after
 * reading. */
int ws_do(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n,
          struct upp_err *err) UPP_MUST_CHECK;
#define WS_DO(s, i, err, ...)                                                                                          \
    ws_do((s), (i), (const struct ws_arg[]){__VA_ARGS__}, WB_LEN(((const struct ws_arg[]){__VA_ARGS__})), (err))
static inline sqlite3_stmt *ws_row_of(struct ws_sqlite *s, enum ws_statement i)
{
    return s->writer.st[i];
}
/* The same, for a row's first column as a number; 0 if there is no row. */
int ws_do_number(struct ws_sqlite *s, enum ws_statement i, const struct ws_arg *args, size_t n, int64_t *ret,
                 struct upp_err *err) UPP_MUST_CHECK;
/* The same for a table whose columns begin with the tenant and, unless `user` is NULL, the user. */
int ws_do_with(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct upp_str *user,
               const struct ws_kind *k, size_t n, const void *thing, struct upp_err *err) UPP_MUST_CHECK;
static inline bool ws_changed(struct ws_sqlite *s)
{
    return sqlite3_changes(s->writer.db) > 0;
}
int ws_change_is_node(struct ws_sqlite *s, int64_t tenant, uint64_t key,
                      struct upp_err *err) UPP_MUST_CHECK; /* 1: yes */
void ws_change_forget_end(struct ws_sqlite *s, int64_t tenant, uint64_t node);
/* The error of a change with version `given` that changed no row. */
int ws_change_why_not(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const char *what,
                      const struct wb_uuid *id, uint32_t given, struct upp_err *err) UPP_MUST_CHECK;

/* One change of a commit. */
typedef int ws_change_fn(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err);

/* ---- drop.c ---- */

ws_change_fn ws_set_node, ws_set_row, ws_drop_thread, ws_drop_node, ws_drop_run, ws_drop_alias;
/* Adds a node or thread to the tables of strays if its id is not of its family, and stores the texts of a branch. */
int ws_add_branch(struct ws_sqlite *s, int64_t tenant, const struct wl_node *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_add_stray_thread(struct ws_sqlite *s, int64_t tenant, const struct wl_thread *t,
                        struct upp_err *err) UPP_MUST_CHECK;

/* ---- blob.c ---- */

enum { WS_PIECE_BITS = 20 }; /* low bits of a piece's id: its number */
_Static_assert(1 << WS_PIECE_BITS == WS_PIECES_MAX, "every number of a piece fits");

ws_change_fn ws_put_value, ws_drop_value, ws_add_piece, ws_name_blob, ws_drop_blob, ws_add_ref, ws_drop_ref;

/* ---- loss.c ---- */

/* Is everything there that was acknowledged? If not, refuses; or, with accept_loss, sets the damaged WAL aside. The
 * first checks the files before SQLite opens them; the second what only the tables show. */
int ws_loss_check_files(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
int ws_loss_check_tables(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;

/* Marks the database as in use (1: it wrote something), and as closed. A copy of a database in use has the mark, and
 * not what is only in its WAL. */
int ws_loss_mark(struct ws_sqlite *s) UPP_MUST_CHECK;
void ws_loss_unmark(struct ws_sqlite *s);
bool ws_loss_is_marked(sqlite3 *db);
#define WS_LOSS_UNMARK "DELETE FROM meta WHERE name = 'in_use'"
#define WS_LOSS_COPIED                                                                                                 \
    "is missing: the database was in use when it was copied, and what was written last may be only in it"

void ws_loss_done(struct ws_sqlite *s, bool undo); /* undo: puts the WAL back that was set aside */

/* Gives the database an id if it has none, and records an accepted loss. 1: it wrote something. */
int ws_loss_record(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;

/* ---- reserve.c ---- */

/* Takes the reserve, or takes it again; false: there is no room. Only for the current writer, like all of these. */
bool ws_reserve_fill(struct ws_sqlite *s) UPP_MUST_CHECK;
void ws_reserve_release(struct ws_sqlite *s); /* gives the space back to the disk */
void ws_reserve_close(struct ws_sqlite *s);   /* leaves the file as it is */

/* ---- search.c ---- */

/* Reads the kind of index; if another is configured, drops the index: 1. */
int ws_index_open(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
void ws_rows_changed(struct ws_sqlite *s);     /* a row was set or dropped */
void ws_rows_changed_end(struct ws_sqlite *s); /* the transaction has ended */

ws_change_fn ws_learn, ws_tidy;

/* Drops the entries from..to-1 of a node from the index. */
int ws_forget_words(struct ws_sqlite *s, int64_t tenant, uint64_t node, uint64_t from, uint64_t to,
                    struct upp_err *err) UPP_MUST_CHECK;

/* Only changes the index: such commits have transactions of their own. */
bool ws_is_index_work(const struct wl_commit *c);

/* SQLite has found damage in the tables of the index: says so, and from now on leaves them alone. */
int ws_index_damaged(struct ws_sqlite *s, const char *what, struct upp_err *err);
/* Are all tables whole, other than those of the index? Reads them all, on a connection of its own. */
int ws_others_are_whole(struct ws_sqlite *s, struct upp_err *err) UPP_MUST_CHECK;
/* The same of the database at `path`; false also if it cannot be read. For doctor. */
bool ws_tables_are_whole(const char *path);
/* What SQLite's integrity_check finds first, other than the pages that a damaged index has left unused; "": nothing.
 * Returns SQLite's result. */
int ws_integrity_check(sqlite3 *db, char *why, size_t size);
void ws_index_done(struct ws_sqlite *s);   /* a transaction is committed */
void ws_index_undone(struct ws_sqlite *s); /* a transaction is rolled back */

/* ---- read.c ---- */

extern const struct wl_store_ops ws_sqlite_ops;
void ws_readers_close(struct ws_sqlite *s);

/* ---- sqlite.c ---- */

WEFT_SUSPENDS void ws_sqlite_close(struct wl_store *store);
struct wl_files ws_sqlite_files(const struct wl_store *store);
