/* dialects/assistants/stream.c: golden streams, order, purity. */
#include <stdio.h>
#include <string.h>

#include "dialects/core/open_message.h"
#include "dialects/core/dialect.h"
#include "support/assistants_order.h"
#include "support/dialect.h"
#include "support/test.h"

/* Feeds the frames of an encoding to the checker; false with a note when it says no. */
static bool in_order(const struct wd_frames *f, const struct wd_stream_opts *opts, bool ended)
{
    (void)opts;
    struct assistants_order c;
    assistants_order_init(&c);
    bool ok = true;
    for (size_t i = 0; ok && i < f->list.n; i++)
        ok = assistants_order_frame(&c, f->list.p[i].name, wb_str(f->text.p + f->list.p[i].from, f->list.p[i].n));
    ok = ok && assistants_order_end(&c, ended);
    if (!ok)
        test_note("assistants: %s", c.wrong);
    assistants_order_done(&c);
    return EXPECT(ok);
}

static struct wd_stream_opts options(void)
{
    return (struct wd_stream_opts){
        .size = sizeof(struct wd_stream_opts),
        .thread = wb_uuid_v8(4, 1),
        .created_ms = 1770091500000,
        .options = UPP_STR("{\"model\":\"gpt-4o\",\"instructions\":\"Be kind.\",\"metadata\":{\"a\":\"b\"}}"),
    };
}

static void golden(const char *name)
{
    char path[100];
    const struct wd_stream_opts opts = options();
    (void)snprintf(path, sizeof path, "assistants/%s", name);
    test_note("%s", path);
    CHECK(dialect_golden(&wd_stream_assistants, name, &opts, path));
}

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_assistants_golden_##name_)                                                                            \
    {                                                                                                                  \
        golden(#name_);                                                                                                \
    }
EVENTS_SCRIPTS(GOLDEN)

static const struct dialect_rules rules = {&wd_stream_assistants, NULL, in_order,
                                           "run running\nopen\npart text\nstart c t {}"};

TEST_WITH(dialect_assistants_scripts_are_in_order, .no_torture = "the golden tests torture the same scripts")
{
    CHECK(dialect_scripts_in_order(&rules));
}

TEST_WITH(dialect_assistants_ends_in_order_anywhere, .no_torture = "a thousand runs; the golden ones are tortured")
{
    CHECK(dialect_ends_in_order(&rules));
}

TEST_WITH(dialect_assistants_invented_runs_are_in_order,
          .no_torture = "thousands of runs; the golden ones are tortured")
{
    CHECK(dialect_invented_in_order(&rules));
}

TEST_WITH(dialect_assistants_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    CHECK(dialect_scripts_pure(&rules));
}

TEST(dialect_assistants_names_events_that_make_no_sense)
{
    CHECK(dialect_names_bugs(&rules));
}

static bool says(const struct dialect *d, const char *text)
{
    return wb_str_find(wb_buf_str(&d->frames.text), wb_cstr(text), 0) != SIZE_MAX;
}

static size_t frames_named(const struct dialect *d, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < d->frames.list.n; i++)
        n += wb_str_eq(wb_cstr(d->frames.list.p[i].name), wb_cstr(name));
    return n;
}

/* An approval is never asked of the client as a call of its tools. */
TEST(dialect_assistants_approvals_are_an_action_of_their_own)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    CHECK(dialect_play(
              &d, "run running\nopen\npart call c1 remove\n+ 0 {}\nclose 0\npart call c2 locate\n+ 1 {}\n"
                  "close 1\nmessage tools\nrun waiting ?c1 c2\nend c2 done \"here\"\nrun waiting ?c1\nrun running\n"
                  "start c1 remove {}\nend c1 done null\nrun completed") == 0);
    CHECK(dialect_encode(&d, &wd_stream_assistants, NULL) == 0);
    CHECK(in_order(&d.frames, NULL, true));
    CHECK(says(
        &d,
        "\"required_action\":{\"type\":\"submit_tool_outputs\",\"submit_tool_outputs\":{\"tool_calls\":[{\"id\":\"c2\","
        "\"type\":\"function\",\"function\":{\"name\":\"locate\",\"arguments\":\"{}\"}}]},"
        "\"approval\":{\"calls\":[{\"id\":\"c1\",\"name\":\"remove\",\"arguments\":\"{}\"}]}}"));
    CHECK(says(&d,
               "\"required_action\":{\"type\":\"approval\",\"approval\":{\"calls\":[{\"id\":\"c1\",\"name\":\"remove\","
               "\"arguments\":\"{}\"}]}}"));
    CHECK_INT(frames_named(&d, "thread.run.requires_action"), 2);
    CHECK_INT(frames_named(&d, "done"), 3);
    CHECK(says(&d, "\"output\":\"here\""));
    CHECK(says(&d, "\"weft\":{\"json\":[\"c1\"]}"));
}

