/* stores/memory/read.c — reads. There is no search index: searches scan the log. */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "model/id.h"
#include "stores/memory/store.h"

/* Copies out the object stored after the head. */
static void copy_out(enum wl_what what, const void *x, struct wb_arena *a, void *to)
{
    const struct ws_kind *k = what == WL_LIST_LIVE || what == WL_LIST_OLD_RUNS ? &ws_runs : ws_kind_of(what);
    memcpy(to, (const struct ws_mem_head *)x + 1, k->size);
    if (k == &ws_threads)
        ((struct wl_thread *)to)->owner.tenant = wb_arena_dup(a, ((const struct ws_mem_thread *)x)->v.owner.tenant);
    const struct ws_mem_texts *texts = what == WL_LIST_FAMILY_NODES ? ((const struct ws_mem_node *)x)->texts : NULL;
    if (texts) {
        struct wl_node *n = to;
        n->name = texts->v.name;
        n->metadata = texts->v.metadata;
        n->origin = texts->v.origin;
    }
    if (a)
        ws_texts_dup(k, to, a);
}

/* ---- Rows ------------------------------------------------------------------------------------------ */

/* How many rows of p[from..to) fit the limits, from the end where the range begins. */
static size_t fitting(const struct ws_mem_node *n, size_t from, size_t to, const struct wl_range *r)
{
    size_t count = 0, bytes = 0;
    for (; count < to - from && count < r->max_rows; count++) {
        const struct wl_row *row = &n->rows.p[r->backwards ? to - 1 - count : from + count]->v;
        size_t is = row->body.n + row->tape.n;
        if (count && is > r->max_bytes - WB_MIN(bytes, r->max_bytes))
            break;
        bytes += is;
    }
    return count;
}

int ws_mem_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range, struct wb_arena *a,
                struct wl_rows *ret, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    struct wl_range r = ws_range(range);
    struct wl_rows x = {0};
    struct ws_mem_node *n;
    ws_mem_lock(m);
    n = ws_mem_node(m, ws_mem_tenant(m, o->tenant), r.node);
    if (n && r.from < r.to) {
        size_t from = ws_mem_row_at(n, r.from), to = ws_mem_row_at(n, r.to);
        x.n = fitting(n, from, to, &r);
        x.more = x.n < to - from;
        x.p = wb_new_n(a, struct wl_row, x.n);
        for (size_t i = 0; x.p && i < x.n; i++) {
            x.p[i] = n->rows.p[r.backwards ? to - 1 - i : from + i]->v;
            ws_texts_dup(&ws_rows, &x.p[i], a);
        }
    }
    ws_mem_unlock(m);
    int failed = wb_arena_check(a, err);
    if (failed >= 0)
        *ret = x;
    return failed;
}

static const struct ws_mem_row *row_at(const struct ws_memory *m, const struct ws_mem_position *p)
{
    const struct ws_mem_node *n = ws_mem_node(m, p->tenant, p->node);
    size_t i = n ? ws_mem_row_at(n, p->pos) : 0;
    return n && i < n->rows.n && n->rows.p[i]->number == p->number ? n->rows.p[i] : NULL;
}

/* Removes positions of dropped rows once they are the majority. */
static void compact(struct ws_memory *m)
{
    size_t kept = 0;
    if (m->gone * 2 <= m->log.n)
        return;
    for (size_t i = 0; i < m->log.n; i++)
        if (row_at(m, &m->log.p[i]))
            m->log.p[kept++] = m->log.p[i];
    m->log.n = kept;
    m->gone = 0;
}

int ws_mem_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                  struct wl_followed **ret, size_t *n, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    struct wl_range limit = ws_range(&(struct wl_range){.max_rows = max_rows, .max_bytes = max_bytes});
    struct wl_followed *p = wb_new_n(a, struct wl_followed, limit.max_rows);
    size_t count = 0, bytes = 0;
    ws_mem_lock(m);
    compact(m);
    for (size_t i = ws_mem_position_after(m, after); p && i < m->log.n && count < limit.max_rows; i++) {
        const struct ws_mem_row *row = row_at(m, &m->log.p[i]);
        if (!row)
            continue;
        bytes += row->v.body.n + row->v.tape.n;
        if (count && bytes > limit.max_bytes)
            break;
        p[count] = (struct wl_followed){.number = row->number, .row = row->v};
        p[count].tenant = wb_arena_dup(a, m->log.p[i].tenant->v);
        ws_texts_dup(&ws_rows, &p[count++].row, a);
    }
    ws_mem_unlock(m);
    int r = wb_arena_check(a, err);
    if (r >= 0) {
        *ret = p;
        *n = count;
    }
    return r;
}

