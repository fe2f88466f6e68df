/* stores/sqlite/sqlite.h — a store in one file, owned by one process (docs/storage.md). */
#ifndef WS_SQLITE_H
#define WS_SQLITE_H

#include "log/store.h"
#include "stores/sqlite/lock.h"

struct ws_sqlite_opts {
    uint32_t    size;
    const char *path;
    const char *vfs;       /* files of this name instead of the system's, and no lock file: tests. NULL: the system's */
    bool        read_only; /* takes no lock, and refuses commits; the owner may be at work */
    uint32_t    group_ms;  /* how long a commit waits for company; 0: it does not, commits still share */
    uint32_t    flush_ms;  /* 0: 1000: when at the latest a commit without WL_SYNCED is on disk */
    uint32_t reserve_kib; /* 0: 1024: kept free beside the file for the ends of runs on a full disk; UINT32_MAX: none */
    bool     accept_loss; /* opens it without what is missing of an unclean stop, and writes down that it did */
    uint32_t wal_pages;   /* 0: 4096: from this length on the write-ahead log is moved into the database */
    uint8_t  index;       /* enum wl_index: where the store has another, what it knows is forgotten and learned anew */
};

/* Opens the file, or makes a new one. On a fiber it waits for a worker; elsewhere it blocks.
 * -UPP_EBUSY: another process owns it (ws_lock_read says who). -UPP_EREFUSED: the file is not ours, or from a newer
 * weft. -UPP_ESTORE: it is damaged, something that was acknowledged is missing, or the disk fails. */
WEFT_SUSPENDS int ws_sqlite_open(const struct ws_sqlite_opts *opts, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* What is missing of the database at `path`, which nobody may have open: a sentence; empty: nothing. And when it was
 * opened without: the records of that, a line each. Blocks. */
struct ws_sqlite_losses {
    char           missing[512];
    struct wb_buf *accepted; /* NULL: not asked for */
};
int ws_sqlite_losses(const char *path, struct ws_sqlite_losses *ret, struct upp_err *err) UPP_MUST_CHECK;

/* The socket at which the owner listens for others; empty where there is none (read only, files of a test). */
const char *ws_sqlite_socket(const struct wl_store *s);

#endif
