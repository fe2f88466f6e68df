/* logging(): the seed's lines, levels, and what never appears. */
#include <string.h>

#include "base/log.h"
#include "support/bed.h"

#define ID "5f0c8c1e-6a4e-4f0e-9d0c-0b8f6f6a1c11"

static void take_line(void *arg, const char *line)
{
    bed_say(arg, "%s\n", line);
}

static WEFT_SUSPENDS int run_it(struct bed *b, struct upp_err *err)
{
    int r = bed_run(b, "Hello", false, err);
    return r == -UPP_ENOMEM || r == -UPP_ESTORE ? r : 0;
}

#define LOGS(bed, ...)                                                                                                 \
    const struct weft_middleware list_[] = {weft_logging(.logger = take_line, .arg = (bed), __VA_ARGS__)};             \
    (bed)->list = list_;                                                                                               \
    (bed)->n = 1

#define ANSWER                                                                                                         \
    "{\"replies\":[{\"parts\":[{\"text\":\"abcdefgh\"}],\"delta_bytes\":4,\"delay_ms\":600,"                           \
    "\"usage\":{\"input_tokens\":100,\"output_tokens\":50}}]}"

/* covers: UAP-10.3/1 */
TEST(logging_has_the_lines_of_the_seed)
{
    struct bed b = {.act = run_it, .place.script = ANSWER};
    LOGS(&b, .level = "debug");
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("[INFO] Agent " ID " starting execution\n"
                                       "[DEBUG] Input: \"Hello\"\n"
                                       "[DEBUG] Output: \"abcdefgh\"\n"
                                       "[INFO] Agent " ID " completed in 1.2s (150 tokens)\n"));
}

/* covers: UAP-10.3/3/5, UAP-16.3/2 */
TEST(logging_at_info_has_no_text)
{
    struct bed b = {.act = run_it, .place.script = ANSWER};
    LOGS(&b, .no_timing = true, .include_messages = true);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("[INFO] Agent " ID " starting execution\n"
                                       "[INFO] Agent " ID " completed (150 tokens)\n"));
}

/* covers: UAP-10.3/3 */
TEST(logging_at_error_is_silent_while_all_is_well)
{
    struct bed b = {.act = run_it, .place.script = ANSWER};
    LOGS(&b, .level = "error");
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR(""));
}

static void hear(void *arg, enum wb_log_level level, struct upp_str line)
{
    if (wb_str_find(line, UPP_STR("\"msg\":"), 0) != SIZE_MAX) /* but for its time */
        bed_say(arg, "%u %.*s\n", (unsigned)level,
                UPP_FMT(wb_str_sub(line, strlen("{\"time\":\"2026-02-03T04:05:06.789Z\","), SIZE_MAX)));
}

#define TEN  "0123456789"
#define HUND TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define LONG HUND HUND HUND HUND HUND HUND HUND HUND HUND HUND

static void hear_all(void *arg, enum wb_log_level level, struct upp_str line)
{
    (void)level;
    bed_say(arg, "%.*s\n", UPP_FMT(line));
}

/* Without a function of its own the lines go to the program's log, in its format. covers: UAP-10.3/7 */
TEST(logging_goes_to_the_log_of_the_program)
{
    struct bed b = {.act = run_it, .place.script = SCRIPT(REPLY(TEXT("\\u0007\\\"")))};
    const struct weft_middleware list[] = {weft_logging(.level = "debug", .no_timing = true)};
    b.list = list;
    b.n = 1;
    wb_log_setup(WB_OFF, WB_LOG_JSON, -1); /* the middleware has a level of its own */
    wb_log_to(hear, &b);
    int r = bed_play(&b);
    wb_log_to(NULL, NULL);
    wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
    CHECK_INT(r, 0);
    CHECK_STR(wb_cstr(b.text), UPP_STR("3 \"level\":\"info\",\"msg\":\"Agent " ID " starting execution\"}\n"
                                       "4 \"level\":\"debug\",\"msg\":\"Input\",\"text\":\"Hello\"}\n"
                                       "4 \"level\":\"debug\",\"msg\":\"Output\",\"text\":\"\\u0007\\\"\"}\n"
                                       "3 \"level\":\"info\",\"msg\":\"Agent " ID " completed (0 tokens)\"}\n"));
}

/* In the other format too, and so does whole content that is longer than a line of the log. */
TEST(logging_writes_whole_content_in_the_form_of_the_log)
{
    for (int json = 0; json < 2; json++) {
        struct bed b = {.act = run_it, .place.script = SCRIPT(REPLY(TEXT(LONG)))};
        const struct weft_middleware list[] = {
            weft_logging(.level = "debug", .no_timing = true, .include_messages = true)};
        b.list = list;
        b.n = 1;
        wb_log_setup(WB_OFF, json ? WB_LOG_JSON : WB_LOG_TEXT, -1);
        wb_log_to(hear_all, &b);
        int r = bed_play(&b);
        wb_log_to(NULL, NULL);
        wb_log_setup(WB_OFF, WB_LOG_TEXT, -1);
        CHECK_INT(r, 0);
        CHECK(strstr(b.text, json ? "\"level\":\"debug\",\"msg\":\"Output\",\"text\":\"" LONG "\"}\n"
                                  : " level=debug msg=\"Output\" text=\"" LONG "\"\n"));
        CHECK(strstr(b.text, json ? "\"level\":\"debug\",\"msg\":\"Input\",\"text\":\"Hello\""
                                  : " level=debug msg=\"Input\" text=Hello"));
    }
}

