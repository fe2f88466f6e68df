/* stores/sqlite/wal.h — SQLite's WAL as a file (https://www.sqlite.org/fileformat2.html#walformat).
 *
 * A header, then frames: each is a page with a checksum that continues from that of the frame before. SQLite replays up
 * to the last transaction before the first bad frame and ignores the rest. ws_wal_scan finds out how far that is;
 * ws_wal_apply also reads what is after a bad frame, because a frame stores its own checksum, from which the next one
 * continues.
 */
#pragma once

#include <upp/base.h>

enum { WS_WAL_HEAD = 32, WS_FRAME_HEAD = 24, WS_WAL_PAGE = 4096, WS_FRAME = WS_FRAME_HEAD + WS_WAL_PAGE };

struct ws_sum {
    uint32_t a, b;
};

static inline bool ws_sum_is(struct ws_sum x, struct ws_sum y)
{
    return x.a == y.a && x.b == y.b;
}

struct ws_wal_head {
    bool whole;    /* its checksum fits, and the page size is ours */
    bool big;      /* the checksums are over big-endian words */
    uint64_t salt; /* changes each time the WAL restarts */
    struct ws_sum sum;
};

struct ws_frame {
    uint32_t page;
    uint32_t size; /* of the database in pages, if the frame ends a transaction; otherwise 0 */
    uint64_t salt;
    struct ws_sum sum;
};

struct ws_wal_head ws_wal_head(const unsigned char p[WS_WAL_HEAD]);
struct ws_frame ws_frame_head(const unsigned char p[WS_FRAME_HEAD]);

/* The checksum of a frame with this page, after a frame with the checksum `before`. */
struct ws_sum ws_frame_sum(struct ws_sum before, const struct ws_frame *f, const unsigned char page[WS_WAL_PAGE],
                           bool big);

/* The number of the frame that begins at this offset, from 1 on; 0: none. */
uint32_t ws_frame_number(int64_t at);

struct ws_wal_state {
    bool exists;
    uint64_t there; /* frames that fit into the file, good or bad */
    struct ws_wal_head head;
    uint32_t frames, transactions; /* what SQLite replays */
    uint32_t pages;                /* of the database after that */
    struct ws_sum sum;             /* of the last of those frames, or of the header */
    bool holds;                    /* the requested frame is among them, with that checksum */
};

/* Blocks, like all functions here. A missing file is no error. */
int ws_wal_scan(const char *path, uint32_t frame, struct ws_sum sum, struct ws_wal_state *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Calls fn with each page that SQLite replays, in order, as ws_wal_scan found them. Ends early where the WAL has
 * changed since. */
typedef void ws_wal_page_fn(void *arg, uint32_t number, const unsigned char page[WS_WAL_PAGE]);
int ws_wal_each(const char *path, const struct ws_wal_state *found, ws_wal_page_fn *fn, void *arg,
                struct upp_err *err) UPP_MUST_CHECK;

/* What is known about a WAL from its record. */
struct ws_wal_hint {
    uint64_t salt;         /* 0: use the one in its header */
    struct ws_sum head;    /* the header's checksum */
    uint32_t frames;       /* how many it must hold; 0: unknown, up to the last complete transaction */
    uint32_t checkpointed; /* the database has the frames up to this one */
};

struct ws_wal_applied {
    uint32_t frames; /* how many there should be */
    uint32_t bad;    /* unreadable or missing */
    uint32_t lost;   /* of those: their content is nowhere else */
};

/* Writes the pages of all good frames into the database at `db`, also those after a bad one. */
int ws_wal_apply(const char *path, const char *db, const struct ws_wal_hint *hint, struct ws_wal_applied *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Reads until n bytes or the end of the file: returns how many, or a negative errno. */
int64_t ws_pread(int fd, void *p, size_t n, int64_t at);
