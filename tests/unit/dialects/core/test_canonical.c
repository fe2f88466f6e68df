/* Documents whose objects are plain, so that they need not be compared; and each way in which they just are not. */
#include "support/documents.h"
#include "support/test.h"

static const struct test_edit of_thread[] = {
    {"\"content\":\"hello\"", "\"content\":\"hello\",\"more\":1"},
    {"\"part_kind\":\"user-prompt\",\"content\":\"hello\"", "\"content\":\"hello\",\"part_kind\":\"user-prompt\""},
    {"\"content\":\"hello\"", "\"content\":[\"hello\"]"},
    {"\"content\":\"hello\"", "\"content\":null"},
    {"\"content\":\"hello\"}", "\"content\":\"hello\"},{\"part_kind\":\"user-prompt\",\"content\":\"you\"}"},
    {"\"submitted_at\":\"2026-01-01T00:00:00Z\"", "\"submitted_at\":null"},
    {"\"submitted_at\":\"2026-01-01T00:00:00Z\",", ""},
    {"\"turn_type\":\"user\"", "\"turn_type\":\"user\",\"more\":[]"},
    {"\"message_type\":\"response\"", "\"more\":0,\"message_type\":\"response\""},
    {"\"message_type\":\"response\",\"timestamp\":\"2026-01-01T00:00:00Z\"",
     "\"timestamp\":\"2026-01-01T00:00:00Z\",\"message_type\":\"response\""},
    {"\"timestamp\":\"2026-01-01T00:00:00Z\",\"agent_id\":\"a\",\"model_name\"", "\"agent_id\":\"a\",\"model_name\""},
    {"\"agent_id\":\"a\",\"model_name\"", "\"agent_id\":\"A\",\"model_name\""},
    {"\"agent_id\":\"a\",\"model_name\"", "\"model_name\""},
    {"\"model_name\":\"m\"", "\"model_name\":null"},
    {"\"model_name\":\"m\"", "\"model_name\":\"m\",\"model_name\":\"m\""},
    {"\"model_name\":\"m\"", "\"model_name\":7"},
    {"\"input_tokens\":1,", "\"input_tokens\":1.0,"},
    {"\"input_tokens\":1,", "\"input_tokens\":-1,"},
    {"\"input_tokens\":1,", "\"input_tokens\":18446744073709551616,"},
    {"\"input_tokens\":1,", "\"input_tokens\":null,"},
    {"\"output_tokens\":2,", "\"output_tokens\":2,\"audio\":1,"},
    {"\"thinking_tokens\":1", "\"thinking_tokens\":0"},
    {"\"total_tokens\":3", "\"total_tokens\":4"},
    {"\"total_tokens\":3,\"cache_read_tokens\":4", "\"cache_read_tokens\":4,\"total_tokens\":3"},
    {"\"cache_read_tokens\":4", "\"cache_read_tokens\":0"},
    {"\"usage\":{", "\"usage\":null,\"_usage\":{"},
    {"\"finish_reason\":\"stop\"", "\"finish_reason\":\"odd\""},
    {"\"finish_reason\":\"stop\"", "\"finish_reason\":null"},
    {"\"part_kind\":\"thinking\"", "\"part_kind\":\"dreaming\""},
    {"\"part_kind\":\"thinking\"", "\"part_kind\":\"user-prompt\""},
    {"\"content\":\"hm\"", "\"content\":\"hm\",\"thinking_id\":\"i\""},
    {"\"content\":\"hm\"", "\"content\":\"hm\",\"signature\":null"},
    {"\"tool_call_id\":\"c1\",\"args\":{\"line\":1.50}", "\"args\":{\"line\":1.50},\"tool_call_id\":\"c1\""},
    {"\"args\":{\"line\":1.50}", "\"args\":\"{}\""},
    {"\"args\":{\"line\":1.50}", "\"args\":null"},
    {"\"args\":{\"line\":1.50}", "\"args\":{\"line\":1.50},\"provider_name\":\"p\""},
    {"\"tool_name\":\"read\",\"tool_call_id\":\"c1\",\"args\"", "\"tool_name\":null,\"tool_call_id\":\"c1\",\"args\""},
    {"\"status\":\"success\"", "\"status\":\"validation_error\""},
    {"\"status\":\"success\"", "\"status\":null"},
    {"\"status\":\"success\",", ""},
    {"\"content\":{\"n\":1e3}", "\"content\":{\"n\":1e3},\"outcome\":\"success\""},
    {"\"message_type\":\"request\"", "\"message_type\":\"request\",\"x_weft\":{}"},
    {"\"message_type\":\"request\"", "\"message_type\":\"question\""},
    {"\"message_type\":\"request\"", "\"message_type\":\"system\""},
    {"\"message_type\":\"request\"", "\"message_type\":\"response\""},
    {"\"message_type\":\"response\"", "\"message_type\":\"request\""},
    {"\"turn_type\":\"user\"", "\"turn_type\":\"agent\""},
};

