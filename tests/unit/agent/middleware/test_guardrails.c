/* guardrails(): what is rejected, rewritten, flagged; and that nobody hears what was not checked. */
#include <string.h>

#include "support/bed.h"

static WEFT_SUSPENDS int run_it(struct bed *b, struct upp_err *err)
{
    int r = bed_run(b, "my number is 555-1234 and 555-9999", false, err);
    if (r == -UPP_ENOMEM || r == -UPP_ESTORE)
        return r;
    bed_say(b, "%s: %s\n", upp_code_name(r), r < 0 ? b->why.msg : upp_turn_text(b->turn));
    return b->place.no_store ? 0 : bed_history(b, err);
}

#define GUARDS(bed, spy, ...)                                                                                          \
    const struct weft_middleware list_[] = {weft_guardrails(__VA_ARGS__), BED_SPY(spy)};                               \
    (bed)->list = list_;                                                                                               \
    (bed)->n = 2

#define NUMBER "[0-9]{3}-[0-9]{4}"

/* covers: UAP-10.4/1 */
TEST(guardrails_rejected_input_never_reaches_the_model)
{
    struct bed b = {.act = run_it}, *p = &b;
    const struct weft_guard_rule rule = {.name = "numbers", .pattern = NUMBER, .action = WEFT_REJECT};
    GUARDS(&b, &p, .input = &rule, .n_input = 1);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("CONTENT_FILTERED: the input was rejected by guardrail 'numbers'\n"
                                       "user: my number is 555-1234 and 555-9999\n"));
}

/* covers: TP-61, UAP-10.4/2 */
TEST(guardrails_rewritten_input_is_what_the_model_is_told)
{
    struct bed b = {.act = run_it}, *p = &b;
    const struct weft_guard_rule rule[] = {{.pattern = NUMBER, .action = WEFT_REWRITE},
                                           {.pattern = "^my", .action = WEFT_REWRITE, .instead = "a"}};
    GUARDS(&b, &p, .input = rule, .n_input = 2);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "told: u<a number is [removed] and [removed]>\n"));
    CHECK(strstr(b.text, "user: my number is 555-1234 and 555-9999\nuser: a number is [removed] and [removed]\n"
                         "event {\"type\":\"prompt.enriched\""));
}

/* covers: UAP-10.4/4 */
TEST(guardrails_flag_is_an_event)
{
    struct bed b = {.act = run_it}, *p = &b;
    const struct weft_guard_rule rule = {.name = "numbers", .pattern = NUMBER, .action = WEFT_FLAG};
    GUARDS(&b, &p, .input = &rule, .n_input = 1, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(strstr(b.text, "user: ")),
              UPP_STR("user: my number is 555-1234 and 555-9999\n"
                      "event {\"type\":\"guardrail.flagged\",\"data\":{\"rule\":\"numbers\",\"on\":\"input\"},"
                      "\"source\":\"guardrails\"}\n"
                      "assistant: my number is 555-1234 and 555-9999\n"
                      "event {\"type\":\"guardrail.flagged\",\"data\":{\"rule\":\"numbers\",\"on\":\"output\"},"
                      "\"source\":\"guardrails\"}\n"));
}

/* covers: UAP-10.4/3 */
TEST(guardrails_rejected_output_is_not_kept)
{
    struct bed b = {.act = run_it}, *p = &b;
    const struct weft_guard_rule rule = {.name = "numbers", .pattern = NUMBER, .action = WEFT_REJECT};
    GUARDS(&b, &p, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(strstr(b.text, "CONTENT")),
              UPP_STR("CONTENT_FILTERED: the output was rejected by guardrail 'numbers'\n"
                      "user: my number is 555-1234 and 555-9999\n"));
}

#define NUMBERS SCRIPT("{\"parts\":[{\"text\":\"call 555-1234 now\"}],\"delta_bytes\":4,\"delay_ms\":10}")

static WEFT_SUSPENDS int listen_to_it(struct bed *b, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(rig_start(&b->place.rig, "main", "hello", NULL, &s, err));
    TRY(rig_read(&b->place.rig, s.run, &out, err));
    bed_say(b, "%.*s", UPP_FMT(wb_buf_str(&out)));
    return 0;
}

