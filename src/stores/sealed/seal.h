/* stores/sealed/seal.h — one tenant's key in use: seals and opens texts, hides names.
 *
 * A sealed text is a byte (the version), a nonce, the parts encrypted with AES-256-GCM, and the tag. Parts are packed
 * together, so that texts stored in one column cost one nonce and one tag. Their location is associated data: opened at
 * any other location, the text is refused.
 *
 * The two keys in use are derived from the tenant's key, the one for texts also from its name. A seal is for one thread
 * at a time.
 */
#pragma once

#include "base/arena.h"
#include "log/store.h"

enum {
    WS_SEAL_KEY = 32,
    WS_SEAL_NONCE = 12,
    WS_SEAL_TAG = 16,
    WS_SEAL_MORE = 1 + WS_SEAL_NONCE + WS_SEAL_TAG,
    WS_SEAL_PARTS = 4,
};

/* The location of a text. Locations that differ in anything have different bytes. */
struct ws_seal_context {
    unsigned char kind;
    unsigned char bytes[48];
    size_t n;
    struct upp_str space, name; /* for values and tenants */
};

/* The two keys derived from a tenant's (or the master) key: for texts and for names. */
struct ws_seal_keys {
    unsigned char texts[WS_SEAL_KEY], names[WS_SEAL_KEY];
};
int ws_seal_derive(const unsigned char key[WS_SEAL_KEY], struct upp_str whose, struct ws_seal_keys *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

struct ws_keyed;

struct ws_seal {
    struct ws_seal *next;
    struct ws_keyed *of; /* for the cache that owns it */
    void *in, *out;      /* EVP_CIPHER_CTX */
    void *mac;           /* EVP_MAC_CTX */
};
int ws_seal_new(const struct ws_seal_keys *keys, struct ws_seal **ret, struct upp_err *err) UPP_MUST_CHECK;
struct ws_seal *ws_seal_free(struct ws_seal *s); /* accepts NULL; returns NULL */

/* A part may be NULL, and is NULL again when opened. `head` (often empty) is written before the sealed text. */
int ws_seal_put(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str head, const struct upp_str *parts,
                size_t n, struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Decrypts in place, in memory that the caller may write: the parts point into it, each followed by a NUL. -UPP_ESTORE:
 * not what was sealed at this location. */
int ws_seal_get(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str text, struct upp_str *parts,
                size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* A keyed hash; which: the kind of name. */
int ws_seal_name(struct ws_seal *s, unsigned char which, const struct upp_str *parts, size_t n, unsigned char ret[32],
                 struct upp_err *err) UPP_MUST_CHECK;

/* A blob's key as stored, and back: a permutation of 256 bits that cannot be computed without the key (a four-round
 * Luby-Rackoff cipher over HMAC-SHA-256), because the sweep reads stored keys and passes them back. */
int ws_seal_blob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret,
                 struct upp_err *err) UPP_MUST_CHECK;
int ws_seal_unblob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret,
                   struct upp_err *err) UPP_MUST_CHECK;
