/* UAP-5.3: reason, act, observe. What the hooks hear, what the model is sent, what the turn has. */
#include <stdio.h>
#include <string.h>

#include "agent/strategy/observation.h"
#include "base/defs.h"
#include "support/hooks.h"
#include "support/race_rig.h"

#define USED(...) "{\"parts\":[" __VA_ARGS__ "],\"usage\":{\"input_tokens\":10,\"output_tokens\":2}}"
#define ADD(id)   "{\"tool_call\":{\"id\":\"" id "\",\"name\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}}"

#define TWO_STEPS                                                                                                      \
    SCRIPT(USED(TEXT("I must add")) "," USED(TEXT("adding") "," ADD("c1")) "," USED(TEXT("that is all")) "," USED(     \
        TEXT("It is 3")))

static WEFT_SUSPENDS int in_order(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return heard_is(h,
                    "start 1\nreason 1: I must add\nact 1: add\nobserve 1: 3\n"
                    "end 1: user assistant tool; 20+4 in 2 cycles, 1 executions\nstop 1 24\n"
                    "start 2\nreason 2: that is all\n"
                    "end 2: assistant; 20+4 in 2 cycles, 0 executions\nstop 2 48\n"
                    "complete: user assistant tool assistant; 40+8 in 4 cycles, 1 executions; It is 3\n",
                    err);
}

/* covers: UAP-4.4/1, UAP-5.3a/2, UAP-5.3b/1, UAP-5.3c/1, UAP-11.1/1/2, UAP-11.4/1, UAP-11.6/1/2 */
TEST(react_calls_the_hooks_in_the_documented_order)
{
    for (int i = 0; i < 2; i++) {
        WB_CLEANUP(heard_done) struct heard h = {0};
        PLAYS(.script = TWO_STEPS, .strategy = &weft_strategy_react, .hooks = heard_hooks(&h), .act = in_order,
              .no_store = i);
    }
}

static const char two_steps[] = "user: hello\n"
                                "user: Think about what to do next. What is your reasoning?\n"
                                "assistant: I must add\n"
                                "user: Based on your reasoning, take action using available tools, or give the final "
                                "answer if nothing is left to do.\n"
                                "assistant: adding add={\"a\":1,\"b\":2}\n"
                                "tool: add=3\n"
                                "user: ## Observations\n\n### add\n\n```json\n3\n```\n\n"
                                "Think about what to do next. What is your reasoning?\n"
                                "assistant: that is all\n"
                                "user: Based on your reasoning, take action using available tools, or give the final "
                                "answer if nothing is left to do.\n"
                                "assistant: It is 3\n";

static WEFT_SUSPENDS int history_is(struct place *p, const struct wr_started *s, const char *want, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 20);
    TRY(rig_history(&p->rig, s->thread, &all, err));
    if (!wb_str_eq(wb_buf_str(&all), wb_cstr(want)))
        return upp_fail(err, UPP_EBUG, "the log says: %.*s", UPP_FMT(wb_buf_str(&all)));
    return 0;
}

static WEFT_SUSPENDS int in_the_log(struct place *p, struct upp_err *err)
{
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return history_is(p, &s, two_steps, err);
}

/* covers: UAP-5.3a/1/7 */
TEST(react_what_the_model_is_sent_is_in_the_log)
{
    PLAYS(.script = TWO_STEPS, .strategy = &weft_strategy_react, .act = in_the_log);
}

