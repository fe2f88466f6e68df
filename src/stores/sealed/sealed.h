/* stores/sealed/sealed.h — a store whose contents nobody reads without the key.
 *
 * Stands in front of any store. What it seals: bodies and tapes of rows, pieces of blobs, titles, metadata, names of
 * branches, texts of aliases (which are looked up by a keyed hash), agent and call names, options and errors of runs,
 * values. What stays plain: ids, times, kinds, sizes, positions, counters, the names of tenants and users.
 *
 * Each tenant has a key of its own, random, kept wrapped by the master key. AES-256-GCM with a random nonce of 96 bits
 * for each text. The associated data is the row's own key (table, id or position) and format, and the tenant's name is
 * in the key that is derived for texts: no text can be moved to another place. The key of a blob goes through a
 * permutation made of HMACs under the tenant's key (stores/sealed/seal.h), because the sweep needs it back. To forget a
 * tenant is to drop its key.
 *
 * Which master key it was is known from a value sealed with it: a wrong one is -UPP_EREFUSED before anything is read.
 */
#ifndef WS_SEALED_H
#define WS_SEALED_H

#include "log/store.h"

enum { WS_MASTER = 32 };

struct ws_master {
    unsigned char key[WS_MASTER];
};

/* A master key as people keep it: 64 hex digits or base64 of 32 bytes, blanks around it. -UPP_EINVALID, which does not
 * say what was there. */
int  ws_master_parse(struct upp_str text, struct ws_master *ret, struct upp_err *err) UPP_MUST_CHECK;
void ws_master_wipe(struct ws_master *m);

/* Takes the inner store over, also where it fails. An empty one becomes a sealed one. -UPP_EREFUSED: another key, or
 * the store holds things that are not sealed. */
WEFT_SUSPENDS int ws_sealed_open(struct wl_store *inner, const struct ws_master *key, struct wl_store **ret,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* For whoever opens a store without a key: -UPP_EREFUSED where it is sealed. */
WEFT_SUSPENDS int ws_sealed_not(struct wl_store *s, struct upp_err *err) UPP_MUST_CHECK;

/* Wraps the keys of all tenants with another master key: all at once or, cut off in the middle, to be called again with
 * both; until it is over either opens the store. */
WEFT_SUSPENDS int ws_sealed_rotate(struct wl_store *s, const struct ws_master *to, struct upp_err *err) UPP_MUST_CHECK;

/* Drops the key of a tenant: what is left of it can be read by nobody (-UPP_EREFUSED), and is in no list of tenants,
 * live runs or followed rows. The name stays erased: nothing new is stored under it. -UPP_EBUSY: keys are being made or
 * changed right now, as with ws_sealed_rotate. */
WEFT_SUSPENDS int ws_sealed_forget(struct wl_store *s, struct upp_str tenant, struct upp_err *err) UPP_MUST_CHECK;

/* The sealed one among a store and those behind it; NULL: none is. */
struct wl_store *ws_sealed_find(struct wl_store *s);

#endif
