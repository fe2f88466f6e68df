/* stores/sqlite/vfs.c — the VFS of a store: syncs, checksums of pages, zeros in their gaps. */
#include "stores/sqlite/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/file.h"
#include "base/hooks.h"
#include "stores/sqlite/gap.h"
#include "stores/sqlite/hooks.h"
#include "stores/sqlite/page.h"

enum { TRIES = 100 };

enum sums { SUMS_UNKNOWN, SUMS_NONE, SUMS_ALL };

struct file {
    sqlite3_file base; /* our methods; must be first */
    struct ws_vfs *v;
    const char *path; /* SQLite keeps it as long as the file is open; NULL: a temporary file */
    int fd;           /* as the open hook returned it; -1: unknown */
    bool wal, new;    /* new: its directory entry may not be on disk yet */
    bool database;
    struct file *of;        /* the database that the pages of this file are of; NULL: it has no pages */
    enum sums sums;         /* of the pages of a database */
    uint32_t damaged;       /* a page of it that was read and is not whole; 0: none */
    uint32_t frame;         /* of a WAL: the page that its last header announced, */
    sqlite3_int64 frame_at; /* and where it begins */
    sqlite3_file *below;
};

static struct file *file(sqlite3_file *f)
{
    return (struct file *)(void *)f;
}

static sqlite3_file *below(sqlite3_file *f)
{
    return file(f)->below;
}

/* ---- Files that must stay in place -------------------------------------------------------------------- */

static void watch(struct ws_watched *w, const struct file *f)
{
    struct stat st;
    if (w->path || !f->path || !f->v->hooks || (f->fd >= 0 ? fstat(f->fd, &st) : stat(f->path, &st)) != 0)
        return;
    *w = (struct ws_watched){f->path, st.st_dev, st.st_ino};
}

static bool is_in_place(const struct ws_watched *w)
{
    struct stat st;
    if (!w->path)
        return true;
    if (stat(w->path, &st) != 0)
        return errno != ENOENT && errno != ENOTDIR; /* any other error proves nothing */
    return st.st_dev == w->device && st.st_ino == w->inode && st.st_nlink;
}

bool ws_vfs_watch(struct ws_vfs *v, bool now)
{
    enum { EVERY_MS = 1000 };
    uint64_t t = wb_mono_ms();
    if (!now && t - atomic_load(&v->watched_ms) < EVERY_MS)
        return !atomic_load(&v->gone);
    atomic_store(&v->watched_ms, t);
    int gone = !is_in_place(&v->database) ? WS_GONE_DATABASE : !is_in_place(&v->wal_file) ? WS_GONE_WAL : WS_GONE_NONE;
    if (gone && !atomic_load(&v->gone))
        atomic_store(&v->gone, gone);
    if (atomic_load(&v->gone))
        atomic_store(&v->sync_failed, true);
    return !atomic_load(&v->gone);
}

/* ---- Syncing --------------------------------------------------------------------------------------- */

static int sync_fd(int fd)
{
    int r = -EINTR;
    for (int i = 0; i < TRIES && r == -EINTR; i++)
        r = WB_CALL(sync)(fd);
    return r;
}

/* Some network file systems sync directory entries at once and refuse fsync on them. */
static int sync_folder(const char *path)
{
    char name[1024]; /* SQLite itself accepts paths of up to 512 bytes */
    const char *slash = strrchr(path, '/');
    int n = !slash          ? snprintf(name, sizeof name, ".")
            : slash == path ? snprintf(name, sizeof name, "/")
                            : snprintf(name, sizeof name, "%.*s", (int)(slash - path), path);
    if (n < 0 || (size_t)n >= sizeof name)
        return -ENAMETOOLONG;
    WB_CLEANUP(wb_fd_close) int fd = -EINTR;
    for (int i = 0; i < TRIES && fd == -EINTR; i++)
        fd = WB_CALL(open)(name, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (fd < 0)
        return fd;
    int r = sync_fd(fd);
    return r == -EINVAL ? 0 : r;
}

static int f_sync(sqlite3_file *s, int flags)
{
    struct file *f = file(s);
    int rc = SQLITE_OK;
    if (!ws_vfs_watch(f->v, false))
        rc = SQLITE_IOERR_FSYNC;
    else if (f->fd < 0)
        rc = f->below->pMethods->xSync(f->below, flags);
    else if (sync_fd(f->fd) < 0)
        rc = SQLITE_IOERR_FSYNC;
    else if (f->new && f->path && sync_folder(f->path) < 0)
        rc = SQLITE_IOERR_DIR_FSYNC;
    if (rc == SQLITE_OK)
        f->new = false;
    else
        atomic_store(&f->v->sync_failed, true);
    if (rc == SQLITE_OK && f->wal)
        (void)atomic_fetch_add(&f->v->wal_syncs, 1);
    return rc;
}

/* ---- A full disk ----------------------------------------------------------------------------------- */

/* SQLite maps only ENOSPC to SQLITE_FULL, and only for writes: not quotas, not file size limits, not the WAL's shared
 * memory, which is a file too. */
static int full_or(int rc)
{
    return (rc & 0xff) == SQLITE_IOERR && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) ? SQLITE_FULL : rc;
}

