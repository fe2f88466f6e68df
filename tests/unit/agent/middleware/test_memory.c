/* memory(): what of a long conversation is told. */
#include <string.h>

#include "support/bed.h"

/* 36 bytes, some 13 tokens each. */
#define LONG(n) "message number " n " is so and so long"

/* slow alone: some 9 tokens */
static void one_tool(struct bed *b)
{
    b->place.rig.agents[0].tools = &rig_tools[4];
    b->place.rig.agents[0].n_tools = 1;
}

static WEFT_SUSPENDS int talk(struct bed *b, struct upp_err *err)
{
    one_tool(b);
    TRY(bed_run(b, LONG("1"), false, err));
    TRY(bed_run(b, LONG("2"), true, err));
    TRY(bed_run(b, LONG("3"), true, err));
    TRY(bed_run(b, LONG("4"), true, err));
    return b->place.no_store ? 0 : bed_history(b, err);
}

#define REMEMBERS(bed, spy, ...)                                                                                       \
    const struct weft_middleware list_[] = {weft_memory(__VA_ARGS__), BED_SPY(spy)};                                   \
    (bed)->list = list_;                                                                                               \
    (bed)->n = 2

/* The rig's tools cost some tokens of their own: 400 leave room for a few messages. */
#define FEW "{\"replies\":[{\"parts\":[{\"text\":\"good\"}]}]}"

/* covers: UAP-10.4/6/7 */
TEST(agent_memory_leaves_out_the_oldest)
{
    struct bed b = {.act = talk}, *p = &b;
    REMEMBERS(&b, &p, .max_tokens = 1, .keep_last = 2);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "told: u<" LONG("1") ">\n"));
    /* the last two begin with the assistant: what the user said before comes with them */
    CHECK(strstr(b.text, "told: u<" LONG("3") "> a<" LONG("3") "> u<" LONG("4") ">\n"));
    CHECK(strstr(b.text, "user: " LONG("1") "\nassistant: " LONG("1") "\nuser: " LONG("2"))); /* the log has all */
}

TEST(agent_memory_tells_all_that_fits)
{
    struct bed b = {.act = talk, .place.no_store = false}, *p = &b;
    REMEMBERS(&b, &p, .max_tokens = 100000);
    BED_PLAYS(&b);
    CHECK(strstr(b.text, "told: u<" LONG("1") "> a<" LONG("1") "> u<" LONG("2") "> a<" LONG("2") "> u<" LONG("3")));
}

static WEFT_SUSPENDS int one_run(struct bed *b, struct upp_err *err)
{
    return bed_run(b, "add them", false, err);
}

#define ROUND(test, name) "{\"when\":{" test "},\"parts\":[" CALL("c_" name, name) "]}"
#define ROUNDS                                                                                                         \
    SCRIPT(ROUND("\"contains\":\"add\"", "add") "," ROUND("\"tool_result\":\"add\"", "big") "," ROUND(                 \
        "\"tool_result\":\"big\"", "fails") "," REPLY(TEXT("6")))

