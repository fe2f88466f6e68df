/* stores/memory/store.h — internals of the memory store, shared by its files.
 *
 * Objects are found in hash tables by (tenant, key). There are also sorted arrays, searched by bisection: the rows of a
 * node by position, the threads of an owner by (update, id), the runs of a thread in order of arrival, the live runs by
 * id. One lock protects everything.
 *
 *   memory.c  opening, closing, commits
 *   read.c    reading
 *   lists.c   the hash tables and the sorted arrays
 *   commit.c  a commit: what is added and set
 *   drop.c    changes in place, and deletions
 *   blob.c    values, blobs and references to them
 */
#pragma once

#include <pthread.h>

#include "base/vec.h"
#include "stores/check.h"
#include "stores/columns.h"
#include "stores/table.h"

/* First member of every stored object. The public struct (`v`) follows it directly, and the texts follow the whole
 * struct. */
struct ws_mem_head {
    struct ws_entry entry;
    size_t size; /* of the whole allocation */
};

/* Tenants are compared by address. */
struct ws_mem_tenant {
    struct ws_mem_head head;
    struct upp_str v;
    WB_VEC(struct ws_mem_run *) runs;      /* in order of arrival */
    WB_VEC(struct ws_mem_alias *) aliases; /* by object */
    WB_VEC(struct ws_mem_value *) values;  /* by (space, name) */
    WB_VEC(struct ws_mem_ref *) refs;      /* by (node, position, id, blob) */
};

/* Nodes and threads whose ids share their first 32 bits, and strays. Never freed before the store is closed. */
struct ws_mem_family {
    struct ws_mem_head head;
    uint32_t v;
    struct ws_mem_tenant *tenant;
    WB_VEC(struct ws_mem_node *) nodes;     /* by key */
    WB_VEC(struct ws_mem_thread *) threads; /* by id */
};

struct ws_mem_thread {
    struct ws_mem_head head;
    struct wl_thread v;
    struct ws_mem_owner *owner;
    struct ws_mem_tenant *tenant;
};

struct ws_mem_owner {
    struct ws_mem_head head;
    struct upp_str v; /* the user */
    struct ws_mem_tenant *tenant;
    WB_VEC(struct ws_mem_thread *) threads; /* oldest first, by (update, id) */
};

struct ws_mem_row {
    struct ws_mem_head head;
    struct wl_row v;
    uint64_t number; /* increases in order of arrival */
};

struct ws_mem_texts { /* of a branch */
    struct ws_mem_head head;
    struct wl_node v;
};

struct ws_mem_node {
    struct ws_mem_head head;
    struct wl_node v; /* without texts */
    struct ws_mem_tenant *tenant;
    struct ws_mem_texts *texts; /* NULL: it has none */
    WB_VEC(struct ws_mem_row *) rows;
};

struct ws_mem_run {
    struct ws_mem_head head;
    struct wm_run v;
    struct ws_mem_tenant *tenant;
    struct ws_mem_owner *owner; /* of the commit that added it */
    struct ws_mem_runs *of;
    uint64_t number; /* increases in order of arrival */
};

struct ws_mem_runs { /* of one thread */
    struct ws_mem_head head;
    struct wb_uuid v;
    struct ws_mem_tenant *tenant;
    WB_VEC(struct ws_mem_run *) runs;
};

struct ws_mem_alias {
    struct ws_mem_head head;
    struct wl_alias v;
    struct ws_mem_owner *owner;
    struct ws_mem_alias *next; /* the next one dropped by the same change */
};

struct ws_mem_key {
    struct ws_mem_head head;
    struct wl_key v;
    struct ws_mem_tenant *tenant;
};

struct ws_mem_value {
    struct ws_mem_head head;
    struct wl_value v;
};

struct ws_mem_piece {
    struct ws_mem_head head;
    struct wl_piece v;
};

struct ws_mem_blob {
    struct ws_mem_head head;
    struct wl_blob_key v;
    struct ws_mem_tenant *tenant;
    bool whole;
    uint64_t refs;
    int64_t loose; /* unreferenced since; only if refs is 0 */
    WB_VEC(struct ws_mem_piece *) pieces;
};

struct ws_mem_ref {
    struct ws_mem_head head;
    struct ws_mem_blob *blob;
    struct ws_mem_ref *next; /* the next one dropped by the same change */
    uint64_t node, pos;
    struct wb_uuid id;
};

/* The position at which a row was added: it now holds that row, another one, or none. */
struct ws_mem_position {
    uint64_t number, node, pos;
    struct ws_mem_tenant *tenant;
};

enum ws_mem_table {
    WS_MEM_TENANTS,
    WS_MEM_OWNERS,
    WS_MEM_NODES,
    WS_MEM_THREADS,
    WS_MEM_RUNS,
    WS_MEM_RUNS_OF,
    WS_MEM_ALIASES,
    WS_MEM_KEYS,
    WS_MEM_FAMILIES,
    WS_MEM_BLOBS,
    WS_MEM_TABLES,
};

