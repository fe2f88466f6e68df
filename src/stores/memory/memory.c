/* stores/memory/memory.c — the store that lives in memory: finding, reading, opening and closing. */
#include "stores/memory/memory.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/hooks.h"
#include "base/random.h"
#include "stores/memory/store.h"
#include "stores/none.h"

enum { FIRST_LIMIT_GB = 4 };

void ws_mem_lock(struct ws_memory *m)
{
    if (pthread_mutex_lock(&m->lock))
        abort();
}

void ws_mem_unlock(struct ws_memory *m)
{
    if (pthread_mutex_unlock(&m->lock))
        abort();
}

/* ---- Hashes ---------------------------------------------------------------------------------------- */

static uint64_t under(const struct ws_memory *m, const void *tenant, const void *p, size_t n)
{
    return ws_hash(m->seed ^ (uint64_t)(uintptr_t)tenant * 0x9e3779b97f4a7c15u, p, n);
}

uint64_t ws_mem_hash_name(const struct ws_memory *m, struct upp_str name)
{
    return ws_hash(m->seed, name.p, name.n);
}

uint64_t ws_mem_hash_owner(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str user)
{
    return under(m, t, user.p, user.n);
}

uint64_t ws_mem_hash_u64(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key)
{
    return under(m, t, &key, sizeof key);
}

uint64_t ws_mem_hash_uuid(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id)
{
    return under(m, t, id.b, sizeof id.b);
}

uint64_t ws_mem_hash_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind, struct upp_str text)
{
    return under(m, o, text.p, text.n) + kind;
}

uint64_t ws_mem_hash_key(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str route,
                         struct upp_str key)
{
    return under(m, t, route.p, route.n) ^ ws_hash(m->seed, key.p, key.n);
}

uint64_t ws_mem_hash_blob(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_blob_key *key)
{
    return under(m, t, key->b, sizeof key->b);
}

/* ---- Finding --------------------------------------------------------------------------------------- */

struct wanted {
    const void    *of; /* tenant or owner */
    struct wb_uuid id;
    uint64_t       key;
    uint8_t        kind;
    struct upp_str text, more;
};

static bool same_tenant(const void *e, const void *key)
{
    return wb_str_eq(((const struct ws_mem_tenant *)e)->name, ((const struct wanted *)key)->text);
}

static bool same_owner(const void *e, const void *key)
{
    const struct ws_mem_owner *o = e;
    const struct wanted       *w = key;
    return o->tenant == w->of && wb_str_eq(o->user, w->text);
}

static bool same_node(const void *e, const void *key)
{
    const struct ws_mem_node *n = e;
    const struct wanted      *w = key;
    return n->tenant == w->of && n->v.key == w->key;
}

static bool same_thread(const void *e, const void *key)
{
    const struct ws_mem_thread *t = e;
    const struct wanted        *w = key;
    return t->tenant == w->of && wb_uuid_eq(t->v.id, w->id);
}

static bool same_run(const void *e, const void *key)
{
    const struct ws_mem_run *r = e;
    const struct wanted     *w = key;
    return r->tenant == w->of && wb_uuid_eq(r->v.id, w->id);
}

static bool same_runs(const void *e, const void *key)
{
    const struct ws_mem_runs *r = e;
    const struct wanted      *w = key;
    return r->tenant == w->of && wb_uuid_eq(r->thread, w->id);
}

static bool same_alias(const void *e, const void *key)
{
    const struct ws_mem_alias *x = e;
    const struct wanted       *w = key;
    return x->owner == w->of && x->v.kind == w->kind && wb_str_eq(x->v.text, w->text);
}

static bool same_family(const void *e, const void *key)
{
    const struct ws_mem_family *f = e;
    const struct wanted        *w = key;
    return f->tenant == w->of && f->family == w->key;
}

static bool same_blob(const void *e, const void *key)
{
    const struct ws_mem_blob *b = e;
    const struct wanted      *w = key;
    return b->tenant == w->of && memcmp(b->key.b, w->text.p, sizeof b->key.b) == 0;
}

static bool same_key(const void *e, const void *key)
{
    const struct ws_mem_key *x = e;
    const struct wanted     *w = key;
    return x->tenant == w->of && wb_str_eq(x->v.route, w->text) && wb_str_eq(x->v.key, w->more);
}

struct ws_mem_tenant *ws_mem_tenant(const struct ws_memory *m, struct upp_str name)
{
    return ws_table_find(&m->tenants, ws_mem_hash_name(m, name), same_tenant, &(struct wanted){.text = name});
}

