/* stores/memory/look.c — reading families, values and pieces, and what those who tidy up ask for. */
#include <stdlib.h>
#include <string.h>

#include "model/id.h"
#include "stores/memory/store.h"

static struct ws_mem_tenant *locked(struct ws_memory *m, const struct wl_owner *o)
{
    ws_mem_lock(m);
    return ws_mem_tenant(m, o->tenant);
}

/* How many of n - from are given out. */
static size_t some(size_t n, size_t from, size_t max)
{
    return from < n ? WB_MIN(WB_MIN(max, (size_t)WS_LIST_MAX), n - from) : 0;
}

/* ---- Families -------------------------------------------------------------------------------------- */

static void give_node(struct wb_arena *a, const struct ws_mem_node *n, struct wl_node *ret)
{
    *ret = n->v;
    if (!n->texts)
        return;
    ret->name     = wb_arena_dup(a, n->texts->name);
    ret->metadata = wb_arena_dup(a, n->texts->metadata);
    ret->origin   = wb_arena_dup(a, n->texts->origin);
}

int ws_mem_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid after, size_t max,
                        struct wb_arena *a, struct wl_node **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory           *m    = ws_mem(s);
    const struct ws_mem_family *f    = ws_mem_family(m, locked(m, o), family);
    size_t                      all  = f ? f->nodes.n : 0;
    size_t                      from = 0;
    if (f && !ws_none(after)) {
        from = ws_mem_family_node_at(f, wm_key(after));
        from += from < all && f->nodes.p[from]->v.key == wm_key(after);
    }
    size_t          count = some(all, from, max);
    struct wl_node *p     = wb_new_n(a, struct wl_node, count);
    for (size_t i = 0; p && i < count; i++)
        give_node(a, f->nodes.p[from + i], &p[i]);
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

int ws_mem_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid after,
                          size_t max, struct wb_arena *a, struct wl_thread **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory           *m    = ws_mem(s);
    const struct ws_mem_family *f    = ws_mem_family(m, locked(m, o), family);
    size_t                      all  = f ? f->threads.n : 0;
    size_t                      from = f ? ws_mem_family_thread_at(f, after) : 0;
    from += from < all && wb_uuid_eq(f->threads.p[from]->v.id, after);
    size_t            count = some(all, from, max);
    struct wl_thread *p     = wb_new_n(a, struct wl_thread, count);
    for (size_t i = 0; p && i < count; i++)
        ws_mem_give_thread(a, f->threads.p[from + i], &p[i]);
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

/* ---- Values and tenants ---------------------------------------------------------------------------- */

int ws_mem_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                 struct wb_arena *a, struct upp_str *ret, struct upp_err *err)
{
    struct ws_memory           *m     = ws_mem(s);
    const struct ws_mem_tenant *t     = locked(m, o);
    size_t                      at    = t ? ws_mem_value_at(t, space, name) : 0;
    const struct ws_mem_value  *x     = t && at < t->values.n ? t->values.p[at] : NULL;
    bool                        found = x && wb_str_eq(x->v.space, space) && wb_str_eq(x->v.name, name);
    struct upp_str              bytes = found ? wb_arena_dup(a, x->v.bytes) : (struct upp_str){NULL, 0};
    ws_mem_unlock(m);
    int r = found ? wb_arena_check(a, err) : ws_no_value(err, space, name);
    if (r >= 0)
        *ret = bytes;
    return r;
}