/* To stream it is to look on. */
static WEFT_SUSPENDS int in_the_log_of_a_stream(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf seen = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(rig_read(&p->rig, s.run, &seen, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return history_is(p, &s, two_steps, err);
}

/* covers: UAP-5.3c/3 */
TEST(react_says_the_same_to_a_stream)
{
    PLAYS(.script = TWO_STEPS, .strategy = &weft_strategy_react, .act = in_the_log_of_a_stream);
}

/* The process ends after so many milliseconds; what is in the log is the same. */
static WEFT_SUSPENDS int resumed(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    size_t n;
    TRY(place_start(p, &s, err));
    TRY(weft_sleep_ms(h->ms, err));
    TRY(place_restart(p, &n, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(history_is(p, &s, two_steps, err));
    /* Whatever was heard twice, the last step and the whole are heard as if nothing had happened. */
    return heard_ends(h,
                      "end 2: assistant; 20+4 in 2 cycles, 0 executions\nstop 2 48\n"
                      "complete: user assistant tool assistant; 40+8 in 4 cycles, 1 executions; It is 3\n",
                      err);
}

/* covers: UAP-5.3c/2 */
TEST_WITH(react_says_the_same_after_a_restart, .no_torture = "a sweep; react_calls_the_hooks... is tortured")
{
    for (unsigned ms = 1; ms < 130; ms += 3) {
        WB_CLEANUP(heard_done) struct heard h = {.ms = ms};
        test_note("after %u ms", ms);
        PLAYS(.script = SCRIPT("{\"parts\":[" TEXT(
                  "I must add") "],\"delay_ms\":30,\"usage\":{\"input_tokens\":10,"
                                "\"output_tokens\":2}},{\"parts\":[" TEXT("adding") "," ADD(
                                    "c1") "],\"delay_ms\":10,\"usage\":{\"input_tokens\":10,\"output_"
                                          "tokens\":2}},{\"parts\":[" TEXT(
                                              "that is all") "],\"delay_ms\":20,\"usage\":{\"input_tokens\":10,"
                                                             "\"output_tokens\":"
                                                             "2}}," USED(TEXT("It is 3"))),
              .strategy = &weft_strategy_react, .hooks = heard_hooks(&h), .act = resumed);
    }
}

static WEFT_SUSPENDS int at_the_limit(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return heard_ends(h,
                      "stop 2 {\"maxStepsReached\":true,\"totalTokens\":0}\n"
                      "complete: user assistant tool assistant tool; 0+0 in 4 cycles, 2 executions; again\n",
                      err);
}

/* covers: UAP-5.3a/4, UAP-5.3b/3 */
TEST(react_ends_at_max_steps_with_the_turn_so_far)
{
    const struct weft_strategy two = weft_react(.max_steps = 2);
    WB_CLEANUP(heard_done) struct heard h = {.metadata = true};
    PLAYS(.script = SCRIPT(REPLY(TEXT("hm")) "," REPLY(TEXT("once") "," ADD("c1")) "," REPLY(TEXT("hm")) "," REPLY(
              TEXT("again") "," ADD("c2")) "," REPLY(TEXT("never said"))),
          .strategy = &two, .hooks = heard_hooks(&h), .act = at_the_limit);
}

static WEFT_SUSPENDS int stopped(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    return heard_ends(h, "stop 1 24\ncomplete: user assistant tool; 20+4 in 2 cycles, 1 executions; adding\n", err);
}

/* covers: UAP-5.3a/3, UAP-5.3b/3, UAP-11.6/1 */
TEST(react_stops_when_the_hook_says_so)
{
    WB_CLEANUP(heard_done) struct heard h = {.stop_at = 1};
    PLAYS(.script = TWO_STEPS, .strategy = &weft_strategy_react, .hooks = heard_hooks(&h), .act = stopped);
}

static WEFT_SUSPENDS int refused(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_FAILED, err));
    return heard_is(h, "error INVALID_REQUEST: observation_format 'xml': expected markdown, json or text\n", err);
}

/* covers: UAP-5.3a/7, UAP-11.1/1 */
TEST(react_refuses_another_format)
{
    const struct weft_strategy xml = weft_react(.observation_format = "xml");
    WB_CLEANUP(heard_done) struct heard h = {0};
    PLAYS(.script = TWO_STEPS, .strategy = &xml, .hooks = heard_hooks(&h), .act = refused);
}

static WEFT_SUSPENDS int prompted(struct place *p, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf all = WB_BUF(1u << 20);
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_history(&p->rig, s.thread, &all, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&all), UPP_STR("user: hello\nuser: Well?\nassistant"), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&all), UPP_STR("user: Observations:\nadd: 3\n\nWell?\n"), 0) != SIZE_MAX);
    FAIL_UNLESS(wb_str_find(wb_buf_str(&all), UPP_STR("your reasoning?"), 0) == SIZE_MAX);
    return 0;
}

