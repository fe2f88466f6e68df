/* stores/memory/lists.c — the hash tables and the sorted arrays of the memory store. */
#include <stddef.h>
#include <string.h>

#include "stores/memory/store.h"

/* How the entries of a table are found: by their tenant or owner, and one or two key parts. */
struct by {
    size_t of; /* offset of the tenant or owner; 0: the store itself */
    size_t at[2];
    size_t bytes[2]; /* 0: a text */
    size_t parts;
};

#define OF(type, of_)       .of = offsetof(struct type, of_)
#define AT(type, v_, size_) .at = {offsetof(struct type, v_)}, .bytes = {(size_)}, .parts = 1
static const struct by by[] = {
    [WS_MEM_TENANTS] = {AT(ws_mem_tenant, v, 0)},
    [WS_MEM_OWNERS] = {OF(ws_mem_owner, tenant), AT(ws_mem_owner, v, 0)},
    [WS_MEM_NODES] = {OF(ws_mem_node, tenant), AT(ws_mem_node, v.key, sizeof(uint64_t))},
    [WS_MEM_THREADS] = {OF(ws_mem_thread, tenant), AT(ws_mem_thread, v.id, sizeof(struct wb_uuid))},
    [WS_MEM_RUNS] = {OF(ws_mem_run, tenant), AT(ws_mem_run, v.id, sizeof(struct wb_uuid))},
    [WS_MEM_RUNS_OF] = {OF(ws_mem_runs, tenant), AT(ws_mem_runs, v, sizeof(struct wb_uuid))},
    [WS_MEM_FAMILIES] = {OF(ws_mem_family, tenant), AT(ws_mem_family, v, sizeof(uint32_t))},
    [WS_MEM_BLOBS] = {OF(ws_mem_blob, tenant), AT(ws_mem_blob, v, sizeof(struct wl_blob_key))},
    [WS_MEM_ALIASES] = {OF(ws_mem_alias, owner),
                        .at = {offsetof(struct ws_mem_alias, v.kind), offsetof(struct ws_mem_alias, v.text)},
                        .bytes = {1}, .parts = 2},
    [WS_MEM_KEYS] = {OF(ws_mem_key, tenant),
                     .at = {offsetof(struct ws_mem_key, v.route), offsetof(struct ws_mem_key, v.key)}, .parts = 2},
};

struct wanted {
    const struct by *by;
    const void *of;
    struct upp_str part[2];
};

static struct wanted key_of(const struct ws_memory *m, const struct by *b, const char *x)
{
    struct wanted w = {.by = b, .of = m};
    if (b->of)
        memcpy(&w.of, x + b->of, sizeof w.of);
    for (size_t i = 0; i < b->parts; i++)
        w.part[i] =
            b->bytes[i] ? wb_str(x + b->at[i], b->bytes[i]) : *(const struct upp_str *)(const void *)(x + b->at[i]);
    return w;
}

static uint64_t hash(const struct ws_memory *m, const struct wanted *w)
{
    uint64_t h = ws_hash(m->seed ^ (uint64_t)(uintptr_t)w->of * 0x9e3779b97f4a7c15u, w->part[0].p, w->part[0].n);
    return w->by->parts > 1 ? h ^ ws_hash(m->seed, w->part[1].p, w->part[1].n) : h;
}

static bool same(const void *e, const void *key)
{
    const struct wanted *w = key;
    struct wanted is = key_of(w->of, w->by, e); /* an entry that belongs to the store belongs to this one */
    return is.of == w->of && wb_str_eq(is.part[0], w->part[0]) && wb_str_eq(is.part[1], w->part[1]);
}

void *ws_mem_find(const struct ws_memory *m, enum ws_mem_table t, const void *of, struct upp_str key,
                  struct upp_str more)
{
    struct wanted w = {&by[t], of, {key, more}};
    return of ? ws_table_find(&m->tables[t], hash(m, &w), same, &w) : NULL;
}

void ws_mem_enter(struct ws_memory *m, enum ws_mem_table t, void *x)
{
    struct wanted w = key_of(m, &by[t], x);
    struct ws_entry *e = x;
    e->hash = hash(m, &w);
    ws_table_add(&m->tables[t], e);
}