int ws_mem_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str after, size_t max,
                  struct wb_arena *a, struct wl_value **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory           *m  = ws_mem(s);
    struct upp_str              of = wb_arena_dup(a, space);
    const struct ws_mem_tenant *t  = locked(m, o);
    size_t                      at = t ? ws_mem_value_at(t, space, after) : 0, all = t ? t->values.n : 0;
    size_t                      count = 0, bytes = 0;
    max                = some(all, at, max);
    struct wl_value *p = wb_new_n(a, struct wl_value, max);
    for (; p && count < max && at < all; at++) {
        const struct wl_value *v = &t->values.p[at]->v;
        if (!wb_str_eq(v->space, space))
            break;
        if (wb_str_eq(v->name, after))
            continue;
        bytes += v->bytes.n;
        if (count && bytes > WS_VALUES_BYTES)
            break;
        p[count++] = (struct wl_value){of, wb_arena_dup(a, v->name), wb_arena_dup(a, v->bytes)};
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

int ws_mem_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a, struct upp_str **ret,
                   size_t *n, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    ws_mem_lock(m);
    size_t from = ws_mem_name_at(m, after);
    from += from < m->by_name.n && wb_str_eq(m->by_name.p[from]->name, after);
    size_t          count = some(m->by_name.n, from, max);
    struct upp_str *p     = wb_new_n(a, struct upp_str, count);
    for (size_t i = 0; p && i < count; i++)
        p[i] = wb_arena_dup(a, m->by_name.p[from + i]->name);
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

/* ---- Blobs ----------------------------------------------------------------------------------------- */

int ws_mem_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key, uint32_t number,
                 struct wb_arena *a, struct wl_piece *ret, struct upp_err *err)
{
    struct ws_memory         *m     = ws_mem(s);
    const struct ws_mem_blob *b     = ws_mem_blob(m, locked(m, o), key);
    bool                      found = b && b->whole && number < b->pieces.n;
    struct wl_piece           x     = {.key = *key, .number = number};
    if (found) {
        x.last  = number + 1 == b->pieces.n;
        x.bytes = wb_arena_dup(a, wb_str(b->pieces.p[number]->bytes, b->pieces.p[number]->n));
    }
    ws_mem_unlock(m);
    int r = found ? wb_arena_check(a, err) : ws_no_blob(err, UPP_ENOTFOUND);
    if (r >= 0)
        *ret = x;
    return r;
}

static int by_loose(const void *a, const void *b)
{
    const struct ws_mem_blob *x = *(const struct ws_mem_blob *const *)a, *y = *(const struct ws_mem_blob *const *)b;
    if (x->loose != y->loose)
        return x->loose < y->loose ? -1 : 1;
    return memcmp(x->key.b, y->key.b, sizeof x->key.b);
}

int ws_mem_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max, struct wb_arena *a,
                       struct wl_blob_key **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory           *m     = ws_mem(s);
    const struct ws_mem_tenant *t     = locked(m, o);
    const struct ws_mem_blob  **all   = wb_new_n(a, const struct ws_mem_blob *, m->blobs.n);
    size_t                      count = 0;
    for (size_t i = 0; all && t && i < m->blobs.cap; i++) {
        const struct ws_mem_blob *b = (const struct ws_mem_blob *)(void *)m->blobs.slot[i];
        if (b && b->tenant == t && !b->refs && b->loose < before_ms)
            all[count++] = b;
    }
    if (count)
        qsort(all, count, sizeof all[0], by_loose);
    count                 = some(count, 0, max);
    struct wl_blob_key *p = wb_new_n(a, struct wl_blob_key, count);
    for (size_t i = 0; p && i < count; i++)
        p[i] = all[i]->key;
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n   = count;
    }
    return r;
}

/* ---- Runs ------------------------------------------------------------------------------------------ */

int ws_mem_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms, size_t max,
                    struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n, struct upp_err *err)
{
    struct ws_memory           *m     = ws_mem(s);
    const struct ws_mem_tenant *t     = locked(m, o);
    size_t                      all   = t ? t->runs.n : 0;
    size_t                      from  = t && after != UINT64_MAX ? ws_mem_run_at(t->runs.p, all, after + 1) : all;
    size_t                      count = 0;
    max                               = some(all, from, max);
    struct wm_run *p                  = wb_new_n(a, struct wm_run, max);
    uint64_t      *number             = wb_new_n(a, uint64_t, max);
    for (size_t i = from; p && number && i < all && count < max; i++) {
        if (t->runs.p[i]->v.created_ms >= before_ms)
            continue;
        ws_mem_give_run(a, t->runs.p[i], &p[count]);
        number[count++] = t->runs.p[i]->number;
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret     = p;
        *numbers = number;
        *n       = count;
    }
    return r;
}
