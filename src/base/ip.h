/* base/ip.h — IP addresses and networks as values. No names are looked up.
 *
 * An IPv4 address is stored as IPv6 (::ffff:a.b.c.d), so that both spellings of it are the same.
 */
#pragma once

#include "base/str.h"

WB_EXPORT_BEGIN

struct wb_ip {
    unsigned char b[16];
};

/* All addresses whose first `bits` are those of `ip`. */
struct wb_network {
    struct wb_ip ip;
    uint8_t bits; /* of 128 */
};

enum { WB_IP_TEXT = 46 };

/* "127.0.0.1", "::1". False: not an address; also with brackets, a zone or a port. */
bool wb_ip_parse(struct upp_str s, struct wb_ip *ret);

/* The text of it: IPv4 where it is one. */
struct upp_str wb_ip_text(const struct wb_ip *ip, char out[WB_IP_TEXT]);

/* 127.0.0.0/8 and ::1. */
bool wb_ip_loopback(const struct wb_ip *ip);

/* "10.0.0.0/8", "2001:db8::/32", or one address. -UPP_EINVALID: not of this form, or an address with bits after the
 * prefix, which is a mistake more often than not. */
int wb_network_parse(struct upp_str s, struct wb_network *ret, struct upp_err *err) UPP_MUST_CHECK;

bool wb_network_has(const struct wb_network *net, const struct wb_ip *ip);

WB_EXPORT_END