struct ws_mem_owner *ws_mem_owner(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str user)
{
    return t ? ws_table_find(&m->owners, ws_mem_hash_owner(m, t, user), same_owner,
                             &(struct wanted){.of = t, .text = user})
             : NULL;
}

struct ws_mem_node *ws_mem_node(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key)
{
    return t ? ws_table_find(&m->nodes, ws_mem_hash_u64(m, t, key), same_node, &(struct wanted){.of = t, .key = key})
             : NULL;
}

struct ws_mem_thread *ws_mem_thread(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id)
{
    return t ? ws_table_find(&m->threads, ws_mem_hash_uuid(m, t, id), same_thread, &(struct wanted){.of = t, .id = id})
             : NULL;
}

struct ws_mem_run *ws_mem_run(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id)
{
    return t ? ws_table_find(&m->runs, ws_mem_hash_uuid(m, t, id), same_run, &(struct wanted){.of = t, .id = id})
             : NULL;
}

struct ws_mem_runs *ws_mem_runs(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid thread)
{
    return t ? ws_table_find(&m->runs_of, ws_mem_hash_uuid(m, t, thread), same_runs,
                             &(struct wanted){.of = t, .id = thread})
             : NULL;
}

struct ws_mem_alias *ws_mem_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind,
                                  struct upp_str text)
{
    return o ? ws_table_find(&m->aliases, ws_mem_hash_alias(m, o, kind, text), same_alias,
                             &(struct wanted){.of = o, .kind = kind, .text = text})
             : NULL;
}

struct ws_mem_key *ws_mem_key(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str route,
                              struct upp_str key)
{
    return t ? ws_table_find(&m->keys, ws_mem_hash_key(m, t, route, key), same_key,
                             &(struct wanted){.of = t, .text = route, .more = key})
             : NULL;
}

struct ws_mem_family *ws_mem_family(const struct ws_memory *m, const struct ws_mem_tenant *t, uint32_t family)
{
    return t ? ws_table_find(&m->families, ws_mem_hash_u64(m, t, family), same_family,
                             &(struct wanted){.of = t, .key = family})
             : NULL;
}

struct ws_mem_blob *ws_mem_blob(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_blob_key *key)
{
    struct upp_str text = wb_str((const char *)key->b, sizeof key->b);
    return t ? ws_table_find(&m->blobs, ws_mem_hash_blob(m, t, key), same_blob, &(struct wanted){.of = t, .text = text})
             : NULL;
}

