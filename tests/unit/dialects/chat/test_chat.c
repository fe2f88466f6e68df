/* dialects/chat/stream.c: golden streams, purity, and that a whole answer is what its chunks say. */
#include "dialects/chat/chat.h"
#include "json/read.h"
#include "json/value.h"
#include "support/dialect.h"
#include "support/test.h"

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_chat_golden_##name_)                                                                                  \
    {                                                                                                                  \
        struct wd_stream_opts usage = {.size = sizeof usage, .own = &(struct wd_chat_opts){.usage = true}};            \
        CHECK(dialect_golden(&wd_stream_chat, #name_, &usage, "chat/" #name_));                                        \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST_WITH(dialect_chat_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_chat, events_scripts[i].text, NULL));
}

static struct wd_chat_opts whole_opts = {.whole = true};
static const struct wd_stream_opts whole = {.size = sizeof whole, .own = &whole_opts};

/* Adds what one frame contributes to the answer; *end: it is the last of an answer. */
static bool add_frame(struct wb_arena *a, struct upp_str frame, struct wb_buf *text, const char *of, bool *end)
{
    yyjson_val *v;
    struct upp_err err;
    *end = wb_str_eq(frame, UPP_STR("[DONE]"));
    if (*end)
        return true;
    if (!EXPECT(wj_read(a, frame, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, &err) == 0))
        return false;
    if (yyjson_obj_get(v, "error")) {
        *end = true;
        return true;
    }
    yyjson_val *choice = yyjson_arr_get_first(yyjson_obj_get(v, "choices"));
    wb_buf_add(text, wj_text_at(yyjson_obj_get(choice, of), "content"));
    return EXPECT(wb_str_starts(wj_text_at(v, "id"), UPP_STR("chatcmpl-")));
}

/* The texts of all answers in a stream, each followed by a line. */
static bool texts_of(struct wb_arena *a, const struct wd_frames *f, const char *of, bool each, struct wb_buf *out)
{
    for (size_t k = 0; k < f->list.n; k++) {
        bool end;
        wb_arena_reset(a);
        if (!add_frame(a, wb_str(f->text.p + f->list.p[k].from, f->list.p[k].n), out, of, &end))
            return false;
        if (end || each)
            wb_buf_add(out, UPP_STR("\n----\n"));
    }
    return EXPECT(!out->failed);
}

/* Without voids both ways say the same. */
TEST_WITH(dialect_chat_whole_answers_are_their_chunks, .no_torture = "hundreds of encoders")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    size_t same = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d, w;
        WB_CLEANUP(wb_buf_done) struct wb_buf chunks = WB_BUF(4u << 20), answers = WB_BUF(4u << 20);
        dialect_init(&d);
        dialect_init(&w);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(dialect_invent(&d, seed) == 0);
        CHECK(dialect_invent(&w, seed) == 0);
        CHECK(dialect_encode(&d, &wd_stream_chat, NULL) == 0);
        CHECK(dialect_encode(&w, &wd_stream_chat, &whole) == 0);
        CHECK(texts_of(&a, &d.frames, "delta", false, &chunks));
        CHECK(texts_of(&a, &w.frames, "message", true, &answers));
        same += wb_str_eq(wb_buf_str(&chunks), wb_buf_str(&answers));
    }
    CHECK(same > 100); /* the others have voids, approvals or failures */
}
