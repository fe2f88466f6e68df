/* Settings in the words of each vendor: as params, and in the request that goes out. */
#include <string.h>
#include <upp/provider.h>

#include "base/defs.h"
#include "json/read.h"
#include "support/fibers.h"
#include "support/test.h"
#include "support/vendor.h"
#include "upp/providers/settings.h"

struct row {
    const char *provider, *api, *params, *values;
    uint8_t choice;
    uint64_t max;
    bool json, no_tools;
    const char *want; /* the params, or the pointer of what is refused */
    int result;
};

#define ALL                                                                                                            \
    "{\"temperature\":0.5,\"top_p\":0.25,\"stop\":\"E\",\"seed\":7,\"frequency_penalty\":1,\"presence_penalty\":2,"    \
    "\"reasoning_effort\":\"low\",\"parallel_tool_calls\":false}"
#define FEW              "{\"temperature\":0.5,\"top_p\":0.25,\"reasoning_effort\":\"low\",\"parallel_tool_calls\":false}"
#define ONE(name, value) "{\"" name "\":" value "}"
#define NO               -UPP_EINVALID
#define CHAT_VALUES                                                                                                    \
    "{\"temperature\":0.5,\"top_p\":0.25,\"stop\":\"E\",\"seed\":7,\"frequency_penalty\":1,\"presence_penalty\":2,"    \
    "\"reasoning_effort\":\"low\",\"parallel_tool_calls\":false,"

static const struct row rows[] = {
    {"openai", "chat", NULL, ALL, UPP__CHOICE_FUNCTION, 9, true, false,
     CHAT_VALUES "\"max_completion_tokens\":9,\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}},"
                 "\"response_format\":{\"type\":\"json_object\"}}",
     0},
    {"deepseek", NULL, NULL, ALL, UPP__CHOICE_NONE, 9, false, false,
     CHAT_VALUES "\"max_tokens\":9,\"tool_choice\":\"none\"}", 0},
    {"openai", "chat", "{\"max_tokens\":20,\"k\":1}", "{}", 0, 9, false, false, "{\"max_tokens\":9,\"k\":1}", 0},
    {"openai", "chat", "{\"max_tokens\":5}", "{}", 0, 9, false, false, "{\"max_tokens\":5}", 0},
    {"openai", "chat", NULL, "{\"parallel_tool_calls\":false,\"seed\":null}", UPP__CHOICE_AUTO, 0, false, true, NULL,
     0},
    {"openai", NULL, "{\"reasoning\":{\"summary\":\"auto\"},\"text\":{\"verbosity\":\"low\"}}", FEW,
     UPP__CHOICE_FUNCTION, 9, true, false,
     "{\"reasoning\":{\"summary\":\"auto\",\"effort\":\"low\"},\"text\":{\"verbosity\":\"low\",\"format\":{\"type\":"
     "\"json_object\"}},\"temperature\":0.5,\"top_p\":0.25,\"parallel_tool_calls\":false,\"max_output_tokens\":9,"
     "\"tool_choice\":{\"type\":\"function\",\"name\":\"f\"}}",
     0},
    {"openai", NULL, NULL, ONE("stop", "\"E\""), 0, 0, false, false, "/stop", NO},
    {"openai", NULL, NULL, ONE("seed", "1"), 0, 0, false, false, "/seed", NO},
    {"openai", NULL, NULL, ONE("frequency_penalty", "1"), 0, 0, false, false, "/frequency_penalty", NO},
    {"openai", NULL, NULL, ONE("presence_penalty", "1"), 0, 0, false, false, "/presence_penalty", NO},
    {"anthropic", NULL, NULL, "{\"temperature\":1,\"top_p\":0.25,\"stop\":\"E\",\"reasoning_effort\":\"high\"}",
     UPP__CHOICE_REQUIRED, 9, false, false,
     "{\"temperature\":1,\"top_p\":0.25,\"stop_sequences\":[\"E\"],\"output_config\":{\"effort\":\"high\"},"
     "\"max_tokens\":9,\"tool_choice\":{\"type\":\"any\"}}",
     0},
    {"anthropic", NULL, NULL, ONE("parallel_tool_calls", "false"), 0, 0, false, false,
     "{\"tool_choice\":{\"type\":\"auto\",\"disable_parallel_tool_use\":true}}", 0},
    {"anthropic", NULL, NULL, ONE("parallel_tool_calls", "false"), UPP__CHOICE_FUNCTION, 0, false, false,
     "{\"tool_choice\":{\"type\":\"tool\",\"name\":\"f\",\"disable_parallel_tool_use\":true}}", 0},
    {"anthropic", NULL, NULL, ONE("parallel_tool_calls", "false"), UPP__CHOICE_NONE, 0, false, false,
     "{\"tool_choice\":{\"type\":\"none\"}}", 0},
    {"anthropic", NULL, NULL, ONE("parallel_tool_calls", "true"), 0, 0, false, false, NULL, 0},
    {"anthropic", NULL, NULL, ONE("temperature", "1.1"), 0, 0, false, false, "/temperature", NO},
    {"anthropic", NULL, NULL, ONE("seed", "1"), 0, 0, false, false, "/seed", NO},
    {"anthropic", NULL, NULL, ONE("reasoning_effort", "\"minimal\""), 0, 0, false, false, "/reasoning_effort", NO},
    {"anthropic", NULL, NULL, "{}", 0, 0, true, false, "/response_format", NO},
    {"google", NULL, "{\"generationConfig\":{\"topK\":3}}",
     "{\"temperature\":0.5,\"top_p\":0.25,\"stop\":[\"E\",\"F\"],\"seed\":7,\"frequency_penalty\":1,"
     "\"presence_penalty\":2,\"reasoning_effort\":\"low\",\"parallel_tool_calls\":true}",
     UPP__CHOICE_FUNCTION, 9, true, false,
     "{\"generationConfig\":{\"topK\":3,\"temperature\":0.5,\"topP\":0.25,\"stopSequences\":[\"E\",\"F\"],\"seed\":7,"
     "\"frequencyPenalty\":1,\"presencePenalty\":2,\"thinkingConfig\":{\"thinkingLevel\":\"low\"},"
     "\"maxOutputTokens\":9,\"responseMimeType\":\"application/json\"},\"toolConfig\":{\"functionCallingConfig\":"
     "{\"mode\":\"ANY\",\"allowedFunctionNames\":[\"f\"]}}}",
     0},
    {"google", NULL, NULL, "{}", UPP__CHOICE_NONE, 0, false, false,
     "{\"toolConfig\":{\"functionCallingConfig\":{\"mode\":\"NONE\"}}}", 0},
    {"google", NULL, NULL, ONE("parallel_tool_calls", "false"), 0, 0, false, false, "/parallel_tool_calls", NO},
    {"ollama", NULL, "{\"options\":{\"num_ctx\":1}}",
     "{\"temperature\":0.5,\"top_p\":0.25,\"stop\":\"E\",\"seed\":7,\"frequency_penalty\":1,\"presence_penalty\":2,"
     "\"reasoning_effort\":\"low\"}",
     UPP__CHOICE_AUTO, 9, true, false,
     "{\"options\":{\"num_ctx\":1,\"temperature\":0.5,\"top_p\":0.25,\"stop\":[\"E\"],\"seed\":7,\"frequency_penalty\":"
     "1,"
     "\"presence_penalty\":2,\"num_predict\":9},\"think\":\"low\",\"format\":\"json\"}",
     0},
    {"ollama", NULL, NULL, "{}", UPP__CHOICE_NONE, 0, false, false, NULL, 1},
    {"ollama", NULL, NULL, "{}", UPP__CHOICE_REQUIRED, 0, false, false, "/tool_choice", NO},
    {"ollama", NULL, NULL, "{}", UPP__CHOICE_FUNCTION, 0, false, false, "/tool_choice", NO},
};

