/* stores/memory/store.h — the memory store as its files see it.
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
    WB_VEC(struct ws_mem_run *) runs;      /* as they came */
    WB_VEC(struct ws_mem_alias *) aliases; /* by object */
    WB_VEC(struct ws_mem_value *) values;  /* by (space, name) */
    WB_VEC(struct ws_mem_ref *) refs;      /* by (node, position, id, blob) */
    char bytes[];
};

/* What shares the first 32 bits of its id, and strays. Once made it stays. */
struct ws_mem_family {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    uint32_t              family;
    WB_VEC(struct ws_mem_node *) nodes;     /* by key */
    WB_VEC(struct ws_mem_thread *) threads; /* by id */
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
    uint64_t      number; /* counts up as they come */
    struct wl_row v;
    char          bytes[];
};

struct ws_mem_texts { /* of a branch */
    size_t         size;
    struct upp_str name, metadata, origin;
    char           bytes[];
};

struct ws_mem_node {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct wl_node        v;     /* without texts */
    struct ws_mem_texts  *texts; /* NULL: it has none */
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
    struct ws_mem_alias *next; /* that was dropped by the same change */
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

struct ws_mem_value {
    size_t          size;
    struct wl_value v;
    char            bytes[];
};

struct ws_mem_piece {
    size_t n;
    char   bytes[];
};

struct ws_mem_blob {
    struct ws_entry       entry;
    struct ws_mem_tenant *tenant;
    struct wl_blob_key    key;
    bool                  whole;
    uint64_t              refs;
    int64_t               loose; /* since when; where nothing refers to it */
    WB_VEC(struct ws_mem_piece *) pieces;
};

struct ws_mem_ref {
    struct ws_mem_blob *blob;
    struct ws_mem_ref  *next; /* that was dropped by the same change */
    uint64_t            node, pos;
    struct wb_uuid      id;
};

/* Where the row with a number stood when it came: it is there still, or is another one, or none. */
struct ws_mem_place {
    uint64_t              number, node, pos;
    struct ws_mem_tenant *tenant;
};

struct ws_memory {
    struct wl_store store;
    pthread_mutex_t lock;
    uint64_t        seed;
    size_t          used, max;
    uint64_t        last_number;
    struct ws_table tenants, owners, nodes, threads, runs, runs_of, aliases, keys, families, blobs;
    WB_VEC(struct ws_mem_run *) live; /* of all tenants, by (id, tenant's name) */
    WB_VEC(struct ws_mem_tenant *) by_name;
    WB_VEC(struct ws_mem_place) log; /* of all rows, as they came */
    uint64_t last_row;
    size_t   gone;  /* places in it whose row was dropped, about */
    size_t   swept; /* slot of `keys` where the search for expired ones goes on */
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

struct ws_mem_family *ws_mem_family(const struct ws_memory *m, const struct ws_mem_tenant *t, uint32_t family);
struct ws_mem_blob   *ws_mem_blob(const struct ws_memory *m, const struct ws_mem_tenant *t,
                                  const struct wl_blob_key *key);

/* Hashes of those keys, for what is added. */
uint64_t ws_mem_hash_owner(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str user);
uint64_t ws_mem_hash_u64(const struct ws_memory *m, const struct ws_mem_tenant *t, uint64_t key);
uint64_t ws_mem_hash_uuid(const struct ws_memory *m, const struct ws_mem_tenant *t, struct wb_uuid id);
uint64_t ws_mem_hash_alias(const struct ws_memory *m, const struct ws_mem_owner *o, uint8_t kind, struct upp_str text);
uint64_t ws_mem_hash_key(const struct ws_memory *m, const struct ws_mem_tenant *t, struct upp_str route,
                         struct upp_str key);
uint64_t ws_mem_hash_blob(const struct ws_memory *m, const struct ws_mem_tenant *t, const struct wl_blob_key *key);
uint64_t ws_mem_hash_name(const struct ws_memory *m, struct upp_str name);

/* The first in order that is not before; arrays as above. */
size_t ws_mem_row_at(const struct ws_mem_node *n, uint64_t pos);
size_t ws_mem_thread_at(const struct ws_mem_owner *o, int64_t updated_ms, struct wb_uuid id);
size_t ws_mem_live_at(const struct ws_memory *m, struct wb_uuid id, struct upp_str tenant);

size_t ws_mem_run_at(struct ws_mem_run *const *p, size_t n, uint64_t number);
size_t ws_mem_family_node_at(const struct ws_mem_family *f, uint64_t key);
size_t ws_mem_family_thread_at(const struct ws_mem_family *f, struct wb_uuid id);
size_t ws_mem_value_at(const struct ws_mem_tenant *t, struct upp_str space, struct upp_str name);
size_t ws_mem_name_at(const struct ws_memory *m, struct upp_str name);

/* ---- Changes: change.c, drop.c, blob.c; under the lock ---- */

/* What happened: `now` stands where `before` stood (NULL: nothing did). */
struct ws_mem_done {
    enum wl_change_kind  kind;
    void                *now, *before;
    struct wb_uuid       holder;
    struct ws_mem_alias *aliases; /* that went with it */
    struct ws_mem_ref   *refs;    /* that went with it */
    struct ws_mem_blob  *blob;    /* whose `loose` or name has changed, from these: */
    struct wl_blob_key   key;
    int64_t              loose;
    int64_t              updated; /* of a thread, before */
};

struct ws_mem_applying {
    struct ws_memory     *m;
    struct ws_mem_tenant *tenant;
    struct ws_mem_owner  *owner;
    struct ws_mem_done   *done;
    size_t                n;
    int64_t               now_ms;
};

/* All changes of a commit, or none. */
int ws_mem_apply(struct ws_memory *m, struct wl_commit *c, struct upp_err *err) UPP_MUST_CHECK;

enum { WS_MEM_MANY = INT32_MAX /* in one array; the limit on bytes comes first */ };
int ws_mem_no_memory(struct upp_err *err);
int ws_mem_take(struct ws_memory *m, size_t size, void *ret, struct upp_err *err) UPP_MUST_CHECK; /* counted, cleared */
void ws_mem_give(struct ws_memory *m, void *p, size_t size);
/* Copies the text to `at` and lets it point there; behind it. No text stays no text. */
char *ws_mem_keep(char *at, struct upp_str *s);

/* Into an array that has room, and out of it. */
void ws_mem_insert(void *array, size_t *n, size_t at, void *x);
void ws_mem_remove(void *array, size_t *n, size_t at);
#define WS_MEM_INSERT(v, at, x) ws_mem_insert((v)->p, &(v)->n, (at), (x))
#define WS_MEM_REMOVE(v, at)    ws_mem_remove((v)->p, &(v)->n, (at))

/* The families of a thing: that of its own id, and that of its tree where it is another. */
struct ws_mem_kin {
    struct ws_mem_family *f[2];
    size_t                n;
};
int                  ws_mem_kin(struct ws_mem_applying *a, uint32_t own, struct wb_uuid tree, struct ws_mem_kin *ret,
                                struct upp_err *err) UPP_MUST_CHECK; /* with room for one more in each */
void                 ws_mem_list_node(struct ws_memory *m, struct ws_mem_node *n);
void                 ws_mem_unlist_node(struct ws_memory *m, struct ws_mem_node *n);
void                 ws_mem_list_thread(struct ws_memory *m, struct ws_mem_thread *t);
void                 ws_mem_unlist_thread(struct ws_memory *m, struct ws_mem_thread *t);
void                 ws_mem_link_alias(struct ws_memory *m, struct ws_mem_alias *x);
void                 ws_mem_unlink_alias(struct ws_memory *m, struct ws_mem_alias *x);
struct ws_mem_alias *ws_mem_alias_of(const struct ws_mem_tenant *t, struct wb_uuid object); /* any; NULL: none */

int  ws_mem_texts(struct ws_mem_applying *a, const struct wl_node *n, struct upp_str origin, struct ws_mem_texts **ret,
                  struct upp_err *err) UPP_MUST_CHECK;
void ws_mem_free_node(struct ws_memory *m, struct ws_mem_node *n);

int  ws_mem_drop(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d,
                 struct upp_err *err) UPP_MUST_CHECK;
void ws_mem_undrop(struct ws_mem_applying *a, struct ws_mem_done *d);
void ws_mem_settle_drop(struct ws_mem_applying *a, struct ws_mem_done *d);

int  ws_mem_blob_change(struct ws_mem_applying *a, const struct wl_change *c, struct ws_mem_done *d,
                        struct upp_err *err) UPP_MUST_CHECK;
void ws_mem_blob_undo(struct ws_mem_applying *a, struct ws_mem_done *d);
void ws_mem_blob_settle(struct ws_mem_applying *a, struct ws_mem_done *d);
void ws_mem_free_blob(struct ws_memory *m, struct ws_mem_blob *b);
/* Takes the references of rows from..to of a node away, as a chain; and puts them back. */
struct ws_mem_ref *ws_mem_refs_take(struct ws_mem_applying *a, uint64_t node, uint64_t from, uint64_t to);
void               ws_mem_refs_back(struct ws_mem_applying *a, struct ws_mem_ref *chain);
void               ws_mem_refs_free(struct ws_memory *m, struct ws_mem_ref *chain);

/* ---- Reading: look.c ---- */

void ws_mem_give_thread(struct wb_arena *a, const struct ws_mem_thread *t, struct wl_thread *ret);
void ws_mem_give_run(struct wb_arena *a, const struct ws_mem_run *run, struct wm_run *ret);
void ws_mem_lock(struct ws_memory *m);
void ws_mem_unlock(struct ws_memory *m);
static inline struct ws_memory *ws_mem(struct wl_store *s)
{
    return WB_OUTER(s, struct ws_memory, store);
}

int ws_mem_family_nodes(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid after, size_t max,
                        struct wb_arena *a, struct wl_node **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_family_threads(struct wl_store *s, const struct wl_owner *o, uint32_t family, struct wb_uuid after,
                          size_t max, struct wb_arena *a, struct wl_thread **ret, size_t *n,
                          struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_value(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str name,
                 struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_values(struct wl_store *s, const struct wl_owner *o, struct upp_str space, struct upp_str after, size_t max,
                  struct wb_arena *a, struct wl_value **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_tenants(struct wl_store *s, struct upp_str after, size_t max, struct wb_arena *a, struct upp_str **ret,
                   size_t *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_piece(struct wl_store *s, const struct wl_owner *o, const struct wl_blob_key *key, uint32_t number,
                 struct wb_arena *a, struct wl_piece *ret, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_loose_blobs(struct wl_store *s, const struct wl_owner *o, int64_t before_ms, size_t max, struct wb_arena *a,
                       struct wl_blob_key **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
/* follow.c */
int ws_mem_follow(struct wl_store *s, uint64_t after, size_t max_rows, size_t max_bytes, struct wb_arena *a,
                  struct wl_followed **ret, size_t *n, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_learned(struct wl_store *s, uint64_t *upto, uint64_t *end, struct upp_err *err) UPP_MUST_CHECK;
int ws_mem_old_runs(struct wl_store *s, const struct wl_owner *o, uint64_t after, int64_t before_ms, size_t max,
                    struct wb_arena *a, struct wm_run **ret, uint64_t **numbers, size_t *n,
                    struct upp_err *err) UPP_MUST_CHECK;

#endif
