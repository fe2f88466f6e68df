/* upp/providers/keys.h — the keys of a model: one, several in turn, by chance, from a function, or from the environment. */
#ifndef UPP_KEYS_H
#define UPP_KEYS_H

#include <upp/provider.h>

#include "base/secret.h"

struct upp__keys;

/* `api_key` first, then `keys`, then the environment variable `env`, which is looked at when a key is taken.
 * `optional`: a call without any key is fine. What is given is copied into secrets. */
int  upp__keys_new(const char *api_key, const struct upp_keys *keys, const char *env, bool optional,
                   struct upp__keys **ret, struct upp_err *err) UPP_MUST_CHECK;
void upp__keys_free(struct upp__keys *k); /* NULL is fine */

/* A key for one call; no text: none is needed. */
struct upp__key {
    struct upp_str    text;
    struct wb_secret *own; /* made for this call; NULL: the text is one of the keys' own */
};

/* -UPP_EAUTH names the variable that is not set. From any thread. */
int  upp__keys_take(struct upp__keys *k, const struct upp_wait *wait, struct upp__key *ret,
                    struct upp_err *err) UPP_MUST_CHECK;
void upp__key_done(struct upp__key *key);

#endif
