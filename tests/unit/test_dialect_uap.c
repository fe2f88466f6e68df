/* dialects/uap.c: golden streams, purity, what UAP 12.5 asks of every frame. */
#include "json/read.h"
#include "json/value.h"
#include "support/dialect.h"
#include "support/test.h"

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_uap_golden_##name_)                                                                                   \
    {                                                                                                                  \
        CHECK(dialect_golden(&wd_stream_uap, #name_, NULL, "uap/" #name_));                                            \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST(dialect_uap_golden_children)
{
    CHECK(dialect_golden(&wd_stream_uap, "child", UPP_OPTS(wd_stream_opts, .children = true), "uap/children"));
}

TEST(dialect_uap_is_pure)
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_uap, events_scripts[i].text, UPP_OPTS(wd_stream_opts, .children = i & 1)));
}

static bool is_text(yyjson_val *v, const char *text)
{
    return v && yyjson_is_str(v) && wb_str_eq(wj_text(v), wb_cstr(text));
}

/* UAP 12.2 and 12.5: a source, and the event of that source; UAP events have step, agentId and data. */
static bool frame_is_right(struct wb_arena *a, struct upp_str frame)
{
    struct upp_err err;
    yyjson_val    *v, *uap, *upp;
    wb_arena_reset(a);
    if (!EXPECT(wj_read(a, frame, UPP_OPTS(wj_read_opts, .flags = WJ_UNIQUE), &v, &err) == 0))
        return false;
    uap = yyjson_obj_get(v, "uap");
    upp = yyjson_obj_get(v, "upp");
    if (is_text(yyjson_obj_get(v, "source"), "uap"))
        return EXPECT(uap && !upp && yyjson_is_str(yyjson_obj_get(uap, "type")) &&
                      yyjson_is_raw(yyjson_obj_get(uap, "step")) && yyjson_is_str(yyjson_obj_get(uap, "agentId")) &&
                      yyjson_is_obj(yyjson_obj_get(uap, "data")));
    return EXPECT(is_text(yyjson_obj_get(v, "source"), "upp") && upp && !uap && yyjson_obj_size(upp) == 3 &&
                  yyjson_is_str(yyjson_obj_get(upp, "type")) && yyjson_is_raw(yyjson_obj_get(upp, "index")) &&
                  yyjson_is_obj(yyjson_obj_get(upp, "delta")));
}

TEST(dialect_uap_frames_are_agent_stream_events)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_uap, UPP_OPTS(wd_stream_opts, .children = true)) == 0);
        for (size_t k = 0; k < d.frames.list.n; k++) {
            struct upp_str frame = wb_str(d.frames.text.p + d.frames.list.p[k].from, d.frames.list.p[k].n);
            test_note("%s: %.*s", events_scripts[i].name, UPP_FMT(frame));
            CHECK(!d.frames.list.p[k].name);
            CHECK(!memchr(frame.p, '\n', frame.n));
            CHECK(frame_is_right(&a, frame));
        }
    }
}

TEST_WITH(dialect_uap_takes_invented_runs, .no_torture = "hundreds of runs; the golden ones are tortured")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    for (uint64_t seed = 1; seed <= 300; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(dialect_invent(&d, seed) == 0);
        CHECK(dialect_encode(&d, &wd_stream_uap, NULL) == 0);
        for (size_t k = 0; k < d.frames.list.n; k++)
            CHECK(frame_is_right(&a, wb_str(d.frames.text.p + d.frames.list.p[k].from, d.frames.list.p[k].n)));
    }
}

TEST(dialect_uap_names_events_that_make_no_sense)
{
    static const char *const bad[] = {
        "run running\nopen\nopen",
        "run running\nopen\npart text\nclose 0\n+ 0 late",
        "run running\npart text",
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        CHECK(dialect_play(&d, bad[i]) == 0);
        CHECK_INT(dialect_encode(&d, &wd_stream_uap, NULL), -UPP_EBUG);
        CHECK(strstr(d.err.msg, "event ") != NULL);
    }
}
