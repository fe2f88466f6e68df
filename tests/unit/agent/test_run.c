/* Runs of agents: the same turns as libupp's own loop, and their end whatever the caller does. */
#include <pthread.h>
#include <string.h>

#include "agent/agent.h"
#include "base/defs.h"
#include "fiber/loop.h"
#include "support/agents.h"
#include "support/llm.h"

static bool says(const struct upp_err *err, const char *what)
{
    return strstr(err->msg, what) != NULL;
}

static int make(struct agents *p, struct weft_tools tools, struct weft_agent **ret, struct upp_err *err)
{
    return weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .name = "main", .tools = tools), ret, err);
}

/* ---- The same as generate ------------------------------------------------------------------------------------- */

static const char *const scripts[] = {
    SCRIPT(REPLY(TEXT("plain"))),
    SCRIPT(REPLY("{\"reasoning\":\"hm\"}", TEXT("Let me see."), CALL("1", "add", "\"a\":1,\"b\":2")),
           REPLY(TEXT("three"))),
    SCRIPT(REPLY(CALL("1", "add", "\"a\":1,\"b\":2"), CALL("2", "note", "\"x\":[1, 2]")), REPLY(CALL("3", "fails", "")),
           REPLY(TEXT("done"))),
};

static int by_libupp(struct agents *p, const char *structure, struct wb_buf *out, struct upp_err *err)
{
    UPP_CLEANUP(upp_llm_freep) struct upp_llm *llm = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(upp_llm_new(
        UPP_OPTS(upp_llm_opts, .use = p->model, .tools = agents_tools, .n_tools = AGENTS_TOOLS, .structure = structure),
        &llm, err));
    int r = upp_ask(llm, UPP_STR("go"), &turn, err);
    if (turn)
        agents_turn_text(out, turn);
    return r;
}

static WEFT_SUSPENDS int same_turn(struct agents *p, const char *structure, struct upp_err *err)
{
    WB_CLEANUP(wb_buf_done) struct wb_buf ours = WB_BUF(1u << 20), theirs = WB_BUF(1u << 20);
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .tools = AGENTS_ALL, .structure = structure),
                       &a, err));
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    agents_turn_text(&ours, turn);
    TRY(by_libupp(p, structure, &theirs, err));
    for (size_t i = 0; i < turn->n_messages; i++)
        FAIL_UNLESS(turn->messages[i].id.n && turn->messages[i].time_ms);
    FAIL_UNLESS(test_expect_str(wb_buf_str(&ours), wb_buf_str(&theirs), __FILE__, __LINE__, "turn"));
    return 0;
}

static WEFT_SUSPENDS int unstructured(struct agents *p, struct upp_err *err)
{
    return same_turn(p, NULL, err);
}

/* covers: UAP-2.1/1, UAP-2.5/2, UAP-4.3a/1 */
TEST(agent_run_gives_the_turn_of_generate)
{
    for (size_t i = 0; i < WB_LEN(scripts); i++) {
        test_note("script %zu", i);
        AGENTS(scripts[i], unstructured);
    }
}

static WEFT_SUSPENDS int structured(struct agents *p, struct upp_err *err)
{
    return same_turn(p, "{\"type\":\"object\"}", err);
}

/* covers: UAP-4.6 */
TEST(agent_run_gives_structured_data)
{
    AGENTS(SCRIPT("{\"data\":{\"steps\":[1]}}"), structured);
}

/* ---- Responses that must fit ----------------------------------------------------------------------------------- */

#define COUNT     "{\"type\":\"object\",\"properties\":{\"n\":{\"type\":\"integer\"}},\"required\":[\"n\"]}"
#define SAYS_N(n) "{\"data\":{\"n\":" n "},\"usage\":{\"input_tokens\":7,\"output_tokens\":3}}"
#define IF_TOLD(n, r)                                                                                                  \
    "{\"when\":{\"contains\":\"does not fit the schema:\\n" r "\"},\"data\":{\"n\":" n                                 \
    "},\"usage\":{\"input_tokens\":9,\"output_tokens\":3}}"

static WEFT_SUSPENDS int counts(struct agents *p, bool check, struct upp_turn **ret, struct upp_err *err)
{
    struct weft_agent *a, *same;
    TRY(weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = p->model, .structure = COUNT, .check_structure = check),
                       &a, err));
    TRY(weft_agent_derive(a, NULL, &same, err));
    return weft_agent_run(same, UPP_STR("Count"), ret, err);
}

