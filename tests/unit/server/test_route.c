#include "server/http/route.h"

#include "base/defs.h"
#include "support/test.h"

static int nothing(struct sv_exchange *x, struct upp_err *err)
{
    (void)x, (void)err;
    return 0;
}

static const struct sv_route one[] = {{SV_GET, "/", nothing, 0, 0}, {SV_GET | SV_POST, "/a", nothing, 0, 0}};
static const struct sv_route two[] = {
    {SV_POST, "/a/{x}", nothing, 0, 0}, {SV_DELETE, "/a/{x}", nothing, 0, 0}, {SV_GET, "/a/{x}/b/{y}", nothing, 0, 0}};
static const struct sv_door first = {.name = "first", .prefix = "", .routes = one, .n_routes = WB_LEN(one)};
static const struct sv_door second = {.name = "second", .prefix = "/a/", .routes = two, .n_routes = WB_LEN(two)};
static const struct sv_door *const doors[] = {&first, &second, NULL};

/* Doors that stand under agents are found below /agents/NAME too; others are not. */
TEST(route_under_an_agent)
{
    static const struct sv_door below = {
        .name = "below", .prefix = "/a/", .routes = two, .n_routes = WB_LEN(two), .agents = true};
    static const struct sv_door *const some[] = {&first, &below, NULL};
    static const struct {
        uint8_t method;
        const char *path, *agent, *x;
        int status;
    } cases[] = {
        {SV_POST, "/agents/red/a/7", "red", "7", 0},
        {SV_POST, "/agents/r%20d/a/7", "r%20d", "7", 0},
        {SV_POST, "/a/7", "", "7", 0},
        {SV_GET, "/agents/red/a", "", "", 404}, /* of another door */
        {SV_GET, "/agents/red/", "", "", 404},
        {SV_GET, "/agents//a/7", "", "", 404},
        {SV_GET, "/agents/red", "", "", 404},
        {SV_PUT, "/agents/red/a/7", "", "", 405},
        {SV_POST, "/agents/x/agents/y/a/7", "", "", 404},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_match m;
        test_note("%s", cases[i].path);
        sv_route_find(some, cases[i].method, wb_cstr(cases[i].path), &m);
        CHECK_INT(m.status, cases[i].status);
        CHECK(wb_str_eq(m.agent, wb_cstr(cases[i].agent)) && wb_str_eq(m.params[0], wb_cstr(cases[i].x)));
    }
}

