/* stores/memory/drop.c — what is changed in place and what is deleted. Nothing is freed before the commit stands. */
#include "stores/memory/store.h"

/* ---- Nodes and rows -------------------------------------------------------------------------------- */

int ws_mem_texts(struct ws_mem_applying *a, const struct wl_node *n, struct upp_str origin, struct ws_mem_texts **ret,
                 struct upp_err *err)
{
    struct ws_mem_texts *t    = NULL;
    size_t               size = sizeof *t + n->name.n + n->metadata.n + origin.n;
    *ret                      = NULL;
    if (!n->name.p && !n->metadata.p && !origin.p)
        return 0;
    int r = ws_mem_take(a->m, size, &t, err);
    if (r < 0)
        return r;
    t->size     = size;
    t->name     = n->name;
    t->metadata = n->metadata;
    t->origin   = origin;
    (void)ws_mem_keep(ws_mem_keep(ws_mem_keep(t->bytes, &t->name), &t->metadata), &t->origin);
    *ret = t;
    return 0;
}

static void free_texts(struct ws_memory *m, struct ws_mem_texts *t)
{
    if (t)
        ws_mem_give(m, t, t->size);
}

void ws_mem_free_node(struct ws_memory *m, struct ws_mem_node *n)
{
    for (size_t i = 0; i < n->rows.n; i++)
        ws_mem_give(m, n->rows.p[i], n->rows.p[i]->size);
    wb_vec_done(&n->rows);
    free_texts(m, n->texts);
    ws_mem_give(m, n, sizeof *n);
}

static int set_node(struct ws_mem_applying *a, const struct wl_node *node, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node  *n = ws_mem_node(a->m, a->tenant, node->key);
    struct ws_mem_texts *t;
    if (!n)
        return ws_no_node(err, node->key);
    int r = ws_mem_texts(a, node, n->texts ? n->texts->origin : (struct upp_str){NULL, 0}, &t, err);
    if (r < 0)
        return r;
    d->now    = n;
    d->before = n->texts;
    n->texts  = t;
    return 0;
}

static int set_row(struct ws_mem_applying *a, const struct wl_row *row, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n  = ws_mem_node(a->m, a->tenant, row->node);
    size_t              at = n ? ws_mem_row_at(n, row->pos) : 0;
    struct ws_mem_row  *x  = NULL;
    if (!n || at == n->rows.n || n->rows.p[at]->v.pos != row->pos)
        return ws_no_row(err, row);
    size_t size = sizeof *x + row->body.n + row->tape.n;
    int    r    = ws_mem_take(a->m, size, &x, err);
    if (r < 0)
        return r;
    struct ws_mem_row *old = n->rows.p[at];
    x->size                = size;
    x->number              = old->number;
    x->v                   = old->v;
    x->v.format            = row->format;
    x->v.body              = row->body;
    x->v.tape              = row->tape;
    (void)ws_mem_keep(ws_mem_keep(x->bytes, &x->v.body), &x->v.tape);
    n->rows.p[at] = x;
    d->now        = n;
    d->before     = old;
    d->refs       = ws_mem_refs_take(a, row->node, row->pos, row->pos);
    return 0;
}

static bool has_children(struct ws_mem_applying *a, const struct ws_mem_node *n)
{
    const struct ws_mem_family *f = ws_mem_family(a->m, a->tenant, wl_family(n->v.tree));
    for (size_t i = 0; i < f->nodes.n; i++)
        if (f->nodes.p[i]->v.parent == n->v.key)
            return true;
    return false;
}

static int drop_node(struct ws_mem_applying *a, uint64_t key, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, key);
    if (!n)
        return ws_no_node(err, key);
    if (!ws_none(n->v.holder))
        return ws_node_stays(err, key, "a run holds it");
    if (has_children(a, n))
        return ws_node_stays(err, key, "another node stands on it");
    ws_mem_unlist_node(a->m, n);
    d->before = n;
    d->refs   = ws_mem_refs_take(a, key, 0, UINT64_MAX);
    return 0;
}

/* ---- Threads, runs, aliases ------------------------------------------------------------------------ */

static int drop_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_done *d,
                       struct upp_err *err)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, thread->id);
    if (!t)
        return ws_no_thing(err, "thread", thread->id);
    if (t->v.version != thread->version)
        return ws_version_differs(err, "thread", thread->id, t->v.version, thread->version);
    ws_mem_unlist_thread(a->m, t);
    ws_table_remove(&a->m->threads, &t->entry);
    d->before = t;
    for (struct ws_mem_alias *x; (x = ws_mem_alias_of(a->tenant, thread->id));) {
        ws_mem_unlink_alias(a->m, x);
        x->next    = d->aliases;
        d->aliases = x;
    }
    return 0;
}

