/* server/http/origin.h — is this request meant for us, and from an allowed page?
 *
 * A name that an attacker's DNS resolves to us (rebinding) has an unknown Host: 421. A page of another site has a
 * foreign Origin: 403. An IP address as Host cannot be rebound, but only our own address is accepted.
 */
#pragma once

#include "base/str.h"
#include "server/http/net.h"

struct sv_allowed {
    const char *const *hosts;   /* additional names, without port; NULL-terminated; NULL: none */
    const char *const *origins; /* "https://app.example.org", or "*": pages that may call us; likewise */
    const struct sv_listener *listeners;
    size_t n_listeners;
};

/* 0, or 400 (not a host) or 421. */
int sv_host_check(const struct sv_allowed *allowed, struct upp_str host);

/* 0, or 403. `origin`: the header; `host`: of the request, whose own pages are allowed; secure: it came by https.
 * *allow: what lets the browser of a foreign page read the response (server/http/cors.h): the origin, or "*"; empty for
 * our own pages. */
int sv_origin_check(const struct sv_allowed *allowed, struct upp_str origin, struct upp_str host, bool secure,
                    struct upp_str *allow);

/* May pages of any origin call us? */
bool sv_origin_any(const struct sv_allowed *allowed);
