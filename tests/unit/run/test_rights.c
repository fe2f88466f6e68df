/* What a run may do, against a model that wants more: it calls what it was not offered, asks below its depth, and its
 * agent says that all is allowed. */
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "support/family.h"

/* ---- Tools that write down that they ran, and handlers that were asked ----------------------- */

static char told[1024];
static size_t n_told;

static void tell(const char *what, struct upp_str name)
{
    int n = snprintf(told + n_told, sizeof told - n_told, "%s%s:%.*s", n_told ? " " : "", what, UPP_FMT(name));
    n_told += n > 0 && (size_t)n < sizeof told - n_told ? (size_t)n : 0;
}

static WEFT_SUSPENDS int harm(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    tell("ran", call->name);
    return upp_value_text(ret, UPP_STR("harmed"), err);
}

static WEFT_SUSPENDS int own_says_yes(struct upp_call *call, struct upp_err *err)
{
    (void)err;
    tell("own", call->id);
    return 1;
}

struct handler {
    const char *name;
    int answer;
};

static WEFT_SUSPENDS int asked(void *arg, struct upp_call *call, struct upp_err *err)
{
    const struct handler *h = arg;
    tell(h->name, call->id);
    return h->answer < 0 ? upp_fail(err, UPP_EREFUSED, "%s cannot say", h->name) : h->answer;
}

static struct handler root_yes = {"root", 1}, leaf_yes = {"leaf", 1}, entry_no = {"entry", 0},
                      root_fails = {"root", -1}, root_later = {"root", WEFT_PENDING};
#define HANDLER(h) .approval = asked, .arg = &(h)

static const struct wr_tool has_harm[] = {{.spec = SPEC_OF("harm"), .base = {.run = harm}},
                                          {.spec = SPEC_OF("help"), .base = {.run = harm}}};
static const struct wr_tool asks[] = {ASKS("ask", "helper")};
static const struct wr_tool asks_leaf[] = {ASKS("ask_leaf", "leaf")};

#define CALLS_THEN_SAYS(call, text) SAYS(SAY(1, 1, call), SAY(1, 1, SAY_TEXT(text)))
#define HARMS                       SAYS(SAY(1, 1, SAY_CALL("h", "harm", "{}"), SAY_CALL("g", "help", "{}")), SAY(1, 1, SAY_TEXT("ok")))

/* Results of a call by a run of the tree, as its events have them. */
static WEFT_SUSPENDS int results(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    TRY(family_turn(f, err));
    TRY(rig_read(&f->rig, f->started.run, &b, err));
    wb_buf_add(&f->asked, wb_buf_str(&b));
    return wb_buf_check(&f->asked, err);
}

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
    told[0] = 0;
    n_told = 0;
    return family_play(f, &err);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

TEST(rights_what_is_denied_is_not_offered_and_not_run)
{
    static const char *const deny[] = {"harm", NULL};
    static const struct weft_rights rights = {.deny = deny};
    static const struct family_member members[] = {{"main", HARMS, FAMILY_TOOLS(has_harm), .rights = &rights}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "asked=go tools=help\n"));
    CHECK(says(f, "tool harm error \"Tool 'harm' is not allowed here\""));
    ALWAYS(!strstr(told, "ran:harm"));
    CHECK_STR(wb_cstr(told), UPP_STR("ran:help"));
}

/* covers: UAP-16.1/4 */
TEST(rights_what_is_denied_above_is_denied_below)
{
    static const char *const deny[] = {"harm", NULL}, *const allow[] = {"harm", "help", NULL};
    static const struct weft_rights strict = {.deny = deny}, wide = {.allow = allow};
    static const struct wr_tool widens[] = {ASKS_WITH("ask_leaf", "leaf", .rights = &wide)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks), .rights = &strict},
        {"helper", CALLS_THEN_SAYS(SAY_CALL("b", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(widens)},
        {"leaf", HARMS, FAMILY_TOOLS(has_harm), .rights = &wide}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "leaf params= asked={} tools=help\n"));
    CHECK(says(f, "tool harm error \"Tool 'harm' is not allowed here\""));
    ALWAYS(!strstr(told, "ran:harm"));
    CHECK_STR(wb_cstr(told), UPP_STR("ran:help"));
}

