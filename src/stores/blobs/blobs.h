/* stores/blobs/blobs.h — a store that deduplicates large values.
 *
 * It is in front of any store. A row of less than 16 KiB passes unchanged. In a longer one every JSON string of 16 KiB
 * or more is cut out of the body and stored as a blob, once per tenant, under the SHA-256 of its bytes; the row records
 * where it belongs. Reads return the row as it was written.
 *
 * Files are blobs too: written and read piece by piece, never whole in memory.
 */
#pragma once

#include "log/store.h"

enum { WS_BLOB_MIN = 16 << 10 };
#define WS_FILE_MAX (UINT64_C(512) << 20)
#define WS_LOOSE_MS INT64_C(3600000) /* how long an unreferenced blob is retained */

/* Takes ownership of the inner store, also on failure. Counts commits, rows and bytes as the caller passed them. */
WEFT_SUSPENDS int ws_blobs_open(struct wl_store *inner, struct wl_store **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Works on any store, at most `max` bytes (0: WS_FILE_MAX). Read the file with WL_GET_PIECE. A writer that failed can
 * only be closed; the store and the owner's texts must outlive it. */
struct ws_file_writer;
int ws_file_open(struct wl_store *s, const struct wl_owner *o, uint64_t max, struct ws_file_writer **ret,
                 struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_file_write(struct ws_file_writer *f, struct upp_str bytes, struct upp_err *err) UPP_MUST_CHECK;
/* All was written: the key and the size that the file will have, for a record of it. */
int ws_file_key(struct ws_file_writer *f, struct wl_blob_key *key, uint64_t *size, struct upp_err *err) UPP_MUST_CHECK;
/* From now on the file exists as the blob *key, as long as the object with this id refers to it. `more`: changes of the
 * same commit (at most WS_FILE_CHANGES), so that a file and its record come into existence together. */
enum { WS_FILE_CHANGES = 4 };
WEFT_SUSPENDS int ws_file_end(struct ws_file_writer *f, struct wb_uuid id, const struct wl_change *more, size_t n,
                              struct wl_blob_key *key, uint64_t *size, struct upp_err *err) UPP_MUST_CHECK;
/* Accepts NULL. Before ws_file_end it removes everything written (if that fails, the sweep does it). */
WEFT_SUSPENDS void ws_file_close(struct ws_file_writer *f);

/* Removes blobs without references for an hour. *ret: how many. */
WEFT_SUSPENDS int ws_blobs_sweep(struct wl_store *s, int64_t now_ms, size_t *ret, struct upp_err *err) UPP_MUST_CHECK;
