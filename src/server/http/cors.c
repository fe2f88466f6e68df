/* server/http/cors.c — answers preflight requests, and writes the headers of CORS. */
#include "server/http/cors.h"

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
