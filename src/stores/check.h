/* stores/check.h — checks that every store runs on a commit before it reads anything stored, and the rules they share.
 *
 * What cannot change: WL_SET_THREAD leaves id, tree, parent, owner, kind and creation time as stored; WL_SET_RUN leaves
 * id, root, parent, thread, depth, call and creation time.
 */
#pragma once

#include "log/store.h"

enum {
    WS_NAME_MAX = 1024,         /* tenant, user, route, key, text of an alias, agent, call */
    WS_TEXT_MAX = 4 << 20,      /* title, metadata, options, error, texts of a branch */
    WS_VALUE_MAX = 64 << 20,    /* bytes of a value */
    WS_VALUES_BYTES = 64 << 20, /* of all values in one list */
    WS_PIECES_MAX = 1 << 20,    /* of one blob */
    WS_ROW_MAX = 256 << 20,     /* body and tape of a row together */
    WS_LIST_MAX = 10000,        /* objects in one list, whatever limit was requested */
    WS_ROWS_MAX = 65536,        /* rows in one range, likewise */
    WS_RANGE = 256,             /* defaults */
    WS_RANGE_BYTES = 1 << 20,
    WS_BYTES_MAX = 256 << 20,
    WS_LEARN_MAX = 4096, /* entries indexed by one change */
};

/* Of an encrypted store: holds the keys of the others. Nobody else may use it. */
#define WS_SEALED_TENANT "weft.sealed"

#define WS_KEY_MS INT64_C(86400000) /* lifetime of an Idempotency-Key */

/* -UPP_EINVALID: no tenant, an unknown kind, a missing field; -UPP_ELIMIT: too many, too long, too large. Does not
 * check the changes of a sealed commit: they were checked before sealing. */
int ws_check_commit(const struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

/* The range with its defaults filled in. */
struct wl_range ws_range(const struct wl_range *r);

/* Bytes of its rows, pieces, values and indexed texts. */
size_t ws_commit_bytes(const struct wl_commit *c);

/* Is it accepted by a store that is full: does it cancel or end a run, or only delete? Also true for an empty commit.
 */
bool ws_allowed_when_full(const struct wl_commit *c);

/* Adds a commit of so many bytes to a store's totals, which other threads read. */
void ws_count_commit(struct wl_store *s, const struct wl_commit *c, size_t bytes);

/* Takes over a total of the store behind this one: loops commit at the same time. */
static inline void ws_take_total(uint64_t *to, const uint64_t *from)
{
    __atomic_store_n(to, __atomic_load_n(from, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static inline bool ws_key_expired(int64_t created_ms, int64_t now_ms)
{
    return now_ms - created_ms >= WS_KEY_MS;
}

/* ---- Error messages shared by all stores ---- */

int ws_no_node(struct upp_err *err, uint64_t node);
int ws_no_thing(struct upp_err *err, const char *what, struct wb_uuid id);
int ws_row_misplaced(struct upp_err *err, const struct wl_row *row, uint64_t end);
int ws_version_differs(struct upp_err *err, const char *what, struct wb_uuid id, uint32_t stored, uint32_t given);
int ws_taken(struct upp_err *err, const char *what);
int ws_no_row(struct upp_err *err, const struct wl_row *row);
int ws_run_lives(struct upp_err *err, struct wb_uuid id);
int ws_node_stays(struct upp_err *err, uint64_t node, const char *why);
int ws_no_blob(struct upp_err *err, int code); /* -UPP_ENOTFOUND, or -UPP_EBUSY: add its pieces again */
int ws_blob_stays(struct upp_err *err, const char *why);
int ws_piece_misplaced(struct upp_err *err, const struct wl_piece *p, uint32_t pieces, bool whole);
int ws_not_found(struct upp_err *err, const struct wl_ask *k); /* for get */

/* The search function of a store without an index. */
int ws_no_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q, struct wb_arena *a,
                 struct wl_hit **ret, size_t *n, struct upp_err *err);
