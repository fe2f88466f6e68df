/* stores/backup.h — a verified copy of a database as it was at one moment, while others write to it.
 *
 * VACUUM INTO reads one snapshot, through our own VFS. The copy has another name (FILE.partial-PID) until every page,
 * every row and every blob of it is verified and on disk; then it is renamed. Whatever ends a backup before that leaves
 * nothing, but for a SIGKILL, whose remains the next backup to the same name removes.
 *
 * Restoring is the same with another target: a store that is empty, and locked meanwhile.
 */
#pragma once

#include <pthread.h>
#include <upp/base.h>
#include <weft/fiber.h>

enum ws_backup_stage { WS_BACKUP_COPIES /* bytes */, WS_BACKUP_CHECKS /* rows */ };

struct ws_backup_counts {
    uint64_t bytes, rows, threads, runs, blobs;
    bool sealed; /* of no use without its master key */
};

struct ws_backup {
    const char *from, *to;
    bool replace; /* `to` may be a file that exists */
    bool restore; /* `to` is the database of an empty store, or does not exist */

    /* Called by the worker; all: an estimate of the bytes, or the rows. */
    void (*progress)(void *arg, enum ws_backup_stage stage, uint64_t done, uint64_t all);
    void *arg;

    struct ws_backup_counts counts; /* the result */

    /* Private. */
    pthread_mutex_t lock; /* protects the next two */
    void *running;        /* what the driver stops */
    bool stopped;
};

/* Sets up what is above as far as it is not the caller's. */
void ws_backup_init(struct ws_backup *b);
void ws_backup_done(struct ws_backup *b);

/* From any thread: ends it soon. */
void ws_backup_stop(struct ws_backup *b);
