#include "upp/providers/scripted.h"

#include <stdio.h>

#include "base/buf.h"
#include "base/hooks.h"
#include "base/utf8.h"
#include "support/test.h"

/* ---- Asking ------------------------------------------------------------------------------------------------ */

/* A request whose messages are given one after the other. */
struct talk {
    struct upp_message messages[12];
    struct upp_part parts[12];
    const struct upp_message *list[12];
    char metadata[12][64];
    struct upp_request req;
};

static void say(struct talk *t, uint8_t role, struct upp_part part)
{
    size_t i = t->req.n_messages++;
    t->parts[i] = part;
    t->messages[i] = (struct upp_message){.role = role, .parts = &t->parts[i], .n_parts = 1};
    t->list[i] = &t->messages[i];

    t->req.messages = t->list;
}

static void user_says(struct talk *t, const char *text)
{
    say(t, UPP_ROLE_USER, (struct upp_part){.kind = UPP_PART_TEXT, .text = wb_cstr(text)});
}

static void model_said(struct talk *t, unsigned reply)
{
    size_t i = t->req.n_messages;
    say(t, UPP_ROLE_ASSISTANT, (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR("so")});
    (void)snprintf(t->metadata[i], sizeof t->metadata[i], "{\"scripted\":{\"reply\":%u}}", reply);
    t->messages[i].metadata = wb_cstr(t->metadata[i]);
}

/* Without the name of the script. */
static void show_metadata(struct wb_buf *out, struct upp_str m)
{
    size_t at = wb_str_find(m, UPP__SCRIPT_MEMBER, 0);
    wb_buf_add(out, wb_str_sub(m, 0, at));
    if (at != SIZE_MAX)
        wb_buf_add(out, wb_str_sub(m, at + UPP__SCRIPT_MEMBER.n + UPP__SCRIPT_HASH + 1, SIZE_MAX));
}

static void show(struct wb_buf *out, const struct upp_step_event *ev)
{
    static const char *const stops[] = {"?", "end_turn", "max_tokens", "tool_use", "content_filter", "error"};
    switch (ev->kind) {
    case UPP_STEP_PART_OPEN:
        wb_buf_addf(out, "[%u:%u", ev->part, ev->part_kind);
        if (ev->name.p)
            wb_buf_addf(out, " %.*s %.*s", UPP_FMT(ev->name), UPP_FMT(ev->id));
        if (ev->media)
            wb_buf_addf(out, " %u %.*s %.*s", ev->media->source, UPP_FMT(ev->media->mime), UPP_FMT(ev->media->data));
        break;
    case UPP_STEP_DELTA:
        wb_buf_addc(out, '|');
        wb_buf_add(out, ev->text);
        break;
    case UPP_STEP_PART_CLOSE:
        wb_buf_addc(out, ']');
        break;
    default:
        wb_buf_addf(out, " %s ", stops[ev->stop]);
        show_metadata(out, ev->metadata);
        if (ev->data.p)
            wb_buf_addf(out, " data %.*s", UPP_FMT(ev->data));
        if (ev->usage.input || ev->usage.output || ev->usage.cache_read || ev->usage.cache_write)
            wb_buf_addf(out, " usage %d %d %d %d", (int)ev->usage.input, (int)ev->usage.output,
                        (int)ev->usage.cache_read, (int)ev->usage.cache_write);
    }
}

/* The events of one call, as a line; a failure is its last word. */
static void ask_waiting(const struct upp_model *m, const struct upp_request *req, const struct upp_wait *wait,
                        struct wb_buf *out)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_step_event ev;
    struct upp_err err = {0};
    wb_buf_clear(out);
    int r = upp_step_open(m, req, wait, &step, &err);
    while (r >= 0 && (r = upp_step_next(step, &ev, &err)) > 0)
        show(out, &ev);
    if (r < 0)
        wb_buf_addf(out, " %s %d %d: %s", upp_code_name(r), err.http, (int)err.retry_after_ms, err.msg);
}

static bool is_answer(const struct upp_model *m, const struct upp_request *req, const char *want, int line)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(1u << 16);
    ask_waiting(m, req, NULL, &out);
    return test_expect_str(wb_buf_str(&out), wb_cstr(want), __FILE__, line, "answer");
}
#define CHECK_ANSWER(m, talk, want)                                                                                    \
    do {                                                                                                               \
        if (!is_answer((m), &(talk)->req, (want), __LINE__))                                                           \
            return;                                                                                                    \
    } while (0)

#define NAMED(i) "{\"scripted\":{\"reply\":" #i "}}"

/* ---- Answers ------------------------------------------------------------------------------------------------- */

