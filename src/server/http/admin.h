/* server/http/admin.h — requests that are rows of the audit (log/admin.h).
 *
 * A handler of an administrator's action begins its row before it changes anything; the connection ends it with what
 * the handler returned. Requests that are refused before a handler is called (401, 403, 429) have no row: they are in
 * the access log.
 */
#pragma once

#include "server/http/route.h"

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
