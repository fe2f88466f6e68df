#include "server/http/net.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"
#include "server/talk.h"

TEST(net_addresses)
{
    static const struct {
        const char *where, *url; /* NULL: refused */
        bool loopback, any;
    } cases[] = {
        {"127.0.0.1:8787", "http://127.0.0.1:8787", true, false},
        {"localhost:1", "http://127.0.0.1:1", true, false},
        {"127.1.2.3:1", "http://127.1.2.3:1", true, false},
        {"[::1]:80", "http://[::1]:80", true, false},
        {"0.0.0.0:80", "http://0.0.0.0:80", false, true},
        {"[::]:80", "http://[::]:80", false, true},
        {"10.0.0.1:65535", "http://10.0.0.1:65535", false, false},
        {"unix:/tmp/x", "unix:/tmp/x", true, false},
        {"", NULL, false, false},
        {"127.0.0.1", NULL, false, false},
        {":80", NULL, false, false},
        {"127.0.0.1:65536", NULL, false, false},
        {"127.0.0.1:x", NULL, false, false},
        {"127.0.0.1:", NULL, false, false},
        {"::1:80", NULL, false, false},
        {"[::1]", NULL, false, false},
        {"[127.0.0.1]:80", NULL, false, false},
        {"example.org:80", NULL, false, false},
        {"0177.0.0.1:80", NULL, false, false},
        {"unix:", NULL, false, false},
        {"unix:/0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"
         "01234567890",
         NULL, false, false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_listener l;
        struct upp_err err;
        test_note("%s", cases[i].where);
        CHECK_INT(sv_listen_parse(wb_cstr(cases[i].where), &l, &err), cases[i].url ? 0 : -UPP_EINVALID);
        if (!cases[i].url)
            continue;
        CHECK_STR(wb_cstr(l.url), wb_cstr(cases[i].url));
        CHECK(l.loopback == cases[i].loopback && l.any == cases[i].any);
    }
}

static void closep(struct sv_listener *l)
{
    sv_listener_close(l);
}

TEST(net_port_zero_is_a_free_one)
{
    WB_CLEANUP(closep) struct sv_listener a = {.fd = -1}, b = {.fd = -1};
    struct upp_err err;
    CHECK(sv_listen(UPP_STR("127.0.0.1:0"), &a, &err) == 0);
    CHECK(!wb_str_ends(wb_cstr(a.url), UPP_STR(":0")));
    CHECK(sv_listen(wb_str(a.url + 7, strlen(a.url + 7)), &b, &err) == -UPP_EBUSY);
}

TEST(net_unix_sockets_are_ours_alone)
{
    WB_CLEANUP(closep) struct sv_listener l = {.fd = -1}, other = {.fd = -1};
    struct upp_err err;
    struct stat st;
    char where[256];
    (void)snprintf(where, sizeof where, "unix:%s/s", test_folder());
    CHECK(sv_listen(wb_cstr(where), &l, &err) == 0);
    CHECK(stat(l.path, &st) == 0 && S_ISSOCK(st.st_mode) && (st.st_mode & 0777) == 0600);
    CHECK(sv_listen(wb_cstr(where), &other, &err) == -UPP_EBUSY); /* somebody lives there */
    test_closep(&l.fd);                                           /* as if it had died */
    CHECK(sv_listen(wb_cstr(where), &other, &err) == 0);
    sv_listener_close(&other);
    CHECK(stat(l.path, &st) != 0);
}