/* covers: UPP-13f */
TEST(scripted_says_what_the_script_says)
{
    static const struct upp_str script = UPP_STR_INIT(
        "{\"name\":\"demo\",\"replies\":["
        "{\"when\":{\"contains\":\"weather\"},\"parts\":[{\"text\":\"Let me look.\"},{\"tool_call\":{\"id\":\"call_1\","
        "\"name\":\"get_weather\",\"arguments\":{\"city\": \"Tokyo\", \"n\":1.50}}}],"
        "\"usage\":{\"input_tokens\":12,\"output_tokens\":7,\"cache_read_tokens\":3,\"cache_write_tokens\":1},"
        "\"delta_bytes\":8,\"delay_ms\":0},"
        "{\"parts\":[{\"reasoning\":\"mild\"},{\"text\":\"18 degrees.\"},{\"text\":\"\"}]},"
        "{\"error\":{\"code\":\"RATE_LIMITED\",\"status\":429,\"retry_after_ms\":10}},"
        "{\"data\":{\"steps\": [ 1.0 ]}},"
        "{\"parts\":[{\"tool_call\":{\"name\":\"f\",\"arguments\":\"{ not json\"}},{\"tool_call\":{\"name\":\"g\"}}],"
        "\"stop\":\"max_tokens\"},"
        "{\"parts\":[{\"media\":{\"kind\":\"image\",\"mime\":\"image/png\",\"data\":\"AAAA\"}},"
        "{\"media\":{\"kind\":\"document\",\"text\":\"t\"}}],\"data\":null}"
        "],\"at_end\":\"repeat_last\"}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err = {0};
    struct talk t = {0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    CHECK_STR(m->name, UPP_STR("demo"));
    user_says(&t, "the weather?");
    CHECK_ANSWER(m, &t,
                 "[0:1|Let me l|ook.][1:8 get_weather call_1|{\"city\":|\"Tokyo\",|\"n\":1.50|}] tool_use " NAMED(
                     0) " usage 12 7 3 1");
    model_said(&t, 0);
    CHECK_ANSWER(m, &t, "[0:2|mild][1:1|18 degrees.][2:1] end_turn " NAMED(1));
    model_said(&t, 1);
    CHECK_ANSWER(m, &t, " RATE_LIMITED 429 10: rate limited, as the script says");
    t.req.attempt = 1;
    CHECK_ANSWER(m, &t, " RATE_LIMITED 429 10: rate limited, as the script says");
    t.req.attempt = 2;
    CHECK_ANSWER(m, &t, "[0:1|{\"steps\":[1.0]}] end_turn " NAMED(3) " data {\"steps\":[1.0]}");
    model_said(&t, 3);
    t.req.attempt = 1;
    CHECK_ANSWER(m, &t, "[0:8 f |{ not json][1:8 g |{}] max_tokens " NAMED(4));
    model_said(&t, 4);
    CHECK_ANSWER(m, &t, "[0:3 1 image/png AAAA][1:4 4  t] end_turn " NAMED(5) " data null");
    model_said(&t, 5);
    CHECK_ANSWER(m, &t, "[0:3 1 image/png AAAA][1:4 4  t] end_turn " NAMED(5) " data null"); /* again */
}

TEST(scripted_knows_the_tools_of_the_call)
{
    static const struct upp_str script = UPP_STR_INIT("{\"again\":true,\"replies\":[{\"when\":{\"tool\":\"paint\","
                                                      "\"contains\":\"red\"},\"parts\":[{\"text\":\"P\"}]},"
                                                      "{\"parts\":[{\"text\":\"any\"}]}]}");
    static const struct upp_tool_spec tools[] = {{.name = UPP_STR_INIT("wash")}, {.name = UPP_STR_INIT("paint")}};
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    static struct talk t; /* too large for a frame */
    t = (struct talk){0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    user_says(&t, "red");
    CHECK_ANSWER(m, &t, "[0:1|any] end_turn " NAMED(1));
    t.req.tools = tools;
    for (t.req.n_tools = 0; t.req.n_tools < 2; t.req.n_tools++)
        CHECK_ANSWER(m, &t, "[0:1|any] end_turn " NAMED(1));
    CHECK_ANSWER(m, &t, "[0:1|P] end_turn " NAMED(0));
}

TEST(scripted_takes_the_first_reply_that_holds)
{
    static const struct upp_str script =
        UPP_STR_INIT("{\"replies\":[{\"when\":{\"contains\":\"red\"},\"parts\":[{\"text\":\"R\"}]},"
                     "{\"when\":{\"tool_result\":\"paint\"},\"parts\":[{\"text\":\"P\"}]},"
                     "{\"when\":{\"tool_result\":\"wash\",\"contains\":\"dry\"},\"parts\":[{\"text\":\"W\"}]},"
                     "{\"when\":{\"contains\":\"\"},\"parts\":[{\"text\":\"any\"}]}],\"at_end\":\"fail\"}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    static struct talk t, u; /* too large for a frame */
    t = u = (struct talk){0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    CHECK_STR(m->name, UPP_STR("scripted"));
    CHECK_ANSWER(m, &t,
                 " INVALID_REQUEST 0 0: the script has no reply left for this call (0 of 4 are used)"); /* no message */
    user_says(&t, "blue");
    CHECK_ANSWER(m, &t, "[0:1|any] end_turn " NAMED(3));
    user_says(&t, "a red one");
    CHECK_ANSWER(m, &t, "[0:1|R] end_turn " NAMED(0));
    user_says(&t, "green");
    CHECK_ANSWER(m, &t, "[0:1|any] end_turn " NAMED(3)); /* the newest message decides */
    say(&t, UPP_ROLE_TOOL,
        (struct upp_part){.kind = UPP_PART_RESULT, .name = UPP_STR("paint"), .text = UPP_STR("\"done\"")});
    CHECK_ANSWER(m, &t, "[0:1|P] end_turn " NAMED(1));
    say(&t, UPP_ROLE_TOOL,
        (struct upp_part){.kind = UPP_PART_RESULT, .name = UPP_STR("wash"), .text = UPP_STR("\"wet\"")});
    CHECK_ANSWER(m, &t, "[0:1|any] end_turn " NAMED(3));
    t.parts[t.req.n_messages - 1].text = UPP_STR("\"dry\"");
    CHECK_ANSWER(m, &t, "[0:1|W] end_turn " NAMED(2));

    /* A result that does not name its tool: the call does. */
    say(&u, UPP_ROLE_ASSISTANT,
        (struct upp_part){.kind = UPP_PART_CALL, .id = UPP_STR("c2"), .name = UPP_STR("paint")});
    say(&u, UPP_ROLE_ASSISTANT, (struct upp_part){.kind = UPP_PART_TEXT, .text = UPP_STR("x")});
    say(&u, UPP_ROLE_TOOL, (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c2"), .text = UPP_STR("1")});
    CHECK_ANSWER(m, &u, "[0:1|P] end_turn " NAMED(1));
    u.parts[2].id = UPP_STR("c3");
    CHECK_ANSWER(m, &u, "[0:1|any] end_turn " NAMED(3));
}

/* What the model says of its answer, in `to`. */
static bool metadata_of(const struct upp_model *m, const struct talk *t, char *to, size_t size)
{
    UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
    struct upp_step_event ev = {0};
    struct upp_err err;
    int r = upp_step_open(m, &t->req, NULL, &step, &err);
    while (r >= 0 && (r = upp_step_next(step, &ev, &err)) > 0 && ev.kind != UPP_STEP_END)
        ;
    (void)snprintf(to, size, "%.*s", UPP_FMT(ev.metadata));
    return r > 0;
}

/* covers: UPP-13f */
TEST(scripted_counts_replies_of_its_own_script)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *a = NULL, *b = NULL;
    struct upp_err err;
    static struct talk t; /* frames are limited */
    char said[64], other[80];
    CHECK(upp_scripted_new(UPP_STR("{\"replies\":[{\"parts\":[{\"text\":\"A\"}]},{\"parts\":[{\"text\":\"B\"}]}]}"), &a,
                           &err) == 0);
    CHECK(upp_scripted_new(UPP_STR("{\"replies\":[{\"parts\":[{\"text\":\"X\"}]},{\"parts\":[{\"text\":\"Y\"}]}]}"), &b,
                           &err) == 0);
    memset(&t, 0, sizeof t);
    user_says(&t, "hello");
    CHECK(metadata_of(a, &t, said, sizeof said));
    CHECK_INT(strlen(said), strlen("{\"scripted\":{\"reply\":0,\"script\":\"0123456789abcdef\"}}"));
    model_said(&t, 0);
    t.messages[1].metadata = wb_cstr(said);
    CHECK_ANSWER(a, &t, "[0:1|B] end_turn " NAMED(1));
    CHECK_ANSWER(b, &t, "[0:1|X] end_turn " NAMED(0));
    (void)snprintf(other, sizeof other, "{ \"other\":1,%s", said + 1); /* also where somebody has written more */
    t.messages[1].metadata = wb_cstr(other);
    CHECK_ANSWER(a, &t, "[0:1|B] end_turn " NAMED(1));
    CHECK_ANSWER(b, &t, "[0:1|X] end_turn " NAMED(0));
    t.messages[1].metadata = UPP_STR("{\"scripted\":{\"reply\":0,\"script\":7}}"); /* nobody's */
    CHECK_ANSWER(a, &t, "[0:1|A] end_turn " NAMED(0));
    t.messages[1].metadata = UPP_STR("{\"scripted\":{\"reply\":0}}"); /* of a version that did not say it: anybody's */
    CHECK_ANSWER(a, &t, "[0:1|B] end_turn " NAMED(1));
    CHECK_ANSWER(b, &t, "[0:1|Y] end_turn " NAMED(1));
}

/* covers: UPP-13f */
TEST(scripted_says_the_same_again)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL, *none = NULL;
    struct upp_err err;
    struct talk t = {0};
    CHECK(upp_scripted_new(UPP_STR("{\"again\":true,\"replies\":[{\"when\":{\"contains\":\"a\"},\"error\":{\"code\":"
                                   "\"RATE_LIMITED\"}},{\"when\":{\"contains\":\"a\"},\"parts\":[{\"text\":\"A\"}]},"
                                   "{\"parts\":[{\"text\":\"else\"}]}]}"),
                           &m, &err) == 0);
    for (int i = 0; i < 3; i++) {
        user_says(&t, "a");
        t.req.attempt = 1;
        CHECK_ANSWER(m, &t, " RATE_LIMITED 0 0: rate limited, as the script says");
        t.req.attempt = 2;
        CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(1));
        model_said(&t, 1);
        user_says(&t, "b");
        CHECK_ANSWER(m, &t, "[0:1|else] end_turn " NAMED(2));
        model_said(&t, 2);
    }
    CHECK_INT(
        upp_scripted_new(UPP_STR("{\"again\":true,\"at_end\":\"fail\",\"replies\":[{\"parts\":[]}]}"), &none, &err),
        -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("script: a script whose replies come again has no at_end"));
}

#define FILL                                                                                                           \
    "\"fill\":[{\"name\":\"city\",\"after\":\" in \",\"default\":\"Oslo\"},"                                           \
    "{\"name\":\"x\",\"after\":\"=\",\"default\":\"\"}]"

/* A prompt of a strategy or of a handoff is the newest question, and does not have what the person asked for. */
TEST(scripted_fills_in_words_of_an_earlier_question)
{
    static const struct {
        const char *first, *second, *text;
    } cases[] = {
        {"How is it in Rome?", "And what to do?", "Rome Oslo"},
        {"How is it in Rome?", "And in Bonn?", "Bonn Bonn"},
        {"Hello", "And what to do?", "Oslo Oslo"},
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    static struct talk t; /* frames are limited */
    struct upp_err err;
    char want[256];
    CHECK(upp_scripted_new(UPP_STR("{\"replies\":[{\"fill\":["
                                   "{\"name\":\"a\",\"after\":\" in \",\"default\":\"Oslo\",\"earlier\":true},"
                                   "{\"name\":\"b\",\"after\":\" in \",\"default\":\"Oslo\",\"earlier\":false}],"
                                   "\"parts\":[{\"text\":\"${a} ${b}\"}]}]}"),
                           &m, &err) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        memset(&t, 0, sizeof t);
        test_note("case %zu", i);
        user_says(&t, cases[i].first);
        user_says(&t, cases[i].second);
        (void)snprintf(want, sizeof want, "[0:1|%s] end_turn " NAMED(0), cases[i].text);
        CHECK_ANSWER(m, &t, want);
    }
}

#define ASKS(text_) "{\"parts\":[{\"text\":\"" text_ "\"}]}"

/* What was asked for is what is said, and what is missing is asked for. */
TEST(scripted_fills_in_what_was_asked_for)
{
    static const struct {
        const char *asked, *text;
    } cases[] = {
        {"Pay 30 to Ann", "30 to Ann"},
        {"please PAY 30 euros TO ann, thanks", "30 to Ann"},
        {"Pay \xe2\x82\xac"
         "12.50 to Ann please",
         "12.50 to Ann"},
        {"pay 12,50\xe2\x82\xac to van Gogh", "12.50 to van Gogh"},
        {"Pay 1,200 to Ann.", "1200 to Ann"},
        {"Pay -5 to Ann", "-5 to Ann"},
        {"Pay 007 to Ann", "7 to Ann"},
        {"Pay Ann 30", "30 to Ann"},
        {"Pay 1,234,567.50 to Ann", "1234567.50 to Ann"},
        {"Pay 1,2,3 or 4 to Ann", "4 to Ann"}, /* no number, as that of JSON is */
        {"Pay 30", "whom?"},
        {"Pay 1,2,3 to Ann", "how much?"},
        {"Pay 1.2.3.4,5 to Ann", "how much?"},
        {"Pay 0,200 to Ann", "how much?"},
        {"Pay 30 to ?", "whom?"},
        {"Pay Ann", "how much?"},
        {"Pay Ann 30k", "how much?"},
        {"Pay B2B", "how much?"},
        {"What can I do today?", "what?"}, /* no word 'pay' in it */
        {"Repay 5 to Ann", "what?"},
        {"", "what?"},
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    static struct talk t; /* frames are limited */
    struct upp_err err;
    char want[256];
    CHECK(upp_scripted_new(
              UPP_STR("{\"again\":true,\"replies\":["
                      "{\"when\":{\"words\":[\"send\",\"pay\"]},\"fill\":[{\"name\":\"n\",\"number\":true},"
                      "{\"name\":\"who\",\"after\":\" to \",\"until\":\" please\",\"capital\":true}],"
                      "\"parts\":[{\"text\":\"${n} to ${who}\"}]},"
                      "{\"when\":{\"words\":\"pay\"},\"fill\":[{\"name\":\"n\",\"number\":true},"
                      "{\"name\":\"who\",\"after\":[\"send \",\"pay \"],\"until\":[\" 3\",\" 4\"]}],"
                      "\"parts\":[{\"text\":\"${n} to ${who}\"}]},"
                      "{\"when\":{\"words\":\"pay\"},\"fill\":[{\"name\":\"n\",\"number\":true}],"
                      "\"parts\":[{\"text\":\"whom?\"}]},"
                      "{\"when\":{\"words\":\"pay\"},\"parts\":[{\"text\":\"how much?\"}]}," ASKS("what?") "]}"),
              &m, &err) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        const char *text = cases[i].text;
        int n = strcmp(text, "what?") == 0                  ? 4
                : strcmp(text, "how much?") == 0            ? 3
                : strcmp(text, "whom?") == 0                ? 2
                : strcmp(cases[i].asked, "Pay Ann 30") == 0 ? 1
                                                            : 0;
        memset(&t, 0, sizeof t);
        test_note("case %zu", i);
        user_says(&t, cases[i].asked);
        (void)snprintf(want, sizeof want, "[0:1|%s] end_turn {\"scripted\":{\"reply\":%d}}", text, n);
        CHECK_ANSWER(m, &t, want);
    }
}

/* A number is as long as other words may be, and a default is put in as it is if it is none. */
TEST(scripted_fills_in_numbers_that_are_some)
{
    static const char *const cases[][2] = {
        {"-", "-"}, {"", ""}, {"-07", "-7"}, {"1,2,3", "1,2,3"}, {"1,5", "1.5"}, {"-x", "-x"}, {"0", "0"},
    };
    static struct talk t; /* frames are limited */
    struct upp_err err;
    char digits[301] = "", text[600], want[256];
    memset(digits, '7', sizeof digits - 1);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
        (void)snprintf(text, sizeof text,
                       "{\"replies\":[{\"fill\":[{\"name\":\"n\",\"number\":true,\"default\":\"%s\"}],"
                       "\"parts\":[{\"text\":\"is ${n}\"}]}]}",
                       cases[i][0]);
        CHECK(upp_scripted_new(wb_cstr(text), &m, &err) == 0);
        memset(&t, 0, sizeof t);
        (void)snprintf(text, sizeof text, "how many? %s", digits);
        user_says(&t, text);
        (void)snprintf(want, sizeof want, "[0:1|is %s] end_turn " NAMED(0), cases[i][1]);
        CHECK_ANSWER(m, &t, want);
    }
}

/* The answer has what the tool found, and depends on it. */
TEST(scripted_fills_in_what_a_tool_found)
{
    static const struct {
        const char *result, *text;
        int reply;
    } cases[] = {
        {"{\"celsius\":18.5,\"sky\":\"partly cloudy\"}", "18.5 and partly cloudy.", 1},
        {"{\"celsius\":3,\"sky\":\"Rain\"}", "An umbrella, at 3.", 0},
        {"\"nothing\"", "Nobody knows.", 2},
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    static struct talk t; /* frames are limited */
    struct upp_err err;
    char want[256];
#define CELSIUS "{\"name\":\"c\",\"result\":true,\"number\":true,\"after\":\"celsius\"}"
#define SKY     "{\"name\":\"sky\",\"result\":true,\"after\":\"\\\"sky\\\":\\\"\",\"until\":\"\\\"\""
    CHECK(upp_scripted_new(UPP_STR("{\"again\":true,\"replies\":["
                                   "{\"fill\":[" CELSIUS "," SKY ",\"is\":[\"snow\",\"rain\"]}],"
                                   "\"parts\":[{\"text\":\"An umbrella, at ${c}.\"}]},"
                                   "{\"fill\":[" CELSIUS "," SKY
                                   "}],\"parts\":[{\"text\":\"${c} and ${sky}.\"}]}," ASKS("Nobody knows.") "]}"),
                           &m, &err) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        memset(&t, 0, sizeof t);
        test_note("case %zu", i);
        user_says(&t, "celsius 7?");
        say(&t, UPP_ROLE_TOOL,
            (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = wb_cstr(cases[i].result)});
        (void)snprintf(want, sizeof want, "[0:1|%s] end_turn {\"scripted\":{\"reply\":%d}}", cases[i].text,
                       cases[i].reply);
        CHECK_ANSWER(m, &t, want);
    }
}

/* covers: UPP-13f */
TEST(scripted_fills_in_words_of_the_question)
{
    static const struct {
        const char *asked, *text, *argument;
    } cases[] = {
        {"How is it in Rome?", "It is mild in Rome. Rome!  ", "Rome"},
        {"in Rome", "It is mild in Oslo. Oslo!  ", "Oslo"}, /* nothing before it */
        {"weather in  New York , now", "It is mild in New York. New York!  ", "New York"},
        {"in a \"in\" in \"it\"\\", "It is mild in \"it\"\\. \"it\"\\!  ", "\\\"it\\\"\\\\"},
        {"x in ?", "It is mild in Oslo. Oslo!  ", "Oslo"},
        /* what was put in is no mark */
        {"x in ${city}${x}", "It is mild in ${city}${x}. ${city}${x}!  ", "${city}${x}"},
        {"how=well in \xc3\xa9", "It is mild in \xc3\xa9. \xc3\xa9! well in \xc3\xa9 ", "\xc3\xa9"},
        {"", "It is mild in Oslo. Oslo!  ", "Oslo"},
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    static struct talk t; /* frames are limited */
    struct upp_err err;
    char longer[512], want[1024];
    CHECK(upp_scripted_new(UPP_STR("{\"replies\":[{" FILL
                                   ",\"parts\":[{\"text\":\"It is mild in ${city}. ${city}! ${x} \"},"
                                   "{\"tool_call\":{\"name\":\"f\",\"arguments\":{\"a\":\"${city}\",\"${b\":1}}}]}]}"),
                           &m, &err) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        memset(&t, 0, sizeof t);
        test_note("case %zu", i);
        user_says(&t, cases[i].asked);
        say(&t, UPP_ROLE_TOOL,
            (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = UPP_STR("\" in Bonn\"")});
        (void)snprintf(want, sizeof want, "[0:1|%s][1:8 f |{\"a\":\"%s\",\"${b\":1}] tool_use " NAMED(0), cases[i].text,
                       cases[i].argument);
        CHECK_ANSWER(m, &t, want);
    }
    memset(&t, 0, sizeof t); /* of a long one only the beginning, whole characters */
    (void)memset(longer, 'x', sizeof longer);
    memcpy(longer, " in ", 4);
    memcpy(longer + 4 + 199, "\xc3\xa9", 2);
    longer[sizeof longer - 1] = 0;
    user_says(&t, longer);
    (void)snprintf(want, sizeof want,
                   "[0:1|It is mild in %.199s. %.199s!  ][1:8 f |{\"a\":\"%.199s\",\"${b\":1}] tool_use " NAMED(0),
                   longer + 4, longer + 4, longer + 4);
    CHECK_ANSWER(m, &t, want);
}

TEST(scripted_shows_what_it_receives)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    static struct talk t;
    struct upp_err err;
    CHECK(upp_scripted_new(UPP_STR("{\"replies\":[{\"parts\":[{\"text\":\"see \"},{\"request\":true}]}]}"), &m, &err) ==
          0);
    memset(&t, 0, sizeof t);
    user_says(&t, "a \"b\"");
    say(&t, UPP_ROLE_ASSISTANT,
        (struct upp_part){.kind = UPP_PART_CALL, .id = UPP_STR("c"), .name = UPP_STR("f"), .text = UPP_STR("{}")});
    say(&t, UPP_ROLE_TOOL, (struct upp_part){.kind = UPP_PART_RESULT, .id = UPP_STR("c"), .text = UPP_STR("7")});
    CHECK_ANSWER(m, &t,
                 "[0:1|see ][1:1|{\"system\":null,\"params\":null,\"structure\":null,\"tools\":[],\"messages\":"
                 "[\"user: a \\\"b\\\"\",\"assistant: calls f {}\",\"tool: 7\"]}] end_turn " NAMED(0));
}

/* covers: UPP-13f */
TEST(scripted_reads_what_was_used_from_the_request)
{
    static const struct upp_str script = UPP_STR_INIT(
        "{\"replies\":[{\"parts\":[{\"text\":\"A\"}]},{\"parts\":[{\"text\":\"B\"}]},{\"parts\":[{\"text\":\"C\"}]}],"
        "\"at_end\":\"fail\"}");
    static const struct {
        const char *metadata;
        unsigned next;
    } cases[] = {
        {"{\"scripted\":{\"reply\":0}}", 1},
        {"{ \"other\": {\"x\":1}, \"scripted\" : { \"reply\" : 0.0 } }", 1},
        {"{\"weft\":{},\"scripted\":{\"more\":1,\"reply\":0}}", 1},
        {"{\"scripted\":{\"reply\":2}}", 0},
        {"{\"scripted\":{\"reply\":3}}", 0},                    /* of another script */
        {"{\"scripted\":{\"reply\":99999999999999999999}}", 0}, /* too large for anything */
        {"{\"scripted\":{\"reply\":-1}}", 0},
        {"{\"scripted\":{\"reply\":\"0\"}}", 0},
        {"{\"scripted\":{\"reply\":}}", 0}, /* no JSON */
        {"{\"scripted\":[]}", 0},
        {"{\"scripted\":{}}", 0},
        {"[\"scripted\"]", 0},
        {"{\"other\":1}", 0},
        {"", 0},
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    for (size_t i = 0; i < WB_LEN(cases); i++) {
        struct talk t = {0};
        model_said(&t, 0);
        t.messages[0].metadata = wb_cstr(cases[i].metadata);
        test_note("case %zu", i);
        CHECK_ANSWER(m, &t, cases[i].next ? "[0:1|B] end_turn " NAMED(1) : "[0:1|A] end_turn " NAMED(0));
    }
    struct talk t = {0};
    model_said(&t, 1); /* in any order */
    model_said(&t, 0);
    model_said(&t, 1);
    CHECK_ANSWER(m, &t, "[0:1|C] end_turn " NAMED(2));
    t.messages[1].role = UPP_ROLE_USER; /* only the model's own words count */
    CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(0));
    t.messages[1].role = UPP_ROLE_ASSISTANT;
    model_said(&t, 2);
    CHECK_ANSWER(m, &t, " INVALID_REQUEST 0 0: the script has no reply left for this call (3 of 3 are used)");
}

TEST(scripted_starts_again)
{
    static const struct upp_str script =
        UPP_STR_INIT("{\"replies\":[{\"error\":{\"code\":\"NETWORK_ERROR\"}},{\"parts\":[{\"text\":\"A\"}]},"
                     "{\"when\":{\"contains\":\"b\"},\"parts\":[{\"text\":\"B\"}]},{\"parts\":[{\"text\":\"C\"}]}],"
                     "\"at_end\":\"restart\"}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    struct talk t = {0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    for (unsigned round = 0; round < 3; round++) {
        test_note("round %u", round);
        t.req.attempt = 1;
        CHECK_ANSWER(m, &t, " NETWORK_ERROR 0 0: the network failed, as the script says");
        t.req.attempt = 2;
        CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(1));
        model_said(&t, 1);
        t.req.attempt = 1;
        CHECK_ANSWER(m, &t, "[0:1|C] end_turn " NAMED(3));
        model_said(&t, 3);
    }
    user_says(&t, "b");
    CHECK_ANSWER(m, &t, "[0:1|B] end_turn " NAMED(2)); /* of this round nobody used it yet */
    model_said(&t, 2);
    user_says(&t, "b");
    CHECK_ANSWER(m, &t, " NETWORK_ERROR 0 0: the network failed, as the script says");
    t.req.attempt = 2;
    CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(1));
}

/* covers: UPP-13f */
TEST(scripted_errors_are_used_up_by_attempts)
{
    static const struct upp_str script =
        UPP_STR_INIT("{\"replies\":[{\"error\":{\"code\":\"TIMEOUT\",\"message\":\"first\"}},"
                     "{\"error\":{\"code\":\"PROVIDER_ERROR\",\"status\":500,\"message\":\"second\"}},"
                     "{\"parts\":[{\"text\":\"A\"}]},"
                     "{\"error\":{\"code\":\"QUOTA_EXCEEDED\",\"status\":402}}]}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    struct talk t = {0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    t.req.attempt = 1;
    CHECK_ANSWER(m, &t, " TIMEOUT 0 0: first");
    CHECK_ANSWER(m, &t, " TIMEOUT 0 0: first"); /* no counter: the same question, the same answer */
    t.req.attempt = 2;
    CHECK_ANSWER(m, &t, " PROVIDER_ERROR 500 0: second");
    t.req.attempt = 3;
    CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(2));
    t.req.attempt = 9;
    CHECK_ANSWER(m, &t, "[0:1|A] end_turn " NAMED(2));
    model_said(&t, 2);
    t.req.attempt = 1;
    CHECK_ANSWER(m, &t, " QUOTA_EXCEEDED 402 0: the quota is used up, as the script says");
    t.req.attempt = 2; /* the last one is repeated, and is an error */
    CHECK_ANSWER(m, &t, " QUOTA_EXCEEDED 402 0: the quota is used up, as the script says");
}

/* covers: UPP-13f */
TEST(scripted_streams_break_after_output)
{
    static const struct upp_str script = UPP_STR_INIT(
        "{\"delta_bytes\":2,\"replies\":["
        "{\"parts\":[{\"text\":\"abcdef\"}],\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":0}},"
        "{\"parts\":[{\"text\":\"abcdef\"}],\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":2}},"
        "{\"parts\":[{\"text\":\"abcd\"},{\"text\":\"ef\"}],\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":2}},"
        "{\"parts\":[{\"text\":\"abcd\"}],\"error\":{\"code\":\"NETWORK_ERROR\",\"after\":9}},"
        "{\"parts\":[{\"text\":\"abcd\"}],\"delta_bytes\":0}]}");
    static const char *const want[] = {
        "[0:1 NETWORK_ERROR 0 0: the network failed, as the script says",
        "[0:1|ab|cd NETWORK_ERROR 0 0: the network failed, as the script says",
        "[0:1|ab|cd][1:1 NETWORK_ERROR 0 0: the network failed, as the script says",
        "[0:1|ab|cd] NETWORK_ERROR 0 0: the network failed, as the script says",
        "[0:1|abcd] end_turn " NAMED(4),
    };
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    struct upp_err err;
    struct talk t = {0};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    for (unsigned i = 0; i < WB_LEN(want); i++) {
        t.req.attempt = i + 1;
        CHECK_ANSWER(m, &t, want[i]);
    }
}

