/* support/disk.h — a disk in memory that loses power.
 *
 * Files for SQLite ("vfs" in its words). What was written and not synced is, at a crash, sector by sector dropped,
 * kept, torn, or as an earlier write left it, drawn from the seed; a file that was never synced may be gone. Handles of
 * before the crash fail from then on. Locks and shared memory are in the process. One thread at a time: for simulated
 * loops.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk;

struct disk *disk_new(uint64_t seed);
void disk_free(struct disk *d);              /* all handles are closed */
const char *disk_name(const struct disk *d); /* for sqlite3_open_v2 and ws_sqlite_opts.vfs */

/* Power is lost, now, or in the middle of the n-th write, truncation or sync from now on (0: never). */
void disk_crash(struct disk *d);
void disk_crash_after(struct disk *d, uint64_t n);
bool disk_crashed(struct disk *d); /* since this was asked last */

/* From now on so many bytes more can be taken by files that grow; then writes fail: the disk is full. */
void disk_room(struct disk *d, uint64_t bytes);

/* The n-th sync from now on fails, once (0: none). */
void disk_fail_sync(struct disk *d, uint64_t n);

/* The n-th read from now on fails, once (0: none). */
void disk_fail_read(struct disk *d, uint64_t n);

/* From now on all writes fail, or none. */
void disk_fail_writes(struct disk *d, bool fail);

/* From now on syncs say that they have succeeded, and do nothing: what a test must notice. */
void disk_lie(struct disk *d, bool lies);

/* A file that is there, with this content, and synced. */
void disk_put(struct disk *d, const char *name, const void *p, size_t n);

/* What a write beside it does to bytes that were synced: nothing; else a torn sector may hold anything. By the seed. */
bool disk_powersafe(const struct disk *d);

uint64_t disk_syncs(const struct disk *d); /* that succeeded, so far, of all files */
uint64_t disk_writes(const struct disk *d);
uint64_t disk_size(const struct disk *d, const char *suffix); /* of the files whose name ends so */
