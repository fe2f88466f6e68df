/* dialects/upp/stream.c: golden streams, purity, and that every frame is one of UPP's. */
#include "json/read.h"
#include "json/value.h"
#include "support/dialect.h"
#include "support/test.h"

/* covers: UPP-6 */
#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_upp_golden_##name_)                                                                                   \
    {                                                                                                                  \
        CHECK(dialect_golden(&wd_stream_upp, #name_, NULL, "upp/" #name_));                                            \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST_WITH(dialect_upp_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_upp, events_scripts[i].text, NULL));
}

/* A StreamEvent with its three members, or the end: [DONE], or why it came to none. */
static bool frame_is_right(struct wb_arena *a, struct upp_str frame, bool last)
{
    struct upp_err err;
    yyjson_val *v;
    wb_arena_reset(a);
    if (last && wb_str_eq(frame, UPP_STR("[DONE]")))
        return true;
    if (!EXPECT(wj_read(a, frame, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, &err) == 0))
        return false;
    if (last && yyjson_obj_get(v, "error"))
        return EXPECT(yyjson_obj_size(v) == 1 && yyjson_is_str(yyjson_obj_get(v, "error")));
    return EXPECT(yyjson_obj_size(v) == 3 && yyjson_is_str(yyjson_obj_get(v, "type")) &&
                  yyjson_is_raw(yyjson_obj_get(v, "index")) && yyjson_is_obj(yyjson_obj_get(v, "delta")));
}

TEST_WITH(dialect_upp_takes_invented_runs, .no_torture = "hundreds of runs; the golden ones are tortured")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(dialect_invent(&d, seed) == 0);
        CHECK(dialect_encode(&d, &wd_stream_upp, NULL) == 0);
        for (size_t k = 0; k < d.frames.list.n; k++)
            CHECK(frame_is_right(&a, wb_str(d.frames.text.p + d.frames.list.p[k].from, d.frames.list.p[k].n),
                                 k + 1 == d.frames.list.n));
    }
}
