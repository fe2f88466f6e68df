/* A tenth dialect that follows docs/adding-a-dialect.md: what that page promises comes true. */
#include "dialects/convert.h"
#include "json/read.h"
#include "support/tenth.h"
#include "support/test.h"

enum { ROOM = 16 << 20 };

static int convert(const char *text, const struct wd_document_ops *from, const struct wd_document_ops *to,
                   struct wb_buf *out, struct wd_losses *losses, struct upp_err *err)
{
    WB_CLEANUP(wd_document_done) struct wd_document d = {0};
    int                                             r = wd_document_read(&d, from, wb_cstr(text), NULL, err);
    return r < 0 ? r : wd_document_write(&d, to, NULL, out, losses, err);
}

static const char *const chats[] = {
    "{\"chat\":[]}",
    "{\"topic\":\"t\",\"chat\":[{\"from\":\"user\",\"says\":\"hi\"},{\"from\":\"bot\",\"says\":\"hello\"}]}",
    "{\"chat\":[{\"from\":\"user\",\"says\":\"add\"},{\"from\":\"bot\",\"uses\":{\"id\":\"1\",\"tool\":\"add\","
    "\"with\":{"
    "\"a\":1.0}}},{\"from\":\"bot\",\"gave\":{\"id\":\"1\",\"is\":3}},{\"from\":\"other\",\"says\":\"three\"}]}",
    /* The order of members, unknown ones, others' values, lines that are none. */
    "{\"x\":{\"y\":[null]},\"chat\":[7,{\"says\":\"hi\",\"mood\":\":)\",\"from\":\"user\"},{\"from\":\"bot\"},{"
    "\"from\":3,"
    "\"says\":\"s\"},{\"from\":\"bot\",\"gave\":{\"id\":\"9\",\"failed\":true,\"is\":\"no\",\"z\":1e2}},{\"from\":"
    "\"user\","
    "\"uses\":{\"tool\":\"f\"}}],\"topic\":null}",
    "{\"chat\":[{\"from\":\"bot\",\"uses\":{\"tool\":\"f\"}},{\"from\":\"bot\",\"uses\":{\"id\":\"2\",\"tool\":\"f\","
    "\"with\":"
    "\"text\"}}],\"topic\":\"a\",\"topic\":\"b\"}",
};

TEST(dialect_tenth_comes_back)
{
    for (size_t i = 0; i < WB_LEN(chats); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf own = WB_BUF(ROOM), thread = WB_BUF(ROOM), back = WB_BUF(ROOM);
        struct upp_err                        err = {0};
        test_note("%s", chats[i]);
        CHECK(convert(chats[i], &tenth_dialect, &tenth_dialect, &own, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&own), wb_cstr(chats[i]));
        CHECK(convert(chats[i], &tenth_dialect, &wd_document_thread, &thread, NULL, &err) == 0);
        wb_buf_addc(&thread, 0);
        CHECK(!thread.failed && convert(thread.p, &wd_document_thread, &tenth_dialect, &back, NULL, &err) == 0);
        CHECK_STR(wb_buf_str(&back), wb_cstr(chats[i]));
    }
}

/* Through every dialect of the table: what was said, by whom and in which order. */
TEST(dialect_tenth_is_told_by_all)
{
    const struct wd_document_ops *other;
    static const char *chat = "{\"chat\":[{\"from\":\"user\",\"says\":\"add\"},{\"from\":\"bot\",\"says\":\"well\"},{"
                              "\"from\":\"bot\",\"uses\":{"
                              "\"id\":\"1\",\"tool\":\"add\",\"with\":{\"a\":1}}},{\"from\":\"bot\",\"gave\":{\"id\":"
                              "\"1\",\"is\":3}},{\"from\":"
                              "\"bot\",\"says\":\"three\"}]}";
    for (size_t i = 0; (other = wd_document_at(i)); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf           there = WB_BUF(ROOM), back = WB_BUF(ROOM);
        WB_CLEANUP(wd_document_done) struct wd_document d   = {0};
        struct upp_err                                  err = {0};
        test_note("%s", other->name);
        CHECK(convert(chat, &tenth_dialect, other, &there, NULL, &err) == 0);
        CHECK(wd_document_read(&d, other, wb_buf_str(&there),
                               UPP_OPTS(wd_convert_opts, .agent = UPP_STR("bot")), &err) == 0);
        CHECK(wd_document_write(&d, &tenth_dialect, NULL, &back, NULL, &err) == 0);
        size_t from = wb_str_find(wb_buf_str(&back), UPP_STR("\"chat\""), 0);
        CHECK(from < back.n);
        CHECK_STR(wb_str_sub(wb_buf_str(&back), from, SIZE_MAX), wb_str_sub(wb_cstr(chat), 1, SIZE_MAX));
    }
}