/* ---- One object ------------------------------------------------------------------------------------ */

static const struct ws_mem_value *find_value(const struct ws_mem_tenant *t, const struct wl_ask *k)
{
    size_t at = t ? ws_mem_value_at(t, k->space, k->name) : 0;
    const struct ws_mem_value *x = t && at < t->values.n ? t->values.p[at] : NULL;
    return x && wb_str_eq(x->v.space, k->space) && wb_str_eq(x->v.name, k->name) ? x : NULL;
}

static const void *find(const struct ws_memory *m, const struct wl_ask *k)
{
    const struct ws_mem_tenant *t = ws_mem_tenant(m, k->owner->tenant);
    const struct ws_mem_key *key;
    const struct ws_mem_blob *b;
    switch ((int)k->what) {
    case WL_GET_NODE:
        return ws_mem_node(m, t, k->number);
    case WL_GET_THREAD:
        return ws_mem_thread(m, t, k->id);
    case WL_GET_RUN:
        return ws_mem_run(m, t, k->id);
    case WL_GET_ALIAS:
        return ws_mem_alias(m, ws_mem_owner(m, t, k->owner->user), (uint8_t)k->number, k->name);
    case WL_GET_KEY:
        key = ws_mem_key(m, t, k->space, k->name);
        return key && ws_key_expired(key->v.created_ms, wb_wall_ms()) ? NULL : key;
    case WL_GET_VALUE:
        return find_value(t, k);
    default:
        b = ws_mem_blob(m, t, k->blob);
        return b && b->whole && k->number < b->pieces.n ? b->pieces.p[k->number] : NULL;
    }
}

/* ---- WL_GET_BYTES ---- */

#define EACH(m, kind, x)                                                                                               \
    for (size_t i_ = 0; i_ < (m)->tables[kind].cap; i_++)                                                              \
        if ((x = (void *)(m)->tables[kind].slot[i_]))

static struct wl_size bytes_of(const struct ws_memory *m, const struct ws_mem_tenant *t)
{
    struct wl_size ret = {0};
    const struct ws_mem_node *n;
    const struct ws_mem_thread *thread;
    const struct ws_mem_blob *b;
    if (!t)
        return ret;
    EACH(m, WS_MEM_NODES, n)
    for (size_t i = 0; n->tenant == t && i < n->rows.n; i++)
        ret.bytes += ws_texts_bytes(&ws_rows, &n->rows.p[i]->v);
    EACH(m, WS_MEM_THREADS, thread)
    if (thread->tenant == t)
        ret.bytes += thread->v.title.n + thread->v.metadata.n;
    EACH(m, WS_MEM_BLOBS, b)
    for (size_t i = 0; b->tenant == t && i < b->pieces.n; i++)
        ret.bytes += b->pieces.p[i]->v.bytes.n;
    for (size_t i = 0; i < t->runs.n; i++)
        ret.bytes += t->runs.p[i]->v.options.n + t->runs.p[i]->v.error.n;
    for (size_t i = 0; i < t->values.n; i++)
        ret.bytes += t->values.p[i]->v.bytes.n;
    return ret;
}

int ws_mem_get(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, void *ret, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    union ws_object x;
    ws_mem_lock(m);
    bool all = k->what == WL_GET_INDEX_PROGRESS || k->what == WL_GET_BYTES;
    const void *found = all ? m : find(m, k);
    if (k->what == WL_GET_BYTES)
        x.size = bytes_of(m, ws_mem_tenant(m, k->owner->tenant));
    else if (k->what == WL_GET_INDEX_PROGRESS)
        x.progress = (struct wl_progress){0, m->log.n ? m->log.p[m->log.n - 1].number : 0};
    else if (found)
        copy_out(k->what, found, a, &x);
    ws_mem_unlock(m);
    if (!found)
        return ws_not_found(err, k);
    if (k->what == WL_GET_KEY) { /* the caller's own texts */
        x.key.route = k->space;
        x.key.key = k->name;
    }
    int r = a ? wb_arena_check(a, err) : 0;
    if (r >= 0)
        memcpy(ret, &x, ws_kind_of(k->what)->size);
    return r;
}

