/* stores/sqlite/reading.h — reads of the SQLite store: requested by a fiber, executed by a worker. */
#pragma once

#include "stores/sqlite/store.h"

/* One read. It is on the stack of the requesting fiber, which cannot be cancelled while it waits. */
struct ws_reading {
    struct ws_sqlite *s;
    int (*fn)(struct ws_reading *x, struct ws_conn *c, struct upp_err *err);
    struct wl_ask ask;
    const struct wl_owner *o;
    struct wb_arena *a;
    void *ret;
    struct wl_list list; /* the result so far */
    unsigned char family[4];
    uint64_t low, high;         /* keys of nodes, inclusive */
    struct wb_uuid first, last; /* ids of threads, inclusive */
    uint64_t key;
    struct wl_range range;
    const struct wl_query *query;
    size_t max, n;
};

WEFT_SUSPENDS int ws_ask(struct ws_reading *x, struct upp_err *err) UPP_MUST_CHECK;

/* A copy; SQL NULL becomes a NULL text. Out of memory is recorded in the arena. */
struct upp_str ws_column_str(struct wb_arena *a, sqlite3_stmt *st, int i);

static inline uint64_t ws_column_u64(sqlite3_stmt *st, int i)
{
    return (uint64_t)sqlite3_column_int64(st, i);
}

/* Reads columns from number i on into n members of an object. */
void ws_read_columns(sqlite3_stmt *st, int i, const struct ws_column *c, size_t n, struct wb_arena *a, void *thing);

/* ---- search.c ---- */

WEFT_SUSPENDS int ws_look_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;
/* WL_GET_INDEX_PROGRESS. */
int ws_read_learned(struct ws_reading *x, struct ws_conn *c, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                 struct wb_arena *a, struct wl_hit **ret, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;
