/* stores/memory/blob.c — values, blobs in pieces, and references to them. Nothing is freed before the commit
 * succeeds. */
#include <string.h>

#include "stores/memory/store.h"

static struct ws_mem_value *value_is(const struct ws_mem_tenant *t, size_t at, const struct wl_value *v)
{
    struct ws_mem_value *x = at < t->values.n ? t->values.p[at] : NULL;
    return x && wb_str_eq(x->v.space, v->space) && wb_str_eq(x->v.name, v->name) ? x : NULL;
}

int ws_mem_put_value(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_tenant *t = a->tenant;
    struct ws_mem_value *x = NULL;
    if (!wb_vec_room(&t->values, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_copy(a->m, &ws_values, c->value, sizeof *x, &x, err);
    if (r < 0)
        return r;
    size_t at = ws_mem_value_at(t, x->v.space, x->v.name);
    d->now = x;
    d->before = value_is(t, at, &x->v);
    if (d->before)
        t->values.p[at] = x;
    else
        WS_MEM_INSERT(&t->values, at, x);
    return 0;
}

int ws_mem_drop_value(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    size_t at = ws_mem_value_at(a->tenant, c->value->space, c->value->name);
    (void)err;
    d->before = value_is(a->tenant, at, c->value);
    if (d->before)
        WS_MEM_REMOVE(&a->tenant->values, at);
    return 0;
}

void ws_mem_undo_value(struct ws_mem_applying *a, struct ws_mem_done *d)
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
    ws_mem_free(a->m, now);
}

static void free_blob(struct ws_memory *m, struct ws_mem_blob *b)
{
    for (size_t i = 0; i < b->pieces.n; i++)
        ws_mem_free(m, b->pieces.p[i]);
    wb_vec_done(&b->pieces);
    ws_mem_free(m, b);
}

void ws_mem_free_dropped_blob(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->before)
        free_blob(a->m, d->before);
}

/* Restarts its retention: whoever adds a piece or a name will need it for a while. */
static void touch(struct ws_mem_applying *a, struct ws_mem_blob *b, struct ws_mem_done *d)
{
    d->blob = b;
    d->loose = b->loose;
    b->loose = a->now_ms;
}

static int need_blob(struct ws_mem_applying *a, const struct wl_blob_key *key, struct ws_mem_blob **ret,
                     struct upp_err *err)
{
    struct ws_mem_blob *b = *ret;
    if (b)
        return 0;
    if (!ws_mem_room(a->m, WS_MEM_BLOBS))
        return ws_mem_no_memory(err);
    int r = ws_mem_alloc(a->m, sizeof *b, &b, err);
    if (r < 0)
        return r;
    b->tenant = a->tenant;
    b->v = *key;
    *ret = b;
    return 0;
}

int ws_mem_add_piece(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const struct wl_piece *p = c->piece;
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, &p->key), *was = b;
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
        r = ws_mem_copy(a->m, &ws_pieces, p, sizeof *x, &x, err);
    if (r < 0) {
        if (b && !was)
            free_blob(a->m, b);
        return r;
    }
    touch(a, b, d);
    b->pieces.p[b->pieces.n++] = x;
    b->whole = p->last;
    if (!was)
        ws_mem_enter(a->m, WS_MEM_BLOBS, b);
    d->now = x;
    return 0;
}

void ws_mem_undo_piece(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_blob *b = d->blob;
    b->loose = d->loose;
    if (!d->now)
        return; /* it existed before */
    b->pieces.n--;
    b->whole = false;
    ws_mem_free(a->m, d->now);
    if (b->pieces.n)
        return;
    ws_mem_leave(a->m, WS_MEM_BLOBS, b);
    free_blob(a->m, b);
}

int ws_mem_drop_blob(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, c->blob);
    if (!b)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (b->refs)
        return ws_blob_stays(err, "something refers to it");
    ws_mem_leave(a->m, WS_MEM_BLOBS, b);
    d->before = b;
    return 0;
}

void ws_mem_undrop_blob(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_enter(a->m, WS_MEM_BLOBS, d->before);
}