/* What a tool entry allows is for the agent as that tool; asked by another one it may more. */
/* covers: UAP-16.1/1 */
TEST(rights_of_a_tool_entry_are_of_that_entry)
{
    static const char *const allow[] = {"help", NULL};
    static const struct weft_rights only = {.allow = allow};
    static const struct wr_tool both[] = {ASKS_WITH("ask_less", "helper", .rights = &only), ASKS("ask_all", "helper")};
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("a", "ask_less", "{\"task\":\"less\"}")),
              SAY(1, 1, SAY_CALL("b", "ask_all", "{\"task\":\"all\"}")), SAY(1, 1, SAY_TEXT("done"))),
         FAMILY_TOOLS(both)},
        {"helper", HARMS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "helper params= asked=less tools=help\n"));
    CHECK(says(f, "helper params= asked=all tools=harm,help\n"));
    CHECK_STR(wb_cstr(told), UPP_STR("ran:help ran:harm ran:help"));
}

static WEFT_SUSPENDS int speak(struct family *f, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    TRY(family_turn(f, err));
    TRY(family_story(f, &b, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&b), UPP_STR("agent.handoff"), 0) == SIZE_MAX);
    return 0;
}

/* An agent that may not call handoff_to_helper does not get there by speaking of it. */
/* covers: UAP-16.1/4 */
TEST(rights_a_name_that_is_spoken_does_no_more_than_a_call)
{
    static const char *const deny[] = {"handoff_to_helper", NULL};
    static const struct weft_rights rights = {.deny = deny};
    static const struct wr_handoff to = {UPP_STR_INIT("helper"), UPP_STR_INIT("Helper"), {0}, true};
    static const struct wr_tool passes[] = {
        {.spec = SPEC_OF("handoff_to_helper"), .kind = WR_TOOL_HANDOFF, .agent = UPP_STR_INIT("helper")}};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "handoff_to_helper", "{}"), "Let Helper do it"), FAMILY_TOOLS(passes),
         .rights = &rights, .handoff = &to},
        {"helper", HARMS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = speak);
    CHECK_INT(play(f), 0);
    ALWAYS(!n_told);
    CHECK(f->turn && f->turn->n_executions == 1 && f->turn->executions[0].is_error);
}

/* ---- Depth ----------------------------------------------------------------------------------- */

/* covers: UAP-16.1/5 */
TEST(rights_depth_is_counted_from_where_it_was_set)
{
    static const struct weft_rights one = {.max_depth = 1}, many = {.max_depth = 100};
    static const struct wr_tool widens[] = {ASKS_WITH("ask_leaf", "leaf", .rights = &many)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks), .rights = &one},
        {"helper", CALLS_THEN_SAYS(SAY_CALL("b", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(widens), .rights = &many},
        {"leaf", HARMS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "> s1 tool ask_leaf error \"agents ask agents more than 1 deep\""));
    ALWAYS(!n_told);
}

/* covers: UAP-16.1/1 */
TEST(rights_of_an_entry_may_say_no_agents_at_all)
{
    static const struct weft_rights alone = {.max_depth = UINT32_MAX};
    static const struct wr_tool lonely[] = {ASKS_WITH("ask", "helper", .rights = &alone)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(lonely)},
        {"helper", CALLS_THEN_SAYS(SAY_CALL("b", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(asks_leaf)},
        {"leaf", HARMS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "> s1 tool ask_leaf error \"agents ask agents more than 1 deep\""));
    CHECK(says(f, "tool ask done \"done\""));
    ALWAYS(!n_told);
}

/* ---- Messages between agents ----------------------------------------------------------------- */

#define ASKS_TWICE(first, second)                                                                                      \
    SAYS(SAY(1, 1, SAY_CALL(first, "ask_leaf", "{}")), SAY(1, 1, SAY_TEXT("done")),                                    \
         SAY(1, 1, SAY_CALL(second, "ask_leaf", "{}")), SAY(1, 1, SAY_TEXT("done")))
#define LEAF_SAYS SAYS(SAY(1, 1, SAY_TEXT("ok")), SAY(1, 1, SAY_TEXT("ok")))

/* covers: AITP-13/3 */
TEST(rights_messages_between_agents_are_counted_in_all_runs_together)
{
    static const struct weft_rights three = {.max_agent_messages = 3};
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("a", "ask", "{}")), SAY(1, 1, SAY_CALL("d", "ask", "{}")), SAY(1, 1, SAY_TEXT("end"))),
         FAMILY_TOOLS(asks), .rights = &three},
        {"helper", ASKS_TWICE("b", "c"), FAMILY_TOOLS(asks_leaf)},
        {"leaf", LEAF_SAYS, .tools = NULL}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "> s1 tool ask_leaf done \"ok\""));
    CHECK(
        says(f, "> s1 tool ask_leaf error \"agents may exchange at most 3 messages here: answer with what you have\""));
    CHECK(says(f, "s2 tool ask done \"done\""));
}