static struct ws_promise *promise(sqlite3_file *f)
{
    return file(f)->wal ? file(f)->v->promise : NULL;
}

/* Whether the unallocated space of pages is filled with zeros. A database that has become too large stays so until it
 * is opened again. */
static bool zeroes_gaps(sqlite3_file *f, const void *p, sqlite3_int64 at)
{
    unsigned char first[WS_PAGE_HEAD];
    _Atomic int *gaps = &file(f)->v->gaps;
    if (atomic_load(gaps) == WS_GAPS_LEFT)
        return false;
    if (at == 0) /* it comes first in every checkpoint that makes the database larger */
        memcpy(first, p, sizeof first);
    else if (atomic_load(gaps) == WS_GAPS_ZEROED)
        return true;
    else if (below(f)->pMethods->xRead(below(f), first, sizeof first, 0) != SQLITE_OK)
        return false;
    atomic_store(&file(f)->v->reserved, (int)ws_page_reserved(first));
    atomic_store(gaps, ws_page_gaps(first) ? WS_GAPS_ZEROED : WS_GAPS_LEFT);
    return atomic_load(gaps) == WS_GAPS_ZEROED;
}

/* ---- Pages ------------------------------------------------------------------------------------------ */

/* Do the pages of this file have sums? As its database's first page says: before there is one, new ones get some. */
static int has_sums(sqlite3_file *s, bool *ret)
{
    struct file *db = file(s)->of;
    *ret = db && db->sums == SUMS_ALL;
    if (!db || db->sums != SUMS_UNKNOWN)
        return SQLITE_OK;
    unsigned char *first = sqlite3_malloc(WS_PAGE);
    if (!first)
        return SQLITE_IOERR_NOMEM;
    static const unsigned char nothing[WS_PAGE_HEAD];
    int rc = db->below->pMethods->xRead(db->below, first, WS_PAGE, 0);
    bool none = rc == SQLITE_IOERR_SHORT_READ || (rc == SQLITE_OK && memcmp(first, nothing, sizeof nothing) == 0);
    if (rc == SQLITE_OK && !none)
        db->sums = ws_page_has_sums(first) ? SUMS_ALL : SUMS_NONE;
    if (db->sums == SUMS_ALL) /* then so has what VACUUM INTO makes of it */
        atomic_store(&db->v->sums, true);
    *ret = none ? db->v->sums : db->sums == SUMS_ALL;
    sqlite3_free(first);
    return rc == SQLITE_IOERR_SHORT_READ ? SQLITE_OK : rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
}

/* How far into a page of the WAL this is; -1: it is in no page. */
static int in_frame(sqlite3_int64 at)
{
    int k = (int)((at - WS_WAL_HEAD) % WS_FRAME) - WS_FRAME_HEAD;
    return at < WS_WAL_HEAD ? -1 : k;
}

