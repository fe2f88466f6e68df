/* dialects/core/frame.c, open.c, calls.c, table.c: their limits. */
#include <stdio.h>
#include <string.h>

#include "dialects/core/open_message.h"
#include "dialects/core/dialect.h"
#include "dialects/core/frame.h"
#include "model/id.h"
#include "support/test.h"
#include "support/overcommit.h"

TEST(dialect_streams_by_name)
{
    CHECK(wd_stream_find(UPP_STR("uap")) == &wd_stream_uap);
    CHECK(wd_stream_find(UPP_STR("weft")) == &wd_stream_weft);
    CHECK(wd_stream_find(UPP_STR("ui")) == &wd_stream_ui);
    CHECK(wd_stream_find(UPP_STR("assistants")) == &wd_stream_assistants);
    CHECK(wd_stream_at(0) == &wd_stream_uap && !wd_stream_at(100));
    CHECK(!wd_stream_find(UPP_STR("u")));
    CHECK(!wd_stream_find((struct upp_str){0}));
    CHECK(strstr(wd_stream_ui.headers, "x-vercel-ai-ui-message-stream: v1\r\n"));
    CHECK_STR(wb_cstr(wd_stream_uap.headers), UPP_STR(""));
}

TEST(dialect_frames_stop_at_their_maximum)
{
    WB_CLEANUP(wd_frames_done) struct wd_frames f;
    struct upp_err err = {0};
    struct wd_out o;
    wd_frames_init(&f);
    wd_out_init(&o, &f, &err);
    for (int i = 0; i < WD_FRAMES_MAX; i++) {
        wd_frame_open(&o, UPP_STR("{"));
        wd_frame_close(&o, UPP_STR("}"));
    }
    CHECK_INT(wd_out_check(&o), 0);
    CHECK_INT(f.list.n, WD_FRAMES_MAX);
    wd_frame_open(&o, UPP_STR("{"));
    wd_frame_close(&o, UPP_STR("}"));
    CHECK_INT(wd_out_check(&o), -UPP_ELIMIT);
    CHECK(strstr(err.msg, "4096"));
    CHECK_INT(f.list.n, WD_FRAMES_MAX);
    wd_frames_clear(&f);
    wd_out_init(&o, &f, &err);
    wd_frame_open(&o, UPP_STR("{"));
    wd_frame_close(&o, UPP_STR("}"));
    CHECK_INT(wd_out_check(&o), 0);
    CHECK_INT(f.list.n, 1);
}

TEST(dialect_json_is_put_on_one_line)
{
    static const struct {
        const char *text, *want;
        bool json;
    } cases[] = {
        {"{\n \"a\" : [1.0, -0 ]\r\n}", "{\"a\":[1.0,-0]}", true},
        {"\"x\"", "\"x\"", true},
        {"{", "", false},
        {"", "", false},
        {"{} {}", "", false},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(wd_frames_done) struct wd_frames f;
        WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
        struct wd_out o;
        wd_frames_init(&f);
        wd_out_init(&o, &f, NULL);
        bool json = wd_json(&o, &a, wb_cstr(cases[i].text));
        CHECK(wd_out_check(&o) == 0);
        CHECK_INT(json, cases[i].json);
        CHECK_STR(wb_buf_str(&f.text), wb_cstr(cases[i].want));
    }
}

TEST(dialect_open_message_has_a_limit_of_parts)
{
    WB_CLEANUP(wd_open_done) struct wd_open m;
    struct upp_err err = {0};
    struct wd_part *p;
    struct wm_event ev = {.kind = WM_PART_OPEN, .number = 7, .part.index = WM_PARTS - 1};
    wd_open_init(&m);
    CHECK_INT(wd_open_part(&m, &ev, &p, &err), -UPP_EBUG);
    CHECK(wd_open_begin(&m, &ev, &err) == 0);
    CHECK(wd_open_part(&m, &ev, &p, &err) == 0);
    ev.part.index = WM_PARTS;
    CHECK_INT(wd_open_part(&m, &ev, &p, &err), -UPP_ELIMIT);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("event 7: a message has at most 16384 parts"));
    ev.part.index = WM_PARTS - 1;
    CHECK_INT(wd_open_part(&m, &ev, &p, &err), -UPP_EBUG);
}

static int keep_head(struct wd_open *m, const char *head, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(64);
    struct wd_out o = {.w.out = &b};
    struct wd_part p = {0};
    wb_buf_add(&b, wb_cstr(head));
    return wd_open_head(m, &p, &o, err);
}

TEST_WITH(dialect_open_message_has_a_limit_of_heads, .no_torture = "memory that is not ours")
{
    WB_CLEANUP(wd_open_done) struct wd_open m;
    struct upp_err err = {0};
    wd_open_init(&m);
    CHECK(test_vast_fill(&m.heads));
    int last = keep_head(&m, "x", &err), more = keep_head(&m, "y", &err);
    test_vast_empty(&m.heads);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
    CHECK(strstr(err.msg, "16777216"));
}

TEST_WITH(dialect_frames_have_a_limit_of_bytes, .no_torture = "memory that is not ours")
{
    WB_CLEANUP(wd_frames_done) struct wd_frames f;
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1 << 20);
    struct upp_err err = {0};
    struct wd_out o;
    wd_frames_init(&f);
    wd_out_init(&o, &f, &err);
    /* JSON that is longer is none, and not looked at. */
    CHECK(!wd_json(&o, &a, wb_str("{}", (size_t)WD_FRAMES_TEXT + 1)) && wd_out_check(&o) == 0 && !f.text.n);
    CHECK(test_vast_fill(&f.text));
    wd_frame_open(&o, UPP_STR("{"));
    int last = wd_out_check(&o);
    wd_frame_close(&o, UPP_STR("}"));
    int more = wd_out_check(&o);
    test_vast_empty(&f.text);
    CHECK_INT(last, 0);
    CHECK_INT(more, -UPP_ELIMIT);
    CHECK(f.list.n == 0 && strstr(err.msg, "33554432"));
}

TEST_WITH(dialect_calls_have_a_limit, .no_torture = "4096 allocations of one kind")
{
    WB_CLEANUP(wd_calls_done) struct wd_calls c = {0};
    struct upp_err err = {0};
    char id[16];
    for (int i = 0; i < WD_CALLS_MAX; i++) {
        (void)snprintf(id, sizeof id, "c%d", i);
        CHECK(wd_calls_add(&c, wb_cstr(id), UPP_STR("t"), &err));
    }
    CHECK(!wd_calls_add(&c, UPP_STR("more"), UPP_STR("t"), &err));
    CHECK_INT(err.code, UPP_ELIMIT);
    struct wd_call *first = wd_calls_find(&c, UPP_STR("c0"));
    CHECK(first && first == wd_calls_add(&c, UPP_STR("c0"), UPP_STR("other"), &err));
    CHECK_STR(first->name, UPP_STR("t"));
    wd_calls_drop(&c, first);
    CHECK(!wd_calls_find(&c, UPP_STR("c0")));
    CHECK(wd_calls_add(&c, UPP_STR("more"), UPP_STR("t"), &err));
}
