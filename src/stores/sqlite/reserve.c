/* stores/sqlite/reserve.c — reserved disk space for a full disk.
 *
 * On a full disk runs must still be cancelled and ended, and objects deleted. So there is a file of some size next to
 * the database (FILE-full_disk_reserve) that holds no data. When the disk is full the file is emptied, and only such
 * commits are accepted. When the reserve fits again, with as much free space besides it, the disk no longer counts as
 * full.
 *
 * It is filled with bytes that no file system can compress. If there is no room for the reserve, that is no error: a
 * full disk then refuses everything.
 */
#include "base/hooks.h"
#include "base/log.h"
#include "stores/sqlite/store.h"

#include <stdio.h>
#include <string.h>

enum { PIECE = 64 << 10 };

/* The part after the last '-' may contain no other '-' and no '.': SQLite takes what is before it for the database's
 * name, and gives the file the mode of the database. */
#define NAME        "-full_disk_reserve"
#define NAME_OF_OLD "-reserve"

static const char text[] = "Room that weft keeps for a full disk, so that runs can still be cancelled and ended, and"
                           " things be deleted (docs/storage.md). It holds nothing. While no weft has the database"
                           " open it may be deleted; the next start makes it again.\n";

static const sqlite3_io_methods *of(const struct ws_sqlite *s)
{
    return s->reserve.file->pMethods;
}

static int64_t wanted(const struct ws_sqlite *s)
{
    return (int64_t)(s->opts.reserve_kib ? s->opts.reserve_kib : WS_RESERVE_KIB) << 10;
}

static bool open_file(struct ws_sqlite *s)
{
    enum { FLAGS = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_JOURNAL };
    sqlite3_vfs *base = s->vfs.base; /* below our VFS: it is never synced */
    size_t n = strlen(s->path) + sizeof NAME + 1;
    s->reserve.path = wb_calloc(1, n);
    s->reserve.file = wb_calloc(1, (size_t)base->szOsFile);
    if (!s->reserve.path || !s->reserve.file)
        return false;
    (void)snprintf(s->reserve.path, n, "%s" NAME_OF_OLD, s->path);
    (void)base->xDelete(base, s->reserve.path, 0); /* its old name */
    (void)snprintf(s->reserve.path, n, "%s" NAME, s->path);
    int out;
    return base->xOpen(base, s->reserve.path, s->reserve.file, FLAGS, &out) == SQLITE_OK;
}

/* Writes from `from` to `to`; false: there is no room. */
static bool grow(struct ws_sqlite *s, sqlite3_int64 from, sqlite3_int64 to)
{
    char *p = wb_alloc(PIECE);
    uint64_t x = 0x9e3779b97f4a7c15u;
    bool ok = p != NULL;
    for (size_t i = 0; ok && i + 8 <= PIECE; i += 8) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        memcpy(p + i, &x, 8);
    }
    if (ok && from == 0)
        memcpy(p, text, sizeof text - 1);
    for (; ok && from < to; from += PIECE)
        ok = of(s)->xWrite(s->reserve.file, p, (int)WB_MIN(to - from, (sqlite3_int64)PIECE), from) == SQLITE_OK;
    wb_free(p);
    return ok;
}

bool ws_reserve_fill(struct ws_sqlite *s)
{
    sqlite3_int64 is = 0, want = wanted(s);
    if (s->opts.reserve_kib == UINT32_MAX)
        return true;
    if ((!s->reserve.file && !open_file(s)) || !of(s))
        return false;
    if (of(s)->xFileSize(s->reserve.file, &is) != SQLITE_OK)
        return false;
    if (is == want && !s->disk_full)
        return true;
    bool room = grow(s, is < want ? is - is % PIECE : want, s->disk_full ? 2 * want : want);
    bool cut = of(s)->xTruncate(s->reserve.file, room ? want : 0) == SQLITE_OK;
    return room && cut;
}

void ws_reserve_release(struct ws_sqlite *s)
{
    if (s->reserve.file && of(s))
        (void)of(s)->xTruncate(s->reserve.file, 0);
}

void ws_reserve_close(struct ws_sqlite *s)
{
    if (s->reserve.file && of(s))
        (void)of(s)->xClose(s->reserve.file);
    wb_free(s->reserve.file);
    wb_free(s->reserve.path);
    s->reserve.file = NULL;
    s->reserve.path = NULL;
}