/* Whether a message was cut by a cancel or a failure, the run says after it; so does a step whose calls did not run. */
TEST(dialect_assistants_what_is_cut_ends_as_its_run_does)
{
    static const struct {
        const char *run, *step, *reason, *event;
    } ends[] = {{"run cancelled", "thread.run.step.cancelled", "run_cancelled", "thread.run.cancelling"},
                {"run failed it broke", "thread.run.step.failed", "run_failed", "thread.run.failed"},
                {"run expired", "thread.run.step.expired", "run_expired", "thread.run.expired"}};
    for (size_t i = 0; i < WB_LEN(ends); i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        char script[400], reason[60];
        dialect_init(&d);
        (void)snprintf(
            script, sizeof script,
            "run running\nopen\npart call c1 locate\n+ 0 {}\nclose 0\nmessage tools\nend c1 stopped \"not run\"\n%s",
            ends[i].run);
        CHECK_INT(dialect_play(&d, script), 0);
        CHECK_INT(dialect_encode(&d, &wd_stream_assistants, NULL), 0);
        CHECK(in_order(&d.frames, NULL, true));
        CHECK_INT(frames_named(&d, ends[i].step), 1);
        CHECK_INT(frames_named(&d, ends[i].event), 1);
        dialect_done(&d);
        dialect_init(&d);
        (void)snprintf(script, sizeof script, "run running\nopen\npart text\n+ 0 Once\nmessage cut\n%s", ends[i].run);
        (void)snprintf(reason, sizeof reason, "\"incomplete_details\":{\"reason\":\"%s\"}", ends[i].reason);
        CHECK_INT(dialect_play(&d, script), 0);
        CHECK_INT(dialect_encode(&d, &wd_stream_assistants, NULL), 0);
        CHECK(in_order(&d.frames, NULL, true));
        CHECK_INT(frames_named(&d, ends[i].step), 1);
        CHECK(says(&d, reason));
        CHECK(says(&d, "\"text\":{\"value\":\"Once\",\"annotations\":[]}}],\"assistant_id\""));
    }
}

/* The same where the run goes on: the message has failed, the step is complete. */
TEST(dialect_assistants_what_is_cut_is_left_when_the_run_goes_on)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    CHECK_INT(dialect_play(&d,
                           "run running\nopen\npart text\n+ 0 Once\nmessage cut\nopen\npart call c1 locate\n+ 0 {}\n"
                           "close 0\nmessage tools\nend c1 stopped \"not run\"\nopen\npart text\n+ 0 Twice\nclose 0\n"
                           "message\nrun completed"),
              0);
    CHECK_INT(dialect_encode(&d, &wd_stream_assistants, NULL), 0);
    CHECK(in_order(&d.frames, NULL, true));
    CHECK_INT(frames_named(&d, "thread.message.incomplete"), 1);
    CHECK_INT(frames_named(&d, "thread.run.step.failed"), 1);
    CHECK_INT(frames_named(&d, "thread.run.step.completed"), 2);
    CHECK(says(&d, "\"reason\":\"run_failed\""));
}

/* Calls that come into a step of which the client's present stream has not heard. */
TEST(dialect_assistants_tells_of_an_open_step_again_after_a_pause)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    CHECK(dialect_play(&d, "run running\nopen\npart call c1 ask\n+ 0 {}\nclose 0\nmessage tools\nstart c1 ask {}\n"
                           "run waiting d1\nchild 1 end d1 done 1\nrun running\nrun waiting d2\nchild 1 end d2 done 2\n"
                           "run running\nend c1 done 3\nrun completed") == 0);
    CHECK(dialect_encode(&d, &wd_stream_assistants, NULL) == 0);
    CHECK(in_order(&d.frames, NULL, true));
    CHECK_INT(frames_named(&d, "thread.run.step.created"), 1);
    CHECK_INT(frames_named(&d, "thread.run.step.in_progress"), 2);
}

TEST_WITH(dialect_assistants_a_step_has_so_many_calls, .no_torture = "thousands of frames")
{
    WB_CLEANUP(dialect_done) struct dialect d;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1 << 20);
    dialect_init(&d);
    wb_buf_addf(&b, "run running\n");
    for (int i = 0; i <= WD_CALLS_MAX; i++)
        wb_buf_addf(&b, "start c%d t {}\n", i);
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK(events_play(&d.events, wb_str_trim(wb_buf_str(&b)), &d.err) == 0);
    CHECK_INT(dialect_encode(&d, &wd_stream_assistants, NULL), -UPP_ELIMIT);
}