struct ws_memory {
    struct wl_store store;
    pthread_mutex_t lock;
    uint64_t seed;
    size_t used, max;
    size_t limit;  /* of the commit that is being applied */
    size_t wanted; /* bytes for which the last refused commit had no room; 0: the store is not full */
    uint64_t last_number;
    struct ws_table tables[WS_MEM_TABLES];
    WB_VEC(struct ws_mem_run *) live; /* of all tenants, by (id, tenant's name) */
    WB_VEC(struct ws_mem_tenant *) by_name;
    WB_VEC(struct ws_mem_position) log; /* of all rows, in order of arrival */
    uint64_t last_row;
    size_t gone;  /* approximate number of its positions whose row was dropped */
    size_t swept; /* slot of the keys table where the search for expired ones continues */
};

void ws_mem_lock(struct ws_memory *m);
void ws_mem_unlock(struct ws_memory *m);
static inline struct ws_memory *ws_mem(struct wl_store *s)
{
    return WB_OUTER(s, struct ws_memory, store);
}

/* ---- lists.c: tables. NULL: there is none (or no such tenant) ---- */

void *ws_mem_find(const struct ws_memory *m, enum ws_mem_table t, const void *of, struct upp_str key,
                  struct upp_str more);
#define WS_MEM_BYTES(x) wb_str((const char *)&(x), sizeof(x))
#define WS_MEM_NO_MORE  ((struct upp_str){NULL, 0})

static inline struct ws_mem_tenant *ws_mem_tenant(const struct ws_memory *m, struct upp_str name)
{
    return ws_mem_find(m, WS_MEM_TENANTS, m, name, WS_MEM_NO_MORE);
}
static inline struct ws_mem_owner *ws_mem_owner(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                                struct upp_str user)
{
    return ws_mem_find(m, WS_MEM_OWNERS, t, user, WS_MEM_NO_MORE);
}
static inline struct ws_mem_node *ws_mem_node(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key)
{
    return ws_mem_find(m, WS_MEM_NODES, t, WS_MEM_BYTES(key), WS_MEM_NO_MORE);
}
static inline struct ws_mem_thread *ws_mem_thread(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                                  struct wb_uuid id)
{
    return ws_mem_find(m, WS_MEM_THREADS, t, WS_MEM_BYTES(id), WS_MEM_NO_MORE);
}
static inline struct ws_mem_run *ws_mem_run(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id)
{
    return ws_mem_find(m, WS_MEM_RUNS, t, WS_MEM_BYTES(id), WS_MEM_NO_MORE);
}
static inline struct ws_mem_runs *ws_mem_runs(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                              struct wb_uuid thread)
{
    return ws_mem_find(m, WS_MEM_RUNS_OF, t, WS_MEM_BYTES(thread), WS_MEM_NO_MORE);
}
static inline struct ws_mem_alias *ws_mem_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind,
                                                struct upp_str text)
{
    return ws_mem_find(m, WS_MEM_ALIASES, o, WS_MEM_BYTES(kind), text);
}
static inline struct ws_mem_key *ws_mem_key(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                            struct upp_str route, struct upp_str key)
{
    return ws_mem_find(m, WS_MEM_KEYS, t, route, key);
}
static inline struct ws_mem_family *ws_mem_family(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                                  uint32_t family)
{
    return ws_mem_find(m, WS_MEM_FAMILIES, t, WS_MEM_BYTES(family), WS_MEM_NO_MORE);
}
static inline struct ws_mem_blob *ws_mem_blob(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                              const struct wl_blob_key *key)
{
    return ws_mem_find(m, WS_MEM_BLOBS, t, WS_MEM_BYTES(*key), WS_MEM_NO_MORE);
}

/* Adds to its table, which must have room; removes; replaces an object with the same key. */
void ws_mem_enter(struct ws_memory *m, enum ws_mem_table t, void *x);
void ws_mem_leave(struct ws_memory *m, enum ws_mem_table t, const void *x);
void ws_mem_replace(struct ws_memory *m, enum ws_mem_table t, const void *old, void *x);
static inline bool ws_mem_room(struct ws_memory *m, enum ws_mem_table t)
{
    return ws_table_room(&m->tables[t]);
}

/* ---- lists.c: arrays ---- */

/* The first one in order that is not before the given key. */
size_t ws_mem_row_at(const struct ws_mem_node *n, uint64_t pos);
size_t ws_mem_thread_at(const struct ws_mem_owner *o, int64_t updated_ms, struct wb_uuid id);
size_t ws_mem_live_at(const struct ws_memory *m, struct wb_uuid id, struct upp_str tenant);
size_t ws_mem_run_at(struct ws_mem_run *const *p, size_t n, uint64_t number);
size_t ws_mem_family_node_at(const struct ws_mem_family *f, uint64_t key);
size_t ws_mem_family_thread_at(const struct ws_mem_family *f, struct wb_uuid id);
size_t ws_mem_value_at(const struct ws_mem_tenant *t, struct upp_str space, struct upp_str name);
size_t ws_mem_name_at(const struct ws_memory *m, struct upp_str name);
size_t ws_mem_position_after(const struct ws_memory *m, uint64_t number); /* of rows */
size_t ws_mem_ref_at(const struct ws_mem_tenant *t, const struct ws_mem_ref *x);
int ws_mem_ref_cmp(const struct ws_mem_ref *a, const struct ws_mem_ref *b); /* blob NULL: matches any blob */

