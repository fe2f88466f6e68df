/* stores/sqlite/sqlite.h — a store in one file, owned by one process (docs/storage.md). */
#pragma once

#include "stores/backup.h"
#include "stores/driver.h"
#include "stores/salvage.h"
#include "stores/sqlite/lock.h"

struct ws_sqlite_opts {
    uint32_t size;
    const char *path;
    const char *vfs;      /* name of the SQLite VFS for the files, without a lock file: tests. NULL: the system's */
    bool read_only;       /* takes no lock, and refuses commits; another process may own the database */
    bool older;           /* read_only: also with the tables of an older version, which only copies can use */
    uint32_t group_ms;    /* how long a commit waits for others to share its sync; 0: not at all */
    uint32_t flush_ms;    /* 0: 1000: a commit without WL_SYNCED is on disk at the latest after this time */
    uint32_t reserve_kib; /* 0: 1024: disk space reserved for ending runs on a full disk; UINT32_MAX: none */
    bool accept_loss;     /* opens it without what is missing after an unclean stop, and records the loss */
    uint32_t wal_pages;   /* 0: 4096: the WAL is checkpointed from this length on */
    uint32_t cache_kib;   /* 0: 16 MiB: the writer's page cache; a connection that reads has an eighth of it */
    uint8_t index;        /* enum wl_index: if the store has another kind, the index is dropped and rebuilt */
    bool unchecked;       /* checksums of pages are not checked: for saving a damaged one, and for rewriting */
};

/* Opens the file, or creates it. On a fiber it waits for a worker; elsewhere it blocks. -UPP_EBUSY: another process
 * owns it (see ws_lock_read). -UPP_EREFUSED: the file is not ours, or from a newer weft. -UPP_ESTORE: it is damaged,
 * acknowledged data is missing, or the disk fails. */
WEFT_SUSPENDS int ws_sqlite_open(const struct ws_sqlite_opts *opts, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* What is missing from the database at `path`, which no process may have open: a sentence; empty: nothing. Also the
 * records of accepted losses, one per line. Blocks. */
int ws_sqlite_losses(const char *path, struct ws_losses *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Reads the whole search index of a store: is it damaged? Blocks. */
int ws_sqlite_check_index(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Are the pages of the database at `path` as they were written? Blocks. */
int ws_sqlite_check_pages(const char *path, struct ws_pages *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Writes the database at `path`, which no process may have open, anew with checksums of pages, and replaces it.
 * -UPP_ESTORE: it is damaged, and stays as it is. On a fiber it waits for a worker; elsewhere it blocks. */
WEFT_SUSPENDS int ws_sqlite_rewrite(const char *path, struct ws_rewritten *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Copies, verifies, renames. On a fiber it waits for a worker. -UPP_ENOTFOUND: there is no `from`. -UPP_EREFUSED: `to`
 * exists, or has data. -UPP_EBUSY: a process owns the store to restore. -UPP_ECANCELED: stopped. -UPP_ESTORE: `from` is
 * damaged, or the disk fails. */
WEFT_SUSPENDS int ws_sqlite_backup(struct ws_backup *b, struct upp_err *err) UPP_MUST_CHECK;

/* -UPP_EBUSY: a process has it open. -UPP_ENOTFOUND: there is no file. If nothing of it can be read, that is no
 * error. */
WEFT_SUSPENDS int ws_sqlite_salvage(const char *path, const char *folder, struct ws_salvage **ret,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* The socket on which the owner listens for commands; empty: none (read-only, or files of a test). */
const char *ws_sqlite_socket(const struct wl_store *s);
