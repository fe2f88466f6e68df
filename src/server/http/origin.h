/* server/http/origin.h — is this request meant for us, and from an allowed page?
 *
 * A name that an attacker's DNS resolves to us (rebinding) has an unknown Host: 421. A page of another site has a
 * foreign Origin: 403. An IP address as Host cannot be rebound, but only our own address is accepted.
 */
#pragma once

#include "base/str.h"
#include "server/http/net.h"
#include "server/http/route.h"

struct sv_allowed {
    const char *const *hosts;   /* additional names, without port; NULL-terminated; NULL: none */
    const char *const *origins; /* "https://app.example.org", or "*": pages that may call us; likewise */
    const struct sv_listener *listeners;
    size_t n_listeners;
};

/* 0, or 400 (not a host) or 421. */
int sv_host_check(const struct sv_allowed *allowed, struct upp_str host);

/* 0, or 403. `origin`: the header; `host`: of the request, whose own pages are allowed; secure: it came by https.
 * *allow: what lets the browser of a foreign page read the response (server/http/origin.h): the origin, or "*"; empty
 * for our own pages. */
int sv_origin_check(const struct sv_allowed *allowed, struct upp_str origin, struct upp_str host, bool secure,
                    struct upp_str *allow);

/* May pages of any origin call us? */
bool sv_origin_any(const struct sv_allowed *allowed);

/* The headers that let pages of other origins call this server (CORS, as the Fetch standard says).
 *
 * Whether an origin may call us is decided by origin.h; a foreign one gets 403 and none of these headers. Browsers ask
 * before they send most requests (a preflight: OPTIONS with Access-Control-Request-Method). That question carries no
 * key, and needs none: the answer says only what the request itself may contain.
 *
 * Credentials of the browser (cookies of a proxy in front of us) are allowed for origins that the configuration names,
 * never with "*".
 */

/* Is this request such a question? */
bool sv_cors_asks(const struct sv_http *h);

/* Answers it: 204. methods: of the route; 0: there is no such route, and the request may find that out itself. */
void sv_cors_answer(struct sv_reply *reply, const struct sv_http *h, uint8_t methods);

/* The headers of any response. allow: as sv_origin_check gave it; empty: only Vary. */
void sv_cors_write(struct wb_buf *out, struct upp_str allow);
