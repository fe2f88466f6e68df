/* stores/sqlite/blob.c — values, blobs in pieces, and references to them, inside the writer's transaction. */
#include "base/defs.h"
#include "stores/sqlite/store.h"

int ws_put_value(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    return ws_do_with(s, WS_PUT_VALUE, tenant, NULL, &ws_values, ws_values.n, c->value, err);
}

int ws_drop_value(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    return ws_do_with(s, WS_DROP_VALUE, tenant, NULL, &ws_values, 2, c->value, err);
}

struct blob {
    int64_t number; /* 0: none */
    uint32_t pieces;
    bool whole;
    uint64_t refs;
};

static int find_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_blob_key *k, struct blob *ret,
                     struct upp_err *err)
{
    int r = WS_DO(s, WS_BLOB_IS, err, WS_N(tenant), WS_K(k));
    *ret = (struct blob){0};
    if (r != 1)
        return r;
    sqlite3_stmt *st = ws_row_of(s, WS_BLOB_IS);
    *ret = (struct blob){sqlite3_column_int64(st, 0), (uint32_t)sqlite3_column_int64(st, 1),
                         sqlite3_column_int64(st, 2) != 0, (uint64_t)sqlite3_column_int64(st, 3)};
    (void)sqlite3_reset(st);
    return 0;
}

static int touch_blob(struct ws_sqlite *s, int64_t number, struct upp_err *err)
{
    return WS_DO(s, WS_TOUCH_BLOB, err, WS_N(number), WS_N(s->now_ms));
}

int ws_add_piece(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    const struct wl_piece *p = c->piece;
    struct blob b;
    int r = find_blob(s, tenant, &p->key, &b, err);
    if (r < 0)
        return r;
    if (p->number < b.pieces) /* it exists; whoever adds it will need it for a while */
        return touch_blob(s, b.number, err);
    if (p->number > b.pieces || b.whole)
        return ws_piece_misplaced(err, p, b.pieces, b.whole);
    if (!b.number) {
        r = WS_DO(s, WS_ADD_BLOB, err, WS_N(tenant), WS_K(&p->key), WS_N(s->now_ms));
        b.number = sqlite3_last_insert_rowid(s->writer.db);
    }
    if (r >= 0)
        r = WS_DO(s, WS_ADD_PIECE, err, WS_N((uint64_t)b.number << WS_PIECE_BITS | p->number), WS_A(p->bytes));
    return r < 0 ? r : WS_DO(s, WS_GROW_BLOB, err, WS_N(b.number), WS_N(p->last), WS_N(s->now_ms));
}

static int remove_blob(struct ws_sqlite *s, const struct blob *b, struct upp_err *err)
{
    uint64_t first = (uint64_t)b->number << WS_PIECE_BITS;
    int r = WS_DO(s, WS_DROP_PIECES, err, WS_N(first), WS_N(first + WS_PIECES_MAX));
    return r < 0 ? r : WS_DO(s, WS_DROP_BLOB, err, WS_N(b->number));
}

int ws_drop_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct blob b;
    int r = find_blob(s, tenant, c->blob, &b, err);
    if (r < 0)
        return r;
    if (!b.number)
        return ws_no_blob(err, UPP_ENOTFOUND);
    return b.refs ? ws_blob_stays(err, "something refers to it") : remove_blob(s, &b, err);
}

int ws_name_blob(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct blob from, to;
    int r = find_blob(s, tenant, c->name.from, &from, err);
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
        return r < 0 ? r : touch_blob(s, to.number, err);
    }
    r = to.number ? remove_blob(s, &to, err) : 0; /* an unfinished one: its writer can use ours */
    return r < 0 ? r : WS_DO(s, WS_NAME_BLOB, err, WS_N(from.number), WS_K(c->name.to), WS_N(s->now_ms));
}

static int change_ref(struct ws_sqlite *s, enum ws_statement i, int64_t tenant, const struct wl_ref *x, int64_t blob,
                      int by, struct upp_err *err)
{
    int r = WS_DO(s, i, err, WS_N(tenant), WS_N(x->node), WS_N(x->node ? x->pos : 0),
                  x->node ? WS_A(UPP_STR("")) : WS_I(&x->id), WS_N(blob));
    return r < 0 || !ws_changed(s) ? r : WS_DO(s, WS_COUNT_REF, err, WS_N(blob), WS_N(by), WS_N(s->now_ms));
}

int ws_add_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct blob b;
    int r = find_blob(s, tenant, &c->ref->blob, &b, err);
    if (r < 0)
        return r;
    return b.whole ? change_ref(s, WS_ADD_REF, tenant, c->ref, b.number, 1, err) : ws_no_blob(err, UPP_EBUSY);
}

int ws_drop_ref(struct ws_sqlite *s, int64_t tenant, const struct wl_change *c, struct upp_err *err)
{
    struct blob b;
    int r = find_blob(s, tenant, &c->ref->blob, &b, err);
    return r < 0 || !b.number ? r : change_ref(s, WS_DROP_REF, tenant, c->ref, b.number, -1, err);
}
