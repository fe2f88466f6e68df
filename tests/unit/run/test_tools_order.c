/* Which calls of a round come before which: groups, and what waits. */
#include <string.h>

#include "base/defs.h"
#include "fiber/loop.h"
#include "support/round.h"

#define SCRIPT ROUND_SCRIPT
#define REPLY  ROUND_REPLY
#define TEXT   ROUND_TEXT
#define CALL   ROUND_CALL

/* ---- Tools called a, b, c ... that write down when they begin and end ------------------------------------------- */

struct ledger {
    char text[256]; /* "+a" begins, "-a" ends */
    size_t n;
};

static void note(struct ledger *l, char what, struct upp_str name)
{
    if (l->n + 2 < sizeof l->text) {
        l->text[l->n++] = what;
        l->text[l->n++] = name.p[0];
    }
}

static WEFT_SUSPENDS int noted(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    struct ledger *l = call->arg;
    (void)ret;
    note(l, '+', call->name);
    int r = weft_sleep_ms(20, err);
    note(l, '-', call->name);
    return r;
}

static size_t at(const struct ledger *l, char what, char name)
{
    for (size_t i = 0; i < l->n; i += 2)
        if (l->text[i] == what && l->text[i + 1] == name)
            return i;
    return SIZE_MAX;
}

/* "ab|c": a and b at the same time, and c when both have ended. */
static bool went(const struct ledger *l, const char *groups)
{
    size_t from = 0;
    for (const char *g = groups; *g;) {
        size_t n = strcspn(g, "|"), last = 0, first_end = SIZE_MAX;
        for (size_t i = 0; i < n; i++) {
            size_t begins = at(l, '+', g[i]), ends = at(l, '-', g[i]);
            if (begins == SIZE_MAX || ends == SIZE_MAX || begins < from)
                return false;
            last = WB_MAX(last, ends);
            first_end = WB_MIN(first_end, ends);
        }
        for (size_t i = 0; i < n; i++)
            if (at(l, '+', g[i]) > first_end)
                return false; /* not at the same time */
        from = last;
        g += n + (g[n] == '|');
    }
    return true;
}

#define AFTER(...)                                                                                                     \
    .after = (const struct upp_str[]){__VA_ARGS__},                                                                    \
    .n_after = sizeof((const struct upp_str[]){__VA_ARGS__}) / sizeof(struct upp_str)
#define A UPP_STR_INIT("a")
#define B UPP_STR_INIT("b")
#define C UPP_STR_INIT("c")
#define X UPP_STR_INIT("x")

enum { MOST = 5 };

struct rules {
    struct {
        bool sequential;
        const struct upp_str *after;
        size_t n_after;
    } tools[MOST]; /* a, b, c, d, e */
    const char *calls;
    const char *groups;
};

static void go(const struct rules *rules)
{
    static const char *const names[MOST] = {"a", "b", "c", "d", "e"};
    struct ledger ledger = {0};
    struct wr_tool tools[MOST] = {0};
    struct upp_err err = {0};
    for (size_t i = 0; i < MOST; i++)
        tools[i] = (struct wr_tool){.spec = {.name = wb_cstr(names[i]), .parameters = UPP_STR("{}")},
                                    .sequential = rules->tools[i].sequential,
                                    .after = rules->tools[i].after,
                                    .n_after = rules->tools[i].n_after,
                                    .base = {.run = noted, .arg = &ledger}};
    WB_CLEANUP(wb_buf_done) struct wb_buf b = WB_BUF(1u << 16);
    wb_buf_addf(&b, "{\"replies\":[{\"parts\":[");
    for (const char *c = rules->calls; *c; c++)
        wb_buf_addf(&b, "%s{\"tool_call\":{\"id\":\"%c\",\"name\":\"%c\"}}", c == rules->calls ? "" : ",", *c, *c);
    wb_buf_addf(&b, "]},{\"parts\":[{\"text\":\"done\"}]}]}");
    wb_buf_addc(&b, 0);
    CHECK(wb_buf_check(&b, NULL) == 0);
    UPP_CLEANUP(round_done) struct round run = {.script = b.p, .tools = tools, .n_tools = MOST};
    CHECK_INT(round_play(&run, &err), 0);
    CHECK_INT(run.result, 0);
    test_note("%s: %s, and it was %.*s", rules->calls, rules->groups, (int)ledger.n, ledger.text);
    CHECK(went(&ledger, rules->groups));
    CHECK_INT(ledger.n, 4 * strlen(rules->calls)); /* each ran once */
    const struct upp_message *results = &run.turn->messages[2];
    CHECK_INT(results->n_parts, strlen(rules->calls));
    for (size_t i = 0; i < results->n_parts; i++) /* results are in the order of the calls */
        CHECK(results->parts[i].id.p[0] == rules->calls[i]);
    size_t n = 0;
    for (size_t i = 0; i < ledger.n; i += 2) /* executions as they ended */
        if (ledger.text[i] == '-')
            CHECK(run.turn->executions[n++].id.p[0] == ledger.text[i + 1]);
}

