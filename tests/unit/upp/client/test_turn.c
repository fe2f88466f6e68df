#include <string.h>
#include <upp/upp.h>

#include "base/buf.h"
#include "base/defs.h"
#include "support/llm.h"
#include "support/test.h"

/* Reads a turn and writes it again: the same text, or what was wrong. */
static bool goes_round(const char *json, const char *want)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_str text = {0};
    int r = upp_turn_from_json(wb_cstr(json), &turn, &err);
    if (r >= 0)
        r = upp_turn_to_json(turn, &text, &err);
    bool same = r >= 0 && wb_str_eq(text, wb_cstr(want));
    test_note("%s: %.*s", err.msg, UPP_FMT(text));
    upp_text_free(text);
    return EXPECT(same);
}

#define USER                                                                                                           \
    "{\"id\":\"a\",\"type\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"timestamp\":\"2026-02-03T04:" \
    "05:06.007Z\"}"
#define SAID                                                                                                           \
    "{\"id\":\"b\",\"type\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"hello\"}],\"timestamp\":\"2026-"  \
    "02-03T04:05:06.900Z\"}"
#define USED                                                                                                           \
    "\"usage\":{\"inputTokens\":5,\"outputTokens\":2,\"totalTokens\":7,\"cacheReadTokens\":0,\"cacheWriteTokens\":0,"  \
    "\"cycles\":[{\"inputTokens\":5,\"outputTokens\":2,\"cacheReadTokens\":0,\"cacheWriteTokens\":0}]}"
#define TURN "{\"messages\":[" USER "," SAID "],\"toolExecutions\":[]," USED ",\"cycles\":1}"
#define EXECUTION                                                                                                      \
    "{\"toolName\":\"calc\",\"toolCallId\":\"tc1\",\"arguments\":{\"e\":\"2+2\"},\"result\":4,\"isError\":false,"      \
    "\"duration\":3"

/* covers: UPP-3/1, UPP-4/2 */
TEST(turn_json_goes_round)
{
    CHECK(goes_round(TURN, TURN));
    CHECK(goes_round(
        "{\"messages\":[" USER "," SAID "],\"response\":" SAID ",\"toolExecutions\":[]," USED ",\"cycles\":1}", TURN));
    static const char all[] = "{\"messages\":[" SAID "],\"toolExecutions\":[" EXECUTION ",\"approved\":true}," EXECUTION
                              ",\"approved\":false}," EXECUTION "}]," USED ",\"cycles\":1,\"data\":{\"a\":[1,null]}}";
    CHECK(goes_round(all, all));
}

/* What the reference writes wrongly is read. */
TEST(turn_json_takes_what_the_reference_writes)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    static const char json[] = "{\"messages\":[{\"id\":\"a\",\"type\":\"user\",\"content\":[{\"type\":\"image\","
                               "\"source\":{\"type\":\"bytes\","
                               "\"data\":{\"0\":1,\"1\":2,\"2\":255}},\"mimeType\":\"image/png\"}]},"
                               "{\"id\":\"b\",\"type\":\"assistant\",\"content\":[]}],\"cycles\":1,"
                               "\"usage\":{\"inputTokens\":5,\"outputTokens\":2,\"totalTokens\":7}}";
    CHECK(upp_turn_from_json(wb_cstr(json), &turn, &err) >= 0);
    CHECK_STR(turn->messages[0].parts[0].media->data, UPP_STR("AQL/"));
    CHECK(turn->messages[0].time_ms > 0);
    CHECK(turn->response == &turn->messages[1]);
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR(""));
    CHECK_INT(turn->n_cycles, 1);
    CHECK_INT(turn->cycles[0].input, 5);
}

/* A number is no reason to make as much of anything: no more cycles than messages. */
TEST(turn_json_of_many_cycles_stays_small)
{
    struct upp_err err = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    CHECK(upp_turn_from_json(UPP_STR("{\"messages\":[" USER "," SAID "],\"cycles\":99999999999}"), &turn, &err) >= 0);
    CHECK_INT(turn->n_cycles, 2);
}

TEST(turn_json_names_what_is_wrong)
{
    static const struct {
        const char *json, *where;
    } bad[] = {
        {"[]", ""},
        {"{\"messages\":[" USER "]}", ""},
        {"{\"messages\":7}", "/messages"},
        {"{\"messages\":[" SAID ",{\"id\":\"b\",\"type\":\"robot\"}]}", "/messages/1"},
        {"{\"messages\":[" SAID "],\"toolExecutions\":[{\"toolCallId\":\"x\",\"toolName\":7}]}",
         "/toolExecutions/0/toolName"},
        {"{\"messages\":[" SAID "],\"usage\":{\"inputTokens\":\"x\"}}", "/usage/inputTokens"},
        {"{\"messages\":[" SAID "],\"toolExecutions\":[{\"toolCallId\":\"x\"}]}", "/toolExecutions/0"},
        {"{", NULL},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        struct upp_err err = {0};
        struct upp_turn *turn = NULL;
        test_note("case %zu", i);
        int r = upp_turn_from_json(wb_cstr(bad[i].json), &turn, &err);
        ALWAYS(r < 0 && !turn);
        CHECK_INT(r, -UPP_EINVALID);
        test_note("%s: %s", err.where, err.msg);
        CHECK(!bad[i].where || strcmp(err.where, bad[i].where) == 0);
    }
}