static uint32_t u32_at(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The page in the frame whose page begins at `at`; 0: unknown. */
static uint32_t frame_page(sqlite3_file *f, sqlite3_int64 at)
{
    unsigned char number[4];
    if (file(f)->frame_at == at)
        return file(f)->frame;
    int rc = below(f)->pMethods->xRead(below(f), number, sizeof number, at - WS_FRAME_HEAD);
    return rc == SQLITE_OK ? u32_at(number) : 0;
}

/* A page as SQLite wants it: checked, and with zeros in the reserved bytes. */
static int take_page(sqlite3_file *f, unsigned char *page, int n, sqlite3_int64 at)
{
    bool sums;
    uint32_t number = file(f)->wal ? 0 : (uint32_t)(at / WS_PAGE + 1);
    int rc = has_sums(f, &sums);
    if (rc != SQLITE_OK || !sums)
        return rc;
    if (n != WS_PAGE) { /* the first page told SQLite another size */
        file(f)->of->damaged = 1;
        return SQLITE_CORRUPT;
    }
    if (!file(f)->v->unchecked && !ws_page_holds(page, number)) {
        if (file(f)->wal && file(f)->v->passes_damage) {
            ws_page_spoil(page);
            return SQLITE_OK;
        }
        file(f)->of->damaged = number ? number : frame_page(f, at);
        return SQLITE_CORRUPT;
    }
    memset(page + WS_PAGE_BODY, 0, WS_PAGE_TAIL);
    return SQLITE_OK;
}

/* Newer SQLite reads overflow pages past its cache, and of each only what the row has there: the check needs all of it.
 */
static int read_part(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    unsigned char *page = sqlite3_malloc(WS_PAGE);
    if (!page)
        return SQLITE_IOERR_NOMEM;
    int rc = below(f)->pMethods->xRead(below(f), page, WS_PAGE, at);
    if (rc == SQLITE_OK)
        rc = take_page(f, page, WS_PAGE, at);
    if (rc == SQLITE_OK)
        memcpy(p, page, (size_t)n);
    sqlite3_free(page);
    return rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
}

/* The system's files call some errors of a read (EIO) a corrupt file system, and SQLite makes damage of that. But what
 * could not be read is not damaged: the next read may succeed. */
static int f_Read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    bool sums = false;
    int rc = SQLITE_OK;
    if (file(f)->database && n < WS_PAGE && at >= WS_PAGE && at % WS_PAGE == 0)
        rc = has_sums(f, &sums);
    if (rc == SQLITE_OK && sums)
        return read_part(f, p, n, at);
    if (rc == SQLITE_OK)
        rc = below(f)->pMethods->xRead(below(f), p, n, at);
    if (rc != SQLITE_OK)
        return rc == SQLITE_IOERR_CORRUPTFS ? SQLITE_IOERR_READ : rc;
    if (n < 512 || !file(f)->of || (file(f)->wal && in_frame(at) != 0)) /* no page */
        return SQLITE_OK;
    return take_page(f, p, n, at);
}

/* Pages reach the database in checkpoints: there, rows that were moved and then erased leave nothing behind. */
static int write_page(sqlite3_file *f, const void *p, sqlite3_int64 at, bool *done)
{
    size_t from = 0, n = 0;
    *done = false;
    if (file(f)->v->passes_damage && ws_page_is_spoilt(p))
        return SQLITE_OK;
    bool sums, gap = zeroes_gaps(f, p, at) &&
                     ws_page_gap(p, (uint64_t)at / WS_PAGE + 1, (size_t)atomic_load(&file(f)->v->reserved), &from, &n);
    int rc = has_sums(f, &sums);
    sums = sums && (at != 0 || ws_page_reserves(p));
    *done = rc == SQLITE_OK && (gap || sums);
    if (!*done)
        return rc;
    unsigned char *page = sqlite3_malloc(WS_PAGE);
    if (!page)
        return SQLITE_IOERR_NOMEM;
    memcpy(page, p, WS_PAGE);
    memset(page + from, 0, n);
    if (sums)
        ws_page_stamp(page, (uint32_t)(at / WS_PAGE + 1));
    errno = 0;
    rc = full_or(below(f)->pMethods->xWrite(below(f), page, WS_PAGE, at));
    sqlite3_free(page);
    return rc;
}

static int write_below(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    errno = 0;
    return full_or(below(f)->pMethods->xWrite(below(f), p, n, at));
}

/* SQLite's page gets its tail while it is written, which saves a copy: the buffer is SQLite's own, of this connection,
 * and nothing else looks at it. On disks whose sectors may tear SQLite writes a page in two pieces, with a sync between
 * them: the tail is made with the first, whose buffer is the whole page, and taken away after the last. */
static int write_frame(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    int k = in_frame(at);
    unsigned char *page = (unsigned char *)(uintptr_t)p - k;
    bool sums;
    int rc = has_sums(f, &sums);
    if (rc != SQLITE_OK)
        return rc;
    if (sums && k == 0)
        ws_page_stamp(page, frame_page(f, at));
    rc = write_below(f, p, n, at);
    if (sums && (rc != SQLITE_OK || k + n == WS_PAGE))
        memset(page + WS_PAGE_BODY, 0, WS_PAGE_TAIL);
    return rc;
}