static int write_row(const struct row *row, const struct upp_model *m, struct wb_arena *a, struct upp_str *ret,
                     struct upp_err *err)
{
    struct upp__settings s = {.choice = row->choice,
                              .function = UPP_STR("f"),
                              .max_tokens = row->max,
                              .json = row->json,
                              .has_tools = !row->no_tools};
    TRY(wj_read(a, wb_cstr(row->values), NULL, &s.values, err));
    return upp__settings_write(m, wb_cstr(row->params), &s, a, ret, err);
}

/* The request that goes out has the params as they are. */
static int send(const struct upp_model *m, struct upp_str params, struct upp_err *err)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_part part = {.kind = UPP_PART_TEXT, .text = UPP_STR("hi")};
    struct upp_message hi = {.role = UPP_ROLE_USER, .parts = &part, .n_parts = 1};
    const struct upp_message *list = &hi;
    const struct upp_tool_spec tool = {.name = UPP_STR("f"), .parameters = UPP_STR("{\"type\":\"object\"}")};
    struct upp_request q = {.messages = &list, .n_messages = 1, .params = params, .tools = &tool, .n_tools = 1};
    struct upp_step_event ev;
    q.attempt = 1;
    int r = upp_step_open(m, &q, NULL, &step, err);
    while (r > 0 || (r == 0 && step))
        r = upp_step_next(step, &ev, err) > 0 ? 1 : -1;
    return r;
}

static void play(const struct row *row)
{
    WB_CLEANUP(wb_arena_done) struct wb_arena a = WB_ARENA(1u << 20);
    UPP_CLEANUP(upp_model_freep) struct upp_model *model = NULL;
    WB_CLEANUP(vendor_done) struct vendor v;
    struct upp_err err = {0};
    struct upp_str params = {0};
    vendor_init(&v, NULL);
    CHECK_INT(vendor_model(&v, row->provider, row->api, &model, &err), 0);
    test_note("%s %s", row->provider, row->values);
    CHECK_INT(write_row(row, model, &a, &params, &err), row->result);
    if (row->result < 0) {
        CHECK_STR(wb_cstr(err.where), wb_cstr(row->want));
        return;
    }
    CHECK_STR(params, wb_cstr(row->want));
    if (row->result || !params.n)
        return;
    CHECK(send(model, params, &err) < 0);
    CHECK(v.asked == 1);
    /* Members of the params stand in the body, those that adapters merge among others. */
    struct upp_str body = wb_buf_str(&v.sent);
    CHECK(!row->max || !strchr(row->want, '9') || vendor_has(body, "9"));
    CHECK(!row->choice || !strstr(row->want, "hoice") || vendor_has(body, "\"tool_choice\""));
    CHECK(!strstr(row->want, "allowedFunctionNames") || vendor_has(body, "\"allowedFunctionNames\":[\"f\"]"));
}

TEST(provider_settings_are_in_the_words_of_each_vendor)
{
    for (size_t i = 0; i < WB_LEN(rows); i++)
        play(&rows[i]);
}
