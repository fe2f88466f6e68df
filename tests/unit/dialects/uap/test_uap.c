/* dialects/uap/stream.c: golden streams, purity, what UAP 12.5 asks of every frame. */
#include <stdio.h>
#include <string.h>

#include "base/hooks.h"
#include "json/read.h"
#include "json/value.h"
#include "support/dialect.h"
#include "support/test.h"
#include "dialects/core/dialect.h"

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_uap_golden_##name_)                                                                                   \
    {                                                                                                                  \
        CHECK(dialect_golden(&wd_stream_weft, #name_, NULL, "uap/" #name_));                                           \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST(dialect_uap_golden_children)
{
    CHECK(dialect_golden(&wd_stream_weft, "child", UPP_OPTS(wd_stream_opts, .children = true), "uap/children"));
}

TEST_WITH(dialect_uap_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_weft, events_scripts[i].text, UPP_OPTS(wd_stream_opts, .children = i & 1)));
}

static bool is_text(yyjson_val *v, const char *text)
{
    return v && yyjson_is_str(v) && wb_str_eq(wj_text(v), wb_cstr(text));
}

/* UAP 12.2 and 12.5: a source, and the event of that source; UAP events have step, agentId and data. */
static bool frame_is_right(struct wb_arena *a, struct upp_str frame)
{
    struct upp_err err;
    yyjson_val *v, *uap, *upp;
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

TEST_WITH(dialect_uap_frames_are_agent_stream_events, .no_torture = "the golden tests torture the same scripts")
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_weft, UPP_OPTS(wd_stream_opts, .children = true)) == 0);
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
        CHECK(dialect_encode(&d, &wd_stream_weft, NULL) == 0);
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
        CHECK_INT(dialect_encode(&d, &wd_stream_weft, NULL), -UPP_EBUG);
        CHECK(strstr(d.err.msg, "event ") != NULL);
    }
}

/* Events that no script makes: one encoder, given them one by one. */
struct bare {
    struct wd_frames frames;
    struct upp_err err;
    void *state;
};

static bool bare_init(struct bare *b, const struct wd_stream_ops *ops)
{
    wd_frames_init(&b->frames);
    b->state = wb_alloc(ops->state_size);
    if (b->state)
        memset(b->state, 0, ops->state_size);
    return b->state && ops->begin(b->state, UPP_OPTS(wd_stream_opts, .children = true), &b->err) == 0;
}

static int bare_event(struct bare *b, const struct wd_stream_ops *ops, const struct wm_event *ev)
{
    wd_frames_clear(&b->frames);
    return ops->event(b->state, ev, &b->frames, &b->err);
}

static void bare_done(struct bare *b, const struct wd_stream_ops *ops)
{
    if (b->state)
        ops->done(b->state);
    wb_free(b->state);
    wd_frames_done(&b->frames);
}

TEST_WITH(dialect_uap_has_a_limit_of_child_runs, .no_torture = "256 allocations of one kind")
{
    struct bare b = {0};
    struct wm_source from = {.depth = 1};
    struct wm_event ev = {.kind = WM_RUN, .run.status = WM_RUNNING, .from = &from, .number = 9};
    int r = bare_init(&b, &wd_stream_weft) ? 0 : -1;
    for (unsigned i = 0; r == 0 && i < 256; i++) {
        from.run = wb_uuid_v8(1, i);
        r = bare_event(&b, &wd_stream_weft, &ev);
    }
    from.run = wb_uuid_v8(1, 256);
    int over = r == 0 ? bare_event(&b, &wd_stream_weft, &ev) : 0;
    from.run = wb_uuid_v8(1, 7);
    ev.run.status = WM_COMPLETED; /* makes room for another */
    int room = over ? bare_event(&b, &wd_stream_weft, &ev) : -1;
    from.run = wb_uuid_v8(1, 256);
    int other = room == 0 ? bare_event(&b, &wd_stream_weft, &ev) : -1;
    bare_done(&b, &wd_stream_weft);
    CHECK_INT(r, 0);
    CHECK_INT(over, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(b.err.msg), UPP_STR("event 9: more than 256 child runs speak at once"));
    CHECK_INT(room, 0);
    CHECK_INT(other, 0);
}

