/* stores/memory/commit.c — applies the changes of a commit, all or none: what is added and set.
 *
 * Each change first allocates all memory it needs and is then applied; undoing an applied change needs no memory. So a
 * commit that fails at its tenth change, for whatever reason, undoes nine and has changed nothing.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/hooks.h"
#include "base/log.h"
#include "stores/memory/store.h"

enum { SWEEP = 4, RESERVE = 16 /* one part in so many is for commits that end runs or delete */ };

/* ---- Memory -------------------------------------------------------------------------------------- */

int ws_mem_no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for a commit");
}

/* As a full disk: what may pass when something was deleted. */
static int full(struct ws_memory *m, size_t size, struct upp_err *err)
{
    m->wanted = size;
    int r = upp_fail(err, UPP_ESTORE, "the memory store is full: it holds %zu bytes, and takes nothing new beyond %zu",
                     m->used, m->limit);
    if (err)
        (void)snprintf(err->cause, sizeof err->cause, "%s", WL_DISK_FULL);
    return r;
}

/* Counts against the limit; zeroed. */
int ws_mem_alloc(struct ws_memory *m, size_t size, void *ret, struct upp_err *err)
{
    if (size > m->limit || m->used > m->limit - size)
        return full(m, size, err);
    struct ws_mem_head *p = wb_calloc(1, size);
    if (!p)
        return ws_mem_no_memory(err);
    m->used += size;
    p->size = size;
    memcpy(ret, &p, sizeof p);
    return 0;
}

void ws_mem_free(struct ws_memory *m, void *x)
{
    struct ws_mem_head *p = x;
    m->used -= p ? p->size : 0;
    wb_free(p);
}

int ws_mem_copy(struct ws_memory *m, const struct ws_kind *k, const void *thing, size_t size, void *ret,
                struct upp_err *err)
{
    struct ws_mem_head *p = NULL;
    int r = ws_mem_alloc(m, size + ws_texts_bytes(k, thing), &p, err);
    if (r < 0)
        return r;
    memcpy(p + 1, thing, k->size);
    ws_texts_copy(k, p + 1, (char *)p + size);
    memcpy(ret, &p, sizeof p);
    return 0;
}

/* ---- Tenants, owners, families: never freed ---------------------------------------------------------- */

static int need_name(struct ws_memory *m, struct upp_str name, size_t size, void *ret, struct upp_err *err)
{
    return ws_mem_copy(m, ws_kind_of(WL_LIST_TENANTS), &name, size, ret, err);
}