/* covers: UAP-5.3a/6 */
TEST(react_with_a_prompt_and_a_format_of_its_own)
{
    const struct weft_strategy mine = weft_react(.reasoning_prompt = "Well?", .observation_format = "text");
    PLAYS(.script = TWO_STEPS, .strategy = &mine, .act = prompted);
}

/* What a model may do that it should not. */

static WEFT_SUSPENDS int no_tool_ran(struct place *p, struct upp_err *err)
{
    struct heard *h = p->hooks.arg;
    struct wr_started s;
    TRY(place_start(p, &s, err));
    TRY(heard_end(p, &s, WM_COMPLETED, err));
    TRY(rig_well_formed(p->inner, &rig_owner, s.thread, err));
    return heard_is(h,
                    "start 1\nreason 1: let me\nend 1: user assistant; 0+0 in 2 cycles, 0 executions\nstop 1 0\n"
                    "complete: user assistant; 0+0 in 2 cycles, 0 executions; done\n",
                    err);
}

/* A call in the reason phase, where there are no tools. */
/* covers: UAP-5.3a/1 */
TEST(react_calls_while_reasoning_are_not_run)
{
    WB_CLEANUP(heard_done) struct heard h = {0};
    PLAYS(.script = SCRIPT(REPLY(TEXT("let me") "," ADD("c1")) "," REPLY(TEXT("done"))),
          .strategy = &weft_strategy_react, .hooks = heard_hooks(&h), .act = no_tool_ran);
}

/* covers: UAP-5.3a/7 */
TEST(react_observations_in_every_format)
{
    struct upp_part parts[] = {
        {.kind = UPP_PART_RESULT, .id = UPP_STR("c1"), .name = UPP_STR("say"), .text = UPP_STR("\"a \\u00e4\\n b\"")},
        {.kind = UPP_PART_RESULT, .id = UPP_STR("c2"), .name = UPP_STR("get"), .text = UPP_STR("{ \"n\" : 1.50 }")},
        {.kind = UPP_PART_RESULT,
         .id = UPP_STR("c3"),
         .name = UPP_STR("no"),
         .text = UPP_STR("\"it failed\""),
         .is_error = true},
    };
    const struct upp_message m = {.role = UPP_ROLE_TOOL, .parts = parts, .n_parts = WB_LEN(parts)};
    static const char *const want[] = {
        [WA_MARKDOWN] = "## Observations\n\n### say\n\na \303\244\n b\n\n### get\n\n```json\n{\"n\":1.50}\n```\n\n"
                        "### no (error)\n\nit failed\n\n",
        [WA_JSON] = "Observations:\n[{\"tool\":\"say\",\"result\":\"a \303\244\\n b\",\"isError\":false},"
                    "{\"tool\":\"get\",\"result\":{\"n\":1.50},\"isError\":false},"
                    "{\"tool\":\"no\",\"result\":\"it failed\",\"isError\":true}]\n\n",
        [WA_TEXT] = "Observations:\nsay: a \303\244\n b\nget: {\"n\":1.50}\nno (error): it failed\n\n",
    };
    for (uint8_t f = WA_MARKDOWN; f <= WA_TEXT; f++) {
        WB_CLEANUP(wb_buf_done) struct wb_buf out = WB_BUF(4096);
        struct upp_err err = {0};
        CHECK_INT(wa_observe(&out, &m, f, &err), 0);
        CHECK_STR(wb_buf_str(&out), wb_cstr(want[f]));
    }
    WB_CLEANUP(wb_buf_done) struct wb_buf small = WB_BUF(64);
    CHECK_INT(wa_observe(&small, &m, WA_TEXT, NULL), -UPP_ELIMIT);
}