/* covers: AITP-13/3 */
TEST(rights_a_handoff_is_a_message_between_agents)
{
    static const struct weft_rights one = {.max_agent_messages = 1}, none = {.max_agent_messages = UINT32_MAX};
    static const struct wr_handoff to = {UPP_STR_INIT("leaf"), UPP_STR_INIT("Leaf"), {0}, true};
    static const struct wr_tool passes[] = {
        {.spec = SPEC_OF("handoff_to_leaf"), .kind = WR_TOOL_HANDOFF, .agent = UPP_STR_INIT("leaf")},
        ASKS_WITH("ask", "helper", .rights = &none)};
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("a", "ask", "{}")), SAY(1, 1, SAY_CALL("b", "handoff_to_leaf", "{}")),
              SAY(1, 1, SAY_TEXT("Let Leaf do it"))),
         FAMILY_TOOLS(passes), .rights = &one, .handoff = &to},
        {"helper", CALLS_THEN_SAYS(SAY_CALL("c", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(asks_leaf)},
        {"leaf", LEAF_SAYS, .tools = NULL}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tool ask_leaf error \"agents may exchange at most 0 messages here: answer with what you have\""));
    CHECK(says(f, "tool handoff_to_leaf error \"agents may exchange at most 1 messages here"));
    CHECK(wb_str_find(wb_buf_str(&f->asked), UPP_STR("agent.handoff"), 0) == SIZE_MAX); /* nor by the mention */
}

/* Waits for the picker's answer between two lives, in the middle of main's step. */
static WEFT_SUSPENDS int two_lives(struct family *f, struct upp_err *err)
{
    static const struct wr_answer a = {.call = UPP_STR_INIT("p"), .result = UPP_STR_INIT("\"red\"")};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 20);
    uint8_t status;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(family_restart(f, err));
    TRY(wr_answer(f->rig.engine, &rig_owner, f->started.run, &a, 1, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    TRY(rig_read(&f->rig, f->started.run, &b, err));
    wb_buf_add(&f->asked, wb_buf_str(&b));
    return wb_buf_check(&f->asked, err);
}

/* covers: AITP-13/3 */
TEST(rights_messages_between_agents_are_counted_across_restarts)
{
    static const struct weft_rights four = {.max_agent_messages = 4};
    static const struct wr_tool both[] = {ASKS("ask", "helper"), ASKS("pick", "picker")};
    static const struct wr_tool picks[] = {{.spec = SPEC_OF("choose"), .kind = WR_TOOL_CLIENT},
                                           ASKS("ask_leaf", "leaf")};
    static const struct family_member members[] = {
        {"main",
         SAYS(SAY(1, 1, SAY_CALL("a", "ask", "{}"), SAY_CALL("b", "pick", "{}")), SAY(1, 1, SAY_CALL("d", "ask", "{}")),
              SAY(1, 1, SAY_TEXT("end"))),
         FAMILY_TOOLS(both), .rights = &four},
        {"helper", ASKS_TWICE("c", "e"), FAMILY_TOOLS(asks_leaf)},
        {"picker",
         SAYS(SAY(1, 1, SAY_CALL("p", "choose", "{}")), SAY(1, 1, SAY_CALL("q", "ask_leaf", "{}")),
              SAY(1, 1, SAY_TEXT("picked"))),
         FAMILY_TOOLS(picks)},
        {"leaf", LEAF_SAYS, .tools = NULL}};
    FAMILY_WITH(members, .act = two_lives);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tool pick done \"picked\""));
    CHECK(says(f, "tool ask error \"agents may exchange at most 4 messages here"));
}