/* ---- Lists ----------------------------------------------------------------------------------------- */

/* A sorted array of objects, and the part of it to list. */
struct things {
    const void *p;  /* array of pointers */
    size_t from, n; /* from the first to one past the last */
    bool backwards;
    uint64_t upto; /* as of a struct wl_list */
};
#define THINGS(v, from_) ((struct things){(v)->p, (from_), (v)->n, false, 0})

/* Those before `end`, last one first. */
#define NEWEST(v, end) ((struct things){(v)->p, 0, (end), true, 0})

static int own_threads(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_ask *k,
                       struct things *ret, struct upp_err *err)
{
    const struct ws_mem_owner *owner = ws_mem_owner(m, t, k->owner->user);
    size_t end = owner ? owner->threads.n : 0;
    if (!wb_uuid_is_nil(k->id)) {
        const struct ws_mem_thread *after = owner ? ws_mem_thread(m, t, k->id) : NULL;
        if (!after || after->owner != owner)
            return ws_no_thing(err, "thread", k->id);
        end = ws_mem_thread_at(owner, after->v.updated_ms, k->id);
    }
    if (owner)
        *ret = NEWEST(&owner->threads, end);
    return 0;
}

static struct things family_nodes(const struct ws_mem_family *f, struct wb_uuid after)
{
    size_t from = wb_uuid_is_nil(after) ? 0 : ws_mem_family_node_at(f, wm_key(after));
    return THINGS(&f->nodes,
                  from + (!wb_uuid_is_nil(after) && from < f->nodes.n && f->nodes.p[from]->v.key == wm_key(after)));
}

static struct things family_threads(const struct ws_mem_family *f, struct wb_uuid after)
{
    size_t from = ws_mem_family_thread_at(f, after);
    return THINGS(&f->threads, from + (from < f->threads.n && wb_uuid_eq(f->threads.p[from]->v.id, after)));
}

static int by_loose(const void *a, const void *b)
{
    const struct ws_mem_blob *x = *(const struct ws_mem_blob *const *)a, *y = *(const struct ws_mem_blob *const *)b;
    if (x->loose != y->loose)
        return x->loose < y->loose ? -1 : 1;
    return memcmp(x->v.b, y->v.b, sizeof x->v.b);
}

static struct things loose_blobs(const struct ws_memory *m, const struct ws_mem_tenant *t, bool complete,
                                 int64_t before_ms, struct wb_arena *a)
{
    const struct ws_table *blobs = &m->tables[WS_MEM_BLOBS];
    const struct ws_mem_blob **all = wb_new_n(a, const struct ws_mem_blob *, blobs->n);
    size_t n = 0;
    for (size_t i = 0; all && i < blobs->cap; i++) {
        const struct ws_mem_blob *b = (const struct ws_mem_blob *)(void *)blobs->slot[i];
        if (b && b->tenant == t && !b->refs && b->loose < before_ms && (b->whole || !complete))
            all[n++] = b;
    }
    if (n)
        qsort(all, n, sizeof all[0], by_loose);
    return (struct things){all, 0, n, false, 0};
}

static int by_number(const void *a, const void *b)
{
    const struct ws_mem_run *x = *(const struct ws_mem_run *const *)a, *y = *(const struct ws_mem_run *const *)b;
    return (x->number > y->number) - (x->number < y->number);
}

