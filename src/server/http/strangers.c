/* server/http/strangers.c — counts requests without a valid key by network, and logs their sums. */
#include "server/http/strangers.h"

#include <string.h>

#include "base/defs.h"
#include "base/log.h"

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

static struct sv_stranger *find(struct sv_strangers *t, const struct wb_ip *ip, uint64_t now_ms)
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
    struct sv_stranger *row = find(t, &ip, now_ms);
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
