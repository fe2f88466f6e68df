/* stores/sqlite/vfs.h — the files of one store: SQLite's own, but synced through the hook table, and counted.
 *
 * SQLite's table of system calls has no row for fsync. Each store puts a thin layer of its own over another set of
 * files (the system's, or a test's): everything passes through but xSync. When a sync fails the layer remembers it for
 * good: what the kernel does with the pages then is not known, and a second sync that succeeds says nothing.
 */
#ifndef WS_SQLITE_VFS_H
#define WS_SQLITE_VFS_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <upp/base.h>

#include "stores/sqlite/promise.h"

/* A file that must stay where it is as long as it is open. */
struct ws_watched {
    const char *path; /* NULL: it is not open */
    dev_t       device;
    ino_t       inode;
};

enum ws_gone { WS_GONE_NONE, WS_GONE_DATABASE, WS_GONE_LOG };

struct ws_vfs {
    sqlite3_vfs      vfs; /* registered under `name` */
    sqlite3_vfs     *base;
    char             name[32];
    bool             hooks;     /* files are the system's: sync through the hook table where the descriptor is known */
    _Atomic uint64_t wal_syncs; /* that succeeded */
    _Atomic bool     sync_failed; /* some sync, at some time */

    struct ws_promise *promise; /* told what is done to the log; NULL: nobody is */
    struct ws_watched  database, log;
    _Atomic uint64_t   watched_ms; /* when they were last looked at */
    _Atomic int        gone;       /* enum ws_gone: it was deleted, or another file is in its place; as a failed sync */
};

/* base: its name; NULL: the system's. The struct must stay where it is until ws_vfs_done. */
int  ws_vfs_init(struct ws_vfs *v, const char *base, struct upp_err *err) UPP_MUST_CHECK;
void ws_vfs_done(struct ws_vfs *v);

/* Are the database and its log still where they were opened? At most once a second, unless it must be now. */
bool ws_vfs_watch(struct ws_vfs *v, bool now);

#endif
