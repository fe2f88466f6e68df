/* stores/memory_change.c — the changes of a commit, all or none.
 *
 * Each change first takes all memory it needs and then happens; each that has happened can be undone without memory.
 * So a commit that fails at its tenth change, for whatever reason, undoes nine and has changed nothing.
 */
#include "base/clock.h"
#include "base/hooks.h"
#include "stores/memory_store.h"

enum { MANY = INT32_MAX /* in one array; the limit on bytes comes first */, SWEEP = 4 };

/* What happened: `now` stands where `before` stood (NULL: nothing did). */
struct done {
    enum wl_change_kind kind;
    void               *now, *before;
    struct wb_uuid      holder;
};

struct applying {
    struct ws_memory     *m;
    struct ws_mem_tenant *tenant;
    struct ws_mem_owner  *owner;
    struct done          *done;
    size_t                n;
    int64_t               now_ms;
};

/* ---- Memory -------------------------------------------------------------------------------------- */

static int no_memory(struct upp_err *err)
{
    return upp_fail(err, UPP_ENOMEM, "no memory for a commit");
}

/* Counted, within the limit, cleared. */
static int take(struct ws_memory *m, size_t size, void *ret, struct upp_err *err)
{
    if (size > m->max || m->used > m->max - size)
        return upp_fail(err, UPP_ELIMIT, "the memory store holds %zu bytes, its limit is %zu", m->used, m->max);
    void *p = wb_calloc(1, size);
    if (!p)
        return no_memory(err);
    m->used += size;
    memcpy(ret, &p, sizeof p);
    return 0;
}

static void give(struct ws_memory *m, void *p, size_t size)
{
    m->used -= size;
    wb_free(p);
}

/* Copies the text to `at` and lets it point there; behind it. No text stays no text. */
static char *keep(char *at, struct upp_str *s)
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
        if (!ws_table_room(&m->tenants))
            return no_memory(err);
        int r = take(m, sizeof *t + name.n, &t, err);
        if (r < 0)
            return r;
        t->name       = name;
        t->entry.hash = ws_mem_hash_name(m, name);
        (void)keep(t->bytes, &t->name);
        ws_table_add(&m->tenants, &t->entry);
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
            return no_memory(err);
        int r = take(m, sizeof *o + user.n, &o, err);
        if (r < 0)
            return r;
        o->tenant     = t;
        o->user       = user;
        o->entry.hash = ws_mem_hash_owner(m, t, user);
        (void)keep(o->bytes, &o->user);
        ws_table_add(&m->owners, &o->entry);
    }
    *ret = o;
    return 0;
}

/* ---- Rows and nodes -------------------------------------------------------------------------------- */

static int add_row(struct applying *a, const struct wl_row *row, struct done *d, struct upp_err *err)
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
    if (!wb_vec_room(&n->rows, MANY))
        return no_memory(err);
    int r = take(a->m, size, &new, err);
    if (r < 0)
        return r;
    new->v    = *row;
    new->size = size;
    (void)keep(keep(new->bytes, &new->v.body), &new->v.tape);
    n->rows.p[n->rows.n++] = new;
    d->now                 = n;
    return 0;
}

static void undo_row(struct applying *a, struct done *d)
{
    struct ws_mem_node *n   = d->now;
    struct ws_mem_row  *row = n->rows.p[--n->rows.n];
    give(a->m, row, row->size);
}

static int add_node(struct applying *a, const struct wl_node *node, struct done *d, struct upp_err *err)
{
    struct ws_mem_node *n = ws_mem_node(a->m, a->tenant, node->key);
    if (n)
        return ws_taken(err, "the key of a node");
    if (!ws_table_room(&a->m->nodes))
        return no_memory(err);
    int r = take(a->m, sizeof *n, &n, err);
    if (r < 0)
        return r;
    n->tenant     = a->tenant;
    n->v          = *node;
    n->entry.hash = ws_mem_hash_u64(a->m, a->tenant, node->key);
    ws_table_add(&a->m->nodes, &n->entry);
    d->now = n;
    return 0;
}

