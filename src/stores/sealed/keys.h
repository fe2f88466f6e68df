/* stores/sealed/keys.h — the master key and the tenants' keys of a sealed store.
 *
 * They are values of an internal tenant of the inner store, in two spaces.
 *
 *   masters  name: the id of a master key (a keyed hash); sealed with that master key. Usually there is one. During a
 *            rotation there are two, and each holds the other's key: so either key opens everything.
 *   tenants  name: the tenant's. A byte (alive or erased), the id of the master key, the tenant's key sealed with it.
 *
 * An alias per tenant, which can be added only once, ensures that concurrent callers create one key.
 *
 * Cached keys are in pages of their own (base/secret.h); what OpenSSL derives from them is in its own memory, and is
 * wiped when released.
 */
#pragma once

#include <pthread.h>

#include "base/secret.h"
#include "stores/check.h"
#include "stores/sealed/seal.h"
#include "stores/sealed/sealed.h"
#include "stores/table.h"

#define WS_SEALED_MASTERS "masters"
#define WS_SEALED_TENANTS "tenants"

enum { WS_KEYED_MAX = 1024 /* cached tenants */, WS_KEYED_SEALS = 8 /* cached per tenant */ };

/* What is sealed: the first byte of the associated data. */
enum ws_context_kind {
    WS_AT_MASTER = 1,
    WS_AT_TENANT,
    WS_AT_ROW,
    WS_AT_THREAD,
    WS_AT_NODE,
    WS_AT_ORIGIN,
    WS_AT_RUN,
    WS_AT_CALL,
    WS_AT_VALUE,
    WS_AT_PIECE,
};

/* Kinds of names. */
enum ws_name_kind { WS_NAME_MASTER = 1, WS_NAME_ALIAS, WS_NAME_ROUTE, WS_NAME_KEY, WS_NAME_BODY };

struct ws_master_id {
    unsigned char b[8];
};

/* A master key in use. */
struct ws_mastering {
    struct ws_master_id id;
    struct wb_secret *secret; /* struct ws_master; NULL: none */
};

struct ws_sealed {
    struct wl_store store;
    struct wl_store *inner;
    pthread_mutex_t lock; /* protects the following */
    struct ws_table keyed;
    uint64_t seed;
    uint64_t forgotten;             /* tenants forgotten so far */
    struct ws_mastering now, other; /* `now` wraps the tenants' keys; `other` is set during a rotation */
    bool leaving;                   /* `other` is the new key of the rotation */
    unsigned making;                /* tenants' keys being created right now */
    bool changing;                  /* a rotation, or a tenant is being forgotten */
    struct wb_arena free_arena;     /* empty, for the next commit */
};

static inline struct ws_sealed *ws_sealed(struct wl_store *s)
{
    return (struct ws_sealed *)s;
}

void ws_sealed_lock(struct ws_sealed *s);
void ws_sealed_unlock(struct ws_sealed *s);

/* A tenant's seal: release it before the fiber suspends again. *ret is NULL if the tenant has no key and `make` is
 * false. -UPP_EREFUSED: the key was erased. */
WEFT_SUSPENDS int ws_keys_take(struct ws_sealed *s, struct upp_str tenant, bool make, struct ws_seal **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
void ws_keys_release(struct ws_sealed *s, struct ws_seal *seal); /* accepts NULL */

/* 1: the tenant's key was erased; 0: not. */
WEFT_SUSPENDS int ws_keys_erased(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err) UPP_MUST_CHECK;

/* The master key: master.c. */

extern const struct wl_owner ws_keys_owner; /* owner of all these records */

/* A seal of a master key, for one use; the id derived from it, and that id as text. */
int ws_master_seal(const struct ws_master *m, struct ws_seal **ret, struct upp_err *err) UPP_MUST_CHECK;
int ws_master_name(struct ws_seal *seal, struct ws_master_id *ret, struct upp_err *err) UPP_MUST_CHECK;
struct upp_str ws_master_text(const struct ws_master_id *id, char text[17]);
bool ws_master_same(struct ws_master_id a, struct ws_master_id b);

const struct ws_master *ws_master_at(const struct ws_mastering *m);
int ws_master_store(const struct ws_master *key, struct ws_master_id id, struct ws_mastering *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
void ws_master_drop(struct ws_mastering *m);

/* The record of `key`: alone, or with the other key of a rotation, which is the new one (leaving) or the old one. */
int ws_master_record(const struct ws_master *key, const struct ws_master *other, bool leaving, struct wb_arena *a,
                     char name[17], struct wl_value *ret, struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS int ws_keys_commit(struct ws_sealed *s, const struct wl_change *c, size_t n,
                                 struct upp_err *err) UPP_MUST_CHECK;
struct wl_change ws_keys_put(const struct wl_value *v);

WEFT_SUSPENDS int ws_keys_open(struct ws_sealed *s, const struct ws_master *key, struct upp_err *err) UPP_MUST_CHECK;
void ws_keys_close(struct ws_sealed *s);
