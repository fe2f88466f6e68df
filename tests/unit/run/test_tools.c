/* Rounds of tools in a run: the table of docs/tools.md, row by row, beside libupp's; approvals; arguments. */
#include <stdio.h>
#include <string.h>
#include <upp/schema.h>
#include <upp/upp.h>

#include "base/defs.h"
#include "support/llm.h"
#include "support/round.h"
#include "support/scene.h"

#define SCRIPT ROUND_SCRIPT
#define REPLY  ROUND_REPLY
#define TEXT   ROUND_TEXT
#define CALL   ROUND_CALL

/* As scene_ask, by a run. */
static int ask_run(struct scene *sc, const char *script, struct round *round, struct upp_err *err)
{
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = scene_tool(sc, NULL)}};
    const struct upp_tool_strategy hooks = scene_hooks(sc);
    round->script = script;
    round->tools = tools;
    round->n_tools = 1;
    round->hooks = &hooks;
    return round_play(round, err);
}

/* ---- Turns that should be the same ------------------------------------------------------------------------------- */

static bool same_str(const char *what, size_t i, struct upp_str got, struct upp_str want)
{
    test_note("%s %zu", what, i);
    return test_expect_str(got, want, __FILE__, __LINE__, what);
}

static bool same_message(size_t i, const struct upp_message *a, const struct upp_message *b)
{
    bool ok = EXPECT(a->role == b->role) && EXPECT(a->n_parts == b->n_parts);
    for (size_t k = 0; ok && k < a->n_parts; k++)
        ok = EXPECT(a->parts[k].kind == b->parts[k].kind) && EXPECT(a->parts[k].is_error == b->parts[k].is_error) &&
             same_str("id of message", i, a->parts[k].id, b->parts[k].id) &&
             same_str("text of message", i, a->parts[k].text, b->parts[k].text);
    return ok;
}

static bool same_turn(const struct upp_turn *a, const struct upp_turn *b)
{
    bool ok = EXPECT(a->n_messages == b->n_messages) && EXPECT(a->n_executions == b->n_executions) &&
              EXPECT(a->n_cycles == b->n_cycles) && EXPECT(a->usage.input == b->usage.input) &&
              EXPECT(a->usage.output == b->usage.output);
    for (size_t i = 0; ok && i < a->n_messages; i++)
        ok = same_message(i, &a->messages[i], &b->messages[i]);
    for (size_t i = 0; ok && i < a->n_executions; i++) {
        const struct upp_execution *x = &a->executions[i], *y = &b->executions[i];
        ok = same_str("id of execution", i, x->id, y->id) && same_str("name of execution", i, x->name, y->name) &&
             same_str("arguments of execution", i, x->arguments, y->arguments) &&
             same_str("result of execution", i, x->result, y->result) && EXPECT(x->is_error == y->is_error) &&
             EXPECT(x->approved == y->approved);
    }
    return ok;
}

#define ONE(name, arguments) SCRIPT(REPLY(CALL("c1", name, arguments)) "," REPLY(TEXT("done")))

static const struct {
    const char *script;
    struct scene scene;
} table[] = {
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .after = "was "}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .arguments = "{\"x\":2}"}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .arguments = " "}},
    {ONE("f", "\"\""), {.on_before = 1, .approval = 1}},
    {ONE("g", "{\"x\":1}"), {0}},
    {ONE("f", "\"{x\""), {0}},
    {ONE("f", "\"[1]\""), {0}},
    {ONE("f", "\"{ \\\"\\\\u0078\\\" : \\\"\\\\/\\\\u0065\\\", \\\"y\\\":1e999}\""), {.on_before = 1, .approval = 1}},
    {ONE("f", "\"{\\\"x\\\":1,\\\"\\\\u0078\\\":2}\""), {0}},
    {ONE("f", "{}"), {.on_before = 1, .arguments = "{\"x\":1,\"x\":2}"}},
    {ONE("f", "{}"), {.on_before = 1, .approval = 1, .arguments = "{ \"\\u0078\" : 1 }"}},
    {ONE("f", "{\"x\":1}"), {.on_call = -1}},
    {ONE("f", "{\"x\":1}"), {.on_before = -1, .arguments = "{}"}},
    {ONE("f", "{\"x\":1}"), {.on_before = 0}},
    {ONE("f", "{\"x\":1}"), {.on_before = 0, .arguments = "{}"}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .arguments = "[]"}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 0}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = -1}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .run = -1}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .on_after = -1}},
    {ONE("f", "{\"x\":1}"), {.on_before = 1, .approval = 1, .run = -1, .on_error = -1}},
    {ONE("f", "{\"x\":1}"), {.on_before = 0, .on_error = -1}},
    {SCRIPT(REPLY(CALL("a", "f", "{\"x\":1}") "," CALL("b", "g", "{}") "," CALL("c", "f", "{\"x\":3}")) "," REPLY(
         CALL("d", "f", "{}")) "," REPLY(TEXT("done"))),
     {.on_before = 1, .approval = 1}},
};