static void undo_node(struct applying *a, struct done *d)
{
    struct ws_mem_node *n = d->now;
    ws_table_remove(&a->m->nodes, &n->entry);
    wb_vec_done(&n->rows);
    give(a->m, n, sizeof *n);
}

static int hold_node(struct applying *a, const struct wl_change *c, struct done *d, struct upp_err *err)
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

static void list_thread(struct ws_mem_thread *t)
{
    struct ws_mem_owner *o  = t->owner;
    size_t               at = ws_mem_thread_at(o, t->v.updated_ms, t->v.id);
    memmove(o->threads.p + at + 1, o->threads.p + at, (o->threads.n++ - at) * sizeof o->threads.p[0]);
    o->threads.p[at] = t;
}

static void unlist_thread(struct ws_mem_thread *t)
{
    struct ws_mem_owner *o  = t->owner;
    size_t               at = ws_mem_thread_at(o, t->v.updated_ms, t->v.id);
    memmove(o->threads.p + at, o->threads.p + at + 1, (--o->threads.n - at) * sizeof o->threads.p[0]);
}

static int copy_thread(struct applying *a, const struct wl_thread *thread, struct ws_mem_owner *o,
                       struct ws_mem_thread **ret, struct upp_err *err)
{
    struct ws_mem_thread *t    = NULL;
    size_t                size = sizeof *t + thread->title.n + thread->metadata.n;
    int                   r    = take(a->m, size, &t, err);
    if (r < 0)
        return r;
    t->v          = *thread;
    t->v.owner    = (struct wl_owner){o->tenant->name, o->user};
    t->owner      = o;
    t->tenant     = a->tenant;
    t->size       = size;
    t->entry.hash = ws_mem_hash_uuid(a->m, a->tenant, thread->id);
    (void)keep(keep(t->bytes, &t->v.title), &t->v.metadata);
    *ret = t;
    return 0;
}

static int add_thread(struct applying *a, const struct wl_thread *thread, struct done *d, struct upp_err *err)
{
    struct ws_mem_thread *t = ws_mem_thread(a->m, a->tenant, thread->id);
    if (t)
        return ws_taken(err, "the id of a thread");
    if (!ws_table_room(&a->m->threads) || !wb_vec_room(&a->owner->threads, MANY))
        return no_memory(err);
    int r = copy_thread(a, thread, a->owner, &t, err);
    if (r < 0)
        return r;
    ws_table_add(&a->m->threads, &t->entry);
    list_thread(t);
    d->now = t;
    return 0;
}

static int set_thread(struct applying *a, const struct wl_thread *thread, struct done *d, struct upp_err *err)
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
    unlist_thread(old);
    ws_table_replace(&a->m->threads, &old->entry, &t->entry);
    list_thread(t);
    d->now    = t;
    d->before = old;
    return 0;
}