static void name_it(struct ws_mem_applying *a, struct ws_mem_blob *b, const struct wl_blob_key *key)
{
    ws_mem_leave(a->m, WS_MEM_BLOBS, b);
    b->v = *key;
    ws_mem_enter(a->m, WS_MEM_BLOBS, b);
}

int ws_mem_name_blob(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *from = ws_mem_blob(a->m, a->tenant, c->name.from),
                       *to = ws_mem_blob(a->m, a->tenant, c->name.to);
    if (!from)
        return ws_no_blob(err, UPP_ENOTFOUND);
    if (!from->whole || from->refs)
        return ws_blob_stays(err, from->refs ? "something refers to it" : "it is not whole");
    if (from == to)
        return 0;
    if (to && to->whole) {
        ws_mem_leave(a->m, WS_MEM_BLOBS, from);
        d->before = from;
        touch(a, to, d);
        return 0;
    }
    if (to) /* an unfinished one: its writer can use ours */
        ws_mem_leave(a->m, WS_MEM_BLOBS, to);
    d->before = to;
    d->now = from;
    d->key = from->v;
    touch(a, from, d);
    name_it(a, from, c->name.to);
    return 0;
}

void ws_mem_undo_name(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->now)
        name_it(a, d->now, &d->key);
    if (d->before)
        ws_mem_enter(a->m, WS_MEM_BLOBS, d->before);
    if (d->blob)
        d->blob->loose = d->loose;
}

static struct ws_mem_ref as_ref(const struct wl_ref *x, struct ws_mem_blob *b)
{
    return x->node ? (struct ws_mem_ref){.blob = b, .node = x->node, .pos = x->pos}
                   : (struct ws_mem_ref){.blob = b, .id = x->id};
}

static void link_ref(struct ws_mem_applying *a, struct ws_mem_ref *x)
{
    WS_MEM_INSERT(&a->tenant->refs, ws_mem_ref_at(a->tenant, x), x);
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

int ws_mem_add_ref(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, &c->ref->blob);
    struct ws_mem_ref *x = NULL;
    if (!b || !b->whole)
        return ws_no_blob(err, UPP_EBUSY);
    struct ws_mem_ref key = as_ref(c->ref, b);
    size_t at = ws_mem_ref_at(a->tenant, &key);
    if (at < a->tenant->refs.n && ws_mem_ref_cmp(a->tenant->refs.p[at], &key) == 0)
        return 0;
    if (!wb_vec_room(&a->tenant->refs, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_alloc(a->m, sizeof *x, &x, err);
    if (r < 0)
        return r;
    key.head = x->head;
    *x = key;
    d->now = x;
    d->loose = b->loose;
    link_ref(a, x);
    return 0;
}

void ws_mem_undo_ref(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_ref *x = d->now;
    if (!x)
        return; /* it existed before */
    unlink_ref(a, ws_mem_ref_at(a->tenant, x));
    if (!x->blob->refs)
        x->blob->loose = d->loose;
    ws_mem_free(a->m, x);
}

int ws_mem_drop_ref(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_blob *b = ws_mem_blob(a->m, a->tenant, &c->ref->blob);
    struct ws_mem_ref key = as_ref(c->ref, b);
    size_t at = b ? ws_mem_ref_at(a->tenant, &key) : 0;
    (void)err;
    if (b && at < a->tenant->refs.n && ws_mem_ref_cmp(a->tenant->refs.p[at], &key) == 0) {
        d->refs = a->tenant->refs.p[at];
        unlink_ref(a, at);
    }
    return 0;
}

struct ws_mem_ref *ws_mem_refs_take(struct ws_mem_applying *a, uint64_t node, uint64_t from, uint64_t to)
{
    struct ws_mem_tenant *t = a->tenant;
    struct ws_mem_ref *chain = NULL;
    size_t at = ws_mem_ref_at(t, &(struct ws_mem_ref){.node = node, .pos = from});
    while (at < t->refs.n && t->refs.p[at]->node == node && t->refs.p[at]->pos <= to) {
        struct ws_mem_ref *x = t->refs.p[at];
        unlink_ref(a, at);
        x->next = chain;
        chain = x;
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
