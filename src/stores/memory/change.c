/* stores/memory/change.c — the changes of a commit, all or none: what is added and set.
 *
 * Each change first takes all memory it needs and then happens; each that has happened can be undone without memory.
 * So a commit that fails at its tenth change, for whatever reason, undoes nine and has changed nothing.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/hooks.h"
#include "stores/memory/store.h"

enum { SWEEP = 4 };

/* ---- Memory -------------------------------------------------------------------------------------- */

int ws_mem_no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for a commit");
}

/* Counted, within the limit, cleared. */
int ws_mem_take(struct ws_memory *m, size_t size, void *ret, struct upp_err *err)
{
    if (size > m->max || m->used > m->max - size)
        return wb_fail_full(err, "the memory store holds %zu bytes, its limit is %zu", m->used, m->max);
    void *p = wb_calloc(1, size);
    if (!p)
        return ws_mem_no_memory(err);
    m->used += size;
    memcpy(ret, &p, sizeof p);
    return 0;
}

void ws_mem_give(struct ws_memory *m, void *p, size_t size)
{
    m->used -= size;
    wb_free(p);
}

char *ws_mem_keep(char *at, struct upp_str *s)
{
    if (!s->p)
        return at;
    if (s->n)
        memcpy(at, s->p, s->n);
    s->p = at;
    return at + s->n;
}

/* ---- Tenants and owners: once made they stay ------------------------------------------------------- */

static int need_tenant(struct ws_memory *m, struct upp_str name, struct ws_mem_tenant **ret, struct upp_err *err)
{
    struct ws_mem_tenant *t = ws_mem_tenant(m, name);
    if (!t) {
        if (!ws_table_room(&m->tenants) || !wb_vec_room(&m->by_name, WS_MEM_MANY))
            return ws_mem_no_memory(err);
        int r = ws_mem_take(m, sizeof *t + name.n, &t, err);
        if (r < 0)
            return r;
        t->name       = name;
        t->entry.hash = ws_mem_hash_name(m, name);
        (void)ws_mem_keep(t->bytes, &t->name);
        ws_table_add(&m->tenants, &t->entry);
        WS_MEM_INSERT(&m->by_name, ws_mem_name_at(m, t->name), t);
    }
    *ret = t;
    return 0;
}

static int need_owner(struct ws_memory *m, struct ws_mem_tenant *t, struct upp_str user, struct ws_mem_owner **ret,
                      struct upp_err *err)
{
    struct ws_mem_owner *o = ws_mem_owner(m, t, user);
    if (!o) {
        if (!ws_table_room(&m->owners))
            return ws_mem_no_memory(err);
        int r = ws_mem_take(m, sizeof *o + user.n, &o, err);
        if (r < 0)
            return r;
        o->tenant     = t;
        o->user       = user;
        o->entry.hash = ws_mem_hash_owner(m, t, user);
        (void)ws_mem_keep(o->bytes, &o->user);
        ws_table_add(&m->owners, &o->entry);
    }
    *ret = o;
    return 0;
}

/* ---- Rows and nodes -------------------------------------------------------------------------------- */

static int add_row(struct ws_mem_applying *a, const struct wl_row *row, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, row->node);
    if (!n)
        return ws_no_node(err, row->node);
    const struct wl_row *last = n->rows.n ? &n->rows.p[n->rows.n - 1]->v : NULL;
    uint64_t             end  = last ? wl_pos_next(last->pos, last->n_entries) : 0;
    if (row->pos != end)
        return ws_row_misplaced(err, row, end);
    struct ws_mem_row *new = NULL;
    size_t size            = sizeof *new + row->body.n + row->tape.n;
    if (!wb_vec_room(&n->rows, WS_MEM_MANY) || !wb_vec_room(&a->m->log, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, size, &new, err);
    if (r < 0)
        return r;
    new->v                     = *row;
    new->size                  = size;
    new->number                = ++a->m->last_row;
    a->m->log.p[a->m->log.n++] = (struct ws_mem_place){new->number, row->node, row->pos, a->tenant};
    (void)ws_mem_keep(ws_mem_keep(new->bytes, &new->v.body), &new->v.tape);
    n->rows.p[n->rows.n++] = new;
    d->now                 = n;
    return 0;
}

