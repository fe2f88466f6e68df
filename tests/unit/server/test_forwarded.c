#include "server/http/client.h"

#include <stdio.h>

#include "base/defs.h"
#include "support/test.h"

/* Trusted: 127.0.0.1, 10.0.0.0/8, fc00::/7. */
static bool trust(struct wb_network nets[3])
{
    return wb_network_parse(UPP_STR("127.0.0.1"), &nets[0], NULL) == 0 &&
           wb_network_parse(UPP_STR("10.0.0.0/8"), &nets[1], NULL) == 0 &&
           wb_network_parse(UPP_STR("fc00::/7"), &nets[2], NULL) == 0;
}

TEST(forwarded_headers)
{
    static const struct {
        const char *peer, *headers, *client, *host;
        bool secure;
    } cases[] = {
        {"127.0.0.1", "", "127.0.0.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1", "h", false},
        {"127.0.0.1", "x-forwarded-for:   192.0.2.1:4711 \r\n", "192.0.2.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: [2001:db8::1]:4711\r\n", "2001:db8::1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1", "h", false},
        {"10.1.2.3", "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1", "h", false},
        {"fd00::1", "X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1", "h", false},
        /* What the client wrote itself stands on the left. */
        {"127.0.0.1", "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\n", "192.0.2.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 10.0.0.9\r\n", "192.0.2.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 6.6.6.6,192.0.2.1\r\nX-Forwarded-For: 10.0.0.9\r\n", "192.0.2.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 10.0.0.8, 10.0.0.9\r\n", "10.0.0.8", "h", false},
        {"127.0.0.1", "X-Forwarded-For: 192.0.2.1, unknown, 10.0.0.9\r\n", "10.0.0.9", "h", false},
        {"127.0.0.1", "X-Forwarded-For: nonsense\r\n", "127.0.0.1", "h", false},
        {"127.0.0.1", "X-Forwarded-For:\r\n", "127.0.0.1", "h", false},
        {"127.0.0.1", "X-Forwarded-Proto: https\r\nX-Forwarded-Host: weft.example.org\r\n", "127.0.0.1",
         "weft.example.org", true},
        {"127.0.0.1", "X-Forwarded-Proto: HTTPS\r\n", "127.0.0.1", "h", true},
        {"127.0.0.1", "X-Forwarded-Proto: http\r\n", "127.0.0.1", "h", false},
        {"127.0.0.1", "X-Forwarded-Proto: https, http\r\n", "127.0.0.1", "h", false},
        {"127.0.0.1", "X-Forwarded-Host: evil.example, weft.example.org\r\n", "127.0.0.1", "weft.example.org", false},
        {"127.0.0.1", "X-Forwarded-Host: evil.example\r\nX-Forwarded-Host: weft.example.org\r\n", "127.0.0.1",
         "weft.example.org", false},
        /* Anybody else. */
        {"192.0.2.9", "X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: a\r\n", "192.0.2.9",
         "h", false},
        {"127.0.0.2", "X-Forwarded-For: 192.0.2.1\r\n", "127.0.0.2", "h", false},
        {"::1", "X-Forwarded-For: 192.0.2.1\r\n", "::1", "h", false},
    };
    struct wb_network nets[3];
    CHECK(trust(nets));
    struct sv_proxies trusted = {nets, WB_LEN(nets)}, nobody = {NULL, 0};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(sv_http_done) struct sv_http h;
        char request[512], text[WB_IP_TEXT];
        size_t used;
        sv_http_init(&h, NULL);
        int n = snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: h\r\n%s\r\n", cases[i].headers);
        test_note("%s from %s", cases[i].headers, cases[i].peer);
        CHECK_INT(sv_http_feed(&h, wb_str(request, (size_t)n), &used), SV_HTTP_DONE);
        struct sv_sender s = {.host = h.host};
        CHECK(wb_ip_parse(wb_cstr(cases[i].peer), &s.ip));
        struct sv_sender same = s;
        sv_forwarded_read(&trusted, &h, &s);
        CHECK_STR(wb_ip_text(&s.ip, text), wb_cstr(cases[i].client));
        CHECK_STR(s.host, wb_cstr(cases[i].host));
        CHECK_INT(s.secure, cases[i].secure);
        sv_forwarded_read(&nobody, &h, &same);
        CHECK_STR(wb_ip_text(&same.ip, text), wb_cstr(cases[i].peer));
    }
}
