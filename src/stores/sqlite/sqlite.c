/* stores/sqlite/sqlite.c — opening and closing the SQLite store. */
#include "stores/sqlite/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/file.h"
#include "base/hooks.h"
#include "base/log.h"
#include "base/opts.h"
#include "fiber/loop.h"
#include "stores/sqlite/store.h"

void ws_sqlite_lock(struct ws_sqlite *s)
{
    if (pthread_mutex_lock(&s->lock))
        abort();
}

void ws_sqlite_unlock(struct ws_sqlite *s)
{
    if (pthread_mutex_unlock(&s->lock))
        abort();
}

void ws_sqlite_unref(struct ws_sqlite *s)
{
    if (atomic_fetch_sub(&s->refs, 1) != 1)
        return;
    (void)pthread_cond_destroy(&s->idle);
    (void)pthread_mutex_destroy(&s->lock);
    wb_free(s->path);
    wb_free(s);
}

/* On a worker, or on a thread that may block. */

/* SQLite would create the file readable for all. */
static int touch(struct ws_sqlite *s, struct upp_err *err)
{
    int fd = -EINTR;
    for (int i = 0; i < 100 && fd == -EINTR; i++)
        fd = WB_CALL(open)(s->path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0) {
        int r = wb_fail_sys(err, fd, UPP_ESTORE, "cannot open the database");
        wb_err_where(err, wb_cstr(s->path));
        return r;
    }
    wb_fd_close(&fd);
    return 0;
}

/* The WAL has damaged pages of the search index, or unused ones, which another program wrote. The database gets them as
 * they are: who reads one is told, and then the index is dropped. */
static int checkpoint_damage(struct ws_sqlite *s)
{
    wb_log(WB_WARN, "damaged pages of the search index are left as they are", WB_LZ("path", s->path));
    s->vfs.passes_damage = true;
    int rc = ws_checkpoint(s, &s->writer, SQLITE_CHECKPOINT_TRUNCATE);
    s->vfs.passes_damage = false;
    return rc;
}

/* Checkpoints the WAL that an earlier process left before anything is appended to it: if its last frame was torn, the
 * next one would share a sector with acknowledged frames, and a power loss in the middle of that sector would lose
 * them. A full disk is no reason to refuse: then appending continues after the old WAL. */
static int checkpoint_wal(struct ws_sqlite *s, struct upp_err *err)
{
    int rc = ws_checkpoint(s, &s->writer, SQLITE_CHECKPOINT_TRUNCATE);
    if (rc == SQLITE_CORRUPT && ws_others_are_whole(s, NULL) > 0)
        rc = checkpoint_damage(s);
    if (rc == SQLITE_OK)
        ws_promise_checkpointed(&s->promise);
    if (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED || rc == SQLITE_FULL)
        return 0;
    return ws_sqlite_fail(s, s->writer.db, rc, "moving the log into the database", err);
}

static int open_files(void *arg, struct upp_err *err)
{
    struct ws_sqlite *s = arg;
    int r = ws_vfs_init(&s->vfs, s->opts.vfs, err);
    bool locks = !s->opts.vfs && !s->opts.read_only;
    s->vfs.unchecked = s->opts.unchecked;
    if (r >= 0 && locks)
        r = ws_lock_take(s->path, &s->lock_file, err);
    if (r >= 0 && !s->opts.vfs)
        r = ws_loss_check_files(s, err);
    if (r >= 0 && locks)
        r = touch(s, err);
    if (r >= 0)
        r = ws_conn_open(s, WS_WRITER, &s->writer, err);
    if (r >= 0)
        r = ws_schema_open(s, &s->writer, err);
    if (r >= 0 && !s->opts.vfs)
        r = ws_loss_check_tables(s, err);
    bool taken = r >= 0; /* from here on the file is changed */
    if (r >= 0 && !s->opts.read_only)
        r = checkpoint_wal(s, err);
    if (r >= 0 && locks && (r = ws_loss_record(s, err)) > 0)
        r = checkpoint_wal(s, err);
    if (r >= 0)
        r = ws_index_open(s, err);
    if (r >= 0 && locks && ws_loss_mark(s) > 0)
        r = 1;
    if (r >= 0 && locks && atomic_load(&s->vfs.sync_failed))
        r = ws_poisoned(s, err);
    if (r > 0)
        r = checkpoint_wal(s, err);
    if (r >= 0 && !s->opts.read_only) {
        int64_t strays = 0;
        r = ws_conn_number(s, &s->writer, "SELECT EXISTS(SELECT 1 FROM stray_threads)", &strays, err);
        s->strays = strays != 0;
    }
    if (r >= 0 && !s->opts.read_only) {
        int64_t latest = 0; /* damage of it is found where threads are read: others can be */
        if (ws_conn_number(s, &s->writer, "SELECT max(updated) FROM threads", &latest, NULL) >= 0)
            (void)wl_list_time(&s->store, latest);
    }
    if (r >= 0 && !s->opts.read_only) {
        r = ws_conn_prepare(s, WS_WRITER, &s->writer, err);
        (void)sqlite3_wal_hook(s->writer.db, ws_batch_hook, s);
    }
    if (r >= 0 && !s->opts.read_only && !ws_reserve_fill(s))
        wb_log(WB_WARN, "there is no room for a reserve: on a full disk runs cannot be cancelled",
               WB_LZ("path", s->path));
    ws_loss_done(s, !taken);
    s->open = r >= 0;
    return r;
}

