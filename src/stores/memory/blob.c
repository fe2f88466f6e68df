/* stores/memory/blob.c — values, blobs in pieces, and who refers to them. Nothing is freed before the commit stands. */
#include <string.h>

#include "stores/memory/store.h"

/* ---- Values ---------------------------------------------------------------------------------------- */

static struct ws_mem_value *value_is(const struct ws_mem_tenant *t, size_t at, const struct wl_value *v)
{
    struct ws_mem_value *x = at < t->values.n ? t->values.p[at] : NULL;
    return x && wb_str_eq(x->v.space, v->space) && wb_str_eq(x->v.name, v->name) ? x : NULL;
}

static int put_value(struct ws_mem_applying *a, const struct wl_value *v, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_tenant *t    = a->tenant;
    struct ws_mem_value  *x    = NULL;
    size_t                size = sizeof *x + v->space.n + v->name.n + v->bytes.n;
    if (!wb_vec_room(&t->values, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->size = size;
    x->v    = *v;
    (void)ws_mem_keep(ws_mem_keep(ws_mem_keep(x->bytes, &x->v.space), &x->v.name), &x->v.bytes);
    size_t at = ws_mem_value_at(t, v->space, v->name);
    d->now    = x;
    d->before = value_is(t, at, v);
    if (d->before)
        t->values.p[at] = x;
    else
        WS_MEM_INSERT(&t->values, at, x);
    return 0;
}

static int drop_value(struct ws_mem_applying *a, const struct wl_value *v, struct ws_mem_done *d)
{
    size_t at = ws_mem_value_at(a->tenant, v->space, v->name);
    d->before = value_is(a->tenant, at, v);
    if (d->before)
        WS_MEM_REMOVE(&a->tenant->values, at);
    return 0;
}

static void undo_value(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_value *now = d->now, *before = d->before, *any = now ? now : before;
    if (!any)
        return;
    size_t at = ws_mem_value_at(a->tenant, any->v.space, any->v.name);
    if (now && before)
        a->tenant->values.p[at] = before;
    else if (now)
        WS_MEM_REMOVE(&a->tenant->values, at);
    else
        WS_MEM_INSERT(&a->tenant->values, at, before);
    if (now)
        ws_mem_give(a->m, now, now->size);
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

static void free_piece(struct ws_memory *m, struct ws_mem_piece *p)
{
    ws_mem_give(m, p, sizeof *p + p->n);
}

void ws_mem_free_blob(struct ws_memory *m, struct ws_mem_blob *b)
{
    for (size_t i = 0; i < b->pieces.n; i++)
        free_piece(m, b->pieces.p[i]);
    wb_vec_done(&b->pieces);
    ws_mem_give(m, b, sizeof *b);
}

/* Its time begins anew: whoever brings a piece, or a name, will want it for a while. */
static void touch(struct ws_mem_applying *a, struct ws_mem_blob *b, struct ws_mem_done *d)
{
    d->blob  = b;
    d->loose = b->loose;
    b->loose = a->now_ms;
}

static int need_blob(struct ws_mem_applying *a, const struct wl_blob_key *key, struct ws_mem_blob **ret,
                     struct upp_err *err)
{
    struct ws_mem_blob *b = *ret;
    if (b)
        return 0;
    if (!ws_table_room(&a->m->blobs))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, sizeof *b, &b, err);
    if (r < 0)
        return r;
    b->tenant     = a->tenant;
    b->key        = *key;
    b->entry.hash = ws_mem_hash_blob(a->m, a->tenant, key);
    *ret          = b;
    return 0;
}

static int add_piece(struct ws_mem_applying *a, const struct wl_piece *p, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob  *b = ws_mem_blob(a->m, a->tenant, &p->key), *was = b;
    struct ws_mem_piece *x = NULL;
    if (b && p->number < b->pieces.n) {
        touch(a, b, d);
        return 0;
    }
    if (p->number != (b ? b->pieces.n : 0) || (b && b->whole))
        return ws_piece_misplaced(err, p, b ? (uint32_t)b->pieces.n : 0, b && b->whole);
    int r = need_blob(a, &p->key, &b, err);
    if (r >= 0 && !wb_vec_room(&b->pieces, WS_PIECES_MAX))
        r = ws_mem_no_memory(err);
    if (r >= 0)
        r = ws_mem_take(a->m, sizeof *x + p->bytes.n, &x, err);
    if (r < 0) {
        if (b && !was)
            ws_mem_free_blob(a->m, b);
        return r;
    }
    x->n = p->bytes.n;
    if (x->n)
        memcpy(x->bytes, p->bytes.p, x->n);
    touch(a, b, d);
    b->pieces.p[b->pieces.n++] = x;
    b->whole                   = p->last;
    if (!was)
        ws_table_add(&a->m->blobs, &b->entry);
    d->now = x;
    return 0;
}

static void undo_piece(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_blob *b = d->blob;
    b->loose              = d->loose;
    if (!d->now)
        return; /* it was there before */
    b->pieces.n--;
    b->whole = false;
    free_piece(a->m, d->now);
    if (b->pieces.n)
        return;
    ws_table_remove(&a->m->blobs, &b->entry);
    ws_mem_free_blob(a->m, b);
}

static int drop_blob(struct ws_mem_applying *a, const struct wl_blob_key *key, struct ws_mem_done *d,
                     struct upp_err *err)
{
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, key);
    if (!b)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (b->refs)
        return ws_blob_stays(err, "something refers to it");
    ws_table_remove(&a->m->blobs, &b->entry);
    d->before = b;
    return 0;
}

static void name_it(struct ws_mem_applying *a, struct ws_mem_blob *b, const struct wl_blob_key *key)
{
    ws_table_remove(&a->m->blobs, &b->entry);
    b->key        = *key;
    b->entry.hash = ws_mem_hash_blob(a->m, a->tenant, key);
    ws_table_add(&a->m->blobs, &b->entry);
}

static int name_blob(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *from = ws_mem_blob(a->m, a->tenant, c->name.from),
                       *to   = ws_mem_blob(a->m, a->tenant, c->name.to);
    if (!from)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (!from->whole || from->refs)
        return ws_blob_stays(err, from->refs ? "something refers to it" : "it is not whole");
    if (from == to)
        return 0;
    if (to && to->whole) {
        ws_table_remove(&a->m->blobs, &from->entry);
        d->before = from;
        touch(a, to, d);
        return 0;
    }
    if (to) /* somebody began it: that one can use ours */
        ws_table_remove(&a->m->blobs, &to->entry);
    d->before = to;
    d->now    = from;
    d->key    = from->key;
    touch(a, from, d);
    name_it(a, from, c->name.to);
    return 0;
}

static void undo_name(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->now)
        name_it(a, d->now, &d->key);
    if (d->before)
        ws_table_add(&a->m->blobs, &((struct ws_mem_blob *)d->before)->entry);
    if (d->blob)
        d->blob->loose = d->loose;
}