/* From the live runs: a tenant may have many more that have ended. */
static struct things waiting_runs(const struct ws_memory *m, const struct ws_mem_owner *o, uint64_t after,
                                  struct wb_arena *a)
{
    const struct ws_mem_run **all = wb_new_n(a, const struct ws_mem_run *, m->live.n);
    size_t n = 0;
    for (size_t i = 0; all && i < m->live.n; i++) {
        const struct ws_mem_run *x = m->live.p[i];
        if (x->owner == o && x->v.status == WM_WAITING && !x->v.depth && x->number > after)
            all[n++] = x;
    }
    if (n)
        qsort(all, n, sizeof all[0], by_number);
    return (struct things){all, 0, n, false, 0};
}

/* Runs of a thread, or of an owner, after one of them. */
static int runs_of(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_ask *k, struct wb_arena *a,
                   struct things *ret, struct upp_err *err)
{
    const struct ws_mem_run *after = wb_uuid_is_nil(k->after) ? NULL : ws_mem_run(m, t, k->after);
    const struct ws_mem_runs *of = ws_mem_runs(m, t, k->id);
    if (!after && !wb_uuid_is_nil(k->after))
        return ws_no_thing(err, "run", k->after);
    if (k->what == WL_LIST_WAITING) {
        const struct ws_mem_owner *o = ws_mem_owner(m, t, k->owner->user);
        if (o)
            *ret = waiting_runs(m, o, after ? after->number : 0, a);
    } else if (k->what == WL_LIST_OWN_RUNS)
        *ret = NEWEST(&t->runs, after ? ws_mem_run_at(t->runs.p, t->runs.n, after->number) : t->runs.n);
    else if (k->what == WL_LIST_OWN_RUNS_UP)
        *ret = THINGS(&t->runs, after ? ws_mem_run_at(t->runs.p, t->runs.n, after->number + 1) : 0);
    else if (of && k->what == WL_LIST_RUNS)
        *ret = NEWEST(&of->runs, after ? ws_mem_run_at(of->runs.p, of->runs.n, after->number) : of->runs.n);
    else if (of)
        *ret = THINGS(&of->runs, after ? ws_mem_run_at(of->runs.p, of->runs.n, after->number + 1) : 0);
    return 0;
}

/* The first run of any tenant that ends a list of old ones. NULL: none. */
static const struct ws_mem_run *younger_run(const struct ws_memory *m, const struct wl_ask *k)
{
    const struct ws_mem_run *ret = NULL;
    const int64_t now = wb_wall_ms();
    for (size_t t = 0; t < m->by_name.n; t++) {
        const struct ws_mem_tenant *of = m->by_name.p[t];
        for (size_t i = ws_mem_run_at(of->runs.p, of->runs.n, k->number + 1); i < of->runs.n; i++) {
            const struct ws_mem_run *x = of->runs.p[i];
            if (ret && x->number > ret->number)
                break;
            if (x->v.created_ms >= k->before_ms && x->v.created_ms <= now)
                ret = x;
        }
    }
    return ret;
}

/* Up to the first run that is younger. */
static struct things old_runs(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_ask *k)
{
    if (k->number == UINT64_MAX)
        return (struct things){0};
    const struct ws_mem_run *younger = younger_run(m, k);
    size_t n = younger ? ws_mem_run_at(t->runs.p, t->runs.n, younger->number) : t->runs.n;
    return (struct things){t->runs.p, ws_mem_run_at(t->runs.p, t->runs.n, k->number + 1), n, false,
                           younger ? younger->number - 1 : 0};
}

