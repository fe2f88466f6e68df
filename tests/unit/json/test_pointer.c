#include "json/pointer.h"

#include "base/defs.h"
#include "base/utf8.h"
#include "json/read.h"
#include "support/test.h"

TEST(json_pointer_finds_every_value)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    yyjson_val *v;
    static const char *const want[] = {"",     "/a",    "/a",    "/b",        "/b",        "/b/0", "/b/1", "/b/1/0",
                                       "/b/2", "/b/2/", "/b/2/", "/b/2/~1~0", "/b/2/~1~0", "/c",   "/c"};
    CHECK(wj_read(&a, UPP_STR("{\"a\":1,\"b\":[2,[3],{\"\":4,\"/~\":[]}],\"c\":{}}"), NULL, &v, NULL) == 0);
    for (size_t i = 0; i < WB_LEN(want); i++) {
        char text[64];
        struct wj_pointer t;
        wj_pointer_init(&t, text, sizeof text);
        wj_pointer_find(&t, v, v + i);
        test_note("value %zu", i);
        CHECK_STR(wj_pointer_str(&t), wb_cstr(want[i]));
        CHECK(!t.cut);
    }
}

TEST(json_pointer_loses_its_front_when_too_long)
{
    char text[32];
    struct wj_pointer t;
    for (size_t n = 0; n < 100; n++) {
        wj_pointer_init(&t, text, sizeof text);
        for (size_t i = 0; i < n; i++)
            wj_pointer_name(&t, UPP_STR("\xc3\xa9\xe2\x82\xac"));
        wj_pointer_index(&t, 12345);
        struct upp_str s = wj_pointer_str(&t);
        test_note("%zu names: %s", n, text);
        CHECK(s.n < sizeof text && text[s.n] == 0 && wb_utf8_valid(s, NULL));
        CHECK(wb_str_ends(s, UPP_STR("/12345")));
        CHECK(t.cut == (n * 6 + 6 >= sizeof text) && wb_str_starts(s, t.cut ? UPP_STR("...") : UPP_STR("/")));
        CHECK(!t.cut || s.n > 24); /* what fits is shown */
    }
}

TEST(json_pointer_shows_names_of_any_bytes)
{
    char text[64];
    struct wj_pointer t;
    char name[300];
    wj_pointer_init(&t, text, sizeof text);
    wj_pointer_name(&t, UPP_STR("a\0b\n\x7f\xed\xa0\x80z~/"));
    CHECK_STR(wj_pointer_str(&t), UPP_STR("/a b  \xef\xbf\xbdz~0~1"));
    memset(name, 'x', sizeof name);
    for (size_t n = 0; n < sizeof name; n++) {
        wj_pointer_init(&t, text, sizeof text);
        wj_pointer_name(&t, wb_str(name, n));
        CHECK(t.n < sizeof text && text[t.n] == 0 && t.cut == (n + 1 >= sizeof text));
    }
    wj_pointer_init(&t, text, 32);
    wj_pointer_name(&t, UPP_STR("\xc3")); /* cut characters: never, but never out of bounds either */
    wj_pointer_name(&t, UPP_STR("\xf0\x9f\x98"));
    CHECK(t.n < 32);
}
