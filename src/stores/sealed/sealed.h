/* stores/sealed/sealed.h — a store whose contents cannot be read without the key.
 *
 * It is in front of any store. It seals: bodies and tapes of rows, pieces of blobs, titles, metadata, names of
 * branches, texts of aliases (which are looked up by a keyed hash), agent and call names, options and errors of runs,
 * values. In clear text: ids, times, kinds, sizes, positions, counters, the names of tenants and users.
 *
 * Each tenant has its own random key, stored wrapped by the master key. Each text is encrypted with AES-256-GCM and a
 * random 96-bit nonce. The associated data is the row's own key (table, id or position) and format, and the key for
 * texts is derived also from the tenant's name: no text can be moved to another location. Blob keys go through a
 * permutation built from HMACs under the tenant's key (stores/sealed/seal.h), because the sweep must invert it.
 * Forgetting a tenant means dropping its key.
 *
 * A value sealed with the master key identifies it: a wrong key is -UPP_EREFUSED before anything is read.
 */
#pragma once

#include "log/store.h"

enum { WS_MASTER = 32 };

struct ws_master {
    unsigned char key[WS_MASTER];
};

/* A master key as text: 64 hex digits, or base64 of 32 bytes, with blanks around it. -UPP_EINVALID; the message does
 * not quote the text. */
int ws_master_parse(struct upp_str text, struct ws_master *ret, struct upp_err *err) UPP_MUST_CHECK;
void ws_master_wipe(struct ws_master *m);

/* Takes ownership of the inner store, also on failure. An empty store becomes a sealed one. -UPP_EREFUSED: another key,
 * or the store has unencrypted data. */
WEFT_SUSPENDS int ws_sealed_open(struct wl_store *inner, const struct ws_master *key, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* For opening a store without a key: -UPP_EREFUSED if it is sealed. */
WEFT_SUSPENDS int ws_sealed_check_plain(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Who wants to know how far a rotation is: called with the number of tenants that are done more. */
struct ws_rotating {
    void (*done)(void *arg, size_t n);
    void *arg;
};

/* Rewraps the keys of all tenants with another master key. If it is interrupted, call it again; until it is complete,
 * either key opens the store. told NULL: nobody. */
WEFT_SUSPENDS int ws_sealed_rotate(struct wl_store *s, const struct ws_master *to, const struct ws_rotating *told,
                                   struct upp_err *err) UPP_MUST_CHECK;

/* Drops the key of a tenant: nobody can read its remaining data (-UPP_EREFUSED), and lists of tenants, live runs and
 * followed rows leave it out. The name stays erased: nothing new can be stored under it. -UPP_EBUSY: keys are being
 * created or changed right now; also returned by ws_sealed_rotate. */
WEFT_SUSPENDS int ws_sealed_forget(struct wl_store *s, struct upp_str tenant, struct upp_err *err) UPP_MUST_CHECK;

/* The sealed store among a store and those behind it; NULL: none. */
struct wl_store *ws_sealed_find(struct wl_store *s);