/* Callers are remembered until their children speak, or their calls have ended. */
TEST_WITH(dialect_uap_has_a_limit_of_open_calls_of_agents, .no_torture = "thousands of allocations of one kind")
{
    enum { MANY = 1 << 16 };
    struct bare b = {0};
    struct wm_source from = {.run = wb_uuid_v8(1, 1), .agent_id = wb_uuid_v8(2, 1)}, below = {.depth = 1};
    struct wm_event started = {
        .kind = WM_TOOL_STARTED, .from = &from, .call.name = UPP_STR("helper"), .tool_started.child_node = 1};
    struct wm_event ended = {.kind = WM_TOOL_ENDED,
                             .from = &from,
                             .call = {UPP_STR("7"), UPP_STR("helper")},
                             .tool_ended.result = UPP_STR("1")};
    struct wm_event speaks = {.kind = WM_RUN, .run.status = WM_RUNNING, .from = &below};
    char call[16];
    int r = bare_init(&b, &wd_stream_weft) ? 0 : -1;
    for (unsigned i = 0; r == 0 && i < MANY; i++) {
        started.call.id = wb_str(call, (size_t)snprintf(call, sizeof call, "%u", i));
        started.tool_started.child = wb_uuid_v8(3, i);
        r = bare_event(&b, &wd_stream_weft, &started);
    }
    started.call.id = UPP_STR("more");
    started.tool_started.child = wb_uuid_v8(3, MANY);
    int over = r == 0 ? bare_event(&b, &wd_stream_weft, &started) : 0;
    int room = over ? bare_event(&b, &wd_stream_weft, &ended) : -1;
    int again = room == 0 ? bare_event(&b, &wd_stream_weft, &started) : -1;
    below.run = started.tool_started.child;
    int spoke = again == 0 ? bare_event(&b, &wd_stream_weft, &speaks) : -1;
    bool named = spoke == 0 && wb_str_find(wb_buf_str(&b.frames.text),
                                           UPP_STR("\"parentAgentId\":\"00000000-0000-8002-8000-000000000001\","
                                                   "\"parentTurnId\":\"00000000-0000-8001-8000-000000000001\""),
                                           0) != SIZE_MAX;
    bare_done(&b, &wd_stream_weft);
    CHECK_INT(r, 0);
    CHECK_INT(over, -UPP_ELIMIT);
    CHECK_STR(wb_cstr(b.err.msg), UPP_STR("more than 65536 calls of agents are open"));
    CHECK_INT(again, 0);
    CHECK(named);
}

/* Names of phases, of steps of a plan and of agents have a longest size. */
TEST_WITH(dialect_streams_have_a_limit_of_names, .no_torture = "nothing but long names")
{
    enum { LONGEST = 1 << 16 };
    static char name[LONGEST + 1];
    struct wm_source from = {.node = 1};
    const struct {
        const struct wd_stream_ops *ops;
        struct wm_event ev;
    } cases[] = {
        {&wd_stream_weft, {.kind = WM_STEP_START, .from = &from}},
        {&wd_stream_weft, {.kind = WM_MESSAGE_OPEN, .message_open.aside = true, .from = &from}},
        {&wd_stream_assistants, {.kind = WM_RUN, .run.status = WM_RUNNING, .from = &from}},
    };
    memset(name, 'x', sizeof name);
    for (size_t i = 0; i < WB_LEN(cases); i++)
        for (size_t n = LONGEST; n <= LONGEST + 1; n++) {
            struct bare b = {0};
            struct wm_event ev = cases[i].ev;
            from.agent = wb_str(name, n);
            if (ev.kind == WM_STEP_START)
                ev.step_start.plan_step = from.agent;
            else if (ev.kind == WM_MESSAGE_OPEN)
                ev.message_open.phase = from.agent;
            int r = bare_init(&b, cases[i].ops) ? bare_event(&b, cases[i].ops, &ev) : -1;
            bare_done(&b, cases[i].ops);
            test_note("case %zu with %zu bytes: %s", i, n, b.err.msg);
            CHECK_INT(r, n > LONGEST ? -UPP_ELIMIT : 0);
            CHECK(n == LONGEST || strstr(b.err.msg, "65536"));
        }
}

/* One message with too many calls: both dialects say so. */
TEST_WITH(dialect_streams_have_a_limit_of_calls, .no_torture = "thousands of allocations of one kind")
{
    enum { MANY = 4097 };
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(16u << 20);
    struct upp_part *parts = wb_new_n(&a, struct upp_part, MANY);
    struct wm_source from = {.node = 1};
    struct wm_entry entry = {.message = {.role = UPP_ROLE_ASSISTANT, .parts = parts}};
    struct wm_event ev = {.kind = WM_MESSAGE, .from = &from, .message.entry = &entry};
    const struct wd_stream_ops *const ops[] = {&wd_stream_weft, &wd_stream_ui};
    CHECK(parts);
    for (unsigned i = 0; i < MANY; i++)
        parts[i] = (struct upp_part){
            .kind = UPP_PART_CALL, .id = wb_arena_printf(&a, "c%u", i), .name = UPP_STR("t"), .text = UPP_STR("{}")};
    for (size_t i = 0; i < WB_LEN(ops); i++)
        for (size_t n = MANY / 3 - 200; n <= MANY; n += MANY - (MANY / 3 - 200)) {
            struct bare b = {0};
            entry.message.n_parts = n;
            int r = bare_init(&b, ops[i]) ? bare_event(&b, ops[i], &ev) : -1;
            bare_done(&b, ops[i]);
            test_note("%s with %zu calls: %s", ops[i]->name, n, b.err.msg);
            CHECK_INT(r, n == MANY ? -UPP_ELIMIT : 0);
        }
}
