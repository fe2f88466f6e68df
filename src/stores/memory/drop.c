/* stores/memory/drop.c — changes in place and deletions. Nothing is freed before the commit succeeds. */
#include "stores/memory/store.h"

int ws_mem_texts(struct ws_mem_applying *a, const struct wl_node *n, struct upp_str origin, struct ws_mem_texts **ret,
                 struct upp_err *err)
{
    struct wl_node v = {.name = n->name, .metadata = n->metadata, .origin = origin};
    *ret = NULL;
    return v.name.p || v.metadata.p || v.origin.p ? ws_mem_copy(a->m, &ws_nodes, &v, sizeof **ret, ret, err) : 0;
}

void ws_mem_free_node(struct ws_memory *m, struct ws_mem_node *n)
{
    for (size_t i = 0; i < n->rows.n; i++)
        ws_mem_free(m, n->rows.p[i]);
    wb_vec_done(&n->rows);
    ws_mem_free(m, n->texts);
    ws_mem_free(m, n);
}

int ws_mem_set_node(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, c->node->key);
    struct ws_mem_texts *t;
    if (!n)
        return ws_no_node(err, c->node->key);
    int r = ws_mem_texts(a, c->node, n->texts ? n->texts->v.origin : (struct upp_str){NULL, 0}, &t, err);
    if (r < 0)
        return r;
    d->now = n;
    d->before = n->texts;
    n->texts = t;
    return 0;
}

void ws_mem_unset_node(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_node *n = d->now;
    ws_mem_free(a->m, n->texts);
    n->texts = d->before;
}

int ws_mem_set_row(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const struct wl_row *row = c->row;
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, row->node);
    size_t at = n ? ws_mem_row_at(n, row->pos) : 0;
    struct ws_mem_row *x = NULL;
    if (!n || at == n->rows.n || n->rows.p[at]->v.pos != row->pos)
        return ws_no_row(err, row);
    struct ws_mem_row *old = n->rows.p[at];
    struct wl_row v = old->v;
    v.format = row->format;
    v.body = row->body;
    v.tape = row->tape;
    int r = ws_mem_copy(a->m, &ws_rows, &v, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->number = old->number;
    n->rows.p[at] = x;
    d->now = n;
    d->before = old;
    d->refs = ws_mem_refs_take(a, row->node, row->pos, row->pos);
    return 0;
}

void ws_mem_unset_row(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_node *n = d->now;
    struct ws_mem_row *old = d->before;
    size_t at = ws_mem_row_at(n, old->v.pos);
    ws_mem_free(a->m, n->rows.p[at]);
    n->rows.p[at] = old;
}

static bool has_children(struct ws_mem_applying *a, const struct ws_mem_node *n)
{
    const struct ws_mem_family *f = ws_mem_family(a->m, a->tenant, wl_family(n->v.tree));
    for (size_t i = 0; i < f->nodes.n; i++)
        if (f->nodes.p[i]->v.parent == n->v.key)
            return true;
    return false;
}

int ws_mem_drop_node(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const uint64_t key = c->node->key;
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, key);
    if (!n)
        return ws_no_node(err, key);
    if (!wb_uuid_is_nil(n->v.holder))
        return ws_node_stays(err, key, "a run holds it");
    if (has_children(a, n))
        return ws_node_stays(err, key, "another node stands on it");
    ws_mem_unlist_node(a->m, n);
    d->before = n;
    d->refs = ws_mem_refs_take(a, key, 0, UINT64_MAX);
    return 0;
}

void ws_mem_undrop_node(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_list_node(a->m, d->before);
}

void ws_mem_free_dropped_node(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    a->m->gone += ((struct ws_mem_node *)d->before)->rows.n;
    ws_mem_free_node(a->m, d->before);
}

/* Undo links them again, or they are freed at the end. */
static void drop_aliases_of(struct ws_mem_applying *a, struct wb_uuid object, struct ws_mem_done *d)
{
    for (struct ws_mem_alias *x; (x = ws_mem_alias_of(a->tenant, object));) {
        ws_mem_unlink_alias(a->m, x);
        x->next = d->aliases;
        d->aliases = x;
    }
}

int ws_mem_drop_thread(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const struct wl_thread *thread = c->thread;
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, thread->id);
    if (!t)
        return ws_no_thing(err, "thread", thread->id);
    if (t->v.version != thread->version)
        return ws_version_differs(err, "thread", thread->id, t->v.version, thread->version);
    ws_mem_unlist_thread(a->m, t);
    ws_mem_leave(a->m, WS_MEM_THREADS, t);
    d->before = t;
    drop_aliases_of(a, thread->id, d);
    return 0;
}

void ws_mem_undrop_thread(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_enter(a->m, WS_MEM_THREADS, d->before);
    ws_mem_list_thread(a->m, d->before);
}

int ws_mem_drop_run(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_run *x = ws_mem_run(a->m, a->tenant, c->run->id);
    if (!x)
        return ws_no_thing(err, "run", c->run->id);
    if (!wm_status_ended(x->v.status))
        return ws_run_lives(err, c->run->id);
    WS_MEM_REMOVE(&x->of->runs, ws_mem_run_at(x->of->runs.p, x->of->runs.n, x->number));
    WS_MEM_REMOVE(&x->tenant->runs, ws_mem_run_at(x->tenant->runs.p, x->tenant->runs.n, x->number));
    ws_mem_leave(a->m, WS_MEM_RUNS, x);
    d->before = x;
    drop_aliases_of(a, c->run->id, d);
    return 0;
}

void ws_mem_undrop_run(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_run *x = d->before;
    WS_MEM_INSERT(&x->of->runs, ws_mem_run_at(x->of->runs.p, x->of->runs.n, x->number), x);
    WS_MEM_INSERT(&x->tenant->runs, ws_mem_run_at(x->tenant->runs.p, x->tenant->runs.n, x->number), x);
    ws_mem_enter(a->m, WS_MEM_RUNS, x);
}

int ws_mem_drop_alias(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_alias *x = ws_mem_alias(a->m, a->owner, c->alias->kind, c->alias->text);
    (void)err;
    if (x)
        ws_mem_unlink_alias(a->m, x);
    d->aliases = x;
    return 0;
}