static int need_tenant(struct ws_memory *m, struct upp_str name, struct ws_mem_tenant **ret, struct upp_err *err)
{
    *ret = ws_mem_tenant(m, name);
    if (*ret)
        return 0;
    if (!ws_mem_room(m, WS_MEM_TENANTS) || !wb_vec_room(&m->by_name, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = need_name(m, name, sizeof **ret, ret, err);
    if (r < 0)
        return r;
    ws_mem_enter(m, WS_MEM_TENANTS, *ret);
    WS_MEM_INSERT(&m->by_name, ws_mem_name_at(m, name), *ret);
    return 0;
}

static int need_owner(struct ws_memory *m, struct ws_mem_tenant *t, struct upp_str user, struct ws_mem_owner **ret,
                      struct upp_err *err)
{
    *ret = ws_mem_owner(m, t, user);
    if (*ret)
        return 0;
    int r = ws_mem_room(m, WS_MEM_OWNERS) ? need_name(m, user, sizeof **ret, ret, err) : ws_mem_no_memory(err);
    if (r < 0)
        return r;
    (*ret)->tenant = t;
    ws_mem_enter(m, WS_MEM_OWNERS, *ret);
    return 0;
}

/* Reserves room for one more node and thread. */
static int need_family(struct ws_mem_applying *a, uint32_t family, struct upp_err *err)
{
    struct ws_mem_family *f = ws_mem_family(a->m, a->tenant, family);
    if (!f) {
        if (!ws_mem_room(a->m, WS_MEM_FAMILIES))
            return ws_mem_no_memory(err);
        int r = ws_mem_alloc(a->m, sizeof *f, &f, err);
        if (r < 0)
            return r;
        f->tenant = a->tenant;
        f->v = family;
        ws_mem_enter(a->m, WS_MEM_FAMILIES, f);
    }
    if (!wb_vec_room(&f->nodes, WS_MEM_MANY) || !wb_vec_room(&f->threads, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    return 0;
}

/* The family of its own id, and that of its tree if it differs. */
static int need_families(struct ws_mem_applying *a, uint32_t own, struct wb_uuid tree, struct upp_err *err)
{
    int r = need_family(a, own, err);
    return r < 0 || own == wl_family(tree) ? r : need_family(a, wl_family(tree), err);
}

/* ---- Rows and nodes -------------------------------------------------------------------------------- */

static int add_row(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const struct wl_row *row = c->row;
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, row->node);
    struct ws_mem_row *x = NULL;
    if (!n)
        return ws_no_node(err, row->node);
    const struct wl_row *last = n->rows.n ? &n->rows.p[n->rows.n - 1]->v : NULL;
    uint64_t end = last ? wl_pos_next(last->pos, last->n_entries) : 0;
    if (row->pos != end)
        return ws_row_misplaced(err, row, end);
    if (!wb_vec_room(&n->rows, WS_MEM_MANY) || !wb_vec_room(&a->m->log, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_copy(a->m, &ws_rows, row, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->number = ++a->m->last_row;
    a->m->log.p[a->m->log.n++] = (struct ws_mem_position){x->number, row->node, row->pos, a->tenant};
    n->rows.p[n->rows.n++] = x;
    d->now = n;
    return 0;
}

static void undo_row(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_node *n = d->now;
    a->m->log.n--;
    ws_mem_free(a->m, n->rows.p[--n->rows.n]);
}

static int add_node(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    const struct wl_node *node = c->node;
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, node->key);
    if (n)
        return ws_taken(err, "the key of a node");
    if (!ws_mem_room(a->m, WS_MEM_NODES))
        return ws_mem_no_memory(err);
    int r = need_families(a, (uint32_t)(node->key >> 32), node->tree, err);
    if (r >= 0)
        r = ws_mem_alloc(a->m, sizeof *n, &n, err);
    if (r < 0)
        return r;
    n->tenant = a->tenant;
    n->v = *node;
    r = ws_mem_texts(a, node, node->origin, &n->texts, err);
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
    d->now = n;
    d->holder = n->v.holder;
    n->v.holder = c->hold.to;
    return 0;
}

static void undo_hold(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    (void)a;
    ((struct ws_mem_node *)d->now)->v.holder = d->holder;
}

/* ---- Threads --------------------------------------------------------------------------------------- */

static int copy_thread(struct ws_mem_applying *a, const struct wl_thread *thread, struct ws_mem_owner *o,
                       struct ws_mem_thread **ret, struct upp_err *err)
{
    struct wl_thread v = *thread;
    v.owner = (struct wl_owner){{NULL, 0}, {NULL, 0}}; /* borrowed from o */
    int r = ws_mem_copy(a->m, &ws_threads, &v, sizeof **ret, ret, err);
    if (r < 0)
        return r;
    (*ret)->v.owner = (struct wl_owner){o->tenant->v, o->v};
    (*ret)->owner = o;
    (*ret)->tenant = a->tenant;
    return 0;
}

static int add_thread(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, c->thread->id);
    if (t)
        return ws_taken(err, "the id of a thread");
    if (!ws_mem_room(a->m, WS_MEM_THREADS) || !wb_vec_room(&a->owner->threads, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = need_families(a, wl_family(c->thread->id), c->thread->tree, err);
    if (r >= 0)
        r = copy_thread(a, c->thread, a->owner, &t, err);
    if (r < 0)
        return r;
    ws_mem_enter(a->m, WS_MEM_THREADS, t);
    ws_mem_list_thread(a->m, t);
    d->now = t;
    return 0;
}

static int set_thread(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct wl_thread v = *c->thread;
    struct ws_mem_thread *old = ws_mem_thread(a->m, a->tenant, v.id), *t = NULL;
    if (!old)
        return ws_no_thing(err, "thread", v.id);
    if (old->v.version != v.version)
        return ws_version_differs(err, "thread", v.id, old->v.version, v.version);
    ws_fixed_copy(&ws_threads, &v, &old->v);
    v.version++;
    int r = copy_thread(a, &v, old->owner, &t, err);
    if (r < 0)
        return r;
    ws_mem_unlist_thread(a->m, old);
    ws_mem_replace(a->m, WS_MEM_THREADS, old, t);
    ws_mem_list_thread(a->m, t);
    d->now = t;
    d->before = old;
    return 0;
}

static void undo_thread(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    ws_mem_unlist_thread(a->m, d->now);
    if (d->before) {
        ws_mem_replace(a->m, WS_MEM_THREADS, d->now, d->before);
        ws_mem_list_thread(a->m, d->before);
    } else
        ws_mem_leave(a->m, WS_MEM_THREADS, d->now);
    ws_mem_free(a->m, d->now);
}

/* Threads are ordered by this time. */
static void move_thread(struct ws_mem_applying *a, struct ws_mem_thread *t, int64_t updated_ms)
{
    ws_mem_unlist_thread(a->m, t);
    t->v.updated_ms = updated_ms;
    ws_mem_list_thread(a->m, t);
}

static int touch_thread(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d,
                        struct upp_err *err)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, c->thread->id);
    (void)err;
    if (!t || t->v.updated_ms >= c->thread->updated_ms)
        return 0;
    d->now = t;
    d->updated = t->v.updated_ms;
    move_thread(a, t, c->thread->updated_ms);
    return 0;
}

static void undo_touch(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->now)
        move_thread(a, d->now, d->updated);
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

static void list_run(struct ws_memory *m, struct ws_mem_run *run)
{
    if (!wm_status_ended(run->v.status))
        WS_MEM_INSERT(&m->live, ws_mem_live_at(m, run->v.id, run->tenant->v), run);
}

static void unlist_run(struct ws_memory *m, struct ws_mem_run *run)
{
    if (!wm_status_ended(run->v.status))
        WS_MEM_REMOVE(&m->live, ws_mem_live_at(m, run->v.id, run->tenant->v));
}

/* The list of a thread's runs; it stays, empty, if its first run is undone. */
static int need_runs(struct ws_mem_applying *a, struct wb_uuid thread, struct ws_mem_runs **ret, struct upp_err *err)
{
    *ret = ws_mem_runs(a->m, a->tenant, thread);
    if (*ret)
        return 0;
    int r = ws_mem_room(a->m, WS_MEM_RUNS_OF) ? ws_mem_alloc(a->m, sizeof **ret, ret, err) : ws_mem_no_memory(err);
    if (r < 0)
        return r;
    (*ret)->tenant = a->tenant;
    (*ret)->v = thread;
    ws_mem_enter(a->m, WS_MEM_RUNS_OF, *ret);
    return 0;
}

static int add_run(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_memory *m = a->m;
    struct ws_mem_run *x = ws_mem_run(m, a->tenant, c->run->id);
    struct ws_mem_runs *of = NULL;
    if (x)
        return ws_taken(err, "the id of a run");
    int r = need_runs(a, c->run->thread, &of, err);
    if (r < 0)
        return r;
    if (!ws_mem_room(m, WS_MEM_RUNS) || !wb_vec_room(&of->runs, WS_MEM_MANY) || !wb_vec_room(&m->live, WS_MEM_MANY) ||
        !wb_vec_room(&a->tenant->runs, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    r = ws_mem_copy(m, &ws_runs, c->run, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->tenant = a->tenant;
    x->owner = a->owner;
    x->of = of;
    x->number = ++m->last_number;
    of->runs.p[of->runs.n++] = x;
    a->tenant->runs.p[a->tenant->runs.n++] = x;
    ws_mem_enter(m, WS_MEM_RUNS, x);
    list_run(m, x);
    d->now = x;
    return 0;
}

/* Replaces another version of the run in the lists ordered by number. */
static void put_run(struct ws_memory *m, struct ws_mem_run *old, struct ws_mem_run *x)
{
    struct ws_mem_runs *of = x->of;
    struct ws_mem_tenant *t = x->tenant;
    of->runs.p[ws_mem_run_at(of->runs.p, of->runs.n, x->number)] = x;
    t->runs.p[ws_mem_run_at(t->runs.p, t->runs.n, x->number)] = x;
    unlist_run(m, old);
    ws_mem_replace(m, WS_MEM_RUNS, old, x);
    list_run(m, x);
}

static int set_run(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_memory *m = a->m;
    struct wm_run v = *c->run;
    struct ws_mem_run *old = ws_mem_run(m, a->tenant, v.id), *x = NULL;
    if (!old)
        return ws_no_thing(err, "run", v.id);
    if (old->v.version != v.version)
        return ws_version_differs(err, "run", v.id, old->v.version, v.version);
    if (!wb_vec_room(&m->live, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    ws_fixed_copy(&ws_runs, &v, &old->v);
    v.version++;
    int r = ws_mem_copy(m, &ws_runs, &v, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->tenant = a->tenant;
    x->of = old->of;
    x->owner = old->owner;
    x->number = old->number;
    put_run(m, old, x);
    d->now = x;
    d->before = old;
    return 0;
}

static void undo_run(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    struct ws_mem_run *x = d->now;
    if (d->before)
        put_run(a->m, x, d->before); /* room remains from before it was replaced */
    else {
        unlist_run(a->m, x);
        ws_mem_leave(a->m, WS_MEM_RUNS, x);
        x->of->runs.n--; /* the newest */
        a->tenant->runs.n--;
    }
    ws_mem_free(a->m, x);
}

/* ---- Aliases and keys ------------------------------------------------------------------------------ */

static int add_alias(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_alias *x = ws_mem_alias(a->m, a->owner, c->alias->kind, c->alias->text);
    if (x)
        return wb_uuid_eq(x->v.object, c->alias->object) ? 0 : ws_taken(err, "the alias");
    if (!ws_mem_room(a->m, WS_MEM_ALIASES) || !wb_vec_room(&a->tenant->aliases, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    int r = ws_mem_copy(a->m, &ws_aliases, c->alias, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->owner = a->owner;
    ws_mem_link_alias(a->m, x);
    d->now = x;
    return 0;
}

static void undo_alias(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->now) /* it did not exist before */
        ws_mem_unlink_alias(a->m, d->now);
    ws_mem_free(a->m, d->now);
}

static int add_key(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err)
{
    struct ws_mem_key *old = ws_mem_key(a->m, a->tenant, c->key->route, c->key->key), *x = NULL;
    if (old && !ws_key_expired(old->v.created_ms, a->now_ms))
        return ws_taken(err, "the idempotency key");
    if (!ws_mem_room(a->m, WS_MEM_KEYS))
        return ws_mem_no_memory(err);
    int r = ws_mem_copy(a->m, &ws_keys, c->key, sizeof *x, &x, err);
    if (r < 0)
        return r;
    x->tenant = a->tenant;
    if (old)
        ws_mem_replace(a->m, WS_MEM_KEYS, old, x);
    else
        ws_mem_enter(a->m, WS_MEM_KEYS, x);
    d->now = x;
    d->before = old;
    return 0;
}

static void undo_key(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (d->before)
        ws_mem_replace(a->m, WS_MEM_KEYS, d->now, d->before);
    else
        ws_mem_leave(a->m, WS_MEM_KEYS, d->now);
    ws_mem_free(a->m, d->now);
}

/* Every commit that adds keys drops a few expired ones: as many as are added, so they do not pile up. */
static void sweep_keys(struct ws_memory *m, int64_t now_ms)
{
    const struct ws_table *t = &m->tables[WS_MEM_KEYS];
    for (int i = 0; i < SWEEP && t->cap; i++) {
        m->swept = (m->swept + 1) & (t->cap - 1);
        struct ws_mem_key *k = (struct ws_mem_key *)(void *)t->slot[m->swept];
        if (k && ws_key_expired(k->v.created_ms, now_ms)) {
            ws_mem_leave(m, WS_MEM_KEYS, k);
            ws_mem_free(m, k);
        }
    }
}

/* ---- A commit -------------------------------------------------------------------------------------- */

static int refuse_words(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d,
                        struct upp_err *err)
{
    (void)a, (void)c, (void)d;
    return upp_fail(err, UPP_EREFUSED, "this store keeps no words");
}

/* For every kind, dropped aliases and references are restored by undo or freed at the end. */
static const struct {
    ws_mem_do *apply;
    ws_mem_end *undo;   /* NULL: nothing else to undo */
    ws_mem_end *finish; /* after success; NULL: `before` is freed */
} changes[] = {
    [WL_ADD_ROW] = {add_row, undo_row, NULL},
    [WL_ADD_NODE] = {add_node, undo_node, NULL},
    [WL_ADD_THREAD] = {add_thread, undo_thread, NULL},
    [WL_SET_THREAD] = {set_thread, undo_thread, NULL},
    [WL_HOLD_NODE] = {hold_node, undo_hold, NULL},
    [WL_ADD_RUN] = {add_run, undo_run, NULL},
    [WL_SET_RUN] = {set_run, undo_run, NULL},
    [WL_ADD_ALIAS] = {add_alias, undo_alias, NULL},
    [WL_ADD_KEY] = {add_key, undo_key, NULL},
    [WL_TOUCH_THREAD] = {touch_thread, undo_touch, NULL},
    [WL_SET_NODE] = {ws_mem_set_node, ws_mem_unset_node, NULL},
    [WL_SET_ROW] = {ws_mem_set_row, ws_mem_unset_row, NULL},
    [WL_DROP_THREAD] = {ws_mem_drop_thread, ws_mem_undrop_thread, NULL},
    [WL_DROP_NODE] = {ws_mem_drop_node, ws_mem_undrop_node, ws_mem_free_dropped_node},
    [WL_DROP_RUN] = {ws_mem_drop_run, ws_mem_undrop_run, NULL},
    [WL_DROP_ALIAS] = {ws_mem_drop_alias, NULL, NULL},
    [WL_PUT_VALUE] = {ws_mem_put_value, ws_mem_undo_value, NULL},
    [WL_DROP_VALUE] = {ws_mem_drop_value, ws_mem_undo_value, NULL},
    [WL_ADD_PIECE] = {ws_mem_add_piece, ws_mem_undo_piece, NULL},
    [WL_NAME_BLOB] = {ws_mem_name_blob, ws_mem_undo_name, ws_mem_free_dropped_blob},
    [WL_ADD_REF] = {ws_mem_add_ref, ws_mem_undo_ref, NULL},
    [WL_DROP_REF] = {ws_mem_drop_ref, NULL, NULL},
    [WL_DROP_BLOB] = {ws_mem_drop_blob, ws_mem_undrop_blob, ws_mem_free_dropped_blob},
    [WL_INDEX_ADD] = {refuse_words, NULL, NULL},
};

static void undo_one(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (changes[d->kind].undo)
        changes[d->kind].undo(a, d);
    for (struct ws_mem_alias *x = d->aliases, *next; x; x = next) {
        next = x->next;
        x->next = NULL;
        ws_mem_link_alias(a->m, x);
    }
    ws_mem_refs_back(a, d->refs);
}

/* Frees what was replaced or dropped. */
static void finish_one(struct ws_mem_applying *a, struct ws_mem_done *d)
{
    if (changes[d->kind].finish)
        changes[d->kind].finish(a, d);
    else
        ws_mem_free(a->m, d->before);
    for (struct ws_mem_alias *x = d->aliases, *next; x; x = next) {
        next = x->next;
        ws_mem_free(a->m, x);
    }
    for (struct ws_mem_ref *x = d->refs, *next; x; x = next) {
        next = x->next;
        ws_mem_free(a->m, x);
    }
}

static void finish(struct ws_mem_applying *a)
{
    bool keys = false;
    for (size_t i = 0; i < a->n; i++) {
        finish_one(a, &a->done[i]);
        keys = keys || a->done[i].kind == WL_ADD_KEY;
    }
    if (keys)
        sweep_keys(a->m, a->now_ms);
}

static bool was_full(int r, const struct upp_err *err)
{
    return r == -UPP_ESTORE && strcmp(err->cause, WL_DISK_FULL) == 0;
}

/* Full from a commit that has no room until there would be room for it. */
static void show_state(struct ws_memory *m, const struct wl_commit *c, int r, const struct upp_err *err)
{
    size_t most = m->max - m->max / RESERVE;
    if (was_full(r, err)) {
        if (wl_store_state(&m->store) != WL_FULL)
            wb_log(WB_ERROR, "the memory store is full: nothing new is stored until something is deleted");
        m->wanted = WB_MAX(m->wanted, ws_commit_bytes(c));
    } else if (r >= 0 && m->wanted <= most && m->used <= most - m->wanted)
        m->wanted = 0;
    atomic_store(&m->store.state, m->wanted ? WL_FULL : WL_WORKS);
}

static int apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err)
{
    struct ws_mem_applying a = {.m = m, .now_ms = wb_wall_ms()};
    if (c->n && c->changes[0].kind == WL_INDEX_COMPACT) { /* belongs to no tenant, and there is no index */
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
        const struct wl_change *x = &c->changes[a.n];
        a.done[a.n].kind = x->kind;
        r = x->kind < WB_LEN(changes) && changes[x->kind].apply
                ? changes[x->kind].apply(&a, x, &a.done[a.n], err)
                : upp_fail(err, UPP_EINVALID, "no kind of change: %d", (int)x->kind);
    }
    if (r == -UPP_EBUSY)
        c->conflict = a.n;
    if (r >= 0)
        finish(&a);
    else
        while (a.n)
            undo_one(&a, &a.done[--a.n]);
    wb_free(a.done);
    return r;
}

int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err)
{
    struct upp_err why = {0};
    m->limit = ws_allowed_when_full(c) ? m->max : m->max - m->max / RESERVE;
    int r = apply(m, c, &why);
    show_state(m, c, r, &why);
    if (r < 0 && err)
        *err = why;
    return r;
}
