/* server/doors/envelopes/routes.h — envelopes over HTTP (docs/envelopes.md).
 *
 *     POST /v1/envelopes                 an envelope; the one that answers, or every one of the exchange as a stream
 *     GET  /v1/envelopes/handshake       what this server announces
 *     GET  /v1/envelopes/{e}            one envelope
 *     GET  /v1/envelopes/{e}/exchange   all of its exchange, as JSON lines
 *     GET  /v1/envelopes/{e}/lineage    what it follows from, and what follows from it
 *
 * An exchange is a thread, and each envelope that comes in is a run of the router on it (envelope/run/router.h). Errors
 * are envelopes too.
 */
#pragma once

#include "envelope/run/router.h"
#include "log/log.h"
#include "server/doors/start.h"
#include "server/http/route.h"

extern const struct sv_door sv_door_envelopes;

/* Shared by the files of these routes. */

/* Reads an envelope that comes in, as the configuration says (we_read_ingress). */
int sv_envelope_read(struct sv_exchange *x, struct upp_str text, struct wd_problems *problems, struct we_envelope *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* A name for something of this client: a prefix and a hash of its user and the text. In the arena. */
int sv_envelope_name(struct sv_exchange *x, const char *prefix, struct upp_str text, struct upp_str *ret,
                     struct upp_err *err) UPP_MUST_CHECK;

/* The SHA-256 of a text, as hex digits, in the arena. */
int sv_envelope_digest(struct sv_exchange *x, struct upp_str text, struct upp_str *ret,
                       struct upp_err *err) UPP_MUST_CHECK;

/* In the options of a run: the SHA-256 of the envelope that came in. */
#define SV_ENVELOPE_DIGEST "weft_digest"

/* A step of every start (sv_start_steps): an envelope is found by its id, through whatever door it came to the router.
 */
WEFT_SUSPENDS int sv_envelope_index(struct sv_exchange *x, struct sv_start *s, struct upp_err *err) UPP_MUST_CHECK;

/* The thread in which the envelope with this id is. -UPP_ENOTFOUND. search: also a request of ours, for which threads
 * of its family are read. */
WEFT_SUSPENDS int sv_envelope_thread(struct sv_exchange *x, struct upp_str id, bool search, struct wl_thread *ret,
                                     struct upp_err *err) UPP_MUST_CHECK;

/* Calls `fn` for each envelope of a thread in the order of their arrival, once, until it returns 1 or fails. Returns
 * what it returned. */
typedef int sv_envelope_fn(void *arg, yyjson_val *envelope, struct upp_err *err);
WEFT_SUSPENDS int sv_envelopes_each(struct sv_exchange *x, const struct wl_thread *t, sv_envelope_fn *fn, void *arg,
                                    struct upp_err *err) UPP_MUST_CHECK;

/* GET /v1/envelopes/{e}/lineage. */
WEFT_SUSPENDS int sv_get_lineage(struct sv_exchange *x, struct upp_err *err);

/* What the client has announced (ENV-8); all zero: nothing. */
WEFT_SUSPENDS int sv_peer_get(struct sv_exchange *x, struct we_peer *ret, struct upp_err *err) UPP_MUST_CHECK;
WEFT_SUSPENDS int sv_peer_set(struct sv_exchange *x, const struct we_peer *peer, struct upp_err *err) UPP_MUST_CHECK;
