/* Child runs whose tool has an adapter: what they are asked, what is set for them, what their call gives; the same
 * after a restart. And what options may forbid: tools that are not named, tools that are not pure. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "json/read.h"
#include "json/value.h"
#include "json/write.h"
#include "support/family.h"

/* An adapter: {"q","options"} asks, {"asked","set","said"} is the result. */

static int ask(const void *arg, const struct wr_tool *tool, struct upp_str arguments, struct wb_arena *a,
               struct wr_child_ask *ret, struct upp_err *err)
{
    yyjson_val *v;
    (void)tool;
    TRY(wj_read(a, arguments, NULL, &v, err));
    ret->input = wb_arena_printf(a, "%s%.*s", (const char *)arg, UPP_FMT(wj_text_at(v, "q")));
    yyjson_val *options = yyjson_obj_get(v, "options");
    return options ? wj_value_text(a, options, &ret->options, err) : wb_arena_check(a, err);
}

static int answer(const void *arg, const struct wr_tool *tool, const struct wr_child_end *end, struct upp_value *ret,
                  struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 16);
    (void)arg;
    (void)tool;
    wb_buf_addf(&b, "{\"asked\":%.*s,\"set\":%.*s,\"said\":\"%.*s\",\"tokens\":[%llu,%llu],\"failed\":%s}",
                UPP_FMT(end->arguments), end->options.n ? (int)end->options.n : 4,
                end->options.n ? end->options.p : "null", UPP_FMT(end->text), (unsigned long long)end->usage.input,
                (unsigned long long)end->usage.output, end->result < 0 ? "true" : "false");
    int r = wb_buf_check(&b, err);
    return r < 0 ? r : upp_value_json(ret, wb_buf_str(&b), err);
}

static const struct wr_child_adapter adapter = {"asked: ", ask, answer};
static const struct wr_tool asks[] = {ASKS_WITH("ask", "helper", .adapter = &adapter)};
static const struct wr_tool none[] = {ASKS("never", "nobody")};

#define GO(args) SAYS(SAY(1, 1, SAY_CALL("c1", "ask", args)), SAY(1, 1, SAY_TEXT("done")))

static bool says(const struct family *f, const char *text)
{
    bool found = wb_str_find(wb_buf_str(&f->asked), wb_cstr(text), 0) != SIZE_MAX;
    if (!found)
        test_note("'%s' is not in: %.*s", text, UPP_FMT(wb_buf_str(&f->asked)));
    return found;
}

static bool result_is(const struct family *f, bool error, const char *json)
{
    if (!f->turn || !f->turn->n_executions)
        return false;
    const struct upp_execution *e = &f->turn->executions[0];
    test_note("result: %.*s", UPP_FMT(e->result));
    return e->is_error == error && wb_str_eq(e->result, wb_cstr(json));
}

static int play(struct family *f)
{
    struct upp_err err = {0};
    int r = family_play(f, &err);
    return r < 0 ? r : f->result;
}

TEST(child_adapter_asks_with_options_and_answers_with_json)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"why\",\"options\":{\"temperature\":0.5,\"additional_instructions\":\"be brief\"}}"),
         FAMILY_TOOLS(asks)},
        {"helper", SAYS(SAY(3, 4, SAY_TEXT("so"))), FAMILY_TOOLS(none), .params = "{\"top_k\":1}"}};
    FAMILY(members);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "helper params={\"top_k\":1,\"temperature\":0.5} asked=asked: why tools=never\n"));
    CHECK(result_is(f, false,
                    "{\"asked\":{\"q\":\"why\",\"options\":{\"temperature\":0.5,\"additional_instructions\":\"be "
                    "brief\"}},\"set\":{\"temperature\":0.5,\"additional_instructions\":\"be brief\"},\"said\":\"so\","
                    "\"tokens\":[3,4],\"failed\":false}"));
}

/* What the model cannot honour is left out of the options, and the adapter sees which. */
TEST(child_adapter_is_told_what_could_not_be_honoured)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"why\",\"options\":{\"temperature\":9,\"top_p\":0.5,\"tool_choice\":\"perhaps\"}}"),
         FAMILY_TOOLS(asks)},
        {"helper", SAYS(SAY(3, 4, SAY_TEXT("so"))), FAMILY_TOOLS(none)}};
    FAMILY(members);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "helper params={\"top_p\":0.5} asked=asked: why tools=never\n"));
    CHECK(result_is(
        f, false,
        "{\"asked\":{\"q\":\"why\",\"options\":{\"temperature\":9,\"top_p\":0.5,\"tool_choice\":\"perhaps\"}},"
        "\"set\":{\"top_p\":0.5},\"said\":\"so\",\"tokens\":[3,4],\"failed\":false}"));
}

