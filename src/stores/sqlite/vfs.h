/* stores/sqlite/vfs.h — a VFS per store: SQLite's own files, but synced through the hook table and counted, and with
 * checksums of pages.
 *
 * SQLite's table of system calls has no entry for fsync. So each store registers a thin VFS over another one (the
 * system's, or a test's): it passes everything through except xSync and a few calls it watches. A failed sync is
 * remembered for good: the kernel may have dropped the pages, and a later successful sync proves nothing.
 *
 * Every page that is written to a database or its WAL gets its sum (page.h), and every page that is read is checked: a
 * wrong one is SQLITE_CORRUPT, and WS_VFS_DAMAGED tells which page. Databases whose pages have none are left as they
 * are. There is no memory-mapped reading, which would bypass this.
 */
#pragma once

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <upp/base.h>

#include "stores/sqlite/promise.h"

/* A file that must stay in place as long as it is open. */
struct ws_watched {
    const char *path; /* NULL: not open */
    dev_t device;
    ino_t inode;
};

enum ws_gone { WS_GONE_NONE, WS_GONE_DATABASE, WS_GONE_WAL };

enum ws_gaps { WS_GAPS_UNKNOWN, WS_GAPS_ZEROED, WS_GAPS_LEFT };

struct ws_vfs {
    sqlite3_vfs vfs; /* registered under `name` */
    sqlite3_vfs *base;
    char name[32];
    bool hooks;                 /* the files are the system's: sync through the hook table if the descriptor is known */
    _Atomic uint64_t wal_syncs; /* successful ones */
    _Atomic bool sync_failed;   /* any sync, ever */

    _Atomic bool sums;  /* a database that is empty gets sums: it reserves bytes for them */
    bool unchecked;     /* pages are not checked when they are read */
    bool passes_damage; /* during a checkpoint: damaged pages of the WAL get into the database, and stay damaged */

    _Atomic int gaps;           /* enum ws_gaps */
    _Atomic int reserved;       /* bytes at the end of pages; known once gaps is */
    struct ws_promise *promise; /* notified of writes to the WAL; NULL: none */
    struct ws_watched database, wal_file;
    _Atomic uint64_t watched_ms; /* when they were last checked */
    _Atomic int gone;            /* enum ws_gone: the file was deleted or replaced; treated like a failed sync */
};

/* File controls (int64_t *) of a database: how many bytes its disk has room for; which of its pages was found damaged
 * last (asked once: then it is 0). */
enum { WS_VFS_ROOM = 0x57454654, WS_VFS_DAMAGED };

/* base: the name of the VFS below; NULL: the system's. The struct must not move until ws_vfs_done. */
int ws_vfs_init(struct ws_vfs *v, const char *base, struct upp_err *err) UPP_MUST_CHECK;
void ws_vfs_done(struct ws_vfs *v);

/* Are the database and its WAL still the files that were opened? Checks at most once a second, unless `now`. */
bool ws_vfs_watch(struct ws_vfs *v, bool now);