TEST(plain_turns_and_messages_of_a_thread_are_settled)
{
    struct upp_str text = UPP_STR(
        "{\"version\":\"2.0.0\",\"thread_id\":\"t\",\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-"
        "01-01T00:00:00Z\",\"agents\":{\"a\":{\"agent_id\":\"a\",\"agent_name\":\"A\",\"created_at\":\"2026-01-01T0"
        "0:00:00Z\"}},\"turns\":[{\"turn_type\":\"user\",\"submitted_at\":\"2026-01-01T00:00:00Z\",\"parts\":[{\""
        "part_kind\":\"user-prompt\",\"content\":\"hello\"}]},{\"turn_type\":\"agent\",\"agent_id\":\"a\",\"started"
        "_at\":\"2026-01-01T00:00:00Z\",\"completed_at\":\"2026-01-01T00:00:00Z\",\"messages\":[{\"message_ty"
        "pe\":\"response\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"agent_id\":\"a\",\"model_name\":\"m\",\"usage\":"
        "{\"input_tokens\":1,\"output_tokens\":2,\"thinking_tokens\":1,\"total_tokens\":3,\"cache_read_token"
        "s\":4},\"finish_reason\":\"stop\",\"parts\":[{\"part_kind\":\"thinking\",\"content\":\"hm\"},{\"part_kind\""
        ":\"text\",\"content\":\"look\"},{\"part_kind\":\"tool-call\",\"tool_name\":\"read\",\"tool_call_id\":\"c1\","
        "\"args\":{\"line\":1.50}}]},{\"message_type\":\"request\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"agen"
        "t_id\":\"a\",\"parts\":[{\"part_kind\":\"tool-return\",\"tool_name\":\"read\",\"tool_call_id\":\"c1\",\"stat"
        "us\":\"success\",\"content\":{\"n\":1e3}}]}],\"total_usage\":{\"input_tokens\":1,\"output_tokens\":2,\"t"
        "hinking_tokens\":1,\"total_tokens\":3,\"cache_read_tokens\":4}}]}");
    CHECK(test_settled(&wd_document_thread, text, 3, of_thread, WB_LEN(of_thread)));
}

static const struct test_edit of_pydantic[] = {
    {"\"content\":\"hello\"", "\"content\":\"hello\",\"more\":1"},
    {"\"content\":\"hello\"", "\"content\":[\"hello\"]"},
    {"\"content\":\"hello\",\"timestamp\":\"2026-01-01T00:00:00Z\"",
     "\"content\":\"hello\",\"timestamp\":\"2026-01-01T00:00:01Z\""},
    {"\"content\":\"hello\",\"timestamp\":\"2026-01-01T00:00:00Z\"", "\"content\":\"hello\""},
    {"\"content\":\"hello\",\"timestamp\":\"2026-01-01T00:00:00Z\"",
     "\"timestamp\":\"2026-01-01T00:00:00Z\",\"content\":\"hello\""},
    {"}],\"timestamp\":\"2026-01-01T00:00:00Z\"", "}],\"timestamp\":\"2026-01-01 00:00:00\""},
    {"}],\"timestamp\":\"2026-01-01T00:00:00Z\"", "}],\"timestamp\":null"},
    {"\"instructions\":null", "\"instructions\":\"be kind\""},
    {"\"instructions\":null,", ""},
    {"\"kind\":\"request\",\"run_id\":null", "\"run_id\":null,\"kind\":\"request\""},
    {"\"conversation_id\":null", "\"conversation_id\":\"c\""},
    {"\"metadata\":null", "\"metadata\":{}"},
    {"\"state\":\"complete\"", "\"state\":\"partial\""},
    {"\"state\":\"complete\"", "\"state\":null"},
    {"\"state\":\"complete\"", "\"state\":1"},
    {"\"state\":\"complete\"", "\"state\":\"complete\",\"more\":null"},
    {"\"id\":null,\"signature\":null", "\"id\":\"i\",\"signature\":null"},
    {"\"id\":null,\"signature\":null,", "\"id\":null,"},
    {"\"signature\":null", "\"signature\":\"s\""},
    {"\"content\":\"look\"", "\"content\":null"},
    {"\"args\":{\"line\":1.50}", "\"args\":\"{}\""},
    {"\"args\":{\"line\":1.50}", "\"args\":[]"},
    {"\"tool_call_id\":\"c1\",\"tool_kind\":null,\"id\"", "\"tool_call_id\":\"c1\",\"tool_kind\":\"function\",\"id\""},
    {"\"tool_call_id\":\"c1\",\"tool_kind\":null,\"id\"", "\"tool_call_id\":null,\"tool_kind\":null,\"id\""},
    {"\"provider_details\":null,\"part_kind\":\"tool-call\"",
     "\"provider_details\":{\"a\":1},\"part_kind\":\"tool-call\""},
    {"\"part_kind\":\"tool-call\"", "\"part_kind\":\"builtin-tool-call\""},
    {"\"input_tokens\":1", "\"input_tokens\":1e0"},
    {"\"input_tokens\":1", "\"request_tokens\":1"},
    {"\"input_tokens\":1", "\"request_tokens\":1,\"input_tokens\":1"},
    {"\"input_tokens\":1", "\"input_tokens\":1,\"request_tokens\":2"},
    {"\"input_audio_tokens\":0", "\"input_audio_tokens\":1"},
    {"\"details\":{}", "\"details\":{\"reasoning_tokens\":5}"},
    {"\"details\":{}", "\"details\":[]"},
    {"\"details\":{}", "\"details\":null"},
    {"\"cost\":null", "\"cost\":0.1"},
    {"\"usage\":{", "\"usage\":null,\"_\":{"},
    {"\"model_name\":\"m\",\"timestamp\":\"2026-01-01T00:00:00Z\"",
     "\"timestamp\":\"2026-01-01T00:00:00Z\",\"model_name\":\"m\""},
    {"\"provider_url\":null", "\"provider_url\":\"u\""},
    {"\"provider_response_id\":\"r\"", "\"vendor_id\":\"r\""},
    {"\"finish_reason\":\"stop\"", "\"finish_reason\":\"odd\""},
    {"\"run_id\":\"r1\",\"conversation_id\":null,\"metadata\":{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}},\"state\":"
     "\"complete\"}]",
     "\"run_id\":null,\"conversation_id\":null,\"metadata\":{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}},\"state\":"
     "\"complete\"}]"},
    {"{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}}", "{\"weft\":{\"agent\":\"a\",\"name\":\"A\"},\"more\":1}"},
    {"{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}}", "{\"weft\":{\"name\":\"A\",\"agent\":\"a\"}}"},
    {"{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}}", "{\"weft\":{\"agent\":\"a\",\"name\":\"A\",\"x\":1}}"},
    {"{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}}", "{\"weft\":{\"agent\":\"a\",\"name\":\"a\"}}"},
    {"{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}}", "{\"weft\":{\"agent\":\"agent\"}}"},
    {"\"outcome\":\"success\"", "\"outcome\":\"failed\""},
    {"\"metadata\":null,\"timestamp\":\"2026-01-01T00:00:00Z\",\"outcome\"",
     "\"metadata\":1,\"timestamp\":\"2026-01-01T00:00:00Z\",\"outcome\""},
    {"\"timestamp\":\"2026-01-01T00:00:00Z\",\"outcome\"", "\"timestamp\":null,\"outcome\""},
};