static void table_row(size_t i, bool no_store)
{
    struct upp_err err = {0}, why = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    UPP_CLEANUP(round_done) struct round run = {.no_store = no_store};
    struct scene one = table[i].scene, two = table[i].scene;
    int wanted = scene_ask(&one, NULL, table[i].script, &turn, &why);
    int r = ask_run(&two, table[i].script, &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log_one = one.log, log_two = two.log;
    test_note("row %zu", i);
    CHECK_INT(r, 0);
    CHECK_INT(run.result, wanted);
    CHECK_STR(wb_buf_str(&log_two), wb_buf_str(&log_one));
    CHECK_STR(wb_cstr(run.why.msg), wb_cstr(why.msg));
    if (wanted == 0)
        CHECK(same_turn(run.turn, turn));
}

/* covers: UAP-5.2/1, UPP-8/1/2, UPP-7/1/2 */
TEST_WITH(tools_table_is_libupps, .no_torture = "twenty runs; the next one is tortured")
{
    for (size_t i = 0; i < WB_LEN(table); i++)
        table_row(i, false);
}

TEST(tools_table_without_a_store)
{
    table_row(2, true);
    table_row(16, true);
}

/* covers: UPP-8/3 */
TEST(tools_failing_on_error_ends_the_run)
{
    struct upp_err err = {0};
    UPP_CLEANUP(round_done) struct round run = {0};
    struct scene sc = {.on_before = 1, .approval = 1, .run = -1, .on_error = -1};
    int r = ask_run(&sc, ONE("f", "{}"), &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_INT(run.result, -UPP_EREFUSED);
    CHECK_STR(wb_cstr(run.why.msg), UPP_STR("on_error failed"));
    CHECK_STR(wb_buf_str(&log), UPP_STR("on_call on_before approval run (run failed) on_error"));
    CHECK_INT(run.turn->n_executions, 1); /* what the tool came to stands */
    CHECK_STR(run.turn->executions[0].result, UPP_STR("\"run failed\""));
}

/* ---- How long it took ------------------------------------------------------------------------ */

static WEFT_SUSPENDS int takes_50(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call, (void)ret;
    return weft_sleep_ms(50, err);
}

static WEFT_SUSPENDS int thinks_long(void *arg, struct upp_call *call, struct upp_value *result, struct upp_err *err)
{
    int *at_once = arg;
    (void)call, (void)result;
    if (++*at_once != 1)
        return upp_fail(err, UPP_EBUG, "two hooks at once");
    int r = weft_sleep_ms(5000, err);
    --*at_once;
    return r;
}

TEST(tools_durations_are_the_tools_own)
{
    static const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .base = {.run = takes_50}}};
    int at_once = 0;
    const struct upp_tool_strategy hooks = {.arg = &at_once, .on_after = thinks_long};
    struct upp_err err = {0};
    UPP_CLEANUP(round_done)
    struct round run = {.script =
                            SCRIPT(REPLY(CALL("c1", "f", "{}") "," CALL("c2", "f", "{}")) "," REPLY(TEXT("done"))),
                        .tools = tools,
                        .n_tools = 1,
                        .hooks = &hooks};
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(run.turn->n_executions, 2);
    for (size_t i = 0; i < 2; i++) {
        CHECK(!run.turn->executions[i].is_error);
        CHECK(run.turn->executions[i].duration_ms >= 50 && run.turn->executions[i].duration_ms < 1000);
    }
}