/* Every size of delta over characters of every length, half pairs and NUL: whole characters, never fewer bytes than
 * fit, and together the text. */
TEST(scripted_deltas_never_end_inside_a_character)
{
    static const struct upp_str text =
        UPP_STR_INIT("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\xbd-\xed\xb8\x80z\0\xf0\x9f\x98\x80");
    for (unsigned size = 0; size < 32; size++) {
        UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
        UPP_CLEANUP(upp_step_closep) struct upp_step *step = NULL;
        WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 10);
        char script[400];
        struct upp_err err;
        struct upp_step_event ev;
        struct upp_request req = {0};
        int r, n = 0;
        size_t before = 0;
        test_note("size %u", size);
        (void)snprintf(script, sizeof script,
                       "{\"replies\":[{\"delta_bytes\":%u,\"parts\":[{\"text\":\"a\\u00e9\\u20ac\\ud83d\\ude00\\ud83d-"
                       "\\ude00z\\u0000\\ud83d\\ude00\"}]}]}",
                       size);
        CHECK(upp_scripted_new(wb_cstr(script), &m, &err) == 0);
        CHECK(upp_step_open(m, &req, NULL, &step, &err) == 0);
        while ((r = upp_step_next(step, &ev, &err)) > 0) {
            uint32_t c;
            if (ev.kind != UPP_STEP_DELTA)
                continue;
            CHECK(wb_wtf8_valid(ev.text, NULL) && ev.text.n > 0);
            CHECK(size == 0 || ev.text.n <= size || wb_utf8_count(ev.text) == 1);
            /* The character after the last delta would not have fitted. */
            CHECK(n == 0 || before + wb_wtf8_decode(ev.text, 0, &c) > size);
            before = ev.text.n;
            wb_buf_add(&all, ev.text);
            n++;
        }
        CHECK_INT(r, 0);
        CHECK_STR(wb_buf_str(&all), text);
        CHECK(size != 0 || n == 1);
    }
}

