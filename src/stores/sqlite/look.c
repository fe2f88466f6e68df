/* stores/sqlite/look.c — reading families, values and pieces, and what those who tidy up ask for. */
#include "base/defs.h"
#include "model/id.h"
#include "stores/sqlite/reading.h"
#include "stores/sqlite/sum.h"

#include <string.h>

/* ---- Families -------------------------------------------------------------------------------------- */

/* A family in the order of its ids: strays before its own, its own, strays behind them. */
static void family_bytes(uint64_t family, unsigned char out[4])
{
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(family >> (24 - 8 * i));
}

static void read_one_node(struct wb_arena *a, sqlite3_stmt *st, struct wl_node *n)
{
    *n = (struct wl_node){
        .key           = ws_column_u64(st, 0),
        .id            = ws_column_id(st, 1),
        .tree          = ws_column_id(st, 2),
        .parent        = ws_column_u64(st, 3),
        .parent_length = (uint32_t)ws_column_u64(st, 4),
        .holder        = ws_column_id(st, 5),
        .created_ms    = sqlite3_column_int64(st, 6),
        .name          = ws_column_str(a, st, 7),
        .metadata      = ws_column_str(a, st, 8),
        .origin        = ws_column_str(a, st, 9),
    };
}

/* Those with keys from..to. */
static int read_nodes(struct ws_reading *x, struct ws_conn *c, bool strays, uint64_t from, uint64_t to,
                      struct wl_node *p, struct upp_err *err)
{
    unsigned char family[4];
    sqlite3_stmt *st;
    int           r = ws_conn_need(x->s, c, strays ? WS_STRAY_NODES : WS_OWN_NODES, &st, err);
    if (r < 0)
        return r;
    family_bytes(x->key, family);
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_u64(st, 2, strays ? (uint64_t)ws_place(from) : from);
    ws_bind_u64(st, 3, strays ? (uint64_t)ws_place(to) : to);
    ws_bind_u64(st, 4, x->max - x->n);
    if (strays)
        ws_bind_name(st, 5, wb_str((const char *)family, sizeof family));
    while (x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        read_one_node(x->a, st, &p[x->n++]);
    (void)sqlite3_reset(st);
    return r < 0 ? r : 0;
}

static int read_family_nodes(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    const uint64_t  low = x->key << 32, high = low | UINT32_MAX;
    const uint64_t  from = ws_none(x->id) ? 0 : wm_key(x->id) + 1; /* 0 again: behind the last one */
    struct wl_node *p    = wb_new_n(x->a, struct wl_node, x->max);
    int             r    = 0;
    if (p && (from || ws_none(x->id))) {
        if (from < low)
            r = read_nodes(x, c, true, from, low - 1, p, err);
        if (r >= 0 && from <= high)
            r = read_nodes(x, c, false, WB_MAX(from, low), high, p, err);
        if (r >= 0 && high != UINT64_MAX)
            r = read_nodes(x, c, true, WB_MAX(from, high + 1), UINT64_MAX, p, err);
    }
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_node **)x->ret = p;
    return r;
}

WEFT_SUSPENDS int ws_look_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                       struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_node **ret,
                                       size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s   = ws_sqlite(s),
                           .fn  = read_family_nodes,
                           .o   = o,
                           .a   = a,
                           .ret = ret,
                           .key = family,
                           .id  = after,
                           .max = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

