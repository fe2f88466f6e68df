/* stores/sqlite/promise.h — what the write-ahead log must hold when the store is opened next.
 *
 * SQLite takes a log that is cut short, damaged or gone for one that was never longer. So the owner of a database keeps
 * a record beside it, in a page of FILE.lock: which log it is, how many of its frames are acknowledged, and how one
 * knows them. The page is mapped: a commit costs a few stores, no call and no sync; the kernel keeps it when the
 * process dies. When the machine went down (another boot id) it counts only as far as it says what was synced.
 *
 * Two slots are written in turn, each with a number and a checksum: a process that dies while it writes one leaves the
 * other. A frame is promised after it was written and before anybody is told. That the log begins anew, is cut or
 * deleted is written down before it happens: SQLite does that only when the database has all of it.
 */
#ifndef WS_PROMISE_H
#define WS_PROMISE_H

#include <stdatomic.h>

#include "stores/sqlite/wal.h"

/* A page as the last transaction wrote it: whether the database has it can be seen without its log. */
struct ws_proof {
    uint32_t      page, size;
    struct ws_sum before, sum;
};

enum { WS_PROOFS = 8 };

/* A slot. */
struct ws_record {
    char            magic[8];
    uint64_t        number; /* the higher one counts */
    char            boot[40];
    uint64_t        lock_inode, inode; /* of FILE.lock and FILE */
    uint32_t        id;                /* of the database: its user_version; 0: not known */
    uint32_t        clean;             /* it was closed, and there is no log */
    uint64_t        salt;
    struct ws_sum   head;                         /* the checksum of the log's header */
    uint32_t        frames, synced, transactions; /* acknowledged; of those, known to be on the disk */
    struct ws_sum   sum;                          /* of the last frame */
    int64_t         row, synced_row;              /* the newest of the table `log` */
    struct ws_proof proofs[WS_PROOFS];
    uint32_t        n_proofs;
    struct ws_proof top; /* the highest page of this log: the last one that is moved into the database */
    uint64_t        check;
};

/* What FILE.lock holds behind the text of the owner. */
struct ws_promise_page {
    union {
        struct ws_record r;
        char             room[1024];
    } slots[2];
    _Atomic uint32_t moving; /* how many move the log into the database, which holds pages of many times then */
    _Atomic uint64_t moved;  /* up to this frame it has been; above 32 bits: of which log */
};

/* ---- Looking, before SQLite does ----------------------------------------------------------------------------- */

struct ws_promise_look {
    bool                known; /* there is a record, and it is of this database */
    bool                same_boot;
    struct ws_record    record;
    struct ws_wal_state wal;
    uint32_t            needed; /* frames that this log must hold, and the database has not */
    uint32_t            moved;
    bool                moving;

    bool    bad;      /* something is missing, or damaged: */
    bool    aside;    /* nothing of the log may be replayed */
    bool    database; /* it is the database that is missing */
    int64_t row;      /* this one must be in the database; 0: nothing is known */
    char    why[320];
    char    kept[40]; /* how the name ends under which the log was put aside */
};

/* lock: the descriptor of FILE.lock, or -1: then nothing is known. Blocks. */
int ws_promise_look(const char *path, int lock, struct ws_promise_look *ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Keeping it ---------------------------------------------------------------------------------------------- */

struct ws_promise {
    struct ws_promise_page *map; /* NULL: none is kept */
    int                     fd;
    struct ws_record        now;  /* as it was written last */
    struct ws_record        next; /* of what is being written: counts once the transaction is acknowledged */
    uint32_t                last; /* the frame that was written last, and its checksum */
    struct ws_sum           last_sum;
    _Atomic uint32_t        tag;       /* which log it is now: of its salt */
    bool                    was_clean; /* when it was opened */
    int64_t                 watched_ms;
    bool                    lost; /* the page is in memory alone: somebody has cut the file */
};

/* From what was looked at on. Where there is no room for the page it goes without (a warning says so). */
void ws_promise_open(struct ws_promise *p, const char *path, int lock, const struct ws_promise_look *from);
void ws_promise_is(struct ws_promise *p, uint64_t inode, uint32_t id); /* the database */
void ws_promise_close(struct ws_promise *p, bool clean);

/* What SQLite is about to do to the log. */
void ws_promise_write(struct ws_promise *p, const void *bytes, int n, int64_t at);
void ws_promise_none(struct ws_promise *p); /* it is emptied, or deleted */

/* What was written last is acknowledged; `synced`: and on the disk, with all before it. */
void ws_promise_keep(struct ws_promise *p, int64_t row, bool synced);
void ws_promise_synced(struct ws_promise *p);

/* The log is moved into the database by one of several; and has been, up to that frame (-1: nothing was, or nobody
 * knows). Who fails in the middle does not say the second. From any thread. */
uint32_t ws_promise_moving(struct ws_promise *p);
void     ws_promise_moved(struct ws_promise *p, uint32_t tag, int frames);
void     ws_promise_checkpointed(struct ws_promise *p); /* all of it has been, and nobody moves any */

/* The page of a lock file that somebody has cut cannot be written to: it goes without from then on. At most
 * once a second. */
void ws_promise_watch(struct ws_promise *p, int64_t now_ms);

#endif
