/* stores/memory/memory.c — the memory store: commits, opening and closing. */
#include "stores/memory/memory.h"

#include <stdlib.h>

#include "base/hooks.h"
#include "base/random.h"
#include "stores/driver.h"
#include "stores/memory/store.h"

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

static int mem_commit(struct wl_store *s, struct wl_commit *c, struct upp_err *err)
{
    struct ws_memory *m = ws_mem(s);
    int r = ws_check_commit(c, err);
    if (r < 0)
        return r;
    ws_mem_lock(m);
    r = ws_mem_apply(m, c, err);
    if (r >= 0) {
        ws_count_commit(&m->store, c, ws_commit_bytes(c));
        (void)__atomic_fetch_add(&m->store.count.transactions, 1, __ATOMIC_RELAXED);
    }
    ws_mem_unlock(m);
    return r;
}

static void free_all(struct ws_memory *m, void *array, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ws_mem_free(m, ((void **)array)[i]);
}

/* Frees what is in no table, and the arrays. */
static void free_parts(struct ws_memory *m, enum ws_mem_table table, void *x)
{
    struct ws_mem_node *node = x;
    struct ws_mem_tenant *tenant = x;
    struct ws_mem_family *family = x;
    struct ws_mem_blob *blob = x;
    switch ((int)table) {
    case WS_MEM_NODES:
        free_all(m, node->rows.p, node->rows.n);
        wb_vec_done(&node->rows);
        ws_mem_free(m, node->texts);
        break;
    case WS_MEM_OWNERS:
        wb_vec_done(&((struct ws_mem_owner *)x)->threads);
        break;
    case WS_MEM_RUNS_OF:
        wb_vec_done(&((struct ws_mem_runs *)x)->runs);
        break;
    case WS_MEM_FAMILIES:
        wb_vec_done(&family->nodes);
        wb_vec_done(&family->threads);
        break;
    case WS_MEM_BLOBS:
        free_all(m, blob->pieces.p, blob->pieces.n);
        wb_vec_done(&blob->pieces);
        break;
    case WS_MEM_TENANTS:
        free_all(m, tenant->values.p, tenant->values.n);
        free_all(m, tenant->refs.p, tenant->refs.n);
        wb_vec_done(&tenant->runs);
        wb_vec_done(&tenant->aliases);
        wb_vec_done(&tenant->values);
        wb_vec_done(&tenant->refs);
        break;
    default:
        break;
    }
}

static void mem_close(struct wl_store *s)
{
    if (!s)
        return;
    struct ws_memory *m = ws_mem(s);
    for (size_t t = 0; t < WS_MEM_TABLES; t++) {
        struct ws_table *table = &m->tables[t];
        for (size_t i = 0; i < table->cap; i++)
            if (table->slot[i]) {
                free_parts(m, t, table->slot[i]);
                ws_mem_free(m, table->slot[i]);
            }
        ws_table_done(table);
    }
    wb_vec_done(&m->live);
    wb_vec_done(&m->by_name);
    wb_vec_done(&m->log);
    (void)pthread_mutex_destroy(&m->lock);
    wb_free(m);
}

int ws_memory_open(struct wl_store **ret, struct upp_err *err)
{
    static const struct wl_store_ops ops = {
        .size = sizeof ops,
        .name = "memory",
        .commit = mem_commit,
        .rows = ws_mem_rows,
        .get = ws_mem_get,
        .list = ws_mem_list,
        .follow = ws_mem_follow,
        .search = ws_no_search,
        .close = mem_close,
    };
    uint64_t seed;
    int r = wb_random(&seed, sizeof seed, err);
    if (r < 0)
        return r;
    struct ws_memory *m = wb_calloc(1, sizeof *m);
    if (!m)
        return upp_fail(err, UPP_ENOMEM, "no memory for a store");
    if (pthread_mutex_init(&m->lock, NULL))
        abort(); /* it does not allocate on the systems we know */
    m->store.ops = &ops;
    m->seed = seed;
    m->max = (size_t)FIRST_LIMIT_GB << 30;
    *ret = &m->store;
    return 0;
}

void ws_memory_limit(struct wl_store *s, size_t max_bytes)
{
    ws_mem(s)->max = max_bytes;
}

static int open_memory(const struct ws_open_opts *o, struct wl_store **ret, struct upp_err *err)
{
    int r = ws_memory_open(ret, err);
    if (r >= 0)
        (*ret)->index = o->index;
    return r;
}

const struct ws_driver ws_memory_driver = {.scheme = "memory:", .open = open_memory};