static int drop_run(struct ws_mem_applying *a, struct wb_uuid id, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_run *x = ws_mem_run(a->m, a->tenant, id);
    if (!x)
        return ws_no_thing(err, "run", id);
    if (!wm_status_ended(x->v.status))
        return ws_run_lives(err, id);
    WS_MEM_REMOVE(&x->of->runs, ws_mem_run_at(x->of->runs.p, x->of->runs.n, x->number));
    WS_MEM_REMOVE(&x->tenant->runs, ws_mem_run_at(x->tenant->runs.p, x->tenant->runs.n, x->number));
    ws_table_remove(&a->m->runs, &x->entry);
    d->before = x;
    return 0;
}

static void undrop_run(struct ws_mem_applying *a, struct ws_mem_run *x)
{
    WS_MEM_INSERT(&x->of->runs, ws_mem_run_at(x->of->runs.p, x->of->runs.n, x->number), x);
    WS_MEM_INSERT(&x->tenant->runs, ws_mem_run_at(x->tenant->runs.p, x->tenant->runs.n, x->number), x);
    ws_table_add(&a->m->runs, &x->entry);
}

static int drop_alias(struct ws_mem_applying *a, const struct wl_alias *alias, struct ws_mem_done *d)
{
    struct ws_mem_alias *x = ws_mem_alias(a->m, a->owner, alias->kind, alias->text);
    if (x)
        ws_mem_unlink_alias(a->m, x);
    d->aliases = x;
    return 0;
}

/* ---- Each kind ------------------------------------------------------------------------------------- */

int ws_mem_drop(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    switch ((int)c->kind) {
    case WL_SET_NODE:
        return set_node(a, c->node, d, err);
    case WL_SET_ROW:
        return set_row(a, c->row, d, err);
    case WL_DROP_THREAD:
        return drop_thread(a, c->thread, d, err);
    case WL_DROP_NODE:
        return drop_node(a, c->node->key, d, err);
    case WL_DROP_RUN:
        return drop_run(a, c->run->id, d, err);
    default:
        return drop_alias(a, c->alias, d);
    }
}

static void undo_set_row(struct ws_mem_node *n, struct ws_mem_row *old, struct ws_memory *m)
{
    size_t at = ws_mem_row_at(n, old->v.pos);
    ws_mem_give(m, n->rows.p[at], n->rows.p[at]->size);
    n->rows.p[at] = old;
}

void ws_mem_undrop(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    switch ((int)d->kind) {
    case WL_SET_NODE:
        free_texts(a->m, ((struct ws_mem_node *)d->now)->texts);
        ((struct ws_mem_node *)d->now)->texts = d->before;
        break;
    case WL_SET_ROW:
        undo_set_row(d->now, d->before, a->m);
        break;
    case WL_DROP_THREAD:
        ws_table_add(&a->m->threads, &((struct ws_mem_thread *)d->before)->entry);
        ws_mem_list_thread(a->m, d->before);
        break;
    case WL_DROP_NODE:
        ws_mem_list_node(a->m, d->before);
        break;
    case WL_DROP_RUN:
        undrop_run(a, d->before);
        break;
    default:
        break;
    }
    for (struct ws_mem_alias *x = d->aliases, *next; x; x = next) {
        next    = x->next;
        x->next = NULL;
        ws_mem_link_alias(a->m, x);
    }
    ws_mem_refs_back(a, d->refs);
}

void ws_mem_settle_drop(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    switch ((int)d->kind) {
    case WL_SET_NODE:
        free_texts(a->m, d->before);
        break;
    case WL_SET_ROW:
        ws_mem_give(a->m, d->before, ((struct ws_mem_row *)d->before)->size);
        break;
    case WL_DROP_THREAD:
        ws_mem_give(a->m, d->before, ((struct ws_mem_thread *)d->before)->size);
        break;
    case WL_DROP_NODE:
        a->m->gone += ((struct ws_mem_node *)d->before)->rows.n;
        ws_mem_free_node(a->m, d->before);
        break;
    case WL_DROP_RUN:
        ws_mem_give(a->m, d->before, ((struct ws_mem_run *)d->before)->size);
        break;
    default:
        break;
    }
    for (struct ws_mem_alias *x = d->aliases, *next; x; x = next) {
        next = x->next;
        ws_mem_give(a->m, x, x->size);
    }
    ws_mem_refs_free(a->m, d->refs);
}
