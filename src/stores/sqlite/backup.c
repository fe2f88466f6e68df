/* stores/sqlite/backup.c — copies a database by VACUUM INTO, verifies the copy, and renames it. */
#include "stores/backup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "fiber/fiber.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum { PATHS = 1200, STEPS = 20000 /* of SQLite's machine between two looks at the clock */ };

struct copying {
    struct ws_backup *b;
    struct ws_sqlite *from;
    sqlite3 *db; /* the copy */
    char partial[PATHS];
    uint64_t bytes, rows; /* of the source, about; rows of the copy that have checksums */
    uint64_t checked;
    bool vacuums;
};

static int refuse(struct upp_err *err, enum upp_code code, const char *path, const char *why)
{
    int r = upp_fail(err, code, "%s", why);
    wb_err_where(err, wb_cstr(path));
    return r;
}

static int fail_sys(struct upp_err *err, int r, const char *path, const char *what)
{
    r = wb_fail_sys(err, r, UPP_ESTORE, "%s", what);
    wb_err_where(err, wb_cstr(path));
    return r;
}

/* ---- Stopping, and how far it is ----------------------------------------------------------------------------- */

void ws_backup_init(struct ws_backup *b)
{
    b->running = NULL;
    b->stopped = false;
    b->counts = (struct ws_backup_counts){0};
    if (pthread_mutex_init(&b->lock, NULL))
        abort(); /* does not allocate on the systems we know */
}

void ws_backup_done(struct ws_backup *b)
{
    (void)pthread_mutex_destroy(&b->lock);
}

static void lock(struct ws_backup *b)
{
    if (pthread_mutex_lock(&b->lock))
        abort();
}

static void unlock(struct ws_backup *b)
{
    if (pthread_mutex_unlock(&b->lock))
        abort();
}

/* The connection that works now; NULL: none. */
static void runs_on(struct ws_backup *b, sqlite3 *db)
{
    lock(b);
    b->running = db;
    unlock(b);
}

static bool is_stopped(struct ws_backup *b)
{
    lock(b);
    bool stopped = b->stopped;
    unlock(b);
    return stopped;
}

/* An integrity_check is one step of SQLite's machine: only the interrupt reaches it. */
void ws_backup_stop(struct ws_backup *b)
{
    lock(b);
    b->stopped = true;
    if (b->running)
        sqlite3_interrupt(b->running);
    unlock(b);
}

static int on_steps(void *arg)
{
    struct copying *c = arg;
    struct stat st;
    if (is_stopped(c->b))
        return 1;
    if (c->vacuums && c->b->progress && stat(c->partial, &st) == 0)
        c->b->progress(c->b->arg, WS_BACKUP_COPIES, (uint64_t)st.st_size, c->bytes);
    return 0;
}

static void add_checked(struct copying *c)
{
    enum { SELDOM = 256 };
    if (++c->checked % SELDOM == 0 && c->b->progress)
        c->b->progress(c->b->arg, WS_BACKUP_CHECKS, c->checked, c->rows);
}

/* The source is only read, so what could not be written is the copy. */
static int failed(struct copying *c, sqlite3 *db, int rc, const char *what, struct upp_err *err)
{
    if ((rc & 0xff) == SQLITE_INTERRUPT || is_stopped(c->b))
        return upp_fail(err, UPP_ECANCELED, "stopped: nothing was written");
    if ((rc & 0xff) == SQLITE_FULL)
        return refuse(err, UPP_ESTORE, c->b->to, "the disk is full: nothing was written");
    if (db == c->from->writer.db && rc != SQLITE_IOERR_WRITE && rc != SQLITE_CANTOPEN)
        return ws_sqlite_fail(c->from, db, rc, what, err);
    int r = upp_fail(err, UPP_ESTORE, "%s: %s", what, sqlite3_errmsg(db));
    wb_err_where(err, wb_cstr(c->b->to));
    return r;
}