TEST(dialect_tenth_problems)
{
    static const struct {
        const char *document, *problems;
    } rules[] = {
        {"{\"chat\":[{\"from\":\"user\",\"says\":\"\"}]}", ""},
        {"{\"chat\":5}", "error /chat TENTH-1\n"},
        {"{\"chat\":[7]}", "error /chat/0 TENTH-1\n"},
        {"{\"chat\":[{\"says\":\"x\"}]}", "error /chat/0 TENTH-2\n"},
        {"{\"chat\":[{\"from\":\"a\"}]}", "error /chat/0 TENTH-3\n"},
        {"{\"chat\":[{\"from\":\"a\",\"says\":1}]}", "error /chat/0/says TENTH-4\n"},
        {"{\"chat\":[{\"from\":\"a\",\"gave\":{}}]}", "error /chat/0/gave TENTH-5\n"},
        {"{\"chat\":[{\"from\":\"a\",\"uses\":{\"tool\":\"f\"}}]}", "warning /chat/0/uses TENTH-6\n"},
    };
    for (size_t i = 0; i < WB_LEN(rules); i++) {
        WB_CLEANUP(wb_arena_done) struct wb_arena       a   = WB_ARENA(ROOM);
        WB_CLEANUP(wd_problems_done) struct wd_problems p   = {0};
        WB_CLEANUP(wb_buf_done) struct wb_buf           out = WB_BUF(ROOM);
        const struct wd_document_ops                   *ops;
        struct upp_err                                  err;
        test_note("%s", rules[i].document);
        CHECK(wd_document_validate(&tenth_dialect, wb_cstr(rules[i].document), &a, &p, &ops, &err) == 0);
        for (size_t k = 0; k < p.list.n; k++)
            wb_buf_addf(&out, "%s %.*s %s\n", p.list.p[k].severity == WD_ERROR ? "error" : "warning",
                        UPP_FMT(p.list.p[k].pointer), p.list.p[k].rule);
        CHECK_STR(wb_buf_str(&out), wb_cstr(rules[i].problems));
    }
}

/* What the chat cannot say, and what others cannot say of the chat. */
TEST(dialect_tenth_losses)
{
    static const struct {
        const char                   *document;
        const struct wd_document_ops *from, *to;
        const char                   *pointer, *what;
    } losses_of[] = {
        {"[{\"parts\":[{\"content\":\"hm\",\"part_kind\":\"thinking\"}],\"kind\":\"response\"}]", &wd_document_pydantic,
         &tenth_dialect, "entries/0", "a thought"},
        {"[{\"parts\":[{\"content\":\"a\",\"part_kind\":\"text\"},{\"content\":\"b\",\"part_kind\":\"text\"}],\"kind\":"
         "\"response\"}]",
         &wd_document_pydantic, &tenth_dialect, "entries/0", "which lines are one message"},
        {"{\"chat\":[{\"from\":\"user\",\"says\":\"x\",\"mood\":1}]}", &tenth_dialect, &wd_document_pydantic,
         "/chat/0/mood", "the number 1"},
    };
    for (size_t i = 0; i < WB_LEN(losses_of); i++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf       out    = WB_BUF(ROOM);
        WB_CLEANUP(wb_arena_done) struct wb_arena   a      = WB_ARENA(ROOM);
        WB_CLEANUP(wd_losses_done) struct wd_losses losses = {.a = &a};
        struct upp_err                              err;
        bool                                        found = false;
        test_note("%s", losses_of[i].what);
        CHECK(convert(losses_of[i].document, losses_of[i].from, losses_of[i].to, &out, &losses, &err) == 0);
        for (size_t k = 0; k < losses.list.n; k++)
            found |= wb_str_eq(losses.list.p[k].what, wb_cstr(losses_of[i].what)) &&
                     wb_str_eq(losses.list.p[k].pointer, wb_cstr(losses_of[i].pointer));
        CHECK(found);
    }
}