static void undo_row(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_node *n   = d->now;
    struct ws_mem_row  *row = n->rows.p[--n->rows.n];
    a->m->log.n--;
    ws_mem_give(a->m, row, row->size);
}

static int add_node(struct ws_mem_applying *a, const struct wl_node *node, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, node->key);
    struct ws_mem_kin   kin;
    if (n)
        return ws_taken(err, "the key of a node");
    if (!ws_table_room(&a->m->nodes))
        return ws_mem_no_memory(err);
    int r = ws_mem_kin(a, (uint32_t)(node->key >> 32), node->tree, &kin, err);
    if (r >= 0)
        r = ws_mem_take(a->m, sizeof *n, &n, err);
    if (r < 0)
        return r;
    n->tenant     = a->tenant;
    n->v          = *node;
    n->entry.hash = ws_mem_hash_u64(a->m, a->tenant, node->key);
    r             = ws_mem_texts(a, node, node->origin, &n->texts, err);
    n->v.name = n->v.metadata = n->v.origin = (struct upp_str){NULL, 0};
    if (r < 0) {
        ws_mem_free_node(a->m, n);
        return r;
    }
    ws_mem_list_node(a->m, n);
    d->now = n;
    return 0;
}

static void undo_node(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_unlist_node(a->m, d->now);
    ws_mem_free_node(a->m, d->now);
}

static int hold_node(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, c->hold.node);
    if (!n)
        return ws_no_node(err, c->hold.node);
    if (!wb_uuid_eq(n->v.holder, c->hold.from))
        return upp_fail(err, UPP_EBUSY, "node %016llx is held by another run", (unsigned long long)c->hold.node);
    d->now      = n;
    d->holder   = n->v.holder;
    n->v.holder = c->hold.to;
    return 0;
}

/* ---- Threads --------------------------------------------------------------------------------------- */

static int copy_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_owner *o,
                       struct ws_mem_thread **ret, struct upp_err *err)
{
    struct ws_mem_thread *t    = NULL;
    size_t                size = sizeof *t + thread->title.n + thread->metadata.n;
    int                   r    = ws_mem_take(a->m, size, &t, err);
    if (r < 0)
        return r;
    t->v          = *thread;
    t->v.owner    = (struct wl_owner){o->tenant->name, o->user};
    t->owner      = o;
    t->tenant     = a->tenant;
    t->size       = size;
    t->entry.hash = ws_mem_hash_uuid(a->m, a->tenant, thread->id);
    (void)ws_mem_keep(ws_mem_keep(t->bytes, &t->v.title), &t->v.metadata);
    *ret = t;
    return 0;
}

static int add_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_done *d,
                      struct upp_err *err)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, thread->id);
    if (t)
        return ws_taken(err, "the id of a thread");
    struct ws_mem_kin kin;
    if (!ws_table_room(&a->m->threads) || !wb_vec_room(&a->owner->threads, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_kin(a, wl_family(thread->id), thread->tree, &kin, err);
    if (r >= 0)
        r = copy_thread(a, thread, a->owner, &t, err);
    if (r < 0)
        return r;
    ws_table_add(&a->m->threads, &t->entry);
    ws_mem_list_thread(a->m, t);
    d->now = t;
    return 0;
}

static int set_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_done *d,
                      struct upp_err *err)
{
    struct ws_mem_thread *old = ws_mem_thread(a->m, a->tenant, thread->id), *t = NULL;
    if (!old)
        return ws_no_thing(err, "thread", thread->id);
    if (old->v.version != thread->version)
        return ws_version_differs(err, "thread", thread->id, old->v.version, thread->version);
    int r = copy_thread(a, thread, old->owner, &t, err);
    if (r < 0)
        return r;
    t->v.tree       = old->v.tree;
    t->v.parent     = old->v.parent;
    t->v.kind       = old->v.kind;
    t->v.created_ms = old->v.created_ms;
    t->v.version    = old->v.version + 1;
    ws_mem_unlist_thread(a->m, old);
    ws_table_replace(&a->m->threads, &old->entry, &t->entry);
    ws_mem_list_thread(a->m, t);
    d->now    = t;
    d->before = old;
    return 0;
}

