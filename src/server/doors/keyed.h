/* server/doors/keyed.h — Idempotency-Keys of requests that make something else than a run: a thread, messages, a file.
 *
 * The key is recorded in the commit of what it makes, so that neither a crash nor another request comes between them.
 * It is added by a store in front of the server's. Runs have theirs in wr_start.
 */
#pragma once

#include "log/store.h"
#include "server/http/route.h"

enum sv_makes { SV_MAKES_THREAD = 1, SV_MAKES_ENTRIES, SV_MAKES_FILE };

struct sv_keyed {
    struct wl_store store; /* to write with: in front of the server's */
    struct sv_exchange *x;
    struct wl_key key; /* key.key empty: the request has none */
    uint8_t makes;
    bool made;             /* the key was recorded */
    struct wb_uuid object; /* what the key has made: a thread, the first of the entries, a file */
};

/* Reads the request's Idempotency-Key. 1: it was used before, with the same body: k->object. 0: k->store is to be
 * written to. -UPP_EREFUSED: it was used with another body. SV_MAKES_FILE: the body is read later, and so is what the
 * key has made: sv_keyed_file. */
WEFT_SUSPENDS int sv_keyed_begin(struct sv_exchange *x, enum sv_makes makes, struct sv_keyed *k,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* After the write, whose result is r. 1: it failed, and another request with the key was first: k->object. */
WEFT_SUSPENDS int sv_keyed_end(struct sv_keyed *k, int r, struct upp_err *err) UPP_MUST_CHECK;

/* The same for a thread, which *t is then. r may be that of sv_keyed_begin. */
WEFT_SUSPENDS int sv_keyed_thread(struct sv_keyed *k, int r, struct wl_thread *t, struct upp_err *err) UPP_MUST_CHECK;

/* For a file, whose commit the caller makes: what stands for the body is known now. 1: the key was used before:
 * k->object. 0: to be added to the commit with k->key.object set, if the request has a key. */
WEFT_SUSPENDS int sv_keyed_file(struct sv_keyed *k, struct upp_str body, struct upp_err *err) UPP_MUST_CHECK;
