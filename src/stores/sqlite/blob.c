/* stores/sqlite/blob.c — values, blobs in pieces, and who refers to them, inside the writer's transaction. */
#include "stores/sqlite/store.h"

/* ---- Values ---------------------------------------------------------------------------------------- */

static int change_value(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct wl_value *v, size_t n,
                        struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, i, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    ws_bind_columns(st, 2, &ws_values, n, v);
    return ws_change_run(s, st, err);
}

int ws_put_value(struct ws_sqlite *s, int64_t tenant, const struct wl_value *v, struct upp_err *err)
{
    return change_value(s, WS_PUT_VALUE, tenant, v, ws_values.n, err);
}

int ws_drop_value(struct ws_sqlite *s, int64_t tenant, const struct wl_value *v, struct upp_err *err)
{
    return change_value(s, WS_DROP_VALUE, tenant, v, 2, err);
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

struct blob {
    int64_t  number; /* 0: there is none */
    uint32_t pieces;
    bool     whole;
    uint64_t refs;
};

static void bind_key(sqlite3_stmt *st, int i, const struct wl_blob_key *k)
{
    (void)sqlite3_bind_blob(st, i, k->b, sizeof k->b, SQLITE_STATIC);
}

static int find_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_blob_key *k, struct blob *ret,
                     struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, WS_BLOB_IS, &st, err);
    *ret            = (struct blob){0};
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    bind_key(st, 2, k);
    r = ws_step(s, st, err);
    if (r == 1)
        *ret = (struct blob){sqlite3_column_int64(st, 0), (uint32_t)sqlite3_column_int64(st, 1),
                             sqlite3_column_int64(st, 2) != 0, (uint64_t)sqlite3_column_int64(st, 3)};
    (void)sqlite3_reset(st);
    return r < 0 ? r : 0;
}

/* A statement about one blob by its number, with up to two numbers more. */
static int about(struct ws_sqlite *s, enum ws_statement i, int64_t number, int64_t second, int64_t third,
                 struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, i, &st, err);
    if (r < 0)
        return r;
    const int n = sqlite3_bind_parameter_count(st);
    ws_bind_u64(st, 1, (uint64_t)number);
    if (n > 1)
        ws_bind_u64(st, 2, (uint64_t)second);
    if (n > 2)
        ws_bind_u64(st, 3, (uint64_t)third);
    return ws_change_run(s, st, err);
}

static int begin_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_blob_key *k, struct blob *b,
                      struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, WS_ADD_BLOB, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    bind_key(st, 2, k);
    ws_bind_u64(st, 3, (uint64_t)s->now_ms);
    r         = ws_change_run(s, st, err);
    b->number = sqlite3_last_insert_rowid(s->writer.db);
    return r;
}

int ws_add_piece(struct ws_sqlite *s, int64_t tenant, const struct wl_piece *p, struct upp_err *err)
{
    struct blob   b;
    sqlite3_stmt *st;
    int           r = find_blob(s, tenant, &p->key, &b, err);
    if (r < 0)
        return r;
    if (p->number < b.pieces) /* it is there; whoever brings it will want it for a while */
        return about(s, WS_TOUCH_BLOB, b.number, s->now_ms, 0, err);
    if (p->number > b.pieces || b.whole)
        return ws_piece_misplaced(err, p, b.pieces, b.whole);
    if (!b.number)
        r = begin_blob(s, tenant, &p->key, &b, err);
    if (r >= 0)
        r = ws_change_need(s, WS_ADD_PIECE, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)b.number << WS_PIECE_BITS | p->number);
    ws_bind_name(st, 2, p->bytes);
    r = ws_change_run(s, st, err);
    return r < 0 ? r : about(s, WS_GROW_BLOB, b.number, p->last, s->now_ms, err);
}

static int remove_blob(struct ws_sqlite *s, const struct blob *b, struct upp_err *err)
{
    int64_t first = (int64_t)((uint64_t)b->number << WS_PIECE_BITS);
    int     r     = about(s, WS_DROP_PIECES, first, first + WS_PIECES_MAX, 0, err);
    return r < 0 ? r : about(s, WS_DROP_BLOB, b->number, 0, 0, err);
}

int ws_drop_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_blob_key *k, struct upp_err *err)
{
    struct blob b;
    int         r = find_blob(s, tenant, k, &b, err);
    if (r < 0)
        return r;
    if (!b.number)
        return ws_no_blob(err, UPP_ENOTFOUND);
    return b.refs ? ws_blob_stays(err, "something refers to it") : remove_blob(s, &b, err);
}

static int rename_blob(struct ws_sqlite *s, const struct blob *b, const struct wl_blob_key *to, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, WS_NAME_BLOB, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)b->number);
    bind_key(st, 2, to);
    ws_bind_u64(st, 3, (uint64_t)s->now_ms);
    return ws_change_run(s, st, err);
}

int ws_name_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct blob from, to;
    int         r = find_blob(s, tenant, c->name.from, &from, err);
    if (r >= 0)
        r = find_blob(s, tenant, c->name.to, &to, err);
    if (r < 0)
        return r;
    if (!from.number)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (!from.whole || from.refs)
        return ws_blob_stays(err, from.refs ? "something refers to it" : "it is not whole");
    if (from.number == to.number)
        return 0;
    if (to.whole) {
        r = remove_blob(s, &from, err);
        return r < 0 ? r : about(s, WS_TOUCH_BLOB, to.number, s->now_ms, 0, err);
    }
    r = to.number ? remove_blob(s, &to, err) : 0; /* somebody began it: that one can use ours */
    return r < 0 ? r : rename_blob(s, &from, c->name.to, err);
}

/* ---- References ------------------------------------------------------------------------------------ */

static int change_ref(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct wl_ref *x, int64_t blob,
                      int by, struct upp_err *err)
{
    sqlite3_stmt *st;
    int           r = ws_change_need(s, i, &st, err);
    if (r < 0)
        return r;
    ws_bind_u64(st, 1, (uint64_t)tenant);
    ws_bind_u64(st, 2, x->node);
    ws_bind_u64(st, 3, x->node ? x->pos : 0);
    ws_bind_name(st, 4, x->node ? UPP_STR("") : wb_str((const char *)x->id.b, sizeof x->id.b));
    ws_bind_u64(st, 5, (uint64_t)blob);
    r = ws_change_run(s, st, err);
    return r < 0 || !ws_changed(s) ? r : about(s, WS_COUNT_REF, blob, by, s->now_ms, err);
}

int ws_add_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_ref *x, struct upp_err *err)
{
    struct blob b;
    int         r = find_blob(s, tenant, &x->blob, &b, err);
    if (r < 0)
        return r;
    return b.whole ? change_ref(s, WS_ADD_REF, tenant, x, b.number, 1, err) : ws_no_blob(err, UPP_EBUSY);
}

int ws_drop_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_ref *x, struct upp_err *err)
{
    struct blob b;
    int         r = find_blob(s, tenant, &x->blob, &b, err);
    return r < 0 || !b.number ? r : change_ref(s, WS_DROP_REF, tenant, x, b.number, -1, err);
}
