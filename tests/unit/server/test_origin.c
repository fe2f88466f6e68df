#include "server/http/origin.h"

#include "base/defs.h"
#include "support/test.h"

static const struct sv_listener loopback = {.fd = -1, .loopback = true, .host = "127.0.0.1"};
static const struct sv_listener lan = {.fd = -1, .host = "192.168.1.5"};
static const struct sv_listener six = {.fd = -1, .host = "2001:db8::1"};
static const struct sv_listener any = {.fd = -1, .any = true, .host = "0.0.0.0"};
static const char *const names[] = {"weft.example.org", NULL};
static const char *const pages[] = {"https://app.example.org", NULL};

TEST(origin_hosts)
{
    static const struct {
        const char *host;
        int at_loopback, at_lan, at_six, at_any;
    } cases[] = {
        {"localhost", 0, 0, 0, 0},
        {"LocalHost:8787", 0, 0, 0, 0},
        {"127.0.0.1", 0, 0, 0, 0},
        {"127.0.0.1:1", 0, 0, 0, 0},
        {"127.9.9.9", 0, 0, 0, 0},
        {"[::1]", 0, 0, 0, 0},
        {"[::1]:80", 0, 0, 0, 0},
        {"[0:0:0:0:0:0:0:1]", 0, 0, 0, 0},
        {"weft.example.org:443", 0, 0, 0, 0},
        {"192.168.1.5:8787", 421, 0, 421, 0},
        {"192.168.1.6", 421, 421, 421, 0},
        {"[2001:db8::1]", 421, 421, 0, 0},
        {"[2001:DB8:0::1]", 421, 421, 0, 0},
        {"evil.example", 421, 421, 421, 421},
        {"localhost.evil.example", 421, 421, 421, 421},
        {"127.0.0.1.evil.example", 421, 421, 421, 421},
        {"localhost.", 421, 421, 421, 421},
        {"0.0.0.0", 421, 421, 421, 0},
        {"2130706433", 421, 421, 421, 421},
        {"example.org", 421, 421, 421, 421},
        {"", 400, 400, 400, 400},
        {":80", 400, 400, 400, 400},
        {"localhost:", 400, 400, 400, 400},
        {"localhost:x", 400, 400, 400, 400},
        {"localhost:65536", 400, 400, 400, 400},
        {"localhost:80:80", 400, 400, 400, 400},
        {"user@localhost", 400, 400, 400, 400},
        {"localhost/x", 400, 400, 400, 400},
        {"[::1", 400, 400, 400, 400},
        {"[::1]x", 400, 400, 400, 400},
        {"::1", 400, 400, 400, 400},
        {"local host", 400, 400, 400, 400},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        const struct sv_listener *at[] = {&loopback, &lan, &six, &any};
        int want[] = {cases[i].at_loopback, cases[i].at_lan, cases[i].at_six, cases[i].at_any};
        for (size_t k = 0; k < WB_LEN(at); k++) {
            struct sv_allowed allowed = {names, pages, at[k], 1};
            test_note("Host '%s' at %s", cases[i].host, at[k]->host);
            CHECK_INT(sv_host_check(&allowed, wb_cstr(cases[i].host)), want[k]);
        }
    }
    struct sv_allowed nobody = {NULL, NULL, NULL, 0};
    CHECK_INT(sv_host_check(&nobody, UPP_STR("weft.example.org")), 421);
}

TEST(origin_pages)
{
    static const struct {
        const char *origin, *host;
        int status;
    } cases[] = {
        {"http://localhost:8787", "localhost:8787", 0},
        {"HTTP://LOCALHOST:8787", "localhost:8787", 0},
        {"https://localhost:8787", "localhost:8787", 0},
        {"https://app.example.org", "localhost:8787", 0},
        {"http://localhost:3000", "localhost:8787", 403},
        {"http://127.0.0.1:8787", "localhost:8787", 403},
        {"http://app.example.org", "localhost:8787", 403},
        {"https://app.example.org.evil.example", "localhost:8787", 403},
        {"https://evil.example", "localhost:8787", 403},
        {"null", "localhost:8787", 403},
        {"", "localhost:8787", 403},
        {"", "", 403},
        {"http://", "", 403},
        {"*", "localhost:8787", 403},
        {"file://", "localhost:8787", 403},
        {"chrome-extension://localhost:8787", "localhost:8787", 403},
        {"http://localhost:8787/", "localhost:8787", 403},
    };
    struct sv_allowed allowed = {names, pages, &loopback, 1};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        test_note("Origin '%s'", cases[i].origin);
        struct upp_str allow;
        CHECK_INT(sv_origin_check(&allowed, wb_cstr(cases[i].origin), wb_cstr(cases[i].host), false, &allow),
                  cases[i].status);
        bool foreign = cases[i].status == 0 && wb_str_find(wb_cstr(cases[i].origin), UPP_STR("app."), 0) != SIZE_MAX;
        CHECK(foreign ? wb_str_eq(allow, wb_cstr(cases[i].origin)) : !allow.n);
    }
}

/* A server that is reached by https has no pages of http. */
TEST(origin_of_a_server_with_tls)
{
    struct sv_allowed allowed = {names, pages, &loopback, 1};
    struct upp_str allow, host = UPP_STR("weft.example.org");
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("https://weft.example.org"), host, true, &allow), 0);
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("http://weft.example.org"), host, true, &allow), 403);
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("http://weft.example.org"), host, false, &allow), 0);
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("https://app.example.org"), host, true, &allow), 0);
}

TEST(origin_all)
{
    static const char *const all[] = {"*", NULL};
    struct sv_allowed allowed = {names, all, &loopback, 1};
    struct upp_str allow;
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("https://evil.example"), UPP_STR("localhost"), false, &allow), 0);
    CHECK_STR(allow, UPP_STR("*"));
    CHECK_INT(sv_origin_check(&allowed, UPP_STR("null"), UPP_STR("localhost"), false, &allow), 0);
    CHECK_STR(allow, UPP_STR("*"));
}

/* An address in `hosts`, in any notation. */
TEST(origin_hosts_that_are_addresses)
{
    static const char *const hosts[] = {"192.0.2.7", "2001:db8::7", NULL};
    struct sv_allowed allowed = {hosts, NULL, &loopback, 1};
    CHECK_INT(sv_host_check(&allowed, UPP_STR("192.0.2.7:8787")), 0);
    CHECK_INT(sv_host_check(&allowed, UPP_STR("[2001:DB8:0::7]")), 0);
    CHECK_INT(sv_host_check(&allowed, UPP_STR("192.0.2.8")), 421);
}