/* A call and its result stay together, and what was asked stays. */
/* covers: UAP-10.4/7 */
TEST(agent_memory_never_separates_a_call_from_its_result)
{
    struct bed b = {.act = one_run, .place.script = ROUNDS}, *p = &b;
    REMEMBERS(&b, &p, .max_tokens = 1, .keep_last = 1);
    BED_PLAYS(&b);
    CHECK(strncmp(b.text,
                  "told: u<add them>\n"
                  "told: u<add them> a<add{}> t<add0>\n"
                  "told: u<add them> a<big{}> t<big",
                  82) == 0);
    CHECK(strstr(b.text, "told: u<add them> a<fails{}> t<fails\"this tool always fails\">\n"));
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static WEFT_SUSPENDS int long_talk(struct bed *b, struct upp_err *err)
{
    TRY(talk(b, err));
    bed_say(b, "--\n");
    TRY(bed_run(b, "and now?", true, err));
    FAIL_UNLESS(b->turn->n_cycles == 2 && b->turn->usage.input == 7); /* what it took counts */
    TRY(bed_run(b, "so?", true, err));
    return bed_history(b, err);
}

static int play_with_summary(struct bed *b, struct upp_err *err)
{
    struct upp_model *model = NULL;
    struct bed *p = b;
    TRY(upp_scripted_new(UPP_STR("{\"replies\":[{\"parts\":[{\"text\":\"they talked\"}],\"usage\":{\"input_tokens\":7,"
                                 "\"output_tokens\":3}}],\"at_end\":\"repeat_last\"}"),
                         &model, err));
    REMEMBERS(b, &p, .mode = WEFT_SUMMARISE, .max_tokens = 109, .keep_last = 2, .model = model);
    int r = bed_play(b);
    upp_model_free(model);
    return r;
}

/* The summary is an entry of its own; later runs begin with it; nothing is summed up twice. */
/* covers: UAP-10.4/6 */
TEST(agent_memory_summary_stands_for_what_was_said)
{
    struct bed b = {.act = long_talk};
    struct upp_err err = {0};
    CHECK_INT(play_with_summary(&b, &err), 0);
    const char *last = strstr(b.text, "--\n");
    CHECK(last);
    CHECK(strstr(last, "--\ntold: u<Summary of the conversation so far: they talked> u<" LONG("4") "> a<" LONG(
                           "4") "> u<and now?>\n"
                                "told: u<Summary of the conversation so far: they talked> u<" LONG("4") "> a<" LONG(
                                    "4") "> u<and now?> a<and now?> u<so?>\n"));
    CHECK(strstr(last, "user: " LONG("1") "\nassistant: " LONG("1") "\n")); /* the log has all */
    CHECK(strstr(last, "user: and now?\nuser: Summary of the conversation so far: they talked\nassistant: and now?\n"));
    CHECK_INT(count(last, "user: Summary"), 1);
}

static WEFT_SUSPENDS int crash_after_a_summary(struct bed *b, struct upp_err *err)
{
    struct wr_started s;
    uint8_t status;
    size_t n;
    TRY(talk(b, err));
    bed_say(b, "--\n");
    TRY(rig_start(&b->place.rig, "main", "call me", &b->thread, &s, err));
    TRY(weft_sleep_ms(50, err)); /* the tool runs: what was said is committed */
    rig_close(&b->place.rig);
    TRY(place_open(&b->place, err));
    one_tool(b);
    TRY(wr_recover(b->place.rig.engine, &n, err));
    TRY(place_await(&b->place, s.run, &status, err));
    FAIL_UNLESS(n == 1 && status == WM_COMPLETED);
    return 0;
}

#define SLOW_TOOL                                                                                                      \
    "{\"replies\":[{\"when\":{\"contains\":\"call\"},\"parts\":[{\"tool_call\":{\"id\":\"c1\",\"name\":\"slow\"}}]},"  \
    "{\"when\":{\"contains\":\"message\"},\"parts\":[{\"text\":\"" LONG(                                               \
        "0") "\"}]},"                                                                                                  \
             "{\"when\":{\"contains\":\"message\"},\"parts\":[{\"text\":\"" LONG(                                      \
                 "0") "\"}]},"                                                                                         \
                      "{\"when\":{\"contains\":\"message\"},\"parts\":[{\"text\":\"" LONG(                             \
                          "0") "\"}]},"                                                                                \
                               "{\"when\":{\"contains\":\"message\"},\"parts\":[{\"text\":\"" LONG(                    \
                                   "0") "\"}]},"                                                                       \
                                        "{\"parts\":[{\"text\":\"done\"}]}]}"

TEST(agent_memory_summary_is_there_after_a_crash)
{
    struct bed b = {.act = crash_after_a_summary, .place.script = SLOW_TOOL};
    struct upp_err err = {0};
    CHECK_INT(play_with_summary(&b, &err), 0);
    const char *last = strstr(b.text, "--\n");
    CHECK(last);
    CHECK_INT(count(last, "told: u<Summary of the conversation so far: they talked>"), 2);
    const char *after = strstr(last, "a<slow{}> t<slow");
    CHECK(after);
}

static WEFT_SUSPENDS int retrieve(void *arg, struct upp_str input, struct upp_value *ret, struct upp_err *err)
{
    struct bed *b = arg;
    bed_say(b, "asked for <%.*s>\n", UPP_FMT(input));
    return upp_value_printf(ret, err, "the user likes tea");
}

static WEFT_SUSPENDS int ask_with_memory(struct bed *b, struct upp_err *err)
{
    TRY(bed_run(b, "what do I like?", false, err));
    TRY(bed_run(b, "sure?", true, err));
    return bed_history(b, err);
}

/* covers: UAP-10.4/6 */
TEST(agent_memory_retrieves_once_a_run)
{
    struct bed b = {.act = ask_with_memory, .place.script = FEW}, *p = &b;
    REMEMBERS(&b, &p, .mode = WEFT_RETRIEVE, .retriever = retrieve, .arg = &b, .max_tokens = 100000);
    BED_PLAYS(&b);
    CHECK_STR(wb_cstr(b.text), UPP_STR("asked for <what do I like?>\n"
                                       "told: u<the user likes tea> u<what do I like?>\n"
                                       "asked for <sure?>\n"
                                       "told: u<what do I like?> a<good> u<the user likes tea> u<sure?>\n"
                                       "user: what do I like?\nuser: the user likes tea\nassistant: good\n"
                                       "user: sure?\nuser: the user likes tea\nassistant: good\n"));
}