static int things_of(const struct ws_memory *m, const struct wl_ask *k, struct wb_arena *a, struct things *ret,
                     struct upp_err *err)
{
    const struct ws_mem_tenant *t = k->owner ? ws_mem_tenant(m, k->owner->tenant) : NULL;
    const struct ws_mem_family *f;
    const struct ws_mem_runs *of;
    size_t from;
    *ret = (struct things){0};
    if (k->what == WL_LIST_TENANTS) {
        from = ws_mem_name_at(m, k->name);
        *ret = THINGS(&m->by_name, from + (from < m->by_name.n && wb_str_eq(m->by_name.p[from]->v, k->name)));
    } else if (k->what == WL_LIST_LIVE) {
        from = ws_mem_live_at(m, k->id, UPP_STR(""));
        while (from < m->live.n && wb_uuid_eq(m->live.p[from]->v.id, k->id))
            from++;
        *ret = THINGS(&m->live, from);
    } else if (k->what == WL_LIST_THREADS)
        return own_threads(m, t, k, ret, err);
    else if (!t)
        return 0;
    else if (k->what == WL_LIST_FAMILY_NODES || k->what == WL_LIST_FAMILY_THREADS) {
        f = ws_mem_family(m, t, (uint32_t)k->number);
        if (f)
            *ret = k->what == WL_LIST_FAMILY_NODES ? family_nodes(f, k->id) : family_threads(f, k->id);
    } else if (k->what == WL_LIST_RUNS_LIVE) {
        of = ws_mem_runs(m, t, k->id);
        if (of)
            *ret = THINGS(&of->runs, 0);
    } else if (k->what == WL_LIST_RUNS || k->what == WL_LIST_RUNS_UP || k->what == WL_LIST_OWN_RUNS ||
               k->what == WL_LIST_OWN_RUNS_UP || k->what == WL_LIST_WAITING)
        return runs_of(m, t, k, a, ret, err);
    else if (k->what == WL_LIST_OLD_RUNS)
        *ret = old_runs(m, t, k);
    else if (k->what == WL_LIST_VALUES)
        *ret = THINGS(&t->values, ws_mem_value_at(t, k->space, k->name));
    else
        *ret = loose_blobs(m, t, k->number > 0, k->before_ms, a);
    return 0;
}

/* 1: include it; 0: skip it; -1: stop, nothing after it matches either. */
static int wanted(const struct wl_ask *k, const void *x, size_t n, size_t *bytes)
{
    const struct ws_mem_run *run = x;
    const struct ws_mem_value *value = x;
    switch ((int)k->what) {
    case WL_LIST_RUNS_LIVE:
        return !wm_status_ended(run->v.status);
    case WL_LIST_OWN_RUNS:
    case WL_LIST_OWN_RUNS_UP:
        return !run->v.depth && wb_str_eq(run->owner->v, k->owner->user);
    case WL_LIST_VALUES:
        if (!wb_str_eq(value->v.space, k->space))
            return -1;
        if (wb_str_eq(value->v.name, k->name))
            return 0;
        *bytes += value->v.bytes.n;
        return n && *bytes > WS_VALUES_BYTES ? -1 : 1;
    default:
        return 1;
    }
}

static void copy_list(const struct wl_ask *k, const struct things *t, struct wb_arena *a, struct wl_list *l)
{
    const size_t size = ws_kind_of(k->what)->size;
    size_t all = t->n - WB_MIN(t->from, t->n), max = WB_MIN(WB_MIN(k->max, (size_t)WS_LIST_MAX), all), bytes = 0;
    int is = 1;
    *l = (struct wl_list){.p = wb_arena_alloc(a, max * size, _Alignof(max_align_t)), .reach.upto = t->upto};
    for (size_t i = 0; i < all && l->n < max && is >= 0 && wb_arena_check(a, NULL) >= 0; i++) {
        const struct ws_mem_run *x =
            ((const struct ws_mem_run *const *)t->p)[t->backwards ? t->n - 1 - i : t->from + i];
        is = wanted(k, x, l->n, &bytes);
        if (is <= 0)
            continue;
        void *to = (char *)l->p + l->n * size;
        copy_out(k->what, x, a, to);
        if (k->what == WL_LIST_LIVE)
            ((struct wl_live_run *)to)->owner =
                (struct wl_owner){wb_arena_dup(a, x->tenant->v), wb_arena_dup(a, x->owner->v)};
        if (k->what == WL_LIST_OLD_RUNS)
            ((struct wl_old_run *)to)->number = x->number;
        l->n++;
    }
}

int ws_mem_list(struct wl_store *s, const struct wl_ask *k, struct wb_arena *a, struct wl_list *ret,
                struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    struct things t;
    struct wl_list l = {0};
    ws_mem_lock(m);
    int r = things_of(m, k, a, &t, err);
    if (r >= 0)
        copy_list(k, &t, a, &l);
    ws_mem_unlock(m);
    if (r >= 0)
        r = wb_arena_check(a, err);
    if (r >= 0)
        *ret = l;
    return r;
}
