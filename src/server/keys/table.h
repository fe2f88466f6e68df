/* server/keys/table.h — the API keys of a store, in memory: lookup, limits, changes.
 *
 *     r = sv_keys_open(store, engine, &keys, &err);      // on a fiber: reads them all, once
 *     key = sv_keys_find(keys, text);                    // no I/O
 *     ...
 *     sv_keys_close(keys);                               // the fiber that opened it
 *
 * Every change goes through here, so the table is what the store has. Belongs to one loop.
 *
 * How much a key has used is stored within a second or so, not with each request: after a crash a little may be
 * forgotten.
 */
#pragma once

#include "run/engine.h"
#include "server/keys/key.h"

/* Records of keys; one that was revoked makes room for a new one. */
enum {
    SV_KEYS_MAX = 10000,       /* of a store */
    SV_TENANT_KEYS_MAX = 1000, /* of a tenant */
};

struct sv_keys;

/* Limits the runs of the engine (NULL: of none) until it is closed: runs at once, tokens a day, stored bytes. */
WEFT_SUSPENDS int sv_keys_open(struct wl_store *store, struct wr_engine *engine, struct sv_keys **ret,
                               struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS void sv_keys_close(struct sv_keys *t); /* stores what they have used; accepts NULL */
WEFT_SUSPENDS void sv_keys_closep(struct sv_keys **t);

/* What limits them, as wr_start sees it. */
const struct wr_quota *sv_keys_quota(struct sv_keys *t);

/* The same for engines on other loops: they ask the table's loop. They must have been closed before the table is. */
const struct wr_quota *sv_keys_quota_elsewhere(struct sv_keys *t);

/* Is there a usable key? */
bool sv_keys_usable(const struct sv_keys *t);

/* Does a request over TCP need one? Yes as soon as the store has had a key: revoking the last one must not open the
 * server to everybody, neither now nor after a restart. */
bool sv_keys_required(const struct sv_keys *t);

/* The usable key with this text, or NULL. */
struct sv_key *sv_keys_find(struct sv_keys *t, struct upp_str text);

/* Counts a request of this key. -UPP_ERATE: it is one too many. A key stays in memory while its refs are not 0. */
int sv_key_count(struct sv_keys *t, struct sv_key *k, struct upp_err *err) UPP_MUST_CHECK;

/* -UPP_EQUOTA: its tenant has stored as many bytes as it may. Waiting does not help: Retry-After is
 * SV_QUOTA_MS. */
enum { SV_QUOTA_MS = 3600000 };
int sv_key_may_store(const struct sv_key *k, struct upp_err *err) UPP_MUST_CHECK;

/* May it start a run now? Nothing is counted; wr_start decides. -UPP_ERATE, -UPP_EQUOTA. All of
 * these set retry_after_ms, and name the limit. */
int sv_key_may_start(struct sv_key *k, struct upp_err *err) UPP_MUST_CHECK;

/* Tokens used today, or on a later day if the clock was put back. */
uint64_t sv_key_tokens(const struct sv_key *k, int64_t wall_ms);

/* Stores what was counted and is not stored yet; what cannot be stored is tried again. */
WEFT_SUSPENDS void sv_keys_save(struct sv_keys *t);

/* What keys, and tenants without one, have used since the process began: each that has used something. */
void sv_keys_each_usage(const struct sv_keys *t, void (*fn)(void *arg, const struct sv_usage *u), void *arg);

/* ---- Changes ---- */

struct sv_key_spec {
    struct upp_str name, tenant, user; /* user: empty: none */
    uint8_t scopes;
    struct sv_limits limits;
};

/* Adds a key; *text is the only copy of its secret. -UPP_EBUSY: a usable key of that tenant has the name. -UPP_ELIMIT:
 * SV_KEYS_MAX, SV_TENANT_KEYS_MAX. */
WEFT_SUSPENDS int sv_keys_add(struct sv_keys *t, const struct sv_key_spec *spec, char text[SV_KEY_TEXT + 1],
                              const struct sv_key **ret, struct upp_err *err) UPP_MUST_CHECK;

/* Whose keys; empty: everybody's. */
struct sv_key_owner {
    struct upp_str tenant, user;
};

/* Is this one of them? */
bool sv_key_is_of(const struct sv_key *k, const struct sv_key_owner *of);

/* Revokes one of these keys by its id, or by its name. It opens nothing from the moment it is stored. -UPP_ENOTFOUND.
 * -UPP_EREFUSED: it is revoked already. -UPP_EINVALID: several tenants have a key of this name. */
WEFT_SUSPENDS int sv_keys_revoke(struct sv_keys *t, const struct sv_key_owner *of, struct upp_str id_or_name,
                                 const struct sv_key **ret, struct upp_err *err) UPP_MUST_CHECK;

/* The keys ordered by id, also revoked ones; NULL: no more. A key that is being added is left out. Only the id of
 * `after` is looked at: it may be gone. */
const struct sv_key *sv_keys_next(const struct sv_keys *t, const struct sv_key *after);
