/* dialects/ui/stream.c: golden streams, order, purity. */
#include <stdio.h>
#include <string.h>

#include "dialects/ui/doc.h"
#include "base/hooks.h"
#include "dialects/core/open_message.h"
#include "dialects/core/dialect.h"
#include "support/dialect.h"
#include "support/test.h"
#include "support/ui_order.h"

/* Feeds the frames of an encoding to the checker; false with a note when it says no. */
static bool in_order(const struct wd_frames *f, const struct wd_stream_opts *opts, bool ended)
{
    const struct wd_ui_opts *own = opts ? opts->own : NULL;
    unsigned target = own ? own->target : WD_UI_TARGET;
    struct ui_order c;
    ui_order_init(&c, target);
    bool ok = true;
    for (size_t i = 0; ok && i < f->list.n; i++)
        ok = ui_order_frame(&c, wb_str(f->text.p + f->list.p[i].from, f->list.p[i].n));
    ok = ok && ui_order_end(&c, ended);
    if (!ok)
        test_note("ui %u: %s", target, c.wrong);
    ui_order_done(&c);
    return EXPECT(ok);
}

static void golden(const char *name)
{
    for (unsigned target = 5; target <= 7; target++) {
        char path[100];
        (void)snprintf(path, sizeof path, "ui/%s.%u", name, target);
        test_note("%s", path);
        CHECK(dialect_golden(&wd_stream_ui, name, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){target}), path));
    }
}

#define GOLDEN(name_)                                                                                                  \
    TEST(dialect_ui_golden_##name_)                                                                                    \
    {                                                                                                                  \
        golden(#name_);                                                                                                \
    }
EVENTS_SCRIPTS(GOLDEN)

TEST(dialect_ui_golden_children)
{
    CHECK(dialect_golden(&wd_stream_ui, "child", UPP_OPTS(wd_stream_opts, .children = true), "ui/children.6"));
}

static struct wd_stream_opts asked(uint64_t n)
{
    static struct wd_ui_opts targets[] = {{5}, {6}, {7}};
    return (struct wd_stream_opts){
        .size = sizeof(struct wd_stream_opts), .own = &targets[n % 3], .children = n / 3 & 1};
}

static const struct dialect_rules rules = {&wd_stream_ui, asked, in_order, NULL};

TEST_WITH(dialect_ui_scripts_are_in_order, .no_torture = "the golden tests torture the same scripts")
{
    CHECK(dialect_scripts_in_order(&rules));
}

TEST_WITH(dialect_ui_ends_in_order_anywhere, .no_torture = "a thousand runs; the golden ones are tortured")
{
    CHECK(dialect_ends_in_order(&rules));
}

TEST_WITH(dialect_ui_invented_runs_are_in_order, .no_torture = "thousands of runs; the golden ones are tortured")
{
    CHECK(dialect_invented_in_order(&rules));
}

TEST_WITH(dialect_ui_is_pure, .no_torture = "hundreds of encoders; the golden ones are tortured")
{
    CHECK(dialect_scripts_pure(&rules));
}

TEST(dialect_ui_refuses_other_targets)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    CHECK_INT(dialect_encode(&d, &wd_stream_ui, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){4})),
              -UPP_EINVALID);
    CHECK_INT(dialect_encode(&d, &wd_stream_ui, UPP_OPTS(wd_stream_opts, .own = &(struct wd_ui_opts){8})),
              -UPP_EINVALID);
}

TEST(dialect_ui_names_events_that_make_no_sense)
{
    CHECK(dialect_names_bugs(&rules));
}

TEST(dialect_ui_values_the_client_refuses_become_strings)
{
    static const struct {
        const char *result, *want;
    } cases[] = {
        {"{\"__proto__\":1}", "\"output\":\"{\\\"__proto__\\\":1}\""},
        {"[{\"a\":{\"\\u005f_proto__\":null}}]", "\"output\":\"[{"},
        {"{\"constructor\":{\"prototype\":0}}", "\"output\":\"{"},
        {"{\"constructor\":1}", "\"output\":{\"constructor\":1}"},
        {"\"\\\"__proto__\\\":\"", "\"output\":\"\\\"__proto__\\\":\""},
        {"null", "\"output\":null"},
        {"[1.50,\t1e400]", "\"output\":[1.50,1e400]"},
        {"no json", "\"output\":\"no json\""},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        WB_CLEANUP(dialect_done) struct dialect d;
        char script[300];
        dialect_init(&d);
        test_note("%s", cases[i].result);
        (void)snprintf(script, sizeof script, "run running\nstart c t {}\nend c done %s\nrun completed",
                       cases[i].result);
        CHECK(dialect_play(&d, script) == 0);
        CHECK(dialect_encode(&d, &wd_stream_ui, NULL) == 0);
        CHECK(wb_str_find(wb_buf_str(&d.frames.text), wb_cstr(cases[i].want), 0) != SIZE_MAX);
        CHECK(in_order(&d.frames, NULL, true));
    }
}

/* Who sent an event and for whom is any JSON of an imported one. */
TEST(dialect_ui_events_the_client_refuses_become_strings)
{
    WB_CLEANUP(dialect_done) struct dialect d;
    dialect_init(&d);
    CHECK(dialect_play(&d,
                       "run running\nevent {\"type\":\"a\",\"data\":{\"__proto__\":1},\"source\":{\"__proto__\":2},"
                       "\"targets\":[{\"__proto__\":3}]}\nevent {\"type\":\"b\",\"source\":\"s\",\"targets\":[\"t\"]}\n"
                       "run completed") == 0);
    CHECK(dialect_encode(&d, &wd_stream_ui, NULL) == 0);
    struct upp_str all = wb_buf_str(&d.frames.text);
    test_note("%.*s", UPP_FMT(all));
    CHECK(wb_str_find(all, UPP_STR("\"data\":\"{\\\"__proto__\\\":1}\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(all, UPP_STR("\"sourceAgent\":\"{\\\"__proto__\\\":2}\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(all, UPP_STR("\"targetAgents\":\"[{\\\"__proto__\\\":3}]\""), 0) != SIZE_MAX);
    CHECK(wb_str_find(all, UPP_STR("\"sourceAgent\":\"s\",\"targetAgents\":[\"t\"]"), 0) != SIZE_MAX);
    CHECK(in_order(&d.frames, NULL, true));
}