void ws_mem_leave(struct ws_memory *m, enum ws_mem_table t, const void *x)
{
    ws_table_remove(&m->tables[t], x);
}

void ws_mem_replace(struct ws_memory *m, enum ws_mem_table t, const void *old, void *x)
{
    struct ws_entry *e = x;
    e->hash = ((const struct ws_entry *)old)->hash;
    ws_table_replace(&m->tables[t], old, e);
}

void ws_mem_insert(void *array, size_t *n, size_t at, void *x)
{
    char *p = (char *)array + at * sizeof x;
    memmove(p + sizeof x, p, (*n - at) * sizeof x);
    memcpy(p, &x, sizeof x);
    (*n)++;
}

void ws_mem_remove(void *array, size_t *n, size_t at)
{
    char *p = (char *)array + at * sizeof(void *);
    (*n)--;
    memmove(p, p + sizeof(void *), (*n - at) * sizeof(void *));
}

/* The first of n for which `before` is false; binary search. */
#define FIRST_NOT(n_, before)                                                                                          \
    size_t low = 0, high = (n_);                                                                                       \
    while (low < high) {                                                                                               \
        size_t mid = low + (high - low) / 2;                                                                           \
        if (before)                                                                                                    \
            low = mid + 1;                                                                                             \
        else                                                                                                           \
            high = mid;                                                                                                \
    }                                                                                                                  \
    return low

size_t ws_mem_row_at(const struct ws_mem_node *n, uint64_t pos)
{
    FIRST_NOT(n->rows.n, n->rows.p[mid]->v.pos < pos);
}

static bool thread_before(const struct wl_thread *t, int64_t updated_ms, struct wb_uuid id)
{
    return t->updated_ms < updated_ms || (t->updated_ms == updated_ms && wb_uuid_cmp(t->id, id) < 0);
}

size_t ws_mem_thread_at(const struct ws_mem_owner *o, int64_t updated_ms, struct wb_uuid id)
{
    FIRST_NOT(o->threads.n, thread_before(&o->threads.p[mid]->v, updated_ms, id));
}

static bool live_before(const struct ws_mem_run *run, struct wb_uuid id, struct upp_str tenant)
{
    int cmp = wb_uuid_cmp(run->v.id, id);
    return cmp < 0 || (cmp == 0 && wb_str_cmp(run->tenant->v, tenant) < 0);
}

size_t ws_mem_live_at(const struct ws_memory *m, struct wb_uuid id, struct upp_str tenant)
{
    FIRST_NOT(m->live.n, live_before(m->live.p[mid], id, tenant));
}

size_t ws_mem_run_at(struct ws_mem_run *const *p, size_t n, uint64_t number)
{
    FIRST_NOT(n, p[mid]->number < number);
}

size_t ws_mem_family_node_at(const struct ws_mem_family *f, uint64_t key)
{
    FIRST_NOT(f->nodes.n, f->nodes.p[mid]->v.key < key);
}

size_t ws_mem_family_thread_at(const struct ws_mem_family *f, struct wb_uuid id)
{
    FIRST_NOT(f->threads.n, wb_uuid_cmp(f->threads.p[mid]->v.id, id) < 0);
}

static int value_cmp(const struct wl_value *v, struct upp_str space, struct upp_str name)
{
    int c = wb_str_cmp(v->space, space);
    return c ? c : wb_str_cmp(v->name, name);
}

size_t ws_mem_value_at(const struct ws_mem_tenant *t, struct upp_str space, struct upp_str name)
{
    FIRST_NOT(t->values.n, value_cmp(&t->values.p[mid]->v, space, name) < 0);
}

size_t ws_mem_name_at(const struct ws_memory *m, struct upp_str name)
{
    FIRST_NOT(m->by_name.n, wb_str_cmp(m->by_name.p[mid]->v, name) < 0);
}

size_t ws_mem_position_after(const struct ws_memory *m, uint64_t number)
{
    FIRST_NOT(m->log.n, m->log.p[mid].number <= number);
}

int ws_mem_ref_cmp(const struct ws_mem_ref *a, const struct ws_mem_ref *b)
{
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    if (a->pos != b->pos)
        return a->pos < b->pos ? -1 : 1;
    int c = wb_uuid_cmp(a->id, b->id);
    return c || !a->blob || !b->blob ? c : memcmp(a->blob->v.b, b->blob->v.b, sizeof a->blob->v.b);
}