/* The last connection checkpoints the WAL, unless a sync has failed or the store was not opened: then the WAL stays as
 * it is. */
static int close_files(void *arg, struct upp_err *err)
{
    struct ws_sqlite *s = arg;
    bool whole = s->open && !s->broken && !atomic_load(&s->vfs.sync_failed);
    (void)err;
    if (s->writer.db) {
        whole = whole && ws_vfs_watch(&s->vfs, true);
        if (whole && s->lock_file.fd >= 0)
            ws_loss_unmark(s);
        if (whole && !s->opts.read_only)
            whole = ws_batch_sync(s, NULL) >= 0 && !atomic_load(&s->vfs.sync_failed);
        if (whole) {
            (void)sqlite3_db_config(s->writer.db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
            (void)ws_promise_checkpoint_begin(&s->promise);
        }
    }
    ws_readers_close(s);
    ws_conn_close(&s->checkpointer);
    ws_conn_close(&s->writer);
    ws_reserve_close(s);
    ws_vfs_done(&s->vfs);
    ws_promise_close(&s->promise, whole || (!s->open && s->promise.was_clean));
    ws_lock_release(&s->lock_file);
    return 0;
}

/* On a worker if called by a fiber, otherwise right here. */
WEFT_SUSPENDS static int on_worker(weft_fn *fn, struct ws_sqlite *s, struct upp_err *err)
{
    if (!weft_fiber_self())
        return fn(s, err);
    int result = 0;
    WEFT__SHIELD_FOREVER;
    int r = weft_work(fn, s, NULL, &result, err);
    return r < 0 ? r : result;
}

WEFT_SUSPENDS void ws_sqlite_close(struct wl_store *store)
{
    if (!store)
        return;
    struct ws_sqlite *s = ws_sqlite(store);
    ws_writer_stop(s);
    if (on_worker(close_files, s, NULL) < 0)
        (void)close_files(s, NULL); /* no worker available: better here than never */
    ws_sqlite_unref(s);
}

static uint64_t file_bytes(const char *path, const char *suffix)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf name = WB_BUF(64 << 10);
    struct stat st;
    wb_buf_addf(&name, "%s%s", path, suffix);
    wb_buf_addc(&name, 0);
    return !name.failed && stat(name.p, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

struct wl_files ws_sqlite_files(const struct wl_store *store)
{
    const struct ws_sqlite *s = (const struct ws_sqlite *)store;
    return (struct wl_files){.database = file_bytes(s->path, ""), .wal = file_bytes(s->path, "-wal")};
}

WEFT_SUSPENDS int ws_sqlite_open(const struct ws_sqlite_opts *opts, struct wl_store **ret, struct upp_err *err)
{
    struct ws_sqlite_opts o;
    wb_opts(&o, sizeof o, opts);
    if (!o.path || !*o.path)
        return upp_fail(err, UPP_EINVALID, "a database needs a path");
    struct ws_sqlite *s = wb_calloc(1, sizeof *s);
    char *p = wb_alloc(strlen(o.path) + 1);
    if (!s || !p) {
        wb_free(s);
        wb_free(p);
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    }
    if (pthread_mutex_init(&s->lock, NULL) || pthread_cond_init(&s->idle, NULL))
        abort(); /* neither allocates on the systems we know */
    s->path = memcpy(p, o.path, strlen(o.path) + 1);
    s->opts = o;
    s->opts.path = s->path;
    s->store.ops = &ws_sqlite_ops;
    s->refs = 1;
    s->full = true;
    s->lock_file.fd = -1;
    wb_list_init(&s->queue);
    wb_list_init(&s->readers);
    wb_list_init(&s->waiting_reads);
    int r = on_worker(open_files, s, err);
    if (r < 0) {
        if (on_worker(close_files, s, NULL) < 0)
            (void)close_files(s, NULL);
        ws_sqlite_unref(s);
        return r;
    }
    *ret = &s->store;
    return 0;
}

const char *ws_sqlite_socket(const struct wl_store *store)
{
    return ((const struct ws_sqlite *)(const void *)store)->lock_file.mine.socket;
}
