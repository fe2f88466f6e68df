/* server/http/forwarded.c — reads the X-Forwarded headers of trusted proxies. */
#include "server/http/forwarded.h"

static bool is_trusted(const struct sv_proxies *trusted, const struct wb_ip *ip)
{
    for (size_t i = 0; i < trusted->n; i++)
        if (wb_network_has(&trusted->p[i], ip))
            return true;
    return false;
}

/* "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]:4711". */
static bool parse_node(struct upp_str s, struct wb_ip *ret)
{
    if (wb_ip_parse(s, ret))
        return true;
    if (s.n && s.p[0] == '[') {
        size_t end = wb_str_find(s, UPP_STR("]"), 0);
        return end != SIZE_MAX && wb_ip_parse(wb_str_sub(s, 1, end - 1), ret);
    }
    size_t colon = wb_str_find(s, UPP_STR(":"), 0);
    return colon != SIZE_MAX && wb_ip_parse(wb_str_sub(s, 0, colon), ret);
}

/* Removes the last item of a list with commas. */
static bool take_last(struct upp_str *list, struct upp_str *item)
{
    if (!list->p)
        return false;
    size_t at = list->n;
    while (at > 0 && list->p[at - 1] != ',')
        at--;
    *item = wb_str_trim(wb_str_sub(*list, at, SIZE_MAX));
    *list = at ? wb_str(list->p, at - 1) : (struct upp_str){NULL, 0};
    return true;
}

/* Each proxy adds the address that it sees: from the right, the first one that is no trusted proxy is the client.
 * False: found it, or something that is no address: what stands before it could be anybody's. */
static bool follow(const struct sv_proxies *trusted, struct upp_str list, struct wb_ip *ip)
{
    struct upp_str item;
    while (take_last(&list, &item)) {
        if (!parse_node(item, ip) || !is_trusted(trusted, ip))
            return false;
    }
    return true;
}

/* The value that the proxy in front of us has set: the last one. */
static struct upp_str last_value(const struct sv_http *h, struct upp_str name)
{
    struct upp_str found = {NULL, 0}, n, v;
    for (size_t i = 0; i < sv_http_headers(h); i++) {
        sv_http_header_at(h, i, &n, &v);
        if (wb_str_eq_nocase(n, name) && !take_last(&v, &found))
            found = v;
    }
    return found;
}

void sv_forwarded_read(const struct sv_proxies *trusted, const struct sv_http *h, struct sv_sender *ret)
{
    struct upp_str name, value;
    if (!is_trusted(trusted, &ret->ip))
        return;
    for (size_t i = sv_http_headers(h); i > 0; i--) {
        sv_http_header_at(h, i - 1, &name, &value);
        if (wb_str_eq_nocase(name, UPP_STR("x-forwarded-for")) && !follow(trusted, value, &ret->ip))
            break;
    }
    struct upp_str proto = last_value(h, UPP_STR("x-forwarded-proto")),
                   host = last_value(h, UPP_STR("x-forwarded-host"));
    if (proto.n)
        ret->secure = wb_str_eq_nocase(proto, UPP_STR("https"));
    if (host.n)
        ret->host = host;
}