size_t ws_mem_ref_at(const struct ws_mem_tenant *t, const struct ws_mem_ref *x)
{
    FIRST_NOT(t->refs.n, ws_mem_ref_cmp(t->refs.p[mid], x) < 0);
}

static size_t alias_at(const struct ws_mem_tenant *t, struct wb_uuid object)
{
    FIRST_NOT(t->aliases.n, wb_uuid_cmp(t->aliases.p[mid]->v.object, object) < 0);
}

/* The families of an object: that of its own id, and that of its tree if it differs. They were created with the
 * object. */
struct families {
    struct ws_mem_family *f[2];
    size_t n;
};

static struct families families_of(struct ws_memory *m, struct ws_mem_tenant *t, uint32_t own, struct wb_uuid tree)
{
    struct families families = {.n = 1 + (own != wl_family(tree))};
    families.f[0] = ws_mem_family(m, t, own);
    families.f[1] = ws_mem_family(m, t, wl_family(tree));
    return families;
}

void ws_mem_list_node(struct ws_memory *m, struct ws_mem_node *n)
{
    struct families families = families_of(m, n->tenant, (uint32_t)(n->v.key >> 32), n->v.tree);
    for (size_t i = 0; i < families.n; i++)
        WS_MEM_INSERT(&families.f[i]->nodes, ws_mem_family_node_at(families.f[i], n->v.key), n);
    ws_mem_enter(m, WS_MEM_NODES, n);
}

void ws_mem_unlist_node(struct ws_memory *m, struct ws_mem_node *n)
{
    struct families families = families_of(m, n->tenant, (uint32_t)(n->v.key >> 32), n->v.tree);
    for (size_t i = 0; i < families.n; i++)
        WS_MEM_REMOVE(&families.f[i]->nodes, ws_mem_family_node_at(families.f[i], n->v.key));
    ws_mem_leave(m, WS_MEM_NODES, n);
}

void ws_mem_list_thread(struct ws_memory *m, struct ws_mem_thread *t)
{
    struct ws_mem_owner *o = t->owner;
    struct families families = families_of(m, t->tenant, wl_family(t->v.id), t->v.tree);
    WS_MEM_INSERT(&o->threads, ws_mem_thread_at(o, t->v.updated_ms, t->v.id), t);
    for (size_t i = 0; i < families.n; i++)
        WS_MEM_INSERT(&families.f[i]->threads, ws_mem_family_thread_at(families.f[i], t->v.id), t);
}

void ws_mem_unlist_thread(struct ws_memory *m, struct ws_mem_thread *t)
{
    struct ws_mem_owner *o = t->owner;
    struct families families = families_of(m, t->tenant, wl_family(t->v.id), t->v.tree);
    WS_MEM_REMOVE(&o->threads, ws_mem_thread_at(o, t->v.updated_ms, t->v.id));
    for (size_t i = 0; i < families.n; i++)
        WS_MEM_REMOVE(&families.f[i]->threads, ws_mem_family_thread_at(families.f[i], t->v.id));
}

void ws_mem_link_alias(struct ws_memory *m, struct ws_mem_alias *x)
{
    struct ws_mem_tenant *t = x->owner->tenant;
    WS_MEM_INSERT(&t->aliases, alias_at(t, x->v.object), x);
    ws_mem_enter(m, WS_MEM_ALIASES, x);
}

void ws_mem_unlink_alias(struct ws_memory *m, struct ws_mem_alias *x)
{
    struct ws_mem_tenant *t = x->owner->tenant;
    size_t at = alias_at(t, x->v.object);
    while (t->aliases.p[at] != x)
        at++;
    WS_MEM_REMOVE(&t->aliases, at);
    ws_mem_leave(m, WS_MEM_ALIASES, x);
}

struct ws_mem_alias *ws_mem_alias_of(const struct ws_mem_tenant *t, struct wb_uuid object)
{
    size_t at = alias_at(t, object);
    return at < t->aliases.n && wb_uuid_eq(t->aliases.p[at]->v.object, object) ? t->aliases.p[at] : NULL;
}