size_t ws_mem_row_at(const struct ws_mem_node *n, uint64_t pos)
{
    size_t low = 0, high = n->rows.n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (n->rows.p[mid]->v.pos < pos)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t ws_mem_thread_at(const struct ws_mem_owner *o, int64_t updated_ms, struct wb_uuid id)
{
    size_t low = 0, high = o->threads.n;
    while (low < high) {
        size_t                  mid = low + (high - low) / 2;
        const struct wl_thread *t   = &o->threads.p[mid]->v;
        if (t->updated_ms < updated_ms || (t->updated_ms == updated_ms && wb_uuid_cmp(t->id, id) < 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

size_t ws_mem_live_at(const struct ws_memory *m, struct wb_uuid id, struct upp_str tenant)
{
    size_t low = 0, high = m->live.n;
    while (low < high) {
        size_t                   mid = low + (high - low) / 2;
        const struct ws_mem_run *run = m->live.p[mid];
        int                      cmp = wb_uuid_cmp(run->v.id, id);
        if (cmp < 0 || (cmp == 0 && wb_str_cmp(run->tenant->name, tenant) < 0))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* ---- Reading --------------------------------------------------------------------------------------- */

void ws_mem_give_thread(struct wb_arena *a, const struct ws_mem_thread *t, struct wl_thread *ret)
{
    *ret              = t->v;
    ret->owner.tenant = wb_arena_dup(a, t->v.owner.tenant);
    ret->owner.user   = wb_arena_dup(a, t->v.owner.user);
    ret->title        = wb_arena_dup(a, t->v.title);
    ret->metadata     = wb_arena_dup(a, t->v.metadata);
}

void ws_mem_give_run(struct wb_arena *a, const struct ws_mem_run *run, struct wm_run *ret)
{
    *ret         = run->v;
    ret->agent   = wb_arena_dup(a, run->v.agent);
    ret->call    = wb_arena_dup(a, run->v.call);
    ret->options = wb_arena_dup(a, run->v.options);
    ret->error   = wb_arena_dup(a, run->v.error);
}

/* How many rows of p[from..to) fit, counted from the side the range begins at. */
static size_t fitting(const struct ws_mem_node *n, size_t from, size_t to, const struct wl_range *r)
{
    size_t count = 0, bytes = 0;
    for (; count < to - from && count < r->max_rows; count++) {
        const struct wl_row *row = &n->rows.p[r->backwards ? to - 1 - count : from + count]->v;
        size_t               is  = row->body.n + row->tape.n;
        if (count && is > r->max_bytes - WB_MIN(bytes, r->max_bytes))
            break;
        bytes += is;
    }
    return count;
}

static int mem_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range, struct wb_arena *a,
                    struct wl_rows *ret, struct upp_err *err)
{
    struct ws_memory   *m = ws_mem(s);
    struct wl_range     r = ws_range(range);
    struct wl_rows      x = {0};
    struct ws_mem_node *n;
    ws_mem_lock(m);
    n = ws_mem_node(m, ws_mem_tenant(m, o->tenant), r.node);
    if (n && r.from < r.to) {
        size_t from = ws_mem_row_at(n, r.from), to = ws_mem_row_at(n, r.to);
        x.n    = fitting(n, from, to, &r);
        x.more = x.n < to - from;
        x.p    = wb_new_n(a, struct wl_row, x.n);
        for (size_t i = 0; x.p && i < x.n; i++) {
            x.p[i]      = n->rows.p[r.backwards ? to - 1 - i : from + i]->v;
            x.p[i].body = wb_arena_dup(a, x.p[i].body);
            x.p[i].tape = wb_arena_dup(a, x.p[i].tape);
        }
    }
    ws_mem_unlock(m);
    int failed = wb_arena_check(a, err);
    if (failed >= 0)
        *ret = x;
    return failed;
}

static int mem_node(struct wl_store *s, const struct wl_owner *o, uint64_t key, struct wl_node *ret,
                    struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    ws_mem_lock(m);
    const struct ws_mem_node *n = ws_mem_node(m, ws_mem_tenant(m, o->tenant), key);
    if (n)
        *ret = n->v;
    ws_mem_unlock(m);
    return n ? 0 : ws_no_node(err, key);
}

static int mem_thread(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                      struct wl_thread *ret, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    struct wl_thread  x;
    ws_mem_lock(m);
    const struct ws_mem_thread *t = ws_mem_thread(m, ws_mem_tenant(m, o->tenant), id);
    if (t)
        ws_mem_give_thread(a, t, &x);
    ws_mem_unlock(m);
    int r = t ? wb_arena_check(a, err) : ws_no_thing(err, "thread", id);
    if (r >= 0)
        *ret = x;
    return r;
}

static int mem_run(struct wl_store *s, const struct wl_owner *o, struct wb_uuid id, struct wb_arena *a,
                   struct wm_run *ret, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    struct wm_run     x;
    ws_mem_lock(m);
    const struct ws_mem_run *run = ws_mem_run(m, ws_mem_tenant(m, o->tenant), id);
    if (run)
        ws_mem_give_run(a, run, &x);
    ws_mem_unlock(m);
    int r = run ? wb_arena_check(a, err) : ws_no_thing(err, "run", id);
    if (r >= 0)
        *ret = x;
    return r;
}

static int mem_alias(struct wl_store *s, const struct wl_owner *o, uint8_t kind, struct upp_str text,
                     struct wb_uuid *ret, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    ws_mem_lock(m);
    const struct ws_mem_owner *owner = ws_mem_owner(m, ws_mem_tenant(m, o->tenant), o->user);
    const struct ws_mem_alias *x     = ws_mem_alias(m, owner, kind, text);
    if (x)
        *ret = x->v.object;
    ws_mem_unlock(m);
    return x ? 0 : upp_fail(err, UPP_ENOTFOUND, "nothing is called '%.*s'", UPP_FMT(text));
}

static int mem_key(struct wl_store *s, const struct wl_owner *o, struct upp_str route, struct upp_str key,
                   struct wl_key *ret, struct upp_err *err)
{
    struct ws_memory *m   = ws_mem(s);
    int64_t           now = wb_wall_ms();
    ws_mem_lock(m);
    const struct ws_mem_key *x = ws_mem_key(m, ws_mem_tenant(m, o->tenant), route, key);
    if (x && ws_key_expired(x->v.created_ms, now))
        x = NULL;
    if (x) {
        *ret       = x->v;
        ret->route = route;
        ret->key   = key;
    }
    ws_mem_unlock(m);
    return x ? 0 : upp_fail(err, UPP_ENOTFOUND, "the idempotency key was not used");
}

/* ---- Lists ----------------------------------------------------------------------------------------- */

static int mem_threads(struct wl_store *s, const struct wl_owner *o, struct wb_uuid after, size_t max,
                       struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory *m     = ws_mem(s);
    struct wl_thread *p     = NULL;
    size_t            count = 0;
    int               r     = 0;
    ws_mem_lock(m);
    const struct ws_mem_owner *owner = ws_mem_owner(m, ws_mem_tenant(m, o->tenant), o->user);
    size_t                     end   = owner ? owner->threads.n : 0;
    if (!ws_none(after)) {
        const struct ws_mem_thread *t = owner ? ws_mem_thread(m, owner->tenant, after) : NULL;
        if (!t || t->owner != owner)
            r = ws_no_thing(err, "thread", after);
        else
            end = ws_mem_thread_at(owner, t->v.updated_ms, after);
    }
    if (r >= 0) {
        count = WB_MIN(WB_MIN(max, (size_t)WS_LIST_MAX), end);
        p     = wb_new_n(a, struct wl_thread, count);
        for (size_t i = 0; p && i < count; i++)
            ws_mem_give_thread(a, owner->threads.p[end - 1 - i], &p[i]);
    }
    ws_mem_unlock(m);
    if (r >= 0)
        r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

static int mem_runs(struct wl_store *s, const struct wl_owner *o, struct wb_uuid thread, bool live_only, size_t max,
                    struct wb_arena *a, struct wm_run **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory *m     = ws_mem(s);
    size_t            count = 0;
    ws_mem_lock(m);
    const struct ws_mem_runs *of  = ws_mem_runs(m, ws_mem_tenant(m, o->tenant), thread);
    size_t                    all = of ? of->runs.n : 0;
    struct wm_run            *p   = wb_new_n(a, struct wm_run, WB_MIN(WB_MIN(max, (size_t)WS_LIST_MAX), all));
    max                           = WB_MIN(max, (size_t)WS_LIST_MAX);
    for (size_t i = 0; p && i < all && count < max; i++) {
        const struct ws_mem_run *run = of->runs.p[live_only ? i : all - 1 - i];
        if (!live_only || !wm_status_ended(run->v.status))
            ws_mem_give_run(a, run, &p[count++]);
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

static int mem_live(struct wl_store *s, struct wb_uuid after, size_t max, struct wb_arena *a, struct wm_run **runs,
                    struct wl_owner **owners, size_t *n, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    ws_mem_lock(m);
    size_t from = ws_mem_live_at(m, after, UPP_STR(""));
    while (from < m->live.n && wb_uuid_eq(m->live.p[from]->v.id, after))
        from++;
    size_t           count = WB_MIN(WB_MIN(max, (size_t)WS_LIST_MAX), m->live.n - from);
    struct wm_run   *p     = wb_new_n(a, struct wm_run, count);
    struct wl_owner *o     = wb_new_n(a, struct wl_owner, count);
    for (size_t i = 0; p && o && i < count; i++) {
        const struct ws_mem_run *run = m->live.p[from + i];
        ws_mem_give_run(a, run, &p[i]);
        o[i] = (struct wl_owner){wb_arena_dup(a, run->tenant->name), wb_arena_dup(a, run->owner->user)};
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *runs   = p;
        *owners = o;
        *n      = count;
    }
    return r;
}

/* ---- Commit, open, close --------------------------------------------------------------------------- */

static int mem_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    int               r = ws_check_commit(c, err);
    if (r < 0)
        return r;
    ws_mem_lock(m);
    r = ws_mem_apply(m, c, err);
    if (r >= 0) {
        m->store.count.commits++;
        (void)__atomic_fetch_add(&m->store.count.transactions, 1, __ATOMIC_RELAXED);
        m->store.count.bytes += ws_commit_bytes(c);
        for (size_t i = 0; i < c->n; i++)
            m->store.count.rows += c->changes[i].kind == WL_ADD_ROW;
    }
    ws_mem_unlock(m);
    return r;
}

static void free_all(struct ws_table *t)
{
    for (size_t i = 0; i < t->cap; i++)
        wb_free(t->slot[i]);
    ws_table_done(t);
}

static void free_vecs(struct ws_memory *m)
{
    for (size_t i = 0; i < m->nodes.cap; i++) {
        struct ws_mem_node *n = (struct ws_mem_node *)(void *)m->nodes.slot[i];
        for (size_t k = 0; n && k < n->rows.n; k++)
            wb_free(n->rows.p[k]);
        if (n) {
            wb_vec_done(&n->rows);
            wb_free(n->texts);
        }
    }
    for (size_t i = 0; i < m->owners.cap; i++)
        if (m->owners.slot[i])
            wb_vec_done(&((struct ws_mem_owner *)(void *)m->owners.slot[i])->threads);
    for (size_t i = 0; i < m->runs_of.cap; i++)
        if (m->runs_of.slot[i])
            wb_vec_done(&((struct ws_mem_runs *)(void *)m->runs_of.slot[i])->runs);
    for (size_t i = 0; i < m->families.cap; i++) {
        struct ws_mem_family *f = (struct ws_mem_family *)(void *)m->families.slot[i];
        if (f) {
            wb_vec_done(&f->nodes);
            wb_vec_done(&f->threads);
        }
    }
    for (size_t i = 0; i < m->blobs.cap; i++) {
        struct ws_mem_blob *b = (struct ws_mem_blob *)(void *)m->blobs.slot[i];
        for (size_t k = 0; b && k < b->pieces.n; k++)
            wb_free(b->pieces.p[k]);
        if (b)
            wb_vec_done(&b->pieces);
    }
    wb_vec_done(&m->live);
    wb_vec_done(&m->log);
}

static void free_tenants(struct ws_memory *m)
{
    for (size_t i = 0; i < m->by_name.n; i++) {
        struct ws_mem_tenant *t = m->by_name.p[i];
        for (size_t k = 0; k < t->values.n; k++)
            wb_free(t->values.p[k]);
        for (size_t k = 0; k < t->refs.n; k++)
            wb_free(t->refs.p[k]);
        wb_vec_done(&t->runs);
        wb_vec_done(&t->aliases);
        wb_vec_done(&t->values);
        wb_vec_done(&t->refs);
    }
    wb_vec_done(&m->by_name);
}

static void mem_close(struct wl_store *s)
{
    if (!s)
        return;
    struct ws_memory *m = ws_mem(s);
    free_vecs(m);
    free_tenants(m);
    free_all(&m->families);
    free_all(&m->blobs);
    free_all(&m->nodes);
    free_all(&m->owners);
    free_all(&m->runs_of);
    free_all(&m->threads);
    free_all(&m->runs);
    free_all(&m->aliases);
    free_all(&m->keys);
    free_all(&m->tenants);
    (void)pthread_mutex_destroy(&m->lock);
    wb_free(m);
}

int ws_memory_open(struct wl_store **ret, struct upp_err *err)
{
    static const struct wl_store_ops ops = {
        .size    = sizeof ops,
        .name    = "memory",
        .commit  = mem_commit,
        .rows    = mem_rows,
        .node    = mem_node,
        .thread  = mem_thread,
        .run     = mem_run,
        .alias   = mem_alias,
        .key     = mem_key,
        .threads = mem_threads,
        .runs    = mem_runs,
        .live    = mem_live,

        .family_nodes   = ws_mem_family_nodes,
        .family_threads = ws_mem_family_threads,
        .value          = ws_mem_value,
        .values         = ws_mem_values,
        .tenants        = ws_mem_tenants,
        .piece          = ws_mem_piece,
        .loose_blobs    = ws_mem_loose_blobs,
        .old_runs       = ws_mem_old_runs,

        .follow  = ws_mem_follow,
        .learned = ws_mem_learned,
        .search  = ws_no_search,
        .close   = mem_close,
    };
    uint64_t seed;
    int      r = wb_random(&seed, sizeof seed, err);
    if (r < 0)
        return r;
    struct ws_memory *m = wb_calloc(1, sizeof *m);
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    if (pthread_mutex_init(&m->lock, NULL))
        abort(); /* it does not allocate on the systems we know */
    m->store.ops = &ops;
    m->seed      = seed;
    m->max       = (size_t)FIRST_LIMIT_GB << 30;
    *ret         = &m->store;
    return 0;
}

void ws_memory_limit(struct wl_store *s, size_t max_bytes)
{
    ws_mem(s)->max = max_bytes;
}