static void undo_thread(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_thread *t = d->now, *old = d->before;
    ws_mem_unlist_thread(a->m, t);
    if (old) {
        ws_table_replace(&a->m->threads, &t->entry, &old->entry);
        ws_mem_list_thread(a->m, old);
    } else
        ws_table_remove(&a->m->threads, &t->entry);
    ws_mem_give(a->m, t, t->size);
}

/* It is listed by this time. */
static void move_thread(struct ws_mem_applying *a, struct ws_mem_thread *t, int64_t updated_ms)
{
    ws_mem_unlist_thread(a->m, t);
    t->v.updated_ms = updated_ms;
    ws_mem_list_thread(a->m, t);
}

static void touch_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_done *d)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, thread->id);
    if (!t || t->v.updated_ms >= thread->updated_ms)
        return;
    d->now     = t;
    d->updated = t->v.updated_ms;
    move_thread(a, t, thread->updated_ms);
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static size_t live_at(struct ws_memory *m, const struct ws_mem_run *run)
{
    return ws_mem_live_at(m, run->v.id, run->tenant->name);
}

static void list_run(struct ws_memory *m, struct ws_mem_run *run)
{
    if (wm_status_ended(run->v.status))
        return;
    size_t at = live_at(m, run);
    memmove(m->live.p + at + 1, m->live.p + at, (m->live.n++ - at) * sizeof m->live.p[0]);
    m->live.p[at] = run;
}

static void unlist_run(struct ws_memory *m, struct ws_mem_run *run)
{
    if (wm_status_ended(run->v.status))
        return;
    size_t at = live_at(m, run);
    memmove(m->live.p + at, m->live.p + at + 1, (--m->live.n - at) * sizeof m->live.p[0]);
}

static int copy_run(struct ws_mem_applying *a, const struct wm_run *run, struct ws_mem_run **ret, struct upp_err *err)
{
    struct ws_mem_run *x    = NULL;
    size_t             size = sizeof *x + run->agent.n + run->call.n + run->options.n + run->error.n;
    int                r    = ws_mem_take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *run;
    x->tenant     = a->tenant;
    x->owner      = a->owner;
    x->size       = size;
    x->entry.hash = ws_mem_hash_uuid(a->m, a->tenant, run->id);
    (void)ws_mem_keep(ws_mem_keep(ws_mem_keep(ws_mem_keep(x->bytes, &x->v.agent), &x->v.call), &x->v.options),
                      &x->v.error);
    *ret = x;
    return 0;
}

/* The list of a thread's runs; an empty one stays when its first run is undone. */
static int need_runs(struct ws_mem_applying *a, struct wb_uuid thread, struct ws_mem_runs **ret, struct upp_err *err)
{
    struct ws_mem_runs *of = ws_mem_runs(a->m, a->tenant, thread);
    if (!of) {
        if (!ws_table_room(&a->m->runs_of))
            return ws_mem_no_memory(err);
        int r = ws_mem_take(a->m, sizeof *of, &of, err);
        if (r < 0)
            return r;
        of->tenant     = a->tenant;
        of->thread     = thread;
        of->entry.hash = ws_mem_hash_uuid(a->m, a->tenant, thread);
        ws_table_add(&a->m->runs_of, &of->entry);
    }
    *ret = of;
    return 0;
}

