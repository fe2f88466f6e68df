/* AITP's members and states: who is who, what they share, and every move in every state. */
#include "dialects/aitp/members.h"

#include "json/read.h"
#include "support/test.h"

enum { ROOM = 1 << 20 };

/* Every (state, move): the legal ones, and all others are refused. */
TEST(dialect_aitp_every_illegal_move_is_refused)
{
    static const struct {
        uint8_t state, move, to;
    } legal[] = {
        {WD_AITP_OPEN, WD_AITP_ASKED_AGAIN, WD_AITP_SUPERSEDED}, {WD_AITP_OPEN, WD_AITP_DECIDES, WD_AITP_DECIDED},
        {WD_AITP_OPEN, WD_AITP_ANSWERS, WD_AITP_ANSWERED},       {WD_AITP_QUOTED, WD_AITP_IS_PAID, WD_AITP_PAID},
        {WD_AITP_QUOTED, WD_AITP_EXPIRES, WD_AITP_EXPIRED},      {WD_AITP_PAID, WD_AITP_PENDS, WD_AITP_PENDING},
        {WD_AITP_PAID, WD_AITP_SUCCEEDS, WD_AITP_SUCCESS},       {WD_AITP_PAID, WD_AITP_FAILS, WD_AITP_FAILURE},
        {WD_AITP_PENDING, WD_AITP_PENDS, WD_AITP_PENDING},       {WD_AITP_PENDING, WD_AITP_SUCCEEDS, WD_AITP_SUCCESS},
        {WD_AITP_PENDING, WD_AITP_FAILS, WD_AITP_FAILURE},       {WD_AITP_EXPIRED, WD_AITP_FAILS, WD_AITP_FAILURE},
    };
    size_t allowed = 0;
    for (uint8_t s = 0; s <= WD_AITP_STATES; s++)
        for (unsigned m = 0; m <= WD_AITP_MOVES; m++) {
            uint8_t want = 0;
            for (size_t i = 0; i < WB_LEN(legal); i++)
                if (legal[i].state == s && legal[i].move == m)
                    want = legal[i].to;
            test_note("state %u, move %u", s, m);
            CHECK_INT(wd_aitp_after(s, (enum wd_aitp_move)m), want);
            allowed += want != 0;
        }
    CHECK_INT(allowed, WB_LEN(legal));
    for (uint8_t s = 1; s < WD_AITP_STATES; s++) /* settled is settled, and every state has a name */
        CHECK(wd_aitp_state_name(s)[0] != 0);
    CHECK(wd_aitp_state_name(0)[0] == 0 && wd_aitp_state_name(WD_AITP_STATES)[0] == 0);
}

static yyjson_val *read(struct wb_arena *a, const char *text)
{
    yyjson_val *v = NULL;
    return wj_read(a, wb_cstr(text), NULL, &v, NULL) < 0 ? NULL : v; /* then nothing is found in it */
}

#define URL(name, version) "https://aitp.dev/capabilities/" name "/v" version "/schema.json"

