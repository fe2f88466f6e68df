/* upp/providers/keys.h — API keys of a model: one, round robin, weighted, from a callback, or from the environment. */
#pragma once

#include <upp/provider.h>

#include "base/secret.h"

struct upp__keys;

/* `api_key` first, then `keys`, then the environment variable `env`, which is read when a key is taken.
 * `optional`: calls without a key are allowed. Keys are copied into secrets. */
int upp__keys_new(const char *api_key, const struct upp_keys *keys, const char *env, bool optional,
                  struct upp__keys **ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__keys_free(struct upp__keys *k); /* accepts NULL */

/* A key for one call; empty: none is needed. */
struct upp__key {
    struct upp_str text;
    struct wb_secret *own; /* of this call alone; NULL: the text belongs to the keys */
};

/* -UPP_EAUTH names the variable that is not set. From any thread. */
int upp__keys_take(struct upp__keys *k, const struct upp_wait *wait, struct upp__key *ret,
                   struct upp_err *err) UPP_MUST_CHECK;
void upp__key_done(struct upp__key *key);
