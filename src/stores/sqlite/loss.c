/* stores/sqlite/loss.c — a WAL that does not hold what it must (promise.h): the store is refused, or opened with a
 * loss.
 *
 * With accept_loss the WAL is saved under another name; SQLite replays what it can of it, unless it belongs to another
 * database or the database is newer. Then the whole database is checked, because it may mix pages of different
 * transactions. The loss is recorded in the table `meta`.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/iso8601.h"
#include "base/log.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum { PATHS = 1100, COPY = 64 << 10 };

#define RECORD "loss "

static int refuse(const char *path, const struct ws_promise_look *x, struct upp_err *err)
{
    char name[PATHS];
    int r = upp_fail(err, UPP_ESTORE, "%s: %s; `weft serve --accept-loss` starts without what is missing", x->why,
                     WS_DOCTOR);
    (void)snprintf(name, sizeof name, "%s%s", path, x->database ? "" : "-wal");
    wb_err_where(err, wb_cstr(name));
    return r;
}

/* ---- Setting the WAL aside ----------------------------------------------------------------------------------- */

static int copy(const char *from, const char *to)
{
    WB_CLEANUP(wb_fd_close) int in = WB_CALL(open)(from, O_RDONLY | O_CLOEXEC, 0);
    WB_CLEANUP(wb_fd_close) int out = in < 0 ? -1 : WB_CALL(open)(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    char *p = wb_alloc(COPY);
    int64_t n = in < 0 ? in : out < 0 ? out : p ? 1 : -ENOMEM;
    for (int64_t at = 0; n > 0; at += n) {
        n = ws_pread(in, p, COPY, at);
        int r = n > 0 ? wb_fd_write(out, wb_str(p, (size_t)n)) : 0;
        n = r < 0 ? r : n;
    }
    wb_free(p);
    return n < 0 ? (int)n : WB_CALL(sync)(out);
}

/* As FILE-wal.damaged-2026-11-17T04:20:00.000Z. If SQLite shall replay it, this is a copy. */
static int put_aside(struct ws_sqlite *s, struct ws_promise_look *x, struct upp_err *err)
{
    char from[PATHS], to[PATHS], partial[PATHS], time[WB_TIME_TEXT];
    struct wb_time now = wb_time_from_ms(wb_wall_ms());
    if (!x->wal.exists)
        return 0;
    (void)snprintf(x->aside_suffix, sizeof x->aside_suffix, "%s", wb_time_upp(&now, time).p);
    (void)snprintf(from, sizeof from, "%s-wal", s->path);
    int n = snprintf(to, sizeof to, "%s-wal.damaged-%s", s->path, x->aside_suffix);
    int m = snprintf(partial, sizeof partial, "%s-wal.damaged-%s.tmp", s->path, x->aside_suffix);
    int r = (size_t)n >= sizeof to || (size_t)m >= sizeof partial ? -ENAMETOOLONG : 0;
    if (r >= 0 && x->aside) {
        r = WB_CALL(rename)(from, to);
    } else if (r >= 0) {
        r = copy(from, partial);
        r = r < 0 ? r : WB_CALL(rename)(partial, to);
        if (r < 0)
            (void)WB_CALL(unlink)(partial);
    }
    if (r < 0) {
        r = wb_fail_sys(err, r, UPP_ESTORE, "cannot put the damaged log aside");
        wb_err_where(err, wb_cstr(from));
        return r;
    }
    wb_log(WB_WARN, "the damaged log is kept", WB_LZ("path", to));
    return 0;
}

/* Undoes it: the store is not opened after all. */
static void put_back(struct ws_sqlite *s, const struct ws_promise_look *x)
{
    char from[PATHS], to[PATHS];
    (void)snprintf(from, sizeof from, "%s-wal.damaged-%s", s->path, x->aside_suffix);
    (void)snprintf(to, sizeof to, "%s-wal", s->path);
    int r = x->aside_suffix[0] && x->aside ? WB_CALL(rename)(from, to) : x->aside_suffix[0] ? WB_CALL(unlink)(from) : 0;
    if (r < 0)
        wb_log(WB_WARN, "a damaged log is left under another name", WB_LZ("path", from), WB_LZ("why", strerror(-r)));
}

/* ---- Before SQLite opens the file ---------------------------------------------------------------------------- */

/* Refuses, unless another process has become the owner meanwhile: then the files were read while they changed. */
static int refuse_reader(struct ws_sqlite *s, struct ws_promise_look *x, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = -1;
    int r = ws_lock_open_unowned(s->path, &fd, err);
    if (r > 0)
        return refuse(s->path, x, err);
    *x = (struct ws_promise_look){0};
    return r;
}

int ws_loss_check_files(struct ws_sqlite *s, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = -1;
    struct ws_promise_look *x = s->look = wb_calloc(1, sizeof *x);
    if (!x)
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    int r = s->opts.read_only ? ws_lock_open_unowned(s->path, &fd, err) : 1;
    if (r <= 0) /* the owner has checked */
        return r;
    r = ws_promise_look(s->path, s->opts.read_only ? fd : s->lock_file.fd, x, err);
    if (r < 0)
        return r;
    if (s->opts.read_only)
        return x->bad ? refuse_reader(s, x, err) : 0;
    if (x->bad && !s->opts.accept_loss)
        return refuse(s->path, x, err);
    if (x->bad) {
        x->aside = x->aside || !x->wal.frames;
        r = put_aside(s, x, err);
        if (r >= 0 && x->aside)
            x->wal = (struct ws_wal_state){0};
    }
    if (r < 0)
        return r;
    ws_promise_open(&s->promise, s->path, s->lock_file.fd, x);
    s->vfs.promise = &s->promise;
    return 0;
}

/* ---- After SQLite has opened it ------------------------------------------------------------------------------ */

/* Checks every page, and every index against its table. */
static int check_all(struct ws_sqlite *s, struct upp_err *err)
{
    char why[200];
    int rc = ws_integrity_check(s->writer.db, why, sizeof why);
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(s, s->writer.db, rc, "it cannot be read", err);
    if (!why[0])
        return 0;
    int r = upp_fail(err, UPP_ESTORE, "is damaged (what is left of it does not fit together): %s", WS_DOCTOR);
    wb_err_where(err, wb_cstr(s->path));
    return r;
}

/* The mark holds the schema's version, which SQLite changes when it copies a database through its log (VACUUM INTO, its
 * backup functions): those copies have all of it. */
bool ws_loss_is_marked(sqlite3 *db)
{
    static const char ask[] =
        "SELECT 1 FROM meta, pragma_schema_version v WHERE name = 'in_use' AND value = v.schema_version";
    sqlite3_stmt *st = NULL;
    bool is = sqlite3_prepare_v2(db, ask, -1, &st, NULL) == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW;
    (void)sqlite3_finalize(st);
    return is;
}

/* If it cannot be written, nobody will be told about a copy: no reason to refuse the store. */
int ws_loss_mark(struct ws_sqlite *s)
{
    /* clang-format off */
    static const char put[] =
        "INSERT OR REPLACE INTO meta(" WS_OF_META ", sum)"
        " SELECT 'in_use', schema_version, " WS_SUM("meta", "'in_use', schema_version")
        " FROM pragma_schema_version";
    /* clang-format on */
    if (!s->promise.map || WB_CALL(sync)(s->lock_file.fd) < 0)
        return 0; /* without its record, a loss of power would look like a copy */
    return ws_loss_is_marked(s->writer.db) ? 0 : ws_conn_exec(s, &s->writer, put, NULL) >= 0;
}

void ws_loss_unmark(struct ws_sqlite *s)
{
    enum { BUSY_MS = 500 }; /* a stop does not wait long for another program */
    (void)sqlite3_busy_timeout(s->writer.db, BUSY_MS);
    if (ws_conn_exec(s, &s->writer, WS_LOSS_UNMARK, NULL) < 0)
        wb_log(WB_WARN, "the database stays marked as in use: copies of it will be taken for incomplete",
               WB_LZ("path", s->path));
}

int ws_loss_check_tables(struct ws_sqlite *s, struct upp_err *err)
{
    struct ws_promise_look *x = s->look;
    int64_t last = 0;
    int r = 0;
    if (x->known && x->row)
        r = ws_conn_number(s, &s->writer, "SELECT max(id) FROM log", &last, err);
    if (r >= 0 && x->known && last < x->row) {
        (void)snprintf(x->why, sizeof x->why,
                       "is gone or damaged: the rows %lld to %lld of the log, which were on the disk, are missing",
                       (long long)last + 1, (long long)x->row);
        x->bad = true;
        if (!s->opts.accept_loss || s->opts.read_only)
            return refuse(s->path, x, err);
        r = put_aside(s, x, err);
    }
    if (r >= 0 && ws_promise_is_new_here(x) && ws_loss_is_marked(s->writer.db)) {
        (void)snprintf(x->why, sizeof x->why, WS_LOSS_COPIED);
        x->bad = true;
        if (!s->opts.accept_loss || s->opts.read_only)
            return refuse(s->path, x, err);
    }
    return r >= 0 && x->bad ? check_all(s, err) : r;
}

void ws_loss_done(struct ws_sqlite *s, bool undo)
{
    if (s->look && undo)
        put_back(s, s->look);
    wb_free(s->look);
    s->look = NULL;
}

static int put_id(struct ws_sqlite *s, uint32_t *id, struct upp_err *err)
{
    char sql[64];
    int64_t n = WB_CALL(random)(id, sizeof *id);
    if (n != sizeof *id)
        return wb_fail_sys(err, n < 0 ? (int)n : -EIO, UPP_ESTORE, "no randomness for the id of a database");
    *id = (*id & INT32_MAX) | 1;
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %u", *id);
    return ws_conn_exec(s, &s->writer, sql, err);
}

static int put_record(struct ws_sqlite *s, const struct ws_promise_look *x, struct upp_err *err)
{
    char name[sizeof RECORD + WB_TIME_TEXT], time[WB_TIME_TEXT];
    struct wb_time now = wb_time_from_ms(wb_wall_ms());
    sqlite3_stmt *st = NULL;
    (void)wb_time_upp(&now, time);
    (void)snprintf(name, sizeof name, RECORD "%s", time);
    int rc = sqlite3_prepare_v2(
        s->writer.db, "INSERT OR REPLACE INTO meta(" WS_OF_META ", sum) VALUES(?1, ?2, " WS_SUM("meta", "?1, ?2") ")",
        -1, &st, NULL);
    if (rc == SQLITE_OK) {
        char text[sizeof x->why + 32];
        (void)snprintf(text, sizeof text, "the %s %s", x->database ? "database" : "write-ahead log", x->why);
        (void)sqlite3_bind_text(st, 1, name, -1, SQLITE_TRANSIENT);
        (void)sqlite3_bind_text(st, 2, text, -1, SQLITE_TRANSIENT);
        rc = sqlite3_step(st);
    }
    (void)sqlite3_finalize(st);
    if (rc != SQLITE_DONE)
        return ws_sqlite_fail(s, s->writer.db, rc, "the record of a loss", err);
    wb_log(WB_WARN, "opened without what is missing", WB_LZ("path", s->path), WB_LZ("missing", x->why));
    return 0;
}

int ws_loss_record(struct ws_sqlite *s, struct upp_err *err)
{
    int64_t is = 0;
    struct stat st;
    int r = ws_conn_number(s, &s->writer, "PRAGMA user_version", &is, err);
    uint32_t id = (uint32_t)is;
    if (r >= 0 && !id)
        r = put_id(s, &id, err);
    if (r >= 0 && s->look->bad)
        r = put_record(s, s->look, err);
    if (r >= 0 && stat(s->path, &st) == 0)
        ws_promise_is(&s->promise, (uint64_t)st.st_ino, id);
    return r < 0 ? r : !is || s->look->bad;
}

/* ---- For doctor ---------------------------------------------------------------------------------------------- */

static int read_records(sqlite3 *db, struct wb_buf *ret)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT substr(name, 6) || ': ' || value FROM meta WHERE name LIKE '" RECORD "%'"
                                " ORDER BY name",
                                -1, &st, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        wb_buf_addf(ret, "%s\n", (const char *)sqlite3_column_text(st, 0));
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(st);
    return rc;
}