/* ---- References ------------------------------------------------------------------------------------ */

static int ref_cmp(const struct ws_mem_ref *a, const struct ws_mem_ref *b)
{
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->pos != b->pos)
        return a->pos < b->pos ? -1 : 1;
    int c = wb_uuid_cmp(a->id, b->id);
    return c || !a->blob || !b->blob ? c : memcmp(a->blob->key.b, b->blob->key.b, sizeof a->blob->key.b);
}

/* The first that is not before; no blob: whatever blob. */
static size_t ref_at(const struct ws_mem_tenant *t, const struct ws_mem_ref *x)
{
    size_t low = 0, high = t->refs.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (ref_cmp(t->refs.p[mid], x) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct ws_mem_ref as_ref(const struct wl_ref *x, struct ws_mem_blob *b)
{
    return x->node ? (struct ws_mem_ref){.blob = b, .node = x->node, .pos = x->pos}
                   : (struct ws_mem_ref){.blob = b, .id = x->id};
}

static void link_ref(struct ws_mem_applying *a, struct ws_mem_ref *x)
{
    WS_MEM_INSERT(&a->tenant->refs, ref_at(a->tenant, x), x);
    x->next = NULL;
    x->blob->refs++;
}

static void unlink_ref(struct ws_mem_applying *a, size_t at)
{
    struct ws_mem_blob *b = a->tenant->refs.p[at]->blob;
    WS_MEM_REMOVE(&a->tenant->refs, at);
    if (--b->refs == 0)
        b->loose = a->now_ms;
}

static int add_ref(struct ws_mem_applying *a, const struct wl_ref *ref, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, &ref->blob);
    struct ws_mem_ref  *x = NULL;
    if (!b || !b->whole)
        return ws_no_blob(err, UPP_EBUSY);
    struct ws_mem_ref key = as_ref(ref, b);
    size_t            at  = ref_at(a->tenant, &key);
    if (at < a->tenant->refs.n && ref_cmp(a->tenant->refs.p[at], &key) == 0)
        return 0;
    if (!wb_vec_room(&a->tenant->refs, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, sizeof *x, &x, err);
    if (r < 0)
        return r;
    *x       = key;
    d->now   = x;
    d->loose = b->loose;
    link_ref(a, x);
    return 0;
}

static void undo_add_ref(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_ref *x = d->now;
    if (!x)
        return; /* it was there before */
    unlink_ref(a, ref_at(a->tenant, x));
    if (!x->blob->refs)
        x->blob->loose = d->loose;
    ws_mem_give(a->m, x, sizeof *x);
}

static int drop_ref(struct ws_mem_applying *a, const struct wl_ref *ref, struct ws_mem_done *d)
{
    struct ws_mem_blob *b   = ws_mem_blob(a->m, a->tenant, &ref->blob);
    struct ws_mem_ref   key = as_ref(ref, b);
    size_t              at  = b ? ref_at(a->tenant, &key) : 0;
    if (b && at < a->tenant->refs.n && ref_cmp(a->tenant->refs.p[at], &key) == 0) {
        d->refs = a->tenant->refs.p[at];
        unlink_ref(a, at);
    }
    return 0;
}

struct ws_mem_ref *ws_mem_refs_take(struct ws_mem_applying *a, uint64_t node, uint64_t from, uint64_t to)
{
    struct ws_mem_tenant *t     = a->tenant;
    struct ws_mem_ref    *chain = NULL;
    size_t                at    = ref_at(t, &(struct ws_mem_ref){.node = node, .pos = from});
    while (at < t->refs.n && t->refs.p[at]->node == node && t->refs.p[at]->pos <= to) {
        struct ws_mem_ref *x = t->refs.p[at];
        unlink_ref(a, at);
        x->next = chain;
        chain   = x;
    }
    return chain;
}

void ws_mem_refs_back(struct ws_mem_applying *a, struct ws_mem_ref *chain)
{
    for (struct ws_mem_ref *x = chain, *next; x; x = next) {
        next = x->next;
        link_ref(a, x);
    }
}

void ws_mem_refs_free(struct ws_memory *m, struct ws_mem_ref *chain)
{
    for (struct ws_mem_ref *x = chain, *next; x; x = next) {
        next = x->next;
        ws_mem_give(m, x, sizeof *x);
    }
}

/* ---- Each kind ------------------------------------------------------------------------------------- */

int ws_mem_blob_change(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    switch ((int)c->kind) {
    case WL_PUT_VALUE:
        return put_value(a, c->value, d, err);
    case WL_DROP_VALUE:
        return drop_value(a, c->value, d);
    case WL_ADD_PIECE:
        return add_piece(a, c->piece, d, err);
    case WL_NAME_BLOB:
        return name_blob(a, c, d, err);
    case WL_ADD_REF:
        return add_ref(a, c->ref, d, err);
    case WL_DROP_REF:
        return drop_ref(a, c->ref, d);
    default:
        return drop_blob(a, c->blob, d, err);
    }
}

void ws_mem_blob_undo(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    switch ((int)d->kind) {
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
        undo_value(a, d);
        break;
    case WL_ADD_PIECE:
        undo_piece(a, d);
        break;
    case WL_NAME_BLOB:
        undo_name(a, d);
        break;
    case WL_ADD_REF:
        undo_add_ref(a, d);
        break;
    case WL_DROP_REF:
        ws_mem_refs_back(a, d->refs);
        break;
    default:
        ws_table_add(&a->m->blobs, &((struct ws_mem_blob *)d->before)->entry);
        break;
    }
}

void ws_mem_blob_settle(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_refs_free(a->m, d->refs);
    if (!d->before)
        return;
    if (d->kind == WL_PUT_VALUE || d->kind == WL_DROP_VALUE)
        ws_mem_give(a->m, d->before, ((struct ws_mem_value *)d->before)->size);
    else
        ws_mem_free_blob(a->m, d->before);
}
