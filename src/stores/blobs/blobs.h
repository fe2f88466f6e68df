/* stores/blobs/blobs.h — a store that keeps large values once.
 *
 * Stands in front of any store. A row of less than 16 KiB goes through untouched. In a longer one every JSON string of
 * 16 KiB or more is cut out of the body and kept as a blob, once for each tenant, under the SHA-256 of its bytes; the
 * row says where to put it back. Whoever reads gets the row as it was written.
 *
 * Files are blobs too: written and read piece by piece, never whole in memory.
 */
#ifndef WS_BLOBS_H
#define WS_BLOBS_H

#include "log/store.h"

enum { WS_BLOB_MIN = 16 << 10 };
#define WS_FILE_MAX (UINT64_C(512) << 20)
#define WS_LOOSE_MS INT64_C(3600000) /* what nothing refers to is kept that long */

/* Takes the inner store over, also where it fails. What it counts is commits, rows and bytes as they were given. */
WEFT_SUSPENDS int ws_blobs_open(struct wl_store *inner, struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

/* ---- Files --------------------------------------------------------------------------------------------- */

/* Of any store, at most `max` bytes (0: WS_FILE_MAX). It is read with the store's `piece`. One that fails can only be
 * closed; the store and the owner's texts must outlive it. */
struct ws_file_writer;
int               ws_file_open(struct wl_store *s, const struct wl_owner *o, uint64_t max, struct ws_file_writer **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_file_write(struct ws_file_writer *f, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;
/* The file is there from now on, as the blob *key, for as long as the thing with this id refers to it. */
WEFT_SUSPENDS int ws_file_end(struct ws_file_writer *f, struct wb_uuid id, struct wl_blob_key *key, uint64_t *size,
                              struct upp_err *err) UPP_MUST_CHECK;
/* NULL is fine. Before ws_file_end nothing of it stays (where it cannot be removed now, the sweep does it). */
WEFT_SUSPENDS void ws_file_close(struct ws_file_writer *f);

/* Removes what nothing has referred to for an hour: how many. */
WEFT_SUSPENDS int ws_blobs_sweep(struct wl_store *s, int64_t now_ms, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;

#endif