/* ---- Approval -------------------------------------------------------------------------------- */

static const struct wr_tool harm_asks[] = {{.spec = SPEC_OF("harm"), .base = {.run = harm, .approval = own_says_yes}}};

#define ASKS_DOWN(rights_)                                                                                             \
    {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks), .rights = (rights_)},            \
    {                                                                                                                  \
        "helper", CALLS_THEN_SAYS(SAY_CALL("b", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(asks_leaf)                    \
    }
#define HARMS_ONCE CALLS_THEN_SAYS(SAY_CALL("h", "harm", "{}"), "ok")

/* covers: UAP-16.1/2/3 */
TEST(rights_handlers_are_asked_for_every_call_below)
{
    static const struct weft_rights root = {HANDLER(root_yes)}, leaf = {HANDLER(leaf_yes)};
    static const struct family_member members[] = {ASKS_DOWN(&root),
                                                   {"leaf", HARMS_ONCE, FAMILY_TOOLS(harm_asks), .rights = &leaf}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK_STR(wb_cstr(told), UPP_STR("root:a root:b own:h leaf:h root:h ran:harm"));
}

/* covers: UAP-16.1/3 */
TEST(rights_a_no_above_is_a_no)
{
    static const char *const harmless[] = {"ask", "ask_leaf", "harm", NULL};
    static const struct weft_rights root = {.allow = harmless, HANDLER(root_yes)}, leaf = {HANDLER(leaf_yes)};
    static const struct weft_rights entry = {HANDLER(entry_no)};
    static const struct wr_tool guarded[] = {ASKS_WITH("ask", "helper", .rights = &entry)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(guarded), .rights = &root},
        {"helper", HARMS_ONCE, FAMILY_TOOLS(harm_asks), .rights = &leaf}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tool harm denied \"Tool execution denied by approval handler\""));
    ALWAYS(!strstr(told, "ran:"));
    CHECK_STR(wb_cstr(told), UPP_STR("root:a own:h leaf:h entry:h"));
}

TEST(rights_a_handler_that_fails_is_no_yes)
{
    static const struct weft_rights root = {HANDLER(root_fails)};
    static const struct family_member members[] = {{"main", HARMS_ONCE, FAMILY_TOOLS(has_harm), .rights = &root}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK(says(f, "tool harm error \"root cannot say\""));
    ALWAYS(!strstr(told, "ran:"));
}

struct person {
    bool yes;
    const char *then;
};

static WEFT_SUSPENDS int person_says(struct family *f, struct upp_err *err)
{
    const struct person *who = f->arg;
    WB_CLEANUP(wb_buf_done) struct wb_buf p = WB_BUF(1u << 20);
    uint8_t status;
    TRY(family_start(f, err));
    wr_tree_release(f->started.tree);
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(family_pending(f, &p, err));
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&p), UPP_STR("approve:h")));
    FAIL_UNLESS(!strstr(told, "ran:"));
    TRY(family_restart(f, err));
    const struct wr_answer a = {.call = UPP_STR("h"), .approved = who->yes};
    TRY(wr_answer(f->rig.engine, &rig_owner, f->started.run, &a, 1, err));
    TRY(family_wait(f, &status, err));
    FAIL_UNLESS(status == WM_COMPLETED);
    p.n = 0;
    TRY(rig_read(&f->rig, f->started.run, &p, err));
    FAIL_UNLESS(wb_str_find(wb_buf_str(&p), wb_cstr(who->then), 0) != SIZE_MAX);
    return 0;
}

static const struct weft_rights later = {HANDLER(root_later)};
static const struct weft_rights at_once = {HANDLER(leaf_yes)};
static const struct wr_tool careful[] = {ASKS_WITH("ask_leaf", "leaf", .rights = &later)};
static const struct family_member persons[] = {
    {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks)},
    {"helper", CALLS_THEN_SAYS(SAY_CALL("b", "ask_leaf", "{}"), "done"), FAMILY_TOOLS(careful)},
    {"leaf", HARMS_ONCE, FAMILY_TOOLS(harm_asks), .rights = &at_once}};