/* What the database itself says: that it was copied without its WAL, and its records of losses. */
static int ask_database(const char *path, const struct ws_promise_look *x, struct ws_losses *ret, struct upp_err *err)
{
    sqlite3 *db = NULL;
    int r = 0, rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK && ws_promise_is_new_here(x) && ws_loss_is_marked(db))
        (void)snprintf(ret->missing, sizeof ret->missing, "%s-wal %s", path, WS_LOSS_COPIED);
    if (rc == SQLITE_OK)
        rc = ret->accepted ? read_records(db, ret->accepted) : SQLITE_DONE;
    if (rc != SQLITE_DONE) {
        r = upp_fail(err, UPP_ESTORE, "%s", sqlite3_errmsg(db));
        wb_err_where(err, wb_cstr(path));
    }
    (void)sqlite3_close_v2(db);
    return r < 0 || !ret->accepted ? r : wb_buf_check(ret->accepted, err);
}

int ws_sqlite_losses(const char *path, struct ws_losses *ret, struct upp_err *err)
{
    WB_CLEANUP(wb_fd_close) int fd = -1;
    struct ws_promise_look *x = wb_calloc(1, sizeof *x);
    int r = x ? ws_lock_open_unowned(path, &fd, err) : upp_fail(err, UPP_ENOMEM, "no memory");
    ret->missing[0] = 0;
    if (r >= 0)
        r = ws_promise_look(path, fd, x, err);
    if (r >= 0 && x->bad)
        (void)snprintf(ret->missing, sizeof ret->missing, "%s%s %s", path, x->database ? "" : "-wal", x->why);
    if (r >= 0 && !x->bad)
        r = ask_database(path, x, ret, err);
    wb_free(x);
    return r < 0 ? r : 0;
}