TEST(plain_messages_of_pydantic_ai_are_settled)
{
    struct upp_str text = UPP_STR(
        "[{\"parts\":[{\"content\":\"hello\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"part_kind\":\"user-prompt\""
        "}],\"timestamp\":\"2026-01-01T00:00:00Z\",\"instructions\":null,\"kind\":\"request\",\"run_id\":null,\""
        "conversation_id\":null,\"metadata\":null,\"state\":\"complete\"},{\"parts\":[{\"content\":\"hm\",\"id\":n"
        "ull,\"signature\":null,\"provider_name\":null,\"provider_details\":null,\"part_kind\":\"thinking\"},"
        "{\"content\":\"look\",\"id\":null,\"provider_name\":null,\"provider_details\":null,\"part_kind\":\"text"
        "\"},{\"tool_name\":\"read\",\"args\":{\"line\":1.50},\"tool_call_id\":\"c1\",\"tool_kind\":null,\"id\":null"
        ",\"provider_name\":null,\"provider_details\":null,\"part_kind\":\"tool-call\"}],\"usage\":{\"input_to"
        "kens\":1,\"cache_write_tokens\":0,\"cache_read_tokens\":4,\"output_tokens\":2,\"input_audio_tokens"
        "\":0,\"cache_audio_read_tokens\":0,\"output_audio_tokens\":0,\"details\":{},\"cost\":null},\"model_n"
        "ame\":\"m\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"kind\":\"response\",\"provider_name\":null,\"provid"
        "er_url\":null,\"provider_details\":null,\"provider_response_id\":\"r\",\"finish_reason\":\"stop\",\"ru"
        "n_id\":\"r1\",\"conversation_id\":null,\"metadata\":{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}},\"state\":\"co"
        "mplete\"},{\"parts\":[{\"tool_name\":\"read\",\"content\":{\"n\":1e3},\"tool_call_id\":\"c1\",\"tool_kind\""
        ":null,\"metadata\":null,\"timestamp\":\"2026-01-01T00:00:00Z\",\"outcome\":\"success\",\"part_kind\":\""
        "tool-return\"}],\"timestamp\":\"2026-01-01T00:00:00Z\",\"instructions\":null,\"kind\":\"request\",\"ru"
        "n_id\":\"r1\",\"conversation_id\":null,\"metadata\":{\"weft\":{\"agent\":\"a\",\"name\":\"A\"}},\"state\":\"co"
        "mplete\"}]");
    CHECK(test_settled(&wd_document_pydantic, text, 3, of_pydantic, WB_LEN(of_pydantic)));
}
