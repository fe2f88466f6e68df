/* server/http/origin.h — is this request meant for us, and from a page of ours?
 *
 * A name that leads to us by somebody else's DNS (rebinding) has an unknown Host: 421. A page of another site has a
 * foreign Origin: 403. An IP address as Host cannot be rebound, but only our own is ours.
 */
#ifndef SV_ORIGIN_H
#define SV_ORIGIN_H

#include "base/str.h"
#include "server/http/net.h"

struct sv_allowed {
    const char *const        *hosts;   /* more names, without port; NULL-terminated; NULL: none */
    const char *const        *origins; /* "https://app.example.org": pages that may call us; likewise */
    const struct sv_listener *listeners;
    size_t                    n_listeners;
};

/* "name", "name:port", "[v6]", "[v6]:port": the name without brackets. False: it is nothing of that kind. */
bool sv_host_split(struct upp_str host, struct upp_str *name, struct upp_str *port);

/* 0, or 400 (not a host at all) or 421. */
int sv_host_check(const struct sv_allowed *allowed, struct upp_str host);

/* 0, or 403. `origin`: the header; `host`: of the request, whose own pages are allowed. */
int sv_origin_check(const struct sv_allowed *allowed, struct upp_str origin, struct upp_str host);

#endif