/* ---- Approvals ------------------------------------------------------------------------------- */

struct asking {
    struct scene sc;
    bool restarts, yes;
    struct wb_buf story;
    struct upp_turn *turn;
};

/* The turn of a run that was answered. */
static int kept_turn(void *arg, struct weft_run *run, const struct upp_turn *turn, struct upp_err *err)
{
    struct asking *a = arg;
    (void)run;
    return upp_turn_copy(turn, &a->turn, err);
}

static WEFT_SUSPENDS int ask_a_person(struct round *round, struct upp_err *err)
{
    struct asking *a = round->arg;
    const struct weft_hooks hooks = {.arg = a, .on_complete = kept_turn};
    uint8_t status;
    round->rig.agents[0].hooks = &hooks;
    TRY(round_start(round, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(round_pending(round, &a->story, err));
    wb_buf_addf(&a->story, " | %.*s | ", UPP_FMT(wb_buf_str(&a->sc.log)));
    if (a->restarts) {
        TRY(round_restart(round, err));
        round->rig.agents[0].hooks = &hooks;
    }
    struct wr_answer answer = {.call = UPP_STR("c1"), .approved = a->yes};
    wb_buf_clear(&a->sc.log);
    TRY(wr_answer(round->rig.engine, &rig_owner, round->run, &answer, 1, err));
    TRY(round_wait(round, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    wb_buf_addf(&a->story, "%.*s", UPP_FMT(wb_buf_str(&a->sc.log)));
    return rig_well_formed(round->store, &rig_owner, round->thread, err);
}

static int asked(struct asking *a, bool flag, struct upp_err *err)
{
    const struct wr_tool tools[] = {{.spec = ROUND_SPEC("f"), .approval = flag, .base = scene_tool(&a->sc, NULL)}};
    const struct upp_tool_strategy hooks = scene_hooks(&a->sc);
    a->story = (struct wb_buf)WB_BUF(4096);
    struct round round = {
        .script = ONE("f", "{\"x\":1}"), .tools = tools, .n_tools = 1, .hooks = &hooks, .act = ask_a_person, .arg = a};
    return round_play(&round, err);
}

static void asking_done(struct asking *a)
{
    wb_buf_done(&a->sc.log);
    wb_buf_done(&a->story);
    upp_turn_free(a->turn);
}

static void ask_about(struct asking a, bool flag, const char *story, uint8_t approved, const char *told,
                      const char *kept)
{
    struct upp_err err = {0};
    UPP_CLEANUP(asking_done) struct asking own = a;
    CHECK_INT(asked(&own, flag, &err), 0);
    CHECK_STR(wb_buf_str(&own.story), wb_cstr(story));
    CHECK(own.turn && own.turn->n_executions == 1);
    const struct upp_execution *e = &own.turn->executions[0];
    CHECK_INT(e->approved, approved);
    CHECK_INT(e->is_error, approved == UPP_APPROVED_NO);
    CHECK_STR(e->arguments, UPP_STR("{\"x\":2}"));
    CHECK_STR(e->result, wb_cstr(kept));
    CHECK_STR(own.turn->messages[2].parts[0].text, wb_cstr(told));
}

#define CHANGED .on_before = 1, .arguments = "{\"x\":2}"
static const char denied_told[] = "\"Tool execution denied by approval handler\"";
static const char denied_kept[] = "\"Tool execution denied\"";
static const char waited[] = "approve:c1{\"x\":2} | on_call on_before approval | ";

/* covers: UPP-7/1 */
TEST(tools_approval_that_is_pending)
{
    ask_about((struct asking){.sc = {CHANGED, .approval = WEFT_PENDING}, .yes = true}, false,
              "approve:c1{\"x\":2} | on_call on_before approval | run on_after", UPP_APPROVED_YES, "{\"x\":2}",
              "{\"x\":2}");
}

TEST(tools_approval_waits_across_a_restart)
{
    ask_about((struct asking){.sc = {CHANGED, .approval = WEFT_PENDING}, .yes = true, .restarts = true}, false,
              "approve:c1{\"x\":2} | on_call on_before approval | run on_after", UPP_APPROVED_YES, "{\"x\":2}",
              "{\"x\":2}");
}

TEST(tools_approval_by_function_and_flag)
{
    ask_about((struct asking){.sc = {CHANGED, .approval = 1}, .yes = true, .restarts = true}, true,
              "approve:c1{\"x\":2} | on_call on_before approval | run on_after", UPP_APPROVED_YES, "{\"x\":2}",
              "{\"x\":2}");
}

/* covers: UPP-7/2 */
TEST(tools_denied_by_a_person)
{
    ask_about((struct asking){.sc = {CHANGED, .approval = WEFT_PENDING}, .restarts = true}, false, waited,
              UPP_APPROVED_NO, denied_told, denied_kept);
    ask_about((struct asking){.sc = {CHANGED, .approval = 1}}, true, waited, UPP_APPROVED_NO, denied_told, denied_kept);
}

/* ---- Executions of another life -------------------------------------------------------------- */

static WEFT_SUSPENDS int lives_twice(struct round *round, struct upp_err *err)
{
    struct asking *a = round->arg;
    const struct weft_hooks hooks = {.arg = a, .on_complete = kept_turn};
    struct wr_answer answer = {.call = UPP_STR("c"), .result = UPP_STR("7")};
    uint8_t status;
    TRY(round_start(round, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(round_restart(round, err));
    round->rig.agents[0].hooks = &hooks;
    TRY(wr_answer(round->rig.engine, &rig_owner, round->run, &answer, 1, err));
    TRY(round_wait(round, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

/* What a turn says of calls is the same when the process that made them is gone. */
TEST(tools_executions_of_another_life)
{
    UPP_CLEANUP(asking_done) struct asking a = {.sc = {CHANGED}};
    struct upp_err err = {0};
    const struct wr_tool tools[] = {
        {.spec = ROUND_SPEC("f"), .base = {.run = takes_50}},
        {.spec = ROUND_SPEC("g"),
         .base = {.run = takes_50, .approval = scene_tool(&a.sc, NULL).approval, .arg = &a.sc}},
        {.spec = ROUND_SPEC("h"), .kind = WR_TOOL_CLIENT},
    };
    const struct upp_tool_strategy hooks = {.arg = &a.sc, .on_before = scene_hooks(&a.sc).on_before};
    struct round round = {.script = SCRIPT(REPLY(CALL("a", "f", "{}") "," CALL("b", "g", "{}")) "," REPLY(
                              CALL("c", "h", "{}")) "," REPLY(TEXT("done"))),
                          .tools = tools,
                          .n_tools = 3,
                          .hooks = &hooks,
                          .act = lives_twice,
                          .arg = &a};
    a.sc.log = a.story = (struct wb_buf)WB_BUF(4096);
    CHECK_INT(round_play(&round, &err), 0);
    static const struct {
        const char *id, *result;
        uint8_t approved;
    } want[] = {{"b", denied_kept, UPP_APPROVED_NO}, {"a", "null", UPP_APPROVED_YES}, {"c", "7", UPP_APPROVED_YES}};
    CHECK(a.turn && a.turn->n_executions == 3);
    for (size_t i = 0; i < 3; i++) {
        const struct upp_execution *e = &a.turn->executions[i];
        CHECK_STR(e->id, wb_cstr(want[i].id));
        CHECK_STR(e->result, wb_cstr(want[i].result));
        CHECK_STR(e->arguments, i ? UPP_STR("{\"x\":2}") : UPP_STR("{}")); /* of one that never began: the model's */
        CHECK_INT(e->approved, want[i].approved);
        CHECK_INT(e->is_error, i == 0);
        CHECK((i == 1) == (e->duration_ms >= 50));
    }
}

/* ---- Arguments ------------------------------------------------------------------------------- */

static int checked(struct scene *sc, const char *schema, struct round *round, struct upp_err *err)
{
    UPP_CLEANUP(upp_schema_freep) struct upp_schema *s = NULL;
    TRY(upp_schema_new(wb_cstr(schema), &s, err));
    const struct wr_tool tools[] = {
        {.spec = ROUND_SPEC("f"), .schema = s, .base = {.name = "f", .run = scene_tool(sc, NULL).run, .arg = sc}}};
    const struct upp_tool_strategy hooks = scene_hooks(sc);
    round->tools = tools;
    round->n_tools = 1;
    round->hooks = &hooks;
    return round_play(round, err);
}

static const char city[] = "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"},\"days\":{\"type\":"
                           "\"integer\",\"maximum\":7}},\"required\":[\"city\"],\"additionalProperties\":false}";

static WEFT_SUSPENDS int tells(struct round *round, struct upp_err *err)
{
    struct wb_buf *out = round->arg;
    TRY(round_turn(round, err));
    return round_story(round, out, err);
}

/* covers: UPP-17/2 */
TEST(tools_arguments_that_do_not_fit)
{
    struct upp_err err = {0};
    WB_CLEANUP(wb_buf_done) struct wb_buf story = WB_BUF(1u << 20);
    UPP_CLEANUP(round_done)
    struct round run = {.script = SCRIPT(REPLY(CALL("c1", "f", "{\"days\":9,\"when\":1}") "," CALL(
                            "c2", "f", "{\"city\":\"Oslo\"}")) "," REPLY(TEXT("done"))),
                        .act = tells,
                        .arg = &story};
    struct scene sc = {.on_before = 1};
    int r = checked(&sc, city, &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_INT(run.result, 0);
    CHECK_GOLDEN("run/invalid_arguments.txt", wb_buf_str(&story));
    CHECK(wb_str_find(wb_buf_str(&log), UPP_STR("(the arguments do not fit: /city"), 0) != SIZE_MAX); /* on_error */
    CHECK_INT(run.turn->n_executions, 2);
    CHECK_STR(run.turn->executions[0].id, UPP_STR("c1"));
    CHECK(run.turn->executions[0].is_error && !run.turn->executions[1].is_error);
    CHECK_INT(run.turn->executions[0].approved, UPP_APPROVED_UNASKED);
    struct upp_str told = run.turn->messages[2].parts[0].text;
    CHECK(wb_str_find(told, UPP_STR("/city"), 0) != SIZE_MAX);
    CHECK(wb_str_find(told, UPP_STR("/days"), 0) != SIZE_MAX);
    CHECK(wb_str_find(told, UPP_STR("/when"), 0) != SIZE_MAX);
}

#define RAW(text) ONE("f", "\"" text "\"")

/* Spellings that readers of JSON understand in the same way are one text for all who decide, and for the tool; the
 * message keeps what the model wrote. */
TEST(tools_arguments_are_canonical)
{
    struct upp_err err = {0};
    UPP_CLEANUP(round_done)
    struct round run = {
        .script = RAW("{ \\\"a\\\" : \\\"\\\\/\\\\u0065vil\\\", \\\"b\\\": [9007199254740993, 1e999, -0.0] }")};
    struct scene sc = {.on_before = 1, .approval = 1};
    int r = ask_run(&sc, run.script, &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(run.turn->n_executions, 1);
    CHECK(!run.turn->executions[0].is_error);
    CHECK_STR(run.turn->executions[0].arguments, UPP_STR("{\"a\":\"/evil\",\"b\":[9007199254740993,1e999,-0.0]}"));
    CHECK_STR(run.turn->messages[1].parts[0].text,
              UPP_STR("{ \"a\" : \"\\/\\u0065vil\", \"b\": [9007199254740993, 1e999, -0.0] }"));
}

/* A reader shows one of the two, and the tool may take the other. */
TEST(tools_arguments_with_a_member_twice_are_refused)
{
    struct upp_err err = {0};
    UPP_CLEANUP(round_done) struct round run = {.script = RAW("{\\\"a\\\":{\\\"b\\\":1,\\\"\\\\u0062\\\":2}}")};
    struct scene sc = {.on_before = 1, .approval = 1};
    int r = ask_run(&sc, run.script, &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(run.turn->n_executions, 1);
    CHECK(run.turn->executions[0].is_error);
    CHECK_STR(run.turn->executions[0].result, UPP_STR("\"the arguments have a member twice: /a/b\""));
    CHECK(wb_str_find(wb_buf_str(&log), UPP_STR("approval"), 0) == SIZE_MAX);
}

/* What on_before puts in is checked, not what the model wrote. */
/* covers: UPP-17/2 */
TEST(tools_changed_arguments_are_checked)
{
    struct upp_err err = {0};
    UPP_CLEANUP(round_done) struct round run = {.script = ONE("f", "{\"city\":\"Oslo\"}")};
    struct scene sc = {.on_before = 1, .arguments = "{}"};
    int r = checked(&sc, city, &run, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf log = sc.log;
    CHECK_INT(r, 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(run.turn->n_executions, 1);
    CHECK(run.turn->executions[0].is_error);
    CHECK_STR(run.turn->executions[0].arguments, UPP_STR("{}"));
    CHECK(wb_str_find(wb_buf_str(&log), UPP_STR("run"), 0) == SIZE_MAX);
}

/* ---- Limits ---------------------------------------------------------------------------------- */

static int silent(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    unsigned *times = call->arg;
    (void)ret, (void)err;
    ++*times;
    return 0;
}

static int many_calls(size_t n, const char *id, struct round *round, unsigned *times, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    const struct wr_tool tools[] = {
        {.spec = ROUND_SPEC("f"), .delivery = WEFT_PURE, .base = {.run = silent, .arg = times}}};
    wb_buf_addf(&b, "{\"replies\":[{\"parts\":[");
    for (size_t i = 0; i < n; i++)
        wb_buf_addf(&b, "%s{\"tool_call\":{\"id\":\"%s%zu\",\"name\":\"f\"}}", i ? "," : "", id,
                    *id == '=' ? (size_t)0 : i);
    wb_buf_addf(&b, "]},{\"parts\":[{\"text\":\"done\"}]}]}");
    wb_buf_addc(&b, 0);
    TRY(wb_buf_check(&b, err));
    round->script = b.p;
    round->tools = tools;
    round->n_tools = 1;
    return round_play(round, err);
}

TEST_WITH(tools_as_many_as_there_may_be, .no_torture = "128 calls; others are tortured")
{
    struct upp_err err = {0};
    unsigned times = 0;
    UPP_CLEANUP(round_done) struct round run = {0};
    CHECK_INT(many_calls(128, "c", &run, &times, &err), 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(times, 128);
    CHECK_INT(run.turn->n_executions, 128);
    CHECK_INT(run.turn->messages[2].n_parts, 128);
}

TEST_WITH(tools_one_too_many_fails_the_run, .no_torture = "129 calls; others are tortured")
{
    struct upp_err err = {0};
    unsigned times = 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf story = WB_BUF(1u << 20);
    UPP_CLEANUP(round_done) struct round run = {.act = tells, .arg = &story}; /* the thread is well-formed */
    CHECK_INT(many_calls(129, "c", &run, &times, &err), 0);
    CHECK_INT(run.result, -UPP_ELIMIT);
    CHECK_INT(times, 0);
}

TEST(tools_calls_with_the_same_id)
{
    struct upp_err err = {0};
    unsigned times = 0;
    WB_CLEANUP(wb_buf_done) struct wb_buf story = WB_BUF(1u << 20);
    UPP_CLEANUP(round_done) struct round run = {.act = tells, .arg = &story};
    CHECK_INT(many_calls(3, "=", &run, &times, &err), 0);
    CHECK_INT(run.result, 0);
    CHECK_INT(times, 3);
    CHECK_INT(run.turn->n_executions, 3);
    CHECK(!wb_str_eq(run.turn->executions[0].id, run.turn->executions[1].id));
}