TEST(scripted_echoes_the_newest_user_text)
{
    static const struct upp_str small = UPP_STR_INIT("{\"echo\":true,\"delta_bytes\":3,\"name\":\"e\"}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL, *cut = NULL;
    struct upp_err err;
    struct talk t = {0};
    struct upp_part more[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("one")},
                              {.kind = UPP_PART_IMAGE},
                              {.kind = UPP_PART_TEXT, .text = UPP_STR("two")}};
    CHECK(upp_scripted_new((struct upp_str){0}, &m, &err) == 0);
    CHECK(upp_scripted_new(small, &cut, &err) == 0);
    CHECK_STR(m->name, UPP_STR("echo"));
    CHECK_STR(cut->name, UPP_STR("e"));
    CHECK_ANSWER(m, &t, "[0:1] end_turn ");
    user_says(&t, "hello");
    CHECK_ANSWER(m, &t, "[0:1|hello] end_turn ");
    CHECK_ANSWER(cut, &t, "[0:1|hel|lo] end_turn ");
    model_said(&t, 0);
    user_says(&t, "");
    t.messages[2].parts = more;
    t.messages[2].n_parts = WB_LEN(more);
    model_said(&t, 0);
    CHECK_ANSWER(m, &t, "[0:1|one\n\ntwo] end_turn ");
}

