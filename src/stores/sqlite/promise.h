/* stores/sqlite/promise.h — the record of what the WAL must hold when the store is opened next.
 *
 * SQLite treats a truncated, damaged or deleted WAL as one that was never longer. So the owner of a database keeps a
 * record in a page of FILE.lock: which WAL it is, how many of its frames are acknowledged, and checksums to recognise
 * them. The page is mapped: a commit costs a few stores to memory, no system call and no sync; the kernel retains it
 * when the process dies. After a reboot (another boot id) only what the record marks as synced is required.
 *
 * Two slots are written in turn, each with a number and a checksum: a process that dies while it writes one leaves the
 * other intact. A frame is recorded after it was written and before the commit is acknowledged. A restart, truncation
 * or deletion of the WAL is recorded before it happens: SQLite does these only when the database has all of it.
 */
#pragma once

#include <stdatomic.h>

#include "stores/sqlite/wal.h"

/* A page as the last transaction wrote it: shows whether the database has it without the WAL. */
struct ws_proof {
    uint32_t page, size;
    struct ws_sum before, sum;
};

enum { WS_PROOFS = 8 };

/* A slot. */
struct ws_record {
    char magic[8];
    uint64_t number; /* the slot with the higher number counts */
    char boot[40];
    uint64_t lock_inode, inode; /* inodes of FILE.lock and FILE */
    uint32_t id;                /* of the database: its user_version; 0: unknown */
    uint32_t clean;             /* it was closed, and there is no WAL */
    uint64_t salt;
    struct ws_sum head;                    /* the checksum of the WAL's header */
    uint32_t frames, synced, transactions; /* frames and transactions acknowledged; frames synced */
    struct ws_sum sum;                     /* checksum of the last frame */
    int64_t row, synced_row;               /* the newest row of the table `log` */
    struct ws_proof proofs[WS_PROOFS];
    uint32_t n_proofs;
    struct ws_proof top; /* the highest page of this WAL: the last one that a checkpoint writes */
    uint64_t check;
};

/* What FILE.lock holds after the owner's text. */
struct ws_promise_page {
    union {
        struct ws_record r;
        char room[1024];
    } slots[2];
    _Atomic uint32_t checkpointing; /* checkpoints in progress: the database mixes pages of several transactions */
    _Atomic uint32_t failed;        /* or some that ended like that, since a checkpoint of the whole WAL */
    _Atomic uint64_t checkpointed;  /* checkpointed up to this frame; upper 32 bits: of which WAL */
};

/* Checking, before SQLite opens the file. */

struct ws_promise_look {
    bool looked;
    bool known; /* there is a record, and it is of this database */
    bool same_boot;
    struct ws_record record;
    struct ws_wal_state wal;
    uint32_t needed; /* frames that this WAL must hold because the database does not have them */
    uint32_t checkpointed;
    bool checkpointing;

    bool bad;      /* something is missing or damaged: */
    bool aside;    /* nothing of the WAL may be replayed */
    bool database; /* it is the database that is missing */
    int64_t row;   /* the database must have this row; 0: unknown */
    char why[320];
    char aside_suffix[40]; /* suffix of the name under which the WAL was set aside */
};

/* Is it the first time that the database is opened where it is, without a WAL? (A start that was refused leaves a
 * record, but not of which database.) */
static inline bool ws_promise_is_new_here(const struct ws_promise_look *x)
{
    return x->looked && !x->bad && (!x->known || !x->record.inode) && !x->wal.frames;
}

/* lock: the descriptor of FILE.lock, or -1: then there is no record. Blocks. */
int ws_promise_look(const char *path, int lock, struct ws_promise_look *ret, struct upp_err *err) UPP_MUST_CHECK;

struct ws_promise {
    struct ws_promise_page *map; /* NULL: there is no record */
    int fd;
    struct ws_record now;  /* as last written to a slot */
    struct ws_record next; /* of what is being written: takes effect once the transaction is acknowledged */
    uint32_t last;         /* the last frame written, and its checksum */
    struct ws_sum last_sum;
    _Atomic uint32_t tag; /* identifies the present WAL: derived from its salt */
    bool was_clean;       /* when the store was opened */
    int64_t watched_ms;
    bool lost; /* the page is only in memory: somebody has truncated the file */
};

/* Continues from what was found. If there is no room for the page, goes on without a record and logs a warning. */
void ws_promise_open(struct ws_promise *p, const char *path, int lock, const struct ws_promise_look *from);
void ws_promise_is(struct ws_promise *p, uint64_t inode, uint32_t id); /* identifies the database */
void ws_promise_close(struct ws_promise *p, bool clean);

/* What SQLite is about to write to the WAL. */
void ws_promise_write(struct ws_promise *p, const void *bytes, int n, int64_t at);
void ws_promise_none(struct ws_promise *p); /* the WAL is emptied or deleted */

/* Acknowledges what was written last; `synced`: it is on disk, with everything before it. */
void ws_promise_acknowledge(struct ws_promise *p, int64_t row, bool synced);
void ws_promise_synced(struct ws_promise *p);

/* Begin and end of a checkpoint, of several possible at a time; frames: checkpointed up to that one (-1: none, or
 * unknown). From any thread. */
uint32_t ws_promise_checkpoint_begin(struct ws_promise *p);
void ws_promise_checkpoint_end(struct ws_promise *p, uint32_t tag, int frames);
void ws_promise_checkpoint_failed(struct ws_promise *p); /* instead of the end */
void ws_promise_checkpointed(struct ws_promise *p);      /* the WAL was emptied: those that failed do not count */

/* A mapped page of a truncated lock file cannot be written to: then goes on without a record. Checks at most once a
 * second. */
void ws_promise_watch(struct ws_promise *p, int64_t now_ms);
