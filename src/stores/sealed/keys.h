/* stores/sealed/keys.h — the master key and the tenants' keys of a sealed store.
 *
 * They are values of a tenant of our own in the inner store, in two spaces.
 *
 *   masters  name: an id that a master key has (a keyed hash); sealed with that master key. Most of the time there is
 *            one. While the store goes from one key to another there are two, and each holds the other's key: so
 *            either opens everything.
 *   tenants  name: the tenant's. A byte (alive or erased), the id of the master key, the tenant's key sealed with it.
 *
 * That a tenant gets one key, however many ask at once, is seen to by an alias beside it, which is taken once.
 *
 * Keys at work are kept in pages of their own (base/secret.h); what OpenSSL makes of them stands in its memory, and is
 * wiped when it is given back.
 */
#ifndef WS_SEALED_KEYS_H
#define WS_SEALED_KEYS_H

#include <pthread.h>

#include "base/secret.h"
#include "stores/sealed/seal.h"
#include "stores/sealed/sealed.h"
#include "stores/table.h"

#define WS_SEALED_TENANT  "weft.sealed" /* of the inner store: nobody else's */
#define WS_SEALED_MASTERS "masters"
#define WS_SEALED_TENANTS "tenants"

enum { WS_KEYED_MAX = 1024 /* tenants whose keys are kept at hand */, WS_KEYED_SEALS = 8 /* of each */ };

/* Kinds of places: what the associated data begins with. */
enum ws_place_kind {
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

/* A master key at hand. */
struct ws_mastering {
    struct ws_master_id id;
    struct wb_secret   *secret; /* struct ws_master; NULL: there is none */
};

struct ws_sealed {
    struct wl_store     store;
    struct wl_store    *inner;
    pthread_mutex_t     lock; /* of the following */
    struct ws_table     keyed;
    uint64_t            seed;
    uint64_t            forgotten;  /* how many tenants were, so far */
    struct ws_mastering now, other; /* what is wrapped is wrapped with `now`; other: while the key is changed */
    bool                leaving;    /* `other` is the one that it goes to */
    unsigned            making;     /* tenants' keys, right now */
    bool                changing;   /* the master key is, or a tenant is being forgotten */
    struct wb_arena     spare;      /* empty, for the next commit */
};

static inline struct ws_sealed *ws_sealed(struct wl_store *s)
{
    return (struct ws_sealed *)s;
}

void ws_sealed_lock(struct ws_sealed *s);
void ws_sealed_unlock(struct ws_sealed *s);

/* The key of a tenant, at work: to be given back without waiting in between. *ret is NULL where the tenant has none and
 * none is to be made. -UPP_EREFUSED: it was erased. */
WEFT_SUSPENDS int ws_keys_take(struct ws_sealed *s, struct upp_str tenant, bool make, struct ws_seal **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
void              ws_keys_give(struct ws_sealed *s, struct ws_seal *seal); /* NULL is fine */

/* 1: the tenant was erased; 0: not. */
WEFT_SUSPENDS int ws_keys_erased(struct ws_sealed *s, struct upp_str tenant, struct upp_err *err) UPP_MUST_CHECK;

/* ---- The master key: master.c ------------------------------------------------------------------ */

extern const struct wl_owner ws_keys_owner; /* of all these records */

/* A seal of a master key, for one use; the id that follows from it, and that as text. */
int            ws_master_seal(const struct ws_master *m, struct ws_seal **ret, struct upp_err *err) UPP_MUST_CHECK;
int            ws_master_name(struct ws_seal *seal, struct ws_master_id *ret, struct upp_err *err) UPP_MUST_CHECK;
struct upp_str ws_master_text(const struct ws_master_id *id, char text[17]);
bool           ws_master_same(struct ws_master_id a, struct ws_master_id b);

const struct ws_master *ws_master_at(const struct ws_mastering *m);
int                     ws_master_keep(const struct ws_master *key, struct ws_master_id id, struct ws_mastering *ret,
                                       struct upp_err *err) UPP_MUST_CHECK;
void                    ws_master_drop(struct ws_mastering *m);

/* The record of `key`: alone; or with another one, to which the store goes (leaving) or from which it comes. */
int ws_master_record(const struct ws_master *key, const struct ws_master *other, bool leaving, struct wb_arena *a,
                     char name[17], struct wl_value *ret, struct upp_err *err) UPP_MUST_CHECK;

WEFT_SUSPENDS int ws_keys_commit(struct ws_sealed *s, const struct wl_change *c, size_t n,
                                 struct upp_err *err) UPP_MUST_CHECK;
struct wl_change  ws_keys_put(const struct wl_value *v);

WEFT_SUSPENDS int ws_keys_open(struct ws_sealed *s, const struct ws_master *key, struct upp_err *err) UPP_MUST_CHECK;
void              ws_keys_close(struct ws_sealed *s);

#endif
