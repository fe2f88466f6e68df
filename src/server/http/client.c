/* server/http/client.c — reads the X-Forwarded headers of trusted proxies; counts requests without a valid key by
 * network, and logs their sums. */
#include "server/http/client.h"

#include <string.h>

#include "base/defs.h"
#include "base/log.h"

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
static bool follow_proxies(const struct sv_proxies *trusted, struct upp_str list, struct wb_ip *ip)
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
        if (wb_str_eq_nocase(name, UPP_STR("x-forwarded-for")) && !follow_proxies(trusted, value, &ret->ip))
            break;
    }
    struct upp_str proto = last_value(h, UPP_STR("x-forwarded-proto")),
                   host = last_value(h, UPP_STR("x-forwarded-host"));
    if (proto.n)
        ret->secure = wb_str_eq_nocase(proto, UPP_STR("https"));
    if (host.n)
        ret->host = host;
}

/* The address that is counted. */
static struct wb_ip network_of(struct upp_str client)
{
    static const unsigned char v4[12] = {[10] = 0xff, [11] = 0xff};
    struct wb_ip ip = {{0}};
    if (wb_ip_parse(client, &ip) && memcmp(ip.b, v4, sizeof v4) && !wb_ip_loopback(&ip))
        memset(ip.b + 8, 0, 8);
    return ip;
}

/* Nothing is lost if another address gets the row. */
static bool is_free(const struct sv_stranger *row, uint64_t now_ms)
{
    return !row->used || (!row->requests && !sv_bucket_reset_ms(&row->bucket, SV_STRANGER_REQUESTS, now_ms) &&
                          now_ms - row->told_ms >= SV_STRANGERS_MS);
}

static struct sv_stranger *find_stranger(struct sv_strangers *t, const struct wb_ip *ip, uint64_t now_ms)
{
    struct sv_stranger *room = NULL;
    for (size_t i = 0; i < SV_STRANGERS_MAX; i++) {
        struct sv_stranger *row = &t->rows[i];
        if (row->used && memcmp(&row->ip, ip, sizeof *ip) == 0)
            return row;
        if (!room && is_free(row, now_ms))
            room = row;
    }
    if (!room)
        return &t->rows[SV_STRANGERS_MAX];
    *room = (struct sv_stranger){.ip = *ip, .used = true};
    return room;
}

static void tell(const struct sv_strangers *t, struct sv_stranger *row, uint64_t now_ms)
{
    char text[WB_IP_TEXT];
    struct upp_str client = row == &t->rows[SV_STRANGERS_MAX] ? UPP_STR("others") : wb_ip_text(&row->ip, text);
    wb_log(WB_WARN, "requests without a valid API key", WB_LS("client", client), WB_LU("requests", row->requests),
           WB_LU("limited", row->limited));
    row->requests = row->limited = 0;
    row->told_ms = now_ms;
}

static bool is_due(const struct sv_stranger *row, uint64_t now_ms)
{
    return row->requests && (!row->told_ms || now_ms - row->told_ms >= SV_STRANGERS_MS);
}

uint64_t sv_strangers_count(struct sv_strangers *t, struct upp_str client, uint64_t now_ms)
{
    struct wb_ip ip = network_of(client);
    struct sv_stranger *row = find_stranger(t, &ip, now_ms);
    uint64_t wait = sv_bucket_take(&row->bucket, SV_STRANGER_REQUESTS, now_ms);
    row->requests++;
    row->limited += wait > 0;
    if (is_due(row, now_ms))
        tell(t, row, now_ms);
    return wait;
}

void sv_strangers_tell(struct sv_strangers *t, uint64_t now_ms)
{
    for (size_t i = 0; i < WB_LEN(t->rows); i++)
        if (is_due(&t->rows[i], now_ms))
            tell(t, &t->rows[i], now_ms);
}