static WEFT_SUSPENDS int fits_in_the_end(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(counts(p, true, &turn, err));
    FAIL_UNLESS(wb_str_eq(turn->data, UPP_STR("{\"n\":2}")) && turn->n_messages == 2);
    FAIL_UNLESS(turn->usage.input == 7 + 9 && turn->usage.output == 6); /* both were paid for */
    return 0;
}

/* covers: UPP-17/5 */
TEST(agent_structure_that_does_not_fit_is_asked_for_again)
{
    AGENTS(SCRIPT(SAYS_N("\"two\""), IF_TOLD("2", "/n: ")), fits_in_the_end);
}

static WEFT_SUSPENDS int never_fits(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    int r = counts(p, true, &turn, &why);
    if (r != -UPP_EPROTO)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    test_note("%s", why.msg);
    FAIL_UNLESS(says(&why, "the structured response does not fit: /n: "));
    return 0;
}

/* It is told twice; the fourth reply is never asked for. */
/* covers: UPP-17/5 */
TEST(agent_structure_that_never_fits_is_an_invalid_response)
{
    AGENTS(SCRIPT(SAYS_N("1.5"), IF_TOLD("2.5", "/n: 1.5"), IF_TOLD("3.5", "/n: 2.5"), SAYS_N("4")), never_fits);
}

static WEFT_SUSPENDS int as_it_is(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(counts(p, false, &turn, err));
    FAIL_UNLESS(wb_str_eq(turn->data, UPP_STR("{\"n\":1.5}")) && turn->usage.input == 7);
    return 0;
}

TEST(agent_structure_is_checked_only_where_that_is_asked_for)
{
    AGENTS(SCRIPT(SAYS_N("1.5")), as_it_is);
}

static WEFT_SUSPENDS int no_schema(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    struct weft_agent *a;
    TRY(weft_agent_new(
        p->rt,
        UPP_OPTS(weft_agent_opts, .use = p->model, .structure = "{\"type\":\"number!\"}", .check_structure = true), &a,
        err));
    int r = weft_agent_run(a, UPP_STR("Count"), &turn, &why);
    if (r != -UPP_EINVALID)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    test_note("%s", why.msg);
    FAIL_UNLESS(says(&why, "structure: ") && says(&why, "number!"));
    return 0;
}

TEST(agent_structure_that_is_checked_must_be_a_schema)
{
    AGENTS(SCRIPT(SAYS_N("1")), no_schema);
}

/* ---- What is asked ----------------------------------------------------------------------------------------------- */

static WEFT_SUSPENDS int asks_with_history(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL, *two = NULL, *three = NULL, *four = NULL;
    UPP_CLEANUP(upp_thread_freep) struct upp_thread *thread = NULL;
    struct upp_str before = {0}, after = {0};
    TRY(make(p, AGENTS_ALL, &a, err));
    TRY(weft_agent_run(a, UPP_STR("My name is Alice"), &one, err));
    TRY(weft_agent_run_with(
        a, UPP_OPTS(upp_input, .history = one->messages, .n_history = one->n_messages, .text = UPP_STR("And?")), &two,
        err));
    FAIL_UNLESS(two->n_messages == 2 && wb_str_eq(two->messages[0].parts[0].text, UPP_STR("And?")));
    /* A thread, which stays as it is. */
    TRY(upp_thread_new(&thread, err));
    TRY(upp_thread_append(thread, one, err));
    TRY(upp_thread_to_json(thread, &before, err));
    int r = weft_agent_run_with(a, UPP_OPTS(upp_input, .thread = thread, .text = UPP_STR("Who?")), &three, err);
    if (r >= 0)
        r = upp_thread_to_json(thread, &after, err);
    bool same = r < 0 || wb_str_eq(before, after);
    upp_text_free(before);
    upp_text_free(after);
    TRY(r);
    FAIL_UNLESS(same);
    /* Several new messages: the last one is the input. */
    struct upp_part said[] = {{.kind = UPP_PART_TEXT, .text = UPP_STR("first")},
                              {.kind = UPP_PART_TEXT, .text = UPP_STR("second")}};
    struct upp_message given[] = {{.role = UPP_ROLE_USER, .parts = &said[0], .n_parts = 1},
                                  {.role = UPP_ROLE_ASSISTANT, .parts = &said[0], .n_parts = 1},
                                  {.role = UPP_ROLE_USER, .parts = &said[1], .n_parts = 1}};
    TRY(weft_agent_run_with(a, UPP_OPTS(upp_input, .messages = given, .n_messages = 3), &four, err));
    FAIL_UNLESS(four->n_messages == 2 && strcmp(upp_turn_text(four), "second") == 0);
    struct upp_turn *none = NULL;
    FAIL_UNLESS(weft_agent_run_with(a, UPP_OPTS(upp_input, .wait = NULL), &none, NULL) < 0 && !none);
    return 0;
}