/* ---- Waiting --------------------------------------------------------------------------------------------------- */

struct clock {
    unsigned waits, limit;
    uint64_t ms;
};

static int tick(void *arg, uint64_t ms, struct upp_err *err)
{
    struct clock *c = arg;
    c->ms += ms;
    return c->waits++ == c->limit ? upp_fail(err, UPP_ECANCELED, "stopped") : 0;
}

TEST(scripted_waits_before_each_delta)
{
    static const struct upp_str script =
        UPP_STR_INIT("{\"delay_ms\":7,\"replies\":[{\"delta_bytes\":1,\"parts\":[{\"text\":\"abc\"},{\"text\":\"d\"}]},"
                     "{\"error\":{\"code\":\"TIMEOUT\"}}]}");
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 10);
    struct upp_err err;
    struct talk t = {0};
    struct clock c = {.limit = 100};
    struct upp_wait w = {.size = sizeof w, .arg = &c, .sleep_ms = tick};
    CHECK(upp_scripted_new(script, &m, &err) == 0);
    ask_waiting(m, &t.req, &w, &b);
    CHECK_STR(wb_buf_str(&b), UPP_STR("[0:1|a|b|c][1:1|d] end_turn " NAMED(0)));
    CHECK_INT(c.ms, 4 * 7);
    c = (struct clock){.limit = 2}; /* the third wait is cut short, and the step with it */
    ask_waiting(m, &t.req, &w, &b);
    CHECK_STR(wb_buf_str(&b), UPP_STR("[0:1|a|b CANCELLED 0 0: stopped"));
    model_said(&t, 0);
    c = (struct clock){.limit = 100};
    ask_waiting(m, &t.req, &w, &b);
    CHECK_STR(wb_buf_str(&b), UPP_STR(" TIMEOUT 0 0: timed out, as the script says"));
    CHECK_INT(c.ms, 7);
    c = (struct clock){.limit = 0};
    ask_waiting(m, &t.req, &w, &b);
    CHECK_STR(wb_buf_str(&b), UPP_STR(" CANCELLED 0 0: stopped"));
}