/* The checker itself: it can say no. */
TEST(dialect_assistants_order_is_checked)
{
#define RUN(status_)                                                                                                   \
    "{\"id\":\"r\",\"object\":\"thread.run\",\"created_at\":1,\"assistant_id\":\"a\",\"thread_id\":\"t\",\"status\":"  \
    "\"" status_ "\",\"started_at\":1,\"expires_at\":1,\"cancelled_at\":1,\"failed_at\":1,\"completed_at\":1,"         \
    "\"last_error\":1,\"model\":1,\"required_action\":null,\"incomplete_details\":1,\"instructions\":1,\"tools\":1,"   \
    "\"metadata\":1,\"truncation_strategy\":1,\"max_completion_tokens\":1,\"usage\":1,\"temperature\":1,\"top_p\":1,"  \
    "\"max_prompt_tokens\":1,\"parallel_tool_calls\":1,\"tool_choice\":1,\"response_format\":1}"
#define STEP(id_, type_, status_)                                                                                      \
    "{\"id\":\"" id_ "\",\"object\":\"thread.run.step\",\"created_at\":1,\"run_id\":\"r\",\"assistant_id\":\"a\","     \
    "\"thread_id\":\"t\",\"type\":\"" type_ "\",\"status\":\"" status_                                                 \
    "\",\"failed_at\":1,\"cancelled_at\":1,\"completed_at\":1,\"expired_at\":1,\"usage\":1,\"last_error\":1,"          \
    "\"metadata\":1,\"step_details\":{\"type\":\"" type_                                                               \
    "\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"output\":null}}]}}"
#define MESSAGE(id_, status_)                                                                                          \
    "{\"id\":\"" id_ "\",\"object\":\"thread.message\",\"created_at\":1,\"thread_id\":\"t\",\"role\":\"assistant\","   \
    "\"status\":\"" status_ "\",\"incomplete_at\":1,\"completed_at\":1,\"content\":[],\"run_id\":\"r\","               \
    "\"assistant_id\":\"a\",\"attachments\":[],\"metadata\":1,\"incomplete_details\":1}"
#define GOES     "thread.run.created " RUN("queued") "\nthread.run.in_progress " RUN("in_progress") "\n"
#define IN_MSG   GOES "thread.run.step.created " STEP("s", "message_creation", "in_progress") "\n"
#define IN_TOOLS GOES "thread.run.step.created " STEP("s", "tool_calls", "in_progress") "\n"
#define SAYS     IN_MSG "thread.message.created " MESSAGE("m", "in_progress") "\n"
    static const struct {
        const char *frames, *wrong;
    } cases[] = {
        {"x {}", "no such event"},
        {"thread.run.paused {}", "no such event"},
        {"thread.run.created {", "no JSON"},
        {"thread.run.created {\"object\":\"thread.run\"}", "missing"},
        {"thread.run.created " RUN("in_progress"), "status"},
        {"thread.run.in_progress " RUN("in_progress"), "rule 9"},
        {"thread.run.step.created " STEP("s", "tool_calls", "in_progress"), "rule 9"},
        {GOES "done [DONE]", "rule 9"},
        {GOES "thread.run.completed " RUN("completed") "\nthread.run.failed " RUN("failed"), "rule 9"},
        {GOES "thread.run.requires_action " RUN("requires_action"), "required_action"},
        {GOES "thread.message.created " MESSAGE("m", "in_progress"), "rule 7"},
        {IN_MSG "thread.run.completed " RUN("completed"), "rule 9"},
        {IN_MSG "thread.run.step.created " STEP("s2", "tool_calls", "in_progress"), "rule 3"},
        {IN_MSG "thread.run.step.failed " STEP("s2", "message_creation", "failed"), "rule 5"},
        {IN_MSG "thread.run.step.failed " STEP("s", "message_creation", "failed") "\nthread.run.step.created " STEP(
             "s", "tool_calls", "in_progress"),
         "rule 4"},
        {SAYS "thread.message.created " MESSAGE("m2", "in_progress"), "rule 2"},
        {SAYS "thread.run.step.failed " STEP("s", "message_creation", "failed"), "rule 7"},
        {SAYS "thread.message.completed " MESSAGE("m2", "completed"), "rule 5"},
        {SAYS "thread.message.delta {\"id\":\"x\"}", "rule 1"},
        {SAYS "thread.message.delta {\"id\":\"m\",\"object\":\"thread.message.delta\",\"delta\":{\"content\":[{"
              "\"index\":1}]}}",
         "rule 6"},
        {IN_TOOLS "thread.run.step.delta {\"id\":\"s\",\"delta\":{\"id\":1}}", "rule 6"},
        {IN_TOOLS "thread.run.step.completed " STEP("s", "tool_calls", "completed"), "rule 8"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct assistants_order c;
        struct upp_str rest = wb_cstr(cases[i].frames), line;
        assistants_order_init(&c);
        while (wb_str_split(&rest, '\n', &line)) {
            char name[64] = "";
            struct upp_str word;
            if (line.n && wb_str_split(&line, ' ', &word)) {
                (void)snprintf(name, sizeof name, "%.*s", UPP_FMT(word));
                (void)assistants_order_frame(&c, name, line);
            }
        }
        bool ok = strstr(c.wrong, cases[i].wrong) != NULL;
        test_note("%zu: '%s'", i, c.wrong);
        assistants_order_done(&c);
        CHECK(ok);
    }
}