#define TOOLS                                                                                                          \
    SCRIPT("{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"add\",\"arguments\":{\"a\":4711,\"b\":1}}}],"         \
           "\"usage\":{\"input_tokens\":5,\"output_tokens\":2}},"                                                      \
           "{\"parts\":[{\"tool_call\":{\"id\":\"c2\",\"name\":\"fails\"}}]}," REPLY(TEXT("good")))

/* covers: UAP-10.3/2/3, UAP-16.3/2 */
TEST(logging_tells_steps_and_calls)
{
    struct bed b = {.act = run_it, .place.script = TOOLS};
    LOGS(&b, .no_timing = true);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("[INFO] Agent " ID " starting execution\n"
                                       "[INFO] Agent " ID " step 1 started\n"
                                       "[INFO] Agent " ID " calls tool 'add'\n"
                                       "[INFO] Agent " ID " tool 'add' ended\n"
                                       "[INFO] Agent " ID " step 1 ended (7 tokens)\n"
                                       "[INFO] Agent " ID " step 2 started\n"
                                       "[INFO] Agent " ID " calls tool 'fails'\n"
                                       "[WARN] Agent " ID " tool 'fails' failed\n"
                                       "[INFO] Agent " ID " step 2 ended (0 tokens)\n"
                                       "[INFO] Agent " ID " step 3 started\n"
                                       "[INFO] Agent " ID " step 3 ended (0 tokens)\n"
                                       "[INFO] Agent " ID " completed (7 tokens)\n"));
}

TEST(logging_at_debug_has_arguments_and_results)
{
    struct bed b = {.act = run_it, .place.script = TOOLS};
    LOGS(&b, .level = "debug", .no_timing = true);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "calls tool 'add'\n[DEBUG] Arguments: \"{\\\"a\\\":4711,\\\"b\\\":1}\"\n"));
    CHECK(strstr(b.text, "tool 'add' ended\n[DEBUG] Result: \"4712\"\n"));
}

/* covers: UAP-10.3/4/6 */
TEST(logging_tells_a_failure_with_its_causes_at_debug)
{
    struct bed b = {.act = run_it,
                    .place.script = SCRIPT("{\"error\":{\"code\":\"QUOTA_EXCEEDED\",\"status\":402,"
                                           "\"message\":\"pay first, sk-abcdefghijklmnopqrstuvwxyz\"}}")};
    LOGS(&b, .level = "debug", .no_timing = true);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "[ERROR] Agent " ID " failed: "));
    CHECK(strstr(b.text, "(QUOTA_EXCEEDED"));
    CHECK(strstr(b.text, "[DEBUG] Error: "));
    CHECK(!strstr(b.text, "abcdefghijklm"));
}

static WEFT_SUSPENDS int run_secrets(struct bed *b, struct upp_err *err)
{
    static const char *const said[] = {
        "my key is sk-proj-0123456789abcdef, ok?", "Authorization: Bearer 0123456789abcdef", "api_key=0123456789abcdef",
        "https://example.org/sk-0123456789abcdef/x", "{\"password\": \"0123456789abcdef\"}"};
    for (size_t i = 0; i < WB_LEN(said); i++)
        TRY(bed_run(b, said[i], false, err));
    return 0;
}

/* covers: UAP-10.3/6, UAP-16.3/1 */
TEST(logging_never_shows_a_key)
{
    struct bed b = {.act = run_secrets};
    LOGS(&b, .level = "debug", .include_messages = true);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "my key is ***, ok?"));
    CHECK(strstr(b.text, "Bearer ***"));
    CHECK(!strstr(b.text, "0123456789abcdef"));
}

static WEFT_SUSPENDS int run_long(struct bed *b, struct upp_err *err)
{
    char text[300];
    memset(text, 'x', sizeof text);
    memcpy(text + 100, "\n[INFO] forged", 14);
    text[sizeof text - 1] = 0;
    return bed_run(b, text, false, err);
}

/* covers: UAP-16.3/3 */
TEST(logging_cuts_what_was_said)
{
    struct bed b = {.act = run_long};
    LOGS(&b, .level = "debug");
    BED_PLAYS(&b);
    const char *input = strstr(b.text, "Input: \"");
    CHECK(input && !strstr(b.text, "\n[INFO] forged"));
    CHECK_INT(strcspn(input + 8, "\""), 201); /* 200 characters, one of them written as two */
    CHECK(strncmp(input + 8 + 201, "\"...\n", 5) == 0);
}

/* covers: UAP-10.3/5, UAP-16.3/4 */
TEST(logging_shows_all_where_it_is_wanted)
{
    struct bed b = {.act = run_long};
    LOGS(&b, .level = "debug", .include_messages = true);
    BED_PLAYS(&b);
    const char *input = strstr(b.text, "Input: \"");
    CHECK(input);
    CHECK_INT(strcspn(input + 8, "\""), 300);
}
