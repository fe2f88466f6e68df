/* stores/sqlite/conn.c — a connection, its statements, and SQLite's result codes as errors of ours. */
#include "base/err.h"
#include "stores/sqlite/grams.h"
#include "stores/sqlite/page.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool is_sync(int rc)
{
    return rc == SQLITE_IOERR_FSYNC || rc == SQLITE_IOERR_DIR_FSYNC;
}

/* A file that cannot be opened: there may be too many open ones. A failed sync never passes. */
static bool is_io(int rc)
{
    return ((rc & 0xff) == SQLITE_IOERR && !is_sync(rc)) || (rc & 0xff) == SQLITE_CANTOPEN;
}

static void cause(struct upp_err *err, const char *why)
{
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", why);
}

int ws_disk_full(struct ws_sqlite *s, struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "the disk is full: nothing new can be stored until there is room");
    wb_err_where(err, wb_cstr(s->path));
    cause(err, WL_DISK_FULL);
    return r;
}

static int locked(struct ws_sqlite *s, struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "another program has locked the database");
    wb_err_where(err, wb_cstr(s->path));
    cause(err, WL_LOCKED);
    return r;
}

int ws_sqlite_gone(struct ws_sqlite *s, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf name = WB_BUF(1 << 16);
    wb_buf_addf(&name, "%s%s", s->path, atomic_load(&s->vfs.gone) == WS_GONE_WAL ? "-wal" : "");
    int r = upp_fail(err, UPP_ESTORE,
                     "was deleted, or another file was put in its place, while it was in use: nothing is written"
                     " any more until the store is opened again");
    wb_err_where(err, wb_buf_str(&name));
    return r;
}

static int row_damaged(struct ws_sqlite *s, const char *which, struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "is damaged (%s): %s", which, WS_DOCTOR);
    wb_err_where(err, wb_cstr(s->path));
    cause(err, WS_DAMAGED);
    return r;
}

int ws_row_whole(struct ws_sqlite *s, sqlite3_stmt *st, const char *table, int n, struct upp_err *err)
{
    char which[WS_SUM_NAME];
    return ws_sum_holds(st, table, n, which) ? 0 : row_damaged(s, which, err);
}

/* SQLite has found damage, or the sum of a page it read is wrong. */
static int damaged(struct ws_sqlite *s, sqlite3 *db, const char *what, struct upp_err *err)
{
    int64_t page = 0;
    int r;
    if (!db || sqlite3_file_control(db, "main", WS_VFS_DAMAGED, &page) != SQLITE_OK || !page)
        r = upp_fail(err, UPP_ESTORE, "is damaged (%s): %s", what, WS_DOCTOR);
    else
        r = upp_fail(err, UPP_ESTORE, "is damaged (page %lld: its checksum is wrong): %s", (long long)page, WS_DOCTOR);
    wb_err_where(err, wb_cstr(s->path));
    cause(err, WS_DAMAGED_PAGE);
    return r;
}

/* A store opened read-only does not create the database. */
static int other(struct ws_sqlite *s, sqlite3 *db, int rc, const char *what, struct upp_err *err)
{
    int sys = db && (rc & 0xff) == SQLITE_CANTOPEN ? sqlite3_system_errno(db) : 0;
    if (s->opts.read_only && sys == ENOENT)
        return upp_fail(err, UPP_ENOTFOUND, "there is no database here yet: the first run makes it");
    return upp_fail(err, UPP_ESTORE, "%s: %s", what,
                    sys  ? strerror(sys)
                    : db ? sqlite3_errmsg(db)
                         : sqlite3_errstr(rc));
}

int ws_sqlite_fail(struct ws_sqlite *s, sqlite3 *db, int rc, const char *what, struct upp_err *err)
{
    int r;
    switch (rc & 0xff) {
    case SQLITE_FULL:
        return ws_disk_full(s, err);
    case SQLITE_BUSY:
        return locked(s, err);
    case SQLITE_FORMAT: /* from weft_whole */
        return row_damaged(s, db ? sqlite3_errmsg(db) : what, err);
    case SQLITE_NOMEM:
        r = upp_fail(err, UPP_ENOMEM, "no memory: %s", what);
        break;
    case SQLITE_CORRUPT:
        if (rc == SQLITE_CORRUPT_VTAB) /* the only virtual table of ours is that of the search index */
            return ws_index_damaged(s, what, err);
        return damaged(s, db, what, err);
    case SQLITE_NOTADB:
        r = upp_fail(err, UPP_EREFUSED, "is no database, or is damaged (%s): %s", what, WS_DOCTOR);
        break;
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_NOMEM) {
            r = upp_fail(err, UPP_ENOMEM, "no memory: %s", what);
            break;
        }
        if (is_sync(rc) && atomic_load(&s->vfs.gone))
            return ws_sqlite_gone(s, err);
        r = upp_fail(err, UPP_ESTORE, is_sync(rc) ? "a sync failed: %s" : "the disk failed: %s", what);
        break;
    default:
        r = other(s, db, rc, what, err);
        break;
    }
    wb_err_where(err, wb_cstr(s->path));
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%sSQLite %d, errno %d", is_io(rc) ? WL_IO ": " : "", rc,
                       db ? sqlite3_system_errno(db) : 0);
    return r;
}