/* Inserts into an array, which must have room; removes. */
enum { WS_MEM_MANY = INT32_MAX /* per array; the limit on bytes is reached first */ };
void ws_mem_insert(void *array, size_t *n, size_t at, void *x);
void ws_mem_remove(void *array, size_t *n, size_t at);
#define WS_MEM_INSERT(v, at, x) ws_mem_insert((v)->p, &(v)->n, (at), (x))
#define WS_MEM_REMOVE(v, at)    ws_mem_remove((v)->p, &(v)->n, (at))

void ws_mem_list_node(struct ws_memory *m, struct ws_mem_node *n);
void ws_mem_unlist_node(struct ws_memory *m, struct ws_mem_node *n);
void ws_mem_list_thread(struct ws_memory *m, struct ws_mem_thread *t);
void ws_mem_unlist_thread(struct ws_memory *m, struct ws_mem_thread *t);
void ws_mem_link_alias(struct ws_memory *m, struct ws_mem_alias *x);
void ws_mem_unlink_alias(struct ws_memory *m, struct ws_mem_alias *x);
struct ws_mem_alias *ws_mem_alias_of(const struct ws_mem_tenant *t, struct wb_uuid object); /* any; NULL: none */

/* ---- Changes: commit.c, drop.c, blob.c; under the lock ---- */

/* An applied change: `now` replaced `before` (NULL: there was none). */
struct ws_mem_done {
    enum wl_change_kind kind;
    void *now, *before;
    struct wb_uuid holder;
    struct ws_mem_alias *aliases; /* dropped by it */
    struct ws_mem_ref *refs;      /* dropped by it */
    struct ws_mem_blob *blob;     /* whose `loose` or name it changed; the old values: */
    struct wl_blob_key key;
    int64_t loose;
    int64_t updated; /* of a thread, the old value */
};

struct ws_mem_applying {
    struct ws_memory *m;
    struct ws_mem_tenant *tenant;
    struct ws_mem_owner *owner;
    struct ws_mem_done *done;
    size_t n;
    int64_t now_ms;
};

/* All changes of a commit, or none. */
int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

/* Applies a change; undoes it; frees what it replaced or dropped. */
typedef int ws_mem_do(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d, struct upp_err *err);
typedef void ws_mem_end(struct ws_mem_applying *a, struct ws_mem_done *d);

ws_mem_do ws_mem_set_node, ws_mem_set_row, ws_mem_drop_thread, ws_mem_drop_node, ws_mem_drop_run, ws_mem_drop_alias;
ws_mem_end ws_mem_unset_node, ws_mem_unset_row, ws_mem_undrop_thread, ws_mem_undrop_node, ws_mem_undrop_run;
ws_mem_end ws_mem_free_dropped_node;
ws_mem_do ws_mem_put_value, ws_mem_drop_value, ws_mem_add_piece, ws_mem_name_blob, ws_mem_add_ref, ws_mem_drop_ref;
ws_mem_do ws_mem_drop_blob;
ws_mem_end ws_mem_undo_value, ws_mem_undo_piece, ws_mem_undo_name, ws_mem_undo_ref, ws_mem_undrop_blob;
ws_mem_end ws_mem_free_dropped_blob;

int ws_mem_no_memory(struct upp_err *err);
/* Zeroed; counts against the limit. */
int ws_mem_alloc(struct ws_memory *m, size_t size, void *ret, struct upp_err *err) UPP_MUST_CHECK;
void ws_mem_free(struct ws_memory *m, void *x); /* accepts NULL */
/* A struct of this size with a copy of the object and its texts. */
int ws_mem_copy(struct ws_memory *m, const struct ws_kind *k, const void *thing, size_t size, void *ret,
                struct upp_err *err) UPP_MUST_CHECK;

int ws_mem_texts(struct ws_mem_applying *a, const struct wl_node *n, struct upp_str origin, struct ws_mem_texts **ret,
                 struct upp_err *err) UPP_MUST_CHECK;
void ws_mem_free_node(struct ws_memory *m, struct ws_mem_node *n);
/* Unlinks the references of rows from..to of a node, as a chain; links them again. */
struct ws_mem_ref *ws_mem_refs_take(struct ws_mem_applying *a, uint64_t node, uint64_t from, uint64_t to);
void ws_mem_refs_back(struct ws_mem_applying *a, struct ws_mem_ref *chain);

/* ---- read.c: functions of the store ---- */

int ws_mem_rows(struct wl_store *s, const struct wl_owner *o, const struct wl_range *range, struct wb_arena *a,
                struct wl_rows *ret, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_get(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, void *ret,
               struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_list(struct wl_store *s, const struct wl_ask *ask, struct wb_arena *a, struct wl_list *ret,
                struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                  struct wl_followed **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