/* Nothing is heard before it is whole, and then in one piece. */
/* covers: UAP-10.4/5 */
TEST(guardrails_output_is_held_back_and_rewritten)
{
    struct bed b = {.act = listen_to_it, .place.script = NUMBERS}, *p = &b;
    const struct weft_guard_rule rule = {.pattern = NUMBER, .action = WEFT_REWRITE, .instead = "NUMBER"};
    GUARDS(&b, &p, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "delta 0 'call NUMBER now'\n"));
    CHECK(strstr(b.text, "run completed"));
    CHECK(!strstr(b.text, "555"));
}

TEST(guardrails_output_that_passes_has_its_deltas)
{
    struct bed b = {.act = listen_to_it, .place.script = NUMBERS}, *p = &b;
    const struct weft_guard_rule rule = {.pattern = "never", .action = WEFT_REJECT};
    GUARDS(&b, &p, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "delta 0 'call'\n"));
}

/* A reader that comes while it is being said hears nothing of it. */
static WEFT_SUSPENDS int listen_too_early(struct bed *b, struct upp_err *err)
{
    WB_CLEANUP(wr_reader_closep) struct wr_reader *rd = NULL;
    struct wr_started s;
    struct wm_event ev;
    int r;
    TRY(rig_start(&b->place.rig, "main", "hello", NULL, &s, err));
    TRY(wr_reader_open(b->place.rig.engine, &rig_owner, s.run, NULL, &rd, err));
    while ((r = wr_reader_next(rd, true, &ev, err)) > 0)
        FAIL_UNLESS(ev.kind != WM_DELTA && ev.kind != WM_PART_OPEN);
    return r;
}

/* covers: UAP-10.4/5 */
TEST(guardrails_rejected_output_is_not_heard)
{
    struct bed b = {.act = listen_too_early, .place.script = NUMBERS}, *p = &b;
    const struct weft_guard_rule rule = {.pattern = "now$", .action = WEFT_REJECT};
    GUARDS(&b, &p, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
}

static WEFT_SUSPENDS int upper(void *arg, struct upp_str text, struct upp_str *ret, struct upp_err *err)
{
    static char out[64];
    size_t n = text.n < sizeof out ? text.n : sizeof out;
    for (size_t i = 0; i < n; i++)
        out[i] = text.p[i] >= 'a' && text.p[i] <= 'z' ? (char)(text.p[i] - 32) : text.p[i];
    *ret = wb_str(out, n);
    return arg ? upp_fail(err, UPP_ENET, "nobody knows") : 1;
}

/* covers: UAP-10.4/3 */
TEST(guardrails_callback_rewrites)
{
    struct bed b = {.act = run_it, .place.no_store = true}, *p = &b;
    const struct weft_guard_rule rule = {.check = upper, .action = WEFT_REWRITE};
    GUARDS(&b, &p, .input = &rule, .n_input = 1);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "told: u<MY NUMBER IS 555-1234 AND 555-9999>\n"));
}

/* What could not be checked does not pass. */
TEST(guardrails_callback_that_fails_fails_the_run)
{
    struct bed b = {.act = run_it, .place.no_store = true}, *p = &b;
    const struct weft_guard_rule rule = {.name = "x", .check = upper, .arg = &b, .action = WEFT_FLAG};
    GUARDS(&b, &p, .output = &rule, .n_output = 1);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "NETWORK_ERROR: guardrail 'x': nobody knows\n"));
}

#define CALLS_WITH(text)                                                                                               \
    SCRIPT(                                                                                                            \
        "{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"note\",\"arguments\":{\"to\":\"" text "\"}}},"           \
        "{\"tool_call\":{\"id\":\"c2\",\"name\":\"note\",\"arguments\":{\"to\":\"nobody\"}}}]}," REPLY(TEXT("done")))

static WEFT_SUSPENDS int count_tools(struct bed *b, struct upp_err *err)
{
    static struct rig_ledger ledger; /* outlives the engine */
    ledger.n = 0;
    b->place.rig.ledger = &ledger;
    TRY(listen_to_it(b, err));
    bed_say(b, "%zu ran\n", ledger.n);
    return 0;
}

/* A tool does not run with what was rejected; the model is told, and the others of its round run. */
TEST(guardrails_rejected_calls_are_not_made)
{
    struct bed b = {.act = count_tools, .place.script = CALLS_WITH("555-1234")}, *p = &b;
    const struct weft_guard_rule rule = {.name = "numbers", .pattern = NUMBER, .action = WEFT_REJECT};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note error \"the call was rejected by guardrail 'numbers'\"\n"));
    CHECK(strstr(b.text, "tool note done \"noted\"\n") && strstr(b.text, "1 ran\n"));
    CHECK(strstr(b.text, "run completed") && !strstr(b.text, "started {\"to\":\"555"));
}