/* Of the calls that have ended in a step the latest WD_CALLS_MAX are known: the id of one of them begins another step.
 * More frames than a test keeps: each event has its own. */
TEST_WITH(dialect_ui_knows_the_latest_calls_of_a_step, .no_torture = "thousands of calls; shorter ones are tortured")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf script = WB_BUF(1 << 20);
    WB_CLEANUP(dialect_done) struct dialect d;
    size_t steps = 0;
    dialect_init(&d);
    wb_buf_addf(&script, "run running\n");
    for (unsigned i = 0; i < WD_CALLS_MAX + 2; i++)
        wb_buf_addf(&script, "start c%u t {}\nend c%u done 1\n", i, i);
    wb_buf_addf(&script, "start c2 t {}\nend c2 done 1\nrun completed");
    wb_buf_addc(&script, 0);
    CHECK(wb_buf_check(&script, NULL) == 0);
    CHECK(dialect_play(&d, wb_buf_str(&script).p) == 0);
    void *state = wb_alloc(wd_stream_ui.state_size);
    CHECK(state);
    memset(state, 0, wd_stream_ui.state_size);
    int r = wd_stream_ui.begin(state, NULL, &d.err);
    for (size_t i = 0; r == 0 && i < d.events.list.n; i++) {
        wd_frames_clear(&d.frames);
        r = wd_stream_ui.event(state, &d.events.list.p[i], &d.frames, &d.err);
        steps += wb_str_find(wb_buf_str(&d.frames.text), UPP_STR("start-step"), 0) != SIZE_MAX;
    }
    wd_stream_ui.done(state);
    wb_free(state);
    test_note("%s", d.err.msg);
    CHECK_INT(r, 0);
    CHECK_INT(steps, 2);
}

/* The checker itself: it can say no. */
TEST(dialect_ui_order_is_checked)
{
    static const struct {
        const char *frames, *wrong;
    } cases[] = {
        {"{\"type\":\"start-step\"}", "before start"},
        {"S\n{\"type\":\"text-delta\",\"id\":\"a\",\"delta\":\"x\"}", "outside of a step"},
        {"S\nP\n{\"type\":\"text-delta\",\"id\":\"a\",\"delta\":\"x\"}", "rule 1"},
        {"S\nP\n{\"type\":\"text-end\",\"id\":\"a\"}", "rule 1"},
        {"S\nP\n{\"type\":\"text-start\",\"id\":\"a\"}\n{\"type\":\"text-start\",\"id\":\"a\"}", "rule 5"},
        {"S\nP\n{\"type\":\"text-start\",\"id\":\"a\"}\n{\"type\":\"finish-step\"}", "rule 4"},
        {"S\nP\n{\"type\":\"tool-output-error\",\"toolCallId\":\"a\",\"errorText\":\"x\"}", "rule 2"},
        {"S\nP\n{\"type\":\"tool-input-delta\",\"toolCallId\":\"a\",\"inputTextDelta\":\"x\"}", "rule 1"},
        {"S\n{\"type\":\"tool-approval-response\",\"approvalId\":\"a\",\"approved\":true}", "no such type"},
        {"S\nS", "rule 9"},
        {"S\nP\nP", "a step inside"},
        {"S\n[DONE]", "[DONE] before"},
        {"S\n{\"type\":\"finish\",\"finishReason\":\"tool_call\"}", "no such finish reason"},
        {"S\n{\"type\":\"finish\",\"finishReason\":null}", "wrong type"},
        {"S\n{\"type\":\"thinking-delta\"}", "no such type"},
        {"S\n{\"type\":\"reset-step\"}", "no such type"},
        {"S\n{\"type\":\"error\",\"errorText\":\"x\"}\n{\"type\":\"abort\"}", "after an error"},
        {"S\nP\n{\"type\":\"tool-input-available\",\"toolCallId\":\"a\",\"toolName\":\"t\"}", "missing"},
        {"S\nP\n{\"type\":\"file\",\"url\":\"x\",\"mediaType\":\"y\",\"z\":1}", "unknown member"},
        {"S\nP\n{\"type\":\"tool-input-available\",\"toolCallId\":\"a\",\"toolName\":\"t\",\"input\":{\"__proto__\":1}"
         "}",
         "refuses this JSON"},
        {"{\"type\":", "expected"},
    };
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct ui_order c;
        struct upp_str rest = wb_cstr(cases[i].frames), line;
        ui_order_init(&c, 6);
        while (wb_str_split(&rest, '\n', &line))
            (void)ui_order_frame(&c, wb_str_eq(line, UPP_STR("S")) ? UPP_STR("{\"type\":\"start\",\"messageId\":\"m\"}")
                                     : wb_str_eq(line, UPP_STR("P")) ? UPP_STR("{\"type\":\"start-step\"}")
                                                                     : line);
        bool ok = strstr(c.wrong, cases[i].wrong) != NULL;
        test_note("%s: '%s'", cases[i].frames, c.wrong);
        ui_order_done(&c);
        CHECK(ok);
    }
}