static int f_Write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    bool done = false;
    if (promise(f))
        ws_promise_write(promise(f), p, n, at);
    if (file(f)->wal && file(f)->of && in_frame(at) >= 0 && in_frame(at) + n <= WS_PAGE)
        return write_frame(f, p, n, at);
    if (file(f)->wal && n == WS_FRAME_HEAD) {
        file(f)->frame = u32_at(p);
        file(f)->frame_at = at + WS_FRAME_HEAD;
    }
    int rc = file(f)->database && n == WS_PAGE && at % WS_PAGE == 0 ? write_page(f, p, at, &done) : SQLITE_OK;
    return done || rc != SQLITE_OK ? rc : write_below(f, p, n, at);
}

static int f_ShmMap(sqlite3_file *f, int page, int size, int extend, void volatile **p)
{
    errno = 0;
    return full_or(below(f)->pMethods->xShmMap(below(f), page, size, extend, p));
}

/* ---- Everything else passes through ---------------------------------------------------------------- */

#define PASS(name, params, args)                                                                                       \
    static int f_##name params                                                                                         \
    {                                                                                                                  \
        return below(f)->pMethods->x##name args;                                                                       \
    }

PASS(FileSize, (sqlite3_file * f, sqlite3_int64 *n), (below(f), n))
PASS(Lock, (sqlite3_file * f, int level), (below(f), level))
PASS(Unlock, (sqlite3_file * f, int level), (below(f), level))
PASS(CheckReservedLock, (sqlite3_file * f, int *held), (below(f), held))
PASS(SectorSize, (sqlite3_file * f), (below(f)))
PASS(DeviceCharacteristics, (sqlite3_file * f), (below(f)))
PASS(ShmLock, (sqlite3_file * f, int at, int n, int flags), (below(f), at, n, flags))
PASS(ShmUnmap, (sqlite3_file * f, int unlink_too), (below(f), unlink_too))

static int f_Truncate(sqlite3_file *f, sqlite3_int64 n)
{
    if (promise(f) && n == 0)
        ws_promise_none(promise(f));
    return below(f)->pMethods->xTruncate(below(f), n);
}

static int f_FileControl(sqlite3_file *f, int op, void *arg)
{
    struct statvfs fs;
    if (op == WS_VFS_DAMAGED && file(f)->database) {
        *(int64_t *)arg = file(f)->damaged;
        file(f)->damaged = 0;
        return SQLITE_OK;
    }
    if (op != WS_VFS_ROOM || !file(f)->v->hooks)
        return below(f)->pMethods->xFileControl(below(f), op, arg);
    if (!file(f)->path || statvfs(file(f)->path, &fs) != 0)
        return SQLITE_NOTFOUND;
    *(int64_t *)arg = (int64_t)WB_MIN((uint64_t)fs.f_bavail * fs.f_frsize, (uint64_t)INT64_MAX);
    return SQLITE_OK;
}

static void f_ShmBarrier(sqlite3_file *f)
{
    below(f)->pMethods->xShmBarrier(below(f));
}

static int f_Close(sqlite3_file *f)
{
    struct ws_watched *w = file(f)->wal ? &file(f)->v->wal_file : &file(f)->v->database;
    if (file(f)->path && w->path == file(f)->path)
        w->path = NULL;
    return below(f)->pMethods->xClose(below(f));
}

#define METHODS(version)                                                                                               \
    {                                                                                                                  \
        version, f_Close, f_Read, f_Write, f_Truncate, f_sync, f_FileSize, f_Lock, f_Unlock, f_CheckReservedLock,      \
            f_FileControl, f_SectorSize, f_DeviceCharacteristics, f_ShmMap, f_ShmLock, f_ShmBarrier, f_ShmUnmap, NULL, \
            NULL                                                                                                       \
    }

/* We support only what the files below support, and no memory-mapped pages (3). */
static const sqlite3_io_methods methods[] = {METHODS(1), METHODS(2)};

static struct ws_vfs *ours(sqlite3_vfs *vfs)
{
    return vfs->pAppData;
}

