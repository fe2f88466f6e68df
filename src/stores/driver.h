/* stores/driver.h — a kind of store, as a table of what it can do besides being a store (log/store.h).
 *
 * Whoever opens, examines or repairs a store by its address goes through this table and never asks which kind it is. A
 * kind lacks what is NULL. Each kind defines its own row, in its folder.
 */
#pragma once

#include "log/store.h"

struct ws_backup;
struct ws_salvage;

/* How a store is opened. All zero: the defaults. */
struct ws_open_opts {
    uint32_t size;
    const char *path;   /* what follows the scheme in its address */
    bool read_only;     /* beside the process that owns it; refuses commits */
    bool accept_loss;   /* without what is missing after an unclean stop, and records the loss */
    uint8_t index;      /* enum wl_index: if the store has another kind, the index is dropped and rebuilt */
    uint32_t cache_kib; /* 0: the store's own default */
    uint32_t group_ms;  /* how long a commit waits for others to share its sync; 0: not at all */
};

/* The process that owns a store. */
struct ws_owner_info {
    int pid;          /* 0: unknown (nobody owns it, or its owner is just starting) */
    char socket[108]; /* where it listens for commands, the size of sun_path; empty: unknown */
};

/* What is missing from a store that no process has open: a sentence; empty: nothing. Also the records of accepted
 * losses, one per line. */
struct ws_losses {
    char missing[512];
    struct wb_buf *accepted; /* NULL: not requested */
};

/* Are the pages as they were written? */
struct ws_pages {
    bool summed;       /* they have checksums; otherwise nothing was checked */
    uint64_t n, wrong; /* pages; those with a wrong checksum */
    uint32_t first;    /* the first of these */
    bool index;        /* no table but those of the search index has any of these */
};

/* Rows with a wrong checksum, and what names the first of them. */
struct ws_damage {
    uint64_t n;
    char first[256];
};

struct ws_rewritten {
    uint64_t before, after; /* bytes */
    uint64_t wrong;         /* pages that had a wrong checksum, though all rows are whole: another program wrote them */
    uint32_t first;         /* the first of these */
};

struct ws_driver {
    const char *scheme; /* an address begins with it: "sqlite:" */
    bool durable;       /* what it holds outlives the process, at a path that other processes can open */

    /* -UPP_EBUSY: another process owns it. On a fiber it waits for a worker; elsewhere it blocks. */
    WEFT_SUSPENDS int (*open)(const struct ws_open_opts *opts, struct wl_store **ret, struct upp_err *err);

    /* Of a store of this kind that is open: where its owner listens for commands; empty: nowhere. */
    const char *(*socket)(const struct wl_store *s);
    /* -UPP_ENOTFOUND: nobody owns it. */
    int (*owner)(const char *path, struct ws_owner_info *ret, struct upp_err *err);

    /* Examining; these block. */
    int (*losses)(const char *path, struct ws_losses *ret, struct upp_err *err);
    int (*check_pages)(const char *path, struct ws_pages *ret, struct upp_err *err);
    int (*check_rows)(struct wl_store *s, struct ws_damage *ret, struct upp_err *err); /* reads all of them */
    int (*check_index)(struct wl_store *s, struct upp_err *err); /* reads all of it: is it damaged? */

    /* Writes the store, which no process may have open, anew with checksums of pages, and replaces it. -UPP_ESTORE: it
     * is damaged, and stays as it is. */
    WEFT_SUSPENDS int (*rewrite)(const char *path, struct ws_rewritten *ret, struct upp_err *err);
    WEFT_SUSPENDS int (*backup)(struct ws_backup *b, struct upp_err *err); /* stores/backup.h */
    WEFT_SUSPENDS int (*salvage)(const char *path, const char *folder, struct ws_salvage **ret,
                                 struct upp_err *err); /* stores/salvage.h */
};

extern const struct ws_driver ws_sqlite_driver; /* one file, owned by one process: the default */
extern const struct ws_driver ws_memory_driver; /* for programs that store nothing */

/* The driver whose scheme an address begins with; *path: what follows. NULL: none. */
const struct ws_driver *ws_driver_find(struct upp_str address, struct upp_str *path);