static const struct rules all_rules[] = {
    {.calls = "abc", .groups = "abc"},
    {.tools = {[1] = {AFTER(A)}}, .calls = "abc", .groups = "ac|b"},
    {.tools = {[0] = {AFTER(B)}}, .calls = "ab", .groups = "b|a"},
    {.tools = {[1] = {AFTER(A)}, [2] = {AFTER(B)}}, .calls = "cba", .groups = "a|b|c"},
    {.tools = {[2] = {AFTER(A, B)}}, .calls = "cab", .groups = "ab|c"},
    {.tools = {[1] = {.sequential = true}}, .calls = "abc", .groups = "a|b|c"},
    {.tools = {[0] = {.sequential = true}, [2] = {AFTER(A)}, [3] = {AFTER(B)}}, .calls = "abcd", .groups = "a|b|cd"},
    {.tools = {[0] = {AFTER(B)}, [1] = {AFTER(A)}}, .calls = "abc", .groups = "c|ab"},  /* a circle */
    {.tools = {[0] = {AFTER(A)}}, .calls = "ab", .groups = "b|a"},                      /* after itself */
    {.tools = {[0] = {AFTER(X)}}, .calls = "ab", .groups = "b|a"},                      /* after nobody */
    {.tools = {[0] = {AFTER(X)}, [1] = {AFTER(A)}}, .calls = "bac", .groups = "c|a|b"}, /* after one of those */
    {.tools = {[0] = {AFTER(B), .sequential = true}, [1] = {AFTER(A)}}, .calls = "ab", .groups = "a|b"},
    {.tools = {[1] = {AFTER(A)}, [2] = {AFTER(A)}, [3] = {AFTER(B, C)}}, .calls = "dcba", .groups = "a|cb|d"},
};

/* covers: UAP-2.6/1/2 */
TEST_WITH(tools_order_by_rules, .no_torture = "many runs; the next one is tortured")
{
    for (size_t i = 0; i < WB_LEN(all_rules); i++)
        go(&all_rules[i]);
}

TEST(tools_order_of_a_chain)
{
    go(&all_rules[3]);
}

/* ---- What waits, and what does not ------------------------------------------------------------------------------- */

struct waiting {
    struct ledger ledger;
    bool restarts;
    struct wb_buf story;
};

/* a is the client's, b comes after it, c after b, d has nothing to do with them, e is alone. */
static WEFT_SUSPENDS int waits_for_a(struct round *round, struct upp_err *err)
{
    struct waiting *w = round->arg;
    uint8_t status;
    TRY(round_start(round, &status, err));
    FAIL_UNLESS(status == WM_WAITING);
    TRY(round_pending(round, &w->story, err));
    wb_buf_addf(&w->story, " %.*s\n", (int)w->ledger.n, w->ledger.text);
    if (w->restarts)
        TRY(round_restart(round, err));
    struct wr_answer answer = {.call = UPP_STR("a"), .result = UPP_STR("1")};
    TRY(wr_answer(round->rig.engine, &rig_owner, round->run, &answer, 1, err));
    TRY(round_wait(round, &status, err));
    if (status == WM_WAITING) {
        TRY(round_pending(round, &w->story, err));
        wb_buf_addf(&w->story, " %.*s\n", (int)w->ledger.n, w->ledger.text);
        answer = (struct wr_answer){.call = UPP_STR("c"), .approved = true};
        TRY(wr_answer(round->rig.engine, &rig_owner, round->run, &answer, 1, err));
        TRY(round_wait(round, &status, err));
    }
    FAIL_UNLESS(status == WM_COMPLETED);
    wb_buf_addf(&w->story, "%.*s", (int)w->ledger.n, w->ledger.text);
    return rig_well_formed(round->store, &rig_owner, round->thread, err);
}

static void waited(bool restarts, const char *calls, const char *story)
{
    static const struct upp_str after_a[] = {A}, after_b[] = {B};
    struct waiting w = {.restarts = restarts, .story = WB_BUF(4096)};
    struct upp_err err = {0};
    const struct wr_tool tools[] = {
        {.spec = ROUND_SPEC("a"), .kind = WR_TOOL_CLIENT},
        {.spec = ROUND_SPEC("b"), .after = after_a, .n_after = 1, .base = {.run = noted, .arg = &w.ledger}},
        {.spec = ROUND_SPEC("c"),
         .after = after_b,
         .n_after = 1,
         .approval = true,
         .base = {.run = noted, .arg = &w.ledger}},
        {.spec = ROUND_SPEC("d"), .base = {.run = noted, .arg = &w.ledger}},
        {.spec = ROUND_SPEC("e"), .sequential = true, .base = {.run = noted, .arg = &w.ledger}},
    };
    struct round round = {.script = calls, .tools = tools, .n_tools = WB_LEN(tools), .act = waits_for_a, .arg = &w};
    int r = round_play(&round, &err);
    WB_CLEANUP(wb_buf_done) struct wb_buf s = w.story;
    test_note("%s", err.msg);
    CHECK_INT(r, 0);
    CHECK_STR(wb_buf_str(&s), wb_cstr(story));
}