static int calc(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    (void)call;
    return upp_value_json(ret, UPP_STR(" 4 "), err);
}

/* covers: UPP-2/1, UPP-3/2 */
TEST(turn_of_a_call_as_json_and_back)
{
    static const struct upp_tool tools[] = {UPP_TOOL(calc, "calculates", "{e: string}")};
    struct upp_err err = {0};
    UPP_CLEANUP(upp_model_freep)
    struct upp_model *model = llm_script(
        "{\"replies\":[{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"calc\",\"arguments\":{\"e\":\"2+2\"}}},"
        "{\"tool_call\":{\"id\":\"c2\",\"name\":\"calc\",\"arguments\":\"{no\"}}]},{\"parts\":[{\"text\":\"4\"}]}]}");
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL, *back = NULL;
    struct upp_str first = {0}, second = {0};
    CHECK(model && upp_llm_new(UPP_OPTS(upp_llm_opts, .use = model, .tools = tools, .n_tools = 1), &llm, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("2+2"), &turn, &err) >= 0);
    int r = upp_turn_to_json(turn, &first, &err);
    if (r >= 0)
        r = upp_turn_from_json(first, &back, &err);
    if (r >= 0)
        r = upp_turn_to_json(back, &second, &err);
    bool same = r >= 0 && wb_str_eq(first, second);
    upp_text_free(first);
    upp_text_free(second);
    CHECK(same);
    CHECK_INT(back->n_executions, 2);
    CHECK_STR(back->executions[1].result, UPP_STR("4"));
    CHECK_INT(back->executions[1].approved, UPP_APPROVED_YES);
    CHECK_INT(back->executions[0].approved, UPP_APPROVED_UNASKED);
    CHECK_STR(back->messages[1].parts[1].text, UPP_STR("{no"));
}

/* A model that says one text in given pieces. */
static const struct upp_str halves[] = {UPP_STR_INIT("a\xed\xa0\xbd"), UPP_STR_INIT("\xed\xb9\x82"),
                                        UPP_STR_INIT("\xed\xa0\xbd"),  UPP_STR_INIT("b\xed\xb9\x82"),
                                        UPP_STR_INIT("\xed\xa0\xbd"),  UPP_STR_INIT("\xed\xb9\x82z")};

static int pieces_next(struct upp_step *s, struct upp_step_event *ret, struct upp_err *err)
{
    (void)err;
    unsigned *at = upp_step_state(s);
    if (*at == 0)
        *ret = (struct upp_step_event){.kind = UPP_STEP_PART_OPEN, .part_kind = UPP_PART_TEXT};
    else if (*at <= WB_LEN(halves))
        *ret = (struct upp_step_event){.kind = UPP_STEP_DELTA, .text = halves[*at - 1]};
    else if (*at == WB_LEN(halves) + 1)
        *ret = (struct upp_step_event){.kind = UPP_STEP_PART_CLOSE};
    else
        *ret = (struct upp_step_event){.kind = UPP_STEP_END, .stop = UPP_STOP_END};
    return ++*at <= WB_LEN(halves) + 3;
}

static int pieces_open(struct upp_step *s, struct upp_err *err)
{
    (void)s, (void)err;
    return 0;
}

/* Halves of a pair in two deltas are the character; a half that stays alone stays as it is. */
TEST(turn_joins_halves_of_a_pair)
{
    static const struct upp_model_ops ops = {.size = sizeof ops,
                                             .provider = "pieces",
                                             .step_size = sizeof(unsigned),
                                             .open = pieces_open,
                                             .next = pieces_next};
    struct upp_model model = {.ops = &ops, .name = UPP_STR_INIT("m")};
    struct upp_err err = {0};
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_str json = {0};
    CHECK(upp_llm_new(UPP_OPTS(upp_llm_opts, .use = &model), &llm, &err) >= 0);
    CHECK(upp_ask(llm, UPP_STR("go"), &turn, &err) >= 0);
    CHECK_STR(wb_cstr(upp_turn_text(turn)), UPP_STR("a\xf0\x9f\x99\x82\xed\xa0\xbd"
                                                    "b\xed\xb9\x82\xf0\x9f\x99\x82z"));
    int r = upp_turn_to_json(turn, &json, &err);
    upp_text_free(json);
    CHECK(r >= 0);
}
