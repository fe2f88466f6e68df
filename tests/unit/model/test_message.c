#include "support/rows.h"

#include "model/upp_json.h"
#include "support/test.h"

TEST(model_part_next_gives_the_views_of_a_message)
{
    struct upp_part parts[] = {{.kind = UPP_PART_REASONING}, {.kind = UPP_PART_CALL}, {.kind = UPP_PART_BINARY},
                               {.kind = UPP_PART_RESULT},    {.kind = UPP_PART_CALL}, {.kind = 200}};
    struct upp_message m = {.parts = parts, .n_parts = WB_LEN(parts)};
    CHECK(upp_part_next(&m, NULL, UPP_PARTS_CALLS) == &parts[1]);
    CHECK(upp_part_next(&m, &parts[1], UPP_PARTS_CALLS) == &parts[4]);
    CHECK(upp_part_next(&m, &parts[4], UPP_PARTS_CALLS) == NULL);
    CHECK(upp_part_next(&m, NULL, UPP_PARTS_CONTENT) == &parts[0]);
    CHECK(upp_part_next(&m, &parts[0], UPP_PARTS_CONTENT) == &parts[2]);
    CHECK(upp_part_next(&m, &parts[2], UPP_PARTS_CONTENT) == NULL);
    CHECK(upp_part_next(&m, NULL, UPP_PARTS_RESULTS) == &parts[3]);
    CHECK(upp_part_next(&m, NULL, 0) == NULL);
    CHECK(upp_part_next(&m, NULL, ~0u) == &parts[0] && upp_part_next(&m, &parts[4], ~0u) == NULL);
    CHECK(upp_part_next(&(struct upp_message){0}, NULL, ~0u) == NULL);
}

TEST(model_message_text_is_what_upp_says)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("one")},
                               {.kind = UPP_PART_REASONING, .text = UPP_STR("hidden")},
                               {.kind = UPP_PART_CALL, .text = UPP_STR("{}")},
                               {.kind = UPP_PART_TEXT},
                               {.kind = UPP_PART_TEXT, .text = UPP_STR("t\0wo")}};
    struct upp_part results[] = {{.kind = UPP_PART_RESULT, .text = UPP_STR("\"a\\n\\ud83d\"")},
                                 {.kind = UPP_PART_RESULT, .text = UPP_STR("{\"x\":1}")},
                                 {.kind = UPP_PART_RESULT, .text = UPP_STR("\"bro")},
                                 {.kind = UPP_PART_RESULT, .text = UPP_STR("null")}};
    struct upp_message m = {.role = UPP_ROLE_ASSISTANT, .parts = parts, .n_parts = WB_LEN(parts)};
    CHECK_STR(wm_message_text(&a, &m), UPP_STR("one\n\n\n\nt\0wo"));
    m = (struct upp_message){.role = UPP_ROLE_TOOL, .parts = results, .n_parts = WB_LEN(results)};
    CHECK_STR(wm_message_text(&a, &m), UPP_STR("a\n\xed\xa0\xbd\n\n{\"x\":1}\n\n\"bro\n\nnull"));
    m = (struct upp_message){.role = UPP_ROLE_USER};
    CHECK(wm_message_text(&a, &m).p && wm_message_text(&a, &m).n == 0);
    WB_CLEANUP(wb_arena_done) struct wb_arena tiny = WB_ARENA(8);
    CHECK(!wm_message_text(&tiny, &m).p);
}

TEST(model_message_copy_shares_nothing)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena to = WB_ARENA(1u << 20);
    for (uint64_t seed = 0; seed < 8; seed++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20), twin = WB_ARENA(1u << 20);
        struct rows g = {&a, seed}, h = {&twin, seed};
        struct wm_row row = {0};
        struct wm_entry e, f;
        struct upp_message copy;
        struct upp_err err = {0};
        rows_entry(&g, &row, &e);
        rows_entry(&h, &row, &f);
        CHECK(wb_arena_check(&a, &err) == 0 && wb_arena_check(&twin, &err) == 0);
        CHECK(wm_message_copy(&to, &e.message, &copy, &err) == 0);
        wb_arena_done(&a); /* what the copy still points to there, the sanitizer sees */
        CHECK(rows_message_differ(&copy, &f.message) == NULL);
    }
    struct upp_message m = {.role = 1, .id = UPP_STR("longer than the arena"), .n_parts = 0}, copy = {.role = 9};
    WB_CLEANUP(wb_arena_done) struct wb_arena tiny = WB_ARENA(8);
    CHECK_INT(wm_message_copy(&tiny, &m, &copy, NULL), -UPP_ELIMIT);
    CHECK_INT(copy.role, 9);
}