/* ---- Scripts that are none ------------------------------------------------------------------- */

#define F1 "{\"name\":\"a\",\"after\":\"x\",\"default\":\"\"}"
#define F8 F1 "," F1 "," F1 "," F1 "," F1 "," F1 "," F1 "," F1 "," F1 /* and one */

TEST(scripted_says_what_is_wrong_with_a_script)
{
    static const struct {
        const char *script, *where, *msg;
    } bad[] = {
        {"", NULL, NULL},
        {"{", NULL, NULL},
        {"[]", "", "script: expected an object, found an array"},
        {"{}", "", "script: expected either replies (at least one) or echo"},
        {"{\"replies\":[]}", "", "script: expected either replies (at least one) or echo"},
        {"{\"echo\":true,\"replies\":[]}", "", "script: expected either replies (at least one) or echo"},
        {"{\"echo\":true,\"at_end\":\"fail\"}", "", "script: expected either replies (at least one) or echo"},
        {"{\"echo\":true,\"delay_ms\":3600001}", "", "script: expected a delay_ms of at most 3600000"},
        {"{\"echo\":true,\"speed\":1}", "/speed", "script: expected no such member"},
        {"{\"echo\":true,\"echo\":true}", NULL, NULL},
        {"{\"replies\":[{}]}", "/replies/0", "script: expected parts, data or error"},
        {"{\"replies\":[{\"parts\":[],\"fill\":[{\"name\":\"\",\"after\":\"x\",\"default\":\"\"}]}]}",
         "/replies/0/fill/0", "script: expected a name and an 'after' that are not empty"},
        {"{\"replies\":[{\"parts\":[],\"fill\":[{\"name\":\"a\"}]}]}", "/replies/0/fill/0",
         "script: expected a name and an 'after' that are not empty"},
        {"{\"replies\":[{\"parts\":[],\"fill\":[{\"name\":\"a\",\"after\":[\"x\",\"\"]}]}]}", "/replies/0/fill/0",
         "script: expected texts that are not empty"},
        {"{\"replies\":[{\"parts\":[],\"when\":{\"words\":\"\"}}]}", "/replies/0/when",
         "script: expected texts that are not empty"},
        {"{\"replies\":[{\"data\":1,\"fill\":[]}]}", "/replies/0", "script: expected either fill or data"},
        {"{\"replies\":[{\"parts\":[],\"fill\":[" F8 "," F8 "]}]}", NULL, NULL},
        {"{\"replies\":[{\"parts\":[]},{\"parts\":[{}]}]}", "/replies/1/parts/0",
         "script: expected one of text, reasoning, tool_call, media and request"},
        {"{\"replies\":[{\"parts\":[{\"text\":\"a\",\"reasoning\":\"b\"}]}]}", "/replies/0/parts/0",
         "script: expected one of text, reasoning, tool_call, media and request"},
        {"{\"replies\":[{\"parts\":[{\"text\":7}]}]}", "/replies/0/parts/0/text",
         "script: expected a string, found the number 7"},
        {"{\"replies\":[{\"parts\":[{\"txt\":\"a\"}]}]}", "/replies/0/parts/0/txt", "script: expected no such member"},
        {"{\"replies\":[{\"parts\":[{\"tool_call\":{}}]}]}", "/replies/0/parts/0/tool_call", NULL},
        {"{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"f\",\"arguments\":[]}}]}]}",
         "/replies/0/parts/0/tool_call/arguments", "script: expected arguments as an object or a string"},
        {"{\"replies\":[{\"parts\":[{\"tool_call\":{\"name\":\"f\",\"args\":{}}}]}]}",
         "/replies/0/parts/0/tool_call/args", "script: expected no such member"},
        {"{\"replies\":[{\"parts\":[{\"media\":{\"kind\":\"image\"}}]}]}", "/replies/0/parts/0/media",
         "script: expected one of data, url and text"},
        {"{\"replies\":[{\"parts\":[{\"media\":{\"kind\":\"smell\",\"url\":\"u\"}}]}]}",
         "/replies/0/parts/0/media/kind", NULL},
        {"{\"replies\":[{\"error\":{\"code\":\"WAITING\"}}]}", "/replies/0/error/code", NULL},
        {"{\"replies\":[{\"error\":{\"code\":\"TIMEOUT\",\"status\":600}}]}", "/replies/0/error",
         "script: expected a status of at most 599"},
        {"{\"replies\":[{\"error\":{\"code\":\"TIMEOUT\"},\"data\":1}]}", "/replies/0",
         "script: an error has neither data nor usage nor stop"},
        {"{\"replies\":[{\"error\":{\"code\":\"TIMEOUT\"},\"parts\":[]}]}", "/replies/0",
         "script: parts before an error need its 'after', and the other way round"},
        {"{\"replies\":[{\"error\":{\"code\":\"TIMEOUT\",\"after\":1}}]}", "/replies/0",
         "script: parts before an error need its 'after', and the other way round"},
        {"{\"replies\":[{\"parts\":[],\"delay_ms\":-1}]}", "/replies/0/delay_ms", NULL},
        {"{\"replies\":[{\"parts\":[],\"delay_ms\":3600001}]}", "/replies/0",
         "script: expected a delay_ms of at most 3600000"},
        {"{\"replies\":[{\"parts\":[],\"when\":{\"contain\":\"x\"}}]}", "/replies/0/when/contain",
         "script: expected no such member"},
        {"{\"replies\":[{\"parts\":[],\"usage\":{\"input\":1}}]}", "/replies/0/usage/input",
         "script: expected no such member"},
        {"{\"replies\":[{\"parts\":[]}],\"at_end\":\"stop\"}", "/at_end", NULL},
        {"{\"replies\":[{\"parts\":[],\"stop\":\"late\"}]}", "/replies/0/stop", NULL},
    };
    for (size_t i = 0; i < WB_LEN(bad); i++) {
        UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL;
        struct upp_err err = {0};
        test_note("case %zu", i);
        CHECK_INT(upp_scripted_new(wb_cstr(bad[i].script), &m, &err), -UPP_EINVALID);
        ALWAYS(!m);
        if (bad[i].where)
            CHECK_STR(wb_cstr(err.where), wb_cstr(bad[i].where));
        if (bad[i].msg)
            CHECK_STR(wb_cstr(err.msg), wb_cstr(bad[i].msg));
    }
}

