/* server/http/forwarded.h — who sent a request that may have come through a proxy.
 *
 * X-Forwarded-For, -Proto and -Host are believed only if the connection comes from a trusted proxy. Anybody else could
 * write into them what he likes; then they are ignored.
 */
#pragma once

#include "base/ip.h"
#include "server/http/http.h"

struct sv_proxies {
    const struct wb_network *p;
    size_t n;
};

struct sv_sender {
    struct wb_ip ip;     /* the client's */
    struct upp_str host; /* that the client asked for; valid as long as the request */
    bool secure;         /* the client came by https */
};

/* ret begins with what is known of the connection; replaces what a trusted proxy says otherwise. */
void sv_forwarded_read(const struct sv_proxies *trusted, const struct sv_http *h, struct sv_sender *ret);
