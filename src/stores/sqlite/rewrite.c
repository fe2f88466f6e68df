/* stores/sqlite/rewrite.c — writes a database anew, with checksums of pages, and puts it in the place of the old one.
 *
 * The old one must be whole: every row has its checksum, and SQLite's integrity_check finds nothing. Then pages with a
 * wrong sum were written by another program, and count as they are. The new file is complete and on disk before it
 * replaces the old one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "fiber/loop.h"
#include "stores/sqlite/page.h"
#include "stores/sqlite/store.h"
#include "stores/sqlite/sum.h"

enum { PATHS = 1100 };

struct rewriting {
    const char *path;
    char to[PATHS];      /* the new file, until it replaces the old one */
    struct ws_sqlite *s; /* only what a connection needs */
    struct ws_rewritten *ret;
};

static int rewrite_failed(const char *path, int r, const char *what, struct upp_err *err)
{
    r = wb_fail_sys(err, r, UPP_ESTORE, "%s", what);
    wb_err_where(err, wb_cstr(path));
    return r;
}

static int not_whole(struct rewriting *x, const char *why, struct upp_err *err)
{
    int r = upp_fail(err, UPP_ESTORE, "is damaged (%s), and stays as it is: %s", why, WS_DOCTOR);
    wb_err_where(err, wb_cstr(x->path));
    return r;
}

/* Replays the WAL and migrates the tables. */
WEFT_SUSPENDS static int settle_old(struct rewriting *x, struct upp_err *err)
{
    struct wl_store *store;
    int r = ws_sqlite_open(UPP_OPTS(ws_sqlite_opts, .path = x->path, .reserve_kib = UINT32_MAX, .unchecked = true),
                           &store, err);
    if (r < 0)
        return r;
    ws_sqlite_close(store);
    return 0;
}

static int check_old(struct rewriting *x, struct upp_err *err)
{
    char why[200];
    int rc = ws_integrity_check(x->s->writer.db, why, sizeof why);
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(x->s, x->s->writer.db, rc, "it cannot be read", err);
    if (why[0])
        return not_whole(x, why, err);
    struct ws_damage damage;
    rc = ws_sum_check(x->s->writer.db, &damage);
    if (rc != SQLITE_OK)
        return ws_sqlite_fail(x->s, x->s->writer.db, rc, "it cannot be read", err);
    return damage.n ? not_whole(x, damage.first, err) : 0;
}

/* SQLite would create the file readable for all. */
static int make_new(struct rewriting *x, struct upp_err *err)
{
    char sql[2 * PATHS + 32];
    (void)WB_CALL(unlink)(x->to); /* of an earlier attempt that was interrupted */
    int fd = WB_CALL(open)(x->to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return rewrite_failed(x->to, fd, "cannot be made", err);
    wb_fd_close(&fd);
    int r = ws_conn_reserve(x->s, &x->s->writer, err);
    (void)sqlite3_snprintf(sizeof sql, sql, "VACUUM INTO %Q", x->to);
    return r < 0 ? r : ws_conn_exec(x->s, &x->s->writer, sql, err);
}

/* The new file is read again: what was written may not be what is there. */
static int check_new(struct rewriting *x, struct upp_err *err)
{
    struct ws_pages pages;
    int r = ws_sqlite_check_pages(x->to, &pages, err);
    if (r >= 0 && (!pages.summed || pages.wrong)) {
        r = upp_fail(err, UPP_ESTORE, "was not written as it should be");
        wb_err_where(err, wb_cstr(x->to));
    }
    return r;
}

static uint64_t size_of(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static int sync_path(const char *path, int flags)
{
    WB_CLEANUP(wb_fd_close) int fd = WB_CALL(open)(path, flags | O_CLOEXEC, 0);
    return fd < 0 ? fd : WB_CALL(sync)(fd);
}

static int replace_old(struct rewriting *x, struct upp_err *err)
{
    char name[PATHS];
    (void)snprintf(name, sizeof name, "%s-wal", x->path);
    if (size_of(name) > 0) {
        int r = upp_fail(err, UPP_EBUSY, "another program has it open");
        wb_err_where(err, wb_cstr(x->path));
        return r;
    }
    x->ret->before = size_of(x->path);
    x->ret->after = size_of(x->to);
    int r = sync_path(x->to, O_RDWR);
    if (r >= 0)
        r = WB_CALL(rename)(x->to, x->path);
    if (r < 0)
        return rewrite_failed(x->to, r, "cannot take the place of the old file", err);
    const char *slash = strrchr(x->path, '/');
    (void)snprintf(name, sizeof name, "%.*s", slash ? (int)(slash - x->path) + 1 : 1, slash ? x->path : ".");
    r = sync_path(name, O_RDONLY | O_DIRECTORY);
    return r < 0 && r != -EINVAL ? rewrite_failed(name, r, "a sync failed", err) : 0;
}

static int rewrite_locked(struct rewriting *x, struct upp_err *err)
{
    struct ws_sqlite *s = x->s;
    int r = ws_vfs_init(&s->vfs, NULL, err);
    if (r < 0)
        return r;
    s->vfs.unchecked = true;
    r = ws_conn_open(s, WS_WRITER, &s->writer, err);
    if (r >= 0)
        r = check_old(x, err);
    if (r >= 0)
        r = make_new(x, err);
    if (s->writer.db)
        (void)sqlite3_db_config(s->writer.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL); /* and the WAL goes */
    ws_conn_close(&s->writer);
    ws_vfs_done(&s->vfs);
    if (r >= 0)
        r = check_new(x, err);
    if (r >= 0)
        r = replace_old(x, err);
    if (r < 0)
        (void)WB_CALL(unlink)(x->to);
    return r;
}

WEFT_SUSPENDS static int rewrite_here(void *arg, struct upp_err *err)
{
    struct rewriting *x = arg;
    struct ws_pages pages;
    if ((size_t)snprintf(x->to, sizeof x->to, "%s.rewrite", x->path) >= sizeof x->to)
        return upp_fail(err, UPP_EINVALID, "the path is too long");
    int r = ws_sqlite_check_pages(x->path, &pages, err);
    if (r >= 0)
        r = settle_old(x, err);
    if (r < 0)
        return r;
    x->ret->wrong = pages.wrong;
    x->ret->first = pages.first;
    x->s = wb_calloc(1, sizeof *x->s);
    if (!x->s)
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    x->s->path = (char *)(uintptr_t)x->path;
    x->s->lock_file.fd = -1;
    r = ws_lock_take(x->path, &x->s->lock_file, err);
    if (r >= 0)
        r = rewrite_locked(x, err);
    ws_lock_release(&x->s->lock_file);
    wb_free(x->s);
    return r;
}

WEFT_SUSPENDS int ws_sqlite_rewrite(const char *path, struct ws_rewritten *ret, struct upp_err *err)
{
    struct rewriting x = {.path = path, .ret = ret};
    int result = 0;
    *ret = (struct ws_rewritten){0};
    if (!weft_fiber_self()) /* SQLite needs a larger stack than a fiber has */
        return rewrite_here(&x, err);
    WEFT__SHIELD_FOREVER;
    int r = weft_work(rewrite_here, &x, NULL, &result, err);
    return r < 0 ? r : result;
}