static int add_run(struct ws_mem_applying *a, const struct wm_run *run, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_memory   *m  = a->m;
    struct ws_mem_run  *x  = ws_mem_run(m, a->tenant, run->id);
    struct ws_mem_runs *of = NULL;
    if (x)
        return ws_taken(err, "the id of a run");
    int r = need_runs(a, run->thread, &of, err);
    if (r < 0)
        return r;
    if (!ws_table_room(&m->runs) || !wb_vec_room(&of->runs, WS_MEM_MANY) || !wb_vec_room(&m->live, WS_MEM_MANY) ||
        !wb_vec_room(&a->tenant->runs, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    r = copy_run(a, run, &x, err);
    if (r < 0)
        return r;
    x->of                                  = of;
    x->number                              = ++m->last_number;
    of->runs.p[of->runs.n++]               = x;
    a->tenant->runs.p[a->tenant->runs.n++] = x;
    ws_table_add(&m->runs, &x->entry);
    list_run(m, x);
    d->now = x;
    return 0;
}

/* In its place by its number, where an earlier version of it stands. */
static void put_run(struct ws_mem_run *x)
{
    struct ws_mem_runs   *of                                     = x->of;
    struct ws_mem_tenant *t                                      = x->tenant;
    of->runs.p[ws_mem_run_at(of->runs.p, of->runs.n, x->number)] = x;
    t->runs.p[ws_mem_run_at(t->runs.p, t->runs.n, x->number)]    = x;
}

static int set_run(struct ws_mem_applying *a, const struct wm_run *run, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_memory  *m   = a->m;
    struct ws_mem_run *old = ws_mem_run(m, a->tenant, run->id), *x = NULL;
    if (!old)
        return ws_no_thing(err, "run", run->id);
    if (old->v.version != run->version)
        return ws_version_differs(err, "run", run->id, old->v.version, run->version);
    if (!wb_vec_room(&m->live, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    struct wm_run v = *run;
    v.root          = old->v.root;
    v.parent        = old->v.parent;
    v.thread        = old->v.thread;
    v.depth         = old->v.depth;
    v.call          = old->v.call;
    v.created_ms    = old->v.created_ms;
    v.version       = old->v.version + 1;
    int r           = copy_run(a, &v, &x, err);
    if (r < 0)
        return r;
    x->of     = old->of;
    x->owner  = old->owner;
    x->number = old->number;
    put_run(x);
    unlist_run(m, old);
    ws_table_replace(&m->runs, &old->entry, &x->entry);
    list_run(m, x);
    d->now    = x;
    d->before = old;
    return 0;
}

static void undo_run(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_run *x = d->now, *old = d->before;
    unlist_run(a->m, x);
    if (old) {
        ws_table_replace(&a->m->runs, &x->entry, &old->entry);
        put_run(old);
        list_run(a->m, old); /* there was room when it left */
    } else {
        ws_table_remove(&a->m->runs, &x->entry);
        x->of->runs.n--; /* the newest */
        a->tenant->runs.n--;
    }
    ws_mem_give(a->m, x, x->size);
}

/* ---- Aliases and keys ------------------------------------------------------------------------------ */

static int add_alias(struct ws_mem_applying *a, const struct wl_alias *alias, struct ws_mem_done *d,
                     struct upp_err *err)
{
    struct ws_mem_alias *x = ws_mem_alias(a->m, a->owner, alias->kind, alias->text);
    if (x)
        return wb_uuid_eq(x->v.object, alias->object) ? 0 : ws_taken(err, "the alias");
    size_t size = sizeof *x + alias->text.n;
    if (!ws_table_room(&a->m->aliases) || !wb_vec_room(&a->tenant->aliases, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *alias;
    x->owner      = a->owner;
    x->size       = size;
    x->entry.hash = ws_mem_hash_alias(a->m, a->owner, alias->kind, alias->text);
    (void)ws_mem_keep(x->bytes, &x->v.text);
    ws_mem_link_alias(a->m, x);
    d->now = x;
    return 0;
}

static void undo_alias(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_alias *x = d->now;
    if (!x)
        return; /* it was there before */
    ws_mem_unlink_alias(a->m, x);
    ws_mem_give(a->m, x, x->size);
}

static int add_key(struct ws_mem_applying *a, const struct wl_key *key, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_key *old = ws_mem_key(a->m, a->tenant, key->route, key->key), *x = NULL;
    if (old && !ws_key_expired(old->v.created_ms, a->now_ms))
        return ws_taken(err, "the idempotency key");
    size_t size = sizeof *x + key->route.n + key->key.n;
    if (!ws_table_room(&a->m->keys))
        return ws_mem_no_memory(err);
    int r = ws_mem_take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *key;
    x->tenant     = a->tenant;
    x->size       = size;
    x->entry.hash = ws_mem_hash_key(a->m, a->tenant, key->route, key->key);
    (void)ws_mem_keep(ws_mem_keep(x->bytes, &x->v.route), &x->v.key);
    if (old)
        ws_table_replace(&a->m->keys, &old->entry, &x->entry);
    else
        ws_table_add(&a->m->keys, &x->entry);
    d->now    = x;
    d->before = old;
    return 0;
}

static void undo_key(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_key *x = d->now, *old = d->before;
    if (old)
        ws_table_replace(&a->m->keys, &x->entry, &old->entry);
    else
        ws_table_remove(&a->m->keys, &x->entry);
    ws_mem_give(a->m, x, x->size);
}

/* A few expired keys go with every commit that adds one: as many as come, so they do not pile up. */
static void sweep_keys(struct ws_memory *m, int64_t now_ms)
{
    for (int i = 0; i < SWEEP && m->keys.cap; i++) {
        m->swept             = (m->swept + 1) & (m->keys.cap - 1);
        struct ws_mem_key *k = (struct ws_mem_key *)(void *)m->keys.slot[m->swept];
        if (k && ws_key_expired(k->v.created_ms, now_ms)) {
            ws_table_remove(&m->keys, &k->entry);
            ws_mem_give(m, k, k->size);
        }
    }
}

/* ---- A commit -------------------------------------------------------------------------------------- */

static int apply_one(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    switch (c->kind) {
    case WL_ADD_ROW:
        return add_row(a, c->row, d, err);
    case WL_ADD_NODE:
        return add_node(a, c->node, d, err);
    case WL_ADD_THREAD:
        return add_thread(a, c->thread, d, err);
    case WL_SET_THREAD:
        return set_thread(a, c->thread, d, err);
    case WL_HOLD_NODE:
        return hold_node(a, c, d, err);
    case WL_ADD_RUN:
        return add_run(a, c->run, d, err);
    case WL_SET_RUN:
        return set_run(a, c->run, d, err);
    case WL_ADD_ALIAS:
        return add_alias(a, c->alias, d, err);
    case WL_ADD_KEY:
        return add_key(a, c->key, d, err);
    case WL_TOUCH_THREAD:
        touch_thread(a, c->thread, d);
        return 0;
    case WL_SET_NODE:
    case WL_SET_ROW:
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_DROP_ALIAS:
        return ws_mem_drop(a, c, d, err);
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
    case WL_ADD_PIECE:
    case WL_NAME_BLOB:
    case WL_ADD_REF:
    case WL_DROP_REF:
    case WL_DROP_BLOB:
        return ws_mem_blob_change(a, c, d, err);
    case WL_LEARN:
        return upp_fail(err, UPP_EREFUSED, "this store keeps no words");
    case WL_TIDY:
        break;
    }
    return upp_fail(err, UPP_EINVALID, "no kind of change: %d", (int)c->kind);
}

static void undo_one(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    switch (d->kind) {
    case WL_ADD_ROW:
        undo_row(a, d);
        break;
    case WL_ADD_NODE:
        undo_node(a, d);
        break;
    case WL_ADD_THREAD:
    case WL_SET_THREAD:
        undo_thread(a, d);
        break;
    case WL_HOLD_NODE:
        ((struct ws_mem_node *)d->now)->v.holder = d->holder;
        break;
    case WL_ADD_RUN:
    case WL_SET_RUN:
        undo_run(a, d);
        break;
    case WL_ADD_ALIAS:
        undo_alias(a, d);
        break;
    case WL_ADD_KEY:
        undo_key(a, d);
        break;
    case WL_TOUCH_THREAD:
        if (d->now)
            move_thread(a, d->now, d->updated);
        break;
    case WL_SET_NODE:
    case WL_SET_ROW:
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_DROP_ALIAS:
        ws_mem_undrop(a, d);
        break;
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
    case WL_ADD_PIECE:
    case WL_NAME_BLOB:
    case WL_ADD_REF:
    case WL_DROP_REF:
    case WL_DROP_BLOB:
        ws_mem_blob_undo(a, d);
        break;
    case WL_LEARN:
    case WL_TIDY:
        break;
    }
}

/* Frees what was replaced or dropped. */
static void settle_one(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    switch (d->kind) {
    case WL_SET_THREAD:
        ws_mem_give(a->m, d->before, ((struct ws_mem_thread *)d->before)->size);
        break;
    case WL_SET_RUN:
        ws_mem_give(a->m, d->before, ((struct ws_mem_run *)d->before)->size);
        break;
    case WL_ADD_KEY:
        if (d->before)
            ws_mem_give(a->m, d->before, ((struct ws_mem_key *)d->before)->size);
        break;
    case WL_SET_NODE:
    case WL_SET_ROW:
    case WL_DROP_THREAD:
    case WL_DROP_NODE:
    case WL_DROP_RUN:
    case WL_DROP_ALIAS:
        ws_mem_settle_drop(a, d);
        break;
    case WL_PUT_VALUE:
    case WL_DROP_VALUE:
    case WL_ADD_PIECE:
    case WL_NAME_BLOB:
    case WL_ADD_REF:
    case WL_DROP_REF:
    case WL_DROP_BLOB:
        ws_mem_blob_settle(a, d);
        break;
    case WL_ADD_ROW:
    case WL_ADD_NODE:
    case WL_ADD_THREAD:
    case WL_HOLD_NODE:
    case WL_ADD_RUN:
    case WL_ADD_ALIAS:
    case WL_TOUCH_THREAD:
    case WL_LEARN:
    case WL_TIDY:
        break;
    }
}

static void settle(struct ws_mem_applying *a)
{
    bool keys = false;
    for (size_t i = 0; i < a->n; i++) {
        settle_one(a, &a->done[i]);
        keys = keys || a->done[i].kind == WL_ADD_KEY;
    }
    if (keys)
        sweep_keys(a->m, a->now_ms);
}

int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err)
{
    struct ws_mem_applying a = {.m = m, .now_ms = wb_wall_ms()};
    if (c->n && c->changes[0].kind == WL_TIDY) { /* of no tenant, and there is no index */
        *c->changes[0].more = false;
        return 0;
    }
    int r = need_tenant(m, c->owner.tenant, &a.tenant, err);
    if (r >= 0)
        r = need_owner(m, a.tenant, c->owner.user, &a.owner, err);
    if (r < 0)
        return r;
    a.done = wb_calloc(c->n ? c->n : 1, sizeof a.done[0]);
    if (!a.done)
        return ws_mem_no_memory(err);
    for (; r >= 0 && a.n < c->n; a.n += r >= 0) {
        a.done[a.n].kind = c->changes[a.n].kind;
        r                = apply_one(&a, &c->changes[a.n], &a.done[a.n], err);
        if (r < 0)
            break;
    }
    if (r == -UPP_EBUSY)
        c->conflict = a.n;
    if (r >= 0)
        settle(&a);
    else
        while (a.n)
            undo_one(&a, &a.done[--a.n]);
    wb_free(a.done);
    return r;
}
