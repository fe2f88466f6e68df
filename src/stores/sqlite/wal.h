/* stores/sqlite/wal.h — SQLite's write-ahead log as a file (https://www.sqlite.org/fileformat2.html#walformat).
 *
 * A header, then frames: each a page, with a checksum that goes on from that of the frame before. SQLite replays up to
 * the last transaction before the first frame that does not fit, and says nothing of the rest. Here it is known how far
 * that is (ws_wal_scan); and what stands behind a bad frame can still be read (ws_wal_apply), because a frame says what
 * its own checksum is, from which the next one goes on.
 */
#ifndef WS_WAL_H
#define WS_WAL_H

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
    bool          whole; /* its own checksum fits, and it is of pages of our size */
    bool          big;   /* the checksums are over words of that order */
    uint64_t      salt;  /* another one each time the log begins anew */
    struct ws_sum sum;
};

struct ws_frame {
    uint32_t      page;
    uint32_t      size; /* of the database in pages, where it ends a transaction; else 0 */
    uint64_t      salt;
    struct ws_sum sum;
};

struct ws_wal_head ws_wal_head(const unsigned char p[WS_WAL_HEAD]);
struct ws_frame    ws_frame_head(const unsigned char p[WS_FRAME_HEAD]);

/* Of a frame that holds this page, after a frame with the checksum `before`. */
struct ws_sum ws_frame_sum(struct ws_sum before, const struct ws_frame *f, const unsigned char page[WS_WAL_PAGE],
                           bool big);

/* The number of the frame that begins there, from 1 on; 0: none does. */
uint32_t ws_frame_number(int64_t at);

struct ws_wal_state {
    bool               exists;
    uint64_t           there; /* frames that fit into the file, good or not */
    struct ws_wal_head head;
    uint32_t           frames, transactions; /* what SQLite replays */
    struct ws_sum      sum;                  /* of the last of those frames; of the header where there is none */
    bool               holds;                /* the frame that was asked for is among them, with that checksum */
};

/* Blocks, as all here. That there is no such file is no failure. */
int ws_wal_scan(const char *path, uint32_t frame, struct ws_sum sum, struct ws_wal_state *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* What is known of a log from elsewhere. */
struct ws_wal_hint {
    uint64_t      salt;   /* 0: what its header says */
    struct ws_sum head;   /* the header's checksum */
    uint32_t      frames; /* how many it must hold; 0: not known, the last transaction that is whole counts */
    uint32_t      moved;  /* up to this one the database has them */
};

struct ws_wal_applied {
    uint32_t frames; /* it should have been */
    uint32_t bad;    /* that could not be read, or are not there */
    uint32_t lost;   /* of those: what they said is nowhere else */
};

/* Writes the pages of all frames that are whole into the database at `db`, also those behind a bad one. */
int ws_wal_apply(const char *path, const char *db, const struct ws_wal_hint *hint, struct ws_wal_applied *ret,
                 struct upp_err *err) UPP_MUST_CHECK;

/* Until n bytes are read or the file ends: how many, or a negative errno. */
int64_t ws_pread(int fd, void *p, size_t n, int64_t at);

#endif