TEST_WITH(scripted_has_limits, .no_torture = "a few MiB of script, and no call of its own")
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(8u << 20);
    UPP_CLEANUP(upp_model_freep) struct upp_model *m = NULL, *none = NULL;
    struct upp_err err = {0};
    wb_buf_addf(&b, "{\"at_end\":\"fail\",\"replies\":[{\"parts\":[]}");
    for (unsigned i = 1; i < UPP__SCRIPT_REPLIES; i++)
        wb_buf_addf(&b, ",{\"parts\":[]}");
    size_t n = b.n;
    wb_buf_addf(&b, "]}");
    CHECK(wb_buf_check(&b, NULL) == 0);
    CHECK_INT(upp_scripted_new(wb_buf_str(&b), &m, &err), 0);
    b.n = n;
    wb_buf_addf(&b, ",{\"parts\":[]}]}");
    CHECK_INT(upp_scripted_new(wb_buf_str(&b), &none, &err), -UPP_EINVALID);
    CHECK_STR(wb_cstr(err.msg), UPP_STR("script: expected at most 65536 replies"));
    wb_buf_clear(&b);
    while (b.n <= UPP__SCRIPT_BYTES)
        wb_buf_add(&b, UPP_STR("          "));
    CHECK_INT(upp_scripted_new(wb_buf_str(&b), &none, &err), -UPP_ELIMIT);

    /* All but the last one were used: a bit each, in linear time. */
    struct upp_message *said = wb_calloc(UPP__SCRIPT_REPLIES, sizeof *said);
    const struct upp_message **list = wb_calloc(UPP__SCRIPT_REPLIES, sizeof *list);
    char(*texts)[48] = wb_calloc(UPP__SCRIPT_REPLIES, sizeof *texts);
    for (unsigned i = 0; said && list && texts && i < UPP__SCRIPT_REPLIES; i++) {
        (void)snprintf(texts[i], sizeof *texts, "{\"scripted\":{\"reply\":%u}}", i);
        said[i] = (struct upp_message){.role = UPP_ROLE_ASSISTANT, .metadata = wb_cstr(texts[i])};
        list[i] = &said[i];
    }
    struct talk t = {0};
    t.req.messages = list;
    t.req.n_messages = UPP__SCRIPT_REPLIES - 1;
    bool last = list && is_answer(m, &t.req, " end_turn " NAMED(65535), __LINE__);
    t.req.n_messages = UPP__SCRIPT_REPLIES;
    const char *const all =
        " INVALID_REQUEST 0 0: the script has no reply left for this call (65536 of 65536 are used)";
    bool end = last && is_answer(m, &t.req, all, __LINE__);
    wb_free(said);
    wb_free(list);
    wb_free(texts);
    CHECK(end);
}
