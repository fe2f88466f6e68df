#include "server/http/trace.h"

#include "base/defs.h"
#include "support/test.h"

#define TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN  "00f067aa0ba902b7"

TEST(trace_takes_what_is_valid)
{
    static const struct {
        const char *header;
        bool good;
    } cases[] = {
        {"00-" TRACE "-" SPAN "-01", true},
        {"00-" TRACE "-" SPAN "-00", true},
        {"cc-" TRACE "-" SPAN "-01", true},
        {"cc-" TRACE "-" SPAN "-01-what-comes-later", true},
        {"00-" TRACE "-" SPAN "-01-more", false},
        {"cc-" TRACE "-" SPAN "-01.more", false},
        {"ff-" TRACE "-" SPAN "-01", false},
        {"00-00000000000000000000000000000000-" SPAN "-01", false},
        {"00-" TRACE "-0000000000000000-01", false},
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", false},
        {"00-" TRACE "-" SPAN "-0x", false},
        {"00-" TRACE "-" SPAN "-1", false},
        {"00_" TRACE "-" SPAN "-01", false},
        {"00-" TRACE "." SPAN "-01", false},
        {"", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_trace t;
        test_note("%s", cases[i].header);
        bool good = sv_trace_take(&t, wb_cstr(cases[i].header));
        CHECK(good == cases[i].good);
        CHECK_STR(wb_cstr(t.id), good ? UPP_STR(TRACE) : UPP_STR(""));
        if (!good)
            CHECK(!t.parent[0]);
    }
}

/* The trace and the sampled flag go on; the span is ours. */
TEST(trace_has_a_span_of_its_own)
{
    struct sv_trace t, u;
    CHECK(sv_trace_take(&t, UPP_STR("00-" TRACE "-" SPAN "-ff")));
    CHECK(sv_trace_take(&u, UPP_STR("00-" TRACE "-" SPAN "-02")));
    CHECK_INT(strlen(t.parent), 55);
    CHECK(wb_str_starts(wb_cstr(t.parent), UPP_STR("00-" TRACE "-")));
    CHECK(wb_str_ends(wb_cstr(t.parent), UPP_STR("-01")) && wb_str_ends(wb_cstr(u.parent), UPP_STR("-00")));
    CHECK(memcmp(t.parent + 36, SPAN, 16) != 0 && memcmp(t.parent + 36, u.parent + 36, 16) != 0);
    CHECK(sv_trace_take(&u, wb_cstr(t.parent)));
}