int ws_conn_exec(struct ws_sqlite *s, struct ws_conn *c, const char *sql, struct upp_err *err)
{
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : ws_sqlite_fail(s, c->db, rc, "it does not take a statement of ours", err);
}

int ws_conn_number(struct ws_sqlite *s, struct ws_conn *c, const char *sql, int64_t *ret, struct upp_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
    *ret = 0;
    if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        *ret = sqlite3_column_int64(st, 0);
        rc = SQLITE_OK;
    }
    int end = sqlite3_finalize(st);
    if (rc == SQLITE_DONE || rc == SQLITE_OK)
        rc = end;
    return rc == SQLITE_OK ? 0 : ws_sqlite_fail(s, c->db, rc, "it cannot be read", err);
}

int ws_step(struct ws_sqlite *s, sqlite3_stmt *st, struct upp_err *err)
{
    int rc = sqlite3_step(st);
    if (rc == SQLITE_ROW)
        return 1;
    int r = rc == SQLITE_DONE                  ? 0
            : (rc & 0xff) == SQLITE_CONSTRAINT ? WS_CONSTRAINT
                                               : ws_sqlite_fail(s, sqlite3_db_handle(st), rc, "a statement", err);
    (void)sqlite3_reset(st);
    return r;
}

void ws_resetp(sqlite3_stmt **st)
{
    (void)sqlite3_reset(*st);
}

struct wb_uuid ws_column_id(sqlite3_stmt *st, int i)
{
    struct wb_uuid u = {{0}};
    const void *p = sqlite3_column_blob(st, i);
    if (p && sqlite3_column_bytes(st, i) == (int)sizeof u.b)
        memcpy(u.b, p, sizeof u.b);
    return u;
}

int ws_conn_open(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
    flags |= s->opts.read_only   ? SQLITE_OPEN_READONLY
             : kind == WS_WRITER ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                 : SQLITE_OPEN_READWRITE;
    int rc = sqlite3_open_v2(s->path, &c->db, flags, s->vfs.name);
    if (rc != SQLITE_OK) {
        int r = ws_sqlite_fail(s, c->db, rc, "it cannot be opened", err);
        ws_conn_close(c);
        return r;
    }
    (void)sqlite3_busy_timeout(c->db, WS_BUSY_MS);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL); /* only when the store is closed */
    rc = ws_sum_functions(c->db);
    if (rc == SQLITE_OK)
        rc = ws_grams_functions(c->db);
    if (rc != SQLITE_OK) {
        int r = ws_sqlite_fail(s, c->db, rc, "it does not take functions of ours", err);
        ws_conn_close(c);
        return r;
    }
    uint32_t cache = s->opts.cache_kib ? s->opts.cache_kib : WS_CACHE_KIB;
    char sql[512];
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "PRAGMA cache_size = -%u; PRAGMA secure_delete = ON; PRAGMA temp_store = MEMORY;"
                           "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA wal_autocheckpoint = 0;"
                           "PRAGMA synchronous = %s; PRAGMA query_only = %d; PRAGMA journal_size_limit = 67108864;",
                           kind == WS_WRITER ? cache : cache / WS_READERS, kind == WS_WRITER ? "FULL" : "NORMAL",
                           kind == WS_READER);
    int r = ws_conn_exec(s, c, sql, err);
    if (r < 0)
        ws_conn_close(c);
    return r;
}

int ws_conn_reserve(struct ws_sqlite *s, struct ws_conn *c, struct upp_err *err)
{
    int bytes = WS_PAGE_TAIL;
    int rc = sqlite3_file_control(c->db, "main", SQLITE_FCNTL_RESERVE_BYTES, &bytes);
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(s, c->db, rc, "it does not reserve bytes", err);
    s->vfs.sums = true;
    return 0;
}

int ws_conn_need(struct ws_sqlite *s, struct ws_conn *c, enum ws_statement i, sqlite3_stmt **ret, struct upp_err *err)
{
    int rc = c->st[i] ? SQLITE_OK
                      : sqlite3_prepare_v3(c->db, ws_statements[i], -1, SQLITE_PREPARE_PERSISTENT, &c->st[i], NULL);
    *ret = c->st[i];
    return rc == SQLITE_OK ? 0 : ws_sqlite_fail(s, c->db, rc, "the tables are not as they should be", err);
}

int ws_conn_prepare(struct ws_sqlite *s, enum ws_conn_kind kind, struct ws_conn *c, struct upp_err *err)
{
    int from = kind == WS_WRITER ? 0 : WS_WRITER_END, to = kind == WS_WRITER ? WS_WRITER_END : WS_OFTEN_END;
    int r = 0;
    for (int i = from; r >= 0 && i < to; i++) {
        sqlite3_stmt *st;
        r = ws_conn_need(s, c, (enum ws_statement)i, &st, err);
    }
    return r;
}

void ws_conn_close(struct ws_conn *c)
{
    for (int i = 0; i < WS_STATEMENTS; i++) {
        (void)sqlite3_finalize(c->st[i]);
        c->st[i] = NULL;
    }
    (void)sqlite3_close_v2(c->db);
    c->db = NULL;
}