static const char four[] = SCRIPT(REPLY(CALL("c", "c", "{}") "," CALL("b", "b", "{}") "," CALL("a", "a", "{}") "," CALL(
    "d", "d", "{}")) "," REPLY(TEXT("done")));
static const char four_story[] = "answer:a{} +d-d\napprove:c{} +d-d+b-b\n+d-d+b-b+c-c";

/* covers: UAP-2.6/2 */
TEST(tools_order_holds_while_a_client_takes_its_time)
{
    waited(false, four, four_story);
}

TEST(tools_order_holds_across_restarts)
{
    waited(true, four, four_story);
}

/* One that must be alone comes before the client has the other one, or after its result. */
TEST(tools_order_client_and_one_that_is_alone)
{
    waited(false, SCRIPT(REPLY(CALL("e", "e", "{}") "," CALL("a", "a", "{}")) "," REPLY(TEXT("done"))),
           "answer:a{} +e-e\n+e-e");
    waited(false, SCRIPT(REPLY(CALL("a", "a", "{}") "," CALL("e", "e", "{}")) "," REPLY(TEXT("done"))),
           "answer:a{} \n+e-e");
}

/* ---- Cancelled at every suspension ----------------------------------------------------------- */

struct sweep {
    uint64_t at, n; /* suspensions */
    bool now, over;
    struct weft_cond reached;
    struct ledger ledger;
};

static void count(void *arg, struct weft_fiber *f)
{
    struct sweep *s = arg;
    (void)f;
    if (++s->n == s->at) {
        s->now = true;
        weft_cond_signal(&s->reached);
    }
}

static WEFT_SUSPENDS int waits_before(void *arg, struct upp_call *call, struct upp_err *err)
{
    (void)arg, (void)call;
    int r = weft_yield(err);
    return r < 0 ? r : 1;
}

static WEFT_SUSPENDS int waits_after(void *arg, struct upp_call *call, struct upp_value *value, struct upp_err *err)
{
    (void)arg, (void)call, (void)value;
    return weft_sleep_ms(3, err);
}

static int blocks(struct upp_call *call, struct upp_value *ret, struct upp_err *err)
{
    return upp_value_text(ret, call->name, err);
}

static WEFT_SUSPENDS int swept(struct round *round, struct upp_err *err)
{
    struct sweep *s = round->arg;
    struct wr_started started;
    uint8_t status;
    TRY(rig_start(&round->rig, "main", "go", NULL, &started, err));
    weft__loop_on_suspend(weft_loop_current(), count, s);
    {
        WEFT_DEADLINE(60000); /* it comes to its end before that, where it is not cancelled */
        while (!s->now && weft_cond_wait(&s->reached, NULL) >= 0)
            ;
    }
    weft__loop_on_suspend(weft_loop_current(), NULL, NULL);
    s->over = !s->now;
    int r = wr_cancel(round->rig.engine, &rig_owner, started.run, err);
    FAIL_UNLESS(r >= 0 || r == -UPP_EREFUSED);
    TRY(wr_wait(round->rig.engine, &rig_owner, started.run, &status, err));
    FAIL_UNLESS(wm_status_ended(status));
    FAIL_UNLESS(status == WM_COMPLETED || !s->over);
    return rig_well_formed(round->store, &rig_owner, started.thread, err);
}

/* Whatever the moment, the run ends, the thread is whole and nothing is left. */
TEST_WITH(tools_order_cancelled_at_every_suspension, .no_torture = "many runs; others are tortured")
{
    static const struct upp_str after_a[] = {A};
    bool over = false;
    for (uint64_t n = 1; !over; n++) {
        struct sweep s = {.at = n};
        const struct wr_tool tools[] = {
            {.spec = ROUND_SPEC("a"), .base = {.run = blocks, .blocking = true}},
            {.spec = ROUND_SPEC("b"), .after = after_a, .n_after = 1, .base = {.run = noted, .arg = &s.ledger}},
            {.spec = ROUND_SPEC("c"), .base = {.run = noted, .arg = &s.ledger}},
            {.spec = ROUND_SPEC("d"), .after = after_a, .n_after = 1, .sequential = true, .base = {.run = blocks}},
        };
        const struct upp_tool_strategy hooks = {.on_before = waits_before, .on_after = waits_after};
        struct round round = {.script = SCRIPT(REPLY(CALL("1", "a", "{}") "," CALL("2", "b", "{}") "," CALL(
                                  "3", "c", "{}") "," CALL("4", "d", "{}")) "," REPLY(TEXT("done"))),
                              .tools = tools,
                              .n_tools = WB_LEN(tools),
                              .hooks = &hooks,
                              .act = swept,
                              .arg = &s};
        struct upp_err err = {0};
        int r = round_play(&round, &err);
        test_note("suspension %llu: %s", (unsigned long long)n, err.msg);
        CHECK_INT(r, 0);
        over = s.over;
        if (over)
            CHECK(n > 12);
    }
}
