/* server/keys/key.h — one API key: its record in the store, its text, its scopes.
 *
 *     weft_0123456789abcdef_<64 hex digits>
 *
 * The first number is the key's id: it finds the record, and is no secret. The second is the secret, 256 random bits.
 * The store has only its SHA-256: a slow password hash protects secrets that can be guessed, and nobody guesses 256
 * random bits, however fast the hash is.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "server/keys/limits.h"
#include "server/keys/usage.h"

enum {
    SV_KEY_ID = 16,                                  /* hex digits */
    SV_KEY_SECRET = 64,                              /* hex digits */
    SV_KEY_TEXT = 5 + SV_KEY_ID + 1 + SV_KEY_SECRET, /* "weft_", the id, "_", the secret */
    SV_KEY_NAME = 64,                                /* bytes of a name, at most */
    SV_TENANT_NAME = 128,
    SV_USER_NAME = 256,
};

/* What a key permits. */
enum sv_scope {
    SV_SCOPE_READ = 1 << 0,         /* GET and HEAD */
    SV_SCOPE_RUN = 1 << 1,          /* everything that adds or changes threads and runs; includes read */
    SV_SCOPE_ADMIN = 1 << 2,        /* the keys of its tenant */
    SV_SCOPE_ACT_AS = 1 << 3,       /* the header weft-user */
    SV_SCOPE_INSTRUCTIONS = 1 << 4, /* the system prompt of a run (UAP 16.5) */
    SV_SCOPE_ALL = (1 << 5) - 1,
};

/* "run,read" (blanks are no part of it): 0, or -UPP_EINVALID names the part that is wrong. */
int sv_scopes_parse(struct upp_str text, uint8_t *ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_scopes_write(uint8_t scopes, struct wb_buf *out);
const char *sv_scope_name(uint8_t scope);

/* All that the scopes permit: run includes read. */
static inline uint8_t sv_scopes_all(uint8_t scopes)
{
    return scopes & SV_SCOPE_RUN ? scopes | SV_SCOPE_READ : scopes;
}

struct sv_tenant_stored;

/* A record. Its texts are in its arena. */
struct sv_key {
    char id[SV_KEY_ID + 1];
    struct upp_str name, tenant, user; /* user: empty: none */
    uint8_t scopes;
    struct sv_limits limits;
    unsigned char hash[32];         /* SHA-256 of the secret's digits */
    int64_t created_ms, revoked_ms; /* revoked: 0: it is not */

    /* Use; not part of the record. Changed on the table's loop; what is atomic is read on every loop. */
    _Atomic int64_t day;     /* number of the UTC day of `tokens` */
    _Atomic uint64_t tokens; /* used on that day; written before `day` */
    int64_t used_ms;         /* last request; 0: never */
    struct sv_usage usage;   /* its texts are those above */
    struct sv_bucket bucket;
    _Atomic uint64_t runs;           /* started with it, and not ended */
    size_t refs;                     /* requests in progress */
    struct sv_tenant_stored *stored; /* NULL: no limit on bytes */
    bool pending;                    /* not stored yet: it opens nothing */
    bool unsaved;                    /* its use has changed since it was stored */
    struct wb_arena arena;
};

int sv_key_new(struct sv_key **ret, struct upp_err *err) UPP_MUST_CHECK;
void sv_key_free(struct sv_key *k); /* accepts NULL */
void sv_key_freep(struct sv_key **k);

/* Gives it a random id and a random secret, of which only the hash stays; `text` is the only copy of the secret. */
int sv_key_generate(struct sv_key *k, char text[SV_KEY_TEXT + 1], struct upp_err *err) UPP_MUST_CHECK;

/* Splits a text into id and secret. False: it has another form. */
bool sv_key_split(struct upp_str text, struct upp_str *id, struct upp_str *secret);

/* Has this key (NULL: none) this secret? Takes equally long for every answer. */
bool sv_key_is(const struct sv_key *k, struct upp_str secret);

/* Names of tenants (letters, digits and . _ : @ - only, and not Weft's own), of keys (visible ASCII, and not what an id
 * looks like) and of users (any UTF-8 without control characters). -UPP_EINVALID. */
int sv_tenant_check(struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;
int sv_key_name_check(struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;
int sv_user_check(struct upp_str name, struct upp_err *err) UPP_MUST_CHECK;

/* The record as JSON, and back; the use of it, likewise. A failure to read leaves the key as it is. */
int sv_key_write(const struct sv_key *k, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int sv_key_read(struct upp_str json, struct sv_key **ret, struct upp_err *err) UPP_MUST_CHECK;
int sv_key_use_write(const struct sv_key *k, struct wb_buf *out, struct upp_err *err) UPP_MUST_CHECK;
int sv_key_use_read(struct sv_key *k, struct upp_str json, struct upp_err *err) UPP_MUST_CHECK;