/* However the model spells it: a rule reads what the tool would. */
TEST(guardrails_see_calls_without_escapes)
{
    struct bed b = {.act = count_tools,
                    .place.script =
                        SCRIPT("{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"note\",\"arguments\":"
                               "\"{\\\"t\\\\u006f\\\" : \\\"\\\\/\\\\u0065vil\\\"}\"}}]}," REPLY(TEXT("done")))},
               *p = &b;
    const struct weft_guard_rule rule = {.name = "evil", .pattern = "\"to\":\"/evil", .action = WEFT_REJECT};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note error \"the call was rejected by guardrail 'evil'\"\n"));
    CHECK(strstr(b.text, "0 ran\n"));
}

TEST(guardrails_rewritten_calls_have_other_arguments)
{
    struct bed b = {.act = count_tools, .place.script = CALLS_WITH("555-1234")}, *p = &b;
    const struct weft_guard_rule rule = {.pattern = NUMBER, .action = WEFT_REWRITE, .instead = "NUMBER"};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note started {\"to\":\"NUMBER\"}\n") && strstr(b.text, "2 ran\n"));
}

/* What is no object any more is no call. */
TEST(guardrails_calls_that_were_rewritten_to_nonsense_are_not_made)
{
    struct bed b = {.act = count_tools, .place.script = CALLS_WITH("555-1234")}, *p = &b;
    const struct weft_guard_rule rule = {.pattern = NUMBER, .action = WEFT_REWRITE, .instead = "\""};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note invalid \"the arguments are not a JSON object\"\n") && strstr(b.text, "1 ran\n"));
}

TEST(guardrails_flagged_calls_are_an_event)
{
    struct bed b = {.act = run_it, .place.script = CALLS_WITH("555-1234")}, *p = &b;
    const struct weft_guard_rule rule = {.name = "numbers", .pattern = NUMBER, .action = WEFT_FLAG};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "event {\"type\":\"guardrail.flagged\",\"data\":{\"rule\":\"numbers\",\"on\":\"call\"},"));
    CHECK(strstr(b.text, "done\n"));
}

/* What nobody could check does not run. */
TEST(guardrails_calls_that_cannot_be_checked_are_not_made)
{
    struct bed b = {.act = count_tools, .place.script = CALLS_WITH("x")}, *p = &b;
    const struct weft_guard_rule rule = {.name = "asks", .check = upper, .arg = &b, .action = WEFT_REJECT};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note error \"guardrail 'asks': nobody knows\"\n") && strstr(b.text, "0 ran\n"));
    CHECK(strstr(b.text, "run completed"));
}

#define ASKS_HELPER SCRIPT(REPLY(CALL("c1", "ask_helper")) "," REPLY(TEXT("done")))
#define HELPER_CALLS                                                                                                   \
    SCRIPT("{\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"note\",\"arguments\":\"{\\\"to\\\":\\\"\\\\/"         \
           "\\\\u0065vil\\\"}\"}},"                                                                                    \
           "{\"tool_call\":{\"id\":\"c2\",\"name\":\"note\",\"arguments\":{\"to\":\"nobody\"}}}]}," REPLY(             \
               TEXT("helped")))

static WEFT_SUSPENDS int count_tools_of_the_helper(struct bed *b, struct upp_err *err)
{
    b->place.rig.agents[1].middleware = b->place.middleware;
    return count_tools(b, err);
}

/* The rules of a sub-agent read its calls as those of an agent that a user talks to. */
TEST(guardrails_see_calls_of_sub_agents)
{
    struct bed b = {.act = count_tools_of_the_helper, .place.script = ASKS_HELPER, .place.helper = HELPER_CALLS},
               *p = &b;
    const struct weft_guard_rule rule = {.name = "evil", .pattern = "\"to\":\"/evil", .action = WEFT_REJECT};
    GUARDS(&b, &p, .tools = &rule, .n_tools = 1);
    BED_PLAYS(&b);
    test_note("%s", b.text);
    CHECK(strstr(b.text, "tool note error \"the call was rejected by guardrail 'evil'\"\n"));
    CHECK(strstr(b.text, "tool note done \"noted\"\n") && strstr(b.text, "1 ran\n"));
    CHECK(strstr(b.text, "tool ask_helper done \"helped\"\n") && strstr(b.text, "run completed"));
}
