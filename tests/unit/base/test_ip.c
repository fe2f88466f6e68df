#include "base/ip.h"

#include "base/defs.h"
#include "support/test.h"

TEST(ip_addresses)
{
    static const struct {
        const char *in, *out; /* NULL: not an address */
    } cases[] = {
        {"127.0.0.1", "127.0.0.1"},
        {"0.0.0.0", "0.0.0.0"},
        {"255.255.255.255", "255.255.255.255"},
        {"::1", "::1"},
        {"::", "::"},
        {"2001:DB8:0:0::1", "2001:db8::1"},
        {"::ffff:10.1.2.3", "10.1.2.3"},
        {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
        {"", NULL},
        {"1", NULL},
        {"127.1", NULL},
        {"127.0.0.01", NULL},
        {"0x7f.0.0.1", NULL},
        {"256.0.0.1", NULL},
        {"127.0.0.1:80", NULL},
        {"[::1]", NULL},
        {"fe80::1%eth0", NULL},
        {"localhost", NULL},
        {" 127.0.0.1", NULL},
        {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2550", NULL},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_ip ip;
        char text[WB_IP_TEXT];
        test_note("'%s'", cases[i].in);
        CHECK_INT(wb_ip_parse(wb_cstr(cases[i].in), &ip), cases[i].out != NULL);
        if (cases[i].out)
            CHECK_STR(wb_ip_text(&ip, text), wb_cstr(cases[i].out));
    }
    struct wb_ip ip;
    CHECK(!wb_ip_parse(wb_str("1.2.3.4\0", 8), &ip));
}

TEST(ip_loopback)
{
    static const struct {
        const char *in;
        bool is;
    } cases[] = {{"127.0.0.1", true},  {"127.255.1.2", true}, {"::1", true},       {"::ffff:127.0.0.1", true},
                 {"128.0.0.1", false}, {"::2", false},        {"10.0.0.1", false}, {"::127.0.0.1", false}};
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_ip ip;
        test_note("'%s'", cases[i].in);
        CHECK(wb_ip_parse(wb_cstr(cases[i].in), &ip));
        CHECK_INT(wb_ip_loopback(&ip), cases[i].is);
    }
}

TEST(ip_networks)
{
    static const struct {
        const char *net, *in, *out;
    } cases[] = {
        {"127.0.0.1", "127.0.0.1", "127.0.0.2"},
        {"127.0.0.1", "::ffff:127.0.0.1", "::1"},
        {"10.0.0.0/8", "10.255.255.255", "11.0.0.0"},
        {"10.0.0.0/8", "10.0.0.0", "9.255.255.255"},
        {"172.16.0.0/12", "172.31.255.255", "172.32.0.0"},
        {"192.168.1.4/30", "192.168.1.7", "192.168.1.8"},
        {"192.168.1.5/32", "192.168.1.5", "192.168.1.4"},
        {"0.0.0.0/0", "8.8.8.8", "::1"},
        {"0.0.0.0/1", "127.255.255.255", "128.0.0.0"},
        {"::/0", "8.8.8.8", NULL},
        {"::1", "::1", "::2"},
        {"2001:db8::/32", "2001:db8:ffff::1", "2001:db9::"},
        {"fc00::/7", "fdff::1", "fe00::"},
        {"2001:db8::8/125", "2001:db8::f", "2001:db8::10"},
        {"2001:db8::1/128", "2001:db8::1", "2001:db8::"},
        {"::ffff:10.0.0.0/104", "10.1.1.1", "11.0.0.0"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_network net;
        struct wb_ip ip;
        struct upp_err err = {0};
        test_note("%s", cases[i].net);
        CHECK_INT(wb_network_parse(wb_cstr(cases[i].net), &net, &err), 0);
        CHECK(wb_ip_parse(wb_cstr(cases[i].in), &ip) && wb_network_has(&net, &ip));
        if (cases[i].out)
            CHECK(wb_ip_parse(wb_cstr(cases[i].out), &ip) && !wb_network_has(&net, &ip));
    }
}

TEST(ip_networks_that_are_none)
{
    static const struct {
        const char *net, *why;
    } cases[] = {
        {"", "'' is no IP address or network (as 127.0.0.1 or 10.0.0.0/8)"},
        {"proxy", "'proxy' is no IP address or network (as 127.0.0.1 or 10.0.0.0/8)"},
        {"/8", "'/8' is no IP address or network (as 127.0.0.1 or 10.0.0.0/8)"},
        {"10.0.0.0/", "'10.0.0.0/': the number after the slash is 0 to 32"},
        {"10.0.0.0/33", "'10.0.0.0/33': the number after the slash is 0 to 32"},
        {"10.0.0.0/-1", "'10.0.0.0/-1': the number after the slash is 0 to 32"},
        {"10.0.0.0/8/8", "'10.0.0.0/8/8': the number after the slash is 0 to 32"},
        {"::/129", "'::/129': the number after the slash is 0 to 128"},
        {"10.0.0.1/8", "'10.0.0.1/8' has bits after its prefix: the network is 10.0.0.0/8"},
        {"2001:db8::1/32", "'2001:db8::1/32' has bits after its prefix: the network is 2001:db8::/32"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wb_network net;
        struct upp_err err = {0};
        CHECK_INT(wb_network_parse(wb_cstr(cases[i].net), &net, &err), -UPP_EINVALID);
        CHECK_STR(wb_cstr(err.msg), wb_cstr(cases[i].why));
    }
}