/* Those with ids from..to, behind x->id. */
static int read_threads(struct ws_reading *x, struct ws_conn *c, bool strays, const struct wb_uuid *from,
                        const struct wb_uuid *to, struct wl_thread *p, struct upp_err *err)
{
    unsigned char family[4];
    sqlite3_stmt *st;
    int           r = ws_conn_need(x->s, c, strays ? WS_STRAY_THREADS : WS_OWN_THREADS, &st, err);
    if (r < 0)
        return r;
    family_bytes(x->key, family);
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_id(st, 2, &x->id);
    ws_bind_id(st, 3, from);
    ws_bind_id(st, 4, to);
    ws_bind_u64(st, 5, x->max - x->n);
    if (strays)
        ws_bind_name(st, 6, wb_str((const char *)family, sizeof family));
    while (x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        ws_read_thread(x->a, st, x->o->tenant, &p[x->n++]);
    (void)sqlite3_reset(st);
    return r < 0 ? r : 0;
}

static int read_family_threads(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    struct wb_uuid    first = {{0}}, low = {{0}}, high, last;
    struct wl_thread *p = wb_new_n(x->a, struct wl_thread, x->max);
    int               r = 0;
    memset(&last, 0xff, sizeof last);
    high = last;
    family_bytes(x->key, low.b);
    family_bytes(x->key, high.b);
    if (p)
        r = read_threads(x, c, true, &first, &low, p, err);
    if (p && r >= 0)
        r = read_threads(x, c, false, &low, &high, p, err);
    if (p && r >= 0)
        r = read_threads(x, c, true, &high, &last, p, err);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_thread **)x->ret = p;
    return r;
}

WEFT_SUSPENDS int ws_look_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family,
                                         struct wb_uuid after, size_t max, struct wb_arena *a, struct wl_thread **ret,
                                         size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s   = ws_sqlite(s),
                           .fn  = read_family_threads,
                           .o   = o,
                           .a   = a,
                           .ret = ret,
                           .key = family,
                           .id  = after,
                           .max = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

/* ---- Values and tenants ---------------------------------------------------------------------------- */

static int read_value(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_conn_need(x->s, c, WS_VALUE, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_name(st, 2, x->text);
    ws_bind_name(st, 3, x->more);
    r                    = ws_step(x->s, st, err);
    struct upp_str value = r == 1 ? ws_column_str(x->a, st, 0) : (struct upp_str){NULL, 0};
    (void)sqlite3_reset(st);
    if (r != 1)
        return r < 0 ? r : ws_no_value(err, x->text, x->more);
    r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct upp_str *)x->ret = value;
    return r;
}

WEFT_SUSPENDS int ws_look_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                                struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct ws_reading x = {
        .s = ws_sqlite(s), .fn = read_value, .o = o, .a = a, .ret = ret, .text = space, .more = name};
    return ws_ask(&x, err);
}

