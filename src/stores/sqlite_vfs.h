/* stores/sqlite_vfs.h — the files of one store: SQLite's own, but synced through the hook table, and counted.
 *
 * SQLite's table of system calls has no row for fsync. Each store puts a thin layer of its own over another set of
 * files (the system's, or a test's): everything passes through but xSync. When a sync fails the layer remembers it for
 * good: what the kernel does with the pages then is not known, and a second sync that succeeds says nothing.
 */
#ifndef WS_SQLITE_VFS_H
#define WS_SQLITE_VFS_H

#include <sqlite3.h>
#include <stdatomic.h>
#include <upp/base.h>

struct ws_vfs {
    sqlite3_vfs      vfs; /* registered under `name` */
    sqlite3_vfs     *base;
    char             name[32];
    bool             hooks;     /* files are the system's: sync through the hook table where the descriptor is known */
    _Atomic uint64_t wal_syncs; /* that succeeded */
    _Atomic bool     sync_failed; /* some sync, at some time */
};

/* base: its name; NULL: the system's. The struct must stay where it is until ws_vfs_done. */
int  ws_vfs_init(struct ws_vfs *v, const char *base, struct upp_err *err) UPP_MUST_CHECK;
void ws_vfs_done(struct ws_vfs *v);

#endif
