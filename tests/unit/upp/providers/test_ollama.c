/* What talk files cannot say of the Ollama adapter. covers: UPP-13e */
#include "base/defs.h"
#include "base/str.h"
#include "support/reader.h"
#include "support/test.h"

static const struct upp__vendor local = {.adapter = &upp__ollama,
                                         .provider = "ollama",
                                         .model = UPP_STR_INIT("llama3.2"),
                                         .base_url = UPP_STR_INIT("http://127.0.0.1:11434")};

/* covers: UPP-15/2 */
TEST(ollama_needs_no_key)
{
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("Hi")};
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list[] = {&m};
    struct upp_request req = {.messages = list, .n_messages = 1};
    struct upp_err err = {0};
    WB_CLEANUP(writing_done) struct writing w = {0};
    w.arena = (struct wb_arena)WB_ARENA(1 << 20);
    w.out = (struct upp__outgoing){.arena = &w.arena, .headers = w.headers, .body = WB_BUF(1 << 20)};
    CHECK(upp__ollama.write(&local, &req, (struct upp_str){0}, &w.out, &err) == 0);
    CHECK_INT(w.out.n_headers, 1); /* the type of the content */
    CHECK(!(upp__ollama.can & (UPP_CAN_AUDIO | UPP_CAN_VIDEO)));
}

TEST(ollama_an_image_that_is_empty_is_refused)
{
    static const struct upp_media medium = {.source = UPP_SOURCE_BASE64, .mime = UPP_STR_INIT("image/png")};
    struct upp_part parts[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("Look")},
                               {.kind = UPP_PART_IMAGE, .media = &medium}};
    struct upp_message m = {.role = UPP_ROLE_USER, .parts = parts, .n_parts = 2};
    const struct upp_message *list[] = {&m};
    struct upp_request req = {.messages = list, .n_messages = 1};
    struct upp_err err = {0};
    WB_CLEANUP(writing_done) struct writing w;
    CHECK_INT(writing_write(&w, &local, &req, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("message 0, part 1 (image): there is nothing in it"));
}

TEST(ollama_ids_have_a_limit)
{
    WB_CLEANUP(reading_done) struct reading g;
    struct upp_err err = {0};
    struct upp_str call = UPP_STR("{\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":{}}}]}}");
    CHECK(reading_init(&g, &upp__ollama, "llama3.2"));
    g.r.own_ids.max = 60;
    CHECK(reading_event(&g, call, &err) == 0);
    reading_taken(&g);
    CHECK_INT(reading_event(&g, call, &err), -UPP_ELIMIT);
}

/* What follows the end is not even read. */
TEST(ollama_nothing_follows_the_end)
{
    WB_CLEANUP(reading_done) struct reading g;
    struct upp_err err = {0};
    CHECK(reading_init(&g, &upp__ollama, "llama3.2"));
    CHECK(upp__eof(&g.r, &err) == -UPP_ENET);
    CHECK(reading_event(&g, UPP_STR("{\"done\":true}"), &err) == 0);
    CHECK(g.r.ended && g.r.queue.n == 2); /* OPEN, END */
    CHECK(reading_event(&g, UPP_STR("rubbish"), &err) == 0);
    CHECK(g.r.queue.n == 2 && upp__eof(&g.r, &err) == 0);
}