static int read_values(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt    *st;
    struct wl_value *p     = wb_new_n(x->a, struct wl_value, x->max);
    struct upp_str   space = wb_arena_dup(x->a, x->text);
    size_t           bytes = 0;
    int              r     = ws_conn_need(x->s, c, WS_VALUES, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_name(st, 2, x->text);
    ws_bind_name(st, 3, x->more);
    ws_bind_u64(st, 4, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1) {
        bytes += (size_t)sqlite3_column_bytes(st, 1);
        if (x->n && bytes > WS_VALUES_BYTES)
            break;
        p[x->n++] = (struct wl_value){space, ws_column_str(x->a, st, 0), ws_column_str(x->a, st, 1)};
    }
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_value **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space,
                                 struct upp_str after, size_t max, struct wb_arena *a, struct wl_value **ret, size_t *n,
                                 struct upp_err *err)
{
    struct ws_reading x = {.s    = ws_sqlite(s),
                           .fn   = read_values,
                           .o    = o,
                           .a    = a,
                           .ret  = ret,
                           .text = space,
                           .more = after,
                           .max  = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

static int read_tenants(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt   *st;
    struct upp_str *p = wb_new_n(x->a, struct upp_str, x->max);
    int             r = ws_conn_need(x->s, c, WS_TENANTS_BY_NAME, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 1, x->text);
    ws_bind_u64(st, 2, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1)
        p[x->n++] = ws_column_str(x->a, st, 0);
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct upp_str **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a,
                                  struct upp_str **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s    = ws_sqlite(s),
                           .fn   = read_tenants,
                           .a    = a,
                           .ret  = ret,
                           .text = after,
                           .max  = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

static int read_piece(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt   *st;
    struct wl_piece piece = {.key = *x->blob, .number = (uint32_t)x->key};
    int             r     = ws_conn_need(x->s, c, WS_PIECE, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 1, x->o->tenant);
    (void)sqlite3_bind_blob(st, 2, x->blob->b, sizeof x->blob->b, SQLITE_STATIC);
    ws_bind_u64(st, 3, x->key);
    r = ws_step(x->s, st, err);
    int whole = r == 1 ? ws_row_whole(x->s, st, "pieces", WS_PIECES_COLUMNS, err) : 0;
    if (r == 1 && whole >= 0) {
        piece.bytes = ws_column_str(x->a, st, 1);
        piece.last  = x->key + 1 == ws_column_u64(st, 3);
    }
    (void)sqlite3_reset(st);
    if (r != 1 || whole < 0)
        return r < 0 ? r : whole < 0 ? whole : ws_no_blob(err, UPP_ENOTFOUND);
    r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_piece *)x->ret = piece;
    return r;
}

WEFT_SUSPENDS int ws_look_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key,
                                uint32_t number, struct wb_arena *a, struct wl_piece *ret, struct upp_err *err)
{
    struct ws_reading x = {.fn = read_piece, .o = o, .a = a, .ret = ret, .blob = key, .key = number};
    return number < WS_PIECES_MAX ? ws_answer(s, &x, err) : ws_no_blob(err, UPP_ENOTFOUND);
}

static int read_loose(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt       *st;
    struct wl_blob_key *p = wb_new_n(x->a, struct wl_blob_key, x->max);
    int                 r = ws_conn_need(x->s, c, WS_LOOSE, &st, err);
    if (r < 0)
        return r;
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_u64(st, 2, (uint64_t)x->time);
    ws_bind_u64(st, 3, x->max);
    while (p && x->n < x->max && (r = ws_step(x->s, st, err)) == 1) {
        const void *key = sqlite3_column_blob(st, 0);
        if (key && sqlite3_column_bytes(st, 0) == (int)sizeof p->b)
            memcpy(p[x->n++].b, key, sizeof p->b);
    }
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wl_blob_key **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max,
                                      struct wb_arena *a, struct wl_blob_key **ret, size_t *n, struct upp_err *err)
{
    struct ws_reading x = {.s    = ws_sqlite(s),
                           .fn   = read_loose,
                           .o    = o,
                           .a    = a,
                           .ret  = ret,
                           .time = before_ms,
                           .max  = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0)
        *n = x.n;
    return r;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static int read_old_runs(struct ws_reading *x, struct ws_conn *c, struct upp_err *err)
{
    sqlite3_stmt  *st;
    struct wm_run *p = wb_new_n(x->a, struct wm_run, x->max);
    int            r = ws_conn_need(x->s, c, WS_OLD_RUNS, &st, err);
    if (r < 0)
        return r;
    x->numbers = wb_new_n(x->a, uint64_t, x->max);
    ws_bind_name(st, 1, x->o->tenant);
    ws_bind_u64(st, 2, WB_MIN(x->key, (uint64_t)INT64_MAX));
    ws_bind_u64(st, 3, (uint64_t)x->time);
    ws_bind_u64(st, 4, x->max);
    while (p && x->numbers && x->n < x->max && (r = ws_step(x->s, st, err)) == 1) {
        ws_read_run(x->a, st, &p[x->n]);
        x->numbers[x->n++] = ws_column_u64(st, WS_RUN_COLUMNS);
    }
    (void)sqlite3_reset(st);
    if (r >= 0)
        r = wb_arena_check(x->a, err);
    if (r >= 0)
        *(struct wm_run **)x->ret = p;
    return r < 0 ? r : 0;
}

WEFT_SUSPENDS int ws_look_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms,
                                   size_t max, struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n,
                                   struct upp_err *err)
{
    struct ws_reading x = {.s    = ws_sqlite(s),
                           .fn   = read_old_runs,
                           .o    = o,
                           .a    = a,
                           .ret  = ret,
                           .key  = after,
                           .time = before_ms,
                           .max  = WB_MIN(max, (size_t)WS_LIST_MAX)};
    int               r = ws_ask(&x, err);
    if (r >= 0) {
        *n       = x.n;
        *numbers = x.numbers;
    }
    return r;
}
