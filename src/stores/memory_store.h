/* stores/memory_store.h — the memory store as its files see it.
 *
 * Things are found in hash tables by (tenant, key). Beside them stand arrays that are in order, searched by halves:
 * the rows of a node by position, the threads of an owner by (update, id), the runs of a thread as they came, the live
 * runs by id. Everything is under one lock.
 */
#ifndef WS_MEMORY_STORE_H
#define WS_MEMORY_STORE_H

#include <pthread.h>

#include "base/vec.h"
#include "stores/check.h"
#include "stores/table.h"

/* Tenants are compared by address. */
struct ws_mem_tenant {
    struct ws_entry entry;
    struct upp_str  name;
    char            bytes[];
};

struct ws_mem_thread {
    struct ws_entry       entry;
    struct ws_mem_owner  *owner;
    struct ws_mem_tenant *tenant;
    size_t                size;
    struct wl_thread      v;
    char                  bytes[];
};

struct ws_mem_owner {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct upp_str        user;
    WB_VEC(struct ws_mem_thread *) threads; /* oldest first, by (update, id) */
    char bytes[];
};

struct ws_mem_row {
    size_t        size;
    struct wl_row v;
    char          bytes[];
};

struct ws_mem_node {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct wl_node        v;
    WB_VEC(struct ws_mem_row *) rows;
};

struct ws_mem_run {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct ws_mem_owner  *owner; /* of the commit that added it */
    struct ws_mem_runs   *of;
    uint64_t              number; /* counts up as they come */
    size_t                size;
    struct wm_run         v;
    char                  bytes[];
};

struct ws_mem_runs { /* of one thread */
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct wb_uuid        thread;
    WB_VEC(struct ws_mem_run *) runs;
};

struct ws_mem_alias {
    struct ws_entry      entry;
    struct ws_mem_owner *owner;
    size_t               size;
    struct wl_alias      v;
    char                 bytes[];
};

struct ws_mem_key {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    size_t                size;
    struct wl_key         v;
    char                  bytes[];
};

struct ws_memory {
    struct wl_store store;
    pthread_mutex_t lock;
    uint64_t        seed;
    size_t          used, max;
    uint64_t        last_number;
    struct ws_table tenants, owners, nodes, threads, runs, runs_of, aliases, keys;
    WB_VEC(struct ws_mem_run *) live; /* of all tenants, by (id, tenant's name) */
    size_t swept;                     /* slot of `keys` where the search for expired ones goes on */
};

/* ---- Finding; NULL: there is none (or no such tenant) ---- */

struct ws_mem_tenant *ws_mem_tenant(const struct ws_memory *m, struct upp_str name);
struct ws_mem_owner  *ws_mem_owner(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str user);
struct ws_mem_node   *ws_mem_node(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key);
struct ws_mem_thread *ws_mem_thread(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id);
struct ws_mem_run    *ws_mem_run(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id);
struct ws_mem_runs   *ws_mem_runs(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid thread);
struct ws_mem_alias  *ws_mem_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind,
                                   struct upp_str text);
struct ws_mem_key    *ws_mem_key(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str route,
                                 struct upp_str key);

/* Hashes of those keys, for what is added. */
uint64_t ws_mem_hash_owner(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str user);
uint64_t ws_mem_hash_u64(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key);
uint64_t ws_mem_hash_uuid(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id);
uint64_t ws_mem_hash_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind, struct upp_str text);
uint64_t ws_mem_hash_key(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str route,
                         struct upp_str key);
uint64_t ws_mem_hash_name(const struct ws_memory *m, struct upp_str name);

/* The first in order that is not before; arrays as above. */
size_t ws_mem_row_at(const struct ws_mem_node *n, uint64_t pos);
size_t ws_mem_thread_at(const struct ws_mem_owner *o, int64_t updated_ms, struct wb_uuid id);
size_t ws_mem_live_at(const struct ws_memory *m, struct wb_uuid id, struct upp_str tenant);

/* All changes of a commit, or none; under the lock. */
int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

#endif