TEST(child_adapter_answers_for_a_failure_too)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"why\"}"), FAMILY_TOOLS(asks)},
        {"helper", SAYS("{\"error\":{\"code\":\"INVALID_REQUEST\",\"message\":\"I will not\"}}"), FAMILY_TOOLS(none)}};
    FAMILY(members);
    CHECK_INT(play(f), 0);
    CHECK(result_is(
        f, true, "{\"asked\":{\"q\":\"why\"},\"set\":null,\"said\":\"I will not\",\"tokens\":[0,0],\"failed\":true}"));
}

static char ran[256];

static WEFT_SUSPENDS int run(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)snprintf(ran + strlen(ran), sizeof ran - strlen(ran), "%.*s ", UPP_FMT(call->name));
    return upp_value_text(ret, UPP_STR("ran"), err);
}

static const struct wr_tool has_two[] = {{.spec = SPEC_OF("look"), .delivery = WEFT_PURE, .base = {.run = run}},
                                         {.spec = SPEC_OF("write"), .base = {.run = run}}};
static const struct wr_tool asks_leaf[] = {ASKS("ask_leaf", "leaf"),
                                           {.spec = SPEC_OF("look"), .delivery = WEFT_PURE, .base = {.run = run}}};
#define BOTH SAYS(SAY(1, 1, SAY_CALL("a", "look", "{}"), SAY_CALL("b", "write", "{}")), SAY(1, 1, SAY_TEXT("ok")))

static WEFT_SUSPENDS int events(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    ran[0] = 0;
    TRY(family_turn(f, err));
    TRY(rig_read(&f->rig, f->started.run, &b, err));
    wb_buf_add(&f->asked, wb_buf_str(&b));
    return wb_buf_check(&f->asked, err);
}

/* covers: ENV-13/3 */
TEST(child_options_limit_the_tools)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"x\",\"options\":{\"weft_only_tools\":[\"look\"]}}"), FAMILY_TOOLS(asks)},
        {"helper", BOTH, FAMILY_TOOLS(has_two)}};
    FAMILY_WITH(members, .act = events);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tools=look\n"));
    CHECK(says(f, "Tool 'write' is not allowed here"));
    CHECK_STR(wb_cstr(ran), UPP_STR("look "));
}

/* The model reads the reason; a sub-agent of the one that was asked is bound too. */
/* covers: ENV-13/3 */
TEST(child_options_refuse_tools_that_are_not_pure)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"x\",\"options\":{\"weft_readonly\":true}}"), FAMILY_TOOLS(asks)},
        {"helper",
         SAYS(SAY(1, 1, SAY_CALL("h", "ask_leaf", "{\"task\":\"t\"}"), SAY_CALL("l", "look", "{}")),
              SAY(1, 1, SAY_TEXT("ok"))),
         FAMILY_TOOLS(asks_leaf)},
        {"leaf", BOTH, FAMILY_TOOLS(has_two)}};
    FAMILY_WITH(members, .act = events);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tools=look,write\n"));
    CHECK(says(f, "Tool 'write' is refused: the request is read-only, and it is not declared pure"));
    CHECK(strstr(ran, "write") == NULL);
}

static const struct wr_tool picks[] = {{.spec = SPEC_OF("pick"), .kind = WR_TOOL_CLIENT, .delivery = WEFT_PURE},
                                       {.spec = SPEC_OF("write"), .base = {.run = run}}};

static WEFT_SUSPENDS int restarts(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    struct wr_answer picked = {.call = UPP_STR("p"), .result = UPP_STR("\"red\"")};
    uint8_t status;
    ran[0] = 0;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(family_restart(f, err));
    TRY(wr_answer(f->rig.engine, &rig_owner, f->started.run, &picked, 1, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(rig_read(&f->rig, f->started.run, &b, err));
    wb_buf_add(&f->asked, wb_buf_str(&b));
    return wb_buf_check(&f->asked, err);
}

TEST(child_options_hold_after_a_restart)
{
    static const struct family_member members[] = {
        {"main", GO("{\"q\":\"x\",\"options\":{\"temperature\":0.25,\"weft_readonly\":true}}"), FAMILY_TOOLS(asks)},
        {"helper",
         SAYS(SAY(1, 1, SAY_CALL("p", "pick", "{}")),
              "{\"when\":{\"tool_result\":\"pick\"},\"parts\":[" SAY_CALL("w", "write", "{}") "]}",
              SAY(1, 1, SAY_TEXT("ok"))),
         FAMILY_TOOLS(picks)}};
    FAMILY_WITH(members, .act = restarts);
    CHECK_INT(play(f), 0);
    CHECK_STR(wb_cstr(ran), UPP_STR(""));
    CHECK(says(f, "Tool 'write' is refused"));
    const char *second = strstr(f->asked.p, "temperature");
    CHECK(second && strstr(second + 1, "helper params={\"temperature\":0.25}"));
}
