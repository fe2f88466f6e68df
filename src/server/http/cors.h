/* server/http/cors.h — the headers that let pages of other origins call this server (CORS, as the Fetch standard says).
 *
 * Whether an origin may call us is decided by origin.h; a foreign one gets 403 and none of these headers. Browsers ask
 * before they send most requests (a preflight: OPTIONS with Access-Control-Request-Method). That question carries no
 * key, and needs none: the answer says only what the request itself may contain.
 *
 * Credentials of the browser (cookies of a proxy in front of us) are allowed for origins that the configuration names,
 * never with "*".
 */
#pragma once

#include "server/http/route.h"

/* Is this request such a question? */
bool sv_cors_asks(const struct sv_http *h);

/* Answers it: 204. methods: of the route; 0: there is no such route, and the request may find that out itself. */
void sv_cors_answer(struct sv_reply *reply, const struct sv_http *h, uint8_t methods);

/* The headers of any response. allow: as sv_origin_check gave it; empty: only Vary. */
void sv_cors_write(struct wb_buf *out, struct upp_str allow);