static void undo_thread(struct applying *a, struct done *d)
{
    struct ws_mem_thread *t = d->now, *old = d->before;
    unlist_thread(t);
    if (old) {
        ws_table_replace(&a->m->threads, &t->entry, &old->entry);
        list_thread(old);
    } else
        ws_table_remove(&a->m->threads, &t->entry);
    give(a->m, t, t->size);
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

/* Its place among the runs of its thread, by its number. */
static size_t run_at(const struct ws_mem_runs *of, uint64_t number)
{
    size_t low = 0, high = of->runs.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (of->runs.p[mid]->number < number)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int copy_run(struct applying *a, const struct wm_run *run, struct ws_mem_run **ret, struct upp_err *err)
{
    struct ws_mem_run *x    = NULL;
    size_t             size = sizeof *x + run->agent.n + run->call.n + run->options.n + run->error.n;
    int                r    = take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *run;
    x->tenant     = a->tenant;
    x->owner      = a->owner;
    x->size       = size;
    x->entry.hash = ws_mem_hash_uuid(a->m, a->tenant, run->id);
    (void)keep(keep(keep(keep(x->bytes, &x->v.agent), &x->v.call), &x->v.options), &x->v.error);
    *ret = x;
    return 0;
}

/* The list of a thread's runs; an empty one stays when its first run is undone. */
static int need_runs(struct applying *a, struct wb_uuid thread, struct ws_mem_runs **ret, struct upp_err *err)
{
    struct ws_mem_runs *of = ws_mem_runs(a->m, a->tenant, thread);
    if (!of) {
        if (!ws_table_room(&a->m->runs_of))
            return no_memory(err);
        int r = take(a->m, sizeof *of, &of, err);
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

static int add_run(struct applying *a, const struct wm_run *run, struct done *d, struct upp_err *err)
{
    struct ws_memory   *m  = a->m;
    struct ws_mem_run  *x  = ws_mem_run(m, a->tenant, run->id);
    struct ws_mem_runs *of = NULL;
    if (x)
        return ws_taken(err, "the id of a run");
    int r = need_runs(a, run->thread, &of, err);
    if (r < 0)
        return r;
    if (!ws_table_room(&m->runs) || !wb_vec_room(&of->runs, MANY) || !wb_vec_room(&m->live, MANY))
        return no_memory(err);
    r = copy_run(a, run, &x, err);
    if (r < 0)
        return r;
    x->of                    = of;
    x->number                = ++m->last_number;
    of->runs.p[of->runs.n++] = x;
    ws_table_add(&m->runs, &x->entry);
    list_run(m, x);
    d->now = x;
    return 0;
}

static int set_run(struct applying *a, const struct wm_run *run, struct done *d, struct upp_err *err)
{
    struct ws_memory  *m   = a->m;
    struct ws_mem_run *old = ws_mem_run(m, a->tenant, run->id), *x = NULL;
    if (!old)
        return ws_no_thing(err, "run", run->id);
    if (old->v.version != run->version)
        return ws_version_differs(err, "run", run->id, old->v.version, run->version);
    if (!wb_vec_room(&m->live, MANY))
        return no_memory(err);
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
    x->of                                   = old->of;
    x->owner                                = old->owner;
    x->number                               = old->number;
    x->of->runs.p[run_at(x->of, x->number)] = x;
    unlist_run(m, old);
    ws_table_replace(&m->runs, &old->entry, &x->entry);
    list_run(m, x);
    d->now    = x;
    d->before = old;
    return 0;
}

static void undo_run(struct applying *a, struct done *d)
{
    struct ws_mem_run *x = d->now, *old = d->before;
    unlist_run(a->m, x);
    if (old) {
        ws_table_replace(&a->m->runs, &x->entry, &old->entry);
        old->of->runs.p[run_at(old->of, old->number)] = old;
        list_run(a->m, old); /* there was room when it left */
    } else {
        ws_table_remove(&a->m->runs, &x->entry);
        x->of->runs.n--; /* the newest */
    }
    give(a->m, x, x->size);
}

/* ---- Aliases and keys ------------------------------------------------------------------------------ */

static int add_alias(struct applying *a, const struct wl_alias *alias, struct done *d, struct upp_err *err)
{
    struct ws_mem_alias *x = ws_mem_alias(a->m, a->owner, alias->kind, alias->text);
    if (x)
        return wb_uuid_eq(x->v.object, alias->object) ? 0 : ws_taken(err, "the alias");
    size_t size = sizeof *x + alias->text.n;
    if (!ws_table_room(&a->m->aliases))
        return no_memory(err);
    int r = take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *alias;
    x->owner      = a->owner;
    x->size       = size;
    x->entry.hash = ws_mem_hash_alias(a->m, a->owner, alias->kind, alias->text);
    (void)keep(x->bytes, &x->v.text);
    ws_table_add(&a->m->aliases, &x->entry);
    d->now = x;
    return 0;
}

static void undo_alias(struct applying *a, struct done *d)
{
    struct ws_mem_alias *x = d->now;
    if (!x)
        return; /* it was there before */
    ws_table_remove(&a->m->aliases, &x->entry);
    give(a->m, x, x->size);
}

static int add_key(struct applying *a, const struct wl_key *key, struct done *d, struct upp_err *err)
{
    struct ws_mem_key *old = ws_mem_key(a->m, a->tenant, key->route, key->key), *x = NULL;
    if (old && !ws_key_expired(old->v.created_ms, a->now_ms))
        return ws_taken(err, "the idempotency key");
    size_t size = sizeof *x + key->route.n + key->key.n;
    if (!ws_table_room(&a->m->keys))
        return no_memory(err);
    int r = take(a->m, size, &x, err);
    if (r < 0)
        return r;
    x->v          = *key;
    x->tenant     = a->tenant;
    x->size       = size;
    x->entry.hash = ws_mem_hash_key(a->m, a->tenant, key->route, key->key);
    (void)keep(keep(x->bytes, &x->v.route), &x->v.key);
    if (old)
        ws_table_replace(&a->m->keys, &old->entry, &x->entry);
    else
        ws_table_add(&a->m->keys, &x->entry);
    d->now    = x;
    d->before = old;
    return 0;
}

static void undo_key(struct applying *a, struct done *d)
{
    struct ws_mem_key *x = d->now, *old = d->before;
    if (old)
        ws_table_replace(&a->m->keys, &x->entry, &old->entry);
    else
        ws_table_remove(&a->m->keys, &x->entry);
    give(a->m, x, x->size);
}

/* A few expired keys go with every commit that adds one: as many as come, so they do not pile up. */
static void sweep_keys(struct ws_memory *m, int64_t now_ms)
{
    for (int i = 0; i < SWEEP && m->keys.cap; i++) {
        m->swept             = (m->swept + 1) & (m->keys.cap - 1);
        struct ws_mem_key *k = (struct ws_mem_key *)(void *)m->keys.slot[m->swept];
        if (k && ws_key_expired(k->v.created_ms, now_ms)) {
            ws_table_remove(&m->keys, &k->entry);
            give(m, k, k->size);
        }
    }
}

/* ---- A commit -------------------------------------------------------------------------------------- */

static int apply_one(struct applying *a, const struct wl_change *c, struct done *d, struct upp_err *err)
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
    default:
        return upp_fail(err, UPP_EREFUSED, "this store cannot change that yet");
    }
    return upp_fail(err, UPP_EINVALID, "no kind of change: %d", (int)c->kind);
}

static void undo_one(struct applying *a, struct done *d)
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
    default:
        break;
    }
}

/* Frees what was replaced. */
static void settle(struct applying *a)
{
    bool keys = false;
    for (size_t i = 0; i < a->n; i++) {
        struct done *d = &a->done[i];
        keys           = keys || d->kind == WL_ADD_KEY;
        if (!d->before)
            continue;
        if (d->kind == WL_SET_THREAD)
            give(a->m, d->before, ((struct ws_mem_thread *)d->before)->size);
        else if (d->kind == WL_SET_RUN)
            give(a->m, d->before, ((struct ws_mem_run *)d->before)->size);
        else
            give(a->m, d->before, ((struct ws_mem_key *)d->before)->size);
    }
    if (keys)
        sweep_keys(a->m, a->now_ms);
}

int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err)
{
    struct applying a = {.m = m, .now_ms = wb_wall_ms()};
    int             r = need_tenant(m, c->owner.tenant, &a.tenant, err);
    if (r >= 0)
        r = need_owner(m, a.tenant, c->owner.user, &a.owner, err);
    if (r < 0)
        return r;
    a.done = wb_calloc(c->n ? c->n : 1, sizeof a.done[0]);
    if (!a.done)
        return no_memory(err);
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
