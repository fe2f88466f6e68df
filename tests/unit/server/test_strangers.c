#include "server/http/client.h"

#include <stdio.h>
#include <string.h>

#include "base/hooks.h"
#include "support/test.h"

static struct upp_str address(unsigned i, char out[WB_IP_TEXT])
{
    (void)snprintf(out, WB_IP_TEXT, "10.0.%u.%u", i / 256, i % 256);
    return wb_cstr(out);
}

TEST(strangers_are_counted_by_address)
{
    struct sv_strangers *t = wb_calloc(1, sizeof *t);
    uint64_t now = 5000;
    if (!t)
        return;
    for (int i = 0; i < SV_STRANGER_REQUESTS; i++)
        CHECK_INT(sv_strangers_count(t, UPP_STR("192.0.2.1"), now), 0);
    CHECK_INT(sv_strangers_count(t, UPP_STR("192.0.2.1"), now), 1000);
    CHECK_INT(sv_strangers_count(t, UPP_STR("192.0.2.2"), now), 0);
    CHECK_INT(sv_strangers_count(t, UPP_STR("192.0.2.1"), now + 1000), 0);
    CHECK_INT(sv_strangers_count(t, UPP_STR("192.0.2.1"), now + 1000), 1000);
    CHECK_INT(sv_strangers_count(t, UPP_STR(""), now), 0); /* not known */

    /* A host has a network of 64 bits. */
    for (int i = 0; i < SV_STRANGER_REQUESTS; i++)
        CHECK_INT(sv_strangers_count(t, i % 2 ? UPP_STR("2001:db8::1") : UPP_STR("2001:db8::ffff:1"), now), 0);
    CHECK_INT(sv_strangers_count(t, UPP_STR("2001:db8::5"), now), 1000);
    CHECK_INT(sv_strangers_count(t, UPP_STR("2001:db8:0:1::5"), now), 0);
    wb_free(t);
}

TEST(strangers_are_bounded)
{
    struct sv_strangers *t = wb_calloc(1, sizeof *t);
    char text[WB_IP_TEXT];
    uint64_t now = 5000;
    if (!t)
        return;
    for (unsigned i = 0; i < SV_STRANGERS_MAX; i++)
        CHECK_INT(sv_strangers_count(t, address(i, text), now), 0);
    for (unsigned i = 0; i < SV_STRANGER_REQUESTS; i++) /* share what is left */
        CHECK_INT(sv_strangers_count(t, address(2000 + i, text), now), 0);
    CHECK_INT(sv_strangers_count(t, address(3000, text), now), 1000);
    CHECK_INT(sv_strangers_count(t, address(7, text), now), 0);          /* has its row */
    CHECK_INT(t->rows[SV_STRANGERS_MAX].requests, SV_STRANGER_REQUESTS); /* all but the first, which was told */

    /* A row is another's when its minute is over and its sum is told. */
    now += SV_STRANGERS_MS;
    CHECK_INT(t->rows[7].requests, 1);
    CHECK_INT(sv_strangers_count(t, address(3001, text), now), 0);
    CHECK_INT(t->rows[0].requests, 0);
    CHECK(wb_str_eq(wb_ip_text(&t->rows[0].ip, text), UPP_STR("10.0.11.185")));
    sv_strangers_tell(t, now);
    CHECK_INT(t->rows[7].requests, 0);
    CHECK_INT(t->rows[SV_STRANGERS_MAX].requests, 0);
    CHECK_INT(sv_strangers_count(t, address(3001, text), now), 0);
    CHECK_INT(t->rows[0].requests, 1); /* not told again within the minute */
    sv_strangers_tell(t, now + 1);
    CHECK_INT(t->rows[0].requests, 1);
    sv_strangers_tell(t, UINT64_MAX);
    CHECK_INT(t->rows[0].requests, 0);
    wb_free(t);
}
