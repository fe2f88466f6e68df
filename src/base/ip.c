/* base/ip.c — parses and writes IP addresses, and tells whether one is in a network. */
#include "base/ip.h"

#include <arpa/inet.h>

#include "base/err.h"

enum { V4 = 12 /* bytes before the IPv4 address */ };
static const unsigned char mapped[V4] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const struct wb_ip *ip)
{
    return memcmp(ip->b, mapped, V4) == 0;
}

bool wb_ip_parse(struct upp_str s, struct wb_ip *ret)
{
    char text[WB_IP_TEXT];
    struct wb_ip ip;
    if (s.n >= sizeof text || memchr(s.p, 0, s.n))
        return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    memcpy(ip.b, mapped, V4);
    if (inet_pton(AF_INET, text, ip.b + V4) != 1 && inet_pton(AF_INET6, text, ip.b) != 1)
        return false;
    *ret = ip;
    return true;
}

struct upp_str wb_ip_text(const struct wb_ip *ip, char out[WB_IP_TEXT])
{
    bool four = is_v4(ip);
    (void)inet_ntop(four ? AF_INET : AF_INET6, four ? ip->b + V4 : ip->b, out, WB_IP_TEXT); /* there is room for all */
    return wb_cstr(out);
}

bool wb_ip_loopback(const struct wb_ip *ip)
{
    static const unsigned char one[16] = {[15] = 1};
    return is_v4(ip) ? ip->b[V4] == 127 : memcmp(ip->b, one, sizeof one) == 0;
}

/* The address without the bits after the first `bits`. */
static struct wb_ip cut(const struct wb_ip *ip, unsigned bits)
{
    struct wb_ip r = {{0}};
    for (unsigned i = 0; i < sizeof r.b && 8 * i < bits; i++) {
        unsigned left = bits - 8 * i;
        r.b[i] = left >= 8 ? ip->b[i] : (unsigned char)(ip->b[i] & (0xff00 >> left));
    }
    return r;
}

int wb_network_parse(struct upp_str s, struct wb_network *ret, struct upp_err *err)
{
    char text[WB_IP_TEXT];
    struct wb_network net = {.bits = 128};
    size_t slash = wb_str_find(s, UPP_STR("/"), 0);
    uint64_t bits;
    if (!s.n || !wb_ip_parse(wb_str_sub(s, 0, slash), &net.ip))
        return upp_fail(err, UPP_EINVALID, "'%.*s' is no IP address or network (as 127.0.0.1 or 10.0.0.0/8)",
                        UPP_FMT(s));
    if (slash != SIZE_MAX) {
        bool four = !memchr(s.p, ':', slash);
        unsigned most = four ? 32 : 128;
        if (!wb_str_u64(wb_str_sub(s, slash + 1, SIZE_MAX), &bits) || bits > most)
            return upp_fail(err, UPP_EINVALID, "'%.*s': the number after the slash is 0 to %u", UPP_FMT(s), most);
        net.bits = (uint8_t)(bits + (128 - most));
    }
    struct wb_ip first = cut(&net.ip, net.bits);
    if (memcmp(&first, &net.ip, sizeof first) != 0)
        return upp_fail(err, UPP_EINVALID, "'%.*s' has bits after its prefix: the network is %s%.*s", UPP_FMT(s),
                        wb_ip_text(&first, text).p, UPP_FMT(wb_str_sub(s, slash, SIZE_MAX)));
    *ret = net;
    return 0;
}

bool wb_network_has(const struct wb_network *net, const struct wb_ip *ip)
{
    struct wb_ip first = cut(ip, net->bits);
    return memcmp(&first, &net->ip, sizeof first) == 0;
}
