/* dialects/agentapi_stream.c: golden streams, order, purity. */
#include <stdio.h>
#include <string.h>

#include "dialects/dialect.h"
#include "support/aap_order.h"
#include "support/dialect.h"
#include "support/test.h"

/* Feeds the frames of an encoding to the checker; false with a note when it says no. */
static bool in_order(const struct wd_frames *f, bool ended)
{
    struct aap_order c;
    aap_order_init(&c);
    bool ok = true;
    for (size_t i = 0; ok && i < f->list.n; i++)
        ok = aap_order_frame(&c, wb_str(f->text.p + f->list.p[i].from, f->list.p[i].n));
    ok = ok && aap_order_end(&c, ended);
    if (!ok)
        test_note("agentapi: %s", c.wrong);
    aap_order_done(&c);
    return EXPECT(ok);
}

static const struct upp_str locate = UPP_STR_INIT("locate");

static void golden(const char *name)
{
    char path[100];
    (void)snprintf(path, sizeof path, "agentapi/%s", name);
    CHECK(dialect_golden(
        &wd_stream_agentapi, name,
        UPP_OPTS(wd_stream_opts, .session = UPP_STR("s1"), .client_tools = &locate, .n_client_tools = 1), path));
}

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_agentapi_golden_##name_)                                                                              \
    {                                                                                                                  \
        golden(#name_);                                                                                                \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST(dialect_agentapi_golden_uncreated)
{
    CHECK(
        dialect_golden(&wd_stream_agentapi, "text", UPP_OPTS(wd_stream_opts, .uncreated = true), "agentapi/uncreated"));
}

/* covers: AAP-9, AAP-10 */
TEST_WITH(dialect_agentapi_scripts_are_in_order, .no_torture = "the golden tests torture the same scripts")
{
    for (size_t i = 0; i < events_n_scripts; i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("%s", events_scripts[i].name);
        CHECK(dialect_play(&d, events_scripts[i].text) == 0);
        CHECK(dialect_encode(&d, &wd_stream_agentapi, UPP_OPTS(wd_stream_opts, .uncreated = i & 1)) == 0);
        CHECK(in_order(&d.frames, true));
    }
}

/* A run that is cut at any event and ends there: cancelled, failed, expired, completed. */
TEST_WITH(dialect_agentapi_ends_in_order_anywhere, .no_torture = "a thousand runs; the golden ones are tortured")
{
    static const char *const ends[] = {"run cancelled", "run failed broken", "run expired", "run completed"};
    for (size_t i = 0; i < events_n_scripts; i++) {
        const char *text = events_scripts[i].text;
        for (const char *at = text; (at = strchr(at, '\n')); at++)
            for (size_t k = 0; k < WB_LEN(ends); k++) {
                WB_CLEANUP(dialect_done) struct dialect d;
                WB_CLEANUP(wb_buf_done) struct wb_buf   b = WB_BUF(1 << 16);
                wb_buf_addf(&b, "%.*s\n%s", (int)(at - text), text, ends[k]);
                wb_buf_addc(&b, 0);
                dialect_init(&d);
                CHECK(wb_buf_check(&b, NULL) == 0);
                test_note("%s", b.p);
                CHECK(dialect_play(&d, b.p) == 0);
                CHECK(dialect_encode(&d, &wd_stream_agentapi, NULL) == 0);
                CHECK(in_order(&d.frames, true));
            }
    }
}

/* covers: AAP-3 */
TEST_WITH(dialect_agentapi_invented_runs_are_in_order, .no_torture = "thousands of runs; the golden ones are tortured")
{
    uint64_t seeds = test_number("WEFT_SEEDS", 2000);
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("seed %llu", (unsigned long long)seed);
        CHECK(dialect_invent(&d, seed) == 0);
        CHECK(dialect_encode(&d, &wd_stream_agentapi, UPP_OPTS(wd_stream_opts, .uncreated = seed & 1)) == 0);
        CHECK(in_order(&d.frames, true));
    }
}

TEST_WITH(dialect_agentapi_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    for (size_t i = 0; i < events_n_scripts; i++)
        CHECK(dialect_pure(&wd_stream_agentapi, events_scripts[i].text, NULL));
}

/* What breaks the contract of events is a bug that is named, and never a frame. */
TEST(dialect_agentapi_names_events_that_make_no_sense)
{
    static const char *const bad[] = {
        "run running\nopen\nopen",
        "run running\nopen\npart text\nclose 0\n+ 0 late",
        "run running\nopen\npart text\nclose 0\nclose 0",
        "run running\npart text",
        "run completed\nstep",
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        dialect_init(&d);
        test_note("%s", bad[i]);
        CHECK(dialect_play(&d, bad[i]) == 0);
        CHECK_INT(dialect_encode(&d, &wd_stream_agentapi, NULL), -UPP_EBUG);
        CHECK(strstr(d.err.msg, "event ") != NULL);
    }
}

#define R(n, status) "{\"sequence_number\":" #n ",\"object\":\"response\",\"status\":\"" status "\",\"output\":[]}"
#define M(n, id, status)                                                                                               \
    "{\"sequence_number\":" #n ",\"object\":\"message\",\"status\":\"" status "\",\"id\":\"" id "\"}"
#define C(n, id, delta, status, text)                                                                                  \
    "{\"sequence_number\":" #n ",\"object\":\"content\",\"status\":\"" status "\",\"type\":\"text\",\"index\":0,"      \
    "\"delta\":" #delta ",\"msg_id\":\"" id "\",\"text\":\"" text "\"}"
#define BEGIN R(0, "created") "\n" R(1, "in_progress") "\n"

/* The checker itself: it can say no. */
TEST(dialect_agentapi_order_is_checked)
{
    static const struct {
        const char *frames, *wrong;
    } cases[] = {
        {R(0, "in_progress"), "outside of a response"},
        {R(1, "created"), "sequence_number"},
        {BEGIN M(3, "a", "created"), "sequence_number"},
        {BEGIN R(2, "created"), "sequence_number"},
        {BEGIN R(2, "asleep"), "no such status"},
        {BEGIN M(2, "a", "completed"), "cannot come"},
        {BEGIN M(2, "a", "created") "\n" M(3, "b", "created"), "while one is open"},
        {BEGIN M(2, "a", "created") "\n" M(3, "a", "completed"), "cannot come"},
        {BEGIN C(2, "a", true, "in_progress", "x"), "no message"},
        {BEGIN M(2, "a", "in_progress") "\n" C(3, "b", true, "in_progress", "x"), "no message"},
        {BEGIN M(2, "a", "in_progress") "\n" C(3, "a", false, "in_progress", "x"), "pieces"},
        {BEGIN M(2, "a", "in_progress") "\n" C(3, "a", true, "in_progress", "x") "\n" C(4, "a", false, "completed",
                                                                                        "y"),
         "not what its pieces were"},
        {BEGIN M(2, "a", "in_progress") "\n" C(3, "a", true, "in_progress", "x") "\n" M(4, "a", "completed"),
         "a content is not"},
        {BEGIN M(2, "a", "in_progress") "\n" C(3, "a", false, "completed", "x") "\n" C(4, "a", false, "completed", "x"),
         "after its end"},
        {BEGIN M(2, "a", "in_progress") "\n" R(3, "completed"), "a message is not"},
        {BEGIN R(2, "failed"), "an error"},
        {BEGIN R(2, "completed") "\n" R(3, "failed"), "outside"},
        {"{", "expected"},
        {BEGIN, "there is no end"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct aap_order c;
        struct upp_str   rest = wb_cstr(cases[i].frames), line;
        aap_order_init(&c);
        while (wb_str_split(&rest, '\n', &line))
            if (line.n)
                (void)aap_order_frame(&c, line);
        (void)aap_order_end(&c, true);
        bool ok = strstr(c.wrong, cases[i].wrong) != NULL;
        test_note("%s: '%s'", cases[i].frames, c.wrong);
        aap_order_done(&c);
        CHECK(ok);
    }
}
