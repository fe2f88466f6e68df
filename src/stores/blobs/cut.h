/* stores/blobs/cut.h — a row and the long values that are cut out of its body.
 *
 * A cut row has WL_FORMAT_CUT in its format, and its body begins with a list: where in the whole body a value stood,
 * how long it is, and the key of its blob. The list is beside the text, not in it: nothing a user writes can look like
 * it.
 *
 *     1 byte   1, the version of this list
 *     1 byte   WS_CUT_TAPE, WS_CUT_NO_BODY
 *     4 bytes  how many values (of the tape, where it is cut, the last one)
 *     4 bytes  length of the whole body
 *     40 bytes for each: where, length, key
 *     ...      the body without them
 *
 * Numbers are little-endian. What is cut is the inside of a JSON string, as it is written there, and a tape as a whole.
 */
#ifndef WS_BLOB_CUT_H
#define WS_BLOB_CUT_H

#include "log/store.h"

enum { WS_CUT_TAPE = 1, WS_CUT_NO_BODY = 2 };
/* A row of which more than this would stay is not cut: who reads it has room for it once, and little more. */
enum { WS_CUT_REST = 4 << 20 };

struct ws_cut {
    uint32_t           at;    /* in the whole body */
    bool               again; /* the row has it before this one */
    struct upp_str     bytes; /* of the row as it was given; in one that was read its length alone */
    struct wl_blob_key key;
};

struct ws_cut_row {
    struct wl_row  row; /* as it is stored */
    unsigned       flags;
    struct ws_cut *p;       /* in the order of the body */
    size_t         n, keys; /* values, and different ones */
    uint32_t       whole;   /* bytes of the body */
    struct upp_str rest;    /* of the body */
};

/* Cuts every value of `min` bytes and more out, but of at most max_keys different ones; those beyond stay. n is 0 where
 * there is none: the row is as it was given. Texts point into the given row and the arena. Takes long for long rows. */
int ws_cut(const struct wl_row *row, size_t min, size_t max_keys, struct wb_arena *a, struct ws_cut_row *ret,
           struct upp_err *err) UPP_MUST_CHECK;

/* Reads the list of a stored row that is cut. -UPP_ESTORE: it is none. */
int ws_cut_read(const struct wl_row *row, struct wb_arena *a, struct ws_cut_row *ret,
                struct upp_err *err) UPP_MUST_CHECK;

/* Bytes of a stored row, body and tape, when it is whole again; as they are where it is not cut. */
size_t ws_cut_size(const struct wl_row *row);

int ws_sha256(struct upp_str bytes, struct wl_blob_key *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
