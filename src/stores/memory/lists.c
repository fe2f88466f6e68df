/* stores/memory/lists.c — the arrays of the memory store that are in order: places in them, and who stands in which. */
#include <string.h>

#include "stores/memory/store.h"

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

/* ---- Places ---------------------------------------------------------------------------------------- */

/* The first of n for which it is not before; by halves. */
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
    FIRST_NOT(m->by_name.n, wb_str_cmp(m->by_name.p[mid]->name, name) < 0);
}

static size_t alias_at(const struct ws_mem_tenant *t, struct wb_uuid object)
{
    FIRST_NOT(t->aliases.n, wb_uuid_cmp(t->aliases.p[mid]->v.object, object) < 0);
}

/* ---- Families -------------------------------------------------------------------------------------- */

static int need_family(struct ws_mem_applying *a, uint32_t family, struct ws_mem_family **ret, struct upp_err *err)
{
    struct ws_mem_family *f = ws_mem_family(a->m, a->tenant, family);
    if (!f) {
        if (!ws_table_room(&a->m->families))
            return ws_mem_no_memory(err);
        int r = ws_mem_take(a->m, sizeof *f, &f, err);
        if (r < 0)
            return r;
        f->tenant     = a->tenant;
        f->family     = family;
        f->entry.hash = ws_mem_hash_u64(a->m, a->tenant, family);
        ws_table_add(&a->m->families, &f->entry);
    }
    *ret = f;
    if (!wb_vec_room(&f->nodes, WS_MEM_MANY) || !wb_vec_room(&f->threads, WS_MEM_MANY))
        return ws_mem_no_memory(err);
    return 0;
}

int ws_mem_kin(struct ws_mem_applying *a, uint32_t own, struct wb_uuid tree, struct ws_mem_kin *ret,
               struct upp_err *err)
{
    *ret  = (struct ws_mem_kin){.n = 1 + (own != wl_family(tree))};
    int r = need_family(a, own, &ret->f[0], err);
    return r < 0 || ret->n < 2 ? r : need_family(a, wl_family(tree), &ret->f[1], err);
}

/* They were made when the thing came. */
static struct ws_mem_kin kin_of(struct ws_memory *m, struct ws_mem_tenant *t, uint32_t own, struct wb_uuid tree)
{
    struct ws_mem_kin kin = {.n = 1 + (own != wl_family(tree))};
    kin.f[0]              = ws_mem_family(m, t, own);
    kin.f[1]              = ws_mem_family(m, t, wl_family(tree));
    return kin;
}

void ws_mem_list_node(struct ws_memory *m, struct ws_mem_node *n)
{
    struct ws_mem_kin kin = kin_of(m, n->tenant, (uint32_t)(n->v.key >> 32), n->v.tree);
    for (size_t i = 0; i < kin.n; i++)
        WS_MEM_INSERT(&kin.f[i]->nodes, ws_mem_family_node_at(kin.f[i], n->v.key), n);
    ws_table_add(&m->nodes, &n->entry);
}

void ws_mem_unlist_node(struct ws_memory *m, struct ws_mem_node *n)
{
    struct ws_mem_kin kin = kin_of(m, n->tenant, (uint32_t)(n->v.key >> 32), n->v.tree);
    for (size_t i = 0; i < kin.n; i++)
        WS_MEM_REMOVE(&kin.f[i]->nodes, ws_mem_family_node_at(kin.f[i], n->v.key));
    ws_table_remove(&m->nodes, &n->entry);
}

void ws_mem_list_thread(struct ws_memory *m, struct ws_mem_thread *t)
{
    struct ws_mem_owner *o   = t->owner;
    struct ws_mem_kin    kin = kin_of(m, t->tenant, wl_family(t->v.id), t->v.tree);
    WS_MEM_INSERT(&o->threads, ws_mem_thread_at(o, t->v.updated_ms, t->v.id), t);
    for (size_t i = 0; i < kin.n; i++)
        WS_MEM_INSERT(&kin.f[i]->threads, ws_mem_family_thread_at(kin.f[i], t->v.id), t);
}

void ws_mem_unlist_thread(struct ws_memory *m, struct ws_mem_thread *t)
{
    struct ws_mem_owner *o   = t->owner;
    struct ws_mem_kin    kin = kin_of(m, t->tenant, wl_family(t->v.id), t->v.tree);
    WS_MEM_REMOVE(&o->threads, ws_mem_thread_at(o, t->v.updated_ms, t->v.id));
    for (size_t i = 0; i < kin.n; i++)
        WS_MEM_REMOVE(&kin.f[i]->threads, ws_mem_family_thread_at(kin.f[i], t->v.id));
}

/* ---- Aliases --------------------------------------------------------------------------------------- */

void ws_mem_link_alias(struct ws_memory *m, struct ws_mem_alias *x)
{
    struct ws_mem_tenant *t = x->owner->tenant;
    WS_MEM_INSERT(&t->aliases, alias_at(t, x->v.object), x);
    ws_table_add(&m->aliases, &x->entry);
}

void ws_mem_unlink_alias(struct ws_memory *m, struct ws_mem_alias *x)
{
    struct ws_mem_tenant *t  = x->owner->tenant;
    size_t                at = alias_at(t, x->v.object);
    while (t->aliases.p[at] != x)
        at++;
    WS_MEM_REMOVE(&t->aliases, at);
    ws_table_remove(&m->aliases, &x->entry);
}

struct ws_mem_alias *ws_mem_alias_of(const struct ws_mem_tenant *t, struct wb_uuid object)
{
    size_t at = alias_at(t, object);
    return at < t->aliases.n && wb_uuid_eq(t->aliases.p[at]->v.object, object) ? t->aliases.p[at] : NULL;
}
