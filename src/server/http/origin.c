/* server/http/origin.c — checks the headers Host and Origin against the names of this server; answers preflight
 * requests and writes the headers of CORS. */
#include "server/http/origin.h"

#include "base/defs.h"

/* "name", "name:port", "[v6]", "[v6]:port": the name without brackets. False: not of this form. */
static bool split_host(struct upp_str host, struct upp_str *name, struct upp_str *port)
{
    uint64_t number;
    size_t end;
    bool six = host.n && host.p[0] == '[';
    if (six) {
        end = wb_str_find(host, UPP_STR("]"), 0);
        if (end == SIZE_MAX)
            return false;
        *name = wb_str(host.p + 1, end - 1);
        end++;
    } else {
        end = wb_str_find(host, UPP_STR(":"), 0);
        *name = wb_str_sub(host, 0, end);
        end = name->n;
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

/* The same address, in any notation. */
static bool same_ip(const struct wb_ip *ip, const char *host)
{
    struct wb_ip other;
    return wb_ip_parse(wb_cstr(host), &other) && memcmp(ip, &other, sizeof other) == 0;
}

int sv_host_check(const struct sv_allowed *allowed, struct upp_str host)
{
    struct upp_str name, port;
    struct wb_ip ip;
    if (!split_host(host, &name, &port))
        return 400;
    bool is_ip = wb_ip_parse(name, &ip);
    if (is_ip ? wb_ip_loopback(&ip) : wb_str_eq_nocase(name, UPP_STR("localhost")))
        return 0;
    for (const char *const *h = allowed->hosts; h && *h; h++)
        if (wb_str_eq_nocase(name, wb_cstr(*h)) || (is_ip && same_ip(&ip, *h)))
            return 0;
    for (size_t i = 0; is_ip && i < allowed->n_listeners; i++)
        if (allowed->listeners[i].any || same_ip(&ip, allowed->listeners[i].host))
            return 0;
    return 421;
}

/* Is it a page of this server? A server that is reached by https has no pages of http, which anybody on the way could
 * have written. */
static bool own_page(struct upp_str origin, struct upp_str host, bool secure)
{
    static const struct upp_str schemes[] = {UPP_STR_INIT("https://"), UPP_STR_INIT("http://")};
    for (size_t i = 0; host.n && i < (secure ? 1 : WB_LEN(schemes)); i++)
        if (origin.n == schemes[i].n + host.n && wb_str_eq_nocase(wb_str_sub(origin, 0, schemes[i].n), schemes[i]) &&
            wb_str_eq_nocase(wb_str_sub(origin, schemes[i].n, SIZE_MAX), host))
            return true;
    return false;
}

int sv_origin_check(const struct sv_allowed *allowed, struct upp_str origin, struct upp_str host, bool secure,
                    struct upp_str *allow)
{
    *allow = (struct upp_str){NULL, 0};
    for (const char *const *o = allowed->origins; o && *o; o++)
        if (strcmp(*o, "*") == 0 || wb_str_eq_nocase(origin, wb_cstr(*o))) {
            *allow = strcmp(*o, "*") == 0 ? UPP_STR("*") : origin; /* a reload may free the list */
            return 0;
        }
    return own_page(origin, host, secure) ? 0 : 403; /* 403: also "null": a file, a sandboxed frame */
}

bool sv_origin_any(const struct sv_allowed *allowed)
{
    for (const char *const *o = allowed->origins; o && *o; o++)
        if (strcmp(*o, "*") == 0)
            return true;
    return false;
}

enum { ASKED_MAX = 2 << 10 /* names of headers that a preflight may list */ };

/* Headers of our responses that a page may read, besides those that it always may. */
#define EXPOSED                                                                                                        \
    "x-request-id, retry-after, openai-poll-after-ms, x-ratelimit-limit-requests, x-ratelimit-limit-tokens, "          \
    "x-ratelimit-remaining-requests, x-ratelimit-remaining-tokens, x-ratelimit-reset-requests, "                       \
    "x-ratelimit-reset-tokens, x-vercel-ai-ui-message-stream, weft-ignored"

bool sv_cors_asks(const struct sv_http *h)
{
    size_t origins, methods;
    (void)sv_http_header(h, UPP_STR("origin"), &origins);
    (void)sv_http_header(h, UPP_STR("access-control-request-method"), &methods);
    return h->method == SV_OPTIONS && origins == 1 && methods == 1 && !h->has_body;
}

/* Names of headers, with commas. */
static bool is_list(struct upp_str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
              c == '.' || c == ',' || c == ' '))
            return false;
    }
    return s.n > 0 && s.n <= ASKED_MAX;
}

void sv_cors_answer(struct sv_reply *reply, const struct sv_http *h, uint8_t methods)
{
    char text[64];
    size_t n;
    struct upp_str asked = sv_http_header(h, UPP_STR("access-control-request-headers"), &n);
    if (!methods)
        methods = SV_GET | SV_HEAD | SV_POST | SV_PUT | SV_PATCH | SV_DELETE;
    reply->status = 204;
    sv_reply_header(reply, "Access-Control-Allow-Methods", sv_route_allow(methods, text));
    /* Any header: clients send many of their own, and with credentials a "*" would be a name. */
    sv_reply_header(reply, "Access-Control-Allow-Headers",
                    n == 1 && is_list(asked) ? asked : UPP_STR("authorization, content-type"));
    sv_reply_header(reply, "Access-Control-Max-Age", UPP_STR("600"));
    if (wb_str_eq(sv_http_header(h, UPP_STR("access-control-request-private-network"), NULL), UPP_STR("true")))
        sv_reply_header(reply, "Access-Control-Allow-Private-Network", UPP_STR("true"));
}

void sv_cors_write(struct wb_buf *out, struct upp_str allow)
{
    wb_buf_add(out, UPP_STR("Vary: Origin\r\n"));
    if (!allow.n)
        return;
    wb_buf_add(out, UPP_STR("Access-Control-Allow-Origin: "));
    wb_buf_add(out, allow);
    wb_buf_add(out, UPP_STR("\r\nAccess-Control-Expose-Headers: " EXPOSED "\r\n"));
    if (!wb_str_eq(allow, UPP_STR("*")))
        wb_buf_add(out, UPP_STR("Access-Control-Allow-Credentials: true\r\n"));
}