/* covers: UAP-4.3a/1/2, UAP-4.4/1 */
TEST(agent_run_takes_history_and_input)
{
    AGENTS(NULL, asks_with_history);
}

/* A script's `contains` sees only the newest message, `tool_result` too: the whole conversation is what the request
 * counts. */
static WEFT_SUSPENDS int answers_what_is_there(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *one = NULL, *two = NULL;
    TRY(make(p, AGENTS_ALL, &a, err));
    TRY(weft_agent_run(a, UPP_STR("go"), &one, err));
    TRY(weft_agent_run_with(
        a, UPP_OPTS(upp_input, .history = one->messages, .n_history = one->n_messages, .text = UPP_STR("more")), &two,
        err));
    FAIL_UNLESS(strcmp(upp_turn_text(one), "one") == 0 && strcmp(upp_turn_text(two), "two") == 0);
    return 0;
}

/* covers: UAP-4.4/2 */
TEST(agent_run_sends_the_whole_conversation)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "note", "")), REPLY(TEXT("one")), REPLY(TEXT("two"))), answers_what_is_there);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* A client's tool: without a store nobody can answer, so the caller gets what there is. */
static WEFT_SUSPENDS int comes_to_wait(struct agents *p, struct upp_err *err)
{
    static const struct weft_tool_opts client = {.size = sizeof client, .client = true};
    const struct upp_tool pick = {.name = "pick", .extra = &client};
    struct weft_agent *a;
    struct upp_err why = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(make(p, (struct weft_tools){&pick, 1}, &a, err));
    int r = weft_agent_run(a, UPP_STR("go"), &turn, &why);
    if (r != -UPP_EWAIT)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    FAIL_UNLESS(turn && turn->n_messages == 2 && turn->response &&
                upp_part_next(turn->response, NULL, UPP_PARTS_CALLS) && says(&why, "wait"));
    return 0;
}

TEST(agent_run_that_waits_gives_the_open_calls)
{
    AGENTS(SCRIPT(REPLY(TEXT("Choose."), CALL("1", "pick", ""))), comes_to_wait);
}

static WEFT_SUSPENDS int fails_in_the_middle(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    struct upp_err why = {0};
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(make(p, AGENTS_ALL, &a, err));
    int r = weft_agent_run(a, UPP_STR("go"), &turn, &why);
    if (r != -UPP_ERATE)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    FAIL_UNLESS(turn && turn->n_messages == 3 && turn->n_executions == 1 && says(&why, "slow down"));
    return 0;
}

TEST(agent_run_that_fails_gives_the_turn_so_far)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "note", "")), "{\"error\":{\"code\":\"RATE_LIMITED\",\"message\":\"slow down\"}}"),
           fails_in_the_middle);
}

/* Cancelled by the caller's table, before and while it works. */
static WEFT_SUSPENDS int canceled_by_table(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_cancel_freep) struct upp_cancel *c = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    struct upp_err why = {0};
    TRY(upp_cancel_new(&c, err));
    TRY(make(p, AGENTS_ALL, &a, err));
    upp_cancel_fire(c);
    int r = weft_agent_run_with(a, UPP_OPTS(upp_input, .text = UPP_STR("go"), .wait = upp_cancel_wait(c)), &turn, &why);
    if (r != -UPP_ECANCELED)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    FAIL_UNLESS(!turn && p->trace.n == 0);
    return 0;
}

TEST(agent_run_of_a_canceled_caller_does_nothing)
{
    AGENTS(SCRIPT(SLOW_REPLY(1000, TEXT("never")), REPLY(TEXT("never"))), canceled_by_table);
}

static void *fire_soon(void *c)
{
    struct timespec ms = {.tv_nsec = 20000000};
    nanosleep(&ms, NULL);
    upp_cancel_fire(c);
    return NULL;
}

