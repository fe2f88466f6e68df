/* server/http/origin.c — see origin.h. */
#include "server/http/origin.h"

#include <arpa/inet.h>

#include "base/defs.h"

bool sv_host_split(struct upp_str host, struct upp_str *name, struct upp_str *port)
{
    uint64_t number;
    size_t   end;
    bool     six = host.n && host.p[0] == '[';
    if (six) {
        end = wb_str_find(host, UPP_STR("]"), 0);
        if (end == SIZE_MAX)
            return false;
        *name = wb_str(host.p + 1, end - 1);
        end++;
    } else {
        end   = wb_str_find(host, UPP_STR(":"), 0);
        *name = wb_str_sub(host, 0, end);
        end   = name->n;
    }
    *port = (struct upp_str){NULL, 0};
    if (!name->n)
        return false;
    for (size_t i = 0; i < name->n; i++) {
        char c = name->p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
              c == '_' || (six && c == ':')))
            return false;
    }
    if (end == host.n)
        return true;
    *port = wb_str_sub(host, end + 1, SIZE_MAX);
    return host.p[end] == ':' && wb_str_u64(*port, &number) && number <= UINT16_MAX;
}

static bool is_ip(struct upp_str name, unsigned char out[16], bool *six)
{
    char text[48];
    if (name.n >= sizeof text)
        return false;
    memcpy(text, name.p, name.n);
    text[name.n] = 0;
    memset(out, 0, 16);
    *six = inet_pton(AF_INET6, text, out) == 1;
    return *six || inet_pton(AF_INET, text, out) == 1;
}

/* The same address, in any notation. */
static bool same_ip(struct upp_str name, const char *host)
{
    unsigned char a[16], b[16];
    bool          six_a, six_b;
    return is_ip(name, a, &six_a) && is_ip(wb_cstr(host), b, &six_b) && six_a == six_b && memcmp(a, b, 16) == 0;
}

static bool is_loopback(struct upp_str name)
{
    unsigned char              ip[16];
    bool                       six;
    static const unsigned char one[16] = {[15] = 1};
    if (wb_str_eq_nocase(name, UPP_STR("localhost")))
        return true;
    return is_ip(name, ip, &six) && (six ? memcmp(ip, one, 16) == 0 : ip[0] == 127);
}

int sv_host_check(const struct sv_allowed *allowed, struct upp_str host)
{
    struct upp_str name, port;
    unsigned char  ip[16];
    bool           six;
    if (!sv_host_split(host, &name, &port))
        return 400;
    if (is_loopback(name))
        return 0;
    for (const char *const *h = allowed->hosts; h && *h; h++)
        if (wb_str_eq_nocase(name, wb_cstr(*h)))
            return 0;
    for (size_t i = 0; i < allowed->n_listeners; i++) {
        const struct sv_listener *l = &allowed->listeners[i];
        if (same_ip(name, l->host) || (l->any && is_ip(name, ip, &six)))
            return 0;
    }
    return 421;
}

int sv_origin_check(const struct sv_allowed *allowed, struct upp_str origin, struct upp_str host)
{
    static const struct upp_str schemes[] = {UPP_STR_INIT("http://"), UPP_STR_INIT("https://")};
    for (const char *const *o = allowed->origins; o && *o; o++)
        if (wb_str_eq_nocase(origin, wb_cstr(*o)))
            return 0;
    for (size_t i = 0; i < WB_LEN(schemes); i++)
        if (host.n && origin.n == schemes[i].n + host.n &&
            wb_str_eq_nocase(wb_str_sub(origin, 0, schemes[i].n), schemes[i]) &&
            wb_str_eq_nocase(wb_str_sub(origin, schemes[i].n, SIZE_MAX), host))
            return 0;
    return 403; /* also "null": a file, a sandboxed frame */
}