TEST(route_finds)
{
    static const struct {
        uint8_t method;
        const char *path;
        const struct sv_route *route;
        int status;
        const char *x, *y, *allow;
    } cases[] = {
        {SV_GET, "/", &one[0], 0, "", "", ""},
        {SV_HEAD, "/", &one[0], 0, "", "", ""},
        {SV_POST, "/", NULL, 405, "", "", "GET, HEAD"},
        {SV_POST, "/a", &one[1], 0, "", "", ""},
        {SV_PUT, "/a", NULL, 405, "", "", "GET, HEAD, POST"},
        {SV_OTHER, "/a", NULL, 405, "", "", "GET, HEAD, POST"},
        {SV_POST, "/a/7", &two[0], 0, "7", "", ""},
        {SV_DELETE, "/a/7", &two[1], 0, "7", "", ""},
        {SV_GET, "/a/7", NULL, 405, "", "", "POST, DELETE"},
        {SV_GET, "/a/7/b/%41", &two[2], 0, "7", "%41", ""},
        {SV_GET, "/a/7/c/8", NULL, 404, "", "", ""},
        {SV_GET, "/a/7/b/8/", NULL, 404, "", "", ""},
        {SV_GET, "/a//b/8", NULL, 404, "", "", ""},
        {SV_GET, "/a/", NULL, 404, "", "", ""},
        {SV_GET, "//a", NULL, 404, "", "", ""},
        {SV_GET, "/A", NULL, 404, "", "", ""},
        {SV_GET, "/{x}", NULL, 404, "", "", ""},
        {SV_GET, "", NULL, 404, "", "", ""},
        {SV_OPTIONS, "*", NULL, 404, "", "", ""},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct sv_match m;
        char allow[64];
        test_note("%s", cases[i].path);
        sv_route_find(doors, cases[i].method, wb_cstr(cases[i].path), &m);
        CHECK(m.route == cases[i].route);
        CHECK_INT(m.status, cases[i].status);
        CHECK(wb_str_eq(m.params[0], wb_cstr(cases[i].x)) && wb_str_eq(m.params[1], wb_cstr(cases[i].y)));
        CHECK_STR(sv_route_allow(m.allow, allow), wb_cstr(cases[i].allow));
    }
    char all[64];
    CHECK_STR(sv_route_allow(0xff, all), UPP_STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"));
}

TEST(route_decodes)
{
    static const struct {
        const char *in, *out; /* NULL: refused */
        bool plus;
    } cases[] = {
        {"", "", false},       {"a", "a", false},    {"%41%62c", "Abc", false},
        {"a+b", "a+b", false}, {"a+b", "a b", true}, {"%c3%A9", "\xc3\xa9", false},
        {"%", NULL, false},    {"%4", NULL, false},  {"%4g", NULL, false},
        {"%%41", NULL, false}, {"%00", NULL, false}, {"a%2fb", "a/b", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(4096);
        struct upp_str got;
        struct upp_err err;
        test_note("%s", cases[i].in);
        int r = sv_decode(&a, wb_cstr(cases[i].in), cases[i].plus, &got, &err);
        if (r == -UPP_ENOMEM)
            CHECK(r == 0);
        CHECK_INT(r, cases[i].out ? 0 : -UPP_EINVALID);
        if (cases[i].out)
            CHECK_STR(got, wb_cstr(cases[i].out));
    }
}

static void donep(struct sv_exchange *x)
{
    wb_arena_done(&x->arena);
}

TEST(route_reads_queries)
{
    struct sv_http h = {.query = UPP_STR_INIT("limit=5&a%20b=c+d&&e=&f&limit=6&x==y")};
    WB_CLEANUP(donep) struct sv_exchange x = {.request = &h, .arena = WB_ARENA(4096)};
    struct upp_str got;
    struct upp_err err;
    CHECK_INT(sv_query(&x, UPP_STR("a b"), &got, &err), 1);
    CHECK_STR(got, UPP_STR("c d"));
    CHECK_INT(sv_query(&x, UPP_STR("e"), &got, &err), 1);
    CHECK_STR(got, UPP_STR(""));
    CHECK_INT(sv_query(&x, UPP_STR("f"), &got, &err), 1);
    CHECK_STR(got, UPP_STR(""));
    CHECK_INT(sv_query(&x, UPP_STR("x"), &got, &err), 1);
    CHECK_STR(got, UPP_STR("=y"));
    CHECK_INT(sv_query(&x, UPP_STR("none"), &got, &err), 0);
    CHECK_INT(sv_query(&x, UPP_STR("limit"), &got, &err), -UPP_EINVALID);
    h.query = (struct upp_str){NULL, 0};
    CHECK_INT(sv_query(&x, UPP_STR("limit"), &got, &err), 0);
}

/* The error of an unknown path has the form of the door with the longest prefix. */
TEST(route_door_of_a_path)
{
    static const struct sv_door root = {.name = "root", .prefix = "/"}, deep = {.name = "deep", .prefix = "/a/b"};
    static const struct sv_door *const all[] = {&first, &root, &deep, &second, NULL};
    CHECK(sv_door_of(all, UPP_STR("/x")) == &root);
    CHECK(sv_door_of(all, UPP_STR("/a/x")) == &second);
    CHECK(sv_door_of(all, UPP_STR("/a/bc")) == &deep);
    CHECK(!sv_door_of(all, UPP_STR("*")));
    struct sv_match m;
    sv_route_find(doors, SV_PUT, UPP_STR("/a/7"), &m);
    CHECK(m.status == 405 && m.door == &second);
    sv_route_find(doors, SV_GET, UPP_STR("/"), &m);
    CHECK(m.route == &one[0] && m.door == &first);
}
