/* What a request sets for its run, as the model and the engine see it: honoured, refused, the same after a restart. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "support/family.h"

#define TOOL(name)                                                                                                     \
    "{\"type\":\"function\",\"function\":{\"name\":\"" name                                                            \
    "\",\"parameters\":{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}}}}}"

static WEFT_SUSPENDS int never(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_text(ret, UPP_STR("ran"), err);
}
static const struct wr_tool has_tool[] = {{.spec = SPEC_OF("tool"), .base = {.run = never}}};
static const struct wr_tool asks[] = {ASKS("ask", "helper")};

#define TALKS SAYS(SAY(1, 1, SAY_TEXT("ok")))

static bool says(const struct family *f, const char *text)
{
    bool found = wb_str_find(wb_buf_str(&f->asked), wb_cstr(text), 0) != SIZE_MAX;
    if (!found)
        test_note("'%s' is not in: %.*s", text, UPP_FMT(wb_buf_str(&f->asked)));
    return found;
}

static int play(struct family *f)
{
    struct upp_err err = {0};
    int r = family_play(f, &err);
    return r < 0 ? r : f->result;
}

TEST(settings_reach_the_model_over_the_params_of_the_agent)
{
    static const struct family_member members[] = {
        {"main", TALKS, FAMILY_TOOLS(has_tool), .params = "{\"top_p\":0.1,\"top_k\":3}"}};
    FAMILY_WITH(members, .options = "{\"temperature\":0.5,\"top_p\":0.9,\"seed\":1,\"tool_choice\":\"required\","
                                    "\"max_completion_tokens\":9,\"tools\":[" TOOL("mine") "]}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "main params={\"top_p\":0.9,\"top_k\":3,\"temperature\":0.5,\"seed\":1,\"max_completion_tokens\":9,"
                  "\"tool_choice\":\"required\"} asked=go tools=tool,mine\n"));
}

static const struct {
    const char *options, *where;
} refused[] = {
    {"{\"tools\":[" TOOL("tool") "]}", "/tools/0/function/name"},
    {"{\"tools\":[" TOOL("a") "," TOOL("a") "]}", "/tools/1/function/name"},
    {"{\"tools\":[" TOOL("a b") "]}", "/tools/0/function/name"},
    {"{\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"a\",\"parameters\":{\"type\":7}}}]}",
     "/tools/0/function/parameters/type"},
    {"{\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"b\"}}}", "/tool_choice/function/name"},
    {"{\"tool_choice\":\"perhaps\"}", "/tool_choice"},
    {"{\"temperature\":3}", "/temperature"},
    {"{\"response_format\":{\"type\":\"json_schema\"}}", "/response_format"},
    {"{\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"schema\":{\"type\":7}}}}",
     "/response_format/json_schema/schema/type"},
};

static WEFT_SUSPENDS int is_refused(struct family *f, struct upp_err *err)
{
    for (size_t i = 0; i < WB_LEN(refused); i++) {
        struct upp_err why = {0};
        f->options = refused[i].options;
        int r = family_start(f, &why);
        if (r == -UPP_ENOMEM)
            return upp_fail(err, UPP_ENOMEM, "no memory");
        test_note("%zu: %d %s %s", i, r, why.where, why.msg);
        FAIL_UNLESS(r == -UPP_EINVALID && !strcmp(why.where, refused[i].where));
        r = wr_check_options(f->rig.engine, UPP_STR("main"), wb_cstr(f->options), &why);
        FAIL_UNLESS(r == -UPP_EINVALID || r == -UPP_ENOMEM);
        if (r == -UPP_ENOMEM)
            return upp_fail(err, UPP_ENOMEM, "no memory");
    }
    return 0;
}

TEST(settings_that_cannot_be_honoured_are_refused_at_the_start)
{
    static const struct family_member members[] = {{"main", TALKS, FAMILY_TOOLS(has_tool), .check_structure = true}};
    FAMILY_WITH(members, .act = is_refused);
    CHECK_INT(play(f), 0);
    CHECK(f->asked.n == 0);
}

static WEFT_SUSPENDS int too_many(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    for (size_t n = 128; n <= 129; n++) {
        wb_buf_clear(&b);
        wb_buf_add(&b, UPP_STR("{\"tools\":["));
        for (size_t i = 0; i < n; i++)
            wb_buf_addf(&b, "%s{\"type\":\"function\",\"function\":{\"name\":\"t%zu\"}}", i ? "," : "", i);
        wb_buf_add(&b, UPP_STR("]}"));
        TRY(wb_buf_check(&b, err));
        int r = wr_check_options(f->rig.engine, UPP_STR("main"), wb_buf_str(&b), err);
        if (r == -UPP_ENOMEM)
            return r;
        FAIL_UNLESS(r == (n > 128 ? -UPP_EINVALID : 0));
    }
    return 0;
}

TEST(settings_have_at_most_128_tools)
{
    static const struct family_member members[] = {{"main", TALKS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = too_many);
    CHECK_INT(play(f), 0);
}

/* Waits for a tool of the request; the process ends; the tool is still the run's. */
static WEFT_SUSPENDS int across_a_restart(struct family *f, struct upp_err *err)
{
    struct wr_answer answer = {.call = UPP_STR("c1"), .result = UPP_STR("\"done\"")};
    uint8_t status = 0;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(family_restart(f, err));
    TRY(wr_answer(f->rig.engine, &rig_owner, f->started.run, &answer, 1, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    return 0;
}

TEST(settings_are_the_same_after_a_restart)
{
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("c1", "mine", "{\"n\":1}")), SAY(1, 1, SAY_TEXT("ok"))),
         FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = across_a_restart,
                .options = "{\"temperature\":0.5,\"tool_choice\":\"required\",\"tools\":[" TOOL("mine") "]}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "main params={\"temperature\":0.5,\"tool_choice\":\"required\"} asked=go tools=tool,mine\n"
                  "main params={\"temperature\":0.5} asked=go tools=tool,mine\n"));
}

