/* stores/sqlite/reading.h — questions to the SQLite store: asked by a fiber, answered by a worker. */
#ifndef WS_SQLITE_READING_H
#define WS_SQLITE_READING_H

#include "stores/sqlite/store.h"

/* One question. It lies on the asking fiber's stack, which waits for the answer whatever comes. */
struct ws_reading {
    struct ws_sqlite *s;
    int (*fn)(struct ws_reading *x, struct ws_conn *c, struct upp_err *err);
    const struct wl_owner    *o;
    struct wb_arena          *a;
    void                     *ret;
    struct wb_uuid            id;
    struct upp_str            text, more;
    uint64_t                  key;
    int64_t                   time;
    bool                      live;
    const struct wl_blob_key *blob;
    struct wl_range           range;
    const struct wl_query    *query;
    size_t                    max, n;
    struct wl_owner          *owners;
    uint64_t                 *numbers;
};

WEFT_SUSPENDS int ws_ask(struct ws_reading *x, struct upp_err *err) UPP_MUST_CHECK;

/* Asks the store, or answers right here where it is one that reads at once (read.c). Sets x->s. */
WEFT_SUSPENDS int ws_answer(struct wl_store *s, struct ws_reading *x, struct upp_err *err) UPP_MUST_CHECK;

/* A copy; NULL is no text. No memory shows in the arena. */
struct upp_str ws_column_str(struct wb_arena *a, sqlite3_stmt *st, int i);

static inline uint64_t ws_column_u64(sqlite3_stmt *st, int i)
{
    return (uint64_t)sqlite3_column_int64(st, i);
}

/* The columns of a thread and of a run, from the first on; those of a run with the one that says it is whole. */
enum { WS_RUN_COLUMNS = 28 };
void ws_read_thread(struct wb_arena *a, sqlite3_stmt *st, struct upp_str tenant, struct wl_thread *t);
void ws_read_run(struct wb_arena *a, sqlite3_stmt *st, struct wm_run *x);

/* ---- look.c: functions of the store ---- */

WEFT_SUSPENDS int ws_look_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                       struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_node **ret,
                                       size_t *n, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                         struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_thread **ret,
                                         size_t *n, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                                struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                 struct upp_str after, size_t max, struct wb_arena *a, struct wl_value **ret, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a,
                                  struct upp_str **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key,
                                uint32_t number, struct wb_arena *a, struct wl_piece *ret,
                                struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max,
                                      struct wb_arena *a, struct wl_blob_key **ret, size_t *n,
                                      struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms,
                                   size_t max, struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* ---- search.c ---- */

WEFT_SUSPENDS int ws_look_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes,
                                 struct wb_arena *a, struct wl_followed **ret, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_learned(struct wl_store *s, uint64_t *upto, uint64_t *end,
                                  struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int ws_look_search(struct wl_store *s, const struct wl_owner *o, const struct wl_query *q,
                                 struct wb_arena *a, struct wl_hit **ret, size_t *n,
                                 struct upp_err *err) UPP_MUST_CHECK;

#endif
