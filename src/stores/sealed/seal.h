/* stores/sealed/seal.h — one tenant's key at work: texts sealed and opened, names hidden.
 *
 * A sealed text is a byte (the version), a nonce, what AES-256-GCM makes of the parts, and the tag. Parts are packed
 * together, so that what is stored in one place costs one nonce and one tag. The place is associated data: opened
 * anywhere else, it is no text.
 *
 * The two keys at work are derived from the tenant's, the one for texts also from its name. A seal is for one thread at
 * a time.
 */
#ifndef WS_SEAL_H
#define WS_SEAL_H

#include "base/arena.h"
#include "log/store.h"

enum {
    WS_SEAL_KEY   = 32,
    WS_SEAL_NONCE = 12,
    WS_SEAL_TAG   = 16,
    WS_SEAL_MORE  = 1 + WS_SEAL_NONCE + WS_SEAL_TAG,
    WS_SEAL_PARTS = 4,
};

/* Where a text stands. Two places that differ in anything have different bytes. */
struct ws_seal_context {
    unsigned char  kind;
    unsigned char  bytes[48];
    size_t         n;
    struct upp_str space, name; /* of values and tenants */
};

/* The two keys that a tenant's (or the master) key gives: for texts and for names. */
struct ws_seal_keys {
    unsigned char texts[WS_SEAL_KEY], names[WS_SEAL_KEY];
};
int ws_seal_derive(const unsigned char key[WS_SEAL_KEY], struct upp_str whose, struct ws_seal_keys *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

struct ws_keyed;

struct ws_seal {
    struct ws_seal  *next;
    struct ws_keyed *of;       /* for whoever keeps them */
    void            *in, *out; /* EVP_CIPHER_CTX */
    void            *mac;      /* EVP_MAC_CTX */
};
int             ws_seal_new(const struct ws_seal_keys *keys, struct ws_seal **ret, struct upp_err *err) UPP_MUST_CHECK;
struct ws_seal *ws_seal_free(struct ws_seal *s); /* NULL is fine; returns NULL */

/* Parts may be no text, and are that again when opened. `head` (often no text) stands before the sealed text. */
int ws_seal_put(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str head, const struct upp_str *parts,
                size_t n, struct wb_arena *a, struct upp_str *ret, struct upp_err *err) UPP_MUST_CHECK;

/* Opens it where it is, in memory that is the caller's to write: the parts are inside, each followed by a NUL.
 * -UPP_ESTORE: it is not what was sealed there. */
int ws_seal_get(struct ws_seal *s, const struct ws_seal_context *at, struct upp_str text, struct upp_str *parts,
                size_t n, struct upp_err *err) UPP_MUST_CHECK;

/* A keyed hash; which: what it is a name of. */
int ws_seal_name(struct ws_seal *s, unsigned char which, const struct upp_str *parts, size_t n, unsigned char ret[32],
                 struct upp_err *err) UPP_MUST_CHECK;

/* A blob's key as it is stored, and back: a permutation of 256 bits that nobody computes without the key (four rounds
 * of Luby and Rackoff over HMAC-SHA-256), because the sweep asks the store for keys and hands them in again. */
int ws_seal_blob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret,
                 struct upp_err *err) UPP_MUST_CHECK;
int ws_seal_unblob(struct ws_seal *s, const struct wl_blob_key *key, struct wl_blob_key *ret,
                   struct upp_err *err) UPP_MUST_CHECK;

#endif
