/* server/http/client.h — who sent a request that may have come through a proxy.
 *
 * X-Forwarded-For, -Proto and -Host are believed only if the connection comes from a trusted proxy. Anybody else could
 * write into them what he likes; then they are ignored.
 */
#pragma once

#include "base/ip.h"
#include "server/http/http.h"
#include "server/keys/limits.h"

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

/* Requests without a valid API key, by the address they come from: limits their answers and
 * sums them for the log.
 *
 *     wait = sv_strangers_count(&s->strangers, client, now);    // 0: 401; otherwise 429
 *     sv_strangers_tell(&s->strangers, now);                    // now and then
 *
 * An IPv4 address, or an IPv6 network of 64 bits, which one host has for itself. A valid key is let in from every
 * address: it cannot be guessed, and others behind the same proxy do not lock out its owner.
 *
 * The log has a line for the first request of an address, then at most one a minute with the number of those since.
 *
 * Belongs to one loop.
 */

enum {
    SV_STRANGER_REQUESTS = 60, /* a minute from one address, at once or evenly */
    SV_STRANGERS_MAX = 1000,   /* addresses at a time; all others together are one more */
    SV_STRANGERS_MS = 60000    /* between two lines about one address */
};

struct sv_strangers {
    struct sv_stranger {
        struct wb_ip ip;
        bool used;
        struct sv_bucket bucket;
        uint64_t requests, limited; /* that the log has not told */
        uint64_t told_ms;           /* 0: never */
    } rows[SV_STRANGERS_MAX + 1];   /* the last one: of all addresses that have found no row */
};

/* Counts a request from this address, as text; empty or "-": not known. 0, or the milliseconds after which one more is
 * answered with 401 again. */
uint64_t sv_strangers_count(struct sv_strangers *t, struct upp_str client, uint64_t now_ms);

/* Logs the sums that are due; UINT64_MAX: all of them. */
void sv_strangers_tell(struct sv_strangers *t, uint64_t now_ms);