/* ---- SQL ------------------------------------------------------------------------------------------------------- */

static int number(struct copying *c, sqlite3 *db, const char *sql, uint64_t *ret, struct upp_err *err)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    *ret = rc == SQLITE_ROW ? (uint64_t)sqlite3_column_int64(st, 0) : 0;
    (void)sqlite3_finalize(st);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : failed(c, db, rc, "it cannot be read", err);
}

static int execute(struct copying *c, const char *sql, struct upp_err *err)
{
    int rc = sqlite3_exec(c->db, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : failed(c, c->db, rc, "the copy cannot be written", err);
}

/* ---- The file --------------------------------------------------------------------------------------------------- */

static void drop_partial(const char *partial)
{
    char journal[PATHS + 16];
    (void)snprintf(journal, sizeof journal, "%s-journal", partial);
    (void)WB_CALL(unlink)(journal);
    (void)WB_CALL(unlink)(partial);
}

#define PARTIAL ".partial-"

/* Of a backup to the same name that was killed: its process is gone, or has our own number now. */
static void drop_remains(const char *path)
{
    char folder[PATHS], name[PATHS + 16];
    const char *slash = strrchr(path, '/');
    const char *base = slash ? slash + 1 : path;
    (void)snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 2, slash ? path : "./");
    DIR *d = opendir(folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(base);
        if (strncmp(e->d_name, base, n) != 0 || strncmp(e->d_name + n, PARTIAL, sizeof PARTIAL - 1) != 0)
            continue;
        char *end;
        long pid = strtol(e->d_name + n + sizeof PARTIAL - 1, &end, 10);
        if ((*end && strcmp(end, "-journal") != 0) || pid <= 0)
            continue;
        bool over = pid == (long)getpid() || (kill((pid_t)pid, 0) != 0 && errno == ESRCH);
        if (over && (size_t)snprintf(name, sizeof name, "%s%s", folder, e->d_name) < sizeof name)
            (void)WB_CALL(unlink)(name);
    }
    if (d)
        (void)closedir(d);
}

/* SQLite would make it readable for all; it takes one that is empty. */
static int make_partial(struct copying *c, struct upp_err *err)
{
    if ((size_t)snprintf(c->partial, sizeof c->partial, "%s" PARTIAL "%d", c->b->to, (int)getpid()) >=
        sizeof c->partial - 16)
        return refuse(err, UPP_EINVALID, c->b->to, "the path is too long");
    drop_remains(c->b->to);
    int fd = WB_CALL(open)(c->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        int r = fail_sys(err, fd, c->partial, "cannot make the file");
        c->partial[0] = 0;
        return r;
    }
    wb_fd_close(&fd);
    return 0;
}

