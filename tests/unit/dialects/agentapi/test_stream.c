/* dialects/agentapi/stream.c: golden streams, order, purity. */
#include <stdio.h>
#include <string.h>

#include "dialects/agentapi/agentapi.h"
#include "dialects/core/dialect.h"
#include "support/aap_order.h"
#include "support/dialect.h"
#include "support/test.h"

/* Feeds the frames of an encoding to the checker; false with a note when it says no. */
static bool in_order(const struct wd_frames *f, const struct wd_stream_opts *opts, bool ended)
{
    (void)opts;
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

static void golden(const char *name)
{
    char path[100];
    (void)snprintf(path, sizeof path, "agentapi/%s", name);
    CHECK(dialect_golden(&wd_stream_agentapi, name,
                         UPP_OPTS(wd_stream_opts, .options = UPP_STR("{\"agentapi\":{\"session_id\":\"s1\"}}")), path));
}

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_agentapi_golden_##name_)                                                                              \
    {                                                                                                                  \
        golden(#name_);                                                                                                \
    }
EVENTS_SCRIPTS(GOLDEN)

/* covers: AAP-9/2 */
TEST(dialect_agentapi_golden_uncreated)
{
    CHECK(dialect_golden(&wd_stream_agentapi, "text",
                         UPP_OPTS(wd_stream_opts, .own = &(struct wd_agentapi_opts){.uncreated = true}),
                         "agentapi/uncreated"));
}

static struct wd_stream_opts asked(uint64_t n)
{
    static struct wd_agentapi_opts opts[] = {{.uncreated = false}, {.uncreated = true}};
    return (struct wd_stream_opts){.size = sizeof(struct wd_stream_opts), .own = &opts[n & 1]};
}

static const struct dialect_rules rules = {&wd_stream_agentapi, asked, in_order, NULL};

/* covers: AAP-10, AAP-5/2, AAP-9/1/3 */
TEST_WITH(dialect_agentapi_scripts_are_in_order, .no_torture = "the golden tests torture the same scripts")
{
    CHECK(dialect_scripts_in_order(&rules));
}

TEST_WITH(dialect_agentapi_ends_in_order_anywhere, .no_torture = "a thousand runs; the golden ones are tortured")
{
    CHECK(dialect_ends_in_order(&rules));
}

/* covers: AAP-3/1/2 */
TEST_WITH(dialect_agentapi_invented_runs_are_in_order, .no_torture = "thousands of runs; the golden ones are tortured")
{
    CHECK(dialect_invented_in_order(&rules));
}

TEST_WITH(dialect_agentapi_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    CHECK(dialect_scripts_pure(&rules));
}

TEST(dialect_agentapi_names_events_that_make_no_sense)
{
    CHECK(dialect_names_bugs(&rules));
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
        struct upp_str rest = wb_cstr(cases[i].frames), line;
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
