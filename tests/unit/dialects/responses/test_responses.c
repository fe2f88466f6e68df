/* dialects/responses: golden streams, purity, and that a response is the sum of its events. */
#include "json/read.h"
#include "json/value.h"
#include "support/dialect.h"
#include "support/test.h"

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_responses_golden_##name_)                                                                             \
    {                                                                                                                  \
        CHECK(dialect_golden(&wd_stream_responses, #name_, NULL, "responses/" #name_));                                \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST_WITH(dialect_responses_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_responses, events_scripts[i].text, NULL));
}

/* Items that were added and are not done: bits by output index. */
struct follow {
    uint64_t open, done;
    uint64_t sequence;
    bool ended;
};

static bool follow_item(struct follow *f, yyjson_val *v, bool added)
{
    uint64_t index, bit;
    if (!EXPECT(wb_str_u64(wb_cstr(yyjson_get_raw(yyjson_obj_get(v, "output_index"))), &index)) || index > 63)
        return index > 63; /* more than are followed */
    bit = UINT64_C(1) << index;
    if (added ? !EXPECT(!((f->open | f->done) & bit)) : !EXPECT(f->open & bit))
        return false;
    f->open ^= bit;
    f->done |= added ? 0 : bit;
    return true;
}

/* Numbers without gaps, one item per index, each added and done once, nothing after the end. */
static bool follow_frame(struct wb_arena *a, struct follow *f, struct upp_str frame)
{
    static const struct upp_str created = UPP_STR_INIT("response.created");
    struct upp_err err;
    yyjson_val *v;
    uint64_t number;
    wb_arena_reset(a);
    if (!EXPECT(wj_read(a, frame, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, &err) == 0))
        return false;
    struct upp_str type = wj_text_at(v, "type");
    if (wb_str_eq(type, created))
        *f = (struct follow){0};
    if (!EXPECT(!f->ended) ||
        !EXPECT(wb_str_u64(wb_cstr(yyjson_get_raw(yyjson_obj_get(v, "sequence_number"))), &number)) ||
        !EXPECT(number == f->sequence++))
        return false;
    if (wb_str_eq(type, UPP_STR("response.output_item.added")))
        return follow_item(f, v, true);
    if (wb_str_eq(type, UPP_STR("response.output_item.done")))
        return follow_item(f, v, false);
    f->ended = wb_str_eq(type, UPP_STR("response.completed")) || wb_str_eq(type, UPP_STR("response.failed")) ||
               wb_str_eq(type, UPP_STR("response.incomplete"));
    return true;
}

TEST_WITH(dialect_responses_takes_invented_runs, .no_torture = "hundreds of runs; the golden ones are tortured")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(64u << 20);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        struct follow f = {0};
        dialect_init(&d);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(dialect_invent(&d, seed) == 0);
        CHECK(dialect_encode(&d, &wd_stream_responses, NULL) == 0);
        for (size_t k = 0; k < d.frames.list.n; k++)
            CHECK(follow_frame(&a, &f, wb_str(d.frames.text.p + d.frames.list.p[k].from, d.frames.list.p[k].n)));
        CHECK(f.ended);
    }
}