static bool is_same(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static int check_target(const struct ws_backup *b, struct upp_err *err)
{
    struct stat st;
    if (is_same(b->from, b->to))
        return refuse(err, UPP_EREFUSED, b->to, "is the database itself");
    if (stat(b->to, &st) != 0)
        return errno == ENOENT ? 0 : fail_sys(err, -errno, b->to, "cannot look at it");
    if (!S_ISREG(st.st_mode))
        return refuse(err, UPP_EREFUSED, b->to, "is no file");
    return b->replace || b->restore ? 0 : refuse(err, UPP_EREFUSED, b->to, "exists already; --force replaces it");
}

/* ---- Copying --------------------------------------------------------------------------------- */

static int measure(struct copying *c, struct upp_err *err)
{
    uint64_t pages, unused;
    int r = number(c, c->from->writer.db, "PRAGMA page_count", &pages, err);
    if (r >= 0)
        r = number(c, c->from->writer.db, "PRAGMA freelist_count", &unused, err);
    if (r >= 0)
        c->bytes = (pages - WB_MIN(pages, unused)) * WS_WAL_PAGE;
    return r;
}

static int vacuum_into(struct copying *c, struct upp_err *err)
{
    sqlite3 *db = c->from->writer.db;
    sqlite3_stmt *st = NULL;
    int r = measure(c, err);
    if (r >= 0)
        r = ws_conn_reserve(c->from, &c->from->writer,
                            err); /* the pages of the copy have checksums, whatever these have */
    if (r < 0)
        return r;
    int rc = sqlite3_prepare_v2(db, "VACUUM INTO ?", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(st, 1, c->partial, -1, SQLITE_STATIC);
    sqlite3_progress_handler(db, STEPS, on_steps, c);
    runs_on(c->b, db);
    c->vacuums = true;
    if (rc == SQLITE_OK)
        rc = on_steps(c) ? SQLITE_INTERRUPT : sqlite3_step(st);
    c->vacuums = false;
    runs_on(c->b, NULL);
    sqlite3_progress_handler(db, 0, NULL, NULL);
    (void)sqlite3_finalize(st);
    return rc == SQLITE_DONE ? 0 : failed(c, db, rc, "the copy", err);
}

static int open_copy(struct copying *c, struct upp_err *err)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_PRIVATECACHE;
    int rc = sqlite3_open_v2(c->partial, &c->db, flags, c->from->vfs.name);
    if (rc == SQLITE_OK)
        rc = ws_sum_functions(c->db);
    if (rc != SQLITE_OK)
        return failed(c, c->db, rc, "the copy cannot be opened", err);
    sqlite3_progress_handler(c->db, STEPS, on_steps, c);
    runs_on(c->b, c->db);
    return execute(c,
                   "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA secure_delete = ON;"
                   "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;",
                   err);
}

static void close_copy(struct copying *c)
{
    runs_on(c->b, NULL);
    (void)sqlite3_close_v2(c->db);
    c->db = NULL;
}

/* An id of its own: a WAL that is left next to it is never taken for the copy's. */
static int give_id(struct copying *c, struct upp_err *err)
{
    char sql[128];
    uint32_t id;
    int64_t n = WB_CALL(random)(&id, sizeof id);
    if (n != sizeof id)
        return wb_fail_sys(err, n < 0 ? (int)n : -EIO, UPP_ESTORE, "no randomness for the id of a database");
    (void)snprintf(sql, sizeof sql, "PRAGMA user_version = %u;" WS_LOSS_UNMARK, (id & INT32_MAX) | 1);
    return execute(c, sql, err);
}

/* ---- Verifying ------------------------------------------------------------------------------- */

static int damaged(struct copying *c, const char *why, struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "is damaged (%s): %s", why, WS_DOCTOR);
    wb_err_where(err, wb_cstr(c->b->from));
    return r;
}

static int check_pages(struct copying *c, struct upp_err *err)
{
    char why[200];
    int rc = ws_integrity_check(c->db, why, sizeof why);
    if (rc != SQLITE_OK)
        return failed(c, c->db, rc, "the copy cannot be read", err);
    return why[0] && !is_stopped(c->b) ? damaged(c, why, err) : 0;
}

/* Tables of the first versions have no checksums. 1: it has. */
static int is_summed(struct copying *c, const char *table, struct upp_err *err)
{
    char sql[128];
    uint64_t n;
    (void)sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM pragma_table_info('%q') WHERE name = 'sum'", table);
    int r = number(c, c->db, sql, &n, err);
    return r < 0 ? r : n > 0;
}

static int count_rows(struct copying *c, struct upp_err *err)
{
    for (const struct ws_summed *t = ws_summed; t->table; t++) {
        char sql[128];
        uint64_t n;
        int r = is_summed(c, t->table, err);
        (void)sqlite3_snprintf(sizeof sql, sql, "SELECT count(*) FROM %s", t->table);
        if (r > 0)
            r = number(c, c->db, sql, &n, err);
        else
            n = 0;
        if (r < 0)
            return r;
        c->rows += n;
    }
    return 0;
}