static WEFT_SUSPENDS int canceled_from_a_thread(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_cancel_freep) struct upp_cancel *c = NULL;
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    struct upp_err why = {0};
    pthread_t thread;
    if (p->loop) /* a simulated world has one thread */
        return 0;
    TRY(upp_cancel_new(&c, err));
    TRY(make(p, AGENTS_ALL, &a, err));
    if (pthread_create(&thread, NULL, fire_soon, c))
        return -UPP_ELIMIT;
    int r = weft_agent_run_with(a, UPP_OPTS(upp_input, .text = UPP_STR("go"), .wait = upp_cancel_wait(c)), &turn, &why);
    (void)pthread_join(thread, NULL);
    if (r != -UPP_ECANCELED)
        return r < 0 ? (*err = why, r) : -UPP_EBUG;
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&p->trace), UPP_STR("slow begins\nslow is stopped\n")));
    FAIL_UNLESS(turn && turn->response && strstr(turn->response->metadata.p, "\"aborted\":true"));
    return 0;
}

TEST(agent_run_is_canceled_from_another_thread)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "slow", "")), REPLY(TEXT("never"))), canceled_from_a_thread);
}

struct caller {
    struct weft_agent *agent;
    struct upp_turn *turn;
    int result;
};

static WEFT_SUSPENDS int call(void *arg, struct upp_err *err)
{
    struct caller *c = arg;
    return c->result = weft_agent_run(c->agent, UPP_STR("go"), &c->turn, err);
}

static WEFT_SUSPENDS int canceled_fiber(struct agents *p, struct upp_err *err)
{
    struct caller c = {0};
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {0};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    if (!p->loop)
        return 0;
    TRY(make(p, AGENTS_ALL, &c.agent, err));
    TRY(weft_scope_spawn(&scope, "caller", call, &c, &f, err));
    TRY(weft_sleep_ms(100, err));
    weft_fiber_cancel(f);
    (void)(weft_fiber_join(f, NULL) < 0);
    bool aborted = c.turn && c.turn->response && strstr(c.turn->response->metadata.p, "\"aborted\":true");
    upp_turn_free(c.turn);
    if (c.result == -UPP_ENOMEM)
        return c.result;
    FAIL_UNLESS(c.result == -UPP_ECANCELED && aborted);
    FAIL_UNLESS(wb_str_eq(wb_buf_str(&p->trace), UPP_STR("slow begins\nslow is stopped\n")));
    return 0;
}

TEST(agent_run_ends_with_the_fiber_that_called)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "slow", "")), REPLY(TEXT("never"))), canceled_fiber);
}

/* Cancelled at every suspension of whoever takes part: the call comes back, and nothing works any more. */
struct sweep {
    struct weft_fiber *caller;
    unsigned seen, at;
};

static void at_suspension(void *arg, struct weft_fiber *f)
{
    struct sweep *s = arg;
    (void)f;
    if (s->caller && ++s->seen == s->at)
        weft_fiber_cancel(s->caller);
}

static WEFT_SUSPENDS int cancel_at(struct weft_agent *a, struct sweep *s, struct upp_err *err)
{
    struct caller c = {.agent = a, .result = -UPP_ECANCELED};
    UPP_CLEANUP(weft_scope_close) struct weft_scope scope = {.flags = WEFT_SCOPE_ISOLATED};
    UPP_CLEANUP(weft_fiber_unrefp) struct weft_fiber *f = NULL;
    TRY(weft_scope_spawn(&scope, "caller", call, &c, &f, err));
    s->caller = f;
    (void)(weft_fiber_join(f, NULL) < 0);
    s->caller = NULL;
    upp_turn_free(c.turn);
    FAIL_UNLESS(wr_engine_counts(a->home->engine).working == 0);
    if (c.result < 0 && c.result != -UPP_ECANCELED) /* a fault */
        return upp_fail(err, (enum upp_code) - c.result, "a run that was to be cancelled failed");
    return 0;
}

static WEFT_SUSPENDS int canceled_everywhere(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    if (!p->loop)
        return 0;
    TRY(make(p, AGENTS_ALL, &a, err));
    for (unsigned at = 1;; at++) {
        struct sweep s = {.at = at};
        weft__loop_on_suspend(p->loop, at_suspension, &s);
        int r = cancel_at(a, &s, err);
        weft__loop_on_suspend(p->loop, NULL, NULL);
        if (r < 0 || s.seen < at) {
            FAIL_UNLESS(r < 0 || at > 5);
            return r;
        }
    }
}