TEST(settings_are_not_those_of_sub_agents)
{
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("a", "ask", "{\"task\":\"look\"}")), SAY(1, 1, SAY_TEXT("ok"))),
         FAMILY_TOOLS(asks)},
        {"helper", TALKS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .options = "{\"temperature\":0.5,\"tools\":[" TOOL("mine") "]}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "helper params= asked=look tools=tool\n"));
    CHECK(says(f, "main params={\"temperature\":0.5} asked=go tools=ask,mine\n"));
}

static WEFT_SUSPENDS int how_it_ends(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 22);
    struct wr_run_info look;
    TRY(family_turn(f, err));
    TRY(wr_get(f->rig.engine, &rig_owner, f->started.run, &a, &look, err));
    wb_buf_addf(&f->asked, "ends %u %.*s\n", look.run.status, UPP_FMT(look.run.error));
    return wb_buf_check(&f->asked, err);
}

#define CALLS SAYS(SAY(10, 6, SAY_TEXT("hm"), SAY_CALL("t", "tool", "{}")), SAY(10, 6, SAY_TEXT("ok")))

TEST(settings_limit_the_tokens_of_the_responses)
{
    static const struct family_member members[] = {{"main", CALLS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = how_it_ends, .options = "{\"max_completion_tokens\":6}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "{\"reason\":\"max_completion_tokens\"}\n"));
    CHECK(f->turn && f->turn->n_messages >= 2);
}

TEST(settings_give_later_calls_what_is_left)
{
    static const struct family_member members[] = {{"main", CALLS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = how_it_ends, .options = "{\"max_completion_tokens\":20}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "main params={\"max_completion_tokens\":20} asked=go tools=tool\n"
                  "main params={\"max_completion_tokens\":14} asked=go tools=tool\n"));
}

TEST(settings_limit_the_tokens_of_the_requests)
{
    static const struct family_member members[] = {{"main", CALLS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = how_it_ends, .options = "{\"max_prompt_tokens\":2}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "{\"reason\":\"max_prompt_tokens\"}\n"));
    CHECK(wb_str_find(wb_buf_str(&f->asked), UPP_STR("main params"), 0) == SIZE_MAX);
}

TEST(settings_let_no_tool_run)
{
    static const struct family_member members[] = {{"main", CALLS, FAMILY_TOOLS(has_tool)}};
    FAMILY_WITH(members, .act = how_it_ends, .options = "{\"tool_choice\":\"none\"}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "main params={\"tool_choice\":\"none\"} asked=go tools=tool\n"));
    CHECK(f->turn && f->turn->n_executions == 0);
}

TEST(settings_name_a_stored_assistant)
{
    static const struct family_member members[] = {
        {"asst_x", TALKS, FAMILY_TOOLS(has_tool), .no_model = true, .base = true},
        {"other", TALKS, FAMILY_TOOLS(has_tool), .params = "{\"k\":1}"}};
    FAMILY_WITH(members, .act = how_it_ends, .options = "{\"model\":\"other\",\"seed\":2}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "other params={\"k\":1,\"seed\":2} asked=go"));
}

static WEFT_SUSPENDS int not_stored(struct family *f, struct upp_err *err)
{
    struct upp_err why = {0};
    int r = family_start(f, &why);
    if (r == -UPP_ENOMEM)
        return upp_fail(err, UPP_ENOMEM, "no memory");
    FAIL_UNLESS(r == -UPP_ENOTFOUND);
    return 0;
}

TEST(settings_without_a_model_are_no_assistant)
{
    static const struct family_member members[] = {
        {"asst_x", TALKS, FAMILY_TOOLS(has_tool), .no_model = true, .base = true}};
    FAMILY_WITH(members, .act = not_stored);
    CHECK_INT(play(f), 0);
}

TEST(settings_are_not_those_of_the_next_agent)
{
    static const struct family_member members[] = {
        {"main", SAYS(SAY(1, 1, SAY_CALL("h", "pass_on", "{}")), SAY(1, 1, SAY_TEXT("back"))), .params = NULL},
        {"helper", TALKS, .params = NULL}};
    FAMILY_WITH(members, .options = "{\"temperature\":0.5,\"instructions\":\"x\",\"tools\":[" TOOL("mine") "]}");
    CHECK_INT(play(f), 0);
    CHECK(says(f, "main params={\"temperature\":0.5} asked=go tools="));
    CHECK(says(f, ",mine\nhelper params= asked="));
    struct upp_str all = wb_buf_str(&f->asked);
    size_t mine = wb_str_find(all, UPP_STR(",mine\n"), 0);
    CHECK(wb_str_find(all, UPP_STR(",mine\n"), mine + 1) == SIZE_MAX);
}

#define PLANS                                                                                                          \
    "{\"replies\":[{\"when\":{\"contains\":\"Make a\"},\"data\":{\"steps\":[{\"id\":\"a\",\"description\":\"x\"},"     \
    "{\"id\":\"b\",\"description\":\"y\"}]},\"usage\":{\"input_tokens\":1,\"output_tokens\":2}},"                      \
    "{\"when\":{\"contains\":\"step 'a'\"},\"parts\":[{\"text\":\"A\"}]},"                                             \
    "{\"when\":{\"contains\":\"step 'b'\"},\"parts\":[{\"text\":\"B\"}]}]}"

/* Steps that are done at the same time are branches: parts of the run, with what it was given. */
TEST(settings_are_those_of_the_steps_of_a_plan)
{
    static const struct family_member members[] = {
        {"main", PLANS, FAMILY_TOOLS(has_tool), .strategy = &weft_strategy_plan}};
    FAMILY_WITH(members, .options = "{\"temperature\":0.5,\"max_completion_tokens\":50,\"tools\":[" TOOL("mine") "]}");
    CHECK_INT(play(f), 0);
    struct upp_str all = wb_buf_str(&f->asked);
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(all, UPP_STR("\"max_completion_tokens\":48} "), at)) != SIZE_MAX; at++)
        n++;
    test_note("%.*s", UPP_FMT(all));
    CHECK(n == 2);
}