static int check_rows(struct copying *c, const struct ws_summed *t, struct upp_err *err)
{
    char sql[1024];
    sqlite3_stmt *st = NULL;
    int r = is_summed(c, t->table, err);
    if (r <= 0)
        return r;
    (void)sqlite3_snprintf(sizeof sql, sql, "SELECT weft_damage(sum, '%s', %s) FROM %s", t->table, t->columns,
                           t->table);
    int rc = sqlite3_prepare_v2(c->db, sql, -1, &st, NULL);
    r = 0;
    while (rc == SQLITE_OK && r >= 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
        const char *why = (const char *)sqlite3_column_text(st, 0);
        if (why)
            r = damaged(c, why, err);
        add_checked(c);
        rc = SQLITE_OK;
    }
    (void)sqlite3_finalize(st);
    return r < 0 || rc == SQLITE_DONE ? r : failed(c, c->db, rc, "the copy cannot be read", err);
}

/* ---- Blobs: all pieces are there, and are what the key says ---- */

struct blobs {
    sqlite3_stmt *list, *pieces;
    EVP_MD_CTX *hash;
};

static void blobs_done(struct blobs *x)
{
    (void)sqlite3_finalize(x->list);
    (void)sqlite3_finalize(x->pieces);
    EVP_MD_CTX_free(x->hash);
}

