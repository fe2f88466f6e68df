/* Which entries of a thread are messages of it, and whose. */
#include <string.h>

#include "dialects/assistants/objects.h"
#include "server/doors/objects/message.h"
#include "support/test.h"

static struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR_INIT("hello")};

TEST_WITH(server_objects_shows_what_was_said_to_all, .no_torture = "nothing is allocated")
{
    static const struct {
        uint8_t kind, audience, role;
        bool parts, shown;
    } cases[] = {
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_ALL, UPP_ROLE_USER, true, true},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_ALL, UPP_ROLE_ASSISTANT, true, true},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_ALL, UPP_ROLE_ASSISTANT, false, false},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_ALL, UPP_ROLE_TOOL, true, false},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_RUN, UPP_ROLE_USER, true, false},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_RUN, UPP_ROLE_ASSISTANT, true, false},
        {WM_ENTRY_MESSAGE, WM_AUDIENCE_MODEL, UPP_ROLE_USER, true, false},
        {WM_ENTRY_EVENT, WM_AUDIENCE_ALL, 0, false, false},
        {WM_ENTRY_TURN, WM_AUDIENCE_ALL, 0, false, false},
        {WM_ENTRY_REPAIR, WM_AUDIENCE_ALL, UPP_ROLE_TOOL, true, false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct wl_line line = {0};
        line.entry.kind = cases[i].kind;
        line.entry.audience = cases[i].audience;
        line.entry.message.role = cases[i].role;
        line.entry.message.parts = &part;
        line.entry.message.n_parts = cases[i].parts;
        test_note("case %zu", i);
        CHECK(asst_is_visible(&line.entry) == cases[i].shown);
    }
}

TEST(server_objects_name_the_agent_that_spoke)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 16);
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 16);
    struct wl_line line = {0};
    struct upp_err err = {0};
    struct wj_writer w;
    line.entry = (struct wm_entry){.kind = WM_ENTRY_MESSAGE,
                                   .audience = WM_AUDIENCE_ALL,
                                   .who = UPP_STR("travel"),
                                   .message = {.role = UPP_ROLE_ASSISTANT, .parts = &part, .n_parts = 1}};
    wj_writer_init(&w, &out, &err);
    CHECK_INT(sv_write_message(&w, &a, (struct wb_uuid){0}, &line, NULL, &err), 0);
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"assistant_id\":\"travel\""), 0) != SIZE_MAX);

    wb_buf_clear(&out); /* what another agent is asked is the user's word, whoever hears it */
    line.entry.message.role = UPP_ROLE_USER;
    wj_writer_init(&w, &out, &err);
    CHECK_INT(sv_write_message(&w, &a, (struct wb_uuid){0}, &line, NULL, &err), 0);
    CHECK_INT(wj_writer_check(&w), 0);
    CHECK(wb_str_find(wb_buf_str(&out), UPP_STR("\"assistant_id\":null"), 0) != SIZE_MAX);
}