/* A handler above says that a person will say: the whole tree waits, across a restart. */
TEST(rights_a_person_says_yes_to_a_grandchilds_call)
{
    static struct person who = {true, "tool harm done \"harmed\""};
    FAMILY_WITH(persons, .act = person_says, .arg = &who);
    CHECK_INT(play(f), 0);
    CHECK_STR(wb_cstr(told), UPP_STR("own:h leaf:h root:h ran:harm"));
}

/* covers: UAP-16.1/3 */
TEST(rights_a_person_says_no_to_a_grandchilds_call)
{
    static struct person who = {false, "tool harm denied \"Tool execution denied by approval handler\""};
    FAMILY_WITH(persons, .act = person_says, .arg = &who);
    CHECK_INT(play(f), 0);
    ALWAYS(!strstr(told, "ran:"));
}

/* ---- Budgets --------------------------------------------------------------------------------- */

/* A model that never stops: each reply calls again. */
#define NEVER_STOPS "{\"replies\":[" SAY(5, 5, "{\"tool_call\":{\"name\":\"help\",\"arguments\":{}}}") "]}"

static size_t times(const struct family *f, const char *text)
{
    size_t n = 0;
    for (size_t at = 0; (at = wb_str_find(wb_buf_str(&f->asked), wb_cstr(text), at)) != SIZE_MAX; at++)
        n++;
    return n;
}

/* Steps and tokens of a parent's budget are those of all below it, whatever an agent below says of its own. */
/* covers: UAP-16.1/5 */
TEST(rights_a_budget_above_ends_those_below)
{
    static const struct weft_rights few = {.budget = {.max_steps = 4}}, many = {.budget = {.max_steps = 1000}};
    static const struct wr_tool widens[] = {ASKS_WITH("ask", "helper", .rights = &many)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(widens), .rights = &few},
        {"helper", NEVER_STOPS, FAMILY_TOOLS(has_harm), .rights = &many}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK_INT(f->result, 0);
    ALWAYS(times(f, "helper params=") <= 4);
    CHECK_INT(times(f, "helper params="), 4);
    CHECK_INT(times(f, "main params="), 1);
}

/* covers: UAP-16.1/1 */
TEST(rights_a_budget_of_an_entry_is_of_that_child)
{
    static const struct weft_rights few = {.budget = {.max_tokens = 25}};
    static const struct wr_tool small[] = {ASKS_WITH("ask", "helper", .rights = &few)};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(small)},
        {"helper", NEVER_STOPS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK_INT(f->result, 0);
    CHECK_INT(times(f, "helper params="), 3); /* 10, 20, 30 tokens */
    CHECK_STR(wb_cstr(upp_turn_text(f->turn)), UPP_STR("done"));
}

/* The time of a parent is the time of all below it. */
/* covers: UAP-16.1/5 */
TEST(rights_a_deadline_above_ends_those_below)
{
    static const struct weft_rights soon = {.budget = {.max_time_ms = 300}};
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks), .rights = &soon},
        {"helper", "{\"replies\":[{\"parts\":[{\"text\":\"x\"}],\"delay_ms\":100000}]}", FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK_INT(f->result, 0);
    CHECK_INT(times(f, "main params="), 1);
}

/* Nobody says when it is enough: the loop has a limit all the same, in every run of the tree. */
/* covers: UAP-16.1/7 */
TEST_WITH(rights_every_loop_has_a_limit, .no_torture = "twenty steps; the others are tortured")
{
    static const struct family_member members[] = {
        {"main", CALLS_THEN_SAYS(SAY_CALL("a", "ask", "{}"), "done"), FAMILY_TOOLS(asks)},
        {"helper", NEVER_STOPS, FAMILY_TOOLS(has_harm)}};
    FAMILY_WITH(members, .act = results);
    CHECK_INT(play(f), 0);
    CHECK_INT(f->result, 0);
    CHECK_INT(times(f, "helper params="), 11);
    CHECK(f->turn && f->turn->n_executions == 1 && f->turn->executions[0].is_error);
}