TEST(agent_run_is_canceled_at_every_suspension)
{
    AGENTS(SCRIPT(SLOW_REPLY(10, TEXT("One two"), CALL("1", "slow", ""), CALL("2", "slow", "")), REPLY(TEXT("done"))),
           canceled_everywhere);
}

/* ---- Where it may be called ------------------------------------------------------------------ */

static WEFT_SUSPENDS int from_elsewhere(void *arg, struct upp_err *err)
{
    struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    (void)err;
    int r = weft_agent_run(arg, UPP_STR("go"), &turn, &why);
    FAIL_UNLESS(r == -UPP_EINVALID && says(&why, "another loop") && !turn);
    return 0;
}

static WEFT_SUSPENDS int on_another_loop(struct agents *p, struct upp_err *err)
{
    struct weft_agent *a;
    if (p->loop)
        return 0;
    TRY(make(p, AGENTS_ALL, &a, err));
    return test_on_loop(from_elsewhere, a, err);
}

TEST(agent_run_on_another_loop_is_refused)
{
    AGENTS(NULL, on_another_loop);
}

static void *from_thread(void *a)
{
    struct upp_turn *turn = NULL;
    struct upp_err why = {0};
    int r = weft_agent_run(a, UPP_STR("go"), &turn, &why);
    return r == -UPP_EINVALID && says(&why, "another thread") ? a : NULL;
}

static int try_from_thread(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    pthread_t thread;
    void *refused = NULL;
    if (pthread_create(&thread, NULL, from_thread, call->arg))
        return upp_fail(err, UPP_ELIMIT, "no thread");
    (void)pthread_join(thread, &refused);
    return upp_value_text(ret, refused ? UPP_STR("refused") : UPP_STR("let in"), err);
}

static WEFT_SUSPENDS int on_another_thread(struct agents *p, struct upp_err *err)
{
    struct upp_tool tool = UPP_TOOL(try_from_thread, "", "{}");
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct weft_agent *a;
    if (p->loop)
        return 0;
    TRY(make(p, (struct weft_tools){&tool, 1}, &a, err));
    tool.arg = a;
    TRY(weft_agent_run(a, UPP_STR("go"), &turn, err));
    FAIL_UNLESS(turn->n_executions == 1 && wb_str_eq(turn->executions[0].result, UPP_STR("\"refused\"")));
    return 0;
}

TEST(agent_run_on_another_thread_is_refused)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "try_from_thread", "")), REPLY(TEXT("done"))), on_another_thread);
}

/* A tool may run agents by itself. */
static WEFT_SUSPENDS int ask_helper(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    TRY(weft_agent_run_with(call->arg, UPP_OPTS(upp_input, .text = UPP_STR("inside"), .wait = call->wait), &turn, err));
    return upp_value_text(ret, wb_cstr(upp_turn_text(turn)), err);
}

static WEFT_SUSPENDS int inside_of_a_tool(struct agents *p, struct upp_err *err)
{
    UPP_CLEANUP(upp_model_freep) struct upp_model *echo = llm_script(NULL);
    UPP_CLEANUP(upp_turn_freep) struct upp_turn *turn = NULL;
    struct upp_tool tool = UPP_TOOL(ask_helper, "", "{}");
    struct weft_agent *a, *helper = NULL;
    if (!echo)
        return -UPP_ENOMEM;
    int r = weft_agent_new(p->rt, UPP_OPTS(weft_agent_opts, .use = echo), &helper, err);
    tool.arg = helper;
    if (r >= 0)
        r = make(p, (struct weft_tools){&tool, 1}, &a, err);
    if (r >= 0)
        r = weft_agent_run(a, UPP_STR("go"), &turn, err);
    weft_agent_free(helper);
    TRY(r);
    FAIL_UNLESS(wb_str_eq(turn->executions[0].result, UPP_STR("\"inside\"")));
    return 0;
}

TEST(agent_run_inside_of_a_tool)
{
    AGENTS(SCRIPT(REPLY(CALL("1", "ask_helper", "")), REPLY(TEXT("done"))), inside_of_a_tool);
}