static int check_blob(struct copying *c, struct blobs *x, struct upp_err *err)
{
    int64_t blob = sqlite3_column_int64(x->list, 0), want = sqlite3_column_int64(x->list, 2), is = 0;
    const void *key = sqlite3_column_blob(x->list, 1);
    unsigned char sum[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    int rc;
    if (EVP_DigestInit_ex(x->hash, EVP_sha256(), NULL) != 1)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    (void)sqlite3_bind_int64(x->pieces, 1, blob << WS_PIECE_BITS);
    (void)sqlite3_bind_int64(x->pieces, 2, (blob + 1) << WS_PIECE_BITS);
    for (; (rc = sqlite3_step(x->pieces)) == SQLITE_ROW; is++)
        if (EVP_DigestUpdate(x->hash, sqlite3_column_blob(x->pieces, 0), (size_t)sqlite3_column_bytes(x->pieces, 0)) !=
            1)
            break;
    (void)sqlite3_reset(x->pieces);
    if (rc != SQLITE_DONE)
        return failed(c, c->db, rc, "a blob of the copy cannot be read", err);
    char why[64];
    (void)snprintf(why, sizeof why, "blob %lld is not what its key says", (long long)blob);
    if (is != want || EVP_DigestFinal_ex(x->hash, sum, &n) != 1)
        return damaged(c, why, err);
    bool named = c->b->counts.sealed || (key && sqlite3_column_bytes(x->list, 1) == (int)n && !memcmp(key, sum, n));
    return named ? 0 : damaged(c, why, err);
}

static int check_blobs(struct copying *c, struct upp_err *err)
{
    static const char list[] = "SELECT number, key, pieces FROM blobs WHERE whole",
                      pieces[] = "SELECT bytes FROM pieces WHERE id >= ?1 AND id < ?2 ORDER BY id",
                      lost[] = "SELECT count(*) FROM refs r WHERE NOT EXISTS"
                               "(SELECT 1 FROM blobs b WHERE b.number = r.blob AND b.whole)";
    WB_CLEANUP(blobs_done) struct blobs x = {.hash = EVP_MD_CTX_new()};
    uint64_t n;
    if (!x.hash)
        return upp_fail(err, UPP_ENOMEM, "no memory for a digest");
    int rc = sqlite3_prepare_v2(c->db, list, -1, &x.list, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(c->db, pieces, -1, &x.pieces, NULL);
    int r = 0;
    while (rc == SQLITE_OK && r >= 0 && (rc = sqlite3_step(x.list)) == SQLITE_ROW) {
        r = check_blob(c, &x, err);
        c->b->counts.blobs++;
        rc = SQLITE_OK;
    }
    if (r >= 0 && rc != SQLITE_DONE)
        r = failed(c, c->db, rc, "the copy cannot be read", err);
    if (r >= 0)
        r = number(c, c->db, lost, &n, err);
    return r < 0 ? r : n ? damaged(c, "a blob that is needed is missing", err) : 0;
}

static int count_things(struct copying *c, struct upp_err *err)
{
    struct ws_backup_counts *n = &c->b->counts;
    uint64_t tables, sealed = 0;
    int r = number(c, c->db, "SELECT count(*) FROM sqlite_schema WHERE name = 'blobs'", &tables, err);
    if (r >= 0)
        r = number(c, c->db, "SELECT count(*) FROM log", &n->rows, err);
    if (r >= 0)
        r = number(c, c->db, "SELECT count(*) FROM threads", &n->threads, err);
    if (r >= 0)
        r = number(c, c->db, "SELECT count(*) FROM runs", &n->runs, err);
    if (r >= 0)
        r = number(c, c->db, "SELECT EXISTS(SELECT 1 FROM tenants WHERE name = CAST('" WS_SEALED_TENANT "' AS BLOB))",
                   &sealed, err);
    n->sealed = sealed;
    return r < 0 ? r : tables ? check_blobs(c, err) : 0;
}

static int verify(struct copying *c, struct upp_err *err)
{
    int r = count_rows(c, err);
    if (r >= 0)
        r = check_pages(c, err);
    for (const struct ws_summed *t = ws_summed; r >= 0 && t->table; t++)
        r = check_rows(c, t, err);
    if (r >= 0)
        r = count_things(c, err);
    if (r >= 0 && c->b->progress)
        c->b->progress(c->b->arg, WS_BACKUP_CHECKS, c->rows, c->rows);
    return r >= 0 && is_stopped(c->b) ? failed(c, c->db, SQLITE_INTERRUPT, "the copy", err) : r;
}

/* ---- A store that is restored ---------------------------------------------------------------- */

static int has_data(const char *path, struct upp_err *err)
{
    const char *why = "has threads, files, keys or other data already: a backup is restored into an empty store";
    return refuse(err, UPP_EREFUSED, path, why);
}

/* Has the database at this path nothing that would be lost? Closing it moves its WAL into it. */
static int check_empty(const char *path, struct upp_err *err)
{
    static const char ask[] =
        "SELECT EXISTS(SELECT 1 FROM log) OR EXISTS(SELECT 1 FROM threads) OR"
        " EXISTS(SELECT 1 FROM runs) OR EXISTS(SELECT 1 FROM vals) OR EXISTS(SELECT 1 FROM blobs)";
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    int n = 0;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, "unix");
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "SELECT count(*) FROM sqlite_schema", -1, &st, NULL);
    if (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW)
        n = sqlite3_column_int(st, 0);
    (void)sqlite3_finalize(st);
    st = NULL;
    if (rc == SQLITE_ROW && n) {
        rc = sqlite3_prepare_v2(db, ask, -1, &st, NULL);
        rc = rc == SQLITE_OK ? sqlite3_step(st) : rc;
        n = rc == SQLITE_ROW ? sqlite3_column_int(st, 0) : 1;
        (void)sqlite3_finalize(st);
    }
    (void)sqlite3_close_v2(db);
    if (rc != SQLITE_ROW)
        return refuse(err, UPP_EREFUSED, path,
                      "is no store that this version knows, or is damaged: nothing is replaced");
    return n ? has_data(path, err) : 0;
}

