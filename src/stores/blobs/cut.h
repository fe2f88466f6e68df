/* stores/blobs/cut.h — a row and the long values that are cut out of its body.
 *
 * A cut row has WL_FORMAT_CUT in its format, and its body begins with a list of the cut values: position in the whole
 * body, length, and key of the blob. The list is separate from the text, so nothing a user writes can look like it.
 *
 *     1 byte   1, the version of this list
 *     1 byte   WS_CUT_TAPE, WS_CUT_NO_BODY
 *     4 bytes  number of values (if the tape is cut, it is the last one)
 *     4 bytes  length of the whole body
 *     40 bytes for each: position, length, key
 *     ...      the body without them
 *
 * Numbers are little-endian. A cut value is the content of a JSON string, as spelled there, or a whole tape.
 */
#pragma once

#include "log/store.h"

enum { WS_CUT_TAPE = 1, WS_CUT_NO_BODY = 2 };
/* A row of which more than this would stay is not cut: readers have memory for one such row and little more. */
enum { WS_CUT_REST = 4 << 20 };

struct ws_cut {
    uint32_t at;          /* position in the whole body */
    bool repeated;        /* an earlier value of the row is the same */
    struct upp_str bytes; /* when cutting: from the given row; when reading: only its length */
    struct wl_blob_key key;
};

struct ws_cut_row {
    struct wl_row row; /* as it is stored */
    unsigned flags;
    struct ws_cut *p;    /* ordered by position */
    size_t n, keys;      /* values, and distinct ones */
    uint32_t whole;      /* bytes of the whole body */
    struct upp_str rest; /* the body without the values */
};

/* Cuts out every value of `min` bytes or more, with at most max_keys distinct ones; further values stay. n is 0 if
 * there is none: then the row is unchanged. Texts point into the given row and the arena. Slow for long rows. */
int ws_cut(const struct wl_row *row, size_t min, size_t max_keys, struct wb_arena *a, struct ws_cut_row *ret,
           struct upp_err *err) UPP_MUST_CHECK;

/* Reads the list of a stored row that is cut. -UPP_ESTORE: the list is invalid. */
int ws_cut_read(const struct wl_row *row, struct wb_arena *a, struct ws_cut_row *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Bytes of a stored row, body and tape, after restoring it; unchanged if it is not cut. */
size_t ws_cut_size(const struct wl_row *row);

int ws_sha256(struct upp_str bytes, struct wl_blob_key *ret, struct upp_err *err) UPP_MUST_CHECK;