/* covers: AITP-6/2 */
TEST(dialect_aitp_shares_what_all_have)
{
    static const struct {
        const char *actors, *shared;
    } cases[] = {
        {"[]", "[]"},
        {"[{\"id\":\"a\"}]", "[]"},
        {"[{\"id\":\"a\",\"capabilities\":[\"" URL(
             "x", "1.2.3") "\"]},{\"id\":\"b\",\"capabilities\":[{\"schema\":\"" URL("x", "1.0.0") "\"}]}]",
         "[{\"schema\":\"" URL("x", "1.2.3") "\",\"name\":\"x\",\"major\":1}]"},
        {"[{\"id\":\"a\",\"capabilities\":[\"" URL("x", "1.0.0") "\"]},{\"id\":\"b\",\"capabilities\":[\"" URL(
             "x", "2.0.0") "\"]}]",
         "[]"},
        {"[{\"id\":\"a\",\"capabilities\":[\"" URL("x", "1.0.0") "\",\"" URL("x", "2.0.0") "\",\"" URL(
             "x", "2.1.0") "\",\"" URL("x", "3.0.0") "\"]},{\"id\":\"b\",\"capabilities\":["
                                                     "\"" URL("x", "2.9.0") "\",\"" URL("x", "1.0.0") "\""
                                                                                                      "]}"
                                                                                                      "]",
         "[{\"schema\":\"" URL("x", "2.0.0") "\",\"name\":\"x\",\"major\":2}]"},
        {"[{\"id\":\"a\",\"capabilities\":[\"urn:u\",\"urn:v\"]},{\"id\":\"b\",\"capabilities\":[\"urn:v\"]}]",
         "[{\"schema\":\"urn:v\"}]"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
        struct wj_writer w;
        wj_writer_init(&w, &out, NULL);
        wd_aitp_write_shared(&w, read(&a, cases[i].actors));
        CHECK_INT(wj_writer_check(&w), 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(cases[i].shared));
    }
}

/* covers: AITP-3/1, AITP-12/3 */
TEST(dialect_aitp_members_and_their_roles)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(ROOM);
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(ROOM);
    struct wj_writer w;
    struct wd_aitp_members m = wd_aitp_members_of(NULL);
    CHECK(!m.actors);
    m = wd_aitp_members_of(read(&a, "{\"actors\":[{\"id\":\"a\",\"x\":1,\"capabilities\":[\"u\",{\"schema\":\"v\"}]},"
                                    "{\"id\":\"b\",\"client_id\":\"k\"},{\"id\":\"c\"}],\"weft\":{\"user\":\"b\"}}"));
    CHECK_STR(m.creator, UPP_STR("b"));
    CHECK_INT(wd_aitp_role(&m, UPP_STR("b")), UPP_ROLE_USER);
    CHECK_INT(wd_aitp_role(&m, UPP_STR("a")), UPP_ROLE_ASSISTANT);
    CHECK(wd_aitp_member(&m, UPP_STR("c")) && !wd_aitp_member(&m, UPP_STR("d")) && !wd_aitp_member(&m, UPP_STR("")));
    CHECK(wd_aitp_member_of_key(m.actors, UPP_STR("k")) == wd_aitp_member(&m, UPP_STR("b")));
    CHECK(!wd_aitp_member_of_key(m.actors, (struct upp_str){NULL, 0}));
    CHECK_STR(wd_aitp_other(&m, UPP_STR("c")), UPP_STR("c"));
    CHECK_STR(wd_aitp_other(&m, UPP_STR("b")), UPP_STR("a")); /* not the creator */
    CHECK_STR(wd_aitp_other(&m, UPP_STR("z")), UPP_STR("a"));
    wj_writer_init(&w, &out, NULL);
    wd_aitp_put_member(&w, wd_aitp_member(&m, UPP_STR("a")));
    wd_aitp_put_member(&w, wd_aitp_member(&m, UPP_STR("c")));
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK_STR(wb_buf_str(&out),
              UPP_STR("{\"id\":\"a\",\"x\":1,\"capabilities\":[{\"schema\":\"u\"},{\"schema\":\"v\"}]},"
                      "{\"id\":\"c\",\"capabilities\":[]}"));
}

TEST(dialect_aitp_mentions_stand_at_the_start)
{
    static const char *const cases[][2] = {{"@b hi", "b"}, {"@b, hi", "b"},  {"@a.near: hi", "a.near"},
                                           {"@b", "b"},    {"hello @b", ""}, {"@ b", ""},
                                           {"@", ""},      {"", ""}};
    for (size_t i = 0; i < WB_LEN(cases); i++)
        CHECK(wb_str_eq(wd_aitp_mention(wb_cstr(cases[i][0])), wb_cstr(cases[i][1])));
}