static int v_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *s, int flags, int *out)
{
    struct ws_vfs *v = ours(vfs);
    struct file *f = file(s);
    memset(f, 0, sizeof *f);
    f->below = (sqlite3_file *)(void *)(f + 1);
    memset(f->below, 0, (size_t)v->base->szOsFile);
    (void)weft__sqlite_opened();
    int rc = v->base->xOpen(v->base, path, f->below, flags, out);
    int fd = weft__sqlite_opened();
    if (!f->below->pMethods)
        return rc;
    f->v = v;
    f->path = path;
    f->fd = v->hooks ? fd : -1;
    f->wal = flags & SQLITE_OPEN_WAL;
    f->database = flags & SQLITE_OPEN_MAIN_DB;
    f->new = flags &SQLITE_OPEN_CREATE;
    if (flags & (SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_DB))
        watch(f->wal ? &v->wal_file : &v->database, f);
    if (f->database)
        f->of = f;
    else if (f->wal)
        f->of = file(sqlite3_database_file_object(path));
    f->base.pMethods = &methods[f->below->pMethods->iVersion >= 2];
    return rc;
}

static int v_delete(sqlite3_vfs *vfs, const char *path, int sync_too)
{
    if (ours(vfs)->promise && wb_str_ends(wb_cstr(path), UPP_STR("-wal")))
        ws_promise_none(ours(vfs)->promise);
    return ours(vfs)->base->xDelete(ours(vfs)->base, path, sync_too);
}

static int v_access(sqlite3_vfs *vfs, const char *path, int flags, int *ret)
{
    return ours(vfs)->base->xAccess(ours(vfs)->base, path, flags, ret);
}

static int v_full_path(sqlite3_vfs *vfs, const char *path, int n, char *ret)
{
    return ours(vfs)->base->xFullPathname(ours(vfs)->base, path, n, ret);
}

static int v_random(sqlite3_vfs *vfs, int n, char *ret)
{
    int64_t got = WB_CALL(random)(ret, (size_t)n); /* to keep a simulated world deterministic */
    return got > 0 ? (int)got : ours(vfs)->base->xRandomness(ours(vfs)->base, n, ret);
}

static int v_sleep(sqlite3_vfs *vfs, int us)
{
    return ours(vfs)->base->xSleep(ours(vfs)->base, us);
}

static int v_time(sqlite3_vfs *vfs, double *ret)
{
    return ours(vfs)->base->xCurrentTime(ours(vfs)->base, ret);
}

static int v_last_error(sqlite3_vfs *vfs, int n, char *ret)
{
    return ours(vfs)->base->xGetLastError ? ours(vfs)->base->xGetLastError(ours(vfs)->base, n, ret) : 0;
}

static int v_time64(sqlite3_vfs *vfs, sqlite3_int64 *ret)
{
    return ours(vfs)->base->xCurrentTimeInt64(ours(vfs)->base, ret);
}

int ws_vfs_init(struct ws_vfs *v, const char *base, struct upp_err *err)
{
    memset(v, 0, sizeof *v);
    sqlite3_vfs *below_us = sqlite3_vfs_find(base ? base : "unix");
    if (!below_us)
        return upp_fail(err, UPP_ENOTFOUND, "SQLite has no files called '%s'", base ? base : "unix");
    (void)snprintf(v->name, sizeof v->name, "weft-%llx", (unsigned long long)(uintptr_t)v);
    v->base = below_us;
    v->hooks = !base;
    v->vfs = (sqlite3_vfs){.iVersion = below_us->iVersion >= 2 ? 2 : 1,
                           .szOsFile = (int)sizeof(struct file) + below_us->szOsFile,
                           .mxPathname = below_us->mxPathname,
                           .zName = v->name,
                           .pAppData = v,
                           .xOpen = v_open,
                           .xDelete = v_delete,
                           .xAccess = v_access,
                           .xFullPathname = v_full_path,
                           .xRandomness = v_random,
                           .xSleep = v_sleep,
                           .xCurrentTime = v_time,
                           .xGetLastError = v_last_error,
                           .xCurrentTimeInt64 = v_time64};
    if (sqlite3_vfs_register(&v->vfs, 0) != SQLITE_OK)
        return upp_fail(err, UPP_ENOMEM, "SQLite does not take our files");
    return 0;
}

void ws_vfs_done(struct ws_vfs *v)
{
    if (v->base)
        (void)sqlite3_vfs_unregister(&v->vfs);
    v->base = NULL;
}
