/* server/http/auth.h — who sends a request, and what it may do.
 *
 * Over the Unix socket, which only its owner can open: everything, as the tenant `local` or the one that the header
 * weft-tenant names. Over TCP: with the API key in `Authorization: Bearer KEY` or `x-api-key: KEY`, as the key's tenant
 * and within its scopes and limits. While the store has never had a key, the server listens only on loopback
 * addresses and trusts no proxy, and clients may do everything but manage keys, as the tenant `local`. If it has had
 * some and all are revoked, no request over TCP is let in.
 *
 * The header weft-user names the user within the tenant; it needs the scope act-as.
 */
#pragma once

#include "server/http/route.h"
#include "server/keys/table.h"

/* Of one request; in the connection, between its head and the end of its response. */
struct sv_auth {
    struct sv_key *key;      /* NULL: none */
    struct sv_bucket bucket; /* the key's, after this request was counted: its response may be made on another loop */
    uint8_t scopes;          /* enum sv_scope */
    bool stranger;           /* refused for want of a valid key: the log has sums of these (client.h) */
    int denied;              /* status of the response that takes the place of the handler's; 0: none */
    const char *code;        /* of a refusal; NULL: it was not refused here */
    uint64_t retry_ms;       /* likewise */
    char why[128];           /* likewise: its sentence, if it has a number in it */
};

/* Sets the connection's owner and auth from the head of its request: 0, or a status (and http.why). */
int sv_auth_check(struct sv_conn *c) UPP_MUST_CHECK;
void sv_auth_done(struct sv_auth *a);

/* Responds with the refusal of sv_auth_check. */
void sv_auth_deny(struct sv_exchange *x, int status);

/* Responds to a request whose key was revoked while its body came or while it waited: true. */
bool sv_auth_refuses(struct sv_exchange *x);

/* Adds the headers that tell what is left of the key's limits, and WWW-Authenticate to a 401. */
void sv_auth_headers(struct sv_exchange *x);

/* Was the key revoked since the request began? */
static inline bool sv_auth_revoked(const struct sv_auth *a)
{
    return a->key && __atomic_load_n(&a->key->revoked_ms, __ATOMIC_RELAXED);
}

/* Fails unless the client has the scope: 403. */
int sv_auth_need(const struct sv_exchange *x, uint8_t scope, struct upp_err *err) UPP_MUST_CHECK;

/* For wr_start.api_key; empty: none. */
struct upp_str sv_auth_key(const struct sv_exchange *x);

/* The name of the API key; empty: none. */
struct upp_str sv_auth_key_name(const struct sv_exchange *x);

/* Fails if a run that this request starts would be refused: before anything is stored for it. */
int sv_auth_may_start(const struct sv_exchange *x, struct upp_err *err) UPP_MUST_CHECK;

/* Requests that are rows of the audit (log/admin.h).
 *
 * A handler of an administrator's action begins its row before it changes anything; the connection ends it with what
 * the handler returned. Requests that are refused before a handler is called (401, 403, 429) have no row: they are in
 * the access log.
 */

/* Begins the request's row, or gives the one that it has another action and target. The handler may set tenant, target
 * and detail of x->admin afterwards. A failure refuses the request: what has no row does not happen. Without a store
 * there are no rows. */
WEFT_SUSPENDS int sv_admin_begin(struct sv_exchange *x, const char *action, struct upp_str target,
                                 struct upp_err *err) UPP_MUST_CHECK;

/* The same for a request of an administrator that deletes or exports what is another tenant's or user's: those that say
 * for whom they are, by weft-tenant or weft-user. */
WEFT_SUSPENDS int sv_admin_others(struct sv_exchange *x, struct upp_err *err) UPP_MUST_CHECK;

/* Who sent the request, as a row says it. */
void sv_admin_actor(const struct sv_exchange *x, struct wl_admin *row);

/* Ends the row, if there is one. */
WEFT_SUSPENDS void sv_admin_end(struct sv_exchange *x, int r, const struct upp_err *err);