static uint64_t size_of(const char *path, const char *suffix)
{
    char name[PATHS + 16];
    struct stat st;
    (void)snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int check_unused(const char *path, int lock_fd, struct upp_err *err)
{
    struct ws_promise_look *x = wb_calloc(1, sizeof *x);
    int r = x ? ws_promise_look(path, lock_fd, x, err) : upp_fail(err, UPP_ENOMEM, "no memory for a restore");
    if (r >= 0 && x->bad) {
        r = upp_fail(err, UPP_EREFUSED, "%s: a backup is restored into an empty store", x->why);
        wb_err_where(err, wb_cstr(path));
    }
    wb_free(x);
    if (r >= 0 && size_of(path, ""))
        r = check_empty(path, err);
    if (r >= 0 && size_of(path, "-wal"))
        r = refuse(err, UPP_EBUSY, path, "another program has it open, or its write-ahead log is left");
    return r;
}

/* What the WAL of the empty store had to hold is of no use any more, and its files are not those of the backup. */
static int forget_old(const char *path, int lock_fd, struct upp_err *err)
{
    static const char zeros[WS_LOCK_PAGE_SIZE];
    char name[PATHS + 16];
    struct stat st;
    if (fstat(lock_fd, &st) == 0 && st.st_size > WS_LOCK_PAGE) {
        int64_t n = WB_CALL(pwrite)(lock_fd, zeros, sizeof zeros, WS_LOCK_PAGE);
        if (n != sizeof zeros)
            return fail_sys(err, n < 0 ? (int)n : -ENOSPC, path, "cannot write its lock");
    }
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof name, "%s%s", path, i ? "-shm" : "-wal");
        int r = WB_CALL(unlink)(name);
        if (r < 0 && r != -ENOENT)
            return fail_sys(err, r, name, "cannot remove it");
    }
    return 0;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int make_copy(struct copying *c, struct upp_err *err)
{
    int r = make_partial(c, err);
    if (r >= 0)
        r = vacuum_into(c, err);
    if (r >= 0)
        r = open_copy(c, err);
    if (r >= 0)
        r = give_id(c, err);
    if (r >= 0)
        r = verify(c, err);
    close_copy(c);
    c->b->counts.bytes = r < 0 ? 0 : size_of(c->partial, "");
    return r;
}

static int put_in_place(struct copying *c, const struct ws_lock *l, struct upp_err *err)
{
    int r = check_target(c->b, err); /* somebody may have made it meanwhile */
    if (r >= 0 && c->b->restore)
        r = forget_old(c->b->to, l->fd, err);
    if (r >= 0)
        r = wb_file_publish(c->partial, c->b->to, err);
    return r;
}

static int copy(struct copying *c, struct upp_err *err)
{
    struct ws_lock l = {.fd = -1};
    int r = check_target(c->b, err);
    if (r >= 0 && c->b->restore)
        r = ws_lock_take(c->b->to, &l, err);
    if (r >= 0 && c->b->restore)
        r = check_unused(c->b->to, l.fd, err);
    if (r >= 0)
        r = make_copy(c, err);
    if (r >= 0)
        r = put_in_place(c, &l, err);
    if (r < 0 && c->partial[0])
        drop_partial(c->partial);
    ws_lock_release(&l);
    return r;
}

WEFT_SUSPENDS static int work(void *arg, struct upp_err *err)
{
    struct ws_backup *b = arg;
    struct wl_store *s = NULL;
    struct copying *c = wb_calloc(1, sizeof *c);
    if (!c)
        return upp_fail(err, UPP_ENOMEM, "no memory for a backup");
    int r = access(b->from, F_OK) == 0 ? 0 : fail_sys(err, -errno, b->from, "cannot open it");
    if (r >= 0)
        r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = b->from, .read_only = true, .older = true), &s, err);
    if (r >= 0) {
        c->b = b;
        c->from = ws_sqlite(s);
        r = copy(c, err);
        ws_sqlite_close(s);
    }
    wb_free(c);
    return r;
}

WEFT_SUSPENDS int ws_sqlite_backup(struct ws_backup *b, struct upp_err *err)
{
    int result = 0;
    if (!weft_fiber_self())
        return work(b, err);
    WEFT__SHIELD_FOREVER; /* whoever is cancelled stops it, and waits */
    int r = weft_work(work, b, NULL, &result, err);
    return r < 0 ? r : result;
}
